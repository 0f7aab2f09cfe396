// SPDX-License-Identifier: Apache-2.0
/* Percentiles, how sure they are, and whether one thing is faster than another. */
#include <errno.h>
#include <math.h>

#include "bench/load/random.h"
#include "bench/stats/compare.h"
#include "bench/stats/percentile.h"
#include "tests/common/gp_test.h"

static void percentiles(void **state)
{
	double sample[1000];

	for (int i = 0; i < 1000; i++)
		sample[i] = (i * 617) % 1000 + 1;	/* 1 to 1000, mixed */
	gp_sort(sample, 1000);
	assert_true(gp_percentile(sample, 1000, GP_P50) == 500);
	assert_true(gp_percentile(sample, 1000, GP_P99) == 990);
	assert_true(gp_percentile(sample, 1000, GP_P999) == 999);
	assert_true(gp_percentile(sample, 1000, GP_MAX) == 1000);
	assert_true(gp_percentile(sample, 1, GP_P50) == 1);
	assert_true(gp_percentile_known(1000, GP_P99));
	assert_false(gp_percentile_known(999, GP_P99));
	assert_false(gp_percentile_known(1000, GP_P999));
	assert_true(gp_percentile_known(20, GP_P50));
	assert_false(gp_percentile_known(19, GP_P50));
	assert_true(gp_percentile_known(1, GP_MAX));
	assert_false(gp_percentile_known(0, GP_MAX));
}

#define RUNS 4
#define SAMPLES 100
#define TRIES 100

/* The median of exponential samples is ln 2: in nearly all intervals. */
static void intervals(void **state)
{
	static double sample[RUNS][SAMPLES];
	struct gp_run run[RUNS];
	struct gp_random r;
	int hit = 0;

	gp_random_seed(&r, 5, 0);
	for (int i = 0; i < TRIES; i++) {
		struct gp_interval in;

		for (int k = 0; k < RUNS; k++) {
			for (int n = 0; n < SAMPLES; n++)
				sample[k][n] = gp_random_exponential(&r);
			run[k] = (struct gp_run){ sample[k], SAMPLES };
		}
		assert_int_equal(gp_percentile_interval(run, RUNS, GP_P50, 0.95, &r, &in), 0);
		assert_true(in.low <= in.high);
		hit += in.low <= M_LN2 && M_LN2 <= in.high;
	}
	print_message("%d of %d intervals hold it\n", hit, TRIES);
	assert_true(hit >= 85 && hit < TRIES);
	run[1].count = 0;
	assert_int_equal(gp_percentile_interval(run, RUNS, GP_P50, 0.95, &r, NULL), -EINVAL);
	assert_int_equal(gp_percentile_interval(run, 0, GP_P50, 0.95, &r, NULL), -EINVAL);
}

/* Tables of the distribution have these. */
static void student(void **state)
{
	static const struct {
		double t, both;
		size_t freedom;
	} known[] = {
		{ 12.706, 0.05, 1 }, { 2.776, 0.05, 4 }, { 4.604, 0.01, 4 },
		{ 2.262, 0.05, 9 },  { 3.250, 0.01, 9 }, { 2.576, 0.0115, 100 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_true(fabs(gp_student_both_tails(known[i].t, known[i].freedom) -
				 known[i].both) < 2e-4);
	assert_true(gp_student_both_tails(0, 4) == 1);
}

/* How often, of 400 tries, B is said to differ: it is @times as slow. */
static int found(size_t pairs, double times, double noise, double shared)
{
	struct gp_comparison c;
	struct gp_random r;
	double a[20], b[20];
	int differs = 0;

	gp_random_seed(&r, 9, pairs);
	for (int i = 0; i < 400; i++) {
		for (size_t k = 0; k < pairs; k++) {
			double both = exp(shared * gp_random_normal(&r));

			a[k] = 570 * both * exp(noise * gp_random_normal(&r));
			b[k] = 570 * both * exp(noise * gp_random_normal(&r)) * times;
		}
		assert_int_equal(gp_compare(a, b, pairs, 0.01, &c), 0);
		assert_true(c.low <= c.ratio && c.ratio <= c.high);
		assert_true((c.verdict == GP_UNDECIDED) == (c.low <= 1 && 1 <= c.high));
		differs += c.verdict == (times < 1 ? GP_LOWER : GP_HIGHER);
	}
	print_message("%zu pairs, x %.2f: %d of 400\n", pairs, times, differs);
	return differs;
}

/* What disturbs both of a pair does not hide what is between them. */
static void comparisons(void **state)
{
	assert_true(found(5, 1, 0.01, 0.2) < 8);
	assert_true(found(10, 1, 0.05, 0.2) < 8);
	assert_true(found(5, 1.03, 0.005, 0.2) > 360);
	assert_true(found(10, 1.03, 0.01, 0.2) > 360);
	assert_true(found(10, 0.97, 0.01, 0.2) > 360);
}

static void without_noise(void **state)
{
	const double a[] = { 1, 2, 3 }, b[] = { 1, 2, 3 }, c[] = { 2, 4, 6 };
	const double bad[] = { 1, 0, 3 }, worse[] = { 1, NAN, 3 };
	struct gp_comparison got;

	assert_int_equal(gp_compare(a, b, 3, 0.01, &got), 0);
	assert_int_equal(got.verdict, GP_UNDECIDED);
	assert_true(got.ratio == 1 && got.p == 1);
	assert_int_equal(gp_compare(a, c, 3, 0.01, &got), 0);
	assert_int_equal(got.verdict, GP_HIGHER);
	assert_int_equal(gp_compare(c, a, 3, 0.01, &got), 0);
	assert_int_equal(got.verdict, GP_LOWER);
	assert_int_equal(gp_compare(a, b, 2, 0.01, &got), -EINVAL);
	assert_int_equal(gp_compare(a, bad, 3, 0.01, &got), -EINVAL);
	assert_int_equal(gp_compare(worse, a, 3, 0.01, &got), -EINVAL);
	assert_int_equal(gp_compare(a, b, 3, 1, &got), -EDOM);
}

static void fairness(void **state)
{
	const double equal[] = { 3, 3, 3, 3 }, one[] = { 5, 0, 0, 0 };

	assert_true(fabs(gp_jain(equal, 4) - 1) < 1e-12);
	assert_true(fabs(gp_jain(one, 4) - 0.25) < 1e-12);
	assert_true(gp_jain(one + 1, 3) == 1);	/* nobody has anything: all equal */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles),
		cmocka_unit_test(intervals),
		cmocka_unit_test(student),
		cmocka_unit_test(comparisons),
		cmocka_unit_test(without_noise),
		cmocka_unit_test(fairness),
	};

	return gp_run_tests(tests);
}
