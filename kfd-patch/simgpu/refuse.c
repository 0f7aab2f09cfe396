// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Features that the software GPU lacks, and its answers to amdkfd.
 *
 * These are other families than gfx9, partitions, SR-IOV, the debugger's calls of MES, RAS,
 * XGMI, GWS, DMA buffers, CRIU. Everything here refuses or answers "none", like the real
 * driver on a card without the feature.
 */
#include <linux/slab.h>

#include "driver.h"
#include "amdgpu_mes.h"
#include "amdgpu_ras.h"
#include "amdgpu_ring.h"
#include "amdgpu_dpm.h"

/* Never reached: kgd2kfd_probe() chooses by GC version. */
const struct kfd2kgd_calls gfx_v8_kfd2kgd;
const struct kfd2kgd_calls gfx_v10_kfd2kgd;
const struct kfd2kgd_calls gfx_v10_3_kfd2kgd;
const struct kfd2kgd_calls gfx_v11_kfd2kgd;
const struct kfd2kgd_calls gfx_v12_kfd2kgd;

/* ---- Firmware schedulers: HWS is in hws.c, MES in mes.c ------------------- */

int amdgpu_amdkfd_submit_ib(struct amdgpu_device *adev, enum kgd_engine_type engine, uint32_t vmid,
			    uint64_t gpu_addr, uint32_t *ib_cmd, uint32_t ib_len)
{
	return -EOPNOTSUPP;
}

int amdgpu_mes_suspend(struct amdgpu_device *adev)
{
	return -EOPNOTSUPP;
}

int amdgpu_mes_resume(struct amdgpu_device *adev)
{
	return -EOPNOTSUPP;
}

int amdgpu_mes_set_shader_debugger(struct amdgpu_device *adev, uint64_t process_context_addr,
				   uint32_t spi_gdbg_per_vmid_cntl, const uint32_t *tcp_watch_cntl,
				   uint32_t flags, bool trap_en)
{
	return -EOPNOTSUPP;
}

int amdgpu_mes_flush_shader_debugger(struct amdgpu_device *adev, uint64_t process_context_addr)
{
	return -EOPNOTSUPP;
}

/* ---- Partitions, SR-IOV ------------------------------------------------- */

int amdgpu_xcp_get_inst_details(struct amdgpu_xcp *xcp, enum AMDGPU_XCP_IP_BLOCK ip,
				uint32_t *inst_mask)
{
	return -EINVAL;
}

int amdgpu_xcp_query_partition_mode(struct amdgpu_xcp_mgr *xcp_mgr, u32 flags)
{
	return AMDGPU_UNKNOWN_COMPUTE_PARTITION_MODE;
}

u32 amdgpu_sriov_rreg(struct amdgpu_device *adev, u32 offset, u32 acc_flags, u32 hwip, u32 xcc_id)
{
	return 0;
}

void amdgpu_sriov_wreg(struct amdgpu_device *adev, u32 offset, u32 value, u32 acc_flags, u32 hwip,
		       u32 xcc_id)
{
}

bool amdgpu_sriov_xnack_support(struct amdgpu_device *adev)
{
	return false;
}

/* ---- The debugger of MI100 ------------------------------------------------ */

/* amdgpu_amdkfd_arcturus.c stops the GPU's other users around its registers: there are none. */
void amdgpu_amdkfd_suspend(struct amdgpu_device *adev, bool run_pm)
{
}

int amdgpu_amdkfd_resume(struct amdgpu_device *adev, bool run_pm)
{
	return 0;
}

bool amdgpu_ring_sched_ready(struct amdgpu_ring *ring)
{
	return false;
}

int amdgpu_fence_wait_empty(struct amdgpu_ring *ring)
{
	return 0;
}

int amdgpu_device_ip_wait_for_idle(struct amdgpu_device *adev, enum amd_ip_block_type block_type)
{
	return 0;
}

void drm_sched_stop(struct drm_gpu_scheduler *sched, struct drm_sched_job *bad)
{
}

