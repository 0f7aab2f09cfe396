// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/graph.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu/bodies.h"
#include "bench/plan/random.h"

#define A 0.57
#define B 0.19
#define C 0.19

struct pair {
	uint32_t u, v;
};

/* ---- making -------------------------------------------------------------------------- */

static struct pair draw(struct gp_random *random, uint32_t scale)
{
	struct pair p = { 0, 0 };

	for (uint32_t bit = 0; bit < scale; bit++) {
		const double x = gp_random_uniform(random);

		p.u = p.u << 1 | (x >= A + B);
		p.v = p.v << 1 | ((x >= A && x < A + B) || x >= A + B + C);
	}
	return p;
}

static void count(struct gp_graph *g, struct pair p)
{
	if (p.u == p.v)
		return;
	g->row[p.u + 1]++;
	g->row[p.v + 1]++;
}

static void add(struct gp_graph *g, uint32_t *next, struct pair p)
{
	if (p.u == p.v)
		return;
	g->col[next[p.u]++] = p.v;
	g->col[next[p.v]++] = p.u;
}

static void find_source(struct gp_graph *g)
{
	for (uint32_t v = 0; v < g->vertices; v++)
		if (g->row[v + 1] - g->row[v] > g->row[g->source + 1] - g->row[g->source])
			g->source = v;
}

/* The same edges twice: to count them, and to put each at its place. */
static bool fill(struct gp_graph *g, uint32_t scale, uint64_t seed)
{
	const uint32_t pairs = g->vertices * (GP_GRAPH_DEGREE / 2);
	struct gp_random random;
	uint32_t *next;

	gp_random_seed(&random, seed, 1);
	for (uint32_t i = 0; i < pairs; i++)
		count(g, draw(&random, scale));
	for (uint32_t v = 0; v < g->vertices; v++)
		g->row[v + 1] += g->row[v];
	g->edges = g->row[g->vertices];
	g->col = malloc(g->edges * sizeof(*g->col));
	next = malloc(g->vertices * sizeof(*next));
	if (g->col && next) {
		memcpy(next, g->row, g->vertices * sizeof(*next));
		gp_random_seed(&random, seed, 1);
		for (uint32_t i = 0; i < pairs; i++)
			add(g, next, draw(&random, scale));
		find_source(g);
	}
	free(next);
	return g->col && next;
}

struct gp_graph *gp_graph_create(uint32_t scale, uint64_t seed)
{
	struct gp_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->vertices = 1u << scale;
	g->row = calloc(g->vertices + 1, sizeof(*g->row));
	if (!g->row || !fill(g, scale, seed)) {
		gp_graph_destroy(g);
		return NULL;
	}
	return g;
}

void gp_graph_destroy(struct gp_graph *graph)
{
	if (!graph)
		return;
	free(graph->row);
	free(graph->col);
	free(graph);
}

/* ---- what is known of it --------------------------------------------------------------- */

void gp_graph_begin(const struct gp_graph *g, enum gp_csr_op op, uint32_t *value)
{
	for (uint32_t v = 0; v < g->vertices; v++)
		value[v] = op == GP_CSR_PAGERANK   ? GP_CSR_RANK :
			   op == GP_CSR_COMPONENTS ? v :
						     GP_CSR_NONE;
	if (op == GP_CSR_BFS || op == GP_CSR_SSSP)
		value[g->source] = 0;
}

/*
 * Begins with the vertices of @queue. A vertex that found a shorter way updates its neighbours,
 * several times if needed. First come first served, this is breadth first. With weights it is
 * Bellman's and Ford's in Moore's form.
 */
static void spread(const struct gp_graph *g, enum gp_csr_op op, uint32_t *value, uint32_t *queue,
		   bool *waits)
{
	uint32_t first = 0, waiting = 1;

	for (; waiting; waiting--) {
		const uint32_t u = queue[first];

		first = (first + 1) % g->vertices;
		waits[u] = false;
		for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++) {
			const uint32_t v = g->col[e];
			const uint32_t way = value[u] + (op == GP_CSR_SSSP ? gp_csr_weight(u, v) :
									     op == GP_CSR_BFS);

			if (way >= value[v])
				continue;
			value[v] = way;
			if (!waits[v])
				queue[(first + waiting++ - 1) % g->vertices] = v;
			waits[v] = true;
		}
	}
}

/* From each vertex in turn: none is reached twice, as labels of later ones are larger. */
static void label(const struct gp_graph *g, uint32_t *value, uint32_t *queue, bool *waits)
{
	for (uint32_t v = 0; v < g->vertices; v++) {
		if (value[v] != v)
			continue;
		queue[0] = v;
		waits[v] = true;
		spread(g, GP_CSR_COMPONENTS, value, queue, waits);
	}
}

/* Each gives its share away. */
static bool rank(const struct gp_graph *g, uint32_t *value)
{
	uint64_t *sum = malloc(g->vertices * sizeof(*sum));

	for (uint32_t round = 0; sum && round < GP_GRAPH_RANK_ROUNDS; round++) {
		memset(sum, 0, g->vertices * sizeof(*sum));
		for (uint32_t u = 0; u < g->vertices; u++)
			for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++)
				sum[g->col[e]] += value[u] / (g->row[u + 1] - g->row[u]);
		for (uint32_t v = 0; v < g->vertices; v++)
			value[v] = gp_csr_rank(sum[v]);
	}
	free(sum);
	return sum;
}

bool gp_graph_solve(const struct gp_graph *g, enum gp_csr_op op, uint32_t *value)
{
	uint32_t *queue = malloc(g->vertices * sizeof(*queue));
	bool *waits = calloc(g->vertices, sizeof(*waits)), solved = queue && waits;

	gp_graph_begin(g, op, value);
	if (solved && op == GP_CSR_PAGERANK)
		solved = rank(g, value);
	else if (solved && op == GP_CSR_COMPONENTS)
		label(g, value, queue, waits);
	else if (solved) {
		queue[0] = g->source;
		spread(g, op, value, queue, waits);
	}
	free(queue);
	free(waits);
	return solved;
}
