/* SPDX-License-Identifier: Apache-2.0 */
/* call_kinds.h - the driver-API calls that affect a hold. */
#ifndef GP_PRELOAD_CALL_KINDS_H
#define GP_PRELOAD_CALL_KINDS_H

enum gp_call_kind {
	GP_CALL_OTHER,
	GP_CALL_LAUNCH,	    /* work; its first argument is the function */
	GP_CALL_LAUNCH_EX,  /* work; its second argument is the function */
	GP_CALL_SUBMIT,	    /* work without a function: graphs */
	GP_CALL_COPY,	    /* not for the compute engine, but part of a request */
	GP_CALL_RECORD,	    /* records an event behind all work of a stream */
	GP_CALL_WAIT,	    /* waits for a stream, a copy */
	GP_CALL_WAIT_EVENT, /* waits for the work before an event */
	GP_CALL_QUERY,	    /* queries a stream; CUDA_SUCCESS: done */
	GP_CALL_SYNC,	    /* may wait for the whole device */
	GP_CALL_SYNC_IDLE,  /* waits for it; then all work is done */
	GP_CALL_CONTEXT,    /* like SYNC, and waits some hundred times */
	GP_CALL_UNLOAD,	    /* like SYNC, and functions are unloaded */
	GP_CALL_DESTROY,    /* destroys its first argument, a context */
};

/** Kind of the call @name in any version ("_v2", "_ptsz"). */
enum gp_call_kind gp_call_kind(const char *name);

#endif
