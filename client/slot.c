// SPDX-License-Identifier: Apache-2.0
/*
 * slot.c - the device's one short best-effort slice: taken when the class is BE and there is a
 * group, released when either ends or the process does.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "client/engine.h"
#include "runtime/log.h"

static void tell_core(struct gp_client_device *dev, bool have)
{
	struct gp_event ev = { .type = GP_EV_SLOT, .slot.have = have };

	gp_client_device_event_locked(dev, &ev);
}

static void take(struct gp_client_device *dev, int fd)
{
	dev->slot_fd = fd;
	dev->slot = GP_SLOT_HAVE;
	tell_core(dev, true);
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
		take(dev, fd);
		/* Did its holder release it for a daemon? */
		gp_daemon_link_look(dev);
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
		take(dev, fd);
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

void gp_slot_say(struct gp_client_device *dev)
{
	static atomic_int said;

	if (dev->slot == GP_SLOT_WAITING)
		gp_log_once(&said, GP_LOG_WARN,
			    "another best-effort process has the short timeslice of %s; keeping "
			    "the driver's until it ends",
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
}
