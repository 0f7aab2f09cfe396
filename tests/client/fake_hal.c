// SPDX-License-Identifier: Apache-2.0
#include "tests/client/fake_hal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "tests/common/gp_test.h"

#define MS 1000000u

struct fake_hal fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.now = 1000 * MS,
	.switch_ns = FAKE_SWITCH_NS,
};

struct gp_hal_ops fake_ops;

struct hold {
	struct gp_hold base;
	bool on, ended;
	struct gp_hold_stat st;
};

void fake_lock(void)
{
	pthread_mutex_lock(&fake.lock);
}

void fake_unlock(void)
{
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
}

int fake_get(const int *what)
{
	int value;

	fake_lock();
	value = *what;
	fake_unlock();
	return value;
}

int fake_caps(struct gp_device *dev, struct gp_hal_caps *caps)
{
	*caps = (struct gp_hal_caps){
		.caps = GP_CAP_SLICES | GP_CAP_SLICE_PREEMPTS | GP_CAP_HOLD | fake.more_caps,
		.min_slice_us = 1,
		.max_slice_us = 10000000,
		.default_slice_us = FAKE_DEFAULT_US,
		.switch_ns = 170000,
		.max_hold_ns = 100 * MS,
	};
	return 0;
}

int fake_open(const struct gp_device_id *id, struct gp_device **dev)
{
	*dev = calloc(1, sizeof(**dev));
	assert_non_null(*dev);
	(*dev)->ops = &fake_ops;
	(*dev)->id = *id;
	return 0;
}

void fake_close(struct gp_device *dev)
{
	free(dev);
}

int fake_now(struct gp_device *dev, uint64_t *ns)
{
	fake_lock();
	*ns = fake.now;
	fake_unlock();
	return 0;
}

/* ---- holds --------------------------------------------------------------------- */

int fake_hold_create(struct gp_device *dev, void *ctx, struct gp_hold **out)
{
	struct hold *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->base.dev = dev;
	*out = &h->base;
	return 0;
}

void fake_hold_destroy(struct gp_hold *hold)
{
	free(hold);
}

int fake_hold(struct gp_hold *hold, uint64_t limit_ns)
{
	struct hold *h = (struct hold *)hold;
	int err;

	fake_lock();
	err = fake.hold_error ? fake.hold_error : h->on ? -EBUSY : 0;
	if (!err) {
		h->on = true;
		h->ended = !fake.ends_late;
		h->st = (struct gp_hold_stat){ .seq = h->st.seq + 1, .from_ns = fake.now };
		fake.holds++;
		fake.limit_ns = limit_ns;
		if (++fake.on > fake.on_max)
			fake.on_max = fake.on;
	}
	fake_unlock();
	return err;
}

int fake_release(struct gp_hold *hold)
{
	struct hold *h = (struct hold *)hold;

	fake_lock();
	if (h->on) {
		h->on = false;
		h->st.switch_ns = fake.switch_ns;
		h->st.missed_ns = fake.missed_ns;
		h->st.held_ns = 5000;
		h->st.until_ns = fake.now;
		fake.on--;
		fake.releases++;
	}
	fake_unlock();
	return 0;
}

int fake_queued(struct gp_hold *hold, void *stream)
{
	int err;

	fake_lock();
	err = fake.mark_error;
	if (!err && ((struct hold *)hold)->on)
		fake.marked = stream;
	fake_unlock();
	return err;
}

int fake_stat(struct gp_hold *hold, struct gp_hold_stat *st)
{
	struct hold *h = (struct hold *)hold;

	fake_lock();
	*st = h->ended ? h->st : (struct gp_hold_stat){ .seq = h->st.seq };
	h->ended |= !h->on;
	fake_unlock();
	return 0;
}

/* ---- the slot, and timers ------------------------------------------------------ */

int fake_slot(struct gp_device *dev, struct gp_slot_place *place)
{
	static int file = -1;
	char path[32];

	if (file < 0)
		file = memfd_create("slot", MFD_CLOEXEC);
	/* Opened again, not shared: the lock is an open file description's. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	place->fd = open(path, O_RDWR | O_CLOEXEC);
	place->offset = dev->id.uuid[0];
	return place->fd < 0 ? -errno : 0;
}

int fake_timer_create(struct gp_device *dev, struct gp_timer **timer)
{
	*timer = calloc(1, sizeof(**timer));
	assert_non_null(*timer);
	(*timer)->dev = dev;
	(*timer)->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return 0;
}

void fake_timer_destroy(struct gp_timer *timer)
{
	free(timer);
}
