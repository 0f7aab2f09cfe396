/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h - a device and its tenants, as the core's decisions make them, and a checker that
 * does not know how the core decides.
 *
 * The world is pessimistic. A group runs from the request of its resume until its suspend is
 * reported done. It is short from the moment that this is requested. A decision under way may
 * fail, take any time, and be reported in any order, and its process may die meanwhile.
 */
#ifndef GP_TEST_SCHED_WORLD_H
#define GP_TEST_SCHED_WORLD_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

#define W_TENANTS 6	     /* ids 1.. */
#define W_GROUPS 10	     /* of the compute engine */
#define W_ALL (W_GROUPS + 2) /* and of copy engines */
#define W_PENDING 64
#define W_RENEW_NS 250000u /* a hold may be renewed this early */

enum w_mutation {
	W_SOUND,
	W_SUSPEND_LOST, /* reported done, but is not */
	W_RESUME_LOST,
	W_RELEASE_LOST,
	W_HOLD_LOST,
	W_SLICE_LOST, /* the driver's slice was not restored */
	W_MUTATIONS,
};

struct w_group {
	bool known; /* to the core */
	bool alive, runs;
	uint32_t tenant; /* 0: it left */
	uint64_t slice_us, old_slice_us;
	bool old_runs;
	uint32_t slice_errors;
	uint64_t ran_ns;
};

struct w_tenant {
	bool there;
	struct gp_class_request spec;
	uint32_t seg, hand, sync;
	bool seg_cut; /* ended by a device-wide wait */
	bool idle, hinted, hold_broken, begun_held;
	uint64_t hint_end_ns, kept_end_ns, seg_began_ns;
	bool held;
	uint64_t held_until_ns;
};

struct w_pending {
	uint32_t id, type, group;
	uint64_t slice_us;
};

struct world {
	struct gp_sched_config config;
	struct gp_sched *sched;
	struct gp_decisions out;
	uint64_t now_ns, armed_ns;
	uint32_t mutation;
	bool closed;
	bool edf, sjf; /* the present LC policy */
	struct w_group group[W_ALL + 1];
	struct w_tenant tenant[W_TENANTS + 1];
	struct w_pending pending[W_PENDING];
	size_t n_pending;
	uint32_t last_id, last_hold_id, last_hold_tenant;
	uint64_t be_ns;	    /* BE's time alone on the device */
	const char *broken; /* first broken invariant */
};

static inline void w_broken(struct world *w, const char *what)
{
	if (!w->broken)
		w->broken = what;
}

static inline void w_lc_policy(struct world *w, const struct gp_lc_policy *policy)
{
	w->edf = policy == &gp_policy_edf;
	w->sjf = policy == &gp_policy_sjf;
}

static inline void w_init(struct world *w, const struct gp_sched_config *config,
			  struct gp_sched *mem)
{
	memset(w, 0, sizeof(*w));
	w->config = *config;
	w->sched = mem;
	if (gp_sched_init(mem, config))
		w_broken(w, "configuration refused");
	w->now_ns = 1000000;
	w_lc_policy(w, config->lc_policy);
}

/* A BE group runs, and no LC group could have work. */
static inline bool w_be_has_it(const struct world *w)
{
	bool be = false, lc = false;

	for (size_t i = 1; i <= W_GROUPS; i++) {
		const struct w_group *g = &w->group[i];
		const struct w_tenant *t = &w->tenant[g->tenant];

		if (!g->known || !g->runs || !g->tenant)
			continue;
		be |= t->spec.cls.cls == GP_CLASS_BE;
		lc |= t->spec.cls.cls == GP_CLASS_LC && (!t->idle || t->seg || t->held);
	}
	return be && !lc;
}

/* A group's time on the device is from its appearance to its suspend. */
static inline void w_pass(struct world *w, uint64_t ns)
{
	w->now_ns += ns;
	w->be_ns += w_be_has_it(w) ? ns : 0;
	for (size_t i = 1; i <= W_GROUPS; i++)
		if (w->group[i].runs)
			w->group[i].ran_ns += ns;
}

static inline void w_check_short(struct world *w)
{
	int n = 0;

	for (size_t i = 1; i <= W_GROUPS; i++) {
		const struct w_group *g = &w->group[i];

		n += g->alive && g->runs && g->slice_us == w->config.be_slice_us;
	}
	if (n > 1)
		w_broken(w, "1: two groups run at the short slice");
}

