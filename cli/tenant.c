// SPDX-License-Identifier: Apache-2.0
/* tenant.c - a tenant's own report. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "wire/wire.h"

static int ask(int fd, union gp_wire_msg *msg, struct gp_wire_status *status, int timeout_ms)
{
	int err = gp_wire_call(fd, msg, timeout_ms);

	if (err)
		return err;
	*status = msg->status;
	status->comm[sizeof(status->comm) - 1] = '\0';
	status->device[sizeof(status->device) - 1] = '\0';
	status->uuid[sizeof(status->uuid) - 1] = '\0';
	return 0;
}

static int ask_all(int fd, struct gp_wire_status *status, int timeout_ms)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_QUERY);
	return ask(fd, &msg, status, timeout_ms);
}

int gp_tenant_status(pid_t pid, struct gp_wire_status *status, int timeout_ms)
{
	GP_CLOSE int fd = gp_wire_connect(pid);

	return fd < 0 ? fd : ask_all(fd, status, timeout_ms);
}

ssize_t gp_tenant_devices(pid_t pid, struct gp_wire_status *status, size_t max, int timeout_ms)
{
	GP_CLOSE int fd = gp_wire_connect(pid);
	union gp_wire_msg msg;
	size_t n;
	int err = fd < 0 ? fd : 0;

	for (n = 0; !err && n < max; n++) {
		gp_wire_init(&msg, GP_WIRE_QUERY_DEVICE);
		msg.query.number = (uint32_t)n;
		err = ask(fd, &msg, &status[n], timeout_ms);
		if (err)
			break;
	}
	/* It has none, or is too old for this query. */
	if (!n && (err == -ENODEV || err == -EPROTO)) {
		err = ask_all(fd, status, timeout_ms);
		return err ? err : 1;
	}
	return n ? (ssize_t)n : err;
}

/* As gp_uuid_format() writes it. */
static bool read_uuid(const char *text, uint8_t uuid[16])
{
	size_t n = 0;

	for (text += strcspn(text, "-"); *text && n < 16;) {
		unsigned int byte;

		text += *text == '-';
		if (sscanf(text, "%2x", &byte) != 1)
			return false;
		uuid[n++] = (uint8_t)byte;
		text += 2;
	}
	return n == 16;
}

int gp_tenant_memory(pid_t pid, const char *uuid, struct gp_wire_memory_figures *figures,
		     int timeout_ms)
{
	GP_CLOSE int fd = gp_wire_connect(pid);
	union gp_wire_msg msg;
	int err = fd < 0 ? fd : 0;

	gp_wire_init(&msg, GP_WIRE_MEMORY);
	if (!err && !read_uuid(uuid, msg.memory.uuid))
		err = -EINVAL;
	if (!err)
		err = gp_wire_call(fd, &msg, timeout_ms);
	if (!err)
		*figures = msg.memory.figures;
	return err;
}
