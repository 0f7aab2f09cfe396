/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overall.h - figures of all clients of a class together. Each client's figures are relative
 * to itself alone, so requests of different lengths can be added.
 */
#ifndef GP_BENCH_CMD_OVERALL_H
#define GP_BENCH_CMD_OVERALL_H

#include "bench/cmd/job.h"

struct gp_overall {
	/* Of all LC requests: latency / p50 of their client alone. 0: too few. */
	double lc_mean, lc_p99;
	/*
	 * Sum of the BE clients' rates, each relative to its rate alone. < 0: there are none, or
	 * one is killed and its rate is not known.
	 */
	double be;
};

/** 0; -ENOMEM. */
int gp_overall_of(const struct gp_plan_job *job, const struct gp_plan_result *result,
		  struct gp_overall *overall);

#endif
