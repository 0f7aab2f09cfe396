// SPDX-License-Identifier: Apache-2.0
/*
 * device.c - the host of a device's core: its worker, its timer, its slot.
 */
#include "daemon/device/device.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/gangs.h"
#include "daemon/loop/log.h"
#include "runtime/log.h"

#define SLOT_NS 100000000u
#define REARM_NS 10000000u

uint64_t gp_ddev_now(struct gp_ddev *dev)
{
	return gp_runtime_clock_ns(dev->rt);
}

void gp_ddev_trace(struct gp_ddev *dev, uint16_t kind, pid_t pid, uint64_t value)
{
	if (gp_trace_wanted(dev->trace))
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

/* The time of the timer; 0: none. */
static uint64_t due_ns(const struct gp_ddev *dev)
{
	uint64_t at_ns = gp_runtime_due_ns(dev->rt);

	if (dev->look_at_ns && (!at_ns || dev->look_at_ns < at_ns))
		at_ns = dev->look_at_ns;
	return at_ns;
}

void gp_ddev_arm(struct gp_ddev *dev)
{
	/* A virtual clock stands until timer_done, so the next event is known by then. */
	int err = dev->hal->ops->timer_arm(dev->timer, due_ns(dev));

	if (err && !dev->arm_failed)
		gp_log(GP_LOG_ERR, "%s: cannot set the timer: %s; trying again every %u ms",
		       dev->hal->id.name, strerror(-err), REARM_NS / 1000000);
	dev->arm_failed = err;
	if (err)
		gp_tick_in(&dev->rearm, REARM_NS);
}

static void rearm_due(struct gp_tick *tick)
{
	struct gp_ddev *dev = gp_holder(tick, struct gp_ddev, rearm);

	if (!dev->arm_failed || dev->acked)
		return;
	if (due_ns(dev) && due_ns(dev) <= gp_ddev_now(dev))
		dev->above->due(dev);
	gp_ddev_arm(dev);
}

void gp_ddev_let_go(struct gp_ddev *dev)
{
	if (!dev->acked || gp_runtime_jobs(dev->rt) || dev->looking || gp_dgangs_work(dev->gangs))
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
	dev->above->due(dev);
	gp_ddev_let_go(dev);
}

static void idle_due(struct gp_tick *tick)
{
	struct gp_ddev *dev = gp_holder(tick, struct gp_ddev, idle);

	dev->idles++;
	dev->above->idle(dev);
	gp_tick_in(tick, GP_OBSERVE_IDLE_NS);
}

static void notice_due(struct gp_tick *tick)
{
	struct gp_ddev *dev = gp_holder(tick, struct gp_ddev, notice);

	dev->above->notice(dev);
}

enum gp_wire_usage gp_ddev_usage(const struct gp_ddev *dev)
{
	return dev->log	   ? GP_WIRE_USAGE_LOG :
	       dev->counts ? GP_WIRE_USAGE_DRIVER :
			     GP_WIRE_USAGE_NONE;
}

/* ---- groups ------------------------------------------------------------------- */

void gp_ddev_run_alone(struct gp_ddev *dev, struct gp_runtime_group *g)
{
	if (dev->caps.caps & GP_CAP_SLICES)
		gp_runtime_own_alone(dev->rt, g, GP_DO_SET_SLICE);
	if (dev->caps.caps & GP_CAP_SUSPEND)
		gp_runtime_own_alone(dev->rt, g, GP_DO_RESUME);
}

static void nothing(struct gp_job *job)
{
}

void gp_group_job_post(struct gp_group_job *j, struct gp_ddev *dev, struct gp_runtime_group *group,
		       void (*work)(struct gp_job *job), void (*done)(struct gp_job *job))
{
	j->job.work = work ? work : nothing;
	j->job.done = done;
	j->dev = dev;
	j->group = group;
	j->hal = group ? group->hal : NULL;
	gp_runtime_job_begin(dev->rt, group);
	gp_worker_post(dev->worker.worker, &j->job);
}

void gp_group_job_end(struct gp_group_job *j)
{
	struct gp_ddev *dev = j->dev;

	gp_runtime_job_end(dev->rt, j->group);
	free(j);
	gp_ddev_over(dev);
}

bool gp_ddev_putting_back(const struct gp_ddev *dev)
{
	return gp_runtime_jobs(dev->rt) || !gp_sched_settled(gp_runtime_core(dev->rt));
}

/* Forget groups without a tenant that the core has restored. */
void gp_ddev_sweep(struct gp_ddev *dev)
{
	if (!gp_runtime_sweep(dev->rt))
		return;
	while (dev->leaving_count)
		gp_journal_drop(dev->journal, dev->leaving[--dev->leaving_count]);
}

void gp_ddev_over(void *host)
{
	struct gp_ddev *dev = host;

	gp_ddev_sweep(dev);
	gp_ddev_let_go(dev);
	gp_dgangs_let_go(dev->gangs);
}

void gp_ddev_leaving(struct gp_ddev *dev, int place)
{
	dev->leaving[dev->leaving_count++] = place;
}

/* ---- making and ending ------------------------------------------------------------ */

static int runtime_create(struct gp_ddev *dev)
{
	const uint32_t caps = dev->caps.caps;
	const struct gp_runtime_config config = {
		.hal = dev->hal,
		.executor = gp_worker_executor(dev->worker.worker),
		.ops = &dev->above->host,
		.host = dev,
		.core = {
			.be_policy = dev->settings.be_policy,
			.lc_policy = dev->settings.lc_policy,
			/* A driver that rotates by itself gets classes: see driver_sched.c. */
			.rotate = caps & GP_CAP_SUSPEND && !(caps & GP_CAP_CLASS),
			.be_min_pct = dev->settings.be_min_pct,
			.leave_limit_ns = dev->settings.leave_limit_ns,
			.lc_preempt = !(caps & GP_CAP_SLICE_PREEMPTS) ? GP_LC_CUT_NONE :
				      caps & GP_CAP_PREEMPT ? GP_LC_CUT_PREEMPT :
							      GP_LC_CUT_SUSPEND,
			.quantum_ns = dev->settings.quantum_ns,
			.idle_slice_us = GP_DDEV_IDLE_SLICE_US,
			.pile_slice_us = GP_SCHED_PILE_SLICE_US,
		},
	};

	return gp_runtime_create(&config, &dev->rt);
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
	gp_runtime_event(dev->rt, &ev);
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
	dev->notice.due = notice_due;
	dev->rearm.due = rearm_due;
	err = gp_tick_add(dev->loop, &dev->idle);
	if (!err)
		err = gp_tick_add(dev->loop, &dev->rearm);
	if (!err)
		err = gp_tick_add(dev->loop, &dev->notice);
	if (!err)
		gp_tick_in(&dev->idle, GP_OBSERVE_IDLE_NS);
	return err;
}

/* All but @dev's HAL device. */
static void unmake(struct gp_ddev *dev)
{
	gp_tick_remove(&dev->idle);
	gp_tick_remove(&dev->notice);
	gp_tick_remove(&dev->rearm);
	gp_tick_remove(&dev->slot);
	gp_runtime_destroy(dev->rt);
	gp_loop_worker_destroy(&dev->worker);
	gp_loop_remove(&dev->timer_source);
	dev->hal->ops->timer_destroy(dev->timer);
	dev->hal->ops->log_close(dev->log);
	if (dev->slot_fd >= 0)
		close(dev->slot_fd);
	dev->hal->ops = dev->hal_ops;
	gp_accounts_clear(&dev->accounts);
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

int gp_ddev_create(struct gp_loop *loop, const struct gp_ddev_ops *above, struct gp_device *hal,
		   uint16_t number, const struct gp_config_settings *settings,
		   struct gp_journal *journal, struct gp_trace *trace, struct gp_ddev **out)
{
	struct gp_ddev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return -ENOMEM;
	dev->above = above;
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
	err = hal->ops->caps(hal, &dev->caps);
	if (!err)
		say_policies(dev);
	if (!err)
		err = gp_loop_worker_create(loop, true, &dev->worker);
	if (!err)
		err = runtime_create(dev);
	if (!err)
		err = core_timer_create(dev);
	if (!err)
		err = idle_create(dev);
	if (!err)
		err = slot_create(dev);
	if (err) {
		unmake(dev);
		return err;
	}
	dev->since_ns = gp_ddev_now(dev);
	/* Where it may not be read, usage has no source, and is shown as none. */
	if (dev->caps.caps & GP_CAP_SWITCH_LOG) {
		err = hal->ops->log_open(hal, &dev->log);
		if (err)
			dev->log = NULL;
		gp_log_shortage(err, "cannot read the device's log; usage is unknown");
	}
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
	struct gp_sched *core = gp_runtime_core(dev->rt);

	gp_sched_set_policy(core, settings->be_policy, settings->lc_policy);
	gp_sched_set_share(core, settings->quantum_ns, settings->be_min_pct);
	gp_sched_set_leave_limit(core, settings->leave_limit_ns);
	dev->settings = *settings;
	say_policies(dev);
	dev->above->changed(dev);
}
