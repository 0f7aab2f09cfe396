/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_BENCH_CMD_PLAN_H
#define GP_BENCH_CMD_PLAN_H

/** Prints what the plan in the file @path says. The exit status. */
int gp_plan_list(const char *path);

#endif
