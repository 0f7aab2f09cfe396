// SPDX-License-Identifier: Apache-2.0
/*
 * why.c - for views: why a tenant runs, or what it waits for. Reads the facts that decisions
 * use, and changes nothing.
 */
#include <errno.h>

#include "sched/internal.h"

/* The most telling group: one that runs, else the resident, else any. */
static const struct gp_group_state *group_of(const struct gp_sched *s, uint32_t tenant)
{
	const struct gp_group_state *best = NULL;

	for (uint32_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (!gp_computes(g) || g->tenant != tenant)
			continue;
		if (!best || g->run == GP_RUN_ON || (i == s->resident && best->run != GP_RUN_ON))
			best = g;
	}
	return best;
}

static uint64_t known(uint64_t at_ns)
{
	return at_ns == GP_NEVER ? 0 : at_ns;
}

static void because_of_lc(struct gp_sched_why *why, const struct gp_tenant *lc)
{
	why->reason = GP_WHY_LC;
	why->other = lc->id;
	why->since_ns = lc->has_work ? lc->came_ns : lc->held_since_ns;
	why->until_ns = lc->held ? lc->held_until_ns : 0;
}

/* On the device, or not known to be suspended. */
static void why_on(const struct gp_sched *s, const struct gp_tenant *t, struct gp_sched_why *why)
{
	const struct gp_tenant *lc = gp_cut_before(s, t);

	if (lc && lc != t && !s->window_since_ns) {
		because_of_lc(why, lc);
	} else if (s->piles && t->activity == GP_ACT_PILES) {
		why->reason = GP_WHY_PILES;
		why->other = gp_sched_resident(s);
		why->until_ns = t->needs_ns;
	} else {
		why->reason = GP_WHY_RUNS;
	}
}

static void why_lc_off(const struct gp_sched *s, const struct gp_tenant *t,
		       struct gp_sched_why *why)
{
	const struct gp_tenant *lc = gp_cut_before(s, t);

	if (s->window_since_ns) {
		why->reason = GP_WHY_MINIMUM;
		why->since_ns = s->window_since_ns;
		why->until_ns = gp_min_window_end_ns(s);
	} else if (lc) {
		because_of_lc(why, lc);
	} else {
		why->reason = GP_WHY_SWITCHING;
	}
}

/* It has its turn but does not run yet. */
static void why_resident_off(const struct gp_sched *s, const struct gp_tenant *t,
			     struct gp_sched_why *why)
{
	const struct gp_tenant *lc = NULL;

	if (gp_cut_keeps_be_off(s))
		lc = gp_cut_before(s, t);
	else if (gp_holds_by_suspend(s) && !s->window_since_ns)
		lc = gp_hold_holder(s);
	if (lc) {
		because_of_lc(why, lc);
		return;
	}
	if (gp_leave_keeps_off(s, t)) {
		why->reason = GP_WHY_SLOW;
		why->until_ns = known(gp_leave_until_ns(s, t));
		return;
	}
	why->reason = GP_WHY_SWITCHING;
	why->since_ns = s->turn_since_ns;
	for (uint32_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (gp_computes(g) && g->tenant != GP_NONE && &s->tenant[g->tenant] != t &&
		    g->run != GP_RUN_OFF && gp_takes_turns(s, &s->tenant[g->tenant]))
			why->other = s->tenant[g->tenant].id;
	}
}

static void why_no_turn(const struct gp_sched *s, const struct gp_tenant *t,
			struct gp_sched_why *why)
{
	const struct gp_tenant *lc = gp_hold_lc_active(s);
	uint64_t ready = gp_rotate_ready_ns(s, t);

	if (ready > s->now_ns) {
		why->reason = GP_WHY_CAP;
		why->until_ns = ready;
		return;
	}
	why->ahead = gp_rotate_ahead(s, (uint32_t)(t - s->tenant));
	if (s->rotate_since_ns && lc && !why->ahead) {
		why->reason = GP_WHY_PUT_OFF;
		why->other = lc->id;
		why->since_ns = s->rotate_since_ns;
		why->until_ns = gp_add_sat(s->rotate_since_ns, s->config.rotation_defer_max_ns);
		return;
	}
	why->reason = GP_WHY_TURN;
	if (s->resident == GP_NONE)
		return;
	why->other = s->tenant[s->group[s->resident].tenant].id;
	why->since_ns = s->turn_since_ns;
	why->until_ns = known(gp_rotate_turn_end_ns(s));
}

static void why_off(const struct gp_sched *s, const struct gp_tenant *t,
		    const struct gp_group_state *g, struct gp_sched_why *why)
{
	if (g->error && g->retry_ns > s->now_ns) {
		why->reason = GP_WHY_RETRY;
		why->error = g->error;
		why->until_ns = g->retry_ns;
	} else if (gp_is_lc(t)) {
		why_lc_off(s, t, why);
	} else if (s->resident == (uint32_t)(g - s->group)) {
		why_resident_off(s, t, why);
	} else if (t->activity == GP_ACT_IDLE) {
		why->reason = GP_WHY_IDLE;
	} else if (gp_takes_turns(s, t)) {
		why_no_turn(s, t, why);
	} else {
		why->reason = GP_WHY_SWITCHING;
	}
}

int gp_sched_why(const struct gp_sched *s, uint32_t tenant, struct gp_sched_why *why)
{
	for (uint32_t i = 0; tenant && i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];
		const struct gp_group_state *g;

		if (t->id != tenant)
			continue;
		*why = (struct gp_sched_why){ .reason = GP_WHY_NO_GROUP };
		g = group_of(s, i);
		if (g && g->run == GP_RUN_ON && gp_group_idles(s, g))
			why->reason = GP_WHY_IDLE;
		else if (g && g->run == GP_RUN_ON)
			why_on(s, t, why);
		else if (g)
			why_off(s, t, g, why);
		return 0;
	}
	return -ENOENT;
}
