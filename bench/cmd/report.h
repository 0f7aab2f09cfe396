/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_BENCH_CMD_REPORT_H
#define GP_BENCH_CMD_REPORT_H

/**
 * Becomes the program that makes a page of the results in @dir: bench/report/. Comes
 * back only where there is none, with the exit status.
 */
int gp_report(const char *dir);

#endif
