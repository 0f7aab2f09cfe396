// SPDX-License-Identifier: Apache-2.0
/*
 * policy_sjf.c - among LC tenants: fixed levels, the lower number first, and
 * of one level whose work is shorter (shortest job first, preemptive). Who of
 * two goes second waits for the first: so the time that the shorter one takes is
 * the least that can be waited.
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
