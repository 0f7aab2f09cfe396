// SPDX-License-Identifier: Apache-2.0
/*
 * hold.c - which LC tenants want the device, until when, and which of them hold
 * it.
 *
 * A tenant wants the device for a segment, for a hold by hand (both nest), for
 * a hint whose time has come, or between the waits of a request. Each reason
 * has its own limit. The LC policy picks the most urgent tenant that wants it.
 * Tenants of equal urgency hold together.
 */
#include <errno.h>

#include "sched/internal.h"

/* Work this late says nothing about its hint. */
#define LEARN_NS (10 * GP_NS_PER_MS)
#define RETRY_NS (200 * GP_NS_PER_US)
/* A renewal takes some 20 us from the timer on, which may be late by 200. */
#define RENEW_EARLY_NS (250 * GP_NS_PER_US)
/* The core sleeps for a hold's start in three steps: see hint_wake_ns(). */
#define WAKE_FIRST_NS (600 * GP_NS_PER_US)
#define WAKE_AGAIN_NS (250 * GP_NS_PER_US)
/* A rotation takes some 0.6 ms: none begins this short before a hold. */
#define QUIET_NS GP_NS_PER_MS

/* A new reason to hold: failed attempts count again from 0. */
static void want_anew(struct gp_tenant *t)
{
	t->hold_tries = 0;
	t->hold_retry_ns = 0;
}

static bool sync_forbids(const struct gp_sched *s, const struct gp_tenant *t)
{
	return t->sync_depth && !gp_holds_by_suspend(s);
}

/* Latest limit of @t's reasons to hold; 0: none. */
static uint64_t want_until(const struct gp_sched *s, const struct gp_tenant *t)
{
	uint64_t until = 0;

	if (!gp_is_lc(t) || sync_forbids(s, t))
		return 0;
	if (t->seg_depth)
		until = gp_max_u64(until, t->seg_until_ns);
	if (t->hand_depth)
		until = gp_max_u64(until, t->hand_until_ns);
	if (t->hint == GP_HINT_ON && !t->hint_queued)
		until = gp_max_u64(until, t->hint_until_ns);
	until = gp_max_u64(until, t->keep_until_ns);
	return until > s->now_ns ? until : 0;
}

static void hint_start(struct gp_sched *s, struct gp_tenant *t)
{
	uint64_t work = gp_prepreempt_expected(&t->pre, t->hint_work_ns);

	if (sync_forbids(s, t)) {
		t->hint = GP_HINT_LAPSED;
		return;
	}
	work = gp_max_u64(work, t->hint_work_ns);
	work = gp_max_u64(work, s->now_ns);
	t->hint = GP_HINT_ON;
	t->hint_until_ns = gp_min_u64(gp_add_sat(work, t->hint_timeout_ns),
				      gp_add_sat(s->now_ns, s->config.hold_limit_ns));
	want_anew(t);
}

static void hint_take(struct gp_sched *s, struct gp_tenant *t, uint64_t at_ns,
		      uint64_t hint_timeout_ns, uint64_t lead_max_ns)
{
	t->hint = GP_HINT_WAITING;
	t->hint_worked = 0;
	t->hint_queued = 0;
	t->hint_woken = 0;
	t->hint_cold = 0;
	t->hint_timeout_ns = hint_timeout_ns;
	t->hint_given_ns = s->now_ns;
	t->hint_work_ns = at_ns;
	gp_deadline_hint(t, at_ns);
	t->hint_start_ns = gp_prepreempt_start(&t->pre, s->now_ns, at_ns);
	/* Too near to wake up for it: start earlier by the usual lateness. */
	if (t->hint_start_ns < gp_add_sat(s->now_ns, WAKE_AGAIN_NS)) {
		t->hint_woken = 2;
		t->hint_cold = 1;
		t->hint_start_ns -= gp_min_u64(t->hint_start_ns - s->now_ns, t->pre.cold_late_ns);
	}
	if (lead_max_ns && at_ns > lead_max_ns)
		t->hint_start_ns = gp_max_u64(t->hint_start_ns, at_ns - lead_max_ns);
	if (t->hint_start_ns <= s->now_ns)
		hint_start(s, t);
}

void gp_hold_hint(struct gp_sched *s, struct gp_tenant *t, uint64_t at_ns)
{
	t->said++;
	t->hints++;
	t->hint_guessed = 0;
	hint_take(s, t, at_ns, s->config.hint_timeout_ns, 0);
}

