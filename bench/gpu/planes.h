/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes.h - two buffers on the device that are read and written by turns, and their first values.
 * Each request adds its result to a third buffer, so the sum contains every request.
 */
#ifndef GP_BENCH_PLANES_H
#define GP_BENCH_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/gpu/cuda.h"

struct gp_planes {
	const struct gp_bench_gpu *gpu; /* borrowed */
	void *stream;			/* borrowed */
	size_t words;			/* that are added: whole blocks of them */
	size_t bytes;			/* of each plane */
	uint64_t begin, plane[2], sum;	/* on the device */
	uint32_t *expect;		/* of one request; taken over */
	uint64_t requests;
};

/**
 * @words, and @more that are not added, begin as @begin. @expect is a request's result, and is
 * freed by gp_planes_close().
 */
void gp_planes_open(struct gp_planes *p, const struct gp_bench_gpu *gpu, void *stream, size_t words,
		    size_t more, const uint32_t *begin, uint32_t *expect);
void gp_planes_close(struct gp_planes *p);
/** Resets the first plane. Does not wait. */
void gp_planes_begin(struct gp_planes *p);
/** Adds plane @which, and waits. */
void gp_planes_end(struct gp_planes *p, unsigned int which);
/** Is the sum so many requests' results? */
bool gp_planes_check(struct gp_planes *p);
/** Waits; nothing is added so far. */
void gp_planes_reset(struct gp_planes *p);

#endif
