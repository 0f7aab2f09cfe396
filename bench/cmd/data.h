/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - what the program takes from files beside it. */
#ifndef GP_BENCH_CMD_DATA_H
#define GP_BENCH_CMD_DATA_H

#include <limits.h>

/**
 * @name: "peers", "report/report.py". Beside this program as it was built or installed, else the
 * build's install path, whether it is there or not.
 */
void gp_data_path(const char *name, char path[PATH_MAX]);

#endif
