// SPDX-License-Identifier: Apache-2.0
/*
 * policy_level.c - among LC tenants: fixed levels, the lower number first. Tenants of one
 * level do not preempt each other.
 */
#include "sched/internal.h"

static int level_compare(const struct gp_lc_entity *a, const struct gp_lc_entity *b)
{
	return (a->level > b->level) - (a->level < b->level);
}

const struct gp_lc_policy gp_policy_level = {
	.name = "level",
	.compare = level_compare,
};
