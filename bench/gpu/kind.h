/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind.h - a workload of any kind on a device: its requests one after the other, and whether their
 * results are right. An error of CUDA's, an unsupported operation and a lack of memory end the
 * program with a line. Not for several threads.
 */
#ifndef GP_BENCH_KIND_H
#define GP_BENCH_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/gpu/cuda.h"
#include "bench/gpu/replay.h"
#include "bench/plan/workload.h"

/* A kind of workload. The @job of all calls is the result of open. */
struct gp_kind {
	void *(*open)(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
		      void *stream);
	/* One request to its end; its results are read later. */
	void (*request)(void *job);
	/* Of all requests since the last reset, or open. */
	bool (*check)(void *job);
	void (*reset)(void *job);
	void (*close)(void *job);
};

struct gp_job;

/**
 * @graph: where kernels were recorded or are made by a name, they are one CUDA graph.
 * @found: as gp_replay_open() has it; of other kinds nothing is found out.
 */
struct gp_job *gp_job_open(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
			   bool graph, const char *found, void *stream);
void gp_job_close(struct gp_job *job);
/** As gp_replay_request(). */
uint64_t gp_job_request(struct gp_job *job, const struct gp_token_watch *watch);
/** A request's time alone, ns; then starts over. Nothing else may run meanwhile. */
uint64_t gp_job_solo_ns(struct gp_job *job);
/** Waits; is the result what all requests must have made of it? */
bool gp_job_check(struct gp_job *job);

/** "client: ", one line, and exit status 1. */
void gp_kind_cannot(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/** Zeroed; or it cannot. */
void *gp_kind_alloc(size_t bytes);
/** Of the device, if there is room; or it cannot. */
uint64_t gp_kind_device_alloc(size_t bytes);

extern const struct gp_kind gp_kind_copy, gp_kind_csr, gp_kind_stencil, gp_kind_uvm;

#endif
