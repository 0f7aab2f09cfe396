// SPDX-License-Identifier: Apache-2.0
#include "wire/rule.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static int ask(int fd, const struct gp_class_request *request, union gp_wire_msg *msg,
	       int timeout_ms)
{
	gp_wire_init(msg, GP_WIRE_RULE);
	gp_class_request_to_wire(request, &msg->ask_class.request);
	return gp_wire_call(fd, msg, timeout_ms);
}

int gp_wire_ask_rule(const struct gp_class_request *request, struct gp_wire_ruled *ruled,
		     char refusal[GP_WIRE_TEXT_LEN], int timeout_ms)
{
	const struct gp_class_request none = { .cls.cls = GP_CLASS_NONE };
	const int fd = gp_wire_daemon_connect();
	union gp_wire_msg msg;
	int err, refused = 0;

	*ruled = (struct gp_wire_ruled){ .memory_min = GP_WIRE_UNKNOWN,
					 .memory_max = GP_WIRE_UNKNOWN,
					 .host_memory = GP_WIRE_UNKNOWN };
	if (fd < 0)
		return fd;
	err = ask(fd, request, &msg, timeout_ms);
	if (err == -EPERM && msg.head.type == GP_WIRE_SAID) {
		refused = err;
		if (refusal)
			snprintf(refusal, GP_WIRE_TEXT_LEN, "%s", msg.said.text);
		err = ask(fd, &none, &msg, timeout_ms);
	}
	close(fd);
	if (!err)
		*ruled = msg.ruled;
	return refused ? refused : err;
}
