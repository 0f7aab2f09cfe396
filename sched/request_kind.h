/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_kind.h - whether a request of an LC context needs the device as it launches, or only
 * as it waits.
 *
 * A dense request (a CUDA graph) keeps the device busy from its first launch on. In a sparse one
 * the CPU is the bottleneck: its kernels take less time than their launches. Its launches may
 * pile up while BE runs, if the device has done them soon after the process begins to wait.
 *
 * A context may serve requests of several kinds. A request's first call of the driver tells
 * which one it is. Not thread-safe.
 */
#ifndef GP_SCHED_REQUEST_KIND_H
#define GP_SCHED_REQUEST_KIND_H

#include <stdbool.h>
#include <stdint.h>

#define GP_REQUEST_KINDS 8u

struct gp_request_kind {
	uint64_t key;
	uint64_t used;	    /* number of the latest request of this kind; 0: the place is free */
	uint64_t launch_ns; /* mean time from the first launch to the wait, and .. */
	uint64_t off_ns;    /* .. mean distance from it */
	uint64_t tail_ns;   /* mean wait of one that had the device as it launched */
	uint64_t lead_ns;   /* piled: it needs the device so long before the wait */
	uint32_t calls;	    /* that launch */
	uint32_t samples;
	uint32_t rest;	   /* requests until it may pile again */
	uint32_t setbacks; /* how often it piled in vain */
	uint32_t calm;	   /* piled requests in a row that fit */
	uint8_t steady;	   /* of the latest requests, a bit each: it had nearly as many */
	uint8_t fits;	   /* of the latest requests, a bit each: as a sparse one */
	bool piles;
	bool is_small; /* so short that a preemption at its wait is all it takes */
};

/* Of one LC context; zeroed: nothing is known. */
struct gp_requests {
	struct gp_request_kind kind[GP_REQUEST_KINDS];
	struct gp_request_kind *now; /* of the request under way; NULL: none is */
	uint64_t count;
	uint64_t first_ns, wait_ns; /* its first launch; its wait, 0: not yet */
	uint64_t needs_ns;   /* as gp_request_begin() returned, or gp_request_needs() moved it */
	uint32_t needs_call; /* its call that needs the device; 0: see needs_ns */
	uint64_t piled_ns;   /* the latest one that may pile; 0: none has */
	bool piled;	     /* the request under way does */
};

/**
 * gp_request_begin() - A request begins.
 * @key: its first call
 * @pile: may it pile?
 * Return: 0: it needs the device now. Else the time from which on it does, if it does not wait
 * before, and does not come to its call needs_call.
 */
uint64_t gp_request_begin(struct gp_requests *r, uint64_t key, uint64_t now_ns, bool pile);
/** It has come to its call needs_call. */
void gp_request_needs(struct gp_requests *r, uint64_t now_ns);
/** It begins to wait for its work, of @calls launches. */
void gp_request_wait(struct gp_requests *r, uint64_t now_ns, uint32_t calls);
/** It has waited for its work, of @calls launches, and is over. */
void gp_request_end(struct gp_requests *r, uint64_t now_ns, uint32_t calls);
/** It is none: what it waited for was no kernel. */
void gp_request_void(struct gp_requests *r);
/** Were requests sparse lately? Then the core should know. */
bool gp_requests_sparse(const struct gp_requests *r, uint64_t now_ns);

#endif
