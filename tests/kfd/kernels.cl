// SPDX-License-Identifier: Apache-2.0
/*
 * The tests' kernels, in OpenCL C without its library. ref.c computes their results on
 * the CPU. Each kernel adds to its output, so that lost work and repeated work show.
 */
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

#define GROUP 64

static uint global_id(uint group_size)
{
	return __builtin_amdgcn_workgroup_id_x() * group_size + __builtin_amdgcn_workitem_id_x();
}

static uint mix(uint x)
{
	x = x * 1664525u + 1013904223u;
	x ^= x >> 13;
	return x;
}

static void add(volatile global uint *p, uint v)
{
	__opencl_atomic_fetch_add((volatile global atomic_uint *)p, v, memory_order_relaxed,
				  memory_scope_all_svm_devices);
}

static uint peek(volatile global uint *p)
{
	return __opencl_atomic_load((volatile global atomic_uint *)p, memory_order_relaxed,
				    memory_scope_all_svm_devices);
}

/* Empty: a test of the packet processor alone. */
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void k_nop(void)
{
}

/* out[i] += hash of i and seed, iters times */
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void k_hash(global uint *out, uint iters, uint seed)
{
	uint i = global_id(GROUP), x = i ^ seed;

	for (uint n = 0; n < iters; n++)
		x = mix(x);
	add(&out[i], x);
}

/* As k_hash, and counts in beat[i], to show when waves run. */
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void k_beat(global uint *out, global uint *beat, uint iters, uint seed)
{
	uint i = global_id(GROUP), x = i ^ seed;

	for (uint n = 0; n < iters; n++) {
		x = mix(x);
		add(&beat[i], 1);
	}
	add(&out[i], x);
}

/* Four waves that read each other's LDS in every turn, and LDS atomics. */
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void k_lds(global uint *out, uint iters, uint seed)
{
	local uint cell[256];
	local uint sum;
	uint l = __builtin_amdgcn_workitem_id_x(), i = global_id(256);

	cell[l] = i ^ seed;
	if (!l)
		sum = 0;
	__builtin_amdgcn_s_barrier();
	for (uint n = 0; n < iters; n++) {
		uint x = cell[(l + 65) & 255];

		__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
		__builtin_amdgcn_s_barrier();
		cell[l] = mix(x);
		__opencl_atomic_fetch_add((volatile local atomic_uint *)&sum, x & 15,
					  memory_order_relaxed, memory_scope_work_group);
		__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
		__builtin_amdgcn_s_barrier();
	}
	add(&out[i], cell[l] + sum);
}

/* Each lane loops a different number of times, so EXEC changes all the time. */
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void k_diverge(global uint *out, uint iters, uint seed)
{
	uint i = global_id(GROUP), sum = 0;

	for (uint n = 0; n < iters; n++) {
		uint x = ((i + n) ^ seed) & 0xfff, steps = 0;

		while (x > 1 && steps < 64) {
			x = x & 1 ? 3 * x + 1 : x >> 1;
			steps++;
		}
		sum = sum * 31 + steps;
	}
	add(&out[i], sum);
}

/* 32 values live across the loop, which takes dozens of VGPRs. */
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void k_regs(global uint *out, uint iters, uint seed)
{
	uint i = global_id(GROUP), r[32], x = 0;

#pragma unroll
	for (uint k = 0; k < 32; k++)
		r[k] = i * 32 + k + seed;
#pragma nounroll
	for (uint n = 0; n < iters; n++) {
		uint first = r[0];

#pragma unroll
		for (uint k = 0; k < 31; k++)
			r[k] = (r[k] >> 1) ^ r[k + 1];
		r[31] = mix(first);
	}
#pragma unroll
	for (uint k = 0; k < 32; k++)
		x = x * 17 + r[k];
	add(&out[i], x);
}

/* f32: the bits of a sum of products, iters times */
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void k_f32(global uint *out, uint iters, float a, float b)
{
	uint i = global_id(GROUP);
	float x = (float)(i & 1023);

	for (uint n = 0; n < iters; n++)
		x = __builtin_fmaf(x, a, b);
	add(&out[i], as_uint(x));
}

/* 3-D: out[z][y][x] += x + 100 y + 10000 z, over groups of 8 x 4 x 2 */
__attribute__((reqd_work_group_size(8, 4, 2)))
kernel void k_grid(global uint *out, uint width, uint height)
{
	uint x = __builtin_amdgcn_workgroup_id_x() * 8 + __builtin_amdgcn_workitem_id_x();
	uint y = __builtin_amdgcn_workgroup_id_y() * 4 + __builtin_amdgcn_workitem_id_y();
	uint z = __builtin_amdgcn_workgroup_id_z() * 2 + __builtin_amdgcn_workitem_id_z();

	add(&out[(z * height + y) * width + x], x + 100 * y + 10000 * z);
}

/* Loop until *stop is not 0; then out[i] += 1. beat[i] is as in k_beat. */
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void k_spin(global uint *out, global uint *beat, global uint *stop)
{
	uint i = global_id(GROUP);

	while (!peek(stop))
		add(&beat[i], 1);
	add(&out[i], 1);
}

/* A store to an unmapped address. */
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void k_fault(global uint *nowhere)
{
	nowhere[global_id(GROUP)] = 1;
}
