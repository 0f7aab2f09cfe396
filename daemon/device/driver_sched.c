// SPDX-License-Identifier: Apache-2.0
/*
 * driver_sched.c - devices whose driver knows classes and schedules turns by itself (AMD with
 * kfd-patch/). It receives the class of a tenant, and reports the use of the tenant's groups.
 * Decisions of the core have no effect there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/tenant.h"
#include "daemon/loop/log.h"
#include "runtime/log.h"

struct class_call {
	struct gp_group_job base; /* of all groups: of none */
	pid_t pid;
	struct gp_class_value cls;
	int err;
};

static void set_class(struct gp_job *job)
{
	struct class_call *t = (struct class_call *)(void *)job;

	t->err = t->base.dev->hal->ops->set_class(t->base.dev->hal, t->pid, &t->cls);
}

static void class_was_set(struct gp_job *job)
{
	struct class_call *t = (struct class_call *)(void *)job;

	if (t->err && t->err != -ESRCH && t->err != -ECANCELED)
		gp_log(GP_LOG_WARN, "%s: cannot set the class of process %d: %s",
		       t->base.dev->hal->id.name, (int)t->pid, strerror(-t->err));
	/* Its usage counts from now on. */
	if (!t->err)
		gp_ddev_read_usage(t->base.dev);
	gp_group_job_end(&t->base);
}

void gp_ddev_report_class(struct gp_ddev *dev, pid_t pid, const struct gp_class_value *cls)
{
	struct class_call *t;

	if (!(dev->caps.caps & GP_CAP_CLASS))
		return;
	t = calloc(1, sizeof(*t));
	if (!t) {
		gp_log_shortage(-ENOMEM, "cannot pass a class to the driver");
		return;
	}
	t->pid = pid;
	t->cls = *cls;
	t->err = -ECANCELED;
	gp_group_job_post(&t->base, dev, NULL, set_class, class_was_set);
}

/* ---- the driver's counters ------------------------------------------------------- */

struct counted {
	struct gp_group_job base;
	bool first; /* of a new tenant: earlier usage does not count */
	uint64_t used_ns;
	int err;
};

static void count(struct gp_job *job)
{
	struct counted *c = (struct counted *)(void *)job;

	c->err = c->base.hal->dev->ops->usage(c->base.hal, &c->used_ns);
}

/* Its number may be another's by now, which counts from 0. */
static uint64_t used_since(const struct gp_runtime_group *g, uint64_t used_ns)
{
	return used_ns - (used_ns >= g->used_ns ? g->used_ns : 0);
}

static void was_counted(struct gp_job *job)
{
	struct counted *c = (struct counted *)(void *)job;
	struct gp_runtime_group *g = c->base.group;

	if (!c->err && g->owner) {
		gp_dtenant_used(g->owner, c->first ? 0 : used_since(g, c->used_ns));
		g->used_ns = c->used_ns;
		c->base.dev->counts = true;
	}
	gp_group_job_end(&c->base);
}

void gp_ddev_read_usage(struct gp_ddev *dev)
{
	struct gp_runtime_group *g = NULL;

	if (dev->log || !dev->tenants)
		return;
	while ((g = gp_runtime_next_compute(dev->rt, NULL, g))) {
		const struct gp_dtenant *tenant = g->owner;
		struct counted *c;

		if (!tenant)
			continue;
		c = calloc(1, sizeof(*c));
		if (!c) {
			gp_log_shortage(-ENOMEM, "cannot read usage; trying again in a second");
			return;
		}
		c->first = tenant->used_ns == GP_WIRE_UNKNOWN;
		c->err = -ECANCELED;
		gp_group_job_post(&c->base, dev, g, count, was_counted);
	}
}
