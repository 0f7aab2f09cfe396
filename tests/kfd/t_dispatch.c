// SPDX-License-Identifier: Apache-2.0
/* Packets of all kinds on one queue; all other tests build on these. */
#include <errno.h>
#include <string.h>

#include "kfd.h"

#define TIMEOUT_MS 20000

static struct kfd k;
static struct kfd_code code;

static int run(struct kfd_queue *q, struct kfd_launch *l)
{
	struct kfd_signal *sig = kfd_signal_create(&k, 1, false);
	int err;

	l->signal = sig;
	err = kfd_launch(q, l);
	return err ? err : kfd_signal_wait(&k, sig, 1, TIMEOUT_MS);
}

static void check_hash(struct kfd_queue *q, uint32_t flags, const char *where)
{
	struct kfd_mem out;
	struct k_hash_args args = { .iters = 17, .seed = 99 };
	struct kfd_launch l = {
		.kernel = kfd_code_find(&code, "k_hash"),
		.grid = { 200 },
		.workgroup = { 64 },
		.args = &args,
		.args_bytes = sizeof(args),
	};
	uint32_t i, wrong = 0;

	must(kfd_mem_alloc(&k, 0, 256 * 4, flags, &out), where);
	args.out = out.va;
	is_err(run(q, &l), 0, "k_hash ends, output in %s", where);
	for (i = 0; i < 256; i++)
		wrong += ((uint32_t *)out.va)[i] != (i < 200 ? kfd_ref_hash(i, 17, 99) : 0);
	ok(!wrong, "its 200 results in %s are right, and nothing behind them (%u wrong)", where,
	   wrong);
	is_err(kfd_mem_free(&k, &out), 0, "free %s", where);
}

static void check_grid(struct kfd_queue *q)
{
	struct kfd_mem out;
	struct k_grid_args args = { .width = 24, .height = 12 };
	struct kfd_launch l = {
		.kernel = kfd_code_find(&code, "k_grid"),
		.grid = { 24, 12, 4 },
		.workgroup = { 8, 4, 2 },
		.args = &args,
		.args_bytes = sizeof(args),
	};
	uint32_t x, y, z, wrong = 0;

	must(kfd_mem_alloc(&k, 0, 24 * 12 * 4 * 4, KFD_MEM_GTT, &out), "grid");
	args.out = out.va;
	is_err(run(q, &l), 0, "k_grid ends");
	for (z = 0; z < 4; z++)
		for (y = 0; y < 12; y++)
			for (x = 0; x < 24; x++)
				wrong += ((uint32_t *)out.va)[(z * 12 + y) * 24 + x] !=
					 x + 100 * y + 10000 * z;
	ok(!wrong, "each work-item of a 3-D grid ran once (%u wrong)", wrong);
	kfd_mem_free(&k, &out);
}

static void check_variants(struct kfd_queue *q)
{
	struct kfd_work w;
	uint32_t v;

	must(kfd_work_create(&k, 0, 512, 2, &w), "work");
	for (v = 0; v < WORK_VARIANTS; v++) {
		struct kfd_signal *sig = kfd_signal_create(&k, 1, false);

		must(kfd_work_launch(&w, q, v, sig), "launch");
		is_err(kfd_signal_wait(&k, sig, 1, TIMEOUT_MS), 0, "variant %u ends", v);
		ok(!kfd_work_wrong(&w), "variant %u is right (%u wrong)", v, kfd_work_wrong(&w));
	}
}

/* More packets than the ring's size, one after the other. */
static void check_wrap(struct kfd_queue *q)
{
	struct kfd_work w;
	struct kfd_signal *sig = kfd_signal_create(&k, 200, false);
	uint32_t n;

	must(kfd_work_create(&k, 0, 256, 1, &w), "work");
	for (n = 0; n < 200; n++) {
		uint64_t end = now_ns() + TIMEOUT_MS * 1000000ull;

		while (kfd_work_launch(&w, q, n % WORK_VARIANTS, sig) == -EAGAIN && now_ns() < end)
			sleep_ns(50000);
	}
	is_err(kfd_signal_wait(&k, sig, 1, TIMEOUT_MS), 0, "200 packets in a ring of %u",
	       q->packets);
	ok(!kfd_work_wrong(&w), "each ran once (%u wrong)", kfd_work_wrong(&w));
}

static void check_barriers(struct kfd_queue *q)
{
	struct kfd_signal *dep[2] = {
		kfd_signal_create(&k, 1, false),
		kfd_signal_create(&k, 1, false),
	};
	struct kfd_signal *got = kfd_signal_create(&k, 1, false);

	must(kfd_barrier(q, dep, 2, false, got), "barrier-AND");
	sleep_ns(3000000);
	ok(kfd_signal_value(got) == 1, "barrier-AND waits");
	kfd_signal_set(dep[0], 0);
	sleep_ns(3000000);
	ok(kfd_signal_value(got) == 1, "barrier-AND waits for both");
	kfd_signal_set(dep[1], 0);
	is_err(kfd_signal_wait(&k, got, 1, TIMEOUT_MS), 0, "barrier-AND goes on");

	kfd_signal_set(dep[0], 1);
	kfd_signal_set(dep[1], 1);
	kfd_signal_set(got, 1);
	must(kfd_barrier(q, dep, 2, true, got), "barrier-OR");
	sleep_ns(3000000);
	ok(kfd_signal_value(got) == 1, "barrier-OR waits");
	kfd_signal_set(dep[1], 0);
	is_err(kfd_signal_wait(&k, got, 1, TIMEOUT_MS), 0, "barrier-OR goes on with one");
}

static void check_interrupt(struct kfd_queue *q)
{
	struct kfd_signal *sig = kfd_signal_create(&k, 1, true);
	struct kfd_launch l = {
		.kernel = kfd_code_find(&code, "k_nop"),
		.grid = { 64 },
		.workgroup = { 64 },
		.signal = sig,
	};

	if (!ok(sig, "a signal with an event"))
		return;
	must(kfd_launch(q, &l), "launch");
	is_err(kfd_signal_wait(&k, sig, 1, 2000), 0, "the wait for its interrupt ends");
	ok(sig->start_ts && sig->end_ts >= sig->start_ts, "the signal has the times");
}

int main(void)
{
	struct kfd_queue q;

	is_err(kfd_open(&k), 0, "open /dev/kfd");
	note("KFD %u.%u, %u GPUs, gfx %u, %u CUs, save area %u + %u", k.version.major_version,
	     k.version.minor_version, k.num_gpus, k.gpus[0].gfx_version, k.gpus[0].cus,
	     k.gpus[0].cwsr_bytes, k.gpus[0].debug_bytes);
	must(kfd_acquire(&k, 0), "acquire VM");
	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &code), "load code");
	must(kfd_queue_create(&k, 0, 64, &q), "create queue");
	check_hash(&q, KFD_MEM_GTT, "GTT");
	check_hash(&q, KFD_MEM_VRAM, "VRAM");
	check_hash(&q, KFD_MEM_USERPTR, "user memory");
	check_grid(&q);
	check_variants(&q);
	check_wrap(&q);
	check_barriers(&q);
	check_interrupt(&q);
	is_err(kfd_queue_destroy(&q), 0, "destroy the queue");
	return done();
}
