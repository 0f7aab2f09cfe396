// SPDX-License-Identifier: Apache-2.0
#include "tests/common/gp_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "nvidia-backend/track.h"
#include "tests/nvidia/fake_rm.h"

static int ready, gone;
#define CALLS_MAX 8
static struct gp_group *last_ready[CALLS_MAX];

/* The callback may call HAL ops on the group. */
static void on_ready(void *arg, struct gp_group *group)
{
	uint64_t us = 0;

	assert_int_equal(gp_nv_get_slice(group, &us), 0);
	assert_true(us == 2048 || group->kind == GP_GROUP_COPY);
	assert_int_equal(gp_nv_set_slice(group, 1), 0);
	last_ready[ready % CALLS_MAX] = group;
	ready++;
}

static void on_gone(void *arg, struct gp_group *group)
{
	gone++;
}

static const struct gp_track_ops ops = { .group_ready = on_ready, .group_gone = on_gone };

/* Create an object in the fake, and show the call to the tracker. */
static uint32_t alloc(int fd, uint32_t client, uint32_t parent, uint32_t cls, uint32_t handle,
		      uint32_t engine, bool long_form)
{
	struct gp_rm_channel_group_params group = { .engine = engine };
	struct gp_rm_device_params device = { 0 };
	struct gp_rm_alloc21 a = {
		.client = client, .parent = parent, .object = handle, .cls = cls
	};
	struct gp_rm_alloc64 l = { .client = client, .parent = parent, .cls = cls };

	a.params = cls == GP_RM_CLASS_DEVICE ? (uintptr_t)&device : (uintptr_t)&group;
	assert_int_equal(fake_ioctl(fd, GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc21), &a), 0);
	l.object = a.object;
	l.params = a.params;
	errno = ENOTTY;
	if (long_form)
		gp_nv_track_ioctl(fd, GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc64), &l, 0);
	else
		gp_nv_track_ioctl(fd, GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc21), &a, 0);
	assert_int_equal(errno, ENOTTY); /* preserved */
	return a.object;
}

static void free_object(int fd, uint32_t client, uint32_t handle, uint32_t status)
{
	struct gp_rm_free f = { .client = client, .object = handle, .status = status };

	gp_nv_track_ioctl(fd, GP_RM_REQUEST(GP_RM_ESC_FREE, gp_rm_free), &f, 0);
}

static size_t known(struct gp_nv_device *dev)
{
	struct gp_group_list list = { 0 };
	size_t n;

	assert_int_equal(gp_nv_track_groups(dev, &list), 0);
	n = list.count;
	gp_group_list_put(&list);
	return n;
}

struct made {
	int fd;
	uint32_t client, device, subdevice, compute, copy;
};

static struct made make(bool long_form)
{
	struct made m = { .fd = fake_open_ctl() };

	m.client = fake_client(m.fd);
	m.device = alloc(m.fd, m.client, m.client, GP_RM_CLASS_DEVICE, 0x5c000001, 0, long_form);
	m.subdevice =
		alloc(m.fd, m.client, m.device, GP_RM_CLASS_SUBDEVICE, 0x5c000002, 0, long_form);
	alloc(m.fd, m.client, m.device, GP_RM_CLASS_MEMORY_SYSTEM, 0x5c000003, 0, long_form);
	m.compute = alloc(m.fd, m.client, m.device, GP_RM_CLASS_CHANNEL_GROUP, 0x5c000004,
			  GP_RM_ENGINE_GRAPHICS0, long_form);
	alloc(m.fd, m.client, m.compute, GP_RM_CLASS_HOPPER_CHANNEL, 0x5c000005, 0, long_form);
	alloc(m.fd, m.client, m.compute, 0xc96f, 0x5c000006, 0, long_form);
	m.copy = alloc(m.fd, m.client, m.device, GP_RM_CLASS_CHANNEL_GROUP, 0x5c000007,
		       GP_RM_ENGINE_COPY0 + 2, long_form);
	alloc(m.fd, m.client, m.copy, GP_RM_CLASS_HOPPER_CHANNEL, 0x5c000008, 0, long_form);
	return m;
}

