// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/gp_test.h"
#include "tests/common/gp_xorshift.h"
#include "wire/hist.h"

#define SEED 20261121u
#define RUNS 300
#define VALUES_MAX 5000
#define FIRST_NS 1024u
/* The last bucket's lower bound. */
#define LAST_NS gp_hist_bound_ns(GP_WIRE_BUCKETS_MAX - 2)

static uint64_t random_state = SEED;

static uint64_t next_random(void)
{
	return gp_xorshift(&random_state);
}

static unsigned int only_bucket(uint64_t ns)
{
	struct gp_hist hist = { 0 };

	gp_hist_add(&hist, ns);
	assert_int_equal(hist.total, 1);
	assert_int_equal(hist.sum_ns, ns);
	for (unsigned int i = 0; i < GP_WIRE_BUCKETS_MAX; i++)
		if (hist.count[i])
			return i;
	fail_msg("%llu ns is in no bucket", (unsigned long long)ns);
	return 0;
}

static void bounds_rise_by_a_sixteenth(void **state)
{
	uint64_t bound = gp_hist_bound_ns(0), next;

	assert_int_equal(bound, FIRST_NS);
	for (unsigned int i = 1; i < GP_WIRE_BUCKETS_MAX - 1; i++, bound = next) {
		next = gp_hist_bound_ns(i);
		assert_true(next > bound);
		assert_true((next - bound) * 16 <= bound);
		assert_true((next - bound) * 32 >= bound);
	}
	assert_true(bound > 1ull << 37);
	assert_true(gp_hist_bound_ns(GP_WIRE_BUCKETS_MAX - 1) == UINT64_MAX);
}

static void a_bound_is_in_its_bucket(void **state)
{
	for (unsigned int i = 0; i < GP_WIRE_BUCKETS_MAX - 1; i++) {
		assert_int_equal(only_bucket(gp_hist_bound_ns(i)), i);
		assert_int_equal(only_bucket(gp_hist_bound_ns(i) + 1), i + 1);
	}
	assert_int_equal(only_bucket(0), 0);
	assert_int_equal(only_bucket(1), 0);
	assert_int_equal(only_bucket(UINT64_MAX), GP_WIRE_BUCKETS_MAX - 1);
}

static void nothing_is_not_known(void **state)
{
	struct gp_hist hist = { 0 };

	assert_true(gp_hist_quantile_ns(&hist, 0) == GP_WIRE_UNKNOWN);
	assert_true(gp_hist_quantile_ns(&hist, 1000) == GP_WIRE_UNKNOWN);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A random time, uniform in its number of bits. */
static uint64_t some_time(void)
{
	return next_random() >> (26 + next_random() % 38);
}

static void check_quantile(const struct gp_hist *hist, const uint64_t *sorted, size_t n,
			   unsigned int per_mille)
{
	size_t rank = (n * per_mille + 999) / 1000;
	uint64_t exact = sorted[rank ? rank - 1 : 0];
	uint64_t got = gp_hist_quantile_ns(hist, per_mille);

	assert_true(got >= exact);
	if (exact > LAST_NS)
		assert_true(got == UINT64_MAX);
	else if (exact <= FIRST_NS)
		assert_int_equal(got, FIRST_NS);
	else
		assert_true((got - exact) * 16 <= exact);
}

/* Quantiles exceed the exact percentiles by at most 1/16, and are never too small. */
static void quantiles_of_any_times(void **state)
{
	static uint64_t value[VALUES_MAX];
	static struct gp_hist hist;
	size_t n;

	printf("seed %u\n", SEED);
	for (int run = 0; run < RUNS; run++) {
		n = 1 + next_random() % (run % 2 ? VALUES_MAX : 20);
		memset(&hist, 0, sizeof(hist));
		for (size_t i = 0; i < n; i++) {
			value[i] = some_time();
			gp_hist_add(&hist, value[i]);
		}
		qsort(value, n, sizeof(value[0]), by_value);
		for (unsigned int per_mille = 0; per_mille <= 1000; per_mille++)
			check_quantile(&hist, value, n, per_mille);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_rise_by_a_sixteenth),
		cmocka_unit_test(a_bound_is_in_its_bucket),
		cmocka_unit_test(nothing_is_not_known),
		cmocka_unit_test(quantiles_of_any_times),
	};

	return gp_run_tests(tests);
}
