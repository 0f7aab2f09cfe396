// SPDX-License-Identifier: Apache-2.0
/*
 * deadline.c - by when an LC tenant's work is to be done.
 *
 * Work is on from the first of BUSY, SEGMENT_BEGIN and HOLD to the last of
 * IDLE, SEGMENT_END and RELEASE. Its deadline counts from when it came. While it
 * is only expected, from when the hint says that it comes: but work that is late
 * for its hint has the full time from then, since a deadline that is nearer than
 * the tenant was admitted with would be at the others' cost.
 *
 * Who misses its deadline, because it needs more than it said, gets the next
 * one, a period on: so it stands behind those who keep to what they said.
 */
#include "sched/internal.h"

static uint64_t deadline_of(const struct gp_tenant *t, uint64_t came_ns)
{
	return t->spec.deadline_ns ? gp_add_sat(came_ns, t->spec.deadline_ns) : GP_NEVER;
}

void gp_deadline_hint(struct gp_tenant *t, uint64_t work_ns)
{
	if (!t->has_work)
		t->lc.deadline_ns = deadline_of(t, work_ns);
}

void gp_deadline_begin(const struct gp_sched *s, struct gp_tenant *t)
{
	if (t->has_work)
		return;
	t->has_work = 1;
	t->came_ns = s->now_ns;
	t->lc.deadline_ns = deadline_of(t, t->came_ns);
}

void gp_deadline_end(struct gp_tenant *t)
{
	if (t->seg_depth || t->hand_depth || t->activity == GP_ACT_BUSY)
		return;
	if (t->has_work)
		gp_length_done(t);
	t->has_work = 0;
	t->lc.deadline_ns = t->hint == GP_HINT_NONE ? GP_NEVER : deadline_of(t, t->hint_work_ns);
}

void gp_deadline_expire(const struct gp_sched *s, struct gp_tenant *t)
{
	uint64_t step = gp_max_u64(t->spec.period_ns, t->spec.deadline_ns);

	if (t->lc.deadline_ns > s->now_ns)
		return;
	if (!t->has_work || !step) {
		t->lc.deadline_ns = GP_NEVER;
		return;
	}
	step *= (s->now_ns - t->lc.deadline_ns) / step + 1;
	t->lc.deadline_ns = gp_add_sat(t->lc.deadline_ns, step);
	t->deadlines_missed++;
}

void gp_deadline_renew(const struct gp_sched *s, struct gp_tenant *t)
{
	uint64_t missed = t->deadlines_missed;

	if (t->has_work)
		t->lc.deadline_ns = deadline_of(t, t->came_ns);
	else
		gp_deadline_end(t);
	gp_deadline_expire(s, t);
	t->deadlines_missed = missed;
}

uint64_t gp_deadline_next_ns(const struct gp_sched *s, const struct gp_tenant *t)
{
	return s->config.lc_policy->deadlines ? t->lc.deadline_ns : GP_NEVER;
}
