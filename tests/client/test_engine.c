// SPDX-License-Identifier: Apache-2.0
/*
 * The engine over a HAL that only records, with a clock that the test moves.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "tests/common/gp_test.h"
#include "wire/wire.h"

#define MS 1000000u
#define DEFAULT_US 2048u

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t now, armed;
	int timer_fd;
	int holds, releases, on, on_max, sets;
	uint64_t slice_us, switch_ns, limit_ns;
	int hold_error;
	int slot_fd;
	struct gp_edev *reenter;	/* add this group from inside set_slice */
	struct gp_group *reenter_group;
	int acked, done;
} fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.now = 1000 * MS,
};

struct fake_hold {
	struct gp_hold base;
	int on;
	struct gp_hold_stat st;
};

static struct gp_hal_ops ops;

static void lock(void) { pthread_mutex_lock(&fake.lock); }
static void unlock(void)
{
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
}

static int fake_caps(struct gp_device *d, struct gp_hal_caps *c)
{
	*c = (struct gp_hal_caps){
		.caps = GP_CAP_SLICES | GP_CAP_SLICE_PREEMPTS | GP_CAP_HOLD,
		.min_slice_us = 1, .max_slice_us = 10000000,
		.default_slice_us = DEFAULT_US, .switch_ns = 170000,
		.max_hold_ns = 100 * MS,
	};
	return 0;
}

static int fake_open(const struct gp_device_id *id, struct gp_device **dev)
{
	*dev = calloc(1, sizeof(**dev));
	assert_non_null(*dev);
	(*dev)->ops = &ops;
	(*dev)->id = *id;
	return 0;
}

static void fake_close(struct gp_device *dev) { free(dev); }

static int fake_now(struct gp_device *d, uint64_t *ns)
{
	lock();
	*ns = fake.now;
	unlock();
	return 0;
}

static int fake_hold_create(struct gp_device *d, void *ctx, struct gp_hold **out)
{
	struct fake_hold *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	h->base.dev = d;
	*out = &h->base;
	return 0;
}

static void fake_hold_destroy(struct gp_hold *hold) { free(hold); }

static int fake_hold_op(struct gp_hold *hold, uint64_t limit_ns)
{
	struct fake_hold *h = (struct fake_hold *)hold;
	int err;

	lock();
	err = fake.hold_error ? fake.hold_error : h->on ? -EBUSY : 0;
	if (!err) {
		h->on = 1;
		h->st.seq++;
		fake.holds++;
		fake.limit_ns = limit_ns;
		if (++fake.on > fake.on_max)
			fake.on_max = fake.on;
	}
	unlock();
	return err;
}

static int fake_release(struct gp_hold *hold)
{
	struct fake_hold *h = (struct fake_hold *)hold;

	lock();
	if (h->on) {
		h->on = 0;
		h->st.switch_ns = fake.switch_ns;
		h->st.held_ns = 5000;
		fake.on--;
		fake.releases++;
	}
	unlock();
	return 0;
}

static int fake_stat(struct gp_hold *hold, struct gp_hold_stat *st)
{
	lock();
	*st = ((struct fake_hold *)hold)->st;
	unlock();
	return 0;
}

static int fake_set_slice(struct gp_group *g, uint64_t us)
{
	struct gp_edev *dev;

	lock();
	fake.slice_us = us;
	fake.sets++;
	dev = fake.reenter;
	fake.reenter = NULL;
	unlock();
	if (dev) {
		struct gp_event ev = {
			.type = GP_EV_GROUP_APPEAR,
			.tenant = GP_BASE_TENANT,
			.group = fake.reenter_group->id,
		};
		/* As libcuda does, when a group appears inside our own call. */
		gp_edev_post(dev, &ev);
	}
	return 0;
}

static int fake_get_slice(struct gp_group *g, uint64_t *us)
{
	lock();
	*us = fake.slice_us;
	unlock();
	return 0;
}

