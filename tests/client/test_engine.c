// SPDX-License-Identifier: Apache-2.0
/*
 * The engine over a HAL that only records, with a clock that the test moves.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
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
#include "hal/slot.h"
#include "tests/client/fake_hal.h"
#include "tests/common/gp_test.h"
#include "wire/wire.h"

#define MS 1000000u

/* Records of the test's own part of the HAL, under fake's lock. */
static struct {
	uint64_t armed, slice_us;
	int timer_fd;
	struct gp_client_device *reenter; /* add this group from inside set_slice */
	struct gp_group *reenter_group;
	int acked, done, arms;
	int arm_error;
} more;

static int fake_set_slice(struct gp_group *g, uint64_t us)
{
	struct gp_client_device *dev;

	fake_lock();
	more.slice_us = us;
	fake.sets++;
	dev = more.reenter;
	more.reenter = NULL;
	fake_unlock();
	if (dev) {
		struct gp_event ev = {
			.type = GP_EV_GROUP_APPEAR,
			.tenant = GP_BASE_TENANT,
			.group.id = more.reenter_group->id,
		};
		/* As in libcuda, when a group appears inside our own call. */
		gp_client_device_post(dev, &ev);
	}
	return 0;
}

static int fake_get_slice(struct gp_group *g, uint64_t *us)
{
	fake_lock();
	*us = more.slice_us;
	fake_unlock();
	return 0;
}

static int timer_create_known(struct gp_device *d, struct gp_timer **t)
{
	fake_timer_create(d, t);
	fake_lock();
	more.timer_fd = (*t)->fd;
	fake_unlock();
	return 0;
}

static int fake_timer_arm(struct gp_timer *t, uint64_t at)
{
	uint64_t one = 1;
	int err;

	fake_lock();
	err = more.arm_error;
	more.armed = err ? 0 : at;
	more.arms++;
	if (!err && at && at <= fake.now)
		assert_int_equal(write(t->fd, &one, sizeof(one)), sizeof(one));
	fake_unlock();
	return err;
}

static int fake_timer_ack(struct gp_timer *t)
{
	uint64_t n;

	fake_lock();
	more.acked++;
	fake_unlock();
	return read(t->fd, &n, sizeof(n)) == sizeof(n) ? 0 : -EAGAIN;
}

static int fake_timer_done(struct gp_timer *t)
{
	fake_lock();
	more.done++;
	fake_unlock();
	return 0;
}

static const struct gp_hal_ops some = {
	FAKE_HAL,
	.get_slice = fake_get_slice,
	.set_slice = fake_set_slice,
	.timer_ack = fake_timer_ack,
	.timer_arm = fake_timer_arm,
	.timer_done = fake_timer_done,
};

/* Time passes, and due timers fire. */
static void advance(uint64_t ns)
{
	uint64_t one = 1;

	fake_lock();
	fake.now += ns;
	if (more.armed && more.armed <= fake.now) {
		more.armed = 0;
		assert_int_equal(write(more.timer_fd, &one, sizeof(one)), sizeof(one));
	}
	fake_unlock();
}

/* Wait until the counter @what is @value or more, in real time at most 10 s. */
static void wait_for_int(const int *what, int value)
{
	struct timespec end;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 10;
	fake_lock();
	while (*what < value && !err)
		err = pthread_cond_timedwait(&fake.changed, &fake.lock, &end);
	err = *what < value;
	fake_unlock();
	assert_false(err);
}

static struct gp_client_device *new_device(void)
{
	static uint8_t number;
	struct gp_device_id id = { .name = "fake", .uuid = { ++number } };
	struct gp_client_device *dev;

	gp_hal_set_ops(&fake_ops, &some);
	fake_ops.timer_create = timer_create_known;
	assert_int_equal(gp_engine_state(), 0);
	fake_lock();
	fake.holds = fake.releases = fake.on = fake.on_max = fake.sets = 0;
	more.acked = more.done = more.arms = 0;
	more.slice_us = FAKE_DEFAULT_US;
	fake.hold_error = 0;
	more.armed = 0;
	fake_unlock();
	assert_int_equal(gp_engine_device(&fake_ops, &id, &dev), 0);
	return dev;
}

