/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - what queueing theory says of a latency-critical process beside
 * best-effort ones: M/G/1, first come first served, where best-effort has the
 * device whenever the queue is empty, and taking it back costs a switch.
 *
 * Best-effort is preempted and resumed, so it never counts but by that switch: a
 * queue with a set-up time D at the start of each busy period (Welch, "On a
 * generalized M/G/1 queuing process in which the first customer of each busy period
 * receives exceptional service", Operations Research 12, 1964). A request's time in
 * it is a sum of three that are independent:
 *
 *     T = W + S + X
 *
 * W: the wait in the same queue without set-up, a geometric sum of residual
 *    services (Pollaczek and Khinchin)
 * S: the service
 * X: D with probability 1 / (1 + lambda E[D]), else D's residual
 *
 * D may depend on how long the queue had been empty: that is independent of all
 * that comes later, as arrivals have no memory.
 */
#ifndef GP_BENCH_QUEUE_H
#define GP_BENCH_QUEUE_H

#include "bench/model/pmf.h"

/** All times in one unit, distributions on one grid. */
struct gp_queue {
	double rate; /* lambda: arrivals in a unit of time */
	const struct gp_pmf *service;
	const struct gp_pmf *setup; /* NULL: there is none */
};

/** rate x E[S]: the queue is stable below 1. */
double gp_queue_load(const struct gp_queue *q);
/** Mean of T, from moments alone. */
double gp_queue_mean(const struct gp_queue *q);
/**
 * Distribution of T, up to @most. 0, -ENOMEM, -EDOM: the load is not below 1.
 * The caller frees it.
 */
int gp_queue_times(struct gp_pmf *out, const struct gp_queue *q, double most);
/**
 * The share of the time that is best-effort's: what no service takes, less a
 * set-up for each busy period, and less @back for the way back to best-effort
 * after it, or less where the queue is empty for less than that.
 */
double gp_queue_left(const struct gp_queue *q, double back);

#endif
