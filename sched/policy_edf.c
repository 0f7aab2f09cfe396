// SPDX-License-Identifier: Apache-2.0
/*
 * policy_edf.c - among LC tenants, the earliest deadline goes first. Tenants without a
 * deadline follow, by level, so that admitted deadlines do not depend on them.
 */
#include "sched/internal.h"

static int edf_compare(const struct gp_lc_entity *a, const struct gp_lc_entity *b)
{
	if (a->deadline_ns != b->deadline_ns)
		return a->deadline_ns < b->deadline_ns ? -1 : 1;
	if (a->deadline_ns == GP_NEVER)
		return (a->level > b->level) - (a->level < b->level);
	/* Two jobs in sequence are done sooner than by turns. */
	return (a->tenant > b->tenant) - (a->tenant < b->tenant);
}

const struct gp_lc_policy gp_policy_edf = {
	.name = "edf",
	.deadlines = 1,
	.compare = edf_compare,
};
