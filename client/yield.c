// SPDX-License-Identifier: Apache-2.0
#include "client/yield.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hal/timer.h"
#include "runtime/log.h"

#define PEERS 64
#define WISHES 32
#define SCAN_NS 50000000u   /* delay until new tenants are discovered */
#define ANSWER_NS 20000000u /* longest wait for a stopped tenant */
#define LIMIT_MAX_NS 1000000000u
#define BUSY_REST_NS 1000000000u /* after another user's tenant had no time left .. */
#define RESUME_AGAIN_NS 10000000u
#define MUTE_REST_NS 100000000u /* .. or did not answer */
/*
 * Other users' time: a burst, and a part of all time. In any 10 s that is 0.8 s at most. A
 * request that ends at once takes time, too.
 */
#define OTHERS_BURST_NS 400000000
#define OTHERS_PART 25
#define OTHERS_LEAST_NS 5000000

bool gp_yields(const struct gp_client_device *dev)
{
	return (dev->caps.caps & GP_CAP_SUSPEND_OWN) && !(dev->caps.caps & GP_CAP_HOLD);
}

/* The driver's own hold of all processes makes it needless. */
static bool can_yield(const struct gp_client_device *dev)
{
	const uint32_t hold = GP_CAP_HOLD | GP_CAP_HOLD_OUTSIDE;

	return (dev->caps.caps & (GP_CAP_SUSPEND_OWN | GP_CAP_SUSPEND)) &&
	       (dev->caps.caps & hold) != hold;
}

/* ---- requests ----------------------------------------------------------------- */

struct peer {
	pid_t pid;
	int fd;
	bool asked;	  /* the last message's answer is waited for */
	unsigned int due; /* answers that come, in order of the messages */
	bool others;	  /* it belongs to another user */
	uint64_t rest_ns; /* until then it is not asked */
};

static bool is_others(int fd)
{
	pid_t pid;
	uid_t uid;

	return gp_wire_peer(fd, &pid, &uid) || uid != geteuid();
}

static struct {
	pthread_mutex_t lock; /* leaf, below gp_client_device.lock */
	struct peer peer[PEERS];
	size_t count;
	uint64_t scanned_ns;
} asking = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void drop(size_t i)
{
	close(asking.peer[i].fd);
	asking.peer[i] = asking.peer[--asking.count];
}

static bool known(pid_t pid)
{
	for (size_t i = 0; i < asking.count; i++)
		if (asking.peer[i].pid == pid)
			return true;
	return false;
}

static void scan(void)
{
	pid_t pid[PEERS];
	ssize_t n;

	if (gp_wall_ns() - asking.scanned_ns < SCAN_NS)
		return;
	n = gp_wire_tenants(pid, PEERS);
	for (ssize_t i = 0; i < n && asking.count < PEERS; i++) {
		int fd;

		if (pid[i] == getpid() || known(pid[i]))
			continue;
		fd = gp_wire_connect(pid[i]);
		if (fd >= 0)
			asking.peer[asking.count++] = (struct peer){
				.pid = pid[i],
				.fd = fd,
				.others = is_others(fd),
			};
	}
	asking.scanned_ns = gp_wall_ns();
}

/* The end of a request is answered, too, and perhaps only after the next one was sent. */
static void tell(const union gp_wire_msg *msg)
{
	union gp_wire_msg late;

	for (size_t i = asking.count; i-- > 0;) {
		struct peer *p = &asking.peer[i];

		p->asked = false;
		if (msg->yield.on && p->rest_ns > gp_wall_ns())
			continue;
		while (recv(p->fd, &late, sizeof(late), MSG_DONTWAIT) > 0)
			p->due--;
		p->asked = send(p->fd, msg, msg->head.size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
		p->due += p->asked;
		if (!p->asked && errno != EAGAIN)
			drop(i);
	}
}

/* 1: answered, or gone; 0: not yet. */
static int take_answer(size_t i)
{
	static atomic_int said;
	union gp_wire_msg reply;
	struct peer *p = &asking.peer[i];
	ssize_t n = recv(p->fd, &reply, sizeof(reply), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		drop(i);
		return 1;
	}
	if (--p->due)
		return 0; /* an earlier message's */
	p->asked = false;
	if (!gp_wire_check(&reply, (size_t)n) && reply.head.result == -EBUSY)
		p->rest_ns = gp_wall_ns() + BUSY_REST_NS;
	if (gp_wire_check(&reply, (size_t)n) || reply.head.result)
		gp_log_once(&said, GP_LOG_WARN, "cannot unload the queues of process %d: %s",
			    (int)p->pid,
			    reply.head.result == -EPERM ? "it belongs to another user" :
			    reply.head.result == -EBUSY ? "it yields to other users for 10 % of "
							  "the time at most" :
							  "its driver refused");
	return 1;
}

static size_t due(struct pollfd *pfd)
{
	size_t n = 0;

	for (size_t i = 0; i < asking.count; i++) {
		pfd[i] =
			(struct pollfd){ asking.peer[i].asked ? asking.peer[i].fd : -1, POLLIN, 0 };
		n += asking.peer[i].asked;
	}
	return n;
}

/* Another user's tenant reads few of our messages: do not wait for it each time. */
static void let_rest(void)
{
	for (size_t i = 0; i < asking.count; i++)
		if (asking.peer[i].asked && asking.peer[i].others)
			asking.peer[i].rest_ns = gp_wall_ns() + MUTE_REST_NS;
}

static void wait_for_answers(void)
{
	uint64_t end_ns = gp_wall_ns() + ANSWER_NS;
	struct pollfd pfd[PEERS];

	while (due(pfd)) {
		uint64_t now_ns = gp_wall_ns();
		int ms = now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) + 1 : 0;

		if (poll(pfd, asking.count, ms) <= 0 && now_ns >= end_ns) {
			let_rest();
			return;
		}
		for (size_t i = asking.count; i-- > 0;)
			if (asking.peer[i].asked)
				take_answer(i);
	}
}

