// SPDX-License-Identifier: Apache-2.0
/*
 * serve.c - connections. A round of the loop takes at most one message of each, so a peer that
 * sends much gets no more of it than others.
 *
 * Files in a socket's queue: when the last reference to a socket goes, so do its messages,
 * their files, and perhaps the last references to these. That calls no flush, but release: on
 * a FUSE with a write-back cache it waits for the server (fs/fuse/file.c, fuse_release():
 * write_inode_now()), as it does to unlock a file (fs/locks.c, locks_remove_flock()). A socket
 * that lingers waits, too. So the last reference to a socket with messages is a receiver's.
 */
#include "daemon/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/discover/proc.h"
#include "daemon/receive/receivers.h"
#include "runtime/log.h"

#define ACCEPT_ROUND 4 /* so that a thousand at once delay no other source */
#define DROP_MOST 64   /* messages: a receiver takes a longer queue */
#define PARKED_MOST 256u
#define AGAIN_NS 1000000000u /* the next attempt to give parked ones away */
/* Since Linux 6.5, include/uapi/asm-generic/socket.h. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

struct gp_serve {
	struct gp_source source;
	struct gp_loop *loop;
	struct gp_receivers *receivers;
	const struct gp_serve_ops *ops;
	void *arg;
	struct gp_conn *conns;
	struct gp_conn *closing; /* of no use any more, but not closed */
	uint32_t parked;	 /* of these, without a job */
	struct gp_tick again;
	bool paused; /* too many are parked: accepts none */
	uint32_t user_max;
	uint64_t last_id;
	int spare_fd; /* to accept a connection when files run out */
};

/* What a receiver does with a connection. */
struct gp_files_job {
	struct gp_receivers_job job;
	struct gp_serve *serve;
	struct gp_conn *conn;
	int fd; /* its file, for the thread */
	uid_t uid;
	bool closed; /* the connection is, meanwhile */
	int err;
	struct gp_received received;
};

static uint32_t count(const struct gp_conn *c, uid_t uid)
{
	uint32_t n = 0;

	for (; c; c = c->next)
		n += c->uid == uid;
	return n;
}

static uint32_t of_user(const struct gp_serve *s, uid_t uid)
{
	return count(s->conns, uid) + count(s->closing, uid);
}

void gp_files_close(const int *file, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (file[i] >= 0)
			close(file[i]);
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

static void unlink_from(struct gp_conn **at, struct gp_conn *conn)
{
	while (*at != conn)
		at = &(*at)->next;
	*at = conn->next;
}

static void forget(struct gp_conn *conn)
{
	struct gp_late *late;

	while ((late = conn->late)) {
		conn->late = late->next;
		free(late);
	}
	unlink_from(&conn->serve->conns, conn);
	gp_loop_remove(&conn->source);
}

/* ---- the end of a connection -------------------------------------------------- */

/* Nothing can come any more, and messages without files are dropped. Is nothing left? */
static bool is_quiet(int fd, int how)
{
	union gp_wire_msg msg;
	bool any, files;

	shutdown(fd, how);
	for (int i = 0; i < DROP_MOST; i++) {
		gp_wire_peek(fd, &msg, &any, &files);
		if (!any || files)
			return !any;
		gp_wire_recv(fd, &msg, NULL, NULL);
	}
	return false;
}

/* It has no messages, or a receiver has another reference. */
static void close_now(struct gp_conn *conn)
{
	unlink_from(&conn->serve->closing, conn);
	close(conn->source.fd);
	free(conn);
}

static void keep_work(struct gp_receivers_job *job)
{
	struct gp_files_job *j = gp_holder(job, struct gp_files_job, job);

	j->err = gp_receivers_keep(j->serve->receivers, j->uid, j->fd);
}

static void park(struct gp_conn *conn)
{
	if (!conn->serve->parked++)
		gp_tick_in(&conn->serve->again, AGAIN_NS);
}

static void keep_done(struct gp_receivers_job *job)
{
	struct gp_files_job *j = gp_holder(job, struct gp_files_job, job);
	struct gp_conn *conn = j->conn;

	conn->job = NULL;
	if (j->err)
		park(conn);
	else
		close_now(conn);
	free(j);
}

static struct gp_files_job *post(struct gp_conn *conn, void (*work)(struct gp_receivers_job *),
				 void (*done)(struct gp_receivers_job *))
{
	struct gp_files_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->job.work = work;
	j->job.done = done;
	j->serve = conn->serve;
	j->conn = conn;
	j->fd = conn->source.fd;
	j->uid = conn->uid;
	j->err = -ECANCELED;
	if (gp_receivers_post(conn->serve->receivers, conn->uid, &j->job)) {
		free(j);
		return NULL;
	}
	return j;
}

/* @conn is in no list. It is freed, now or when a receiver has its messages. */
static void dispose(struct gp_conn *conn)
{
	struct gp_serve *s = conn->serve;

	conn->next = s->closing;
	s->closing = conn;
	if (is_quiet(conn->source.fd, SHUT_RDWR)) {
		close_now(conn);
		return;
	}
	conn->job = post(conn, keep_work, keep_done);
	if (!conn->job)
		park(conn);
}

/* Also after a pause: there may be room for more now. */
static void again_due(struct gp_tick *tick)
{
	struct gp_serve *s = gp_holder(tick, struct gp_serve, again);

	s->parked = 0;
	for (struct gp_conn *c = s->closing; c; c = c->next) {
		if (c->job)
			continue;
		c->job = post(c, keep_work, keep_done);
		s->parked += !c->job;
	}
	if (s->paused && !gp_loop_add(s->loop, &s->source, EPOLLIN))
		s->paused = false;
	if (s->parked || s->paused)
		gp_tick_in(tick, AGAIN_NS);
}

static void pause_accepting(struct gp_serve *s)
{
	gp_loop_remove(&s->source);
	s->paused = true;
	gp_tick_in(&s->again, AGAIN_NS);
}

void gp_conn_close(struct gp_conn *conn)
{
	forget(conn);
	conn->serve->ops->closed(conn->serve->arg, conn);
	if (conn->job) {
		conn->next = conn->serve->closing;
		conn->serve->closing = conn;
		conn->job->closed = true;
	} else {
		dispose(conn);
	}
}

int gp_conn_detach(struct gp_conn *conn)
{
	int fd = conn->source.fd;

	if (!is_quiet(fd, SHUT_RD))
		return -EBUSY;
	forget(conn);
	free(conn);
	return fd;
}

/* ---- sending ------------------------------------------------------------------- */

/* A receiver works on it: it is watched again afterwards. */
static int watch(struct gp_conn *conn, uint32_t events)
{
	return conn->job ? 0 : gp_loop_change(&conn->source, events);
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
	return watch(conn, EPOLLIN | EPOLLOUT);
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
		return watch(conn, EPOLLIN);
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

/* ---- receiving ------------------------------------------------------------------ */

/* By the kernel's own file for it, since Linux 6.5; else -ENOPROTOOPT. */
static int peer_lives(int fd)
{
	struct pollfd p = { .events = POLLIN };
	socklen_t len = sizeof(p.fd);
	int lives;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &p.fd, &len))
		return errno == ESRCH || errno == EINVAL ? 0 : -errno;
	lives = poll(&p, 1, 0) == 0;
	close(p.fd);
	return lives;
}

