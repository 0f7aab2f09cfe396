// SPDX-License-Identifier: Apache-2.0
/*
 * pause.c - gpreempt attach --pause: this process answers LC's requests in place of process PID,
 * which knows nothing of gpreempt, and pauses it meanwhile. A pause outlives this process, so a
 * keeper ends it if this process dies; this process replaces a keeper that dies.
 */
#include "cli/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "hsaq.h"
#include "libhsaq/criu.h"
#include "wire/wire.h"

#define CONNECTIONS 16
#define UNPAUSE_TRIES 100
#define UNPAUSE_TRY_NS 10000000

struct conn {
	int fd;
	bool may;	   /* of PID's user, or root */
	uint64_t until_ns; /* asks for the device until then; 0: does not */
};

struct pauser {
	pid_t pid;
	uid_t uid;
	uint32_t weight;
	uint64_t limit_ns, begin_ns;
	struct gp_devices gpus; /* that it uses */
	uint32_t groups;
	atomic_bool *paused; /* perhaps: set before, cleared after. Shared with the keeper */
	struct conn conn[CONNECTIONS];
	size_t conns;
	int pidfd, listen_fd, signal_fd, lock_fd;
	int life;      /* the keeper's end of it is closed with this process */
	int keeper_fd; /* a pidfd */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- pauses ---------------------------------------------------------------------- */

static int resume(pid_t pid, atomic_bool *paused)
{
	const struct timespec ts = { .tv_nsec = UNPAUSE_TRY_NS };
	int err = 0;

	for (int i = 0; i < UNPAUSE_TRIES && atomic_load(paused); i++) {
		err = gp_amd_unpause(pid);
		if (!err || err == -ESRCH)
			atomic_store(paused, false);
		else
			nanosleep(&ts, NULL);
	}
	return err == -ESRCH ? 0 : err;
}

static int start_pause(struct pauser *p)
{
	int err;

	p->begin_ns = now_ns();
	atomic_store(p->paused, true);
	err = gp_amd_pause(p->pid);
	/* It did not begin, or an error came later. */
	if (err)
		(void)resume(p->pid, p->paused);
	return err;
}

static uint64_t wanted_until(const struct pauser *p)
{
	uint64_t until_ns = 0;

	for (size_t i = 0; i < p->conns; i++)
		if (p->conn[i].until_ns > until_ns)
			until_ns = p->conn[i].until_ns;
	return until_ns;
}

/* Ends requests that are over, then pauses or resumes. */
static int follow(struct pauser *p)
{
	const uint64_t at_ns = now_ns();
	const bool paused = atomic_load(p->paused);
	const bool over = paused && at_ns >= p->begin_ns + p->limit_ns;

	for (size_t i = 0; i < p->conns; i++)
		if (over || p->conn[i].until_ns <= at_ns)
			p->conn[i].until_ns = 0;
	if (wanted_until(p))
		return paused ? 0 : start_pause(p);
	return paused ? resume(p->pid, p->paused) : 0;
}

/* ---- the keeper ------------------------------------------------------------------- */

static void keep(struct pauser *p, int life)
{
	char byte;

	setsid();
	/* LC must see at once that nobody answers any more. */
	close(p->listen_fd);
	for (size_t i = 0; i < p->conns; i++)
		close(p->conn[i].fd);
	while (read(life, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(resume(p->pid, p->paused) ? 1 : 0);
}

static int start_keeper(struct pauser *p)
{
	int end[2];
	pid_t pid;

	if (pipe2(end, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		close(end[1]);
		if (p->life >= 0)
			close(p->life);
		keep(p, end[0]);
	}
	close(end[0]);
	if (p->life >= 0)
		close(p->life);
	p->life = end[1];
	if (p->keeper_fd >= 0)
		close(p->keeper_fd);
	p->keeper_fd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0u);
	return p->keeper_fd < 0 ? -errno : 0;
}

/* ---- requests ---------------------------------------------------------------------- */

static bool uses(const struct pauser *p, const uint8_t uuid[16])
{
	for (size_t i = 0; i < p->gpus.count; i++)
		if (!memcmp(p->gpus.dev[i]->id.uuid, uuid, 16))
			return true;
	return false;
}

static int serve_yield(struct pauser *p, struct conn *c, const struct gp_wire_yield *msg)
{
	int err;

	if (!uses(p, msg->uuid))
		return 0;
	if (!c->may)
		return -EPERM;
	c->until_ns = msg->on ? now_ns() + msg->limit_ns : 0;
	err = follow(p);
	if (err)
		c->until_ns = 0;
	return err;
}

static void fill_status(const struct pauser *p, struct gp_wire_status *s)
{
	const struct gp_device_id *id = &p->gpus.dev[0]->id;
	char path[64];
	FILE *f;

	s->pid = p->pid;
	s->uid = p->uid;
	s->cls = GP_CLASS_BE;
	s->value = p->weight;
	s->groups = p->groups;
	snprintf(s->device, sizeof(s->device), "%s", id->name);
	gp_uuid_format(id->uuid, s->uuid, sizeof(s->uuid));
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)p->pid);
	f = fopen(path, "re");
	if (!f || !fgets(s->comm, sizeof(s->comm), f))
		s->comm[0] = '\0';
	s->comm[strcspn(s->comm, "\n")] = '\0';
	if (f)
		fclose(f);
}

static int answer(struct pauser *p, struct conn *c, const union gp_wire_msg *msg,
		  union gp_wire_msg *reply)
{
	switch (msg->head.type) {
	case GP_WIRE_YIELD:
		return serve_yield(p, c, &msg->yield);
	case GP_WIRE_QUERY_DEVICE:
		if (msg->query.number)
			return -ENODEV;
		/* fall through */
	case GP_WIRE_QUERY:
		gp_wire_init(reply, GP_WIRE_STATUS);
		fill_status(p, &reply->status);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* false: the peer is done. */
static bool serve(struct pauser *p, struct conn *c)
{
	union gp_wire_msg msg = { 0 }, reply;
	ssize_t n = recv(c->fd, &msg, sizeof(msg), MSG_DONTWAIT);
	int result;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	gp_wire_init(&reply, GP_WIRE_RESULT);
	result = gp_wire_check(&msg, (size_t)n);
	if (!result)
		result = answer(p, c, &msg, &reply);
	if (result)
		gp_wire_init(&reply, GP_WIRE_RESULT);
	reply.head.result = result;
	return send(c->fd, &reply, reply.head.size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

static void drop(struct pauser *p, size_t i)
{
	close(p->conn[i].fd);
	p->conn[i] = p->conn[--p->conns];
}

static void take_connection(struct pauser *p)
{
	int fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	pid_t pid;
	uid_t uid;

	if (fd < 0)
		return;
	if (p->conns == CONNECTIONS)
		drop(p, 0);
	p->conn[p->conns++] = (struct conn){
		.fd = fd,
		.may = !gp_wire_peer(fd, &pid, &uid) && (!uid || uid == p->uid),
	};
}

/* ---- the loop ------------------------------------------------------------------------ */

static const struct timespec *time_left(const struct pauser *p, struct timespec *ts)
{
	uint64_t end_ns = wanted_until(p), at_ns = now_ns();

	if (!end_ns && !atomic_load(p->paused))
		return NULL;
	if (atomic_load(p->paused) && p->begin_ns + p->limit_ns < end_ns)
		end_ns = p->begin_ns + p->limit_ns;
	end_ns = end_ns > at_ns ? end_ns - at_ns : 0;
	*ts = (struct timespec){ (time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000) };
	return ts;
}

enum {
	FD_TARGET,
	FD_SIGNAL,
	FD_KEEPER,
	FD_LISTEN,
	FD_CONN
};

/* false: the process ended, or a signal came. */
static bool step(struct pauser *p)
{
	struct pollfd pfd[FD_CONN + CONNECTIONS] = {
		{ .fd = p->pidfd, .events = POLLIN },
		{ .fd = p->signal_fd, .events = POLLIN },
		{ .fd = p->keeper_fd, .events = POLLIN },
		{ .fd = p->listen_fd, .events = POLLIN },
	};
	const size_t conns = p->conns;
	struct timespec ts;

	for (size_t i = 0; i < conns; i++)
		pfd[FD_CONN + i] = (struct pollfd){ .fd = p->conn[i].fd, .events = POLLIN };
	if (ppoll(pfd, FD_CONN + conns, time_left(p, &ts), NULL) < 0)
		return errno == EINTR;
	for (size_t i = conns; i-- > 0;)
		if (pfd[FD_CONN + i].revents && !serve(p, &p->conn[i]))
			drop(p, i);
	(void)follow(p);
	if (pfd[FD_LISTEN].revents)
		take_connection(p);
	if (pfd[FD_KEEPER].revents) {
		waitpid(-1, NULL, WNOHANG);
		if (start_keeper(p))
			return false;
	}
	return !pfd[FD_TARGET].revents && !pfd[FD_SIGNAL].revents;
}

/* ---- start ------------------------------------------------------------------------------ */

struct card {
	const struct gp_device_id *id;
	struct hsaq *h;
	char why[GP_WHY_LEN];
};

static int check_card(const struct hsaq_device_info *info, void *arg)
{
	struct card *c = arg;

	if (info->pci_domain != c->id->pci_domain || info->pci_bus != c->id->pci_bus ||
	    info->pci_dev != c->id->pci_dev || info->pci_fn != c->id->pci_fn)
		return 0;
	if (hsaq_device_mode(c->h, info->gpu_id) == HSAQ_MODE_SCHED)
		snprintf(c->why, sizeof(c->why), "its driver has classes; leave out --pause");
	else
		(void)hsaq_can_unload_own(info, c->why, sizeof(c->why));
	return 1;
}

/* Can the card save what runs? 0, or the exit status after a message. */
static int check_device(const struct gp_device *dev)
{
	struct card c = { .id = &dev->id };
	int err;

	if (strcmp(dev->ops->name, "amd"))
		return gp_fail("attach: --pause: %s is no AMD card; leave it out", dev->id.name);
	err = hsaq_open(NULL, &c.h);
	if (err)
		return gp_fail("attach: cannot open /dev/kfd: %s", strerror(-err));
	(void)hsaq_devices(c.h, check_card, &c);
	hsaq_close(c.h);
	return c.why[0] ? gp_fail("attach: --pause: %s: %s", dev->id.name, c.why) : 0;
}

/* Keeps the devices that it uses. 0, or the exit status after a message. */
static int find_devices(struct pauser *p)
{
	struct gp_devices *gpus = &p->gpus;
	struct gp_group_list list;
	char why[GP_WHY_LEN];
	size_t kept = 0;
	int err = gp_devices_open(NULL, gpus, why, sizeof(why));

	if (err)
		return gp_fail("attach: %s", why);
	for (size_t i = 0; i < gpus->count; i++) {
		struct gp_device *dev = gpus->dev[i];

		list = (struct gp_group_list){ 0 };
		if (dev->ops->groups(dev, p->pid, &list) || !list.count) {
			gp_device_close(dev);
			continue;
		}
		p->groups += (uint32_t)list.count;
		gp_group_list_put(&list);
		gpus->dev[kept++] = dev;
	}
	gpus->count = kept;
	if (!kept)
		return gp_fail("attach: process %d has no queue on an AMD card; attach it once it "
			       "uses the GPU",
			       (int)p->pid);
	for (size_t i = 0; i < kept; i++) {
		err = check_device(gpus->dev[i]);
		if (err)
			return err;
	}
	return 0;
}

static int try_once(struct pauser *p)
{
	int err = start_pause(p);

	if (!err)
		err = resume(p->pid, p->paused);
	if (!err)
		return 0;
	return gp_fail("attach: --pause: cannot pause process %d: %s", (int)p->pid,
		       err == -EPERM ? "not permitted; run it as root, and not beside a debugger" :
		       err == -ESRCH ? "no such process" :
				       strerror(-err));
}

static int watch_signals(struct pauser *p)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &mask, NULL))
		return -errno;
	p->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return p->signal_fd < 0 ? -errno : 0;
}

static bool is_tenant(pid_t pid)
{
	GP_CLOSE int fd = gp_wire_connect(pid);

	return fd >= 0;
}

/* Pauses do not nest: one process makes them. An abstract name ends with its last holder. */
static int take_lock(struct pauser *p)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len;

	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			  (size_t)snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
					   "gpreempt-pause.%d", (int)p->pid));
	p->lock_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->lock_fd < 0 || bind(p->lock_fd, (const struct sockaddr *)&addr, len))
		return -errno;
	return 0;
}

