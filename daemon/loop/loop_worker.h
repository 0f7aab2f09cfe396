/* SPDX-License-Identifier: Apache-2.0 */
/* loop_worker.h - a worker whose jobs end in the daemon's loop. */
#ifndef GP_DAEMON_LOOP_WORKER_H
#define GP_DAEMON_LOOP_WORKER_H

#include "daemon/loop/loop.h"
#include "runtime/worker.h"

/** @worker: NULL: not made. Its jobs' done() are called by the loop. */
struct gp_loop_worker {
	struct gp_source source;
	struct gp_worker *worker;
};

/** 0 or negative errno. */
int gp_loop_worker_create(struct gp_loop *loop, bool is_urgent, struct gp_loop_worker *w);
/** Legal for one that was not made. */
void gp_loop_worker_destroy(struct gp_loop_worker *w);

#endif
