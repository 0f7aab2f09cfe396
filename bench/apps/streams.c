// SPDX-License-Identifier: Apache-2.0
/*
 * streams ROUNDS [context] - a long kernel in one stream and a short one in another. It waits for
 * the short one first, then for the long one, or for all of its context. Prints "ready" and reads a
 * line. Then prints the time of a round of the second half, in ns of the GPU's clock, and the long
 * kernel's time alone.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/cuda.h"
#include "bench/gpu/work.h"

#define SHORT_NS 500000u
#define LONG_NS 30000000u
#define BLOCKS 4u

static void open_work(struct gp_work *work, const struct gp_bench_gpu *gpu, uint64_t ns)
{
	void *stream;

	GP_CU(cuStreamCreate(&stream, GP_CU_STREAM_NON_BLOCKING));
	gp_work_open(work, gpu, GP_WORK_PLAIN, BLOCKS, stream);
	gp_work_calibrate(work, ns);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 2;
	const bool context = argc > 2;
	struct gp_work shorts, longs;
	struct gp_bench_gpu gpu;
	uint64_t start_ns = 0;

	gp_bench_gpu_open(&gpu, GP_CU_CTX_SCHED_BLOCKING);
	open_work(&shorts, &gpu, SHORT_NS);
	open_work(&longs, &gpu, LONG_NS);
	printf("ready\n");
	fflush(stdout);
	(void)gp_clock_wait_readable(0);
	for (int i = 0; i < rounds; i++) {
		if (i == rounds / 2)
			start_ns = gp_clock_now_ns();
		gp_work_launch(&longs);
		gp_work_launch(&shorts);
		GP_CU(cuStreamSynchronize(shorts.stream));
		if (context)
			GP_CU(cuCtxSynchronize());
		else
			GP_CU(cuStreamSynchronize(longs.stream));
	}
	printf("%" PRIu64 " %u\n", (gp_clock_now_ns() - start_ns) / (uint64_t)(rounds - rounds / 2),
	       LONG_NS);
	return 0;
}
