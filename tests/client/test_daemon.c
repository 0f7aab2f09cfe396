// SPDX-License-Identifier: Apache-2.0
/*
 * The library as a tenant, over a HAL that only records. The daemon is the test
 * itself: it listens, and reads and writes the tenant's connection by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/engine.h"
#include "gpreempt/gpreempt.h"
#include "hal/timer.h"
#include "tests/client/fake_hal.h"
#include "tests/common/gp_test.h"
#include "wire/page.h"
#include "wire/wire.h"

#define MS 1000000u
#define KEY 0xc1d00010u /* of the first control file */
#define LONG_MS 10000	/* longer than anything takes */
#define QUIET_MS 100	/* an event that has not come by then will not come */

/* ---- a HAL -------------------------------------------------------------------- */

#define GROUPS 4

/* Records of the test's own part of the HAL, under fake's lock. */
static struct {
	int resumes, resume_error, slice_is_default;
	uint64_t slice_us[GROUPS + 1];
	int files;    /* number of control files; -1: untracked */
	int busy;     /* of its queues, or negative errno */
	bool has_log; /* may be read */
} more;

static int fake_set_slice(struct gp_group *g, uint64_t us)
{
	fake_lock();
	more.slice_us[g->id] = us;
	fake.sets++;
	fake_unlock();
	return 0;
}

static int fake_resume(struct gp_group *const *g, size_t n)
{
	int err;

	fake_lock();
	err = more.resume_error;
	more.resume_error = 0;
	more.slice_is_default = more.slice_us[g[0]->id] == FAKE_DEFAULT_US;
	more.resumes += !err;
	fake_unlock();
	return err;
}

static int fake_timer_arm(struct gp_timer *t, uint64_t at)
{
	return 0;
}
static int fake_timer_ack(struct gp_timer *t)
{
	return -EAGAIN;
}
static int fake_timer_done(struct gp_timer *t)
{
	return 0;
}

/* Each has its own key. */
static ssize_t fake_control_files(struct gp_device *d, int *fd, uint32_t *key, size_t max)
{
	int n;

	fake_lock();
	n = more.files;
	fake_unlock();
	if (n < 0)
		return -ENOENT;
	for (int i = 0; i < n; i++) {
		fd[i] = memfd_create("control", MFD_CLOEXEC);
		assert_true(fd[i] >= 0);
		assert_int_equal(pwrite(fd[i], &i, sizeof(i), 0), sizeof(i));
		key[i] = KEY + (uint32_t)i;
	}
	return n;
}

static int fake_busy(struct gp_group *group)
{
	int busy;

	fake_lock();
	busy = more.busy;
	fake_unlock();
	return busy;
}

/* A log without switches. */
struct gp_log {
	struct gp_device *dev;
};

static int fake_log_open(struct gp_device *d, struct gp_log **log)
{
	static struct gp_log empty;
	bool may;

	fake_lock();
	may = more.has_log;
	fake_unlock();
	empty.dev = d;
	*log = &empty;
	return may ? 0 : -EACCES;
}

static int fake_log_now(struct gp_log *log, uint64_t *ns)
{
	return fake_now(log->dev, ns);
}

static void fake_log_close(struct gp_log *log)
{
}

static ssize_t fake_log_read(struct gp_log *log, struct gp_switch_record *rec, size_t max)
{
	return 0;
}

static const struct gp_hal_ops some = {
	FAKE_HAL,
	.busy = fake_busy,
	.control_files = fake_control_files,
	.log_close = fake_log_close,
	.log_now = fake_log_now,
	.log_open = fake_log_open,
	.log_read = fake_log_read,
	.resume = fake_resume,
	.set_slice = fake_set_slice,
	.timer_ack = fake_timer_ack,
	.timer_arm = fake_timer_arm,
	.timer_done = fake_timer_done,
};

static uint64_t slice(uint32_t group)
{
	uint64_t us;

	fake_lock();
	us = more.slice_us[group];
	fake_unlock();
	return us;
}

/* ---- counters ---------------------------------------------------------------- */

static atomic_int sends;

/*
 * Counts requests. An answer to another process's gpreempt ls may come at any time; that on memory
 * has the type of its request.
 */
static void count(const void *msg, size_t len)
{
	struct gp_wire_head head;

	assert_true(len >= sizeof(head));
	memcpy(&head, msg, sizeof(head));
	if (head.type < GP_WIRE_STATUS && head.type != GP_WIRE_MEMORY)
		atomic_fetch_add(&sends, 1);
}

ssize_t __real_send(int fd, const void *buf, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	count(buf, len);
	return __real_send(fd, buf, len, flags);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	count(msg->msg_iov->iov_base, msg->msg_iov->iov_len);
	return __real_sendmsg(fd, msg, flags);
}

static atomic_int warnings;
static char warning[256]; /* the last one; read while none can come */

static void log_line(enum gp_log_level level, const char *message, void *arg)
{
	if (level > GP_LOG_WARN)
		return;
	fake_lock();
	snprintf(warning, sizeof(warning), "%s", message);
	fake_unlock();
	atomic_fetch_add(&warnings, 1);
}

static void warned(int count, const char *of)
{
	char last[sizeof(warning)];

	assert_int_equal(atomic_load(&warnings), count);
	fake_lock();
	memcpy(last, warning, sizeof(last));
	fake_unlock();
	assert_non_null(strstr(last, of));
}

#define soon(condition)                                                       \
	do {                                                                  \
		const uint64_t end_ns_ = gp_wall_ns() + LONG_MS * 1000000ull; \
		while (!(condition) && gp_wall_ns() < end_ns_)                \
			usleep(1000);                                         \
		assert_true(condition);                                       \
	} while (0)

/* ---- a daemon ------------------------------------------------------------------- */

static char path[GP_WIRE_PATH_LEN];
static int listener = -1;

static void daemon_unlisten(void)
{
	close(listener);
	listener = -1;
	unlink(path);
}

static void daemon_listen(void)
{
	/* From a test that failed. */
	if (listener >= 0)
		daemon_unlisten();
	listener = gp_wire_daemon_listen(path);
	assert_true(listener >= 0);
}

static bool readable(int fd, int ms)
{
	struct pollfd pfd = { fd, POLLIN, 0 };

	return poll(&pfd, 1, ms) == 1;
}

/* Receives a message of @type, with files; NULL: the connection's end. */
static void hear(int conn, uint16_t type, union gp_wire_msg *msg, int *file, size_t *n)
{
	ssize_t len;

	assert_true(readable(conn, LONG_MS));
	len = gp_wire_recv(conn, msg, file, n);
	assert_true(len > 0);
	assert_int_equal(gp_wire_check(msg, (size_t)len), 0);
	assert_int_equal(msg->head.type, type);
}

static int greet(union gp_wire_msg *hello)
{
	int conn, file[GP_WIRE_MAX_FILES];
	size_t n = 0;

	assert_true(readable(listener, LONG_MS));
	conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(conn >= 0);
	hear(conn, GP_WIRE_HELLO, hello, file, &n);
	while (n)
		close(file[--n]);
	return conn;
}

struct given {
	struct gp_page *page;
	int wake;
};