static void set_class(struct gp_client_device *dev, uint32_t cls, uint32_t value)
{
	struct gp_class_value v = { cls, value };

	assert_int_equal(gp_client_device_set_class(dev, &v), 0);
}

static int event(struct gp_client_device *dev, struct gp_ectx *c, uint32_t type, uint64_t ns)
{
	struct gp_event ev = { .type = type, .tenant = c->tenant };

	if (type == GP_EV_HINT)
		ev.hint.at_ns = ns;
	else if (type == GP_EV_HOLD)
		ev.hold.limit_ns = ns;
	return gp_client_device_event(dev, &ev);
}

static struct gp_ectx *lc_context(struct gp_client_device *dev, uintptr_t name)
{
	struct gp_ectx *c;

	set_class(dev, GP_CLASS_LC, 0);
	assert_int_equal(gp_client_device_context(dev, (void *)name, &c), 0);
	return c;
}

static void slices_follow_class(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_group group = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 7 };
	int fd;

	set_class(dev, GP_CLASS_LC, 3);
	assert_int_equal(gp_client_device_group_add(dev, &group), 0);
	assert_int_equal(more.slice_us, 5000000);
	assert_int_equal(gp_client_device_group_add(dev, &group), -EEXIST);
	set_class(dev, GP_CLASS_BE, 100);
	assert_int_equal(more.slice_us, 1);
	assert_int_equal(gp_slot_try(dev->hal, &fd), -EBUSY);
	set_class(dev, GP_CLASS_NONE, 0);
	assert_int_equal(more.slice_us, FAKE_DEFAULT_US);
	assert_int_equal(gp_slot_try(dev->hal, &fd), 0);
	close(fd);
	gp_engine_group_gone(&group);
	set_class(dev, GP_CLASS_LC, 0);
	assert_int_equal(more.slice_us, FAKE_DEFAULT_US);
}

static uint64_t slice_now(int *sets)
{
	uint64_t us;

	fake_lock();
	us = more.slice_us;
	*sets = fake.sets;
	fake_unlock();
	return us;
}

static void *wait_for_slot(void *arg)
{
	struct gp_client_device *dev = arg;
	static int fd;

	assert_int_equal(gp_slot_wait(dev->hal, &fd), 0);
	return &fd;
}

/* As the thread's loop does, once it is time. */
static void look_at_slot(struct gp_client_device *dev)
{
	atomic_store(&dev->slot_due_ns, 1);
	gp_slot_serve(dev);
}

/* Beside others' slices it would have next to no time, if it kept the short one. */
static void check_sharing(struct gp_client_device *dev)
{
	struct gp_group group = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 8 };
	pthread_t other;
	void *fd;
	int sets;

	assert_int_equal(gp_client_device_group_add(dev, &group), 0);
	look_at_slot(dev);
	assert_int_equal(slice_now(&sets), 1);
	assert_int_equal(pthread_create(&other, NULL, wait_for_slot, dev), 0);
	while (!gp_slot_is_awaited(dev->hal))
		sched_yield();
	look_at_slot(dev);
	assert_int_equal(slice_now(&sets), FAKE_DEFAULT_US);
	pthread_join(other, &fd);
	/* It waits behind that one. */
	look_at_slot(dev);
	assert_int_equal(slice_now(&sets), FAKE_DEFAULT_US);
	close(*(int *)fd);
	wait_for_int(&fake.sets, sets + 1);
	assert_int_equal(slice_now(&sets), 1);
	gp_engine_group_gone(&group);
}

