// SPDX-License-Identifier: Apache-2.0
/* Policies, weights, caps, levels and classes that change while tenants run. */
#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define QUANTUM_NS (50 * MS)

static struct gp_class_request be_spec(uint32_t weight, uint32_t cap_pct)
{
	return (struct gp_class_request){ .cls = { GP_CLASS_BE, weight }, .cap_pct = cap_pct };
}

static struct gp_class_request lc_spec(uint32_t level, uint64_t deadline_ns)
{
	return (struct gp_class_request){ .cls = { GP_CLASS_LC, level },
					  .deadline_ns = deadline_ns };
}

static void start(struct machine *m, const struct gp_be_policy *policy, size_t n)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.quantum_ns = QUANTUM_NS,
		.be_policy = policy,
	};

	machine_init(m, &config);
	for (uint32_t i = 1; i <= n; i++)
		machine_add_be(m, i, 100, 0);
}

/* Shares of tenants 1 and 2 in the next @ns, to two turns: in parts of @of. */
static void check_shares(struct machine *m, uint64_t ns, uint64_t part1, uint64_t part2,
			 uint64_t of)
{
	uint64_t before1 = m->ran_ns[1], before2 = m->ran_ns[2];
	uint64_t slack = 2 * QUANTUM_NS + ns / 100;

	machine_run(m, ns);
	assert_in_range(m->ran_ns[1] - before1 + slack, ns * part1 / of,
			ns * part1 / of + 2 * slack);
	assert_in_range(m->ran_ns[2] - before2 + slack, ns * part2 / of,
			ns * part2 / of + 2 * slack);
}

/* The new weight counts from then on; past time is neither made up nor lost. */
static void test_weight(void **state)
{
	static const struct gp_be_policy *const each[] = { &gp_policy_credit, &gp_policy_fair };

	for (size_t p = 0; p < 2; p++) {
		static struct machine m;

		start(&m, each[p], 2);
		check_shares(&m, 10000 * MS, 1, 1, 2);
		machine_spec(&m, 1, be_spec(300, 0));
		check_shares(&m, 10000 * MS, 3, 1, 4);
		machine_spec(&m, 1, be_spec(25, 0));
		check_shares(&m, 10000 * MS, 1, 4, 5);
		machine_end(&m);
	}
}

/* Time up to the change, which no step has charged yet, counts by the old weight and policy. */
static void test_past_time(void **state)
{
	static struct machine m;

	start(&m, &gp_policy_fair, 1);
	machine_run(&m, 1000 * MS);
	machine_spec(&m, 1, be_spec(1000, 0));
	assert_int_equal(drive_stat(&m.d, 1).vruntime_ns, 1000 * MS);
	machine_run(&m, 1000 * MS);
	machine_tell(&m, GP_EV_TIMER, 0);
	assert_int_equal(drive_stat(&m.d, 1).vruntime_ns, 1100 * MS);
	/* The account begins again: reports refund nothing of the time before. */
	gp_sched_set_policy(m.d.sched, &gp_policy_fair, NULL);
	machine_usage(&m, 1, 100 * MS, 900 * MS);
	assert_int_equal(drive_stat(&m.d, 1).vruntime_ns, 1110 * MS);
	machine_end(&m);
}

static void test_cap(void **state)
{
	static struct machine m;

	start(&m, &gp_policy_credit, 2);
	check_shares(&m, 10000 * MS, 1, 1, 2);
	machine_spec(&m, 1, be_spec(100, 20));
	check_shares(&m, 10000 * MS, 20, 80, 100);
	machine_spec(&m, 1, be_spec(100, 40));
	check_shares(&m, 10000 * MS, 40, 60, 100);
	machine_spec(&m, 2, be_spec(100, 30));
	check_shares(&m, 10000 * MS, 40, 30, 100);
	machine_spec(&m, 1, be_spec(100, 0));
	check_shares(&m, 10000 * MS, 70, 30, 100);
	machine_end(&m);
}

static void change(struct machine *m, const struct gp_be_policy *be)
{
	gp_sched_set_policy(m->d.sched, be, NULL);
	machine_tell(m, GP_EV_TIMER, 0);
}