int gp_conn_lives(const struct gp_conn *conn)
{
	int lives = peer_lives(conn->source.fd);
	uint64_t ticks;

	if (lives != -ENOPROTOOPT)
		return lives;
	/* Of another PID namespace: it can ask, and become no tenant. */
	if (conn->pid <= 0)
		return 1;
	lives = gp_proc_start(conn->pid, &ticks);
	return lives && lives != -ESRCH ? lives : !lives && ticks == conn->start_ticks;
}

static void take_message(struct gp_conn *conn, ssize_t len, const union gp_wire_msg *msg,
			 const int *file, size_t n)
{
	int lives;

	if (len == -EPROTO || len == -EMFILE) {
		gp_conn_result(conn, (int)len);
		return;
	}
	if (len <= 0) {
		gp_conn_close(conn);
		return;
	}
	if (gp_wire_check(msg, (size_t)len) || gp_wire_check_body(msg)) {
		gp_files_close(file, n);
		gp_conn_result(conn, -EPROTO);
		return;
	}
	/* Its process may have ended after it sent this, and another may have its PID. */
	lives = gp_conn_lives(conn);
	if (lives == 1) {
		conn->serve->ops->message(conn->serve->arg, conn, msg, file, n);
		return;
	}
	gp_files_close(file, n);
	if (lives < 0)
		gp_conn_result(conn, lives);
	else
		gp_conn_close(conn);
}

static void files_work(struct gp_receivers_job *job)
{
	struct gp_files_job *j = gp_holder(job, struct gp_files_job, job);

	j->err = gp_receivers_message(j->serve->receivers, j->uid, j->fd, &j->received);
}

static void refuse_files(struct gp_conn *conn, int err)
{
	if (gp_conn_say(conn, err, "gpreemptd cannot receive this user's files: %s; retry later",
			err == -EAGAIN ? "its receiver process cannot start, or earlier files "
					 "do not close" :
					 strerror(-err)))
		gp_conn_close(conn);
}

static void files_done(struct gp_receivers_job *job)
{
	struct gp_files_job *j = gp_holder(job, struct gp_files_job, job);
	const struct gp_received *r = &j->received;
	struct gp_conn *conn = j->conn;

	conn->job = NULL;
	if (j->closed) {
		gp_files_close(r->file, j->err ? 0 : r->files);
		unlink_from(&j->serve->closing, conn);
		dispose(conn);
	} else if (gp_loop_add(j->serve->loop, &conn->source,
			       EPOLLIN | (conn->late ? EPOLLOUT : 0u))) {
		gp_files_close(r->file, j->err ? 0 : r->files);
		gp_conn_close(conn);
	} else if (!j->err) {
		take_message(conn, (ssize_t)r->len, &r->msg, r->file, r->files);
	} else if (j->err == -EPROTO || j->err == -EMFILE) {
		gp_conn_result(conn, j->err);
	} else {
		refuse_files(conn, j->err);
	}
	free(j);
}

