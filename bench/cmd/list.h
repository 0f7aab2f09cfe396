/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_BENCH_CMD_LIST_H
#define GP_BENCH_CMD_LIST_H

#include <stddef.h>

/** Prints what the file @path says, a plan or a workload. The exit status. */
int gp_list_file(const char *path);

/** One of the two, of the file's text. The exit status. */
int gp_list_plan(const char *path, const char *text, size_t bytes);
int gp_list_workload(const char *path, const char *text, size_t bytes);

#endif
