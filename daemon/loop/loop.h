/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the daemon's one loop: ready files, and due times. All calls are for the thread
 * that runs it, except gp_loop_stop().
 */
#ifndef GP_DAEMON_LOOP_H
#define GP_DAEMON_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

/* The structure in which @ptr is the @member. */
#define gp_holder(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct gp_loop;

/**
 * struct gp_source - a watched file; embedded in its user's structure.
 * @fd: borrowed; -1: not watched any more
 * @ready: called with EPOLLIN and its like; may remove and free any source
 * @is_urgent: set before it is added: for decisions, and their inputs
 */
struct gp_source {
	int fd;
	void (*ready)(struct gp_source *source, uint32_t events);
	struct gp_loop *loop; /* NULL: not added */
	bool is_urgent;
};

/** struct gp_tick - a timer, CLOCK_MONOTONIC. */
struct gp_tick {
	struct gp_source source;
	void (*due)(struct gp_tick *tick);
};

int gp_loop_create(struct gp_loop **loop);
/** All sources must have been removed. NULL is legal. */
void gp_loop_destroy(struct gp_loop *loop);

/** 0 or negative errno. @source->fd and ->ready are set by the caller. */
int gp_loop_add(struct gp_loop *loop, struct gp_source *source, uint32_t events);
int gp_loop_change(struct gp_source *source, uint32_t events);
/** Legal for a source that was not added; it gets no pending call any more. */
void gp_loop_remove(struct gp_source *source);

/** @tick->due is set by the caller. 0 or negative errno. */
int gp_tick_add(struct gp_loop *loop, struct gp_tick *tick);
/** Due at @at_ns, once; 0: not at all. */
void gp_tick_at(struct gp_tick *tick, uint64_t at_ns);
/** Due in @in_ns from now. */
void gp_tick_in(struct gp_tick *tick, uint64_t in_ns);
/** Removes and closes it. Legal for a tick that was not added. */
void gp_tick_remove(struct gp_tick *tick);

uint64_t gp_loop_now_ns(void);
/** Time of a core that this thread has used. */
uint64_t gp_loop_cpu_ns(void);

/** Runs until gp_loop_stop(). 0 or negative errno. */
int gp_loop_run(struct gp_loop *loop);
/** Calls @after at the end of each round that had an event. NULL: nothing. */
void gp_loop_after(struct gp_loop *loop, void (*after)(void *arg), void *arg);
/** One round, waiting at most @wait_ms (-1: for ever). For tests. */
int gp_loop_once(struct gp_loop *loop, int wait_ms);
bool gp_loop_stopped(const struct gp_loop *loop);
/** Async-signal-safe. */
void gp_loop_stop(struct gp_loop *loop);

#endif
