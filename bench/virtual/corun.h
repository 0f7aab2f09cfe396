/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corun.h - a plan on the model of a GPU, in virtual time: each client a process, its
 * requests a workload, under one of the schedulers that the model can have. The same
 * seed gives the same to the nanosecond on every machine.
 *
 * A client does one request after the other. It takes the CPU time of its preparation,
 * then launches: a kernel comes as long after that as when the request is alone, however
 * late the GPU is. In an open loop no request is left out.
 */
#ifndef GP_BENCH_VIRTUAL_CORUN_H
#define GP_BENCH_VIRTUAL_CORUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/common/request.h"
#include "bench/plan/plan.h"
#include "bench/workload/workload.h"
#include "softgpu/model.h"

enum gp_corun_scheduler {
	GP_CORUN_SLICES,	/* the driver's time slices */
	GP_CORUN_GPREEMPT,	/* gpreempt, and nobody says anything */
	GP_CORUN_HINTED,	/* latency-critical clients say that work comes when its
				 * preparation begins */
	GP_CORUN_SCHEDULERS
};

const char *gp_corun_name(enum gp_corun_scheduler scheduler);

struct gp_corun {
	const struct gp_model_config *device;
	const struct gp_plan *plan;
	const struct gp_workload *const *workload;	/* of each client */
	enum gp_corun_scheduler scheduler;
	uint64_t seed;
};

struct gp_corun_client {
	struct gp_request *request;
	size_t requests;	/* that ended, half a second after the plan's end at most */
	bool behind;		/* more had come */
};

struct gp_corun_result {
	struct gp_corun_client client[GP_PLAN_CLIENTS_MAX];
	struct gp_stretch *stretch;
	size_t stretches;
	uint64_t begin_ns, end_ns;	/* of the plan; all times are of one clock */
};

/**
 * Free @result with gp_corun_free(). 0; -ENOMEM; -EINVAL: the device is not of the
 * timeslice kind; -ENOSPC: more work is queued than a channel holds.
 */
int gp_corun_run(const struct gp_corun *run, struct gp_corun_result *result);
void gp_corun_free(struct gp_corun_result *result);

/**
 * What client @i of the plan does alone, each request when the last is done: the middle
 * of how long they take, ns, and how many there are in a second. As gp_corun_run().
 */
int gp_corun_alone(const struct gp_corun *run, size_t i, uint64_t *p50_ns, double *per_s);
/** The same two of the first client of a run that was made. -ENODATA: no request ended. */
int gp_corun_middle(const struct gp_corun_result *r, uint64_t *p50_ns, double *per_s);

#endif
