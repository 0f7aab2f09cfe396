// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/clock.h"

#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <time.h>

/*
 * A virtual machine's CPU takes its time to wake, which is not the GPU's: of 1,199 wakes in
 * one run 17 were 440 to 780 us late (docs/results.md).
 */
#define SPIN_NS 1000000u

static uint64_t (*soft_now)(void);
static int (*soft_sleep_until)(uint64_t at_ns);

void gp_clock_choose(void *libcuda)
{
	*(void **)&soft_now = dlsym(libcuda, "gp_soft_now_ns");
	*(void **)&soft_sleep_until = dlsym(libcuda, "gp_soft_sleep_until");
}

bool gp_clock_is_virtual(void)
{
	return soft_now && soft_sleep_until;
}

uint64_t gp_clock_now_ns(void)
{
	struct timespec ts;

	if (gp_clock_is_virtual())
		return soft_now();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void gp_clock_busy_until(uint64_t at_ns)
{
	if (gp_clock_is_virtual()) {
		soft_sleep_until(at_ns);
		return;
	}
	while (gp_clock_now_ns() < at_ns)
		;
}

void gp_clock_sleep_until(uint64_t at_ns)
{
	const uint64_t wake_ns = at_ns - SPIN_NS;
	const struct timespec ts = {
		.tv_sec = (time_t)(wake_ns / 1000000000u),
		.tv_nsec = (long)(wake_ns % 1000000000u),
	};

	if (!gp_clock_is_virtual() && gp_clock_now_ns() + SPIN_NS < at_ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	gp_clock_busy_until(at_ns);
}

bool gp_clock_wait_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, -1) > 0;
}
