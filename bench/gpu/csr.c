// SPDX-License-Identifier: Apache-2.0
/*
 * csr.c - an algorithm on a graph, in rounds of one kernel each, until a round changes nothing:
 * after each the CPU waits for the kernel's report whether one did.
 */
#include <stdlib.h>

#include "bench/gpu/graph.h"
#include "bench/gpu/kind.h"
#include "bench/gpu/planes.h"

#define SEED 1u

struct csr {
	struct gp_planes planes; /* the vertices' values; behind them the last round that
					 * changed one */
	struct gp_graph *graph;
	uint32_t op;
	uint64_t row, col;
	uint32_t *changed; /* pinned */
	uint32_t round;	   /* goes on from request to request: none is taken for
					 * one before */
};

static uint64_t on_device(const uint32_t *words, size_t count)
{
	const uint64_t at = gp_kind_device_alloc(count * sizeof(*words));

	GP_CU(cuMemcpyHtoD_v2(at, words, count * sizeof(*words)));
	return at;
}

static enum gp_csr_op op_of(enum gp_workload_kind kind)
{
	return kind == GP_WORKLOAD_BFS	      ? GP_CSR_BFS :
	       kind == GP_WORKLOAD_SSSP	      ? GP_CSR_SSSP :
	       kind == GP_WORKLOAD_COMPONENTS ? GP_CSR_COMPONENTS :
						GP_CSR_PAGERANK;
}

static void *open_csr(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
		      void *stream)
{
	const enum gp_csr_op op = op_of(workload->kind);
	struct csr *c = gp_kind_alloc(sizeof(*c));
	uint32_t *begin, *expect;

	c->op = op;
	c->graph = gp_graph_create(workload->scale, SEED);
	if (!c->graph)
		gp_kind_cannot("no memory for a graph of 2^%u vertices", workload->scale);
	begin = gp_kind_alloc((c->graph->vertices + 1) * sizeof(*begin));
	expect = gp_kind_alloc(c->graph->vertices * sizeof(*expect));
	gp_graph_begin(c->graph, op, begin);
	if (!gp_graph_solve(c->graph, op, expect))
		gp_kind_cannot("no memory for the graph's reference result");
	c->row = on_device(c->graph->row, c->graph->vertices + 1);
	c->col = on_device(c->graph->col, c->graph->edges);
	GP_CU(cuMemHostAlloc((void **)&c->changed, sizeof(*c->changed), 0));
	gp_planes_open(&c->planes, gpu, stream, c->graph->vertices, 1, begin, expect);
	free(begin);
	return c;
}

static void close_csr(void *job)
{
	struct csr *c = job;

	gp_planes_close(&c->planes);
	GP_CU(cuMemFree_v2(c->row));
	GP_CU(cuMemFree_v2(c->col));
	GP_CU(cuMemFreeHost(c->changed));
	gp_graph_destroy(c->graph);
	free(c);
}

static void launch(struct csr *c, unsigned int from)
{
	uint32_t vertices = c->graph->vertices, edges = c->graph->edges;
	void *params[] = { &c->op,
			   &vertices,
			   &edges,
			   &c->round,
			   &c->row,
			   &c->col,
			   &c->planes.plane[from],
			   &c->planes.plane[!from] };

	GP_CU(cuLaunchKernel(c->planes.gpu->fn[GP_KERNEL_CSR], vertices / GP_KERNEL_THREADS, 1, 1,
			     GP_KERNEL_THREADS, 1, 1, 0, c->planes.stream, params, NULL));
}

static bool changed(struct csr *c, unsigned int which)
{
	const uint64_t at = c->planes.plane[which] + c->graph->vertices * sizeof(uint32_t);

	GP_CU(cuMemcpyDtoHAsync_v2(c->changed, at, sizeof(*c->changed), c->planes.stream));
	GP_CU(cuStreamSynchronize(c->planes.stream));
	return *c->changed == c->round;
}

static void request(void *job)
{
	struct csr *c = job;
	unsigned int from = 0, rounds = 0;
	bool more;

	gp_planes_begin(&c->planes);
	do {
		c->round++;
		launch(c, from);
		from = !from;
		rounds++;
		more = c->op == GP_CSR_PAGERANK ? rounds < GP_GRAPH_RANK_ROUNDS : changed(c, from);
	} while (more);
	gp_planes_end(&c->planes, from);
}

static bool check(void *job)
{
	return gp_planes_check(&((struct csr *)job)->planes);
}

static void reset(void *job)
{
	gp_planes_reset(&((struct csr *)job)->planes);
}

const struct gp_kind gp_kind_csr = {
	.open = open_csr,
	.request = request,
	.check = check,
	.reset = reset,
	.close = close_csr,
};
