// SPDX-License-Identifier: Apache-2.0
/*
 * deadline.c - deadlines of LC tenants' work.
 *
 * Work lasts from the first of BUSY, SEGMENT_BEGIN and HOLD to the last of
 * IDLE, SEGMENT_END and RELEASE. Its deadline counts from its arrival. While
 * work is only expected, the deadline counts from the hinted time. Work later
 * than its hint gets the full time from its arrival: a deadline nearer than the
 * admitted one would be at the others' cost.
 *
 * A tenant that misses its deadline gets the next one, a period later. So it
 * stands behind tenants that keep to their runtime.
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
