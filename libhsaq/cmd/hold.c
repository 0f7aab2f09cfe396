// SPDX-License-Identifier: Apache-2.0
/*
 * hold.c - hsaq hold, unload, load, grant. Queues stay off as long as the command runs: it
 * renews the driver's limit early enough.
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

/* A hold's one limit, and the interval of its renewals. */
struct limit {
	uint64_t limit_ns;
	uint64_t renew_ns; /* 0: the limit is long enough */
	uint64_t until_ns; /* 0: no end */
};

/* Explains @err of a call about a device. Returns HSAQ_EXIT_OWN. */
static int fail_device(const struct hsaq_args *args, const struct hsaq *h, uint32_t gpu_id, int err)
{
	char where[32];

	snprintf(where, sizeof(where), "device %u", gpu_id);
	return hsaq_fail_call(args, h, gpu_id, where, err);
}

static int find_limit(const struct hsaq_args *args, struct hsaq *h, uint32_t gpu_id,
		      struct limit *limit)
{
	struct hsaq_device_state state = { .size = sizeof(state) };
	int err = hsaq_device_state(h, gpu_id, &state);

	if (err)
		return fail_device(args, h, gpu_id, err);
	*limit = (struct limit){ .limit_ns = state.max_hold_ns };
	if (args->has_for) {
		limit->until_ns = hsaq_now_ns() + args->for_ns;
		if (args->for_ns <= state.max_hold_ns) {
			limit->limit_ns = args->for_ns;
			return 0;
		}
	}
	limit->renew_ns = state.max_hold_ns / 2;
	return 0;
}

/* Returns only if CMD cannot run: the exit status, as of env(1). */
static int become(const struct hsaq_args *args)
{
	int err;

	execvp(args->rest[0], args->rest);
	err = errno;
	hsaq_fail(args, "%s: %s", args->rest[0], strerror(err));
	return err == ENOENT ? 127 : 126;
}

/* CMD in a child. 0 or HSAQ_EXIT_OWN. */
static int start(const struct hsaq_args *args, pid_t *child)
{
	*child = fork();
	if (*child < 0) {
		*child = 0;
		return hsaq_fail(args, "cannot start the command: %s", strerror(errno));
	}
	if (!*child) {
		hsaq_stay_child();
		_exit(become(args));
	}
	return 0;
}

/* ---- hold -------------------------------------------------------------------------- */

struct holding {
	struct hsaq *h;
	uint32_t gpu_id, level, hold_id;
	uint64_t limit_ns;
};

/* The new hold first, then the old: no queue runs in between. */
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

/* 0, or HSAQ_EXIT_OWN after a message. Ends CMD if the hold is lost. */
static int stay_held(const struct hsaq_args *args, const struct holding *k, struct hsaq_stay *stay)
{
	int err = hsaq_stay(stay);

	if (!err)
		return 0;
	err = hsaq_fail_call(args, k->h, k->gpu_id, "renewing", err);
	if (!stay->child)
		return err;
	stay->renew_ns = 0;
	return hsaq_stay(stay) ? err : 0;
}

static int end_hold(const struct hsaq_args *args, const struct holding *k)
{
	struct hsaq_release_result result = { .size = sizeof(result) };

	if (hsaq_release(k->h, k->gpu_id, k->hold_id, &result))
		return hsaq_fail(args, "the hold ended before its release");
	if (result.ended == HSAQ_ENDED_RELEASED)
		fprintf(stderr, "hsaq: released: %u queues loaded\n", result.loaded);
	else
		fprintf(stderr, "hsaq: the hold ended early, by %s\n",
			result.ended == HSAQ_ENDED_LIMIT ? "its limit" : "a reset");
	return 0;
}

static int keep_hold(const struct hsaq_args *args, struct holding *k, const struct limit *limit)
{
	struct hsaq_stay stay = {
		.until_ns = limit->until_ns,
		.renew_ns = limit->renew_ns,
		.listen_fd = -1,
		.renew = renew_hold,
		.arg = k,
	};
	int err = args->rest[0] ? start(args, &stay.child) : 0;

	if (!err)
		err = stay_held(args, k, &stay);
	if (err)
		return err;
	err = end_hold(args, k);
	if (!stay.child)
		return err;
	return WIFSIGNALED(stay.status) ? 128 + WTERMSIG(stay.status) : WEXITSTATUS(stay.status);
}

