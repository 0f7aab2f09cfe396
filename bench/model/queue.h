/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - one latency-critical process beside a best-effort one that always has
 * work, on the model of a GPU in virtual time: what theory/queue.h is held against.
 * Slices as gpreempt sets them, no holds: each busy period pays for its switch.
 */
#ifndef GP_BENCH_MODEL_QUEUE_H
#define GP_BENCH_MODEL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "softgpu/model.h"

/** The next time, ns: from one arrival to the next, or of a service. */
typedef uint64_t (*gp_virtual_draw_fn)(void *arg);

struct gp_virtual_queue {
	const struct gp_model_config *device;
	gp_virtual_draw_fn gap, service;
	void *arg;	 /* of both */
	size_t requests; /* that count, after .. */
	size_t warmup;	 /* .. these */
};

struct gp_virtual_result {
	uint64_t *time_ns;  /* of each request, arrival to completion seen; the
				 * caller's, with room for requests */
	uint64_t length_ns; /* from the first that counts to the last's end */
	uint64_t be_ns;	    /* of it, best-effort's kernels ran */
};

/** 0; -ENOMEM; -EINVAL: the device is not of the timeslice kind. */
int gp_virtual_queue_run(const struct gp_virtual_queue *q, struct gp_virtual_result *result);

/** What a switch costs here, by measuring it. */
struct gp_virtual_switch {
	uint64_t alone_ns;	/* a request takes its kernel and this much, and the
				 * next in the queue starts so much later */
	uint64_t step_ns;	/* set-up after the queue was empty for i steps .. */
	uint64_t setup_ns[512]; /* .. is setup_ns[i]; longer ones cost what the
				 * last says */
	uint64_t back_ns;	/* from a request's end to best-effort's going on */
};

/** 0, or as gp_virtual_queue_run(). */
int gp_virtual_switch_measure(const struct gp_model_config *device, struct gp_virtual_switch *cost);

#endif
