// SPDX-License-Identifier: Apache-2.0
#include "daemon/supervise/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/loop/spawn_self.h"

#define ARGS_MAX 12
#define ARG_LEN 4224 /* an option, and a path of PATH_MAX */
#define CHECK_MS 5000
/* A child's file numbers. */
#define JOURNAL_FD GP_SPAWN_FIRST_FD
#define LISTEN_FD (GP_SPAWN_FIRST_FD + 1)

extern char **environ;

const char *const gp_spawn_names[GP_ROLES + 1] = {
	[GP_ROLE_DAEMON] = "daemon",
	[GP_ROLE_KEEPER] = "keeper",
	[GP_ROLE_SECOND] = "second",
	[GP_SPAWN_RESTORE] = "restore",
};

struct args {
	char text[ARGS_MAX][ARG_LEN];
	char *argv[ARGS_MAX + 2];
	size_t n;
};

static void add(struct args *args, const char *option, const char *value)
{
	if (!value || args->n == ARGS_MAX)
		return;
	snprintf(args->text[args->n], ARG_LEN, "%s%s", option, value);
	args->argv[args->n + 1] = args->text[args->n];
	args->n++;
}

static void fill(struct args *args, const struct gp_supervise_setup *setup, const char *role,
		 int journal_fd, int listen_fd)
{
	static char name[] = "gpreemptd";
	char number[16], time[24];

	memset(args, 0, sizeof(*args));
	args->argv[0] = name;
	add(args, "--role=", role);
	snprintf(number, sizeof(number), "%d", journal_fd);
	add(args, "--journal-fd=", number);
	snprintf(number, sizeof(number), "%d", listen_fd);
	add(args, "--listen-fd=", number);
	add(args, "--run-dir=", setup->run_dir);
	add(args, "--config=", setup->config_path);
	add(args, "--program=", setup->program);
	snprintf(number, sizeof(number), "%u", setup->restores);
	add(args, "--restores=", number);
	if (setup->activated)
		add(args, "--activated", "");
	if (setup->idle_ns) {
		snprintf(time, sizeof(time), "%" PRIu64 "ns", setup->idle_ns);
		add(args, "--idle-exit=", time);
	}
	if (setup->on_demand)
		add(args, "--on-demand", "");
}

int gp_spawn(const struct gp_supervise_setup *setup, unsigned int role, pid_t *pid)
{
	int file[] = { gp_journal_again(setup->journal), setup->listen_fd }, err;
	struct args args;

	if (file[0] < 0)
		return file[0];
	fill(&args, setup, gp_spawn_names[role], JOURNAL_FD, LISTEN_FD);
	err = gp_spawn_self(args.argv, file, 2, pid);
	close(file[0]);
	return err;
}

/* ---- a successor ------------------------------------------------------------ */

/* Its exit status; -ETIMEDOUT: it was killed. */
static int outcome(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0u), status, n;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	do {
		n = fd < 0 ? 1 : poll(&pfd, 1, CHECK_MS);
	} while (n < 0 && errno == EINTR);
	if (fd >= 0)
		close(fd);
	if (!n)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!n)
		return -ETIMEDOUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EBADMSG;
}

/* A program without this option fails, too. */
static int check_program(const char *program)
{
	char option[32];
	char *const argv[] = { (char *)(uintptr_t)program, option, NULL };
	posix_spawnattr_t attr;
	pid_t pid;
	int err = gp_spawn_attr(&attr);

	if (err)
		return err;
	snprintf(option, sizeof(option), "--takes-journal=%u", GP_JOURNAL_VERSION);
	err = -posix_spawn(&pid, program, NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	if (err)
		return err;
	err = outcome(pid);
	return err > 0 ? -EBADMSG : err;
}

static void keep_at_exec(int fd, bool keep)
{
	fcntl(fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

int gp_spawn_successor(const struct gp_supervise_setup *setup)
{
	int journal_fd = gp_journal_fd(setup->journal), err = check_program(setup->program);
	struct args args;

	if (err)
		return err;
	fill(&args, setup, gp_spawn_names[GP_ROLE_KEEPER], journal_fd, setup->listen_fd);
	add(&args, "--upgraded", "");
	keep_at_exec(journal_fd, true);
	keep_at_exec(setup->listen_fd, true);
	execv(setup->program, args.argv);
	err = -errno;
	keep_at_exec(journal_fd, false);
	keep_at_exec(setup->listen_fd, false);
	return err;
}
