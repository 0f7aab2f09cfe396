// SPDX-License-Identifier: Apache-2.0
/*
 * percentile.c - the interval is Woodruff's (JASA 47, 1952): at the percentile's value
 * it is asked how many samples might as well have lain beyond, and the samples of these
 * ranks are the interval's ends. How many might is found by the circular block
 * bootstrap (Politis and Romano, in "Exploring the Limits of Bootstrap", 1992): the run
 * is put together anew of blocks of it that begin anywhere. Only counts are put
 * together, so a block costs two reads however long it is. Of independent samples they
 * are binomial, and the interval is the textbooks' by order statistics.
 *
 * The maximum has none: no resample has a larger one, and the bootstrap of it is wrong
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
 * Of these 25 lie beyond each end: one that is meant for 2.5 % is off by 0.5 %. Efron and
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
	const uint64_t *sample; /* as they came */
	uint64_t *sorted;
	uint32_t *before; /* before[i]: of the first i samples, those that count */
	size_t count;
	uint64_t seed;
	double times_at_p90; /* struct spread's; p90 comes before those it is for */
};

const char *gp_percentile_name(enum gp_percentile_name which)
{
	return percentiles[which].name;
}

/*
 * A block has to be long against what one late request makes late, and blocks have to
 * be many. The square root of the samples does both, as in Doss, Flegal, Jones and Neath
 * (Electronic Journal of Statistics 8, 2014), who want intervals of quantiles, too. The
 * cube root of Hall, Horowitz and Jing (Biometrika 82, 1995), the best for short
 * dependence and long runs, is 46 of 100,000: less than a loaded queue is late at a time.
 */
static size_t block_length(size_t count)
{
	return (size_t)sqrt((double)count);
}

/* Of @length samples from @from on; the first comes after the last. */
static uint32_t count_block(const struct run *r, size_t from, size_t length)
{
	const size_t to = from + length;

	if (to <= r->count)
		return r->before[to] - r->before[from];
	return r->before[r->count] - r->before[from] + r->before[to - r->count];
}

/* How many samples would count in a run that is put together anew. */
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

/* Of how many samples count: had the run been another one, how many more or fewer? */
struct spread {
	uint64_t fewer, more;
	double times; /* its variance is so many times that of independent samples */
};

/* @found is sorted, of a run in which @is of @count samples count. */
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

/* Those count that are @least or more. */
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
 * What makes one of ten requests late makes them late one after another, and so for
 * one of a thousand; but of those a run has a few such pieces only, and their spread is
 * found too small as often as not. So it is taken to be p90's at least.
 */
static void stretch(const struct run *r, struct spread *s)
{
	double by;

	/* None at all where no sample counts, or each does: equal ones. */
	if (!(s->times > 0) || s->times >= r->times_at_p90)
		return;
	by = sqrt(r->times_at_p90 / s->times);
	s->fewer = (uint64_t)((double)s->fewer * by);
	s->more = (uint64_t)((double)s->more * by);
}

/*
 * Where many samples are equal, how many are below the value and how many are above it
 * are two questions: the one says how low the percentile may be, the other how high.
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
