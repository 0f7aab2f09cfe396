// SPDX-License-Identifier: Apache-2.0
/*
 * policy_sjf.c - among LC tenants, fixed levels, the lower number first; within
 * a level the shortest job first, preemptive. The second of two waits for the
 * first, so the total wait is least if the shorter one goes first.
 */
#include "sched/internal.h"

static int sjf_compare(const struct gp_lc_entity *a, const struct gp_lc_entity *b)
{
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	return (a->length_ns > b->length_ns) - (a->length_ns < b->length_ns);
}

const struct gp_lc_policy gp_policy_sjf = {
	.name = "sjf",
	.lengths = 1,
	.compare = sjf_compare,
};
