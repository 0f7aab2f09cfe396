// SPDX-License-Identifier: Apache-2.0
/*
 * policy_rr.c - among BE tenants, turns of equal length for the one that waited
 * longest. Weights and use do not count.
 */
#include "sched/internal.h"

static void rr_nothing(struct gp_be_entity *e, const struct gp_be_time *t)
{
}

static void rr_charge(struct gp_be_entity *e, uint64_t ran_ns, const struct gp_be_time *t)
{
}

static void rr_refund(struct gp_be_entity *e, uint64_t ns, const struct gp_be_time *t)
{
}

static bool rr_before(const struct gp_be_entity *a, const struct gp_be_entity *b)
{
	return a->waiting_since_ns < b->waiting_since_ns;
}

static uint64_t rr_quantum(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	return t->base_ns;
}

const struct gp_be_policy gp_policy_rr = {
	.name = "rr",
	.before = rr_before,
	.charge = rr_charge,
	.enter = rr_nothing,
	.quantum = rr_quantum,
	.refund = rr_refund,
	.reset = rr_nothing,
};
