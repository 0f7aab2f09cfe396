// SPDX-License-Identifier: Apache-2.0
/*
 * thread.c - the one thread of the library: timers, and the control socket.
 *
 * It starts when it is first needed, blocks all signals, and sleeps in poll.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/queue_poll.h"
#include "client/tenant_socket.h"
#include "client/engine.h"
#include "client/predict.h"
#include "client/status_page.h"
#include "client/yield.h"
#include "hal/timer.h"
#include "runtime/log.h"

#define CONNECTIONS 96 /* of tenants that ask to yield, at most 64 (yield.c), and of others */
/* Connections and messages of other users: a burst, then one in so many ns. */
#define OTHERS_BURST 32
#define OTHERS_NS 50000000

struct conn {
	int fd;
	bool others; /* another user's */
	struct gp_tenant_socket_wait wait;
};

static struct {
	pthread_mutex_t lock; /* leaf; protects running */
	bool running;
	atomic_int wake_fd; /* -1: none */
	atomic_int listen_fd;
	/* The thread's own. */
	struct conn conn[CONNECTIONS]; /* oldest first */
	size_t conns;
	int others; /* connections and messages that other users may send now */
	uint64_t others_ns;
} thread = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake_fd = -1,
	.listen_fd = -1,
};

static void conn_drop(size_t i)
{
	gp_yield_gone(thread.conn[i].fd);
	close(thread.conn[i].fd);
	memmove(&thread.conn[i], &thread.conn[i + 1],
		(--thread.conns - i) * sizeof(thread.conn[0]));
}

static bool peer_may_change(int fd)
{
	pid_t pid;
	uid_t uid;

	if (gp_wire_peer(fd, &pid, &uid))
		return false;
	return uid == 0 || uid == geteuid();
}

/* Other users must not keep this thread busy. */
static bool others_may_send(void)
{
	const uint64_t now_ns = gp_wall_ns(), n = (now_ns - thread.others_ns) / OTHERS_NS;

	if (n >= OTHERS_BURST) {
		thread.others = OTHERS_BURST;
		thread.others_ns = now_ns;
	} else if (n) {
		thread.others += (int)n;
		thread.others_ns += n * OTHERS_NS;
	}
	if (thread.others > OTHERS_BURST)
		thread.others = OTHERS_BURST;
	return thread.others > 0;
}

/* The oldest of another user's, else the oldest. A request to yield ends with its connection. */
static size_t least_needed(void)
{
	for (size_t i = 0; i < thread.conns; i++)
		if (thread.conn[i].others)
			return i;
	return 0;
}

static void conn_accept(void)
{
	static atomic_int said;
	int fd = accept4(atomic_load(&thread.listen_fd), NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot accept a connection: %s; gpreempt ls and set may have to wait",
			    strerror(errno));
		/* It still waits: the next attempt comes a little later. */
		thread.others = 0;
		thread.others_ns = gp_wall_ns();
	}
	if (fd < 0)
		return;
	/* A peer that keeps connections open must not block others. */
	if (thread.conns == CONNECTIONS)
		conn_drop(least_needed());
	thread.conn[thread.conns++] = (struct conn){ .fd = fd, .others = !peer_may_change(fd) };
	thread.others -= thread.conn[thread.conns - 1].others;
}

/* A request that lasts as long as its connection; false: another kind. */
static bool serve_yield(int fd, const unsigned char *bytes, size_t len, union gp_wire_msg *reply)
{
	union gp_wire_msg msg = { 0 };

	if (len != sizeof(msg.yield))
		return false;
	memcpy(&msg, bytes, len);
	if (gp_wire_check(&msg, len) || msg.head.type != GP_WIRE_YIELD)
		return false;
	gp_wire_init(reply, GP_WIRE_RESULT);
	reply->head.result = gp_yield_serve(fd, &msg.yield, peer_may_change(fd));
	return true;
}

