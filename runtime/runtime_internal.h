/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_internal.h - shared by runtime.c and groups.c. */
#ifndef GP_RUNTIME_INTERNAL_H
#define GP_RUNTIME_INTERNAL_H

#include <pthread.h>

#include "runtime/runtime.h"

/* More than can wait at once: each decision has one outcome. */
#define GP_RUNTIME_TODO (GP_SCHED_MAX_GROUPS + 2 * GP_SCHED_MAX_TENANTS)

struct gp_runtime {
	struct gp_runtime_config config;
	struct gp_hal_caps caps;
	struct gp_sched *core;
	struct gp_decisions out;		  /* scratch of one step */
	struct gp_decision todo[GP_RUNTIME_TODO]; /* a ring */
	size_t first, count;
	uint32_t depth; /* more than 0: in an event */
	bool in_before; /* in ops->before */
	bool managed;
	bool arm_asked, arm_later;
	uint32_t arm_id; /* of the decision */
	uint64_t due_ns, stepped_ns;
	uint32_t jobs;

	pthread_mutex_t groups_lock; /* protects group[], of borrowed ones */
	size_t groups;		     /* places from there on were never used */
	struct gp_runtime_group group[GP_SCHED_MAX_GROUPS];
};

/** The driver's own slice of @g, us. */
uint64_t gp_runtime_default_us(const struct gp_runtime *rt, const struct gp_runtime_group *g);

/* groups.c */
/** The core knows that group @id is gone: free its place. */
void gp_runtime_group_forget(struct gp_runtime *rt, uint32_t id);
/** The same of a group that exists, and is in the table; NULL: none. Takes the lock. */
struct gp_runtime_group *gp_runtime_group_present(struct gp_runtime *rt, uint32_t id);
/** Free all places. */
void gp_runtime_groups_free(struct gp_runtime *rt);

#endif
