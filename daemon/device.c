// SPDX-License-Identifier: Apache-2.0
/*
 * device.c - steps the core, and keeps what it decides about. control.c carries
 * out, look.c sees what tenants are doing.
 */
#include "daemon/device.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/device_internal.h"
#include "daemon/tenant.h"
#include "runtime/log.h"

#define SLOT_NS 100000000u

uint64_t gp_ddev_now(struct gp_ddev *dev)
{
	uint64_t ns = 0;

	/* A clock that fails stands still: the core takes the latest seen. */
	dev->hal->ops->now(dev->hal, &ns);
	return ns;
}

void gp_ddev_trace(struct gp_ddev *dev, uint16_t kind, pid_t pid, uint64_t value)
{
	gp_ddev_trace_at(dev, kind, pid, value, gp_ddev_now(dev));
}

void gp_ddev_trace_at(struct gp_ddev *dev, uint16_t kind, pid_t pid, uint64_t value, uint64_t at_ns)
{
	if (gp_trace_wanted(dev->trace))
		gp_trace_add(dev->trace, &(struct gp_wire_trace_record){ .time_ns = at_ns,
									 .value = value,
									 .pid = pid,
									 .kind = kind,
									 .device = dev->number });
}

/* ---- the timer ---------------------------------------------------------------- */

void gp_ddev_arm(struct gp_ddev *dev)
{
	uint64_t at_ns = dev->core_at_ns;

	if (dev->look_at_ns && (!at_ns || dev->look_at_ns < at_ns))
		at_ns = dev->look_at_ns;
	/* Before timer_done a virtual clock stands: what comes next is first. */
	dev->hal->ops->timer_arm(dev->timer, at_ns);
}

void gp_ddev_let_go(struct gp_ddev *dev)
{
	if (!dev->acked || dev->jobs || dev->looking)
		return;
	dev->acked = false;
	gp_ddev_arm(dev);
	dev->hal->ops->timer_done(dev->timer);
}

static void timer_ready(struct gp_source *source, uint32_t events)
{
	struct gp_ddev *dev = gp_holder(source, struct gp_ddev, timer_source);

	if (dev->hal->ops->timer_ack(dev->timer))
		return;
	dev->acked = true;
	gp_ddev_look(dev);
	gp_ddev_let_go(dev);
}

static void idle_due(struct gp_tick *tick)
{
	struct gp_ddev *dev = gp_holder(tick, struct gp_ddev, idle);

	gp_ddev_look(dev);
	gp_ddev_count(dev);
	gp_ddev_enforce(dev);
	gp_tick_in(tick, GP_LOOK_IDLE_NS);
}

/* ---- stepping ------------------------------------------------------------------- */

/* Who is resident may have changed: turns are counted here. */
static void follow_turns(struct gp_ddev *dev)
{
	uint32_t now = gp_sched_resident(dev->sched);
	struct gp_dtenant *t;

	if (now == dev->resident)
		return;
	t = gp_dtenant_of(dev, dev->resident);
	if (t)
		gp_dtenant_turn_ends(t);
	dev->resident = now;
	t = gp_dtenant_of(dev, now);
	if (t)
		gp_dtenant_turn_begins(t);
	gp_usage_turn(&dev->usage, (uint64_t)((int64_t)gp_ddev_now(dev) + dev->clocks.ahead_ns),
		      t ? t->who.pid : 0);
	gp_ddev_trace(dev, GP_WIRE_TRACE_RESIDENT, t ? t->who.pid : 0, 0);
}

/* A turn may end with any step, at the latest then: not into work that is to come. */
static void before_step(struct gp_ddev *dev)
{
	if (dev->in_step || !dev->core_at_ns || gp_ddev_now(dev) < dev->core_at_ns)
		return;
	dev->in_step = true;
	gp_ddev_look_at_lc(dev);
	dev->in_step = false;
}

int gp_ddev_event(struct gp_ddev *dev, const struct gp_event *ev)
{
	int err;

	before_step(dev);
	err = gp_sched_step(dev->sched, gp_ddev_now(dev), ev, &dev->out);
	if (err)
		return err;
	/* The core takes it for fired, and says so only if another is to come. */
	if (ev->type == GP_EV_TIMER)
		dev->core_at_ns = 0;
	for (size_t i = 0; i < dev->out.count; i++) {
		const struct gp_decision *d = &dev->out.d[i];

		if (d->type == GP_DO_ARM_TIMER)
			dev->core_at_ns = d->at_ns;
		else
			gp_ddev_control(dev, d);
	}
	follow_turns(dev);
	gp_ddev_plan_look(dev);
	if (!dev->acked)
		gp_ddev_arm(dev);
	return 0;
}

enum gp_wire_usage gp_ddev_usage(const struct gp_ddev *dev)
{
	return dev->log	   ? GP_WIRE_USAGE_LOG :
	       dev->counts ? GP_WIRE_USAGE_DRIVER :
			     GP_WIRE_USAGE_NONE;
}

