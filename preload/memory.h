/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - device memory that can leave while the program's work is stopped (GPREEMPT_MEMORY=1).
 *
 * Its addresses are reserved, and memory is mapped there (memory.c). A move copies it to the host
 * and releases it; the way back maps new memory at the same addresses (move.h). The program's
 * groups are suspended from before the copy until all is back, even in the middle of a kernel.
 *
 * A driver call that names memory, or submits work, waits meanwhile before it enters the driver.
 * So it holds no lock of libcuda's. A call that is in the driver already has checked its addresses
 * long before memory leaves: a move waits until those calls have returned, 50 ms at most.
 */
#ifndef GP_PRELOAD_MEMORY_H
#define GP_PRELOAD_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/memory.h"

/* Of CUresult. */
#define CU_INVALID_VALUE 1
#define CU_OUT_OF_MEMORY 2

/** For tables by address or handle, of 2^n buckets. */
static inline uint64_t gp_memory_hash(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull >> 32;
}

enum gp_memory_state {
	GP_MEMORY_OFF, /* nothing here can leave */
	GP_MEMORY_OPEN,
	GP_MEMORY_SHUT /* memory is leaving, out or coming back: calls wait */
};

enum gp_memory_use {
	GP_MEMORY_USE_NOT,
	GP_MEMORY_USE_WORK, /* submits work, or waits for it: may be in the driver for long */
	GP_MEMORY_USE_NAMES /* names memory: a move waits for its return */
};

extern _Atomic(int) gp_memory_state;

struct gp_own;

/** One allocation that can leave. */
struct gp_memory_piece {
	struct gp_memory_piece *next;
	uint64_t at, bytes, asked; /* asked: as the program did */
	uint64_t out;		   /* bytes from its begin on of which the host has the only copy */
	uint64_t back;		   /* of these, from its begin on: bytes with memory again */
	uint64_t host;		   /* place of its copy in the host's memory (host.h) */
	uint64_t *handles;	   /* of its parts; NULL: own has one for all of it */
	void *context;		   /* current at its allocation; NULL: none is left */
	struct gp_own *own; /* of the program's own cuMemCreate() (own.h); NULL: cuMemAlloc() */
	bool freeing;
};

#define GP_MEMORY_BUCKETS 1024u

extern struct gp_memory {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct gp_memory_piece *bucket[GP_MEMORY_BUCKETS];
	_Atomic(uint64_t) resident, out; /* bytes of the pieces; read without the lock */
	_Atomic(uint64_t) asked;	 /* of all of them, as the program did */
	_Atomic(uint64_t) moves, moved, move_ns;
	uint64_t part;	  /* memory leaves in parts of so many bytes; set with the device */
	uint8_t uuid[16]; /* of their one device */
	int device;	  /* its number in this process; -1: none yet */
	uint64_t wanted;  /* largest allocation that waits for its memory to be back */
	uint64_t idle_ns; /* its memory leaves when it is idle for so long; 0: never */
	bool takes_turns; /* with other programs, if not all fit; likewise */
	uint64_t min;	  /* a program that has no more keeps it; set by gp_memory_start() */
} gp_memory;

/* The driver's functions. Names as cuda.h has them, without "cu". */
struct gp_memory_location {
	int type, id;
};
struct gp_memory_prop {
	int type, handle_types;
	struct gp_memory_location location;
	void *win32;
	unsigned char flags[8];
};
struct gp_memory_access {
	struct gp_memory_location location;
	int flags;
};
extern struct gp_memory_cuda {
	int (*capture_mode)(int *mode);
	int (*ctx_create)(void **context, unsigned int flags, int device);
	int (*ctx_get_current)(void **context);
	int (*ctx_get_device)(int *device);
	int (*ctx_pop)(void **context);
	int (*ctx_push)(void *context);
	int (*ctx_synchronize)(void);
	int (*device_get_uuid)(uint8_t uuid[16], int device);
	int (*event_create)(void **event, unsigned int flags);
	int (*event_record)(void *event, void *stream);
	int (*event_synchronize)(void *event);
	int (*host_register)(void *host, size_t bytes, unsigned int flags);
	int (*host_unregister)(void *host);
	int (*mem_address_free)(uint64_t at, size_t bytes);
	int (*mem_address_reserve)(uint64_t *at, size_t bytes, size_t align, uint64_t hint,
				   uint64_t flags);
	int (*mem_create)(uint64_t *handle, size_t bytes, const struct gp_memory_prop *prop,
			  uint64_t flags);
	int (*mem_get_granularity)(size_t *bytes, const struct gp_memory_prop *prop, int option);
	int (*mem_get_info)(size_t *free, size_t *total);
	int (*mem_map)(uint64_t at, size_t bytes, size_t offset, uint64_t handle, uint64_t flags);
	int (*mem_release)(uint64_t handle);
	int (*mem_set_access)(uint64_t at, size_t bytes, const struct gp_memory_access *access,
			      size_t count);
	int (*mem_unmap)(uint64_t at, size_t bytes);
	int (*memcpy_dtoh)(void *to, uint64_t from, size_t bytes, void *stream);
	int (*memcpy_htod)(uint64_t to, const void *from, size_t bytes, void *stream);
	int (*primary_get_state)(int device, unsigned int *flags, int *active);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_synchronize)(void *stream);
} gp_memory_cuda;

