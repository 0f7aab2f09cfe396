/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freezer.h - watches the cgroups of processes, and reports that one is frozen or thawed: of
 * cgroup version 2, which notifies of both. The freezer of version 1 does not.
 *
 * Only files of the kernel's are read, none of a watched process. All calls are for the loop's
 * thread.
 */
#ifndef GP_DAEMON_FREEZER_H
#define GP_DAEMON_FREEZER_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/loop/loop.h"

struct gp_freezer;
struct gp_freezer_watch;

/**
 * gp_freezer_create() - @root: the root of version 2's hierarchy; NULL: this machine's, and
 * without one no process is watched. @proc: in place of /proc; NULL: that. 0 or negative errno.
 */
int gp_freezer_create(struct gp_loop *loop, const char *root, const char *proc,
		      struct gp_freezer **freezer);
/** All watches must have ended. NULL is legal. */
void gp_freezer_destroy(struct gp_freezer *freezer);

/**
 * gp_freezer_watch() - call @changed when the cgroup of process @pid is frozen, and when it is
 * thawed; at once if it is frozen now. A process in the root's cgroup, or in none that can be
 * seen from here, counts as thawed. 0; -ENOMEM.
 */
int gp_freezer_watch(struct gp_freezer *freezer, pid_t pid, void (*changed)(void *arg, bool frozen),
		     void *arg, struct gp_freezer_watch **watch);
/** NULL is legal. Calls nothing. */
void gp_freezer_unwatch(struct gp_freezer_watch *watch);

/**
 * Once a second: a process may have moved to another cgroup, of which nothing notifies. After a
 * check that took time t the next one comes no sooner than 100 t.
 */
void gp_freezer_check(struct gp_freezer *freezer);

/** Is the cgroup of @pid frozen now? */
bool gp_freezer_is_frozen(struct gp_freezer *freezer, pid_t pid);

/** Does @text, of a cgroup's cgroup.events, have the line "frozen 1"? */
bool gp_freezer_parse(const char *text);

#endif
