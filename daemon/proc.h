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
 * (its first thread has ended), and where that path is not that very file for this
 * process: a mount namespace that anybody may make names it as he likes, and a
 * program that was replaced or deleted is at its path no more.
 *
 * Return: 0; -ESRCH: it has ended, or is no process but a thread; -EAGAIN: it
 * changes all the time (execve, setuid); other negative errno of /proc.
 */
int gp_proc_read(pid_t pid, struct gp_subject *subject);

/** The same in the folder @proc, which stands for /proc. */
int gp_proc_read_at(int proc, pid_t pid, struct gp_subject *subject);

/** Frees what is @subject's; it may be read or cleared again. */
void gp_proc_clear(struct gp_subject *subject);

#endif
