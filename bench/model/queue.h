/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - run one LC process beside a BE process that always has work, on the model of
 * a GPU in virtual time, to compare with bench/model/theory.h. The slices are gpreempt's.
 * Nothing holds the device, so each busy period pays for its switch.
 */
#ifndef GP_BENCH_MODEL_QUEUE_H
#define GP_BENCH_MODEL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "softgpu/model.h"

/** Draw the next time, ns: between arrivals, or of a service. */
typedef uint64_t (*gp_virtual_draw_fn)(void *arg);

struct gp_virtual_queue {
	const struct gp_model_config *device;
	gp_virtual_draw_fn gap, service;
	void *arg;	 /* for both functions */
	size_t requests; /* after the warm-up */
	size_t warmup;	 /* requests before that */
};

struct gp_virtual_result {
	uint64_t *time_ns;  /* arrival to completion seen, of each request; the
				 * caller's array, with room for all requests */
	uint64_t length_ns; /* from the first counted arrival to the last end */
	uint64_t be_ns;	    /* part of it in which BE kernels ran */
};

/** 0; -ENOMEM; -EINVAL: the device has no time slices. */
int gp_virtual_queue_run(const struct gp_virtual_queue *q, struct gp_virtual_result *result);

/** The measured cost of a switch. */
struct gp_virtual_switch {
	uint64_t alone_ns;	/* time of a request beyond its kernel; the next
				 * in the queue starts so much later */
	uint64_t step_ns;	/* grid of the times for which the queue was empty */
	uint64_t setup_ns[512]; /* set-up after i such steps; the last also holds
				 * for all longer times */
	uint64_t back_ns;	/* from a request's end until BE runs again */
};

/** Return: as gp_virtual_queue_run(). */
int gp_virtual_switch_measure(const struct gp_model_config *device, struct gp_virtual_switch *cost);

#endif
