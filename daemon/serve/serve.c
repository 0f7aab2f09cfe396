// SPDX-License-Identifier: Apache-2.0
/*
 * serve.c - connections. A round of the loop takes at most one message of each, so a peer that
 * sends much gets no more of it than others. Users share the places for connections: when all
 * are taken, a user with fewer connections replaces one of the user that has the most.
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"
#include "daemon/loop/log_user.h"
#include "daemon/receive/receivers.h"
#include "runtime/log.h"

#define CANNOT_WATCH "cannot watch a connection; closing it"
#define NO_RECEIVER "cannot give a message with files to a receiver process"
#define ACCEPT_ROUND 4 /* so that a thousand at once delay no other source */
#define DROP_MOST 64   /* messages: a receiver takes a longer queue */
#define PARKED_MOST 256u
#define AGAIN_NS 1000000000u /* the next attempt to give parked ones away */
#define JOIN_FILES 32u	     /* of one tenant */
/* Since Linux 6.5, include/uapi/asm-generic/socket.h. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/*
 * Time that messages of one user may take, and of all users together: 5 and 8 % of a core, and
 * a burst at first. A user without time left is read a little in each window. The acceptance of
 * connections, and the end of those that are not read, may take three quarters of the 8 %: only an
 * accepted one shows its user.
 */
#define WINDOW_NS 20000000
#define USER_NS 1000000
#define ALL_NS 1600000
#define ACCEPT_NS 1200000
#define ACCEPT_DEBT_NS (2 * ACCEPT_NS)
#define USER_BURST_NS 200000000
#define ALL_BURST_NS 400000000
#define PASSED_NS 10000000000ull /* after this all bursts are full again */
#define ACCEPT_BURST_NS 100000000
#define WINDOW_CONNS 2u /* per user */
#define TEXTS 4u	/* per user, then one a window: others are closed without a reason */

/**
 * struct gp_user - the peers of one user.
 * @root: root of the machine, which gets the reserve. Connections of root count for it only
 *	if there is no place for root as for any other user: a container's root may have them
 * @conns: also those that are being closed
 * @receives: a receiver takes one of its messages; the next one with files waits
 * @left_ns: time left for its messages; @spent_ns: of the present window
 * @resumed: its connections that were resumed in this window
 * @texts: reasons sent to connections that got no place; each window forgets one
 */
struct gp_user {
	struct gp_user *next;
	uid_t uid;
	bool root, receives;
	uint32_t conns, resumed, texts;
	size_t late_bytes;
	int64_t left_ns, spent_ns;
};

/**
 * struct gp_serve
 * @closing: of no use any more, but not closed; @parked of these have no job
 * @paused: too many are parked: accepts none
 * @ends: takes no message any more
 * @conn_count, @conns_max: of all users but root
 * @files_max: numbers of file descriptors from here on are root's
 * @window_ns: start of the present window, if it is armed
 * @left_ns: of all users together; @accept_left_ns: for new connections and ends of throttled
 *	ones. Without it none is accepted until the next window. @accept_spent_ns: of this window
 * @throttled: the first of the connections that wait for time
 * @no_pidfds: the kernel has no SO_PEERPIDFD: start times identify processes
 * @spare: for the next connection, so that memory cannot run out after its acceptance
 * @spare_fd: to accept a connection when files run out
 */
struct gp_serve {
	struct gp_source source;
	struct gp_loop *loop;
	struct gp_receivers *receivers;
	const struct gp_serve_ops *ops;
	void *arg;
	struct gp_conn *conns, *closing;
	uint32_t parked;
	struct gp_tick again;
	bool paused, ends;
	struct gp_user *users;
	uint32_t conn_count, conns_max;
	uint32_t files_max;
	size_t late_bytes;
	struct gp_tick window;
	bool window_armed;
	uint64_t window_ns;
	int64_t left_ns, accept_left_ns, accept_spent_ns;
	bool accepts_later;
	struct gp_conn *throttled, **throttled_end;
	uint32_t user_max;
	uint64_t last_id;
	struct gp_conn *spare;
	int spare_fd;
	bool no_pidfds;
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

/* ---- users ------------------------------------------------------------------------ */

/* NULL: out of memory. */
static struct gp_user *user_of(struct gp_serve *s, uid_t uid, bool root)
{
	struct gp_user *u = s->users;

