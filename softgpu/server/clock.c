// SPDX-License-Identifier: Apache-2.0
/*
 * clock.c - lockstep. GPU time stands still while a registered thread runs on a CPU, and moves
 * from event to event while all of them wait. Of several events that are due at one time, one
 * goes first, and the next only when its thread waits again. So results do not depend on the
 * speed of threads.
 *
 * A thread counts as running from our reply until its next call. If no call comes for a while,
 * the server asks the kernel. A thread that sleeps elsewhere (a join, a pipe), is stopped or
 * is a zombie counts as away. It counts as running again when it calls, or when the kernel
 * reports that it ran since.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "softgpu/server/server.h"

#define LOOK_NS 50000u		/* from silence to the first check of the threads */
#define LOOK_MAX_NS 1000000u	/* between two checks while threads compute */
#define ASLEEP_NS 200000u	/* asleep this long with its whole process: away */
#define STALL_NS 2000000u	/* asleep while each other thread had this much of a CPU: away */
#define STALL_MAX_NS 200000000u /* asleep this long, even if the others had no CPU: away */
#define LINGER_NS 2000000000u	/* without clients */
#define BATCH 32

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t soft_now(struct soft_server *s)
{
	return gp_model_now(s->gpu[0].model); /* the same for all GPUs */
}

void soft_conn_block(struct soft_server *s, struct soft_conn *c, enum soft_state state)
{
	c->state = state;
	c->order = ++s->order;
	c->control_done = false;
}

/* A timer's thread that has finished its work polls again. */
void soft_park_thread(struct soft_server *s, struct soft_proc *p, pid_t tid)
{
	for (struct soft_conn *c = s->conns; c; c = c->next)
		if (c->proc == p && c->tid == tid && c->state == SOFT_RUN)
			c->state = SOFT_PARKED;
}

/* ---- a thread's state in the kernel ------------------------------------------ */

static bool is_registered(struct soft_server *s, const struct soft_proc *p, pid_t tid)
{
	for (const struct soft_conn *c = s->conns; c; c = c->next)
		if (c->proc == p && c->kind == GP_SOFT_THREAD && c->tid == tid)
			return true;
	return false;
}

/* Threads that never called may still wake one that did. */
struct others {
	unsigned int busy; /* that compute, or wait for a disk */
	bool timed;	   /* the kernel counts their CPU time */
	uint64_t cpu_ns;   /* of all */
};

static void add_other(struct others *others, int tasks_fd, const char *tid)
{
	const char letter = soft_thread_letter(tasks_fd, tid);
	uint64_t ns;

	others->busy += letter == 'R' || letter == 'D';
	if (!soft_thread_cpu(tasks_fd, tid, &ns))
		return;
	others->timed = true;
	others->cpu_ns += ns;
}

static void add_others(struct soft_server *s, const struct soft_proc *p, struct others *others)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.' ||
		    is_registered(s, p, (pid_t)strtol(entry->d_name, NULL, 10)))
			continue;
		add_other(others, dirfd(tasks), entry->d_name);
	}
	if (tasks)
		closedir(tasks);
}

/* A thread without a CPU wakes nobody: on a loaded machine only its CPU time counts. */
static bool others_may_wake(struct soft_server *s, struct soft_conn *c, uint64_t asleep_ns)
{
	struct others others = { 0 };

	for (const struct soft_proc *p = s->procs; p; p = p->next)
		if (!p->gone)
			add_others(s, p, &others);
	if (!c->others_ns || c->others_ns > others.cpu_ns)
		c->others_ns = others.cpu_ns;
	return others.cpu_ns - c->others_ns < (uint64_t)STALL_NS * others.busy &&
	       asleep_ns < (others.timed ? STALL_MAX_NS : STALL_NS);
}

/* Does the thread run, or did it since its switches were @before? *letter 'X': it is gone. */
static bool has_run(const struct soft_conn *c, uint64_t *before, char *letter)
{
	uint64_t switches, last = *before;

	if (!soft_thread_read(&c->thread, letter, &switches)) {
		*letter = 'X';
		return false;
	}
	*before = switches;
	return *letter == 'R' || switches != last;
}

