/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that iterates a linear congruence, so that the CPU can check every result. */
#ifndef TESTS_KFD_HIP_WORK_H
#define TESTS_KFD_HIP_WORK_H

#include <hip/hip_runtime.h>

#include <cstdint>

#define WORK_MUL 1664525u

static inline __host__ __device__ uint32_t work_step(uint32_t x, uint32_t lane)
{
	x = x * WORK_MUL + 2u * lane + 1u;
	return x ^ (x >> 15);
}

/* Continues from the buffer's values, so that a kernel that ran twice or half shows. */
__global__ void work(uint32_t *buf, uint32_t iters)
{
	uint32_t lane = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t x = buf[lane];

	for (uint32_t i = 0; i < iters; i++)
		x = work_step(x, lane);
	buf[lane] = x;
}

static inline uint32_t work_expect(uint32_t lane, uint64_t steps)
{
	uint32_t x = 0;

	for (uint64_t i = 0; i < steps; i++)
		x = work_step(x, lane);
	return x;
}

#endif
