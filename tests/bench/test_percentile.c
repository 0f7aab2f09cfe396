// SPDX-License-Identifier: Apache-2.0
/* Percentiles of a run: their values, their intervals, and too few samples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plan/samples.h"
#include "bench/plan/random.h"
#include "bench/report/percentile.h"
#include "tests/common/gp_test.h"

#define SEED 7
#define RUNS 300

static const double parts[GP_PERCENTILES] = { 0.5, 0.9, 0.95, 0.99, 0.999 };

static uint64_t *room_for(size_t count)
{
	uint64_t *sample = malloc(count * sizeof(*sample));

	assert_non_null(sample);
	return sample;
}

static struct gp_percentiles percentiles(const uint64_t *sample, size_t count)
{
	struct gp_percentiles p;

	assert_int_equal(gp_percentiles(sample, count, SEED, &p), 0);
	return p;
}

/* ---- runs: dependent samples, all with the exponential law of mean 1 ms --------------- */

typedef void (*make_fn)(struct gp_random *r, uint64_t *sample, size_t count);

static uint64_t ns_of(double ms)
{
	return (uint64_t)(ms * 1e6);
}

static void make_independent(struct gp_random *r, uint64_t *sample, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sample[i] = ns_of(gp_random_exponential(r));
}

/* From a normal process with a correlation of 0.9: AR(1). */
static void make_autoregressive(struct gp_random *r, uint64_t *sample, size_t count)
{
	const double keep = 0.9;
	double x = gp_random_normal(r);

	for (size_t i = 0; i < count; i++) {
		sample[i] = ns_of(-log(erfc(x / M_SQRT2) / 2));
		x = keep * x + sqrt(1 - keep * keep) * gp_random_normal(r);
	}
}

/* Times in the queue M/M/1 at half load, by Lindley's recursion. */
static void make_queue(struct gp_random *r, uint64_t *sample, size_t count)
{
	const double load = 0.5;
	double wait = gp_random_uniform(r) < load ? gp_random_exponential(r) / (1 - load) : 0;

	for (size_t i = 0; i < count; i++) {
		const double time = wait + gp_random_exponential(r);

		sample[i] = ns_of(time * (1 - load));
		wait = fmax(time - gp_random_exponential(r) / load, 0);
	}
}

/* ---- values ------------------------------------------------------------------------- */

static void as_sorted(void **state)
{
	static const size_t counts[] = { 20, 100, 777, 1000, 1001, 9999, 10000, 12345 };

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		const size_t count = counts[c];
		uint64_t *sample = room_for(count);
		struct gp_percentiles p;
		struct gp_random r;

		gp_random_seed(&r, SEED, c);
		make_queue(&r, sample, count);
		p = percentiles(sample, count);
		gp_samples_sort(sample, count);
		assert_int_equal(p.max_ns, sample[count - 1]);
		for (int i = 0; i < GP_PERCENTILES; i++) {
			/* That many, rounded up; 1e-9: 0.95 is not exact. */
			const size_t rank = (size_t)ceil((double)count * parts[i] - 1e-9);

			assert_int_equal(p.of[i].given, count - rank >= 10);
			if (!p.of[i].given)
				continue;
			assert_int_equal(p.of[i].ns, sample[rank - 1]);
			assert_true(p.of[i].low_ns <= p.of[i].ns);
			assert_true(p.of[i].ns <= p.of[i].high_ns);
		}
		free(sample);
	}
}

static void too_few(void **state)
{
	static const size_t least[GP_PERCENTILES] = { 20, 100, 200, 1000, 10000 };
	uint64_t *sample = room_for(10000);
	struct gp_percentiles p;
	struct gp_random r;

	gp_random_seed(&r, SEED, 0);
	make_independent(&r, sample, 10000);
	for (int i = 0; i < GP_PERCENTILES; i++) {
		p = percentiles(sample, least[i]);
		for (int k = 0; k < GP_PERCENTILES; k++)
			assert_int_equal(p.of[k].given, k <= i);
		p = percentiles(sample, least[i] - 1);
		assert_false(p.of[i].given);
		assert_int_equal(p.of[i].ns | p.of[i].low_ns | p.of[i].high_ns, 0);
	}
	free(sample);
	assert_string_equal(gp_percentile_name(GP_P50), "p50");
	assert_string_equal(gp_percentile_name(GP_P999), "p99.9");
}

static void one_or_none(void **state)
{
	const uint64_t one = 42;
	struct gp_percentiles p = percentiles(&one, 1);

	assert_int_equal(p.max_ns, 42);
	for (int i = 0; i < GP_PERCENTILES; i++)
		assert_false(p.of[i].given);
	assert_int_equal(gp_percentiles(&one, 0, SEED, &p), -EINVAL);
	assert_int_equal(gp_percentiles(&one, (size_t)UINT32_MAX + 1, SEED, &p), -EINVAL);
}

