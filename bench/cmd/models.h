/* SPDX-License-Identifier: Apache-2.0 */
/* models.h - the workloads of a plan's clients, by their models' names. */
#ifndef GP_BENCH_CMD_MODELS_H
#define GP_BENCH_CMD_MODELS_H

#include "bench/plan/plan.h"
#include "bench/plan/workload.h"

struct gp_models {
	struct gp_workload *workload[GP_PLAN_CLIENTS_MAX];
	char *name[GP_PLAN_CLIENTS_MAX]; /* argument of a program: a name, or a file */
};

/**
 * A model is @folder's MODEL.json, or made by a name with a colon. Else it is an alias in
 * aliases.json of @folder, or in the installed one. @device: NULL: none; a workload that it cannot
 * run is refused. 0; -ENOENT, with the missing file reported. gp_models_close() in any case.
 */
int gp_models_open(struct gp_models *models, const char *plan_name, const struct gp_plan *plan,
		   const char *folder, const char *device);
void gp_models_close(struct gp_models *models);

/** For a table: the workload, and the model if that has another name. */
void gp_models_say(const struct gp_models *models, const struct gp_plan *plan, size_t client,
		   char *text, size_t len);

#endif
