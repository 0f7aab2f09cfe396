// SPDX-License-Identifier: Apache-2.0
/*
 * slot.c - a device's one short best-effort slice, as an open file description lock. Other
 * users' processes see it, exec does not inherit it (O_CLOEXEC), and it ends with its holder
 * in any case.
 */
#include "hal/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int gp_slot_lock(const struct gp_slot_place *place, bool wait)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)place->offset,
		.l_len = 1,
	};
	int r;

	do {
		r = fcntl(place->fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	return 0;
}

static int take(struct gp_device *dev, int *slot_fd, bool wait)
{
	struct gp_slot_place place;
	int r = dev->ops->slot(dev, &place);

	if (r)
		return r;
	r = gp_slot_lock(&place, wait);
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
