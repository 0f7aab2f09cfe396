// SPDX-License-Identifier: Apache-2.0
#include "client/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/engine.h"
#include "client/engine_internal.h"
#include "hal/slot.h"
#include "hal/timer.h"

#define TENANTS 64
#define ANSWER_MS 1000
#define AGAIN_NS 20000000
#define NAP_NS 1000000	      /* between requests to tenants .. */
#define DAEMON_NAP_NS 4000000 /* .. and to a daemon, which serves others too */
#define MOVE_NS 60000000000u

/* An answer to a request for room. */
struct room {
	bool may_come, moving;
};

static struct room ask_one(pid_t pid, const uint8_t uuid[16], uint64_t need)
{
	union gp_wire_msg msg;
	int fd = gp_wire_connect(pid), err;

	if (fd < 0)
		return (struct room){ 0 };
	gp_wire_init(&msg, GP_WIRE_MEMORY);
	msg.memory.leave = 1;
	msg.memory.need = need;
	memcpy(msg.memory.uuid, uuid, sizeof(msg.memory.uuid));
	err = gp_wire_call(fd, &msg, ANSWER_MS);
	close(fd);
	return (struct room){
		.may_come = err == -EAGAIN ||
			    (!err && (msg.memory.moving || msg.memory.figures.movable)),
		.moving = !err && msg.memory.moving,
	};
}

static struct room ask_tenants(const uint8_t uuid[16], uint64_t need)
{
	struct room all = { 0 };
	pid_t pid[TENANTS];
	ssize_t n = gp_wire_tenants(pid, TENANTS);

	for (ssize_t i = 0; i < n; i++) {
		struct room one = { 0 };

		if (pid[i] != getpid())
			one = ask_one(pid[i], uuid, need);
		all.may_come |= one.may_come;
		all.moving |= one.moving;
	}
	return all;
}

/* @again: the first request chose a tenant already. */
static struct room ask_daemon(const uint8_t uuid[16], uint64_t need, bool again)
{
	union gp_wire_msg msg;
	int fd = gp_wire_daemon_connect(), err;

	if (fd < 0)
		return (struct room){ 0 };
	gp_wire_init(&msg, GP_WIRE_ROOM);
	memcpy(msg.room.uuid, uuid, sizeof(msg.room.uuid));
	msg.room.moving = again;
	msg.room.need = need;
	err = gp_wire_call(fd, &msg, ANSWER_MS);
	close(fd);
	return (struct room){ !err && msg.room.may_come, !err && msg.room.moving };
}