static void conn_ready(struct gp_source *source, uint32_t events)
{
	struct gp_conn *conn = (struct gp_conn *)(void *)source;
	union gp_wire_msg msg;
	bool any, files;
	ssize_t len;

	if (events & EPOLLOUT && send_late(conn)) {
		gp_conn_close(conn);
		return;
	}
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	len = gp_wire_peek(source->fd, &msg, &any, &files);
	if (len == -EAGAIN)
		return;
	if (!files) {
		if (any)
			len = gp_wire_recv(source->fd, &msg, NULL, NULL);
		take_message(conn, len, &msg, NULL, 0);
		return;
	}
	conn->job = post(conn, files_work, files_done);
	if (conn->job)
		gp_loop_remove(&conn->source);
	else
		refuse_files(conn, -EAGAIN);
}

/* ---- new connections ------------------------------------------------------------- */

/* Sends the reason as one text. */
static void refuse(int fd, const char *text)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_SAID);
	msg.head.result = -EUSERS;
	snprintf(msg.said.text, sizeof(msg.said.text), "%s", text);
	gp_wire_send(fd, &msg, NULL, 0);
}

/* False: it cannot be identified. */
static bool identify(struct gp_conn *conn)
{
	/* From a PID namespace that this one cannot see: pid 0. */
	if (gp_wire_peer(conn->source.fd, &conn->pid, &conn->uid))
		return false;
	if (conn->pid > 0)
		gp_proc_start(conn->pid, &conn->start_ticks);
	return true;
}

/* @keep false: only to be closed. */
static void conn_new(struct gp_serve *s, int fd, bool keep)
{
	struct gp_conn *conn = calloc(1, sizeof(*conn));

	/* It stays open: its messages may have files. */
	if (!conn) {
		gp_log(GP_LOG_ERR, "out of memory; a connection is lost");
		return;
	}
	*conn = (struct gp_conn){
		.source = { .fd = fd, .ready = conn_ready },
		.serve = s,
		.id = ++s->last_id,
	};
	/* Neither fails for a socket. */
	if (gp_wire_can_peek(fd) || !identify(conn)) {
		dispose(conn);
		return;
	}
	if (keep && of_user(s, conn->uid) >= s->user_max) {
		refuse(fd, "this user has too many connections; raise limits_per_user: "
			   "connections: in gpreempt.yaml");
		keep = false;
	}
	if (!keep || gp_loop_add(s->loop, &conn->source, EPOLLIN)) {
		dispose(conn);
		return;
	}
	conn->next = s->conns;
	s->conns = conn;
}

/* Files ran out: accept the next one, and close it. */
static void shed(struct gp_serve *s)
{
	int fd;

	if (s->spare_fd >= 0)
		close(s->spare_fd);
	fd = accept4(s->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		conn_new(s, fd, false);
	s->spare_fd = fcntl(s->source.fd, F_DUPFD_CLOEXEC, 0);
	/* A receiver must have its messages first, or another process has all files. */
	if (s->spare_fd < 0)
		pause_accepting(s);
}

static void accept_ready(struct gp_source *source, uint32_t events)
{
	struct gp_serve *s = (struct gp_serve *)(void *)source;

	for (int i = 0; i < ACCEPT_ROUND; i++) {
		int fd;

		if (s->parked >= PARKED_MOST) {
			gp_log(GP_LOG_ERR,
			       "%u closed connections have files that do not close; "
			       "accepting no others",
			       s->parked);
			pause_accepting(s);
			return;
		}
		fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			shed(s);
		if (fd < 0)
			return;
		conn_new(s, fd, true);
	}
}

int gp_serve_create(struct gp_loop *loop, int listen_fd, uint32_t user_connections,
		    struct gp_receivers *receivers, const struct gp_serve_ops *ops, void *arg,
		    struct gp_serve **serve)
{
	struct gp_serve *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	*s = (struct gp_serve){
		.source = { .fd = listen_fd, .ready = accept_ready },
		.loop = loop,
		.receivers = receivers,
		.ops = ops,
		.arg = arg,
		.user_max = user_connections,
		.again = { .due = again_due },
		.spare_fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0),
	};
	err = gp_tick_add(loop, &s->again);
	if (!err)
		err = gp_loop_add(loop, &s->source, EPOLLIN);
	if (err) {
		gp_tick_remove(&s->again);
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
	struct gp_conn *conn;

	if (!serve)
		return;
	/* Its last jobs' done() is called. From then on all are parked. */
	gp_receivers_stop(serve->receivers);
	while (serve->conns)
		gp_conn_close(serve->conns);
	while ((conn = serve->closing)) {
		/* On failure nothing more can be done: the end of this process may hang. */
		gp_receivers_keep(serve->receivers, conn->uid, conn->source.fd);
		close_now(conn);
	}
	gp_loop_remove(&serve->source);
	gp_tick_remove(&serve->again);
	if (serve->spare_fd >= 0)
		close(serve->spare_fd);
	free(serve);
}
