// SPDX-License-Identifier: Apache-2.0
/*
 * CPU time of a hold and a release with 1, 4, 24 and 128 queues on 24 slots. Each is
 * one ioctl, and its cost grows with the loaded queues only.
 */
#include <errno.h>
#include <sys/resource.h>

#include "kfd.h"

#define ROUNDS 200

static struct kfd k;

static uint64_t cpu_ns(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (ru.ru_stime.tv_sec + ru.ru_utime.tv_sec) * 1000000000ull +
	       (ru.ru_stime.tv_usec + ru.ru_utime.tv_usec) * 1000ull;
}

static uint64_t measure(unsigned int queues, unsigned int rounds)
{
	uint64_t hold_ns = 0, release_ns = 0, wall_ns = 0, unloaded = 0;
	unsigned int n;

	for (n = 0; n < rounds; n++) {
		struct kfd_ioctl_sched_hold_args hold;
		uint64_t a, b, c, start;

		sleep_ns(3000000);
		a = cpu_ns();
		start = now_ns();
		must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 1000000000, 0, &hold),
		     "hold");
		wall_ns += now_ns() - start;
		b = cpu_ns();
		must(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, NULL), "release");
		c = cpu_ns();
		hold_ns += b - a;
		release_ns += c - b;
		unloaded += hold.unloaded;
	}
	figure("%3u queues, %llu loaded: hold %llu us of CPU (%llu us in all), release %llu us",
	       queues, (unsigned long long)(unloaded + rounds / 2) / rounds,
	       (unsigned long long)hold_ns / rounds / 1000,
	       (unsigned long long)wall_ns / rounds / 1000,
	       (unsigned long long)release_ns / rounds / 1000);
	return (hold_ns + release_ns) / rounds;
}

int main(void)
{
	static const unsigned int counts[4] = { 1, 4, 24, 128 };
	struct tenant *t = tenants_alloc(16);
	unsigned int i, tenants = 0, queues = 0, rounds = scaled(ROUNDS);
	uint64_t cost[4];

	rng_seed(11);
	kfd_open_sched(&k);
	for (i = 0; i < 4; i++) {
		while (queues < counts[i]) {
			unsigned int want = counts[i] - queues;

			t[tenants].queues = want < 12 ? want : 12;
			queues += t[tenants].queues;
			tenant_start(&t[tenants++]);
		}
		must(tenants_ready(t, tenants, 300000), "tenants");
		cost[i] = measure(queues, rounds);
	}
	ok_time(cost[3] < 3 * cost[2] + 100000,
		"128 queues cost hardly more than the 24 that are loaded (%llu us, %llu us)",
		(unsigned long long)cost[3] / 1000, (unsigned long long)cost[2] / 1000);
	tenants_stop(t, tenants, 300000);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
