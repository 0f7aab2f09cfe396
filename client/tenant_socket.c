// SPDX-License-Identifier: Apache-2.0
#include "client/tenant_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/engine.h"
#include "gpreempt/gpreempt.h"
#include "runtime/log.h"

static void read_comm(char *comm, size_t len)
{
	static atomic_int said;
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, comm, len - 1);

	if (n < 0)
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot read /proc/self/comm: %s; gpreempt ls shows no name",
			    strerror(errno));
	if (fd >= 0)
		close(fd);
	comm[n > 0 ? n : 0] = 0;
	comm[strcspn(comm, "\n")] = 0;
}

/* 0, or -ENODEV: no answer. */
static int answer_query(const union gp_wire_msg *msg, union gp_wire_msg *reply)
{
	gp_wire_init(reply, GP_WIRE_STATUS);
	reply->status.pid = getpid();
	reply->status.uid = geteuid();
	read_comm(reply->status.comm, sizeof(reply->status.comm));
	if (msg->head.type == GP_WIRE_QUERY_DEVICE)
		return gp_engine_status_of(msg->query.number, &reply->status);
	gp_engine_status(&reply->status);
	return 0;
}

static bool is_query(const union gp_wire_msg *msg)
{
	return msg->head.type == GP_WIRE_QUERY || msg->head.type == GP_WIRE_QUERY_DEVICE;
}

/* Does not wait for the daemon, because this thread receives its answers. */
static int set_device(struct gp_client_device *dev, const struct gp_class_request *request,
		      struct gp_tenant_socket_wait *wait)
{
	uint64_t ask;

	if (!gp_daemon_link_manages(dev))
		return gp_client_device_apply_class(dev, &request->cls, request);
	ask = gp_daemon_link_ask(dev, request);
	if (!ask)
		return -EBUSY;
	wait->dev[wait->count] = dev;
	wait->ask[wait->count++] = ask;
	return 0;
}

/* -EPERM means that the peer may change nothing at all. */
static int class_result(int err)
{
	return err == -EPERM ? -EACCES : err;
}

static int set_class(const struct gp_wire_set_class *msg, struct gp_tenant_socket_wait *wait)
{
	struct gp_class_request request = { .cls = { msg->cls, msg->value } };
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);
	int err = n ? 0 : -ENODEV;

	if (request.cls.cls == GP_CLASS_BE && !request.cls.value)
		request.cls.value = GP_WEIGHT_DEFAULT;
	if (gp_class_check(request.cls.cls, request.cls.value))
		return -EINVAL;
	for (size_t i = 0; i < n && !err; i++)
		err = set_device(dev[i], &request, wait);
	return class_result(err);
}

static int act(const union gp_wire_msg *msg, bool may_change, struct gp_tenant_socket_wait *wait)
{
	if (msg->head.type != GP_WIRE_SET_CLASS && msg->head.type != GP_WIRE_HINT &&
	    msg->head.type != GP_WIRE_MEMORY)
		return -EPROTO;
	if (!may_change)
		return -EPERM;
	if (msg->head.type == GP_WIRE_SET_CLASS)
		return set_class(&msg->set_class, wait);
	if (msg->hint.in_ns > GP_HINT_MAX_NS)
		return -EINVAL;
	return gp_engine_hint(msg->hint.in_ns);
}

void gp_tenant_socket_handle(const void *bytes, size_t len, bool may_change,
			     union gp_wire_msg *reply, struct gp_tenant_socket_wait *wait)
{
	union gp_wire_msg msg = { 0 };
	int result = -EPROTO;

	/* A copy, because the bytes are not aligned and may be too few. */
	if (len <= sizeof(msg)) {
		memcpy(&msg, bytes, len);
		result = gp_wire_check(&msg, len);
	}
	if (!result && is_query(&msg)) {
		result = answer_query(&msg, reply);
		if (!result)
			return;
	} else if (!result && msg.head.type == GP_WIRE_MEMORY && may_change) {
		result = gp_memory_serve(&msg.memory, reply);
		if (!result)
			return;
	} else if (!result) {
		result = act(&msg, may_change, wait);
	}
	wait->result = result;
	if (wait->count)
		return;
	gp_wire_init(reply, GP_WIRE_RESULT);
	reply->head.result = result;
}

bool gp_tenant_socket_answered(struct gp_tenant_socket_wait *wait, union gp_wire_msg *reply)
{
	int err, result = wait->result;

	for (size_t i = 0; i < wait->count; i++) {
		if (!gp_daemon_link_answered(wait->dev[i], wait->ask[i], &err))
			return false;
		if (err && !result)
			result = class_result(err);
	}
	wait->count = 0;
	gp_wire_init(reply, GP_WIRE_RESULT);
	reply->head.result = result;
	return true;
}