static int conn_reply(const struct conn *conn, const union gp_wire_msg *reply)
{
	ssize_t n = send(conn->fd, reply, reply->head.size, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? -1 : 0;
}

/* 0, or -1: the peer is done. */
static int conn_serve(struct conn *conn)
{
	union gp_wire_msg reply;
	/* One byte more, so that a message that is too long is detected. */
	unsigned char bytes[sizeof(reply) + 1];
	ssize_t n = recv(conn->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		return -1;
	thread.others -= conn->others;
	if (!serve_yield(conn->fd, bytes, (size_t)n, &reply))
		gp_tenant_socket_handle(bytes, (size_t)n, peer_may_change(conn->fd), &reply,
					&conn->wait);
	return conn->wait.count ? 0 : conn_reply(conn, &reply);
}

/* No further request is read while the daemon's answer is pending. */
static int conn_wait(struct conn *conn, short revents)
{
	union gp_wire_msg reply;

	if (revents & (POLLHUP | POLLERR))
		return -1;
	return gp_tenant_socket_answered(&conn->wait, &reply) ? conn_reply(conn, &reply) : 0;
}

static bool is_read(const struct conn *conn, bool others)
{
	return !conn->wait.count && (others || !conn->others);
}

static int conn_step(struct conn *conn, short revents, bool others)
{
	if (conn->wait.count)
		return conn_wait(conn, revents);
	if (!is_read(conn, others))
		return revents ? -1 : 0;
	return revents ? conn_serve(conn) : 0;
}

static void drain_wake(void)
{
	uint64_t n;

	while (read(atomic_load(&thread.wake_fd), &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

static int sooner(int a_ms, int b_ms)
{
	return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* @wait_ms, or less if queues are polled; NULL: for ever. */
static struct timespec *wait_time(struct gp_client_device *const *dev, size_t devs, int wait_ms,
				  struct timespec *ts)
{
	uint64_t wait_ns = wait_ms < 0 ? UINT64_MAX : (uint64_t)wait_ms * 1000000;

	for (size_t i = 0; i < devs; i++) {
		uint64_t look_ns = gp_queue_poll_period_ns(dev[i]);

		if (look_ns && look_ns < wait_ns)
			wait_ns = look_ns;
	}
	*ts = (struct timespec){
		.tv_sec = (time_t)(wait_ns / 1000000000),
		.tv_nsec = (long)(wait_ns % 1000000000),
	};
	return wait_ns == UINT64_MAX ? NULL : ts;
}

/* Timers first, because they are urgent. */
static void serve_once(void)
{
	struct pollfd pfd[3 * GP_HAL_MAX_DEVICES + 2 + CONNECTIONS];
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t devs = gp_engine_devices(dev, GP_HAL_MAX_DEVICES), n = 0;
	size_t wake, first_conn, conns = thread.conns;
	struct timespec ts;
	bool others = others_may_send();
	int wait_ms = others ? -1 : OTHERS_NS / 1000000;

	for (size_t i = 0; i < devs; i++)
		pfd[n++] = (struct pollfd){ atomic_load(&dev[i]->timer_fd), POLLIN, 0 };
	for (size_t i = 0; i < devs; i++) {
		int ms = gp_predict_wait_ms(dev[i]);

		pfd[n++] = (struct pollfd){ gp_predict_fd(dev[i]), POLLIN, 0 };
		wait_ms = sooner(wait_ms, ms);
	}
	for (size_t i = 0; i < devs; i++) {
		pfd[n++] = (struct pollfd){ gp_daemon_link_fd(dev[i]), POLLIN, 0 };
		wait_ms = sooner(wait_ms, gp_daemon_link_wait_ms(dev[i]));
		wait_ms = sooner(wait_ms, gp_status_page_wait_ms(dev[i]));
		wait_ms = sooner(wait_ms, gp_client_device_rearm_wait_ms(dev[i]));
		wait_ms = sooner(wait_ms, gp_slot_wait_ms(dev[i]));
	}
	wait_ms = sooner(wait_ms, gp_yield_wait_ms());
	wake = n;
	pfd[n++] = (struct pollfd){ atomic_load(&thread.wake_fd), POLLIN, 0 };
	pfd[n++] = (struct pollfd){ others ? atomic_load(&thread.listen_fd) : -1, POLLIN, 0 };
	first_conn = n;
	for (size_t i = 0; i < conns; i++)
		pfd[n++] = (struct pollfd){ thread.conn[i].fd,
					    is_read(&thread.conn[i], others) ? POLLIN : 0, 0 };
	if (ppoll(pfd, n, wait_time(dev, devs, wait_ms, &ts), NULL) < 0)
		return;
	/* Notice work before its hint may lapse. */
	for (size_t i = 0; i < devs; i++)
		gp_queue_poll_serve(dev[i]);
	for (size_t i = 0; i < devs; i++)
		if (pfd[i].revents)
			gp_client_device_timer(dev[i]);
	for (size_t i = 0; i < devs; i++)
		gp_client_device_rearm(dev[i]);
	for (size_t i = 0; i < devs; i++)
		gp_predict_serve(dev[i], pfd[devs + i].revents);
	gp_yield_expire();
	if (pfd[wake].revents)
		drain_wake();
	gp_engine_serve_context();
	for (size_t i = 0; i < devs; i++)
		gp_daemon_link_serve(dev[i], pfd[2 * devs + i].revents);
	for (size_t i = 0; i < devs; i++)
		gp_status_page_serve(dev[i]);
	for (size_t i = 0; i < devs; i++)
		gp_slot_serve(dev[i]);
	for (size_t i = conns; i-- > 0;)
		if (conn_step(&thread.conn[i], pfd[first_conn + i].revents, others))
			conn_drop(i);
	if (pfd[wake + 1].revents)
		conn_accept();
}

static void *thread_main(void *arg)
{
	/* The default of 50 us would delay every hint. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	prctl(PR_SET_NAME, "gpreempt");
	for (;;)
		serve_once();
	return NULL;
}

static int start_locked(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t id;
	int fd, err;

	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	atomic_store(&thread.wake_fd, fd);
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&id, &attr, thread_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err) {
		atomic_store(&thread.wake_fd, -1);
		close(fd);
	}
	return err;
}

static void listen_locked(void)
{
	static atomic_int said;
	int fd;

	if (atomic_load(&thread.listen_fd) >= 0)
		return;
	fd = gp_wire_listen(getpid());
	if (fd < 0)
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot create the control socket: %s; gpreempt ls does not show this "
			    "process",
			    strerror(-fd));
	else
		atomic_store(&thread.listen_fd, fd);
}

int gp_thread_start(bool listen)
{
	static atomic_int said;
	int err = 0;

	pthread_mutex_lock(&thread.lock);
	if (listen)
		listen_locked();
	if (!thread.running) {
		err = start_locked();
		thread.running = !err;
	}
	pthread_mutex_unlock(&thread.lock);
	if (err)
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot start the library thread: %s; hints have no effect",
			    strerror(-err));
	else if (listen)
		gp_thread_wake();
	return err;
}

void gp_thread_wake(void)
{
	uint64_t one = 1;
	int fd = atomic_load(&thread.wake_fd);

	/* Full means that it is awake already. */
	while (fd >= 0 && write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void gp_thread_forget(void)
{
	int fd = atomic_exchange(&thread.listen_fd, -1);

	if (fd >= 0)
		close(fd);
	fd = atomic_exchange(&thread.wake_fd, -1);
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < thread.conns; i++)
		close(thread.conn[i].fd);
	thread.conns = 0;
}
