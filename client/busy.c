// SPDX-License-Identifier: Apache-2.0
#include "client/busy.h"

#include <errno.h>

/* A request's launches have gaps between them: so many looks in a row are idle. */
#define IDLE_LOOKS 3

bool gp_busy_watches(const struct gp_edev *dev)
{
	return (dev->caps.caps & GP_CAP_BUSY) &&
	       (atomic_load(&dev->held) || dev->looks);
}

/* 1: one of our groups has work; 0: none has, of those that tell; else none tells. */
static int look(struct gp_edev *dev)
{
	int busy = -ENODATA;

	pthread_mutex_lock(&dev->groups_lock);
	for (size_t i = 0; i < GP_SCHED_MAX_GROUPS && busy != 1; i++) {
		int one = dev->group[i].group ?
				  dev->ops.busy(dev->group[i].group) : -ENODATA;

		busy = one >= 0 ? one : busy;
	}
	pthread_mutex_unlock(&dev->groups_lock);
	return busy;
}

/* Where queues can be looked at the process is the one context. */
static struct gp_ectx *context_of(struct gp_edev *dev)
{
	for (size_t i = 0; i < GP_EDEV_CONTEXTS; i++)
		if (atomic_load(&dev->ctx[i].context))
			return &dev->ctx[i];
	return NULL;
}

/* A change, and what the first look and the last show. */
static void tell(struct gp_edev *dev, int busy)
{
	struct gp_ectx *c = context_of(dev);
	struct gp_event ev = { .type = busy ? GP_EV_BUSY : GP_EV_IDLE };

	if (!c || (atomic_exchange(&c->busy, busy) == busy && dev->looks))
		return;
	ev.tenant = c->tenant;
	(void)gp_edev_event(dev, &ev);
}

void gp_busy_serve(struct gp_edev *dev)
{
	int busy;

	if (!gp_busy_watches(dev))
		return;
	if (!atomic_load(&dev->held)) {
		/* What comes later, unseen, is new work. */
		dev->looks = 0;
		tell(dev, 0);
		return;
	}
	busy = look(dev);
	if (busy < 0)
		return;
	dev->idle_looks = busy ? 0 : dev->idle_looks + 1;
	if (busy || !dev->looks || dev->idle_looks >= IDLE_LOOKS)
		tell(dev, busy);
	dev->looks = 1;
}
