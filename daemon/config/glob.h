/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.h - patterns of absolute paths. "*" matches any characters of one name, or none. "**"
 * matches any characters including slashes; between two slashes it also matches nothing, as if
 * these were one. Other characters are plain. Not fnmatch(3), which uses the locale, and takes
 * exponential time for some names, which other users choose.
 */
#ifndef GP_DAEMON_GLOB_H
#define GP_DAEMON_GLOB_H

#include <stdbool.h>

#define GP_GLOB_MAX 512 /* bytes of a pattern */

/**
 * gp_glob_check() - can it match any path? Else @why describes valid patterns; static. 0 or
 * -EINVAL.
 */
int gp_glob_check(const char *pattern, const char **why);

/** Does it match the whole of @path? Time: length of one times the other's. */
bool gp_glob_match(const char *pattern, const char *path);

/** Does it match @path, or a folder that contains @path? */
bool gp_glob_match_under(const char *pattern, const char *path);

#endif
