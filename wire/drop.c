// SPDX-License-Identifier: Apache-2.0
/*
 * drop.c - closing files that a peer passed and this process does not want.
 *
 * Any user may have a FUSE mount. Closing one of its files asks its server and waits for the
 * answer. No signal ends that wait, not even SIGKILL: fuse_flush() in fs/fuse/file.c sends
 * with force, and request_wait_answer() waits for such a request. So end_mount() aborts the
 * mount where it may: Documentation/filesystems/fuse.rst, "Aborting a filesystem connection".
 */
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/guard.h"

/* If @fd is of a FUSE mount, aborts the mount. */
static void end_mount(int fd)
{
	struct statx stx;
	char path[64];
	int abort_fd;

	/* Does not ask the mount's server, which may never answer. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stx))
		return;
	/* A device file that can be open here is of a mount of root's. */
	if (S_ISCHR(stx.stx_mode) || stx.stx_dev_major)
		return;
	snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/abort", stx.stx_dev_minor);
	abort_fd = open(path, O_WRONLY | O_CLOEXEC);
	if (abort_fd < 0)
		return;
	/* On failure nothing more can be done. */
	if (write(abort_fd, "1", 1) != 1)
		errno = 0;
	close(abort_fd);
}

void gp_wire_drop(const int *file, size_t n)
{
	int saved = errno;

	if (!n)
		return;
	gp_guard_up();
	for (size_t i = 0; i < n; i++) {
		if (gp_guarded())
			end_mount(file[i]);
		close(file[i]);
	}
	gp_guard_down();
	errno = saved;
}
