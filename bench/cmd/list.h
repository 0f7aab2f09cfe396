/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_BENCH_CMD_LIST_H
#define GP_BENCH_CMD_LIST_H

#include <stddef.h>

/** Print the content of the file @path, a plan or a workload. Return: the exit status. */
int gp_list_file(const char *path);

/** The same for the text of a plan, or of a workload. */
int gp_list_plan(const char *path, const char *text, size_t bytes);
int gp_list_workload(const char *path, const char *text, size_t bytes);

#endif
