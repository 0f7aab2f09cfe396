/* SPDX-License-Identifier: Apache-2.0 */
/* supervise_internal.h - between supervise.c, which all three processes run, and supervisor.c. */
#ifndef GP_DAEMON_SUPERVISE_INTERNAL_H
#define GP_DAEMON_SUPERVISE_INTERNAL_H

#include "daemon/supervise/supervise.h"

/**
 * struct gp_other - one of the other processes.
 * @source: on the pidfd of @pid; fd -1: no known process has its role
 * @pid: that process, or our child that is about to take the role; else 0
 * @died_ns: since when there is none
 * @beats: it has just reported that it runs
 * @had_role: @pid has taken the role, perhaps lost it
 * @stale_ns: for how long it has not run, or has had no role; 0: it runs, or may sleep
 */
struct gp_other {
	struct gp_source source;
	struct gp_supervision *keep;
	enum gp_role role;
	pid_t pid;
	uint64_t died_ns;
	bool had_role, beats;
	uint64_t stale_ns;
};

/* In place of a status of waitpid(2). */
enum {
	GP_STATUS_UNKNOWN = -1,
	GP_STATUS_HANGS = -2, /* it has lost its role, and the kernel does not end it */
};

/**
 * struct gp_supervision
 * @died: for a keeper: @role has died, with its status of waitpid(2) if it was this
 *	process's child, else GP_STATUS_UNKNOWN, or GP_STATUS_HANGS. NULL in the daemon
 * @looked: for a keeper: after each check of the others. Returns the ns until the next
 *	check at the latest; 0: no need
 * @hold_daemon: no daemon may be started now
 * @beats: this process reports that it runs
 * @begun_ns: gp_supervise_begin(): a record will come
 * @looked_ns: the last check of the others
 */
struct gp_supervision {
	struct gp_supervise_setup setup;
	struct gp_loop *loop; /* NULL: not watching */
	struct gp_tick tick;
	struct gp_other other[GP_ROLES];
	bool hold_daemon, beats;
	uint64_t begun_ns, looked_ns;
	void (*died)(struct gp_supervision *keep, enum gp_role role, pid_t pid, int status);
	uint64_t (*looked)(struct gp_supervision *keep);
	struct gp_supervisor *keeper;
};

/** Check the others, and start a missing one if it is this process's turn. */
void gp_supervise_check(struct gp_supervision *keep);

/** This process may block for a while: it makes no promise until the next check. */
void gp_supervise_rest(struct gp_supervision *keep);

/** To the watched process of @role, and to no later one with its number. */
void gp_supervise_signal(const struct gp_supervision *keep, enum gp_role role, int number);

/** Does any process have @role, or is about to? */
bool gp_supervise_has(const struct gp_supervision *keep, enum gp_role role);

/** pidfd_open(2). fd (O_CLOEXEC) or negative errno. */
int gp_supervise_pidfd(pid_t pid);

#endif
