/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.h - the process that decides. supervise.h starts and restarts it. */
#ifndef GP_DAEMON_DAEMON_H
#define GP_DAEMON_DAEMON_H

#include "daemon/config/config.h"
#include "daemon/supervise/journal.h"
#include "daemon/supervise/supervise.h"

/**
 * struct gp_daemon_setup - its start parameters; borrowed except the config.
 * @config_path: read again at SIGHUP; NULL: no file
 * @config: of it, the daemon's from here on
 * @journal: with GP_ROLE_DAEMON taken
 * @listen_fd: its listening socket
 * @keep: the other roles, which it watches; NULL: none (tests)
 * @idle_ns, @on_demand: as in struct gp_supervise_setup
 */
struct gp_daemon_setup {
	const char *config_path;
	struct gp_config *config;
	struct gp_journal *journal;
	int listen_fd;
	struct gp_supervision *keep;
	uint64_t idle_ns;
	bool on_demand;
};

/**
 * gp_daemon_run() - runs until SIGTERM or SIGINT: takes over the journal's tenants, serves the
 * socket, discovers processes, rotates. At the end it restores everything and empties the
 * journal. SIGHUP: reads the configuration again, and keeps the old one if it is invalid.
 * SIGUSR2: ends at once, leaving everything and the journal as it is, for a successor. Sends
 * READY=1 to a service manager.
 * Return: 0: restored; 1: needs a successor; negative errno: it could not start.
 */
int gp_daemon_run(const struct gp_daemon_setup *setup);

#endif