static void slot_is_passed_on(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_group group = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 7 };
	int fd, sets;

	assert_int_equal(gp_slot_try(dev->hal, &fd), 0);
	set_class(dev, GP_CLASS_BE, 100);
	assert_int_equal(gp_client_device_group_add(dev, &group), 0);
	/* From here on a thread waits for the slot. */
	assert_int_equal(slice_now(&sets), FAKE_DEFAULT_US);
	close(fd);
	wait_for_int(&fake.sets, sets + 1);
	assert_int_equal(slice_now(&sets), 1);
	gp_engine_group_gone(&group);
	/*
	 * The slot ends with the last group. The holder of the lock, maybe the thread that
	 * waited, does that: come after it.
	 */
	pthread_mutex_lock(&dev->lock);
	gp_client_device_unlock(dev);
	assert_int_equal(gp_slot_try(dev->hal, &fd), 0);
	close(fd);
	check_sharing(dev);
}

static void segment_holds_in_pieces(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x1000);
	struct gp_sched_tenant_stat st;
	uint64_t held_ns;

	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), -EINVAL);
	fake_lock();
	fake.switch_ns = 123000;
	fake_unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(fake.holds, 1);
	assert_int_equal(fake.limit_ns, GP_HOLD_PIECE_NS);
	/* Renewed shortly before its end. */
	advance(GP_HOLD_PIECE_NS - 50000);
	wait_for_int(&fake.releases, 1);
	wait_for_int(&more.done, 1);
	assert_int_equal(fake.holds, 2);
	/* The new piece began before the old one ended. */
	assert_int_equal(fake.on_max, 2);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	assert_int_equal(fake.on, 0);
	gp_client_device_stat(dev, c, &st, &held_ns);
	assert_int_equal(st.segments, 1);
	assert_int_equal(held_ns, 10000);
	assert_int_equal(st.switch_min_ns, 123000);
	assert_true(st.switch_ns < 200000);
	/* A hold that was released before it had the device. */
	fake_lock();
	fake.switch_ns = 0;
	fake.missed_ns = 500000;
	fake_unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	gp_client_device_stat(dev, c, &st, &held_ns);
	assert_true(st.switch_ns > 200000);
	fake_lock();
	fake.switch_ns = FAKE_SWITCH_NS;
	fake.missed_ns = 0;
	fake_unlock();
	gp_client_device_context_put(dev, c);
}

/* A timer that is set and fires before it is needed is left alone. */
static void holds_leave_the_timer(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x1400);
	const int arms = fake_get(&more.arms);
	uint64_t until_due_ns = 0, due_ns;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
		if (!i)
			until_due_ns = more.armed - fake.now;
		assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
		advance(1000);
	}
	assert_int_equal(fake_get(&more.arms), arms + 1);
	/* It fires without need, and is not set again. */
	advance(until_due_ns);
	wait_for_int(&more.done, 1);
	assert_int_equal(fake_get(&more.arms), arms + 1);
	/* It fires too early, and is set to the needed time. */
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	advance(1000);
	due_ns = fake.now + until_due_ns;
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(fake.holds, 5);
	advance(until_due_ns - 1000);
	wait_for_int(&more.done, 2);
	assert_int_equal(fake_get(&more.arms), arms + 3);
	assert_int_equal(fake.holds, 5);
	fake_lock();
	assert_int_equal(more.armed, due_ns);
	fake_unlock();
	advance(1000);
	wait_for_int(&fake.holds, 6);
	wait_for_int(&more.done, 3);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	gp_client_device_context_put(dev, c);
}

static void set_arm_error(int error)
{
	fake_lock();
	more.arm_error = error;
	fake_unlock();
}

/* No event is needed: the thread sets it, or does itself what is due. */
static void a_timer_that_fails_is_set_again(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x1500);
	const int arms = fake_get(&more.arms);

	set_arm_error(-ENOMEM);
	assert_int_equal(event(dev, c, GP_EV_HINT, 50 * MS), 0);
	wait_for_int(&more.arms, arms + 4);
	assert_int_equal(fake_get(&fake.holds), 0);
	advance(50 * MS);
	wait_for_int(&fake.holds, 1);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_HINT, 50 * MS), 0);
	wait_for_int(&more.arms, fake_get(&more.arms) + 2);
	set_arm_error(0);
	wait_for_int(&more.arms, fake_get(&more.arms) + 1);
	fake_lock();
	assert_in_range(more.armed, fake.now + 40 * MS, fake.now + 50 * MS);
	fake_unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	gp_client_device_context_put(dev, c);
}

