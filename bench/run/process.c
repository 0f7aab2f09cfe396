// SPDX-License-Identifier: Apache-2.0
#include "bench/run/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLED 137

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int left_ms(uint64_t until_ms)
{
	const uint64_t now = now_ms();

	return now < until_ms ? (int)(until_ms - now) : 0;
}

/* In the child: nothing of ours but the two ends. */
static void become(char *const argv[], int in, int out, bool tree)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It stays one in the program that it becomes: prctl(2). */
	prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)tree);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(127);
	execvp(argv[0], argv);
	dprintf(2, "gpreempt-bench: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int start(struct gp_process *p, char *const argv[], bool tree)
{
	int in[2], out[2];

	memset(p, 0, sizeof(*p));
	if (pipe2(in, O_CLOEXEC))
		return -errno;
	if (pipe2(out, O_CLOEXEC)) {
		close(in[0]);
		close(in[1]);
		return -errno;
	}
	p->pid = fork();
	if (!p->pid)
		become(argv, in[0], out[1], tree);
	close(in[0]);
	close(out[1]);
	p->in = in[1];
	p->out = out[0];
	if (p->pid < 0) {
		p->pid = 0;
		close(p->in);
		close(p->out);
		return -EAGAIN;
	}
	return 0;
}

int gp_process_start(struct gp_process *p, char *const argv[])
{
	return start(p, argv, false);
}

int gp_process_start_tree(struct gp_process *p, char *const argv[])
{
	return start(p, argv, true);
}

/* One line more into @line, if there is a whole one. */
static int take_line(struct gp_process *p, char *line, size_t len)
{
	char *end = memchr(p->line, '\n', p->have);
	const size_t n = end ? (size_t)(end - p->line) : 0;

	if (!end)
		return -EAGAIN;
	if (n >= len)
		return -E2BIG;
	memcpy(line, p->line, n);
	line[n] = '\0';
	p->have -= n + 1;
	memmove(p->line, end + 1, p->have);
	return 0;
}

static int read_more(struct gp_process *p, uint64_t until_ms)
{
	struct pollfd out = { .fd = p->out, .events = POLLIN };
	ssize_t n;

	if (p->have == sizeof(p->line))
		return -E2BIG;
	n = poll(&out, 1, left_ms(until_ms));
	if (n <= 0)
		return n < 0 && errno != EINTR ? -errno : left_ms(until_ms) ? 0 : -ETIMEDOUT;
	n = read(p->out, p->line + p->have, sizeof(p->line) - p->have);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	p->have += (size_t)n;
	return 0;
}

int gp_process_expect(struct gp_process *p, const char *word, uint64_t timeout_ms, char *line,
		      size_t len)
{
	const uint64_t until_ms = now_ms() + timeout_ms;

	for (;;) {
		int err = take_line(p, line, len);

		if (!err && !strncmp(line, word, strlen(word)))
			return 0;
		if (err == -EAGAIN)
			err = read_more(p, until_ms);
		if (err)
			return err;
	}
}

int gp_process_send(struct gp_process *p, const char *line)
{
	const size_t n = strlen(line);

	return write(p->in, line, n) == (ssize_t)n ? 0 : -EPIPE;
}

void gp_process_say_no_more(struct gp_process *p)
{
	if (p->in >= 0)
		close(p->in);
	p->in = -1;
}

static int reap(struct gp_process *p)
{
	int status = 0;

	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	gp_process_say_no_more(p);
	close(p->out);
	p->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

bool gp_process_has_ended(const struct gp_process *p, int *status)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return false;
	*status = info.si_code == CLD_EXITED ? info.si_status : KILLED;
	return true;
}

int gp_process_end(struct gp_process *p, uint64_t timeout_ms)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, p->pid, 0), .events = POLLIN };
	const int n = ended.fd < 0 ? 1 : poll(&ended, 1, (int)timeout_ms);

	if (ended.fd >= 0)
		close(ended.fd);
	if (n > 0)
		return reap(p);
	gp_process_kill(p);
	return -ETIMEDOUT;
}

void gp_process_kill(struct gp_process *p)
{
	if (!p->pid)
		return;
	/* With what it started: it has a group of its own. */
	kill(-p->pid, SIGKILL);
	kill(p->pid, SIGKILL);
	reap(p);
}
