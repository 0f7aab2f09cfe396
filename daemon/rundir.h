/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rundir.h - the folder of a running daemon: its journal, its socket, and the
 * configuration that was last found right, for a daemon that is started anew while
 * the file is wrong.
 */
#ifndef GP_DAEMON_RUNDIR_H
#define GP_DAEMON_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config.h"
#include "daemon/journal.h"

#define GP_RUNDIR_WHY_LEN 512

/**
 * gp_rundir_path() - where it is: @given, or the machine's for root, else the user's own.
 * 0 or negative errno; @why gets one line then.
 */
int gp_rundir_path(const char *given, char *path, size_t len, char *why, size_t why_len);

/**
 * gp_rundir_open() - make it if need be, and become its keeper.
 * @journal: with GP_ROLE_KEEPER taken. One that cannot be read is put aside, which is logged
 * Return: 0; -EBUSY: gpreemptd runs; other negative errno. @why gets one line then.
 */
int gp_rundir_open(const char *path, struct gp_journal **journal, char *why, size_t why_len);

/**
 * gp_rundir_listen() - the socket in it, or the one that a service manager passed
 * (sd_listen_fds(3)); @activated: it did. fd (O_CLOEXEC) or negative errno.
 */
int gp_rundir_listen(const char *path, bool *activated, char *why, size_t why_len);

/** Keep @config, which is right. 0 or negative errno. */
int gp_rundir_keep_config(const char *path, const struct gp_config *config);
/** gp_config_load() of that. */
int gp_rundir_load_config(const char *path, struct gp_config **config, char *why, size_t len);

/** All has ended: what is in it goes. @activated: the socket stays. */
void gp_rundir_clear(const char *path, bool activated);

#endif
