/* SPDX-License-Identifier: Apache-2.0 */
/*
 * percentile.h - percentiles of one run's latencies with confidence intervals.
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
 * A percentile needs so many samples beyond it: p99 needs 1,000 samples. If samples are
 * independent and ten are expected beyond, 19 of 20 runs have 4 to 17. The interval's upper
 * end is then the fourth largest sample. With three expected, no sample would bound it.
 */
#define GP_PERCENTILE_BEYOND 10
/** Upper end of an interval that no sample bounds, because late requests came all at once. */
#define GP_PERCENTILE_OPEN UINT64_MAX

struct gp_percentile {
	bool given;		  /* false: too few samples; the rest is 0 */
	uint64_t ns;		  /* the smallest sample that this part of all do not exceed */
	uint64_t low_ns, high_ns; /* 95 % confidence interval */
};

struct gp_percentiles {
	struct gp_percentile of[GP_PERCENTILES];
	/* The largest sample. It has no interval, as a longer run may have a larger one. */
	uint64_t max_ns;
};

/**
 * Percentiles of @count latencies in the order of arrival. The intervals allow for samples
 * that depend on those before. For that, one late request must delay fewer requests than
 * the square root of @count. The same @seed gives the same intervals.
 * 0; -ENOMEM; -EINVAL: no samples, or more than UINT32_MAX.
 */
int gp_percentiles(const uint64_t *latency_ns, size_t count, uint64_t seed,
		   struct gp_percentiles *result);

/** "p50" .. "p99.9". */
const char *gp_percentile_name(enum gp_percentile_name which);

#endif
