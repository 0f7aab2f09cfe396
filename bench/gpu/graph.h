/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - a graph whose edges are seen from both ends, made at random, and its results by ways of
 * the CPU's: queues and search, not rounds. Pure.
 */
#ifndef GP_BENCH_GRAPH_H
#define GP_BENCH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/gpu/kernels.h"

#define GP_GRAPH_DEGREE 16u /* of a vertex, on average */
#define GP_GRAPH_RANK_ROUNDS 20u

struct gp_graph {
	uint32_t vertices, edges; /* each edge counts at both ends */
	uint32_t *row;		  /* vertices + 1: where in col its neighbours begin */
	uint32_t *col;
	uint32_t source; /* one of many neighbours: searches begin there */
};

/**
 * 2^@scale vertices by the R-MAT of Graph500 (a 0.57, b and c 0.19): a few have a great
 * many neighbours. NULL: out of memory. Free with gp_graph_destroy().
 */
struct gp_graph *gp_graph_create(uint32_t scale, uint64_t seed);
void gp_graph_destroy(struct gp_graph *graph); /* NULL is fine */

/** Each vertex's first value. */
void gp_graph_begin(const struct gp_graph *graph, enum gp_csr_op op, uint32_t *value);
/** The result. False: out of memory. */
bool gp_graph_solve(const struct gp_graph *graph, enum gp_csr_op op, uint32_t *value);

#endif
