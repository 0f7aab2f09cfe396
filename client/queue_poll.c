// SPDX-License-Identifier: Apache-2.0
#include "client/queue_poll.h"

#include <errno.h>

#include "hal/timer.h"

/* A request's launches have gaps in between: this many checks in a row mean idle. */
#define IDLE_LOOKS 3

static bool watches_hold(const struct gp_client_device *dev)
{
	return atomic_load(&dev->held) || dev->looks;
}

uint64_t gp_queue_poll_period_ns(const struct gp_client_device *dev)
{
	if (!(dev->caps.caps & GP_CAP_BUSY))
		return 0;
	if (watches_hold(dev))
		return GP_QUEUE_POLL_NS;
	if (!gp_daemon_link_welcome(&dev->link))
		return 0;
	return gp_wall_ns() - dev->seen_work_ns > GP_QUEUE_POLL_QUIET_AFTER_NS ?
		       GP_QUEUE_POLL_QUIET_NS :
		       GP_QUEUE_POLL_PAGE_NS;
}

/* 1: one of our groups has work; 0: none of those that can report; else none can. */
static int look(struct gp_client_device *dev)
{
	struct gp_runtime_group *g = NULL;
	int one, busy = -ENODATA;

	gp_runtime_lock(dev->rt);
	while (busy != 1 && (g = gp_runtime_next_compute(dev->rt, dev, g))) {
		one = dev->ops.busy(g->hal);
		busy = one >= 0 ? one : busy;
	}
	gp_runtime_unlock(dev->rt);
	return busy;
}

/* If queues can be polled, the process is the one context. */
static struct gp_ectx *context_of(struct gp_client_device *dev)
{
	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS; i++)
		if (atomic_load(&dev->ctx[i].context))
			return &dev->ctx[i];
	return NULL;
}

/* Reports a change, and the results of the first and the last check. */
static void report(struct gp_client_device *dev, int busy)
{
	struct gp_ectx *c = context_of(dev);
	struct gp_event ev = { .type = busy ? GP_EV_BUSY : GP_EV_IDLE };

	if (!c || (atomic_exchange(&c->busy, busy) == busy && dev->looks))
		return;
	ev.tenant = c->tenant;
	(void)gp_client_device_event(dev, &ev);
}

static void report_to_daemon(struct gp_client_device *dev, int busy)
{
	if (!gp_daemon_link_welcome(&dev->link))
		return;
	if (busy == 1)
		dev->seen_work_ns = gp_wall_ns();
	if (busy != dev->reported_busy)
		gp_status_page_looked(dev, busy);
	dev->reported_busy = busy;
}

void gp_queue_poll_serve(struct gp_client_device *dev)
{
	int busy;

	if (!gp_queue_poll_period_ns(dev))
		return;
	if (!watches_hold(dev)) {
		report_to_daemon(dev, look(dev));
		return;
	}
	if (!atomic_load(&dev->held)) {
		/* Later work, unobserved by then, is new work. */
		dev->looks = 0;
		report(dev, 0);
		return;
	}
	busy = look(dev);
	report_to_daemon(dev, busy);
	if (busy < 0)
		return;
	dev->idle_looks = busy ? 0 : dev->idle_looks + 1;
	if (busy || !dev->looks || dev->idle_looks >= IDLE_LOOKS)
		report(dev, busy);
	dev->looks = 1;
}
