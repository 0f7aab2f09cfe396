/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - what one request of a client runs on the GPU: kernels, one after
 * another. Read from a JSON file that was recorded of a real model on a real card,
 *
 *   {"schema_version": 1, "name": "vgg19",
 *    "what": "torchvision vgg19, batch 1, half precision, CUDA graph",
 *    "device": "NVIDIA H200", "driver": "580.159.04", "solo_us": 1234.5,
 *    "columns": ["gap_us", "length_us", "blocks", "threads", "registers", "shared_bytes"],
 *    "kernels": [[3.2, 10.4, 512, 256, 64, 0], ...]}
 *
 * or made by a name: named.c. A file has no other fields than these, and all of them;
 * that of a decoder is of schema_version 2 and has one more,
 *
 *    "tokens": [410, 723, 1036, ...]
 *
 * so many kernels are done when the first token is out, the second, and so on. Whoever
 * asked sees each token before the next can begin.
 */
#ifndef GP_BENCH_WORKLOAD_H
#define GP_BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GP_WORKLOAD_KERNELS_MAX 100000u
#define GP_WORKLOAD_THREADS 256u	    /* of a block of one that is made by a name */
#define GP_WORKLOAD_TIME_MAX_NS 1000000000u /* of a kernel, and of a gap */

/* What its kernels are, or what there is instead of them; docs/bench.md has each. */
enum gp_workload_kind {
	GP_WORKLOAD_PLAIN, /* work in registers: by a name, or in place of recorded ones */
	GP_WORKLOAD_SMEM,
	GP_WORKLOAD_TENSOR,
	GP_WORKLOAD_COOP,
	GP_WORKLOAD_GRAPH,
	GP_WORKLOAD_MEMORY,
	/* From here on what they take is what they take: there are no kernels in it. */
	GP_WORKLOAD_COPY_IN,
	GP_WORKLOAD_COPY_OUT,
	GP_WORKLOAD_BFS,
	GP_WORKLOAD_SSSP,
	GP_WORKLOAD_COMPONENTS,
	GP_WORKLOAD_PAGERANK,
	GP_WORKLOAD_STENCIL,
	GP_WORKLOAD_UVM,
	GP_WORKLOAD_TORCH, /* a program of its own has it: bench/apps/client.py */
};

struct gp_workload_kernel {
	uint64_t gap_ns;       /* on the device, from the end of the one before, or the
				 * request's beginning, to its start */
	uint64_t length_ns;    /* alone; never 0 */
	uint32_t blocks;       /* of its grid; 0: as many as fill the device, and of what
				 * is below shared_bytes alone is said: made by a name */
	uint32_t threads;      /* of a block */
	uint32_t registers;    /* of a thread */
	uint32_t shared_bytes; /* of a block */
	bool token;	       /* one is out with its end */
};

struct gp_workload {
	char *name;
	char *what, *device, *driver; /* NULL: made by a name */
	uint64_t solo_ns;	      /* the request alone, from asking to its completion seen;
				 * 0: made by a name */
	enum gp_workload_kind kind;
	uint64_t bytes; /* MEMORY: that it goes through, 0: not said; COPY, UVM: of it */
	uint32_t scale; /* of a graph: 2^scale vertices */
	uint32_t width, height, steps; /* STENCIL */
	struct gp_workload_kernel *kernel;
	size_t kernels; /* 0: nobody knows beforehand what it takes */
	size_t tokens;	/* 0: it is no decoder */
};

struct gp_workload_sum {
	uint64_t length_ns, gap_ns;
};

/**
 * NULL and one line in @why: the file, where in it, what was found there and what
 * would be right. Free with gp_workload_destroy().
 */
struct gp_workload *gp_workload_read(const char *path, char *why, size_t why_len);
/** The same from memory; @name is what @why calls it. */
struct gp_workload *gp_workload_parse(const char *name, const char *text, size_t bytes, char *why,
				      size_t why_len);
/** Made by a name, "spin:500us"; else as gp_workload_read(). */
struct gp_workload *gp_workload_named(const char *text, char *why, size_t why_len);
/** The forms of all such names, one a line. */
void gp_workload_list(FILE *to);
void gp_workload_destroy(struct gp_workload *workload); /* NULL is fine */

/*
 * Kernels that follow each other sooner were queued when the one before ended: the gap is
 * the device's, and others cannot have it. A launch takes the CPU some 2 us.
 */
#define GP_WORKLOAD_QUEUED_NS 5000u

/**
 * Was kernel @i queued when the one before it ended? The first never was, nor one that
 * comes after a token: what it does depends on that.
 */
static inline bool gp_workload_is_queued(const struct gp_workload *w, size_t i)
{
	return i && !w->kernel[i - 1].token && w->kernel[i].gap_ns < GP_WORKLOAD_QUEUED_NS;
}

/** Does a request wait for the device more than once before it is done? */
bool gp_workload_waits_often(const struct gp_workload *w);

/** Can only a device say what it takes? Then it cannot run in virtual time. */
static inline bool gp_workload_needs_device(const struct gp_workload *w)
{
	return !w->kernels;
}

/** Has a program of its own it? Then it cannot be a thread of ours, nor on a software GPU. */
static inline bool gp_workload_is_torch(const struct gp_workload *w)
{
	return w->kind == GP_WORKLOAD_TORCH;
}

/** A hinted request that waits often is a segment, and one longer than this is several. */
#define GP_WORKLOAD_SEGMENT_NS 20000000u

/** Over all kernels. */
struct gp_workload_sum gp_workload_sum(const struct gp_workload *workload);

#endif
