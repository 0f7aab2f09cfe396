/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - paths of the program's data files. */
#ifndef GP_BENCH_CMD_DATA_H
#define GP_BENCH_CMD_DATA_H

#include <limits.h>

/**
 * @name: below the folder lib/gpreempt, as "softgpu". The path is beside this program, as built or
 * as installed and moved; else it is in the build's install path, even if it does not exist.
 */
void gp_pkglib_path(const char *name, char path[PATH_MAX]);
/** The same for @name below lib/gpreempt/bench, as "report/report.py". */
void gp_data_path(const char *name, char path[PATH_MAX]);

#endif
