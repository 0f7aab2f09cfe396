// SPDX-License-Identifier: Apache-2.0
/*
 * kernels.c - the kernels that the software GPU knows, by name: the time and the computation
 * of a block.
 */
#include <errno.h>
#include <string.h>

#include "bench/gpu/kernels.h"
#include "nvidia-backend/hold_abi.h"
#include "softgpu/server/server.h"

#define COOP_PHASES_MAX 4096u

static uint64_t arg_u64(const struct soft_launch *l, uint32_t at)
{
	uint64_t v;

	memcpy(&v, l->args + at, sizeof(v));
	return v;
}

static uint32_t arg_u32(const struct soft_launch *l, uint32_t at)
{
	uint32_t v;

	memcpy(&v, l->args + at, sizeof(v));
	return v;
}

static int take(struct soft_launch *l, uint32_t i, uint64_t addr, uint64_t bytes)
{
	struct soft_region *r;

	if (addr % 4)
		return -EFAULT;
	r = soft_region_get(l->proc, addr, bytes);
	if (!r)
		return -EFAULT;
	l->region[i] = r;
	l->ptr[i] = r->map + (addr - r->addr);
	l->addr[i] = addr;
	l->bytes[i] = bytes;
	return 0;
}

void soft_launch_put(struct soft_launch *l)
{
	for (uint32_t i = 0; i < SOFT_KERNEL_REGIONS; i++) {
		soft_region_put(l->region[i]);
		l->region[i] = NULL;
	}
}

/* The bench's kernels have blocks of one size in one dimension. */
static bool bench_shape(const struct soft_launch *l)
{
	return l->block[0] == GP_KERNEL_THREADS && l->block[1] == 1 && l->block[2] == 1 &&
	       l->grid[1] == 1 && l->grid[2] == 1;
}

/* ---- gp_work(buf, in, mul, iters) ---------------------------------------- */

static int work_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	const uint64_t bytes = l->blocks * GP_KERNEL_WORDS * 4;
	int err;

	if (!bench_shape(l))
		return -EINVAL;
	*block_ns = gp_cost_work_ns(arg_u32(l, 20));
	err = take(l, 0, arg_u64(l, 0), bytes);
	if (!err && arg_u64(l, 8))
		err = take(l, 1, arg_u64(l, 8), bytes);
	return err;
}

static void work_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	gp_ref_work(l->ptr[0], l->ptr[1], arg_u32(l, 16), arg_u32(l, 20), first, count);
}

/*
 * ---- gp_live_R(buf, in, mul, iters, one): like gp_work, with blocks of any length. Registers
 * per thread and shared memory per block do not matter to this GPU.
 */

static int live_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	const uint64_t bytes = l->blocks * l->block[0] * 4;
	int err;

	if (l->block[1] != 1 || l->block[2] != 1 || l->grid[1] != 1 || l->grid[2] != 1)
		return -EINVAL;
	*block_ns = gp_cost_work_ns(arg_u32(l, 20));
	err = take(l, 0, arg_u64(l, 0), bytes);
	if (!err && arg_u64(l, 8))
		err = take(l, 1, arg_u64(l, 8), bytes);
	return err;
}

static void live_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	const size_t threads = l->block[0];

	gp_ref_words(l->ptr[0], l->ptr[1], arg_u32(l, 16), arg_u32(l, 20), first * threads,
		     count * threads);
}

/* ---- gp_smem(buf, mul, iters) -------------------------------------------- */

static int smem_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	if (!bench_shape(l))
		return -EINVAL;
	*block_ns = gp_cost_smem_ns(arg_u32(l, 12));
	return take(l, 0, arg_u64(l, 0), l->blocks * GP_KERNEL_WORDS * 4);
}

static void smem_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	gp_ref_smem(l->ptr[0], arg_u32(l, 8), arg_u32(l, 12), first, count);
}

/* ---- gp_stream(buf, mul, iters, rows) ------------------------------------- */

static int stream_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	const uint64_t rows = arg_u32(l, 16);
	uint64_t bytes;

	if (!bench_shape(l) || !rows ||
	    __builtin_mul_overflow(l->blocks, rows * GP_KERNEL_ROW_WORDS * 4, &bytes))
		return -EINVAL;
	*block_ns = gp_cost_stream_ns(arg_u32(l, 12));
	return take(l, 0, arg_u64(l, 0), bytes);
}

static void stream_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	gp_ref_stream(l->ptr[0], arg_u32(l, 8), arg_u32(l, 12), arg_u32(l, 16), 1, first, count);
}

/* ---- gp_csr(op, vertices, edges, round, row, col, in, out) ------------------ */

static int csr_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	const uint64_t vertices = arg_u32(l, 4), edges = arg_u32(l, 8);
	const uint64_t words[] = { vertices + 1, edges, vertices, vertices + 1 };
	int err = bench_shape(l) && vertices && edges ? 0 : -EINVAL;

	*block_ns = GP_COST_CSR_BLOCK_NS;
	for (uint32_t i = 0; i < 4 && !err; i++)
		err = take(l, i, arg_u64(l, 16 + 8 * i), words[i] * 4);
	/* Does not check data that a client can change meanwhile. */
	if (!err && (l->region[0]->host || l->region[1]->host))
		err = -EFAULT;
	return err;
}

