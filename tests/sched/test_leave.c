// SPDX-License-Identifier: Apache-2.0
/*
 * BE tenants that are slow to leave the device: which count as slow, when they have their turns,
 * and that LC does not wait for them.
 */
#include <stdio.h>

#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define LC 40
#define SLOW 1
#define QUICK 2
#define LEAVE_NS (13 * MS)

static void start_with(struct machine *m, uint32_t be, uint32_t min_pct)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.leave_limit_ns = MS,
		.be_min_pct = min_pct,
	};

	machine_init(m, &config);
	m->off_ns = m->on_ns = 500 * US;
	for (uint32_t i = 1; i <= be; i++)
		machine_add_be(m, i, 100, 0);
	machine_add(m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_tell(m, GP_EV_IDLE, LC);
	m->leave_ns[SLOW] = LEAVE_NS;
}

/* What LC saw of BE. */
struct seen {
	uint32_t requests, met; /* .. that found a slow tenant on the device */
	uint64_t slow_ns, quick_ns;
};

/* Requests of 600 us, so far apart. */
static struct seen requests(struct machine *m, uint32_t n, uint64_t period_ns)
{
	const uint64_t slow_ns = m->ran_ns[SLOW], quick_ns = m->ran_ns[QUICK];
	struct seen seen = { .requests = n };

	for (uint32_t k = 0; k < n; k++) {
		seen.met += m->runs[SLOW];
		machine_tell(m, GP_EV_BUSY, LC);
		machine_run(m, 600 * US);
		machine_tell(m, GP_EV_IDLE, LC);
		machine_run(m, period_ns - 600 * US);
	}
	seen.slow_ns = m->ran_ns[SLOW] - slow_ns;
	seen.quick_ns = m->ran_ns[QUICK] - quick_ns;
	return seen;
}

/* The probes find it; LC's pauses of 99.4 ms are long enough for it. */
static void test_requests_far_apart(void **state)
{
	static struct machine m;
	struct seen seen;

	start_with(&m, 1, 0);
	requests(&m, 30, 100 * MS);
	seen = requests(&m, 100, 100 * MS);
	printf("a request each 100 ms: %u of %u met it, and it ran %llu ms of 10,000\n", seen.met,
	       seen.requests, (unsigned long long)(seen.slow_ns / MS));
	assert_int_equal(seen.met, 0);
	assert_true(seen.slow_ns > 8000 * MS);
	machine_end(&m);
}

/* In pauses of 19.4 ms it would leave again after 5 ms. */
static void test_requests_too_close(void **state)
{
	static struct machine m;

	start_with(&m, 1, 0);
	requests(&m, 300, 20 * MS);
	assert_int_equal(requests(&m, 200, 20 * MS).slow_ns, 0);
	machine_end(&m);
}

/* There is no room for it between the requests. When they end it has the device. */
static void test_requests_close_together(void **state)
{
	static struct machine m;
	struct seen seen;

	start_with(&m, 1, 0);
	requests(&m, 600, 5 * MS);
	seen = requests(&m, 1000, 5 * MS);
	assert_int_equal(seen.met, 0);
	assert_int_equal(seen.slow_ns, 0);
	machine_run(&m, 100 * MS);
	assert_true(m.on[SLOW]);
	machine_end(&m);
}

/* It has its minimum all the same. The time in which it leaves is part of that. */
static void test_minimum(void **state)
{
	static struct machine m;
	struct seen seen;

	start_with(&m, 1, 10);
	requests(&m, 600, 5 * MS);
	seen = requests(&m, 1000, 5 * MS);
	printf("10 %% of 5 s: %llu ms\n", (unsigned long long)(seen.slow_ns / MS));
	assert_true(seen.slow_ns > 500 * MS);
	assert_true(seen.slow_ns < 700 * MS);
	machine_end(&m);
}