/* Groups without a tenant resume in any case, even beyond the limit. */
static inline void w_check_slots(struct world *w, uint32_t resumed)
{
	uint32_t n = 0;

	for (size_t i = 1; i <= W_GROUPS; i++)
		n += i != resumed && w->group[i].tenant && w->group[i].runs;
	if (w->config.slots && w->group[resumed].tenant && n >= w->config.slots)
		w_broken(w, "more groups loaded than slots");
}

static inline bool w_busy(const struct world *w, uint32_t group)
{
	for (size_t i = 0; i < w->n_pending; i++)
		if (w->pending[i].group == group)
			return true;
	return false;
}

/*
 * Is @a certainly more urgent than @b? Deadlines and lengths are not compared with each other
 * here (test_lc.c does). Work with a deadline comes before work that cannot have one.
 */
static inline bool w_before(const struct world *w, const struct w_tenant *a,
			    const struct w_tenant *b)
{
	if (!w->edf || (!a->spec.deadline_ns && !b->spec.deadline_ns))
		return a->spec.cls.value < b->spec.cls.value;
	return a->spec.deadline_ns && a->seg && !b->spec.deadline_ns;
}

static inline bool w_may_be_before(const struct world *w, const struct w_tenant *a,
				   const struct w_tenant *b)
{
	if (w->edf)
		return !w_before(w, b, a);
	return w_before(w, a, b) || (w->sjf && a->spec.cls.value == b->spec.cls.value);
}

/* Best-effort's while LC's launches pile up. */
static inline bool w_is_long(const struct world *w, const struct w_group *g)
{
	return w->tenant[g->tenant].spec.cls.cls == GP_CLASS_BE && w->config.pile_slice_us &&
	       g->slice_us == w->config.pile_slice_us;
}

/* A more urgent tenant must have work, or expect it. */
static inline void w_check_preempt(struct world *w, const struct w_group *g)
{
	const struct w_tenant *t = &w->tenant[g->tenant];

	if (w->config.lc_preempt != GP_LC_CUT_PREEMPT || !w->config.rotate ||
	    !w->config.slice_preempts)
		w_broken(w, "a turn ended where none can be");
	if (!g->tenant || (t->spec.cls.cls != GP_CLASS_LC && !w_is_long(w, g)))
		w_broken(w, "the turn ended of one that is neither LC nor has a long slice");
	for (size_t i = 1; i <= W_TENANTS; i++) {
		const struct w_tenant *u = &w->tenant[i];

		if (u != t && u->there && u->spec.cls.cls == GP_CLASS_LC &&
		    (u->seg || u->hand || u->kept_end_ns || u->hinted || !u->idle) &&
		    (t->spec.cls.cls == GP_CLASS_BE || w->edf || w_may_be_before(w, u, t)))
			return;
	}
	w_broken(w, "a turn ended for nobody");
}

static inline void w_group_decision(struct world *w, const struct gp_decision *d)
{
	struct w_group *g;

	if (!d->group || d->group > W_ALL || !w->group[d->group].known) {
		w_broken(w, "decision for a group that is not there");
		return;
	}
	if (w_busy(w, d->group) || w->n_pending == W_PENDING) {
		w_broken(w, "two decisions for a group under way");
		return;
	}
	if (d->type != GP_DO_SET_SLICE && !w->config.rotate)
		w_broken(w, "suspend or resume without rotation");
	if (d->type != GP_DO_SET_SLICE && d->group > W_GROUPS)
		w_broken(w, "a copy group is suspended, resumed or preempted");
	g = &w->group[d->group];
	w->pending[w->n_pending++] = (struct w_pending){ d->id, d->type, d->group, d->slice_us };
	g->old_runs = g->runs;
	g->old_slice_us = g->slice_us;
	if (d->type == GP_DO_PREEMPT)
		w_check_preempt(w, g);
	if (d->type == GP_DO_RESUME) {
		w_check_slots(w, d->group);
		g->runs = g->alive;
	} else if (d->type == GP_DO_SET_SLICE && d->slice_us == w->config.be_slice_us) {
		g->slice_us = d->slice_us;
	}
	w_check_short(w);
}

static inline void w_hold_decision(struct world *w, const struct gp_decision *d)
{
	struct w_tenant *t = &w->tenant[d->tenant];

	if (!d->tenant || d->tenant > W_TENANTS) {
		w_broken(w, "hold of no tenant");
		return;
	}
	if (d->type == GP_DO_RELEASE) {
		if (w->mutation != W_RELEASE_LOST)
			t->held = false;
		return;
	}
	if (!t->there || t->spec.cls.cls != GP_CLASS_LC)
		w_broken(w, "hold for a tenant that is not LC");
	if (t->sync)
		w_broken(w, "hold under a device-wide wait");
	if (t->held && t->held_until_ns > w->now_ns + W_RENEW_NS)
		w_broken(w, "hold on top of a hold that lasts");
	if (!d->limit_ns || d->limit_ns > w->config.hold_limit_ns ||
	    (w->config.hold_piece_ns && d->limit_ns > w->config.hold_piece_ns))
		w_broken(w, "hold without a proper limit");
	if (w->mutation == W_HOLD_LOST)
		return;
	t->held = true;
	t->held_until_ns = w->now_ns + d->limit_ns;
	w->last_hold_id = d->id;
	w->last_hold_tenant = d->tenant;
}

