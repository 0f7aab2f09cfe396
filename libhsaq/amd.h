/* SPDX-License-Identifier: Apache-2.0 */
/* amd.h - shared by hal.c and track.c, the backend over libhsaq. */
#ifndef HSAQ_AMD_H
#define HSAQ_AMD_H

#include <stdatomic.h>

#include "gpreempt/hal.h"
#include "hsaq.h"

#define gp_amd_of(type, ptr) ((struct type *)(ptr))

/*
 * A queue is named by its process and a number below 1024 (KFD_MAX_NUM_OF_
 * QUEUES_PER_PROCESS): pids end at 2^22.
 */
#define GP_AMD_QUEUE_BITS 10

struct gp_amd_device {
	struct gp_device base; /* first */
	struct hsaq *h;	       /* the process's one handle */
	uint32_t gpu_id;
	uint32_t caps;
	uint32_t slots;
	uint64_t max_hold_ns;
	atomic_uint hold_level; /* of this process's class */
};

/**
 * struct gp_amd_group - a queue
 * @wptr, @rptr: addresses of its indices in this process; 0: unknown, as for all but
 *	tracked queues
 * @ring: its packets, if they are AQL's; else 0
 */
struct gp_amd_group {
	struct gp_group base; /* first */
	uint32_t queue_id;
	uint32_t ring_bytes;
	uint64_t wptr, rptr, ring;
};

/**
 * gp_amd_handle_get() - this process's one handle, with the queues that it knows and the file
 * that keeps holds alive. 0, and a reference to put; else hsaq_open()'s error.
 */
int gp_amd_handle_get(struct hsaq **h);
void gp_amd_handle_put(struct hsaq *h);

/**
 * @type: enum hsaq_queue_type. Put like all groups; NULL: out of memory.
 */
struct gp_group *gp_amd_group_new(struct gp_device *dev, pid_t pid, uint32_t queue_id,
				  uint32_t type);
/** The device of @gpu_id, to be closed. 0; -ENODEV; else the error of opening it. */
int gp_amd_open_gpu(uint32_t gpu_id, struct gp_device **dev);

#endif
