// SPDX-License-Identifier: Apache-2.0
/* timer.c - the clock of hints and holds: real time, or the software GPU's. */
#include <errno.h>
#include <stdlib.h>

#include "hal/timer.h"
#include "nvidia-backend/nv_internal.h"

int gp_nv_now(struct gp_device *dev, uint64_t *ns)
{
	const struct gp_nv_transport *t = gp_nv_of(gp_nv_device, dev)->t;

	if (!t->now_ns)
		return gp_wall_now(dev, ns);
	*ns = t->now_ns();
	return 0;
}

static const struct gp_nv_transport *transport(const struct gp_timer *timer)
{
	return gp_nv_of(gp_nv_device, timer->dev)->t;
}

int gp_nv_timer_create(struct gp_device *dev, struct gp_timer **timer)
{
	const struct gp_nv_transport *t = gp_nv_of(gp_nv_device, dev)->t;
	struct gp_timer *made;
	int error;

	if (!t->timer_open)
		return gp_wall_timer_create(dev, timer);
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->dev = dev;
	made->fd = t->timer_open();
	if (made->fd < 0) {
		error = errno;
		free(made);
		return -error;
	}
	*timer = made;
	return 0;
}

int gp_nv_timer_arm(struct gp_timer *timer, uint64_t at_ns)
{
	const struct gp_nv_transport *t = transport(timer);

	if (!t->timer_arm)
		return gp_wall_timer_arm(timer, at_ns);
	return t->timer_arm(timer->fd, at_ns) < 0 ? -errno : 0;
}

int gp_nv_timer_ack(struct gp_timer *timer)
{
	const struct gp_nv_transport *t = transport(timer);

	if (!t->timer_ack)
		return gp_wall_timer_ack(timer);
	return t->timer_ack(timer->fd) < 0 ? -errno : 0;
}

int gp_nv_timer_done(struct gp_timer *timer)
{
	const struct gp_nv_transport *t = transport(timer);

	if (t->timer_done && t->timer_done(timer->fd) < 0)
		return -errno;
	return 0;
}

void gp_nv_timer_destroy(struct gp_timer *timer)
{
	const struct gp_nv_transport *t;

	if (!timer)
		return;
	t = transport(timer);
	if (!t->timer_close) {
		gp_wall_timer_destroy(timer);
		return;
	}
	t->timer_close(timer->fd);
	free(timer);
}