/* Another tenant has the device in all that time. */
static void test_others_go_first(void **state)
{
	static struct machine m;
	struct seen seen;

	start_with(&m, 2, 0);
	requests(&m, 600, 5 * MS);
	seen = requests(&m, 1000, 5 * MS);
	assert_int_equal(seen.met, 0);
	assert_true(seen.quick_ns > 4900 * MS);
	/* LC is quiet: they take turns. */
	machine_run(&m, 10000 * MS);
	seen.slow_ns = m.ran_ns[SLOW];
	seen.quick_ns = m.ran_ns[QUICK];
	machine_run(&m, 10000 * MS);
	assert_true(m.ran_ns[SLOW] - seen.slow_ns > 4500 * MS);
	assert_true(m.ran_ns[QUICK] - seen.quick_ns > 4500 * MS);
	machine_end(&m);
}

/* It has its turn when LC comes more often: its turn is over then. */
static void test_turn_ends_for_others(void **state)
{
	static struct machine m;
	struct seen seen;

	start_with(&m, 2, 0);
	requests(&m, 60, 100 * MS);
	for (uint64_t k = 0; k < 20; k++) {
		machine_run(&m, 1000 * MS + k * 7 * MS);
		seen = requests(&m, 40, 5 * MS);
		assert_true(seen.quick_ns > 120 * MS);
	}
	machine_end(&m);
}

/* Beside LC that never pauses it has its part of the minimum, also if others could leave sooner. */
static void test_minimum_of_two(void **state)
{
	static struct machine m;
	uint64_t slow_ns, quick_ns;

	start_with(&m, 2, 10);
	requests(&m, 60, 100 * MS);
	slow_ns = m.ran_ns[SLOW];
	quick_ns = m.ran_ns[QUICK];
	machine_tell(&m, GP_EV_BUSY, LC);
	machine_run(&m, 20000 * MS);
	slow_ns = m.ran_ns[SLOW] - slow_ns;
	quick_ns = m.ran_ns[QUICK] - quick_ns;
	printf("beside LC for 20 s: slow %llu ms, quick %llu\n", (unsigned long long)(slow_ns / MS),
	       (unsigned long long)(quick_ns / MS));
	assert_true(slow_ns > 1000 * MS);
	machine_end(&m);
}

/* Until the machine begins a suspend, or one has failed: a probe comes within a second. */
static void await_probe(struct machine *m, bool fails)
{
	for (int ms = 0; fails ? m->errors_left : !m->queued; ms++) {
		assert_true(ms < 2000);
		machine_run(m, MS);
	}
}

/* A probe that fails is over, too: the next one comes in its time. */
static void test_probe_fails(void **state)
{
	static struct machine m;

	start_with(&m, 1, 0);
	m.leave_ns[SLOW] = 0;
	m.errors_left = 1;
	await_probe(&m, true);
	machine_run(&m, 50 * MS);
	assert_int_equal(m.longest_off_ns[SLOW], 0);
	machine_run(&m, 100 * MS);
	assert_true(m.longest_off_ns[SLOW] > 0);
	machine_end(&m);
}

/* A tenant that leaves quickly is suspended for probes only. */
static void test_quick_tenant(void **state)
{
	static struct machine m;
	struct seen seen;

	start_with(&m, 1, 0);
	m.leave_ns[SLOW] = 0;
	requests(&m, 600, 5 * MS);
	seen = requests(&m, 4000, 5 * MS);
	/* A probe a second. */
	assert_true(seen.slow_ns > 19950 * MS);
	assert_true(seen.slow_ns < 20000 * MS);
	machine_end(&m);
}

/* Two slow suspends of 32 are chance; and it is believed again when it has changed. */
static void test_chance_and_change(void **state)
{
	static struct machine m;
	struct seen seen;

	start_with(&m, 1, 0);
	for (int k = 0; k < 2; k++) {
		m.leave_ns[SLOW] = LEAVE_NS;
		await_probe(&m, false);
		m.leave_ns[SLOW] = 0;
		machine_run(&m, 1000 * MS);
	}
	seen = requests(&m, 400, 5 * MS);
	assert_true(seen.slow_ns > 1950 * MS);
	m.leave_ns[SLOW] = LEAVE_NS;
	requests(&m, 30, 100 * MS);
	seen = requests(&m, 100, 5 * MS);
	assert_true(seen.slow_ns < 100 * MS);
	m.leave_ns[SLOW] = 0;
	requests(&m, 60, 100 * MS);
	seen = requests(&m, 100, 5 * MS);
	assert_true(seen.slow_ns > 480 * MS);
	machine_end(&m);
}

