// SPDX-License-Identifier: Apache-2.0
/*
 * soak.c - the mark of gpreempt doctor --soak: a card took its queues off and on under this
 * kernel without a fault. A file for each card and kernel; root's counts for all users.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "libhsaq/hsaq_internal.h"

#define SYSTEM_DIR "/var/lib/gpreempt/soak"
#define PATH_LEN 4096

/* This user's. false: unknown, or a program with privileges that the user lacks. */
static bool user_dir(char *buf, size_t len)
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	int n = -1;

	if (state && state[0] == '/')
		n = snprintf(buf, len, "%s/gpreempt/soak", state);
	else if (home && home[0] == '/')
		n = snprintf(buf, len, "%s/.local/state/gpreempt/soak", home);
	return n > 0 && (size_t)n < len;
}

static int mark_path(const struct hsaq_device_info *info, const char *dir, char *buf, size_t len)
{
	struct utsname kernel;
	int n;

	if (uname(&kernel))
		return -errno;
	n = snprintf(buf, len, "%s/%04x-%04x:%02x:%02x.%x-%s", dir, info->device_id,
		     info->pci_domain, info->pci_bus, info->pci_dev, info->pci_fn, kernel.release);
	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

static int read_in(const struct hsaq_device_info *info, const char *dir, char *text, size_t len)
{
	char path[PATH_LEN];
	int r = mark_path(info, dir, path, sizeof(path));

	return r ? r : hsaq_io_current()->read(path, text, len);
}

int hsaq_soak_read(const struct hsaq_device_info *info, char *text, size_t len)
{
	char found[256] = "", dir[PATH_LEN - 256];
	int r = read_in(info, SYSTEM_DIR, found, sizeof(found));

	if (r && user_dir(dir, sizeof(dir)))
		r = read_in(info, dir, found, sizeof(found));
	if (r)
		return r;
	found[strcspn(found, "\n")] = '\0';
	if (text && len)
		snprintf(text, len, "%s", found);
	return 0;
}

/* @dir and the folders above it. */
static int make_dir(char *dir)
{
	for (char *at = strchr(dir + 1, '/');; at = strchr(at + 1, '/')) {
		int r;

		if (at)
			*at = '\0';
		r = mkdir(dir, 0755) && errno != EEXIST ? -errno : 0;
		if (!at)
			return r;
		*at = '/';
	}
}

/* In whole, or not at all. */
static int write_file(const char *path, const char *text)
{
	char temporary[PATH_LEN + 16];
	FILE *f;
	int r;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	f = fopen(temporary, "we");
	if (!f)
		return -errno;
	r = fprintf(f, "%s\n", text) < 0 ? -EIO : 0;
	if (fclose(f) && !r)
		r = -errno;
	if (!r && rename(temporary, path))
		r = -errno;
	if (r)
		unlink(temporary);
	return r;
}

int hsaq_soak_record(const struct hsaq_device_info *info, const char *text)
{
	char dir[PATH_LEN - 256] = SYSTEM_DIR, path[PATH_LEN];
	int r;

	if ((geteuid() || secure_getenv("XDG_STATE_HOME")) && !user_dir(dir, sizeof(dir)))
		return -ENOENT;
	r = make_dir(dir);
	if (!r)
		r = mark_path(info, dir, path, sizeof(path));
	return r ? r : write_file(path, text);
}
