/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - this process as a tenant of gpreemptd, one connection for each device
 * that it has groups on. All of it is the library's thread's, but for asking: the
 * app's own calls neither connect nor wait for a daemon (gp_edaemon_wait() apart),
 * and a hold says nothing to it (page.h).
 *
 * With a daemon, slices and turns are its; this process holds, takes hints and
 * learns as ever. Without one, and as soon as there is none, it does all of it
 * itself.
 */
#ifndef GP_CLIENT_DAEMON_H
#define GP_CLIENT_DAEMON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/class.h"

struct gp_edev;

#define GP_EDAEMON_ASKS 8
#define GP_EDAEMON_NAP_NS 20000000u	 /* between tries, while one is missed .. */
#define GP_EDAEMON_MISSED_NS 1500000000u /* .. which is so long */
#define GP_EDAEMON_JOIN_NS \
	10000000000u /* of one that was never missed: it looks
					 * into the process, on a busy machine */
/* Whoever else puts groups back of a daemon that died is through by then. */
#define GP_EDAEMON_AGAIN_NS 2000000000u
#define GP_EDAEMON_LOOK_NS 2000000000u	   /* between looks for one that comes .. */
#define GP_EDAEMON_SLOT_NS 200000000u	   /* .. by whose short slice is in its way */
#define GP_EDAEMON_REFUSED_NS 30000000000u /* likewise, by who was refused */
#define GP_EDAEMON_FILES_NS 5000000u	   /* groups come in numbers: told together */
#define GP_EDAEMON_ANSWER_NS 1000000000u   /* so long does an app's call wait */

enum gp_edaemon_state {
	GP_EDAEMON_NONE,    /* by itself; looks for one at next_ns */
	GP_EDAEMON_JOINING, /* has said HELLO; answered until end_ns? */
	GP_EDAEMON_LATE,    /* by itself: it was not; who answers now is
					 * greeted anew */
	GP_EDAEMON_WELCOME, /* it decides */
	GP_EDAEMON_MISSED,  /* it is gone; another comes until end_ns? */
};

struct gp_edaemon {
	/* The thread's own. */
	enum gp_edaemon_state state;
	int fd;			  /* -1: none */
	uint64_t next_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t missed_ns;	  /* MISSED ends then, JOINING in it too; 0 */
	uint64_t files_ns;	  /* FILES are due; 0: not */
	uint64_t resume_ns;	  /* a group is off still: try again; 0: none */
	uint64_t again_ns;	  /* slices are set once more then; 0: no */
	bool refused;		  /* by the one that is connected */
	bool distrusted;	  /* it said what makes no sense */
	bool said;		  /* that it refuses; until one does not */

	atomic_bool regrouped;
	atomic_bool look;
	atomic_bool manages;

	/* What the process asks it for. Protected by lock, a leaf. */
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct gp_class_request ask[GP_EDAEMON_ASKS];
	int result[GP_EDAEMON_ASKS];
	uint64_t asked, sent, done; /* so many; their places are modulo ASKS */
};

void gp_edaemon_init(struct gp_edaemon *d);
/** In the child of a fork: its parent's connection is not to stay open. */
void gp_edaemon_forget(struct gp_edev *dev);

/** Are slices and turns of @dev the daemon's? Of any thread. */
bool gp_edaemon_manages(const struct gp_edev *dev);
/** The groups of @dev are other ones now. Of any thread, under libcuda's locks too. */
void gp_edaemon_regrouped(struct gp_edev *dev);

/** Something says that a daemon may have come: look now. Of any thread. */
void gp_edaemon_look(struct gp_edev *dev);

/**
 * gp_edaemon_ask() - have the daemon asked for a class, which is in force when it is
 * granted; without a daemon it is. Never waits. Its number; 0: too many wait.
 */
uint64_t gp_edaemon_ask(struct gp_edev *dev, const struct gp_class_request *request);
/** Is the answer to @ask there? Then *@result: 0, -EPERM: refused, other errno. */
bool gp_edaemon_answered(struct gp_edev *dev, uint64_t ask, int *result);
/** Wait for it, a second at most. -ETIMEDOUT; @ask 0: -EBUSY. Not for the thread. */
int gp_edaemon_wait(struct gp_edev *dev, uint64_t ask);

/* In the thread's loop. */
int gp_edaemon_fd(const struct gp_edev *dev);
/** For at most so long may the thread sleep without; -1: for ever. */
int gp_edaemon_wait_ms(struct gp_edev *dev);
void gp_edaemon_serve(struct gp_edev *dev, short revents);
/** Has it a page of ours? */
bool gp_edaemon_welcome(const struct gp_edaemon *d);

#endif