	while (u && (u->uid != uid || u->root != root))
		u = u->next;
	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u) {
		gp_log_shortage(-ENOMEM, "cannot count the connections of a user");
		return NULL;
	}
	*u = (struct gp_user){
		.next = s->users,
		.uid = uid,
		.root = root,
		.left_ns = USER_BURST_NS,
	};
	s->users = u;
	return u;
}

/* It is remembered after its last connection: by a new one it would get its time back. */
static bool has_used_some(const struct gp_user *user)
{
	return user->left_ns < USER_BURST_NS || user->texts;
}

static void free_if_unused(struct gp_serve *s, struct gp_user *user)
{
	struct gp_user **at = &s->users;

	if (user->conns || has_used_some(user))
		return;
	while (*at != user)
		at = &(*at)->next;
	*at = user->next;
	free(user);
}

/* ---- time ------------------------------------------------------------------------ */

static void arm_window(struct gp_serve *s)
{
	if (s->window_armed)
		return;
	gp_tick_in(&s->window, WINDOW_NS);
	s->window_ns = gp_loop_now_ns();
	s->window_armed = true;
}

/* @left: at least -@debt_ns. */
static void spend(int64_t *left, uint64_t ns, int64_t debt_ns)
{
	*left -= ns < USER_BURST_NS ? (int64_t)ns : USER_BURST_NS;
	if (*left < -debt_ns)
		*left = -debt_ns;
}

/* @ns a window, for @passed_ns: on a busy machine the daemon runs late. */
static void earn(int64_t *left, int64_t ns, uint64_t passed_ns, int64_t burst_ns)
{
	*left += ns * (int64_t)(passed_ns < PASSED_NS ? passed_ns : PASSED_NS) / WINDOW_NS;
	if (*left > burst_ns)
		*left = burst_ns;
}

static void charge(struct gp_serve *s, struct gp_user *user, uint64_t ns)
{
	spend(&user->left_ns, ns, USER_BURST_NS);
	spend(&s->left_ns, ns, ALL_BURST_NS);
	user->spent_ns += ns < USER_BURST_NS ? (int64_t)ns : USER_BURST_NS;
	arm_window(s);
}

static void charge_accept(struct gp_serve *s, uint64_t ns)
{
	spend(&s->accept_left_ns, ns, ACCEPT_DEBT_NS);
	s->accept_spent_ns += ns < ACCEPT_NS ? (int64_t)ns : ACCEPT_NS;
	spend(&s->left_ns, ns, ALL_BURST_NS);
	arm_window(s);
}

void gp_serve_charge(struct gp_serve *s, uid_t uid, uint64_t ns)
{
	for (struct gp_user *u = s->users; u; u = u->next)
		if (u->uid == uid) {
			charge(s, u, ns);
			return;
		}
}

/* Has it used up its own time, or, when all have, its part of this window? */
static bool has_no_time(const struct gp_serve *s, const struct gp_user *user)
{
	int64_t all_ns = ALL_NS - (s->accept_spent_ns < ACCEPT_NS ? s->accept_spent_ns : ACCEPT_NS);
	uint32_t users = 0;

	if (user->root || user->left_ns <= 0)
		return !user->root;
	if (s->left_ns > 0)
		return false;
	for (const struct gp_user *u = s->users; u; u = u->next)
		users += u->spent_ns > 0;
	return user->spent_ns >= all_ns / (int64_t)(users ? users : 1);
}

/* False: @user is freed. */
static bool refill(struct gp_user *user, uint64_t passed_ns)
{
	earn(&user->left_ns, USER_NS, passed_ns, USER_BURST_NS);
	user->spent_ns = 0;
	user->resumed = 0;
	user->texts -= user->texts > 0;
	return user->conns || has_used_some(user);
}

/* The user's fair part of the memory for waiting messages is used up. */
static bool has_too_much_late(const struct gp_serve *s, const struct gp_user *user)
{
	uint32_t users = 0;

	if (user->late_bytes > GP_USER_LATE_BYTES)
		return true;
	if (s->late_bytes <= GP_ALL_LATE_BYTES)
		return false;
	for (const struct gp_user *u = s->users; u; u = u->next)
		users += u->late_bytes > 0;
	return user->late_bytes > GP_ALL_LATE_BYTES / users;
}

/* ---- connections ------------------------------------------------------------------- */

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