/* Its hold and three renewals; its held time is known late, as on a GPU. */
static void renewals_are_no_switches(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x1800);
	struct gp_sched_tenant_stat st;
	uint64_t held_ns;

	fake_lock();
	fake.ends_late = true;
	fake.switch_ns = 123000;
	fake_unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	for (int i = 1; i <= 3; i++) {
		advance(GP_HOLD_PIECE_NS - 50000);
		wait_for_int(&fake.releases, i);
		wait_for_int(&more.done, i);
		fake_lock();
		fake.switch_ns = 9000;
		fake_unlock();
	}
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	fake_lock();
	fake.switch_ns = 123000;
	fake_unlock();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
		assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	}
	gp_client_device_stat(dev, c, &st, &held_ns);
	assert_int_equal(st.holds, 3);
	assert_int_equal(st.switch_min_ns, 123000);
	assert_int_equal(st.switch_max_ns, 123000);
	fake_lock();
	fake.ends_late = false;
	fake.switch_ns = FAKE_SWITCH_NS;
	fake_unlock();
	gp_client_device_context_put(dev, c);
}

/* The third of them got the device: its wait counts since the first. */
static void renewals_wait_on(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x1900);
	struct gp_sched_tenant_stat st;
	uint64_t held_ns;

	fake_lock();
	fake.ends_late = true;
	fake.switch_ns = 0;
	fake.missed_ns = 300000;
	fake_unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	for (int i = 1; i <= 2; i++) {
		advance(GP_HOLD_PIECE_NS - 50000);
		wait_for_int(&fake.releases, i);
		wait_for_int(&more.done, i);
	}
	fake_lock();
	fake.switch_ns = 74000;
	fake.missed_ns = 0;
	fake_unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	fake_lock();
	fake.switch_ns = FAKE_SWITCH_NS;
	fake_unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	gp_client_device_stat(dev, c, &st, &held_ns);
	assert_int_equal(st.switch_max_ns, 2 * (GP_HOLD_PIECE_NS - 50000) + 74000);
	fake_lock();
	fake.ends_late = false;
	fake_unlock();
	gp_client_device_context_put(dev, c);
}

static void hint_holds_and_lingers(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x2000);

	assert_int_equal(event(dev, c, GP_EV_HINT, 5 * MS), 0);
	assert_int_equal(fake.holds, 0);
	fake_lock();
	assert_true(more.armed > fake.now && more.armed < fake.now + 5 * MS);
	fake_unlock();
	advance(5 * MS);
	wait_for_int(&fake.holds, 1);
	/* Held past the announced time, though no work is there .. */
	assert_int_equal(fake_get(&fake.on), 1);
	/* .. and released, since none comes. */
	for (int i = 0; i < 100 && fake_get(&fake.on); i++) {
		int done = fake_get(&more.done);

		advance(MS / 2);
		if (fake_get(&fake.on))
			wait_for_int(&more.done, done + 1);
	}
	assert_int_equal(fake_get(&fake.on), 0);
	wait_for_int(&more.done, fake_get(&more.acked));
	gp_client_device_context_put(dev, c);
}

static void sync_ends_the_segments_hold(void **state)
{
	struct gp_client_device *dev = new_device();
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
	/* No longer LC, so no longer holding. */
	set_class(dev, GP_CLASS_BE, 1);
	assert_int_equal(fake.on, 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), -EPERM);
	gp_client_device_context_put(dev, c);
}

/* A tenant, as others see it, that passes requests on. */
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
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x3800);
	struct gp_wire_yield msg;
	int from, status;
	pid_t tenant = start_tenant(&from);

	/* Queries from outside come later, so the first one is of the segment. */
	gp_client_device_others_off(dev, c);
	gp_client_device_others_on(dev);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	gp_client_device_others_off(dev, c);
	msg = told(from);
	assert_int_equal(msg.on, 1);
	assert_int_equal(msg.level, GP_LEVEL_MAX);
	assert_int_equal(msg.limit_ns, 500 * MS);
	assert_memory_equal(msg.uuid, dev->hal->id.uuid, sizeof(msg.uuid));
	gp_client_device_others_on(dev);
	assert_int_equal(told(from).on, 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	gp_client_device_context_put(dev, c);
	kill(tenant, SIGKILL);
	assert_int_equal(waitpid(tenant, &status, 0), tenant);
	close(from);
}

