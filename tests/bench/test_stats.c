// SPDX-License-Identifier: Apache-2.0
/* Is one thing faster than another, and are shares equal? */
#include <errno.h>
#include <math.h>

#include "bench/plan/random.h"
#include "bench/report/compare.h"
#include "bench/report/jain.h"
#include "tests/common/gp_test.h"

/* These values are in tables of the distribution. */
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

/* Number of 400 tries that report a difference, if B is @times as slow. */
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

/* Common noise of a pair does not hide its difference. */
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

static double jain(const double *share, size_t count)
{
	double index = -1;

	assert_int_equal(gp_jain(share, count, &index), 0);
	return index;
}

/* The index is from 1 / count to 1; (1 + 2 + 3)^2 / (3 x 14) is 6 / 7. */
static void fairness(void **state)
{
	static const double equal[] = { 0.3, 0.3, 0.3, 0.3 }, one[] = { 0, 5, 0, 0 };
	static const double some[] = { 1, 2, 3 }, large[] = { 1e300, 2e300, 3e300 };
	static const double none[] = { 0, 0 }, bad[] = { 1, -1 }, worse[] = { 1, INFINITY };
	struct gp_random r;
	double share[9], index = 7;

	assert_true(fabs(jain(equal, 4) - 1) < 1e-12);
	assert_true(jain(one, 4) == 0.25 && jain(one, 2) == 0.5);
	assert_true(jain(some, 1) == 1 && jain(none, 2) == 1);
	assert_true(fabs(jain(some, 3) - 6.0 / 7) < 1e-12);
	assert_true(fabs(jain(large, 3) - 6.0 / 7) < 1e-12);
	assert_int_equal(gp_jain(some, 0, &index), -EINVAL);
	assert_int_equal(gp_jain(bad, 2, &index), -EINVAL);
	assert_int_equal(gp_jain(worse, 2, &index), -EINVAL);
	assert_true(index == 7);
	gp_random_seed(&r, 11, 0);
	for (int i = 0; i < 1000; i++) {
		for (size_t k = 0; k < 9; k++)
			share[k] = gp_random_lognormal(&r, 3);
		index = jain(share, 9);
		assert_true(index >= 1.0 / 9 - 1e-12 && index <= 1 + 1e-12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student),
		cmocka_unit_test(comparisons),
		cmocka_unit_test(without_noise),
		cmocka_unit_test(fairness),
	};

	return gp_run_tests(tests);
}
