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
 * Prints a table for each plan; figures go to @results, and all there is to
 * @options->dir. What a plan lacks is said in one line, and the others run all the same.
 * 0; -ENOENT: a workload is not there, -ECANCELED: a device could not run it, -EINVAL: its
 * rates cannot be scaled, which all was said; or another negative errno.
 */
int gp_corun_plans(const struct gp_corun_plan *plan, size_t plans,
		   const struct gp_suite_options *options, struct gp_results *results, FILE *out);

/**
 * Prints what each client's request takes alone, and what its load comes to by that. As
 * gp_corun_plans().
 */
int gp_corun_calibrate(const struct gp_corun_plan *plan, size_t plans,
		       const struct gp_suite_options *options, FILE *out);

#endif
