// SPDX-License-Identifier: Apache-2.0
/*
 * The first and only service of the rig's guest. It reads /rig/plan, does what
 * each line says, and tells the host by lines on a virtio serial port:
 *
 *	T NAME		a test begins
 *	O TEXT		a line of its output
 *	K TEXT		a line of the kernel's log
 *	E NAME HOW MS	it ended: "exit N", "signal N", "timeout", "stuck"
 *	M TEXT		something else failed (loading a module, say)
 *	DONE		the plan is done
 *
 * Lines of the plan:
 *	env NAME=VALUE		for all tests that follow
 *	load PATH PARAMETERS	load a module
 *	unload NAME		unload it, trying for some seconds
 *	test SECONDS NAME PROGRAM ARGUMENTS
 *	kmemleak		ask the kernel for leaks, which come as K lines
 *	shell			a shell on the console
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096
#define UNLOAD_TRIES_100MS 100
#define REAP_TRIES_10MS 1500

static int port_fd = 1;
static int kmsg_fd = -1;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&ts, NULL);
}

static void port_write(const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(port_fd, data, len);

		if (n < 0 && errno != EINTR)
			return;
		if (n > 0) {
			data += n;
			len -= n;
		}
	}
}

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	port_write(line, n);
}

/* A record of /dev/kmsg is "level,seq,usec,flags;text\n KEY=value...". */
static void say_kmsg(char *rec)
{
	char *text = strchr(rec, ';');
	long long usec;

	if (!text || sscanf(rec, "%*u,%*u,%lld", &usec) != 1)
		return;
	*text++ = 0;
	text[strcspn(text, "\n")] = 0;
	say("K %lld.%06lld %s", usec / 1000000, usec % 1000000, text);
}

static void drain_kmsg(void)
{
	char rec[LINE_MAX_BYTES];
	ssize_t n;

	if (kmsg_fd < 0)
		return;
	for (;;) {
		n = read(kmsg_fd, rec, sizeof(rec) - 1);
		if (n < 0 && errno == EPIPE)
			continue; /* overwritten before it was read */
		if (n <= 0)
			return;
		rec[n] = 0;
		say_kmsg(rec);
	}
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static void load_module(char *args)
{
	char *params = strchr(args, ' ');
	int fd;

	if (params)
		*params++ = 0;
	fd = open(args, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		say("M load %s: %s", args, strerror(errno));
		return;
	}
	if (syscall(SYS_finit_module, fd, params ? params : "", 0) && errno != EEXIST)
		say("M load %s: %s", args, strerror(errno));
	close(fd);
	drain_kmsg();
}

static void unload_module(const char *name)
{
	int i;

	/* The last process's teardown goes on in a work item for a while. */
	for (i = 0; i < UNLOAD_TRIES_100MS; i++) {
		if (!syscall(SYS_delete_module, name, O_NONBLOCK) || errno == ENOENT)
			break;
		sleep_ms(100);
	}
	if (i == UNLOAD_TRIES_100MS)
		say("M unload %s: %s", name, strerror(errno));
	drain_kmsg();
}

static void kmemleak_scan(void)
{
	const char *path = "/sys/kernel/debug/kmemleak";
	char line[LINE_MAX_BYTES];
	FILE *f;
	int err;

	/* An object is reported when it is older than 5 s and two scans agree. */
	sleep_ms(6000);
	err = write_file(path, "scan");
	sleep_ms(6000);
	if (!err)
		err = write_file(path, "scan");
	if (err) {
		/* It turns itself off when it runs out of memory, say. */
		say("M kmemleak: %s", strerror(-err));
		return;
	}
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		say("K kmemleak: %s", line);
	}
	if (f)
		fclose(f);
	write_file(path, "clear");
}

