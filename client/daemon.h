/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - this process as a tenant of gpreemptd, with one connection for each device that
 * it has groups on. The library's thread does everything except requests. The app's own calls
 * neither connect nor wait for a daemon (except gp_daemon_link_wait()), and a hold sends no
 * message (status_page.h).
 *
 * With a daemon, slices and turns are the daemon's. This process still holds, takes hints and
 * predicts. Without one it does everything itself.
 */
#ifndef GP_CLIENT_DAEMON_H
#define GP_CLIENT_DAEMON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/memory.h"
#include "runtime/class.h"

struct gp_client_device;

#define GP_DAEMON_LINK_ASKS 8
#define GP_DAEMON_LINK_NAP_NS 20000000u	     /* between attempts, after a daemon was lost .. */
#define GP_DAEMON_LINK_MISSED_NS 1500000000u /* .. for this time */
#define GP_DAEMON_LINK_JOIN_NS \
	10000000000u /* for a new daemon, which scans the process, on a busy machine */
/* Other parts of a dead daemon have restored all groups by then. */
#define GP_DAEMON_LINK_AGAIN_NS 2000000000u
#define GP_DAEMON_LINK_LOOK_NS 100000000u /* between attempts to find a new daemon, of 8 us .. */
#define GP_DAEMON_LINK_REFUSED_NS 30000000000u /* .. after a refusal */
#define GP_DAEMON_LINK_FILES_NS 5000000u       /* groups appear together: report them together */
#define GP_DAEMON_LINK_ANSWER_NS 1000000000u   /* longest wait of an app's call */

enum gp_daemon_link_state {
	GP_DAEMON_LINK_NONE,	/* alone; looks for one at next_ns */
	GP_DAEMON_LINK_JOINING, /* has sent HELLO; waits for an answer until end_ns */
	GP_DAEMON_LINK_LATE,	/* alone after no answer; greets again on a late one */
	GP_DAEMON_LINK_WELCOME, /* it decides */
	GP_DAEMON_LINK_MISSED,	/* lost; waits for another until end_ns */
};

struct gp_daemon_link {
	/* The thread's own. */
	enum gp_daemon_link_state state;
	int fd;			  /* -1: none */
	uint64_t next_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t missed_ns;	  /* end of MISSED, and of JOINING within it; 0: none */
	uint64_t files_ns;	  /* FILES are due then; 0: none */
	uint64_t resume_ns;	  /* next attempt to resume a suspended group; 0: none */
	uint64_t again_ns;	  /* slices are set once more then; 0: none */
	bool refused;		  /* by the connected one */
	bool distrusted;	  /* it sent an invalid message */
	bool said;		  /* a refusal was logged; cleared by an acceptance */

	atomic_bool regrouped;
	atomic_bool manages;

	/* The process's requests to the daemon. Protected by lock, a leaf. */
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct gp_class_request ask[GP_DAEMON_LINK_ASKS];
	int result[GP_DAEMON_LINK_ASKS];
	uint64_t asked, sent, done; /* counters; their places are modulo ASKS */

	/* Memory that leaves; likewise. Numbers: of the last request asked, sent, answered. */
	enum gp_memory_stop away;
	uint64_t away_asked, away_sent, away_done;
	int away_result;
	bool away_due;	 /* it is to be sent, perhaps again */
	bool away_flies; /* it is not answered */
};

void gp_daemon_link_init(struct gp_daemon_link *d);
/** In a fork's child: close the parent's connection. */
void gp_daemon_link_forget(struct gp_client_device *dev);

/** Does the daemon decide slices and turns of @dev? Any thread. */
bool gp_daemon_link_manages(const struct gp_client_device *dev);
/** The groups of @dev changed. Any thread, under libcuda's locks too. */
void gp_daemon_link_regrouped(struct gp_client_device *dev);

/**
 * gp_daemon_link_ask() - request a class of the daemon. It is in force when granted, or without a
 * daemon. Never waits. Returns its number; 0: too many wait.
 */
uint64_t gp_daemon_link_ask(struct gp_client_device *dev, const struct gp_class_request *request);
/** Has the answer to @ask come? Then *@result: 0, -EPERM: refused, other errno. */
bool gp_daemon_link_answered(struct gp_client_device *dev, uint64_t ask, int *result);
/** Wait for it, a second at most. -ETIMEDOUT; @ask 0: -EBUSY. Not for the thread. */
int gp_daemon_link_wait(struct gp_client_device *dev, uint64_t ask);

/**
 * gp_daemon_link_away() - report to the daemon what memory does, and wait until all groups follow.
 * Not for the thread. -ENOTCONN: there is none any more; its errno.
 */
int gp_daemon_link_away(struct gp_client_device *dev, enum gp_memory_stop what);
/**
 * Is memory about to leave, or not back? The thread then calls nothing of libcuda's that may wait
 * for work: the daemon hears of the end of it by this thread.
 */
bool gp_daemon_link_is_away(struct gp_client_device *dev);
/** Without a daemon: the state that the next one gets to know. */
void gp_daemon_link_note_away(struct gp_client_device *dev, enum gp_memory_stop what);

/* In the thread's loop. */
int gp_daemon_link_fd(const struct gp_client_device *dev);
/** The thread may sleep this long without a message; -1: for ever. */
int gp_daemon_link_wait_ms(struct gp_client_device *dev);
void gp_daemon_link_serve(struct gp_client_device *dev, short revents);
/** Does it have our page? */
bool gp_daemon_link_welcome(const struct gp_daemon_link *d);

#endif