/* ---- groups ------------------------------------------------------------------- */

struct gp_dgroup *gp_ddev_group(struct gp_ddev *dev, uint32_t id)
{
	for (size_t i = 0; id && i < GP_SCHED_MAX_GROUPS; i++)
		if (dev->group[i].id == id)
			return &dev->group[i];
	return NULL;
}

int gp_ddev_group_add(struct gp_ddev *dev, struct gp_dtenant *tenant, struct gp_group *group)
{
	struct gp_event ev = { .type = GP_EV_GROUP_APPEAR,
			       .tenant = tenant->id,
			       .group.id = group->id };
	struct gp_dgroup *g = gp_ddev_group(dev, group->id);
	int err;

	/* It left, and is back before it was put back: still the same group. */
	if (g && (g->tenant || g->gone))
		return -EEXIST;
	for (size_t i = 0; !g && i < GP_SCHED_MAX_GROUPS; i++)
		if (!dev->group[i].id)
			g = &dev->group[i];
	if (!g)
		return -ENOSPC;
	if (g->id) {
		dev->hal->ops->group_put(group);
		g->tenant = tenant;
	} else {
		*g = (struct gp_dgroup){ .id = group->id, .group = group, .tenant = tenant };
	}
	err = gp_ddev_event(dev, &ev);
	if (!err)
		return 0;
	if (g->group == group)
		*g = (struct gp_dgroup){ 0 };
	return err;
}

void gp_ddev_group_free(struct gp_ddev *dev, struct gp_dgroup *group)
{
	dev->hal->ops->group_put(group->group);
	*group = (struct gp_dgroup){ 0 };
}

void gp_group_job_post(struct gp_group_job *j, struct gp_ddev *dev, struct gp_dgroup *group,
		       void (*work)(struct gp_job *job), void (*done)(struct gp_job *job))
{
	j->job.work = work;
	j->job.done = done;
	j->dev = dev;
	j->group = group;
	j->hal = group ? group->group : NULL;
	dev->jobs++;
	if (group)
		group->jobs++;
	gp_worker_post(dev->worker, &j->job);
}

void gp_group_job_end(struct gp_group_job *j)
{
	struct gp_dgroup *group = j->group;
	struct gp_ddev *dev = j->dev;

	free(j);
	dev->jobs--;
	if (group && !--group->jobs && group->gone)
		gp_ddev_group_free(dev, group);
	gp_ddev_sweep(dev);
	gp_ddev_let_go(dev);
}

void gp_ddev_group_gone(struct gp_ddev *dev, struct gp_dgroup *group)
{
	const struct gp_event ev = { .type = GP_EV_GROUP_GONE, .group.id = group->id };

	group->tenant = NULL;
	group->gone = true;
	gp_ddev_event(dev, &ev);
	if (!group->jobs)
		gp_ddev_group_free(dev, group);
}

bool gp_ddev_putting_back(const struct gp_ddev *dev)
{
	return dev->jobs || !gp_sched_settled(dev->sched);
}

/* What the core has put back, and nobody owns, is forgotten. */
void gp_ddev_sweep(struct gp_ddev *dev)
{
	if (!gp_sched_settled(dev->sched))
		return;
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++)
		if (dev->group[i].id && !dev->group[i].tenant && !dev->group[i].jobs)
			gp_ddev_group_free(dev, &dev->group[i]);
	while (dev->leaving_count)
		gp_journal_drop(dev->journal, dev->leaving[--dev->leaving_count]);
}

void gp_ddev_leaving(struct gp_ddev *dev, int place)
{
	dev->leaving[dev->leaving_count++] = place;
}

/* ---- making and ending ------------------------------------------------------------ */

static int core_create(struct gp_ddev *dev)
{
	const bool preempts = dev->caps.caps & GP_CAP_SLICE_PREEMPTS;
	const struct gp_sched_config config = {
		.be_policy = dev->settings.be_policy,
		.lc_policy = dev->settings.lc_policy,
		/* Who takes turns by itself is told classes: see driver.c. */
		.rotate = dev->caps.caps & GP_CAP_SUSPEND && !(dev->caps.caps & GP_CAP_CLASS),
		.slice_preempts = preempts,
		.slots = dev->caps.slots,
		.be_min_pct = dev->settings.be_min_pct,
		.lc_preempt = !preempts			      ? GP_LC_CUT_NONE :
			      dev->caps.caps & GP_CAP_PREEMPT ? GP_LC_CUT_PREEMPT :
								GP_LC_CUT_SUSPEND,
		.quantum_ns = dev->settings.quantum_ns,
		.switch_ns = dev->caps.switch_ns,
		.idle_slice_us = GP_DDEV_IDLE_SLICE_US,
	};

	dev->sched = calloc(1, gp_sched_size());
	return dev->sched ? gp_sched_init(dev->sched, &config) : -ENOMEM;
}

