// SPDX-License-Identifier: Apache-2.0
/* away.c - the groups of a tenant whose memory is off the device. */
#include "daemon/device/away.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/tenant.h"
#include "daemon/loop/log.h"
#include "runtime/log.h"

/* Comes to the worker behind the calls that an answer waits for. */
struct away_job {
	struct gp_group_job base;
	uint32_t tenant;
	bool away, fresh;
	void (*answer)(struct gp_dtenant *t, bool away, int err);
};

enum gp_journal_away gp_away_record(const struct gp_dtenant *t)
{
	return !t->away.away ? GP_JOURNAL_HERE :
	       t->away.asked ? GP_JOURNAL_AWAY_ASKED :
			       GP_JOURNAL_AWAY;
}

bool gp_away_takes_turns(const struct gp_dtenant *t)
{
	return t->away.away && t->away.count && !t->away.beside_since_ns;
}

static bool is_kept(const struct gp_dtenant *t, const struct gp_runtime_group *g)
{
	for (uint32_t i = 0; i < t->away.count; i++)
		if (t->away.keep[i] == g->id)
			return true;
	return false;
}

/* ---- its mover's groups without a move ---------------------------------------------- */

static bool is_movers(const struct gp_dtenant *t, uint32_t id)
{
	if (!t->page)
		return false;
	for (size_t i = 0; i < GP_PAGE_MOVERS; i++)
		if (atomic_load_explicit(&t->page->mover[i], memory_order_relaxed) == id)
			return true;
	return false;
}

/*
 * The log shows kernels in such a group. Without one, only a daemon of the user's own takes
 * the user's word.
 */
static bool may_pass_turns(const struct gp_dtenant *t)
{
	return !t->mover_wrong && !gp_away_takes_turns(t) && (t->dev->log || geteuid());
}

/* For the next time that the core has it. True: that is news. */
static bool set_aside(const struct gp_dtenant *t, struct gp_runtime_group *g)
{
	const bool was = g->aside, matters = g->copies != gp_dtenant_is_be(t);

	g->aside = matters && is_movers(t, g->id) && (g->copies || may_pass_turns(t));
	return g->aside != was;
}

void gp_away_movers(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g))) {
		if (!set_aside(t, g) || t->away.away || gp_dtenant_is_stopped(t))
			continue;
		gp_runtime_group_from_core(t->dev->rt, g);
		gp_ddev_run_alone(t->dev, g);
		gp_runtime_group_to_core(t->dev->rt, g);
	}
}

void gp_away_movers_ran(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		if (g->aside)
			break;
	if (!g)
		return;
	gp_log(GP_LOG_WARN,
	       "%s: process %d (%s) has work where it should only move memory; that takes turns "
	       "from now on",
	       t->dev->hal->id.name, (int)t->who.pid, t->who.comm);
	t->mover_wrong = true;
	gp_away_movers(t);
}

static void run_kept(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		if (is_kept(t, g)) {
			gp_ddev_run_alone(t->dev, g);
			(void)set_aside(t, g);
			if (gp_away_takes_turns(t))
				gp_runtime_group_to_core(t->dev->rt, g);
		}
}

void gp_away_follow(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	/* First all leave the core, so that it resumes none of them behind a suspension. */
	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		gp_runtime_group_from_core(t->dev->rt, g);
	g = NULL;
	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		if (gp_dtenant_is_stopped(t) || !is_kept(t, g))
			gp_runtime_own_alone(t->dev->rt, g, GP_DO_SUSPEND);
	if (!gp_dtenant_is_stopped(t))
		run_kept(t);
}

/* ---- a mover's time beside all turns --------------------------------------------- */

static uint64_t beside_ns(const struct gp_dtenant *t)
{
	return t->away.beside_since_ns ? gp_ddev_now(t->dev) - t->away.beside_since_ns : 0;
}

static void count_time(struct gp_dtenant *t)
{
	const uint64_t ns = beside_ns(t);

	t->away.left_ns -= ns < t->away.left_ns ? ns : t->away.left_ns;
	t->away.beside_since_ns = 0;
}

void gp_away_check(struct gp_dtenant *t)
{
	if (!t->away.beside_since_ns || beside_ns(t) < t->away.left_ns)
		return;
	gp_log(GP_LOG_WARN,
	       "%s: process %d (%s) has moved its memory for %u s; from now on in its turns",
	       t->dev->hal->id.name, (int)t->who.pid, t->who.comm,
	       (unsigned int)(GP_AWAY_BESIDE_NS / 1000000000u));
	count_time(t);
	if (!gp_dtenant_is_stopped(t))
		run_kept(t);
}

