// SPDX-License-Identifier: Apache-2.0
/*
 * be_minimum.c - BE's guaranteed part of the device, however busy LC is
 * (be_min_pct).
 *
 * While a BE tenant has its turn, BE is owed be_min_pct of the time that
 * passes, less the time it certainly had. When the debt reaches the part of one
 * be_period_ns, a window opens: all LC groups are suspended until the debt is
 * paid. So LC without pauses loses be_min_pct and the switches. LC that leaves
 * BE as much by itself loses nothing.
 *
 * A tenant may wait for a turn and have no kernels, as one that copies does. No window could
 * pay it, so windows become rare in its turns once the log shows some that it left unused.
 *
 * The core suspends on every kind of device. Where slices preempt, slices could
 * do it (BE's long, LC's short). But two LC groups at a short slice would
 * livelock the device, and setting each costs as much as a suspend of all.
 */
#include "sched/internal.h"

/* So many windows in a row may be unused by chance. */
#define UNUSED_BY_CHANCE 2
/* Each more doubles the time to the next, to 32 periods at most. */
#define WINDOW_SHIFT_MAX 5

static bool group_of_lc(const struct gp_sched *s, const struct gp_group_state *g)
{
	return gp_computes(g) && g->tenant != GP_NONE && gp_is_lc(&s->tenant[g->tenant]);
}

static bool known_busy(const struct gp_tenant *t)
{
	return t->activity == GP_ACT_BUSY || t->seg_depth || t->held;
}

/* Has LC the device, as far as is known? @doubt: or could it have it? */
static bool lc_has_device(const struct gp_sched *s, bool doubt)
{
	/* There BE is suspended while LC has the device. */
	if (gp_holds_by_suspend(s))
		return false;
	for (size_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];
		const struct gp_tenant *t;

		if (!group_of_lc(s, g) || g->run == GP_RUN_OFF)
			continue;
		t = &s->tenant[g->tenant];
		if (known_busy(t) || (doubt && t->activity == GP_ACT_UNKNOWN))
			return true;
	}
	return false;
}

static bool resident_runs(const struct gp_sched *s)
{
	return s->resident != GP_NONE && s->group[s->resident].run == GP_RUN_ON;
}

static bool be_wants(const struct gp_sched *s)
{
	return s->config.rotate && s->config.be_min_pct && s->resident != GP_NONE &&
	       s->tenant[gp_rotate_tenant(s)].runnable;
}

bool gp_min_turn_runs(const struct gp_sched *s)
{
	return !s->config.be_min_pct || !lc_has_device(s, false);
}

static bool be_gets(const struct gp_sched *s)
{
	return resident_runs(s) && !lc_has_device(s, true);
}

/* All that is owed is in 1/100 ns, as a rate in per cent makes it. */
static uint64_t due(const struct gp_sched *s)
{
	return s->config.be_period_ns * s->config.be_min_pct;
}

/* The debt of a window that opens late: an eighth of a period at most. */
static uint64_t owed_max(const struct gp_sched *s)
{
	return due(s) + due(s) / 8;
}

void gp_min_account(struct gp_sched *s, uint64_t passed_ns)
{
	bool gets = be_gets(s);

	if (!be_wants(s))
		return;
	/* More than a few periods: nobody stepped this for long. */
	passed_ns = gp_min_u64(passed_ns, 100 * s->config.be_period_ns);
	s->min_owed += passed_ns * s->config.be_min_pct;
	if (gets) {
		s->min_owed = gp_sub_sat(s->min_owed, passed_ns * 100);
		s->tenant[gp_rotate_tenant(s)].sure_ns += passed_ns;
	}
	if (!s->window_since_ns)
		s->min_owed = gp_min_u64(s->min_owed, owed_max(s));
}

void gp_min_usage(struct gp_sched *s, uint64_t more_ns)
{
	uint64_t ns = gp_min_u64(more_ns, 100 * s->config.be_period_ns);

	s->min_owed = gp_sub_sat(s->min_owed, ns * 100);
}

void gp_min_used(struct gp_sched *s, struct gp_tenant *t, uint64_t used_ns, uint64_t at_ns)
{
	s->usage_until_ns = gp_max_u64(s->usage_until_ns, gp_min_u64(at_ns, s->now_ns));
	if (used_ns)
		t->unused_windows = 0;
}

bool gp_min_unused(const struct gp_tenant *t)
{
	return t->unused_windows > UNUSED_BY_CHANCE;
}

/* Many such tenants together cost LC no more than one. */
static uint64_t unused_period_ns(const struct gp_sched *s, const struct gp_tenant *t)
{
	uint64_t tenants = 0;

	for (size_t i = 0; i < s->tenants; i++)
		tenants += s->tenant[i].id && gp_min_unused(&s->tenant[i]);
	return tenants * (s->config.be_period_ns << (t->unused_windows - UNUSED_BY_CHANCE));
}

