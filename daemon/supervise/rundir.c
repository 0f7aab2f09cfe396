// SPDX-License-Identifier: Apache-2.0
#include "daemon/supervise/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/loop/log.h"
#include "wire/wire.h"

#define JOURNAL "journal"
#define ASIDE "journal.bad"
#define LOG "gpreemptd.log"
#define CONFIG "gpreempt.yaml.used"
#define CONFIG_NEW "gpreempt.yaml.new"
#define OPEN_TRIES 5
#define LISTEN_FDS_START 3 /* sd_listen_fds(3) */

static int explain(int err, char *why, size_t len, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int explain(int err, char *why, size_t len, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, len, format, ap);
	va_end(ap);
	return err;
}

static int path_in(const char *dir, const char *name, char path[PATH_MAX])
{
	return (size_t)snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int gp_rundir_path(const char *given, char *path, size_t len, char *why, size_t why_len)
{
	int err = 0;

	if (!given && geteuid())
		err = gp_wire_user_dir(path, len);
	else if ((size_t)snprintf(path, len, "%s", given ? given : GP_WIRE_RUN_DIR) >= len)
		err = -ENAMETOOLONG;
	if (!err && path[0] != '/')
		err = -EINVAL;
	if (err)
		return explain(err, why, why_len, "run directory '%.200s': %s", given ? given : "",
			       err == -EINVAL ? "write a path that begins with /" : strerror(-err));
	return 0;
}

/* Is it where clients look for a user's own daemon? */
static bool is_users(const char *path)
{
	char own[GP_WIRE_PATH_LEN];

	return !gp_wire_user_dir(own, sizeof(own)) && !strcmp(path, own);
}

/* A user with write access could replace the socket. */
static int make_dir(const char *path, char *why, size_t why_len)
{
	const bool own = is_users(path);
	int err;

	if (mkdir(path, own || geteuid() ? 0700 : 0755) && errno != EEXIST)
		return explain(-errno, why, why_len,
			       "cannot create %s: %s; write another --run-dir", path,
			       strerror(errno));
	err = gp_wire_check_dir(path, own ? 077 : 022);
	if (err == -EPERM || err == -ENOTDIR)
		return explain(-EPERM, why, why_len,
			       "%s: make it a directory of user %u that no other user may %s; or "
			       "set XDG_RUNTIME_DIR",
			       path, (unsigned int)geteuid(),
			       own ? "access (chmod 700)" : "write to");
	return err ? explain(err, why, why_len, "cannot read %s: %s", path, strerror(-err)) : 0;
}

/* ---- the journal ---------------------------------------------------------------- */

static int busy(const struct gp_journal *journal, char *why, size_t why_len)
{
	static const enum gp_role order[] = { GP_ROLE_KEEPER, GP_ROLE_DAEMON, GP_ROLE_SECOND };
	pid_t pid = 0;

	for (size_t i = 0; i < GP_ROLES && !pid; i++)
		pid = gp_journal_who(journal, order[i]);
	return explain(-EBUSY, why, why_len,
		       "already running (PID %d); stop it, or write another --run-dir", (int)pid);
}

/* Its contents are unknown from now on. */
static int put_aside(const char *dir, const char *path, char *why, size_t why_len)
{
	char aside[PATH_MAX];

	if (gp_journal_in_use(path))
		return explain(
			-EBUSY, why, why_len,
			"already running in another version; stop it, or write another --run-dir");
	if (path_in(dir, ASIDE, aside) || rename(path, aside))
		return explain(-errno, why, why_len, "cannot rename %s: %s", path, strerror(errno));
	gp_log(GP_LOG_WARN,
	       "%s: not a journal of this version; kept as %s. An earlier gpreemptd may have left "
	       "processes suspended: see gpreempt ls",
	       path, aside);
	return 0;
}

/* -EAGAIN: it was moved aside, or removed by a process that ended. */
static int try_journal(const char *dir, const char *path, struct gp_journal **journal, char *why,
		       size_t why_len)
{
	struct gp_journal *j;
	int err = gp_journal_open(path, &j);

	if (err == -EBADMSG) {
		err = put_aside(dir, path, why, why_len);
		return err ? err : -EAGAIN;
	}
	if (err)
		return explain(err, why, why_len, "cannot open %s: %s", path, strerror(-err));
	err = gp_journal_take(j, GP_ROLE_KEEPER);
	if (err == -EBUSY || gp_journal_who(j, GP_ROLE_DAEMON) || gp_journal_who(j, GP_ROLE_SECOND))
		err = busy(j, why, why_len);
	else if (err)
		explain(err, why, why_len, "cannot lock %s: %s", path, strerror(-err));
	else if (!gp_journal_is_at(j, path))
		err = -EAGAIN;
	if (err) {
		gp_journal_close(j);
		return err;
	}
	gp_journal_begin(j);
	*journal = j;
	return 0;
}

int gp_rundir_open(const char *dir, struct gp_journal **journal, char *why, size_t why_len)
{
	char path[PATH_MAX];
	int err = make_dir(dir, why, why_len);

	if (err)
		return err;
	if (path_in(dir, JOURNAL, path))
		return explain(-ENAMETOOLONG, why, why_len, "%s: path too long", dir);
	err = -EAGAIN;
	for (int i = 0; i < OPEN_TRIES && err == -EAGAIN; i++)
		err = try_journal(dir, path, journal, why, why_len);
	if (err == -EAGAIN)
		explain(err, why, why_len,
			"cannot open %s: other processes keep replacing it; retry", path);
	return err;
}

/* ---- the socket ----------------------------------------------------------------- */

static bool number_is(const char *name, long value)
{
	const char *text = getenv(name);
	char number[24];

	snprintf(number, sizeof(number), "%ld", value);
	return text && !strcmp(text, number);
}

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) ? -1 : value;
}

