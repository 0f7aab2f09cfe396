// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The KIQ: the driver's ring to the firmware of MEC 1. amdkfd uses it to name its HIQ
 * (kgd_gfx_v9_hiq_mqd_load()), and to take it away. hws.c is the firmware.
 */
#include <linux/slab.h>

#include "driver.h"
#include "amdgpu_ring.h"
#include "soc15d.h"

#define KIQ_DWORDS 64
#define MAP_QUEUES_DWORDS 7

/* One for each XCC. */
int sim_kiq_create(struct amdgpu_device *adev)
{
	unsigned int i;

	for (i = 0; i < to_sim(adev)->xccs; i++) {
		struct amdgpu_ring *ring = &adev->gfx.kiq[i].ring;

		spin_lock_init(&adev->gfx.kiq[i].ring_lock);
		ring->adev = adev;
		ring->xcc_id = i;
		ring->ring = kcalloc(KIQ_DWORDS, sizeof(u32), GFP_KERNEL);
		if (!ring->ring)
			return -ENOMEM;
		ring->buf_mask = KIQ_DWORDS - 1;
		ring->ptr_mask = KIQ_DWORDS - 1;
	}
	return 0;
}

void sim_kiq_destroy(struct amdgpu_device *adev)
{
	unsigned int i;

	for (i = 0; i < SIM_MAX_XCCS; i++)
		kfree((void *)adev->gfx.kiq[i].ring.ring);
}

int amdgpu_ring_alloc(struct amdgpu_ring *ring, unsigned int ndw)
{
	if (!ring->ring || ndw > KIQ_DWORDS)
		return -ENODEV;
	ring->count_dw = ndw;
	ring->wptr_old = ring->wptr;
	return 0;
}

static u32 dword(const struct amdgpu_ring *ring, unsigned int n)
{
	return ring->ring[(ring->wptr_old + n) & ring->buf_mask];
}

void amdgpu_ring_commit(struct amdgpu_ring *ring)
{
	struct sim_dev *sd = to_sim_dev(ring->adev);

	ring->count_dw = 0;
	/* The other XCCs' HIQs are copies of the first one's, which leads. */
	if (ring->xcc_id)
		return;
	if (dword(ring, 0) == PACKET3(PACKET3_MAP_QUEUES, MAP_QUEUES_DWORDS - 2))
		sim_hws_map_hiq(&sd->gpu, (u64)dword(ring, 4) << 32 | dword(ring, 3));
	else
		dev_err(sd->gpu.dev, "the KIQ does not know packet %#x\n", dword(ring, 0));
}

int amdgpu_amdkfd_unmap_hiq(struct amdgpu_device *adev, u32 doorbell_off, u32 inst)
{
	if (!inst)
		sim_hws_unmap_hiq(to_sim(adev));
	return 0;
}
