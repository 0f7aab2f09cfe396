/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h - what /proc says of a process, of one process: the PID may be
 * another's before it is read to its end.
 */
#ifndef GP_DAEMON_PROC_H
#define GP_DAEMON_PROC_H

#include "daemon/rules.h"

/**
 * gp_proc_read() - read process @pid. @subject's texts and groups are the
 * caller's, for gp_proc_clear(); its device is NULL. Untouched on failure.
 *
 * Who it is (users, groups, cgroup, start) is always there. The program's path
 * is NULL where this process may not see it (another user's), where there is none
 * (its first thread has ended), and where nothing proves it: in a mount namespace,
 * which anybody may make, any program may have any path. Proof is that it is on a
 * mount of this process's or the machine's first, or is the very file that this
 * process has at that path. " (deleted)" is no part of the path.
 *
 * Return: 0; -ESRCH: it has ended, or is no process but a thread; -EAGAIN: it
 * changes all the time (execve, setuid); other negative errno of /proc.
 */
int gp_proc_read(pid_t pid, struct gp_subject *subject);

/** The same in the folder @proc, which stands for /proc. */
int gp_proc_read_at(int proc, pid_t pid, struct gp_subject *subject);

/**
 * gp_proc_start() - when @pid started, as struct gp_subject has it: cheap. 0;
 * -ESRCH; other negative errno of /proc.
 */
int gp_proc_start(pid_t pid, uint64_t *ticks);

/** Frees what is @subject's; it may be read or cleared again. */
void gp_proc_clear(struct gp_subject *subject);

#endif
