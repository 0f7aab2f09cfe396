// SPDX-License-Identifier: Apache-2.0
#include "libhsaq/criu.h"

#include <errno.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hal/procfd.h"
#include "libhsaq/hsaq_internal.h"
#include "libhsaq/kfd_abi.h"

/* The tracer of an earlier call may not have ended yet. */
#define TRIES 200
#define TRY_NS 100000

struct call {
	pid_t pid;
	int pidfd, fd;
	uint32_t op;
	int result;
};

static int kfd_call(const struct call *c)
{
	struct hsaq_kfd_criu args = { .op = c->op };

	return syscall(SYS_ioctl, c->fd, HSAQ_KFD_CRIU_OP, &args) ? -errno : 0;
}

/* The KFD takes these calls from the thread that traces the process now. */
static void *call_as_tracer(void *arg)
{
	const struct timespec ts = { .tv_nsec = TRY_NS };
	struct call *c = arg;

	for (int i = 0; i < TRIES; i++) {
		if (!ptrace(PTRACE_SEIZE, c->pid, NULL, NULL)) {
			c->result = kfd_call(c);
			break;
		}
		c->result = -errno;
		if (errno != EPERM)
			break;
		nanosleep(&ts, NULL);
	}
	/* The end of the thread ends the tracing. The process was not stopped. */
	return NULL;
}

/* A file of another process, or of /dev/kfd_sched, is refused: then the next one. */
static int try_file(void *arg, int fd)
{
	struct call *c = arg;
	pthread_t thread;
	int err;

	c->fd = (int)syscall(SYS_pidfd_getfd, c->pidfd, fd, 0u);
	if (c->fd < 0) {
		c->result = -errno;
		return c->result == -EBADF ? 0 : 1;
	}
	err = pthread_create(&thread, NULL, call_as_tracer, c);
	if (!err)
		pthread_join(thread, NULL);
	else
		c->result = -err;
	/* While a copy is open, the KFD keeps a process that died. */
	close(c->fd);
	return c->result != -EBADF && c->result != -ENOTTY;
}

static int call(pid_t pid, uint32_t op)
{
	struct call c = { .pid = pid, .op = op };
	int r;

	c.pidfd = (int)syscall(SYS_pidfd_open, pid, 0u);
	if (c.pidfd < 0)
		return -errno;
	r = gp_proc_fds(pid, HSAQ_DEV_KFD, try_file, &c);
	close(c.pidfd);
	if (r < 0)
		return r;
	return r ? c.result : -ENODEV;
}

int gp_amd_pause(pid_t pid)
{
	return call(pid, HSAQ_KFD_CRIU_PROCESS_INFO);
}

int gp_amd_unpause(pid_t pid)
{
	int r = call(pid, HSAQ_KFD_CRIU_UNPAUSE);

	return r == -EINVAL ? 0 : r;
}