static bool hint_pending(const struct gp_tenant *t)
{
	return t->hint == GP_HINT_WAITING || t->hint == GP_HINT_ON;
}

bool gp_hold_guess_busy(const struct gp_tenant *t)
{
	return t->seg_depth || t->hand_depth ||
	       (hint_pending(t) && (!t->hint_guessed || t->hint_worked));
}

bool gp_hold_guessing(const struct gp_tenant *t)
{
	return hint_pending(t) && t->hint_guessed;
}

void gp_hold_guess(struct gp_sched *s, struct gp_tenant *t, const struct gp_event *ev)
{
	t->hint_guessed = 1;
	t->guess_worked = 0;
	hint_take(s, t, ev->hint.at_ns,
		  ev->hint.limit_ns ? ev->hint.limit_ns : s->config.hint_timeout_ns,
		  ev->hint.lead_ns);
}

/* A prediction's error is for the predictor to correct. */
static void hint_learn(struct gp_sched *s, struct gp_tenant *t)
{
	uint64_t lead = t->hint_work_ns > t->hint_given_ns ? t->hint_work_ns - t->hint_given_ns : 0;

	if (t->hint_guessed || s->now_ns > gp_add_sat(t->hint_work_ns, LEARN_NS))
		return;
	gp_prepreempt_work(&t->pre, t->hint_work_ns, lead, s->now_ns);
}

/* The first work after a hint is here. */
static void hint_work(struct gp_sched *s, struct gp_tenant *t)
{
	if (t->hint == GP_HINT_NONE || t->hint_worked)
		return;
	if (t->hint != GP_HINT_LAPSED &&
	    (!t->held || s->now_ns < t->held_since_ns + t->pre.switch_ns))
		t->holds_late++;
	hint_learn(s, t);
	t->hint_worked = 1;
	t->guess_worked = t->hint_guessed;
	if (t->hint == GP_HINT_LAPSED) {
		t->hint = GP_HINT_NONE;
		return;
	}
	if (t->hint == GP_HINT_WAITING)
		want_anew(t);
	t->hint = GP_HINT_ON;
	t->hint_until_ns =
		gp_add_sat(t->held ? t->held_since_ns : s->now_ns, s->config.hold_limit_ns);
}

void gp_hold_segment_begin(struct gp_sched *s, struct gp_tenant *t)
{
	if (t->seg_depth++)
		return;
	t->said++;
	t->segments++;
	/* A hint's hold becomes the segment's, which need not renew it. */
	t->seg_until_ns =
		gp_add_sat(t->held && t->hint == GP_HINT_ON ? t->held_since_ns : s->now_ns,
			   s->config.hold_limit_ns);
	if (s->config.lc_policy->deadlines && t->lc.deadline_ns != GP_NEVER)
		t->seg_until_ns = gp_max_u64(t->seg_until_ns, t->lc.deadline_ns);
	hint_work(s, t);
	t->hint = GP_HINT_NONE;
	want_anew(t);
}

void gp_hold_segment_end(struct gp_tenant *t)
{
	if (!--t->seg_depth)
		t->seg_until_ns = 0;
}

void gp_hold_by_hand(struct gp_sched *s, struct gp_tenant *t, uint64_t limit_ns)
{
	uint64_t limit = s->config.hold_limit_ns;

	if (limit_ns)
		limit = gp_min_u64(limit, limit_ns);
	t->said++;
	t->hand_depth++;
	t->hand_until_ns = gp_max_u64(t->hand_until_ns, gp_add_sat(s->now_ns, limit));
	want_anew(t);
}

void gp_hold_by_hand_end(struct gp_tenant *t)
{
	if (!--t->hand_depth)
		t->hand_until_ns = 0;
}

void gp_hold_keep(struct gp_sched *s, struct gp_tenant *t, uint64_t limit_ns)
{
	t->keep_until_ns = 0;
	if (!limit_ns)
		return;
	/* Until the hold has the device no pause is kept; that takes two switches at most. */
	if (!t->held)
		limit_ns = gp_add_sat(limit_ns, 2 * t->pre.switch_ns);
	t->keep_until_ns = gp_add_sat(s->now_ns, gp_min_u64(limit_ns, s->config.hold_limit_ns));
	want_anew(t);
}

/*
 * Only work after idleness is new work. Launches of the request before are not
 * the hinted work. With auto_hold_ns unannounced work is held for as well,
 * until the tenant is idle again. A tenant that never reports IDLE has one such
 * hold in its life.
 */
