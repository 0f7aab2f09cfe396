// SPDX-License-Identifier: Apache-2.0
/*
 * The kernels of tests/gfx9/test_kernels.c. make_kernels.py compiles them with Debian's
 * hipcc 5.2.3 and writes kernels_co.h.
 */
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

KERNEL axpy(float *a, const float *b, float factor, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		a[i] = a[i] * factor + b[i];
}

KERNEL divide(float *q, float *r, const float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		q[i] = a[i] / b[i];
		r[i] = sqrtf(fabsf(b[i]));
	}
}

KERNEL divide64(double *q, double *r, const double *a, const double *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		q[i] = a[i] / b[i];
		r[i] = fma(a[i], b[i], q[i]);
	}
}

KERNEL functions(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	out[i * 8 + 0] = expf(in[i]);
	out[i * 8 + 1] = logf(in[i]);
	out[i * 8 + 2] = sinf(in[i]);
	out[i * 8 + 3] = cosf(in[i]);
	out[i * 8 + 4] = floorf(in[i]);
	out[i * 8 + 5] = rintf(in[i]);
	out[i * 8 + 6] = in[i] - truncf(in[i]);
	out[i * 8 + 7] = fminf(fmaxf(in[i], -1.0f), 1.0f);
}

/* Each workgroup sums its numbers by LDS and barriers, and adds the sum by an atomic. */
KERNEL reduce(unsigned long long *sum, const unsigned *in, int n)
{
	__shared__ unsigned part[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	part[threadIdx.x] = i < n ? in[i] : 0;
	__syncthreads();
	for (unsigned step = blockDim.x / 2; step; step /= 2) {
		if (threadIdx.x < step)
			part[threadIdx.x] += part[threadIdx.x + step];
		__syncthreads();
	}
	if (!threadIdx.x)
		atomicAdd(sum, (unsigned long long)part[0]);
}

/* Collatz: lanes loop a different number of times. */
KERNEL collatz(unsigned *steps, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long value = i + 1;
	unsigned count = 0;

	if (i >= n)
		return;
	while (value != 1) {
		value = value & 1 ? 3 * value + 1 : value / 2;
		count++;
	}
	steps[i] = count;
}

KERNEL integers(unsigned *out, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	unsigned a = in[2 * i], b = in[2 * i + 1];
	unsigned long long wide = (unsigned long long)a << 32 | b;

	out[16 * i + 0] = a / (b | 1);
	out[16 * i + 1] = a % (b | 1);
	out[16 * i + 2] = (int)a / ((int)b | 1);
	out[16 * i + 3] = __umulhi(a, b);
	out[16 * i + 4] = __mulhi((int)a, (int)b);
	out[16 * i + 5] = __popc(a) + __clz(b) * 100;
	out[16 * i + 6] = __brev(a);
	out[16 * i + 7] = __ffs(b);
	out[16 * i + 8] = (unsigned)(wide * wide >> 32);
	out[16 * i + 9] = (unsigned)(wide / (b | 1));
	out[16 * i + 10] = (unsigned)(wide >> (b & 63));
	out[16 * i + 11] = (unsigned)(((long long)wide >> (a & 63)) + (wide << (b & 31)));
	out[16 * i + 12] = (unsigned char)(a + b) | (unsigned)(unsigned short)(a - b) << 8;
	out[16 * i + 13] = (int)(signed char)(a >> 8) * (short)b;
	out[16 * i + 14] = min(a, b) ^ max((int)a, (int)b);
	out[16 * i + 15] = a > b ? a << (b & 31) | a >> (-b & 31) : ~b;
}

KERNEL grid3(unsigned *out, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	int z = blockIdx.z * blockDim.z + threadIdx.z;

	out[(z * height + y) * width + x] = x | y << 10 | z << 20;
}

/* As grid3, in workgroups of 16 by 16, the last of which are partial. */
KERNEL partial(unsigned *out, int width)
{
	int x = blockIdx.x * 16 + threadIdx.x;
	int y = blockIdx.y * 16 + threadIdx.y;

	out[y * width + x] = x | y << 10;
}

/* An array in scratch, indexed by data. */
KERNEL scratch(unsigned *out, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned count[100] = { 0 };

	if (i >= n)
		return;
	for (int k = 0; k < 64; k++)
		count[in[(i + k) % n] % 100] += k;
	unsigned sum = 0;
	for (int k = 0; k < 100; k++)
		sum = sum * 31 + count[(k + i) % 100];
	out[i] = sum;
}

KERNEL bytes(unsigned char *out, const unsigned char *in, const short *s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	out[i] = (unsigned char)(in[n - 1 - i] + 1);
	out[n + i] = (unsigned char)(s[i] >> 3);
	((short *)(out + 2 * n))[i] = (short)(s[i] * (signed char)in[i]);
}

KERNEL atomics(unsigned *at, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	__shared__ unsigned local[8];

	if (threadIdx.x < 8)
		local[threadIdx.x] = 0;
	__syncthreads();
	atomicAdd(&local[i & 7], i);
	atomicMax(&at[0], i);
	atomicMin(&at[1], i);
	atomicXor(&at[2], i * 7);
	atomicOr(&at[3], 1u << (i & 31));
	atomicInc(&at[4], 100);
	unsigned old, want;
	do {
		want = at[5];
		old = atomicCAS(&at[5], want, want + 3);
	} while (old != want);
	__syncthreads();
	if (threadIdx.x < 8)
		atomicAdd(&at[8 + threadIdx.x], local[threadIdx.x]);
}

/* Lanes read each other's registers. */
KERNEL lanes(unsigned *out)
{
	unsigned v = threadIdx.x * 3 + 1;

	out[threadIdx.x * 4 + 0] = __shfl(v, (threadIdx.x + 5) & 63);
	out[threadIdx.x * 4 + 1] = __shfl_xor(v, 9);
	out[threadIdx.x * 4 + 2] = (unsigned)__popcll(__ballot(v % 5 == 0));
	out[threadIdx.x * 4 + 3] = __shfl_up(v, 1);
}

__device__ __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

/* Recursive calls with a stack. */
KERNEL calls(unsigned *out)
{
	out[threadIdx.x] = ackermann(2, threadIdx.x % 4);
}

KERNEL matmul(float *c, const float *a, const float *b, int n)
{
	__shared__ float ta[16][16], tb[16][16];
	int x = threadIdx.x, y = threadIdx.y;
	int col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
	float sum = 0;

	for (int t = 0; t < n; t += 16) {
		ta[y][x] = a[row * n + t + x];
		tb[y][x] = b[(t + y) * n + col];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += ta[y][k] * tb[k][x];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

/* xorshift in 64 lanes: integer arithmetic only, to measure speed. */
KERNEL spin(unsigned *out, int turns)
{
	unsigned x = blockIdx.x * blockDim.x + threadIdx.x + 1;

	for (int i = 0; i < turns; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		x += i;
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