static void csr_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	if (!gp_ref_csr(arg_u32(l, 0), arg_u32(l, 4), arg_u32(l, 8), arg_u32(l, 12), l->ptr[0],
			l->ptr[1], l->ptr[2], l->ptr[3], first, count))
		l->proc->error = 1;
}

/* ---- gp_stencil(in, out, width, height, along_z) ---------------------------- */

static int stencil_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	const uint64_t width = arg_u32(l, 16), height = arg_u32(l, 20);
	int err = bench_shape(l) && width >= 2 && height >= 2 &&
				  l->blocks * GP_KERNEL_THREADS <= UINT32_MAX &&
				  width * height <= UINT32_MAX ?
			  0 :
			  -EINVAL;

	*block_ns = GP_COST_STENCIL_BLOCK_NS;
	for (uint32_t i = 0; i < 2 && !err; i++)
		err = take(l, i, arg_u64(l, 8 * i), width * height * 4);
	return err;
}

static void stencil_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	gp_ref_stencil(l->ptr[0], l->ptr[1], arg_u32(l, 16), arg_u32(l, 20), arg_u32(l, 24), first,
		       count);
}

/* ---- gp_tensor(buf, seed, iters) ------------------------------------------ */

static int tensor_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	if (!bench_shape(l))
		return -EINVAL;
	*block_ns = gp_cost_tensor_ns(arg_u32(l, 12));
	return take(l, 0, arg_u64(l, 0), l->blocks * GP_KERNEL_TENSOR_WORDS * 4);
}

static void tensor_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	gp_ref_tensor(l->ptr[0], arg_u32(l, 8), arg_u32(l, 12), first, count);
}

/* ---- gp_coop(buf, mul, iters, phases) -------------------------------------- */

static int coop_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	/* Iterations are computed in closed form, phases are not. */
	if (!bench_shape(l) || arg_u32(l, 16) > COOP_PHASES_MAX)
		return -EINVAL;
	*block_ns = gp_cost_coop_ns(arg_u32(l, 12), arg_u32(l, 16));
	return take(l, 0, arg_u64(l, 0), l->blocks * GP_KERNEL_WORDS * 8);
}

/* Phases need the whole grid, so the last block computes it all. */
static void coop_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	l->first_done += count;
	if (l->first_done == l->blocks)
		gp_ref_coop(l->ptr[0], arg_u32(l, 8), arg_u32(l, 12), arg_u32(l, 16), l->blocks);
}

/* ---- gp_spin(ns): every block takes this time, and computes nothing -------- */

static int spin_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	*block_ns = arg_u64(l, 0);
	return 0;
}

static void spin_blocks(struct soft_launch *l, uint64_t first, uint64_t count)
{
	(void)l;
	(void)first;
	(void)count;
}

/* ---- gp_hold: job.c executes it ---------------------------------------------- */

static int hold_prepare(struct soft_launch *l, uint64_t *block_ns)
{
	int err;

	if (l->blocks != 1)
		return -EINVAL;
	*block_ns = arg_u64(l, 16);
	err = take(l, 0, arg_u64(l, 0), sizeof(uint32_t));
	if (!err && arg_u64(l, 8) % 8)
		err = -EFAULT;
	if (!err)
		err = take(l, 1, arg_u64(l, 8), sizeof(struct gp_nv_hold_stamp));
	return err;
}

#define LIVE(registers, pairs)                 \
	{                                      \
		.name = "gp_live_" #registers, \
		.args_bytes = 28,              \
		.prepare = live_prepare,       \
		.blocks = live_blocks,         \
	},
static const struct soft_kernel kernels[] = { {
						      .name = "gp_work",
						      .args_bytes = 24,
						      .prepare = work_prepare,
						      .blocks = work_blocks,
					      },
					      {
						      .name = "gp_smem",
						      .args_bytes = 16,
						      .prepare = smem_prepare,
						      .blocks = smem_blocks,
					      },
					      {
						      .name = "gp_tensor",
						      .args_bytes = 16,
						      .prepare = tensor_prepare,
						      .blocks = tensor_blocks,
					      },
					      {
						      .name = "gp_coop",
						      .args_bytes = 20,
						      .cooperative = true,
						      .prepare = coop_prepare,
						      .blocks = coop_blocks,
					      },
					      {
						      .name = "gp_spin",
						      .args_bytes = 8,
						      .prepare = spin_prepare,
						      .blocks = spin_blocks,
					      },
					      {
						      .name = GP_NV_HOLD_KERNEL,
						      .args_bytes = GP_NV_HOLD_PARAMS_BYTES,
						      .hold = true,
						      .prepare = hold_prepare,
					      },
					      {
						      .name = "gp_stream",
						      .args_bytes = 20,
						      .prepare = stream_prepare,
						      .blocks = stream_blocks,
					      },
					      {
						      .name = "gp_csr",
						      .args_bytes = 48,
						      .prepare = csr_prepare,
						      .blocks = csr_blocks,
					      },
					      {
						      .name = "gp_stencil",
						      .args_bytes = 28,
						      .prepare = stencil_prepare,
						      .blocks = stencil_blocks,
					      },
					      GP_LIVE_KERNELS(LIVE) };

const struct soft_kernel *soft_kernel(uint32_t id)
{
	if (!id || id > sizeof(kernels) / sizeof(kernels[0]))
		return NULL;
	return &kernels[id - 1];
}

uint32_t soft_kernel_find(const char *name)
{
	for (uint32_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (!strcmp(kernels[i].name, name))
			return i + 1;
	return 0;
}
