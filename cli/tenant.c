// SPDX-License-Identifier: Apache-2.0
/*
 * tenant.c - what a tenant says of itself.
 */
#include "cli/cli.h"
#include "wire/wire.h"

int gp_tenant_query(pid_t pid, struct gp_wire_status *status, int timeout_ms)
{
	GP_CLOSE int fd = gp_wire_connect(pid);
	union gp_wire_msg msg;
	int err;

	if (fd < 0)
		return fd;
	gp_wire_init(&msg, GP_WIRE_QUERY);
	err = gp_wire_call(fd, &msg, timeout_ms);
	if (err)
		return err;
	*status = msg.status;
	status->comm[sizeof(status->comm) - 1] = '\0';
	status->device[sizeof(status->device) - 1] = '\0';
	status->uuid[sizeof(status->uuid) - 1] = '\0';
	return 0;
}