static int fake_slot(struct gp_device *d, struct gp_slot_place *place)
{
	static int file = -1;
	char path[32];

	if (file < 0)
		file = memfd_create("slot", MFD_CLOEXEC);
	/* Opened anew, not shared: the lock is an open file description's. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	place->fd = open(path, O_RDWR | O_CLOEXEC);
	place->offset = 0;
	return place->fd < 0 ? -errno : 0;
}

static int fake_timer_create(struct gp_device *d, struct gp_timer **t)
{
	*t = calloc(1, sizeof(**t));
	assert_non_null(*t);
	(*t)->dev = d;
	(*t)->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	lock();
	fake.timer_fd = (*t)->fd;
	unlock();
	return 0;
}

static void fake_timer_destroy(struct gp_timer *t) { free(t); }

static int fake_timer_arm(struct gp_timer *t, uint64_t at)
{
	uint64_t one = 1;

	lock();
	fake.armed = at;
	if (at && at <= fake.now)
		assert_int_equal(write(t->fd, &one, sizeof(one)), sizeof(one));
	unlock();
	return 0;
}

static int fake_timer_ack(struct gp_timer *t)
{
	uint64_t n;

	lock();
	fake.acked++;
	unlock();
	return read(t->fd, &n, sizeof(n)) == sizeof(n) ? 0 : -EAGAIN;
}

static int fake_timer_done(struct gp_timer *t)
{
	lock();
	fake.done++;
	unlock();
	return 0;
}

static const struct gp_hal_ops some = {
	.name = "fake", .abi = GP_HAL_ABI, .caps = fake_caps, .close = fake_close,
	.get_slice = fake_get_slice, .hold = fake_hold_op,
	.hold_create = fake_hold_create, .hold_destroy = fake_hold_destroy,
	.hold_stat = fake_stat, .now = fake_now, .open = fake_open,
	.release = fake_release, .set_slice = fake_set_slice, .slot = fake_slot,
	.timer_ack = fake_timer_ack, .timer_arm = fake_timer_arm,
	.timer_create = fake_timer_create, .timer_destroy = fake_timer_destroy,
	.timer_done = fake_timer_done,
};

/* Time passes; what is due, is. */
static void advance(uint64_t ns)
{
	uint64_t one = 1;

	lock();
	fake.now += ns;
	if (fake.armed && fake.armed <= fake.now) {
		fake.armed = 0;
		assert_int_equal(write(fake.timer_fd, &one, sizeof(one)), sizeof(one));
	}
	unlock();
}

/* Wait until @what, which counts, is @value or more; on real time at most 10 s. */
static void wait_for_int(const int *what, int value)
{
	struct timespec end;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 10;
	lock();
	while (*what < value && !err)
		err = pthread_cond_timedwait(&fake.changed, &fake.lock, &end);
	err = *what < value;
	unlock();
	assert_false(err);
}

static int get(const int *what)
{
	int value;

	lock();
	value = *what;
	unlock();
	return value;
}

static struct gp_edev *new_device(void)
{
	static uint8_t number;
	struct gp_device_id id = { .name = "fake", .uuid = { ++number } };
	struct gp_edev *dev;

	gp_hal_set_ops(&ops, &some);
	assert_int_equal(gp_engine_state(), 0);
	lock();
	fake.holds = fake.releases = fake.on = fake.on_max = fake.sets = 0;
	fake.acked = fake.done = 0;
	fake.slice_us = DEFAULT_US;
	fake.hold_error = 0;
	fake.armed = 0;
	unlock();
	assert_int_equal(gp_engine_device(&ops, &id, &dev), 0);
	return dev;
}

static void set_class(struct gp_edev *dev, uint32_t cls, uint32_t value)
{
	struct gp_class_value v = { cls, value };

	assert_int_equal(gp_edev_set_class(dev, &v), 0);
}

static int event(struct gp_edev *dev, struct gp_ectx *c, uint32_t type, uint64_t ns)
{
	struct gp_event ev = { .type = type, .tenant = c->tenant };

	ev.at_ns = ev.limit_ns = ns;
	return gp_edev_event(dev, &ev);
}

static struct gp_ectx *lc_context(struct gp_edev *dev, uintptr_t name)
{
	struct gp_ectx *c;

	set_class(dev, GP_CLASS_LC, 0);
	assert_int_equal(gp_edev_context(dev, (void *)name, &c), 0);
	return c;
}

static void slices_follow_class(void **state)
{
	struct gp_edev *dev = new_device();
	struct gp_group group = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 7 };
	int fd;

	set_class(dev, GP_CLASS_LC, 3);
	assert_int_equal(gp_edev_group_add(dev, &group), 0);
	assert_int_equal(fake.slice_us, 5000000);
	assert_int_equal(gp_edev_group_add(dev, &group), -EEXIST);
	set_class(dev, GP_CLASS_BE, 100);
	assert_int_equal(fake.slice_us, 1);
	assert_int_equal(gp_slot_try(dev->hal, &fd), -EBUSY);
	set_class(dev, GP_CLASS_NONE, 0);
	assert_int_equal(fake.slice_us, DEFAULT_US);
	assert_int_equal(gp_slot_try(dev->hal, &fd), 0);
	close(fd);
	gp_engine_group_gone(&group);
	set_class(dev, GP_CLASS_LC, 0);
	assert_int_equal(fake.slice_us, DEFAULT_US);
}

