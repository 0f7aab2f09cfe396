/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hist.h - a log-linear histogram of times. It has 16 buckets to each doubling, from 1 us
 * (below: one bucket) to about 2^37 ns (above: the last one). So a quantile is right to 1/16.
 * Plain data, no lock.
 */
#ifndef GP_WIRE_HIST_H
#define GP_WIRE_HIST_H

#include <stdint.h>

#include "wire/wire.h"

struct gp_hist {
	uint64_t sum_ns;
	uint64_t total;
	uint64_t count[GP_WIRE_BUCKETS_MAX];
};

void gp_hist_add(struct gp_hist *hist, uint64_t ns);
/** Times up to this, and more than the bound before, are in @bucket. The last: UINT64_MAX. */
uint64_t gp_hist_bound_ns(unsigned int bucket);
/**
 * The bound of the bucket in which the @per_mille-th of 1000 lies; 0 .. 1000.
 * GP_WIRE_UNKNOWN: nothing was added.
 */
uint64_t gp_hist_quantile_ns(const struct gp_hist *hist, unsigned int per_mille);

#endif
