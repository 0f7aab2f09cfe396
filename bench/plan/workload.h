/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - the GPU work of one request of a client: kernels, one after another.
 * It is made by a name (named.c), or from a JSON file, recorded of a real model::
 *
 *   {"schema_version": 1, "name": "vgg19",
 *    "what": "torchvision vgg19, batch 1, half precision, CUDA graph",
 *    "device": "NVIDIA H200", "driver": "580.159.04", "solo_us": 1234.5,
 *    "columns": ["gap_us", "length_us", "blocks", "threads", "registers", "shared_bytes"],
 *    "kernels": [[3.2, 10.4, 512, 256, 64, 0], ...]}
 *
 * A file has all of these fields and no others. Only a decoder's has schema_version 2 and
 * one more field, the number of kernels up to the first token, the second, and so on::
 *
 *    "tokens": [410, 723, 1036, ...]
 *
 * The client sees each token before it launches the next one's kernels.
 */
#ifndef GP_BENCH_WORKLOAD_H
#define GP_BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GP_WORKLOAD_KERNELS_MAX 100000u
#define GP_WORKLOAD_THREADS 256u	    /* of a block, if made by a name */
#define GP_WORKLOAD_TIME_MAX_NS 1000000000u /* of a kernel, and of a gap */

/* The kind of its kernels, or of its other work; docs/bench.md describes each. */
enum gp_workload_kind {
	GP_WORKLOAD_PLAIN, /* work in registers, also in place of recorded kernels */
	GP_WORKLOAD_SMEM,
	GP_WORKLOAD_TENSOR,
	GP_WORKLOAD_COOP,
	GP_WORKLOAD_GRAPH,
	GP_WORKLOAD_MEMORY,
	/* From here on workloads have no list of kernels: only a device gives their times. */
	GP_WORKLOAD_COPY_IN,
	GP_WORKLOAD_COPY_OUT,
	GP_WORKLOAD_BFS,
	GP_WORKLOAD_SSSP,
	GP_WORKLOAD_COMPONENTS,
	GP_WORKLOAD_PAGERANK,
	GP_WORKLOAD_STENCIL,
	GP_WORKLOAD_UVM,
	GP_WORKLOAD_TORCH, /* run by a program of its own, bench/apps/client.py */
};

struct gp_workload_kernel {
	uint64_t gap_ns;       /* on the device: from the end of the kernel before, or
				 * the request's begin, to its start */
	uint64_t length_ns;    /* alone; never 0 */
	uint32_t blocks;       /* of its grid; 0: made by a name; the kernel fills the
				 * device, and only shared_bytes is set below */
	uint32_t threads;      /* of a block */
	uint32_t registers;    /* of a thread */
	uint32_t shared_bytes; /* of a block */
	bool token;	       /* its end completes a token */
};

struct gp_workload {
	char *name;
	char *what, *device, *driver; /* NULL: made by a name */
	uint64_t solo_ns;	      /* the request alone, from its begin to completion seen;
				 * 0: made by a name */
	enum gp_workload_kind kind;
	uint64_t bytes; /* MEMORY: of its buffer, 0: the default; COPY, UVM: of its data */
	uint32_t scale; /* of a graph: 2^scale vertices */
	uint32_t width, height, steps; /* STENCIL */
	struct gp_workload_kernel *kernel;
	size_t kernels; /* 0: only a device gives its time */
	size_t tokens;	/* 0: no decoder */
};

struct gp_workload_sum {
	uint64_t length_ns, gap_ns;
};

/**
 * On error NULL, and one line in @why: the file, the place, its text and the expected one.
 * Free with gp_workload_destroy().
 */
struct gp_workload *gp_workload_read(const char *path, char *why, size_t why_len);
/** The same from memory; @why names the text @name. */
struct gp_workload *gp_workload_parse(const char *name, const char *text, size_t bytes, char *why,
				      size_t why_len);
/** Made by a name, "spin:500us"; else as gp_workload_read(). */
struct gp_workload *gp_workload_named(const char *text, char *why, size_t why_len);
/** The forms of all such names, one a line. */
void gp_workload_list(FILE *to);
void gp_workload_destroy(struct gp_workload *workload); /* NULL is fine */

/*
 * A kernel with a shorter gap was queued when the one before ended, as a launch takes the
 * CPU some 2 us. In such a gap the device has work, and no other group runs.
 */
#define GP_WORKLOAD_QUEUED_NS 5000u

/**
 * Was kernel @i queued when the one before it ended? Not the first, nor one after a token,
 * because it depends on the token.
 */
static inline bool gp_workload_is_queued(const struct gp_workload *w, size_t i)
{
	return i && !w->kernel[i - 1].token && w->kernel[i].gap_ns < GP_WORKLOAD_QUEUED_NS;
}

/** Does a request wait for the device more than once before it is done? */
bool gp_workload_waits_often(const struct gp_workload *w);

/** Does only a device give its time? Then it cannot run in virtual time. */
static inline bool gp_workload_needs_device(const struct gp_workload *w)
{
	return !w->kernels;
}

/** Does a program of its own run it? Then it is no thread, and needs a real GPU. */
static inline bool gp_workload_is_torch(const struct gp_workload *w)
{
	return w->kind == GP_WORKLOAD_TORCH;
}

/** A hinted request that waits often is one segment, or several if it takes longer than this. */
#define GP_WORKLOAD_SEGMENT_NS 20000000u

/** Sums over all kernels. */
struct gp_workload_sum gp_workload_sum(const struct gp_workload *workload);

#endif
