// SPDX-License-Identifier: Apache-2.0
/*
 * hold.c - hsaq hold, unload, load, grant. What is kept off is so as long as
 * the command runs: the driver's limit is renewed in good time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/parse.h"
#include "libhsaq/cmd/cmd.h"

/* The one limit that a hold has, and when it is renewed. */
struct limit {
	uint64_t limit_ns;
	uint64_t renew_ns;	/* 0: it is long enough */
	uint64_t until_ns;	/* 0: no end */
};

static int find_limit(const struct hsaq_args *args, struct hsaq *h,
		      uint32_t gpu_id, struct limit *limit)
{
	struct hsaq_device_state state = { .size = sizeof(state) };
	int err = hsaq_device_state(h, gpu_id, &state);

	if (err)
		return hsaq_fail_call(args, h, "device", err);
	*limit = (struct limit){ .limit_ns = state.max_hold_ns };
	if (args->has_for) {
		limit->until_ns = hsaq_now_ns() + args->for_ns;
		if (args->for_ns <= state.max_hold_ns) {
			limit->limit_ns = args->for_ns ? args->for_ns : 1;
			return 0;
		}
	}
	limit->renew_ns = state.max_hold_ns / 2;
	return 0;
}

/* Become @cmd in a child; its PID, or HSAQ_EXIT_OWN in *@err. */
static pid_t start(const struct hsaq_args *args, char **cmd, int *err)
{
	pid_t pid = fork();

	*err = 0;
	if (pid < 0) {
		*err = hsaq_fail(args, "fork: %s", strerror(errno));
		return 0;
	}
	if (!pid) {
		hsaq_stay_child();
		execvp(cmd[0], cmd);
		hsaq_fail(args, "%s: %s", cmd[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	return pid;
}

/* ---- hold -------------------------------------------------------------------------- */

struct holding {
	struct hsaq *h;
	uint32_t gpu_id, level, hold_id;
	uint64_t limit_ns;
};

/* First the new one, then the old: nobody gets on in between. */
static int renew_hold(void *arg)
{
	struct hsaq_hold_result result = { .size = sizeof(result) };
	struct holding *k = arg;
	uint32_t before = k->hold_id;
	int err = hsaq_hold(k->h, k->gpu_id, k->level, k->limit_ns, 0, &result);

	if (err)
		return err;
	k->hold_id = result.hold_id;
	err = hsaq_release(k->h, k->gpu_id, before, NULL);
	return err == -ENOENT ? 0 : err;
}

static int keep_hold(const struct hsaq_args *args, struct holding *k,
		     const struct limit *limit)
{
	struct hsaq_release_result result = { .size = sizeof(result) };
	struct hsaq_stay stay = {
		.until_ns = args->rest[0] ? 0 : limit->until_ns,
		.renew_ns = limit->renew_ns, .listen_fd = -1,
		.renew = renew_hold, .arg = k,
	};
	int err = 0;

	if (args->rest[0])
		stay.child = start(args, args->rest, &err);
	if (!err) {
		err = hsaq_stay(&stay);
		if (err)
			err = hsaq_fail_call(args, k->h, "renewing", err);
	}
	if (!err && hsaq_release(k->h, k->gpu_id, k->hold_id, &result))
		err = hsaq_fail(args, "the hold had ended by itself");
	if (err)
		return err;
	if (result.ended == HSAQ_ENDED_RELEASED)
		fprintf(stderr, "hsaq: released: %u queues loaded\n", result.loaded);
	else
		fprintf(stderr, "hsaq: the hold had ended by %s\n",
			result.ended == HSAQ_ENDED_LIMIT ? "its limit" :
							   "a reset");
	if (!stay.child)
		return 0;
	return WIFSIGNALED(stay.status) ? 128 + WTERMSIG(stay.status) :
					  WEXITSTATUS(stay.status);
}

static int hold(const struct hsaq_args *args, struct hsaq *h)
{
	struct hsaq_hold_result result = { .size = sizeof(result) };
	struct hsaq_device_info info;
	struct limit limit;
	struct holding k;
	int err = hsaq_get_device(args, h, &info);

	if (!err)
		err = find_limit(args, h, info.gpu_id, &limit);
	if (err)
		return err;
	/* CMD, not a time, is what ends it. */
	if (args->rest[0] && !limit.renew_ns)
		limit.renew_ns = limit.limit_ns / 2;
	k = (struct holding){ h, info.gpu_id, args->level, 0, limit.limit_ns };
	err = hsaq_stay_prepare();
	if (!err)
		err = hsaq_hold(h, k.gpu_id, k.level, k.limit_ns, 0, &result);
	if (err)
		return hsaq_fail_call(args, h, "hold", err);
	k.hold_id = result.hold_id;
	fprintf(stderr, "hsaq: held: %u queues unloaded, %u failed, in %.1f us\n",
		result.unloaded, result.failed, (double)result.wait_ns / 1000);
	return keep_hold(args, &k, &limit);
}

int hsaq_verb_hold(const struct hsaq_args *args)
{
	struct hsaq *h;
	int err = hsaq_get(args, &h);

	if (err)
		return err;
	err = hold(args, h);
	hsaq_close(h);
	return err;
}

/* ---- unload, load ------------------------------------------------------------------- */

struct target {
	struct hsaq *h;
	uint32_t gpu_id;
	pid_t pid;
	uint32_t queue_id;
	uint64_t limit_ns;
};

/* "PID" or "PID:QUEUE". */
static int parse_target(const struct hsaq_args *args, struct target *t)
{
	const char *text = args->rest[0];
	char pid[16] = "", *end;
	const char *colon;
	unsigned long queue;

	if (!text || args->rest[1])
		return hsaq_fail(args, "write hsaq %s PID or PID:QUEUE (hsaq ls "
				 "lists them)", args->verb);
	colon = strchr(text, ':');
	snprintf(pid, sizeof(pid), "%.*s",
		 colon ? (int)(colon - text) : (int)strlen(text), text);
	t->queue_id = HSAQ_ALL_QUEUES;
	if (colon) {
		queue = strtoul(colon + 1, &end, 10);
		if (colon[1] < '0' || colon[1] > '9' || *end || queue > 1023)
			return hsaq_fail(args, "%s: not a queue's number", text);
		t->queue_id = (uint32_t)queue;
	}
	if (gp_parse_pid(pid, &t->pid))
		return hsaq_fail(args, "%s: not a process's number", text);
	return 0;
}

/* Where the command that unloaded it listens for the word to end. */
static socklen_t address(const struct target *t, struct sockaddr_un *addr)
{
	int n;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	n = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
		     "hsaq/1/unload/%u/%d/%u", t->gpu_id, (int)t->pid,
		     t->queue_id);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int listen_for_load(const struct target *t)
{
	struct sockaddr_un addr;
	socklen_t len = address(t, &addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&addr, len) && !listen(fd, 4))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int count_queue(const struct hsaq_queue_info *info, void *arg)
{
	++*(size_t *)arg;
	return 0;
}

static int get_target(const struct hsaq_args *args, struct hsaq *h,
		      struct target *t)
{
	struct hsaq_device_info info;
	size_t queues = 0;
	int err = parse_target(args, t);

	if (!err)
		err = hsaq_get_device(args, h, &info);
	if (err)
		return err;
	t->h = h;
	t->gpu_id = info.gpu_id;
	err = hsaq_queues(h, t->gpu_id, t->pid, count_queue, &queues);
	if (err)
		return hsaq_fail_call(args, h, "queues", err);
	return queues ? 0 : hsaq_fail(args, "process %d has no queues on device "
				      "%u (hsaq ls lists who has)", (int)t->pid,
				      t->gpu_id);
}

static int renew_unload(void *arg)
{
	const struct target *t = arg;

	return hsaq_unload(t->h, t->gpu_id, t->pid, t->queue_id, t->limit_ns);
}

static int unload(const struct hsaq_args *args, struct hsaq *h)
{
	struct hsaq_stay stay = { .renew = renew_unload };
	struct limit limit;
	struct target t;
	int err = get_target(args, h, &t);

	if (!err)
		err = find_limit(args, h, t.gpu_id, &limit);
	if (err)
		return err;
	t.limit_ns = limit.limit_ns;
	stay.listen_fd = listen_for_load(&t);
	if (stay.listen_fd < 0)
		return hsaq_fail(args, "process %d: another hsaq unload keeps it "
				 "off", (int)t.pid);
	err = hsaq_stay_prepare();
	if (!err)
		err = renew_unload(&t);
	if (err)
		return hsaq_fail_call(args, h, "unload", err);
	fprintf(stderr, "hsaq: process %d is off; hsaq load, Ctrl-C%s puts it "
		"back\n", (int)t.pid, limit.until_ns ? " or the time's end" : "");
	stay.until_ns = limit.until_ns;
	stay.renew_ns = limit.renew_ns;
	stay.arg = &t;
	err = hsaq_stay(&stay);
	if (!err)
		err = hsaq_load(h, t.gpu_id, t.pid, t.queue_id);
	close(stay.listen_fd);
	return err ? hsaq_fail_call(args, h, "unload", err) : 0;
}

int hsaq_verb_unload(const struct hsaq_args *args)
{
	struct hsaq *h;
	int err = hsaq_get(args, &h);

	if (err)
		return err;
	err = unload(args, h);
	hsaq_close(h);
	return err;
}

int hsaq_verb_load(const struct hsaq_args *args)
{
	struct sockaddr_un addr;
	struct target t;
	struct hsaq *h;
	char byte;
	int fd, err = hsaq_get(args, &h);

	if (err)
		return err;
	err = get_target(args, h, &t);
	hsaq_close(h);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, address(&t, &addr)))
		err = hsaq_fail(args, "no hsaq unload keeps process %d off%s",
				(int)t.pid, t.queue_id == HSAQ_ALL_QUEUES ? "" :
				" by that queue");
	/* It closes its end before it loads, and the address goes with it. */
	else if (read(fd, &byte, 1) < 0)
		err = hsaq_fail(args, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

/* ---- grant ------------------------------------------------------------------------------ */

static int grant(const struct hsaq_args *args, struct hsaq *h, int fd)
{
	struct hsaq_device_info info = { .gpu_id = 0 };
	char text[16];
	int err = args->device ? hsaq_get_device(args, h, &info) : 0;

	if (!err) {
		err = hsaq_grant_narrow(fd, args->rights, args->min_level,
					info.gpu_id);
		if (err)
			err = hsaq_fail(args, "narrowing: %s", strerror(-err));
	}
	hsaq_close(h);
	if (err)
		return err;
	/* CMD inherits it: without close-on-exec. */
	fd = dup(fd);
	snprintf(text, sizeof(text), "%d", fd);
	if (fd < 0 || setenv("GPREEMPT_GRANT_FD", text, 1))
		return hsaq_fail(args, "%s", strerror(errno));
	execvp(args->rest[0], args->rest);
	hsaq_fail(args, "%s: %s", args->rest[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

int hsaq_verb_grant(const struct hsaq_args *args)
{
	struct hsaq *h;
	int fd, err;

	if (!args->rest[0])
		return hsaq_fail(args, "no command; write hsaq grant -- CMD");
	err = hsaq_get(args, &h);
	if (err)
		return err;
	fd = hsaq_grant_open();
	if (fd >= 0)
		return grant(args, h, fd);
	hsaq_close(h);
	return hsaq_fail(args, "/dev/kfd_sched: %s%s", strerror(-fd),
			 fd == -ENOENT ? "; it takes the patched driver with "
					 "amdgpu.sched_policy=2" :
			 fd == -EACCES ? "; join the group that owns it" : "");
}