static void check_groups(struct gp_nv_device *dev, const struct made *m)
{
	struct gp_group_list list = { 0 };
	int seen = 0;

	assert_int_equal(gp_nv_track_groups(dev, &list), 0);
	assert_int_equal(list.count, 2);
	for (size_t i = 0; i < list.count; i++) {
		const struct gp_nv_group *g = gp_nv_of(gp_nv_group, list.group[i]);

		assert_ptr_equal(g->base.dev, &dev->base);
		assert_int_equal(g->subdevice, m->subdevice);
		if (g->tsg == m->compute) {
			assert_int_equal(g->base.kind, GP_GROUP_COMPUTE);
			assert_int_equal(g->base.channels, 2);
			seen |= 1;
		} else {
			assert_int_equal(g->tsg, m->copy);
			assert_int_equal(g->base.kind, GP_GROUP_COPY);
			assert_int_equal(g->base.channels, 1);
			seen |= 2;
		}
	}
	assert_int_equal(seen, 3);
	gp_group_list_put(&list);
}

static void test_not_started(void **state)
{
	struct gp_group_list list = { .count = 3 };
	struct gp_nv_device *dev;

	fake_reset();
	dev = fake_device(0);
	assert_int_equal(gp_nv_track_groups(dev, &list), -ENOENT);
	assert_int_equal(list.count, 3);
	assert_int_equal(gp_nv_control_files(&dev->base, NULL, NULL, 0), -ENOENT);
	dev->base.ops->close(&dev->base);
	assert_int_equal(gp_nv_track_start_over(&fake_transport, &ops, NULL), 0);
	assert_int_equal(gp_nv_track_start(&ops, NULL), -EALREADY);
}

static void both_forms(bool long_form)
{
	struct gp_nv_device *dev;
	struct made m;

	fake_reset();
	dev = fake_device(0);
	m = make(long_form);
	check_groups(dev, &m);
	/* Freeing the copy group frees its channel and nothing else. */
	free_object(m.fd, m.client, m.copy, 0);
	assert_int_equal(known(dev), 1);
	/* A refused free frees nothing. */
	free_object(m.fd, m.client, m.client, GP_RM_ERR_INVALID_STATE);
	assert_int_equal(known(dev), 1);
	free_object(m.fd, m.client, m.device, 0);
	assert_int_equal(known(dev), 0);
	close(m.fd);
	dev->base.ops->close(&dev->base);
}

static void test_short_form(void **state)
{
	both_forms(false);
}

static void test_long_form(void **state)
{
	both_forms(true);
}

static void test_free_of_the_client(void **state)
{
	struct gp_nv_device *dev;
	struct made one, two;

	fake_reset();
	dev = fake_device(0);
	one = make(false);
	two = make(true);
	assert_int_equal(known(dev), 4);
	free_object(one.fd, one.client, one.client, 0);
	assert_int_equal(known(dev), 2);
	free_object(two.fd, two.client, two.client, 0);
	assert_int_equal(known(dev), 0);
	close(one.fd);
	close(two.fd);
	dev->base.ops->close(&dev->base);
}