static void run_child(char **argv, int out_fd)
{
	int null_fd = open("/dev/null", O_RDONLY);

	setsid();
	dup2(null_fd, 0);
	dup2(out_fd, 1);
	dup2(out_fd, 2);
	if (chdir("/tmp"))
		_exit(126);
	execv(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

struct line_buf {
	char data[LINE_MAX_BYTES - 8];
	size_t len;
};

static void put_output(struct line_buf *lb, const char *data, size_t len)
{
	for (; len; data++, len--) {
		if (*data != '\n')
			lb->data[lb->len++] = *data;
		if (*data == '\n' || lb->len == sizeof(lb->data)) {
			say("O %.*s", (int)lb->len, lb->data);
			lb->len = 0;
		}
	}
}

/* How many bytes; 0: none now; < 0: the pipe's other end is closed. */
static ssize_t copy_output(int fd, struct line_buf *lb)
{
	char buf[2048];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0)
		put_output(lb, buf, n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n > 0 ? n : -1;
}

/*
 * All processes but this one: a test's children do not outlive it. Each of
 * them becomes a child of this one when its parent is gone.
 */
static bool kill_rest(void)
{
	int i;

	for (i = 0; i < REAP_TRIES_10MS; i++) {
		pid_t pid;

		kill(-1, SIGKILL);
		do {
			pid = waitpid(-1, NULL, WNOHANG);
		} while (pid > 0);
		if (pid < 0 && errno == ECHILD)
			return true;
		sleep_ms(i < 50 ? 1 : 10);
	}
	return false;
}

static void run_test(char *args)
{
	struct line_buf lb = { .len = 0 };
	char *argv[32], *name;
	int64_t start, deadline;
	int pipe_fd[2], argc = 0, status = 0, seconds;
	bool exited = false, timed_out = false;
	char how[64];
	pid_t pid;

	seconds = atoi(strtok(args, " "));
	name = strtok(NULL, " ");
	while (argc < 31 && (argv[argc] = strtok(NULL, " ")))
		argc++;
	argv[argc] = NULL;
	if (!name || !argc)
		return;

	say("T %s", name);
	if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK))
		return;
	start = now_ms();
	deadline = start + seconds * 1000LL;
	pid = fork();
	if (!pid) {
		fcntl(pipe_fd[1], F_SETFL, 0);
		run_child(argv, pipe_fd[1]);
	}
	close(pipe_fd[1]);
	for (;;) {
		struct pollfd pfd = { pipe_fd[0], POLLIN, 0 };
		bool open_end = true;

		poll(&pfd, 1, 20);
		if (pfd.revents)
			open_end = copy_output(pipe_fd[0], &lb) >= 0;
		drain_kmsg();
		if (waitpid(pid, &status, WNOHANG) == pid) {
			exited = true;
			break;
		}
		if (!open_end)
			sleep_ms(5);
		if (now_ms() > deadline) {
			timed_out = true;
			write_file("/proc/sysrq-trigger", "w");
			break;
		}
	}
	while (exited && copy_output(pipe_fd[0], &lb) > 0)
		;
	if (timed_out)
		kill(pid, SIGKILL);
	if (!kill_rest()) {
		write_file("/proc/sysrq-trigger", "w");
		snprintf(how, sizeof(how), "stuck");
	} else if (timed_out) {
		snprintf(how, sizeof(how), "timeout");
	} else if (WIFSIGNALED(status)) {
		snprintf(how, sizeof(how), "signal %d", WTERMSIG(status));
	} else {
		snprintf(how, sizeof(how), "exit %d", WEXITSTATUS(status));
	}
	if (lb.len)
		say("O %.*s", (int)lb.len, lb.data);
	close(pipe_fd[0]);
	drain_kmsg();
	say("E %s %s %lld", name, how, (long long)(now_ms() - start));
}

static void run_shell(void)
{
	char *argv[] = { "/bin/sh", "-l", NULL };
	pid_t pid = fork();

	if (!pid) {
		int fd = open("/dev/ttyS0", O_RDWR);

		setsid();
		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
		execv(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static void open_port(void)
{
	char path[64];
	int i, n, fd;

	for (i = 0; i < 100; i++) {
		for (n = 0; n < 4; n++) {
			snprintf(path, sizeof(path), "/dev/vport%dp1", n);
			fd = open(path, O_WRONLY | O_CLOEXEC);
			if (fd >= 0) {
				port_fd = fd;
				return;
			}
		}
		sleep_ms(20);
	}
}

static void mount_all(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 01777);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mkdir("/dev/shm", 01777);
	mkdir("/dev/pts", 0755);
	mount("shm", "/dev/shm", "tmpfs", 0, NULL);
	mount("pts", "/dev/pts", "devpts", 0, NULL);
	mount("tmp", "/tmp", "tmpfs", 0, NULL);
	mount("debug", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("trace", "/sys/kernel/tracing", "tracefs", 0, NULL);
}

static void do_line(char *line)
{
	char *args = strchr(line, ' ');

	if (args)
		*args++ = 0;
	if (!strcmp(line, "shell"))
		run_shell();
	else if (!strcmp(line, "kmemleak"))
		kmemleak_scan();
	else if (!args)
		return;
	else if (!strcmp(line, "env"))
		putenv(strdup(args));
	else if (!strcmp(line, "load"))
		load_module(args);
	else if (!strcmp(line, "unload"))
		unload_module(args);
	else if (!strcmp(line, "test"))
		run_test(args);
}

int main(void)
{
	char line[LINE_MAX_BYTES];
	FILE *plan;

	mount_all();
	setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin", 1);
	setenv("HOME", "/tmp", 1);
	open_port();
	kmsg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	/* So that sysrq w works, and a hung task shows before the limit does. */
	write_file("/proc/sys/kernel/sysrq", "1");
	write_file("/proc/sys/kernel/hung_task_timeout_secs", "60");
	write_file("/proc/sys/kernel/core_pattern", "/dev/null");
	drain_kmsg();

	plan = fopen("/rig/plan", "re");
	while (plan && fgets(line, sizeof(line), plan)) {
		line[strcspn(line, "\n")] = 0;
		do_line(line);
	}
	drain_kmsg();
	say("DONE");
	if (port_fd != 1)
		close(port_fd);
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
