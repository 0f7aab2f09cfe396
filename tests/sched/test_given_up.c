// SPDX-License-Identifier: Apache-2.0
/* After a slice was given up all controls succeed again: nobody may be left as it was then. */
#include <errno.h>

#include "sched/internal.h"
#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

#define FAILURES 5

static void start(struct drive *d, uint64_t idle_slice_us)
{
	const struct gp_sched_config config = { .rotate = 1,
						.slice_preempts = 1,
						.idle_slice_us = idle_slice_us };

	drive_init(d, &config);
}

static struct gp_group_state *group(struct drive *d, uint32_t id)
{
	for (uint32_t i = 0; i < d->sched->groups; i++)
		if (d->sched->group[i].id == id)
			return &d->sched->group[i];
	return NULL;
}

static void event(struct drive *d, struct gp_event ev)
{
	assert_int_equal(drive_ev(d, ev), 0);
}

static void appear(struct drive *d, uint32_t id, bool slice_unknown)
{
	event(d, (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
				    .tenant = id,
				    .group = { id, slice_unknown } });
}

static void outcome(struct drive *d, uint32_t id, int error)
{
	assert_true(group(d, id)->pending);
	event(d, (struct gp_event){ .type = GP_EV_OUTCOME,
				    .outcome = { group(d, id)->pending, error } });
}

static void pass(struct drive *d, uint64_t ns)
{
	d->now_ns += ns;
	event(d, (struct gp_event){ .type = GP_EV_TIMER });
}

/* The last one's retry waits. */
static void fail_slices(struct drive *d, uint32_t id)
{
	for (int i = 0; i < FAILURES; i++) {
		if (i)
			pass(d, 100 * MS);
		assert_int_equal(group(d, id)->pending_type, GP_DO_SET_SLICE);
		outcome(d, id, -EIO);
	}
}

/* 20 s without a failure. */
static void all_succeeds(struct drive *d)
{
	for (int i = 0; i < 200; i++) {
		for (uint32_t id = 1; id <= 2; id++)
			while (group(d, id) && group(d, id)->pending)
				outcome(d, id, 0);
		pass(d, 100 * MS);
	}
}

static void test_lc_gets_its_slice_after_be(void **state)
{
	const struct gp_class_request be = { .cls = { GP_CLASS_BE, 100 } };
	const struct gp_class_request lc = { .cls = { GP_CLASS_LC } };
	struct drive d;

	start(&d, 0);
	drive_join(&d, 1, GP_CLASS_LC, 0);
	appear(&d, 1, false);
	fail_slices(&d, 1);
	pass(&d, 100 * MS);
	event(&d, (struct gp_event){ .type = GP_EV_TENANT_CLASS, .tenant = 1, .spec = be });
	outcome(&d, 1, 0);
	event(&d, (struct gp_event){ .type = GP_EV_TENANT_CLASS, .tenant = 1, .spec = lc });
	all_succeeds(&d);
	assert_int_equal(group(&d, 1)->slice_us, GP_SCHED_LC_SLICE_US);
	drive_end(&d);
}

static void test_idle_tenant_is_resumed(void **state)
{
	struct drive d;

	start(&d, 500);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	appear(&d, 1, true);
	fail_slices(&d, 1);
	drive_join(&d, 2, GP_CLASS_BE, 100);
	appear(&d, 2, true);
	pass(&d, 20 * MS);
	assert_int_equal(group(&d, 1)->pending_type, GP_DO_SUSPEND);
	outcome(&d, 1, 0);
	event(&d, (struct gp_event){ .type = GP_EV_IDLE, .tenant = 1 });
	all_succeeds(&d);
	assert_int_equal(group(&d, 1)->run, GP_RUN_ON);
	drive_end(&d);
}

static void test_left_group_is_resumed(void **state)
{
	struct drive d;

	start(&d, 0);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	appear(&d, 1, false);
	drive_join(&d, 2, GP_CLASS_BE, 100);
	appear(&d, 2, true);
	event(&d, (struct gp_event){ .type = GP_EV_TENANT_LEAVE, .tenant = 2 });
	outcome(&d, 2, 0);
	fail_slices(&d, 2);
	pass(&d, 100 * MS);
	event(&d, (struct gp_event){ .type = GP_EV_GROUP_GONE, .group.id = 1 });
	assert_int_equal(group(&d, 2)->pending_type, GP_DO_RESUME);
	outcome(&d, 2, -EIO);
	appear(&d, 1, true);
	all_succeeds(&d);
	assert_true(gp_sched_settled(d.sched));
	drive_end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lc_gets_its_slice_after_be),
		cmocka_unit_test(test_idle_tenant_is_resumed),
		cmocka_unit_test(test_left_group_is_resumed),
	};

	return gp_run_tests(tests);
}
