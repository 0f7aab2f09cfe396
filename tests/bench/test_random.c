// SPDX-License-Identifier: Apache-2.0
/* The bench's random numbers: the published sequence, and moments. */
#include <math.h>

#include "bench/plan/random.h"
#include "tests/common/gp_test.h"

#define DRAWS 1000000

/* xoshiro256** from the state 1, 2, 3, 4, by the authors' own program. */
static void as_published(void **state)
{
	static const uint64_t expect[] = { 11520u, 0u, 1509978240u, 1215971899390074240u };
	struct gp_random r = { { 1, 2, 3, 4 } };

	for (size_t i = 0; i < sizeof(expect) / sizeof(expect[0]); i++)
		assert_true(gp_random_u64(&r) == expect[i]);
}

static void streams_differ(void **state)
{
	struct gp_random a, b, c;

	gp_random_seed(&a, 7, 1);
	gp_random_seed(&b, 7, 2);
	gp_random_seed(&c, 7, 1);
	for (int i = 0; i < 100; i++) {
		uint64_t x = gp_random_u64(&a);

		assert_true(x != gp_random_u64(&b));
		assert_true(x == gp_random_u64(&c));
	}
}

static double uniform(struct gp_random *r)
{
	double x = gp_random_uniform(r);

	assert_true(x > 0 && x < 1);
	return x;
}

static double lognormal(struct gp_random *r)
{
	return gp_random_lognormal(r, 0.5);
}

/* Mean and variance are within five standard errors. */
static void moments(void **state)
{
	static const struct {
		double (*draw)(struct gp_random *r);
		double mean, variance, fourth; /* of the deviation */
	} laws[] = {
		{ uniform, 0.5, 1.0 / 12, 1.0 / 80 },
		{ gp_random_exponential, 1, 1, 9 },
		{ gp_random_normal, 0, 1, 3 },
		/* The variance is e^(s^2) - 1; the fourth moment is from the same law. */
		{ lognormal, 1, 0.284025, 0.718 },
	};

	for (size_t i = 0; i < sizeof(laws) / sizeof(laws[0]); i++) {
		double sum = 0, square = 0, mean, variance;
		struct gp_random r;

		gp_random_seed(&r, 11, i);
		for (int n = 0; n < DRAWS; n++) {
			double x = laws[i].draw(&r);

			sum += x;
			square += x * x;
		}
		mean = sum / DRAWS;
		variance = square / DRAWS - mean * mean;
		print_message("%zu: %.5f %.5f\n", i, mean, variance);
		assert_true(fabs(mean - laws[i].mean) < 5 * sqrt(laws[i].variance / DRAWS));
		assert_true(
			fabs(variance - laws[i].variance) <
			5 * sqrt((laws[i].fourth - laws[i].variance * laws[i].variance) / DRAWS));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_published),
		cmocka_unit_test(streams_differ),
		cmocka_unit_test(moments),
	};

	return gp_run_tests(tests);
}