/* Each policy counts from its start, without debts of the former one. */
static void test_be_policy(void **state)
{
	static struct machine m;

	start(&m, &gp_policy_rr, 2);
	machine_spec(&m, 1, be_spec(300, 0));
	machine_spec(&m, 2, be_spec(100, 25));
	check_shares(&m, 10000 * MS, 1, 1, 2);
	change(&m, &gp_policy_fair);
	check_shares(&m, 10000 * MS, 3, 1, 4);
	change(&m, &gp_policy_credit);
	check_shares(&m, 10000 * MS, 75, 25, 100);
	machine_tell(&m, GP_EV_IDLE, 1);
	check_shares(&m, 10000 * MS, 0, 25, 100);
	change(&m, &gp_policy_rr);
	check_shares(&m, 10000 * MS, 0, 1, 1);
	machine_tell(&m, GP_EV_BUSY, 1);
	check_shares(&m, 10000 * MS, 1, 1, 2);
	machine_end(&m);
}

/* The current turn continues to its end. */
static void test_turn_is_kept(void **state)
{
	static struct machine m;
	uint32_t has;

	start(&m, &gp_policy_fair, 3);
	machine_run(&m, 1020 * MS);
	has = machine_resident(&m);
	change(&m, &gp_policy_credit);
	assert_int_equal(machine_resident(&m), has);
	machine_run(&m, 29 * MS);
	assert_int_equal(machine_resident(&m), has);
	machine_run(&m, 2 * MS);
	assert_int_not_equal(machine_resident(&m), has);
	machine_end(&m);
}

/* A hold moves at once with levels, deadlines, and the policy among LC. */
static void test_lc(void **state)
{
	const struct gp_sched_config config = { .slice_preempts = 1 };
	struct drive d;

	drive_init(&d, &config);
	for (uint32_t i = 1; i <= 2; i++)
		assert_int_equal(
			drive_ev(&d, (struct gp_event){ .type = GP_EV_TENANT_JOIN,
							.tenant = i,
							.spec = lc_spec(i, i == 2 ? 10 * MS : 0) }),
			0);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 2);
	assert_true(drive_stat(&d, 1).held);
	assert_false(drive_stat(&d, 2).held);

	drive_ev(&d, (struct gp_event){ .type = GP_EV_TENANT_CLASS,
					.tenant = 2,
					.spec = lc_spec(0, 10 * MS) });
	assert_true(drive_stat(&d, 2).held);
	assert_false(drive_stat(&d, 1).held);
	drive_ev(&d, (struct gp_event){ .type = GP_EV_TENANT_CLASS,
					.tenant = 2,
					.spec = lc_spec(2, 10 * MS) });
	assert_true(drive_stat(&d, 1).held);

	gp_sched_set_policy(d.sched, NULL, &gp_policy_edf);
	drive_at(&d, d.now_ns + MS, GP_EV_TIMER, 0);
	assert_true(drive_stat(&d, 2).held);
	assert_false(drive_stat(&d, 1).held);
	/* Counted from the arrival of its work, 1 ms ago. */
	drive_ev(&d, (struct gp_event){ .type = GP_EV_TENANT_CLASS,
					.tenant = 1,
					.spec = lc_spec(1, 10 * MS - US) });
	assert_true(drive_stat(&d, 1).held);
	gp_sched_set_policy(d.sched, NULL, &gp_policy_level);
	drive_at(&d, d.now_ns, GP_EV_TIMER, 0);
	assert_true(drive_stat(&d, 1).held);
	assert_int_equal(drive_stat(&d, 1).deadlines_missed, 0);
	drive_end(&d);
}

/* Out of the rotation it always runs; back in it, nothing is saved up. */
static void test_class(void **state)
{
	static struct machine m;

	start(&m, &gp_policy_fair, 3);
	machine_run(&m, 1000 * MS);
	machine_spec(&m, 1, lc_spec(0, 0));
	machine_finish(&m);
	assert_true(m.on[1]);
	machine_run(&m, 5000 * MS);
	assert_true(m.on[1]);
	assert_int_equal(drive_stat(&m.d, 1).resident, 0);
	machine_spec(&m, 1, be_spec(100, 0));
	machine_finish(&m);
	machine_spec(&m, 3, lc_spec(0, 0));
	check_shares(&m, 10000 * MS, 1, 1, 2);
	machine_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weight),	     cmocka_unit_test(test_past_time),
		cmocka_unit_test(test_cap),	     cmocka_unit_test(test_be_policy),
		cmocka_unit_test(test_turn_is_kept), cmocka_unit_test(test_lc),
		cmocka_unit_test(test_class),
	};

	return gp_run_tests(tests);
}
