/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bodies.h - what one thread does of those kernels that need nothing of CUDA's: kernels.cu
 * makes kernels of them, and the CPU can run them as they are, to hold them against other
 * ways to the same result.
 */
#ifndef GP_BENCH_BODIES_H
#define GP_BENCH_BODIES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels.h"

#ifdef __CUDACC__
#define GP_BODY __device__ static inline
#else
#define GP_BODY static inline
#endif

/* One load and one store of a thread; eight blocks of them keep the memory of an SM busy. */
struct __attribute__((aligned(16))) gp_quad {
	uint32_t x, y, z, w;
};

GP_BODY void gp_body_stream(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t rows,
			    uint32_t block, uint32_t thread)
{
	const size_t own = (size_t)block * rows * GP_KERNEL_THREADS + thread;
	struct gp_quad *at = (struct gp_quad *)buf + own;
	uint32_t k = 0;

	for (uint32_t i = 0; i < iters; i++) {
		const size_t quad = (size_t)k * GP_KERNEL_THREADS;
		const uint32_t add = 8 * (uint32_t)(own + quad) + 1;
		struct gp_quad q = at[quad];

		q.x = mul * q.x + add;
		q.y = mul * q.y + add + 2;
		q.z = mul * q.z + add + 4;
		q.w = mul * q.w + add + 6;
		at[quad] = q;
		k = k + 1 == rows ? 0 : k + 1;
	}
}

#endif
