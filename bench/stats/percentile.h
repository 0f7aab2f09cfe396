/* SPDX-License-Identifier: Apache-2.0 */
/*
 * percentile.h - percentiles of samples, and how sure they are.
 */
#ifndef GP_BENCH_PERCENTILE_H
#define GP_BENCH_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/load/random.h"

/** Parts of 100,000: 50000 is p50, 99900 is p99.9, 100000 the largest. */
enum { GP_P50 = 50000, GP_P90 = 90000, GP_P95 = 95000, GP_P99 = 99000, GP_P999 = 99900,
       GP_MAX = 100000 };

/** Sorts in place. */
void gp_sort(double *sample, size_t count);
/** Nearest rank of @sorted; count > 0. */
double gp_percentile(const double *sorted, size_t count, uint32_t part);
/** Are there ten samples beyond it? With fewer it is one of them by chance. */
bool gp_percentile_known(size_t count, uint32_t part);

/** One run's samples, in the order they came. */
struct gp_run {
	const double *sample;
	size_t count;
};

struct gp_interval {
	double low, high;
};

/**
 * Interval that holds the percentile with probability @sure (0.95), by bootstrap:
 * runs are drawn anew from the @runs there are, and in each of them stretches of
 * neighbours, since what comes after a late request is late as well. 0; -ENOMEM;
 * -EINVAL: a run without samples, or none.
 */
int gp_percentile_interval(const struct gp_run *run, size_t runs, uint32_t part,
			   double sure, struct gp_random *random,
			   struct gp_interval *interval);

/** Jain's index of fairness: 1 where all are equal, 1 / count where one has all. */
double gp_jain(const double *share, size_t count);

#endif
