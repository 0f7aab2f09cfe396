// SPDX-License-Identifier: Apache-2.0
/*
 * serve.c - connections. A round of the loop takes at most one message of each, so a peer that
 * sends much gets no more of it than others.
 */
#include "daemon/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/log.h"

#define ACCEPT_ROUND 4	/* so that a thousand at once delay no other source */
#define GUARD_NS 200000 /* per wait for peers' files to close */

struct gp_serve {
	struct gp_source source;
	struct gp_loop *loop;
	const struct gp_serve_ops *ops;
	void *arg;
	struct gp_conn *conns;
	uint32_t user_max;
	uint64_t last_id;
	int spare_fd; /* to accept a connection when files run out */
};

static uint32_t of_user(const struct gp_serve *s, uid_t uid)
{
	uint32_t n = 0;

	for (const struct gp_conn *c = s->conns; c; c = c->next)
		n += c->uid == uid;
	return n;
}

struct gp_conn *gp_serve_find(struct gp_serve *s, uint64_t id)
{
	struct gp_conn *c = s->conns;

	while (c && c->id != id)
		c = c->next;
	return c;
}

/* A message without room in the socket. */
struct gp_late {
	struct gp_late *next;
	union gp_wire_msg msg; /* allocated up to head.size bytes */
};

static void forget(struct gp_conn *conn)
{
	struct gp_conn **at = &conn->serve->conns;
	struct gp_late *late;

	while ((late = conn->late)) {
		conn->late = late->next;
		free(late);
	}

	while (*at != conn)
		at = &(*at)->next;
	*at = conn->next;
	gp_loop_remove(&conn->source);
}

void gp_conn_close(struct gp_conn *conn)
{
	forget(conn);
	conn->serve->ops->closed(conn->serve->arg, conn);
	gp_wire_close(conn->source.fd);
	free(conn);
}

int gp_conn_detach(struct gp_conn *conn)
{
	int fd = conn->source.fd;

	forget(conn);
	free(conn);
	return fd;
}

static int send_later(struct gp_conn *conn, const union gp_wire_msg *msg)
{
	struct gp_late *late;

	if (conn->lates == GP_CONN_LATE_MAX)
		return -EAGAIN;
	late = malloc(offsetof(struct gp_late, msg) + msg->head.size);
	if (!late)
		return -ENOMEM;
	late->next = NULL;
	memcpy(&late->msg, msg, msg->head.size);
	if (!conn->lates++)
		conn->late_end = &conn->late;
	*conn->late_end = late;
	conn->late_end = &late->next;
	return gp_loop_change(&conn->source, EPOLLIN | EPOLLOUT);
}

/* 0: all waiting messages are sent, or must wait on. */
static int send_late(struct gp_conn *conn)
{
	struct gp_late *late;
	int err = 0;

	while (!err && (late = conn->late)) {
		err = gp_wire_send(conn->source.fd, &late->msg, NULL, 0);
		if (err)
			break;
		conn->late = late->next;
		conn->lates--;
		free(late);
	}
	if (!conn->late)
		return gp_loop_change(&conn->source, EPOLLIN);
	return err == -EAGAIN ? 0 : err;
}

bool gp_conn_send(struct gp_conn *conn, const union gp_wire_msg *msg, const int *file, size_t n)
{
	int err = conn->late ? -EAGAIN : gp_wire_send(conn->source.fd, msg, file, n);

	if (err == -EAGAIN && !n)
		err = send_later(conn, msg);
	if (!err)
		return true;
	if (err == -EAGAIN)
		gp_log(GP_LOG_INFO, "process %d does not read its answers; disconnected",
		       (int)conn->pid);
	gp_conn_close(conn);
	return false;
}

bool gp_conn_say(struct gp_conn *conn, int result, const char *fmt, ...)
{
	union gp_wire_msg msg;
	va_list ap;

	gp_wire_init(&msg, GP_WIRE_SAID);
	msg.head.result = result;
	va_start(ap, fmt);
	vsnprintf(msg.said.text, sizeof(msg.said.text), fmt, ap);
	va_end(ap);
	return gp_conn_send(conn, &msg, NULL, 0);
}

bool gp_conn_result(struct gp_conn *conn, int result)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_RESULT);
	msg.head.result = result;
	return gp_conn_send(conn, &msg, NULL, 0);
}

