/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_page.h - this process's reports to the daemon without a message: its page of
 * wire/page.h, one for each device. Written when the core's state changes, with
 * gp_client_device.lock held, so its contents are of one moment. A launch without a change does
 * not come here.
 */
#ifndef GP_CLIENT_STATUS_PAGE_H
#define GP_CLIENT_STATUS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

struct gp_client_device;
struct gp_ectx;
struct gp_event;
struct gp_page;

/* Protected by gp_client_device.lock. */
struct gp_status_page {
	struct gp_page *page;		  /* NULL: none */
	int wake_fd;			  /* the daemon's; -1: none */
	uint32_t activity;		  /* the page's present value .. */
	uint64_t work_seq, next_ns;	  /* .. and of these */
	uint64_t samples, segments_timed; /* since this page exists */
	bool hints;			  /* the process has given hints */
	bool predicts;			  /* or has a predicted period */
	int looked;			  /* its queues: 1 work, 0 none; else unknown */
	/* Sums of contexts that are gone. */
	uint64_t left_hints, left_segments, left_holds, left_late, left_expired;
};

/**
 * gp_status_page_take() - use the daemon's page and wake file from now on.
 * @page_fd: remains the caller's; @wake_fd: is the page's on success
 * Return: 0; -EPROTO: not a page, or it could shrink; other negative errno.
 */
int gp_status_page_take(struct gp_client_device *dev, int page_fd, int wake_fd);
/** Stop using it. Legal without a page. */
void gp_status_page_drop(struct gp_client_device *dev);
/** In a fork's child, which has no part in it. */
void gp_status_page_forget(struct gp_client_device *dev);

/** The core took @ev, at @at_ns; its decisions were executed. */
void gp_status_page_event(struct gp_client_device *dev, const struct gp_event *ev, uint64_t at_ns);
/** @c has work, or has none any more, without an event of the core's. */
void gp_status_page_work(struct gp_client_device *dev, struct gp_ectx *c, bool busy);
/** A hold ended. @switch_ns: 0: unknown. */
void gp_status_page_hold(struct gp_client_device *dev, uint64_t from_ns, uint64_t held_ns,
			 uint64_t switch_ns);
/** @c is about to leave the core. */
void gp_status_page_leave(struct gp_client_device *dev, const struct gp_ectx *c);
/** Its memory has other figures. */
void gp_status_page_memory(struct gp_client_device *dev);
/** Update everything. */
void gp_status_page_update(struct gp_client_device *dev);

/* For the thread; these take the lock if anything changed. */
/** Start watching launches when the daemon requests wakes. */
void gp_status_page_serve(struct gp_client_device *dev);
/** Time until the next call; -1: any. */
int gp_status_page_wait_ms(const struct gp_client_device *dev);
void gp_status_page_looked(struct gp_client_device *dev, int busy);
void gp_status_page_predicts(struct gp_client_device *dev, bool predicts);

#endif
