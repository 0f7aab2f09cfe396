/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h - random numbers that are the same on every machine: xoshiro256**,
 * seeded by splitmix64 (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", ACM TOMS 47(4), 2021).
 */
#ifndef GP_BENCH_RANDOM_H
#define GP_BENCH_RANDOM_H

#include <stdint.h>

struct gp_random {
	uint64_t state[4];
};

/** Streams of one seed are independent of each other. */
void gp_random_seed(struct gp_random *r, uint64_t seed, uint64_t stream);
uint64_t gp_random_u64(struct gp_random *r);
/** In (0, 1): never 0, never 1. */
double gp_random_uniform(struct gp_random *r);
/** Mean 1. */
double gp_random_exponential(struct gp_random *r);
/** Mean 0, deviation 1. */
double gp_random_normal(struct gp_random *r);
/** Mean 1; @sigma is the deviation of its logarithm. */
double gp_random_lognormal(struct gp_random *r, double sigma);

#endif
