// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/kind.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/replay.h"
#include "bench/gpu/solo.h"

struct gp_job {
	const struct gp_kind *kind; /* NULL: replay */
	void *of_kind;
	struct gp_replay *replay;
};

void gp_kind_cannot(const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *gp_kind_alloc(size_t bytes)
{
	void *ptr = calloc(1, bytes);

	if (!ptr)
		gp_kind_cannot("no memory for %zu bytes", bytes);
	return ptr;
}

uint64_t gp_kind_device_alloc(size_t bytes)
{
	size_t free_bytes, total;
	uint64_t ptr;

	GP_CU(cuMemGetInfo_v2(&free_bytes, &total));
	if (bytes > free_bytes)
		gp_kind_cannot("the device has %zu MiB free; the workload needs %zu",
			       free_bytes >> 20, bytes >> 20);
	GP_CU(cuMemAlloc_v2(&ptr, bytes));
	return ptr;
}

static const struct gp_kind *kind_of(const struct gp_workload *w)
{
	switch (w->kind) {
	case GP_WORKLOAD_COPY_IN:
	case GP_WORKLOAD_COPY_OUT:
		return &gp_kind_copy;
	case GP_WORKLOAD_BFS:
	case GP_WORKLOAD_SSSP:
	case GP_WORKLOAD_COMPONENTS:
	case GP_WORKLOAD_PAGERANK:
		return &gp_kind_csr;
	case GP_WORKLOAD_STENCIL:
		return &gp_kind_stencil;
	case GP_WORKLOAD_UVM:
		return &gp_kind_uvm;
	default:
		return NULL;
	}
}

struct gp_job *gp_job_open(const struct gp_bench_gpu *gpu, const struct gp_workload *workload,
			   bool graph, const char *found, void *stream)
{
	struct gp_job *job = gp_kind_alloc(sizeof(*job));

	if (gp_workload_is_torch(workload))
		gp_kind_cannot("%s: only the PyTorch client runs it", workload->name);
	job->kind = kind_of(workload);
	if (job->kind && graph)
		gp_kind_cannot("%s: cannot run as a graph; only a workload of kernels alone can",
			       workload->name);
	if (job->kind)
		job->of_kind = job->kind->open(gpu, workload, stream);
	else
		job->replay = gp_replay_open(gpu, workload, graph, found, stream);
	if (!job->kind && !job->replay)
		gp_kind_cannot("no memory for the workload");
	return job;
}

void gp_job_close(struct gp_job *job)
{
	if (job->kind)
		job->kind->close(job->of_kind);
	else
		gp_replay_close(job->replay);
	free(job);
}

uint64_t gp_job_request(struct gp_job *job, const struct gp_token_watch *watch)
{
	if (!job->kind)
		return gp_replay_request(job->replay, watch);
	job->kind->request(job->of_kind);
	return gp_clock_now_ns();
}

static void one(void *of)
{
	(void)gp_job_request(of, NULL);
}

uint64_t gp_job_solo_ns(struct gp_job *job)
{
	const uint64_t ns = gp_solo_ns(one, job);

	if (job->kind)
		job->kind->reset(job->of_kind);
	else
		gp_replay_reset(job->replay);
	return ns;
}

bool gp_job_check(struct gp_job *job)
{
	return job->kind ? job->kind->check(job->of_kind) : gp_replay_check(job->replay);
}
