/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bodies.h - one thread's work in the kernels that need nothing of CUDA's. kernels.cu makes kernels
 * of them. The CPU runs them as they are, to compare them with other ways to the same result.
 */
#ifndef GP_BENCH_BODIES_H
#define GP_BENCH_BODIES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels.h"

#if defined(__CUDACC__) || defined(__HIP__)
#define GP_BODY __device__ static inline
#define GP_UNROLL(how) _Pragma(how)
#else
#define GP_BODY static inline
#define GP_UNROLL(how)
#endif

GP_BODY uint32_t gp_body_iterate(uint32_t x, uint32_t mul, uint32_t add, uint32_t iters)
{
	GP_UNROLL("unroll 8")
	for (uint32_t i = 0; i < iters; i++)
		x = mul * x + add;
	return x;
}

/*
 * The same, with pairs of registers that hold something all the while. Two rows, each of sums of
 * the two before, one of them by a multiplication, are alike where @one is 1, which no compiler
 * knows. The iterations begin with the last pair, so all were made before. The result contains all
 * of their last values. A function for each number of pairs: with another's constant the compiler
 * leaves them in memory.
 */
#define GP_BODY_LIVE(registers, pairs)                                                    \
	GP_BODY uint32_t gp_body_live_##registers(uint32_t x, uint32_t mul, uint32_t add, \
						  uint32_t iters, uint32_t one)           \
	{                                                                                 \
		uint32_t a[pairs], b[pairs];                                              \
                                                                                          \
		a[0] = b[0] = x;                                                          \
		a[1] = x + one;                                                           \
		b[1] = one * x + one;                                                     \
		GP_UNROLL("unroll")                                                       \
		for (int j = 2; j < pairs; j++) {                                         \
			a[j] = a[j - 1] + a[j - 2];                                       \
			b[j] = one * b[j - 1] + b[j - 2];                                 \
		}                                                                         \
		x += a[pairs - 1] ^ b[pairs - 1];                                         \
		x = gp_body_iterate(x, mul, add, iters);                                  \
		GP_UNROLL("unroll")                                                       \
		for (int j = 0; j < pairs; j++)                                           \
			x ^= a[j] ^ b[j];                                                 \
		return x;                                                                 \
	}
GP_LIVE_KERNELS(GP_BODY_LIVE)

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

/* The same seen from both ends, 1 to 16. */
GP_BODY uint32_t gp_csr_weight(uint32_t u, uint32_t v)
{
	return 1 + ((u ^ v) * GP_KERNEL_MIX >> 28);
}

GP_BODY uint32_t gp_csr_rank(uint64_t shares)
{
	return GP_CSR_RANK * 38 / 256 + (uint32_t)(shares * 218 / 256);
}

/* From @u, whose value is @x, to its neighbour @v, which has @best so far. */
GP_BODY uint32_t gp_csr_better(uint32_t op, uint32_t u, uint32_t x, uint32_t v, uint32_t best)
{
	if (x == GP_CSR_NONE)
		return best;
	if (op == GP_CSR_BFS)
		x++;
	else if (op == GP_CSR_SSSP)
		x += gp_csr_weight(u, v);
	return x < best ? x : best;
}

GP_BODY uint32_t gp_csr_value(uint32_t op, const uint32_t *row, const uint32_t *col,
			      const uint32_t *in, uint32_t v)
{
	uint32_t best = in[v];
	uint64_t shares = 0;

	for (uint32_t e = row[v]; e < row[v + 1]; e++) {
		const uint32_t u = col[e], edges = row[u + 1] - row[u];

		if (op != GP_CSR_PAGERANK)
			best = gp_csr_better(op, u, in[u], v, best);
		else if (edges)
			shares += in[u] / edges;
	}
	return op == GP_CSR_PAGERANK ? gp_csr_rank(shares) : best;
}

GP_BODY void gp_body_csr(uint32_t op, uint32_t vertices, uint32_t round, const uint32_t *row,
			 const uint32_t *col, const uint32_t *in, uint32_t *out, uint32_t v)
{
	uint32_t value;

	if (v >= vertices)
		return;
	value = gp_csr_value(op, row, col, in, v);
	if (value != in[v])
		out[vertices] = round;
	out[v] = value;
}

/* Four neighbours in one direction, round the edges; weights of miniWeather's interpolation. */
GP_BODY void gp_body_stencil(const uint32_t *in, uint32_t *out, uint32_t width, uint32_t height,
			     uint32_t along_z, uint32_t cell)
{
	const uint32_t x = cell % width, z = cell / width;
	const uint32_t at = along_z ? z : x, length = along_z ? height : width;
	const uint32_t step = along_z ? width : 1, line = along_z ? x : z * width;

	if (z >= height)
		return;
	out[cell] = in[cell] + 7 * in[line + (at + length - 1) % length * step] +
		    7 * in[line + (at + 1) % length * step] -
		    in[line + (at + length - 2) % length * step] -
		    in[line + (at + 2) % length * step];
}

#endif
