/* SPDX-License-Identifier: Apache-2.0 */
/* procfd.h - the files that a process has open, from /proc. */
#ifndef GP_HAL_PROCFD_H
#define GP_HAL_PROCFD_H

#include <stdbool.h>
#include <sys/types.h>

/** Called with a descriptor of the process; other than 0 ends the search. */
typedef int (*gp_proc_fd_fn)(void *arg, int fd);

/**
 * gp_proc_fds() - call @fn for each descriptor of @pid whose file's path begins with @prefix,
 * in no order.
 * Return: 0, or @fn's result; -ESRCH: no such process; -EPERM: not readable; other negative
 * errno.
 */
int gp_proc_fds(pid_t pid, const char *prefix, gp_proc_fd_fn fn, void *arg);

/** Does the path of @fd, of this process, begin with @prefix? */
bool gp_fd_begins(int fd, const char *prefix);

#endif
