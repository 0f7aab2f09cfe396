// SPDX-License-Identifier: Apache-2.0
/* config_load.c - the file, and the machine's users: the external parts of a configuration. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "daemon/config/config.h"

#define NAME_BYTES 1024u
#define NAME_BYTES_MAX (1u << 20) /* a group with all its members */

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

/* A user with write access could take any class. */
#define GUARDED true

int gp_config_load(const char *path, struct gp_config **config, char *why, size_t len)
{
	char *text;
	ssize_t bytes = gp_yaml_load(path, GUARDED, &text, why, len);
	int err;

	if (bytes < 0)
		return (int)bytes;
	err = gp_config_parse(path, text, (size_t)bytes, &gp_config_system_names, config, why, len);
	free(text);
	return err;
}
