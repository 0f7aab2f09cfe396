// SPDX-License-Identifier: Apache-2.0
/*
 * policy_fair.c - among BE tenants, the one with the least time for its weight.
 *
 * Virtual runtime is time resident, divided by weight (weight 100: real time).
 * A tenant that comes, or returns, starts at the least virtual runtime of the
 * others, or of the last one that ran if there are no others. So idling saves up no
 * turns.
 *
 * The minimum may count time that a late report refunds. So a refund may lead below it, by
 * as much as such a report can cover. With more, a tenant alone on the device would gain
 * a lead over tenants to come.
 *
 * The bound on waiting, with T as in docs/sched.md. At the end of its turn, tenant i is at most
 * 100 T / w_i above the minimum m, as it was the least when that turn began. Tenant j is at m
 * or above, then or when it enters. It gets the device only at or below i. So it runs for at
 * most w_j T / w_i, and one turn more.
 */
#include "sched/internal.h"

#define WEIGHT_UNIT 100

static void fair_enter(struct gp_be_entity *e, const struct gp_be_time *t)
{
	e->vruntime_ns = gp_max_u64(e->vruntime_ns, t->min_vruntime_ns);
}

static void fair_reset(struct gp_be_entity *e, const struct gp_be_time *t)
{
	e->vruntime_ns = t->min_vruntime_ns;
}

/* Split, so that no product of a time and the unit overflows. */
static uint64_t virtual_ns(const struct gp_be_entity *e, uint64_t ran_ns)
{
	return ran_ns / e->weight * WEIGHT_UNIT + ran_ns % e->weight * WEIGHT_UNIT / e->weight;
}

static void fair_charge(struct gp_be_entity *e, uint64_t ran_ns, const struct gp_be_time *t)
{
	e->vruntime_ns = gp_add_sat(e->vruntime_ns, virtual_ns(e, ran_ns));
}

static void fair_refund(struct gp_be_entity *e, uint64_t ns, const struct gp_be_time *t)
{
	uint64_t least = gp_sub_sat(t->min_vruntime_ns, virtual_ns(e, t->late_ns));
	uint64_t refunded = gp_sub_sat(e->vruntime_ns, virtual_ns(e, ns));

	e->vruntime_ns = gp_min_u64(e->vruntime_ns, gp_max_u64(refunded, least));
}

/* Among equals the longest wait goes first. */
static bool fair_before(const struct gp_be_entity *a, const struct gp_be_entity *b)
{
	if (a->vruntime_ns != b->vruntime_ns)
		return a->vruntime_ns < b->vruntime_ns;
	return a->waiting_since_ns < b->waiting_since_ns;
}

static uint64_t fair_quantum(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	return t->base_ns;
}

const struct gp_be_policy gp_policy_fair = {
	.name = "fair",
	.before = fair_before,
	.charge = fair_charge,
	.enter = fair_enter,
	.quantum = fair_quantum,
	.refund = fair_refund,
	.reset = fair_reset,
};
