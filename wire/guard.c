// SPDX-License-Identifier: Apache-2.0
/*
 * guard.c - limits the wait for a peer's files to be closed.
 *
 * The last holder of a file closes it, at the end of a system call. With SO_LINGER, closing a
 * socket waits as long as its creator chose. If a message is not read to the end, or its files
 * are not wanted, the receiver is that last holder. A pending signal ends the wait, so a timer
 * of the thread sends one.
 */
#include "wire/wire.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wire/guard.h"

/* Ignored by default, and not used without urgent data. */
#define GUARD_SIGNAL SIGURG

/* C libraries before glibc 2.36 have no name for it. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static _Thread_local struct {
	bool on;
	timer_t timer;
	struct timespec limit;
} guard;

static void interrupt(int signal)
{
}

int gp_wire_guard(uint64_t limit_ns)
{
	const struct sigaction action = { .sa_handler = interrupt };
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = GUARD_SIGNAL,
	};
	sigset_t set;
	int err;

	if (!limit_ns)
		return -EINVAL;
	guard.limit.tv_sec = (time_t)(limit_ns / 1000000000);
	guard.limit.tv_nsec = (long)(limit_ns % 1000000000);
	if (guard.on)
		return 0;
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (sigaction(GUARD_SIGNAL, &action, NULL))
		return -errno;
	sigemptyset(&set);
	sigaddset(&set, GUARD_SIGNAL);
	err = pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (err)
		return -err;
	if (timer_create(CLOCK_MONOTONIC, &event, &guard.timer))
		return -errno;
	guard.on = true;
	return 0;
}

void gp_wire_guard_end(void)
{
	if (guard.on)
		timer_delete(guard.timer);
	guard.on = false;
}

bool gp_guarded(void)
{
	return guard.on;
}

void gp_guard_up(void)
{
	/* Repeatedly: the first signal may come before the wait begins. */
	const struct itimerspec every = {
		.it_value = guard.limit,
		.it_interval = guard.limit,
	};

	if (guard.on)
		timer_settime(guard.timer, 0, &every, NULL);
}

void gp_guard_down(void)
{
	const struct itimerspec never = { .it_value = { 0 } };

	if (guard.on)
		timer_settime(guard.timer, 0, &never, NULL);
}

void gp_wire_close(int fd)
{
	int saved = errno;

	gp_guard_up();
	close(fd);
	gp_guard_down();
	errno = saved;
}
