// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The amdgpu_device of the software GPU: a Vega 10 (gfx900) as seen by amdkfd and
 * amdgpu_amdkfd_gfx_v9.c, with fewer compute units and queues.
 *
 * Figures are those of the driver for Vega 10 (gfx_v9_0.c, gmc_v9_0.c, vega10_reg_init.c,
 * vega10_ih.c) unless a parameter of the module changes them. Clocks, firmware versions and
 * bandwidths are invented.
 */
#include "driver.h"
#include "soc15.h"
#include "soc15_common.h"
#include "gc/gc_9_0_offset.h"
#include "gc/gc_9_0_sh_mask.h"
#include "amdgpu_ih.h"

#define SIM_FW_VERSION 0x180 /* ROCr wants more than 0x100; no GWS below 0x1b3 */

/* ---- Registers ---------------------------------------------------------- */

uint32_t amdgpu_device_rreg(struct amdgpu_device *adev, uint32_t reg, uint32_t acc_flags)
{
	return sim_reg_read(to_sim(adev), reg);
}

void amdgpu_device_wreg(struct amdgpu_device *adev, uint32_t reg, uint32_t v, uint32_t acc_flags)
{
	sim_reg_write(to_sim(adev), reg, v);
}

void amdgpu_device_xcc_wreg(struct amdgpu_device *adev, uint32_t reg, uint32_t v,
			    uint32_t acc_flags, uint32_t xcc_id)
{
	sim_reg_write(to_sim(adev), reg, v);
}

/* As soc15_grbm_select() of soc15.c. */
void soc15_grbm_select(struct amdgpu_device *adev, u32 me, u32 pipe, u32 queue, u32 vmid,
		       int xcc_id)
{
	u32 v = 0;

	v = REG_SET_FIELD(v, GRBM_GFX_CNTL, PIPEID, pipe);
	v = REG_SET_FIELD(v, GRBM_GFX_CNTL, MEID, me);
	v = REG_SET_FIELD(v, GRBM_GFX_CNTL, VMID, vmid);
	v = REG_SET_FIELD(v, GRBM_GFX_CNTL, QUEUEID, queue);
	WREG32_SOC15(GC, xcc_id, mmGRBM_GFX_CNTL, v);
}

/* As gfx_v9_0_select_se_sh(). */
static void select_se_sh(struct amdgpu_device *adev, u32 se, u32 sh, u32 instance, int xcc_id)
{
	u32 v;

	if (instance == ~0U)
		v = REG_SET_FIELD(0, GRBM_GFX_INDEX, INSTANCE_BROADCAST_WRITES, 1);
	else
		v = REG_SET_FIELD(0, GRBM_GFX_INDEX, INSTANCE_INDEX, instance);
	if (se == ~0U)
		v = REG_SET_FIELD(v, GRBM_GFX_INDEX, SE_BROADCAST_WRITES, 1);
	else
		v = REG_SET_FIELD(v, GRBM_GFX_INDEX, SE_INDEX, se);
	if (sh == ~0U)
		v = REG_SET_FIELD(v, GRBM_GFX_INDEX, SH_BROADCAST_WRITES, 1);
	else
		v = REG_SET_FIELD(v, GRBM_GFX_INDEX, SH_INDEX, sh);
	WREG32_SOC15(GC, xcc_id, mmGRBM_GFX_INDEX, v);
}

static uint64_t get_gpu_clock_counter(struct amdgpu_device *adev)
{
	return sim_gpu_clock(to_sim(adev));
}

static const struct amdgpu_gfx_funcs gfx_funcs = {
	.get_gpu_clock_counter = get_gpu_clock_counter,
	.select_se_sh = select_se_sh,
};

/* As gfxhub_v1_0_setup_vm_pt_regs(): contexts are two dwords apart. */
static void gfxhub_setup_vm_pt_regs(struct amdgpu_device *adev, uint32_t vmid, uint64_t pt_base)
{
	const u32 step =
		mmVM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32 - mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32;

	WREG32_SOC15_OFFSET(GC, 0, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32, step * vmid,
			    lower_32_bits(pt_base));
	WREG32_SOC15_OFFSET(GC, 0, mmVM_CONTEXT0_PAGE_TABLE_BASE_ADDR_HI32, step * vmid,
			    upper_32_bits(pt_base));
}

/*
 * Assumption: the MM hub, which serves SDMA on Vega 10, always has the same values as the GFX
 * hub. The engine reads the latter's registers for both.
 */
static void mmhub_setup_vm_pt_regs(struct amdgpu_device *adev, uint32_t vmid, uint64_t pt_base)
{
}

