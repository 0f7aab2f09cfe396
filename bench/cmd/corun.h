/* SPDX-License-Identifier: Apache-2.0 */
/* corun.h - run plans on the model of a GPU, under each scheduler that it can have. */
#ifndef GP_BENCH_CMD_CORUN_H
#define GP_BENCH_CMD_CORUN_H

#include "bench/cmd/suite.h"
#include "bench/plan/plan.h"

struct gp_corun_plan {
	const char *name;
	const struct gp_plan *plan;
};

/**
 * Prints a table for each plan; figures go to @results, and all there is to @options->dir. A plan
 * that lacks something is reported in one line, and the others still run. 0; -ENOENT: a workload is
 * not there, -ECANCELED: a device could not run it, -EINVAL: its rates cannot be scaled (all of
 * these reported); or another negative errno.
 */
int gp_corun_plans(const struct gp_corun_plan *plan, size_t plans,
		   const struct gp_suite_options *options, struct gp_results *results, FILE *out);

/**
 * Prints the time of each client's request alone, and the load that results. As gp_corun_plans().
 */
int gp_corun_calibrate(const struct gp_corun_plan *plan, size_t plans,
		       const struct gp_suite_options *options, FILE *out);

#endif
