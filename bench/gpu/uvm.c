// SPDX-License-Identifier: Apache-2.0
/*
 * uvm.c - managed memory on the wrong side. The CPU writes a word of each page, which brings the
 * page to the host. Then a kernel goes through all of it, and faults.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/kernels.h"
#include "bench/gpu/kind.h"

/* cuda.h of CUDA 8.0 on. */
#define CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS 89
#define CU_MEM_ATTACH_GLOBAL 1u
#define PAGE_WORDS (4096u / sizeof(uint32_t))
#define FILL_SEED 0x0FA1u

struct uvm {
	const struct gp_bench_gpu *gpu;
	void *stream;
	uint32_t *words; /* the same address on both sides */
	size_t count;
	uint32_t blocks, rows;
	uint64_t requests;
};

static uint32_t *managed(const struct gp_bench_gpu *gpu, size_t bytes)
{
	int (*alloc)(uint64_t * ptr, size_t size, unsigned int flags);
	size_t free_bytes, total;
	uint64_t ptr;
	int can = 0;

	*(void **)&alloc = dlsym(gp_cu.lib, "cuMemAllocManaged");
	if (alloc)
		GP_CU(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
					   gpu->dev));
	if (!can)
		gp_kind_cannot("uvm: %s has no managed memory that faults", gpu->name);
	GP_CU(cuMemGetInfo_v2(&free_bytes, &total));
	if (bytes > free_bytes / 2)
		gp_kind_cannot("uvm: the device has %zu MiB free; a workload may use half of that",
			       free_bytes >> 20);
	gp_cu_check(alloc(&ptr, bytes, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
	return (uint32_t *)(uintptr_t)ptr;
}

static void reset(void *job)
{
	struct uvm *u = job;

	GP_CU(cuStreamSynchronize(u->stream));
	gp_ref_fill(u->words, u->count, FILL_SEED);
	u->requests = 0;
}

static void *open_uvm(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
		      void *stream)
{
	const size_t row = GP_KERNEL_ROW_WORDS * sizeof(uint32_t);
	struct uvm *u = gp_kind_alloc(sizeof(*u));
	uint64_t rows;

	u->gpu = gpu;
	u->stream = stream;
	u->blocks = gpu->sms * 8;
	rows = (workload->bytes + row * u->blocks - 1) / (row * u->blocks);
	u->rows = (uint32_t)rows;
	u->count = rows * u->blocks * GP_KERNEL_ROW_WORDS;
	u->words = managed(gpu, u->count * sizeof(uint32_t));
	reset(u);
	return u;
}

static void close_uvm(void *job)
{
	struct uvm *u = job;

	GP_CU(cuMemFree_v2((uint64_t)(uintptr_t)u->words));
	free(u);
}

static void request(void *job)
{
	struct uvm *u = job;
	uint32_t mul = GP_KERNEL_MUL;
	uint64_t at = (uint64_t)(uintptr_t)u->words;
	void *params[] = { &at, &mul, &u->rows, &u->rows };

	for (size_t w = 0; w < u->count; w += PAGE_WORDS)
		u->words[w]++;
	GP_CU(cuLaunchKernel(u->gpu->fn[GP_KERNEL_STREAM], u->blocks, 1, 1, GP_KERNEL_THREADS, 1, 1,
			     0, u->stream, params, NULL));
	GP_CU(cuStreamSynchronize(u->stream));
	u->requests++;
}

/* By turns from both sides. */
static uint32_t touched(uint32_t x, size_t w, uint64_t requests)
{
	while (requests--)
		x = GP_KERNEL_MUL * (x + 1) + 2 * (uint32_t)w + 1;
	return x;
}

static bool check(void *job)
{
	struct uvm *u = job;
	uint32_t *expect = gp_kind_alloc(u->count * sizeof(*expect)), *first;
	bool right;

	GP_CU(cuStreamSynchronize(u->stream));
	gp_ref_fill(expect, u->count, FILL_SEED);
	first = gp_kind_alloc(u->count / PAGE_WORDS * sizeof(*first));
	for (size_t w = 0; w < u->count; w += PAGE_WORDS)
		first[w / PAGE_WORDS] = touched(expect[w], w, u->requests);
	gp_ref_stream(expect, GP_KERNEL_MUL, u->rows, u->rows, u->requests, 0, u->blocks);
	for (size_t w = 0; w < u->count; w += PAGE_WORDS)
		expect[w] = first[w / PAGE_WORDS];
	right = !memcmp(expect, u->words, u->count * sizeof(*expect));
	free(first);
	free(expect);
	return right;
}

const struct gp_kind gp_kind_uvm = {
	.open = open_uvm,
	.request = request,
	.check = check,
	.reset = reset,
	.close = close_uvm,
};
