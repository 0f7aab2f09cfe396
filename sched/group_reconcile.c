// SPDX-License-Identifier: Apache-2.0
/*
 * group_reconcile.c - brings each group to its slice and run state. One decision per
 * group is under way at a time.
 *
 * Two groups at the short slice that may both run make the GPU do nothing but
 * switch. So a group counts as short from the decision that makes it short
 * until it is known not to be. It counts as running until it is known to be
 * suspended. No group joins one that counts as both.
 */
#include <errno.h>

#include "sched/internal.h"

static bool is_short(const struct gp_sched *s, const struct gp_group_state *g)
{
	if (!gp_computes(g))
		return false;
	if (g->slice_us == s->config.be_slice_us || g->slice_us == GP_NEVER)
		return true;
	return g->pending && g->pending_type == GP_DO_SET_SLICE &&
	       g->slice_next_us == s->config.be_slice_us;
}

/*
 * Facts about all groups, gathered once a step. Each group's own part of a count is taken out
 * while it is reconciled.
 */
struct pass {
	const struct gp_tenant *holder;	   /* LC that has the device by suspends; NULL: none */
	const struct gp_tenant *suspender; /* LC for which less urgent LC is suspended */
	const struct gp_group_state *first_be;
	uint32_t may_run, may_run_short;
	uint32_t cut; /* groups whose turn is still to be ended */
};

static void count(const struct gp_sched *s, struct pass *p, const struct gp_group_state *g,
		  uint32_t one)
{
	if (!gp_computes(g) || g->run == GP_RUN_OFF)
		return;
	p->may_run += one;
	if (is_short(s, g))
		p->may_run_short += one;
}

/* Restored, or as near to that as the driver allows. */
static bool is_put_back(const struct gp_group_state *g)
{
	return g->tenant == GP_NONE && !g->pending && g->run == GP_RUN_ON &&
	       (!g->slice_us || !g->slice_refused_us);
}

/* Restored groups are forgotten first, because others may wait for their slot. */
static struct pass look_at_all(struct gp_sched *s)
{
	struct pass p = { .suspender = gp_cut_suspender(s) };

	if (gp_holds_by_suspend(s) && !s->window_since_ns)
		p.holder = gp_hold_holder(s);
	for (size_t i = 0; i < s->groups; i++) {
		struct gp_group_state *g = &s->group[i];

		if (g->id && is_put_back(g))
			*g = (struct gp_group_state){ 0 };
		count(s, &p, g, 1);
		p.cut += g->cut_left || g->make_way;
		if (!p.first_be && gp_is_be_group(s, g))
			p.first_be = g;
	}
	return p;
}

static bool slot_free(const struct gp_sched *s, const struct pass *p,
		      const struct gp_group_state *g)
{
	/* Resume groups without a tenant even if no slot is free. */
	return !s->config.slots || g->tenant == GP_NONE || p->may_run < s->config.slots;
}

/* Without rotation the first BE group has the instance's slot. */
static bool has_slot(const struct gp_sched *s, const struct pass *p, const struct gp_group_state *g)
{
	return s->slot_ok && g == p->first_be;
}

/*
 * It runs without a turn, because its tenant is idle. Its slice is longer than the short one,
 * so new work cannot livelock before the suspend.
 */
bool gp_group_idles(const struct gp_sched *s, const struct gp_group_state *g)
{
	return s->config.idle_slice_us && s->config.rotate && s->config.slice_preempts &&
	       gp_is_be_group(s, g) && s->tenant[g->tenant].activity == GP_ACT_IDLE &&
	       !s->tenant[g->tenant].tells && (uint32_t)(g - s->group) != s->resident;
}

static uint64_t want_slice_us(const struct gp_sched *s, const struct pass *p,
			      const struct gp_group_state *g)
{
	const struct gp_tenant *t;

	if (!s->config.slice_preempts || g->tenant == GP_NONE)
		return 0;
	t = &s->tenant[g->tenant];
	if (t->spec.cls.cls == GP_CLASS_LC)
		return g->copies && g->aside ? GP_SCHED_MOVER_SLICE_US : s->config.lc_slice_us;
	if (t->spec.cls.cls != GP_CLASS_BE)
		return 0;
	if (g->copies)
		return GP_SCHED_COPY_SLICE_US;
	if (g->aside || gp_group_idles(s, g))
		return s->config.idle_slice_us;
	if (s->config.rotate)
		return !s->slot_ok ? 0 : s->piles ? s->config.pile_slice_us : s->config.be_slice_us;
	return has_slot(s, p, g) ? s->config.be_slice_us : 0;
}

