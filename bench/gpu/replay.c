// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/kernels.h"
#include "bench/gpu/solo.h"

/* A buffer of 64 MiB: more blocks than that run one after the other anyway. */
#define WORDS_MAX (65536u * GP_KERNEL_THREADS)
#define FIT_PASSES 4
#define ALIKE_PART 50 /* closer lengths share one measurement */
#define FIT_WITHIN 0.01

struct kernel {
	struct gp_shape shape;
	uint32_t blocks, iters;
	uint64_t at_ns; /* launched so long after the request's beginning, or the
				 * last token; 0: at once */
};

/* Kernels up to a token, or to the request's end: one wait covers them. */
struct stretch {
	size_t first, end;
	void *captured, *exec; /* its graph, where it is one */
};

struct gp_replay {
	struct gp_work work; /* its buffer is all kernels', which are done in order */
	const struct gp_workload *workload;
	bool graph;
	uint64_t requests; /* since the last reset */
	struct stretch *stretch;
	size_t stretches;
	struct kernel kernel[];
};

/* ---- making ---------------------------------------------------------------------- */

/*
 * Of a decoder one less than fill the device: its last block would wait for the place of
 * the hold that keeps the device between tokens.
 */
static uint32_t blocks_that_fill(const struct gp_replay *r, const struct gp_bench_gpu *gpu)
{
	return gpu->sms * 8 - (r->workload->tokens ? 1 : 0);
}

static uint32_t blocks_of(const struct gp_replay *r, const struct gp_bench_gpu *gpu, size_t i)
{
	const uint32_t most = WORDS_MAX / r->kernel[i].shape.threads;
	const uint32_t blocks = r->workload->kernel[i].blocks;

	if (!blocks)
		return blocks_that_fill(r, gpu);
	return blocks < most ? blocks : most;
}

static size_t words_of(const struct kernel *k)
{
	return (size_t)k->blocks * k->shape.threads;
}

static bool same_shape(struct gp_shape a, struct gp_shape b)
{
	return a.fn == b.fn && a.threads == b.threads && a.shared_bytes == b.shared_bytes;
}

