/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_socket.h - a tenant's answers to received messages. */
#ifndef GP_CLIENT_TENANT_SOCKET_H
#define GP_CLIENT_TENANT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "gpreempt/hal.h"
#include "wire/wire.h"

struct gp_client_device;

/** A request that waits for the daemon's answer; @count 0: none. */
struct gp_tenant_socket_wait {
	size_t count;
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	uint64_t ask[GP_HAL_MAX_DEVICES]; /* of gp_daemon_link_ask() */
	int result;			  /* for the other devices */
};

/**
 * gp_tenant_socket_handle() - act on @len bytes from a peer, valid or not.
 * @may_change: the peer is the tenant's own user, or root
 * @reply: out, send back its head.size bytes; filled unless @wait is set
 * @wait: in: empty; out: a request that waits
 */
void gp_tenant_socket_handle(const void *bytes, size_t len, bool may_change,
			     union gp_wire_msg *reply, struct gp_tenant_socket_wait *wait);
/** Has the answer come? Then @reply has it, and @wait is empty. */
bool gp_tenant_socket_answered(struct gp_tenant_socket_wait *wait, union gp_wire_msg *reply);

#endif