/* ---- out and back ------------------------------------------------------------------ */

static void mark(struct gp_dtenant *t, bool away)
{
	if (away && !t->away.away)
		t->away.since_ns = gp_ddev_now(t->dev);
	t->away.away = away;
	gp_journal_away(t->dev->journal, t->place, gp_away_record(t));
}

static void give_to_core(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	mark(t, false);
	t->away.asked = false;
	t->away.count = 0;
	t->away.room_ns = t->away.left_ns = t->away.beside_since_ns = t->away.give_ns = 0;
	while (!gp_dtenant_is_stopped(t) && (g = gp_runtime_next(t->dev->rt, t, g))) {
		(void)set_aside(t, g);
		gp_runtime_group_to_core(t->dev->rt, g);
	}
}

static void run_all(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	while (!gp_dtenant_is_stopped(t) && (g = gp_runtime_next(t->dev->rt, t, g))) {
		gp_runtime_group_from_core(t->dev->rt, g);
		gp_ddev_run_alone(t->dev, g);
	}
}

void gp_away_back(struct gp_dtenant *t)
{
	run_all(t);
	give_to_core(t);
}

static bool any_is(const struct gp_dtenant *t, bool off)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		if (!is_kept(t, g) && g->off == off)
			return true;
	return false;
}

/* The outcome of the calls before it. */
static int outcome(struct gp_dtenant *t, const struct away_job *j)
{
	if (j->away && j->fresh && any_is(t, false)) {
		gp_away_back(t);
		return -EIO;
	}
	if (j->away)
		return 0;
	if (!gp_dtenant_is_stopped(t) && any_is(t, true)) {
		gp_away_follow(t);
		return -EIO;
	}
	give_to_core(t);
	return 0;
}

static void executed(struct gp_job *job)
{
	struct away_job *j = (struct away_job *)(void *)job;
	/* By its id: it may have left. */
	struct gp_dtenant *t = gp_dtenant_of(j->base.dev, j->tenant);
	int err;

	if (t) {
		t->away.pending = false;
		err = outcome(t, j);
		j->answer(t, j->away, err);
	}
	gp_group_job_end(&j->base);
}

static bool was_asked(const struct gp_dtenant *t)
{
	return t->away.room_ns && gp_loop_now_ns() - t->away.room_ns < GP_AWAY_ASKED_NS;
}

static void take_keep(struct gp_dtenant *t, const struct gp_wire_away *msg)
{
	count_time(t);
	t->away.count = msg->count;
	memcpy(t->away.keep, msg->keep, sizeof(t->away.keep));
	if (t->away.asked && t->away.left_ns && msg->count)
		t->away.beside_since_ns = gp_ddev_now(t->dev);
}

void gp_away_set(struct gp_dtenant *t, const struct gp_wire_away *msg,
		 void (*answer)(struct gp_dtenant *t, bool away, int err))
{
	const bool fresh = !t->away.away;
	struct away_job *j;

	if (t->away.pending || (msg->away && fresh && !was_asked(t))) {
		answer(t, msg->away, t->away.pending ? -EBUSY : -EPERM);
		return;
	}
	/* It has its turns already; another resume would be beside these. */
	if (!msg->away && fresh) {
		answer(t, false, 0);
		return;
	}
	j = calloc(1, sizeof(*j));
	if (!j) {
		gp_log_shortage(-ENOMEM, "cannot let memory leave");
		answer(t, msg->away, -ENOMEM);
		return;
	}
	j->tenant = t->id;
	j->away = msg->away;
	j->fresh = fresh;
	j->answer = answer;
	t->away.pending = true;
	if (msg->away && fresh) {
		t->away.asked = true;
		t->away.left_ns = GP_AWAY_BESIDE_NS;
	}
	if (msg->away) {
		mark(t, true);
		take_keep(t, msg);
		gp_away_follow(t);
	} else {
		run_all(t);
	}
	gp_group_job_post(&j->base, t->dev, NULL, NULL, executed);
}

void gp_away_joined(struct gp_dtenant *t, enum gp_journal_away how)
{
	t->away.asked = how == GP_JOURNAL_AWAY_ASKED;
	t->away.left_ns = t->away.asked ? GP_AWAY_BESIDE_NS : 0;
	t->away.since_ns = gp_ddev_now(t->dev);
	gp_away_follow(t);
}
