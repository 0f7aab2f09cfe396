// SPDX-License-Identifier: Apache-2.0
/*
 * slot_holder.c - keeps the short slice's slot for a process that has no gpreempt in it. The keeper
 * is a process of its own. It ends with its target, and the lock with it. It has the target's
 * pidfd and none of the target's files, which would keep the GPU client of a dead process
 * alive. If another process has the slot, a child of the keeper waits for the lock (its open
 * file description is the keeper's too) and then sets the slice.
 *
 * Its abstract address is "gpreempt/1/keeper/PID/DEVICE". Asked with 'q', it answers 'h' (has
 * the slot) or 'w' (waits). On 'x' from its own user or root it releases the slot, answers 'k'
 * and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hal/slot.h"
#include "runtime/outside.h"

#define SPEC_LEN GP_DEVICE_NAME_LEN
#define BACKLOG 8
#define PEER_MS 1000

static int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0u);

	return fd < 0 ? -errno : fd;
}

static socklen_t keeper_address(pid_t pid, const char *spec, struct sockaddr_un *addr)
{
	int n;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	n = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "gpreempt/1/keeper/%d/%s",
		     (int)pid, spec);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* ---- queries to a keeper ------------------------------------------------------- */

/* Non-blocking, so that a stopped keeper cannot stop its caller. */
static int keeper_connect(pid_t pid, const struct gp_device *dev)
{
	struct sockaddr_un addr;
	char spec[SPEC_LEN];
	socklen_t len;
	int fd, err;

	gp_device_spec(dev, spec, sizeof(spec));
	len = keeper_address(pid, spec, &addr);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&addr, len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* One letter in, one out; -ECONNRESET: it ended. */
static int keeper_ask(int fd, char question, char *answer)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (send(fd, &question, 1, MSG_NOSIGNAL) != 1)
		return errno == EPIPE ? -ECONNRESET : -errno;
	if (poll(&pfd, 1, PEER_MS) != 1)
		return -ETIMEDOUT;
	n = recv(fd, answer, 1, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	return n ? 0 : -ECONNRESET;
}

int gp_slot_holder_query(pid_t pid, const struct gp_device *dev, enum gp_slot_holder_state *state)
{
	GP_CLOSE int fd = keeper_connect(pid, dev);
	char answer = 0;
	int err = fd < 0 ? fd : keeper_ask(fd, 'q', &answer);

	if (err == -ECONNREFUSED || err == -ECONNRESET) {
		*state = GP_SLOT_HOLDER_NONE;
		return 0;
	}
	if (!err)
		*state = answer == 'h' ? GP_SLOT_HOLDER_HAS : GP_SLOT_HOLDER_WAITS;
	return err;
}

int gp_slot_holder_stop(pid_t pid, const struct gp_device *dev)
{
	GP_CLOSE int fd = keeper_connect(pid, dev);
	char answer = 0;
	int err = fd < 0 ? fd : keeper_ask(fd, 'x', &answer);

	if (err == -ECONNREFUSED || err == -ECONNRESET)
		return 0;
	if (!err && answer != 'k')
		err = -EPERM;
	return err;
}

/* ---- the keeper itself ----------------------------------------------------------- */

struct keeper {
	pid_t pid;
	const char *spec;
	struct gp_slot_place slot;
	int pidfd;
	int listen_fd;
	bool has;
	pid_t waiter;  /* child that waits for the slot; 0: none */
	int waiter_fd; /* its pidfd */
};

static int set_short_slice(const struct keeper *k)
{
	GP_DEVICES struct gp_devices devices = { 0 };
	const struct gp_class_value be = { GP_CLASS_BE, GP_WEIGHT_DEFAULT };
	struct gp_group_list list = { 0 };
	size_t compute = 0;
	char why[GP_WHY_LEN];
	int err = gp_devices_open(k->spec, &devices, why, sizeof(why));

	if (!err)
		err = devices.dev[0]->ops->groups(devices.dev[0], k->pid, &list);
	if (!err) {
		compute = gp_compute_groups(&list);
		err = compute ? gp_outside_set(devices.dev[0], &list, &be, true, NULL) : -ESRCH;
	}
	gp_group_list_put(&list);
	return err;
}

/* Not to outlive a killed keeper: it would take the slot. */
static int waiter_start(struct keeper *k)
{
	pid_t parent = getpid();

	k->waiter = fork();
	if (k->waiter < 0)
		return -errno;
	if (!k->waiter) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent || gp_slot_lock(&k->slot, true))
			_exit(1);
		_exit(set_short_slice(k) ? 1 : 0);
	}
	k->waiter_fd = pidfd_of(k->waiter);
	return k->waiter_fd < 0 ? k->waiter_fd : 0;
}

static void waiter_stop(struct keeper *k)
{
	if (k->waiter <= 0)
		return;
	kill(k->waiter, SIGKILL);
	waitpid(k->waiter, NULL, 0);
	k->waiter = 0;
}