static bool is_alike(const struct kernel *a, const struct kernel *b)
{
	return a->blocks == b->blocks && same_shape(a->shape, b->shape);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The nearest in length of those before it with its shape; NULL: none. */
static const struct kernel *nearest_of(const struct gp_replay *r, size_t i)
{
	const struct gp_workload_kernel *k = r->workload->kernel;
	const struct kernel *nearest = NULL;
	uint64_t least_ns = UINT64_MAX;

	for (size_t j = 0; j < i; j++) {
		const uint64_t ns = apart(k[j].length_ns, k[i].length_ns);

		if (ns < least_ns && is_alike(&r->kernel[j], &r->kernel[i])) {
			nearest = &r->kernel[j];
			least_ns = ns;
		}
	}
	return nearest;
}

/* The next launch is of this kernel. */
static void take(struct gp_replay *r, const struct kernel *k)
{
	if (r->workload->kind != GP_WORKLOAD_PLAIN)
		return;
	r->work.shape = k->shape;
	r->work.blocks = k->blocks;
}

static uint32_t scaled(uint32_t iters, uint64_t ns, uint64_t from_ns)
{
	const double scaled = (double)iters * (double)ns / (double)from_ns;

	return scaled < 1 ? 1 : scaled < UINT32_MAX ? (uint32_t)scaled : UINT32_MAX;
}

static void calibrate_one(struct gp_replay *r, size_t i, uint32_t iters)
{
	take(r, &r->kernel[i]);
	if (iters)
		gp_work_calibrate_from(&r->work, r->workload->kernel[i].length_ns, iters);
	else
		gp_work_calibrate(&r->work, r->workload->kernel[i].length_ns);
	r->kernel[i].iters = r->work.iters;
}

/* A network has hundreds of kernels that differ by less than the measurement's error. */
static void calibrate(struct gp_replay *r)
{
	const struct gp_workload_kernel *k = r->workload->kernel;

	for (size_t i = 0; i < r->workload->kernels; i++) {
		const struct kernel *near = nearest_of(r, i);
		const uint64_t near_ns = near ? k[near - r->kernel].length_ns : 0;
		const uint32_t iters = near ? scaled(near->iters, k[i].length_ns, near_ns) : 0;

		if (near && apart(near_ns, k[i].length_ns) <= near_ns / ALIKE_PART)
			r->kernel[i].iters = iters;
		else
			calibrate_one(r, i, iters);
	}
}

/* Recorded ones have shapes of their own, those that are made by a name have all one. */
static void shape(struct gp_replay *r, const struct gp_bench_gpu *gpu)
{
	struct gp_shapes shapes;

	if (r->workload->device)
		gp_shapes_open(&shapes, gpu);
	for (size_t i = 0; i < r->workload->kernels; i++) {
		const struct gp_workload_kernel *k = &r->workload->kernel[i];
		const struct gp_shape wanted = {
			.fn = gpu->fn[GP_KERNEL_WORK],
			.threads = r->workload->device ? k->threads : GP_KERNEL_THREADS,
			.registers = k->registers,
			.shared_bytes = k->shared_bytes,
		};

		r->kernel[i].shape = r->workload->device ? gp_shapes_near(&shapes, wanted) : wanted;
		r->kernel[i].blocks = blocks_of(r, gpu, i);
	}
}

static void say_what_is_less(const struct gp_replay *r)
{
	const struct gp_workload_kernel *most = r->workload->kernel;
	size_t at = 0;

	for (size_t i = 1; i < r->workload->kernels; i++)
		if (most[i].shared_bytes > most[at].shared_bytes)
			at = i;
	if (r->kernel[at].shape.shared_bytes < most[at].shared_bytes)
		fprintf(stderr,
			"%s: %s: blocks of up to %u bytes of shared memory; the device allows %u\n",
			program_invocation_short_name, r->workload->name, most[at].shared_bytes,
			r->kernel[at].shape.shared_bytes);
}

static void set_times(struct gp_replay *r)
{
	uint64_t at_ns = 0;

	for (size_t i = 0; i < r->workload->kernels; i++) {
		const struct gp_workload_kernel *k = &r->workload->kernel[i];

		if (i && k[-1].token)
			at_ns = 0;
		if (i)
			at_ns += k->gap_ns;
		r->kernel[i].at_ns = gp_workload_is_queued(r->workload, i) ? 0 : at_ns;
		at_ns += k->length_ns;
	}
}

static void cut(struct gp_replay *r)
{
	for (size_t i = 0, first = 0; i < r->workload->kernels; i++) {
		if (!r->workload->kernel[i].token && i + 1 < r->workload->kernels)
			continue;
		r->stretch[r->stretches++] = (struct stretch){ first, i + 1, NULL, NULL };
		first = i + 1;
	}
}

static size_t most_words(const struct gp_replay *r)
{
	size_t most = 0;

	for (size_t i = 0; i < r->workload->kernels; i++)
		if (words_of(&r->kernel[i]) > most)
			most = words_of(&r->kernel[i]);
	return most;
}

static uint32_t blocks_for(size_t words)
{
	return (uint32_t)((words + GP_KERNEL_THREADS - 1) / GP_KERNEL_THREADS);
}

/* As many blocks as have all words. A reset fills them, a check compares them. */
static void take_all(struct gp_replay *r)
{
	if (r->workload->kind != GP_WORKLOAD_PLAIN)
		return;
	r->work.shape.threads = GP_KERNEL_THREADS;
	r->work.blocks = blocks_for(most_words(r));
}

static void drop_graphs(struct gp_replay *r)
{
	for (size_t i = 0; i < r->stretches; i++) {
		struct stretch *s = &r->stretch[i];

		if (!s->exec)
			continue;
		GP_CU(cuGraphExecDestroy(s->exec));
		GP_CU(cuGraphDestroy(s->captured));
		s->exec = NULL;
	}
}

static void one(void *of)
{
	(void)gp_replay_request(of, NULL);
}

/*
 * Kernels by themselves take the recorded time; this device and driver add gaps to a request of
 * them. The difference is taken from all, in proportion.
 */
static void fit(struct gp_replay *r)
{
	const double wanted_ns = (double)r->workload->solo_ns;
	const double work_ns = (double)gp_workload_sum(r->workload).length_ns;

	for (int pass = 0; pass < FIT_PASSES && wanted_ns > 0; pass++) {
		const double off_ns = wanted_ns - (double)gp_solo_ns(one, r);
		const double by = 1 + off_ns / work_ns;

		if (off_ns < FIT_WITHIN * wanted_ns && off_ns > -FIT_WITHIN * wanted_ns)
			return;
		for (size_t i = 0; i < r->workload->kernels; i++)
			r->kernel[i].iters =
				1 + (uint32_t)((double)r->kernel[i].iters * (by > 0.1 ? by : 0.1));
		drop_graphs(r);
	}
}

/* ---- as it was found out before ---------------------------------------------------- */

/* So many lines, each how often a kernel loops; one less or one more, and it is not ours. */
static bool read_iters(struct gp_replay *r, FILE *file)
{
	uint32_t more;

	for (size_t i = 0; i < r->workload->kernels; i++)
		if (fscanf(file, "%" SCNu32, &r->kernel[i].iters) != 1 || !r->kernel[i].iters)
			return false;
	return fscanf(file, "%" SCNu32, &more) == EOF;
}

static bool read_found(struct gp_replay *r, const char *path)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	bool found = file && read_iters(r, file);

	if (file)
		fclose(file);
	return found;
}