static void context_gone(void **state)
{
	struct gp_client_device *dev = new_device(), *found;
	struct gp_ectx *c = lc_context(dev, 0x4000);

	assert_ptr_equal(gp_engine_find((void *)0x4000, &found), c);
	assert_ptr_equal(found, dev);
	assert_int_equal(event(dev, c, GP_EV_HOLD, MS), 0);
	gp_engine_context_gone((void *)0x4000);
	assert_int_equal(event(dev, c, GP_EV_HOLD, MS), 0);
	assert_int_equal(fake.holds, 1);
	gp_client_device_context_put(dev, c);
	assert_null(gp_engine_find((void *)0x4000, &found));
}

static void failing_hold_is_given_up(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x5000);

	fake_lock();
	fake.hold_error = -EOPNOTSUPP;
	fake_unlock();
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	assert_int_equal(fake.holds, 0);
	assert_int_equal(fake.on, 0);
	gp_client_device_context_put(dev, c);
}

static int no_hold_create(struct gp_device *dev, void *ctx, struct gp_hold **out)
{
	return -EOPNOTSUPP;
}

static void explain_holds(int err, char *why, size_t why_len)
{
	assert_int_equal(err, -EOPNOTSUPP);
	snprintf(why, why_len, "one queue for all");
}

static char warning[256]; /* the first one */

static void keep_warning(enum gp_log_level level, const char *message, void *arg)
{
	static atomic_flag kept = ATOMIC_FLAG_INIT;

	if (level <= GP_LOG_WARN && !atomic_flag_test_and_set(&kept))
		snprintf(warning, sizeof(warning), "%s", message);
}

static unsigned int warnings;

static void count_warnings(enum gp_log_level level, const char *message, void *arg)
{
	warnings += level <= GP_LOG_WARN;
}

/* Requests in quick succession: one has no hold, which is no fault, and the next one has. */
static void too_many_holds(struct gp_client_device *dev, struct gp_ectx *c)
{
	gp_set_log(count_warnings, NULL);
	fake.hold_error = -EBUSY;
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	fake.hold_error = 0;
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(fake_get(&fake.on), 1);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	assert_int_equal(warnings, 0);
	gp_set_log(NULL, NULL);
}

/* The end of the work is marked first, and the hint's hold ends then. */
static void all_is_queued(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c = lc_context(dev, 0x6000);
	char stream;

	too_many_holds(dev, c);
	fake.marked = NULL;
	assert_int_equal(event(dev, c, GP_EV_HINT, 0), 0);
	assert_int_equal(fake_get(&fake.on), 1);
	fake.mark_error = -EINVAL;
	assert_int_equal(gp_client_device_queued_in(dev, c, &stream), -EINVAL);
	assert_int_equal(fake_get(&fake.on), 1);
	fake.mark_error = 0;
	assert_int_equal(gp_client_device_queued_in(dev, c, &stream), 0);
	assert_ptr_equal(fake.marked, &stream);
	assert_int_equal(fake_get(&fake.on), 0);

	assert_int_equal(event(dev, c, GP_EV_HINT, 0), 0);
	fake.mark_error = -EOPNOTSUPP; /* nothing to do there */
	assert_int_equal(gp_client_device_queued_in(dev, c, NULL), 0);
	assert_int_equal(fake_get(&fake.on), 0);
	fake.mark_error = 0;
	gp_client_device_context_put(dev, c);
}

