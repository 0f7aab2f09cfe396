// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/spawn_self.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define SELF "/proc/self/exe"
#define HIGH_FD 10 /* beyond the child's numbers */

extern char **environ;

int gp_spawn_attr(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int err = posix_spawnattr_init(attr);

	if (err)
		return -err;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					       POSIX_SPAWN_SETSID);
	return 0;
}

static int spawn_with(char *const *argv, const int *high, size_t n, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int err = gp_spawn_attr(&attr);

	if (err)
		return err;
	err = posix_spawn_file_actions_init(&files);
	if (err)
		goto out;
	for (size_t i = 0; i < n && !err; i++)
		err = posix_spawn_file_actions_adddup2(&files, high[i], GP_SPAWN_FIRST_FD + (int)i);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&files, GP_SPAWN_FIRST_FD + (int)n);
	if (!err)
		err = posix_spawn(pid, SELF, &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
out:
	posix_spawnattr_destroy(&attr);
	return -err;
}

int gp_spawn_self(char *const *argv, const int *file, size_t n, pid_t *pid)
{
	int high[GP_SPAWN_FILES] = { -1, -1 }, err = 0;
	size_t moved = 0;

	if (n > GP_SPAWN_FILES)
		return -EINVAL;
	/* A number of this process's may be one of the child's. */
	while (moved < n && !err) {
		high[moved] = fcntl(file[moved], F_DUPFD_CLOEXEC, HIGH_FD);
		if (high[moved] < 0)
			err = -errno;
		else
			moved++;
	}
	if (!err)
		err = spawn_with(argv, high, n, pid);
	while (moved)
		close(high[--moved]);
	return err;
}