static uint64_t slice_now(int *sets)
{
	uint64_t us;

	lock();
	us = fake.slice_us;
	*sets = fake.sets;
	unlock();
	return us;
}

static void slot_is_passed_on(void **state)
{
	struct gp_edev *dev = new_device();
	struct gp_group group = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 7 };
	int fd, sets;

	assert_int_equal(gp_slot_try(dev->hal, &fd), 0);
	set_class(dev, GP_CLASS_BE, 100);
	assert_int_equal(gp_edev_group_add(dev, &group), 0);
	/* From here on there is a thread that waits for the slot. */
	assert_int_equal(slice_now(&sets), DEFAULT_US);
	close(fd);
	wait_for_int(&fake.sets, sets + 1);
	assert_int_equal(slice_now(&sets), 1);
	gp_engine_group_gone(&group);
	/* The last group went, and the slot with it. Whoever has the lock does
	 * that, maybe the thread that waited: come after it. */
	pthread_mutex_lock(&dev->lock);
	gp_edev_unlock(dev);
	assert_int_equal(gp_slot_try(dev->hal, &fd), 0);
	close(fd);
}

static void segment_holds_in_pieces(void **state)
{
	struct gp_edev *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x1000);
	struct gp_sched_tenant_stat st;
	uint64_t held_ns;

	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), -EINVAL);
	lock();
	fake.switch_ns = 123000;
	unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(fake.holds, 1);
	assert_int_equal(fake.limit_ns, GP_HOLD_PIECE_NS);
	/* Renewed a little before it would end. */
	advance(GP_HOLD_PIECE_NS - 50000);
	wait_for_int(&fake.releases, 1);
	wait_for_int(&fake.done, 1);
	assert_int_equal(fake.holds, 2);
	/* The new piece was on before the old one ended. */
	assert_int_equal(fake.on_max, 2);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	assert_int_equal(fake.on, 0);
	gp_edev_stat(dev, c, &st, &held_ns);
	assert_int_equal(st.segments, 1);
	assert_int_equal(held_ns, 10000);
	assert_int_equal(st.switch_min_ns, 123000);
	gp_edev_context_put(dev, c);
}

