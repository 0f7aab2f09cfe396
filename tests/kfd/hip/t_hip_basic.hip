// SPDX-License-Identifier: Apache-2.0
/*
 * The calls of an ordinary HIP program. The test checks every value, because
 * hipSuccess alone proves nothing.
 */
#include "tap.h"
#include "work.h"

#include <cmath>
#include <cstring>
#include <vector>

#define N 1000

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] * 0.5f + b[i];
}

__global__ void grid2d(int *out, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < width && y < height)
		out[y * width + x] = 1000 * y + x;
}

/* Each block sums in LDS, with a barrier a step, and adds its sum by an atomic. */
__global__ void reduce(const int *in, int *sum, int n)
{
	__shared__ int part[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	part[threadIdx.x] = i < n ? in[i] : 0;
	__syncthreads();
	for (unsigned int half = blockDim.x / 2; half; half /= 2) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		atomicAdd(sum, part[0]);
}

__global__ void spin_until(volatile uint32_t *flag, uint32_t *seen)
{
	while (*flag == 0)
		;
	*seen = *flag;
}

static void copies(void)
{
	std::vector<uint32_t> in(N), out(N);
	uint32_t *a, *b, wrong = 0;

	for (int i = 0; i < N; i++)
		in[i] = i * 2654435761u;
	MUST(hipMalloc(&a, N * 4));
	MUST(hipMalloc(&b, N * 4));
	MUST(hipMemcpy(a, in.data(), N * 4, hipMemcpyHostToDevice));
	MUST(hipMemcpy(b, a, N * 4, hipMemcpyDeviceToDevice));
	MUST(hipMemcpy(out.data(), b, N * 4, hipMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		wrong += out[i] != in[i];
	ok(!wrong, "copied in, across and out: %u of %d wrong", wrong, N);

	MUST(hipMemset(a, 0x5a, N * 4));
	MUST(hipMemcpy(out.data(), a, N * 4, hipMemcpyDeviceToHost));
	wrong = 0;
	for (int i = 0; i < N; i++)
		wrong += out[i] != 0x5a5a5a5au;
	ok(!wrong, "memset: %u of %d wrong", wrong, N);
	MUST(hipFree(a));
	MUST(hipFree(b));
}

static void floats(void)
{
	std::vector<float> a(N), b(N), c(N);
	float *da, *db, *dc;
	uint32_t wrong = 0;

	for (int i = 0; i < N; i++) {
		a[i] = i * 0.25f;
		b[i] = 1000.0f - i;
	}
	MUST(hipMalloc(&da, N * 4));
	MUST(hipMalloc(&db, N * 4));
	MUST(hipMalloc(&dc, N * 4));
	MUST(hipMemcpy(da, a.data(), N * 4, hipMemcpyHostToDevice));
	MUST(hipMemcpy(db, b.data(), N * 4, hipMemcpyHostToDevice));
	add<<<dim3((N + 255) / 256), dim3(256)>>>(da, db, dc, N);
	MUST(hipMemcpy(c.data(), dc, N * 4, hipMemcpyDeviceToHost));
	for (int i = 0; i < N; i++)
		wrong += c[i] != a[i] * 0.5f + b[i];
	ok(!wrong, "a kernel of floats: %u of %d wrong", wrong, N);
	MUST(hipFree(da));
	MUST(hipFree(db));
	MUST(hipFree(dc));
}

static void grids(void)
{
	int width = 50, height = 20, *d;
	std::vector<int> out(width * height, -1);
	uint32_t wrong = 0;

	MUST(hipMalloc(&d, out.size() * 4));
	grid2d<<<dim3(7, 5), dim3(8, 4)>>>(d, width, height);
	MUST(hipMemcpy(out.data(), d, out.size() * 4, hipMemcpyDeviceToHost));
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			wrong += out[y * width + x] != 1000 * y + x;
	ok(!wrong, "a 2-D grid: %u of %d wrong", wrong, width * height);
	MUST(hipFree(d));
}

static void lds(void)
{
	std::vector<int> in(N);
	int *d, *sum, got, want = 0;

	for (int i = 0; i < N; i++)
		want += in[i] = 3 * i - 7;
	MUST(hipMalloc(&d, N * 4));
	MUST(hipMalloc(&sum, 4));
	MUST(hipMemcpy(d, in.data(), N * 4, hipMemcpyHostToDevice));
	MUST(hipMemset(sum, 0, 4));
	reduce<<<dim3(4), dim3(256)>>>(d, sum, N);
	MUST(hipMemcpy(&got, sum, 4, hipMemcpyDeviceToHost));
	ok(got == want, "LDS, barriers and an atomic: %d, should be %d", got, want);
	MUST(hipFree(d));
	MUST(hipFree(sum));
}

static void streams_and_events(void)
{
	hipStream_t s;
	hipEvent_t begin, end;
	uint32_t *flag, *seen, *buf, got[64], wrong = 0;
	float ms = -1;

	MUST(hipHostMalloc(&flag, 8, 0));
	flag[0] = flag[1] = 0;
	seen = flag + 1;
	MUST(hipMalloc(&buf, 64 * 4));
	MUST(hipMemset(buf, 0, 64 * 4));
	MUST(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
	MUST(hipEventCreate(&begin));
	MUST(hipEventCreate(&end));

	spin_until<<<dim3(1), dim3(1), 0, s>>>(flag, seen);
	MUST(hipEventRecord(begin, nullptr));
	work<<<dim3(1), dim3(64)>>>(buf, 100);
	MUST(hipEventRecord(end, nullptr));
	MUST(hipEventSynchronize(end));
	ok(hipStreamQuery(s) == hipErrorNotReady, "the other stream still runs");
	*(volatile uint32_t *)flag = 77;
	MUST(hipStreamSynchronize(s));
	ok(*seen == 77, "and ends when it is told: %u", *seen);
	MUST(hipEventElapsedTime(&ms, begin, end));
	ok(ms > 0 && ms < 1000, "the time between two events: %g ms", ms);
	MUST(hipMemcpy(got, buf, sizeof(got), hipMemcpyDeviceToHost));
	for (uint32_t i = 0; i < 64; i++)
		wrong += got[i] != work_expect(i, 100);
	ok(!wrong, "work beside a spinning kernel: %u of 64 wrong", wrong);
}

int main()
{
	int devices = 0;

	ok(hipGetDeviceCount(&devices) == hipSuccess && devices >= 1,
	   "%d devices", devices);
	copies();
	floats();
	grids();
	lds();
	streams_and_events();
	return tap_done();
}
