// SPDX-License-Identifier: Apache-2.0
/*
 * frozen.c - the groups of a tenant whose cgroup is frozen. Its user can freeze and thaw it at
 * will. A freeze counts at once, a thaw once a second, so the others lose little to it.
 */
#include "daemon/device/frozen.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/tenant.h"
#include "daemon/loop/log.h"
#include "runtime/log.h"

/* Comes to the worker behind the calls of a thaw. */
struct thaw_job {
	struct gp_group_job base;
	uint32_t tenant;
};

/* ---- off ------------------------------------------------------------------------- */

static void leave_core(struct gp_dtenant *t, bool those_that_run)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		if (g->off_next || those_that_run)
			gp_runtime_group_from_core(t->dev->rt, g);
}

static void suspend_all(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	if (!(t->dev->caps.caps & GP_CAP_SUSPEND))
		return;
	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		if (!g->off_next)
			gp_runtime_own_alone(t->dev->rt, g, GP_DO_SUSPEND);
}

/*
 * Suspended groups leave the core first, so that it resumes none of them behind a suspension.
 * The others leave last: that begins another tenant's turn.
 */
static void take_off(struct gp_dtenant *t)
{
	leave_core(t, false);
	suspend_all(t);
	leave_core(t, true);
}

void gp_frozen_follow(struct gp_dtenant *t)
{
	if (t->banned)
		return;
	if (t->away.away)
		gp_away_follow(t);
	else
		take_off(t);
}

/* ---- back ------------------------------------------------------------------------ */

static void run_all(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		gp_ddev_run_alone(t->dev, g);
}

static bool any_is_off(const struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		if (g->off)
			return true;
	return false;
}

/* It has turns, or its mover has. Whether it has work is observed from then on. */
static void came_back(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	t->frozen.thaws = false;
	t->frozen.back_ns = gp_loop_now_ns();
	if (t->away.away)
		gp_away_follow(t);
	while (!t->away.away && !t->banned && (g = gp_runtime_next(t->dev->rt, t, g)))
		gp_runtime_group_to_core(t->dev->rt, g);
	if (gp_dtenant_is_be(t))
		gp_dtenant_report(t, GP_REPORTED_BUSY, gp_ddev_now(t->dev));
	gp_ddev_observe_pages(t->dev);
}

/* If a group could not be resumed, gp_frozen_check() tries again. */
static void thawed(struct gp_job *job)
{
	struct thaw_job *j = (struct thaw_job *)(void *)job;
	/* By its id: it may have left. */
	struct gp_dtenant *t = gp_dtenant_of(j->base.dev, j->tenant);

	if (t && t->frozen.thaws && (t->away.away || t->banned || !any_is_off(t)))
		came_back(t);
	gp_group_job_end(&j->base);
}

static void thaw(struct gp_dtenant *t)
{
	struct thaw_job *j = calloc(1, sizeof(*j));

	if (!j) {
		gp_log_shortage(-ENOMEM, "cannot resume a thawed process");
		return;
	}
	j->tenant = t->id;
	if (!t->away.away && !t->banned)
		run_all(t);
	gp_group_job_post(&j->base, t->dev, NULL, NULL, thawed);
}

static bool may_thaw(const struct gp_dtenant *t)
{
	const uint64_t back_ns = t->frozen.back_ns;

	return !back_ns || gp_loop_now_ns() - back_ns >= GP_FROZEN_THAW_NS;
}

/* ---- both ------------------------------------------------------------------------- */

void gp_frozen_set(struct gp_dtenant *t, bool frozen)
{
	if (t->frozen.frozen == frozen)
		return;
	t->frozen.frozen = frozen;
	t->frozen.thaws = !frozen;
	t->frozen.since_ns = gp_ddev_now(t->dev);
	if (frozen) {
		gp_frozen_follow(t);
		gp_ddev_observe_pages(t->dev);
	} else if (may_thaw(t)) {
		thaw(t);
	}
}

void gp_frozen_check(struct gp_dtenant *t)
{
	if (t->frozen.frozen && !t->banned && !t->away.away)
		suspend_all(t);
	else if (t->frozen.thaws && may_thaw(t))
		thaw(t);
}
