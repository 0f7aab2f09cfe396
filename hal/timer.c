// SPDX-License-Identifier: Apache-2.0
#include "hal/timer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

uint64_t gp_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int gp_wall_now(struct gp_device *dev, uint64_t *ns)
{
	*ns = gp_wall_ns();
	return 0;
}

int gp_wall_timer_create(struct gp_device *dev, struct gp_timer **timer)
{
	struct gp_timer *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->dev = dev;
	made->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (made->fd < 0) {
		error = errno;
		free(made);
		return -error;
	}
	*timer = made;
	return 0;
}

int gp_wall_timer_arm(struct gp_timer *timer, uint64_t at_ns)
{
	const struct itimerspec spec = {
		.it_value = {
			.tv_sec = (time_t)(at_ns / 1000000000u),
			.tv_nsec = (long)(at_ns % 1000000000u),
		},
	};

	if (timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &spec, NULL) < 0)
		return -errno;
	return 0;
}

int gp_wall_timer_ack(struct gp_timer *timer)
{
	uint64_t ticks;

	/* EAGAIN: nothing was due, or the timer was armed again meanwhile. */
	if (read(timer->fd, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
		return -errno;
	return 0;
}

int gp_wall_timer_done(struct gp_timer *timer)
{
	return 0;
}

void gp_wall_timer_destroy(struct gp_timer *timer)
{
	if (!timer)
		return;
	close(timer->fd);
	free(timer);
}