static void hint_holds_and_lingers(void **state)
{
	struct gp_edev *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x2000);

	assert_int_equal(event(dev, c, GP_EV_HINT, 5 * MS), 0);
	assert_int_equal(fake.holds, 0);
	lock();
	assert_true(fake.armed > fake.now && fake.armed < fake.now + 5 * MS);
	unlock();
	advance(5 * MS);
	wait_for_int(&fake.holds, 1);
	/* Held past the time that was named, though no work is there .. */
	assert_int_equal(get(&fake.on), 1);
	/* .. and given back, since none comes. */
	for (int i = 0; i < 100 && get(&fake.on); i++) {
		int done = get(&fake.done);

		advance(MS / 2);
		if (get(&fake.on))
			wait_for_int(&fake.done, done + 1);
	}
	assert_int_equal(get(&fake.on), 0);
	wait_for_int(&fake.done, get(&fake.acked));
	gp_edev_context_put(dev, c);
}

static void sync_ends_the_segments_hold(void **state)
{
	struct gp_edev *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x3000);

	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(fake.on, 1);
	assert_int_equal(event(dev, c, GP_EV_SYNC, 0), 0);
	assert_int_equal(fake.on, 0);
	assert_int_equal(event(dev, c, GP_EV_SYNC_DONE, 0), 0);
	assert_int_equal(fake.on, 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(fake.on, 1);
	/* No longer LC: no longer holding. */
	set_class(dev, GP_CLASS_BE, 1);
	assert_int_equal(fake.on, 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), -EPERM);
	gp_edev_context_put(dev, c);
}

/* A tenant, as others see it, that passes on what it is asked. */
static pid_t start_tenant(int *from)
{
	union gp_wire_msg msg;
	int pipe_fd[2], listener, fd;
	pid_t child;

	assert_int_equal(pipe(pipe_fd), 0);
	child = fork();
	if (child) {
		close(pipe_fd[1]);
		*from = pipe_fd[0];
		assert_int_equal(read(*from, &fd, sizeof(fd)), sizeof(fd));
		return child;
	}
	listener = gp_wire_listen(getpid());
	if (listener < 0 || fcntl(listener, F_SETFL, 0) ||
	    write(pipe_fd[1], &listener, sizeof(listener)) < 0)
		_exit(1);
	fd = accept(listener, NULL, NULL);
	while (recv(fd, &msg, sizeof(msg), 0) == (ssize_t)sizeof(msg.yield))
		if (write(pipe_fd[1], &msg.yield, sizeof(msg.yield)) < 0)
			break;
	_exit(0);
}

static struct gp_wire_yield told(int from)
{
	struct gp_wire_yield msg = { 0 };

	assert_int_equal(read(from, &msg, sizeof(msg)), sizeof(msg));
	assert_int_equal(msg.head.type, GP_WIRE_YIELD);
	return msg;
}

static void others_are_off_in_a_segment_only(void **state)
{
	struct gp_edev *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x3800);
	struct gp_wire_yield msg;
	int from, status;
	pid_t tenant = start_tenant(&from);

	/* Nothing is asked outside, so what is asked first is of the segment. */
	gp_edev_others_off(dev, c);
	gp_edev_others_on(dev);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	gp_edev_others_off(dev, c);
	msg = told(from);
	assert_int_equal(msg.on, 1);
	assert_int_equal(msg.level, GP_LEVEL_MAX);
	assert_int_equal(msg.limit_ns, 500 * MS);
	assert_memory_equal(msg.uuid, dev->hal->id.uuid, sizeof(msg.uuid));
	gp_edev_others_on(dev);
	assert_int_equal(told(from).on, 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	gp_edev_context_put(dev, c);
	kill(tenant, SIGKILL);
	assert_int_equal(waitpid(tenant, &status, 0), tenant);
	close(from);
}