static void count_late(struct gp_conn *conn, const struct gp_late *late, int sign)
{
	const size_t bytes = late->msg.head.size;

	conn->lates += (uint32_t)sign;
	conn->user->late_bytes += sign > 0 ? bytes : -bytes;
	conn->serve->late_bytes += sign > 0 ? bytes : -bytes;
}

static void free_first_late(struct gp_conn *conn)
{
	struct gp_late *late = conn->late;

	count_late(conn, late, -1);
	conn->late = late->next;
	free(late);
}

static uint32_t events_of(const struct gp_conn *conn)
{
	return (conn->late ? (uint32_t)EPOLLOUT : 0) |
	       (conn->late || conn->waits || conn->throttled ? 0 : EPOLLIN);
}

/* A receiver works on it: it is watched again afterwards. */
static int watch(struct gp_conn *conn)
{
	return conn->job ? 0 : gp_loop_change(&conn->source, events_of(conn));
}

static void throttle(struct gp_conn *conn)
{
	struct gp_serve *s = conn->serve;

	conn->throttled = true;
	conn->next_throttled = NULL;
	if (!s->throttled)
		s->throttled_end = &s->throttled;
	*s->throttled_end = conn;
	s->throttled_end = &conn->next_throttled;
}

/* @at: where the list has it. */
static void unthrottle(struct gp_serve *s, struct gp_conn **at)
{
	struct gp_conn *conn = *at;

	*at = conn->next_throttled;
	if (!*at)
		s->throttled_end = at;
	conn->throttled = false;
}

/* A failure leaves it for the next window. */
static void accept_again(struct gp_serve *s)
{
	if (s->accepts_later && s->accept_left_ns > 0 && !s->paused)
		s->accepts_later = gp_loop_change(&s->source, EPOLLIN);
}

/* The longest waiting ones of each user are read again. */
static void window_due(struct gp_tick *tick)
{
	struct gp_serve *s = gp_holder(tick, struct gp_serve, window);
	struct gp_user **user = &s->users;
	struct gp_conn **at = &s->throttled;
	uint64_t now_ns = gp_loop_now_ns(), passed_ns = now_ns - s->window_ns;

	s->window_ns = now_ns;
	earn(&s->left_ns, ALL_NS, passed_ns, ALL_BURST_NS);
	earn(&s->accept_left_ns, ACCEPT_NS, passed_ns, ACCEPT_BURST_NS);
	s->accept_spent_ns = 0;
	accept_again(s);
	while (*user) {
		struct gp_user *u = *user;

		if (refill(u, passed_ns)) {
			user = &u->next;
		} else {
			*user = u->next;
			free(u);
		}
	}
	while (*at) {
		struct gp_conn *conn = *at;

		if (conn->user->left_ns <= 0 || conn->user->resumed == WINDOW_CONNS) {
			at = &conn->next_throttled;
			continue;
		}
		conn->user->resumed++;
		unthrottle(s, at);
		/* A failure leaves it unread, and its peer's end still closes it. */
		(void)watch(conn);
	}
	s->window_armed = s->throttled || s->left_ns < ALL_BURST_NS ||
			  s->accept_left_ns < ACCEPT_BURST_NS;
	for (const struct gp_user *u = s->users; u; u = u->next)
		s->window_armed = s->window_armed || has_used_some(u);
	if (s->window_armed)
		gp_tick_in(&s->window, WINDOW_NS);
}

static void unlink_from(struct gp_conn **at, struct gp_conn *conn)
{
	while (*at != conn)
		at = &(*at)->next;
	*at = conn->next;
}

static void forget(struct gp_conn *conn)
{
	struct gp_conn **at = &conn->serve->throttled;

	while (conn->throttled && *at != conn)
		at = &(*at)->next_throttled;
	if (conn->throttled)
		unthrottle(conn->serve, at);
	while (conn->late)
		free_first_late(conn);
	unlink_from(&conn->serve->conns, conn);
	gp_loop_remove(&conn->source);
}

static void enter_user(struct gp_conn *conn, struct gp_user *user)
{
	conn->user = user;
	user->conns++;
	conn->serve->conn_count += !user->root;
}

static void leave_user(struct gp_conn *conn)
{
	struct gp_user *user = conn->user;

	if (!user)
		return;
	user->conns--;
	conn->serve->conn_count -= !user->root;
	free_if_unused(conn->serve, user);
}

