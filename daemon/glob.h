/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.h - patterns of absolute paths. "*" stands for any characters of one
 * name, none too; "**" for any, slashes too, and between two slashes for nothing, as
 * if they were one.
 * Nothing else is special. Not fnmatch(3): it goes by the locale, and takes
 * exponential time for some names, which others choose.
 */
#ifndef GP_DAEMON_GLOB_H
#define GP_DAEMON_GLOB_H

#include <stdbool.h>

#define GP_GLOB_MAX 512 /* bytes of a pattern */

/**
 * gp_glob_check() - can it match a path at all? Else @why, in words, what would
 * be right; static. 0 or -EINVAL.
 */
int gp_glob_check(const char *pattern, const char **why);

/** Does it match the whole of @path? Time: length of one times the other's. */
bool gp_glob_match(const char *pattern, const char *path);

/** Does it match @path, or a folder that @path lies in? */
bool gp_glob_match_under(const char *pattern, const char *path);

#endif