int hsaq_check_hold(const struct hsaq_args *args)
{
	if (args->rest[0] && args->has_for)
		return hsaq_fail(args, "--for and a command exclude each other; write one of them");
	return 0;
}

int hsaq_verb_hold(const struct hsaq_args *args, struct hsaq *h)
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
	k = (struct holding){ h, info.gpu_id, args->level, 0, limit.limit_ns };
	err = hsaq_stay_prepare();
	if (!err)
		err = hsaq_hold(h, k.gpu_id, k.level, k.limit_ns, 0, &result);
	if (err)
		return fail_device(args, h, k.gpu_id, err);
	k.hold_id = result.hold_id;
	fprintf(stderr, "hsaq: held: %u queues unloaded, %u failed, in %.1f us\n", result.unloaded,
		result.failed, (double)result.wait_ns / 1000);
	return keep_hold(args, &k, &limit);
}

/* ---- unload, load ------------------------------------------------------------------- */

struct target {
	struct hsaq *h;
	uint32_t gpu_id;
	pid_t pid;
	uint32_t queue_id;
	uint64_t limit_ns;
};

/* The same for a process. */
static int fail_target(const struct hsaq_args *args, const struct target *t, int err)
{
	char where[32];

	snprintf(where, sizeof(where), "process %d", (int)t->pid);
	return hsaq_fail_call(args, t->h, t->gpu_id, where, err);
}