void gp_hold_busy(struct gp_sched *s, struct gp_tenant *t)
{
	if (t->activity == GP_ACT_BUSY || t->seg_depth)
		return;
	hint_work(s, t);
	if (t->hint == GP_HINT_NONE && s->config.auto_hold_ns && gp_is_lc(t) &&
	    !sync_forbids(s, t)) {
		t->hint = GP_HINT_ON;
		t->hint_worked = 1;
		t->hint_queued = 0;
		t->hint_guessed = 0;
		t->hint_until_ns = gp_add_sat(s->now_ns, s->config.auto_hold_ns);
		want_anew(t);
	}
}

/*
 * Where slices preempt, queued work keeps the device without gaps, and the
 * hold's kernel takes room from it. One block of a kernel that fills the device
 * would run after all others, and the kernel would take twice as long.
 */
void gp_hold_queued(const struct gp_sched *s, struct gp_tenant *t, bool said)
{
	if (!s->config.slice_preempts)
		return;
	if (!said) {
		gp_hold_idle(t);
	} else if (t->hint == GP_HINT_WAITING || t->hint == GP_HINT_ON) {
		/* No event reports the end of that work: hint_timeout_ns bounds it. */
		t->hint = GP_HINT_ON;
		t->hint_worked = t->hint_queued = 1;
		t->hint_until_ns = gp_add_sat(s->now_ns, s->config.hint_timeout_ns);
	}
}

bool gp_hold_is_queued(const struct gp_tenant *t)
{
	return t->hint == GP_HINT_ON && t->hint_queued;
}

void gp_hold_idle(struct gp_tenant *t)
{
	if (t->hint == GP_HINT_ON && t->hint_worked)
		t->hint = GP_HINT_NONE;
}

/*
 * The hold's kernels are in the context that the caller is about to wait for: the wait would
 * last as long as the hold. So every reason ends, a segment's too. After an allocation the
 * driver may let the next launch wait for all earlier ones. A new hold would then delay it
 * until the hold's limit (H200: 20 ms).
 */
void gp_hold_sync(struct gp_sched *s, struct gp_tenant *t)
{
	t->sync_depth++;
	if (gp_holds_by_suspend(s))
		return;
	if (t->held)
		t->syncs_cut++;
	t->seg_until_ns = 0;
	t->hand_until_ns = 0;
	t->keep_until_ns = 0;
	if (t->hint == GP_HINT_ON)
		t->hint = t->hint_worked ? GP_HINT_NONE : GP_HINT_LAPSED;
}

void gp_hold_sync_done(struct gp_tenant *t)
{
	if (t->sync_depth && !--t->sync_depth)
		want_anew(t);
}

void gp_hold_forget(struct gp_tenant *t)
{
	t->seg_depth = 0;
	t->hand_depth = 0;
	t->seg_until_ns = 0;
	t->hand_until_ns = 0;
	t->keep_until_ns = 0;
	t->hint = GP_HINT_NONE;
	t->has_work = 0;
	t->lc.deadline_ns = GP_NEVER;
}

/*
 * A CPU wakes late after a long sleep (H200's VM: 160 us one time of ten, 300
 * one of a hundred). A CPU that was awake 0.25 ms before does not (11 us, 18).
 * So the timer wakes it early, perhaps late, and it sleeps twice more.
 */
static uint64_t hint_wake_ns(const struct gp_tenant *t)
{
	static const uint64_t early_ns[] = { WAKE_FIRST_NS, WAKE_AGAIN_NS, 0 };
	uint64_t early = early_ns[t->hint_woken];

	return t->hint_start_ns > early ? t->hint_start_ns - early : 0;
}

static void hint_wake(struct gp_sched *s, struct gp_tenant *t)
{
	if (!t->hint_woken && hint_wake_ns(t) <= s->now_ns)
		gp_prepreempt_cold(&t->pre, s->now_ns - hint_wake_ns(t));
	while (t->hint_woken < 2 && hint_wake_ns(t) <= s->now_ns)
		t->hint_woken++;
}

static bool limit_over(struct gp_sched *s, uint64_t *until_ns)
{
	if (!*until_ns || *until_ns > s->now_ns)
		return false;
	*until_ns = 0;
	return true;
}