/* For equal samples the interval is a point; with two values it has both. */
static void equal(void **state)
{
	static const uint64_t values[] = { 0, 5, UINT64_MAX };
	uint64_t *sample = room_for(10000);
	struct gp_percentiles p;

	for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
		for (size_t i = 0; i < 10000; i++)
			sample[i] = values[v];
		p = percentiles(sample, 10000);
		for (int i = 0; i < GP_PERCENTILES; i++) {
			assert_true(p.of[i].given);
			assert_int_equal(p.of[i].ns, values[v]);
			assert_int_equal(p.of[i].low_ns, values[v]);
			assert_int_equal(p.of[i].high_ns, values[v]);
		}
	}
	for (size_t i = 0; i < 10000; i++)
		sample[i] = i % 10 ? 5 : 6;
	p = percentiles(sample, 10000);
	assert_true(p.of[GP_P50].low_ns == 5 && p.of[GP_P50].high_ns == 5);
	/* Nine of ten are 5: p90 may be either. */
	assert_true(p.of[GP_P90].low_ns == 5 && p.of[GP_P90].high_ns == 6);
	assert_true(p.of[GP_P99].low_ns == 6 && p.of[GP_P99].high_ns == 6);
	free(sample);
}

/* ---- intervals ------------------------------------------------------------------------ */

static void same_seed_same_interval(void **state)
{
	uint64_t *sample = room_for(2000);
	struct gp_percentiles a, b, c;
	struct gp_random r;

	gp_random_seed(&r, SEED, 0);
	make_queue(&r, sample, 2000);
	assert_int_equal(gp_percentiles(sample, 2000, 1, &a), 0);
	assert_int_equal(gp_percentiles(sample, 2000, 1, &b), 0);
	assert_int_equal(gp_percentiles(sample, 2000, 2, &c), 0);
	for (int i = 0; i < GP_PERCENTILES; i++) {
		assert_int_equal(a.of[i].low_ns, b.of[i].low_ns);
		assert_int_equal(a.of[i].high_ns, b.of[i].high_ns);
		assert_int_equal(a.of[i].ns, c.of[i].ns);
	}
	assert_true(a.of[GP_P50].low_ns != c.of[GP_P50].low_ns ||
		    a.of[GP_P50].high_ns != c.of[GP_P50].high_ns);
	free(sample);
}

/* 100 late ones of 10,000: p99 is certain if they come singly, but not all at once. */
static void what_comes_at_once_is_once(void **state)
{
	uint64_t *sample = room_for(10000);
	struct gp_percentile apart, at_once;

	for (size_t i = 0; i < 10000; i++)
		sample[i] = i % 100 ? 1000 + i % 97 : 2000 + i;
	apart = percentiles(sample, 10000).of[GP_P99];
	for (size_t i = 0; i < 10000; i++)
		sample[i] = i >= 100 ? 1000 + i % 97 : 2000 + 100 * i;
	at_once = percentiles(sample, 10000).of[GP_P99];
	assert_int_equal(apart.ns, 1096);
	assert_int_equal(at_once.ns, 1096);
	assert_true(apart.high_ns != GP_PERCENTILE_OPEN);
	assert_int_equal(at_once.high_ns, GP_PERCENTILE_OPEN);
	free(sample);
}

/* The law's own percentile, -log(1 - part) ms, is within in at least @least of RUNS. */
static void covers(const char *name, make_fn make, size_t count, int least)
{
	int within[GP_PERCENTILES] = { 0 };
	uint64_t *sample = room_for(count);
	struct gp_percentiles p;
	struct gp_random r;

	gp_random_seed(&r, SEED, count);
	for (int run = 0; run < RUNS; run++) {
		make(&r, sample, count);
		assert_int_equal(gp_percentiles(sample, count, (uint64_t)run, &p), 0);
		for (int i = 0; i < GP_PERCENTILES; i++) {
			const uint64_t law = ns_of(-log(1 - parts[i]));

			within[i] += p.of[i].given && p.of[i].low_ns <= law &&
				     law <= p.of[i].high_ns;
		}
	}
	for (int i = GP_P50; i <= GP_P99; i++) {
		print_message("%s, %s: %.3f\n", name, gp_percentile_name(i),
			      (double)within[i] / RUNS);
		assert_true(within[i] >= least);
	}
	free(sample);
}

/* By chance 0.95 of 300 runs is 0.92 to 0.98. */
static void coverage(void **state)
{
	covers("independent", make_independent, 2000, 275);
	covers("autoregressive", make_autoregressive, 4000, 264);
	covers("queue", make_queue, 4000, 264);
}

/* A whole run's size: all percentiles exist, with narrow intervals. */
static void long_run(void **state)
{
	const size_t count = 400000;
	uint64_t *sample = room_for(count);
	struct gp_percentiles p;
	struct gp_random r;

	gp_random_seed(&r, SEED, 0);
	make_queue(&r, sample, count);
	p = percentiles(sample, count);
	for (int i = 0; i < GP_PERCENTILES; i++) {
		const double width = (double)(p.of[i].high_ns - p.of[i].low_ns);

		print_message("%s: %.4f ms, +- %.2f %%\n", gp_percentile_name(i),
			      (double)p.of[i].ns / 1e6, 50 * width / (double)p.of[i].ns);
		assert_true(p.of[i].given && width < 0.2 * (double)p.of[i].ns);
	}
	free(sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_sorted),
		cmocka_unit_test(too_few),
		cmocka_unit_test(one_or_none),
		cmocka_unit_test(equal),
		cmocka_unit_test(same_seed_same_interval),
		cmocka_unit_test(what_comes_at_once_is_once),
		cmocka_unit_test(coverage),
		cmocka_unit_test(long_run),
	};

	return gp_run_tests(tests);
}
