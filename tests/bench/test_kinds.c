// SPDX-License-Identifier: Apache-2.0
/*
 * Graphs and grids: the kernels' results, computed by their own text, equal those of other
 * methods. And managed memory on a fake device.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/bodies.h"
#include "bench/gpu/graph.h"
#include "bench/gpu/sweep.h"
#include "tests/common/gp_test.h"

static void *fake_symbol(void *lib, const char *name);
#define dlsym fake_symbol
#include "bench/gpu/uvm.c"
#undef dlsym

/* ---- graphs -------------------------------------------------------------------------- */

/* Rounds until one changes nothing; for ranks a fixed number. Takes ownership of @value. */
static uint32_t *in_rounds(const struct gp_graph *g, enum gp_csr_op op, uint32_t *value)
{
	uint32_t *next = calloc(g->vertices + 1, sizeof(*next)), *was;
	const uint32_t most = op == GP_CSR_PAGERANK ? GP_GRAPH_RANK_ROUNDS : g->vertices + 1;

	for (uint32_t round = 1; round <= most; round++) {
		next[g->vertices] = 0;
		assert_true(gp_ref_csr(op, g->vertices, g->edges, round, g->row, g->col, value,
				       next, 0, (g->vertices + 255) / 256));
		was = value;
		value = next;
		next = was;
		if (op != GP_CSR_PAGERANK && value[g->vertices] != round)
			break;
	}
	free(next);
	return value;
}

static void same_by_both_ways(const struct gp_graph *g)
{
	for (int op = GP_CSR_BFS; op <= GP_CSR_PAGERANK; op++) {
		uint32_t *value = calloc(g->vertices + 1, sizeof(*value));
		uint32_t *solved = calloc(g->vertices, sizeof(*solved));

		gp_graph_begin(g, (enum gp_csr_op)op, value);
		value = in_rounds(g, (enum gp_csr_op)op, value);
		assert_true(gp_graph_solve(g, (enum gp_csr_op)op, solved));
		assert_memory_equal(value, solved, g->vertices * sizeof(*solved));
		free(value);
		free(solved);
	}
}

/* Edges 0 - 1 - 2 - 3 - 0, 3 - 4 and 5 - 6; vertex 7 has none. */
static uint32_t row[] = { 0, 2, 4, 6, 9, 10, 11, 12, 12 };
static uint32_t col[] = { 1, 3, 0, 2, 1, 3, 2, 0, 4, 3, 6, 5 };
static const struct gp_graph small = { 8, 12, row, col, 3 };

static void a_small_graph(void **state)
{
	static const uint32_t levels[] = { 1, 2, 1, 0, 1, GP_CSR_NONE, GP_CSR_NONE, GP_CSR_NONE };
	static const uint32_t labels[] = { 0, 0, 0, 0, 0, 5, 5, 7 };
	uint32_t value[8], by_1, by_2;

	assert_true(gp_graph_solve(&small, GP_CSR_BFS, value));
	assert_memory_equal(value, levels, sizeof(value));
	assert_true(gp_graph_solve(&small, GP_CSR_COMPONENTS, value));
	assert_memory_equal(value, labels, sizeof(value));
	assert_true(gp_graph_solve(&small, GP_CSR_SSSP, value));
	by_1 = gp_csr_weight(3, 0) + gp_csr_weight(0, 1);
	by_2 = gp_csr_weight(3, 2) + gp_csr_weight(2, 1);
	assert_int_equal(value[1], by_1 < by_2 ? by_1 : by_2);
	assert_int_equal(value[4], gp_csr_weight(4, 3));
	assert_true(gp_graph_solve(&small, GP_CSR_PAGERANK, value));
	/* The vertex with three neighbours ranks highest, the one with none lowest. */
	for (int v = 0; v < 8; v++)
		assert_true(value[v] <= value[3] && value[v] >= value[7]);
	assert_int_equal(value[7], GP_CSR_RANK * 38 / 256);
	same_by_both_ways(&small);
}

static void made_graphs(void **state)
{
	struct gp_graph *g = gp_graph_create(10, 1), *again = gp_graph_create(10, 1);
	struct gp_graph *other = gp_graph_create(10, 2);
	uint32_t most;

	assert_int_equal(g->vertices, 1024);
	assert_int_equal(g->edges, again->edges);
	assert_memory_equal(g->col, again->col, g->edges * sizeof(*g->col));
	assert_true(g->edges != other->edges ||
		    memcmp(g->col, other->col, g->edges * sizeof(*g->col)));
	/* All edges except loops; a few vertices have many. */
	assert_in_range(g->edges, 1024 * GP_GRAPH_DEGREE * 9 / 10, 1024 * GP_GRAPH_DEGREE);
	most = g->row[g->source + 1] - g->row[g->source];
	assert_true(most > 20 * GP_GRAPH_DEGREE);
	same_by_both_ways(g);
	same_by_both_ways(other);
	gp_graph_destroy(g);
	gp_graph_destroy(again);
	gp_graph_destroy(other);
	gp_graph_destroy(NULL);
}