/* Faults are outstanding at one of ten suspends. That is enough. */
static void test_slow_now_and_then(void **state)
{
	static struct machine m;
	uint64_t met = 0;

	start_with(&m, 1, 0);
	for (int k = 0; k < 1000; k++) {
		m.leave_ns[SLOW] = k % 10 ? 0 : LEAVE_NS;
		met += requests(&m, 1, 100 * MS).met * (k > 100);
	}
	printf("one of ten suspends is slow: it was met by %llu of 900 requests\n",
	       (unsigned long long)met);
	assert_true(met <= 9);
	machine_end(&m);
}

/* Work that LC names in advance, which its pauses do not show. */
static void test_named_work(void **state)
{
	static struct machine m;
	struct gp_sched_why why;

	start_with(&m, 1, 0);
	assert_int_equal(gp_sched_leave_ns(m.d.sched), 0);
	requests(&m, 30, 100 * MS);
	assert_int_equal(gp_sched_leave_ns(m.d.sched), LEAVE_NS + MS);
	machine_run(&m, 1000 * MS);
	assert_true(m.on[SLOW]);
	assert_int_equal(machine_ev(&m, (struct gp_event){ .type = GP_EV_BUSY,
							   .tenant = LC,
							   .busy.how = GP_BUSY_SOON }),
			 0);
	machine_run(&m, LEAVE_NS);
	assert_false(m.on[SLOW]);
	assert_int_equal(gp_sched_why(m.d.sched, SLOW, &why), 0);
	assert_int_equal(why.reason, GP_WHY_SLOW);
	/* It does not come. */
	machine_tell(&m, GP_EV_IDLE, LC);
	machine_run(&m, 2 * MS);
	assert_true(m.on[SLOW]);
	machine_end(&m);
}

/* Without the limit it is as any other. */
static void test_limit_changes(void **state)
{
	static struct machine m;
	struct seen seen;

	start_with(&m, 1, 0);
	requests(&m, 600, 5 * MS);
	assert_false(m.on[SLOW]);
	gp_sched_set_leave_limit(m.d.sched, 0);
	machine_tell(&m, GP_EV_TIMER, 0);
	seen = requests(&m, 100, 5 * MS);
	assert_true(seen.slow_ns > 490 * MS);
	gp_sched_set_leave_limit(m.d.sched, 20 * MS);
	requests(&m, 600, 5 * MS);
	seen = requests(&m, 100, 5 * MS);
	assert_true(seen.slow_ns > 480 * MS);
	machine_end(&m);
}

/* Nobody is measured without a limit, or without LC. */
static void test_no_probe_without_need(void **state)
{
	const struct gp_sched_config config = { .rotate = 1, .slice_preempts = 1 };
	static struct machine m;

	machine_init(&m, &config);
	m.off_ns = m.on_ns = 500 * US;
	machine_add_be(&m, SLOW, 100, 0);
	machine_add(&m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_tell(&m, GP_EV_IDLE, LC);
	machine_run(&m, 60000 * MS);
	assert_int_equal(m.longest_off_ns[SLOW], 0);
	machine_end(&m);
	start_with(&m, 1, 0);
	assert_int_equal(
		machine_ev(&m, (struct gp_event){ .type = GP_EV_TENANT_LEAVE, .tenant = LC }), 0);
	machine_run(&m, 60000 * MS);
	assert_int_equal(m.longest_off_ns[SLOW], 0);
	machine_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_far_apart),
		cmocka_unit_test(test_requests_too_close),
		cmocka_unit_test(test_requests_close_together),
		cmocka_unit_test(test_minimum),
		cmocka_unit_test(test_others_go_first),
		cmocka_unit_test(test_turn_ends_for_others),
		cmocka_unit_test(test_minimum_of_two),
		cmocka_unit_test(test_probe_fails),
		cmocka_unit_test(test_quick_tenant),
		cmocka_unit_test(test_chance_and_change),
		cmocka_unit_test(test_slow_now_and_then),
		cmocka_unit_test(test_named_work),
		cmocka_unit_test(test_limit_changes),
		cmocka_unit_test(test_no_probe_without_need),
	};

	return gp_run_tests(tests);
}