/* "PID" or "PID:QUEUE". */
static int parse_target(const struct hsaq_args *args, struct target *t)
{
	const char *text = args->rest[0];
	char pid[16] = "", *end;
	const char *colon;
	unsigned long queue;

	if (!text || args->rest[1])
		return hsaq_fail(args, "write hsaq %s [OPTION...] PID or PID:QUEUE (see hsaq ls)",
				 args->verb);
	colon = strchr(text, ':');
	snprintf(pid, sizeof(pid), "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
	t->queue_id = HSAQ_ALL_QUEUES;
	if (colon) {
		queue = strtoul(colon + 1, &end, 10);
		if (colon[1] < '0' || colon[1] > '9' || *end || queue > 1023)
			return hsaq_fail(args, "%s: not a queue number; see hsaq ls", text);
		t->queue_id = (uint32_t)queue;
	}
	if (gp_parse_pid(pid, &t->pid))
		return hsaq_fail(args, "%s: not a PID; see hsaq ls", text);
	return 0;
}

/* Address of the hsaq unload command, which listens for hsaq load. */
static socklen_t address(const struct target *t, struct sockaddr_un *addr)
{
	int n;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	n = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "hsaq/1/unload/%u/%d/%u",
		     t->gpu_id, (int)t->pid, t->queue_id);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int listen_for_load(const struct target *t)
{
	struct sockaddr_un addr;
	socklen_t len = address(t, &addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

int hsaq_check_target(const struct hsaq_args *args)
{
	struct target t;

	return parse_target(args, &t);
}

/* Finds the target and its device: does it have queues there? */
static int find_target(const struct hsaq_args *args, struct hsaq *h, struct target *t)
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
		return fail_target(args, t, err);
	return queues ? 0 :
			hsaq_fail(args, "process %d has no queues on device %u; see hsaq ls",
				  (int)t->pid, t->gpu_id);
}

static int renew_unload(void *arg)
{
	const struct target *t = arg;

	return hsaq_unload(t->h, t->gpu_id, t->pid, t->queue_id, t->limit_ns);
}

/* Keeps it off until an event ends that, then loads it. 0 or negative errno. */
static int keep_off(struct target *t, const struct limit *limit, int listen_fd)
{
	struct hsaq_stay stay = {
		.until_ns = limit->until_ns,
		.renew_ns = limit->renew_ns,
		.listen_fd = listen_fd,
		.renew = renew_unload,
		.arg = t,
	};
	int err = hsaq_stay(&stay);

	if (!err)
		err = hsaq_load(t->h, t->gpu_id, t->pid, t->queue_id);
	/* The requester may unload it again at once: the address must be free by then. */
	close(listen_fd);
	if (stay.asker_fd >= 0) {
		hsaq_answer(stay.asker_fd, err);
		close(stay.asker_fd);
	}
	return err;
}

int hsaq_verb_unload(const struct hsaq_args *args, struct hsaq *h)
{
	struct limit limit;
	struct target t;
	int listen_fd, err = find_target(args, h, &t);

	if (!err)
		err = find_limit(args, h, t.gpu_id, &limit);
	if (err)
		return err;
	t.limit_ns = limit.limit_ns;
	listen_fd = listen_for_load(&t);
	if (listen_fd == -EADDRINUSE)
		return hsaq_fail(args,
				 "process %d: another hsaq unload keeps it unloaded; end that with "
				 "hsaq load",
				 (int)t.pid);
	err = listen_fd < 0 ? listen_fd : hsaq_stay_prepare();
	if (!err)
		err = renew_unload(&t);
	if (err)
		return fail_target(args, &t, err);
	fprintf(stderr, "hsaq: process %d is unloaded; hsaq load or Ctrl-C%s loads it again\n",
		(int)t.pid, limit.until_ns ? " or the end of --for" : "");
	err = keep_off(&t, &limit, listen_fd);
	return err ? fail_target(args, &t, err) : 0;
}

/* Asks the hsaq unload that keeps @t off to end, and waits for that. */
static int ask_to_load(const struct hsaq_args *args, const struct target *t)
{
	struct sockaddr_un addr;
	int32_t answer = 0;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ssize_t n = -1;

	if (fd < 0)
		return hsaq_fail(args, "cannot create a socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&addr, address(t, &addr))) {
		close(fd);
		return hsaq_fail(args, "no hsaq unload keeps process %d unloaded%s", (int)t->pid,
				 t->queue_id == HSAQ_ALL_QUEUES ? "" : " by that queue");
	}
	n = read(fd, &answer, sizeof(answer));
	close(fd);
	if (n == sizeof(answer) && answer == -EPERM)
		return hsaq_fail(
			args, "process %d: another user's hsaq unload keeps it unloaded; use sudo",
			(int)t->pid);
	/* Without an answer it ended otherwise, and the driver loads then. */
	return n == sizeof(answer) && answer ?
		       hsaq_fail(args, "process %d: %s", (int)t->pid, strerror(-answer)) :
		       0;
}

int hsaq_verb_load(const struct hsaq_args *args, struct hsaq *h)
{
	struct target t;
	int err = find_target(args, h, &t);

	return err ? err : ask_to_load(args, &t);
}

/* ---- grant ------------------------------------------------------------------------------ */

int hsaq_check_grant(const struct hsaq_args *args)
{
	return args->rest[0] ? 0 : hsaq_fail(args, "command missing; write hsaq grant -- CMD");
}

static int open_grant(const struct hsaq_args *args, int *fd)
{
	*fd = hsaq_grant_open();
	if (*fd >= 0)
		return 0;
	return hsaq_fail(args, "cannot open /dev/kfd_sched: %s%s", strerror(-*fd),
			 *fd == -ENOENT ? "; boot the patched driver with amdgpu.sched_policy=2" :
			 *fd == -EACCES ? "; join the group that owns it" :
					  "");
}

int hsaq_verb_grant(const struct hsaq_args *args, struct hsaq *h)
{
	struct hsaq_device_info info = { .gpu_id = 0 };
	char text[16];
	int fd, err = open_grant(args, &fd);

	if (!err && args->device)
		err = hsaq_get_device(args, h, &info);
	if (err)
		return err;
	err = hsaq_grant_narrow(fd, args->rights, args->min_level, info.gpu_id);
	if (err)
		return hsaq_fail(args, "cannot restrict the grant's rights: %s", strerror(-err));
	/* CMD inherits it: no close-on-exec, unlike our other files. */
	fd = dup(fd);
	snprintf(text, sizeof(text), "%d", fd);
	if (fd < 0 || setenv("GPREEMPT_GRANT_FD", text, 1))
		return hsaq_fail(args, "cannot pass the grant to the command: %s", strerror(errno));
	return become(args);
}
