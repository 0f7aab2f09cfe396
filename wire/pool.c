// SPDX-License-Identifier: Apache-2.0
#include "wire/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "wire/wire.h"

int gp_pool_dir(const char *cls, char *path, size_t len)
{
	char dir[GP_WIRE_PATH_LEN], *colon;
	int err = gp_wire_user_dir(dir, sizeof(dir));
	int n = err ? 0 : snprintf(path, len, "%s/" GP_POOL_PREFIX "%s", dir, cls);

	if (err || n < 0 || (size_t)n >= len)
		return -ENAMETOOLONG;
	colon = strchr(path + strlen(dir), ':');
	if (colon)
		*colon = '-';
	return 0;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

int gp_pool_use(const char *path, int operation)
{
	int fd = open_file(path), err;

	if (fd < 0 || !flock(fd, operation))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Of the whole file. */
static int keeper_lock(int fd, int command, struct flock *lock)
{
	*lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
	return fcntl(fd, command, lock) ? -errno : 0;
}

int gp_pool_keep_lock(const char *path)
{
	int fd = open_file(path), err;
	struct flock lock;

	if (fd < 0)
		return fd;
	err = keeper_lock(fd, F_OFD_SETLK, &lock);
	if (!err)
		return fd;
	close(fd);
	return err == -EACCES ? -EAGAIN : err;
}

bool gp_pool_is_kept(const char *path)
{
	int fd = open_file(path);
	struct flock lock;
	bool is = fd >= 0 && !keeper_lock(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return is;
}

const char *gp_pool_control(void)
{
	const char *named = secure_getenv(GP_POOL_CONTROL_ENV);

	return named && *named ? named : GP_POOL_CONTROL;
}