static inline void w_decide(struct world *w)
{
	for (size_t i = 0; i < w->out.count; i++) {
		const struct gp_decision *d = &w->out.d[i];

		if (!d->id || d->id == w->last_id)
			w_broken(w, "decision without an id of its own");
		w->last_id = d->id;
		switch (d->type) {
		case GP_DO_ARM_TIMER:
			if (i + 1 != w->out.count)
				w_broken(w, "the timer is not last");
			if (d->at_ns && d->at_ns <= w->now_ns)
				w_broken(w, "timer armed for the past");
			w->armed_ns = d->at_ns;
			break;
		case GP_DO_HOLD:
		case GP_DO_RELEASE:
			w_hold_decision(w, d);
			break;
		default:
			w_group_decision(w, d);
		}
	}
}

/* Could the core have a reason to hold for @t? */
static inline bool w_reason(const struct world *w, const struct w_tenant *t)
{
	return t->there && t->spec.cls.cls == GP_CLASS_LC &&
	       (t->seg || t->hand || t->kept_end_ns > w->now_ns ||
		(t->hinted && t->hint_end_ns > w->now_ns));
}

/* Must the core hold for @t unless a more urgent tenant holds? */
static inline bool w_must_hold(const struct world *w, const struct w_tenant *t)
{
	return t->there && t->spec.cls.cls == GP_CLASS_LC && t->seg && !t->seg_cut &&
	       !t->hold_broken && !t->begun_held &&
	       w->now_ns < t->seg_began_ns + w->config.hold_limit_ns;
}

/* May @t have to wait for a holder? */
static inline bool w_may_wait(const struct world *w, const struct w_tenant *t)
{
	for (size_t i = 1; i <= W_TENANTS; i++) {
		const struct w_tenant *u = &w->tenant[i];

		if (!u->held || u == t)
			continue;
		if (w_may_be_before(w, u, t))
			return true;
	}
	return false;
}

static inline void w_check_held(struct world *w, const struct w_tenant *t)
{
	if (!w_reason(w, t))
		w_broken(w, "3: held for no reason");
	if (t->sync)
		w_broken(w, "held under a device-wide wait");
	if (t->held_until_ns + 1 < w->now_ns)
		w_broken(w, "3: held past its limit");
	for (size_t i = 1; i <= W_TENANTS; i++)
		if (w->tenant[i].held && w_before(w, &w->tenant[i], t))
			w_broken(w, "4: held beside one more urgent");
}

static inline void w_check_holds(struct world *w)
{
	if (w->config.rotate && !w->config.slice_preempts)
		return;
	for (size_t i = 1; i <= W_TENANTS; i++) {
		struct w_tenant *t = &w->tenant[i];

		if (t->held)
			w_check_held(w, t);
		else if (w_must_hold(w, t) && !w_may_wait(w, t))
			w_broken(w, "4: a segment is not held");
	}
}

/* Decisions for a group that is gone belong to none: its id may be used again. */
static inline void w_group_gone(struct world *w, uint32_t group)
{
	w->group[group] = (struct w_group){ 0 };
	for (size_t i = 0; i < w->n_pending; i++)
		if (w->pending[i].group == group)
			w->pending[i].group = 0;
}

