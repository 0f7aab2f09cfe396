// SPDX-License-Identifier: Apache-2.0
/* workload.c - gpreempt-bench list FILE: the content of a workload. */
#include "bench/plan/workload.h"

#include <inttypes.h>
#include <stdio.h>

#include "bench/cmd/list.h"

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static const struct gp_workload_kernel *longest(const struct gp_workload *w)
{
	const struct gp_workload_kernel *found = w->kernel;

	for (size_t i = 1; i < w->kernels; i++)
		if (w->kernel[i].length_ns > found->length_ns)
			found = &w->kernel[i];
	return found;
}

int gp_list_workload(const char *path, const char *text, size_t bytes)
{
	char why[256];
	struct gp_workload *w = gp_workload_parse(path, text, bytes, why, sizeof(why));
	const struct gp_workload_kernel *most;
	struct gp_workload_sum sum;

	if (!w) {
		fprintf(stderr, "gpreempt-bench: %s\n", why);
		return 2;
	}
	sum = gp_workload_sum(w);
	most = longest(w);
	printf("%s: %s, %s\n", path, w->name, w->what);
	printf("recorded on    %s, driver %s\n", w->device, w->driver);
	printf("alone          %.1f us, from launch to completion\n", us(w->solo_ns));
	printf("kernels        %zu, together %.1f us, with gaps of %.1f us in all\n", w->kernels,
	       us(sum.length_ns), us(sum.gap_ns));
	if (w->tokens)
		printf("tokens         %zu; each begins when the one before is complete\n",
		       w->tokens);
	printf("the longest    %.1f us: %" PRIu32 " blocks of %" PRIu32 " threads, %" PRIu32
	       " registers a thread, %" PRIu32 " bytes shared\n",
	       us(most->length_ns), most->blocks, most->threads, most->registers,
	       most->shared_bytes);
	gp_workload_destroy(w);
	return 0;
}
