/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rundir.h - the folder of a running daemon: its journal, its socket, and the last valid
 * configuration. A daemon that restarts uses the latter if the file is invalid.
 */
#ifndef GP_DAEMON_RUNDIR_H
#define GP_DAEMON_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config/config.h"
#include "daemon/supervise/journal.h"

#define GP_RUNDIR_WHY_LEN 512

/**
 * gp_rundir_path() - its path: @given, or the machine's for root, else the user's own. 0 or
 * negative errno, with one line in @why.
 */
int gp_rundir_path(const char *given, char *path, size_t len, char *why, size_t why_len);

/**
 * gp_rundir_open() - create it if necessary, and take the keeper's role.
 * @journal: with GP_ROLE_KEEPER taken. An unreadable one is moved aside, which is logged
 * Return: 0; -EBUSY: gpreemptd runs; other negative errno. @why gets one line then.
 */
int gp_rundir_open(const char *path, struct gp_journal **journal, char *why, size_t why_len);

/**
 * gp_rundir_listen() - the socket in it, or a service manager's (sd_listen_fds(3));
 * @activated: the latter. fd (O_CLOEXEC) or negative errno.
 */
int gp_rundir_listen(const char *path, bool *activated, char *why, size_t why_len);

/** Link the socket into the folder GP_WIRE_SHARED. It logs a failure. */
void gp_rundir_share(const char *path);

/** Messages of this process and its children go to a new file in it. 0 or negative errno. */
int gp_rundir_log(const char *path);

/** Store @config, which is valid. 0 or negative errno. */
int gp_rundir_keep_config(const char *path, const struct gp_config *config);
/** gp_config_load() of the stored one. */
int gp_rundir_load_config(const char *path, struct gp_config **config, char *why, size_t len);

/** All has ended: remove its contents. @activated: the socket remains. */
void gp_rundir_clear(const char *path, bool activated);

#endif
