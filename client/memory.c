// SPDX-License-Identifier: Apache-2.0
#include "client/memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/engine.h"
#include "client/engine_internal.h"

#define TENANTS 64
#define ANSWER_MS 1000

static bool ask_one(pid_t pid, const uint8_t uuid[16])
{
	union gp_wire_msg msg;
	int fd = gp_wire_connect(pid), err;

	if (fd < 0)
		return false;
	gp_wire_init(&msg, GP_WIRE_MEMORY);
	msg.memory.leave = 1;
	memcpy(msg.memory.uuid, uuid, sizeof(msg.memory.uuid));
	err = gp_wire_call(fd, &msg, ANSWER_MS);
	close(fd);
	return !err && (msg.memory.moving || msg.memory.movable);
}

bool gp_memory_ask(const uint8_t uuid[16])
{
	pid_t pid[TENANTS];
	ssize_t n = gp_wire_tenants(pid, TENANTS);
	bool any = false;

	for (ssize_t i = 0; i < n; i++)
		if (pid[i] != getpid())
			any |= ask_one(pid[i], uuid);
	return any;
}

static struct gp_client_device *device_of(const uint8_t uuid[16])
{
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);

	for (size_t i = 0; i < n; i++)
		if (!memcmp(dev[i]->hal->id.uuid, uuid, 16))
			return dev[i];
	return NULL;
}

/* The daemon would resume the groups at their turn. */
static bool has_turns(const struct gp_client_device *dev)
{
	return gp_runtime_is_managed(dev->rt) && dev->caps.caps & GP_CAP_SUSPEND;
}

int gp_memory_stop(const uint8_t uuid[16], bool stop)
{
	struct gp_group *group[GP_SCHED_MAX_GROUPS];
	struct gp_client_device *dev = device_of(uuid);
	struct gp_runtime_group *g = NULL;
	size_t n = 0;
	int err = 0;

	if (!dev)
		return -ENODEV;
	pthread_mutex_lock(&dev->lock);
	if (stop && has_turns(dev))
		err = -EBUSY;
	gp_runtime_lock(dev->rt);
	while (!err && (g = gp_runtime_next(dev->rt, dev, g)))
		group[n++] = g->hal;
	if (!err && !dev->yielded)
		err = stop ? dev->ops.suspend(group, n) : dev->ops.resume(group, n);
	if (!err)
		dev->stopped = stop;
	gp_runtime_unlock(dev->rt);
	gp_client_device_unlock(dev);
	return err;
}

int gp_memory_serve(const struct gp_wire_memory *msg, union gp_wire_msg *reply)
{
	const struct gp_engine_hooks *hooks = gp_engine_hooks();
	struct gp_client_device *dev = device_of(msg->uuid);
	struct gp_memory_stat stat = { 0 };

	if (msg->leave > 1)
		return -EINVAL;
	if (!dev)
		return -ENODEV;
	gp_wire_init(reply, GP_WIRE_MEMORY);
	memcpy(reply->memory.uuid, msg->uuid, sizeof(reply->memory.uuid));
	/* Its class may have changed. */
	if (hooks->memory && gp_client_device_is_be(dev))
		hooks->memory(msg->uuid, msg->leave, &stat);
	reply->memory.leave = msg->leave;
	reply->memory.moving = stat.moving;
	reply->memory.movable = stat.movable;
	reply->memory.out = stat.out;
	reply->memory.moves = stat.moves;
	return 0;
}
