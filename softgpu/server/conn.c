// SPDX-License-Identifier: Apache-2.0
/* conn.c - connections and the client processes. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "softgpu/server/server.h"

static int gpu_create(struct soft_server *s, uint32_t index)
{
	struct soft_gpu *gpu = &s->gpu[index];

	gpu->server = s;
	gpu->index = index;
	gpu->model = gp_model_create(&s->cfg, soft_model_event, gpu);
	if (!gpu->model)
		return -ENOMEM;
	/* A clock at 0 would look like one that was never read. */
	gp_model_advance(gpu->model, 1000000000u);
	return 0;
}

struct soft_server *soft_server_create(int listen_fd, const struct soft_options *options)
{
	struct soft_server *s = calloc(1, sizeof(*s));
	struct epoll_event ev = { .events = EPOLLIN };

	if (!s)
		return NULL;
	gp_model_config_h200(&s->cfg);
	s->listen_fd = listen_fd;
	s->id = options->id;
	s->memory_bytes = options->memory_bytes ? options->memory_bytes : SOFT_VRAM_BYTES;
	s->faults = options->faults;
	if (options->copy_bytes_per_us)
		s->cfg.copy_bytes_per_us = options->copy_bytes_per_us;
	s->next_client = GP_RM_HABIT_CLIENT_BASE;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		goto err;
	for (; s->gpus < options->gpus; s->gpus++)
		if (gpu_create(s, s->gpus))
			goto err;
	if (listen_fd >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, listen_fd, &ev))
		goto err;
	return s;
err:
	soft_server_destroy(s);
	return NULL;
}

void soft_server_destroy(struct soft_server *s)
{
	if (!s)
		return;
	while (s->procs) {
		soft_proc_end(s, s->procs);
		soft_reap(s);
	}
	for (struct soft_conn *c = s->conns; c; c = c->next)
		c->closing = true;
	soft_reap(s);
	for (uint32_t i = 0; i < s->gpus; i++)
		gp_model_destroy(s->gpu[i].model);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s);
}

/*
 * Another process may have a duplicate of @fd, as gpreemptd's search for control files has for
 * a moment. A plain close would then leave @fd among the awaited files.
 */
static void forget(struct soft_server *s, int fd)
{
	if (fd < 0)
		return;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

/* ---- processes ----------------------------------------------------------- */

static struct soft_proc *proc_create(struct soft_server *s, pid_t pid, uid_t uid)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct soft_proc *p;

	for (p = s->procs; p; p = p->next)
		if (p->pid == pid && !p->gone)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->uid = uid;
	p->pidfd = -1;
	if (!s->fuzzing)
		p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* The socket reports its end too, unless a child inherited the socket. */
	if (p->pidfd >= 0) {
		ev.data.u64 = (uintptr_t)p | 1;
		epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, p->pidfd, &ev);
	}
	p->next = s->procs;
	s->procs = p;
	return p;
}

/** Removes everything of @p at once, as when a process dies. */
void soft_proc_end(struct soft_server *s, struct soft_proc *p)
{
	if (p->gone)
		return;
	p->gone = true;
	soft_rm_proc_end(s, p);
	soft_regions_drop(s, p);
	for (struct soft_conn *c = s->conns; c; c = c->next)
		if (c->proc == p)
			c->closing = true;
}

static void proc_free(struct soft_server *s, struct soft_proc *p)
{
	forget(s, p->pidfd);
	free(p);
}

/* ---- connections --------------------------------------------------------- */

struct soft_conn *soft_conn_create(struct soft_server *s, int fd, pid_t pid, uid_t uid)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };
	struct soft_conn *c;

	if (s->conn_count == SOFT_CONNS_MAX)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->proc = proc_create(s, pid, uid);
	if (!c->proc) {
		free(c);
		return NULL;
	}
	c->proc->conns++;
	c->fd = fd;
	c->file2 = -1;
	c->event_fd = -1;
	c->thread = SOFT_NO_THREAD;
	c->state = SOFT_AWAY;
	ev.data.u64 = (uintptr_t)c;
	if (fd >= 0)
		epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
	c->next = s->conns;
	s->conns = c;
	s->conn_count++;
	return c;
}

