// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/arrivals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	[GP_ARRIVALS_PERIODIC] = "periodic",   [GP_ARRIVALS_POISSON] = "poisson",
	[GP_ARRIVALS_BURSTY] = "bursty",       [GP_ARRIVALS_CONTINUOUS] = "continuous",
	[GP_ARRIVALS_DEPENDENT] = "dependent",
};

static int parse_sigma(const char *text, double *sigma)
{
	char *end;

	/* Digits only, as strtod() also accepts spaces, signs, hexadecimal and infinity. */
	if (strspn(text, "0123456789.") != strlen(text) || !*text)
		return -EINVAL;
	*sigma = strtod(text, &end);
	if (*end)
		return -EINVAL;
	return *sigma > 0 && *sigma <= GP_ARRIVALS_SIGMA_MAX ? 0 : -ERANGE;
}

int gp_arrivals_parse(const char *text, double mean_ns, uint64_t seed, uint64_t stream,
		      struct gp_arrivals *arrivals)
{
	const size_t length = strcspn(text, ":");
	size_t law = 0;

	while (law < sizeof(names) / sizeof(names[0]) &&
	       (strlen(names[law]) != length || strncmp(text, names[law], length)))
		law++;
	if (law == sizeof(names) / sizeof(names[0]))
		return -EINVAL;
	*arrivals = (struct gp_arrivals){
		.law = (enum gp_arrivals_law)law,
		.mean_ns = mean_ns,
		.sigma = GP_ARRIVALS_SIGMA,
	};
	gp_random_seed(&arrivals->random, seed, stream);
	if (!text[length])
		return 0;
	return law == GP_ARRIVALS_BURSTY ? parse_sigma(text + length + 1, &arrivals->sigma) :
					   -EINVAL;
}

bool gp_arrivals_is_open(const struct gp_arrivals *arrivals)
{
	return arrivals->law != GP_ARRIVALS_CONTINUOUS && arrivals->law != GP_ARRIVALS_DEPENDENT;
}

static uint64_t gap_ns(struct gp_arrivals *a)
{
	double times = 1;

	if (a->law == GP_ARRIVALS_POISSON)
		times = gp_random_exponential(&a->random);
	else if (a->law == GP_ARRIVALS_BURSTY)
		times = gp_random_lognormal(&a->random, a->sigma);
	else if (a->law == GP_ARRIVALS_CONTINUOUS)
		times = 0;
	return (uint64_t)llround(times * a->mean_ns);
}

uint64_t gp_arrivals_next_ns(struct gp_arrivals *arrivals, uint64_t last_ns, uint64_t done_ns)
{
	return (gp_arrivals_is_open(arrivals) ? last_ns : done_ns) + gap_ns(arrivals);
}