/* memory.c */

/** By settings.h. @lc: an allocation that does not fit asks others for room; @be: it may leave. */
void gp_memory_start(bool lc, bool be);
/** CLOCK_MONOTONIC. */
uint64_t gp_memory_now_ns(void);
/** gp_memory_cuda is whole. */
bool gp_memory_is_loaded(void);
/** All pieces: the one after @piece, or the first (NULL). gp_memory.lock held. */
struct gp_memory_piece *gp_memory_next(const struct gp_memory_piece *piece);
/** The end of the part of @piece that begins @from bytes after its begin. */
uint64_t gp_memory_part_end(const struct gp_memory_piece *piece, uint64_t from);
/**
 * Make memory for the parts in [@from, @to) of @piece, and map it. 0 or CUDA's error, and nothing
 * was made.
 */
int gp_memory_fill(struct gp_memory_piece *piece, uint64_t from, uint64_t to);
/** Unmap and release the parts in [@from, @to). */
void gp_memory_unfill(struct gp_memory_piece *piece, uint64_t from, uint64_t to);
/** In place of the driver's calls. */
int gp_memory_alloc(int (*driver)(void *at, uint64_t bytes), void *at, uint64_t bytes);
int gp_memory_free(int (*driver)(uint64_t at), uint64_t at);
int gp_memory_range(int (*driver)(void *base, void *bytes, uint64_t at), void *base, void *bytes,
		    uint64_t at);
/**
 * Take gp_memory.lock once all memory is on the device, for an allocation of @bytes or 0. False:
 * no memory of this caller's can leave, and the lock is not held.
 */
bool gp_memory_lock(uint64_t bytes);
void gp_memory_unlock(void);
/** Can memory of the current device leave? gp_memory.lock held, as in the next two. */
bool gp_memory_on_device(void);
/** @piece can leave from now on, or no more. It is on the device, with at, bytes and asked set. */
void gp_memory_list(struct gp_memory_piece *piece);
void gp_memory_unlist(struct gp_memory_piece *piece);
/** Is @at in memory that cuMemAlloc() gave, and that can leave? gp_memory.lock held. */
bool gp_memory_is_piece(uint64_t at);
/** @context was destroyed: its pieces are gone. */
void gp_memory_context_gone(void *context);

/** One call that may run out of memory. */
struct gp_memory_try {
	uint64_t since_ns, nap_ns;
	uint64_t need;	   /* bytes that others were asked for last */
	uint64_t tried_ns; /* begin of the attempt that is next */
	bool last;
};
/** For @bytes it returned @result: shall it be repeated, as others gave room? May sleep. */
bool gp_memory_again(struct gp_memory_try *t, int result, uint64_t bytes);

/** Slow parts of enter and leave. */
bool gp_memory_begin(enum gp_memory_use use);
void gp_memory_leave(void);

/** Before a driver call. True: gp_memory_leave() comes after it. */
static inline bool gp_memory_enter(enum gp_memory_use use)
{
	if (__builtin_expect(!atomic_load_explicit(&gp_memory_state, memory_order_acquire), 1))
		return false;
	return use != GP_MEMORY_USE_NOT && gp_memory_begin(use);
}

/* mover.c */

/** Start the mover if there is none. 0, or CUDA's error: nothing can move. gp_memory.lock held. */
int gp_memory_mover_start(void);
/** A call waits for memory that left an idle program. */
void gp_memory_mover_need(void);
/** Memory came or went: have as much of the host's. */
void gp_memory_mover_resized(void);
/** As gp_engine_hooks.memory. */
void gp_memory_stat(const uint8_t uuid[16], const uint64_t *need, struct gp_memory_stat *stat);
/** Is this the mover's thread? Its context is none of the program's. */
bool gp_memory_is_mover(void);
/** Calls in the driver that name memory; with gp_memory.idle_ns, also those that submit work. */
unsigned int gp_memory_inside(void);
/** With gp_memory.idle_ns: how many such calls came so far, and when the last did. */
uint64_t gp_memory_calls(void);
uint64_t gp_memory_last_call_ns(void);

#endif
