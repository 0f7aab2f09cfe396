// SPDX-License-Identifier: Apache-2.0
/*
 * Counts in the arguments of calls. The stock driver allocated memory for any count, and
 * the page allocator warned about absurd ones. The rig fails a test if the kernel warns.
 */
#include <errno.h>

#include "kfd.h"

#define MANY (UINT32_MAX / 4)

static struct kfd k;

static int wait_events(uint32_t num)
{
	static struct kfd_event_data none[1];
	struct kfd_ioctl_wait_events_args args = {
		.events_ptr = (uintptr_t)none,
		.num_events = num,
	};

	return kfd_call(&k, AMDKFD_IOC_WAIT_EVENTS, &args);
}

static int with_devices(unsigned long request, const struct kfd_mem *mem, uint32_t num)
{
	/* The driver always allowed a list that repeats one device. */
	uint32_t ids[2] = { mem->gpu_id, mem->gpu_id };
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = mem->handle,
		.device_ids_array_ptr = (uintptr_t)ids,
		.n_devices = num,
	};

	return kfd_call(&k, request, &args);
}

int main(void)
{
	struct kfd_mem mem;

	must(kfd_setup(&k), "set up");
	must(kfd_mem_alloc(&k, 0, 4096, KFD_MEM_GTT, &mem), "memory");
	/* This comes first, because the page allocator warns only once. */
	is_err(wait_events(MANY), -ENOMEM, "wait for %u events", MANY);
	is_err(with_devices(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &mem, MANY), -EINVAL,
	       "map for %u devices", MANY);
	is_err(with_devices(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &mem, MANY), -EINVAL,
	       "unmap from %u devices", MANY);
	is_err(with_devices(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &mem, 2), 0, "map for one, twice");
	is_err(kfd_mem_free(&k, &mem), 0, "unmap and free");
	return done();
}
