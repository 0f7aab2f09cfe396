// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/kernels.h"

#define FILL_SEED 0x1234567u
#define TENSOR_SEED 77u
#define COOP_PHASES 8u
#define CALIBRATE_STEP 8u	    /* most that one pass lengthens the kernel */
#define CALIBRATE_SLOW_NS 10000000u /* of a launch that no card takes so long for */
/* More than the caches of any GPU so far: 50 MiB of L2 on an H200. */
#define SET_BYTES (128u << 20)
#define CHECK_BLOCKS 500000u /* block launches that a check recomputes */

static const struct {
	const char *name;
	enum gp_bench_kernel kernel;
	uint32_t blocks_per_sm;
} kinds[GP_WORK_KINDS] = {
	[GP_WORK_PLAIN] = { "plain", GP_KERNEL_WORK, 8 },
	[GP_WORK_SMEM] = { "smem", GP_KERNEL_SMEM, 4 },
	[GP_WORK_TENSOR] = { "tensor", GP_KERNEL_TENSOR, 4 },
	[GP_WORK_COOP] = { "coop", GP_KERNEL_COOP, 2 },
	[GP_WORK_GRAPH] = { "graph", GP_KERNEL_WORK, 8 },
	[GP_WORK_MEMORY] = { "memory", GP_KERNEL_STREAM, 8 },
	[GP_WORK_LIVE] = { "live", GP_KERNEL_WORK, 1 },
};

