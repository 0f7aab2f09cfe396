/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - suites that are folders of plans. */
#ifndef GP_BENCH_CMD_PLANS_H
#define GP_BENCH_CMD_PLANS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/cmd/corun.h"

#define GP_PLANS_ALL "paper" /* the suite of all others */

struct gp_plans {
	struct gp_corun_plan *list;
	size_t count;
	char only[256]; /* the suite's peers: their files' names without .yaml; "": all */
};

/** Is @word the name of such a suite, or a folder of plans? */
bool gp_plans_are(const char *word);
/**
 * Read the plans of a suite and of the folders below, sorted by name, or the one of a file that
 * ends in .json. 0; -EINVAL: a file is no valid plan, reported; or another negative errno. Call
 * gp_plans_close() in any case.
 */
int gp_plans_open(struct gp_plans *plans, const char *word);
void gp_plans_close(struct gp_plans *plans);

/** Print a line for each suite. */
void gp_plans_list(FILE *out);

#endif
