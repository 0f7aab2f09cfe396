// SPDX-License-Identifier: Apache-2.0
/*
 * policy_fair.c - among BE tenants: who has had the least, for its weight.
 *
 * Virtual runtime is time resident, divided by weight (weight 100: as long as
 * real time). Who comes, or comes back, starts at the least virtual runtime
 * of those there: nobody saves up turns by being idle.
 */
#include "sched/internal.h"

#define WEIGHT_UNIT 100

static void fair_enter(struct gp_be_entity *e, uint64_t min_vruntime_ns)
{
	e->vruntime_ns = gp_max_u64(e->vruntime_ns, min_vruntime_ns);
}

static void fair_charge(struct gp_be_entity *e, uint64_t ran_ns)
{
	/* Split, so that no product of a time and the unit overflows. */
	uint64_t v = ran_ns / e->weight * WEIGHT_UNIT +
		     ran_ns % e->weight * WEIGHT_UNIT / e->weight;

	e->vruntime_ns = gp_add_sat(e->vruntime_ns, v);
}

/* Equal ones: who has waited longest. */
static bool fair_before(const struct gp_be_entity *a,
			const struct gp_be_entity *b)
{
	if (a->vruntime_ns != b->vruntime_ns)
		return a->vruntime_ns < b->vruntime_ns;
	return a->waiting_since_ns < b->waiting_since_ns;
}

static size_t fair_pick(const struct gp_be_entity *const *e, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (fair_before(e[i], e[best]))
			best = i;
	return best;
}

static uint64_t fair_quantum(const struct gp_be_entity *e, size_t runnable,
			     uint64_t base_ns)
{
	return base_ns;
}

const struct gp_be_policy gp_policy_fair = {
	.name = "fair",
	.enter = fair_enter,
	.charge = fair_charge,
	.pick = fair_pick,
	.quantum = fair_quantum,
};
