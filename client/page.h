/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - what this process tells the daemon without a message: its page of
 * wire/page.h, one for each device. Written where the core's state changes, with
 * gp_edev.lock held, so what stands there is of one moment; a launch that changes
 * nothing does not come here.
 */
#ifndef GP_CLIENT_PAGE_H
#define GP_CLIENT_PAGE_H

#include <stdbool.h>
#include <stdint.h>

struct gp_edev;
struct gp_ectx;
struct gp_event;
struct gp_page;

/* All protected by gp_edev.lock. */
struct gp_tells {
	struct gp_page *page;		  /* NULL: there is none */
	int wake_fd;			  /* the daemon's; -1: likewise */
	uint32_t doing;			  /* as it stands there .. */
	uint64_t begun, next_ns;	  /* .. and these */
	uint64_t samples, segments_timed; /* since there is this page */
	bool hints;			  /* the process has given hints */
	bool rhythm;			  /* or has a rhythm that was learned */
	int looked;			  /* its queues: 1 work, 0 none; else unknown */
	/* Of contexts that left. */
	uint64_t left_hints, left_segments, left_holds, left_late, left_expired;
};

/**
 * gp_page_take() - the daemon's page and wake file, from now on.
 * @page_fd: stays the caller's; @wake_fd: is the page's on success
 * Return: 0; -EPROTO: it is no page, or could shrink; other negative errno.
 */
int gp_page_take(struct gp_edev *dev, int page_fd, int wake_fd);
/** There is none any more. Legal where there was none. */
void gp_page_drop(struct gp_edev *dev);
/** In the child of a fork, which has no part in it. */
void gp_page_forget(struct gp_edev *dev);

/** The core took @ev, at @at_ns; what followed of it was carried out. */
void gp_page_event(struct gp_edev *dev, const struct gp_event *ev, uint64_t at_ns);
/** @c has work, or has none any more: what the core is not told. */
void gp_page_work(struct gp_edev *dev, struct gp_ectx *c, bool busy);
/** A hold ended. @switch_ns: 0 where it is not known. */
void gp_page_hold(struct gp_edev *dev, uint64_t from_ns, uint64_t held_ns, uint64_t switch_ns);
/** @c is about to leave the core. */
void gp_page_leave(struct gp_edev *dev, const struct gp_ectx *c);
/** Bring all of it up to date. */
void gp_page_update(struct gp_edev *dev);

/* The thread's; these take the lock, where anything changed. */
/** Launches are watched from when the daemon wants to hear of them at once. */
void gp_page_serve(struct gp_edev *dev);
/** To be called again after so long; -1: any time. */
int gp_page_wait_ms(const struct gp_edev *dev);
void gp_page_looked(struct gp_edev *dev, int busy);
void gp_page_rhythm(struct gp_edev *dev, bool rhythm);

#endif
