// SPDX-License-Identifier: Apache-2.0
/* clock.c - the lockstep clock, as softgpu.h offers it. */
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softgpu/cuda/face.h"

#define TIMERS_MAX 256u

/* A timer's eventfd, which callers poll, and the connection behind it. */
struct timer {
	int event_fd, sock;   /* + 1: 0 is a free entry */
	pthread_mutex_t lock; /* one call at a time */
};

static struct timer timers[TIMERS_MAX];
static pthread_mutex_t timers_lock = PTHREAD_MUTEX_INITIALIZER;

FACE_EXPORT uint64_t gp_soft_now_ns(void)
{
	struct gp_soft_rep rep;

	return face_op(GP_SOFT_NOW, 0, 0, &rep) ? 0 : rep.value;
}

_Thread_local bool face_cold;

FACE_EXPORT int gp_soft_sleep_until(uint64_t at_ns)
{
	face_cold = true;
	return face_op(GP_SOFT_SLEEP, at_ns, 0, NULL);
}

static int timer_open(void)
{
	int event_fd = -1, sock = face_connect(GP_SOFT_TIMER, &event_fd);
	struct timer *t = NULL;

	if (sock < 0)
		return sock;
	pthread_mutex_lock(&timers_lock);
	for (unsigned int i = 0; i < TIMERS_MAX && !t; i++) {
		/* The same number again means that the old one was closed. */
		if (timers[i].event_fd == event_fd + 1) {
			face_disconnect(timers[i].sock - 1);
			t = &timers[i];
		}
	}
	for (unsigned int i = 0; i < TIMERS_MAX && !t; i++)
		if (!timers[i].event_fd)
			t = &timers[i];
	if (t) {
		t->event_fd = event_fd + 1;
		t->sock = sock + 1;
		pthread_mutex_init(&t->lock, NULL);
	}
	pthread_mutex_unlock(&timers_lock);
	if (t)
		return event_fd;
	close(event_fd);
	face_disconnect(sock);
	return -EMFILE;
}

FACE_EXPORT int gp_soft_timer_open(void)
{
	int fd = timer_open();

	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

static struct timer *timer_find(int fd)
{
	struct timer *t = NULL;

	pthread_mutex_lock(&timers_lock);
	for (unsigned int i = 0; i < TIMERS_MAX && !t; i++)
		if (timers[i].event_fd == fd + 1)
			t = &timers[i];
	pthread_mutex_unlock(&timers_lock);
	return t;
}

FACE_EXPORT int gp_soft_timer_close(int fd)
{
	struct timer *t = fd < 0 ? NULL : timer_find(fd);

	if (!t)
		return -EBADF;
	pthread_mutex_lock(&timers_lock);
	face_disconnect(t->sock - 1);
	t->sock = 0;
	t->event_fd = 0;
	pthread_mutex_unlock(&timers_lock);
	close(fd);
	return 0;
}

static int timer_call(int fd, uint32_t op, uint64_t at_ns)
{
	struct face_call call = {
		.req = { .op = op, .a = at_ns },
		.req.u.timer.tid = (int32_t)syscall(SYS_gettid),
	};
	struct timer *t = fd < 0 ? NULL : timer_find(fd);
	int err;

	if (!t)
		return -EBADF;
	pthread_mutex_lock(&t->lock);
	err = face_call_on(t->sock - 1, &call);
	pthread_mutex_unlock(&t->lock);
	return err;
}

static int set_errno(int err)
{
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

FACE_EXPORT int gp_soft_timer_arm(int fd, uint64_t at_ns)
{
	return set_errno(timer_call(fd, GP_SOFT_TIMER_ARM, at_ns));
}

FACE_EXPORT int gp_soft_timer_ack(int fd)
{
	int err = timer_call(fd, GP_SOFT_TIMER_ACK, 0);

	/* Not due: armed again meanwhile, as with a timerfd. */
	return set_errno(err == -EAGAIN ? 0 : err);
}

FACE_EXPORT int gp_soft_timer_done(int fd)
{
	return set_errno(timer_call(fd, GP_SOFT_TIMER_DONE, 0));
}
