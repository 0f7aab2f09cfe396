/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - the daemon's socket: connections, and their complete messages. A peer that sends
 * garbage gets an error and remains. One that does not read loses its connection. The daemon
 * waits for neither. It never has a file of a peer's that is no control file: a receiver
 * process (receivers.h) takes messages with files, and sockets whose last reference would drop
 * such messages.
 */
#ifndef GP_DAEMON_SERVE_H
#define GP_DAEMON_SERVE_H

#include "daemon/loop/loop.h"
#include "wire/wire.h"

struct gp_serve;
struct gp_dtenant;
struct gp_late;
struct gp_receivers;
struct gp_files_job;
struct gp_user;

/* Waiting messages of a connection: more than a list of all tenants of some devices needs. */
#define GP_CONN_LATE_MAX 512u
/* Their bytes, of all connections of a user, and of all users. */
#define GP_USER_LATE_BYTES (512u << 10)
#define GP_ALL_LATE_BYTES (2u << 20)
/* File descriptors that only root gets, if root is in no container. */
#define GP_ROOT_FILES 64u

/**
 * struct gp_conn
 * @pid, @uid: the peer's at the connection, as this process sees them; @uid: the effective one
 * @start_ticks: of its process, as in struct gp_subject; 0: unknown
 * @id: of this connection, never reused
 * @tenant: the tenant that it speaks for; NULL: none. The callee's to use
 * @waits: it is not read until gp_serve_resume()
 * @throttled: it is not read until its user has time again; @next_throttled waits behind it
 * @late: its unread messages; @lates of them. It is not read while there are any
 * @job: a receiver works on it, and the loop does not watch it meanwhile; else NULL
 */
struct gp_conn {
	struct gp_source source;
	struct gp_serve *serve;
	struct gp_conn *next;
	uint64_t id;
	pid_t pid;
	uid_t uid;
	uint64_t start_ticks;
	struct gp_user *user;
	struct gp_dtenant *tenant;
	bool waits, throttled;
	struct gp_conn *next_throttled;
	struct gp_late *late, **late_end;
	uint32_t lates;
	struct gp_files_job *job;
};

/**
 * struct gp_serve_ops - called in the loop.
 * @message: passed gp_wire_check() and gp_wire_check_body(), and the peer's process lives.
 *	@file: @n control files, the callee's; -1 in place of another file
 * @busy: must @conn's next message wait until gp_serve_resume()? May be NULL: never
 * @is_root: is @pid, which runs as root, root's of this machine, and in no container?
 * @closed: the peer is done, or was dropped; @conn is freed afterwards
 */
struct gp_serve_ops {
	void (*message)(void *arg, struct gp_conn *conn, const union gp_wire_msg *msg,
			const int *file, size_t n);
	bool (*busy)(void *arg, const struct gp_conn *conn);
	bool (*is_root)(void *arg, pid_t pid);
	void (*closed)(void *arg, struct gp_conn *conn);
};

/** @listen_fd, @receivers: borrowed. 0 or negative errno. */
int gp_serve_create(struct gp_loop *loop, int listen_fd, uint32_t user_connections,
		    struct gp_receivers *receivers, const struct gp_serve_ops *ops, void *arg,
		    struct gp_serve **serve);
/** Closes all connections, and stops the receivers. NULL is legal. */
void gp_serve_destroy(struct gp_serve *serve);
void gp_serve_limit(struct gp_serve *serve, uint32_t user_connections);
/** Connections of user @uid that wait are read again. */
void gp_serve_resume(struct gp_serve *serve, uid_t uid);
/** User @uid caused work of @ns. A user who causes much is read less often. */
void gp_serve_charge(struct gp_serve *serve, uid_t uid, uint64_t ns);
/** Has it any connection, which is not about to be closed? */
bool gp_serve_is_used(const struct gp_serve *serve);
/** Are there file descriptors for something of an ordinary user's? */
bool gp_serve_has_files(const struct gp_serve *serve);
/** NULL: it is closed. */
struct gp_conn *gp_serve_find(struct gp_serve *serve, uint64_t id);

/**
 * Send. Unread messages wait, without files; a peer is dropped if it or its user has too
 * many. False: @conn is gone.
 */
bool gp_conn_send(struct gp_conn *conn, const union gp_wire_msg *msg, const int *file, size_t n);
/** GP_WIRE_SAID with a text. False: likewise. */
bool gp_conn_say(struct gp_conn *conn, int result, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** GP_WIRE_RESULT. */
bool gp_conn_result(struct gp_conn *conn, int result);
void gp_conn_close(struct gp_conn *conn);
/**
 * Does the process that connected live? Another may have its PID by now. If it lives, facts of
 * /proc that were read before this call are its. 1; 0: it has ended; negative errno: unknown.
 */
int gp_conn_lives(const struct gp_conn *conn);
/**
 * The caller owns its file from now on, and @conn is freed. The peer cannot send any more.
 * fd; -EBUSY: it has sent messages that were not read, and @conn remains.
 */
int gp_conn_detach(struct gp_conn *conn);
/** Close @n files of a message. */
void gp_files_close(const int *file, size_t n);

#endif
