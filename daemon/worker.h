/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - a thread that does what blocks, in the order in which it is asked,
 * and tells the loop when it is done. One for each device.
 */
#ifndef GP_DAEMON_WORKER_H
#define GP_DAEMON_WORKER_H

#include "daemon/loop.h"

struct gp_worker;

/**
 * struct gp_job - embedded in what is to be done.
 * @work: in the thread
 * @done: in the loop, afterwards; may free the job
 * @can_wait: done() may come as late as that of a job behind it that cannot, or
 *	when there is nothing more to do: the loop is woken once for many
 * @at_once: short, and in a hurry: if the thread has nothing to do it is done by
 *	whoever posts it, who need not wake it; done() comes as always
 */
struct gp_job {
	void (*work)(struct gp_job *job);
	void (*done)(struct gp_job *job);
	bool can_wait, at_once;
	struct gp_job *next;
};

int gp_worker_create(struct gp_loop *loop, struct gp_worker **worker);
/**
 * Waits for what is under way; of what was not begun, done() is called without
 * work(). NULL is legal.
 */
void gp_worker_destroy(struct gp_worker *worker);
/** Does not block, but for what is to be done at once. */
void gp_worker_post(struct gp_worker *worker, struct gp_job *job);

#endif
