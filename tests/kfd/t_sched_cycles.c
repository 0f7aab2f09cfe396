// SPDX-License-Identifier: Apache-2.0
/*
 * Rotation and holds suspend and resume queues all the time: 12 queues of 4 processes
 * on 4 slots. No work is lost, runs twice, or stops.
 */
#include <errno.h>

#include "kfd.h"

#define TENANTS 4
#define QUEUES 3
#define CYCLES 100000
#define STALL_MS 30000

static struct kfd k;

/* Hold and release now and then, until the GPU has made @saves saves. */
static bool run_cycles(uint64_t saves)
{
	uint64_t start = simgpu_counter(0, "saves"), last = start, moved = now_ns();

	while (simgpu_counter(0, "saves") - start < saves) {
		struct kfd_ioctl_sched_hold_args hold;
		uint64_t now;

		must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 1000000000, 0, &hold),
		     "hold");
		if (rng() % 4 == 0)
			sleep_ns(rng() % 300000);
		must(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, NULL), "release");
		sleep_ns(200000 + rng() % 2000000);
		now = simgpu_counter(0, "saves");
		if (now != last)
			moved = now_ns();
		else if (now_ns() - moved > STALL_MS * 1000000ull)
			return false;
		last = now;
	}
	return true;
}

int main(void)
{
	uint64_t saves0 = simgpu_counter(0, "saves"), mid0 = simgpu_counter(0, "saves_midwave");
	struct tenant *t = tenants_alloc(TENANTS);
	unsigned int i, cycles = scaled(CYCLES);
	uint64_t started;

	rng_seed(3);
	kfd_open_sched(&k);
	for (i = 0; i < TENANTS; i++) {
		t[i].queues = QUEUES;
		t[i].heavy = 2 + i;
		t[i].ahead = 4;
		tenant_start(&t[i]);
	}
	must(tenants_ready(t, TENANTS, 60000), "tenants");
	started = now_ns();
	ok(run_cycles(cycles), "%u times off and on", cycles);
	figure("%llu saves, %llu of them in mid-wave, in %llu ms",
	       (unsigned long long)(simgpu_counter(0, "saves") - saves0),
	       (unsigned long long)(simgpu_counter(0, "saves_midwave") - mid0),
	       (unsigned long long)(now_ns() - started) / 1000000);
	ok(simgpu_counter(0, "saves_midwave") - mid0 >= cycles / 10, "many of them in mid-wave");
	tenants_stop(t, TENANTS, 300000);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
