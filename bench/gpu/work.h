/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - one kind of GPU work of a chosen length: launch it again and again,
 * then have its result, which all launches together made, checked on the CPU.
 */
#ifndef GP_BENCH_WORK_H
#define GP_BENCH_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/gpu/cuda.h"
#include "bench/gpu/shape.h"

enum gp_work_kind {
	GP_WORK_PLAIN,
	GP_WORK_SMEM, /* all shared memory of an SM, many registers */
	GP_WORK_TENSOR,
	GP_WORK_COOP,	/* cooperative launch, the grid synchronises */
	GP_WORK_GRAPH,	/* CUDA graph: copy in, kernel, copy out */
	GP_WORK_MEMORY, /* through so much memory that no cache has it */
	GP_WORK_LIVE,	/* all registers of an SM, and all its shared memory */
	GP_WORK_KINDS,
};

struct gp_work {
	const struct gp_bench_gpu *gpu; /* borrowed */
	void *stream;			/* borrowed */
	enum gp_work_kind kind;
	/*
	 * Of the next launch. Of PLAIN work the caller may change it between launches,
	 * as far as the words are that it was opened with.
	 */
	struct gp_shape shape;
	uint32_t blocks;
	uint32_t rows; /* MEMORY: of each block */
	uint32_t iters;
	uint64_t launched;	      /* since open or reset */
	uint64_t buf, in;	      /* on the device */
	uint32_t *host_in, *host_out; /* GRAPH: pinned */
	void *graph, *graph_exec;
};

/** Kind by name ("plain", "smem", ...); -1 for another. */
int gp_work_kind_parse(const char *name);

/* 0: as many as fill the device; none; 128 MiB. */
struct gp_work_shape {
	uint32_t blocks, shared_bytes;
	uint64_t set_bytes; /* MEMORY: rounded up to rows of all blocks */
};

/**
 * The caller sets iters or calls gp_work_calibrate() before the first launch.
 */
void gp_work_open_shaped(struct gp_work *work, const struct gp_bench_gpu *gpu,
			 enum gp_work_kind kind, struct gp_work_shape shape, void *stream);
/** The same, with nothing but @blocks. */
void gp_work_open(struct gp_work *work, const struct gp_bench_gpu *gpu, enum gp_work_kind kind,
		  uint32_t blocks, void *stream);

/** Queue it once. */
void gp_work_launch(struct gp_work *work);

/** Choose iters so that one launch lasts @ns where nothing else runs. */
void gp_work_calibrate(struct gp_work *work, uint64_t ns);
/** The same, where about @iters are believed to. */
void gp_work_calibrate_from(struct gp_work *work, uint64_t ns, uint32_t iters);

/** Device time of one launch, ns, measured now over @n of them. */
uint64_t gp_work_measure(struct gp_work *work, unsigned int n);

/** Start over with fresh contents. Nothing may be queued. */
void gp_work_reset(struct gp_work *work);

/**
 * Wait for all, read the result and its @checksum (may be NULL), and compare it with the expected
 * one. Compares a sample of the blocks where all would take the CPU seconds.
 */
bool gp_work_check(struct gp_work *work, uint64_t *checksum);

/* So many words, after those before, and the iterations that each of them had in all. */
struct gp_work_sum {
	size_t words;
	uint32_t iters;
};

/** The same of PLAIN work whose launches were not alike. Each word is compared. */
bool gp_work_check_sums(struct gp_work *work, const struct gp_work_sum *sum, size_t sums);

#endif
