// SPDX-License-Identifier: Apache-2.0
/*
 * Restore over a backend of this test, which records its calls: all slices of a device before
 * any group runs, even if some calls fail.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/discover/proc.h"
#include "daemon/supervise/restore.h"
#include "gpreempt/hal.h"
#include "tests/common/gp_child.h"
#include "tests/common/gp_test.h"

#define DEVICES 2
#define CHILDREN 3
#define GROUPS 2 /* of a process: one compute, one copy */
#define DEFAULT_US 2048
#define CALLS_MAX 64

/* A call: 's': slice, 'r': resume, 'c': class (in us); its process; its number of groups. */
struct call {
	char what;
	pid_t pid;
	size_t n;
	uint64_t us;
	uint8_t device;
};

static struct call calls[CALLS_MAX];
static size_t call_count;
static int open_devices;
static uint32_t fake_has; /* GP_CAP_* */
static pid_t fails_groups, fails_slice, fails_resume;
static int fails_with;

static void note(char what, const struct gp_group *group, size_t n, uint64_t us)
{
	assert_true(call_count < CALLS_MAX);
	calls[call_count++] = (struct call){
		.what = what,
		.pid = group->pid,
		.n = n,
		.us = us,
		.device = group->dev->id.uuid[0],
	};
}

static int fake_probe(struct gp_device_list *list)
{
	memset(list, 0, sizeof(*list));
	list->count = DEVICES;
	for (size_t i = 0; i < DEVICES; i++)
		memset(list->dev[i].uuid, (int)i + 1, sizeof(list->dev[i].uuid));
	return 0;
}

static int fake_open(const struct gp_device_id *id, struct gp_device **dev)
{
	*dev = calloc(1, sizeof(**dev));
	assert_non_null(*dev);
	(*dev)->id = *id;
	open_devices++;
	return 0;
}

static void fake_close(struct gp_device *dev)
{
	open_devices--;
	free(dev);
}

static int fake_caps(struct gp_device *dev, struct gp_hal_caps *caps)
{
	*caps = (struct gp_hal_caps){ .caps = fake_has, .default_slice_us = DEFAULT_US };
	return 0;
}

static int fake_groups(struct gp_device *dev, pid_t pid, struct gp_group_list *list)
{
	if (pid == fails_groups)
		return fails_with;
	list->group = calloc(GROUPS, sizeof(*list->group));
	assert_non_null(list->group);
	for (list->count = 0; list->count < GROUPS; list->count++) {
		struct gp_group *group = calloc(1, sizeof(*group));

		assert_non_null(group);
		*group =
			(struct gp_group){ .dev = dev,
					   .pid = pid,
					   .kind = list->count ? GP_GROUP_COPY : GP_GROUP_COMPUTE };
		list->group[list->count] = group;
	}
	return 0;
}

static void fake_group_put(struct gp_group *group)
{
	free(group);
}

static int fake_set_slice(struct gp_group *group, uint64_t us)
{
	assert_int_equal(group->kind, GP_GROUP_COMPUTE);
	note('s', group, 1, us);
	return group->pid == fails_slice ? fails_with : 0;
}

/* One group cannot resume; nor can all together. */
static int fake_resume(struct gp_group *const *group, size_t n)
{
	note('r', group[0], n, 0);
	return group[0]->pid == fails_resume && (n > 1 || group[0]->kind == GP_GROUP_COPY) ?
		       fails_with :
		       0;
}

static int fake_set_class(struct gp_device *dev, pid_t pid, const struct gp_class_value *cls)
{
	const struct gp_group whose = { .dev = dev, .pid = pid };

	note('c', &whose, 0, cls->cls);
	return 0;
}

static const struct gp_hal_ops fake_ops = {
	.name = "fake",
	.abi = GP_HAL_ABI,
	.caps = fake_caps,
	.close = fake_close,
	.group_put = fake_group_put,
	.groups = fake_groups,
	.open = fake_open,
	.probe = fake_probe,
	.resume = fake_resume,
	.set_class = fake_set_class,
	.set_slice = fake_set_slice,
};
GP_HAL_BACKEND(fake_ops);

/* ---- processes, and a journal that names them -------------------------------------- */

static char path[64];
static struct gp_journal *journal;
static pid_t child[CHILDREN];

static int setup(void **state)
{
	snprintf(path, sizeof(path), "/tmp/gp-restore-%d", (int)getpid());
	assert_int_equal(gp_journal_open(path, &journal), 0);
	for (size_t i = 0; i < CHILDREN; i++)
		child[i] = gp_child_start();
	call_count = 0;
	fails_groups = fails_slice = fails_resume = 0;
	setenv("GPREEMPT_BACKEND", "fake", 1);
	return 0;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < CHILDREN; i++)
		if (child[i] > 0)
			gp_child_end(child[i]);
	gp_journal_close(journal);
	return unlink(path) || open_devices;
}

static struct gp_journal_record record_of(pid_t pid, int device)
{
	struct gp_journal_record r = { .pid = pid };

