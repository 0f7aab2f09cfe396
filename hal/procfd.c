// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hal/procfd.h"

#define TARGET_LEN 128

/* EACCES: another user's process, visible but not readable without CAP_SYS_PTRACE. */
static int seen_as(int err)
{
	switch (err) {
	case ENOENT:
		return -ESRCH;
	case EACCES:
		return -EPERM;
	default:
		return -err;
	}
}

/* 1: it begins with @prefix; 0: not, or it was closed meanwhile; negative errno. */
static int begins_with(int dir, const char *name, const char *prefix, size_t len)
{
	char target[TARGET_LEN];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n < 0)
		return errno == ENOENT ? 0 : seen_as(errno);
	return (size_t)n >= len && !strncmp(target, prefix, len);
}

int gp_proc_fds(pid_t pid, const char *prefix, gp_proc_fd_fn fn, void *arg)
{
	const size_t len = strlen(prefix);
	const struct dirent *entry;
	char path[32];
	DIR *dir;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return seen_as(errno);
	while (!r && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = begins_with(dirfd(dir), entry->d_name, prefix, len);
		if (r > 0)
			r = fn(arg, atoi(entry->d_name));
	}
	closedir(dir);
	return r;
}

bool gp_fd_begins(int fd, const char *prefix)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return begins_with(AT_FDCWD, path, prefix, strlen(prefix)) == 1;
}
