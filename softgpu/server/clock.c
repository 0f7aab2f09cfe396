// SPDX-License-Identifier: Apache-2.0
/*
 * clock.c - lockstep. GPU time stands still while a registered thread runs on
 * a CPU, and moves from event to event while all of them wait. Of several that
 * are due at one time, one goes first and the next only when it waits again,
 * so that what happens does not depend on who is quicker.
 *
 * A thread is taken for running from our reply until its next call. When
 * nothing comes for a while, the kernel is asked: a thread that sleeps
 * somewhere else (a join, a pipe), that is stopped or a zombie, is away until
 * it calls again or is seen on a CPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "softgpu/server/server.h"

#define STALL_MS 1	      /* between two looks at a thread */
#define STALL_NS 2000000u     /* asleep so long: away */
#define LINGER_NS 2000000000u /* without clients */
#define BATCH 32

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t soft_now(struct soft_server *s)
{
	return gp_model_now(s->gpu[0].model); /* all alike */
}

void soft_conn_block(struct soft_server *s, struct soft_conn *c, enum soft_state state)
{
	c->state = state;
	c->order = ++s->order;
	c->control_done = false;
}

/* A timer's thread that has done its work goes back to polling. */
void soft_park_thread(struct soft_server *s, struct soft_proc *p, pid_t tid)
{
	for (struct soft_conn *c = s->conns; c; c = c->next)
		if (c->proc == p && c->tid == tid && c->state == SOFT_RUN)
			c->state = SOFT_PARKED;
}

/* ---- what the kernel says of a thread -------------------------------------- */

/* State letter and CPU ticks; false when the thread is gone. */
static bool read_stat(int fd, char *letter, unsigned long *ticks)
{
	unsigned long user, sys;
	char buf[512], *p;
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return false;
	buf[n] = '\0';
	p = strrchr(buf, ')'); /* the name may contain anything */
	if (!p || sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", letter,
			 &user, &sys) != 3)
		return false;
	*ticks = user + sys;
	return true;
}

static bool on_cpu(const struct soft_conn *c)
{
	unsigned long ticks;
	char letter;

	return read_stat(c->stat_fd, &letter, &ticks) && letter == 'R';
}

/* A timer has no thread of its own: any thread of its process may serve it. */
static bool any_on_cpu(struct soft_server *s, const struct soft_proc *p)
{
	for (const struct soft_conn *c = s->conns; c; c = c->next)
		if (c->proc == p && c->kind == GP_SOFT_THREAD && on_cpu(c))
			return true;
	return false;
}

static bool is_running(const struct soft_conn *c)
{
	return c->state == SOFT_RUN ||
	       ((c->state == SOFT_FIRED || c->state == SOFT_ACKED) && !c->ignored);
}

static void stall_look(struct soft_server *s, struct soft_conn *c, uint64_t now)
{
	unsigned long ticks = 0;
	char letter = 'X';
	bool busy;

	if (c->kind == GP_SOFT_TIMER) {
		busy = any_on_cpu(s, c->proc);
	} else if (!read_stat(c->stat_fd, &letter, &ticks)) {
		c->state = SOFT_AWAY; /* a zombie's socket may outlive it */
		return;
	} else {
		busy = letter == 'R' || ticks != c->stall_ticks;
	}
	if (busy || !c->stall_since_ns) {
		c->stall_since_ns = now;
		c->stall_ticks = ticks;
	} else if (now - c->stall_since_ns >= STALL_NS) {
		if (c->kind == GP_SOFT_TIMER)
			c->ignored = true;
		else
			c->state = SOFT_AWAY;
	}
}

/* Does anybody run? With @stalled, look who only seems to. */
static bool anyone_runs(struct soft_server *s, bool stalled)
{
	const uint64_t now = stalled ? real_ns() : 0;
	bool runs = false;

	for (struct soft_conn *c = s->conns; c; c = c->next) {
		if (!is_running(c))
			continue;
		if (stalled)
			stall_look(s, c, now);
		runs |= is_running(c);
	}
	return runs;
}