static const struct amdgpu_gfxhub_funcs gfxhub_funcs = {
	.setup_vm_pt_regs = gfxhub_setup_vm_pt_regs,
};

static const struct amdgpu_mmhub_funcs mmhub_funcs = {
	.setup_vm_pt_regs = mmhub_setup_vm_pt_regs,
};

static enum amdgpu_pkg_type get_pkg_type(struct amdgpu_device *adev)
{
	return AMDGPU_PKG_TYPE_OAM;
}

static const struct amdgpu_smuio_funcs smuio_funcs = {
	.get_pkg_type = get_pkg_type,
};

static enum amdgpu_memory_partition query_mem_partition_mode(struct amdgpu_device *adev)
{
	return AMDGPU_NPS1_PARTITION_MODE;
}

static const struct amdgpu_gmc_funcs gmc_funcs = {
	.query_mem_partition_mode = query_mem_partition_mode,
};

/* ---- The device's properties --------------------------------------------- */

/*
 * The KFD may use the queues with a clear bit in mec_bitmap (see amdgpu_amdkfd_device_init()).
 * They are distributed over the pipes like queues in allocate_hqd().
 */
static void fill_queues(struct amdgpu_device *adev, unsigned int hqds)
{
	unsigned int i;

	adev->gfx.mec.num_mec = 2;
	adev->gfx.mec.num_pipe_per_mec = 4;
	adev->gfx.mec.num_queue_per_pipe = 8;
	bitmap_fill(adev->gfx.mec_bitmap[0].queue_bitmap, AMDGPU_MAX_QUEUES);
	/* The lowest queues of each pipe are the driver's own rings. */
	for (i = 0; i < hqds; i++)
		__clear_bit((i % 4) * 8 + 7 - i / 4, adev->gfx.mec_bitmap[0].queue_bitmap);
}

static void fill_shaders(struct amdgpu_device *adev, unsigned int cus)
{
	struct amdgpu_gfx_config *c = &adev->gfx.config;
	struct amdgpu_cu_info *cu = &adev->gfx.cu_info;
	unsigned int se, xcc;

	c->max_shader_engines = cus >= 4 ? 4 : 1;
	c->max_sh_per_se = 1;
	c->max_cu_per_sh = cus / c->max_shader_engines;
	cu->number = c->max_shader_engines * c->max_cu_per_sh * to_sim(adev)->xccs;
	cu->simd_per_cu = 4;
	cu->max_waves_per_simd = 10;
	cu->wave_front_size = 64;
	cu->max_scratch_slots_per_cu = 32;
	cu->lds_size = 64;
	for (xcc = 0; xcc < to_sim(adev)->xccs; xcc++)
		for (se = 0; se < c->max_shader_engines; se++)
			cu->bitmap[xcc][se][0] = GENMASK(c->max_cu_per_sh - 1, 0);
}

static void fill_memory(struct amdgpu_device *adev, u64 vram_bytes)
{
	struct sim_gpu *sim = to_sim(adev);

	adev->gmc.real_vram_size = vram_bytes;
	adev->gmc.visible_vram_size = vram_bytes;
	adev->gmc.mc_vram_size = vram_bytes;
	adev->gmc.vram_start = SIM_VRAM_START;
	adev->gmc.gart_start = SIM_GART_START;
	adev->gmc.gart_size = SIM_GART_BYTES;
	adev->gmc.vram_width = 2048;
	adev->gmc.noretry = true;
	adev->vm_manager.max_pfn = 1ULL << (48 - PAGE_SHIFT);
	adev->vm_manager.num_level = 3;
	adev->vm_manager.block_size = 9;
	adev->vm_manager.first_kfd_vmid = sim->first_vmid;
	__set_bit(AMDGPU_GFXHUB(0), adev->vmhubs_mask);
	__set_bit(AMDGPU_MMHUB0(0), adev->vmhubs_mask);
	xa_init_flags(&adev->vm_manager.pasids, XA_FLAGS_LOCK_IRQ);
	spin_lock_init(&adev->mman.bdev.lru_lock);
	adev->doorbell.base = page_to_phys(sim->mem->doorbell_pages);
	adev->doorbell.size = sim->doorbell_bytes;
	adev->doorbell.num_kernel_doorbells = PAGE_SIZE / sizeof(u32);
}

static const struct model {
	const char *name;
	enum amd_asic_type asic;
	u32 gc, sdma;
	unsigned int xccs;
} models[] = {
	{ "vega10", CHIP_VEGA10, IP_VERSION(9, 0, 1), IP_VERSION(4, 0, 0), 1 },
	{ "mi100", CHIP_ARCTURUS, IP_VERSION(9, 4, 1), IP_VERSION(4, 2, 2), 1 },
	{ "mi210", CHIP_ALDEBARAN, IP_VERSION(9, 4, 2), IP_VERSION(4, 4, 0), 1 },
	{ "mi300x", CHIP_IP_DISCOVERY, IP_VERSION(9, 4, 3), IP_VERSION(4, 4, 2), 6 },
};

