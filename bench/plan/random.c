// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/random.h"

#include <math.h>

static uint64_t rotate_left(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void gp_random_seed(struct gp_random *r, uint64_t seed, uint64_t stream)
{
	uint64_t state = seed;

	state = splitmix(&state) ^ stream;
	for (int i = 0; i < 4; i++)
		r->state[i] = splitmix(&state);
}

uint64_t gp_random_u64(struct gp_random *r)
{
	uint64_t *s = r->state;
	const uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double gp_random_uniform(struct gp_random *r)
{
	/* 53 bits plus half a step, so that it is never 0. */
	return ((double)(gp_random_u64(r) >> 11) + 0.5) * 0x1p-53;
}

double gp_random_exponential(struct gp_random *r)
{
	return -log(gp_random_uniform(r));
}

/* Box and Muller; the second of the pair is dropped, as no state is kept. */
double gp_random_normal(struct gp_random *r)
{
	const double radius = sqrt(2 * gp_random_exponential(r));

	return radius * cos(2 * M_PI * gp_random_uniform(r));
}

double gp_random_lognormal(struct gp_random *r, double sigma)
{
	return exp(sigma * gp_random_normal(r) - sigma * sigma / 2);
}
