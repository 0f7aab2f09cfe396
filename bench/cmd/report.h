/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_BENCH_CMD_REPORT_H
#define GP_BENCH_CMD_REPORT_H

/**
 * Execute the program that makes a page of the results in @dir (bench/report/). Returns only
 * if it is missing, with the exit status.
 */
int gp_report(const char *dir);

#endif