/* If the waiter succeeded, it has the slot, and the slice is set. */
static int waiter_ended(struct keeper *k)
{
	int status;

	if (waitpid(k->waiter, &status, 0) != k->waiter)
		return -errno;
	k->waiter = 0;
	close(k->waiter_fd);
	k->waiter_fd = -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return -ESRCH;
	k->has = true;
	return 0;
}

static bool may_stop(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) &&
	       (cred.uid == 0 || cred.uid == geteuid());
}

/* Serves one request; true: the keeper must end. */
static bool serve(struct keeper *k)
{
	GP_CLOSE int fd = accept4(k->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char question = 0, answer;
	bool stop;

	if (fd < 0 || poll(&pfd, 1, PEER_MS) != 1 || recv(fd, &question, 1, MSG_DONTWAIT) != 1)
		return false;
	stop = question == 'x' && may_stop(fd);
	answer = stop ? 'k' : question == 'x' ? 'n' : k->has ? 'h' : 'w';
	if (stop) {
		waiter_stop(k);
		close(k->slot.fd);
		close(k->listen_fd);
	}
	(void)!send(fd, &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	return stop;
}

static void keep(struct keeper *k)
{
	for (;;) {
		struct pollfd pfd[] = {
			{ .fd = k->pidfd, .events = POLLIN },
			{ .fd = k->listen_fd, .events = POLLIN },
			{ .fd = k->waiter_fd, .events = POLLIN },
		};

		if (poll(pfd, 3, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (pfd[0].revents)
			return;
		if (pfd[2].revents && waiter_ended(k))
			return;
		if (pfd[1].revents && serve(k))
			return;
	}
}

/* Arguments: PID SPEC SLOT_FD OFFSET PIDFD LISTEN_FD has|waits, from become_keeper(). */
int gp_slot_holder_main(int argc, char **argv)
{
	struct keeper k = { .waiter_fd = -1 };

	if (argc != 8)
		return gp_fail("%s: internal command; use gpreempt attach", GP_SLOT_HOLDER_VERB);
	k.pid = atoi(argv[1]);
	k.spec = argv[2];
	k.slot.fd = atoi(argv[3]);
	k.slot.offset = strtoull(argv[4], NULL, 10);
	k.pidfd = atoi(argv[5]);
	k.listen_fd = atoi(argv[6]);
	k.has = !strcmp(argv[7], "has");
	if (!k.has && waiter_start(&k))
		return GP_EXIT_OWN;
	keep(&k);
	waiter_stop(&k);
	return 0;
}

/* ---- starting one ------------------------------------------------------------------ */

static int keeper_listen(pid_t pid, const char *spec)
{
	struct sockaddr_un addr;
	socklen_t len = keeper_address(pid, spec, &addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&addr, len) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void keep_over_exec(int fd)
{
	fcntl(fd, F_SETFD, 0);
}

static void become_keeper(const struct keeper *k)
{
	char pid[16], slot[16], offset[24], pidfd[16], listen_fd[16];
	char *argv[] = {
		"gpreempt", GP_SLOT_HOLDER_VERB,      pid, (char *)k->spec, slot, offset, pidfd,
		listen_fd,  k->has ? "has" : "waits", NULL
	};
	int null = open("/dev/null", O_RDWR);

	snprintf(pid, sizeof(pid), "%d", (int)k->pid);
	snprintf(slot, sizeof(slot), "%d", k->slot.fd);
	snprintf(offset, sizeof(offset), "%llu", (unsigned long long)k->slot.offset);
	snprintf(pidfd, sizeof(pidfd), "%d", k->pidfd);
	snprintf(listen_fd, sizeof(listen_fd), "%d", k->listen_fd);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	keep_over_exec(k->slot.fd);
	keep_over_exec(k->pidfd);
	keep_over_exec(k->listen_fd);
	(void)!chdir("/");
	execv("/proc/self/exe", argv);
	_exit(GP_EXIT_OWN);
}

/* Forks twice, so it is no child of ours, and has its own session. */
static int spawn_keeper(const struct keeper *k)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		setsid();
		pid = fork();
		if (!pid)
			become_keeper(k);
		_exit(pid < 0 ? 1 : 0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EAGAIN;
}

int gp_slot_holder_start(pid_t pid, struct gp_device *dev, int slot_fd)
{
	char spec[SPEC_LEN];
	struct gp_slot_place place = { .fd = slot_fd };
	GP_CLOSE int pidfd = pidfd_of(pid);
	GP_CLOSE int listen_fd = -1;
	GP_CLOSE int own_slot_fd = -1;
	struct keeper k;
	int err;

	if (pidfd < 0)
		return pidfd;
	gp_device_spec(dev, spec, sizeof(spec));
	listen_fd = keeper_listen(pid, spec);
	if (listen_fd < 0)
		return listen_fd;
	if (slot_fd < 0) {
		err = dev->ops->slot(dev, &place);
		if (err)
			return err;
		own_slot_fd = place.fd;
	}
	k = (struct keeper){
		.pid = pid,
		.spec = spec,
		.slot = place,
		.pidfd = pidfd,
		.listen_fd = listen_fd,
		.has = slot_fd >= 0,
	};
	return spawn_keeper(&k);
}
