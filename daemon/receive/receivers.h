/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receivers.h - the daemon's receivers (receiver.h): one for each user, started when it is
 * needed, ended after some time without use. Only their processes ever have a stranger's file;
 * the daemon gets control files, which it can close.
 *
 * A receiver that does not answer in time is killed and forgotten. If it does not die, its user
 * gets another one. A user with two that do not die gets no more until one has died: then
 * messages with files of that user are refused.
 */
#ifndef GP_DAEMON_RECEIVERS_H
#define GP_DAEMON_RECEIVERS_H

#include "daemon/loop/loop_worker.h"
#include "gpreempt/hal.h"
#include "wire/wire.h"

#define GP_RECEIVERS_MOST 64u

struct gp_receivers;
struct gp_receiver;

/** Starts nothing yet. 0 or negative errno. */
int gp_receivers_create(struct gp_receivers **receivers);
/** Ends all. No other thread may use them any more. NULL is legal. */
void gp_receivers_destroy(struct gp_receivers *receivers);
/** Control files of backend @name are wanted, besides those named before. */
void gp_receivers_backend(struct gp_receivers *receivers, const char *name);

/* ---- for any thread; these wait for at most some seconds ------------------------ */

/**
 * struct gp_received - a message with files.
 * @file: @files, as they were sent; -1: not a control file, and the daemon does not have it.
 *	The others are the caller's
 */
struct gp_received {
	union gp_wire_msg msg;
	size_t len;
	int file[GP_WIRE_MAX_FILES];
	size_t files;
};

/**
 * gp_receivers_message() - receive the next message of @conn, a connection of @uid's.
 * Return: 0; -EPROTO: too long, empty or with too many files; -ETIMEDOUT: the receiver hangs;
 * -EAGAIN: the user has no receiver; other negative errno. After the last three @conn may have
 * lost the message.
 */
int gp_receivers_message(struct gp_receivers *receivers, uid_t uid, int conn,
			 struct gp_received *received);

/**
 * gp_receivers_keep() - have a receiver of @uid's keep a reference to @conn, so that the
 * caller's close() is not the last one. 0 or negative errno, as above.
 */
int gp_receivers_keep(struct gp_receivers *receivers, uid_t uid, int conn);

/**
 * gp_receivers_groups() - as @dev->ops->groups(), without a stranger's file in this process.
 * Return: as that; -ETIMEDOUT, -EAGAIN: as above.
 */
int gp_receivers_groups(struct gp_receivers *receivers, struct gp_device *dev, pid_t pid,
			struct gp_group_list *list);

/** Is @pid one of the receivers? The files that it keeps are not its own. */
bool gp_receivers_has(struct gp_receivers *receivers, pid_t pid);

/* ---- for the loop ----------------------------------------------------------------- */

/** End receivers that are not used, from now on, and run jobs. 0 or negative errno. */
int gp_receivers_attach(struct gp_receivers *receivers, struct gp_loop *loop);
/** Wait for the jobs under way, and take no more. */
void gp_receivers_stop(struct gp_receivers *receivers);

/**
 * struct gp_receivers_job - what waits for a receiver; embedded.
 * @work: in a thread, in the order of posting for each user
 * @done: in the loop afterwards, also without @work if the daemon ends; may free the job
 */
struct gp_receivers_job {
	struct gp_job job;
	struct gp_receiver *receiver;
	void (*work)(struct gp_receivers_job *job);
	void (*done)(struct gp_receivers_job *job);
};

/** 0; -EAGAIN: too many users have receivers at work. */
int gp_receivers_post(struct gp_receivers *receivers, uid_t uid, struct gp_receivers_job *job);

#endif
