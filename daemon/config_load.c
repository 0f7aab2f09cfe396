// SPDX-License-Identifier: Apache-2.0
/*
 * config_load.c - the file, and the machine's users: all that a configuration
 * takes from outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config.h"

#define NAME_BYTES 1024u
#define NAME_BYTES_MAX (1u << 20)	/* a group with all its members */

/* Calls @look with more and more memory. */
static int look_up(int (*look)(const char *name, uint32_t *id, char *buf, size_t len),
		   const char *name, uint32_t *id)
{
	size_t len = NAME_BYTES;
	char *buf = NULL, *more;
	int err;

	do {
		more = realloc(buf, len);
		if (!more) {
			free(buf);
			return -ENOMEM;
		}
		buf = more;
		err = look(name, id, buf, len);
		if (err == -ERANGE)
			len *= 4;
	} while ((err == -ERANGE && len <= NAME_BYTES_MAX) || err == -EINTR);
	free(buf);
	return err;
}

static int look_user(const char *name, uint32_t *id, char *buf, size_t len)
{
	struct passwd entry, *found;
	int err = getpwnam_r(name, &entry, buf, len, &found);

	if (err || !found)
		return err ? -err : -ENOENT;
	*id = entry.pw_uid;
	return 0;
}

static int look_group(const char *name, uint32_t *id, char *buf, size_t len)
{
	struct group entry, *found;
	int err = getgrnam_r(name, &entry, buf, len, &found);

	if (err || !found)
		return err ? -err : -ENOENT;
	*id = entry.gr_gid;
	return 0;
}

static int uid_of(const char *name, uid_t *uid)
{
	return look_up(look_user, name, uid);
}

static int gid_of(const char *name, gid_t *gid)
{
	return look_up(look_group, name, gid);
}

const struct gp_config_names gp_config_system_names = { .uid = uid_of, .gid = gid_of };

/* ---- the file ------------------------------------- */

static void say(char *why, size_t len, const char *path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void say(char *why, size_t len, const char *path, const char *format, ...)
{
	size_t used;
	va_list ap;

	if (!len)
		return;
	snprintf(why, len, "%.160s: ", path);
	used = strlen(why);
	va_start(ap, format);
	vsnprintf(why + used, len - used, format, ap);
	va_end(ap);
	for (char *p = why; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
}

/* Up to @bytes of @fd to @text, one more than may be there. Negative errno. */
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

/*
 * -ENOTSUP: no regular file, so it may block, or never end. -EPERM: anybody could
 * have written it, and could so give himself any class.
 */
static int open_file(const char *path)
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
	else if (st.st_mode & S_IWOTH)
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static ssize_t read_file(const char *path, char *text, size_t bytes)
{
	int fd = open_file(path);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read_all(fd, text, bytes);
	close(fd);
	return n;
}

int gp_config_load(const char *path, struct gp_config **config, char *why, size_t len)
{
	char *text = malloc(GP_CONFIG_BYTES_MAX + 1);
	ssize_t bytes = text ? read_file(path, text, GP_CONFIG_BYTES_MAX + 1) : -ENOMEM;
	int err;

	if (bytes == -ENOTSUP)
		say(why, len, path, "no regular file; write a file of text");
	else if (bytes == -EPERM)
		say(why, len, path, "anybody may write to it; chmod o-w");
	else if (bytes < 0)
		say(why, len, path, "cannot be read: %s", strerror((int)-bytes));
	else if (bytes > GP_CONFIG_BYTES_MAX)
		say(why, len, path, "found more than %u bytes; write no more than that",
		    GP_CONFIG_BYTES_MAX);
	if (bytes < 0)
		err = (int)bytes;
	else if (bytes > GP_CONFIG_BYTES_MAX)
		err = -EINVAL;
	else
		err = gp_config_parse(path, text, (size_t)bytes, &gp_config_system_names,
				      config, why, len);
	free(text);
	return err;
}
