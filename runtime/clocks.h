/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h - by how much another clock is ahead of ours, from readings of it
 * between two of ours. Pure but for gp_clocks_of_log(), a fixed size; one caller at a
 * time. All times are ns.
 *
 * A reading is off by at most half of what it took, and what it said gets worse
 * by as much as the clocks may drift apart. So one is taken when it is better
 * than what is known by then, however fast or slow readings are on a machine.
 */
#ifndef GP_CLOCKS_H
#define GP_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpreempt/hal.h"

struct gp_clocks {
	int64_t ahead_ns; /* of ours; with known */
	bool known;
	uint64_t doubt_ns; /* off by at most so much .. */
	uint64_t at_ns;	   /* .. then, by our clock */
};

/** The other clock was at @there_ns, some time from @before_ns to @after_ns. True: taken. */
bool gp_clocks_read(struct gp_clocks *c, uint64_t before_ns, uint64_t there_ns, uint64_t after_ns);

/**
 * Read the clock of @log, whose @dev's is ours: several times until it is known, then
 * once. @same: it is ours (virtual time). 0; negative errno of a clock that cannot be
 * read. Not pure; blocks as log_now() does.
 */
int gp_clocks_of_log(struct gp_clocks *c, const struct gp_hal_ops *ops, struct gp_device *dev,
		     struct gp_log *log, bool same);

/** What ahead_ns may be off by at @now_ns; UINT64_MAX: it is not known. */
uint64_t gp_clocks_doubt(const struct gp_clocks *c, uint64_t now_ns);

#endif
