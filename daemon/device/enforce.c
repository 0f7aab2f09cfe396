// SPDX-License-Identifier: Apache-2.0
/*
 * enforce.c - restores decided slices. The driver lets a tenant set its own slices and
 * preemption mode. Once a second the daemon reads each group's slice (4 us on an H200), less
 * often on an unused device (observe.c). It counts a changed slice and sets slice and mode
 * again. A tenant with GP_BAN_AFTER changes is suspended until it ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/tenant.h"
#include "daemon/loop/log.h"
#include "runtime/log.h"

struct check {
	struct gp_group_job base;
	uint64_t decided_us, found_us;
	bool mode; /* set the preemption mode again, too */
	int err;
};

static void check(struct gp_job *job)
{
	struct check *c = (struct check *)(void *)job;
	const struct gp_hal_ops *ops = c->base.hal->dev->ops;

	c->err = ops->get_slice(c->base.hal, &c->found_us);
	if (c->err || c->found_us == c->decided_us)
		return;
	ops->set_slice(c->base.hal, c->decided_us);
	if (c->mode)
		ops->set_preempt_mode(c->base.hal, GP_PREEMPT_INSTRUCTION);
}

static void ban(struct gp_dtenant *t)
{
	gp_log(GP_LOG_WARN,
	       "%s: process %d (%s) reset its slice %u times; suspended "
	       "until it ends",
	       t->dev->hal->id.name, (int)t->who.pid, t->who.comm, GP_BAN_AFTER);
	gp_dtenant_ban(t);
}

static void was_checked(struct gp_job *job)
{
	struct check *c = (struct check *)(void *)job;
	struct gp_dtenant *t = c->base.group->owner;

	if (!c->err && c->found_us != c->decided_us && t && !t->banned) {
		gp_log(GP_LOG_INFO,
		       "%s: process %d (%s) set its slice to %llu us; corrected to %llu us",
		       c->base.dev->hal->id.name, (int)t->who.pid, t->who.comm,
		       (unsigned long long)c->found_us, (unsigned long long)c->decided_us);
		if (++t->corrected >= GP_BAN_AFTER)
			ban(t);
	}
	gp_group_job_end(&c->base);
}

void gp_ddev_enforce(struct gp_ddev *dev)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(dev->rt, NULL, g))) {
		const struct gp_dtenant *tenant = g->owner;
		struct check *c;

		/* Do not read a slice that is being set. */
		if (!tenant || !g->slice_us || g->jobs)
			continue;
		c = calloc(1, sizeof(*c));
		if (!c) {
			gp_log_shortage(-ENOMEM, "cannot check slices; trying again in a second");
			return;
		}
		c->decided_us = g->slice_us;
		c->mode = !g->copies && gp_dtenant_is_be(tenant) &&
			  dev->caps.caps & GP_CAP_PREEMPT_MODE;
		c->err = -ECANCELED;
		c->base.job.can_wait = true;
		gp_group_job_post(&c->base, dev, g, check, was_checked);
	}
}
