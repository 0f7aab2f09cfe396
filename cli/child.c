// SPDX-License-Identifier: Apache-2.0
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

static const int forwarded[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM };

int gp_child_block_signals(struct gp_child *child)
{
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&mask, forwarded[i]);
	if (sigprocmask(SIG_BLOCK, &mask, &child->old_mask))
		return -errno;
	child->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return child->signal_fd < 0 ? -errno : 0;
}

/* In the child. @fd receives the reason of a failed exec; a successful one closes it. */
static void become_cmd(const struct gp_child *child, char **argv, int fd)
{
	int err;

	sigprocmask(SIG_SETMASK, &child->old_mask, NULL);
	execvp(argv[0], argv);
	err = errno;
	(void)!write(fd, &err, sizeof(err));
	_exit(GP_EXIT_OWN);
}

int gp_child_start(struct gp_child *child, const char *verb, char **argv)
{
	int fd[2], err = 0;
	ssize_t n;

	if (pipe2(fd, O_CLOEXEC))
		return gp_fail("%s: cannot create a pipe: %s", verb, strerror(errno));
	child->pid = fork();
	if (child->pid < 0) {
		close(fd[0]);
		close(fd[1]);
		return gp_fail("%s: cannot start a process: %s", verb, strerror(errno));
	}
	if (!child->pid)
		become_cmd(child, argv, fd[1]);
	close(fd[1]);
	do {
		n = read(fd[0], &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close(fd[0]);
	if (n == sizeof(err)) {
		waitpid(child->pid, NULL, 0);
		return gp_launch_failed(verb, argv[0], err);
	}
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0u);
	return child->pidfd < 0 ?
		       gp_fail("%s: cannot watch the command: %s", verb, strerror(errno)) :
		       0;
}

/* The terminal's signals have reached CMD already: one foreground group. */
int gp_child_forward(const struct gp_child *child)
{
	struct signalfd_siginfo info;
	int count = 0;

	for (; read(child->signal_fd, &info, sizeof(info)) == sizeof(info); count++)
		if (child->pid > 0 && info.ssi_code != SI_KERNEL)
			kill(child->pid, (int)info.ssi_signo);
	return count;
}

int gp_child_wait(const struct gp_child *child)
{
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int gp_child_exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void gp_child_done(struct gp_child *child)
{
	gp_cleanup_close(&child->pidfd);
	gp_cleanup_close(&child->signal_fd);
}