/* @seals: of the page's file. */
static void give_page(int conn, union gp_wire_msg *msg, int seals, struct given *g)
{
	int file[2] = { memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING),
			eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };

	assert_true(file[0] >= 0 && file[1] >= 0);
	assert_int_equal(ftruncate(file[0], GP_PAGE_BYTES), 0);
	assert_int_equal(fcntl(file[0], F_ADD_SEALS, seals), 0);
	g->page = mmap(NULL, GP_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file[0], 0);
	assert_true(g->page != MAP_FAILED);
	g->page->magic = GP_PAGE_MAGIC;
	g->page->version = GP_PAGE_VERSION;
	g->page->bytes = GP_PAGE_BYTES;
	g->wake = file[1];
	assert_int_equal(gp_wire_send(conn, msg, file, 2), 0);
	close(file[0]);
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static void make_welcome(union gp_wire_msg *msg, uint16_t type, uint32_t cls, uint32_t value)
{
	gp_wire_init(msg, type);
	msg->welcome.daemon_pid = getpid();
	msg->welcome.request.cls = cls;
	msg->welcome.request.value = value;
	snprintf(msg->welcome.why, sizeof(msg->welcome.why), "rule 3");
}

static void answer(int conn, int32_t result, const char *text)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_SAID);
	msg.head.result = result;
	snprintf(msg.said.text, sizeof(msg.said.text), "%s", text);
	assert_int_equal(gp_wire_send(conn, &msg, NULL, 0), 0);
}

static void ungive(struct given *g)
{
	munmap(g->page, GP_PAGE_BYTES);
	close(g->wake);
}

static uint64_t wakes(const struct given *g)
{
	uint64_t n = 0;

	return read(g->wake, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

/* ---- a tenant ------------------------------------------------------------------- */

struct rig {
	struct gp_client_device *dev;
	struct gp_group group[GROUPS]; /* ids from 1 on */
	int conn;
	struct given given;
};

static const char *watch_sync(void)
{
	return NULL;
}

/*
 * A new device while there is room for one, with counters at 0. @request: NULL: as the process
 * was started.
 */
static struct gp_client_device *new_device(const struct gp_class_request *request)
{
	static uint8_t number;
	struct gp_device_id id = { .name = "fake" };
	struct gp_client_device *dev;

	number += number < GP_HAL_MAX_DEVICES;
	id.uuid[0] = number;
	assert_int_equal(gp_engine_device(&fake_ops, &id, &dev), 0);
	if (request)
		assert_int_equal(gp_client_device_apply_class(dev, &request->cls, request), 0);
	return dev;
}

static void rig_make(struct rig *r, const struct gp_class_request *request)
{
	*r = (struct rig){ .conn = -1 };
	fake_lock();
	fake.holds = fake.releases = more.resumes = fake.sets = 0;
	more.resume_error = 0;
	more.files = 2;
	for (size_t i = 0; i <= GROUPS; i++)
		more.slice_us[i] = FAKE_DEFAULT_US;
	fake_unlock();
	atomic_store(&warnings, 0);
	r->dev = new_device(request);
	for (uint32_t i = 0; i < GROUPS; i++)
		r->group[i] = (struct gp_group){ .dev = r->dev->hal,
						 .kind = GP_GROUP_COMPUTE,
						 .id = i + 1 };
	assert_int_equal(gp_thread_start(false), 0);
}

static void group_add(struct rig *r, int i)
{
	assert_int_equal(gp_client_device_group_add(r->dev, &r->group[i]), 0);
}

/* Its groups end, then its connection: the daemon misses none. */
static void rig_end(struct rig *r)
{
	for (int i = 0; i < GROUPS; i++)
		gp_engine_group_gone(&r->group[i]);
	soon(!gp_client_device_group_count(r->dev));
	if (r->conn >= 0) {
		close(r->conn);
		ungive(&r->given);
	}
	soon(!gp_daemon_link_manages(r->dev));
	if (listener >= 0)
		daemon_unlisten();
}

static struct gp_class_request be(uint32_t weight)
{
	return (struct gp_class_request){ .cls = { GP_CLASS_BE, weight } };
}

static struct gp_class_request lc(uint32_t level)
{
	return (struct gp_class_request){ .cls = { GP_CLASS_LC, level } };
}

static bool has_class(struct gp_client_device *dev, uint32_t cls, uint32_t value)
{
	struct gp_class_value v = gp_client_device_class(dev);

	return v.cls == cls && v.value == value;
}

static bool has_page(struct gp_client_device *dev)
{
	bool has;

	pthread_mutex_lock(&dev->lock);
	has = dev->status_page.page != NULL;
	gp_client_device_unlock(dev);
	return has;
}

/* A tenant with one group, welcomed with its requested class. */
static void rig_welcome(struct rig *r, const struct gp_class_request *request)
{
	union gp_wire_msg msg;

	daemon_listen();
	rig_make(r, request);
	group_add(r, 0);
	r->conn = greet(&msg);
	make_welcome(&msg, GP_WIRE_WELCOME, request->cls.cls, request->cls.value);
	give_page(r->conn, &msg, SEALS, &r->given);
	soon(has_page(r->dev) && has_class(r->dev, request->cls.cls, request->cls.value));
}

static struct gp_ectx *context(struct gp_client_device *dev)
{
	static uintptr_t name = 0x1000;
	struct gp_ectx *c;

	name += 16;
	assert_int_equal(gp_client_device_context(dev, (void *)name, &c), 0);
	return c;
}

static void event(struct gp_client_device *dev, const struct gp_ectx *c, uint32_t type, uint64_t ns)
{
	struct gp_event ev = { .type = type, .tenant = c->tenant };

	if (type == GP_EV_HINT)
		ev.hint.at_ns = ns;
	else if (type == GP_EV_HOLD)
		ev.hold.limit_ns = ns;
	assert_int_equal(gp_client_device_event(dev, &ev), 0);
}

static bool slot_is_free(struct gp_client_device *dev)
{
	int fd, err = gp_slot_try(dev->hal, &fd);

	if (!err)
		close(fd);
	return !err;
}

/* ---- without ------------------------------------------------------------------- */

static void nobody_there(void **state)
{
	struct gp_class_request want = be(7);
	const struct gp_class_value other = { GP_CLASS_BE, 9 };
	struct rig r;

	rig_make(&r, &want);
	group_add(&r, 0);
	assert_int_equal(slice(1), 1);
	assert_false(slot_is_free(r.dev));
	usleep(QUIET_MS * 1000);
	assert_false(gp_daemon_link_manages(r.dev));
	assert_int_equal(gp_client_device_set_class(r.dev, &other), 0);
	assert_int_equal(slice(1), 1);
	assert_int_equal(atomic_load(&warnings), 0);
	rig_end(&r);
}

/* The daemon has the short slice for all, so there is no warning. */
static void daemon_has_the_slot(void **state)
{
	struct gp_class_request want = be(7);
	union gp_wire_msg msg;
	struct rig r;
	int slot;

	daemon_listen();
	rig_make(&r, &want);
	assert_int_equal(gp_slot_try(r.dev->hal, &slot), 0);
	group_add(&r, 0);
	r.conn = greet(&msg);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 7);
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_page(r.dev));
	assert_int_equal(atomic_load(&warnings), 0);
	close(slot);
	rig_end(&r);
}

