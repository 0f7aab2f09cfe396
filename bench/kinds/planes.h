/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes.h - two buffers on the device that are read from and written to by turns, what
 * both begin with, and a third to which each request adds what it came to: so that the sum
 * shows every request's result.
 */
#ifndef GP_BENCH_PLANES_H
#define GP_BENCH_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/common/cuda.h"

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
 * @words, and @more that are not added, begin as @begin. @expect is what a request makes
 * of the words, and is freed by gp_planes_close().
 */
void gp_planes_open(struct gp_planes *p, const struct gp_bench_gpu *gpu, void *stream, size_t words,
		    size_t more, const uint32_t *begin, uint32_t *expect);
void gp_planes_close(struct gp_planes *p);
/** The first plane is what it was at the beginning. Does not wait. */
void gp_planes_begin(struct gp_planes *p);
/** Adds what is in plane @which, and waits. */
void gp_planes_end(struct gp_planes *p, unsigned int which);
/** Is the sum so many requests' results? */
bool gp_planes_check(struct gp_planes *p);
/** Waits; nothing is added so far. */
void gp_planes_reset(struct gp_planes *p);

#endif
