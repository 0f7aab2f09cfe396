/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.h - device memory that the program has by calls that the layer sees, and its limit
 * (GPREEMPT_MEMORY=MIN:MAX). Bytes are those that the program asked for, on each device.
 *
 * Memory is counted before the driver's call, so that threads cannot exceed the limit together.
 * A release takes its entry out before the driver's call: the driver may give the address to
 * another thread before the call returns.
 */
#ifndef GP_PRELOAD_QUOTA_H
#define GP_PRELOAD_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/driver_calls.h"

#define GP_QUOTA_DEVICES 64

struct gp_quota_entry;

/** One call between its two sides. */
struct gp_quota_call {
	enum gp_call_id id;
	const uint64_t *arg;
	struct gp_quota_entry *entry; /* new, or taken out */
};

extern atomic_bool gp_quota_on;

/** Count from now on; @max: bytes on each device, by @rule of gpreemptd's; NULL: by the user. */
void gp_quota_start(uint64_t max, const char *rule);
/** Likewise for all processes of the cgroup together, by @rule: gpreemptd has their page. */
void gp_quota_start_together(uint64_t max, const char *rule);
/** Another gpreemptd may have that page now. Waits a second at most. */
void gp_quota_join(void);
/** Slow parts of the next two. */
int gp_quota_begin(struct gp_quota_call *c, enum gp_call_id id, const uint64_t *arg);
void gp_quota_end(struct gp_quota_call *c, int result);

/**
 * Before the driver's call @id with arguments @arg, which last until gp_quota_leave(). 0, or
 * CUDA's error in place of the call.
 */
static inline int gp_quota_enter(struct gp_quota_call *c, enum gp_call_id id, const uint64_t *arg)
{
	c->entry = NULL;
	if (__builtin_expect(!atomic_load_explicit(&gp_quota_on, memory_order_acquire), 1))
		return 0;
	return gp_quota_begin(c, id, arg);
}

/** After it returned @result. */
static inline void gp_quota_leave(struct gp_quota_call *c, int result)
{
	if (__builtin_expect(c->entry != NULL, 0))
		gp_quota_end(c, result);
}

/** Bytes that a call @id with arguments @arg asks for; 0: it is no allocation. */
uint64_t gp_quota_bytes(enum gp_call_id id, const uint64_t *arg);
/** Limit figures of the current device's memory. */
void gp_quota_info(uint64_t *free, uint64_t *total);
/** Bytes that the program has on the device @number of this process. */
uint64_t gp_quota_had(int number);
/** Number of the device @uuid; -1: the program has had nothing on it. */
int gp_quota_device(const uint8_t uuid[16]);
/** @context was destroyed, and its memory with it. */
void gp_quota_context_gone(void *context);

#endif
