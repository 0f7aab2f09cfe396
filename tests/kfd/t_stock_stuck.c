// SPDX-License-Identifier: Apache-2.0
/*
 * A queue that does not answer is destroyed. The stock driver freed its slot before it
 * asked the queue to leave, and loaded the next queue on top of it.
 */
#include <errno.h>

#include "kfd.h"

#define SLOTS 4

static struct kfd k;

static void lose_queue(void)
{
	struct kfd_ioctl_destroy_queue_args destroy = { 0 };
	struct kfd_queue q;

	/* Else the series resets it. */
	must(simgpu_write_u64(0, "engine/faults/no_reset", 3), "no_reset");
	kfd_lose_queue(&k, &q);
	destroy.queue_id = q.id;
	is_err(kfd_call(&k, AMDKFD_IOC_DESTROY_QUEUE, &destroy), -ETIME,
	       "a queue that does not answer is destroyed");
}

int main(void)
{
	struct kfd_signal *sig;
	struct kfd_queue q[SLOTS];
	struct kfd_work w;
	unsigned int i;

	must(kfd_setup(&k), "set up");
	must(kfd_work_create(&k, 0, 256, 1, &w), "work");
	lose_queue();
	sig = kfd_signal_create(&k, SLOTS, false);
	/* One more than the free slots: the last would need the stuck queue's slot. */
	for (i = 0; i < SLOTS && !kfd_queue_create(&k, 0, 64, &q[i]); i++)
		must(kfd_work_launch(&w, &q[i], i, sig), "launch");
	ok(i >= SLOTS - 1, "%u queues are created", i);
	is_err(kfd_signal_wait(&k, sig, SLOTS - i + 1, 1000), 0, "they run");
	ok(!kfd_work_wrong(&w), "exactly");
	ok(!simgpu_checks(), "the GPU saw no queue loaded on top of another");
	/* The driver would reset the GPU in four seconds, during the next test: reset it now. */
	must(simgpu_write_u64(0, "reset", 1), "reset");
	return done();
}