static int core_timer_create(struct gp_ddev *dev)
{
	int err = dev->hal->ops->timer_create(dev->hal, &dev->timer);

	if (err)
		return err;
	dev->timer_source.fd = dev->timer->fd;
	dev->timer_source.ready = timer_ready;
	dev->timer_source.is_urgent = true;
	return gp_loop_add(dev->loop, &dev->timer_source, EPOLLIN);
}

/*
 * The device's short slice is the daemon's while it runs. A program that has not
 * come to it yet may have the lock: until it is given back, turns are with the
 * driver's slice.
 */
static void slot_due(struct gp_tick *tick)
{
	struct gp_ddev *dev = gp_holder(tick, struct gp_ddev, slot);
	struct gp_event ev = { .type = GP_EV_SLOT };

	if (gp_slot_try(dev->hal, &dev->slot_fd) == -EBUSY)
		gp_tick_in(tick, SLOT_NS);
	else
		ev.slot.have = true;
	gp_ddev_event(dev, &ev);
}

static int slot_create(struct gp_ddev *dev)
{
	dev->slot.due = slot_due;
	if (!(dev->caps.caps & GP_CAP_SLICES))
		return 0;
	return gp_tick_add(dev->loop, &dev->slot);
}

static int idle_create(struct gp_ddev *dev)
{
	int err;

	dev->idle.due = idle_due;
	dev->notice.due = gp_ddev_notice_due;
	err = gp_tick_add(dev->loop, &dev->idle);
	if (!err)
		err = gp_tick_add(dev->loop, &dev->notice);
	if (!err)
		gp_tick_in(&dev->idle, GP_LOOK_IDLE_NS);
	return err;
}

/* All but @dev's HAL device. */
static void unmake(struct gp_ddev *dev)
{
	gp_tick_remove(&dev->idle);
	gp_tick_remove(&dev->notice);
	gp_tick_remove(&dev->slot);
	gp_worker_destroy(dev->worker);
	gp_loop_remove(&dev->timer_source);
	dev->hal->ops->timer_destroy(dev->timer);
	dev->hal->ops->log_close(dev->log);
	if (dev->slot_fd >= 0)
		close(dev->slot_fd);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS; i++)
		if (dev->group[i].id)
			gp_ddev_group_free(dev, &dev->group[i]);
	dev->hal->ops = dev->hal_ops;
	free(dev->sched);
	free(dev);
}

static void say_policies(const struct gp_ddev *dev)
{
	const struct gp_config_settings *s = &dev->settings;

	if (!(dev->caps.caps & GP_CAP_CLASS) ||
	    (s->be_policy == &gp_policy_fair && s->lc_policy == &gp_policy_level))
		return;
	gp_log(GP_LOG_WARN,
	       "%s: be_policy: %s and lc_policy: %s have no effect: the driver schedules by "
	       "weights and levels",
	       dev->hal->id.name, s->be_policy->name, s->lc_policy->name);
}

int gp_ddev_create(struct gp_loop *loop, struct gp_device *hal, uint16_t number,
		   const struct gp_config_settings *settings, struct gp_journal *journal,
		   struct gp_trace *trace, struct gp_ddev **out)
{
	struct gp_ddev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return -ENOMEM;
	dev->hal = hal;
	dev->hal_ops = hal->ops;
	gp_hal_set_ops(&dev->ops, hal->ops);
	hal->ops = &dev->ops;
	dev->number = number;
	dev->slot_fd = -1;
	dev->settings = *settings;
	dev->loop = loop;
	dev->trace = trace;
	dev->journal = journal;
	dev->since_ns = gp_ddev_now(dev);
	err = hal->ops->caps(hal, &dev->caps);
	if (!err)
		say_policies(dev);
	if (!err)
		err = core_create(dev);
	if (!err)
		err = core_timer_create(dev);
	if (!err)
		err = idle_create(dev);
	if (!err)
		err = slot_create(dev);
	if (!err)
		err = gp_worker_create(loop, &dev->worker);
	if (err) {
		unmake(dev);
		return err;
	}
	/* Where it may not be read, usage has no source, and is shown as none. */
	if (dev->caps.caps & GP_CAP_SWITCH_LOG && hal->ops->log_open(hal, &dev->log))
		dev->log = NULL;
	if (dev->slot.source.loop)
		slot_due(&dev->slot);
	*out = dev;
	return 0;
}

void gp_ddev_destroy(struct gp_ddev *dev)
{
	struct gp_device *hal;

	if (!dev)
		return;
	hal = dev->hal;
	unmake(dev);
	hal->ops->close(hal);
}

void gp_ddev_settings(struct gp_ddev *dev, const struct gp_config_settings *settings)
{
	const struct gp_event ev = { .type = GP_EV_TIMER };

	gp_sched_set_policy(dev->sched, settings->be_policy, settings->lc_policy);
	gp_sched_set_share(dev->sched, settings->quantum_ns, settings->be_min_pct);
	dev->settings = *settings;
	say_policies(dev);
	gp_dtenant_say_wakes(dev);
	gp_ddev_event(dev, &ev);
}
