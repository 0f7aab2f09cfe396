/* SPDX-License-Identifier: Apache-2.0 */
/*
 * theory.h - queueing theory of an LC process beside BE ones: M/G/1, first come first
 * served. BE has the device whenever the queue is empty; LC takes it back by a switch.
 *
 * BE is preempted and resumed, so only that switch delays LC. This is a queue with a
 * set-up time D at the start of each busy period (Welch, Operations Research 12, 1964,
 * on exceptional service of a busy period's first customer). A request's time in it is
 * a sum of three independent times:
 *
 *     T = W + S + X
 *
 * - W: the wait in the same queue without set-up, a geometric sum of residual
 *   services (Pollaczek and Khinchin)
 * - S: the service
 * - X: D with probability 1 / (1 + lambda E[D]), else D's residual
 *
 * D may depend on how long the queue was empty: arrivals have no memory, so that time
 * is independent of everything later.
 */
#ifndef GP_BENCH_QUEUE_H
#define GP_BENCH_QUEUE_H

#include "bench/model/pmf.h"

/** All times in one unit, distributions on one grid. */
struct gp_queue {
	double rate; /* lambda: arrivals per unit of time */
	const struct gp_pmf *service;
	const struct gp_pmf *setup; /* NULL: none */
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
 * The share of the time that is left to BE: no service runs, and no switch. Each busy
 * period costs a set-up before it, and after it up to @back, which the next one may end.
 */
double gp_queue_left(const struct gp_queue *q, double back);

#endif
