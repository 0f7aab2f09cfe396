// SPDX-License-Identifier: Apache-2.0
/* stay.c - wait for the end of the command's state, and renew it meanwhile. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libhsaq/cmd/cmd.h"

static sigset_t old_mask;
static int signal_fd = -1;

uint64_t hsaq_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int hsaq_stay_prepare(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&mask, ends[i]);
	if (sigprocmask(SIG_BLOCK, &mask, &old_mask))
		return -errno;
	signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return signal_fd < 0 ? -errno : 0;
}

void hsaq_stay_child(void)
{
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
}

/* With a child, signals are for the child, and its end ends us. */
static bool signals_end(struct hsaq_stay *s)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD && s->child)
			kill(s->child, (int)info.ssi_signo);
		else if (info.ssi_signo != SIGCHLD)
			end = true;
	}
	if (s->child && waitpid(s->child, &s->status, WNOHANG) == s->child)
		end = true;
	return end;
}

void hsaq_answer(int fd, int err)
{
	const int32_t answer = err;

	/* The requester may be gone; then there is no answer to give. */
	(void)!send(fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool asked_to_end(struct hsaq_stay *s)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return false;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) &&
	    (!cred.uid || cred.uid == geteuid())) {
		s->asker_fd = fd;
		return true;
	}
	hsaq_answer(fd, -EPERM);
	close(fd);
	return false;
}

/* Time to the next action in ms, poll's unit, rounded up. */
static int wait_ms(const struct hsaq_stay *s, uint64_t renew_at_ns)
{
	uint64_t now = hsaq_now_ns(), at = renew_at_ns;

	if (s->until_ns && (!at || s->until_ns < at))
		at = s->until_ns;
	if (!at)
		return -1;
	return at <= now ? 0 : (int)((at - now + 999999) / 1000000);
}

int hsaq_stay(struct hsaq_stay *s)
{
	uint64_t renew_at_ns = s->renew_ns ? hsaq_now_ns() + s->renew_ns : 0;

	s->asker_fd = -1;
	for (;;) {
		struct pollfd pfd[] = {
			{ .fd = signal_fd, .events = POLLIN },
			{ .fd = s->listen_fd, .events = POLLIN },
		};
		int r;

		if (poll(pfd, 2, wait_ms(s, renew_at_ns)) < 0 && errno != EINTR)
			return -errno;
		if (signals_end(s) || (pfd[1].revents && asked_to_end(s)) ||
		    (s->until_ns && hsaq_now_ns() >= s->until_ns))
			return 0;
		if (!renew_at_ns || hsaq_now_ns() < renew_at_ns)
			continue;
		r = s->renew(s->arg);
		if (r)
			return r;
		renew_at_ns = hsaq_now_ns() + s->renew_ns;
	}
}