/* A process may get the short slice because its holder released it for a daemon. */
static void slot_comes_for_a_reason(void **state)
{
	struct gp_class_request want = be(7);
	union gp_wire_msg msg;
	struct rig r;
	int slot;

	rig_make(&r, &want);
	/* The test before gives it back in the library's thread. */
	soon(slot_is_free(r.dev));
	assert_int_equal(gp_slot_try(r.dev->hal, &slot), 0);
	group_add(&r, 0);
	soon(atomic_load(&warnings));
	warned(1, "another best-effort process has the short timeslice");
	daemon_listen();
	close(slot);
	r.conn = greet(&msg);
	assert_int_equal(slice(1), FAKE_DEFAULT_US);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 7);
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_page(r.dev));
	assert_true(slot_is_free(r.dev));
	rig_end(&r);
}

/* ---- joining -------------------------------------------------------------------- */

static void hello_says_all(void **state)
{
	int file[GP_WIRE_MAX_FILES], which, sets;
	union gp_wire_msg msg;
	struct rig r;
	size_t n;

	daemon_listen();
	rig_make(&r, NULL);
	group_add(&r, 0);
	assert_true(readable(listener, LONG_MS));
	r.conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	hear(r.conn, GP_WIRE_HELLO, &msg, file, &n);
	assert_memory_equal(msg.hello.uuid, r.dev->hal->id.uuid, 16);
	assert_int_equal(msg.hello.flags, GP_WIRE_ASKS);
	assert_int_equal(msg.hello.request.cls, GP_CLASS_BE);
	assert_int_equal(msg.hello.request.value, 7);
	assert_int_equal(msg.hello.request.cap_pct, 30);
	assert_int_equal(n, 2);
	assert_int_equal(msg.hello.key[2], 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(msg.hello.key[i], KEY + (uint32_t)i);
		assert_int_equal(pread(file[i], &which, sizeof(which), 0), sizeof(which));
		assert_int_equal(which, i);
		close(file[i]);
	}
	/* Slices are the daemon's from here on: its settings remain. */
	assert_int_equal(slice(1), FAKE_DEFAULT_US);
	assert_true(slot_is_free(r.dev));
	sets = fake_get(&fake.sets);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 50);
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_class(r.dev, GP_CLASS_BE, 50));
	group_add(&r, 1);
	hear(r.conn, GP_WIRE_FILES, &msg, file, &n);
	assert_int_equal(msg.files.key[n - 1], KEY + (uint32_t)n - 1);
	while (n)
		close(file[--n]);
	assert_int_equal(fake_get(&fake.sets), sets);
	assert_true(slot_is_free(r.dev));
	assert_int_equal(atomic_load(&warnings), 0);
	rig_end(&r);
}

/* Groups are untracked: the daemon discovers them itself. */
static void hello_without_files(void **state)
{
	const struct gp_class_request none = { 0 };
	int file[GP_WIRE_MAX_FILES];
	union gp_wire_msg msg;
	struct rig r;
	size_t n;

	daemon_listen();
	rig_make(&r, &none);
	fake_lock();
	more.files = -1;
	fake_unlock();
	group_add(&r, 0);
	assert_true(readable(listener, LONG_MS));
	r.conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	hear(r.conn, GP_WIRE_HELLO, &msg, file, &n);
	assert_int_equal(n, 0);
	assert_int_equal(msg.hello.flags, 0);
	assert_int_equal(msg.hello.request.cls, GP_CLASS_NONE);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 3);
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_class(r.dev, GP_CLASS_BE, 3));
	rig_end(&r);
}

static void groups_come_later(void **state)
{
	struct gp_class_request want = lc(1);
	int file[GP_WIRE_MAX_FILES], count;
	union gp_wire_msg msg;
	uint64_t from_ns;
	bool together;
	struct rig r;
	size_t n;

	rig_welcome(&r, &want);
	fake_lock();
	more.files = 5;
	fake_unlock();
	from_ns = gp_wall_ns();
	for (int i = 1; i < GROUPS; i++)
		group_add(&r, i);
	together = gp_wall_ns() - from_ns < GP_DAEMON_LINK_FILES_NS;
	for (count = 0; !count || readable(r.conn, QUIET_MS); count++) {
		hear(r.conn, GP_WIRE_FILES, &msg, file, &n);
		assert_int_equal(n, 5);
		while (n)
			close(file[--n]);
	}
	if (together)
		assert_int_equal(count, 1);
	/* This process may not set their slices. */
	for (uint32_t i = 2; i <= GROUPS; i++)
		assert_int_equal(slice(i), FAKE_DEFAULT_US);
	gp_engine_group_gone(&r.group[3]);
	hear(r.conn, GP_WIRE_FILES, &msg, NULL, NULL);
	rig_end(&r);
}

static void refused_for_good(void **state)
{
	struct gp_class_request want = be(7);
	union gp_wire_msg msg;
	struct rig r;
	int conn;

	daemon_listen();
	rig_make(&r, &want);
	group_add(&r, 0);
	conn = greet(&msg);
	assert_int_equal(slice(1), FAKE_DEFAULT_US);
	answer(conn, -ENOSPC, "64 tenants are enough");
	/* As without a daemon, soon, although no connection was closed. */
	soon(slice(1) == 1 && !gp_daemon_link_manages(r.dev));
	warned(1, "64 tenants are enough");
	assert_true(has_class(r.dev, GP_CLASS_BE, 7));
	/* It does not retry at once. */
	assert_false(readable(listener, QUIET_MS));
	close(conn);
	rig_end(&r);
}

/* By a daemon that has not read the greeting. */
static void refused_at_the_door(void **state)
{
	struct gp_class_request want = lc(3);
	union gp_wire_msg msg;
	int conn, control;
	struct rig r;

	daemon_listen();
	rig_make(&r, &want);
	group_add(&r, 0);
	assert_true(readable(listener, LONG_MS));
	conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(readable(conn, LONG_MS));
	/* Keeps the thread from reading until all of it has happened. */
	control = gp_wire_connect(getpid());
	assert_true(control >= 0);
	gp_wire_init(&msg, GP_WIRE_QUERY);
	pthread_mutex_lock(&r.dev->lock);
	assert_int_equal(gp_wire_send(control, &msg, NULL, 0), 0);
	usleep(QUIET_MS * 1000);
	answer(conn, -EUSERS, "too many connections");
	close(conn);
	gp_client_device_unlock(r.dev);
	hear(control, GP_WIRE_STATUS, &msg, NULL, NULL);
	close(control);
	soon(!gp_daemon_link_manages(r.dev));
	/* The core's slice, whatever it was meanwhile. */
	assert_int_equal(slice(1), GP_SCHED_LC_SLICE_US);
	assert_int_equal(fake_get(&more.resumes), 1);
	warned(1, "too many connections");
	assert_false(readable(listener, QUIET_MS));
	rig_end(&r);
}

