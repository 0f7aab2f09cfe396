// SPDX-License-Identifier: Apache-2.0
/* files.c - messages that carry files, and the daemon's socket. */
#include "wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The kernel's maximum: a burst of clients waits here and is not refused. */
#define DAEMON_BACKLOG SOMAXCONN
#define DAEMON_ENV "GPREEMPT_DAEMON"

_Static_assert(GP_WIRE_PATH_LEN == sizeof(((struct sockaddr_un *)0)->sun_path), "sun_path");

/* Room for one row of files, aligned as the kernel writes it. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * GP_WIRE_MAX_FILES)];
};

int gp_wire_send(int fd, const union gp_wire_msg *msg, const int *file, size_t n)
{
	struct iovec iov = { .iov_base = (void *)msg };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control;
	struct cmsghdr *cmsg;
	ssize_t sent;

	if (n > GP_WIRE_MAX_FILES)
		return -EINVAL;
	if (gp_wire_check(msg, msg->head.size))
		return -EPROTO;
	iov.iov_len = msg->head.size;
	if (n) {
		memset(&control, 0, sizeof(control));
		hdr.msg_control = &control;
		hdr.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		cmsg = CMSG_FIRSTHDR(&hdr);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(cmsg), file, sizeof(int) * n);
	}
	do {
		sent = sendmsg(fd, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

static void close_files(const int *file, size_t n)
{
	const int saved = errno;

	for (size_t i = 0; i < n; i++)
		close(file[i]);
	errno = saved;
}

/*
 * The files of @hdr, which belong to this process now, valid message or not.
 * Return: their number; -EPROTO: other control data, and the files are closed.
 */
static ssize_t take_files(struct msghdr *hdr, int file[GP_WIRE_MAX_FILES])
{
	struct cmsghdr *cmsg;
	size_t n = 0, more;
	int err = 0;

	for (cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS ||
		    cmsg->cmsg_len < CMSG_LEN(0)) {
			err = -EPROTO;
			continue;
		}
		more = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		/* union control has no room for more. */
		if (more > GP_WIRE_MAX_FILES - n)
			more = GP_WIRE_MAX_FILES - n;
		memcpy(file + n, CMSG_DATA(cmsg), more * sizeof(int));
		n += more;
	}
	if (err) {
		close_files(file, n);
		return err;
	}
	return (ssize_t)n;
}

/* Error of a message of @len bytes that came with @n files. */
static int check_received(const struct msghdr *hdr, ssize_t len, size_t n)
{
	if (hdr->msg_flags & MSG_TRUNC)
		return -EPROTO;
	/* The end, or an empty message, which looks the same: it carries nothing. */
	if (!len && n)
		return -EPROTO;
	/* Since there was room for more, this process has reached its file limit. */
	if (hdr->msg_flags & MSG_CTRUNC)
		return n < GP_WIRE_MAX_FILES ? -EMFILE : -EPROTO;
	return 0;
}

static ssize_t receive(int fd, struct msghdr *hdr, int flags)
{
	ssize_t len;

	do {
		len = recvmsg(fd, hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | flags);
	} while (len < 0 && errno == EINTR);
	return len < 0 ? -errno : len;
}

int gp_wire_can_peek(int fd)
{
	const int yes = 1;

	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) ? -errno : 0;
}

/*
 * There is room for the sender's ids, which each message has and the end has not. So there is
 * none for files, and a cut row of control data shows them. The kernel drops only the extra
 * references that it took for this look (net/unix/af_unix.c, unix_peek_fds()): the message
 * still has its own.
 */
ssize_t gp_wire_peek(int fd, union gp_wire_msg *msg, bool *any, bool *files)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(*msg) };
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = receive(fd, &hdr, MSG_PEEK);

	*any = len >= 0 && CMSG_FIRSTHDR(&hdr);
	*files = len >= 0 && hdr.msg_flags & MSG_CTRUNC;
	return len;
}

ssize_t gp_wire_recv(int fd, union gp_wire_msg *msg, int *file, size_t *n)
{
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(*msg) };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };
	int got[GP_WIRE_MAX_FILES];
	union control control;
	ssize_t len, files = 0;
	int err;

	if (n)
		*n = 0;
	/* Without room for any, the kernel drops them before this process has them. */
	if (file) {
		hdr.msg_control = &control;
		hdr.msg_controllen = sizeof(control);
	}
	len = receive(fd, &hdr, 0);
	if (len < 0)
		return len;
	if (!file)
		return hdr.msg_flags & MSG_TRUNC ? -EPROTO : len;
	files = take_files(&hdr, got);
	if (files < 0)
		return files;
	err = check_received(&hdr, len, (size_t)files);
	if (err) {
		close_files(got, (size_t)files);
		return err;
	}
	memcpy(file, got, (size_t)files * sizeof(int));
	*n = (size_t)files;
	return len;
}

