/* SPDX-License-Identifier: Apache-2.0 */
/* corun.h - run plans under each scheduler, on the model of a GPU or on a device. */
#ifndef GP_BENCH_CMD_CORUN_H
#define GP_BENCH_CMD_CORUN_H

#include "bench/cmd/suite.h"
#include "bench/plan/plan.h"

struct gp_corun_plan {
	const char *name;
	const struct gp_plan *plan;
};

/**
 * Print a table for each plan. Figures go to @results, and raw samples to @options->dir. An error
 * of one plan is reported in one line, and the others still run. 0; -ENOENT: a workload is
 * missing; -ECANCELED: a device could not run it; -EINVAL: its rates cannot be scaled (all
 * reported); or another negative errno.
 */
int gp_corun_plans(const struct gp_corun_plan *plan, size_t plans,
		   const struct gp_suite_options *options, struct gp_results *results, FILE *out);

/**
 * Print the time of each client's request alone, and the resulting load. Return: as
 * gp_corun_plans().
 */
int gp_corun_calibrate(const struct gp_corun_plan *plan, size_t plans,
		       const struct gp_suite_options *options, FILE *out);

#endif
