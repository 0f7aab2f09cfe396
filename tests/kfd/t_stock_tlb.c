// SPDX-License-Identifier: Apache-2.0
/*
 * A VMID goes from one process to another that has other memory at the same address. The
 * TLB must not use the first one's entries. The software GPU's TLB would keep them; that
 * silicon does, too, is an assumption.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define ROUNDS 6

/*
 * Runs a kernel that adds to a word. The address is the same in each child, as children
 * of one parent have the same free addresses. Exit status 0: the result is right.
 */
static int child(uint32_t round)
{
	struct k_hash_args args = { .iters = round + 1, .seed = round };
	struct kfd_launch l = {
		.grid = { 64 }, .workgroup = { 64 }, .args = &args, .args_bytes = sizeof(args)
	};
	struct kfd_code code;
	struct kfd_queue q;
	struct kfd_mem out;
	struct kfd k;
	uint32_t i;

	if (kfd_setup(&k) || kfd_code_load(&k, 0, KFD_MEM_VRAM, &code) ||
	    kfd_mem_alloc(&k, 0, 4096, KFD_MEM_GTT, &out) || kfd_queue_create(&k, 0, 64, &q))
		return 2;
	l.signal = kfd_signal_create(&k, 1, false);
	l.kernel = kfd_code_find(&code, "k_hash");
	args.out = out.va;
	if (kfd_launch(&q, &l) || kfd_signal_wait(&k, l.signal, 1, 5000))
		return 3;
	for (i = 0; i < 64; i++)
		if (((uint32_t *)out.va)[i] != kfd_ref_hash(i, round + 1, round))
			return 4;
	return 0;
}

int main(void)
{
	uint64_t stale = simgpu_counter(0, "check_stale_tlb");
	uint32_t round;

	for (round = 0; round < ROUNDS; round++) {
		int status = -1;
		pid_t pid = fork();

		if (!pid)
			_exit(child(round));
		waitpid(pid, &status, 0);
		ok(WIFEXITED(status) && !WEXITSTATUS(status),
		   "process %u has its own memory (status %#x)", round, status);
		/* The KFD frees the VMID in a work item. */
		sleep_ns(200000000);
	}
	ok(simgpu_counter(0, "check_stale_tlb") == stale, "no stale translation was used");
	return done();
}