/* A client that cannot read it measures again. */
static void write_found(const struct gp_replay *r, const char *path)
{
	FILE *file = path ? fopen(path, "we") : NULL;

	if (!file)
		return;
	for (size_t i = 0; i < r->workload->kernels; i++)
		fprintf(file, "%" PRIu32 "\n", r->kernel[i].iters);
	fclose(file);
}

static void find_out(struct gp_replay *r)
{
	calibrate(r);
	gp_replay_reset(r);
	fit(r);
}

/* ---- opening ---------------------------------------------------------------------- */

static enum gp_work_kind kind_of(const struct gp_workload *w)
{
	static const enum gp_work_kind of[] = {
		[GP_WORKLOAD_PLAIN] = GP_WORK_PLAIN,   [GP_WORKLOAD_SMEM] = GP_WORK_SMEM,
		[GP_WORKLOAD_TENSOR] = GP_WORK_TENSOR, [GP_WORKLOAD_COOP] = GP_WORK_COOP,
		[GP_WORKLOAD_GRAPH] = GP_WORK_GRAPH,   [GP_WORKLOAD_MEMORY] = GP_WORK_MEMORY,
	};

	return of[w->kind];
}

static void open_work(struct gp_replay *r, const struct gp_bench_gpu *gpu, void *stream)
{
	const struct gp_workload *w = r->workload;
	const struct gp_work_shape all = {
		.blocks = w->kind == GP_WORKLOAD_PLAIN ? blocks_for(most_words(r)) :
							 w->kernel->blocks,
		.set_bytes = w->bytes,
	};

	gp_work_open_shaped(&r->work, gpu, kind_of(w), all, stream);
}

struct gp_replay *gp_replay_open(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
				 bool graph, const char *found, void *stream)
{
	struct gp_replay *r = calloc(1, sizeof(*r) + workload->kernels * sizeof(r->kernel[0]));

	if (!r)
		return NULL;
	r->stretch = calloc(workload->tokens + 1, sizeof(*r->stretch));
	if (!r->stretch) {
		free(r);
		return NULL;
	}
	r->workload = workload;
	/* A graph cannot be captured into another. */
	r->graph = graph && workload->kind != GP_WORKLOAD_GRAPH;
	shape(r, gpu);
	say_what_is_less(r);
	set_times(r);
	cut(r);
	open_work(r, gpu, stream);
	if (!read_found(r, found)) {
		find_out(r);
		write_found(r, found);
	}
	gp_replay_reset(r);
	return r;
}

void gp_replay_close(struct gp_replay *r)
{
	drop_graphs(r);
	free(r->stretch);
	free(r);
}

/* ---- running --------------------------------------------------------------------- */

static void launch_kernel(struct gp_replay *r, size_t i)
{
	take(r, &r->kernel[i]);
	r->work.iters = r->kernel[i].iters;
	gp_work_launch(&r->work);
}

