/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias.h - workloads that stand for models without a recording. They are from a JSON file::
 *
 *   {"schema_version": 1, "aliases": {"vgg": "vgg19", "hello": "spin:200us"}}
 *
 * The file maps the model names of plans to names of workloads. The model name "-" is for
 * clients that name no model.
 */
#ifndef GP_BENCH_PLAN_ALIAS_H
#define GP_BENCH_PLAN_ALIAS_H

#include <stddef.h>

#define GP_ALIAS_LEN 201 /* of a name with its NUL */

/**
 * gp_alias_find() - look @model up in the file @path, and write the workload's name to @name.
 * Return: 0; -ENOENT: the file has no such model; -EINVAL: the file is invalid, and @why
 * gives the place, its text and the expected one in one line.
 */
int gp_alias_find(const char *path, const char *model, char name[GP_ALIAS_LEN], char *why,
		  size_t why_len);
/** The same from memory; @why names the text @path. */
int gp_alias_parse(const char *path, const char *text, size_t bytes, const char *model,
		   char name[GP_ALIAS_LEN], char *why, size_t why_len);

#endif