/* The daemon still has a connection of this process, and has not seen its end. */
static void not_so_soon(void **state)
{
	struct gp_class_request want = be(7);
	union gp_wire_msg msg;
	struct rig r;

	daemon_listen();
	rig_make(&r, &want);
	group_add(&r, 0);
	for (int i = 0; i < 3; i++) {
		r.conn = greet(&msg);
		answer(r.conn, -EEXIST, "this process has another connection");
		assert_true(gp_daemon_link_manages(r.dev));
		close(r.conn);
	}
	r.conn = greet(&msg);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 7);
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_page(r.dev));
	assert_int_equal(atomic_load(&warnings), 0);
	assert_int_equal(fake_get(&more.resumes), 0);
	rig_end(&r);
}

static void another_class_than_asked(void **state)
{
	struct gp_class_request want = lc(0);
	union gp_wire_msg msg;
	struct rig r;

	daemon_listen();
	rig_make(&r, &want);
	group_add(&r, 0);
	r.conn = greet(&msg);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 100);
	msg.head.result = -EPERM;
	snprintf(msg.welcome.why, sizeof(msg.welcome.why), "no rule lets you");
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_class(r.dev, GP_CLASS_BE, 100));
	warned(1, "no rule lets you");
	assert_true(gp_daemon_link_manages(r.dev));
	rig_end(&r);
}

/* ---- classes -------------------------------------------------------------------- */

struct setting {
	struct gp_client_device *dev;
	struct gp_class_value cls;
	int result;
};

static void *set_class(void *arg)
{
	struct setting *s = arg;

	s->result = gp_client_device_set_class(s->dev, &s->cls);
	return NULL;
}

static void class_is_asked_for(void **state)
{
	struct gp_class_request want = be(7);
	struct setting s;
	union gp_wire_msg msg;
	pthread_t id;
	struct rig r;

	rig_welcome(&r, &want);
	s = (struct setting){ r.dev, { GP_CLASS_BE, 20 }, 1 };
	assert_int_equal(pthread_create(&id, NULL, set_class, &s), 0);
	hear(r.conn, GP_WIRE_ASK_CLASS, &msg, NULL, NULL);
	assert_int_equal(msg.ask_class.request.cls, GP_CLASS_BE);
	assert_int_equal(msg.ask_class.request.value, 20);
	assert_true(has_class(r.dev, GP_CLASS_BE, 7));
	answer(r.conn, 0, "");
	pthread_join(id, NULL);
	assert_int_equal(s.result, 0);
	assert_true(has_class(r.dev, GP_CLASS_BE, 20));

	s.cls = (struct gp_class_value){ GP_CLASS_LC, 0 };
	assert_int_equal(pthread_create(&id, NULL, set_class, &s), 0);
	hear(r.conn, GP_WIRE_ASK_CLASS, &msg, NULL, NULL);
	answer(r.conn, -EACCES, "raising takes a rule");
	pthread_join(id, NULL);
	assert_int_equal(s.result, -EPERM);
	warned(1, "raising takes a rule");
	assert_true(has_class(r.dev, GP_CLASS_BE, 20));

	/* And a class that was not requested. */
	make_welcome(&msg, GP_WIRE_CLASS, GP_CLASS_LC, 4);
	assert_int_equal(gp_wire_send(r.conn, &msg, NULL, 0), 0);
	soon(has_class(r.dev, GP_CLASS_LC, 4));
	assert_int_equal(atomic_load(&warnings), 1);
	rig_end(&r);
}

/* By `gpreempt set`, over the tenant's own socket. */
static void class_is_asked_for_from_outside(void **state)
{
	struct gp_class_request want = be(7);
	union gp_wire_msg msg;
	struct rig r;
	int fd;

	/* The query covers all devices, so there is only this one. */
	rig_welcome(&r, &want);
	assert_int_equal(gp_thread_start(true), 0);
	fd = gp_wire_connect(getpid());
	assert_true(fd >= 0);
	for (int i = 0; i < 2; i++) {
		gp_wire_init(&msg, GP_WIRE_SET_CLASS);
		msg.set_class.cls = GP_CLASS_BE;
		msg.set_class.value = 30 + (uint32_t)i;
		assert_int_equal(gp_wire_send(fd, &msg, NULL, 0), 0);
		hear(r.conn, GP_WIRE_ASK_CLASS, &msg, NULL, NULL);
		assert_int_equal(msg.ask_class.request.value, 30 + i);
		assert_false(readable(fd, QUIET_MS / 2));
		answer(r.conn, i ? -EPERM : 0, "no");
		hear(fd, GP_WIRE_RESULT, &msg, NULL, NULL);
		assert_int_equal(msg.head.result, i ? -EACCES : 0);
		assert_true(has_class(r.dev, GP_CLASS_BE, 30));
	}
	/* The tenant does not wait for a requester that leaves before the answer. */
	gp_wire_init(&msg, GP_WIRE_SET_CLASS);
	msg.set_class.cls = GP_CLASS_BE;
	msg.set_class.value = 40;
	assert_int_equal(gp_wire_send(fd, &msg, NULL, 0), 0);
	hear(r.conn, GP_WIRE_ASK_CLASS, &msg, NULL, NULL);
	close(fd);
	usleep(QUIET_MS * 1000 / 2);
	answer(r.conn, 0, "");
	soon(has_class(r.dev, GP_CLASS_BE, 40));
	rig_end(&r);
}

/* ---- the page -------------------------------------------------------------------- */

static uint32_t activity(const struct rig *r)
{
	return atomic_load(&r->given.page->activity);
}

static void page_says_what_is_done(void **state)
{
	struct gp_class_request want = lc(0);
	const uint64_t from_ns = fake.now;
	struct gp_page *page;
	struct gp_ectx *c;
	struct rig r;

	rig_welcome(&r, &want);
	page = r.given.page;
	assert_int_equal(gp_engine_watch_sync(), 1);
	c = context(r.dev);
	assert_int_equal(activity(&r), 0);
	assert_int_equal(atomic_load(&page->provides), 0);
	event(r.dev, c, GP_EV_BUSY, 0);
	assert_int_equal(activity(&r), GP_PAGE_WORK);
	/* From its first value on. */
	assert_int_equal(atomic_load(&page->provides), GP_PAGE_PROVIDES_WORK);
	event(r.dev, c, GP_EV_IDLE, 0);
	assert_int_equal(activity(&r), 0);

	event(r.dev, c, GP_EV_HINT, 5 * MS);
	assert_int_equal(atomic_load(&page->next_ns), from_ns + 5 * MS);
	assert_int_equal(atomic_load(&page->provides),
			 GP_PAGE_PROVIDES_WORK | GP_PAGE_PROVIDES_NEXT);
	assert_int_equal(atomic_load(&page->hints), 1);
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	assert_int_equal(activity(&r), GP_PAGE_SEGMENT | GP_PAGE_HELD);
	assert_int_equal(atomic_load(&page->next_ns), 0);
	assert_int_equal(atomic_load(&page->holds), 1);
	assert_int_equal(atomic_load(&page->samples), 0);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	assert_int_equal(activity(&r), 0);
	assert_int_equal(atomic_load(&page->segments), 1);
	assert_int_equal(atomic_load(&page->held_ns), 5000);
	assert_int_equal(atomic_load(&page->samples), 1);
	assert_int_equal(atomic_load(&page->sample[0].from_ns), from_ns);
	assert_int_equal(atomic_load(&page->sample[0].held_ns), 5000);
	assert_int_equal(atomic_load(&page->sample[0].switch_ns), FAKE_SWITCH_NS);

	event(r.dev, c, GP_EV_HINT, 5 * MS);
	assert_int_equal(atomic_load(&page->next_ns), from_ns + 5 * MS);
	fake_lock();
	fake.now += 6 * MS;
	fake_unlock();
	event(r.dev, c, GP_EV_IDLE, 0);
	/* It has not come yet: it is held for, and its time is unknown. */
	assert_int_equal(atomic_load(&page->next_ns), 0);
	assert_int_equal(activity(&r), GP_PAGE_HELD);

	/* One group more than contexts: some work is not observed. */
	group_add(&r, 1);
	event(r.dev, c, GP_EV_BUSY, 0);
	assert_int_equal(atomic_load(&page->provides), GP_PAGE_PROVIDES_NEXT);
	/* Observed work stays counted. */
	gp_client_device_context_put(r.dev, c);
	assert_int_equal(atomic_load(&page->segments), 1);
	assert_int_equal(atomic_load(&page->held_ns), 2 * 5000);
	assert_int_equal(activity(&r), 0);
	rig_end(&r);
}