static void tenant_expire(struct gp_sched *s, struct gp_tenant *t)
{
	bool hit = limit_over(s, &t->seg_until_ns);

	if (s->config.lc_policy->deadlines)
		gp_deadline_expire(s, t);

	hit |= limit_over(s, &t->hand_until_ns);
	/* Its end is no limit that was hit. */
	(void)limit_over(s, &t->keep_until_ns);
	if (t->hint == GP_HINT_ON && t->hint_until_ns <= s->now_ns) {
		hit |= t->hint_worked;
		t->hint = t->hint_worked ? GP_HINT_NONE : GP_HINT_LAPSED;
	}
	if (t->hint == GP_HINT_WAITING)
		hint_wake(s, t);
	if (t->hint == GP_HINT_WAITING && t->hint_start_ns <= s->now_ns) {
		if (t->hint_cold)
			gp_prepreempt_cold(&t->pre, s->now_ns - t->hint_start_ns);
		else
			gp_prepreempt_timer(&t->pre, s->now_ns - t->hint_start_ns);
		hint_start(s, t);
	}
	t->limit_hit |= hit;
}

void gp_hold_expire(struct gp_sched *s)
{
	for (size_t i = 0; i < s->tenants; i++)
		if (gp_is_lc(&s->tenant[i]))
			tenant_expire(s, &s->tenant[i]);
}

static bool release(struct gp_sched *s, struct gp_decisions *out, struct gp_tenant *t)
{
	if (!gp_holds_by_suspend(s)) {
		struct gp_decision *d = gp_emit(s, out, GP_DO_RELEASE);

		if (!d)
			return false;
		d->tenant = t->id;
		t->release_id = d->id;
	}
	t->held = 0;
	t->release_retry_ns = 0;
	return true;
}

static bool hold(struct gp_sched *s, struct gp_decisions *out, struct gp_tenant *t,
		 uint64_t until_ns)
{
	uint64_t limit = gp_min_u64(until_ns - s->now_ns, s->config.hold_limit_ns);

	if (gp_holds_by_suspend(s)) {
		t->held_until_ns = s->now_ns + limit;
	} else {
		struct gp_decision *d = gp_emit(s, out, GP_DO_HOLD);

		if (!d)
			return false;
		if (s->config.hold_piece_ns)
			limit = gp_min_u64(limit, s->config.hold_piece_ns);
		d->tenant = t->id;
		d->limit_ns = limit;
		t->hold_id = d->id;
		t->held_until_ns = gp_add_sat(s->now_ns, limit);
	}
	t->held = 1;
	t->held_from_ns = s->now_ns;
	t->release_tries = 0;
	t->release_retry_ns = 0;
	return true;
}

/* A tenant whose hold failed blocks no other until its next try. */
static bool may_hold(const struct gp_sched *s, const struct gp_tenant *t)
{
	return t->hold_tries < GP_HOLD_TRIES && t->hold_retry_ns <= s->now_ns;
}

/* The most urgent tenant that wants the device and can get it. */
static const struct gp_tenant *most_urgent(const struct gp_sched *s)
{
	const struct gp_tenant *best = NULL;

	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];

		if (want_until(s, t) && (t->held || may_hold(s, t)) &&
		    (!best || gp_urgency(s, t, best) < 0))
			best = t;
	}
	return best;
}

static bool should_hold(const struct gp_sched *s, const struct gp_tenant *t,
			const struct gp_tenant *best)
{
	return best && want_until(s, t) && gp_urgency(s, t, best) == 0;
}

static void end_hold(struct gp_sched *s, struct gp_decisions *out, struct gp_tenant *t)
{
	/* A hold that a more urgent tenant ended did not expire. */
	bool expired = t->limit_hit && !want_until(s, t);

	if (release(s, out, t) && expired)
		t->holds_expired++;
}

/*
 * The work after a hint, or after a pause, makes its hold longer. A renewal in the middle of that
 * work could cost the very switch that the hold saves.
 */
static uint64_t hold_until(const struct gp_sched *s, const struct gp_tenant *t)
{
	if ((t->hint == GP_HINT_ON && !t->hint_queued) || t->keep_until_ns)
		return gp_add_sat(s->now_ns, s->config.hold_limit_ns);
	return want_until(s, t);
}

static void start_hold(struct gp_sched *s, struct gp_decisions *out, struct gp_tenant *t)
{
	if (!may_hold(s, t) || !hold(s, out, t, hold_until(s, t)))
		return;
	t->holds++;
	t->held_since_ns = s->now_ns;
}

/* When to renew @t's hold: before its limit, so that the device is not lost. */
static uint64_t renew_ns(const struct gp_sched *s, const struct gp_tenant *t)
{
	uint64_t early = RENEW_EARLY_NS;

	if (gp_holds_by_suspend(s))
		return t->held_until_ns;
	early = gp_min_u64(early, (t->held_until_ns - t->held_from_ns) / 2);
	return t->held_until_ns - early;
}

