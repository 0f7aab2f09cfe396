/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - the figures of a job under one scheduler: printed, and kept. */
#ifndef GP_BENCH_CMD_FIGURES_H
#define GP_BENCH_CMD_FIGURES_H

#include <stdio.h>

#include "bench/cmd/job.h"

void gp_figures_head(const struct gp_plan_job *job, uint64_t number, FILE *out);
/** Print a row for each client. Figures go to @results, raw samples to the job's folder. */
int gp_figures_say(const struct gp_plan_job *job, const char *scheduler, uint64_t number,
		   const struct gp_plan_result *result, struct gp_results *results, FILE *out);

/** The load, in words of the plan's file. */
void gp_figures_load(const struct gp_plan_client *client, char *text, size_t len);

#endif
