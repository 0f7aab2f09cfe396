// SPDX-License-Identifier: Apache-2.0
/* io.c - access to the kernel: all calls of libhsaq pass here. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libhsaq/hsaq_internal.h"

/* PROC_PID_INIT_INO of the kernel: the initial PID namespace's number. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

static int real_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int real_dup(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : copy;
}

static void real_close(int fd)
{
	close(fd);
}

/*
 * Not by ioctl(), which a preloaded library may replace. gpreempt's does, and would take these
 * calls for the application's.
 */
static int real_ioctl(int fd, unsigned long request, void *arg)
{
	long r = syscall(SYS_ioctl, fd, request, arg);

	return r < 0 ? -errno : (int)r;
}

/* Its major number varies, so compare with the present node. */
static bool real_is_kfd(int fd)
{
	struct stat file, node;

	return !fstat(fd, &file) && S_ISCHR(file.st_mode) && !stat(HSAQ_DEV_KFD, &node) &&
	       S_ISCHR(node.st_mode) && file.st_rdev == node.st_rdev;
}

static int real_read(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");
	size_t n;
	int r;

	if (!f)
		return -errno;
	n = fread(buf, 1, len - 1, f);
	/* The driver answers -EPERM here for a device outside the cgroup. */
	r = ferror(f) ? -EPERM : 0;
	fclose(f);
	buf[n] = '\0';
	return r;
}

static int real_list(const char *path, hsaq_name_fn fn, void *arg)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	int r = 0;

	if (!dir)
		return -errno;
	while (!r && (entry = readdir(dir)))
		r = fn(entry->d_name, arg);
	closedir(dir);
	return r;
}

static bool real_pids_are_ours(void)
{
	char name[64];
	ssize_t n = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	if (n <= 0)
		return true;
	name[n] = '\0';
	return !strcmp(name, INITIAL_PID_NAMESPACE);
}

static const struct hsaq_io real_io = {
	.open = real_open,
	.dup = real_dup,
	.close = real_close,
	.ioctl = real_ioctl,
	.is_kfd = real_is_kfd,
	.read = real_read,
	.list = real_list,
	.pids_are_ours = real_pids_are_ours,
};

static const struct hsaq_io *current_io = &real_io; /* atomic */

const struct hsaq_io *hsaq_io_current(void)
{
	return __atomic_load_n(&current_io, __ATOMIC_ACQUIRE);
}

void hsaq_io_set(const struct hsaq_io *io)
{
	__atomic_store_n(&current_io, io ? io : &real_io, __ATOMIC_RELEASE);
}

int hsaq_usable(const struct hsaq *h)
{
	if (!h)
		return -EINVAL;
	return h->owner == getpid() ? 0 : -ECHILD;
}

int hsaq_ioctl(const struct hsaq *h, unsigned long request, void *arg)
{
	int r = hsaq_usable(h);

	if (r)
		return r;
	do {
		r = h->io->ioctl(h->fd, request, arg);
	} while (r == -EINTR);
	return r < 0 ? r : 0;
}
