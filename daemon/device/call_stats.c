// SPDX-License-Identifier: Apache-2.0
/* call_stats.c - calls of the HAL, counted and traced. */
#include <errno.h>
#include <string.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/tenant.h"
#include "runtime/log.h"

static void count(struct gp_ddev *dev, const struct gp_call *c)
{
	struct gp_ddev_stat *s = &dev->stat;
	uint64_t *n = c->what.type == GP_DO_SUSPEND ? &s->suspends :
		      c->what.type == GP_DO_RESUME  ? &s->resumes :
		      c->what.type == GP_DO_PREEMPT ? &s->preempts :
						      &s->slices;

	(*n)++;
	s->control_ns += c->took_ns;
	/* A process that ended is no failure. */
	s->failed += c->err && c->err != -ESRCH;
}

static void trace(struct gp_ddev *dev, const struct gp_call *c, pid_t pid)
{
	switch (c->what.type) {
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

static void say_failure(const struct gp_ddev *dev, const struct gp_call *c, pid_t pid)
{
	static const char *const what[] = {
		[GP_DO_SET_SLICE] = "set the slice of",
		[GP_DO_SUSPEND] = "suspend",
		[GP_DO_RESUME] = "resume",
		[GP_DO_PREEMPT] = "end the turn of",
	};

	if (!c->err || c->err == -ESRCH || c->err == -ECANCELED ||
	    (c->err == -EOPNOTSUPP && c->what.type == GP_DO_PREEMPT))
		return;
	gp_log(GP_LOG_WARN, "%s: cannot %s process %d's group %#x: %s", dev->hal->id.name,
	       what[c->what.type], (int)pid, c->what.group, strerror(-c->err));
}

void gp_ddev_called(void *host, const struct gp_call *c)
{
	const pid_t pid = c->group->hal->pid;
	struct gp_dtenant *tenant = c->group->owner;
	struct gp_ddev *dev = host;

	if (c->what.type == GP_CALL_PREEMPT_MODE)
		return;
	count(dev, c);
	trace(dev, c, pid);
	say_failure(dev, c, pid);
	if (c->turned && tenant)
		gp_dtenant_group_off(tenant, c->group->off);
}