static int open_files(struct pauser *p)
{
	char path[64];
	struct stat st;
	int err;

	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0u);
	snprintf(path, sizeof(path), "/proc/%d", (int)p->pid);
	if (p->pidfd < 0 || stat(path, &st))
		return gp_fail("attach: process %d: %s", (int)p->pid, strerror(errno));
	p->uid = st.st_uid;
	if (is_tenant(p->pid))
		return gp_fail("attach: --pause: process %d is under gpreempt run, and yields by "
			       "itself; use gpreempt set",
			       (int)p->pid);
	err = take_lock(p);
	if (err == -EADDRINUSE)
		return gp_fail("attach: --pause: process %d is paused by another attach; end that "
			       "first",
			       (int)p->pid);
	if (!err) {
		p->listen_fd = gp_wire_listen(getpid());
		err = p->listen_fd < 0 ? p->listen_fd : watch_signals(p);
	}
	if (!err)
		err = start_keeper(p);
	return err ? gp_fail("attach: process %d: %s", (int)p->pid, strerror(-err)) : 0;
}

static void report(const struct pauser *p)
{
	printf("process %d yields to latency-critical processes by pauses of at most %g ms, until "
	       "Ctrl-C\n",
	       (int)p->pid, (double)p->limit_ns / 1e6);
	for (size_t i = 0; i < p->gpus.count && p->gpus.count > 1; i++)
		printf("a pause stops it on all its GPUs: %s\n", p->gpus.dev[i]->id.name);
	fflush(stdout);
}

int gp_pause_run(pid_t pid, uint32_t weight, uint64_t limit_ns)
{
	struct pauser p = {
		.pid = pid,
		.weight = weight,
		.limit_ns = limit_ns,
		.pidfd = -1,
		.listen_fd = -1,
		.signal_fd = -1,
		.lock_fd = -1,
		.life = -1,
		.keeper_fd = -1,
	};
	int status;

	p.paused = mmap(NULL, sizeof(*p.paused), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (p.paused == MAP_FAILED)
		return gp_fail("attach: out of memory");
	status = find_devices(&p);
	if (!status)
		status = open_files(&p);
	if (!status)
		status = try_once(&p);
	if (!status)
		report(&p);
	while (!status && step(&p))
		;
	(void)resume(pid, p.paused);
	gp_devices_close(&p.gpus);
	return status;
}