static void context_gone(void **state)
{
	struct gp_edev *dev = new_device(), *found;
	struct gp_ectx *c = lc_context(dev, 0x4000);

	assert_ptr_equal(gp_engine_find((void *)0x4000, &found), c);
	assert_ptr_equal(found, dev);
	assert_int_equal(event(dev, c, GP_EV_HOLD, MS), 0);
	gp_engine_context_gone((void *)0x4000);
	assert_int_equal(event(dev, c, GP_EV_HOLD, MS), 0);
	assert_int_equal(fake.holds, 1);
	gp_edev_context_put(dev, c);
	assert_null(gp_engine_find((void *)0x4000, &found));
}

static void failing_hold_is_given_up(void **state)
{
	struct gp_edev *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x5000);

	lock();
	fake.hold_error = -EOPNOTSUPP;
	unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	assert_int_equal(fake.holds, 0);
	assert_int_equal(fake.on, 0);
	gp_edev_context_put(dev, c);
}

/* A group that appears while its device's lock is held waits its turn. */
static void group_from_inside(void **state)
{
	struct gp_edev *dev = new_device();
	struct gp_group a = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 1 };
	struct gp_group b = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 2 };

	set_class(dev, GP_CLASS_LC, 0);
	pthread_mutex_lock(&dev->groups_lock);
	dev->group[9] = (struct gp_egroup){ b.id, &b };
	pthread_mutex_unlock(&dev->groups_lock);
	fake.reenter_group = &b;
	fake.reenter = dev;
	assert_int_equal(gp_edev_group_add(dev, &a), 0);
	assert_int_equal(fake.sets, 2);
	gp_engine_group_gone(&a);
	gp_engine_group_gone(&b);
}

#define THREADS 4
#define ROUNDS 2000

static void *hammer(void *arg)
{
	struct gp_edev *dev = arg;
	struct gp_ectx *c;

	if (gp_edev_context(dev, (void *)0x6000, &c))
		return (void *)1;
	for (int i = 0; i < ROUNDS; i++) {
		(void)event(dev, c, GP_EV_HINT, 100000);
		(void)event(dev, c, GP_EV_SEGMENT_BEGIN, 0);
		(void)event(dev, c, GP_EV_SYNC, 0);
		advance(1000);
		(void)event(dev, c, GP_EV_SYNC_DONE, 0);
		(void)event(dev, c, GP_EV_SEGMENT_END, 0);
	}
	gp_edev_context_put(dev, c);
	return NULL;
}

static void threads_share_a_context(void **state)
{
	struct gp_edev *dev = new_device();
	pthread_t id[THREADS];
	void *bad;

	set_class(dev, GP_CLASS_LC, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&id[i], NULL, hammer, dev), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(id[i], &bad);
		assert_null(bad);
	}
	assert_int_equal(fake.on, 0);
}

static void socket_and_fork(void **state)
{
	union gp_wire_msg msg;
	struct gp_handle *h;
	int fd, status;
	pid_t child;

	assert_int_equal(gp_thread_start(true), 0);
	fd = gp_wire_connect(getpid());
	assert_true(fd >= 0);
	gp_wire_init(&msg, GP_WIRE_QUERY);
	assert_int_equal(gp_wire_call(fd, &msg, 10000), 0);
	assert_int_equal(msg.status.pid, getpid());
	assert_string_equal(msg.status.device, "fake");
	close(fd);
	child = fork();
	if (!child)
		_exit(gp_open(NULL, &h) == -ECHILD ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest engine[] = {
		cmocka_unit_test(slices_follow_class),
		cmocka_unit_test(slot_is_passed_on),
		cmocka_unit_test(segment_holds_in_pieces),
		cmocka_unit_test(hint_holds_and_lingers),
		cmocka_unit_test(sync_ends_the_segments_hold),
		cmocka_unit_test(others_are_off_in_a_segment_only),
		cmocka_unit_test(context_gone),
		cmocka_unit_test(failing_hold_is_given_up),
		cmocka_unit_test(group_from_inside),
		cmocka_unit_test(threads_share_a_context),
		cmocka_unit_test(socket_and_fork),
	};

	return gp_run_tests(engine);
}
