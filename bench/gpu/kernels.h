/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the kernels that the bench runs, exactly.
 *
 * Every kernel does a fixed amount of work; preemption does not shorten it. It works on
 * integers, so any device and the CPU give the same bits. It works in place on its result
 * buffer: the value after K launches shows a lost iteration, a lost block, or a block that
 * ran twice. kernels.cu and live.cu are the source, *_ptx.c its PTX. reference.c is the
 * same in C, and jumps ahead instead of iterating.
 *
 * All but gp_live have blocks of GP_KERNEL_THREADS threads in one dimension. With
 * t = threadIdx.x, b = blockIdx.x, n = gridDim.x, g = b * 256 + t, and all
 * arithmetic on uint32_t:
 *
 * gp_work(uint32_t *buf, const uint32_t *in, uint32_t mul, uint32_t iters)::
 *      x = buf[g]; if (in) x += in[g];
 *      iters times: x = mul * x + (2 * g + 1);
 *      buf[g] = x;
 *
 * gp_live_R(uint32_t *buf, const uint32_t *in, uint32_t mul, uint32_t iters, uint32_t one)
 *	The same with R registers a thread. Nearly all are live from beginning to end, and
 *	the result contains them. Blocks have n threads, up to GP_LIVE_THREADS(R), and
 *	g = b * n + t. one is 1.
 *
 * gp_smem(uint32_t *buf, uint32_t mul, uint32_t iters)
 *	48 KiB of shared memory and 24 live registers a thread.
 * It computes::
 *      x = buf[g];
 *      r[j] = x + j * GP_KERNEL_MIX, j < 24; s[k][t] = x ^ (k * GP_KERNEL_MIX), k < 48;
 *      for i < iters: r[j] = mul * r[j] + (2 * j + 1) for every j;
 *              k = i % 48: s[k][t] = mul * s[k][t] + (2 * k + 1);
 *      then the block synchronises;
 *      x = x * 33 ^ r[j] for j = 0..23;
 *      x = x * 33 ^ s[k][(t + 1) % 256] for k = 0..47; buf[g] = x;
 *
 * gp_stream(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t rows)
 *	Through memory. A block has rows of 1024 words, one after the other in buf.
 * It computes::
 *      for i < iters: each word of the block's row i % rows, at its place w in buf:
 *              buf[w] = mul * buf[w] + (2 * w + 1)
 *
 * gp_tensor(int32_t *buf, uint32_t seed, uint32_t iters)::
 *      each warp w = g / 32 has a 16 x 16 tile at buf + 256 * w (row major), and
 *      signed bytes A[i][k] = gp_tensor_byte(seed, 512 * w + 16 * i + k),
 *      B[k][j] = gp_tensor_byte(seed, 512 * w + 256 + 16 * k + j);
 *      iters times, on the tensor cores: tile += A * B (wrapping int32).
 *      A block has 8 warps: its part of buf is 2048 words.
 *
 * gp_coop(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t phases)
 *	Cooperative; buf has two planes of n * 256 words; phases is even.
 * It computes::
 *      for p < phases: x = buf[p % 2][g] +
 *                          buf[p % 2][(g + 128 * n + 1) % (256 * n)];
 *              iters times: x = mul * x + (2 * g + 1);
 *              buf[(p + 1) % 2][g] = x; the whole grid synchronises.
 *
 * These write elsewhere than they read from, so that a block that ran twice leaves no
 * trace; bodies.h has them.
 *
 * gp_csr(uint32_t op, uint32_t vertices, uint32_t edges, uint32_t round,
 *	  const uint32_t *row, const uint32_t *col, const uint32_t *in, uint32_t *out)
 *	One round over a graph, a thread for each vertex v = g. Its neighbours u are
 *	col[row[v]] .. col[row[v + 1] - 1]; edges is row[vertices]. Breadth-first search
 *	takes the smallest of in[v] and in[u] + 1; shortest paths add the edge's weight.
 *	Components take the smallest of in[v] and all in[u]. PageRank takes 38/256 of
 *	GP_CSR_RANK + 218/256 of the sum of in[u] / (number of u's edges). A result that
 *	differs from in[v] sets out[vertices] = round.
 *
 * gp_stencil(const uint32_t *in, uint32_t *out, uint32_t width, uint32_t height,
 *	      uint32_t along_z)
 *	A cell for each thread: itself + 7 times both neighbours in one direction - both of
 *	those beyond, round the edges.
 */
#ifndef GP_BENCH_KERNELS_H
#define GP_BENCH_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_KERNEL_THREADS 256
#define GP_KERNEL_MUL 1664525u /* the apps' argument mul */
#define GP_KERNEL_MIX 0x9E3779B9u
#define GP_KERNEL_SMEM_REGS 24
#define GP_KERNEL_SMEM_WORDS \
	48 /* per thread; static shared memory:
					 * 48 * 256 * 4 bytes */
#define GP_KERNEL_TILE_WORDS 256

/*
 * X(registers, pairs of them that hold something). The compiler needs up to 12 more. They are
 * allocated in eights, and these are as many as blocks fit on an SM of 65,536 for 2048 threads,
 * 1536, 1024, 640, 512, 384 and 256.
 */
#define GP_LIVE_KERNELS(X) X(32, 10) X(40, 14) X(64, 26) X(96, 42) X(128, 58) X(168, 78) X(255, 121)
/* Of a block: an SM has 65,536 registers, of AMD's a lane of each of four SIMDs 256. */
#ifdef __HIP__
#define GP_LIVE_FIT(registers) (256 / (registers)*256)
#else
#define GP_LIVE_FIT(registers) (65536 / (registers) / 128 * 128)
#endif
#define GP_LIVE_THREADS(registers) (GP_LIVE_FIT(registers) < 1024 ? GP_LIVE_FIT(registers) : 1024)

/* Words of buf that one block owns. gp_coop: per plane. */
#define GP_KERNEL_WORDS 256
#define GP_KERNEL_TENSOR_WORDS 2048
#define GP_KERNEL_ROW_WORDS 1024 /* of gp_stream */

enum gp_csr_op {
	GP_CSR_BFS,
	GP_CSR_SSSP,
	GP_CSR_COMPONENTS,
	GP_CSR_PAGERANK
};
#define GP_CSR_NONE UINT32_MAX /* not reached so far */
#define GP_CSR_RANK 4096u      /* of each vertex at first */

/*
 * How long one block lasts on the software GPU, ns. On a card it is measured:
 * the apps calibrate their iterations.
 */
#define GP_COST_BASE_NS 1000u
#define GP_COST_WORK_NS_PER_ITER 4u
#define GP_COST_SMEM_NS_PER_ITER 64u
#define GP_COST_TENSOR_NS_PER_ITER 32u
/* 1056 blocks, 8 KiB each: the 4.8 TB/s of an H200's data sheet. */
#define GP_COST_STREAM_NS_PER_ITER 1800u
/* As many bytes a second: 256 vertices of 16 neighbours, a sector of 32 bytes each. */
#define GP_COST_CSR_BLOCK_NS 29000u
#define GP_COST_STENCIL_BLOCK_NS 1000u
#define GP_COST_COOP_PHASE_NS 2000u /* per phase, besides its iterations */

static inline uint64_t gp_cost_work_ns(uint32_t iters)
{
	return GP_COST_BASE_NS + (uint64_t)iters * GP_COST_WORK_NS_PER_ITER;
}

static inline uint64_t gp_cost_smem_ns(uint32_t iters)
{
	return GP_COST_BASE_NS + (uint64_t)iters * GP_COST_SMEM_NS_PER_ITER;
}

static inline uint64_t gp_cost_stream_ns(uint32_t iters)
{
	return GP_COST_BASE_NS + (uint64_t)iters * GP_COST_STREAM_NS_PER_ITER;
}

static inline uint64_t gp_cost_tensor_ns(uint32_t iters)
{
	return GP_COST_BASE_NS + (uint64_t)iters * GP_COST_TENSOR_NS_PER_ITER;
}

static inline uint64_t gp_cost_coop_ns(uint32_t iters, uint32_t phases)
{
	return GP_COST_BASE_NS + (uint64_t)phases * (GP_COST_COOP_PHASE_NS +
						     (uint64_t)iters * GP_COST_WORK_NS_PER_ITER);
}

/* The PTX of all but gp_live, and of gp_live: sm_75, NUL-terminated. */
extern const char gp_kernels_ptx[], gp_live_ptx[];

/*
 * The same on the CPU: blocks [first, first + count) of one launch. @buf is
 * the launch's whole buffer. gp_coop depends on all blocks: one call does the
 * whole grid of @blocks.
 */
void gp_ref_work(uint32_t *buf, const uint32_t *in, uint32_t mul, uint32_t iters, uint64_t first,
		 uint64_t count);
/** gp_work() and gp_live_R() of those words. */
void gp_ref_words(uint32_t *buf, const uint32_t *in, uint32_t mul, uint32_t iters, size_t first,
		  size_t count);
void gp_ref_smem(uint32_t *buf, uint32_t mul, uint32_t iters, uint64_t first, uint64_t count);
/** @launches of them. */
void gp_ref_stream(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t rows, uint64_t launches,
		   uint64_t first, uint64_t count);
void gp_ref_tensor(uint32_t *buf, uint32_t seed, uint32_t iters, uint64_t first, uint64_t count);
void gp_ref_coop(uint32_t *buf, uint32_t mul, uint32_t iters, uint32_t phases, uint64_t blocks);

void gp_ref_stencil(const uint32_t *in, uint32_t *out, uint32_t width, uint32_t height,
		    uint32_t along_z, uint64_t first, uint64_t count);
/** False: it is no graph; the blocks before it were done. */
bool gp_ref_csr(uint32_t op, uint32_t vertices, uint32_t edges, uint32_t round, const uint32_t *row,
		const uint32_t *col, const uint32_t *in, uint32_t *out, uint64_t first,
		uint64_t count);

/* The apps' buffers before the first launch. */
void gp_ref_fill(uint32_t *buf, size_t words, uint32_t seed);

/* FNV-1a over the bytes: the checksum that the apps print. */
uint64_t gp_ref_checksum(const void *data, size_t bytes);

#endif