bool gp_serve_is_used(const struct gp_serve *s)
{
	return s->conns;
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
	leave_user(conn);
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

	if (!j) {
		gp_log_shortage(-ENOMEM, NO_RECEIVER);
		return NULL;
	}
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
	if (s->paused && !gp_loop_add(s->loop, &s->source, EPOLLIN)) {
		s->paused = false;
		s->accepts_later = false;
	}
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
	leave_user(conn);
	free(conn);
	return fd;
}

/* ---- sending ------------------------------------------------------------------- */

static int send_later(struct gp_conn *conn, const union gp_wire_msg *msg)
{
	struct gp_late *late;

	if (conn->lates == GP_CONN_LATE_MAX)
		return -EAGAIN;
	late = malloc(offsetof(struct gp_late, msg) + msg->head.size);
	if (!late) {
		gp_log_shortage(-ENOMEM, "an answer cannot wait; disconnecting its reader");
		return -ENOMEM;
	}
	late->next = NULL;
	memcpy(&late->msg, msg, msg->head.size);
	if (!conn->late)
		conn->late_end = &conn->late;
	*conn->late_end = late;
	conn->late_end = &late->next;
	count_late(conn, late, 1);
	return has_too_much_late(conn->serve, conn->user) ? -EAGAIN : watch(conn);
}