static void conn_ready(struct gp_source *source, uint32_t events)
{
	struct gp_conn *conn = (struct gp_conn *)(void *)source;
	int file[GP_WIRE_MAX_FILES];
	union gp_wire_msg msg;
	size_t n = 0;
	ssize_t len;

	if (events & EPOLLOUT && send_late(conn)) {
		gp_conn_close(conn);
		return;
	}
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	len = gp_wire_recv(source->fd, &msg, file, &n);
	if (len == -EAGAIN)
		return;
	if (len == -EPROTO || len == -EMFILE) {
		gp_conn_result(conn, (int)len);
		return;
	}
	if (len <= 0) {
		gp_conn_close(conn);
		return;
	}
	if (gp_wire_check(&msg, (size_t)len) || gp_wire_check_body(&msg)) {
		gp_wire_drop(file, n);
		gp_conn_result(conn, -EPROTO);
		return;
	}
	conn->serve->ops->message(conn->serve->arg, conn, &msg, file, n);
}

/* Sends the reason as one text; then the caller closes it. */
static void refuse(int fd, const char *text)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_SAID);
	msg.head.result = -EUSERS;
	snprintf(msg.said.text, sizeof(msg.said.text), "%s", text);
	gp_wire_send(fd, &msg, NULL, 0);
	gp_wire_close(fd);
}

static void conn_new(struct gp_serve *s, int fd)
{
	struct gp_conn *conn;
	pid_t pid;
	uid_t uid;

	/* From a PID namespace that this one cannot see: pid 0. */
	if (gp_wire_peer(fd, &pid, &uid)) {
		gp_wire_close(fd);
		return;
	}
	if (of_user(s, uid) >= s->user_max) {
		refuse(fd, "this user has too many connections; raise limits_per_user: "
			   "connections: in gpreempt.yaml");
		return;
	}
	conn = calloc(1, sizeof(*conn));
	if (!conn) {
		gp_wire_close(fd);
		return;
	}
	*conn = (struct gp_conn){
		.source = { .fd = fd, .ready = conn_ready },
		.serve = s,
		.next = s->conns,
		.id = ++s->last_id,
		.pid = pid,
		.uid = uid,
	};
	if (gp_loop_add(s->loop, &conn->source, EPOLLIN)) {
		gp_wire_close(fd);
		free(conn);
		return;
	}
	s->conns = conn;
}

/* Files ran out: accept the next one, and close it. */
static void shed(struct gp_serve *s)
{
	int fd;

	close(s->spare_fd);
	fd = accept4(s->source.fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		gp_wire_close(fd);
	s->spare_fd = fcntl(s->source.fd, F_DUPFD_CLOEXEC, 0);
}

static void accept_ready(struct gp_source *source, uint32_t events)
{
	struct gp_serve *s = (struct gp_serve *)(void *)source;

	for (int i = 0; i < ACCEPT_ROUND; i++) {
		int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			shed(s);
		if (fd < 0)
			return;
		conn_new(s, fd);
	}
}

int gp_serve_create(struct gp_loop *loop, int listen_fd, uint32_t user_connections,
		    const struct gp_serve_ops *ops, void *arg, struct gp_serve **serve)
{
	struct gp_serve *s;
	int err;

	err = gp_wire_guard(GUARD_NS);
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s) {
		gp_wire_guard_end();
		return -ENOMEM;
	}
	*s = (struct gp_serve){
		.source = { .fd = listen_fd, .ready = accept_ready },
		.loop = loop,
		.ops = ops,
		.arg = arg,
		.user_max = user_connections,
		.spare_fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0),
	};
	err = gp_loop_add(loop, &s->source, EPOLLIN);
	if (err) {
		gp_wire_guard_end();
		close(s->spare_fd);
		free(s);
		return err;
	}
	*serve = s;
	return 0;
}

void gp_serve_limit(struct gp_serve *serve, uint32_t user_connections)
{
	serve->user_max = user_connections;
}

void gp_serve_destroy(struct gp_serve *serve)
{
	if (!serve)
		return;
	while (serve->conns)
		gp_conn_close(serve->conns);
	gp_loop_remove(&serve->source);
	gp_wire_guard_end();
	close(serve->spare_fd);
	free(serve);
}
