// SPDX-License-Identifier: Apache-2.0
#include "bench/stats/percentile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE 100000u
#define BEYOND 10u
#define DRAWS 1000

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void gp_sort(double *sample, size_t count)
{
	qsort(sample, count, sizeof(*sample), by_size);
}

double gp_percentile(const double *sorted, size_t count, uint32_t part)
{
	const size_t rank = (count * part + WHOLE - 1) / WHOLE;

	return sorted[rank ? rank - 1 : 0];
}

bool gp_percentile_known(size_t count, uint32_t part)
{
	return part == WHOLE ? count > 0 :
			       count * (WHOLE - part) >= (size_t)BEYOND * WHOLE;
}

static size_t below(struct gp_random *r, size_t count)
{
	return (size_t)(gp_random_uniform(r) * (double)count);
}

/* As many samples as @run has, in stretches of the root of that, round its end. */
static void draw_run(const struct gp_run *run, struct gp_random *r, double *out)
{
	const size_t stretch = (size_t)ceil(sqrt((double)run->count));

	for (size_t done = 0; done < run->count; done += stretch) {
		const size_t from = below(r, run->count);

		for (size_t i = 0; i < stretch && done + i < run->count; i++)
			out[done + i] = run->sample[(from + i) % run->count];
	}
}

static double draw(const struct gp_run *run, size_t runs, uint32_t part,
		   struct gp_random *r, double *room)
{
	size_t count = 0;

	for (size_t i = 0; i < runs; i++) {
		const struct gp_run *one = &run[below(r, runs)];

		draw_run(one, r, room + count);
		count += one->count;
	}
	gp_sort(room, count);
	return gp_percentile(room, count, part);
}

/* Of the longest run, for each that may be drawn: any may be drawn each time. */
static size_t room_for(const struct gp_run *run, size_t runs)
{
	size_t most = 0;

	for (size_t i = 0; i < runs; i++) {
		if (!run[i].count)
			return 0;
		if (run[i].count > most)
			most = run[i].count;
	}
	return most * runs;
}

int gp_percentile_interval(const struct gp_run *run, size_t runs, uint32_t part,
			   double sure, struct gp_random *random,
			   struct gp_interval *interval)
{
	const size_t size = room_for(run, runs);
	const double outside = (1 - sure) / 2;
	double found[DRAWS], *room;

	if (!size)
		return -EINVAL;
	room = malloc(size * sizeof(*room));
	if (!room)
		return -ENOMEM;
	for (size_t i = 0; i < DRAWS; i++)
		found[i] = draw(run, runs, part, random, room);
	free(room);
	gp_sort(found, DRAWS);
	interval->low = found[(size_t)(outside * (DRAWS - 1))];
	interval->high = found[(size_t)ceil((1 - outside) * (DRAWS - 1))];
	return 0;
}

double gp_jain(const double *share, size_t count)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++) {
		sum += share[i];
		squares += share[i] * share[i];
	}
	return squares > 0 ? sum * sum / ((double)count * squares) : 1;
}
