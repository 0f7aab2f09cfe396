/* SPDX-License-Identifier: Apache-2.0 */
/*
 * percentile.h - percentiles of one run's latencies, and how sure they are.
 */
#ifndef GP_BENCH_PERCENTILE_H
#define GP_BENCH_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gp_percentile_name {
	GP_P50,
	GP_P90,
	GP_P95,
	GP_P99,
	GP_P999,
	GP_PERCENTILES,
};

/**
 * So many samples have to lie beyond a percentile for it to be given: p99 needs 1,000.
 * Of independent samples ten beyond are, in 19 of 20 runs, 4 to 17: the interval's upper
 * end is then the fourth largest sample. With three it would be beyond them all.
 */
#define GP_PERCENTILE_BEYOND 10
/** An interval's upper end that no sample bounds: what lies beyond came all at once. */
#define GP_PERCENTILE_OPEN UINT64_MAX

struct gp_percentile {
	bool given;		  /* false: too few samples, and the rest is 0 */
	uint64_t ns;		  /* the smallest that so many of all do not exceed */
	uint64_t low_ns, high_ns; /* with runs without end it lies between, 95 % sure */
};

struct gp_percentiles {
	struct gp_percentile of[GP_PERCENTILES];
	/* The largest of these samples; it has no interval, as a larger one may come. */
	uint64_t max_ns;
};

/**
 * Of @count latencies in the order in which they came: samples that depend on those
 * before them are not counted as many, as long as the square root of @count is more than
 * one late request makes late. The same @seed gives the same intervals.
 * 0; -ENOMEM; -EINVAL: none, or more than UINT32_MAX.
 */
int gp_percentiles(const uint64_t *latency_ns, size_t count, uint64_t seed,
		   struct gp_percentiles *result);

/** "p50" .. "p99.9". */
const char *gp_percentile_name(enum gp_percentile_name which);

#endif
