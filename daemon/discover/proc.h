/* SPDX-License-Identifier: Apache-2.0 */
/* proc.h - reads /proc for exactly one process: another may get the PID before the read ends. */
#ifndef GP_DAEMON_PROC_H
#define GP_DAEMON_PROC_H

#include "daemon/config/rules.h"

/**
 * gp_proc_read() - read process @pid. @subject's texts and groups are the caller's, for
 * gp_proc_clear(); its device is NULL. Untouched on failure.
 *
 * Users, groups, cgroup and start are always known. The program's path is NULL in three cases:
 * this process may not read it (another user's), there is none (the first thread has ended),
 * or it is not proven. Any user can make a mount namespace in which a program has any path.
 * Proof is a mount of this process's or of the machine's first one. It is also proof if this
 * process has the same file at that path. " (deleted)" is no part of the path.
 *
 * Return: 0; -ESRCH: it has ended, or is a thread; -EAGAIN: it changes all the time (execve,
 * setuid); other negative errno of /proc.
 */
int gp_proc_read(pid_t pid, struct gp_subject *subject);

/** The same in the folder @proc, in place of /proc. */
int gp_proc_read_at(int proc, pid_t pid, struct gp_subject *subject);

/**
 * gp_proc_start() - the start of @pid, as in struct gp_subject: cheap. 0; -ESRCH; other
 * negative errno of /proc.
 */
int gp_proc_start(pid_t pid, uint64_t *ticks);

/** The real user of @pid, also of a setuid program. 0; -ESRCH; other negative errno. */
int gp_proc_user(pid_t pid, uid_t *uid);

/**
 * gp_proc_cgroup2() - the path of @pid's cgroup in version 2's hierarchy, from the folder @proc in
 * place of /proc. *@path: to be freed; NULL: it has none. 0; -ESRCH; other negative errno.
 */
int gp_proc_cgroup2(const char *proc, pid_t pid, char **path);
/** That path in @text, which has the form of /proc/PID/cgroup and is changed; NULL: none. */
const char *gp_proc_parse_cgroup2(char *text);

/** Is @pid root's of this machine, and in no container? Cheaper than gp_proc_read(). */
bool gp_proc_is_root(pid_t pid);

/** Frees @subject's contents; it may be read or cleared again. */
void gp_proc_clear(struct gp_subject *subject);

#endif
