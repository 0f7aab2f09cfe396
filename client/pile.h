/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pile.h - lets the launches of sparse requests pile up (sched/request_kind.h), where gpreemptd
 * gives best-effort a long slice meanwhile. All calls hold dev->lock.
 */
#ifndef GP_CLIENT_PILE_H
#define GP_CLIENT_PILE_H

#include <stdbool.h>

#include "client/engine.h"

/** Work of @c began with the call @key, or the process has waited for all of it. */
void gp_pile_work(struct gp_client_device *dev, struct gp_ectx *c, bool busy, uint64_t key);
/** It has come to the call from which on its request needs the device. */
void gp_pile_needs(struct gp_client_device *dev, struct gp_ectx *c);
/** The process begins to wait for work of @c, and needs the device. */
void gp_pile_wait(struct gp_client_device *dev, struct gp_ectx *c);
/** The process begins to wait, in a call that queues a copy first. */
void gp_pile_copy(struct gp_client_device *dev, struct gp_ectx *c);
/** It has waited for copies alone: its request begins now. */
void gp_pile_again(struct gp_client_device *dev, struct gp_ectx *c);
/** A call of @c may wait for work for a reason of its own: the request tells nothing. */
void gp_pile_void(struct gp_client_device *dev, struct gp_ectx *c);
/** Do launches of @c pile up these days? */
bool gp_pile_lets(struct gp_client_device *dev, const struct gp_ectx *c);
/** Could those of any context, if there were a daemon? */
bool gp_pile_could(struct gp_client_device *dev);

#endif
