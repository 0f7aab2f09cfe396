/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - the process that decides. keep.h starts it, and starts it anew.
 */
#ifndef GP_DAEMON_DAEMON_H
#define GP_DAEMON_DAEMON_H

#include "daemon/config.h"
#include "daemon/journal.h"
#include "daemon/keep.h"

/**
 * struct gp_daemon_setup - what it is started with; borrowed but for the config.
 * @config_path: read again at SIGHUP; NULL: there is no file
 * @config: of it, the daemon's from here on
 * @journal: with GP_ROLE_DAEMON taken
 * @listen_fd: its socket, listening
 * @keep: the other roles, which it watches; NULL: there are none (tests)
 */
struct gp_daemon_setup {
	const char *config_path;
	struct gp_config *config;
	struct gp_journal *journal;
	int listen_fd;
	struct gp_keep *keep;
};

/**
 * gp_daemon_run() - until SIGTERM or SIGINT: takes up what the journal says, serves
 * the socket, finds processes, rotates; at the end puts everything back as it
 * was found and empties the journal. SIGHUP: reads the configuration again, keeps
 * the old one if it is wrong. SIGUSR2: ends at once, leaving everything and the
 * journal as it is, for a successor. Says READY=1 to a service manager.
 * Return: 0: put back; 1: to be succeeded; negative errno: it could not start.
 */
int gp_daemon_run(const struct gp_daemon_setup *setup);

#endif
