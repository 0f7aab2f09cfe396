// SPDX-License-Identifier: Apache-2.0
/* When a hold starts. */
#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

#define MARGIN_MIN (40 * US)
#define MARGIN_MAX MS

static uint64_t lead(const struct gp_prepreempt *p)
{
	return 100 * MS - gp_prepreempt_start(p, 0, 100 * MS);
}

static void test_steady_state(void **state)
{
	struct gp_prepreempt p;

	gp_prepreempt_init(&p, 200 * US);
	assert_int_equal(lead(&p), 250 * US);
	for (int i = 0; i < 200; i++) {
		gp_prepreempt_work(&p, 10 * MS, 300 * US, 10 * MS);
		gp_prepreempt_switch(&p, 165 * US + (uint64_t)i % 3 * 5 * US);
		assert_in_range(lead(&p), 200 * US, 260 * US);
	}
	assert_in_range(lead(&p), 200 * US, 250 * US);
	assert_int_equal(p.switch_min_ns, 165 * US);
	assert_int_equal(p.switch_max_ns, 175 * US);
}

/* Late wake-ups count at once, and fade slowly. */
static void test_timer_lateness(void **state)
{
	struct gp_prepreempt p;
	uint64_t punctual, late;

	gp_prepreempt_init(&p, 200 * US);
	gp_prepreempt_timer(&p, 0);
	punctual = lead(&p);
	for (int i = 0; i < 8; i++)
		gp_prepreempt_timer(&p, 150 * US);
	late = lead(&p);
	assert_in_range(late, punctual + 140 * US, punctual + 150 * US);
	gp_prepreempt_timer(&p, 0);
	assert_in_range(lead(&p), late - 3 * US, late - US);
	gp_prepreempt_timer(&p, UINT64_MAX);
	assert_in_range(lead(&p), late, punctual + 500 * US);
	for (int i = 0; i < 1000; i++)
		gp_prepreempt_timer(&p, 0);
	assert_in_range(lead(&p), punctual, punctual + US);
}

static void test_margin_grows_and_shrinks(void **state)
{
	struct gp_prepreempt p;
	uint64_t before;

	gp_prepreempt_init(&p, 200 * US);
	before = p.margin_ns;
	gp_prepreempt_work(&p, 10 * MS, 1000 * US, 10 * MS - 210 * US);
	assert_true(p.margin_ns > before);
	before = p.margin_ns;
	p.bias_ns = 0;
	gp_prepreempt_work(&p, 10 * MS, 1000 * US, 10 * MS + 100 * US);
	assert_int_equal(p.margin_ns, before); /* 10 %: neither */
	p.bias_ns = 0;
	gp_prepreempt_work(&p, 10 * MS, 1000 * US, 10 * MS + 40 * US);
	assert_true(p.margin_ns < before);
	before = p.margin_ns;
	gp_prepreempt_switch(&p, p.switch_ns * 13 / 10);
	assert_true(p.margin_ns > before);
}

static void test_margin_is_bounded(void **state)
{
	struct gp_prepreempt p;

	gp_prepreempt_init(&p, 200 * US);
	for (uint64_t i = 0; i < 100; i++) {
		gp_prepreempt_work(&p, 10 * MS, 300 * US, i % 2 ? 4 * MS : 16 * MS);
		assert_true(p.margin_ns <= MARGIN_MAX);
	}
	assert_int_equal(p.margin_ns, MARGIN_MAX);
	for (int i = 0; i < 200; i++)
		gp_prepreempt_switch(&p, p.switch_ns);
	assert_in_range(p.margin_ns, MARGIN_MIN, MARGIN_MIN + US);
}

static void test_switch_rises_fast_falls_slowly(void **state)
{
	struct gp_prepreempt p;
	uint64_t est;

	gp_prepreempt_init(&p, 200 * US);
	gp_prepreempt_switch(&p, 400 * US);
	assert_int_equal(p.switch_ns, 300 * US);
	gp_prepreempt_switch(&p, 15 * US); /* an idle device */
	assert_true(p.switch_ns > 290 * US);
	est = p.switch_ns;
	gp_prepreempt_switch(&p, 20 * MS); /* one outlier */
	assert_true(p.switch_ns <= est * 5 / 2 + 1);

	gp_prepreempt_init(&p, 200 * US);
	for (int i = 0; i < 400; i++) { /* idle now and then */
		gp_prepreempt_switch(&p, i % 3 ? 170 * US : 15 * US);
		assert_true(p.switch_ns + p.margin_ns >= 170 * US);
	}
}

/* One long switch in fifty is expected each time; a single one by chance is not. */
static void test_now_and_then_a_long_one(void **state)
{
	struct gp_prepreempt p;

	gp_prepreempt_init(&p, 200 * US);
	gp_prepreempt_switch(&p, 700 * US);
	for (int i = 0; i < 400; i++)
		gp_prepreempt_switch(&p, 170 * US);
	assert_true(p.switch_ns < 220 * US);
	for (int i = 0; i < 1000; i++) {
		if (i > 100)
			assert_true(p.switch_ns >= 600 * US);
		gp_prepreempt_switch(&p, i % 50 ? 170 * US : (uint64_t)(600 + i % 3) * US);
	}
	for (int i = 0; i < 400; i++)
		gp_prepreempt_switch(&p, 170 * US);
	assert_true(p.switch_ns < 220 * US);
}