/* It has its class and its slices, and one warning that it has no holds. */
static void process_without_holds(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_ectx *c;

	dev->ops.hold_create = no_hold_create;
	dev->ops.explain = explain_holds;
	gp_set_log(keep_warning, NULL);
	c = lc_context(dev, 0x6000);
	assert_string_equal(warning,
			    "cannot hold the device: one queue for all; continuing without holds");
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_BEGIN, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_SEGMENT_END, 0), 0);
	assert_int_equal(event(dev, c, GP_EV_HOLD, MS), 0);
	assert_int_equal(gp_client_device_queued_in(dev, c, NULL), 0);
	assert_int_equal(fake.holds, 0);
	gp_client_device_context_put(dev, c);
}

/* A group that appears while its device's lock is held waits for it. */
static void group_from_inside(void **state)
{
	struct gp_client_device *dev = new_device();
	struct gp_group a = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 1 };
	struct gp_group b = { .dev = dev->hal, .kind = GP_GROUP_COMPUTE, .id = 2 };

	set_class(dev, GP_CLASS_LC, 0);
	gp_runtime_lock(dev->rt);
	assert_int_equal(gp_runtime_group_enter(dev->rt, GP_BASE_TENANT, dev, &b), 0);
	gp_runtime_unlock(dev->rt);
	more.reenter_group = &b;
	more.reenter = dev;
	assert_int_equal(gp_client_device_group_add(dev, &a), 0);
	assert_int_equal(fake.sets, 2);
	gp_engine_group_gone(&a);
	gp_engine_group_gone(&b);
}

#define THREADS 4
#define ROUNDS 2000

static void *hammer(void *arg)
{
	struct gp_client_device *dev = arg;
	struct gp_ectx *c;

	if (gp_client_device_context(dev, (void *)0x6000, &c))
		return (void *)1;
	for (int i = 0; i < ROUNDS; i++) {
		(void)event(dev, c, GP_EV_HINT, 100000);
		(void)event(dev, c, GP_EV_SEGMENT_BEGIN, 0);
		(void)event(dev, c, GP_EV_SYNC, 0);
		advance(1000);
		(void)event(dev, c, GP_EV_SYNC_DONE, 0);
		(void)event(dev, c, GP_EV_SEGMENT_END, 0);
	}
	gp_client_device_context_put(dev, c);
	return NULL;
}

static void threads_share_a_context(void **state)
{
	struct gp_client_device *dev = new_device();
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

#define TENANTS 64

static void socket_and_fork(void **state)
{
	union gp_wire_msg msg;
	struct gp_handle *h;
	int fd, conn[TENANTS], status;
	pid_t child;

	assert_int_equal(gp_thread_start(true), 0);
	fd = gp_wire_connect(getpid());
	assert_true(fd >= 0);
	gp_wire_init(&msg, GP_WIRE_QUERY);
	assert_int_equal(gp_wire_call(fd, &msg, 10000), 0);
	assert_int_equal(msg.status.pid, getpid());
	assert_string_equal(msg.status.device, "fake");
	/* Each tenant of the machine may keep a connection: none is dropped for another. */
	for (int i = 0; i < TENANTS; i++) {
		do
			conn[i] = gp_wire_connect(getpid());
		while (conn[i] == -EAGAIN);
		assert_true(conn[i] >= 0);
	}
	gp_wire_init(&msg, GP_WIRE_QUERY);
	assert_int_equal(gp_wire_call(conn[TENANTS - 1], &msg, 10000), 0);
	gp_wire_init(&msg, GP_WIRE_QUERY);
	assert_int_equal(gp_wire_call(fd, &msg, 10000), 0);
	for (int i = 0; i < TENANTS; i++)
		close(conn[i]);
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
		/* First, because the warning comes once. */
		cmocka_unit_test(all_is_queued),
		cmocka_unit_test(process_without_holds),
		cmocka_unit_test(slices_follow_class),
		cmocka_unit_test(slot_is_passed_on),
		cmocka_unit_test(segment_holds_in_pieces),
		cmocka_unit_test(holds_leave_the_timer),
		cmocka_unit_test(a_timer_that_fails_is_set_again),
		cmocka_unit_test(renewals_are_no_switches),
		cmocka_unit_test(renewals_wait_on),
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
