// SPDX-License-Identifier: Apache-2.0
/*
 * hip_be - a BE program, unaware of gpreempt. It runs kernels back to back until
 * SIGTERM. Each continues from the last one's results, which are checked at the end.
 * usage: hip_be [ITERATIONS [BLOCKS]]
 */
#include "tap.h"
#include "work.h"

#include <csignal>
#include <vector>

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = 1;
}

int main(int argc, char **argv)
{
	uint32_t iters = argc > 1 ? strtoul(argv[1], nullptr, 10) : 2000;
	uint32_t blocks = argc > 2 ? strtoul(argv[2], nullptr, 10) : 16;
	std::vector<uint32_t> got(blocks * 64);
	uint64_t kernels = 0;
	uint32_t *buf, wrong = 0;

	signal(SIGTERM, on_term);
	/* Sleep while waiting: in the rig all processes share one core. */
	MUST(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
	MUST(hipMalloc(&buf, got.size() * 4));
	MUST(hipMemset(buf, 0, got.size() * 4));
	work<<<dim3(blocks), dim3(64)>>>(buf, 0);
	MUST(hipDeviceSynchronize());
	printf("ready\n");
	fflush(stdout);
	while (!stop) {
		for (int i = 0; i < 4; i++)
			work<<<dim3(blocks), dim3(64)>>>(buf, iters);
		kernels += 4;
		MUST(hipDeviceSynchronize());
	}
	MUST(hipMemcpy(got.data(), buf, got.size() * 4, hipMemcpyDeviceToHost));
	for (uint32_t i = 0; i < got.size(); i++)
		wrong += got[i] != work_expect(i, kernels * iters);
	printf("be kernels=%llu result=%s\n", (unsigned long long)kernels,
	       wrong ? "WRONG" : "right");
	return wrong != 0;
}
