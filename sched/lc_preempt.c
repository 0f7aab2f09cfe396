// SPDX-License-Identifier: Apache-2.0
/*
 * lc_preempt.c - preemption of LC by more urgent LC, on a device whose slices preempt.
 *
 * All LC groups have long slices there. The running group keeps the device
 * until it idles, even if a more urgent one waits. When another tenant becomes
 * the most urgent of those with work, the less urgent groups' turns are ended.
 * This happens once, at the change: no group is suspended, and the hardware
 * returns to them when the urgent one leaves. It also happens when the most
 * urgent one ends, because the hardware may then choose any group.
 *
 * Ending a turn lets the next group in the hardware's order run, which may be
 * less urgent too. The order is unknown, so each of n groups is asked n times,
 * or until the most urgent tenant is seen on the device. The group that was the
 * most urgent until now is asked first: it most likely has the device.
 *
 * PREEMPT ends the turn of a group that has the device and does nothing to
 * others (nvidia-backend/EXPERIMENTS.md). Assumption: the order of the others stays.
 * Where a device refuses PREEMPT, less urgent groups that may be running are
 * suspended instead, for as long as a hold may last.
 */
#include "sched/internal.h"

#define LASTS_NS GP_NS_PER_MS	      /* shorter work is rarely preempted */
#define LONG_NS (5 * GP_NS_PER_MS)    /* a switch before its begin costs little in comparison */
#define BEGUN_NS (100 * GP_NS_PER_US) /* it does not have the device before (H200: 0.2 ms) */
#define LATELY_NS (100 * GP_NS_PER_MS)

static bool is_active(const struct gp_tenant *t)
{
	return gp_is_lc(t) && (t->has_work || t->held);
}

static bool may_run(const struct gp_tenant *t)
{
	return gp_is_lc(t) && (is_active(t) || t->activity == GP_ACT_UNKNOWN);
}

const struct gp_tenant *gp_cut_before(const struct gp_sched *s, const struct gp_tenant *t)
{
	const struct gp_tenant *best = NULL;

	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *u = &s->tenant[i];

		if (is_active(u) && u != t && (!gp_is_lc(t) || gp_urgency(s, u, t) < 0) &&
		    (!best || gp_urgency(s, u, best) < 0))
			best = u;
	}
	return best;
}

static uint32_t top(const struct gp_sched *s)
{
	uint32_t best = GP_NONE;

	for (uint32_t i = 0; i < s->tenants; i++)
		if (is_active(&s->tenant[i]) &&
		    (best == GP_NONE || gp_urgency(s, &s->tenant[i], &s->tenant[best]) < 0))
			best = i;
	return best;
}

/* Less urgent than the most urgent tenant, and perhaps running. */
static bool in_the_way(const struct gp_sched *s, const struct gp_group_state *g)
{
	return gp_computes(g) && g->tenant != GP_NONE && may_run(&s->tenant[g->tenant]) &&
	       g->run == GP_RUN_ON &&
	       gp_urgency(s, &s->tenant[s->cut_top], &s->tenant[g->tenant]) < 0;
}

static void ask_all(struct gp_sched *s)
{
	uint32_t n = 0;

	s->cut_asked_ns = s->now_ns;
	for (size_t i = 0; i < s->groups; i++)
		n += s->cut_top != GP_NONE && in_the_way(s, &s->group[i]);
	for (size_t i = 0; i < s->groups; i++) {
		struct gp_group_state *g = &s->group[i];

		g->cut_left = n && in_the_way(s, g) ? n : 0;
	}
}

static bool cuts(const struct gp_sched *s)
{
	return s->config.lc_preempt && s->config.rotate && s->config.slice_preempts;
}

bool gp_cut_is_top(const struct gp_sched *s, const struct gp_tenant *t)
{
	return s->cut_top != GP_NONE && t == &s->tenant[s->cut_top];
}

static bool is_coming(const struct gp_tenant *t)
{
	return gp_is_lc(t) && !is_active(t) && t->activity == GP_ACT_SOON;
}

static bool has_or_expects(const struct gp_tenant *t)
{
	return is_active(t) || is_coming(t);
}

static uint64_t since_ns(const struct gp_tenant *t)
{
	if (is_coming(t))
		return t->soon_ns;
	return t->has_work ? t->came_ns : t->held_since_ns;
}

/* @t's work suspends others until then at most, even if its end is not reported. */
static uint64_t suspends_until_ns(const struct gp_sched *s, const struct gp_tenant *t)
{
	uint64_t ns = s->config.hold_limit_ns;

	if (s->config.lc_policy->deadlines)
		ns = gp_max_u64(ns, t->spec.deadline_ns);
	return gp_add_sat(since_ns(t), ns);
}

