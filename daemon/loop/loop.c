// SPDX-License-Identifier: Apache-2.0
/*
 * loop.c - epoll, one round at a time. A source that another's ready() removes is not called
 * any more, even if it is in the present round. Urgent sources have an epoll of their own,
 * which is checked before each of the others. So an urgent source waits for at most one of the
 * others, however many are ready.
 */
#include "daemon/loop/loop.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define ROUND 32
#define URGENT_ROUND 8 /* then one of the others is next */

struct gp_loop {
	int epoll_fd;
	int stop_fd; /* eventfd */
	bool stopped;
	struct gp_source stop;
	struct gp_source urgent;	 /* an epoll in the epoll */
	struct epoll_event event[ROUND]; /* of the present round */
	int events, at;
	void (*after)(void *arg);
	void *after_arg;
};

static void stop_ready(struct gp_source *source, uint32_t events)
{
	source->loop->stopped = true;
}

/* One at a time, so that no list has a removed source. */
static void serve_urgent(struct gp_loop *l)
{
	struct epoll_event ev;

	for (int i = 0; i < URGENT_ROUND && epoll_wait(l->urgent.fd, &ev, 1, 0) == 1; i++) {
		struct gp_source *source = ev.data.ptr;

		source->ready(source, ev.events);
	}
}

/* It was served before this source, as before each of the others. */
static void urgent_ready(struct gp_source *source, uint32_t events)
{
}

int gp_loop_create(struct gp_loop **loop)
{
	struct gp_loop *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		err = -errno;
		goto err_free;
	}
	l->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->stop_fd < 0) {
		err = -errno;
		goto err_close;
	}
	l->stop = (struct gp_source){ .fd = l->stop_fd, .ready = stop_ready };
	err = gp_loop_add(l, &l->stop, EPOLLIN);
	if (err)
		goto err_close_stop;
	l->urgent = (struct gp_source){ .fd = epoll_create1(EPOLL_CLOEXEC), .ready = urgent_ready };
	err = l->urgent.fd < 0 ? -errno : gp_loop_add(l, &l->urgent, EPOLLIN);
	if (err)
		goto err_close_urgent;
	*loop = l;
	return 0;

err_close_urgent:
	if (l->urgent.fd >= 0)
		close(l->urgent.fd);
err_close_stop:
	close(l->stop_fd);
err_close:
	close(l->epoll_fd);
err_free:
	free(l);
	return err;
}

void gp_loop_destroy(struct gp_loop *loop)
{
	if (!loop)
		return;
	close(loop->urgent.fd);
	close(loop->stop_fd);
	close(loop->epoll_fd);
	free(loop);
}

static int epoll_of(const struct gp_loop *loop, const struct gp_source *source)
{
	return source->is_urgent ? loop->urgent.fd : loop->epoll_fd;
}

int gp_loop_add(struct gp_loop *loop, struct gp_source *source, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = source };

	if (epoll_ctl(epoll_of(loop, source), EPOLL_CTL_ADD, source->fd, &ev))
		return -errno;
	source->loop = loop;
	return 0;
}

int gp_loop_change(struct gp_source *source, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = source };

	if (epoll_ctl(epoll_of(source->loop, source), EPOLL_CTL_MOD, source->fd, &ev))
		return -errno;
	return 0;
}

void gp_loop_remove(struct gp_source *source)
{
	struct gp_loop *loop = source->loop;

	if (!loop)
		return;
	epoll_ctl(epoll_of(loop, source), EPOLL_CTL_DEL, source->fd, NULL);
	for (int i = loop->at + 1; i < loop->events; i++)
		if (loop->event[i].data.ptr == source)
			loop->event[i].data.ptr = NULL;
	source->loop = NULL;
}

int gp_loop_once(struct gp_loop *loop, int wait_ms)
{
	int n = epoll_wait(loop->epoll_fd, loop->event, ROUND, wait_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	loop->events = n;
	for (int i = 0; i < loop->events; i++) {
		struct epoll_event *ev = &loop->event[i];
		struct gp_source *source;

		/* It may remove this one. */
		loop->at = i - 1;
		serve_urgent(loop);
		loop->at = i;
		source = ev->data.ptr;
		if (source)
			source->ready(source, ev->events);
	}
	loop->events = 0;
	if (loop->after)
		loop->after(loop->after_arg);
	return 0;
}

void gp_loop_after(struct gp_loop *loop, void (*after)(void *arg), void *arg)
{
	loop->after = after;
	loop->after_arg = arg;
}

int gp_loop_run(struct gp_loop *loop)
{
	int err = 0;

	while (!err && !loop->stopped)
		err = gp_loop_once(loop, -1);
	return err;
}

bool gp_loop_stopped(const struct gp_loop *loop)
{
	return loop->stopped;
}

void gp_loop_stop(struct gp_loop *loop)
{
	const uint64_t one = 1;
	const int saved = errno;

	(void)!write(loop->stop_fd, &one, sizeof(one));
	errno = saved;
}

/* ---- times ------------------------------------------------------------------ */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t gp_loop_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t gp_loop_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void tick_ready(struct gp_source *source, uint32_t events)
{
	struct gp_tick *tick = (struct gp_tick *)(void *)source;
	uint64_t ticks;

	/* EAGAIN: it was set again since it was due. */
	if (read(source->fd, &ticks, sizeof(ticks)) == sizeof(ticks))
		tick->due(tick);
}

int gp_tick_add(struct gp_loop *loop, struct gp_tick *tick)
{
	int err;

	_Static_assert(offsetof(struct gp_tick, source) == 0, "see tick_ready()");
	tick->source.ready = tick_ready;
	tick->source.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (tick->source.fd < 0)
		return -errno;
	err = gp_loop_add(loop, &tick->source, EPOLLIN);
	if (err)
		close(tick->source.fd);
	return err;
}

void gp_tick_at(struct gp_tick *tick, uint64_t at_ns)
{
	const struct itimerspec spec = {
		.it_value = {
			.tv_sec = (time_t)(at_ns / 1000000000u),
			.tv_nsec = (long)(at_ns % 1000000000u),
		},
	};

	timerfd_settime(tick->source.fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

void gp_tick_in(struct gp_tick *tick, uint64_t in_ns)
{
	gp_tick_at(tick, gp_loop_now_ns() + in_ns);
}

void gp_tick_remove(struct gp_tick *tick)
{
	if (!tick->source.loop)
		return;
	gp_loop_remove(&tick->source);
	close(tick->source.fd);
	tick->source.fd = -1;
}
