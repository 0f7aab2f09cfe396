/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timer.c - the clock of hints and holds: CLOCK_MONOTONIC and timerfd, or the
 * software GPU's.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"

int gp_nv_now(struct gp_device *dev, uint64_t *ns)
{
	const struct gp_nv_transport *t = gp_nv_of(gp_nv_device, dev)->t;
	struct timespec ts;

	if (t->now_ns) {
		*ns = t->now_ns();
		return 0;
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	*ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return 0;
}

static const struct gp_nv_transport *transport(const struct gp_timer *timer)
{
	return gp_nv_of(gp_nv_device, timer->dev)->t;
}

int gp_nv_timer_create(struct gp_device *dev, struct gp_timer **timer)
{
	const struct gp_nv_transport *t = gp_nv_of(gp_nv_device, dev)->t;
	struct gp_timer *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->dev = dev;
	made->fd = t->timer_open ? t->timer_open() :
				   timerfd_create(CLOCK_MONOTONIC,
						  TFD_CLOEXEC | TFD_NONBLOCK);
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
	struct itimerspec spec = {
		.it_value = {
			.tv_sec = (time_t)(at_ns / 1000000000u),
			.tv_nsec = (long)(at_ns % 1000000000u),
		},
	};
	int r;

	if (t->timer_arm)
		r = t->timer_arm(timer->fd, at_ns);
	else
		r = timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &spec, NULL);
	return r < 0 ? -errno : 0;
}

int gp_nv_timer_ack(struct gp_timer *timer)
{
	const struct gp_nv_transport *t = transport(timer);
	uint64_t ticks;

	if (t->timer_ack)
		return t->timer_ack(timer->fd) < 0 ? -errno : 0;
	/* EAGAIN: nothing was due, or it was armed anew meanwhile. */
	if (read(timer->fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return -errno;
	return 0;
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
	if (t->timer_close)
		t->timer_close(timer->fd);
	else
		close(timer->fd);
	free(timer);
}
