/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_calls.h - kinds of driver calls, and a number for each call that the layer sees. The
 * rows are in driver_calls.def. Freestanding: the stub includes it.
 */
#ifndef GP_PRELOAD_DRIVER_CALLS_H
#define GP_PRELOAD_DRIVER_CALLS_H

#include <stdint.h>

enum gp_call_kind {
	GP_CALL_LAUNCH,	     /* work; its first argument is the function */
	GP_CALL_LAUNCH_EX,   /* work; its second argument is the function */
	GP_CALL_SUBMIT,	     /* work without a function: graphs */
	GP_CALL_COPY,	     /* not for the compute engine, but part of a request */
	GP_CALL_COPY_OUT,    /* likewise; its first argument is where to, on the host */
	GP_CALL_COPY_SYNC,   /* a copy that waits for itself only */
	GP_CALL_HOST,	     /* queues a function of the host */
	GP_CALL_RECORD,	     /* records an event behind all work of a stream */
	GP_CALL_WAIT,	     /* waits for a stream, a copy */
	GP_CALL_WAIT_EVENT,  /* waits for the work before an event */
	GP_CALL_QUERY,	     /* queries a stream; CUDA_SUCCESS: done */
	GP_CALL_QUERY_EVENT, /* queries an event */
	GP_CALL_SYNC,	     /* may wait for the whole device */
	GP_CALL_SYNC_IDLE,   /* waits for it; then all work is done */
	GP_CALL_CONTEXT,     /* like SYNC, and waits some hundred times */
	GP_CALL_LOAD,	     /* like SYNC, the first time; its first argument is the function */
	GP_CALL_LOAD_2,	     /* likewise, and its second is */
	GP_CALL_LOAD_3,	     /* likewise, and its third is */
	GP_CALL_UNLOAD,	     /* like SYNC, and functions are unloaded */
	GP_CALL_DESTROY,     /* destroys its first argument, a context */
	GP_CALL_ROOM,	     /* like SYNC, and may find too little device memory */
	GP_CALL_HAVE,	     /* like SYNC, and device memory comes or goes */
	GP_CALL_POOL,	     /* like COPY, and device memory of a pool comes or goes */
	GP_CALL_ALLOC,	     /* like ROOM; memory.c may do it instead */
	GP_CALL_FREE,	     /* frees memory of an ALLOC */
	GP_CALL_RANGE,	     /* finds the piece of an ALLOC */
	GP_CALL_OWN,	     /* memory by handles (own.c) */
	GP_CALL_INFO,	     /* reports how much memory is free */
	GP_CALL_USE,	     /* names memory, and is no work of a request */
	GP_CALL_LOOKUP,	     /* finds other calls */
};

/*
 * GP_SEEN_KIND(x): x if the layer sees calls of this kind, else nothing. The app gets the
 * driver's own pointer to a call that is not seen.
 */
#define GP_SEEN_LAUNCH(...) __VA_ARGS__
#define GP_SEEN_LAUNCH_EX(...) __VA_ARGS__
#define GP_SEEN_SUBMIT(...) __VA_ARGS__
#define GP_SEEN_COPY(...) __VA_ARGS__
#define GP_SEEN_COPY_OUT(...) __VA_ARGS__
#define GP_SEEN_COPY_SYNC(...) __VA_ARGS__
#define GP_SEEN_ROOM(...) __VA_ARGS__
#define GP_SEEN_HAVE(...) __VA_ARGS__
#define GP_SEEN_POOL(...) __VA_ARGS__
#define GP_SEEN_INFO(...) __VA_ARGS__
#define GP_SEEN_ALLOC(...) __VA_ARGS__
#define GP_SEEN_FREE(...) __VA_ARGS__
#define GP_SEEN_RANGE(...) __VA_ARGS__
#define GP_SEEN_OWN(...) __VA_ARGS__
#define GP_SEEN_USE(...) __VA_ARGS__
#define GP_SEEN_HOST(...)
#define GP_SEEN_RECORD(...) __VA_ARGS__
#define GP_SEEN_WAIT(...) __VA_ARGS__
#define GP_SEEN_WAIT_EVENT(...) __VA_ARGS__
#define GP_SEEN_QUERY(...) __VA_ARGS__
#define GP_SEEN_QUERY_EVENT(...)
#define GP_SEEN_SYNC(...) __VA_ARGS__
#define GP_SEEN_SYNC_IDLE(...) __VA_ARGS__
#define GP_SEEN_CONTEXT(...) __VA_ARGS__
#define GP_SEEN_LOAD(...) __VA_ARGS__
#define GP_SEEN_LOAD_2(...) __VA_ARGS__
#define GP_SEEN_LOAD_3(...) __VA_ARGS__
#define GP_SEEN_UNLOAD(...) __VA_ARGS__
#define GP_SEEN_DESTROY(...) __VA_ARGS__
#define GP_SEEN_LOOKUP(...) __VA_ARGS__

/* Types of arguments, by letter: as the ABI passes them. */
struct gp_call_handle {
	char bytes[64]; /* of CUipcMemHandle, passed by value */
};
#define GP_TYPE_P void *
#define GP_TYPE_C uint8_t
#define GP_TYPE_S uint16_t
#define GP_TYPE_U uint32_t
#define GP_TYPE_L uint64_t
#define GP_TYPE_H struct gp_call_handle

/*
 * Of a row's COUNT and types: the types alone; parameters p1, p2, .. (the first has the highest
 * number); their names.
 */
