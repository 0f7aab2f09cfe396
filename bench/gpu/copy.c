// SPDX-License-Identifier: Apache-2.0
/*
 * copy.c - so many bytes from pinned memory to the device, or back. Two sources by turns,
 * so that what is there of the copy before is told from the last: that one is checked.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/kernels.h"
#include "bench/gpu/kind.h"

struct copy {
	void *stream;
	bool in;
	size_t bytes;
	uint32_t *host[2];  /* pinned: in, both sources; out, the first is where to */
	uint64_t device[2]; /* out, both sources; in, the first is where to */
	uint32_t *expect[2];
	uint64_t requests;
};

static size_t words(const struct copy *c)
{
	return (c->bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t);
}

static void reset(void *job)
{
	struct copy *c = job;

	GP_CU(cuStreamSynchronize(c->stream));
	c->requests = 0;
}

static void fill(struct copy *c)
{
	for (int i = 0; i < 2; i++) {
		gp_ref_fill(c->expect[i], words(c), (uint32_t)i + 1);
		if (c->in)
			memcpy(c->host[i], c->expect[i], c->bytes);
		else
			GP_CU(cuMemcpyHtoD_v2(c->device[i], c->expect[i], c->bytes));
	}
	/* It may return before the data has arrived. */
	GP_CU(cuCtxSynchronize());
}

static void *open_copy(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
		       void *stream)
{
	struct copy *c = gp_kind_alloc(sizeof(*c));

	(void)gpu;
	c->stream = stream;
	c->in = workload->kind == GP_WORKLOAD_COPY_IN;
	c->bytes = workload->bytes;
	for (int i = 0; i < 2; i++) {
		if (!c->in || !i)
			c->device[i] = gp_kind_device_alloc(c->bytes);
		if (c->in || !i)
			GP_CU(cuMemHostAlloc((void **)&c->host[i], c->bytes, 0));
		c->expect[i] = gp_kind_alloc(words(c) * sizeof(uint32_t));
	}
	fill(c);
	return c;
}

static void close_copy(void *job)
{
	struct copy *c = job;

	for (int i = 0; i < 2; i++) {
		if (c->host[i])
			GP_CU(cuMemFreeHost(c->host[i]));
		if (c->device[i])
			GP_CU(cuMemFree_v2(c->device[i]));
		free(c->expect[i]);
	}
	free(c);
}

static void request(void *job)
{
	struct copy *c = job;
	const uint64_t turn = c->requests++ % 2;

	if (c->in)
		GP_CU(cuMemcpyHtoDAsync_v2(c->device[0], c->host[turn], c->bytes, c->stream));
	else
		GP_CU(cuMemcpyDtoHAsync_v2(c->host[0], c->device[turn], c->bytes, c->stream));
	GP_CU(cuStreamSynchronize(c->stream));
}

static bool check(void *job)
{
	struct copy *c = job;
	uint32_t *got;
	bool right;

	if (!c->requests)
		return true;
	got = gp_kind_alloc(c->bytes);
	if (c->in)
		GP_CU(cuMemcpyDtoH_v2(got, c->device[0], c->bytes));
	else
		memcpy(got, c->host[0], c->bytes);
	right = !memcmp(got, c->expect[(c->requests - 1) % 2], c->bytes);
	free(got);
	return right;
}

const struct gp_kind gp_kind_copy = {
	.open = open_copy,
	.request = request,
	.check = check,
	.reset = reset,
	.close = close_copy,
};
