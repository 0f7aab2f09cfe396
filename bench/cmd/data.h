/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - paths of the program's data files. */
#ifndef GP_BENCH_CMD_DATA_H
#define GP_BENCH_CMD_DATA_H

#include <limits.h>

/**
 * @name: "peers", "report/report.py". The path is beside this program, built or installed; else it
 * is in the build's install path, even if it does not exist.
 */
void gp_data_path(const char *name, char path[PATH_MAX]);

#endif
