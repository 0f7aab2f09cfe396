// SPDX-License-Identifier: Apache-2.0
/*
 * The trace events of queues and holds. A hold and the death of its holder leave their
 * events in order. The time from the exit to the last load is within its limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define TRACING "/sys/kernel/tracing/"
#define QUEUES 3
#define LEVEL 3
#define LIMIT_NS 5000000000ull
#define RELOAD_NS 20000000.0

static char trace[1 << 20];

static void write_trace(const char *file, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	must(fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0, path);
	close(fd);
}

static void read_trace(void)
{
	FILE *f = fopen(TRACING "trace", "r");
	size_t len;

	if (!f)
		bail("no " TRACING "trace");
	len = fread(trace, 1, sizeof(trace) - 1, f);
	trace[len] = 0;
	fclose(f);
}

/* The time of the next line from *at that has both texts; 0: none. */
static double find(const char **at, const char *event, const char *text)
{
	const char *line = *at;

	while (*line) {
		const char *end = strchrnul(line, '\n');
		const char *e = memmem(line, end - line, event, strlen(event));
		const char *t = memmem(line, end - line, text, strlen(text));

		if (e && t) {
			/* "task-pid [cpu] flags seconds: event: fields" */
			while (e > line && e[-1] != ':')
				e--;
			while (--e > line && e[-1] != ' ')
				;
			*at = *end ? end + 1 : end;
			return atof(e) * 1e9;
		}
		line = *end ? end + 1 : end;
	}
	return 0;
}

static unsigned int count(const char *from, const char *event, const char *text)
{
	unsigned int num = 0;

	while (find(&from, event, text))
		num++;
	return num;
}

static int holder(uint32_t gpu_id, int ready)
{
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd k;

	if (kfd_open(&k) || kfd_hold(&k, gpu_id, LEVEL, LIMIT_NS, 0, &hold) ||
	    write(ready, "x", 1) != 1)
		return 1;
	for (;;)
		pause();
}

static void check_death(struct kfd *k, const struct tenant *t)
{
	char mine[32], dead[32], c;
	const char *at = trace;
	double end, load = 0;
	int i, ready[2];
	pid_t pid;

	must(pipe(ready) ? -errno : 0, "pipe");
	pid = fork();
	if (!pid)
		_exit(holder(k->gpus[0].gpu_id, ready[1]));
	must(read(ready[0], &c, 1) == 1 ? 0 : -EIO, "holder");
	write_trace("trace", "");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sleep_ns(100000000);
	read_trace();

	snprintf(mine, sizeof(mine), " pid=%d ", t->pid);
	snprintf(dead, sizeof(dead), "pid=%d ", pid);
	/* sched_process_exit comes after exit_mm(), which ends the hold. */
	end = find(&at, "signal_deliver:", "sig=9 ");
	ok(end, "the holder's exit begins");
	ok(find(&at, "kfd_nohws_hold_end:", dead), "its hold ends");
	for (i = 0; i < QUEUES; i++)
		load = find(&at, "kfd_nohws_load:", mine);
	ok(load, "all queues are loaded after that");
	ok_time(load && load - end < RELOAD_NS, "within 20 ms of the exit");
	figure("from exit to the last load: %.0f us", (load - end) / 1e3);
}

static void check_hold(struct kfd *k, const struct tenant *t)
{
	struct kfd_ioctl_sched_release_args rel;
	struct kfd_ioctl_sched_hold_args hold;
	char mine[32], name[32];
	const char *at = trace;

	write_trace("trace", "");
	must(kfd_hold(k, k->gpus[0].gpu_id, LEVEL, LIMIT_NS, 0, &hold), "hold");
	sleep_ns(10000000);
	must(kfd_release(k, k->gpus[0].gpu_id, hold.hold_id, &rel), "release");
	sleep_ns(10000000);
	read_trace();

	snprintf(mine, sizeof(mine), " pid=%d ", t->pid);
	snprintf(name, sizeof(name), " hold=%u ", hold.hold_id);
	ok(count(trace, "kfd_nohws_request:", mine) >= QUEUES &&
		   count(trace, "kfd_nohws_saved:", mine) >= QUEUES,
	   "requests and saves of a hold");
	ok(find(&at, "kfd_nohws_hold:", name), "the hold");
	ok(!count(trace, "kfd_nohws_quarantine:", ""), "no quarantine");
	ok(find(&at, "kfd_nohws_hold_end:", "ended=released"), "its end");
	ok(count(at, "kfd_nohws_load:", mine) >= QUEUES, "and the loads, after it");
}

int main(void)
{
	struct tenant *t = tenants_alloc(1);
	struct kfd k;

	if (mount("tracefs", TRACING, "tracefs", 0, NULL) && errno != EBUSY)
		bail("tracefs: %s", strerror(errno));
	must(kfd_open(&k), "open");
	t->queues = QUEUES;
	tenant_start(t);
	must(tenants_ready(t, 1, 20000), "tenant");
	write_trace("events/amdkfd/enable", "1");
	write_trace("events/signal/signal_deliver/enable", "1");
	check_hold(&k, t);
	check_death(&k, t);
	write_trace("events/amdkfd/enable", "0");
	write_trace("events/signal/signal_deliver/enable", "0");
	tenants_stop(t, 1, 20000);
	return done();
}
