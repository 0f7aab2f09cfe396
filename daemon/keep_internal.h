/* SPDX-License-Identifier: Apache-2.0 */
/* keep_internal.h - between keep.c, which all three run, and keeper.c. */
#ifndef GP_DAEMON_KEEP_INTERNAL_H
#define GP_DAEMON_KEEP_INTERNAL_H

#include "daemon/keep.h"

/**
 * struct gp_other - one of the others.
 * @source: on the pidfd of @pid; fd -1: nobody has its role, as far as is known
 * @pid: it, or a child of this process that is about to take the role; else 0
 * @died_ns: since when there is nobody
 */
struct gp_other {
	struct gp_source source;
	struct gp_keep *keep;
	enum gp_role role;
	pid_t pid;
	uint64_t died_ns;
};

/**
 * struct gp_keep
 * @died: of a keeper: @role has died, with @status of waitpid(2) if it was this
 *	process's child, else -1. NULL in the daemon
 * @looked: of a keeper: after each look at the others. It says in how many ns it is to
 *	be called again at the latest; 0: no need
 * @hold_daemon: no daemon is to be started now
 */
struct gp_keep {
	struct gp_keep_setup setup;
	struct gp_loop *loop; /* NULL: not watching */
	struct gp_tick tick;
	struct gp_other other[GP_ROLES];
	bool hold_daemon;
	void (*died)(struct gp_keep *keep, enum gp_role role, pid_t pid, int status);
	uint64_t (*looked)(struct gp_keep *keep);
	struct gp_keeper *keeper;
};

/** See who is there, start who is not and is this process's to start. */
void gp_keep_look(struct gp_keep *keep);

/** Has anybody @role, or is about to? */
bool gp_keep_has(const struct gp_keep *keep, enum gp_role role);

/** pidfd_open(2). fd (O_CLOEXEC) or negative errno. */
int gp_keep_pidfd(pid_t pid);

#endif
