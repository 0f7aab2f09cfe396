// SPDX-License-Identifier: Apache-2.0
/* load.c - reads a file's text, if there is one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "yaml/yaml.h"

/* Reads up to @bytes of @fd to @text, one more than allowed. Negative errno. */
static ssize_t read_all(int fd, char *text, size_t bytes)
{
	size_t used = 0;
	ssize_t n;

	while (used < bytes) {
		n = read(fd, text + used, bytes - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

/* -ENOTSUP: no regular file: reading could block or never end. -EPERM: not guarded. */
static int open_file(const char *path, bool guarded)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (!S_ISREG(st.st_mode))
		err = -ENOTSUP;
	else if (guarded && st.st_mode & S_IWOTH)
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static ssize_t read_file(const char *path, bool guarded, char *text, size_t bytes)
{
	int fd = open_file(path, guarded);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read_all(fd, text, bytes);
	close(fd);
	return n;
}

static const char *next_step(int err)
{
	switch (err) {
	case -EACCES:
		return "let this user read it";
	case -EISDIR:
		return "name a file in it";
	case -ENOMEM:
		return "free memory, then try again";
	case -ENOENT:
	case -ENOTDIR:
		return "write it, or name another file";
	default:
		return "check the file system, or name another file";
	}
}

ssize_t gp_yaml_load(const char *path, bool guarded, char **text, char *why, size_t why_len)
{
	struct gp_yaml y = { .name = path, .why = why, .why_len = why_len };
	char *buf = malloc(GP_YAML_BYTES_MAX + 1);
	ssize_t n = buf ? read_file(path, guarded, buf, GP_YAML_BYTES_MAX + 1) : -ENOMEM;

	if (n >= 0 && n <= GP_YAML_BYTES_MAX) {
		*text = buf;
		return n;
	}
	free(buf);
	if (n == -ENOTSUP)
		gp_yaml_refuse(&y, 0, NULL, NULL, "not a regular file; write a text file");
	else if (n == -EPERM)
		gp_yaml_refuse(&y, 0, NULL, NULL, "every user may write to it; run chmod o-w");
	else if (n < 0)
		gp_yaml_refuse(&y, 0, NULL, NULL, "cannot read the file: %s; %s", strerror((int)-n),
			       next_step((int)n));
	else
		n = gp_yaml_refuse(&y, 0, NULL, NULL,
				   "found more than %u bytes; write a shorter file",
				   GP_YAML_BYTES_MAX);
	return n;
}
