/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frozen.h - a tenant whose cgroup is frozen. Its process cannot use what it would get: none of
 * its groups runs, the core has none of them, and it counts as idle.
 */
#ifndef GP_DAEMON_FROZEN_H
#define GP_DAEMON_FROZEN_H

#include <stdbool.h>
#include <stdint.h>

struct gp_dtenant;

#define GP_FROZEN_THAW_NS 1000000000ull /* a tenant comes back at most once in this time */

/**
 * struct gp_frozen - a tenant's part
 * @frozen: its cgroup is
 * @thaws: it was, and the tenant's groups do not all run yet
 * @since_ns: of that state
 * @back_ns: it came back last, by CLOCK_MONOTONIC; 0: never
 */
struct gp_frozen {
	bool frozen, thaws;
	uint64_t since_ns, back_ns;
};

/** Is it, or was it until now? Its groups are suspended. */
static inline bool gp_frozen_is_off(const struct gp_frozen *f)
{
	return f->frozen || f->thaws;
}

/** Its cgroup is frozen, or no longer. */
void gp_frozen_set(struct gp_dtenant *tenant, bool frozen);
/** It has other groups now. */
void gp_frozen_follow(struct gp_dtenant *tenant);
/** Once a second: a call may have failed, and a thaw may have come too soon after the last. */
void gp_frozen_check(struct gp_dtenant *tenant);

#endif