static void capture(struct gp_replay *r, struct stretch *s)
{
	GP_CU(cuStreamBeginCapture_v2(r->work.stream, GP_CU_CAPTURE_RELAXED));
	for (size_t i = s->first; i < s->end; i++)
		launch_kernel(r, i);
	GP_CU(cuStreamEndCapture(r->work.stream, &s->captured));
	GP_CU(cuGraphInstantiateWithFlags(&s->exec, s->captured, 0));
}

static void launch_one_by_one(struct gp_replay *r, const struct stretch *s, uint64_t start_ns)
{
	for (size_t i = s->first; i < s->end; i++) {
		if (r->kernel[i].at_ns)
			gp_clock_busy_until(start_ns + r->kernel[i].at_ns);
		launch_kernel(r, i);
	}
}

/* Of a graph no kernel waits but for the token before it. */
static void launch_graph(struct gp_replay *r, struct stretch *s, uint64_t start_ns)
{
	if (!s->exec)
		capture(r, s);
	if (r->kernel[s->first].at_ns)
		gp_clock_busy_until(start_ns + r->kernel[s->first].at_ns);
	GP_CU(cuGraphLaunch(s->exec, r->work.stream));
}

static void tell(const struct gp_token_watch *watch, size_t token, uint64_t now_ns)
{
	watch->ns[token] = now_ns;
	if (watch->seen)
		watch->seen(watch->of, now_ns);
}

uint64_t gp_replay_request(struct gp_replay *r, const struct gp_token_watch *watch)
{
	uint64_t now_ns = gp_clock_now_ns();

	r->requests++;
	for (size_t i = 0; i < r->stretches; i++) {
		if (r->graph)
			launch_graph(r, &r->stretch[i], now_ns);
		else
			launch_one_by_one(r, &r->stretch[i], now_ns);
		if (watch && watch->queued && i + 1 == r->stretches)
			watch->queued(watch->of);
		GP_CU(cuStreamSynchronize(r->work.stream));
		now_ns = gp_clock_now_ns();
		if (watch && i < r->workload->tokens)
			tell(watch, i, now_ns);
	}
	return now_ns;
}

/* ---- the result ------------------------------------------------------------------ */

void gp_replay_reset(struct gp_replay *r)
{
	GP_CU(cuStreamSynchronize(r->work.stream));
	take_all(r);
	gp_work_reset(&r->work);
	r->requests = 0;
}

static int longest_first(const void *a, const void *b)
{
	const size_t left = words_of(a), right = words_of(b);

	return left < right ? 1 : left > right ? -1 : 0;
}

/*
 * The result of all requests together; their period is 2^32, so it is complete. @kernel is sorted,
 * @sum has room for as many: the first words, which all kernels have, are those up to the last
 * one's end.
 */
static void sum_up(const struct gp_replay *r, const struct kernel *kernel, struct gp_work_sum *sum)
{
	const size_t kernels = r->workload->kernels;
	uint32_t iters = 0;

	for (size_t i = 0; i < kernels; i++) {
		const size_t next = i + 1 < kernels ? words_of(&kernel[i + 1]) : 0;

		iters += kernel[i].iters;
		sum[kernels - 1 - i] = (struct gp_work_sum){
			.words = words_of(&kernel[i]) - next,
			.iters = iters * (uint32_t)r->requests,
		};
	}
}

static bool check_words(struct gp_replay *r)
{
	const size_t kernels = r->workload->kernels;
	struct kernel *kernel = calloc(kernels, sizeof(*kernel));
	struct gp_work_sum *sum = calloc(kernels, sizeof(*sum));
	bool right = false;

	if (kernel && sum) {
		memcpy(kernel, r->kernel, kernels * sizeof(*kernel));
		qsort(kernel, kernels, sizeof(*kernel), longest_first);
		sum_up(r, kernel, sum);
		take_all(r);
		right = gp_work_check_sums(&r->work, sum, kernels);
	}
	free(kernel);
	free(sum);
	return right;
}

bool gp_replay_check(struct gp_replay *r)
{
	if (r->workload->kind == GP_WORKLOAD_PLAIN)
		return check_words(r);
	r->work.launched = r->requests;
	return gp_work_check(&r->work, NULL);
}
