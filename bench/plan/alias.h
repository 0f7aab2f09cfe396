/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias.h - what stands for a model of which nothing was recorded by that name: a JSON
 * file,
 *
 *   {"schema_version": 1, "aliases": {"vgg": "vgg19", "hello": "spin:200us"}}
 *
 * of names as plans have them and the names of workloads. "-" is who names no model.
 */
#ifndef GP_BENCH_PLAN_ALIAS_H
#define GP_BENCH_PLAN_ALIAS_H

#include <stddef.h>

#define GP_ALIAS_LEN 201 /* of a name, its NUL included */

/**
 * gp_alias_find() - what stands for @model in the file @path, into @name.
 * Return: 0; -ENOENT: nothing does; -EINVAL: the file is none, of which @why says in one
 * line where, what was found there and what would be right.
 */
int gp_alias_find(const char *path, const char *model, char name[GP_ALIAS_LEN], char *why,
		  size_t why_len);
/** The same from memory; @path is what @why calls it. */
int gp_alias_parse(const char *path, const char *text, size_t bytes, const char *model,
		   char name[GP_ALIAS_LEN], char *why, size_t why_len);

#endif