/* If launches are not observed, queues are, for any class. */
static void queues_are_looked_at(void **state)
{
	struct gp_class_request want = be(7);
	struct rig r;

	fake.more_caps = GP_CAP_SUSPEND | GP_CAP_BUSY;
	rig_welcome(&r, &want);
	fake.more_caps = GP_CAP_SUSPEND | GP_CAP_SWITCH_LOG;
	soon(atomic_load(&r.given.page->provides) == GP_PAGE_PROVIDES_WORK);
	assert_int_equal(activity(&r), 0);
	for (int i = 0; i < 3; i++) {
		fake_lock();
		more.busy = 1;
		fake_unlock();
		soon(activity(&r) == GP_PAGE_WORK);
		fake_lock();
		more.busy = 0;
		fake_unlock();
		soon(!activity(&r));
	}
	fake_lock();
	more.busy = -ENODATA;
	fake_unlock();
	soon(!atomic_load(&r.given.page->provides));
	fake_lock();
	more.busy = 0;
	fake_unlock();
	rig_end(&r);
}

static void samples_go_round(void **state)
{
	struct gp_class_request want = lc(0);
	struct gp_ectx *c;
	struct rig r;

	rig_welcome(&r, &want);
	c = context(r.dev);
	for (uint32_t i = 0; i < GP_PAGE_SAMPLES + 3; i++) {
		fake_lock();
		fake.now += MS;
		fake_unlock();
		event(r.dev, c, GP_EV_HOLD, MS);
		event(r.dev, c, GP_EV_RELEASE, 0);
	}
	assert_int_equal(atomic_load(&r.given.page->samples), GP_PAGE_SAMPLES + 3);
	assert_int_equal(atomic_load(&r.given.page->sample[2].from_ns) -
				 atomic_load(&r.given.page->sample[3].from_ns),
			 (GP_PAGE_SAMPLES - 1) * (uint64_t)MS);
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

static void passes(uint64_t ns)
{
	fake_lock();
	fake.now += ns;
	fake_unlock();
}

static void segment_is(const struct rig *r, uint64_t number, uint64_t ns)
{
	struct gp_page *page = r->given.page;

	assert_int_equal(atomic_load(&page->segments_timed), number);
	assert_int_equal(atomic_load(&page->segment_ns[(number - 1) % GP_PAGE_SEGMENTS]), ns);
}

static void segments_are_timed(void **state)
{
	struct gp_class_request want = lc(0), other = be(7);
	struct gp_ectx *c, *d;
	struct rig r;

	rig_welcome(&r, &want);
	c = context(r.dev);
	/* Nested segments: from the first begin to the last end. */
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	passes(MS);
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	passes(MS);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	assert_int_equal(atomic_load(&r.given.page->segments_timed), 0);
	passes(3 * MS);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	segment_is(&r, 1, 5 * MS);
	/* Each context has its own. */
	d = context(r.dev);
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	passes(MS);
	event(r.dev, d, GP_EV_SEGMENT_BEGIN, 0);
	passes(MS);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	segment_is(&r, 2, 2 * MS);
	passes(2 * MS);
	event(r.dev, d, GP_EV_SEGMENT_END, 0);
	segment_is(&r, 3, 3 * MS);
	gp_client_device_context_put(r.dev, d);
	/* Another class ends the segment, so its intended length is unknown. */
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	passes(50 * MS);
	assert_int_equal(gp_client_device_apply_class(r.dev, &other.cls, &other), 0);
	assert_int_equal(gp_client_device_apply_class(r.dev, &want.cls, &want), 0);
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	passes(4 * MS);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	segment_is(&r, 4, 4 * MS);
	/* Another level does not. */
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	passes(MS);
	want.cls.value = 3;
	assert_int_equal(gp_client_device_apply_class(r.dev, &want.cls, &want), 0);
	passes(MS);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	segment_is(&r, 5, 2 * MS);
	/* The ring wraps around. */
	for (uint32_t i = 6; i <= 2 * GP_PAGE_SEGMENTS + 3; i++) {
		event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
		passes(i * 1000);
		event(r.dev, c, GP_EV_SEGMENT_END, 0);
		segment_is(&r, i, i * 1000);
	}
	assert_int_equal(atomic_load(&r.given.page->segment_ns[3]), (GP_PAGE_SEGMENTS + 4) * 1000);
	assert_int_equal(atomic_load(&r.given.page->wake_on), 0);
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

static void wakes_when_others_share(void **state)
{
	struct gp_class_request want = lc(0);
	struct gp_ectx *c;
	struct rig r;

	rig_welcome(&r, &want);
	c = context(r.dev);
	event(r.dev, c, GP_EV_BUSY, 0);
	event(r.dev, c, GP_EV_IDLE, 0);
	assert_int_equal(wakes(&r.given), 0);
	atomic_store(&r.given.page->wake_on, GP_PAGE_WAKE_LATER);
	event(r.dev, c, GP_EV_BUSY, 0);
	event(r.dev, c, GP_EV_IDLE, 0);
	assert_int_equal(wakes(&r.given), 0);
	atomic_store(&r.given.page->wake_on, GP_PAGE_WAKE_LATER | GP_PAGE_WAKE_NOW);
	assert_int_equal(atomic_load(&r.given.page->work_seq), 2);
	event(r.dev, c, GP_EV_BUSY, 0);
	assert_int_equal(wakes(&r.given), 1);
	assert_int_equal(atomic_load(&r.given.page->work_seq), 3);
	/* It needs the device already, so nothing changes. It ends with the last end. */
	event(r.dev, c, GP_EV_BUSY, 0);
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	event(r.dev, c, GP_EV_IDLE, 0);
	assert_int_equal(wakes(&r.given), 0);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	assert_int_equal(wakes(&r.given), 1);
	assert_int_equal(atomic_load(&r.given.page->work_seq), 3);
	/* A hint alone wakes no tenant; its hold does. */
	event(r.dev, c, GP_EV_HINT, 5 * MS);
	assert_int_equal(wakes(&r.given), 0);
	event(r.dev, c, GP_EV_HOLD, MS);
	assert_int_equal(wakes(&r.given), 1);
	event(r.dev, c, GP_EV_RELEASE, 0);
	assert_int_equal(wakes(&r.given), 1);
	/* Unless that is requested: then each change wakes. */
	atomic_store(&r.given.page->wake_on, GP_PAGE_WAKE_LATER | GP_PAGE_WAKE_NEXT);
	event(r.dev, c, GP_EV_HINT, 7 * MS);
	assert_int_equal(wakes(&r.given), 1);
	event(r.dev, c, GP_EV_SYNC, 0);
	assert_int_equal(wakes(&r.given), 0);
	event(r.dev, c, GP_EV_SYNC_DONE, 0);
	event(r.dev, c, GP_EV_BUSY, 0);
	event(r.dev, c, GP_EV_HINT, 9 * MS);
	assert_int_equal(wakes(&r.given), 0);
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

static atomic_int watched;

static int watch_launches(void)
{
	return atomic_fetch_add(&watched, 1);
}

/* From the time when the daemon needs the activity of tenants, including those that give hints. */
static void launches_are_watched_where_levels_share(void **state)
{
	struct gp_class_request want = lc(0);

	for (int hints = 0; hints < 2; hints++) {
		const int before = atomic_load(&watched);
		struct gp_ectx *c;
		struct rig r;

		rig_welcome(&r, &want);
		c = context(r.dev);
		/* As in a process that has just begun: its thread reads the page. */
		atomic_store(&r.dev->launches_asked, false);
		gp_thread_wake();
		if (hints)
			event(r.dev, c, GP_EV_HINT, 5 * MS);
		poll(NULL, 0, 300);
		assert_int_equal(atomic_load(&watched), before);
		atomic_store(&r.given.page->wake_on, GP_PAGE_WAKE_LATER);
		soon(atomic_load(&watched) > before);
		assert_int_equal(atomic_load(&watched), before + 1);
		gp_client_device_context_put(r.dev, c);
		rig_end(&r);
	}
}

static bool tells_work(const struct rig *r)
{
	return atomic_load(&r->given.page->provides) & GP_PAGE_PROVIDES_WORK;
}

/* The daemon is woken as launches begin and cease to pile up, and by no other work. */
static void piles_wake_the_daemon(void **state)
{
	struct gp_class_request want = lc(0);
	struct gp_ectx *c;
	struct rig r;

	rig_welcome(&r, &want);
	c = context(r.dev);
	atomic_store(&r.given.page->wake_on, GP_PAGE_TAKES_PILES);
	for (int piles = 0; piles < 2; piles++) {
		pthread_mutex_lock(&r.dev->lock);
		c->work = GP_WORK_THERE;
		c->needs_ns = piles ? gp_client_device_now(r.dev) + 5 * MS : 0;
		gp_status_page_update(r.dev);
		assert_int_equal(activity(&r), GP_PAGE_WORK | (piles ? GP_PAGE_PILES : 0));
		assert_int_equal(wakes(&r.given), piles);
		c->needs_ns = 0;
		gp_status_page_update(r.dev);
		assert_int_equal(wakes(&r.given), piles);
		c->work = GP_WORK_NONE;
		gp_status_page_update(r.dev);
		assert_int_equal(activity(&r), 0);
		assert_int_equal(wakes(&r.given), 0);
		gp_client_device_unlock(r.dev);
	}
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

/* For best-effort, if the daemon requests it: its page has GP_PAGE_WORK, and it holds nothing. */
static void best_effort_tells_when_it_is_asked(void **state)
{
	const int before = atomic_load(&watched);
	struct gp_class_request want = be(7), lc0 = lc(0);
	struct gp_ectx *c;
	struct rig r;

	assert_int_equal(gp_engine_watch_sync(), 1);
	rig_welcome(&r, &want);
	atomic_store(&r.dev->launches_asked, false);
	gp_thread_wake();
	atomic_store(&r.given.page->wake_on, GP_PAGE_WAKE_NOW);
	poll(NULL, 0, 300);
	assert_int_equal(atomic_load(&watched), before);
	atomic_store(&r.given.page->wake_on, GP_PAGE_ASKS_WORK);
	soon(atomic_load(&watched) > before);
	/* A launch was observed in a context that is not known yet. */
	c = context(r.dev);
	assert_null(c->hold[0]);
	assert_false(tells_work(&r));
	gp_client_device_work(r.dev, c, true, 0);
	assert_int_equal(activity(&r), GP_PAGE_WORK);
	assert_true(tells_work(&r));
	gp_client_device_work(r.dev, c, false, 0);
	assert_int_equal(activity(&r), 0);
	assert_int_equal(wakes(&r.given), 0);
	atomic_store(&r.given.page->wake_on, GP_PAGE_ASKS_WORK | GP_PAGE_WAKE_NOW);
	gp_client_device_work(r.dev, c, true, 0);
	assert_int_equal(wakes(&r.given), 1);
	gp_client_device_work(r.dev, c, false, 0);
	/* Latency-critical from now on: it can hold. */
	assert_int_equal(gp_client_device_apply_class(r.dev, &lc0.cls, &lc0), 0);
	assert_non_null(c->hold[0]);
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	assert_int_equal(activity(&r), GP_PAGE_SEGMENT | GP_PAGE_HELD);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

/* The daemon gets no predictions: a predicted hold lasts as long as predicted. */
static void work_is_told_to_the_daemon_alone(void **state)
{
	struct gp_class_request want = lc(0);

	for (int predicts = 0; predicts < 2; predicts++) {
		struct gp_ectx *c;
		struct rig r;

		fake_lock();
		more.has_log = predicts;
		fake_unlock();
		rig_welcome(&r, &want);
		c = context(r.dev);
		gp_thread_wake();
		soon(atomic_load(&r.dev->predicts) == predicts);
		atomic_store(&r.given.page->wake_on, GP_PAGE_WAKE_LATER | GP_PAGE_WAKE_NOW);
		event(r.dev, c, GP_EV_HINT, MS);
		fake_lock();
		fake.now += MS;
		fake_unlock();
		event(r.dev, c, GP_EV_TIMER, 0);
		assert_int_equal(activity(&r), GP_PAGE_HELD);
		gp_client_device_work(r.dev, c, true, 0);
		assert_int_equal(activity(&r), GP_PAGE_HELD | GP_PAGE_WORK);
		gp_client_device_work(r.dev, c, false, 0);
		assert_int_equal(activity(&r), predicts ? GP_PAGE_HELD : 0);
		gp_client_device_context_put(r.dev, c);
		rig_end(&r);
	}
	fake_lock();
	more.has_log = false;
	fake_unlock();
}

/* Hints at a constant distance: the next is expected before it is given. */
static void page_says_when_the_next_hint_would_be(void **state)
{
	struct gp_class_request want = lc(0);
	struct gp_page *page;
	struct gp_ectx *c;
	uint64_t at_ns = 0;
	struct rig r;

	rig_welcome(&r, &want);
	page = r.given.page;
	c = context(r.dev);
	for (int i = 0; i < 3; i++) {
		at_ns = fake.now + MS / 2;
		event(r.dev, c, GP_EV_HINT, MS / 2);
		assert_int_equal(atomic_load(&page->next_ns), at_ns);
		event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
		event(r.dev, c, GP_EV_SEGMENT_END, 0);
		assert_int_equal(atomic_load(&page->next_ns), i == 2 ? at_ns + 8 * MS : 0);
		fake_lock();
		fake.now += 8 * MS;
		fake_unlock();
	}
	/* Another distance, so nothing is expected. */
	fake_lock();
	fake.now += 3 * MS;
	fake_unlock();
	event(r.dev, c, GP_EV_HINT, MS / 2);
	event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
	event(r.dev, c, GP_EV_SEGMENT_END, 0);
	assert_int_equal(atomic_load(&page->next_ns), 0);
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

static void holds_cost_no_message(void **state)
{
	struct gp_class_request want = lc(0);
	struct gp_ectx *c;
	struct rig r;
	int before;

	rig_welcome(&r, &want);
	c = context(r.dev);
	before = atomic_load(&sends);
	for (int i = 0; i < 500; i++) {
		event(r.dev, c, GP_EV_HINT, i % 3 ? 0 : MS);
		event(r.dev, c, GP_EV_BUSY, 0);
		event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
		event(r.dev, c, GP_EV_SEGMENT_END, 0);
		event(r.dev, c, GP_EV_IDLE, 0);
		fake_lock();
		fake.now += 3 * MS;
		fake_unlock();
	}
	assert_true(fake_get(&fake.holds) >= 500);
	assert_false(readable(r.conn, QUIET_MS));
	assert_int_equal(atomic_load(&sends), before);
	assert_int_equal(wakes(&r.given), 0);
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

/* ---- daemons that fail ------------------------------------------------------------ */

static void another_daemon_comes(void **state)
{
	struct gp_class_request want = be(7);
	struct setting s;
	union gp_wire_msg msg;
	uint64_t gone_ns;
	pthread_t id;
	struct rig r;
	int sets;

	rig_welcome(&r, &want);
	sets = fake_get(&fake.sets);
	s = (struct setting){ r.dev, { GP_CLASS_BE, 20 }, 1 };
	assert_int_equal(pthread_create(&id, NULL, set_class, &s), 0);
	for (int i = 0; i < 3; i++) {
		/* The next daemon gets a request that the former did not answer. */
		hear(r.conn, GP_WIRE_ASK_CLASS, &msg, NULL, NULL);
		assert_int_equal(msg.ask_class.request.value, 20);
		close(r.conn);
		ungive(&r.given);
		gone_ns = gp_wall_ns();
		r.conn = greet(&msg);
		/*
		 * The library waits for it for 20 ms at a time; the rest is this machine's
		 * delay.
		 */
		assert_true(gp_wall_ns() - gone_ns < 1000ull * MS);
		assert_int_equal(msg.hello.request.value, 7);
		make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 7);
		give_page(r.conn, &msg, SEALS, &r.given);
		soon(has_page(r.dev));
	}
	hear(r.conn, GP_WIRE_ASK_CLASS, &msg, NULL, NULL);
	answer(r.conn, 0, "");
	pthread_join(id, NULL);
	assert_int_equal(s.result, 0);
	assert_true(has_class(r.dev, GP_CLASS_BE, 20));
	/* Nothing was touched meanwhile. */
	assert_int_equal(fake_get(&more.resumes), 0);
	assert_int_equal(fake_get(&fake.sets), sets);
	assert_int_equal(atomic_load(&warnings), 0);
	rig_end(&r);
}

static void no_other_daemon_comes(void **state)
{
	struct gp_class_request want = be(7);
	union gp_wire_msg msg;
	uint64_t gone_ns, took_ns;
	struct gp_ectx *c;
	struct rig r;

	rig_welcome(&r, &want);
	group_add(&r, 1);
	c = context(r.dev);
	fake_lock();
	more.slice_us[1] = more.slice_us[2] = 777; /* as the daemon left them */
	more.resume_error = -EBUSY;		   /* the first try fails */
	fake_unlock();
	daemon_unlisten();
	close(r.conn);
	ungive(&r.given);
	gone_ns = gp_wall_ns();
	soon(fake_get(&more.resumes) == 1);
	took_ns = gp_wall_ns() - gone_ns;
	assert_in_range(took_ns, GP_DAEMON_LINK_MISSED_NS - 100 * MS,
			GP_DAEMON_LINK_MISSED_NS + 1000 * MS);
	soon(fake_get(&more.resumes) >= 3);
	/* The driver's slice first; then the slot, as without a daemon. */
	assert_true(fake_get(&more.slice_is_default) || slice(1) == 1);
	soon(slice(1) == 1);
	assert_int_equal(slice(2), FAKE_DEFAULT_US);
	assert_false(slot_is_free(r.dev));
	assert_false(gp_daemon_link_manages(r.dev));
	/* A keeper of the daemon's restores groups that are restored already. */
	fake_lock();
	more.slice_us[1] = FAKE_DEFAULT_US;
	fake_unlock();
	soon(slice(1) == 1);
	assert_int_equal(slice(2), FAKE_DEFAULT_US);
	assert_int_equal(fake_get(&more.resumes), 3);
	/* And a daemon that starts later. */
	daemon_listen();
	r.conn = greet(&msg);
	assert_int_equal(slice(1), FAKE_DEFAULT_US);
	assert_true(slot_is_free(r.dev));
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 7);
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_page(r.dev));
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

/* A stopped daemon accepts connections and never answers. */
static void stopped_daemon_stops_nobody(void **state)
{
	const struct gp_class_value other = { GP_CLASS_BE, 9 };
	struct gp_class_request want = lc(0);
	uint64_t start_ns, end_ns;
	union gp_wire_msg msg;
	struct gp_ectx *c;
	uint32_t n = 0;
	struct rig r;

	daemon_listen();
	rig_make(&r, &want);
	group_add(&r, 0);
	c = context(r.dev);
	soon(gp_daemon_link_manages(r.dev));
	end_ns = gp_wall_ns() + GP_DAEMON_LINK_ANSWER_NS / 2;
	for (; gp_wall_ns() < end_ns; n++) {
		event(r.dev, c, GP_EV_HINT, MS);
		event(r.dev, c, GP_EV_SEGMENT_BEGIN, 0);
		event(r.dev, c, GP_EV_SEGMENT_END, 0);
	}
	/* One wait for a daemon would take all of this time. */
	assert_true(n > 20);
	start_ns = gp_wall_ns();
	assert_int_equal(gp_client_device_set_class(r.dev, &other), -ETIMEDOUT);
	assert_true(gp_wall_ns() - start_ns < LONG_MS * MS);
	/* The wait is limited; then the requested class is in force. */
	soon(!gp_daemon_link_manages(r.dev));
	soon(has_class(r.dev, GP_CLASS_BE, 9));
	assert_int_equal(slice(1), 1);
	/* It continues, and answers a greeting that no longer counts. */
	r.conn = greet(&msg);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_LC, 0);
	give_page(r.conn, &msg, SEALS, &r.given);
	close(r.conn);
	ungive(&r.given);
	r.conn = greet(&msg);
	assert_int_equal(msg.hello.request.value, 9);
	assert_int_equal(slice(1), FAKE_DEFAULT_US);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 9);
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_page(r.dev));
	gp_client_device_context_put(r.dev, c);
	rig_end(&r);
}

enum nonsense {
	BYTES,
	NO_FILES,
	ONE_FILE,
	UNSEALED,
	BAD_MAGIC,
	BAD_CLASS,
	UNASKED,
	NONSENSES
};

static void say_nonsense(int conn, enum nonsense what)
{
	union gp_wire_msg msg;
	struct given g = { NULL, -1 };
	int fd;

	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 7);
	switch (what) {
	case BYTES:
		assert_int_equal(write(conn, "hello", 5), 5);
		return;
	case NO_FILES:
		assert_int_equal(gp_wire_send(conn, &msg, NULL, 0), 0);
		return;
	case ONE_FILE:
		fd = memfd_create("page", MFD_CLOEXEC);
		assert_int_equal(gp_wire_send(conn, &msg, &fd, 1), 0);
		close(fd);
		return;
	case UNSEALED:
		give_page(conn, &msg, 0, &g);
		break;
	case BAD_MAGIC:
		fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert_int_equal(ftruncate(fd, GP_PAGE_BYTES), 0);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, SEALS), 0);
		assert_int_equal(gp_wire_send(conn, &msg, (int[]){ fd, fd }, 2), 0);
		close(fd);
		return;
	case BAD_CLASS:
		msg.welcome.request.value = 1000000;
		give_page(conn, &msg, SEALS, &g);
		break;
	default:
		gp_wire_init(&msg, GP_WIRE_DEVICE);
		assert_int_equal(gp_wire_send(conn, &msg, NULL, 0), 0);
		return;
	}
	ungive(&g);
}