static bool runs_without_turn(const struct gp_sched *s, const struct gp_group_state *g)
{
	return g->tenant == GP_NONE || !gp_takes_turns(s, &s->tenant[g->tenant]) ||
	       gp_group_idles(s, g);
}

/*
 * Does a group have to run although it may be suspended and its short slice cannot be changed?
 * The resident then leaves for it.
 */
static bool must_yield(const struct gp_sched *s)
{
	for (size_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (g->id && g->run != GP_RUN_ON && is_short(s, g) &&
		    g->slice_failures >= GP_SLICE_TRIES && runs_without_turn(s, g))
			return true;
	}
	return false;
}

static bool wants_on(const struct gp_sched *s, const struct pass *p, const struct gp_group_state *g)
{
	const struct gp_tenant *t;

	if (!s->config.rotate || g->tenant == GP_NONE || !gp_computes(g))
		return true;
	t = &s->tenant[g->tenant];
	if (gp_group_idles(s, g))
		return true;
	if (gp_takes_turns(s, t))
		return (uint32_t)(g - s->group) == s->resident && !p->holder && !must_yield(s) &&
		       !gp_cut_keeps_be_off(s) && !gp_leave_keeps_off(s, t) && !t->probing;
	if (t->spec.cls.cls != GP_CLASS_LC)
		return true;
	return !s->window_since_ns && !(p->suspender && gp_cut_off(s, t, p->suspender)) &&
	       (!p->holder || gp_urgency(s, t, p->holder) <= 0);
}

static struct gp_decision *group_do(struct gp_sched *s, struct gp_decisions *out,
				    struct gp_group_state *g, uint32_t type)
{
	struct gp_decision *d = gp_emit(s, out, type);

	if (!d)
		return NULL;
	d->group = g->id;
	g->pending = d->id;
	g->pending_type = type;
	return d;
}

static void suspend(struct gp_sched *s, struct gp_decisions *out, struct gp_group_state *g)
{
	if (group_do(s, out, g, GP_DO_SUSPEND))
		g->run = GP_RUN_UNKNOWN;
}

static void resume(struct gp_sched *s, const struct pass *p, struct gp_decisions *out,
		   struct gp_group_state *g)
{
	if (is_short(s, g) && p->may_run_short)
		return;
	if (slot_free(s, p, g) && group_do(s, out, g, GP_DO_RESUME))
		g->run = GP_RUN_UNKNOWN;
}

static void set_slice(struct gp_sched *s, const struct pass *p, struct gp_decisions *out,
		      struct gp_group_state *g, uint64_t slice_us)
{
	struct gp_decision *d;

	if (slice_us == s->config.be_slice_us && g->run != GP_RUN_OFF && p->may_run_short)
		return;
	d = group_do(s, out, g, GP_DO_SET_SLICE);
	if (!d)
		return;
	d->slice_us = slice_us;
	g->slice_next_us = slice_us;
}

static void preempt(struct gp_sched *s, struct gp_decisions *out, struct gp_group_state *g)
{
	if (!group_do(s, out, g, GP_DO_PREEMPT))
		return;
	if (g->make_way)
		g->make_way = false;
	else
		g->cut_left--;
}

static bool turn_ends(const struct gp_sched *s, const struct gp_group_state *g)
{
	return g->make_way || gp_cut_now(s, g);
}

/* @p: without @g. */
static void decide(struct gp_sched *s, const struct pass *p, struct gp_decisions *out,
		   struct gp_group_state *g)
{
	bool stuck = g->slice_failures >= GP_SLICE_TRIES;
	uint64_t slice;

	if (!wants_on(s, p, g)) {
		if (g->run != GP_RUN_OFF)
			suspend(s, out, g);
		return;
	}
	slice = want_slice_us(s, p, g);
	if (turn_ends(s, g)) {
		preempt(s, out, g);
	} else if (g->slice_us != slice && g->slice_refused_us != slice &&
		   !(stuck && g->run != GP_RUN_ON)) {
		set_slice(s, p, out, g, slice);
	} else if (g->run != GP_RUN_ON) {
		resume(s, p, out, g);
	}
}