/* Return: index of the model, or -EINVAL. */
int sim_device_model(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (!strcmp(name, models[i].name))
			return i;
	return -EINVAL;
}

static void fill_model(struct sim_dev *sd, unsigned int model)
{
	const struct model *m = &models[model];

	sd->adev.asic_type = m->asic;
	sd->adev.ip_versions[GC_HWIP][0] = m->gc;
	sd->adev.ip_versions[SDMA0_HWIP][0] = m->sdma;
	sd->gpu.xccs = m->xccs;
}

/*
 * Real cards with several XCCs tell their addresses by IP discovery; these are invented. The
 * registers within an XCC have the offsets of GC 9.0 (compared in the headers of both), those of
 * ATHUB 1.8 lie ATHUB_1_8_SHIFT further.
 */
#define ATHUB_1_8_SHIFT 0x33

static void fill_xccs(struct sim_dev *sd)
{
	struct amdgpu_device *adev = &sd->adev;
	unsigned int xcc, seg;

	if (sd->gpu.xccs == 1)
		return;
	for (xcc = 0; xcc < sd->gpu.xccs; xcc++) {
		for (seg = 0; seg < SIM_SEGMENTS; seg++)
			sd->gc_base[xcc][seg] =
				adev->reg_offset[GC_HWIP][0][seg] + xcc * SIM_XCC_REGS;
	}
	for (xcc = 0; xcc < sd->gpu.xccs; xcc++)
		adev->reg_offset[GC_HWIP][xcc] = sd->gc_base[xcc];
	sd->gpu.athub_shift = ATHUB_1_8_SHIFT;
}

void sim_device_fill(struct sim_dev *sd, unsigned int model, unsigned int hqds, unsigned int vmids,
		     unsigned int cus, unsigned int sdma, u64 vram_bytes)
{
	struct amdgpu_device *adev = &sd->adev;
	unsigned int i;

	fill_model(sd, model);
	adev->family = AMDGPU_FAMILY_AI;
	adev->external_rev_id = 1;
	adev->ip_versions[MMHUB_HWIP][0] = IP_VERSION(9, 0, 0);
	adev->ip_versions[OSSSYS_HWIP][0] = IP_VERSION(4, 0, 0);
	vega10_reg_base_init(adev);
	fill_xccs(sd);
	vega10_doorbell_index_init(adev);
	mutex_init(&adev->srbm_mutex);
	mutex_init(&adev->grbm_idx_mutex);

	sd->gpu.hqds = hqds;
	sd->gpu.vmids = vmids;
	sd->gpu.first_vmid = AMDGPU_NUM_VMID - vmids;
	sd->gpu.cus = cus;
	fill_queues(adev, hqds);
	fill_shaders(adev, cus);
	fill_memory(adev, vram_bytes);
	adev->gfx.xcc_mask = GENMASK(sd->gpu.xccs - 1, 0);
	adev->gfx.num_xcc_per_xcp = sd->gpu.xccs;
	adev->gfx.funcs = &gfx_funcs;
	adev->gfxhub.funcs = &gfxhub_funcs;
	adev->smuio.funcs = &smuio_funcs;
	adev->gmc.gmc_funcs = &gmc_funcs;
	adev->mmhub.funcs = &mmhub_funcs;
	adev->sdma.num_instances = sdma;
	for (i = 0; i < sdma; i++)
		adev->sdma.instance[i].fw_version = SIM_FW_VERSION;
	adev->gfx.mec_fw_version = SIM_FW_VERSION;
	adev->gfx.mec2_fw_version = SIM_FW_VERSION;
	adev->gfx.pfp_fw_version = SIM_FW_VERSION;
	adev->gfx.me_fw_version = SIM_FW_VERSION;
	adev->gfx.ce_fw_version = SIM_FW_VERSION;
	adev->gfx.rlc_fw_version = SIM_FW_VERSION;
	adev->have_atomics_support = true;
	/* /sys/class/kfd/.../unique_id: distinguishes the GPUs */
	adev->unique_id = 0x5349474d00000001ULL + sd->gpu.index;
}

/* ---- Queries of amdkfd --------------------------------------------------- */

uint32_t amdgpu_amdkfd_get_fw_version(struct amdgpu_device *adev, enum kgd_engine_type type)
{
	return type < KGD_ENGINE_MAX ? SIM_FW_VERSION : 0;
}

