// SPDX-License-Identifier: Apache-2.0
#include "tests/common/gp_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpreempt/hal.h"

/* A backend of the test's own, with two devices that differ late. */
static int opened;
static struct gp_device device;
static char slot_path[64];

static int toy_probe(struct gp_device_list *list)
{
	memset(list, 0, sizeof(*list));
	list->count = 2;
	for (uint8_t i = 0; i < 2; i++) {
		snprintf(list->dev[i].name, GP_DEVICE_NAME_LEN, "toy%u", i);
		memset(list->dev[i].uuid, 0xab, 16);
		list->dev[i].uuid[15] = i;
		list->dev[i].pci_bus = i;
		list->dev[i].minor = i;
	}
	return 0;
}

static int toy_open(const struct gp_device_id *id, struct gp_device **dev)
{
	opened++;
	device.id = *id;
	*dev = &device;
	return 0;
}

static void toy_close(struct gp_device *dev)
{
	opened--;
}

static int toy_slot(struct gp_device *dev, struct gp_slot_place *place)
{
	place->fd = open(slot_path, O_RDWR | O_CLOEXEC);
	place->offset = dev->id.minor;
	return place->fd < 0 ? -errno : 0;
}

static const struct gp_hal_ops toy_ops = {
	.name = "toy",
	.abi = GP_HAL_ABI,
	.close = toy_close,
	.open = toy_open,
	.probe = toy_probe,
	.slot = toy_slot,
};
GP_HAL_BACKEND(toy_ops);

static const struct gp_hal_ops stale_ops = {
	.name = "stale",
	.abi = GP_HAL_ABI + 1,
};
GP_HAL_BACKEND(stale_ops);

static void test_find(void **state)
{
	assert_non_null(gp_hal_find("toy"));
	assert_non_null(gp_hal_find("nvidia"));
	assert_non_null(gp_hal_find("softgpu"));
	assert_null(gp_hal_find("stale"));
	assert_null(gp_hal_find("toys"));
	assert_null(gp_hal_find(NULL));
}

static void test_dummies(void **state)
{
	const struct gp_hal_ops *ops = gp_hal_find("toy");
	const struct gp_class_value cls = { 0 };
	struct gp_hal_caps caps = { .caps = ~0u };
	struct gp_group *none = NULL;
	struct gp_hold *hold = NULL;
	struct gp_log *log = NULL;
	struct gp_timer *timer = NULL;
	struct gp_group_list list;
	char why[16] = "untouched";
	void *context = NULL;
	uint64_t value;

	assert_int_equal(ops->caps(&device, &caps), 0);
	assert_int_equal(caps.caps, 0);
	assert_int_equal(ops->busy(none), -EOPNOTSUPP);
	assert_int_equal(ops->get_slice(none, &value), -EOPNOTSUPP);
	assert_int_equal(ops->groups(&device, 0, &list), -EOPNOTSUPP);
	assert_int_equal(ops->hold(hold, 1), -EOPNOTSUPP);
	assert_int_equal(ops->hold_create(&device, NULL, &hold), -EOPNOTSUPP);
	assert_int_equal(ops->hold_queued(hold, NULL), -EOPNOTSUPP);
	assert_int_equal(ops->hold_stat(hold, NULL), -EOPNOTSUPP);
	assert_int_equal(ops->log_now(log, &value), -EOPNOTSUPP);
	assert_int_equal(ops->log_open(&device, &log), -EOPNOTSUPP);
	assert_int_equal(ops->log_read(log, NULL, 0), -EOPNOTSUPP);
	assert_int_equal(ops->memory(&device, &value, &value), -EOPNOTSUPP);
	assert_int_equal(ops->now(&device, &value), -EOPNOTSUPP);
	assert_int_equal(ops->process_context(&device, &context), -EOPNOTSUPP);
	assert_int_equal(ops->release(hold), -EOPNOTSUPP);
	assert_int_equal(ops->resume(&none, 1), -EOPNOTSUPP);
	assert_int_equal(ops->set_class(&device, 0, &cls), -EOPNOTSUPP);
	assert_int_equal(ops->set_preempt_mode(none, GP_PREEMPT_BLOCK), -EOPNOTSUPP);
	assert_int_equal(ops->set_slice(none, 1), -EOPNOTSUPP);
	assert_int_equal(ops->suspend(&none, 1), -EOPNOTSUPP);
	assert_int_equal(ops->timer_ack(timer), -EOPNOTSUPP);
	assert_int_equal(ops->timer_arm(timer, 1), -EOPNOTSUPP);
	assert_int_equal(ops->timer_create(&device, &timer), -EOPNOTSUPP);
	assert_int_equal(ops->timer_done(timer), -EOPNOTSUPP);
	assert_int_equal(ops->usage(none, &value), -EOPNOTSUPP);
	ops->explain(-ENODEV, why, sizeof(why));
	assert_string_equal(why, "untouched");
	ops->group_put(NULL);
	ops->hold_destroy(NULL);
	ops->log_close(NULL);
	ops->timer_destroy(NULL);
	gp_group_list_put(NULL);
	gp_device_close(NULL);
}

