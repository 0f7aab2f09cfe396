// SPDX-License-Identifier: Apache-2.0
/*
 * paths.c - folders of the libraries: beside the program as built, or as installed and moved,
 * else the install folder from the build.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define DAEMON "gpreemptd"

/* @dir, without symbolic links, if it contains @file. */
static int try_dir(const char *dir, const char *file, char *buf, size_t len)
{
	GP_FREE char *real = realpath(dir, NULL);
	char path[PATH_MAX];
	int n;

	if (!real)
		return -ENOENT;
	n = snprintf(path, sizeof(path), "%s/%s", real, file);
	if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK))
		return -ENOENT;
	if (strlen(real) >= len)
		return -ENAMETOOLONG;
	strcpy(buf, real);
	return 0;
}

/* Likewise for @below, as "/../lib", the folder of this program. */
static int try_beside(const char *below, const char *file, char *buf, size_t len)
{
	char self[PATH_MAX], dir[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return -ENOENT;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	snprintf(dir, sizeof(dir), "%s%s", self, below);
	return try_dir(dir, file, buf, len);
}

static int find(const char *below, const char *file, char *buf, size_t len)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "/../lib%s", below);
	if (!try_beside(dir, file, buf, len))
		return 0;
	snprintf(dir, sizeof(dir), "/" GP_LIBDIR_FROM_BIN "%s", below);
	if (!try_beside(dir, file, buf, len))
		return 0;
	snprintf(dir, sizeof(dir), "%s%s", GP_LIBDIR, below);
	return try_dir(dir, file, buf, len);
}

int gp_path_libdir(char *buf, size_t len)
{
	return find("", "libgpreempt-preload.so", buf, len);
}

int gp_path_softgpu(char *buf, size_t len)
{
	const char *set = getenv("GPREEMPT_SOFTGPU_LIBDIR");

	if (set)
		return try_dir(set, "libcuda.so.1", buf, len);
	return find("/gpreempt/softgpu", "libcuda.so.1", buf, len);
}

int gp_path_daemon(char *buf, size_t len)
{
	char dir[PATH_MAX];

	if (try_beside("", DAEMON, dir, sizeof(dir)) &&
	    try_beside("/../sbin", DAEMON, dir, sizeof(dir)) &&
	    try_dir(GP_SBINDIR, DAEMON, dir, sizeof(dir)))
		return -ENOENT;
	return (size_t)snprintf(buf, len, "%s/" DAEMON, dir) < len ? 0 : -ENAMETOOLONG;
}

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool gp_path_is_program(const char *word)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(word, '/'))
		return is_program(word);
	while (at && *at) {
		int len = (int)strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s/%s", len, at, word);
		if (is_program(path))
			return true;
		at += len;
		at += *at == ':';
	}
	return false;
}
