// SPDX-License-Identifier: Apache-2.0
/*
 * length.c - how long an LC tenant's work is: what it used of the device, as
 * GP_EV_USAGE says, over how many pieces of work it did (deadline.c says what
 * one is), the late ones above all. Until a report has come nobody knows: such work
 * goes behind all other of its level. So does endless work, in time: no piece of
 * it is ever done, and what it used grows.
 *
 * A cut costs two switches. So work that has begun counts as shorter by these, if
 * it is the most urgent: only for what is shorter by more than that it is cut.
 */
#include "sched/internal.h"

#define PIECES 16u
#define BEGUN_NS (100 * GP_NS_PER_US) /* it does not have the device before (H200: 0.2 ms) */

static bool has_begun(const struct gp_sched *s, const struct gp_tenant *t)
{
	return t->has_work && s->now_ns - t->came_ns > BEGUN_NS && gp_cut_is_top(s, t);
}

void gp_length_reconcile(struct gp_sched *s)
{
	const uint64_t cut_ns = gp_add_sat(s->config.lc_switch_ns, s->config.lc_switch_ns);

	if (!s->config.lc_policy->lengths)
		return;
	for (size_t i = 0; i < s->tenants; i++) {
		struct gp_tenant *t = &s->tenant[i];

		t->lc.length_ns = !t->length_ns ?
					  GP_NEVER :
					  gp_sub_sat(t->length_ns, has_begun(s, t) ? cut_ns : 0);
	}
}

void gp_length_done(struct gp_tenant *t)
{
	t->pieces++;
}

void gp_length_usage(struct gp_tenant *t, uint64_t used_ns)
{
	t->pieces_ns = gp_add_sat(t->pieces_ns, used_ns);
	if (t->pieces)
		t->length_ns = gp_max_u64(t->pieces_ns / t->pieces, 1);
	if (t->pieces >= PIECES) {
		t->pieces /= 2;
		t->pieces_ns /= 2;
	}
}