static void test_what_does_not_concern_it(void **state)
{
	struct gp_rm_alloc21 a = {
		.client = 1, .parent = 1, .object = 2, .cls = GP_RM_CLASS_CHANNEL_GROUP
	};
	struct gp_nv_device *dev;
	char junk[256];

	fake_reset();
	dev = fake_device(0);
	memset(junk, 0xff, sizeof(junk));
	/* A failed call, a refusal of RM's, another driver's number, and odd sizes. */
	gp_nv_track_ioctl(0, GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc21), &a, -1);
	a.status = GP_RM_ERR_INVALID_CLASS;
	gp_nv_track_ioctl(0, GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc21), &a, 0);
	gp_nv_track_ioctl(0, _IOWR('T', GP_RM_ESC_ALLOC, struct gp_rm_alloc21), junk, 0);
	for (unsigned int bytes = 0; bytes < 64; bytes++)
		if (bytes != sizeof(struct gp_rm_alloc21) && bytes != sizeof(struct gp_rm_alloc64))
			gp_nv_track_ioctl(0, GP_RM_REQUEST_BYTES(GP_RM_ESC_ALLOC, bytes), junk, 0);
	gp_nv_track_ioctl(0, GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc21), NULL, 0);
	assert_int_equal(known(dev), 0);
	dev->base.ops->close(&dev->base);
}

/* libcuda's last step on group @tsg, in the fake and shown to the tracker. */
static void set_slice(const struct made *m, uint32_t tsg, uint64_t us, uint32_t status)
{
	struct gp_rm_tsg_timeslice slice = { .us = us };
	struct gp_rm_control c = {
		.client = m->client,
		.object = tsg,
		.cmd = GP_RM_CTRL_TSG_SET_TIMESLICE,
		.params = (uintptr_t)&slice,
		.params_size = sizeof(slice),
	};
	unsigned long request = GP_RM_REQUEST(GP_RM_ESC_CONTROL, gp_rm_control);

	assert_int_equal(fake_ioctl(m->fd, request, &c), 0);
	c.status = status ? status : c.status;
	gp_nv_track_ioctl(m->fd, request, &c, 0);
}

static void schedule(const struct made *m, uint32_t tsg)
{
	struct gp_rm_tsg_schedule on = { .enable = 1 };
	struct gp_rm_control c = {
		.client = m->client,
		.object = tsg,
		.cmd = GP_RM_CTRL_TSG_SCHEDULE,
		.params = (uintptr_t)&on,
		.params_size = sizeof(on),
	};

	gp_nv_track_ioctl(m->fd, GP_RM_REQUEST(GP_RM_ESC_CONTROL, gp_rm_control), &c, 0);
}

/* libcuda schedules its copy groups before its last step. A later group is ready by itself. */
static void test_a_copy_group_that_is_late(void **state)
{
	struct made m;
	uint32_t late;

	fake_reset();
	ready = gone = 0;
	m = make(true);
	schedule(&m, m.copy);
	assert_int_equal(ready, 0);
	set_slice(&m, m.compute, 2048, 0);
	assert_int_equal(ready, 2);
	late = alloc(m.fd, m.client, m.device, GP_RM_CLASS_CHANNEL_GROUP, 0x5c000009,
		     GP_RM_ENGINE_COPY0 + 3, true);
	alloc(m.fd, m.client, late, GP_RM_CLASS_HOPPER_CHANNEL, 0x5c00000a, 0, true);
	assert_int_equal(ready, 2);
	schedule(&m, late);
	schedule(&m, late);
	assert_int_equal(ready, 3);
	assert_int_equal(last_ready[2]->kind, GP_GROUP_COPY);
	free_object(m.fd, m.client, m.client, 0);
	assert_int_equal(gone, 3);
	close(m.fd);
}

static void test_ready_and_gone(void **state)
{
	struct made m;

	fake_reset();
	ready = gone = 0;
	m = make(true);
	set_slice(&m, m.copy, 2048, 0);
	set_slice(&m, m.compute, 2048, GP_RM_ERR_INVALID_STATE);
	assert_int_equal(ready, 0);
	set_slice(&m, m.compute, 2048, 0);
	assert_int_equal(ready, 2);
	assert_int_equal(last_ready[0]->kind, GP_GROUP_COMPUTE);
	assert_int_equal(last_ready[0]->channels, 2);
	assert_int_equal(last_ready[0]->pid, getpid());
	assert_int_equal(last_ready[1]->kind, GP_GROUP_COPY);
	assert_int_equal(last_ready[1]->channels, 1);
	assert_int_equal(fake_find(fake_ino(m.fd), m.client, m.compute)->slice_us, 1);
	/* The callback comes once per group. */
	set_slice(&m, m.compute, 2048, 0);
	schedule(&m, m.copy);
	assert_int_equal(ready, 2);
	assert_int_equal(gone, 0);
	free_object(m.fd, m.client, m.client, 0);
	assert_int_equal(gone, 2);
	close(m.fd);
}

