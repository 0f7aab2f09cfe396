/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - starts gpreemptd in another role, from a process that may have threads, and
 * replaces it by its successor.
 */
#ifndef GP_DAEMON_SPAWN_H
#define GP_DAEMON_SPAWN_H

#include <sys/types.h>

#include "daemon/supervise/supervise.h"

/* Names for --role=NAME. By enum gp_role, and one more. */
#define GP_SPAWN_RESTORE GP_ROLES
extern const char *const gp_spawn_names[GP_ROLES + 1];

/** Start @role (enum gp_role, GP_SPAWN_RESTORE). 0 or negative errno. */
int gp_spawn(const struct gp_supervise_setup *setup, unsigned int role, pid_t *pid);

/**
 * Become the program at @setup->program, with the keeper's role. Returns on failure only:
 * -EBADMSG: it does not accept this journal; -ETIMEDOUT: it does not answer; other negative
 * errno.
 */
int gp_spawn_successor(const struct gp_supervise_setup *setup);

#endif
