// SPDX-License-Identifier: Apache-2.0
/* Reference results of the kernels of kernels.cl, computed by the CPU. */
#include <math.h>
#include <string.h>

#include "kfd.h"

static uint32_t mix(uint32_t x)
{
	x = x * 1664525u + 1013904223u;
	x ^= x >> 13;
	return x;
}

uint32_t kfd_ref_hash(uint32_t i, uint32_t iters, uint32_t seed)
{
	uint32_t x = i ^ seed;

	while (iters--)
		x = mix(x);
	return x;
}

uint32_t kfd_ref_diverge(uint32_t i, uint32_t iters, uint32_t seed)
{
	uint32_t n, sum = 0;

	for (n = 0; n < iters; n++) {
		uint32_t x = ((i + n) ^ seed) & 0xfff, steps = 0;

		while (x > 1 && steps < 64) {
			x = x & 1 ? 3 * x + 1 : x >> 1;
			steps++;
		}
		sum = sum * 31 + steps;
	}
	return sum;
}

uint32_t kfd_ref_regs(uint32_t i, uint32_t iters, uint32_t seed)
{
	uint32_t r[32], k, x = 0;

	for (k = 0; k < 32; k++)
		r[k] = i * 32 + k + seed;
	while (iters--) {
		uint32_t first = r[0];

		for (k = 0; k < 31; k++)
			r[k] = (r[k] >> 1) ^ r[k + 1];
		r[31] = mix(first);
	}
	for (k = 0; k < 32; k++)
		x = x * 17 + r[k];
	return x;
}

uint32_t kfd_ref_f32(uint32_t i, uint32_t iters, float a, float b)
{
	float x = (float)(i & 1023);
	uint32_t bits;

	while (iters--)
		x = fmaf(x, a, b);
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

void kfd_ref_lds(uint32_t group, uint32_t iters, uint32_t seed, uint32_t out[256])
{
	uint32_t cell[256], next[256], l, sum = 0;

	for (l = 0; l < 256; l++)
		cell[l] = (group * 256 + l) ^ seed;
	while (iters--) {
		for (l = 0; l < 256; l++) {
			uint32_t x = cell[(l + 65) & 255];

			next[l] = mix(x);
			sum += x & 15;
		}
		memcpy(cell, next, sizeof(cell));
	}
	for (l = 0; l < 256; l++)
		out[l] = cell[l] + sum;
}
