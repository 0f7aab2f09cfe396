/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yield.h - holds by agreement, where the driver has none but lets a process take
 * its own groups off (GP_CAP_SUSPEND_OWN): who wants the device asks all other
 * tenants, and each takes its own off. What was asked for ends when it is taken
 * back, by its limit, and with the connection, that is with the asker.
 *
 * A process of another user, or without gpreempt in it, yields nothing.
 */
#ifndef GP_CLIENT_YIELD_H
#define GP_CLIENT_YIELD_H

#include "client/engine.h"
#include "wire/wire.h"

/** Is this how @dev is held? */
bool gp_yields(const struct gp_edev *dev);

/*
 * Asking; called with dev->lock held.
 * gp_yield_ask: returns when all that answer have yielded, after 20 ms at most;
 * again before its end: its limit moves.
 */
int gp_yield_ask(struct gp_edev *dev, uint32_t level, uint64_t limit_ns);
void gp_yield_release(struct gp_edev *dev);
/** In the child of a fork: the parent's connections are not to stay open. */
void gp_yield_forget(void);

/* Being asked; all of it is the thread's own. */
int gp_yield_serve(int fd, const struct gp_wire_yield *msg);
/** The connection @fd is closed. */
void gp_yield_gone(int fd);
/** Until the next limit; -1: there is none. */
int gp_yield_wait_ms(void);
/** End what is over its limit. */
void gp_yield_expire(void);

#endif