/* The lines for a driver that is too old, and for a device that belongs to others. */
static void test_nvidia_explains(void **state)
{
	const struct gp_hal_ops *nvidia = gp_hal_find("nvidia");
	char why[256] = "";

	assert_non_null(nvidia);
	nvidia->explain(-EOPNOTSUPP, why, sizeof(why));
	assert_string_equal(why, "nvidia: the driver is too old; install 535 or later");
	nvidia->explain(-EACCES, why, sizeof(why));
	assert_string_equal(why,
			    "nvidia: this user may not open /dev/nvidiactl or /dev/nvidia*; join "
			    "the group that owns them (ls -l /dev/nvidia*)");
}

/* One word of 8 bytes each except the name and the ABI: no op is left out. */
static void test_no_op_is_missing(void **state)
{
	struct gp_hal_ops empty = { .name = "empty", .abi = GP_HAL_ABI };
	struct gp_hal_ops full;
	void *op[(sizeof(full) - offsetof(struct gp_hal_ops, busy)) / sizeof(void *)];

	gp_hal_set_ops(&full, &empty);
	memcpy(op, &full.busy, sizeof(op));
	for (size_t i = 0; i < sizeof(op) / sizeof(op[0]); i++)
		assert_non_null(op[i]);
}

static void refuse(const char *spec, int error, const char *says)
{
	struct gp_device *dev = NULL;
	char why[256] = "";

	assert_int_equal(gp_device_open(spec, &dev, why, sizeof(why)), error);
	assert_null(dev);
	if (!strstr(why, says))
		fail_msg("'%s' does not say '%s'", why, says);
	assert_null(strchr(why, '\n'));
}

static void test_open(void **state)
{
	struct gp_device *dev = NULL;
	char why[256] = "unset";

	setenv("GPREEMPT_BACKEND", "toy", 1);
	assert_int_equal(gp_device_open(NULL, &dev, why, sizeof(why)), 0);
	assert_string_equal(dev->id.name, "toy0");
	assert_ptr_equal(dev->ops, gp_hal_find("toy"));
	gp_device_close(dev);
	assert_int_equal(gp_device_open("01:00.0", &dev, NULL, 0), 0);
	assert_string_equal(dev->id.name, "toy1");
	gp_device_close(dev);
	assert_int_equal(opened, 0);
}

static void test_open_refusals(void **state)
{
	setenv("GPREEMPT_BACKEND", "toy", 1);
	refuse("0", -EINVAL, "CUDA_VISIBLE_DEVICES");
	refuse("bogus", -EINVAL, "not a UUID");
	refuse("GPU-abababab", -EINVAL, "several devices match");
	refuse("GPU-00000000", -ENODEV, "no such device; see gpreempt doctor");
	refuse("05:00.0", -ENODEV, "no such device; see gpreempt doctor");
	setenv("GPREEMPT_BACKEND", "nvidea", 1);
	refuse(NULL, -EINVAL, "unknown backend");
	unsetenv("GPREEMPT_BACKEND");
	assert_int_equal(opened, 0);
}

static void slot_make(void)
{
	int fd;

	strcpy(slot_path, "/tmp/gp-test-slot-XXXXXX");
	fd = mkstemp(slot_path);
	assert_true(fd >= 0);
	close(fd);
	device.ops = gp_hal_find("toy");
	device.id.minor = 0;
}

static void test_slot(void **state)
{
	int one = -1, two = -1;

	slot_make();
	assert_int_equal(gp_slot_try(&device, &one), 0);
	assert_int_equal(gp_slot_try(&device, &two), -EBUSY);
	assert_int_equal(two, -1);
	/* Another device's slot is another byte. */
	device.id.minor = 1;
	assert_int_equal(gp_slot_try(&device, &two), 0);
	close(two);
	device.id.minor = 0;
	close(one);
	assert_int_equal(gp_slot_try(&device, &one), 0);
	assert_true(fcntl(one, F_GETFD) & FD_CLOEXEC);
	close(one);
	unlink(slot_path);
	assert_int_equal(gp_slot_try(&device, &one), -ENOENT);
}

/* The slot is released when its holder is killed, and a waiter wakes. */
static void test_slot_passes_on_at_death(void **state)
{
	int fd = -1, ready[2];
	char byte;
	pid_t pid;

	slot_make();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (gp_slot_try(&device, &fd) || write(ready[1], "r", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(gp_slot_try(&device, &fd), -EBUSY);
	kill(pid, SIGKILL);
	assert_int_equal(gp_slot_wait(&device, &fd), 0);
	close(fd);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	unlink(slot_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_dummies),
		cmocka_unit_test(test_nvidia_explains),
		cmocka_unit_test(test_no_op_is_missing),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_open_refusals),
		cmocka_unit_test(test_slot),
		cmocka_unit_test(test_slot_passes_on_at_death),
	};

	return gp_run_tests(tests);
}
