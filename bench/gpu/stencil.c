// SPDX-License-Identifier: Apache-2.0
/*
 * stencil.c - steps over a grid, along x and z by turns, as miniWeather's: each reads four
 * neighbours of a cell in one direction.
 */
#include <stdlib.h>

#include "bench/gpu/kernels.h"
#include "bench/gpu/kind.h"
#include "bench/gpu/planes.h"
#include "bench/gpu/sweep.h"

#define FILL_SEED 0x7E47u

struct stencil {
	struct gp_planes planes;
	uint32_t width, height, steps;
};

/* What @cell comes to; by way of @other. The one of both that it is in is kept. */
static uint32_t *all_steps(const struct stencil *s, uint32_t *cell, uint32_t *other)
{
	for (uint32_t step = 0; step < s->steps; step++) {
		uint32_t *to = other;

		gp_sweep(cell, to, s->width, s->height, step % 2);
		other = cell;
		cell = to;
	}
	free(other);
	return cell;
}

static void *open_stencil(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
			  void *stream)
{
	struct stencil *s = gp_kind_alloc(sizeof(*s));
	const size_t cells = (size_t)workload->width * workload->height;
	uint32_t *begin = gp_kind_alloc(cells * sizeof(*begin));
	uint32_t *a = gp_kind_alloc(cells * sizeof(*a)), *b = gp_kind_alloc(cells * sizeof(*b));

	s->width = workload->width;
	s->height = workload->height;
	s->steps = workload->steps;
	gp_ref_fill(begin, cells, FILL_SEED);
	gp_ref_fill(a, cells, FILL_SEED);
	gp_planes_open(&s->planes, gpu, stream, cells, 0, begin, all_steps(s, a, b));
	free(begin);
	return s;
}

static void close_stencil(void *job)
{
	struct stencil *s = job;

	gp_planes_close(&s->planes);
	free(s);
}

static void request(void *job)
{
	struct stencil *s = job;
	const unsigned int blocks =
		(unsigned int)((s->planes.words + GP_KERNEL_THREADS - 1) / GP_KERNEL_THREADS);

	gp_planes_begin(&s->planes);
	for (uint32_t step = 0; step < s->steps; step++) {
		uint32_t along_z = step % 2;
		void *params[] = { &s->planes.plane[along_z], &s->planes.plane[!along_z], &s->width,
				   &s->height, &along_z };

		GP_CU(cuLaunchKernel(s->planes.gpu->fn[GP_KERNEL_STENCIL], blocks, 1, 1,
				     GP_KERNEL_THREADS, 1, 1, 0, s->planes.stream, params, NULL));
	}
	gp_planes_end(&s->planes, s->steps % 2);
}

static bool check(void *job)
{
	return gp_planes_check(&((struct stencil *)job)->planes);
}

static void reset(void *job)
{
	gp_planes_reset(&((struct stencil *)job)->planes);
}

const struct gp_kind gp_kind_stencil = {
	.open = open_stencil,
	.request = request,
	.check = check,
	.reset = reset,
	.close = close_stencil,
};
