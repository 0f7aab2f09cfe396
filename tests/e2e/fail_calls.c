// SPDX-License-Identifier: Apache-2.0
/*
 * A library for LD_PRELOAD: call number GP_FAIL_AT of those below fails, as it does when files
 * or memory run out. Only calls from code in a file whose name has GP_FAIL_IN count, and only
 * the first SITE_CALLS from each place in it: loops over all processes make many. The first
 * process that counts to it makes the file GP_FAIL_MARK and writes the call's name to it. No other
 * process fails then.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE_LEN 256
#define SITES 1024
#define SITE_CALLS 16

static atomic_int count;
static struct {
	_Atomic(const void *) caller;
	atomic_int calls;
} site[SITES];
static _Thread_local bool inside;

/* Is it of a role that GP_FAIL_ROLE names? Every process is without it. */
static bool has_role(void)
{
	const char *role = getenv("GP_FAIL_ROLE");
	char text[4096] = "";
	bool has = false;
	ssize_t n;
	int fd;

	if (!role)
		return true;
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof(text) - 1);
	for (ssize_t i = 0; i < n && !has; i += (ssize_t)strlen(text + i) + 1)
		has = !strcmp(text + i, role);
	if (fd >= 0)
		syscall(SYS_close, fd);
	return has;
}

static bool counts(const void *caller)
{
	for (size_t i = 0; i < SITES; i++) {
		const void *none = NULL;

		if (site[i].caller == caller ||
		    atomic_compare_exchange_strong(&site[i].caller, &none, caller) ||
		    none == caller)
			return atomic_fetch_add(&site[i].calls, 1) < SITE_CALLS;
	}
	return false;
}

static bool fails_in(const char *name, const void *caller)
{
	static atomic_int role; /* 1: it counts; 2: it does not */
	const char *at = getenv("GP_FAIL_AT"), *in = getenv("GP_FAIL_IN");
	const char *mark = getenv("GP_FAIL_MARK");
	char line[LINE_LEN];
	Dl_info info;
	int fd, n;

	if (!at || !in || !mark)
		return false;
	if (!role)
		role = has_role() ? 1 : 2;
	if (role != 1 || !dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, in) ||
	    !counts(caller) || atomic_fetch_add(&count, 1) != atoi(at))
		return false;
	fd = (int)syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			  0600);
	if (fd < 0)
		return false;
	n = snprintf(line, sizeof(line), "%s %s+%#lx\n", name, info.dli_fname,
		     (unsigned long)((const char *)caller - (const char *)info.dli_fbase));
	(void)!syscall(SYS_write, fd, line, (size_t)n);
	syscall(SYS_close, fd);
	return true;
}

static bool fails(const char *name, const void *caller, int err)
{
	const int saved = errno;
	bool is;

	if (inside)
		return false;
	inside = true;
	is = fails_in(name, caller);
	inside = false;
	errno = is ? err : saved;
	return is;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAILS(name, err) fails(#name, __builtin_return_address(0), err)

int open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	return FAILS(open, EMFILE) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	return FAILS(openat, EMFILE) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

int socket(int domain, int type, int protocol)
{
	return FAILS(socket, EMFILE) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	return FAILS(accept4, EMFILE) ? -1 : (int)syscall(SYS_accept4, fd, addr, len, flags);
}

int eventfd(unsigned int value, int flags)
{
	return FAILS(eventfd, EMFILE) ? -1 : (int)syscall(SYS_eventfd2, value, flags);
}

int timerfd_create(int clock, int flags)
{
	return FAILS(timerfd_create, EMFILE) ? -1 : (int)syscall(SYS_timerfd_create, clock, flags);
}

int signalfd(int fd, const void *mask, int flags)
{
	return FAILS(signalfd, EMFILE) ? -1 : (int)syscall(SYS_signalfd4, fd, mask, 8, flags);
}

int epoll_create1(int flags)
{
	return FAILS(epoll_create1, EMFILE) ? -1 : (int)syscall(SYS_epoll_create1, flags);
}

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD && FAILS(epoll_ctl, ENOSPC))
		return -1;
	return (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
}

int memfd_create(const char *name, unsigned int flags)
{
	return FAILS(memfd_create, EMFILE) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return FAILS(mmap, ENOMEM) ? MAP_FAILED :
				     (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

/* The log does not count, nor an eventfd, for which no such failure exists. */
ssize_t write(int fd, const void *buf, size_t len)
{
	char path[64], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	if (fd != STDERR_FILENO && !strstr(target, "eventfd") && FAILS(write, EIO))
		return -1;
	return syscall(SYS_write, fd, buf, len);
}

extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_malloc(size_t size);

void *calloc(size_t n, size_t size)
{
	return FAILS(calloc, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *malloc(size_t size)
{
	return FAILS(malloc, ENOMEM) ? NULL : __libc_malloc(size);
}
