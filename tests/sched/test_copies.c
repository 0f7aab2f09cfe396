// SPDX-License-Identifier: Apache-2.0
/*
 * Groups of copy engines: each has the slice of its tenant's class, and counts for nothing else.
 * world.h checks the same of random sequences.
 */
#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

#define KERNELS(tenant) ((tenant)*10)
#define COPIES(tenant) ((tenant)*10 + 1)

static const struct gp_sched_config rotates = { .rotate = 1,
						.slice_preempts = 1,
						.lc_preempt = GP_LC_CUT_PREEMPT };

static void copies_appear(struct drive *d, uint32_t tenant)
{
	assert_int_equal(drive_ev(d,
				  (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
						     .tenant = tenant,
						     .group = { COPIES(tenant), .copies = true } }),
			 0);
}

static void assert_slice(struct drive *d, uint32_t group, uint64_t slice_us)
{
	const struct gp_decision *set = drive_find(d, GP_DO_SET_SLICE);

	assert_non_null(set);
	assert_int_equal(set->group, group);
	assert_int_equal(set->slice_us, slice_us);
	drive_outcome(d, GP_DO_SET_SLICE, 0);
}

static void test_slice_of_the_class(void **state)
{
	static const struct gp_sched_config alone = { .slice_preempts = 1 };
	struct gp_event lc = { .type = GP_EV_TENANT_CLASS, .tenant = 1 };
	struct drive d;

	drive_init(&d, &alone);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	/* Without the slot, too. */
	copies_appear(&d, 1);
	assert_slice(&d, COPIES(1), GP_SCHED_COPY_SLICE_US);
	lc.spec.cls = (struct gp_class_value){ GP_CLASS_LC, 0 };
	assert_int_equal(drive_ev(&d, lc), 0);
	assert_slice(&d, COPIES(1), GP_SCHED_LC_SLICE_US);
	lc.spec.cls = (struct gp_class_value){ GP_CLASS_NONE, 0 };
	assert_int_equal(drive_ev(&d, lc), 0);
	assert_slice(&d, COPIES(1), 0);
	drive_end(&d);
}

static void test_no_slices_no_copies(void **state)
{
	static const struct gp_sched_config suspends = { .rotate = 1, .slots = 4 };
	struct drive d;

	drive_init(&d, &suspends);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	copies_appear(&d, 1);
	assert_null(drive_find(&d, GP_DO_SET_SLICE));
	drive_end(&d);
}

/* A tenant that only copies has no turn, so it delays nobody's. */
static void test_copies_take_no_turn(void **state)
{
	struct drive d;

	drive_init(&d, &rotates);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	drive_join(&d, 2, GP_CLASS_BE, 100);
	copies_appear(&d, 2);
	assert_slice(&d, COPIES(2), GP_SCHED_COPY_SLICE_US);
	assert_int_equal(drive_appear(&d, 1, KERNELS(1)), 0);
	assert_slice(&d, KERNELS(1), GP_SCHED_BE_SLICE_US);
	assert_true(drive_stat(&d, 1).resident);
	drive_at(&d, d.now_ns + 500 * MS, GP_EV_TIMER, 0);
	assert_int_equal(d.out.count, 0);
	assert_true(drive_stat(&d, 1).resident);
	assert_int_equal(drive_stat(&d, 2).run_ns, 0);
	drive_end(&d);
}

/* LC's copies are no reason to end its turn. */
static void test_copies_are_not_preempted(void **state)
{
	struct drive d;

	drive_init(&d, &rotates);
	for (uint32_t t = 1; t <= 2; t++) {
		drive_join(&d, t, GP_CLASS_LC, t);
		copies_appear(&d, t);
		assert_slice(&d, COPIES(t), GP_SCHED_LC_SLICE_US);
	}
	drive_at(&d, d.now_ns + MS, GP_EV_BUSY, 2);
	drive_at(&d, d.now_ns + MS, GP_EV_BUSY, 1);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_end(&d);
}

static void mover_appears(struct drive *d, uint32_t tenant, uint32_t group, bool copies)
{
	assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
							.tenant = tenant,
							.group = { group, .copies = copies,
								   .aside = true } }),
			 0);
}

/* It runs beside the turns of others, and its process has no turn for it. */
static void test_a_mover_takes_no_turn(void **state)
{
	struct gp_sched_config config = rotates;
	struct drive d;

	config.idle_slice_us = 500;
	drive_init(&d, &config);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	drive_join(&d, 2, GP_CLASS_BE, 100);
	mover_appears(&d, 2, KERNELS(2), false);
	assert_slice(&d, KERNELS(2), 500);
	assert_int_equal(drive_appear(&d, 1, KERNELS(1)), 0);
	assert_slice(&d, KERNELS(1), GP_SCHED_BE_SLICE_US);
	drive_at(&d, d.now_ns + 500 * MS, GP_EV_TIMER, 0);
	assert_int_equal(d.out.count, 0);
	assert_true(drive_stat(&d, 1).resident);
	assert_int_equal(drive_stat(&d, 2).run_ns, 0);
	drive_end(&d);
}

/* LC's mover is not one of LC's requests. */
static void test_slices_of_movers(void **state)
{
	struct drive d;

	drive_init(&d, &rotates);
	drive_join(&d, 1, GP_CLASS_LC, 0);
	mover_appears(&d, 1, COPIES(1), true);
	assert_slice(&d, COPIES(1), GP_SCHED_MOVER_SLICE_US);
	mover_appears(&d, 1, KERNELS(1), false);
	assert_slice(&d, KERNELS(1), GP_SCHED_LC_SLICE_US);
	drive_join(&d, 2, GP_CLASS_BE, 100);
	mover_appears(&d, 2, COPIES(2), true);
	assert_slice(&d, COPIES(2), GP_SCHED_COPY_SLICE_US);
	drive_end(&d);
}

/* A slice that cannot be set is given up, whatever slice it has: it harms no other group. */
static void test_slice_given_up(void **state)
{
	struct gp_event appear = { .type = GP_EV_GROUP_APPEAR,
				   .tenant = 1,
				   .group = { COPIES(1), .copies = true, .slice_unknown = true } };
	uint32_t tries = 0;
	struct drive d;

	drive_init(&d, &rotates);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	assert_int_equal(drive_ev(&d, appear), 0);
	for (int i = 0; i < 20; i++) {
		if (drive_find(&d, GP_DO_SET_SLICE)) {
			tries++;
			drive_outcome(&d, GP_DO_SET_SLICE, -EIO);
		}
		drive_at(&d, d.now_ns + 100 * MS, GP_EV_TIMER, 0);
	}
	assert_int_equal(tries, 5);
	drive_end(&d);
}

static void test_put_back(void **state)
{
	struct drive d;

	drive_init(&d, &rotates);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	copies_appear(&d, 1);
	assert_slice(&d, COPIES(1), GP_SCHED_COPY_SLICE_US);
	assert_int_equal(drive_tenant_ev(&d, GP_EV_TENANT_LEAVE, 1), 0);
	assert_false(gp_sched_settled(d.sched));
	assert_slice(&d, COPIES(1), 0);
	assert_true(gp_sched_settled(d.sched));
	drive_end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slice_of_the_class),
		cmocka_unit_test(test_no_slices_no_copies),
		cmocka_unit_test(test_copies_take_no_turn),
		cmocka_unit_test(test_copies_are_not_preempted),
		cmocka_unit_test(test_a_mover_takes_no_turn),
		cmocka_unit_test(test_slices_of_movers),
		cmocka_unit_test(test_slice_given_up),
		cmocka_unit_test(test_put_back),
	};

	return gp_run_tests(tests);
}