static int take_passed(char *why, size_t why_len)
{
	const int fd = LISTEN_FDS_START;

	if (!number_is("LISTEN_FDS", 1) || option_of(fd, SO_DOMAIN) != AF_UNIX ||
	    option_of(fd, SO_TYPE) != SOCK_SEQPACKET || option_of(fd, SO_ACCEPTCONN) != 1)
		return explain(-EINVAL, why, why_len,
			       "the service manager did not pass one listening socket of "
			       "unix(7), SOCK_SEQPACKET (ListenSequentialPacket=)");
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, O_NONBLOCK))
		return explain(-errno, why, why_len, "cannot use the service manager's socket: %s",
			       strerror(errno));
	return fd;
}

int gp_rundir_listen(const char *dir, bool *activated, char *why, size_t why_len)
{
	char path[PATH_MAX];
	int fd;

	*activated = number_is("LISTEN_PID", getpid());
	if (*activated) {
		fd = take_passed(why, why_len);
	} else {
		fd = path_in(dir, GP_WIRE_SOCKET, path);
		fd = fd ? fd : gp_wire_daemon_listen(path);
		if (fd < 0)
			explain(fd, why, why_len, "cannot listen at %s/%s: %s", dir, GP_WIRE_SOCKET,
				strerror(-fd));
	}
	/* They are for this process, not for its children. */
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return fd;
}

/*
 * Containers mount a folder that has only the socket, under its second name. Root of a container
 * could lock the journal, and then no role could be taken. The folder stays when the daemon ends,
 * because mounts refer to it.
 */
void gp_rundir_share(const char *dir)
{
	char path[PATH_MAX], shared[PATH_MAX], folder[PATH_MAX];
	int err = path_in(dir, GP_WIRE_SOCKET, path);

	if (!err)
		err = path_in(dir, GP_WIRE_SHARED, folder);
	if (!err)
		err = path_in(dir, GP_WIRE_SHARED "/" GP_WIRE_SOCKET, shared);
	if (!err && mkdir(folder, 0755) && errno != EEXIST)
		err = -errno;
	if (!err && unlink(shared) && errno != ENOENT)
		err = -errno;
	if (!err && link(path, shared))
		err = -errno;
	if (err)
		gp_log(GP_LOG_WARN,
		       "%s/" GP_WIRE_SHARED ": cannot link the socket there: %s; processes in "
		       "containers have no daemon",
		       dir, strerror(-err));
}

/* ---- the log -------------------------------------------------------------------- */

int gp_rundir_log(const char *dir)
{
	char path[PATH_MAX];
	int fd, err = path_in(dir, LOG, path);

	if (err)
		return err;
	/* Another file than an earlier daemon's, which may still write. */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = dup2(fd, STDERR_FILENO) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* ---- the last valid configuration ------------------------------------------------ */

static int write_config(const char *path, const struct gp_config *config)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), err;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	err = gp_config_print(config, f);
	if (fclose(f) && !err)
		err = -errno;
	return err;
}

int gp_rundir_keep_config(const char *dir, const struct gp_config *config)
{
	char path[PATH_MAX], new[PATH_MAX];
	int err;

	if (path_in(dir, CONFIG_NEW, new) || path_in(dir, CONFIG, path))
		return -ENAMETOOLONG;
	err = write_config(new, config);
	if (!err && rename(new, path))
		err = -errno;
	return err;
}

int gp_rundir_load_config(const char *dir, struct gp_config **config, char *why, size_t len)
{
	char path[PATH_MAX];
	int err = path_in(dir, CONFIG, path);

	return err ? err : gp_config_load(path, config, why, len);
}

void gp_rundir_clear(const char *dir, bool activated)
{
	enum {
		SOCKET_AT = 2,
		SHARED_AT
	};
	static const char *const names[] = {
		CONFIG_NEW,
		CONFIG,
		[SOCKET_AT] = GP_WIRE_SOCKET,
		[SHARED_AT] = GP_WIRE_SHARED "/" GP_WIRE_SOCKET,
		JOURNAL,
	};
	char path[PATH_MAX];

	/* The journal last: until then no other process can make these files. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!(activated && (i == SOCKET_AT || i == SHARED_AT)) &&
		    !path_in(dir, names[i], path))
			unlink(path);
}
