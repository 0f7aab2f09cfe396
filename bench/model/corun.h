/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corun.h - a plan on the model of a GPU, in virtual time: each client a process, its
 * requests a workload, under one of the schedulers that the model can have. The same
 * seed gives the same to the nanosecond on every machine.
 *
 * A client does one request after the other. It takes the CPU time of its preparation,
 * then launches: a kernel comes as long after that as when the request is alone, however
 * late the GPU is; a decoder's as long after the token before it was seen. A graph's comes
 * later where its launches have to be watched. In an open loop
 * no request is left out. Latency-critical clients tell when they are idle; of best-effort
 * ones it is known somewhat later, as a daemon sees it.
 */
#ifndef GP_BENCH_MODEL_CORUN_H
#define GP_BENCH_MODEL_CORUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/plan/plan.h"
#include "bench/plan/result.h"
#include "bench/plan/workload.h"
#include "softgpu/model.h"

enum gp_corun_scheduler {
	GP_CORUN_SLICES,   /* the driver's time slices */
	GP_CORUN_GPREEMPT, /* gpreempt, and nobody says anything */
	GP_CORUN_HINTED,   /* latency-critical clients say that work comes when its
				 * preparation begins */
	GP_CORUN_SJF,	   /* likewise, and of those of one level whose work is shorter
				 * goes first */
	GP_CORUN_SCHEDULERS
};

const char *gp_corun_name(enum gp_corun_scheduler scheduler);
/** false: @plan would go as under another one. */
bool gp_corun_differs(enum gp_corun_scheduler scheduler, const struct gp_plan *plan);

struct gp_corun {
	const struct gp_model_config *device;
	const struct gp_plan *plan;
	const struct gp_workload *const *workload; /* of each client */
	enum gp_corun_scheduler scheduler;
	uint64_t seed;
};

/**
 * Free @result with gp_plan_result_free(). 0; -ENOMEM; -EINVAL: the device is not of the
 * timeslice kind, or a workload needs one that is there, or a client is killed; -ENOSPC: more
 * work is queued than a channel holds.
 */
int gp_corun_run(const struct gp_corun *run, struct gp_plan_result *result);

/** Client @i of the plan alone, each request when the last is done. As gp_corun_run(). */
int gp_corun_alone(const struct gp_corun *run, size_t i, struct gp_plan_alone *alone);

#endif
