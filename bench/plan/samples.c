// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/samples.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void gp_samples_sort(uint64_t *value, size_t count)
{
	/* @value may be NULL if @count is 0. */
	if (count)
		qsort(value, count, sizeof(*value), compare);
}

uint64_t gp_samples_rank(const uint64_t *sorted, size_t count, unsigned int per_mille)
{
	size_t rank = (count * per_mille + 999) / 1000;

	if (!count)
		return 0;
	return sorted[rank ? rank - 1 : 0];
}