int gp_memory_quota(int *file, uint32_t *place)
{
	union gp_wire_msg msg;
	int fd = gp_wire_daemon_connect(), err;

	if (fd < 0)
		return fd;
	gp_wire_init(&msg, GP_WIRE_QUOTA);
	err = gp_wire_call_file(fd, &msg, file, ANSWER_MS);
	close(fd);
	if (!err)
		*place = msg.quota.place;
	return err;
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/*
 * While memory is released, an allocation that fails again and again would slow that: the driver
 * has one lock for both.
 */
bool gp_memory_ask(const uint8_t uuid[16], uint64_t need, bool turns)
{
	const uint64_t until_ns = gp_wall_ns() + MOVE_NS;
	struct room first = ask_daemon(uuid, need, false), now = first;

	if (first.may_come) {
		do {
			nap(DAEMON_NAP_NS);
			now = now.moving ? ask_daemon(uuid, 0, true) : now;
		} while (now.moving && gp_wall_ns() < until_ns);
		return true;
	}
	if (turns)
		return false;
	first = now = ask_tenants(uuid, need);
	while (now.moving && gp_wall_ns() < until_ns) {
		nap(NAP_NS);
		now = ask_tenants(uuid, 0);
	}
	return first.may_come;
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

int gp_memory_link_take(const uint8_t uuid[16])
{
	struct gp_client_device *dev = device_of(uuid);
	int fd = -1, err = dev ? gp_link_take(dev->hal, &fd) : -ENODEV;

	return err ? err : fd;
}

bool gp_memory_link_is_taken(const uint8_t uuid[16])
{
	struct gp_client_device *dev = device_of(uuid);

	return dev && gp_link_is_taken(dev->hal);
}

/* gpreemptd suspends and resumes the groups. */
static bool has_turns(const struct gp_client_device *dev)
{
	return gp_runtime_is_managed(dev->rt) && dev->caps.caps & GP_CAP_SUSPEND;
}

/* dev->lock held. Without a daemon the mover's groups never stop. */
static int stop_all(struct gp_client_device *dev, bool stop)
{
	struct gp_group *group[GP_SCHED_MAX_GROUPS];
	struct gp_runtime_group *g = NULL;
	size_t n = 0;
	int err = 0;

	gp_runtime_lock(dev->rt);
	while ((g = gp_runtime_next(dev->rt, dev, g)))
		group[n++] = g->hal;
	if (!dev->yielded)
		err = stop ? dev->ops.suspend(group, n) : dev->ops.resume(group, n);
	if (!err)
		dev->stopped = stop;
	gp_runtime_unlock(dev->rt);
	return err;
}

/* -EINPROGRESS: it is the daemon's to do. */
static int stop_here(struct gp_client_device *dev, enum gp_memory_stop what)
{
	int err = -EINPROGRESS;

	pthread_mutex_lock(&dev->lock);
	if (!has_turns(dev)) {
		err = dev->stopped && what != GP_MEMORY_RUN ? 0 :
							      stop_all(dev, what != GP_MEMORY_RUN);
		if (!err)
			gp_daemon_link_note_away(dev, what);
	}
	gp_client_device_unlock(dev);
	return err;
}

static atomic_bool idle;

void gp_memory_idle(bool on)
{
	atomic_store(&idle, on);
}

int gp_memory_stop(const uint8_t uuid[16], enum gp_memory_stop what)
{
	struct gp_client_device *dev = device_of(uuid);
	int err;

	if (!dev)
		return -ENODEV;
	if (atomic_load(&idle))
		return 0;
	for (;;) {
		err = stop_here(dev, what);
		if (err != -EINPROGRESS)
			return err;
		err = gp_daemon_link_away(dev, what);
		/* Memory is whole again, and the groups may run: there is no way back from that. */
		if (err && err != -ENOTCONN && what != GP_MEMORY_RUN)
			return err;
		if (!err)
			return 0;
		nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
	}
}

void gp_memory_changed(const uint8_t uuid[16])
{
	struct gp_client_device *dev = device_of(uuid);

	if (!dev)
		return;
	pthread_mutex_lock(&dev->lock);
	gp_status_page_memory(dev);
	gp_client_device_unlock(dev);
}

void gp_memory_read(struct gp_client_device *dev, bool be, const uint64_t *need,
		    struct gp_memory_stat *stat)
{
	const struct gp_engine_hooks *hooks = gp_engine_hooks();

	*stat = (struct gp_memory_stat){ 0 };
	if (!hooks->memory)
		return;
	hooks->memory(dev->hal->id.uuid, be ? need : NULL, stat);
	if (be || stat->by_itself)
		return;
	stat->figures.fixed += stat->figures.movable;
	stat->figures.movable = 0;
}

int gp_memory_serve(const struct gp_wire_memory *msg, union gp_wire_msg *reply)
{
	struct gp_client_device *dev = device_of(msg->uuid);
	struct gp_memory_stat stat;

	if (msg->leave > 1)
		return -EINVAL;
	if (!dev)
		return -ENODEV;
	gp_memory_read(dev, false, NULL, &stat);
	/* Then it is gpreemptd that asks; without one, soon this process decides itself. */
	if (!stat.by_itself && msg->leave && gp_daemon_link_manages(dev) &&
	    dev->caps.caps & GP_CAP_SUSPEND)
		return gp_daemon_link_welcome(&dev->link) ? -EBUSY : -EAGAIN;
	gp_wire_init(reply, GP_WIRE_MEMORY);
	memcpy(reply->memory.uuid, msg->uuid, sizeof(reply->memory.uuid));
	/* Its class may have changed. */
	gp_memory_read(dev, gp_client_device_is_be(dev), msg->leave ? &msg->need : NULL, &stat);
	reply->memory.leave = msg->leave;
	reply->memory.moving = stat.moving;
	reply->memory.figures = stat.figures;
	return 0;
}
