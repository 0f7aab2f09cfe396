// SPDX-License-Identifier: Apache-2.0
/*
 * UPDATE_QUEUE with percentage 0 suspends the owner's queue in mid-wave, and with 100
 * resumes it. The stock driver offers only this without a firmware scheduler.
 */
#include <errno.h>

#include "kfd.h"

#define CYCLES 300
#define TIMEOUT_MS 30000

static struct kfd k;

/* Keep the ring half full. Returns false if the queue makes no progress. */
static void feed(struct kfd_work *w, struct kfd_queue *q, struct kfd_signal *sig, uint32_t *sent)
{
	while (kfd_queue_room(q) > q->packets / 2) {
		must(kfd_work_launch(w, q, rng() % WORK_VARIANTS, sig), "launch");
		++*sent;
	}
}

static void check_cycles(void)
{
	unsigned int n, cycles = scaled(CYCLES), bad = 0;
	struct kfd_signal *sig = kfd_signal_create(&k, 1 << 20, false);
	struct kfd_queue q;
	struct kfd_work w;
	uint32_t sent = 0;

	must(kfd_work_create(&k, 0, 256, 3, &w), "work");
	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	for (n = 0; n < cycles; n++) {
		feed(&w, &q, sig, &sent);
		sleep_ns(rng() % 1000000);
		bad += kfd_queue_update(&q, 0) != 0;
		feed(&w, &q, sig, &sent);
		sleep_ns(rng() % 100000);
		bad += kfd_queue_update(&q, 100) != 0;
	}
	ok(!bad, "%u cycles of percentage 0 and 100 (%u failed)", cycles, bad);
	is_err(kfd_signal_wait(&k, sig, (1 << 20) - (int64_t)sent + 1, TIMEOUT_MS), 0,
	       "all %u packets ended", sent);
	ok(!kfd_work_wrong(&w), "each ran once, exactly (%u wrong)", kfd_work_wrong(&w));
	is_err(kfd_queue_destroy(&q), 0, "destroy");
}

/* Nothing runs while the percentage is 0. */
static void check_stopped(void)
{
	struct kfd_signal *sig = kfd_signal_create(&k, 1, false);
	struct kfd_code code;
	struct kfd_queue q;
	struct kfd_mem m;
	uint32_t *w, before;
	struct k_spin_args args;
	struct kfd_launch l = {
		.grid = { 64 },
		.workgroup = { 64 },
		.signal = sig,
		.args = &args,
		.args_bytes = sizeof(args),
	};

	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &code), "code");
	must(kfd_mem_alloc(&k, 0, 4096, KFD_MEM_GTT, &m), "memory");
	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	w = m.va;
	args = (struct k_spin_args){ w, w + 64, w + 128 };
	l.kernel = kfd_code_find(&code, "k_spin");
	must(kfd_launch(&q, &l), "launch");
	is_err(wait_word(&w[64], 1, TIMEOUT_MS), 0, "the wave spins");
	is_err(kfd_queue_update(&q, 0), 0, "percentage 0");
	before = w[64];
	sleep_ns(20000000);
	ok(w[64] == before, "it stands still");
	is_err(kfd_queue_update(&q, 100), 0, "percentage 100");
	is_err(wait_word(&w[64], before + 1, TIMEOUT_MS), 0, "it goes on");
	w[128] = 1;
	is_err(kfd_signal_wait(&k, sig, 1, TIMEOUT_MS), 0, "it ends");
	ok(w[0] == 1 && w[63] == 1, "and ran once");
	is_err(kfd_queue_destroy(&q), 0, "destroy");
}

int main(void)
{
	rng_seed(1);
	must(kfd_setup(&k), "set up");
	check_stopped();
	check_cycles();
	return done();
}