/* A longer switch than all before comes now and then: the margin is not their sum. */
static void test_margin_falls_between_long_ones(void **state)
{
	struct gp_prepreempt p;
	uint64_t most = 0;

	gp_prepreempt_init(&p, 200 * US);
	for (uint64_t i = 1; i <= 5000; i++) {
		uint64_t ns = i % 60 ? (uint64_t)(170 + i % 7) * US :
				       (uint64_t)(300 + i * 7919 % 700) * US;

		gp_prepreempt_switch(&p, ns);
		if (i > 1000 && p.margin_ns > most)
			most = p.margin_ns;
	}
	print_message("margin: %llu us at most\n", (unsigned long long)(most / US));
	assert_true(most < 150 * US);
}

/* An abandoned wait is a lower bound of the switch; a shorter one changes nothing. */
static void test_missed_switches_count(void **state)
{
	struct gp_prepreempt p;
	uint64_t lead;

	gp_prepreempt_init(&p, 200 * US);
	gp_prepreempt_missed(&p, 100 * US);
	assert_int_equal(p.switch_ns, 200 * US);
	/* A switch of 600 us that work does not wait for: in time after some of them. */
	for (int i = 0; i < 8 && gp_prepreempt_lead(&p) < 600 * US; i++) {
		lead = gp_prepreempt_lead(&p);
		gp_prepreempt_missed(&p, lead);
		assert_true(gp_prepreempt_lead(&p) > lead);
	}
	assert_true(gp_prepreempt_lead(&p) >= 600 * US);
}

static void test_bias(void **state)
{
	struct gp_prepreempt p;

	gp_prepreempt_init(&p, 200 * US);
	for (int i = 0; i < 100; i++) /* always 400 µs early */
		gp_prepreempt_work(&p, 10 * MS, 2 * MS, 10 * MS - 400 * US);
	assert_in_range(lead(&p), 630 * US, 660 * US);
	assert_true(p.margin_ns <= MARGIN_MIN + US);

	gp_prepreempt_init(&p, 200 * US);
	for (int i = 0; i < 100; i++) /* always late */
		gp_prepreempt_work(&p, 10 * MS, 2 * MS, 10 * MS + 400 * US);
	assert_in_range(gp_prepreempt_expected(&p, 10 * MS), 10 * MS + 390 * US,
			10 * MS + 400 * US);
	assert_true(gp_prepreempt_start(&p, 0, 10 * MS) > 10 * MS);

	gp_prepreempt_init(&p, 200 * US);
	for (int i = 0; i < 100; i++) /* late by chance */
		gp_prepreempt_work(&p, 10 * MS, 2 * MS, 10 * MS + (i % 2 ? 800 * US : 0));
	assert_int_equal(gp_prepreempt_expected(&p, 10 * MS), 10 * MS);
	assert_true(lead(&p) >= p.switch_ns);
}

/* For any history: never later than one switch before the work. */
static void test_never_late(void **state)
{
	struct gp_prepreempt p;
	uint64_t r = 12345;

	gp_prepreempt_init(&p, 200 * US);
	for (int i = 0; i < 100000; i++) {
		uint64_t now = 50 * MS, work, start;

		r = r * 6364136223846793005ull + 1442695040888963407ull;
		work = now + (r >> 33) % (20 * MS);
		start = gp_prepreempt_start(&p, now, work);
		assert_true(start >= now);
		assert_true(start == now ||
			    start + p.switch_ns <= gp_prepreempt_expected(&p, work));
		gp_prepreempt_work(&p, work, work - now, work + (r >> 40) % (2 * MS) - MS);
		gp_prepreempt_switch(&p, (r >> 20) % MS);
	}
}

static void test_extremes(void **state)
{
	struct gp_prepreempt p;

	gp_prepreempt_init(&p, UINT64_MAX);
	assert_int_equal(p.switch_ns, 10 * MS);
	gp_prepreempt_work(&p, 0, UINT64_MAX, UINT64_MAX);
	gp_prepreempt_work(&p, UINT64_MAX, 0, 0);
	gp_prepreempt_switch(&p, UINT64_MAX);
	assert_int_equal(gp_prepreempt_start(&p, 77, 0), 77);
	assert_true(gp_prepreempt_start(&p, 77, UINT64_MAX) > 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady_state),
		cmocka_unit_test(test_timer_lateness),
		cmocka_unit_test(test_margin_grows_and_shrinks),
		cmocka_unit_test(test_margin_is_bounded),
		cmocka_unit_test(test_switch_rises_fast_falls_slowly),
		cmocka_unit_test(test_now_and_then_a_long_one),
		cmocka_unit_test(test_margin_falls_between_long_ones),
		cmocka_unit_test(test_missed_switches_count),
		cmocka_unit_test(test_bias),
		cmocka_unit_test(test_never_late),
		cmocka_unit_test(test_extremes),
	};

	return gp_run_tests(tests);
}