/* The checker's own facts, from the event alone. */
static inline void w_note(struct world *w, const struct gp_event *ev)
{
	struct w_tenant *t = &w->tenant[ev->tenant <= W_TENANTS ? ev->tenant : 0];
	bool begun_held = t->held;

	switch (ev->type) {
	case GP_EV_TENANT_JOIN:
		*t = (struct w_tenant){ .there = true, .spec = ev->spec };
		break;
	case GP_EV_TENANT_LEAVE:
		t->there = false;
		for (size_t i = 1; i <= W_ALL; i++) {
			if (w->group[i].tenant != ev->tenant)
				continue;
			w->group[i].tenant = 0;
			if (!w->config.rotate)
				w_group_gone(w, (uint32_t)i);
		}
		break;
	case GP_EV_TENANT_CLASS:
		if (ev->spec.cls.cls != GP_CLASS_LC) {
			t->seg = t->hand = 0;
			t->hinted = false;
		}
		t->spec = ev->spec;
		break;
	case GP_EV_GROUP_APPEAR:
		if (!w->group[ev->group.id].known)
			w->group[ev->group.id] =
				(struct w_group){ .known = true, .alive = true, .runs = true };
		w->group[ev->group.id].tenant = ev->tenant;
		break;
	case GP_EV_GROUP_GONE:
		w_group_gone(w, ev->group.id);
		break;
	case GP_EV_HINT:
		t->hinted = true;
		t->hint_end_ns = (ev->hint.at_ns > w->now_ns ? ev->hint.at_ns : w->now_ns) +
				 2 * w->config.hold_limit_ns;
		break;
	case GP_EV_SEGMENT_BEGIN:
		if (!t->seg++) {
			t->seg_began_ns = w->now_ns;
			t->seg_cut = t->sync != 0;
			t->begun_held = begun_held && t->hinted;
			t->hold_broken = false;
			t->hinted = false;
		}
		break;
	case GP_EV_SEGMENT_END:
		t->seg--;
		break;
	case GP_EV_HOLD:
		t->hand++;
		break;
	case GP_EV_RELEASE:
		t->hand--;
		break;
	case GP_EV_KEEP:
		/* Its limit, and two switches, which are measured. */
		t->kept_end_ns = ev->hold.limit_ns ? w->now_ns + w->config.hold_limit_ns : 0;
		break;
	case GP_EV_BUSY:
		/* Its running does not contradict an IDLE report. */
		if (!(ev->busy.how & GP_BUSY_ON))
			t->idle = ev->busy.how & GP_BUSY_SOON;
		break;
	case GP_EV_IDLE:
		t->idle = true;
		break;
	case GP_EV_SYNC:
		t->sync++;
		t->seg_cut = true;
		break;
	case GP_EV_SYNC_DONE:
		t->sync -= t->sync != 0;
		break;
	case GP_EV_CLOSE:
		w->closed = true;
		for (size_t i = 1; i <= W_TENANTS; i++)
			w->tenant[i].there = false;
		for (size_t i = 1; i <= W_ALL; i++)
			w->group[i].tenant = 0;
		break;
	}
}

/* Once nothing is under way. A slice that was refused five times stays as it was. */
static inline void w_check_copies(struct world *w)
{
	for (size_t i = W_GROUPS + 1; i <= W_ALL; i++) {
		const struct w_group *g = &w->group[i];
		const uint32_t cls = w->tenant[g->tenant].spec.cls.cls;
		uint64_t want_us = 0;

		if (!g->known || !g->alive || !g->tenant || g->slice_errors >= 5)
			continue;
		if (w->config.slice_preempts && cls == GP_CLASS_BE)
			want_us = GP_SCHED_COPY_SLICE_US;
		else if (w->config.slice_preempts && cls == GP_CLASS_LC)
			want_us = w->config.lc_slice_us;
		if (g->slice_us != want_us)
			w_broken(w, "a copy group has not its class's slice");
	}
}

/* The facts of gp_sched_why() are consistent with the world. */
static inline void w_check_why(struct world *w, uint32_t id)
{
	bool known = false, runs = false;
	struct gp_sched_why why;
	int rc = gp_sched_why(w->sched, id, &why);

	if (rc != (w->tenant[id].there ? 0 : -ENOENT))
		w_broken(w, "why: of a tenant that is not there, or not of one that is");
	if (rc)
		return;
	for (size_t i = 1; i <= W_GROUPS; i++) {
		const struct w_group *g = &w->group[i];

		if (!g->known || g->tenant != id)
			continue;
		known = true;
		runs |= g->runs || !g->alive;
	}
	if (known == (why.reason == GP_WHY_NO_GROUP))
		w_broken(w, "why: no group, and there is one, or none");
	if (why.reason == GP_WHY_RUNS && !runs)
		w_broken(w, "why: runs, and is off");
	if (why.other && (why.other == id || why.other > W_TENANTS || !w->tenant[why.other].there))
		w_broken(w, "why: because of nobody");
	if ((why.reason == GP_WHY_LC || why.reason == GP_WHY_PUT_OFF) !=
	    (why.other && w->tenant[why.other].spec.cls.cls == GP_CLASS_LC))
		w_broken(w, "why: because of LC that is none");
	if (why.until_ns && why.until_ns < w->now_ns)
		w_broken(w, "why: until a time that has passed");
}

