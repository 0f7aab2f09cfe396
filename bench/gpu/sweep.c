// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/sweep.h"

#include <stddef.h>

/* A line of @length cells, @step apart: the window of five slides along it. */
static void line(const uint32_t *from, uint32_t *to, uint32_t length, size_t step)
{
	uint32_t before2 = from[(length - 2) * step], before = from[(length - 1) * step];
	uint32_t here = from[0], after = from[step];

	for (uint32_t i = 0; i < length; i++) {
		const uint32_t after2 =
			from[i + 2 < length ? (i + 2) * step : (i + 2 - length) * step];

		to[i * step] = here + 7 * (before + after) - (before2 + after2);
		before2 = before;
		before = here;
		here = after;
		after = after2;
	}
}

void gp_sweep(const uint32_t *from, uint32_t *to, uint32_t width, uint32_t height, uint32_t along_z)
{
	if (along_z)
		for (size_t x = 0; x < width; x++)
			line(from + x, to + x, height, width);
	else
		for (size_t z = 0; z < height; z++)
			line(from + z * width, to + z * width, width, 1);
}