/* A timer has no thread of its own: any thread of its process may serve it. */
static bool any_has_run(struct soft_server *s, const struct soft_proc *p, uint64_t *before)
{
	uint64_t sum = 0, last = *before;
	bool run = false;
	char letter;

	for (struct soft_conn *c = s->conns; c; c = c->next) {
		uint64_t switches = 0;

		if (c->proc != p || c->kind != GP_SOFT_THREAD)
			continue;
		has_run(c, &switches, &letter);
		run |= letter == 'R';
		sum += switches;
	}
	*before = sum;
	return run || sum != last;
}

/* It has called, and has no reply yet. */
static bool is_in_call(const struct soft_conn *c)
{
	return c->state == SOFT_DELAY || c->state == SOFT_SLEEP || c->state == SOFT_WAIT ||
	       c->state == SOFT_SPACE || c->state == SOFT_CONTROL;
}

/* Is the timer's working thread in a call? */
static bool worker_in_call(struct soft_server *s, const struct soft_conn *timer)
{
	for (const struct soft_conn *c = s->conns; c; c = c->next)
		if (c->proc == timer->proc && c->kind == GP_SOFT_THREAD && c->tid == timer->ack_tid)
			return is_in_call(c);
	return false;
}

static bool is_running(struct soft_server *s, const struct soft_conn *c)
{
	switch (c->state) {
	case SOFT_RUN:
		return true;
	case SOFT_FIRED:
		return !c->ignored;
	case SOFT_ACKED:
		return !c->ignored && !worker_in_call(s, c);
	default:
		return false;
	}
}

/* True: it is, or may be, on a CPU. */
static bool stall_look(struct soft_server *s, struct soft_conn *c, uint64_t now)
{
	char letter = 'S';
	bool busy = c->kind == GP_SOFT_TIMER ? any_has_run(s, c->proc, &c->switches) :
					       has_run(c, &c->switches, &letter);
	uint64_t asleep_ns;

	if (letter == 'X') {
		c->state = SOFT_AWAY; /* a zombie's socket may remain */
		return false;
	}
	if (busy || !c->stall_since_ns) {
		c->stall_since_ns = now;
		c->others_ns = 0;
		return busy;
	}
	asleep_ns = now - c->stall_since_ns;
	if (asleep_ns < ASLEEP_NS || (letter == 'D' && asleep_ns < STALL_NS) ||
	    others_may_wake(s, c, asleep_ns))
		return false;
	if (c->kind == GP_SOFT_TIMER)
		c->ignored = true;
	else
		c->state = SOFT_AWAY;
	return false;
}

/* Does any thread run? @stalled: check threads that only seem to. */
static bool anyone_runs(struct soft_server *s, bool stalled)
{
	const uint64_t now = stalled ? real_ns() : 0;
	bool runs = false, busy = false;

	for (struct soft_conn *c = s->conns; c; c = c->next) {
		if (!is_running(s, c))
			continue;
		if (stalled)
			busy |= stall_look(s, c, now);
		runs |= is_running(s, c);
	}
	if (!busy)
		s->look_ns = LOOK_NS;
	else if (s->look_ns < LOOK_MAX_NS)
		s->look_ns *= 2;
	return runs;
}

static bool anyone_came_back(struct soft_server *s)
{
	bool back = false;
	char letter;

	for (struct soft_conn *c = s->conns; c; c = c->next) {
		if (c->state != SOFT_AWAY || c->kind != GP_SOFT_THREAD ||
		    !has_run(c, &c->switches, &letter))
			continue;
		c->state = SOFT_RUN;
		c->stall_since_ns = 0;
		back = true;
	}
	return back;
}

/* ---- the next to continue ---------------------------------------------------- */

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

/* The next event of all GPUs, or SOFT_NEVER. */
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

/* Threads that found a channel full try again after each event. */
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

static int take_messages(struct soft_server *s, uint64_t timeout_ns)
{
	const struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000u),
		.tv_nsec = (long)(timeout_ns % 1000000000u),
	};
	struct epoll_event ev[BATCH];
	int n = epoll_pwait2(s->epoll_fd, ev, BATCH, timeout_ns == SOFT_NEVER ? NULL : &timeout,
			     NULL);

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
		take_messages(s, SOFT_NEVER);
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
			take_messages(s, 100000000u);
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
		stalled = take_messages(s, s->look_ns) == 0;
	}
}