enum wish {
	WISH_END,
	WISH_TELL,
	WISH_WAIT
};

static void wish(struct gp_client_device *dev, enum wish what, uint32_t level, uint64_t limit_ns)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_YIELD);
	msg.yield.on = what != WISH_END;
	msg.yield.level = level;
	msg.yield.limit_ns = limit_ns < LIMIT_MAX_NS ? limit_ns : LIMIT_MAX_NS;
	memcpy(msg.yield.uuid, dev->hal->id.uuid, sizeof(msg.yield.uuid));
	pthread_mutex_lock(&asking.lock);
	if (what != WISH_END)
		scan();
	tell(&msg);
	if (what == WISH_WAIT)
		wait_for_answers();
	pthread_mutex_unlock(&asking.lock);
}

int gp_yield_ask(struct gp_client_device *dev, uint32_t level, uint64_t limit_ns)
{
	wish(dev, WISH_WAIT, level, limit_ns);
	return 0;
}

void gp_yield_tell(struct gp_client_device *dev, uint32_t level, uint64_t limit_ns)
{
	wish(dev, WISH_TELL, level, limit_ns);
}

void gp_yield_release(struct gp_client_device *dev)
{
	/* No caller waits for its end. */
	wish(dev, WISH_END, 0, 0);
}

void gp_yield_forget(void)
{
	for (size_t i = 0; i < asking.count; i++)
		close(asking.peer[i].fd);
	asking.count = 0;
	pthread_mutex_init(&asking.lock, NULL);
}

/* ---- being asked --------------------------------------------------------------- */

/* One connection's request for one device. */
struct wanted {
	int fd;
	struct gp_client_device *dev; /* NULL: free */
	uint64_t until_ns;
	bool others; /* of another user */
};

static struct wanted wanted[WISHES];

static bool is_wanted(const struct gp_client_device *dev)
{
	for (size_t i = 0; i < WISHES; i++)
		if (wanted[i].dev == dev)
			return true;
	return false;
}

static bool is_wanted_by_others(const struct gp_client_device *dev)
{
	for (size_t i = 0; i < WISHES; i++)
		if (wanted[i].dev == dev && wanted[i].others)
			return true;
	return false;
}

/* Before other users' requests for @dev change. */
static void account(struct gp_client_device *dev)
{
	const uint64_t now_ns = gp_wall_ns();
	const int64_t passed_ns = (int64_t)(now_ns - dev->yield_at_ns);

	if (!dev->yield_at_ns || passed_ns / OTHERS_PART > OTHERS_BURST_NS - dev->yield_ns)
		dev->yield_ns = OTHERS_BURST_NS;
	else
		dev->yield_ns += passed_ns / OTHERS_PART;
	if (dev->yield_at_ns && is_wanted_by_others(dev))
		dev->yield_ns -= passed_ns;
	dev->yield_at_ns = now_ns;
}

/* The time that another user's new request may last; 0: none is left. */
static uint64_t time_for_others(struct gp_client_device *dev, bool is_new)
{
	account(dev);
	if (is_new)
		dev->yield_ns -= OTHERS_LEAST_NS;
	return dev->yield_ns > 0 ? (uint64_t)dev->yield_ns : 0;
}

static void end_wish(struct wanted *w)
{
	account(w->dev);
	w->dev = NULL;
}

