// SPDX-License-Identifier: Apache-2.0
/*
 * control.c - decisions become calls of the HAL, in the device's worker, in the
 * order in which they were made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device_internal.h"
#include "daemon/tenant.h"
#include "runtime/log.h"

struct control {
	struct gp_group_job base;
	struct gp_decision decision;
	bool sets_mode; /* instead: its preemption mode */
	bool own;	/* the core did not decide it */
	uint64_t slice_us;
	uint64_t took_ns;
	int err;
};

static int carry_out(const struct control *c)
{
	struct gp_group *group = c->base.hal;
	const struct gp_hal_ops *ops;

	if (!group)
		return -ESRCH;
	ops = group->dev->ops;
	if (c->sets_mode)
		return ops->set_preempt_mode(group, GP_PREEMPT_INSTRUCTION);
	switch (c->decision.type) {
	case GP_DO_SUSPEND:
		return ops->suspend(&group, 1);
	case GP_DO_RESUME:
		return ops->resume(&group, 1);
	case GP_DO_SET_SLICE:
		return ops->set_slice(group, c->slice_us);
	case GP_DO_PREEMPT:
		return ops->preempt(group);
	default:
		/* A hold is its tenant's own. */
		return -EOPNOTSUPP;
	}
}

static void work(struct gp_job *job)
{
	struct control *c = (struct control *)(void *)job;
	uint64_t start_ns = gp_loop_now_ns();

	c->err = carry_out(c);
	c->took_ns = gp_loop_now_ns() - start_ns;
}

static void count(struct gp_ddev *dev, const struct control *c)
{
	struct gp_ddev_stat *s = &dev->stat;
	uint64_t *n = c->decision.type == GP_DO_SUSPEND ? &s->suspends :
		      c->decision.type == GP_DO_RESUME	? &s->resumes :
		      c->decision.type == GP_DO_PREEMPT ? &s->preempts :
							  &s->slices;

	(*n)++;
	s->control_ns += c->took_ns;
	/* A process that ended is no failure. */
	s->failed += c->err && c->err != -ESRCH;
}

static void trace(struct gp_ddev *dev, const struct control *c, pid_t pid)
{
	switch (c->decision.type) {
	case GP_DO_SUSPEND:
		gp_ddev_trace(dev, GP_WIRE_TRACE_SUSPEND, pid, c->took_ns);
		break;
	case GP_DO_RESUME:
		gp_ddev_trace(dev, GP_WIRE_TRACE_RESUME, pid, c->took_ns);
		break;
	case GP_DO_SET_SLICE:
		gp_ddev_trace(dev, GP_WIRE_TRACE_SLICE, pid, c->slice_us);
		break;
	case GP_DO_PREEMPT:
		gp_ddev_trace(dev, GP_WIRE_TRACE_PREEMPT, pid, c->took_ns);
		break;
	}
}

static void follow_group(const struct control *c)
{
	struct gp_dgroup *g = c->base.group;
	bool was = g->off;

	if (c->err)
		return;
	if (c->decision.type == GP_DO_SET_SLICE)
		g->slice_us = c->slice_us;
	else if (c->decision.type == GP_DO_SUSPEND)
		g->off = true;
	else if (c->decision.type == GP_DO_RESUME)
		g->off = false;
	if (g->off != was && g->tenant)
		gp_dtenant_group_off(g->tenant, g->off);
}

static void say_failure(const struct control *c, pid_t pid)
{
	static const char *const what[] = {
		[GP_DO_SET_SLICE] = "set the slice of",
		[GP_DO_SUSPEND] = "suspend",
		[GP_DO_RESUME] = "resume",
		[GP_DO_PREEMPT] = "end the turn of",
	};

	if (!c->err || c->err == -ESRCH || c->err == -ECANCELED ||
	    (c->err == -EOPNOTSUPP && c->decision.type == GP_DO_PREEMPT))
		return;
	gp_log(GP_LOG_WARN, "%s: cannot %s process %d's group %#x: %s", c->base.dev->hal->id.name,
	       what[c->decision.type], (int)pid, c->decision.group, strerror(-c->err));
}

static void done(struct gp_job *job)
{
	struct control *c = (struct control *)(void *)job;
	const struct gp_event ev = { .type = GP_EV_OUTCOME, .outcome = { c->decision.id, c->err } };
	struct gp_ddev *dev = c->base.dev;
	pid_t pid = c->base.hal ? c->base.hal->pid : 0;

	if (!c->sets_mode) {
		count(dev, c);
		trace(dev, c, pid);
		say_failure(c, pid);
		if (c->base.group)
			follow_group(c);
	}
	if (!c->sets_mode && !c->own)
		gp_ddev_event(dev, &ev);
	gp_group_job_end(&c->base);
}

static struct control *control_new(void)
{
	struct control *c = calloc(1, sizeof(*c));

	if (!c) {
		/* The core would wait for its outcome for ever. */
		gp_log(GP_LOG_ERR, "out of memory");
		abort();
	}
	c->err = -ECANCELED;
	return c;
}

static uint64_t real_slice_us(const struct gp_ddev *dev, uint64_t us)
{
	if (!us)
		us = dev->caps.default_slice_us;
	if (dev->caps.max_slice_us && us > dev->caps.max_slice_us)
		us = dev->caps.max_slice_us;
	return us < dev->caps.min_slice_us ? dev->caps.min_slice_us : us;
}

void gp_ddev_control(struct gp_ddev *dev, const struct gp_decision *d)
{
	struct gp_dgroup *group = gp_ddev_group(dev, d->group);
	struct control *c = control_new();

	c->decision = *d;
	/*
	 * To wake the worker took 0.03 to 0.23 ms more (traces of an H200), in which
	 * somebody waits for a cut, or nobody has the turn. Both take 0.2 to 0.4 ms; a
	 * suspend may wait 20 ms for pages.
	 */
	c->base.job.at_once = d->type == GP_DO_PREEMPT || d->type == GP_DO_RESUME;
	c->slice_us = real_slice_us(dev, d->slice_us);
	gp_group_job_post(&c->base, dev, group && !group->gone ? group : NULL, work, done);
}

void gp_ddev_preemptible(struct gp_ddev *dev, struct gp_dgroup *group)
{
	struct control *c;

	if (!(dev->caps.caps & GP_CAP_PREEMPT_MODE))
		return;
	c = control_new();
	c->sets_mode = true;
	gp_group_job_post(&c->base, dev, group, work, done);
}

void gp_ddev_control_own(struct gp_ddev *dev, struct gp_dgroup *group, uint32_t type)
{
	struct control *c = control_new();

	c->own = true;
	c->decision.type = type;
	c->decision.group = group->id;
	c->slice_us = real_slice_us(dev, 0);
	gp_group_job_post(&c->base, dev, group, work, done);
}