int gp_wire_user_dir(char *path, size_t len)
{
	const char *dir = secure_getenv("XDG_RUNTIME_DIR");
	int n;

	/* The specification requires to ignore a relative path. */
	if (dir && *dir == '/' && !access(dir, F_OK))
		n = snprintf(path, len, "%s/gpreempt", dir);
	else
		n = snprintf(path, len, "/tmp/gpreempt-%u", (unsigned int)geteuid());
	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

int gp_wire_check_dir(const char *path, mode_t refused)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid != geteuid() || st.st_mode & refused ? -EPERM : 0;
}

static int path_address(const char *path, struct sockaddr_un *addr)
{
	size_t len = strlen(path);

	if (!len)
		return -ENOENT;
	if (len >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	memcpy(addr->sun_path, path, len);
	return 0;
}

static int seqpacket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

/* fd or negative errno; -ENOENT: no process listens at @path. */
static int connect_path(const char *path)
{
	struct sockaddr_un addr;
	int err, fd;

	err = path_address(path, &addr);
	if (err)
		return err;
	fd = seqpacket();
	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = errno == ECONNREFUSED ? -ENOENT : -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* The number of users that this process's user namespace does not know; 0: it knows all. */
static uid_t unknown_user(void)
{
	unsigned int inside = 0, outside = 0, count = 0, unknown = 0;
	FILE *f = fopen("/proc/self/uid_map", "re");
	const bool read = f && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3;

	if (f)
		fclose(f);
	if (!read || (!inside && !outside && count == UINT32_MAX))
		return 0;
	f = fopen("/proc/sys/kernel/overflowuid", "re");
	if (f && fscanf(f, "%u", &unknown) != 1)
		unknown = 0;
	if (f)
		fclose(f);
	return unknown;
}

/*
 * In a container of an ordinary user, root of the machine has no number of its own. Its daemon's
 * folder then belongs to an unknown user, and no user of the container can write to it. A user
 * who can make such a folder elsewhere cannot make it at a path that root mounted.
 */
static bool is_unknown_root(const char *path, uid_t uid)
{
	const char *slash = strrchr(path, '/');
	char dir[GP_WIRE_PATH_LEN];
	struct stat st;

	if (!uid || uid != unknown_user() || !slash)
		return false;
	snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path);
	return !stat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == uid && !(st.st_mode & 022);
}

/* Like connect_path(), for trusted listeners only. */
static int connect_trusted(const char *path)
{
	pid_t pid;
	uid_t uid;
	int err, fd;

	fd = connect_path(path);
	if (fd < 0)
		return fd;
	err = gp_wire_peer(fd, &pid, &uid);
	if (!err && uid != 0 && uid != geteuid() && !is_unknown_root(path, uid))
		err = -EPERM;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

bool gp_wire_machine_has_daemon(void)
{
	int fd = connect_trusted(GP_WIRE_RUN_DIR "/" GP_WIRE_SOCKET);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -EAGAIN;
}

int gp_wire_daemon_connect(void)
{
	const char *named = secure_getenv(DAEMON_ENV);
	char dir[GP_WIRE_PATH_LEN], path[GP_WIRE_PATH_LEN + sizeof("/" GP_WIRE_SOCKET)];
	int fd;

	if (named && !strcmp(named, "none"))
		return -ENOENT;
	if (named && *named)
		return connect_trusted(named);
	fd = connect_trusted(GP_WIRE_RUN_DIR "/" GP_WIRE_SOCKET);
	if (fd != -ENOENT)
		return fd;
	if (gp_wire_user_dir(dir, sizeof(dir)) || gp_wire_check_dir(dir, 077))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/" GP_WIRE_SOCKET, dir);
	return connect_trusted(path);
}

/* 0: nothing is at @path any more; -EADDRINUSE: a process listens there. */
static int remove_stale(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	fd = connect_path(path);
	if (fd >= 0)
		close(fd);
	/* Overrun, or of another type: a process still listens. */
	if (fd >= 0 || fd == -EAGAIN || fd == -EPROTOTYPE)
		return -EADDRINUSE;
	if (fd != -ENOENT)
		return fd;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

int gp_wire_daemon_listen(const char *path)
{
	struct sockaddr_un addr;
	int err, fd;

	err = path_address(path, &addr);
	if (!err)
		err = remove_stale(path);
	if (err)
		return err;
	fd = seqpacket();
	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = -errno;
		close(fd);
		return err;
	}
	/* Any user may connect; SO_PEERCRED identifies it. */
	if (chmod(path, 0666) || listen(fd, DAEMON_BACKLOG)) {
		err = -errno;
		unlink(path);
		close(fd);
		return err;
	}
	return fd;
}