/* The software GPU checks its input. */
static void no_graph(void **state)
{
	uint32_t rows[9], cols[12], in[8] = { 0 }, out[9];

	for (int bad = 0; bad < 3; bad++) {
		memcpy(rows, row, sizeof(rows));
		memcpy(cols, col, sizeof(cols));
		rows[4] = bad == 0 ? 5 : bad == 1 ? 13 : 9;
		cols[7] = bad == 2 ? 8 : 0;
		assert_false(gp_ref_csr(GP_CSR_BFS, 8, 12, 1, rows, cols, in, out, 0, 1));
	}
}

/* ---- grids --------------------------------------------------------------------------- */

static void steps_over_a_grid(void **state)
{
	static const struct {
		uint32_t width, height;
	} sizes[] = { { 4, 4 }, { 4, 9 }, { 31, 5 }, { 64, 48 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint32_t width = sizes[i].width, height = sizes[i].height;
		const uint32_t cells = width * height, blocks = (cells + 255) / 256;
		uint32_t *in = calloc(cells, sizeof(*in)), *out = calloc(cells, sizeof(*out));
		uint32_t *expect = calloc(cells, sizeof(*expect));

		gp_ref_fill(in, cells, 3);
		for (uint32_t along_z = 0; along_z < 2; along_z++) {
			gp_ref_stencil(in, out, width, height, along_z, 0, blocks);
			gp_sweep(in, expect, width, height, along_z);
			assert_memory_equal(out, expect, cells * sizeof(*out));
			assert_memory_not_equal(out, in, cells * sizeof(*out));
		}
		free(in);
		free(out);
		free(expect);
	}
}

/* ---- managed memory ------------------------------------------------------------------ */

static uint32_t *memory;
static bool loses; /* the device skips a block */

static int fake_alloc(uint64_t *ptr, size_t bytes, unsigned int flags)
{
	assert_int_equal(flags, CU_MEM_ATTACH_GLOBAL);
	memory = aligned_alloc(16, bytes);
	*ptr = (uint64_t)(uintptr_t)memory;
	return 0;
}

static void *fake_symbol(void *lib, const char *name)
{
	int (*alloc)(uint64_t *, size_t, unsigned int) = fake_alloc;
	void *found;

	assert_string_equal(name, "cuMemAllocManaged");
	memcpy(&found, &alloc, sizeof(found));
	return found;
}

static int fake_attribute(int *value, int attribute, int dev)
{
	*value = attribute == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
	return 0;
}

static int fake_info(size_t *free_bytes, size_t *total)
{
	*free_bytes = *total = 1u << 30;
	return 0;
}

static int fake_wait(void *stream)
{
	return 0;
}

static int fake_free(uint64_t ptr)
{
	free((void *)(uintptr_t)ptr);
	return 0;
}

static int fake_launch(void *fn, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		       unsigned int by, unsigned int bz, unsigned int shared, void *stream,
		       void **params, void **extra)
{
	for (uint32_t g = 0; g < (gx - loses) * bx; g++)
		gp_body_stream((uint32_t *)(uintptr_t) * (uint64_t *)params[0],
			       *(uint32_t *)params[1], *(uint32_t *)params[2],
			       *(uint32_t *)params[3], g / bx, g % bx);
	return 0;
}

static void managed_memory(void **state)
{
	const struct gp_bench_gpu gpu = { .sms = 1 };
	const struct gp_workload workload = { .bytes = 100000 };
	void *job;

	gp_cu.cuDeviceGetAttribute = fake_attribute;
	gp_cu.cuMemGetInfo_v2 = fake_info;
	gp_cu.cuStreamSynchronize = fake_wait;
	gp_cu.cuMemFree_v2 = fake_free;
	gp_cu.cuLaunchKernel = fake_launch;
	job = gp_kind_uvm.open(&gpu, &workload, NULL);
	for (int requests = 0; requests < 3; requests++) {
		assert_true(gp_kind_uvm.check(job));
		gp_kind_uvm.request(job);
	}
	assert_true(gp_kind_uvm.check(job));
	memory[12345]++;
	assert_false(gp_kind_uvm.check(job));
	gp_kind_uvm.reset(job);
	assert_true(gp_kind_uvm.check(job));
	loses = true;
	gp_kind_uvm.request(job);
	assert_false(gp_kind_uvm.check(job));
	gp_kind_uvm.close(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_graph),  cmocka_unit_test(made_graphs),
		cmocka_unit_test(no_graph),	  cmocka_unit_test(steps_over_a_grid),
		cmocka_unit_test(managed_memory),
	};

	return gp_run_tests(tests);
}
