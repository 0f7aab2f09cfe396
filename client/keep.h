/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.h - keeps the device between the waits of a request, in a process that predicts, and from
 * the end of a pile (pile.h) to the wait. All calls hold dev->lock.
 */
#ifndef GP_CLIENT_KEEP_H
#define GP_CLIENT_KEEP_H

#include <stdbool.h>

#include "client/engine.h"

/** Keep it for @limit_ns from now on, or until the next call; 0: no longer. */
void gp_keep_for(struct gp_client_device *dev, struct gp_ectx *c, uint64_t limit_ns);
/** Work of @c began, or the process has waited for all of it. */
void gp_keep_work(struct gp_client_device *dev, struct gp_ectx *c, bool busy);
/** The process begins to wait for all work of @c. */
void gp_keep_wait(struct gp_client_device *dev, struct gp_ectx *c);

#endif