int gp_work_kind_parse(const char *name)
{
	for (int i = 0; i < GP_WORK_KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return i;
	return -1;
}

static size_t block_words(const struct gp_work *work)
{
	if (work->kind == GP_WORK_MEMORY)
		return (size_t)work->rows * GP_KERNEL_ROW_WORDS;
	return work->kind == GP_WORK_TENSOR ? GP_KERNEL_TENSOR_WORDS : work->shape.threads;
}

static size_t words(const struct gp_work *work)
{
	const size_t planes = work->kind == GP_WORK_COOP ? 2 : 1;

	return planes * work->blocks * block_words(work);
}

static void *host_alloc(size_t bytes)
{
	void *ptr = malloc(bytes);

	if (!ptr) {
		fprintf(stderr, "%s: no memory\n", program_invocation_short_name);
		exit(1);
	}
	return ptr;
}

void gp_work_reset(struct gp_work *work)
{
	uint32_t *fill = host_alloc(words(work) * sizeof(*fill));

	gp_ref_fill(fill, words(work), FILL_SEED);
	GP_CU(cuMemcpyHtoD_v2(work->buf, fill, words(work) * sizeof(*fill)));
	/*
	 * It may return before the data has arrived, and the streams here do
	 * not wait for the default one.
	 */
	GP_CU(cuCtxSynchronize());
	free(fill);
	work->launched = 0;
}

static uint32_t rows_of(const struct gp_work *work, uint64_t set_bytes)
{
	const uint64_t row = (uint64_t)work->blocks * GP_KERNEL_ROW_WORDS * sizeof(uint32_t);

	return (uint32_t)(((set_bytes ? set_bytes : SET_BYTES) + row - 1) / row);
}

void gp_work_open(struct gp_work *work, const struct gp_bench_gpu *gpu, enum gp_work_kind kind,
		  uint32_t blocks, void *stream)
{
	gp_work_open_shaped(work, gpu, kind, (struct gp_work_shape){ .blocks = blocks }, stream);
}

/* The blocks of LIVE that fill an SM. */
static struct gp_shape all_live(const struct gp_bench_gpu *gpu)
{
	struct gp_shapes shapes;

	gp_shapes_open(&shapes, gpu);
	return gp_shapes_near(&shapes, (struct gp_shape){
					       .threads = GP_KERNEL_THREADS,
					       .registers = UINT32_MAX,
					       .shared_bytes = UINT32_MAX,
				       });
}

void gp_work_open_shaped(struct gp_work *work, const struct gp_bench_gpu *gpu,
			 enum gp_work_kind kind, struct gp_work_shape shape, void *stream)
{
	size_t bytes;

	if (!gpu->fn[kinds[kind].kernel]) {
		fprintf(stderr, "%s: this device has no kernel for %s work\n",
			program_invocation_short_name, kinds[kind].name);
		exit(1);
	}
	memset(work, 0, sizeof(*work));
	work->gpu = gpu;
	work->stream = stream;
	work->kind = kind;
	work->blocks = shape.blocks ? shape.blocks : gpu->sms * kinds[kind].blocks_per_sm;
	work->shape = kind == GP_WORK_LIVE ? all_live(gpu) :
					     (struct gp_shape){
						     .fn = gpu->fn[kinds[kind].kernel],
						     .threads = GP_KERNEL_THREADS,
						     .shared_bytes = shape.shared_bytes,
					     };
	work->rows = rows_of(work, shape.set_bytes);
	bytes = words(work) * sizeof(uint32_t);
	GP_CU(cuMemAlloc_v2(&work->buf, bytes));
	if (kind == GP_WORK_GRAPH) {
		GP_CU(cuMemAlloc_v2(&work->in, bytes));
		GP_CU(cuMemHostAlloc((void **)&work->host_in, bytes, 0));
		GP_CU(cuMemHostAlloc((void **)&work->host_out, bytes, 0));
		gp_ref_fill(work->host_in, words(work), ~FILL_SEED);
	}
	gp_work_reset(work);
}

static void launch_kernel(struct gp_work *work)
{
	uint32_t mul = GP_KERNEL_MUL, seed = TENSOR_SEED, phases = COOP_PHASES;
	uint32_t one = 1;
	const struct gp_shape s = work->shape;
	/* The last is gp_live's. */
	void *plain[] = { &work->buf, &work->in, &mul, &work->iters, &one };
	void *smem[] = { &work->buf, &mul, &work->iters };
	void *tensor[] = { &work->buf, &seed, &work->iters };
	void *coop[] = { &work->buf, &mul, &work->iters, &phases };
	void *memory[] = { &work->buf, &mul, &work->iters, &work->rows };
	void **params = work->kind == GP_WORK_SMEM   ? smem :
			work->kind == GP_WORK_TENSOR ? tensor :
			work->kind == GP_WORK_MEMORY ? memory :
						       plain;

	if (work->kind == GP_WORK_COOP)
		GP_CU(cuLaunchCooperativeKernel(s.fn, work->blocks, 1, 1, s.threads, 1, 1,
						s.shared_bytes, work->stream, coop));
	else
		GP_CU(cuLaunchKernel(s.fn, work->blocks, 1, 1, s.threads, 1, 1, s.shared_bytes,
				     work->stream, params, NULL));
}

static void drop_graph(struct gp_work *work)
{
	if (!work->graph)
		return;
	GP_CU(cuGraphExecDestroy(work->graph_exec));
	GP_CU(cuGraphDestroy(work->graph));
	work->graph = NULL;
}

static void make_graph(struct gp_work *work)
{
	const size_t bytes = words(work) * sizeof(uint32_t);

	GP_CU(cuStreamBeginCapture_v2(work->stream, GP_CU_CAPTURE_RELAXED));
	GP_CU(cuMemcpyHtoDAsync_v2(work->in, work->host_in, bytes, work->stream));
	launch_kernel(work);
	GP_CU(cuMemcpyDtoHAsync_v2(work->host_out, work->buf, bytes, work->stream));
	GP_CU(cuStreamEndCapture(work->stream, &work->graph));
	GP_CU(cuGraphInstantiateWithFlags(&work->graph_exec, work->graph, 0));
}

void gp_work_launch(struct gp_work *work)
{
	if (work->kind == GP_WORK_GRAPH) {
		if (!work->graph)
			make_graph(work);
		GP_CU(cuGraphLaunch(work->graph_exec, work->stream));
	} else {
		launch_kernel(work);
	}
	work->launched++;
}

static uint64_t run(struct gp_work *work, unsigned int n)
{
	uint64_t start_ns;

	start_ns = gp_clock_now_ns();
	while (n--)
		gp_work_launch(work);
	GP_CU(cuStreamSynchronize(work->stream));
	return gp_clock_now_ns() - start_ns;
}

/* The difference of two runs: the costs of starting and waiting cancel out. */
uint64_t gp_work_measure(struct gp_work *work, unsigned int n)
{
	const uint64_t one_ns = run(work, n), two_ns = run(work, 2 * n);

	return two_ns > one_ns ? (two_ns - one_ns) / n : 1;
}

/* With few iterations, two more or less are too much. */
static double calibrate_within(uint32_t iters)
{
	return iters < 20 ? 0.1 : iters < 200 ? 2.0 / iters : 0.01;
}

struct pass {
	uint32_t iters;
	uint64_t ns;
};

/*
 * The kernel is shorter than its launch, so the launch was measured. Keep the number of iterations
 * of the estimate before.
 */
static bool is_hidden(struct pass now, struct pass before, uint64_t wanted_ns)
{
	return now.iters < before.iters && now.ns > before.ns / 20 * 19 &&
	       now.ns > wanted_ns / 10 * 11;
}

void gp_work_calibrate_from(struct gp_work *work, uint64_t ns, uint32_t iters)
{
	unsigned int n = ns < 1000000 ? 40 : ns < CALIBRATE_SLOW_NS ? 4 : 1;
	struct pass now, before = { 0 };
	double ratio = 0, within = 0;

	work->iters = iters;
	run(work, 1); /* loads the kernel, wakes the clocks */
	while (work->iters > CALIBRATE_STEP &&
	       run(work, 1) > CALIBRATE_STEP * ns + CALIBRATE_SLOW_NS)
		work->iters /= CALIBRATE_STEP;
	/* A short run drowns in the cost of waiting: never trust a large ratio. */
	for (int pass = 0; pass < 12 && (ratio < 1 - within || ratio > 1 + within); pass++) {
		now = (struct pass){ work->iters, gp_work_measure(work, n) };
		if (is_hidden(now, before, ns))
			break;
		within = calibrate_within(work->iters);
		ratio = (double)ns / (double)now.ns;
		if (ratio > CALIBRATE_STEP)
			ratio = CALIBRATE_STEP;
		work->iters = (uint32_t)((double)work->iters * ratio) + 1;
		drop_graph(work);
		before = now;
	}
	gp_work_reset(work);
}

void gp_work_calibrate(struct gp_work *work, uint64_t ns)
{
	gp_work_calibrate_from(work, ns, 1000);
}

/* Compares blocks [first, first + count); @got is the whole buffer. */
static bool check_blocks(const struct gp_work *work, uint32_t *expect, const uint32_t *got,
			 uint64_t first, uint64_t count)
{
	const uint32_t *in = work->kind == GP_WORK_GRAPH ? work->host_in : NULL;
	const size_t from = first * block_words(work);
	const size_t to = (first + count) * block_words(work);

	if (work->kind == GP_WORK_TENSOR) {
		gp_ref_tensor(expect, TENSOR_SEED, (uint32_t)work->launched * work->iters, first,
			      count);
		return !memcmp(expect + from, got + from, (to - from) * sizeof(*got));
	}
	if (work->kind == GP_WORK_MEMORY) {
		gp_ref_stream(expect, GP_KERNEL_MUL, work->iters, work->rows, work->launched, first,
			      count);
		return !memcmp(expect + from, got + from, (to - from) * sizeof(*got));
	}
	for (uint64_t k = 0; k < work->launched; k++) {
		if (work->kind == GP_WORK_SMEM)
			gp_ref_smem(expect, GP_KERNEL_MUL, work->iters, first, count);
		else
			gp_ref_work(expect, in, GP_KERNEL_MUL, work->iters, first, count);
	}
	return !memcmp(expect + from, got + from, (to - from) * sizeof(*got));
}

static bool check(const struct gp_work *work, uint32_t *expect, const uint32_t *got)
{
	const uint64_t cost = work->kind == GP_WORK_SMEM				   ? 64 :
			      work->kind == GP_WORK_TENSOR || work->kind == GP_WORK_MEMORY ? 0 :
											     1;
	const uint64_t step = 1 + cost * work->launched * work->blocks / CHECK_BLOCKS;

	gp_ref_fill(expect, words(work), FILL_SEED);
	if (work->kind == GP_WORK_COOP) {
		for (uint64_t k = 0; k < work->launched; k++)
			gp_ref_coop(expect, GP_KERNEL_MUL, work->iters, COOP_PHASES, work->blocks);
		return !memcmp(expect, got, words(work) * sizeof(*got));
	}
	for (uint64_t b = 0; b < work->blocks; b += step)
		if (!check_blocks(work, expect, got, b, 1))
			return false;
	return true;
}

bool gp_work_check_sums(struct gp_work *work, const struct gp_work_sum *sum, size_t sums)
{
	const size_t bytes = words(work) * sizeof(uint32_t);
	uint32_t *expect = host_alloc(bytes), *got = host_alloc(bytes);
	size_t first = 0;
	bool same;

	GP_CU(cuStreamSynchronize(work->stream));
	GP_CU(cuMemcpyDtoH_v2(got, work->buf, bytes));
	gp_ref_fill(expect, words(work), FILL_SEED);
	for (size_t i = 0; i < sums; first += sum[i++].words)
		gp_ref_words(expect, NULL, GP_KERNEL_MUL, sum[i].iters, first, sum[i].words);
	same = !memcmp(expect, got, bytes);
	free(expect);
	free(got);
	return same;
}

bool gp_work_check(struct gp_work *work, uint64_t *checksum)
{
	const size_t bytes = words(work) * sizeof(uint32_t);
	uint32_t *expect = host_alloc(bytes), *got = host_alloc(bytes);
	bool same;

	GP_CU(cuStreamSynchronize(work->stream));
	GP_CU(cuMemcpyDtoH_v2(got, work->buf, bytes));
	if (checksum)
		*checksum = gp_ref_checksum(got, bytes);
	same = check(work, expect, got);
	if (work->kind == GP_WORK_GRAPH && work->launched)
		same = same && !memcmp(got, work->host_out, bytes);
	free(expect);
	free(got);
	return same;
}
