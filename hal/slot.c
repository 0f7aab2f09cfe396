/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.c - a device's one short best-effort slice, as an open file description
 * lock: it is seen across users, is not inherited by exec (O_CLOEXEC), and
 * goes when its holder does, however that happens.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "gpreempt/hal.h"

static int take(struct gp_device *dev, int *slot_fd, int command)
{
	struct gp_slot_place place;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int error;
	int r = dev->ops->slot(dev, &place);

	if (r)
		return r;
	lock.l_start = (off_t)place.offset;
	lock.l_len = 1;
	do {
		r = fcntl(place.fd, command, &lock);
	} while (r < 0 && errno == EINTR);
	if (r < 0) {
		error = errno;
		close(place.fd);
		return error == EAGAIN || error == EACCES ? -EBUSY : -error;
	}
	*slot_fd = place.fd;
	return 0;
}

int gp_slot_try(struct gp_device *dev, int *slot_fd)
{
	return take(dev, slot_fd, F_OFD_SETLK);
}

int gp_slot_wait(struct gp_device *dev, int *slot_fd)
{
	return take(dev, slot_fd, F_OFD_SETLKW);
}