/* One file for each of libcuda's on this device, with any groups; none of other devices. */
static void test_control_files(void **state)
{
	struct gp_nv_device *dev, *other;
	int fd[4] = { -1, -1, -1, -1 };
	uint32_t key[4] = { 0 };
	struct made one, two;

	fake_reset();
	dev = fake_device(0);
	other = fake_device(1);
	assert_int_equal(gp_nv_control_files(&dev->base, fd, key, 4), -ENOENT);
	one = make(false);
	two = make(true);
	assert_int_equal(gp_nv_control_files(&other->base, fd, key, 4), -ENOENT);
	assert_int_equal(fd[0], -1);
	assert_int_equal(gp_nv_control_files(&dev->base, fd, key, 4), 2);
	for (int i = 0; i < 2; i++) {
		assert_true(fcntl(fd[i], F_GETFD) & FD_CLOEXEC);
		assert_true(fd[i] != one.fd && fd[i] != two.fd);
		/* The caller owns it, and closes it without the backend. */
		assert_false(gp_nv_fd_marked(fd[i]));
	}
	assert_int_equal(fake_ino(fd[0]) + fake_ino(fd[1]), fake_ino(one.fd) + fake_ino(two.fd));
	assert_true(fake_ino(fd[0]) != fake_ino(fd[1]));
	for (int i = 0; i < 2; i++)
		assert_int_equal(key[i],
				 fake_ino(fd[i]) == fake_ino(one.fd) ? one.client : two.client);
	close(fd[0]);
	close(fd[1]);
	fd[1] = -1;
	assert_int_equal(gp_nv_control_files(&dev->base, fd, key, 1), 1);
	assert_int_equal(fd[1], -1);
	close(fd[0]);
	free_object(one.fd, one.client, one.client, 0);
	free_object(two.fd, two.client, two.copy, 0);
	assert_int_equal(gp_nv_control_files(&dev->base, fd, key, 4), 1);
	assert_int_equal(fake_ino(fd[0]), fake_ino(two.fd));
	close(fd[0]);
	free_object(two.fd, two.client, two.client, 0);
	assert_int_equal(gp_nv_control_files(&dev->base, fd, key, 4), -ENOENT);
	close(one.fd);
	close(two.fd);
	other->base.ops->close(&other->base);
	dev->base.ops->close(&dev->base);
}

/* In a forked child the tracker forgets all, and calls nothing. */
static void test_forget(void **state)
{
	struct gp_nv_device *dev;
	struct made m;
	int status = -1;
	pid_t pid;

	fake_reset();
	dev = fake_device(0);
	m = make(false);
	assert_int_equal(known(dev), 2);
	pid = fork();
	if (!pid) {
		struct gp_group_list list = { 0 };

		gp_nv_track_forget();
		free_object(m.fd, m.client, m.client, 0);
		_exit(gp_nv_track_groups(dev, &list) || list.count);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(known(dev), 2);
	free_object(m.fd, m.client, m.client, 0);
	close(m.fd);
	dev->base.ops->close(&dev->base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_started),
		cmocka_unit_test(test_short_form),
		cmocka_unit_test(test_long_form),
		cmocka_unit_test(test_free_of_the_client),
		cmocka_unit_test(test_what_does_not_concern_it),
		cmocka_unit_test(test_ready_and_gone),
		cmocka_unit_test(test_a_copy_group_that_is_late),
		cmocka_unit_test(test_control_files),
		cmocka_unit_test(test_forget),
	};

	return gp_run_tests(tests);
}
