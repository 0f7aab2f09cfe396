// SPDX-License-Identifier: Apache-2.0
/*
 * hip_lc - an LC program. It runs a request of five short kernels every period, in an
 * open loop; latency counts from the intended arrival. Only HINT_US uses gpreempt.
 * usage: hip_lc REQUESTS PERIOD_US ITERATIONS [HINT_US]
 */
#include "tap.h"
#include "work.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <vector>

#define BLOCKS 2
#define KERNELS 5

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec ts = { (time_t)(at_ns / 1000000000), (long)(at_ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr))
		;
}

/* The two calls of gpreempt.h that a hint needs. */
struct client {
	void *handle;
	int (*hint)(void *handle, uint64_t in_ns);
};

static void client_open(struct client *gp)
{
	void *lib = dlopen("libgpreempt.so.0", RTLD_NOW);
	int (*open)(const void *opts, void **handle);
	int err;

	if (!lib) {
		printf("Bail out! %s\n", dlerror());
		exit(1);
	}
	*(void **)&open = dlsym(lib, "gp_open");
	*(void **)&gp->hint = dlsym(lib, "gp_hint");
	err = open(nullptr, &gp->handle);
	if (err) {
		printf("Bail out! gp_open: error %d\n", err);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	uint64_t requests = argc > 1 ? strtoull(argv[1], nullptr, 10) : 100;
	uint64_t period_ns = 1000 * (argc > 2 ? strtoull(argv[2], nullptr, 10) : 20000);
	uint32_t iters = argc > 3 ? strtoul(argv[3], nullptr, 10) : 50;
	uint64_t hint_ns = 1000 * (argc > 4 ? strtoull(argv[4], nullptr, 10) : 0);
	std::vector<uint64_t> took;
	uint32_t *buf, got[BLOCKS * 64], wrong = 0;
	struct client gp;
	uint64_t first;

	if (hint_ns)
		client_open(&gp);
	/* Sleep while waiting: in the rig all processes share one core. */
	MUST(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
	MUST(hipMalloc(&buf, sizeof(got)));
	MUST(hipMemset(buf, 0, sizeof(got)));
	work<<<dim3(BLOCKS), dim3(64)>>>(buf, 0);
	MUST(hipDeviceSynchronize());
	printf("ready\n");
	fflush(stdout);
	first = now_ns() + period_ns + hint_ns;
	for (uint64_t i = 0; i < requests; i++) {
		uint64_t at = first + i * period_ns;

		if (hint_ns) {
			sleep_until(at - hint_ns);
			gp.hint(gp.handle, at - std::min(at, now_ns()));
		}
		sleep_until(at);
		for (int k = 0; k < KERNELS; k++)
			work<<<dim3(BLOCKS), dim3(64)>>>(buf, iters);
		MUST(hipDeviceSynchronize());
		took.push_back(now_ns() - at);
	}
	MUST(hipMemcpy(got, buf, sizeof(got), hipMemcpyDeviceToHost));
	for (uint32_t i = 0; i < BLOCKS * 64; i++)
		wrong += got[i] != work_expect(i, requests * KERNELS * iters);
	std::sort(took.begin(), took.end());
	printf("lc requests=%zu p50_ns=%llu p99_ns=%llu max_ns=%llu result=%s\n",
	       took.size(), (unsigned long long)took[took.size() / 2],
	       (unsigned long long)took[took.size() * 99 / 100],
	       (unsigned long long)took.back(), wrong ? "WRONG" : "right");
	return wrong != 0;
}
