// SPDX-License-Identifier: Apache-2.0
/*
 * percentile.c - the interval is Woodruff's (JASA 47, 1952). It estimates the range of the
 * number of samples beyond the percentile's value. The samples of the range's ranks are
 * the interval's ends.
 *
 * The range is from the circular block bootstrap (Politis and Romano, in "Exploring the
 * Limits of Bootstrap", 1992). A resample joins blocks of the run, each from a random
 * start. It sums counts only, so a block costs two reads at any length. Counts of
 * independent samples are binomial, and the interval is the usual one by order statistics.
 *
 * The maximum has no interval. No resample has a larger one, and its bootstrap is wrong
 * for any number of samples (Bickel and Freedman, Annals of Statistics 9, 1981).
 */
#include "bench/report/percentile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plan/samples.h"
#include "bench/plan/random.h"

/*
 * 25 of these lie beyond each end, so the 2.5 % of an end are accurate to 0.5 %. Efron and
 * Tibshirani (An Introduction to the Bootstrap, 1993) ask for about as many.
 */
#define RESAMPLES 1000
#define BEYOND_AN_END (RESAMPLES / 40)

static const struct {
	const char *name;
	unsigned int per_mille;
} percentiles[GP_PERCENTILES] = {
	[GP_P50] = { "p50", 500 }, [GP_P90] = { "p90", 900 },	 [GP_P95] = { "p95", 950 },
	[GP_P99] = { "p99", 990 }, [GP_P999] = { "p99.9", 999 },
};

struct run {
	const uint64_t *sample; /* in order of arrival */
	uint64_t *sorted;
	uint32_t *before; /* before[i]: number of counted ones among the first i samples */
	size_t count;
	uint64_t seed;
	double times_at_p90; /* of struct spread; p90 is computed before its users */
};

const char *gp_percentile_name(enum gp_percentile_name which)
{
	return percentiles[which].name;
}

/*
 * A block has to be longer than a row of requests that one late request delays, and a run
 * needs many blocks. The square root of the samples does both. Doss, Flegal, Jones and
 * Neath (Electronic Journal of Statistics 8, 2014) use it for intervals of quantiles.
 *
 * The cube root (Hall, Horowitz and Jing, Biometrika 82, 1995) is best for short dependence
 * and long runs. Of 100,000 samples it is 46, less than such a row of a loaded queue.
 */
static size_t block_length(size_t count)
{
	return (size_t)sqrt((double)count);
}

/* Count @length samples from @from on, on a circle: the first follows the last. */
static uint32_t count_block(const struct run *r, size_t from, size_t length)
{
	const size_t to = from + length;

	if (to <= r->count)
		return r->before[to] - r->before[from];
	return r->before[r->count] - r->before[from] + r->before[to - r->count];
}

/* The number of counted samples in one resample. */
static uint64_t resample(const struct run *r, struct gp_random *random)
{
	const size_t block = block_length(r->count);
	uint64_t sum = 0;

	for (size_t left = r->count; left;) {
		const size_t from = gp_random_u64(random) % r->count;
		const size_t length = left < block ? left : block;

		sum += count_block(r, from, length);
		left -= length;
	}
	return sum;
}

/* By how many the number of counted samples varies from run to run. */
struct spread {
	uint64_t fewer, more;
	double times; /* variance / that of independent samples */
};

/* @found: sorted counts of resamples; @is: the count of the run itself. */
static struct spread spread_of(const uint64_t *found, uint64_t is, size_t count)
{
	const uint64_t low = found[BEYOND_AN_END], high = found[RESAMPLES - 1 - BEYOND_AN_END];
	const double alone = (double)is * (1 - (double)is / (double)count);
	struct spread s = { .fewer = low < is ? is - low : 0, .more = high > is ? high - is : 0 };
	double squares = 0;

	for (size_t i = 0; i < RESAMPLES; i++)
		squares += pow((double)found[i] - (double)is, 2);
	s.times = alone > 0 ? squares / RESAMPLES / alone : 0;
	return s;
}

/* The spread of the number of samples >= @least. */
static struct spread spread_at(struct run *r, uint64_t least)
{
	uint64_t found[RESAMPLES];
	struct gp_random random;

	for (size_t i = 0; i < r->count; i++)
		r->before[i + 1] = r->before[i] + (r->sample[i] >= least);
	gp_random_seed(&random, r->seed, 0);
	for (size_t i = 0; i < RESAMPLES; i++)
		found[i] = resample(r, &random);
	gp_samples_sort(found, RESAMPLES);
	return spread_of(found, r->before[r->count], r->count);
}

/*
 * Late requests come in rows, at p90 as at p99.9. But a run has only a few rows beyond
 * p99.9, so the resamples often vary too little there. Their variance against that of
 * independent samples is therefore at least p90's.
 */
static void stretch(const struct run *r, struct spread *s)
{
	double by;

	/* No spread at all if no sample counts, or all do, as with equal samples. */
	if (!(s->times > 0) || s->times >= r->times_at_p90)
		return;
	by = sqrt(r->times_at_p90 / s->times);
	s->fewer = (uint64_t)((double)s->fewer * by);
	s->more = (uint64_t)((double)s->more * by);
}

/*
 * If many samples equal the percentile, the samples below it and those above it differ in
 * number. The ones below give the interval's low end, the ones above its high end.
 */
static struct gp_percentile find(struct run *r, enum gp_percentile_name which)
{
	const size_t rank = (r->count * percentiles[which].per_mille + 999) / 1000;
	struct spread below, above;
	uint64_t ns;

	if (r->count - rank < GP_PERCENTILE_BEYOND)
		return (struct gp_percentile){ 0 };
	ns = r->sorted[rank - 1];
	below = spread_at(r, ns);
	above = spread_at(r, ns + 1);
	if (which == GP_P90)
		r->times_at_p90 = fmax(below.times, above.times);
	if (which > GP_P90) {
		stretch(r, &below);
		stretch(r, &above);
	}
	return (struct gp_percentile){
		.given = true,
		.ns = ns,
		.low_ns = below.more < rank ? r->sorted[rank - 1 - below.more] : 0,
		.high_ns = above.fewer < r->count - rank ? r->sorted[rank + above.fewer] :
							   GP_PERCENTILE_OPEN,
	};
}

int gp_percentiles(const uint64_t *latency_ns, size_t count, uint64_t seed,
		   struct gp_percentiles *result)
{
	struct run r = { .sample = latency_ns, .count = count, .seed = seed };
	int err = 0;

	if (!count || count > UINT32_MAX)
		return -EINVAL;
	r.sorted = malloc(count * sizeof(*r.sorted));
	r.before = calloc(count + 1, sizeof(*r.before));
	if (r.sorted && r.before) {
		memcpy(r.sorted, latency_ns, count * sizeof(*r.sorted));
		gp_samples_sort(r.sorted, count);
		for (int i = 0; i < GP_PERCENTILES; i++)
			result->of[i] = find(&r, (enum gp_percentile_name)i);
		result->max_ns = r.sorted[count - 1];
	} else {
		err = -ENOMEM;
	}
	free(r.sorted);
	free(r.before);
	return err;
}
