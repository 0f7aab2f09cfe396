/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the daemon's one loop: files that are ready, and times that have come.
 * All of it is of the thread that runs it, but for gp_loop_stop().
 */
#ifndef GP_DAEMON_LOOP_H
#define GP_DAEMON_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

/* The structure that @ptr is the @member of. */
#define gp_holder(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct gp_loop;

/**
 * struct gp_source - a file that is watched; embedded by whoever waits for it.
 * @fd: borrowed; -1: watched no longer
 * @ready: called with EPOLLIN and its like; may remove and free any source
 * @is_urgent: set before it is added: decisions, and what they wait for
 */
struct gp_source {
	int fd;
	void (*ready)(struct gp_source *source, uint32_t events);
	struct gp_loop *loop; /* NULL: not added */
	bool is_urgent;
};

/** struct gp_tick - a time that is waited for, CLOCK_MONOTONIC. */
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
/** Legal for what was not added; what is ready of it already is not told. */
void gp_loop_remove(struct gp_source *source);

/** @tick->due is set by the caller. 0 or negative errno. */
int gp_tick_add(struct gp_loop *loop, struct gp_tick *tick);
/** At @at_ns, once; 0: not at all. */
void gp_tick_at(struct gp_tick *tick, uint64_t at_ns);
/** In @in_ns from now. */
void gp_tick_in(struct gp_tick *tick, uint64_t in_ns);
/** Removes and closes it. Legal for what was not added. */
void gp_tick_remove(struct gp_tick *tick);

uint64_t gp_loop_now_ns(void);

/** Until gp_loop_stop(). 0 or negative errno. */
int gp_loop_run(struct gp_loop *loop);
/** One round, waiting at most @wait_ms (-1: for ever). For tests. */
int gp_loop_once(struct gp_loop *loop, int wait_ms);
bool gp_loop_stopped(const struct gp_loop *loop);
/** Async-signal-safe. */
void gp_loop_stop(struct gp_loop *loop);

#endif
