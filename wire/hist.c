// SPDX-License-Identifier: Apache-2.0
/*
 * hist.c - a log-linear histogram. Bucket 0 covers up to 2^10 ns. Then each doubling has 16
 * buckets of equal width, so a bucket is no wider than 1/16 of its values.
 */
#include "wire/hist.h"

#define FIRST_BITS 10u
#define STEP_BITS 4u
#define STEPS (1u << STEP_BITS)

static unsigned int bucket_of(uint64_t ns)
{
	/* A bound belongs to the bucket that it ends. */
	uint64_t below = ns ? ns - 1 : 0;
	unsigned int bits, bucket;

	if (!(below >> FIRST_BITS))
		return 0;
	bits = 63u - (unsigned int)__builtin_clzll(below);
	bucket = 1 + (bits - FIRST_BITS) * STEPS +
		 ((unsigned int)(below >> (bits - STEP_BITS)) & (STEPS - 1));
	return bucket < GP_WIRE_BUCKETS_MAX ? bucket : GP_WIRE_BUCKETS_MAX - 1;
}

void gp_hist_add(struct gp_hist *hist, uint64_t ns)
{
	hist->count[bucket_of(ns)]++;
	hist->total++;
	hist->sum_ns += ns;
}

uint64_t gp_hist_bound_ns(unsigned int bucket)
{
	unsigned int bits;

	if (!bucket)
		return 1ull << FIRST_BITS;
	if (bucket >= GP_WIRE_BUCKETS_MAX - 1)
		return UINT64_MAX;
	bits = FIRST_BITS + (bucket - 1) / STEPS;
	return (STEPS + 1ull + (bucket - 1) % STEPS) << (bits - STEP_BITS);
}

uint64_t gp_hist_quantile_ns(const struct gp_hist *hist, unsigned int per_mille)
{
	uint64_t rank =
		hist->total / 1000 * per_mille + (hist->total % 1000 * per_mille + 999) / 1000;
	uint64_t seen = 0;

	if (!hist->total)
		return GP_WIRE_UNKNOWN;
	for (unsigned int i = 0; i < GP_WIRE_BUCKETS_MAX; i++) {
		seen += hist->count[i];
		if (seen && seen >= rank)
			return gp_hist_bound_ns(i);
	}
	return UINT64_MAX;
}