/* ---- best-effort between two LC tenants ---------------------------------------- */

/* The most urgent LC tenants; NULL: none. */
struct urgent {
	const struct gp_tenant *active;	 /* has work */
	const struct gp_tenant *expects; /* has work, or will soon have some */
	const struct gp_tenant *lately;	 /* had work lately: it will return */
};

static void prefer(const struct gp_sched *s, const struct gp_tenant **best,
		   const struct gp_tenant *t)
{
	if (!*best || gp_urgency(s, t, *best) < 0)
		*best = t;
}

static struct urgent find_urgent(const struct gp_sched *s)
{
	struct urgent best = { NULL, NULL, NULL };

	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];

		if (!gp_is_lc(t))
			continue;
		if (is_active(t))
			prefer(s, &best.active, t);
		if (has_or_expects(t))
			prefer(s, &best.expects, t);
		if (t->active_ns && s->now_ns - t->active_ns < LATELY_NS)
			prefer(s, &best.lately, t);
	}
	return best;
}

static bool goes_before(const struct gp_sched *s, const struct gp_tenant *u,
			const struct gp_tenant *t)
{
	return u && gp_urgency(s, u, t) < 0;
}

/*
 * @t is active and will likely be preempted: no more urgent tenant has work, or (@soon) is
 * about to, but one had some lately. The end of @t's work must be known: on a device of its
 * own even an idle tenant seems to have work.
 */
static bool urgent_between(const struct gp_sched *s, const struct urgent *best,
			   const struct gp_tenant *t, bool soon)
{
	return !goes_before(s, soon ? best->expects : best->active, t) &&
	       goes_before(s, best->lately, t) && !t->unsure;
}

/*
 * A tenant whose last work was long is expected to work long again. Its work has just begun,
 * so BE has the device, and a suspend of BE preempts no other tenant. Work that a more urgent
 * tenant expects soon therefore does not matter. No more urgent tenant began at the same
 * moment, or the next step would know of it.
 */
static bool begun_as_before(const struct gp_sched *s, const struct urgent *best,
			    const struct gp_tenant *t)
{
	return t->lasted_ns >= LASTS_NS && s->now_ns - since_ns(t) <= BEGUN_NS &&
	       urgent_between(s, best, t, false);
}

/*
 * Like begun_as_before(), for expected work: a suspend takes longer than the
 * hold before that work.
 */
static bool comes_as_before(const struct gp_sched *s, const struct urgent *best,
			    const struct gp_tenant *t)
{
	return t->lasted_ns >= LONG_NS && urgent_between(s, best, t, true);
}

static bool will_be_cut(const struct gp_sched *s, const struct urgent *best,
			const struct gp_tenant *t)
{
	const uint64_t ns = s->now_ns - since_ns(t);

	if (is_coming(t))
		return comes_as_before(s, best, t);
	return ns >= LASTS_NS ? urgent_between(s, best, t, true) :
				ns && begun_as_before(s, best, t);
}

static void time_work(struct gp_tenant *t, uint64_t now_ns, bool active)
{
	if (!active && t->active_from_ns)
		t->lasted_ns = now_ns - t->active_from_ns;
	if (!active)
		t->active_from_ns = 0;
	else if (!t->active_from_ns)
		t->active_from_ns = now_ns;
	if (active)
		t->active_ns = now_ns;
}

static bool wants_be_off(struct gp_sched *s)
{
	struct urgent best;
	bool wants = false;

	for (size_t i = 0; i < s->tenants; i++)
		time_work(&s->tenant[i], s->now_ns, is_active(&s->tenant[i]));
	best = find_urgent(s);
	for (size_t i = 0; i < s->tenants; i++) {
		struct gp_tenant *t = &s->tenant[i];

		t->cut_met = has_or_expects(t) && (t->cut_met || will_be_cut(s, &best, t));
		wants |= t->cut_met && suspends_until_ns(s, t) > s->now_ns;
	}
	return wants;
}

static bool lc_surely_active(const struct gp_sched *s)
{
	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];

		if (!t->unsure && has_or_expects(t))
			return true;
	}
	return false;
}

/*
 * The hardware would give BE a turn at each preemption, two switches more,
 * while LC always has work. So BE is suspended while work lasts that will
 * likely be preempted. Suspending or resuming one group ends the running
 * group's turn if others wait. That must not hit a more urgent tenant, nor
 * happen while turns are deferred.
 */
