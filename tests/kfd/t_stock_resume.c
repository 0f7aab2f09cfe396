// SPDX-License-Identifier: Apache-2.0
/*
 * The driver programs a VMID's registers again after a suspend, in which the GPU loses
 * them: the trap handler, which saves waves, the LDS aperture, and the PASID.
 */
#include <errno.h>

#include "kfd.h"

int main(void)
{
	struct kfd_signal *sig, *irq;
	struct kfd_launch nop = { .grid = { 64 }, .workgroup = { 64 } };
	struct k_spin_args args;
	struct kfd_launch spin = {
		.grid = { 64 }, .workgroup = { 64 }, .args = &args, .args_bytes = sizeof(args)
	};
	struct kfd_code code;
	struct kfd_queue q;
	struct kfd_mem m;
	struct kfd k;
	uint32_t *w, before;

	must(kfd_setup(&k), "set up");
	must(kfd_code_load(&k, 0, KFD_MEM_VRAM, &code), "code");
	must(kfd_mem_alloc(&k, 0, 4096, KFD_MEM_GTT, &m), "memory");
	must(kfd_queue_create(&k, 0, 64, &q), "queue");
	w = m.va;
	args = (struct k_spin_args){ w, w + 64, w + 128 };
	spin.signal = sig = kfd_signal_create(&k, 1, false);
	nop.signal = irq = kfd_signal_create(&k, 1, true);
	spin.kernel = kfd_code_find(&code, "k_spin");
	nop.kernel = kfd_code_find(&code, "k_nop");

	must(kfd_launch(&q, &spin), "launch");
	must(wait_word(&w[64], 1, 20000), "the wave runs");
	is_err(machine_suspend(2), 0, "suspend and resume in mid-wave");
	before = w[64];
	is_err(wait_word(&w[64], before + 1, 20000), 0, "the wave goes on");
	is_err(kfd_queue_update(&q, 0), 0, "take it off: needs the trap handler");
	before = w[64];
	is_err(kfd_queue_update(&q, 100), 0, "and on");
	is_err(wait_word(&w[64], before + 1, 20000), 0, "the wave goes on again");
	w[128] = 1;
	is_err(kfd_signal_wait(&k, sig, 1, 20000), 0, "it ends");
	ok(w[0] == 1 && w[63] == 1, "and ran once");
	must(kfd_launch(&q, &nop), "launch");
	is_err(kfd_signal_wait(&k, irq, 1, 5000), 0,
	       "an interrupt finds its process: needs the PASID");
	is_err(kfd_queue_destroy(&q), 0, "destroy");
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
