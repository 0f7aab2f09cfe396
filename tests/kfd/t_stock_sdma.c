// SPDX-License-Identifier: Apache-2.0
/*
 * An SDMA queue for a certain engine. Without a firmware scheduler, the stock driver
 * treated it as a compute queue and gave it the compute slot at pipe 0, queue 0, even if
 * that was in use. It could not be destroyed.
 */
#include <errno.h>

#include "kfd.h"

#define RING_BYTES 65536u

static struct kfd k;

static int create_by_engine(uint32_t engine, struct kfd_mem *ring, struct kfd_mem *pointers,
			    uint32_t *id)
{
	struct kfd_ioctl_create_queue_args create = {
		.ring_base_address = (uintptr_t)ring->va,
		.ring_size = RING_BYTES,
		.read_pointer_address = (uintptr_t)pointers->va,
		.write_pointer_address = (uintptr_t)pointers->va + 64,
		.gpu_id = k.gpus[0].gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID,
		.queue_percentage = 100,
		.queue_priority = 7,
		.sdma_engine_id = engine,
	};
	int err = kfd_call(&k, AMDKFD_IOC_CREATE_QUEUE, &create);

	*id = create.queue_id;
	return err;
}

int main(void)
{
	struct kfd_ioctl_destroy_queue_args destroy = { 0 };
	struct kfd_signal *sig;
	struct kfd_mem ring, pointers;
	struct kfd_queue q[4];
	struct kfd_work w;
	uint32_t engine, i;

	must(kfd_setup(&k), "set up");
	must(kfd_mem_alloc(&k, 0, RING_BYTES, KFD_MEM_GTT, &ring), "ring");
	must(kfd_mem_alloc(&k, 0, 4096, KFD_MEM_GTT, &pointers), "pointers");
	must(kfd_work_create(&k, 0, 256, 1, &w), "work");
	for (i = 0; i < 4; i++)
		must(kfd_queue_create(&k, 0, 64, &q[i]), "compute queue");

	for (engine = 0; engine < 2; engine++) {
		is_err(create_by_engine(engine, &ring, &pointers, &destroy.queue_id), 0,
		       "an SDMA queue on engine %u", engine);
		sig = kfd_signal_create(&k, 4, false);
		for (i = 0; i < 4; i++)
			must(kfd_work_launch(&w, &q[i], i, sig), "launch");
		is_err(kfd_signal_wait(&k, sig, 1, 20000), 0, "all compute queues run beside it");
		is_err(kfd_call(&k, AMDKFD_IOC_DESTROY_QUEUE, &destroy), 0, "it is destroyed");
	}
	ok(!kfd_work_wrong(&w), "the work is right");
	for (i = 0; i < 4; i++)
		is_err(kfd_queue_destroy(&q[i]), 0, "destroy compute queue %u", i);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