void drm_sched_start(struct drm_gpu_scheduler *sched)
{
}

/* ---- RAS ---------------------------------------------------------------- */

u64 amdgpu_ras_acquire_event_id(struct amdgpu_device *adev, enum ras_event_type type)
{
	return RAS_EVENT_INVALID_ID;
}

int amdgpu_ras_mark_ras_event_caller(struct amdgpu_device *adev, enum ras_event_type type,
				     const void *caller)
{
	return 0;
}

void amdgpu_ras_event_log_print(struct amdgpu_device *adev, u64 event_id, const char *fmt, ...)
{
}

bool amdgpu_amdkfd_is_fed(struct amdgpu_device *adev)
{
	return false;
}

void amdgpu_amdkfd_ras_poison_consumption_handler(struct amdgpu_device *adev,
						  enum amdgpu_ras_block block, uint32_t reset)
{
}

void amdgpu_amdkfd_ras_pasid_poison_consumption_handler(struct amdgpu_device *adev,
							enum amdgpu_ras_block block, uint16_t pasid,
							pasid_notify pasid_fn, void *data,
							uint32_t reset)
{
}

/* ---- XGMI, GWS, DMA buffers, CRIU ------------------------------------------- */

uint8_t amdgpu_amdkfd_get_xgmi_hops_count(struct amdgpu_device *dst, struct amdgpu_device *src)
{
	return 0;
}

int amdgpu_amdkfd_get_xgmi_bandwidth_mbytes(struct amdgpu_device *dst, struct amdgpu_device *src,
					    bool is_min)
{
	return 0;
}

/* gds.gws_size is 0, and with HWS some models ask for all of it. */
int amdgpu_amdkfd_alloc_gws(struct amdgpu_device *adev, size_t size, void **mem_obj)
{
	*mem_obj = NULL;
	return size ? -EOPNOTSUPP : 0;
}

void amdgpu_amdkfd_free_gws(struct amdgpu_device *adev, void *mem_obj)
{
}

int amdgpu_amdkfd_add_gws_to_process(void *info, void *gws, struct kgd_mem **mem)
{
	return -EOPNOTSUPP;
}

int amdgpu_amdkfd_remove_gws_from_process(void *info, void *mem)
{
	return -EOPNOTSUPP;
}

int amdgpu_amdkfd_get_dmabuf_info(struct amdgpu_device *adev, int dma_buf_fd,
				  struct amdgpu_device **dmabuf_adev, uint64_t *bo_size,
				  void **metadata_buffer, size_t buffer_size,
				  uint32_t *metadata_size, uint32_t *flags, int8_t *xcp_id)
{
	return -EINVAL;
}

int amdgpu_amdkfd_gpuvm_import_dmabuf_fd(struct amdgpu_device *adev, int fd, uint64_t va,
					 void *drm_priv, struct kgd_mem **mem, uint64_t *size,
					 uint64_t *mmap_offset)
{
	return -EINVAL;
}

int amdgpu_amdkfd_gpuvm_export_dmabuf(struct kgd_mem *mem, struct dma_buf **dmabuf)
{
	return -EINVAL;
}

void amdgpu_amdkfd_block_mmu_notifications(void *p)
{
}

int amdgpu_amdkfd_criu_resume(void *p)
{
	return -EOPNOTSUPP;
}

int kfd_debugfs_kfd_mem_limits(struct seq_file *m, void *data)
{
	seq_puts(m, "no limits but the size of video memory\n");
	return 0;
}

/* ---- DRM and TTM, which Debian's cloud kernel does not have -------------- */

void __drm_err(const char *format, ...)
{
	struct va_format vaf;
	va_list args;

	va_start(args, format);
	vaf.fmt = format;
	vaf.va = &args;
	pr_err("drm: %pV", &vaf);
	va_end(args);
}

/* Called at each unreserve; there is no LRU list, eviction is on demand. */
void ttm_bo_move_to_lru_tail(struct ttm_buffer_object *bo)
{
}
