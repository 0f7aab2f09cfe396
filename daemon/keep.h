/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.h - the daemon and two keepers, which watch each other: whichever dies is
 * started anew by another one. They share the journal and the listening socket,
 * and nothing else: all that a keeper needs to put tenants back is the journal
 * and the right to look into their processes, which it has as the daemon had it.
 *
 * What `gpreemptd` starts as is the keeper; the daemon and the second keeper are
 * its children, by exec of the same program. A daemon that is not ready 1.2 s after
 * the last one died has everything put back in its stead (restore.h); one that is
 * there has 250 ms more for each process of the journal.
 *
 * One that is to end says so in the journal, and nobody is started any more.
 */
#ifndef GP_DAEMON_KEEP_H
#define GP_DAEMON_KEEP_H

#include <stdbool.h>

#include "daemon/journal.h"
#include "daemon/loop.h"

struct gp_keep;

/* Exit status of a daemon and of gpreemptd. */
enum gp_exit {
	GP_EXIT_DONE = 0,
	GP_EXIT_FAILED = 1,	 /* a daemon: to be succeeded */
	GP_EXIT_NOT_STARTED = 2, /* a daemon: it cannot be, and said why */
	GP_EXIT_BUSY = 3,	 /* in a role: another has it */
	GP_EXIT_USAGE = 64,	 /* as sysexits.h has them */
	GP_EXIT_CONFIG = 78,
};

/**
 * struct gp_keep_setup - what each of the three is started with, and passes on
 * to those that it starts. Borrowed.
 * @run_dir: where the journal and the socket are
 * @config_path: NULL: there is no file
 * @program: path that was started: where an upgrade is found
 * @activated: the socket is a service manager's, and stays when all end
 * @journal: with @role taken
 * @listen_fd: the listening socket
 * @restores: how often all had been put back when it was decided to do so
 */
struct gp_keep_setup {
	enum gp_role role;
	const char *run_dir;
	const char *config_path;
	const char *program;
	bool activated;
	struct gp_journal *journal;
	int listen_fd;
	uint32_t restores;
};

int gp_keep_create(const struct gp_keep_setup *setup, struct gp_keep **keep);
/** Unwatches. NULL is legal. */
void gp_keep_destroy(struct gp_keep *keep);

/** In the daemon: watch the keepers from now on. 0 or negative errno. */
int gp_keep_watch(struct gp_keep *keep, struct gp_loop *loop);
/** And no longer: they are to end with this process. NULL is legal. */
void gp_keep_unwatch(struct gp_keep *keep);

/** What a keeper was started for. */
enum gp_keep_start {
	GP_KEEP_FIRST,	  /* the one that the user, or a service manager, started */
	GP_KEEP_ANEW,	  /* in place of one that died */
	GP_KEEP_UPGRADED, /* in place of itself: the others are to follow */
};

/**
 * gp_keep_run() - what a keeper does, until all have ended, or for the second
 * until it is to. SIGTERM, SIGINT: all end. SIGHUP: the configuration is read
 * again, by the daemon. SIGUSR2: to the keeper, the program has been replaced and is
 * to be taken up; to the second, end. They must be blocked.
 * Return: enum gp_exit; negative errno.
 */
int gp_keep_run(struct gp_keep *keep, enum gp_keep_start start);

/**
 * The child that puts back in a dead daemon's stead: takes its role meanwhile.
 * Return: enum gp_exit.
 */
int gp_keep_restore(const struct gp_keep_setup *setup);

#endif