static void group_reconcile(struct gp_sched *s, struct pass *p, struct gp_decisions *out,
			    struct gp_group_state *g)
{
	if (g->pending || g->retry_ns > s->now_ns)
		return;
	count(s, p, g, -1u);
	decide(s, p, out, g);
	count(s, p, g, 1);
}

void gp_group_reconcile(struct gp_sched *s, struct gp_decisions *out)
{
	struct pass p = look_at_all(s);

	/*
	 * Preemptions are urgent; the most urgent until now most likely has the
	 * device.
	 */
	for (size_t i = 0; p.cut && i < s->groups; i++)
		if (s->group[i].cut_left && s->group[i].tenant == s->cut_was &&
		    gp_cut_now(s, &s->group[i]))
			group_reconcile(s, &p, out, &s->group[i]);
	for (size_t i = 0; p.cut && i < s->groups; i++)
		if (s->group[i].id && turn_ends(s, &s->group[i]))
			group_reconcile(s, &p, out, &s->group[i]);
	for (size_t i = 0; i < s->groups; i++)
		if (s->group[i].id)
			group_reconcile(s, &p, out, &s->group[i]);
}

void gp_group_free(struct gp_sched *s, struct gp_group_state *g)
{
	gp_rotate_group_gone(s, (uint32_t)(g - s->group));
	*g = (struct gp_group_state){ 0 };
}

static void group_failed(struct gp_sched *s, struct gp_group_state *g)
{
	uint32_t shift;

	/* A late PREEMPT is useless: the next change asks again. */
	if (g->pending_type == GP_DO_PREEMPT) {
		g->cut_left = 0;
		g->make_way = false;
		return;
	}
	shift = (uint32_t)gp_min_u64(g->failures, GP_BACKOFF_SHIFT_MAX);
	g->failures++;
	g->retry_ns = gp_add_sat(s->now_ns, GP_BACKOFF_NS << shift);
	switch (g->pending_type) {
	case GP_DO_SUSPEND:
		g->run = GP_RUN_ON;
		break;
	case GP_DO_RESUME:
		/* Other groups need not wait for a group that cannot be resumed. */
		gp_rotate_group_gone(s, (uint32_t)(g - s->group));
		break;
	case GP_DO_SET_SLICE:
		/*
		 * A group that stays short harms the others: never give up
		 * while there are others.
		 */
		g->slice_failures++;
		if (g->slice_failures >= GP_SLICE_TRIES && (s->closed || !is_short(s, g)))
			g->slice_refused_us = g->slice_next_us;
		break;
	}
}

static void slice_is_set(struct gp_group_state *g)
{
	g->slice_us = g->slice_next_us;
	g->slice_failures = 0;
	g->slice_refused_us = GP_NEVER;
}

void gp_group_outcome(struct gp_sched *s, struct gp_group_state *g, int32_t error, uint64_t took_ns)
{
	g->pending = 0;
	if (error == -ESRCH || error == -ENODEV) {
		gp_group_free(s, g);
		return;
	}
	if (error == -EOPNOTSUPP && g->pending_type == GP_DO_PREEMPT)
		gp_cut_refused(s);
	g->error = error;
	if (g->pending_type == GP_DO_SUSPEND && g->tenant != GP_NONE)
		gp_leave_suspended(s, &s->tenant[g->tenant], error ? 0 : took_ns);
	if (error) {
		group_failed(s, g);
		return;
	}
	if (g->pending_type == GP_DO_PREEMPT)
		return;
	g->failures = 0;
	g->retry_ns = 0;
	if (g->pending_type == GP_DO_SUSPEND)
		g->run = GP_RUN_OFF;
	else if (g->pending_type == GP_DO_RESUME)
		g->run = GP_RUN_ON;
	else
		slice_is_set(g);
}

uint64_t gp_group_next_ns(const struct gp_sched *s)
{
	uint64_t next = GP_NEVER;

	for (size_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (g->id && !g->pending && g->retry_ns > s->now_ns)
			next = gp_min_u64(next, g->retry_ns);
	}
	return next;
}
