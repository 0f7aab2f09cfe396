/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - a plan with its workloads and each client's figures alone. */
#ifndef GP_BENCH_CMD_JOB_H
#define GP_BENCH_CMD_JOB_H

#include "bench/cmd/models.h"
#include "bench/cmd/suite.h"
#include "bench/plan/result.h"

struct gp_plan_job {
	const char *name;
	const struct gp_suite_options *options;
	struct gp_plan *plan; /* at the rates of this run */
	double scale;	      /* factor on the rates of its file */
	struct gp_models models;
	/* The reference of all figures. */
	struct gp_plan_alone alone[GP_PLAN_CLIENTS_MAX];
	/* Files of its kernels' measured lengths, on a device. Borrowed. */
	char *found[GP_PLAN_CLIENTS_MAX];
};

/** The share of the device that its requests need; < 0: a closed loop. */
double gp_plan_job_offered(const struct gp_plan_job *job, size_t client);

#endif
