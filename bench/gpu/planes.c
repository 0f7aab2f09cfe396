// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/planes.h"

#include <stdlib.h>

#include "bench/gpu/kernels.h"
#include "bench/gpu/kind.h"

static size_t in_blocks(size_t words)
{
	return (words + GP_KERNEL_WORDS - 1) / GP_KERNEL_WORDS * GP_KERNEL_WORDS;
}

static void put(uint64_t to, const uint32_t *words, size_t bytes)
{
	GP_CU(cuMemcpyHtoD_v2(to, words, bytes));
	/* It may return before the data has arrived. */
	GP_CU(cuCtxSynchronize());
}

void gp_planes_reset(struct gp_planes *p)
{
	uint32_t *zero = gp_kind_alloc(p->bytes);

	GP_CU(cuStreamSynchronize(p->stream));
	put(p->sum, zero, p->bytes);
	free(zero);
	p->requests = 0;
}

void gp_planes_open(struct gp_planes *p, const struct gp_bench_gpu *gpu, void *stream, size_t words,
		    size_t more, const uint32_t *begin, uint32_t *expect)
{
	uint32_t *whole;

	p->gpu = gpu;
	p->stream = stream;
	p->words = words;
	p->bytes = in_blocks(words + more) * sizeof(uint32_t);
	p->expect = expect;
	p->begin = gp_kind_device_alloc(p->bytes);
	p->sum = gp_kind_device_alloc(p->bytes);
	whole = gp_kind_alloc(p->bytes);
	for (size_t i = 0; i < words + more; i++)
		whole[i] = begin[i];
	put(p->begin, whole, p->bytes);
	for (int i = 0; i < 2; i++) {
		p->plane[i] = gp_kind_device_alloc(p->bytes);
		put(p->plane[i], whole, p->bytes);
	}
	free(whole);
	gp_planes_reset(p);
}

void gp_planes_close(struct gp_planes *p)
{
	GP_CU(cuMemFree_v2(p->begin));
	GP_CU(cuMemFree_v2(p->sum));
	for (int i = 0; i < 2; i++)
		GP_CU(cuMemFree_v2(p->plane[i]));
	free(p->expect);
}

void gp_planes_begin(struct gp_planes *p)
{
	GP_CU(cuMemcpyDtoDAsync_v2(p->plane[0], p->begin, p->bytes, p->stream));
}

/* gp_work() of no iterations adds. What is beyond the words is not looked at. */
void gp_planes_end(struct gp_planes *p, unsigned int which)
{
	uint32_t mul = GP_KERNEL_MUL, iters = 0;
	void *params[] = { &p->sum, &p->plane[which], &mul, &iters };

	GP_CU(cuLaunchKernel(p->gpu->fn[GP_KERNEL_WORK],
			     (unsigned int)(in_blocks(p->words) / GP_KERNEL_WORDS), 1, 1,
			     GP_KERNEL_THREADS, 1, 1, 0, p->stream, params, NULL));
	GP_CU(cuStreamSynchronize(p->stream));
	p->requests++;
}

bool gp_planes_check(struct gp_planes *p)
{
	uint32_t *got = gp_kind_alloc(p->bytes);
	bool right = true;

	GP_CU(cuStreamSynchronize(p->stream));
	GP_CU(cuMemcpyDtoH_v2(got, p->sum, p->bytes));
	for (size_t i = 0; i < p->words && right; i++)
		right = got[i] == (uint32_t)p->requests * p->expect[i];
	free(got);
	return right;
}
