// SPDX-License-Identifier: Apache-2.0
/*
 * The time from the call of a hold to the end of an LC kernel, with 4, 12 and 24 BE
 * queues on 4 slots. It is at most one save, one load and the kernel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kfd.h"

#define SAVE_NS 2000000ull
#define LOAD_NS 1000000ull
#define SAMPLES 200
#define MAX_SAMPLES 4096

static struct kfd k;
static struct kfd_launch lc_launch;
static struct kfd_queue lc;
static uint64_t samples[MAX_SAMPLES];

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t run_lc(uint64_t since)
{
	kfd_signal_set(lc_launch.signal, 1);
	must(kfd_launch(&lc, &lc_launch), "launch");
	must(kfd_signal_wait(&k, lc_launch.signal, 1, 20000), "LC");
	return now_ns() - since;
}

static uint64_t measure(bool hold_first, unsigned int num)
{
	struct kfd_ioctl_sched_hold_args hold;
	unsigned int n;

	for (n = 0; n < num; n++) {
		uint64_t start;

		sleep_ns(8000000 + rng() % 4000000);
		start = now_ns();
		if (hold_first)
			must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 1000000000, 0,
				      &hold),
			     "hold");
		samples[n] = run_lc(start);
		if (hold_first)
			must(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, NULL), "release");
	}
	qsort(samples, num, sizeof(samples[0]), by_value);
	return samples[num - 1];
}

static void set_up_lc(void)
{
	static struct k_hash_args args = { .iters = 200, .seed = 1 };
	static struct kfd_code code;
	static struct kfd_mem out;

	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &code), "code");
	must(kfd_mem_alloc(&k, 0, 4096, KFD_MEM_GTT, &out), "memory");
	must(kfd_set_class(&k, k.gpus[0].gpu_id, 0, UINT32_MAX, KFD_SCHED_CLASS_LC, 0, 0), "be LC");
	must(kfd_queue_create(&k, 0, 64, &lc), "queue");
	args.out = out.va;
	lc_launch = (struct kfd_launch){
		.kernel = kfd_code_find(&code, "k_hash"),
		.grid = { 64 },
		.workgroup = { 64 },
		.args = &args,
		.args_bytes = sizeof(args),
		.signal = kfd_signal_create(&k, 1, false),
	};
}

int main(void)
{
	unsigned int i, num = scaled(SAMPLES), tenants = 0;
	struct tenant *t = tenants_alloc(6);
	uint64_t alone, bound, save_ns, load_ns;

	rng_seed(5);
	kfd_open_sched(&k);
	must(kfd_acquire(&k, 0), "acquire VM");
	if (num > MAX_SAMPLES)
		num = MAX_SAMPLES;
	save_ns = simgpu_param("save_ns", SAVE_NS);
	load_ns = simgpu_param("load_ns", LOAD_NS);
	set_up_lc();
	alone = measure(false, num);
	/* A load adds 100 ns a KiB of registers and LDS; a wave of k_spin has little. */
	bound = alone + SAVE_NS + LOAD_NS + LOAD_NS / 10;
	figure("LC alone: p50 %llu us, max %llu us; one save %llu us, one load %llu us",
	       (unsigned long long)samples[num / 2] / 1000, (unsigned long long)alone / 1000,
	       (unsigned long long)SAVE_NS / 1000, (unsigned long long)LOAD_NS / 1000);
	for (i = 0; i < 3; i++) {
		unsigned int want = (unsigned int[]){ 1, 3, 6 }[i];
		uint64_t max;

		for (; tenants < want; tenants++) {
			t[tenants].queues = 4;
			tenant_start(&t[tenants]);
		}
		must(tenants_ready(t, tenants, 120000), "tenants");
		max = measure(true, num);
		figure("with %u BE queues: p50 %llu us, p99 %llu us, max %llu us", want * 4,
		       (unsigned long long)samples[num / 2] / 1000,
		       (unsigned long long)samples[num * 99 / 100] / 1000,
		       (unsigned long long)max / 1000);
		ok_time(max <= bound, "LC beside %u BE queues: %llu us at most, bound %llu us",
			want * 4, (unsigned long long)max / 1000, (unsigned long long)bound / 1000);
	}
	tenants_stop(t, tenants, 120000);
	simgpu_param("save_ns", save_ns);
	simgpu_param("load_ns", load_ns);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