static bool anyone_came_back(struct soft_server *s)
{
	bool back = false;

	for (struct soft_conn *c = s->conns; c; c = c->next) {
		if (c->state != SOFT_AWAY || c->kind != GP_SOFT_THREAD || !on_cpu(c))
			continue;
		c->state = SOFT_RUN;
		c->stall_since_ns = 0;
		back = true;
	}
	return back;
}

/* ---- who goes on ------------------------------------------------------------- */

static bool is_due(struct soft_server *s, struct soft_conn *c)
{
	switch (c->state) {
	case SOFT_DELAY:
	case SOFT_SLEEP:
	case SOFT_ARMED:
		return c->wake_ns <= soft_now(s);
	case SOFT_WAIT:
		return soft_points_done(s, c);
	case SOFT_CONTROL:
		return c->control_done && c->wake_ns <= soft_now(s);
	default:
		return false;
	}
}

struct soft_conn *soft_ready(struct soft_server *s)
{
	struct soft_conn *first = NULL;

	for (struct soft_conn *c = s->conns; c; c = c->next)
		if (!c->closing && is_due(s, c) && (!first || c->order < first->order))
			first = c;
	return first;
}

static uint64_t next_wake(struct soft_server *s)
{
	uint64_t next = SOFT_NEVER;

	for (struct soft_conn *c = s->conns; c; c = c->next) {
		bool timed = c->state == SOFT_DELAY || c->state == SOFT_SLEEP ||
			     c->state == SOFT_ARMED || c->state == SOFT_CONTROL;

		if (timed && c->wake_ns > soft_now(s) && c->wake_ns < next)
			next = c->wake_ns;
	}
	return next;
}

/* The next of all GPUs' events, or SOFT_NEVER. */
static uint64_t next_event(struct soft_server *s)
{
	uint64_t next = SOFT_NEVER;

	for (uint32_t i = 0; i < s->gpus; i++) {
		uint64_t at = gp_model_next(s->gpu[i].model);

		if (at < next)
			next = at;
	}
	return next;
}

/* Who found a channel full tries again whenever something has happened. */
static void retry_space(struct soft_server *s)
{
	for (struct soft_conn *c = s->conns; c; c = c->next)
		if (c->state == SOFT_SPACE && !c->closing)
			soft_go_on(s, c);
}

bool soft_advance(struct soft_server *s)
{
	uint64_t next = soft_holds_look(s);
	uint64_t wake = next_wake(s);
	uint64_t model = next_event(s);

	if (wake < next)
		next = wake;
	if (model < next)
		next = model;
	if (next == SOFT_NEVER)
		return false;
	for (uint32_t i = 0; i < s->gpus; i++)
		gp_model_advance(s->gpu[i].model, next);
	soft_holds_look(s);
	retry_space(s);
	return true;
}

/* ---- the loop ----------------------------------------------------------------- */

static int take_messages(struct soft_server *s, int timeout_ms)
{
	struct epoll_event ev[BATCH];
	int n = epoll_wait(s->epoll_fd, ev, BATCH, timeout_ms);

	for (int i = 0; i < n; i++) {
		uintptr_t tag = (uintptr_t)ev[i].data.u64;

		if (!tag)
			soft_accept(s);
		else if (tag & 1)
			soft_proc_end(s, (void *)(tag & ~(uintptr_t)1));
		else
			soft_conn_receive(s, (void *)tag);
	}
	return n;
}

static void settle_one(struct soft_server *s)
{
	struct soft_conn *c = soft_ready(s);

	if (c)
		soft_go_on(s, c);
	else if (!anyone_came_back(s) && !soft_advance(s))
		take_messages(s, -1);
}

int soft_loop(struct soft_server *s)
{
	uint64_t alone_since_ns = real_ns();
	bool stalled = false;

	for (;;) {
		soft_reap(s);
		if (s->conns)
			alone_since_ns = 0;
		else if (!alone_since_ns)
			alone_since_ns = real_ns();
		if (!s->conns) {
			take_messages(s, 100);
			if (!s->conns && alone_since_ns && real_ns() - alone_since_ns > LINGER_NS)
				return 0;
			continue;
		}
		take_messages(s, 0);
		if (!anyone_runs(s, stalled)) {
			stalled = false;
			settle_one(s);
			continue;
		}
		stalled = take_messages(s, STALL_MS) == 0;
	}
}
