/* SPDX-License-Identifier: Apache-2.0 */
/*
 * face.h - shared by the files of the software GPU's libcuda.so.1.
 *
 * connect.c: connections, finding and starting the server. rm_ioctl.c and rm_objects.c: RM
 * calls. clock.c: time and timers. calls.c: the exported driver API. The rest are its objects,
 * one file each, with do_cuNAME() for cuNAME().
 *
 * Lock order: stream->order, then ctx->lock, then face_lock. Only stream->order is held during
 * a call of the server.
 */
#ifndef GP_SOFT_FACE_H
#define GP_SOFT_FACE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softgpu/cuda/api.h"
#include "softgpu/proto.h"
#include "softgpu/softgpu.h"

#define FACE_CHANNELS 8u /* of the compute group */
#define FACE_COPY_GROUPS 3u
#define FACE_COPY_CHANNELS 4u /* of each */
#define FACE_SMS 132u
#define FACE_BLOCKS_PER_SM 8u

/*
 * Costs of calls for their thread, ns. They are declared, since no CPU time is measured. The
 * two of a launch are fitted to one H200 (softgpu/README.md). Assumption: the others.
 */
#define FACE_LAUNCH_NS 4000u
#define FACE_COLD_NS 8000u /* extra, for the first after a sleep */
#define FACE_COPY_NS 3000u
#define FACE_RECORD_NS 1000u
#define FACE_WAIT_EVENT_NS 500u
#define FACE_SYNC_NS 1000u
#define FACE_QUERY_NS 500u
#define FACE_GRAPH_NS 5000u

/* connect.c. Calls return 0 or -errno, of the connection or of the server. */
struct face_call {
	struct gp_soft_req req;
	const void *data, *data2; /* follow the request */
	size_t data_bytes, data2_bytes;
	int fds[2]; /* sent with it */
	unsigned int fd_count;
	struct gp_soft_rep rep;
	void *reply;	    /* data of the reply */
	size_t reply_bytes; /* its size: room, then received */
	int reply_fd;	    /* -1: none */
};
int face_call(struct face_call *call);
int face_call_on(int sock, struct face_call *call);
int face_connect(uint32_t kind, int *event_fd);
extern atomic_uint face_server_id; /* of the last connection */
void face_disconnect(int sock);
int face_op(uint32_t op, uint64_t a, uint64_t b, struct gp_soft_rep *rep);

/* ---- objects ------------------------------------------------------------- */

#define FACE_CTX 0x47504358u
#define FACE_STREAM 0x47505354u
#define FACE_EVENT 0x47504556u
#define FACE_MODULE 0x47504d4fu
#define FACE_FUNCTION 0x4750464eu
#define FACE_GRAPH 0x47504752u
#define FACE_EXEC 0x47504745u

struct face_graph;

struct face_stream {
	uint32_t magic;
	unsigned int flags;
	int priority;
	struct face_ctx *ctx;
	struct face_stream *next;		       /* of its context; ctx->lock */
	uint32_t compute, copy;			       /* channels */
	pthread_mutex_t order;			       /* one call at a time */
	struct gp_soft_point last;		       /* ctx->lock */
	struct gp_soft_point waits[GP_SOFT_WAITS_MAX]; /* order */
	uint32_t wait_count;
	bool fenced;		    /* order: last is a fence */
	struct face_graph *capture; /* order */
	bool capture_origin;
};

struct face_ctx {
	uint32_t magic;
	unsigned int flags;
	CUdevice device;
	pthread_mutex_t lock;
	struct face_ctx *next; /* face_lock */
	uint32_t client, group, channel[FACE_CHANNELS];
	uint32_t copy_group[FACE_COPY_GROUPS];
	uint32_t copy_channel[FACE_COPY_GROUPS * FACE_COPY_CHANNELS];
	struct face_stream legacy;
	struct face_stream *streams;
	uint32_t streams_made;
	bool primary;
	CUresult error;
};

struct face_event {
	uint32_t magic;
	unsigned int flags;
	struct face_ctx *ctx;
	uint64_t slot; /* address of its gp_soft_stamp */
	uint64_t seq;
	struct gp_soft_point point; /* ctx->lock */
	struct face_graph *capture;
};

#define FACE_PARAMS_MAX 64u
struct face_function {
	uint32_t magic;
	struct face_module *module;
	struct face_function *next;
	char name[GP_SOFT_NAME_MAX];
	uint32_t kernel;
	uint32_t param_count;
	uint32_t param_at[FACE_PARAMS_MAX], param_bytes[FACE_PARAMS_MAX];
	uint32_t args_bytes;
	uint32_t shared_bytes;
	uint32_t max_threads;
};

/* One operation, queued or recorded in a graph. */
struct face_work {
	struct gp_soft_submit sub;
	bool on_copy;
	const void *host_src; /* staged when it is queued */
	unsigned char args[GP_SOFT_ARGS_MAX];
};

/* init.c */
CUresult face_check(void); /* initialised, not forked */
CUresult face_error(int err);
void face_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern pthread_mutex_t face_lock;
void face_fork_setup(void);

/* context.c */
struct face_ctx *face_ctx_top(void); /* this thread's, NULL: none */
CUresult face_ctx_current(struct face_ctx **ctx);
bool face_ctx_valid(const struct face_ctx *ctx);
CUresult face_wait(struct face_ctx *ctx, const struct gp_soft_point *point, size_t count,
		   uint64_t cost_ns, bool query);
CUresult face_ctx_drain(struct face_ctx *ctx);

/* device.c */
CUresult face_devices_init(uint32_t gpus);
CUresult face_device_check(CUdevice dev);
uint32_t face_device_gpu(CUdevice dev); /* the server's number of it */

/* rm_objects.c */
int face_rm_init(uint32_t *gpus);
int face_rm_context(struct face_ctx *ctx);
void face_rm_context_free(struct face_ctx *ctx);

/* stream.c */
CUresult face_stream_get(CUstream handle, struct face_stream **stream);
CUresult face_stream_fence(struct face_stream *stream);
CUresult face_submit(struct face_stream *stream, struct face_work *work,
		     struct gp_soft_point *point);
CUresult face_submit_locked(struct face_stream *stream, struct face_work *work,
			    struct gp_soft_point *point);

/* memory.c */
bool face_host_is_mapped(const void *ptr, size_t bytes);
CUresult face_stage(const void *src, size_t bytes, uint64_t *addr);
void face_unstage(uint64_t addr, size_t bytes);
int face_host_alloc(size_t bytes, void **ptr);

/* graph.c */
CUresult face_graph_append(struct face_graph *graph, const struct face_work *work);

/* clock.c */
extern _Thread_local bool face_cold; /* this thread slept since its last launch */

/* procaddr.c */
void *face_symbol(const char *name);

#endif
