/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - a thread that runs jobs that block, in their order. Its file becomes readable
 * when jobs are over. One for each device.
 */
#ifndef GP_RUNTIME_WORKER_H
#define GP_RUNTIME_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct gp_executor;
struct gp_worker;

/**
 * struct gp_job - a job; embedded by what it is about
 * @work: runs in the thread
 * @done: called by gp_worker_ready() afterwards; may free the job
 * @can_wait: the file need not become readable for this job alone: @done comes with
 *	that of a later job, or when no job is left
 * @lane: jobs of different lanes take turns, and gp_worker_ready() ends a few of them at
 *	most; 0: no lanes, all in their order. One kind for each worker
 * @turn: the worker's own
 * @at_once: a short and urgent job: if the thread is idle, gp_worker_post() runs it
 *	itself and so need not wake the thread; @done comes as always
 */
struct gp_job {
	void (*work)(struct gp_job *job);
	void (*done)(struct gp_job *job);
	bool can_wait, at_once;
	uint64_t lane, turn;
	struct gp_job *next;
};

/** 0 or negative errno. */
int gp_worker_create(struct gp_worker **worker);
/** gp_worker_stop(), and free it. NULL is legal. */
void gp_worker_destroy(struct gp_worker *worker);
/** Wait for the job under way; of all others done() is called without work(). */
void gp_worker_stop(struct gp_worker *worker);

/** Readable (POLLIN) when jobs are over; borrowed. */
int gp_worker_fd(const struct gp_worker *worker);
/** Call done() of the jobs that are over. */
void gp_worker_ready(struct gp_worker *worker);
/** Has the present job of the thread lasted for @ns? True once for each job. */
bool gp_worker_is_late(struct gp_worker *worker, uint64_t ns);
/** Does not block, but for a job at once. */
void gp_worker_post(struct gp_worker *worker, struct gp_job *job);

/** Runs calls as jobs; gp_worker_ready() reports their outcomes. The worker's. */
struct gp_executor *gp_worker_executor(struct gp_worker *worker);

#endif
