/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape.h - gp_live_R in the shape of another kernel: as many threads a block, and at least as many
 * registers and as much shared memory. The device may limit them. These decide how many blocks are
 * resident at once, and how much a switch saves. The result can be launched. Not for several
 * threads.
 */
#ifndef GP_BENCH_SHAPE_H
#define GP_BENCH_SHAPE_H

#include <stdint.h>

#include "bench/gpu/cuda.h"
#include "bench/gpu/kernels.h"

struct gp_shape {
	void *fn;
	uint32_t threads;      /* of a block */
	uint32_t registers;    /* of a thread: those of its name */
	uint32_t shared_bytes; /* of a block, dynamic */
};

#define GP_SHAPE_ONE(registers, pairs) +1
enum {
	GP_SHAPES = 0 GP_LIVE_KERNELS(GP_SHAPE_ONE)
};

struct gp_shapes {
	/* With the most threads a block that there can be; fewest registers first. */
	struct gp_shape most[GP_SHAPES];
	uint32_t shared_max; /* of a block */
};

/** Loads the kernels into the current context, where they stay. */
void gp_shapes_open(struct gp_shapes *shapes, const struct gp_bench_gpu *gpu);

/** The nearest shape to this one. Ignores its fn. */
struct gp_shape gp_shapes_near(const struct gp_shapes *shapes, struct gp_shape wanted);

#endif
