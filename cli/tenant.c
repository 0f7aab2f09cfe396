// SPDX-License-Identifier: Apache-2.0
/* tenant.c - a tenant's own report. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hal/timer.h"
#include "wire/wire.h"

static int copy_status(const union gp_wire_msg *msg, struct gp_wire_status *status)
{
	*status = msg->status;
	status->comm[sizeof(status->comm) - 1] = '\0';
	status->device[sizeof(status->device) - 1] = '\0';
	status->uuid[sizeof(status->uuid) - 1] = '\0';
	return 0;
}

static int ask(int fd, union gp_wire_msg *msg, struct gp_wire_status *status, int timeout_ms)
{
	int err = gp_wire_call(fd, msg, timeout_ms);

	if (err)
		return err;
	return copy_status(msg, status);
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

static void init_device(union gp_wire_msg *msg, size_t number)
{
	gp_wire_init(msg, GP_WIRE_QUERY_DEVICE);
	msg->query.number = (uint32_t)number;
}

/* Connects to @pid and asks for its first device. Return: the connection, or negative errno. */
static int ask_first(pid_t pid)
{
	int fd = gp_wire_connect(pid), err;
	union gp_wire_msg msg;

	if (fd < 0)
		return fd;
	init_device(&msg, 0);
	err = gp_wire_send(fd, &msg, NULL, 0);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* The answer to ask_first(). */
static int read_first(int fd, struct gp_wire_status *status, int timeout_ms)
{
	union gp_wire_msg msg;
	int err = gp_wire_next(fd, &msg, timeout_ms);

	if (err)
		return err;
	if (msg.head.type == GP_WIRE_STATUS && !msg.head.result)
		return copy_status(&msg, status);
	return msg.head.result < 0 ? msg.head.result : -EPROTO;
}

ssize_t gp_tenant_answer(int fd, struct gp_wire_status *status, size_t max, int timeout_ms)
{
	union gp_wire_msg msg;
	size_t n = 0;
	int err = read_first(fd, status, timeout_ms);

	while (!err && ++n < max) {
		init_device(&msg, n);
		err = ask(fd, &msg, &status[n], timeout_ms);
	}
	/* It has none, or is too old for this query. */
	if (!n && (err == -ENODEV || err == -EPROTO)) {
		err = ask_all(fd, status, timeout_ms);
		return err ? err : 1;
	}
	return n ? (ssize_t)n : err;
}

ssize_t gp_tenant_devices(pid_t pid, struct gp_wire_status *status, size_t max, int timeout_ms)
{
	GP_CLOSE int fd = ask_first(pid);

	return fd < 0 ? fd : gp_tenant_answer(fd, status, max, timeout_ms);
}

/* Waits until each of @asked has answered, or @timeout_ms are over. Closes the silent ones. */
static void wait_for_all(struct pollfd *asked, size_t n, int *fd, int timeout_ms)
{
	const uint64_t until_ns = gp_wall_ns() + (uint64_t)timeout_ms * 1000000;
	int64_t left_ms = timeout_ms;
	size_t silent = n;

	while (silent && left_ms > 0) {
		poll(asked, n, (int)left_ms);
		silent = 0;
		for (size_t i = 0; i < n; i++) {
			/* poll() ignores a negative file. */
			if (asked[i].revents)
				asked[i].fd = -1;
			asked[i].revents = 0;
			silent += asked[i].fd >= 0;
		}
		left_ms = (int64_t)(until_ns - gp_wall_ns()) / 1000000;
	}
	for (size_t i = 0; i < n; i++) {
		gp_cleanup_close(&asked[i].fd);
		if (asked[i].fd >= 0)
			fd[i] = -ETIMEDOUT;
	}
}

void gp_tenant_ask(const pid_t *pid, int *fd, size_t n, int timeout_ms)
{
	struct pollfd asked[GP_TENANT_ASK_MAX];

	for (size_t i = 0; i < n; i++) {
		fd[i] = ask_first(pid[i]);
		asked[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	}
	wait_for_all(asked, n, fd, timeout_ms);
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
