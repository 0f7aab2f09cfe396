// SPDX-License-Identifier: Apache-2.0
/*
 * policy_rr.c - among BE tenants: turns of equal length, to who has waited
 * longest. Weights and what anybody used are not looked at.
 */
#include "sched/internal.h"

static void rr_nothing(struct gp_be_entity *e, const struct gp_be_time *t)
{
}

static void rr_charge(struct gp_be_entity *e, uint64_t ran_ns,
		      const struct gp_be_time *t)
{
}

static void rr_refund(struct gp_be_entity *e, uint64_t ns)
{
}

static size_t rr_pick(const struct gp_be_entity *const *e, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (e[i]->waiting_since_ns < e[best]->waiting_since_ns)
			best = i;
	return best;
}

static uint64_t rr_quantum(const struct gp_be_entity *e,
			   const struct gp_be_time *t)
{
	return t->base_ns;
}

const struct gp_be_policy gp_policy_rr = {
	.name = "rr",
	.charge = rr_charge,
	.enter = rr_nothing,
	.pick = rr_pick,
	.quantum = rr_quantum,
	.refund = rr_refund,
	.reset = rr_nothing,
};
