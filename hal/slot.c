// SPDX-License-Identifier: Apache-2.0
/*
 * slot.c - a device's one short best-effort slice, as an open file description lock. Other
 * users' processes see it, exec does not inherit it (O_CLOEXEC), and it ends with its holder
 * in any case. The link to the host has such a lock, too.
 */
#include "hal/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Behind the slots of all devices in one file. */
#define LINK_OFFSET 4096
#define WAIT_OFFSET 8192

static struct flock byte_at(short type, uint64_t offset)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)offset,
		.l_len = 1,
	};
}

int gp_slot_lock(const struct gp_slot_place *place, bool wait)
{
	struct flock lock = byte_at(F_WRLCK, place->offset);
	int r;

	do {
		r = fcntl(place->fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	return 0;
}

/* Shared, so that its holder sees that any process waits. */
static void say_waiting(const struct gp_slot_place *place, bool waits)
{
	struct flock lock = byte_at(waits ? F_RDLCK : F_UNLCK, place->offset + WAIT_OFFSET);

	/* Without it the wait is longer. */
	(void)fcntl(place->fd, F_OFD_SETLK, &lock);
}

static int take(struct gp_device *dev, int *slot_fd, bool wait)
{
	struct gp_slot_place place;
	int r = dev->ops->slot(dev, &place);

	if (r)
		return r;
	if (wait)
		say_waiting(&place, true);
	r = gp_slot_lock(&place, wait);
	if (!r && wait)
		say_waiting(&place, false);
	if (r)
		close(place.fd);
	else
		*slot_fd = place.fd;
	return r;
}

int gp_slot_try(struct gp_device *dev, int *slot_fd)
{
	return take(dev, slot_fd, false);
}

int gp_slot_wait(struct gp_device *dev, int *slot_fd)
{
	return take(dev, slot_fd, true);
}

int gp_link_take(struct gp_device *dev, int *link_fd)
{
	struct gp_slot_place place;
	struct flock lock;
	int r = dev->ops->slot(dev, &place);

	if (r)
		return r;
	lock = byte_at(F_RDLCK, place.offset + LINK_OFFSET);
	if (fcntl(place.fd, F_OFD_SETLK, &lock)) {
		r = -errno;
		close(place.fd);
		return r;
	}
	*link_fd = place.fd;
	return 0;
}

/* Is the byte so far behind the slot locked? */
static bool is_locked(struct gp_device *dev, uint64_t behind)
{
	struct gp_slot_place place;
	struct flock lock;
	bool is;

	if (dev->ops->slot(dev, &place))
		return false;
	lock = byte_at(F_WRLCK, place.offset + behind);
	is = !fcntl(place.fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
	close(place.fd);
	return is;
}

bool gp_slot_is_awaited(struct gp_device *dev)
{
	return is_locked(dev, WAIT_OFFSET);
}

bool gp_link_is_taken(struct gp_device *dev)
{
	return is_locked(dev, LINK_OFFSET);
}