/* Suspends or resumes all our groups; later groups follow. A failed resume is repeated. */
static int follow(struct gp_client_device *dev)
{
	struct gp_group *group[GP_SCHED_MAX_GROUPS];
	struct gp_runtime_group *g = NULL;
	bool off = is_wanted(dev);
	size_t n = 0;
	int err = 0;

	gp_runtime_lock(dev->rt);
	if (off != dev->yielded) {
		while ((g = gp_runtime_next(dev->rt, dev, g)))
			group[n++] = g->hal;
		err = dev->stopped ? 0 :
		      off	   ? dev->ops.suspend(group, n) :
				     dev->ops.resume(group, n);
		dev->yielded = off == !err;
	}
	gp_runtime_unlock(dev->rt);
	return err;
}

static struct gp_client_device *device_of(const uint8_t uuid[16])
{
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);

	for (size_t i = 0; i < n; i++)
		if (!memcmp(dev[i]->hal->id.uuid, uuid, 16))
			return dev[i];
	return NULL;
}

/* As the driver would decide: BE, and less urgent LC. */
static bool gives_way(struct gp_client_device *dev, uint32_t level)
{
	struct gp_class_value cls;
	bool managed;

	pthread_mutex_lock(&dev->lock);
	cls = dev->cls;
	managed = gp_runtime_is_managed(dev->rt) && dev->caps.caps & GP_CAP_SUSPEND;
	gp_client_device_unlock(dev);
	return !managed && (cls.cls != GP_CLASS_LC || cls.value > level);
}

static struct wanted *place(int fd, const struct gp_client_device *dev)
{
	struct wanted *empty = NULL;

	for (size_t i = 0; i < WISHES; i++) {
		if (wanted[i].dev == dev && wanted[i].fd == fd)
			return &wanted[i];
		if (!wanted[i].dev && !empty)
			empty = &wanted[i];
	}
	return empty;
}

int gp_yield_serve(int fd, const struct gp_wire_yield *msg, bool own)
{
	struct gp_client_device *dev = device_of(msg->uuid);
	uint64_t limit_ns = msg->limit_ns, most_ns;
	struct wanted *w;
	int err;

	/* A process that does not use the device has nothing to suspend. */
	if (!dev)
		return 0;
	if (!can_yield(dev))
		return -EOPNOTSUPP;
	if (!own && !(dev->caps.caps & GP_CAP_HOLD))
		return -EPERM;
	w = place(fd, dev);
	if (msg->on && gives_way(dev, msg->level)) {
		if (!w)
			return -ENOSPC;
		if (limit_ns > LIMIT_MAX_NS)
			return -ERANGE;
		most_ns = own ? limit_ns : time_for_others(dev, !w->dev);
		if (!most_ns && limit_ns)
			return -EBUSY;
		limit_ns = limit_ns < most_ns ? limit_ns : most_ns;
		*w = (struct wanted){ fd, dev, gp_wall_ns() + limit_ns, !own };
	} else if (w && w->dev) {
		end_wish(w);
	}
	err = follow(dev);
	if (err && w && w->dev)
		end_wish(w);
	return err;
}

void gp_yield_gone(int fd)
{
	for (size_t i = 0; i < WISHES; i++) {
		struct gp_client_device *dev = wanted[i].dev;

		if (!dev || wanted[i].fd != fd)
			continue;
		end_wish(&wanted[i]);
		(void)follow(dev);
	}
}

void gp_yield_drop(struct gp_client_device *dev)
{
	for (size_t i = 0; i < WISHES; i++)
		if (wanted[i].dev == dev)
			end_wish(&wanted[i]);
	(void)follow(dev);
}

/* Is a resume of @dev due that failed before? */
static bool is_stuck(const struct gp_client_device *dev)
{
	return dev->yielded && !is_wanted(dev);
}

static uint64_t next_resume_ns(void)
{
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);

	for (size_t i = 0; i < n; i++)
		if (is_stuck(dev[i]))
			return gp_wall_ns() + RESUME_AGAIN_NS;
	return UINT64_MAX;
}

static void resume_again(void)
{
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);

	for (size_t i = 0; i < n; i++)
		if (is_stuck(dev[i]))
			(void)follow(dev[i]);
}

int gp_yield_wait_ms(void)
{
	uint64_t next_ns = next_resume_ns(), now_ns = 0;

	for (size_t i = 0; i < WISHES; i++)
		if (wanted[i].dev && wanted[i].until_ns < next_ns)
			next_ns = wanted[i].until_ns;
	if (next_ns == UINT64_MAX)
		return -1;
	now_ns = gp_wall_ns();
	return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns + 999999) / 1000000);
}

void gp_yield_expire(void)
{
	resume_again();
	for (size_t i = 0; i < WISHES; i++) {
		struct gp_client_device *dev = wanted[i].dev;

		if (!dev || wanted[i].until_ns > gp_wall_ns())
			continue;
		end_wish(&wanted[i]);
		(void)follow(dev);
	}
}
