// SPDX-License-Identifier: Apache-2.0
/*
 * kernels.cu - the bench's kernels; kernels.h says what each computes. `make
 * bench-ptx` makes kernels_ptx.c of it, and make, where hipcc is, kernels.hsaco.
 * `mul` is an argument so that the compiler cannot fold the iterations.
 */
#ifdef __HIP__
#include <hip/hip_runtime.h>
#else
#include <cooperative_groups.h>
#include <mma.h>
#endif
#include <stdint.h>

#include "bodies.h"
#include "kernels.h"

extern "C" __global__ void __launch_bounds__(GP_KERNEL_THREADS)
gp_work(uint32_t *buf, const uint32_t *in, uint32_t mul, uint32_t iters)
{
	const uint32_t g = blockIdx.x * GP_KERNEL_THREADS + threadIdx.x;
	uint32_t x = buf[g];

	if (in)
		x += in[g];
	buf[g] = gp_body_iterate(x, mul, 2 * g + 1, iters);
}

extern "C" __global__ void __launch_bounds__(GP_KERNEL_THREADS)
gp_smem(uint32_t *buf, uint32_t mul, uint32_t iters)
{
	__shared__ uint32_t s[GP_KERNEL_SMEM_WORDS][GP_KERNEL_THREADS];
	const uint32_t t = threadIdx.x;
	const uint32_t g = blockIdx.x * GP_KERNEL_THREADS + t;
	uint32_t r[GP_KERNEL_SMEM_REGS];
	uint32_t x = buf[g], k = 0;

#pragma unroll
	for (uint32_t j = 0; j < GP_KERNEL_SMEM_REGS; j++)
		r[j] = x + j * GP_KERNEL_MIX;
	for (uint32_t w = 0; w < GP_KERNEL_SMEM_WORDS; w++)
		s[w][t] = x ^ (w * GP_KERNEL_MIX);
#pragma unroll 1
	for (uint32_t i = 0; i < iters; i++) {
#pragma unroll
		for (uint32_t j = 0; j < GP_KERNEL_SMEM_REGS; j++)
			r[j] = mul * r[j] + (2 * j + 1);
		s[k][t] = mul * s[k][t] + (2 * k + 1);
		k = k + 1 == GP_KERNEL_SMEM_WORDS ? 0 : k + 1;
	}
	__syncthreads();
#pragma unroll
	for (uint32_t j = 0; j < GP_KERNEL_SMEM_REGS; j++)
		x = (x * 33) ^ r[j];
	for (uint32_t w = 0; w < GP_KERNEL_SMEM_WORDS; w++)
		x = (x * 33) ^ s[w][(t + 1) % GP_KERNEL_THREADS];
	buf[g] = x;
}

extern "C" __global__ void __launch_bounds__(GP_KERNEL_THREADS)
gp_stream(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t rows)
{
	gp_body_stream(buf, mul, iters, rows, blockIdx.x, threadIdx.x);
}

extern "C" __global__ void __launch_bounds__(GP_KERNEL_THREADS)
gp_csr(uint32_t op, uint32_t vertices, uint32_t edges, uint32_t round, const uint32_t *row,
       const uint32_t *col, const uint32_t *in, uint32_t *out)
{
	gp_body_csr(op, vertices, round, row, col, in, out,
		    blockIdx.x * GP_KERNEL_THREADS + threadIdx.x);
}

extern "C" __global__ void __launch_bounds__(GP_KERNEL_THREADS)
gp_stencil(const uint32_t *in, uint32_t *out, uint32_t width, uint32_t height, uint32_t along_z)
{
	gp_body_stencil(in, out, width, height, along_z,
			blockIdx.x * GP_KERNEL_THREADS + threadIdx.x);
}

/* HIP reads one file of all. */
#ifdef __HIP__
#include "live.cu"
#endif

/*
 * Not with HIP: nvcuda::wmma is CUDA's, and the KFD without firmware scheduler has no
 * cooperative launches (GWS).
 */
#ifndef __HIP__
__device__ static signed char tensor_byte(uint32_t seed, uint32_t index)
{
	return (signed char)(((seed + index) * 2654435761u) >> 24);
}

extern "C" __global__ void __launch_bounds__(GP_KERNEL_THREADS)
gp_tensor(int *buf, uint32_t seed, uint32_t iters)
{
	using namespace nvcuda;
	__shared__ __align__(32) signed char bytes[8][512];
	const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	const uint32_t w = blockIdx.x * 8 + warp;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> b;
	wmma::fragment<wmma::accumulator, 16, 16, 16, int> acc;
	int *tile = buf + (size_t)w * GP_KERNEL_TILE_WORDS;

	for (uint32_t i = lane; i < 512; i += 32)
		bytes[warp][i] = tensor_byte(seed, 512 * w + i);
	__syncwarp();
	wmma::load_matrix_sync(a, bytes[warp], 16);
	wmma::load_matrix_sync(b, bytes[warp] + 256, 16);
	wmma::load_matrix_sync(acc, tile, 16, wmma::mem_row_major);
#pragma unroll 4
	for (uint32_t i = 0; i < iters; i++)
		wmma::mma_sync(acc, a, b, acc);
	wmma::store_matrix_sync(tile, acc, 16, wmma::mem_row_major);
}

extern "C" __global__ void __launch_bounds__(GP_KERNEL_THREADS)
gp_coop(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t phases)
{
	const uint32_t words = gridDim.x * GP_KERNEL_THREADS;
	const uint32_t g = blockIdx.x * GP_KERNEL_THREADS + threadIdx.x;
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();

	for (uint32_t p = 0; p < phases; p++) {
		const uint32_t *from = buf + (p % 2) * (size_t)words;
		uint32_t x = from[g] + from[(g + words / 2 + 1) % words];

		buf[((p + 1) % 2) * (size_t)words + g] =
			gp_body_iterate(x, mul, 2 * g + 1, iters);
		grid.sync();
	}
}
#endif
