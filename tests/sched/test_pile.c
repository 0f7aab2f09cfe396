// SPDX-License-Identifier: Apache-2.0
/* LC whose launches pile up: when BE has a long slice, and when it is preempted. */
#include <stdio.h>

#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define LC 40
#define OTHER 41
#define BE 1
#define WAIT (900 * US) /* BE is not preempted again in this time */

static void start_with(struct machine *m, const struct gp_sched_config *config, uint32_t be)
{
	machine_init(m, config);
	m->off_ns = m->on_ns = 500 * US;
	m->slice_ns = 100 * US;
	for (uint32_t i = 1; i <= be; i++)
		machine_add_be(m, i, 100, 0);
	machine_add(m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_tell(m, GP_EV_IDLE, LC);
}

static const struct gp_sched_config piles = {
	.rotate = 1,
	.slice_preempts = 1,
	.lc_preempt = GP_LC_CUT_PREEMPT,
	.pile_slice_us = GP_SCHED_PILE_SLICE_US,
};

static void start(struct machine *m, uint32_t be)
{
	start_with(m, &piles, be);
}

static void busy(struct machine *m, uint32_t tenant, uint32_t how, uint64_t at_ns)
{
	const struct gp_event ev = { .type = GP_EV_BUSY, .tenant = tenant, .busy = { how, at_ns } };

	m->idle[tenant] = false;
	assert_int_equal(machine_ev(m, ev), 0);
}

/* Launches for @launch_ns, of which the device is needed from @needs_ns on; then a wait. */
static void request(struct machine *m, uint32_t tenant, uint64_t launch_ns, uint64_t needs_ns)
{
	busy(m, tenant, GP_BUSY_PILES, m->d.now_ns + needs_ns);
	machine_run(m, launch_ns);
	busy(m, tenant, 0, 0);
	machine_run(m, WAIT);
	machine_tell(m, GP_EV_IDLE, tenant);
}

static void test_preempts(void **state)
{
	static struct machine m;

	start(&m, 1);
	assert_int_equal(m.slice_us[BE], GP_SCHED_BE_SLICE_US);
	/* It waits before it was expected to. */
	busy(&m, LC, GP_BUSY_PILES, m.d.now_ns + 20 * MS);
	machine_run(&m, 10 * MS);
	assert_int_equal(m.slice_us[BE], GP_SCHED_PILE_SLICE_US);
	assert_int_equal(m.preempts[BE], 0);
	busy(&m, LC, 0, 0);
	machine_run(&m, WAIT);
	assert_int_equal(m.preempts[BE], 1);
	machine_tell(&m, GP_EV_IDLE, LC);
	machine_run(&m, MS);
	/* At the expected time; and once more as it waits: it may have lost the device between. */
	request(&m, LC, 10 * MS, 7 * MS);
	assert_int_equal(m.preempts[BE], 3);
	assert_int_equal(m.slice_us[BE], GP_SCHED_PILE_SLICE_US);
	assert_true(drive_stat(&m.d, LC).piles);
	machine_end(&m);
}

/* It may have been about to have the device, where PREEMPT does nothing. */
static void test_again(void **state)
{
	static const uint64_t at_ms[] = { 0, 1, 3, 7, 15, 1000 };
	static struct machine m;

	start(&m, 1);
	request(&m, LC, 10 * MS, 20 * MS);
	m.preempts[BE] = 0;
	busy(&m, LC, GP_BUSY_PILES, m.d.now_ns + 20 * MS);
	machine_run(&m, 10 * MS);
	busy(&m, LC, 0, 0);
	for (uint32_t i = 0; i < 5; i++) {
		machine_run(&m, (at_ms[i + 1] - at_ms[i]) * MS - 1);
		assert_int_equal(m.preempts[BE], i + 1);
		machine_run(&m, 1);
	}
	machine_end(&m);
}

/* At the named time, and not before. */
static void test_in_time(void **state)
{
	static struct machine m;
	struct gp_sched_why why;
	uint64_t needs_ns;

	start(&m, 1);
	request(&m, LC, 10 * MS, 20 * MS);
	needs_ns = m.d.now_ns + 5 * MS;
	busy(&m, LC, GP_BUSY_PILES, needs_ns);
	assert_int_equal(gp_sched_why(m.d.sched, LC, &why), 0);
	assert_int_equal(why.reason, GP_WHY_PILES);
	assert_int_equal(why.other, BE);
	assert_int_equal(why.until_ns, needs_ns);
	assert_int_equal(m.armed_ns, needs_ns);
	machine_run(&m, 5 * MS - 1);
	assert_int_equal(m.preempts[BE], 1);
	machine_run(&m, 1);
	assert_int_equal(m.preempts[BE], 2);
	assert_int_equal(gp_sched_why(m.d.sched, LC, &why), 0);
	assert_int_equal(why.reason, GP_WHY_RUNS);
	machine_end(&m);
}

/*
 * A dense request of a program of both kinds: BE is preempted at its first launch, and has the
 * short slice while it lasts.
 */
static void test_both_kinds(void **state)
{
	static struct machine m;

	start(&m, 1);
	request(&m, LC, 10 * MS, 20 * MS);
	busy(&m, LC, 0, 0);
	machine_run(&m, WAIT);
	assert_int_equal(m.preempts[BE], 2);
	assert_int_equal(m.slice_us[BE], GP_SCHED_BE_SLICE_US);
	machine_tell(&m, GP_EV_IDLE, LC);
	machine_run(&m, MS);
	assert_int_equal(m.slice_us[BE], GP_SCHED_PILE_SLICE_US);
	/* For ten seconds it has dense requests alone. */
	for (int i = 0; i < 1000; i++) {
		busy(&m, LC, 0, 0);
		machine_run(&m, MS);
		machine_tell(&m, GP_EV_IDLE, LC);
		machine_run(&m, 10 * MS);
	}
	assert_false(drive_stat(&m.d, LC).piles);
	assert_int_equal(m.slice_us[BE], GP_SCHED_BE_SLICE_US);
	machine_end(&m);
}

/* LC that does not pile up has no long slice beside it, even if it is idle. */
static void test_beside_dense(void **state)
{
	static struct machine m;

	start(&m, 1);
	request(&m, LC, 10 * MS, 20 * MS);
	machine_add(&m, OTHER, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_tell(&m, GP_EV_IDLE, OTHER);
	machine_run(&m, MS);
	assert_int_equal(m.slice_us[BE], GP_SCHED_BE_SLICE_US);
	request(&m, LC, 10 * MS, 20 * MS);
	assert_int_equal(m.slice_us[BE], GP_SCHED_BE_SLICE_US);
	/* Both pile. */
	request(&m, OTHER, 10 * MS, 20 * MS);
	request(&m, LC, 10 * MS, 20 * MS);
	assert_int_equal(m.slice_us[BE], GP_SCHED_PILE_SLICE_US);
	machine_end(&m);
}

/* Two piles at once: BE is preempted for each wait, and no longer once both are done. */
static void test_two_piles(void **state)
{
	static struct machine m;

	start(&m, 1);
	machine_add(&m, OTHER, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	request(&m, LC, 10 * MS, 20 * MS);
	request(&m, OTHER, 10 * MS, 20 * MS);
	m.preempts[BE] = 0;
	busy(&m, LC, GP_BUSY_PILES, m.d.now_ns + 20 * MS);
	busy(&m, OTHER, GP_BUSY_PILES, m.d.now_ns + 4 * MS);
	machine_run(&m, 5 * MS);
	assert_int_equal(m.preempts[BE], 1);
	busy(&m, LC, 0, 0);
	machine_run(&m, WAIT);
	machine_tell(&m, GP_EV_IDLE, LC);
	machine_tell(&m, GP_EV_IDLE, OTHER);
	machine_run(&m, 50 * MS);
	assert_int_equal(m.preempts[BE], 2);
	machine_end(&m);
}

/* BE tenants take turns meanwhile, for their shares, and one that comes has the long slice. */
static void test_rotation(void **state)
{
	static struct machine m;
	uint64_t ran_ns[4];

	start(&m, 3);
	request(&m, LC, 10 * MS, 20 * MS);
	for (int i = 1; i <= 3; i++)
		ran_ns[i] = m.ran_ns[i];
	for (int i = 0; i < 600; i++)
		request(&m, LC, 15 * MS, 10 * MS);
	for (int i = 1; i <= 3; i++) {
		printf("BE %d: %llu of 9600 ms\n", i,
		       (unsigned long long)((m.ran_ns[i] - ran_ns[i]) / MS));
		assert_int_equal(m.slice_us[i], GP_SCHED_PILE_SLICE_US);
		assert_true(m.ran_ns[i] - ran_ns[i] > 2900 * MS);
	}
	machine_end(&m);
}

/* A preemption that is still in the queue when LC is done, is not asked for any more. */
static void test_too_late(void **state)
{
	static struct machine m;

	start(&m, 1);
	request(&m, LC, 10 * MS, 20 * MS);
	machine_spec(&m, BE, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_finish(&m);
	m.slice_ns = 5 * MS;
	machine_spec(&m, BE, (struct gp_class_request){ .cls = { GP_CLASS_BE, 100 } });
	m.preempts[BE] = 0;
	/* Its slice is being set for 5 ms. */
	busy(&m, LC, 0, 0);
	machine_run(&m, WAIT);
	machine_tell(&m, GP_EV_IDLE, LC);
	machine_run(&m, 50 * MS);
	assert_int_equal(m.preempts[BE], 0);
	/* And if LC still waits, it comes then. */
	machine_spec(&m, BE, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_finish(&m);
	machine_spec(&m, BE, (struct gp_class_request){ .cls = { GP_CLASS_BE, 100 } });
	busy(&m, LC, 0, 0);
	machine_run(&m, 5 * MS + WAIT);
	assert_int_equal(m.preempts[BE], 1);
	machine_end(&m);
}

/* A long slice that is refused leaves nothing to preempt. */
static void test_refused(void **state)
{
	static struct machine m;

	start(&m, 1);
	request(&m, LC, 10 * MS, 20 * MS);
	machine_spec(&m, BE, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_finish(&m);
	m.slice_ns = 200 * US;
	m.slice_errors_left = 100;
	machine_spec(&m, BE, (struct gp_class_request){ .cls = { GP_CLASS_BE, 100 } });
	m.preempts[BE] = 0;
	/* The device is needed while the slice is being set. */
	busy(&m, LC, GP_BUSY_PILES, m.d.now_ns + 100 * US);
	machine_run(&m, 10 * MS);
	assert_true(m.slice_errors_left < 99);
	assert_int_equal(m.preempts[BE], 0);
	machine_end(&m);
}

/* Without PREEMPT, with deadlines, and where it is not configured: as any other work. */
static void test_not_there(void **state)
{
	struct gp_sched_config config[3] = { piles, piles, piles };
	static struct machine m;

	config[0].lc_preempt = GP_LC_CUT_SUSPEND;
	config[1].lc_policy = &gp_policy_edf;
	config[2].pile_slice_us = 0;
	for (size_t i = 0; i < 3; i++) {
		start_with(&m, &config[i], 1);
		request(&m, LC, 10 * MS, 20 * MS);
		assert_int_equal(m.slice_us[BE], GP_SCHED_BE_SLICE_US);
		assert_int_equal(m.preempts[BE], 0);
		assert_false(drive_stat(&m.d, LC).piles);
		machine_end(&m);
	}
}

/* Page faults: while launches pile up they delay LC no more than its requests show. */
static void test_slow_to_leave(void **state)
{
	struct gp_sched_config config = piles;
	static struct machine m;
	uint64_t ran_ns;

	config.leave_limit_ns = MS;
	start_with(&m, &config, 1);
	m.leave_ns[BE] = 13 * MS;
	machine_run(&m, 5000 * MS);
	assert_true(gp_sched_leave_ns(m.d.sched) > 0);
	request(&m, LC, 10 * MS, 20 * MS);
	ran_ns = m.ran_ns[BE];
	for (int i = 0; i < 100; i++)
		request(&m, LC, 10 * MS, 20 * MS);
	assert_true(m.ran_ns[BE] - ran_ns > 1080 * MS);
	machine_end(&m);
}

/* Leaves, and changes of class, in the middle of a pile. */
static void test_ends(void **state)
{
	static struct machine m;

	start(&m, 1);
	request(&m, LC, 10 * MS, 20 * MS);
	busy(&m, LC, GP_BUSY_PILES, m.d.now_ns + 20 * MS);
	machine_spec(&m, LC, (struct gp_class_request){ .cls = { GP_CLASS_BE, 100 } });
	machine_run(&m, 1000 * MS);
	assert_true(m.ran_ns[LC] > 450 * MS);
	assert_int_equal(m.slice_us[BE], GP_SCHED_BE_SLICE_US);
	machine_spec(&m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	busy(&m, LC, GP_BUSY_PILES, m.d.now_ns + 20 * MS);
	machine_tell(&m, GP_EV_TENANT_LEAVE, LC);
	machine_run(&m, 100 * MS);
	assert_int_equal(m.slice_us[BE], GP_SCHED_BE_SLICE_US);
	assert_int_equal(m.armed_ns, 0);
	machine_end(&m);
}

/* A time that is no time: at once, or so far away that nobody waits for it. */
static void test_times(void **state)
{
	static struct machine m;

	start(&m, 1);
	busy(&m, LC, GP_BUSY_PILES, 0);
	assert_false(drive_stat(&m.d, LC).piles);
	machine_tell(&m, GP_EV_IDLE, LC);
	busy(&m, LC, GP_BUSY_PILES, UINT64_MAX);
	assert_true(m.armed_ns <= m.d.now_ns + 5000 * MS);
	machine_run(&m, 5001 * MS);
	assert_int_equal(m.preempts[BE], 1);
	machine_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preempts),      cmocka_unit_test(test_again),
		cmocka_unit_test(test_in_time),	      cmocka_unit_test(test_both_kinds),
		cmocka_unit_test(test_beside_dense),  cmocka_unit_test(test_two_piles),
		cmocka_unit_test(test_rotation),      cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_slow_to_leave), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_times),
	};

	return gp_run_tests(tests);
}