static void keep_be_off(struct gp_sched *s)
{
	if (s->config.lc_preempt != GP_LC_CUT_PREEMPT)
		return;
	if (wants_be_off(s)) {
		s->be_off = 1;
		s->be_back_ns = 0;
		return;
	}
	if (!s->be_off)
		return;
	if (!s->be_back_ns)
		s->be_back_ns = gp_add_sat(s->now_ns, s->config.rotation_defer_max_ns);
	if (!lc_surely_active(s) || s->be_back_ns <= s->now_ns)
		s->be_off = 0;
}

bool gp_cut_waits(const struct gp_sched *s)
{
	return s->be_off && s->be_back_ns;
}

bool gp_cut_keeps_be_off(const struct gp_sched *s)
{
	return s->be_off && !s->window_since_ns && s->config.lc_preempt == GP_LC_CUT_PREEMPT;
}

/* ---- groups to preempt -------------------------------------------------------- */

static void follow_top(struct gp_sched *s)
{
	uint32_t now = top(s);

	if (now == s->cut_top)
		return;
	s->cut_was = s->cut_top;
	s->cut_top = now;
	gp_length_reconcile(s);
	if (s->config.lc_preempt == GP_LC_CUT_PREEMPT)
		ask_all(s);
}

void gp_cut_reconcile(struct gp_sched *s)
{
	if (!cuts(s))
		return;
	keep_be_off(s);
	follow_top(s);
}

/* @t's job is done, and its next one begins at once: others do not return in between. */
void gp_cut_anew(struct gp_sched *s, struct gp_tenant *t)
{
	if (!cuts(s))
		return;
	time_work(t, s->now_ns, is_active(t));
	follow_top(s);
}

static bool suspends(const struct gp_sched *s)
{
	return cuts(s) && s->config.lc_preempt == GP_LC_CUT_SUSPEND;
}

uint32_t gp_sched_most_urgent(const struct gp_sched *s)
{
	return cuts(s) && s->cut_top != GP_NONE ? s->tenant[s->cut_top].id : 0;
}

static void ask_nobody(struct gp_sched *s)
{
	for (size_t i = 0; i < s->groups; i++)
		s->group[i].cut_left = 0;
}

/*
 * @t had the device at @at_ns. If it is the most urgent one, no earlier request
 * to others is needed any more. If not, it got the device meanwhile and is
 * asked once more.
 */
void gp_cut_seen(struct gp_sched *s, const struct gp_tenant *t, uint64_t at_ns)
{
	if (!cuts(s) || s->config.lc_preempt != GP_LC_CUT_PREEMPT || s->cut_top == GP_NONE)
		return;
	if (gp_cut_is_top(s, t) && at_ns > s->cut_asked_ns)
		ask_nobody(s);
	for (size_t i = 0; i < s->groups; i++) {
		struct gp_group_state *g = &s->group[i];

		if (g->tenant == (uint32_t)(t - s->tenant) && in_the_way(s, g) && !g->cut_left &&
		    !g->pending)
			g->cut_left = 1;
	}
}

const struct gp_tenant *gp_cut_suspender(const struct gp_sched *s)
{
	const struct gp_tenant *best = NULL;

	for (size_t i = 0; suspends(s) && i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];

		if (is_active(t) && suspends_until_ns(s, t) > s->now_ns)
			prefer(s, &best, t);
	}
	return best;
}

bool gp_cut_off(const struct gp_sched *s, const struct gp_tenant *t,
		const struct gp_tenant *suspender)
{
	return may_run(t) && goes_before(s, suspender, t);
}

bool gp_cut_now(const struct gp_sched *s, const struct gp_group_state *g)
{
	return g->cut_left && s->cut_top != GP_NONE && in_the_way(s, g);
}

void gp_cut_refused(struct gp_sched *s)
{
	s->config.lc_preempt = GP_LC_CUT_SUSPEND;
	s->be_off = 0;
	ask_nobody(s);
}

/* When @t's work next begins or ends a suspend without an event; 0: never. */
static uint64_t next_of(const struct gp_sched *s, const struct urgent *best,
			const struct gp_tenant *t)
{
	if (suspends(s) || t->cut_met)
		return suspends_until_ns(s, t);
	if (is_coming(t))
		return 0;
	if (begun_as_before(s, best, t))
		return gp_add_sat(since_ns(t), 1);
	return urgent_between(s, best, t, true) ? gp_add_sat(since_ns(t), LASTS_NS) : 0;
}

uint64_t gp_cut_next_ns(const struct gp_sched *s)
{
	uint64_t next = s->be_off && s->be_back_ns > s->now_ns ? s->be_back_ns : GP_NEVER;
	struct urgent best;

	if (!cuts(s))
		return next;
	best = find_urgent(s);
	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];
		uint64_t at = has_or_expects(t) ? next_of(s, &best, t) : 0;

		if (at > s->now_ns)
			next = gp_min_u64(next, at);
	}
	return next;
}
