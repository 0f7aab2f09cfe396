/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h - how far another clock is ahead of ours, from readings of it between two of ours.
 * Pure except for gp_clocks_of_log(), a fixed size; one caller at a time. All times are ns.
 *
 * A reading is off by at most half of the time it took. Its error grows as the clocks drift.
 * So a new reading is used when it is better than the drifted one, however slow readings are
 * on a machine.
 */
#ifndef GP_CLOCKS_H
#define GP_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpreempt/hal.h"

struct gp_clocks {
	int64_t ahead_ns; /* ahead of ours; with known */
	bool known;
	uint64_t doubt_ns; /* largest error .. */
	uint64_t at_ns;	   /* .. at this time of our clock */
};

/** The other clock was at @there_ns between @before_ns and @after_ns. Return: true: used. */
bool gp_clocks_read(struct gp_clocks *c, uint64_t before_ns, uint64_t there_ns, uint64_t after_ns);

/**
 * Read the clock of @log, whose @dev's is ours: several times until it is known, then once.
 * @same: it is ours (virtual time). Return: 0; negative errno of an unreadable clock. Not
 * pure; blocks as log_now() does.
 */
int gp_clocks_of_log(struct gp_clocks *c, const struct gp_hal_ops *ops, struct gp_device *dev,
		     struct gp_log *log, bool same);

/** Largest error of ahead_ns at @now_ns; UINT64_MAX: unknown. */
uint64_t gp_clocks_doubt(const struct gp_clocks *c, uint64_t now_ns);

#endif
