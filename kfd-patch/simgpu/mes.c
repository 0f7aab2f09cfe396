// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The driver's half of MES: the two functions that amdkfd calls for each queue. The engine's
 * half is hws_mes.c.
 *
 * A real driver sends packets to the firmware here, whose VMIDs have their apertures from its
 * start (gfx_v11_0_init_compute_vmid()). So have these, with the values of the KFD for gfx9.
 */
#include "driver.h"
#include "amdgpu_mes.h"
#include "gc/gc_9_0_sh_mask.h"
#include "vega10_enum.h"

#define LDS_BASE 1 /* MAKE_LDS_APP_BASE_V9() and its neighbour, bits 48 and up */
#define SCRATCH_BASE 2

/* amdgpu_mes.c */
#define DOORBELL_BYTES 8
#define QUEUES_PER_PROCESS 1024

static int add_hw_queue(struct amdgpu_mes *mes, struct mes_add_queue_input *in)
{
	const struct sim_binding binding = {
		.pasid = in->process_id,
		.pt_base = in->page_table_base_addr,
		.sh_mem_config = SH_MEM_ALIGNMENT_MODE_UNALIGNED
					 << SH_MEM_CONFIG__ALIGNMENT_MODE__SHIFT |
				 SH_MEM_CONFIG__RETRY_DISABLE_MASK,
		.sh_mem_bases = LDS_BASE << SH_MEM_BASES__SHARED_BASE__SHIFT | SCRATCH_BASE,
		.tba = in->tba_addr >> 8,
		.tma = in->tma_addr >> 8,
	};

	return sim_mes_add_queue(to_sim(mes->adev), in->doorbell_offset, in->mqd_addr, &binding);
}

static int remove_hw_queue(struct amdgpu_mes *mes, struct mes_remove_queue_input *in)
{
	return sim_mes_remove_queue(to_sim(mes->adev), in->doorbell_offset);
}

static const struct amdgpu_mes_funcs mes_funcs = {
	.add_hw_queue = add_hw_queue,
	.remove_hw_queue = remove_hw_queue,
};

/* Before the engine starts. */
void sim_mes_fill(struct amdgpu_device *adev)
{
	unsigned int i;

	adev->enable_mes = true;
	adev->mes.adev = adev;
	adev->mes.funcs = &mes_funcs;
	/* From the second version on it reads write pointers by the GART, as on gfx11. */
	adev->mes.sched_version = 2 << AMDGPU_MES_API_VERSION_SHIFT;
	mutex_init(&adev->mes.mutex_hidden);
	to_sim(adev)->mes = true;
	for (i = 0; i < BITS_PER_TYPE(to_sim(adev)->mes_slots); i++)
		if (!test_bit(i, adev->gfx.mec_bitmap[0].queue_bitmap))
			to_sim(adev)->mes_slots |= BIT(i);
}

int amdgpu_mes_doorbell_process_slice(struct amdgpu_device *adev)
{
	return roundup(DOORBELL_BYTES * QUEUES_PER_PROCESS, PAGE_SIZE);
}
