// SPDX-License-Identifier: Apache-2.0
#include "daemon/pool/mps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/loop/loop.h"
#include "wire/pool.h"

#define LIMIT_NS 10000000000u /* of a command; a busy machine is slow */
#define NAP_NS 2000000
#define COMM "nvidia-cuda-mps" /* as far as the kernel keeps a name */

extern char **environ;

/* @in, @out: its standard input and output; -1: none. PID or negative errno. */
static pid_t spawn(char *const argv[], int in, int out)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	pid_t pid = -1;
	int err = posix_spawn_file_actions_init(&files);

	if (err)
		return -err;
	err = posix_spawnattr_init(&attr);
	if (err) {
		posix_spawn_file_actions_destroy(&files);
		return -err;
	}
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	err = in < 0 ? posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) :
		       posix_spawn_file_actions_adddup2(&files, in, 0);
	if (!err)
		err = out < 0 ? posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY,
								 0) :
				posix_spawn_file_actions_adddup2(&files, out, 1);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	if (!err)
		err = posix_spawnp(&pid, argv[0], &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return err ? -err : pid;
}

/* Its end, until @until_ns; then it is killed. 0; -ETIMEDOUT; -EIO: it failed. */
static int wait_for(pid_t pid, uint64_t until_ns)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	int status = 0;
	pid_t done;

	while (!(done = waitpid(pid, &status, WNOHANG)) && gp_loop_now_ns() < until_ns)
		nanosleep(&nap, NULL);
	if (done == pid)
		return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -ETIMEDOUT;
}

int gp_mps_start(void)
{
	static char detached[] = "-d";
	char *const argv[] = { (char *)gp_pool_control(), detached, NULL };
	pid_t pid = spawn(argv, -1, -1);

	return pid < 0 ? (int)pid : wait_for(pid, gp_loop_now_ns() + LIMIT_NS);
}

/* Until the writer has closed, or @until_ns. */
static void read_all(int fd, char answer[GP_MPS_TEXT], uint64_t until_ns)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < GP_MPS_TEXT - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		const uint64_t now_ns = gp_loop_now_ns();

		if (now_ns >= until_ns || poll(&p, 1, (int)((until_ns - now_ns) / 1000000)) <= 0)
			break;
		n = read(fd, answer + len, GP_MPS_TEXT - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	answer[len] = '\0';
}

int gp_mps_ask(const char *command, char answer[GP_MPS_TEXT])
{
	const uint64_t until_ns = gp_loop_now_ns() + LIMIT_NS;
	char *const argv[] = { (char *)gp_pool_control(), NULL };
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC))
		return -errno;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return -EMFILE;
	}
	/* A pipe has room for it. */
	dprintf(in[1], "%s\n", command);
	close(in[1]);
	pid = spawn(argv, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	answer[0] = '\0';
	if (pid > 0)
		read_all(out[0], answer, until_ns);
	close(out[0]);
	return pid < 0 ? (int)pid : wait_for(pid, until_ns);
}

ssize_t gp_mps_pids(const char *command, pid_t *pid, size_t max)
{
	char answer[GP_MPS_TEXT], *at = answer;
	int err = gp_mps_ask(command, answer);
	size_t n = 0;

	/* A line each. Of a line with other words nothing counts. */
	while (!err && *at && n < max) {
		char *end;
		long number = strtol(at, &end, 10);

		if (end > at && number > 0 && number <= INT32_MAX && (*end == '\n' || !*end))
			pid[n++] = (pid_t)number;
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return err ? err : (ssize_t)n;
}

bool gp_mps_is(pid_t pid)
{
	char path[64], line[128] = "";
	struct stat st;
	const char *comm, *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = pid > 0 ? fopen(path, "re") : NULL;
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f) || fstat(fileno(f), &st))
		line[0] = '\0';
	fclose(f);
	comm = strchr(line, '(');
	end = strrchr(line, ')');
	/* One that has ended waits for its parent. */
	return comm && end && !strncmp(comm + 1, COMM, strlen(COMM)) && strncmp(end, ") Z", 3) &&
	       st.st_uid == geteuid();
}

void gp_mps_kill(pid_t pid)
{
	if (gp_mps_is(pid))
		kill(pid, SIGKILL);
}
