/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yield.h - the device by agreement: who wants it asks all other tenants, and
 * each takes its own groups off. What was asked for ends when it is taken back, by
 * its limit, and with the connection, that is with the asker.
 *
 * Two uses. Where a process can take its own groups off and there is nothing
 * better (GP_CAP_SUSPEND_OWN, no GP_CAP_HOLD), it is how the device is held. Where
 * there are holds, it is for the one thing that they are in the way of: a call of
 * the driver that waits for the device many times, each time for a switch.
 *
 * A process without gpreempt in it yields nothing. Nor does one whose turns are the
 * daemon's, where that can take its groups off: it would put them back unasked. One
 * of another user yields where it could be held as well (GP_CAP_HOLD): there, to be
 * asked gives nobody a right that a kernel of his does not.
 */
#ifndef GP_CLIENT_YIELD_H
#define GP_CLIENT_YIELD_H

#include "client/engine.h"
#include "wire/wire.h"

/** Is this how @dev is held? */
bool gp_yields(const struct gp_edev *dev);

/*
 * Asking; of any thread.
 * gp_yield_ask: returns when all that answer have yielded, after 20 ms at most;
 * again before its end: its limit moves.
 * gp_yield_tell: does not wait for them.
 */
int gp_yield_ask(struct gp_edev *dev, uint32_t level, uint64_t limit_ns);
void gp_yield_tell(struct gp_edev *dev, uint32_t level, uint64_t limit_ns);
void gp_yield_release(struct gp_edev *dev);
/** In the child of a fork: the parent's connections are not to stay open. */
void gp_yield_forget(void);

/* Being asked, by our own user (or root) or a stranger; the thread's own. */
int gp_yield_serve(int fd, const struct gp_wire_yield *msg, bool own);
/** The connection @fd is closed. */
void gp_yield_gone(int fd);
/** What was asked for @dev ends: who has it is another's to say from now on. */
void gp_yield_drop(struct gp_edev *dev);
/** Until the next limit; -1: there is none. */
int gp_yield_wait_ms(void);
/** End what is over its limit. */
void gp_yield_expire(void);

#endif
