// SPDX-License-Identifier: Apache-2.0
/*
 * slot.c - the device's one short best-effort slice: taken when the class is BE and there is a
 * group, released when either ends or the process does.
 *
 * Without gpreemptd nobody has turns. Beside another best-effort process with the driver's slice,
 * one with the short slice has next to no time: on an H200 no kernel ended in 6 s. So its holder
 * passes it on while others wait.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "client/engine.h"
#include "hal/slot.h"
#include "hal/timer.h"
#include "runtime/log.h"

#define LOOK_NS 1000000000u /* the holder looks so often whether another process waits .. */
#define SHARE_NS 100000000u /* .. and keeps it so long if one did */
#define REST_NS 10000000u   /* then it waits behind that one */

static void tell_core(struct gp_client_device *dev, bool have)
{
	struct gp_event ev = { .type = GP_EV_SLOT, .slot.have = have };

	gp_client_device_event_locked(dev, &ev);
}

static void take(struct gp_client_device *dev, int fd, bool waited)
{
	dev->slot_fd = fd;
	dev->slot = GP_SLOT_HAVE;
	tell_core(dev, true);
	atomic_store(&dev->slot_due_ns, gp_wall_ns() + (waited ? SHARE_NS : LOOK_NS));
	gp_thread_wake();
}

/*
 * Waits for the holder to leave. The wait cannot be cancelled: if the slot is no longer
 * wanted, it is released as soon as it comes.
 */
static void *wait_thread(void *arg)
{
	struct gp_client_device *dev = arg;
	int fd = -1;
	int err = gp_slot_wait(dev->hal, &fd);

	pthread_mutex_lock(&dev->lock);
	dev->slot_thread = false;
	if (dev->slot == GP_SLOT_WAITING)
		dev->slot = GP_SLOT_NONE;
	if (!err && dev->slot_wanted && dev->slot == GP_SLOT_NONE) {
		take(dev, fd, true);
	} else if (!err) {
		close(fd);
	}
	gp_client_device_unlock(dev);
	return NULL;
}

static int start_thread(struct gp_client_device *dev)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t id;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&id, &attr, wait_thread, dev);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

static void want(struct gp_client_device *dev)
{
	static atomic_int said;
	int fd = -1, err;

	if (dev->slot != GP_SLOT_NONE)
		return;
	err = gp_slot_try(dev->hal, &fd);
	if (!err) {
		take(dev, fd, false);
		return;
	}
	if (err != -EBUSY) {
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot lock the short timeslice of %s: %s; keeping the driver's",
			    dev->hal->id.name, strerror(-err));
		return;
	}
	if (!dev->slot_thread) {
		if (start_thread(dev))
			return;
		dev->slot_thread = true;
	}
	dev->slot = GP_SLOT_WAITING;
}

static void unwant(struct gp_client_device *dev)
{
	if (dev->slot == GP_SLOT_HAVE) {
		/* First the slice, then the right to it. */
		tell_core(dev, false);
		close(dev->slot_fd);
		dev->slot_fd = -1;
	}
	dev->slot = GP_SLOT_NONE;
	atomic_store(&dev->slot_due_ns, 0);
}

void gp_slot_follow(struct gp_client_device *dev)
{
	if (!(dev->caps.caps & GP_CAP_SLICES))
		return;
	dev->slot_wanted = dev->cls.cls == GP_CLASS_BE && !gp_runtime_is_managed(dev->rt) &&
			   gp_client_device_group_count(dev);
	if (dev->slot_wanted)
		want(dev);
	else
		unwant(dev);
}

int gp_slot_wait_ms(const struct gp_client_device *dev)
{
	const uint64_t due_ns = atomic_load(&dev->slot_due_ns), now_ns = gp_wall_ns();

	if (!due_ns)
		return -1;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000) + 1 : 0;
}

/* A process that waits has it next: this one comes back only later. */
static void pass_on(struct gp_client_device *dev)
{
	unwant(dev);
	atomic_store(&dev->slot_due_ns, gp_wall_ns() + REST_NS);
}

void gp_slot_serve(struct gp_client_device *dev)
{
	if (gp_slot_wait_ms(dev))
		return;
	pthread_mutex_lock(&dev->lock);
	if (dev->slot != GP_SLOT_HAVE) {
		atomic_store(&dev->slot_due_ns, 0);
		gp_slot_follow(dev);
	} else if (gp_slot_is_awaited(dev->hal)) {
		pass_on(dev);
	} else {
		atomic_store(&dev->slot_due_ns, gp_wall_ns() + LOOK_NS);
	}
	gp_client_device_unlock(dev);
}

void gp_slot_say(struct gp_client_device *dev)
{
	static atomic_int said;

	if (dev->slot == GP_SLOT_WAITING)
		gp_log_once(&said, GP_LOG_WARN,
			    "another best-effort process has the short timeslice of %s; each has "
			    "it in turn, so latency-critical work waits longer than with gpreemptd",
			    dev->hal->id.name);
}

void gp_slot_drop(struct gp_client_device *dev)
{
	dev->slot_wanted = false;
	unwant(dev);
}

void gp_slot_forget(struct gp_client_device *dev)
{
	if (dev->slot_fd >= 0)
		close(dev->slot_fd);
	dev->slot_fd = -1;
	atomic_store(&dev->slot_due_ns, 0);
}
