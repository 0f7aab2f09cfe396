/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - CMD as a child: signals are forwarded to it, and its end can be awaited together
 * with other events.
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

/** From now on @signal_fd receives signals that would end this process. 0 or negative errno. */
int gp_child_block_signals(struct gp_child *child);
/** 0, or the exit status after a message. */
int gp_child_start(struct gp_child *child, const char *verb, char **argv);
/** Forward received signals to the child. Returns their number. */
int gp_child_forward(const struct gp_child *child);
/** Its status, in waitpid()'s form. */
int gp_child_wait(const struct gp_child *child);
/** This process's exit status. */
int gp_child_exit_status(int status);
/** Closes its files. */
void gp_child_done(struct gp_child *child);

#endif