void amdgpu_amdkfd_get_local_mem_info(struct amdgpu_device *adev, struct kfd_local_mem_info *info,
				      struct amdgpu_xcp *xcp)
{
	memset(info, 0, sizeof(*info));
	info->local_mem_size_public = adev->gmc.real_vram_size;
	info->vram_width = adev->gmc.vram_width;
	info->mem_clk_max = 945;
}

u64 amdgpu_amdkfd_xcp_memory_size(struct amdgpu_device *adev, int xcp_id)
{
	return adev->gmc.real_vram_size;
}

uint64_t amdgpu_amdkfd_get_gpu_clock_counter(struct amdgpu_device *adev)
{
	return adev->gfx.funcs->get_gpu_clock_counter(adev);
}

uint32_t amdgpu_amdkfd_get_max_engine_clock_in_mhz(struct amdgpu_device *adev)
{
	return 1500;
}

int amdgpu_amdkfd_get_pcie_bandwidth_mbytes(struct amdgpu_device *adev, bool is_min)
{
	return is_min ? 312 : 16000; /* 1 lane of gen 1, 16 of gen 3 */
}

int amdgpu_amdkfd_get_tile_config(struct amdgpu_device *adev, struct tile_config *config)
{
	config->gb_addr_config = adev->gfx.config.gb_addr_config;
	config->tile_config_ptr = adev->gfx.config.tile_mode_array;
	config->num_tile_configs = ARRAY_SIZE(adev->gfx.config.tile_mode_array);
	config->macro_tile_config_ptr = adev->gfx.config.macrotile_mode_array;
	config->num_macro_tile_configs = ARRAY_SIZE(adev->gfx.config.macrotile_mode_array);
	return 0;
}

bool amdgpu_amdkfd_have_atomics_support(struct amdgpu_device *adev)
{
	return adev->have_atomics_support;
}

bool amdgpu_amdkfd_is_kfd_vmid(struct amdgpu_device *adev, u32 vmid)
{
	return adev->kfd.dev && vmid >= adev->vm_manager.first_kfd_vmid;
}

void amdgpu_queue_mask_bit_to_mec_queue(struct amdgpu_device *adev, int bit, int *mec, int *pipe,
					int *queue)
{
	int per_pipe = adev->gfx.mec.num_queue_per_pipe;
	int per_mec = adev->gfx.mec.num_pipe_per_mec;

	*queue = bit % per_pipe;
	*pipe = bit / per_pipe % per_mec;
	*mec = bit / per_pipe / per_mec;
}

int amdgpu_queue_mask_bit_to_set_resource_bit(struct amdgpu_device *adev, int queue_bit)
{
	int mec, pipe, queue;

	amdgpu_queue_mask_bit_to_mec_queue(adev, queue_bit, &mec, &pipe, &queue);
	return mec * 4 * 8 + pipe * 8 + queue;
}

/* No HDP: CPU and GPU see the same memory. */
void amdgpu_device_flush_hdp(struct amdgpu_device *adev, struct amdgpu_ring *ring)
{
}

void amdgpu_amdkfd_debug_mem_fence(struct amdgpu_device *adev)
{
}

/* No power states and no RLC that needs safe mode. */
void amdgpu_amdkfd_set_compute_idle(struct amdgpu_device *adev, bool idle)
{
}

void amdgpu_gfx_off_ctrl(struct amdgpu_device *adev, bool enable)
{
}

void amdgpu_gfx_rlc_enter_safe_mode(struct amdgpu_device *adev, int xcc_id)
{
}

void amdgpu_gfx_rlc_exit_safe_mode(struct amdgpu_device *adev, int xcc_id)
{
}

uint64_t amdgpu_dpm_get_thermal_throttling_counter(struct amdgpu_device *adev)
{
	return 0;
}

static DEFINE_IDA(pasid_ida);

int amdgpu_pasid_alloc(unsigned int bits)
{
	if (!bits)
		return -EINVAL;
	return ida_alloc_range(&pasid_ida, 1, (1U << bits) - 1, GFP_KERNEL);
}

void amdgpu_pasid_free(u32 pasid)
{
	if (pasid)
		ida_free(&pasid_ida, pasid);
}

/* There is no task to name: the engine logs faults. */
struct amdgpu_task_info *amdgpu_vm_get_task_info_pasid(struct amdgpu_device *adev, u32 pasid)
{
	return NULL;
}

void amdgpu_vm_put_task_info(struct amdgpu_task_info *task_info)
{
}

int amdgpu_amdkfd_gpuvm_get_vm_fault_info(struct amdgpu_device *adev,
					  struct kfd_vm_fault_info *info)
{
	return 0;
}