static size_t open_files(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void nonsense_is_the_end(void **state)
{
	struct gp_class_request want = be(7);
	union gp_wire_msg msg;
	size_t files = 0;
	struct rig r;
	char byte;

	daemon_listen();
	rig_make(&r, &want);
	for (enum nonsense what = 0; what < NONSENSES; what++) {
		group_add(&r, 0);
		r.conn = greet(&msg);
		if (what == UNASKED) {
			make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 7);
			give_page(r.conn, &msg, SEALS, &r.given);
		}
		say_nonsense(r.conn, what);
		assert_true(readable(r.conn, LONG_MS));
		assert_true(recv(r.conn, &byte, 1, 0) <= 0);
		close(r.conn);
		if (what == UNASKED)
			ungive(&r.given);
		/* Nothing of it is touched: it may have the groups. */
		assert_true(gp_daemon_link_manages(r.dev));
		/* One warning for many such daemons. */
		assert_int_equal(atomic_load(&warnings), 1);
		if (what == NONSENSES - 1)
			break;
		/* A tenant without groups misses none. */
		gp_engine_group_gone(&r.group[0]);
		soon(!gp_daemon_link_manages(r.dev));
		/* Files of the message are closed. The first count may have one for an attempt. */
		if (!what)
			files = open_files();
		soon(open_files() <= files);
	}
	r.conn = greet(&msg);
	make_welcome(&msg, GP_WIRE_WELCOME, GP_CLASS_BE, 7);
	give_page(r.conn, &msg, SEALS, &r.given);
	soon(has_page(r.dev));
	rig_end(&r);
}