#define GP_TYPES_0() void
#define GP_TYPES_1(a) GP_TYPE_##a
#define GP_TYPES_2(a, ...) GP_TYPE_##a, GP_TYPES_1(__VA_ARGS__)
#define GP_TYPES_3(a, ...) GP_TYPE_##a, GP_TYPES_2(__VA_ARGS__)
#define GP_TYPES_4(a, ...) GP_TYPE_##a, GP_TYPES_3(__VA_ARGS__)
#define GP_TYPES_5(a, ...) GP_TYPE_##a, GP_TYPES_4(__VA_ARGS__)
#define GP_TYPES_6(a, ...) GP_TYPE_##a, GP_TYPES_5(__VA_ARGS__)
#define GP_TYPES_7(a, ...) GP_TYPE_##a, GP_TYPES_6(__VA_ARGS__)
#define GP_TYPES_8(a, ...) GP_TYPE_##a, GP_TYPES_7(__VA_ARGS__)
#define GP_TYPES_9(a, ...) GP_TYPE_##a, GP_TYPES_8(__VA_ARGS__)
#define GP_TYPES_10(a, ...) GP_TYPE_##a, GP_TYPES_9(__VA_ARGS__)
#define GP_TYPES_11(a, ...) GP_TYPE_##a, GP_TYPES_10(__VA_ARGS__)
#define GP_PARAMS_0() void
#define GP_PARAMS_1(a) GP_TYPE_##a p1
#define GP_PARAMS_2(a, ...) GP_TYPE_##a p2, GP_PARAMS_1(__VA_ARGS__)
#define GP_PARAMS_3(a, ...) GP_TYPE_##a p3, GP_PARAMS_2(__VA_ARGS__)
#define GP_PARAMS_4(a, ...) GP_TYPE_##a p4, GP_PARAMS_3(__VA_ARGS__)
#define GP_PARAMS_5(a, ...) GP_TYPE_##a p5, GP_PARAMS_4(__VA_ARGS__)
#define GP_PARAMS_6(a, ...) GP_TYPE_##a p6, GP_PARAMS_5(__VA_ARGS__)
#define GP_PARAMS_7(a, ...) GP_TYPE_##a p7, GP_PARAMS_6(__VA_ARGS__)
#define GP_PARAMS_8(a, ...) GP_TYPE_##a p8, GP_PARAMS_7(__VA_ARGS__)
#define GP_PARAMS_9(a, ...) GP_TYPE_##a p9, GP_PARAMS_8(__VA_ARGS__)
#define GP_PARAMS_10(a, ...) GP_TYPE_##a p10, GP_PARAMS_9(__VA_ARGS__)
#define GP_PARAMS_11(a, ...) GP_TYPE_##a p11, GP_PARAMS_10(__VA_ARGS__)
#define GP_NAMES_0
#define GP_NAMES_1 p1
#define GP_NAMES_2 p2, GP_NAMES_1
#define GP_NAMES_3 p3, GP_NAMES_2
#define GP_NAMES_4 p4, GP_NAMES_3
#define GP_NAMES_5 p5, GP_NAMES_4
#define GP_NAMES_6 p6, GP_NAMES_5
#define GP_NAMES_7 p7, GP_NAMES_6
#define GP_NAMES_8 p8, GP_NAMES_7
#define GP_NAMES_9 p9, GP_NAMES_8
#define GP_NAMES_10 p10, GP_NAMES_9
#define GP_NAMES_11 p11, GP_NAMES_10
/* The parameters as words; 0: it is none. */
#define GP_WORD_P(p) (uint64_t)(p)
#define GP_WORD_C(p) (uint64_t)(p)
#define GP_WORD_S(p) (uint64_t)(p)
#define GP_WORD_U(p) (uint64_t)(p)
#define GP_WORD_L(p) (uint64_t)(p)
#define GP_WORD_H(p) 0
#define GP_WORDS_0() 0
#define GP_WORDS_1(a) GP_WORD_##a(p1)
#define GP_WORDS_2(a, ...) GP_WORD_##a(p2), GP_WORDS_1(__VA_ARGS__)
#define GP_WORDS_3(a, ...) GP_WORD_##a(p3), GP_WORDS_2(__VA_ARGS__)
#define GP_WORDS_4(a, ...) GP_WORD_##a(p4), GP_WORDS_3(__VA_ARGS__)
#define GP_WORDS_5(a, ...) GP_WORD_##a(p5), GP_WORDS_4(__VA_ARGS__)
#define GP_WORDS_6(a, ...) GP_WORD_##a(p6), GP_WORDS_5(__VA_ARGS__)
#define GP_WORDS_7(a, ...) GP_WORD_##a(p7), GP_WORDS_6(__VA_ARGS__)
#define GP_WORDS_8(a, ...) GP_WORD_##a(p8), GP_WORDS_7(__VA_ARGS__)
#define GP_WORDS_9(a, ...) GP_WORD_##a(p9), GP_WORDS_8(__VA_ARGS__)
#define GP_WORDS_10(a, ...) GP_WORD_##a(p10), GP_WORDS_9(__VA_ARGS__)
#define GP_WORDS_11(a, ...) GP_WORD_##a(p11), GP_WORDS_10(__VA_ARGS__)

enum gp_call_id {
#define GP_CALL(kind, name, symbol, ...) GP_SEEN_##kind(GP_ID_##symbol, )
#include "preload/driver_calls.def"
	GP_CALL_IDS
};

#endif
