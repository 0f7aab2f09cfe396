/* SPDX-License-Identifier: Apache-2.0 */
/* models.h - the workloads of a plan's clients: what their models' names stand for. */
#ifndef GP_BENCH_CMD_MODELS_H
#define GP_BENCH_CMD_MODELS_H

#include "bench/plan/plan.h"
#include "bench/workload/workload.h"

struct gp_models {
	struct gp_workload *workload[GP_PLAN_CLIENTS_MAX];
	char *name[GP_PLAN_CLIENTS_MAX]; /* what a program is told: a name, or a file */
};

/**
 * A model is @folder's MODEL.json, or what is made by a name with a colon; else what
 * aliases.json says, of @folder or that which comes with the program. @device: NULL: none;
 * what that cannot run is refused. 0; -ENOENT, after it was said what is missing.
 * gp_models_close() in any case.
 */
int gp_models_open(struct gp_models *models, const char *plan_name, const struct gp_plan *plan,
		   const char *folder, const char *device);
void gp_models_close(struct gp_models *models);

/** For a table: the workload, and the model that it stands for where that is another. */
void gp_models_say(const struct gp_models *models, const struct gp_plan *plan, size_t client,
		   char *text, size_t len);

#endif