/* The time of the next window at the earliest. */
static uint64_t earliest_ns(const struct gp_sched *s)
{
	const struct gp_tenant *t = &s->tenant[gp_rotate_tenant(s)];

	if (!gp_min_unused(t))
		return s->window_next_ns;
	return gp_max_u64(s->window_next_ns, gp_add_sat(t->window_ns, unused_period_ns(s, t)));
}

static uint64_t lc_groups(const struct gp_sched *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->groups; i++)
		n += group_of_lc(s, &s->group[i]);
	return n;
}

/* Longest that a window is open which takes @groups off. */
static uint64_t window_ns(const struct gp_sched *s, uint64_t groups)
{
	uint64_t off = groups * s->config.control_ns;
	uint64_t pct = s->config.be_min_pct;

	return off + s->config.switch_ns + (owed_max(s) + off * pct) / (100 - pct) + 1;
}

uint64_t gp_min_blackout_ns(const struct gp_sched *s, uint64_t more_groups)
{
	uint64_t groups = lc_groups(s) + more_groups;

	if (!s->config.rotate || !s->config.be_min_pct)
		return 0;
	return window_ns(s, groups) + groups * s->config.control_ns;
}

uint64_t gp_min_window_end_ns(const struct gp_sched *s)
{
	return gp_add_sat(s->window_since_ns, window_ns(s, lc_groups(s)));
}

static bool may_open(const struct gp_sched *s)
{
	if (!be_wants(s) || s->now_ns < earliest_ns(s) || !lc_groups(s))
		return false;
	/* Not in the middle of a rotation: the window would pass unused. */
	return gp_holds_by_suspend(s) || resident_runs(s) ||
	       gp_leave_keeps_off(s, &s->tenant[gp_rotate_tenant(s)]);
}

static void open_window(struct gp_sched *s)
{
	struct gp_tenant *t = &s->tenant[gp_rotate_tenant(s)];

	s->window_since_ns = s->now_ns;
	/* The switch to BE takes from its time. */
	s->min_owed += s->config.switch_ns * (100 - s->config.be_min_pct);
	s->window_next_ns = gp_add_sat(s->now_ns, s->config.be_period_ns);
	/* Also counts a window that was used, but that use ends the row. */
	if (t->window_ended_ns && t->window_ended_ns <= s->usage_until_ns &&
	    t->unused_windows < UNUSED_BY_CHANCE + WINDOW_SHIFT_MAX)
		t->unused_windows++;
	t->window_ns = s->now_ns;
}

void gp_min_left(struct gp_sched *s, uint64_t ns)
{
	const uint32_t pct = s->config.be_min_pct;

	if (pct)
		s->window_next_ns =
			gp_max_u64(s->window_next_ns, gp_add_sat(s->now_ns, ns / pct * 100));
}

static void close_window(struct gp_sched *s)
{
	const uint32_t tenant = gp_rotate_tenant(s);

	s->window_since_ns = 0;
	if (tenant != GP_NONE)
		s->tenant[tenant].window_ended_ns = s->now_ns;
}

/*
 * A window opens by its timer only, not with an earlier event. In between,
 * usage of each tenant is reported and may pay the whole debt.
 */
void gp_min_reconcile(struct gp_sched *s, const struct gp_event *event)
{
	if (!s->config.be_min_pct)
		return;
	if (s->window_since_ns &&
	    (!s->min_owed || !be_wants(s) || !lc_groups(s) || s->now_ns >= gp_min_window_end_ns(s)))
		close_window(s);
	if (!s->window_since_ns && s->min_owed >= due(s) && may_open(s) &&
	    event->type == GP_EV_TIMER)
		open_window(s);
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

bool gp_sched_min_due(const struct gp_sched *s, uint64_t now_ns)
{
	return s->config.be_min_pct && !s->window_since_ns && gp_min_next_ns(s) <= now_ns;
}

uint64_t gp_min_next_ns(const struct gp_sched *s)
{
	uint64_t pct = s->config.be_min_pct, next;

	if (!be_wants(s) || !lc_groups(s))
		return GP_NEVER;
	if (s->window_since_ns) {
		next = gp_min_window_end_ns(s);
		if (be_gets(s))
			next = gp_min_u64(next,
					  gp_add_sat(s->now_ns, div_up(s->min_owed, 100 - pct)));
		return next;
	}
	if (be_gets(s))
		return GP_NEVER;
	next = gp_add_sat(s->now_ns, div_up(gp_sub_sat(due(s), s->min_owed), pct));
	next = gp_max_u64(next, earliest_ns(s));
	/* Due: at once, or when an outcome or another step frees it. */
	return next > s->now_ns ? next : may_open(s) ? s->now_ns + 1 : GP_NEVER;
}
