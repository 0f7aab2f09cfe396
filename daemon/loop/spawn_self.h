/* SPDX-License-Identifier: Apache-2.0 */
/* spawn_self.h - starts this program again, from a process that may have threads. */
#ifndef GP_DAEMON_SPAWN_SELF_H
#define GP_DAEMON_SPAWN_SELF_H

#include <spawn.h>
#include <stddef.h>
#include <sys/types.h>

#define GP_SPAWN_FIRST_FD 3 /* the child's number for the first file */
#define GP_SPAWN_FILES 2u

/** Default signals, and no terminal that may hang up. 0 or negative errno. */
int gp_spawn_attr(posix_spawnattr_t *attr);

/**
 * Start it with @argv. The child has the standard files and @n of this process's, @file, as
 * numbers from GP_SPAWN_FIRST_FD on. 0; -EINVAL: more than GP_SPAWN_FILES; other negative errno.
 */
int gp_spawn_self(char *const *argv, const int *file, size_t n, pid_t *pid);

#endif