/* 0: all waiting messages are sent, or must wait on. */
static int send_late(struct gp_conn *conn)
{
	int err = 0;

	while (!err && conn->late) {
		err = gp_wire_send(conn->source.fd, &conn->late->msg, NULL, 0);
		if (!err)
			free_first_late(conn);
	}
	if (!conn->late)
		return watch(conn);
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
		gp_log_user(conn->uid, GP_LOG_REFUSALS, GP_LOG_INFO,
			    "process %d does not read its answers; disconnected", (int)conn->pid);
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

static bool has_pidfds(void)
{
	int pair[2], lives;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	lives = peer_lives(pair[0]);
	close(pair[0]);
	close(pair[1]);
	return lives != -ENOPROTOOPT;
}

int gp_conn_lives(const struct gp_conn *conn)
{
	int lives = peer_lives(conn->source.fd);
	uint64_t ticks;

	if (lives < 0 && lives != -ENOPROTOOPT)
		gp_log_shortage(lives, "cannot find out whether the process of a connection lives");
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

/* Keeps @user, if its connection ends meanwhile. Returns the time for message_end(). */
static uint64_t message_begin(struct gp_user *user)
{
	user->conns++;
	return gp_loop_cpu_ns();
}

static void message_end(struct gp_serve *s, struct gp_user *user, uint64_t start_ns)
{
	user->conns--;
	charge(s, user, gp_loop_cpu_ns() - start_ns);
	free_if_unused(s, user);
}

static void files_done(struct gp_receivers_job *job)
{
	struct gp_files_job *j = gp_holder(job, struct gp_files_job, job);
	const struct gp_received *r = &j->received;
	struct gp_conn *conn = j->conn;
	struct gp_serve *s = j->serve;
	struct gp_user *user = conn->user;
	uint64_t start_ns = message_begin(user);
	int err = 0;

	user->receives = false;
	gp_serve_resume(s, user->uid);
	conn->job = NULL;
	if (!j->closed && !s->ends)
		err = gp_loop_add(s->loop, &conn->source, events_of(conn));
	gp_log_shortage(err, CANNOT_WATCH);
	if (j->closed) {
		gp_files_close(r->file, j->err ? 0 : r->files);
		unlink_from(&s->closing, conn);
		dispose(conn);
	} else if (s->ends || err) {
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
	message_end(s, user, start_ns);
}

static void serve_message(struct gp_conn *conn)
{
	const int fd = conn->source.fd;
	union gp_wire_msg msg;
	bool any, files;
	ssize_t len = gp_wire_peek(fd, &msg, &any, &files);

	if (len == -EAGAIN)
		return;
	if (!files) {
		if (any)
			len = gp_wire_recv(fd, &msg, NULL, NULL);
		take_message(conn, len, &msg, NULL, 0);
		return;
	}
	if (conn->user->receives) {
		conn->waits = true;
		if (watch(conn))
			gp_conn_close(conn);
		return;
	}
	conn->job = post(conn, files_work, files_done);
	if (!conn->job) {
		refuse_files(conn, -EAGAIN);
		return;
	}
	conn->user->receives = true;
	gp_loop_remove(&conn->source);
}

static bool must_wait(struct gp_conn *conn)
{
	struct gp_serve *s = conn->serve;

	if (!conn->throttled && has_no_time(s, conn->user))
		throttle(conn);
	conn->waits = conn->waits || (s->ops->busy && s->ops->busy(s->arg, conn));
	return conn->throttled || conn->waits;
}

static void conn_ready(struct gp_source *source, uint32_t events)
{
	struct gp_conn *conn = (struct gp_conn *)(void *)source;
	struct gp_serve *s = conn->serve;
	struct gp_user *user = conn->user;
	uint64_t start_ns;

	if (events & EPOLLOUT && send_late(conn)) {
		gp_conn_close(conn);
		return;
	}
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	start_ns = gp_loop_cpu_ns();
	if (must_wait(conn)) {
		const bool ended = events & (EPOLLHUP | EPOLLERR);

		if (ended || watch(conn))
			gp_conn_close(conn);
		if (ended)
			charge_accept(s, gp_loop_cpu_ns() - start_ns);
		return;
	}
	user->conns++;
	serve_message(conn);
	message_end(s, user, start_ns);
}

void gp_serve_resume(struct gp_serve *s, uid_t uid)
{
	for (struct gp_conn *c = s->conns; c; c = c->next) {
		if (!c->waits || c->uid != uid)
			continue;
		c->waits = false;
		/* A failure leaves it unread, and its peer's end still closes it. */
		(void)watch(c);
	}
}

bool gp_serve_has_files(const struct gp_serve *s)
{
	/* The lowest free number tells how many are in use. */
	int fd = fcntl(s->source.fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return false;
	close(fd);
	return (uint32_t)fd + JOIN_FILES < s->files_max;
}

/* ---- new connections ------------------------------------------------------------- */

/* Sends the reason as one text. */
static void refuse(int fd, int err)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_SAID);
	msg.head.result = err;
	snprintf(msg.said.text, sizeof(msg.said.text), "%s",
		 err == -ENOMEM ? "gpreemptd is out of memory; retry later" :
		 err == -EUSERS ? "this user has too many connections; raise limits_per_user: "
				  "connections: in gpreempt.yaml" :
				  "gpreemptd has no place for another connection; raise its limit "
				  "of open files (LimitNOFILE=)");
	gp_wire_send(fd, &msg, NULL, 0);
}

/* False: it cannot be identified. */
static bool identify(struct gp_conn *conn)
{
	/* From a PID namespace that this one cannot see: pid 0. */
	if (gp_wire_peer(conn->source.fd, &conn->pid, &conn->uid))
		return false;
	/* The start would cost half as much as all else of a connection. */
	if (conn->pid > 0 && conn->serve->no_pidfds)
		gp_proc_start(conn->pid, &conn->start_ticks);
	return true;
}

/* The oldest connection without a tenant, of the user with the most; NULL: none. */
static struct gp_conn *to_replace(const struct gp_serve *s)
{
	struct gp_conn *found = NULL;

	/* The newest comes first. */
	for (struct gp_conn *c = s->conns; c; c = c->next)
		if (!c->tenant && !c->user->root &&
		    (!found || c->user->conns >= found->user->conns))
			found = c;
	return found;
}

/* There are fewer users than connections: in a flood most searches end here. */
static uint32_t has_most(const struct gp_serve *s)
{
	uint32_t most = 0;

	for (const struct gp_user *u = s->users; u; u = u->next)
		if (!u->root && u->conns > most)
			most = u->conns;
	return most;
}

/* 0; -EUSERS: @user has as many as it may have; -ENFILE: all places are taken. */
static int make_room(struct gp_serve *s, const struct gp_user *user, int fd)
{
	struct gp_conn *other;

	if (user->conns >= s->user_max)
		return -EUSERS;
	if (user->root || (s->conn_count < s->conns_max && (uint32_t)fd < s->files_max))
		return 0;
	other = has_most(s) > user->conns + 1 ? to_replace(s) : NULL;
	if (!other || other->user->conns <= user->conns + 1)
		return -ENFILE;
	gp_conn_close(other);
	return 0;
}

/*
 * False: refused, and the peer has the reason. It counts for its user all the same, until it is
 * closed.
 */
static bool admit(struct gp_conn *conn)
{
	struct gp_serve *s = conn->serve;
	const int fd = conn->source.fd;
	struct gp_user *user = user_of(s, conn->uid, false);
	int err = user ? make_room(s, user, fd) : -ENOMEM;

	if (err && conn->uid == 0 && s->ops->is_root(s->arg, conn->pid) &&
	    gp_conn_lives(conn) == 1) {
		if (user)
			free_if_unused(s, user);
		user = user_of(s, conn->uid, true);
		err = user ? make_room(s, user, fd) : -ENOMEM;
	}
	if (user)
		enter_user(conn, user);
	if (!err)
		return true;
	if (err == -ENFILE)
		gp_log_shortage(err, "no place for another connection; raise the limit of open "
				     "files (LimitNOFILE=)");
	if (!user || user->texts < TEXTS)
		refuse(fd, err);
	if (user && user->texts < TEXTS)
		user->texts++;
	return false;
}

/* @keep false: only to be closed. */
static void conn_new(struct gp_serve *s, int fd, bool keep)
{
	struct gp_conn *conn = s->spare;
	int err;

	s->spare = NULL;
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
	if (!keep || !admit(conn)) {
		dispose(conn);
		return;
	}
	err = gp_loop_add(s->loop, &conn->source, EPOLLIN);
	if (err) {
		gp_log_shortage(err, CANNOT_WATCH);
		dispose(conn);
		return;
	}
	conn->next = s->conns;
	s->conns = conn;
}

/* A connection cannot be closed at once if messages with files wait in it. */
static bool has_spare(struct gp_serve *s)
{
	if (!s->spare)
		s->spare = calloc(1, sizeof(*s->spare));
	if (!s->spare)
		gp_log_shortage(-ENOMEM, "accepting no connections for a second");
	return s->spare;
}

/* Files ran out: accept the next one, and close it. */
static void shed(struct gp_serve *s, int err)
{
	int fd;

	gp_log_shortage(err, "cannot accept a connection; closing it");
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

static void accept_some(struct gp_serve *s)
{
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
		if (!has_spare(s)) {
			pause_accepting(s);
			return;
		}
		fd = accept4(s->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			shed(s, -errno);
		if (fd < 0)
			return;
		conn_new(s, fd, true);
	}
}

/* Without time left, new connections wait in the socket's queue. */
static void accept_ready(struct gp_source *source, uint32_t events)
{
	struct gp_serve *s = (struct gp_serve *)(void *)source;
	uint64_t start_ns = gp_loop_cpu_ns();

	accept_some(s);
	charge_accept(s, gp_loop_cpu_ns() - start_ns);
	if (s->accept_left_ns <= 0 && !s->paused)
		s->accepts_later = !gp_loop_change(source, 0);
}

/* Half of the files are for connections, the others for tenants; a few are root's. */
static void share_files(struct gp_serve *s)
{
	struct rlimit limit;
	uint32_t files = 1024;

	if (!getrlimit(RLIMIT_NOFILE, &limit))
		files = limit.rlim_cur < (1u << 20) ? (uint32_t)limit.rlim_cur : 1u << 20;
	s->files_max = files > 2 * GP_ROOT_FILES ? files - GP_ROOT_FILES : files / 2;
	s->conns_max = s->files_max / 2;
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
	share_files(s);
	s->no_pidfds = !has_pidfds();
	s->left_ns = ALL_BURST_NS;
	s->accept_left_ns = ACCEPT_BURST_NS;
	s->window.due = window_due;
	err = gp_tick_add(loop, &s->again);
	if (!err)
		err = gp_tick_add(loop, &s->window);
	if (!err)
		err = gp_loop_add(loop, &s->source, EPOLLIN);
	if (err) {
		gp_tick_remove(&s->again);
		gp_tick_remove(&s->window);
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
	struct gp_user *user;

	if (!serve)
		return;
	serve->ends = true;
	/* Its last jobs' done() is called. From then on all are parked. */
	gp_receivers_stop(serve->receivers);
	while (serve->conns)
		gp_conn_close(serve->conns);
	while ((conn = serve->closing)) {
		/* On failure nothing more can be done: the end of this process may hang. */
		gp_receivers_keep(serve->receivers, conn->uid, conn->source.fd);
		close_now(conn);
	}
	while ((user = serve->users)) {
		serve->users = user->next;
		free(user);
	}
	gp_loop_remove(&serve->source);
	gp_tick_remove(&serve->again);
	gp_tick_remove(&serve->window);
	if (serve->spare_fd >= 0)
		close(serve->spare_fd);
	free(serve->spare);
	free(serve);
}
