/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - what a tenant answers to the bytes that came in.
 */
#ifndef GP_CLIENT_CONTROL_H
#define GP_CLIENT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "gpreempt/hal.h"
#include "wire/wire.h"

struct gp_edev;

/** A request whose answer the daemon has; @count 0: there is none. */
struct gp_control_wait {
	size_t count;
	struct gp_edev *dev[GP_HAL_MAX_DEVICES];
	uint64_t ask[GP_HAL_MAX_DEVICES]; /* of gp_edaemon_ask() */
	int result;			  /* of the other devices */
};

/**
 * gp_control_handle() - act on @len bytes of a peer, whatever they are.
 * @may_change: the peer is the tenant's own user, or root
 * @reply: out, its head.size bytes are to be sent back; filled but where @wait
 *	has become one
 * @wait: in: there is none
 */
void gp_control_handle(const void *bytes, size_t len, bool may_change, union gp_wire_msg *reply,
		       struct gp_control_wait *wait);
/** Is the answer there? Then @reply has it, and there is no @wait any more. */
bool gp_control_answered(struct gp_control_wait *wait, union gp_wire_msg *reply);

#endif
