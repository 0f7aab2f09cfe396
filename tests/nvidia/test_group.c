// SPDX-License-Identifier: Apache-2.0
#include "tests/common/gp_test.h"
#include "tests/nvidia/fake_rm.h"

static struct gp_nv_device *dev;
static struct gp_group_list list;
static int ctl;

/* @contexts contexts of one client, and as many compute groups in the list. */
static void setup(int contexts)
{
	uint32_t client, next = GP_RM_HABIT_OBJECT_BASE;

	fake_reset();
	ctl = fake_open_ctl();
	client = fake_client(ctl);
	for (int i = 0; i < contexts; i++)
		next = fake_context(ctl, client, 0, next);
	dev = fake_device(0);
	assert_non_null(dev);
	assert_int_equal(gp_nv_scan(dev, 0, &list, NULL), 0);
	assert_int_equal(list.count, (size_t)contexts * 4);
}

static void teardown(void)
{
	gp_group_list_put(&list);
	dev->base.ops->close(&dev->base);
	close(ctl);
}

static uint32_t disabled(const struct gp_group *group)
{
	const struct gp_nv_group *g = (const struct gp_nv_group *)(const void *)group;
	uint32_t n = 0;

	for (uint32_t i = 0; i < group->channels; i++)
		n += fake_find(fake_ino(ctl), g->client, g->channel[i])->disabled;
	return n;
}

static uint32_t all_disabled(void)
{
	uint32_t n = 0;

	for (size_t i = 0; i < list.count; i++)
		n += disabled(list.group[i]);
	return n;
}

static void test_slice(void **state)
{
	uint64_t us = 0;

	setup(1);
	assert_int_equal(gp_nv_get_slice(list.group[0], &us), 0);
	assert_int_equal(us, 2048);
	assert_int_equal(gp_nv_set_slice(list.group[0], 1), 0);
	assert_int_equal(gp_nv_get_slice(list.group[0], &us), 0);
	assert_int_equal(us, 1);
	assert_int_equal(gp_nv_set_slice(list.group[0], 5000000), 0);
	assert_int_equal(gp_nv_set_slice(list.group[0], 0), -ERANGE);
	assert_int_equal(gp_nv_set_slice(list.group[0], 5000001), -ERANGE);
	assert_int_equal(gp_nv_get_slice(list.group[0], &us), 0);
	assert_int_equal(us, 5000000);
	teardown();
}

static void test_slice_refused(void **state)
{
	uint64_t us = 99;

	setup(1);
	fake.fail_cmd = GP_RM_CTRL_TSG_GET_TIMESLICE;
	fake.fail_status = GP_RM_ERR_INSUFFICIENT_PERMISSIONS;
	assert_int_equal(gp_nv_get_slice(list.group[0], &us), -EPERM);
	assert_int_equal(us, 99);
	teardown();
}

static void test_mode(void **state)
{
	struct gp_nv_group *g;

	setup(1);
	g = gp_nv_of(gp_nv_group, list.group[0]);
	assert_int_equal(gp_nv_set_preempt_mode(list.group[0], GP_PREEMPT_INSTRUCTION), 0);
	assert_int_equal(fake_find(fake_ino(ctl), g->client, g->channel[0])->mode,
			 GP_RM_PREEMPT_CILP);
	assert_int_equal(gp_nv_set_preempt_mode(list.group[1], GP_PREEMPT_BLOCK), -EOPNOTSUPP);
	assert_int_equal(gp_nv_set_preempt_mode(list.group[0], (enum gp_preempt_mode)9), -EINVAL);
	teardown();
}

static void test_preempt(void **state)
{
	struct gp_nv_group *g;

	setup(2);
	g = gp_nv_of(gp_nv_group, list.group[4]);
	assert_int_equal(gp_nv_preempt(list.group[4]), 0);
	assert_int_equal(fake_find(fake_ino(ctl), g->client, g->tsg)->preempts, 1);
	g = gp_nv_of(gp_nv_group, list.group[0]);
	assert_int_equal(fake_find(fake_ino(ctl), g->client, g->tsg)->preempts, 0);
	fake.fail_cmd = GP_RM_CTRL_TSG_PREEMPT;
	fake.fail_status = GP_RM_ERR_INSUFFICIENT_PERMISSIONS;
	assert_int_equal(gp_nv_preempt(list.group[0]), -EPERM);
	teardown();
}

