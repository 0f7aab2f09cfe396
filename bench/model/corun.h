/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corun.h - run a plan on the model of a GPU in virtual time, under one scheduler.
 * Each client is a process, and its requests are a workload. The same seed gives the
 * same nanoseconds on every machine.
 *
 * A client does one request after the other: it prepares on the CPU, then launches its
 * kernels. The time from launch to launch is that of the request alone, however late the
 * GPU is. A decoder counts it from when it sees the token before. An open loop drops no
 * request. LC clients report at once that they are idle; BE clients are seen idle later, as by
 * gpreemptd.
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
	GP_CORUN_GPREEMPT, /* gpreempt without hints */
	GP_CORUN_HINTED,   /* LC clients give a hint when they begin to prepare */
	GP_CORUN_SJF,	   /* likewise; within a level, shorter work goes first */
	GP_CORUN_SCHEDULERS
};

const char *gp_corun_name(enum gp_corun_scheduler scheduler);
/** false: @plan would run just as under another scheduler. */
bool gp_corun_differs(enum gp_corun_scheduler scheduler, const struct gp_plan *plan);

struct gp_corun {
	const struct gp_model_config *device;
	const struct gp_plan *plan;
	const struct gp_workload *const *workload; /* of each client */
	enum gp_corun_scheduler scheduler;
	uint64_t seed;
};

/**
 * Free @result with gp_plan_result_free(). 0; -ENOMEM; -ENOSPC: more work is queued than a
 * channel holds; -EINVAL: the device has no time slices, a workload needs a real device, or
 * the plan kills a client.
 */
int gp_corun_run(const struct gp_corun *run, struct gp_plan_result *result);

/** Run client @i of the plan alone, in a closed loop. Return: as gp_corun_run(). */
int gp_corun_alone(const struct gp_corun *run, size_t i, struct gp_plan_alone *alone);

#endif
