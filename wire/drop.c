// SPDX-License-Identifier: Apache-2.0
/*
 * drop.c - closing files that a peer handed over and nobody looked at.
 *
 * To close a file of a FUSE mount, which any user may have, is to tell its server
 * and to wait for it: no signal ends that, not even SIGKILL (Linux, fs/fuse/file.c:
 * fuse_flush() sends with force, and request_wait_answer() waits such a request
 * out). Whoever may, ends the mount: Documentation/filesystems/fuse.rst, "Aborting
 * a filesystem connection".
 */
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/guard.h"

/* If @fd is of a FUSE mount, then of none that lives. */
static void end_mount(int fd)
{
	struct statx stx;
	char path[64];
	int abort_fd;

	/* Without asking whoever serves it, who need not answer. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stx))
		return;
	/* A device that can be open here is of a mount of root's. */
	if (S_ISCHR(stx.stx_mode) || stx.stx_dev_major)
		return;
	snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/abort", stx.stx_dev_minor);
	abort_fd = open(path, O_WRONLY | O_CLOEXEC);
	if (abort_fd < 0)
		return;
	/* Where this fails there is nothing else to be done about it. */
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