static void test_suspend_in_one_call(void **state)
{
	setup(3); /* 3 * 20 channels */
	assert_int_equal(gp_nv_suspend(list.group, list.count), 0);
	assert_int_equal(fake.disable_calls, 1);
	assert_int_equal(all_disabled(), 60);
	/* A suspended group gets no call; resuming twice is success. */
	assert_int_equal(gp_nv_suspend(list.group, list.count), 0);
	assert_int_equal(fake.disable_calls, 1);
	assert_int_equal(gp_nv_resume(list.group, list.count), 0);
	assert_int_equal(all_disabled(), 0);
	assert_int_equal(gp_nv_resume(list.group, list.count), 0);
	teardown();
}

static void test_suspend_beyond_one_call(void **state)
{
	setup(8); /* 160 channels */
	assert_int_equal(gp_nv_suspend(list.group, list.count), 0);
	assert_int_equal(all_disabled(), 160);
	assert_int_equal(fake.disable_calls, 3);
	assert_true(fake.largest_disable <= GP_RM_DISABLE_MAX);
	assert_int_equal(gp_nv_resume(list.group, list.count), 0);
	assert_int_equal(all_disabled(), 0);
	teardown();
}

static void test_failed_suspend_is_undone(void **state)
{
	setup(8);
	assert_int_equal(gp_nv_suspend(&list.group[0], 1), 0);
	fake.fail_cmd = GP_RM_CTRL_FIFO_DISABLE_CHANNELS;
	fake.fail_after = 2;
	fake.fail_times = 1;
	fake.fail_status = GP_RM_ERR_TIMEOUT;
	/* The last of three calls fails: the groups of the first two run again. */
	assert_int_equal(gp_nv_suspend(list.group, list.count), -ETIMEDOUT);
	assert_int_equal(fake.fail_cmd, 0);
	assert_int_equal(disabled(list.group[0]), list.group[0]->channels);
	assert_int_equal(all_disabled(), list.group[0]->channels);
	assert_int_equal(gp_nv_resume(list.group, list.count), 0);
	assert_int_equal(all_disabled(), 0);
	teardown();
}

/* The driver refuses all calls, also the undoing ones, and works again later. */
static void test_suspend_that_cannot_be_undone(void **state)
{
	setup(8);
	fake.fail_cmd = GP_RM_CTRL_FIFO_DISABLE_CHANNELS;
	fake.fail_after = 2;
	fake.fail_status = GP_RM_ERR_TIMEOUT;
	assert_int_equal(gp_nv_suspend(list.group, list.count), -ETIMEDOUT);
	fake.fail_cmd = 0;
	assert_int_equal(gp_nv_suspend(list.group, list.count), 0);
	assert_int_equal(all_disabled(), 160);
	assert_int_equal(gp_nv_resume(list.group, list.count), 0);
	assert_int_equal(all_disabled(), 0);
	teardown();
}

/* One group of the middle has lost a channel: the driver refuses that call. */
static void test_group_that_is_gone(void **state)
{
	struct gp_nv_group *g;
	struct fake_object *o;

	setup(8);
	assert_int_equal(gp_nv_suspend(&list.group[0], 1), 0);
	g = gp_nv_of(gp_nv_group, list.group[17]);
	o = fake_find(fake_ino(ctl), g->client, g->channel[2]);
	o->handle = 1;
	assert_int_equal(gp_nv_suspend(list.group, list.count), -ESRCH);
	/* Group 0 was suspended before and stays suspended; all others run again. */
	assert_int_equal(disabled(list.group[0]), list.group[0]->channels);
	for (size_t i = 1; i < list.count; i++)
		if (i != 17)
			assert_int_equal(disabled(list.group[i]), 0);
	assert_int_equal(gp_nv_resume(list.group, list.count), -ESRCH);
	assert_int_equal(disabled(list.group[0]), 0);
	teardown();
}

static void test_groups_of_two_devices_are_refused(void **state)
{
	struct gp_device other;
	struct gp_group *pair[2];

	setup(1);
	pair[0] = list.group[0];
	pair[1] = list.group[1];
	pair[1]->dev = &other;
	assert_int_equal(gp_nv_suspend(pair, 2), -EINVAL);
	assert_int_equal(all_disabled(), 0);
	pair[1]->dev = pair[0]->dev;
	teardown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slice),
		cmocka_unit_test(test_slice_refused),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_preempt),
		cmocka_unit_test(test_suspend_in_one_call),
		cmocka_unit_test(test_suspend_beyond_one_call),
		cmocka_unit_test(test_failed_suspend_is_undone),
		cmocka_unit_test(test_suspend_that_cannot_be_undone),
		cmocka_unit_test(test_group_that_is_gone),
		cmocka_unit_test(test_groups_of_two_devices_are_refused),
	};

	return gp_run_tests(tests);
}
