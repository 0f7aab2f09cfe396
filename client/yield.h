/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yield.h - sharing the device by agreement. A process that wants it asks all other tenants,
 * and each suspends its own groups. The request ends when it is withdrawn, at its limit, and
 * with its connection.
 *
 * It has two uses. If a process can suspend its own groups and there is no better way
 * (GP_CAP_SUSPEND_OWN, no GP_CAP_HOLD), this holds the device. If there are holds, it helps
 * where a hold harms: in a call of the driver that waits for the device many times, each time
 * for a switch.
 *
 * A process without gpreempt in it yields nothing. Nor does one with turns by the daemon, if
 * the daemon can suspend its groups: it would resume them. A process yields to other users where
 * they could also hold it (GP_CAP_HOLD). All of them together get at most 10 % of any 10 s: a
 * daemon could refuse them, and here is none.
 */
#ifndef GP_CLIENT_YIELD_H
#define GP_CLIENT_YIELD_H

#include "client/engine.h"
#include "wire/wire.h"

/** Is this the way to hold @dev? */
bool gp_yields(const struct gp_client_device *dev);

/*
 * Requests; any thread.
 *
 * gp_yield_ask: returns when all that answer have yielded, after 20 ms at most; a repetition
 * before its end moves its limit. gp_yield_tell: does not wait for them.
 */
int gp_yield_ask(struct gp_client_device *dev, uint32_t level, uint64_t limit_ns);
void gp_yield_tell(struct gp_client_device *dev, uint32_t level, uint64_t limit_ns);
void gp_yield_release(struct gp_client_device *dev);
/** In a fork's child: close the parent's connections. */
void gp_yield_forget(void);

/*
 * Requests from our own user (or root) or another one; the thread's own. -EBUSY: other users
 * have used up their time.
 */
int gp_yield_serve(int fd, const struct gp_wire_yield *msg, bool own);
/** The connection @fd is closed. */
void gp_yield_gone(int fd);
/** End all requests for @dev: from now on the daemon decides. */
void gp_yield_drop(struct gp_client_device *dev);
/** Time until the next limit; -1: none. */
int gp_yield_wait_ms(void);
/** End requests over their limit, and repeat what failed at the end of one. */
void gp_yield_expire(void);

#endif