/* ---- forks ------------------------------------------------------------------------- */

static void child_has_no_part_in_it(void **state)
{
	struct gp_class_request want = lc(0);
	int status, fd, wake;
	struct rig r;
	pid_t child;

	rig_welcome(&r, &want);
	fd = r.dev->link.fd;
	pthread_mutex_lock(&r.dev->lock);
	wake = r.dev->status_page.wake_fd;
	gp_client_device_unlock(r.dev);
	child = fork();
	if (!child)
		_exit(fcntl(fd, F_GETFD) < 0 && fcntl(wake, F_GETFD) < 0 &&
				      fcntl(r.given.wake, F_GETFD) >= 0 ?
			      0 :
			      1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(has_page(r.dev));
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest daemon[] = {
		/* First, because it affects all devices. */
		cmocka_unit_test(class_is_asked_for_from_outside),
		/* While there are new devices: a used one predicts nothing. */
		cmocka_unit_test(work_is_told_to_the_daemon_alone),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(hello_says_all),
		cmocka_unit_test(hello_without_files),
		cmocka_unit_test(groups_come_later),
		cmocka_unit_test(refused_for_good),
		cmocka_unit_test(refused_at_the_door),
		cmocka_unit_test(not_so_soon),
		cmocka_unit_test(another_class_than_asked),
		cmocka_unit_test(class_is_asked_for),
		cmocka_unit_test(page_says_what_is_done),
		cmocka_unit_test(queues_are_looked_at),
		cmocka_unit_test(samples_go_round),
		cmocka_unit_test(segments_are_timed),
		cmocka_unit_test(wakes_when_others_share),
		cmocka_unit_test(launches_are_watched_where_levels_share),
		cmocka_unit_test(piles_wake_the_daemon),
		cmocka_unit_test(best_effort_tells_when_it_is_asked),
		cmocka_unit_test(page_says_when_the_next_hint_would_be),
		cmocka_unit_test(holds_cost_no_message),
		cmocka_unit_test(another_daemon_comes),
		cmocka_unit_test(no_other_daemon_comes),
		cmocka_unit_test(stopped_daemon_stops_nobody),
		cmocka_unit_test(nonsense_is_the_end),
		cmocka_unit_test(child_has_no_part_in_it),
		/* In this order: the warning comes once. */
		cmocka_unit_test(daemon_has_the_slot),
		cmocka_unit_test(slot_comes_for_a_reason),
	};
	const struct gp_engine_hooks hooks = {
		.tracks = true,
		.predict = true,
		.watch_sync = watch_sync,
		.watch_launches = watch_launches,
		.request = { .cls = { GP_CLASS_BE, 7 }, .cap_pct = 30 },
	};
	char dir[] = "/tmp/gpreempt-test-XXXXXX";
	int status;

	if (!mkdtemp(dir))
		return 1;
	fake.more_caps = GP_CAP_SUSPEND | GP_CAP_SWITCH_LOG;
	snprintf(path, sizeof(path), "%s/d.sock", dir);
	/* Before a thread exists that reads it. */
	setenv("GPREEMPT_DAEMON", path, 1);
	gp_hal_set_ops(&fake_ops, &some);
	gp_set_log(log_line, NULL);
	if (gp_engine_state())
		return 1;
	gp_engine_set_hooks(&hooks);
	status = gp_run_tests(daemon);
	rmdir(dir);
	return status;
}
