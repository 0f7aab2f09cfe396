// SPDX-License-Identifier: Apache-2.0
/*
 * receiver.c - the receiver process. It never closes a file that is no control file. So it
 * hangs, if ever, at its end, when the daemon no longer waits for it.
 */
#include "daemon/receive/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/receive/receiver_internal.h"
#include "gpreempt/hal.h"

#define FILES_MOST 4096u /* the receiver's limit of open files, if the hard one allows */
#define SENT_MOST 253u	 /* files of one message, the kernel's SCM_MAX_FD */

struct receiver {
	int sock;
	uint32_t kept;
};

int gp_receiver_send(int sock, const void *bytes, size_t len, const int *file, size_t n, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * SENT_MOST)];
	} control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	ssize_t sent;

	if (n > SENT_MOST)
		return -E2BIG;
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
		sent = sendmsg(sock, &hdr, MSG_NOSIGNAL | flags);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* The files of @cmsg; the kernel made no more than there was room for. */
static size_t files_of(const struct cmsghdr *cmsg, int *file, size_t max)
{
	size_t n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	if (n > max)
		n = max;
	memcpy(file, CMSG_DATA(cmsg), n * sizeof(int));
	return n;
}

ssize_t gp_receiver_recv(int sock, void *bytes, size_t len, int *file, size_t max, size_t *n,
			 int flags, int *msg_flags)
{
	/* Beside the files there may be the sender's ids. */
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * SENT_MOST) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = { .iov_base = bytes, .iov_len = len };
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got;

	*n = 0;
	do {
		got = recvmsg(sock, &hdr, MSG_CMSG_CLOEXEC | flags);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&hdr); c; c = CMSG_NXTHDR(&hdr, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			*n += files_of(c, file + *n, max - *n);
	*msg_flags = hdr.msg_flags;
	return got;
}

/* ---- what it does ------------------------------------------------------------ */

static bool is_wanted(const struct gp_receiver_ask *ask, int fd)
{
	const struct gp_hal_ops *ops;

	for (size_t i = 0; i < GP_RECEIVER_BACKENDS && ask->backend[i][0]; i++) {
		ops = gp_hal_find(ask->backend[i]);
		if (ops && ops->is_control_file(fd) == 1)
			return true;
	}
	return false;
}

/* Sends the answer with the control files of @file, and keeps the rest. */
static bool answer(struct receiver *r, const struct gp_receiver_ask *ask,
		   struct gp_receiver_answer *a, const int *file, size_t n)
{
	int wanted[GP_RECEIVER_FILES] = { -1 };
	size_t count = 0;
	int err;

	for (size_t i = 0; i < n; i++) {
		if (a->result || count == GP_RECEIVER_FILES || !is_wanted(ask, file[i])) {
			r->kept++;
			continue;
		}
		if (i < 32)
			a->places |= 1u << i;
		wanted[count++] = file[i];
	}
	a->kept = r->kept;
	err = gp_receiver_send(r->sock, a, sizeof(*a), wanted, count, 0);
	for (size_t i = 0; i < count; i++)
		close(wanted[i]);
	return !err;
}

static int check(ssize_t len, size_t n, int flags)
{
	if (len < 0)
		return (int)len;
	if (flags & MSG_CTRUNC)
		return -EMFILE;
	/* The end, or an empty message, which looks the same, has no files. */
	return flags & MSG_TRUNC || n > GP_WIRE_MAX_FILES || !len ? -EPROTO : 0;
}

/* The daemon has @conn too, so that its close here drops no message. */
static bool receive(struct receiver *r, const struct gp_receiver_ask *ask, int conn)
{
	struct gp_receiver_answer a = { 0 };
	int file[SENT_MOST], flags = 0;
	size_t n;
	ssize_t len;

	len = gp_receiver_recv(conn, &a.msg, sizeof(a.msg), file, SENT_MOST, &n, MSG_DONTWAIT,
			       &flags);
	close(conn);
	a.result = check(len, n, flags);
	a.len = len > 0 ? (uint32_t)len : 0;
	a.sent = (uint32_t)n;
	return answer(r, ask, &a, file, n);
}

static bool take(struct receiver *r, const struct gp_receiver_ask *ask, int pidfd)
{
	const struct gp_hal_ops *ops = gp_hal_find(ask->backend[0]);
	struct gp_receiver_answer a = { 0 };
	int file[GP_RECEIVER_FILES];
	ssize_t n = ops ? ops->take_files(ask->pid, pidfd, file, GP_RECEIVER_FILES) : -EOPNOTSUPP;

	close(pidfd);
	if (n < 0)
		a.result = (int32_t)n;
	return answer(r, ask, &a, file, n < 0 ? 0 : (size_t)n);
}

static bool serve(struct receiver *r)
{
	struct gp_receiver_ask ask;
	int fd = -1, flags = 0;
	size_t n;
	ssize_t len = gp_receiver_recv(r->sock, &ask, sizeof(ask), &fd, 1, &n, 0, &flags);

	if (len != (ssize_t)sizeof(ask))
		return false;
	/* No room for it: the kernel has dropped it. The daemon starts another receiver. */
	if (n != 1)
		return false;
	switch (ask.what) {
	case GP_RECEIVER_MESSAGE:
		return receive(r, &ask, fd);
	case GP_RECEIVER_TAKE:
		return take(r, &ask, fd);
	default:
		r->kept++;
		return true;
	}
}

/* ---- its rights --------------------------------------------------------------- */

/* To list and to duplicate files of the user's processes. No driver is called here. */
static void drop_rights(void)
{
	const uint32_t keep = 1u << CAP_SYS_PTRACE | 1u << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &head, data))
		return;
	data[0].permitted &= keep;
	data[0].effective &= keep;
	data[0].inheritable = 0;
	memset(&data[1], 0, sizeof(data[1]));
	syscall(SYS_capset, &head, data);
}

static void set_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max < FILES_MOST ? limit.rlim_max : FILES_MOST;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int gp_receiver_run(int sock)
{
	struct receiver r = { .sock = sock };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "gpreemptd-recv");
	prctl(PR_SET_DUMPABLE, 0);
	fcntl(sock, F_SETFD, FD_CLOEXEC);
	set_files();
	drop_rights();
	/* If the daemon ended before the first line, the socket's other end is closed. */
	while (serve(&r))
		;
	return 0;
}
