/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise.h - the daemon and two keepers watch each other: if one dies, another restarts it. They
 * share only the journal and the listening socket. A keeper needs only the journal to restore
 * tenants, and the same right to access their processes as the daemon.
 *
 * `gpreemptd` starts as the keeper. The daemon and the second keeper are its children, by exec
 * of the same program. If no daemon is ready 1.2 s after the last one died, a keeper has
 * everything restored (restore.h). A daemon that is starting gets 250 ms more for each process
 * of the journal.
 *
 * While the journal has records, each of the three reports in it that it runs: the daemon every
 * 200 ms, a keeper every 800 ms. The others kill one that misses five reports, for
 * example after SIGSTOP or in an endless loop.
 * Without records all three sleep.
 *
 * At the end of all three, the journal has a mark, and none is restarted.
 */
#ifndef GP_DAEMON_SUPERVISE_H
#define GP_DAEMON_SUPERVISE_H

#include <stdbool.h>

#include "daemon/supervise/journal.h"
#include "daemon/loop/loop.h"

struct gp_supervision;

/* Exit status of a daemon and of gpreemptd. */
enum gp_exit {
	GP_EXIT_DONE = 0,
	GP_EXIT_FAILED = 1,	 /* a daemon: needs a successor */
	GP_EXIT_NOT_STARTED = 2, /* a daemon: impossible, after a message */
	GP_EXIT_BUSY = 3,	 /* in a role: another process has it */
	GP_EXIT_USAGE = 64,	 /* as in sysexits.h */
	GP_EXIT_CONFIG = 78,
};

/**
 * struct gp_supervise_setup - the start parameters of each of the three, passed on to those that it
 * starts. Borrowed.
 * @run_dir: folder of the journal and the socket
 * @config_path: NULL: no file
 * @program: the started path: an upgrade is found there
 * @activated: the socket is a service manager's, and remains when all end
 * @journal: with @role taken
 * @listen_fd: the listening socket
 * @restores: number of restores at the time of the decision to restore
 * @idle_ns: all end after this time without use; 0: never
 * @on_demand: started by a process that needs it: all end as soon as the machine has a daemon
 */
struct gp_supervise_setup {
	enum gp_role role;
	const char *run_dir;
	const char *config_path;
	const char *program;
	bool activated;
	struct gp_journal *journal;
	int listen_fd;
	uint32_t restores;
	uint64_t idle_ns;
	bool on_demand;
};

int gp_supervise_create(const struct gp_supervise_setup *setup, struct gp_supervision **keep);
/** Stops watching. NULL is legal. */
void gp_supervise_destroy(struct gp_supervision *keep);

/** In the daemon: watch the keepers from now on. 0 or negative errno. */
int gp_supervise_watch(struct gp_supervision *keep, struct gp_loop *loop);
/**
 * In the daemon, before its first record of the journal: from now on each of the three reports
 * that it runs. Cheap if they do already; NULL is legal.
 */
void gp_supervise_begin(struct gp_supervision *keep);
/** Stop watching: they must end with this process. NULL is legal. */
void gp_supervise_unwatch(struct gp_supervision *keep);

/** The reason of a keeper's start. */
enum gp_supervise_start {
	GP_KEEP_FIRST,	  /* by the user, or a service manager */
	GP_KEEP_ANEW,	  /* in place of a dead one */
	GP_KEEP_UPGRADED, /* in place of itself: the others must follow */
};

/**
 * gp_supervise_run() - a keeper's main loop, until all have ended, or for the second until its own
 * end. SIGTERM, SIGINT: all end. SIGHUP: the daemon reads the configuration again. SIGUSR2 to
 * the keeper: use the replaced program; to the second: end. They must be blocked.
 * Return: enum gp_exit; negative errno.
 */
int gp_supervise_run(struct gp_supervision *keep, enum gp_supervise_start start);

/**
 * The restore process in a dead daemon's place: takes its role meanwhile.
 * Return: enum gp_exit.
 */
int gp_supervise_restore(const struct gp_supervise_setup *setup);

#endif
