/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - suites that are folders of plans. */
#ifndef GP_BENCH_CMD_PLANS_H
#define GP_BENCH_CMD_PLANS_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/cmd/corun.h"

#define GP_PLANS_ALL "paper" /* the suite that is all of them */

struct gp_plans {
	struct gp_corun_plan *list;
	size_t count;
};

/** Is @word the name of such a suite, or a folder of plans? */
bool gp_plans_are(const char *word);
/**
 * Those of a suite, with the folders below, by their names; or the one of a file that ends in
 * .json. 0; -EINVAL: one is no plan, reported; or another negative errno. gp_plans_close() in any
 * case.
 */
int gp_plans_open(struct gp_plans *plans, const char *word);
void gp_plans_close(struct gp_plans *plans);

/** A line for each suite. */
void gp_plans_list(FILE *out);

#endif
