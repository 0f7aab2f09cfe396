/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - CMD as a child, whose end is waited for while other things are done, and
 * to which signals are passed on.
 */
#ifndef GP_CLI_CHILD_H
#define GP_CLI_CHILD_H

#include <signal.h>
#include <sys/types.h>

/**
 * struct gp_child
 * @pid, @pidfd: 0 and -1 without a child
 * @signal_fd: readable: gp_child_forward() is due
 */
struct gp_child {
	pid_t pid;
	int pidfd, signal_fd;
	sigset_t old_mask;
};
#define GP_CHILD_NONE                                  \
	{                                              \
		.pid = 0, .pidfd = -1, .signal_fd = -1 \
	}

/** Signals that would end this process are read from @signal_fd now. 0 or negative errno. */
int gp_child_block_signals(struct gp_child *child);
/** 0; or the exit status, said. */
int gp_child_start(struct gp_child *child, const char *verb, char **argv);
/** Signals that came go to the child. How many came. */
int gp_child_forward(const struct gp_child *child);
/** Its status, as waitpid() gives it. */
int gp_child_wait(const struct gp_child *child);
/** What this process is to exit with. */
int gp_child_exit_status(int status);
/** Closes its files. */
void gp_child_done(struct gp_child *child);

#endif