	assert_int_equal(gp_proc_start(pid, &r.start_ticks), 0);
	memset(r.uuid, device, sizeof(r.uuid));
	return r;
}

static void put(pid_t pid, int device)
{
	const struct gp_journal_record r = record_of(pid, device);

	assert_true(gp_journal_put(journal, &r) >= 0);
}

static bool takes_classes;

static void assert_stat(uint32_t processes, uint32_t gone, uint32_t failed)
{
	struct gp_restore_stat stat;

	gp_restore_all(journal, takes_classes, &stat);
	assert_int_equal(stat.processes, processes);
	assert_int_equal(stat.gone, gone);
	assert_int_equal(stat.failed, failed);
}

/* On @device: number of slices set and of groups resumed; none before all slices. */
static void assert_order(uint8_t device, size_t slices, size_t resumes)
{
	size_t s = 0, r = 0;

	for (size_t i = 0; i < call_count; i++) {
		if (calls[i].device != device)
			continue;
		if (calls[i].what == 's') {
			assert_int_equal(r, 0);
			assert_int_equal(calls[i].us, DEFAULT_US);
			s++;
		} else {
			r++;
		}
	}
	assert_int_equal(s, slices);
	assert_int_equal(r, resumes);
}

static void test_slices_first(void **state)
{
	put(child[0], 1);
	put(child[1], 2);
	put(child[2], 1);
	put(child[0], 2);
	assert_stat(4, 0, 0);
	assert_order(1, 2, 2);
	assert_order(2, 2, 2);
	for (size_t i = 0; i < call_count; i++)
		assert_true(calls[i].what == 's' || calls[i].n == GROUPS);
}

static void test_nobody(void **state)
{
	assert_stat(0, 0, 0);
	assert_int_equal(call_count, 0);
}

static void test_who_is_not_put_back(void **state)
{
	struct gp_journal_record banned = record_of(child[0], 1);
	struct gp_journal_record another = record_of(child[1], 1);

	banned.banned = 1;
	gp_journal_put(journal, &banned);
	/* Its memory is off the device. */
	banned.banned = 0;
	banned.away = GP_JOURNAL_AWAY;
	gp_journal_put(journal, &banned);
	/* Its number, but another process. */
	another.start_ticks--;
	gp_journal_put(journal, &another);
	another.pid = -1;
	gp_journal_put(journal, &another);
	put(child[2], 1);
	gp_child_end(child[2]);
	child[2] = 0;
	assert_stat(0, 3, 0);
	assert_int_equal(call_count, 0);
}

static void test_one_fails_and_the_others_do_not(void **state)
{
	put(child[0], 1);
	put(child[1], 1);
	put(child[2], 1);
	fails_groups = child[0];
	fails_with = -EPERM;
	assert_stat(2, 0, 1);
	assert_order(1, 2, 2);

	call_count = 0;
	fails_with = -ESRCH;
	assert_stat(2, 1, 0);

	call_count = 0;
	fails_groups = 0;
	fails_slice = child[1];
	fails_with = -EIO;
	assert_stat(2, 0, 1);
	/* It runs anyway. */
	assert_order(1, 3, 3);

	call_count = 0;
	fails_slice = 0;
	fails_resume = child[2];
	assert_stat(2, 0, 1);
	/* All at once, then each separately. */
	assert_order(1, 3, 3 + GROUPS);
}

static void test_a_device_that_is_not_there(void **state)
{
	put(child[0], 7);
	put(child[1], 7);
	put(child[2], 2);
	assert_stat(1, 0, 2);
	assert_order(2, 1, 1);
}

/* The process of the only class call; 0: none. */
static pid_t class_told_to(void)
{
	pid_t pid = 0;

	for (size_t i = 0; i < call_count; i++) {
		if (calls[i].what != 'c')
			continue;
		assert_int_equal(pid, 0);
		assert_int_equal(calls[i].us, GP_CLASS_NONE);
		pid = calls[i].pid;
	}
	call_count = 0;
	return pid;
}

static void test_classes_of_a_driver(void **state)
{
	struct gp_journal_record attached = record_of(child[0], 1);
	struct gp_journal_record came = record_of(child[1], 1);

	attached.origin = GP_WIRE_BY_ATTACH;
	came.origin = GP_WIRE_BY_RUN;
	gp_journal_put(journal, &attached);
	gp_journal_put(journal, &came);
	takes_classes = true;
	assert_stat(2, 0, 0);
	assert_int_equal(class_told_to(), 0); /* the driver has no classes */
	fake_has = GP_CAP_CLASS;
	assert_stat(2, 0, 0);
	assert_int_equal(class_told_to(), child[0]);
	takes_classes = false;
	assert_stat(2, 0, 0);
	assert_int_equal(class_told_to(), 0);
	fake_has = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest restore[] = {
		TEST(test_slices_first),
		TEST(test_nobody),
		TEST(test_who_is_not_put_back),
		TEST(test_one_fails_and_the_others_do_not),
		TEST(test_a_device_that_is_not_there),
		TEST(test_classes_of_a_driver),
	};

	return gp_run_tests(restore);
}
