/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - what a tenant answers to the bytes that came in.
 */
#ifndef GP_CLIENT_CONTROL_H
#define GP_CLIENT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/wire.h"

/**
 * gp_control_handle() - act on @len bytes of a peer, whatever they are.
 * @may_change: the peer is the tenant's own user, or root
 * @reply: out, always filled; its head.size bytes are to be sent back
 */
void gp_control_handle(const void *bytes, size_t len, bool may_change,
		       union gp_wire_msg *reply);

#endif