void soft_accept(struct soft_server *s)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
	    !soft_conn_create(s, fd, cred.pid, cred.uid))
		close(fd);
}

static void drop_file2(struct soft_conn *c)
{
	if (c->file2 >= 0)
		close(c->file2);
	c->file2 = -1;
}

void soft_conn_destroy(struct soft_server *s, struct soft_conn *c)
{
	struct soft_conn **link = &s->conns;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	s->conn_count--;
	c->proc->conns--;
	forget(s, c->fd);
	if (c->event_fd >= 0)
		close(c->event_fd);
	soft_thread_close(&c->thread);
	drop_file2(c);
	free(c);
}

/** Frees closing connections, and processes without connections. */
void soft_reap(struct soft_server *s)
{
	struct soft_proc **link = &s->procs;

	for (struct soft_conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		if (c->closing)
			soft_conn_destroy(s, c);
	}
	while (*link) {
		struct soft_proc *p = *link;

		if (!p->conns)
			soft_proc_end(s, p);
		if (!p->conns) {
			*link = p->next;
			proc_free(s, p);
		} else {
			link = &p->next;
		}
	}
}

/* ---- messages ------------------------------------------------------------ */

/* The first received file is only compared; the second may be mapped. */
static void take_files(struct soft_conn *c, struct msghdr *hdr)
{
	uint32_t n = 0;

	c->has_file = false;
	drop_file2(c);
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(hdr); cm; cm = CMSG_NXTHDR(hdr, cm)) {
		size_t count = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			struct stat st;
			int fd;

			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(fd), sizeof(fd));
			if (!fstat(fd, &st) && n == 0) {
				c->file_dev = st.st_dev;
				c->file_ino = st.st_ino;
				c->has_file = true;
			}
			if (n == 1)
				c->file2 = fd;
			else
				close(fd);
			n++;
		}
	}
}

void soft_conn_receive(struct soft_server *s, struct soft_conn *c)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = { c->msg, sizeof(c->msg) };
	struct msghdr hdr = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	const bool busy = c->state != SOFT_RUN && c->state != SOFT_AWAY &&
			  c->state != SOFT_PARKED && c->kind != GP_SOFT_TIMER;
	ssize_t n;

	if (c->closing)
		return;
	if (busy) {
		/* One request at a time: data now is EOF or invalid. */
		c->closing = true;
		return;
	}
	n = recvmsg(c->fd, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		take_files(c, &hdr);
	if (n <= 0 || (hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || !soft_handle(s, c, (size_t)n))
		c->closing = true;
}

void soft_reply(struct soft_server *s, struct soft_conn *c, int status, uint64_t value,
		uint64_t value2, const void *data, size_t bytes, int fd)
{
	struct gp_soft_rep rep = {
		.status = status,
		.context_error = c->proc->error,
		.value = value,
		.value2 = value2,
		.now_ns = soft_now(s),
	};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov[2] = {
		{ &rep, sizeof(rep) },
		{ (void *)(uintptr_t)data, bytes },
	};
	struct msghdr hdr = { .msg_iov = iov, .msg_iovlen = bytes ? 2 : 1 };

	if (c->kind != GP_SOFT_TIMER)
		c->state = SOFT_RUN;
	c->stall_since_ns = 0;
	drop_file2(c);
	if (c->fd < 0)
		return;
	if (fd >= 0) {
		struct cmsghdr *cm;

		hdr.msg_control = control.buf;
		hdr.msg_controllen = sizeof(control.buf);
		cm = CMSG_FIRSTHDR(&hdr);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
	}
	/* Closes a client that does not read its replies, instead of waiting for it. */
	if (sendmsg(c->fd, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		c->closing = true;
}
