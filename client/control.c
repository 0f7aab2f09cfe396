// SPDX-License-Identifier: Apache-2.0
#include "client/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/engine.h"

static void read_comm(char *comm, size_t len)
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd >= 0) {
		n = read(fd, comm, len - 1);
		close(fd);
	}
	comm[n > 0 ? n : 0] = 0;
	comm[strcspn(comm, "\n")] = 0;
}

static void answer_query(union gp_wire_msg *reply)
{
	gp_wire_init(reply, GP_WIRE_STATUS);
	reply->status.pid = getpid();
	reply->status.uid = geteuid();
	read_comm(reply->status.comm, sizeof(reply->status.comm));
	gp_engine_status(&reply->status);
}

static int set_class(const struct gp_wire_set_class *msg)
{
	struct gp_class_value cls = { msg->cls, msg->value };
	struct gp_edev *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);
	int err = n ? 0 : -ENODEV;

	if (cls.cls == GP_CLASS_BE && !cls.value)
		cls.value = GP_WEIGHT_DEFAULT;
	if (gp_class_check(cls.cls, cls.value))
		return -EINVAL;
	for (size_t i = 0; i < n && !err; i++)
		err = gp_edev_set_class(dev[i], &cls);
	/* -EPERM is what a peer gets that may change nothing at all. */
	return err == -EPERM ? -EACCES : err;
}

static int act(const union gp_wire_msg *msg, bool may_change)
{
	if (msg->head.type != GP_WIRE_SET_CLASS && msg->head.type != GP_WIRE_HINT)
		return -EPROTO;
	if (!may_change)
		return -EPERM;
	if (msg->head.type == GP_WIRE_SET_CLASS)
		return set_class(&msg->set_class);
	if (msg->hint.in_ns > GP_HINT_MAX_NS)
		return -EINVAL;
	return gp_engine_hint(msg->hint.in_ns);
}

void gp_control_handle(const void *bytes, size_t len, bool may_change,
		       union gp_wire_msg *reply)
{
	union gp_wire_msg msg = { 0 };
	int result = -EPROTO;

	/* A copy: the bytes are aligned to nothing, and may be too few. */
	if (len <= sizeof(msg)) {
		memcpy(&msg, bytes, len);
		result = gp_wire_check(&msg, len);
	}
	if (!result && msg.head.type == GP_WIRE_QUERY) {
		answer_query(reply);
		return;
	}
	if (!result)
		result = act(&msg, may_change);
	gp_wire_init(reply, GP_WIRE_RESULT);
	reply->head.result = result;
}
