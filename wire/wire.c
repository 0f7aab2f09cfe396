// SPDX-License-Identifier: Apache-2.0
/*
 * wire.c - addresses, checks and one round trip of the tenants' protocol.
 */
#include "wire/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TENANT_PREFIX "gpreempt/1/tenant/"
#define BACKLOG 16
/* __SO_ACCEPTCON in the Flags column of /proc/net/unix: a listening socket. */
#define PROC_FLAG_LISTENS 0x10000ul
/* Since Linux 6.16, include/uapi/asm-generic/socket.h. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

static size_t type_size(uint16_t type)
{
	switch (type) {
	case GP_WIRE_QUERY:
	case GP_WIRE_RESULT:
	case GP_WIRE_LIST:
	case GP_WIRE_DEVICES:
	case GP_WIRE_TRACE:
		return sizeof(struct gp_wire_head);
	case GP_WIRE_SET_CLASS:
		return sizeof(struct gp_wire_set_class);
	case GP_WIRE_HINT:
		return sizeof(struct gp_wire_hint);
	case GP_WIRE_YIELD:
		return sizeof(struct gp_wire_yield);
	case GP_WIRE_MEMORY:
		return sizeof(struct gp_wire_memory);
	case GP_WIRE_QUERY_DEVICE:
		return sizeof(struct gp_wire_query);
	case GP_WIRE_STATUS:
		return sizeof(struct gp_wire_status);
	case GP_WIRE_HELLO:
		return sizeof(struct gp_wire_hello);
	case GP_WIRE_FILES:
		return sizeof(struct gp_wire_files);
	case GP_WIRE_ASK_CLASS:
	case GP_WIRE_RULE:
		return sizeof(struct gp_wire_ask_class);
	case GP_WIRE_AWAY:
		return sizeof(struct gp_wire_away);
	case GP_WIRE_ROOM:
		return sizeof(struct gp_wire_room);
	case GP_WIRE_QUOTA:
		return sizeof(struct gp_wire_quota);
	case GP_WIRE_POOL:
		return sizeof(struct gp_wire_pool);
	case GP_WIRE_RULED:
		return sizeof(struct gp_wire_ruled);
	case GP_WIRE_WHY:
	case GP_WIRE_TAKE:
	case GP_WIRE_HISTOGRAM:
		return sizeof(struct gp_wire_take);
	case GP_WIRE_WELCOME:
	case GP_WIRE_CLASS:
		return sizeof(struct gp_wire_welcome);
	case GP_WIRE_TENANT:
		return sizeof(struct gp_wire_tenant);
	case GP_WIRE_DEVICE:
		return sizeof(struct gp_wire_device);
	case GP_WIRE_REASON:
		return sizeof(struct gp_wire_reason);
	case GP_WIRE_SAID:
		return sizeof(struct gp_wire_said);
	case GP_WIRE_BUCKETS:
		return sizeof(struct gp_wire_buckets);
	case GP_WIRE_TRACED:
		return sizeof(struct gp_wire_traced);
	default:
		return 0;
	}
}

void gp_wire_init(union gp_wire_msg *msg, enum gp_wire_type type)
{
	memset(msg, 0, sizeof(*msg));
	msg->head.magic = GP_WIRE_MAGIC;
	msg->head.version = GP_WIRE_VERSION;
	msg->head.type = (uint16_t)type;
	msg->head.size = (uint32_t)type_size((uint16_t)type);
}

int gp_wire_check(const union gp_wire_msg *msg, size_t len)
{
	if (len < sizeof(msg->head) || len > sizeof(*msg))
		return -EPROTO;
	if (msg->head.magic != GP_WIRE_MAGIC || msg->head.version != GP_WIRE_VERSION)
		return -EPROTO;
	if (msg->head.size != len || type_size(msg->head.type) != len)
		return -EPROTO;
	return 0;
}

static socklen_t tenant_address(pid_t pid, struct sockaddr_un *addr)
{
	int n;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	/* sun_path[0] stays 0: an abstract name, nothing on disk. */
	n = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, TENANT_PREFIX "%d", (int)pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int gp_wire_listen(pid_t pid)
{
	struct sockaddr_un addr;
	socklen_t len = tenant_address(pid, &addr);
	const int no = 0;
	int fd, err;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/*
	 * Messages to a tenant have no files, and closing one may take long. An older kernel
	 * lacks this option, and drops them late.
	 */
	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
	if (bind(fd, (struct sockaddr *)&addr, len) || listen(fd, BACKLOG)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int gp_wire_peer(int fd, pid_t *pid, uid_t *uid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	if (len != sizeof(cred))
		return -EPROTO;
	*pid = cred.pid;
	*uid = cred.uid;
	return 0;
}

int gp_wire_connect(pid_t pid)
{
	struct sockaddr_un addr;
	socklen_t len;
	pid_t peer;
	uid_t uid;
	int fd, err;

	if (pid <= 0)
		return -ESRCH;
	len = tenant_address(pid, &addr);
	/* Non-blocking: a stopped tenant with a full backlog gives -EAGAIN. */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, len)) {
		err = errno == ECONNREFUSED ? -ESRCH : -errno;
		goto err_close;
	}
	err = gp_wire_peer(fd, &peer, &uid);
	if (!err && peer != pid)
		err = -ESRCH;
	if (err)
		goto err_close;
	return fd;

err_close:
	close(fd);
	return err;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* 0: @fd is ready for @events; -ETIMEDOUT at @deadline_ms. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int64_t left;
	int n;

	do {
		left = deadline_ms - now_ms();
		n = poll(&pfd, 1, left > 0 ? (int)left : 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

/* The type of the successful answer; 0: none, or many messages. */
static uint16_t answer_type(uint16_t request)
{
	switch (request) {
	case GP_WIRE_QUERY:
	case GP_WIRE_QUERY_DEVICE:
		return GP_WIRE_STATUS;
	case GP_WIRE_SET_CLASS:
	case GP_WIRE_HINT:
	case GP_WIRE_YIELD:
		return GP_WIRE_RESULT;
	case GP_WIRE_MEMORY:
		return GP_WIRE_MEMORY;
	case GP_WIRE_AWAY:
		return GP_WIRE_AWAY;
	case GP_WIRE_ROOM:
		return GP_WIRE_ROOM;
	case GP_WIRE_QUOTA:
		return GP_WIRE_QUOTA;
	case GP_WIRE_ASK_CLASS:
	case GP_WIRE_TAKE:
	case GP_WIRE_POOL:
		return GP_WIRE_SAID;
	case GP_WIRE_RULE:
		return GP_WIRE_RULED;
	case GP_WIRE_WHY:
		return GP_WIRE_REASON;
	case GP_WIRE_HISTOGRAM:
		return GP_WIRE_BUCKETS;
	default:
		return 0;
	}
}

/* May @type answer @request, with @result? */
static bool answers(uint16_t request, uint16_t type, int32_t result)
{
	if (type == answer_type(request))
		return true;
	/* Only the daemon refuses with a text; any peer may refuse without one. */
	return result < 0 &&
	       (type == GP_WIRE_RESULT || (type == GP_WIRE_SAID && request >= GP_WIRE_HELLO));
}

/* Any next message, checked. @file, @files: as gp_wire_recv(). */
static int next_message(int fd, union gp_wire_msg *msg, int *file, size_t *files,
			int64_t deadline_ms)
{
	ssize_t n;
	int err;

	do {
		err = wait_for(fd, POLLIN, deadline_ms);
		if (err)
			return err;
		n = gp_wire_recv(fd, msg, file, files);
	} while (n == -EAGAIN);
	if (n < 0)
		return (int)n;
	if (n == 0)
		return -ECONNRESET;
	if (gp_wire_check(msg, (size_t)n) || gp_wire_check_body(msg))
		return -EPROTO;
	return 0;
}

int gp_wire_next(int fd, union gp_wire_msg *msg, int timeout_ms)
{
	return next_message(fd, msg, NULL, NULL, now_ms() + timeout_ms);
}

static int call(int fd, union gp_wire_msg *msg, int *file, size_t *files, int timeout_ms)
{
	int64_t deadline_ms = now_ms() + timeout_ms;
	uint16_t request = msg->head.type;
	int err;

	if (!answer_type(request))
		return -EPROTO;
	while ((err = gp_wire_send(fd, msg, NULL, 0)) == -EAGAIN) {
		err = wait_for(fd, POLLOUT, deadline_ms);
		if (err)
			return err;
	}
	if (!err)
		err = next_message(fd, msg, file, files, deadline_ms);
	if (err)
		return err;
	if (!answers(request, msg->head.type, msg->head.result))
		return -EPROTO;
	return msg->head.result;
}

int gp_wire_call(int fd, union gp_wire_msg *msg, int timeout_ms)
{
	return call(fd, msg, NULL, NULL, timeout_ms);
}

int gp_wire_call_file(int fd, union gp_wire_msg *msg, int *file, int timeout_ms)
{
	int files[GP_WIRE_MAX_FILES];
	size_t n = 0;
	int err = call(fd, msg, files, &n, timeout_ms);

	*file = -1;
	if (!err && n == 1) {
		*file = files[0];
		return 0;
	}
	while (n)
		close(files[--n]);
	return err ? err : -EPROTO;
}

/* The tenant that a line of /proc/net/unix shows as listening, or 0. */
static pid_t line_tenant(const char *line)
{
	unsigned long flags, type;
	const char *name;
	char *end;
	long pid;

	/* "Num" "RefCount" "Protocol" "Flags" "Type" "St" "Inode" "Path" */
	if (sscanf(line, "%*s %*s %*s %lx %lx", &flags, &type) != 2)
		return 0;
	if (!(flags & PROC_FLAG_LISTENS) || type != SOCK_SEQPACKET)
		return 0;
	name = strstr(line, " @" TENANT_PREFIX);
	if (!name)
		return 0;
	name += sizeof(" @" TENANT_PREFIX) - 1;
	errno = 0;
	pid = strtol(name, &end, 10);
	if (end == name || (*end && *end != '\n') || errno || pid <= 0 || pid > INT32_MAX)
		return 0;
	return (pid_t)pid;
}

ssize_t gp_wire_tenants(pid_t *pid, size_t max)
{
	char *line = NULL;
	size_t room = 0, count = 0;
	pid_t found;
	FILE *f;

	f = fopen("/proc/net/unix", "re");
	if (!f)
		return -errno;
	while (count < max && getline(&line, &room, f) >= 0) {
		found = line_tenant(line);
		if (found)
			pid[count++] = found;
	}
	free(line);
	fclose(f);
	return (ssize_t)count;
}