static inline int w_step(struct world *w, const struct gp_event *ev)
{
	int rc = gp_sched_step(w->sched, w->now_ns, ev, &w->out);

	if (rc) {
		if (w->out.count)
			w_broken(w, "decisions of a refused event");
		return rc;
	}
	w_note(w, ev);
	if (ev->type == GP_EV_TIMER)
		w->armed_ns = 0;
	w_decide(w);
	w_check_holds(w);
	for (uint32_t i = 1; i <= W_TENANTS; i++)
		w_check_why(w, i);
	return 0;
}

static inline void w_timer(struct world *w)
{
	struct gp_event ev = { .type = GP_EV_TIMER };

	w_step(w, &ev);
}

/* Runs all timers of the next @ns, then advances to that time. */
static inline void w_advance(struct world *w, uint64_t ns)
{
	uint64_t to = w->now_ns + ns;
	int left = 10000;

	while (w->armed_ns && w->armed_ns <= to && !w->broken) {
		if (w->armed_ns > w->now_ns)
			w_pass(w, w->armed_ns - w->now_ns);
		w_timer(w);
		if (!--left)
			w_broken(w, "the timer never rests");
	}
	if (to > w->now_ns)
		w_pass(w, to - w->now_ns);
}

/* The hardware's state after @p ended with @error. */
static inline void w_effect(struct world *w, const struct w_pending *p, int error, bool half)
{
	struct w_group *g = &w->group[p->group];

	switch (p->type) {
	case GP_DO_SUSPEND:
		if (error)
			g->runs = g->alive;
		else if (w->mutation != W_SUSPEND_LOST)
			g->runs = false;
		break;
	case GP_DO_RESUME:
		if ((error && !half) || w->mutation == W_RESUME_LOST)
			g->runs = g->old_runs;
		break;
	case GP_DO_SET_SLICE:
		g->slice_errors += error != 0;
		if (error)
			g->slice_us = g->old_slice_us;
		else if (w->mutation != W_SLICE_LOST || p->slice_us == w->config.be_slice_us)
			g->slice_us = p->slice_us;
		break;
	}
}

static inline void w_outcome(struct world *w, size_t which, int error, bool half)
{
	struct w_pending p = w->pending[which];
	struct gp_event ev = { .type = GP_EV_OUTCOME, .outcome.decision = p.id };

	w->n_pending--;
	memmove(&w->pending[which], &w->pending[which + 1], (w->n_pending - which) * sizeof(p));
	if (!w->group[p.group].known) {
		error = -ESRCH; /* gone meanwhile, and perhaps back */
	} else if (!w->group[p.group].alive) {
		error = -ESRCH;
		w_group_gone(w, p.group);
	} else {
		w_effect(w, &p, error, half);
		w_check_short(w);
	}
	ev.outcome.error = error;
	/* With a limit some take longer. */
	ev.outcome.took_ns = p.id % 5 * w->config.leave_limit_ns / 2;
	/* The core counts that as BE's: it has the device until it has left. */
	if (p.type == GP_DO_SUSPEND)
		w->be_ns += ev.outcome.took_ns;
	w_step(w, &ev);
}

static inline void w_hold_failed(struct world *w)
{
	struct gp_event ev = { .type = GP_EV_OUTCOME, .outcome = { w->last_hold_id, -EIO } };
	struct w_tenant *t = &w->tenant[w->last_hold_tenant];

	if (!w->last_hold_id || !t->held)
		return;
	t->held = false;
	t->hold_broken = true;
	w->last_hold_id = 0;
	w_step(w, &ev);
}

static inline bool w_only_preempts(const struct world *w)
{
	for (size_t i = 0; i < w->n_pending; i++)
		if (w->pending[i].type != GP_DO_PREEMPT)
			return false;
	return true;
}

/*
 * Every decision under way succeeds, as fast as the hardware. By deadlines, endless work is
 * overdue again every period, and others' turns end each time. With n groups these are n times
 * n turns, which may take as long as the period.
 */
static inline void w_settle(struct world *w)
{
	int left = 1000;

	while (w->n_pending && !w->broken) {
		w_advance(w, 100000);
		if (w->n_pending)
			w_outcome(w, 0, 0, false);
		if (--left)
			continue;
		if (w->edf && w_only_preempts(w))
			return;
		w_broken(w, "decisions without end");
	}
}

/* @ns of a world without failures. */
static inline void w_run(struct world *w, uint64_t ns)
{
	uint64_t to = w->now_ns + ns;

	w_settle(w);
	while (w->now_ns < to && !w->broken) {
		uint64_t next = w->armed_ns && w->armed_ns < to ? w->armed_ns : to;

		w_advance(w, next > w->now_ns ? next - w->now_ns : 0);
		w_settle(w);
	}
}

#endif