static void renew_hold(struct gp_sched *s, struct gp_decisions *out, struct gp_tenant *t)
{
	if (want_until(s, t) > t->held_until_ns && renew_ns(s, t) <= s->now_ns)
		hold(s, out, t, hold_until(s, t));
}

void gp_hold_reconcile(struct gp_sched *s, struct gp_decisions *out)
{
	const struct gp_tenant *best = most_urgent(s);

	for (size_t i = 0; i < s->tenants; i++) {
		struct gp_tenant *t = &s->tenant[i];

		if (t->held && !should_hold(s, t, best))
			end_hold(s, out, t);
		if (t->release_retry_ns && t->release_retry_ns <= s->now_ns && !t->held)
			release(s, out, t);
	}
	for (size_t i = 0; i < s->tenants; i++) {
		struct gp_tenant *t = &s->tenant[i];

		if (should_hold(s, t, best)) {
			if (t->held)
				renew_hold(s, out, t);
			else
				start_hold(s, out, t);
		}
		t->limit_hit = 0;
	}
}

static void hold_failed(struct gp_sched *s, struct gp_tenant *t, int32_t error)
{
	t->held = 0;
	t->hold_tries++;
	if (error == -ESRCH || error == -ENODEV || error == -EOPNOTSUPP)
		t->hold_tries = GP_HOLD_TRIES;
	t->hold_retry_ns = gp_add_sat(s->now_ns, RETRY_NS);
}

void gp_hold_outcome(struct gp_sched *s, struct gp_tenant *t, uint32_t id, int32_t error)
{
	if (id == t->hold_id) {
		t->hold_id = 0;
		if (error && t->held)
			hold_failed(s, t, error);
	} else if (id == t->release_id) {
		t->release_id = 0;
		/* The hold would otherwise last until its limit. */
		if (error && !t->held && t->held_until_ns > s->now_ns &&
		    t->release_tries < GP_HOLD_TRIES) {
			t->release_tries++;
			t->release_retry_ns = gp_add_sat(s->now_ns, RETRY_NS);
		}
	}
}

const struct gp_tenant *gp_hold_holder(const struct gp_sched *s)
{
	const struct gp_tenant *best = NULL;

	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];

		if (t->id && t->held && (!best || gp_urgency(s, t, best) < 0))
			best = t;
	}
	return best;
}

const struct gp_tenant *gp_hold_lc_active(const struct gp_sched *s)
{
	if (s->window_since_ns)
		return NULL;
	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];

		if (!gp_is_lc(t))
			continue;
		if (t->seg_depth || t->held || t->activity == GP_ACT_BUSY ||
		    t->activity == GP_ACT_SOON)
			return t;
		if (t->hint == GP_HINT_WAITING &&
		    t->hint_start_ns <= gp_add_sat(s->now_ns, QUIET_NS))
			return t;
		if (t->activity == GP_ACT_PILES && t->needs_ns <= gp_add_sat(s->now_ns, QUIET_NS))
			return t;
	}
	return NULL;
}

static uint64_t earlier(uint64_t next, uint64_t at_ns)
{
	return at_ns ? gp_min_u64(next, at_ns) : next;
}

static uint64_t tenant_next_ns(const struct gp_sched *s, const struct gp_tenant *t)
{
	uint64_t next = GP_NEVER;

	next = earlier(next, t->seg_until_ns);
	next = earlier(next, t->hand_until_ns);
	next = earlier(next, t->keep_until_ns);
	next = gp_min_u64(next, gp_deadline_next_ns(s, t));
	if (t->hint == GP_HINT_WAITING)
		next = earlier(next, hint_wake_ns(t));
	if (t->hint == GP_HINT_ON)
		next = earlier(next, t->hint_until_ns);
	if (t->held)
		next = earlier(next, want_until(s, t) > t->held_until_ns ? renew_ns(s, t) :
									   t->held_until_ns);
	else if (want_until(s, t) && t->hold_tries < GP_HOLD_TRIES && t->hold_retry_ns > s->now_ns)
		next = earlier(next, t->hold_retry_ns);
	if (!t->held)
		next = earlier(next, t->release_retry_ns);
	return next;
}

uint64_t gp_hold_next_ns(const struct gp_sched *s)
{
	uint64_t next = GP_NEVER;

	for (size_t i = 0; i < s->tenants; i++)
		if (gp_is_lc(&s->tenant[i]))
			next = gp_min_u64(next, tenant_next_ns(s, &s->tenant[i]));
	return next;
}
