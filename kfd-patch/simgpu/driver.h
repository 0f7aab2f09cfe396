/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The driver half of the software GPU: shared by its files.
 *
 * Lock order, outermost first; each may be skipped. The KFD calls in here with its own locks
 * held, all of which come earlier.
 *
 *	amdkfd_process_info.lock
 *	kgd_mem.lock
 *	reservation of a VM's root BO (amdgpu_bo_reserve)
 *	sim_bo.move_lock (also inside mmap_lock, in page faults)
 *	sim_mem.alloc_lock
 *	sim_mem.lock
 */
#ifndef DRIVER_H
#define DRIVER_H

#include <uapi/linux/kfd_ioctl.h>
#include "amdgpu.h"
#include "amdgpu_amdkfd.h"
#include "amdgpu_reset.h"
#include "sim.h"

/* MC addresses, as on Vega10: see gmc_v9_0_vram_gtt_location() */
#define SIM_GART_START 0ULL
#define SIM_GART_BYTES (512ULL << 20)
#define SIM_VRAM_START 0xf400000000ULL

#define SIM_DOORBELL_ORDER 9 /* of pages: 2 MiB, 255 processes */

enum sim_bo_kind {
	SIM_BO_GTT,	/* pages of the system */
	SIM_BO_VRAM,	/* pages of video memory, or evicted to the system */
	SIM_BO_USERPTR, /* pinned pages of a process */
	SIM_BO_FIXED,	/* doorbells and the like: pages that stay */
};

/**
 * struct sim_bo - a buffer
 * @abo: amdkfd's view of it; its kref is abo.tbo.base.refcount
 * @sim: GPU that it belongs to
 * @kind: its kind of memory
 * @npages: size
 * @move_lock: held while @pages change, and while the CPU's page faults and the like read
 *	them
 * @pages: its memory, one reference each
 * @vram_first: first page of video memory; valid while @in_vram
 * @in_vram: false for an evicted SIM_BO_VRAM
 * @gart: MC address of page 0, or 0
 * @doorbell_offset: byte offset in the doorbell BAR, for the KFD's doorbells
 * @kptr: kernel mapping, or NULL
 * @mmap_first: first page of its offsets in the render node's file
 * @owner: file that may map it
 */
struct sim_bo {
	struct amdgpu_bo abo;
	struct sim_gpu *sim;
	enum sim_bo_kind kind;
	unsigned long npages;
	struct mutex move_lock;
	struct page **pages;
	unsigned long vram_first;
	bool in_vram;
	u64 gart;
	u64 doorbell_offset;
	bool in_doorbells;
	void *kptr;
	unsigned long mmap_first;
	const void *owner;
};

static inline struct sim_bo *to_sim_bo(struct amdgpu_bo *abo)
{
	return container_of(abo, struct sim_bo, abo);
}

/**
 * struct sim_mem - memory of a GPU
 * @lock: protects page tables, @vram and @gart while they change or are read
 *	by the engine
 * @alloc_lock: protects the three bitmaps
 * @vram: page behind each page of video memory, or NULL
 * @gart: page behind each page of the GART's aperture, or NULL
 * @roots: live page directories by page frame number
 * @mmaps: buffers by page offset in the render node's file
 */
struct sim_mem {
	spinlock_t lock;
	struct mutex alloc_lock;
	struct page **vram;
	unsigned long *vram_used;
	unsigned long vram_pages;
	struct page **gart;
	unsigned long *gart_used;
	unsigned long gart_pages;
	struct page *doorbell_pages;
	unsigned long *doorbell_used;
	unsigned long doorbell_npages;
	struct xarray roots;
	struct maple_tree mmaps;
};

/**
 * struct sim_dev - a GPU in the driver half
 * @render: only its index counts
 * @engine_up, @kfd_up: progress of its start
 * @suspended: the power is off
 * @unplugged: 1: unplugged, 2: and the KFD's device is gone
 * @drm_refs: of the DRM device
 * @gone_work: does what comes after the last of these
 * @reset_ns: duration of a reset of the GPU, by debugfs
 * @reset_end_ns: duration of the rest of a reset after the KFD's part
 * @reset_looks: a fault to plant: a reset begins at this one of the driver's checks for a
 *	reset; 0: none
 * @resets, @evictions, @evicted_bytes, @restored_bytes: totals for debugfs
 */
#define SIM_MAX_XCCS 6
#define SIM_SEGMENTS 5 /* of an IP's registers: MAX_SEGMENT of vega10_ip_offset.h */

struct sim_dev {
	struct amdgpu_device adev;
	struct sim_gpu gpu;
	u32 gc_base[SIM_MAX_XCCS][SIM_SEGMENTS];
	struct drm_minor render;
	struct amdgpu_reset_domain reset_domain;
	struct cdev *cdev;
	struct device *render_dev;
	struct platform_device *plat;
	bool engine_up;
	bool kfd_up;
	bool suspended;
	unsigned int unplugged;
	struct kref drm_refs;
	struct work_struct gone_work;
	u64 reset_ns;
	u64 reset_end_ns;
	atomic_t reset_looks;
	atomic64_t resets;
	atomic64_t evictions;
	atomic64_t evicted_bytes;
	atomic64_t restored_bytes;
};

static inline struct sim_dev *to_sim_dev(struct amdgpu_device *adev)
{
	return container_of(adev, struct sim_dev, adev);
}

static inline struct sim_gpu *to_sim(struct amdgpu_device *adev)
{
	return &to_sim_dev(adev)->gpu;
}

/* module.c */
extern struct sim_dev *sim_devs[];
extern unsigned int sim_num_gpus;

/* unplug.c */
void sim_unplug_init(struct sim_dev *sd);
void sim_unplug_debugfs(struct sim_dev *sd);
void sim_unplug_fini(struct sim_dev *sd);

/* device.c */
int sim_device_model(const char *name);
void sim_device_fill(struct sim_dev *sd, unsigned int model, unsigned int hqds, unsigned int vmids,
		     unsigned int cus, unsigned int sdma, u64 vram_bytes);

/* memory.c */
int sim_mem_create(struct sim_gpu *sim);
void sim_mem_destroy(struct sim_gpu *sim);
int sim_bo_create(struct sim_gpu *sim, enum sim_bo_kind kind, u64 bytes, struct sim_bo **out);
int sim_bo_create_user(struct sim_gpu *sim, u64 addr, u64 bytes, struct sim_bo **out);
int sim_bo_create_fixed(struct sim_gpu *sim, phys_addr_t phys, u64 bytes, struct sim_bo **out);
int sim_bo_kmap(struct sim_bo *bo);
int sim_bo_gart_map(struct sim_bo *bo);
int sim_bo_mmap_offset(struct sim_bo *bo, const void *owner);
int sim_bo_evict(struct sim_bo *bo);
int sim_bo_restore(struct sim_bo *bo);
void sim_bo_get(struct sim_bo *bo);
void sim_bo_put(struct sim_bo *bo);
u64 sim_vram_free_bytes(struct sim_gpu *sim);
bool sim_page_is_doorbell(struct sim_gpu *sim, const struct page *page);

/* vm.c */
int sim_vm_create(struct sim_gpu *sim, struct amdgpu_vm *vm);
void sim_vm_destroy(struct sim_gpu *sim, struct amdgpu_vm *vm);
int sim_vm_set(struct amdgpu_vm *vm, struct sim_bo *bo, u64 va, u64 pte_flags);
void sim_vm_clear(struct amdgpu_vm *vm, u64 va, unsigned long npages);
struct sim_gpu *sim_of_vm(struct amdgpu_vm *vm);
/* In amdgpu_vm.h when the series is applied. */
void amdgpu_vm_flush_compute_vmid(struct amdgpu_device *adev, u32 vmid, u32 flush_type,
				  u32 xcc_mask);

/* gpuvm.c */
int sim_evict_pid(struct sim_dev *sd, pid_t nr);
int sim_evict_all(struct sim_dev *sd);
int sim_quiesce_pid(pid_t nr);

/* render.c */
int sim_render_init(void);
void sim_render_exit(void);
int sim_render_create(struct sim_dev *sd);
void sim_render_destroy(struct sim_dev *sd);
void sim_render_zap(struct sim_gpu *sim, unsigned long first, unsigned long npages);

/* refuse.c */
int sim_kiq_create(struct amdgpu_device *adev);
void sim_kiq_destroy(struct amdgpu_device *adev);

/* mes.c */
void sim_mes_fill(struct amdgpu_device *adev);

/* ih.c */
int sim_ih_create(struct sim_gpu *sim);
void sim_ih_destroy(struct sim_gpu *sim);

/* reset.c */
int sim_reset_init(struct sim_dev *sd);
void sim_reset_fini(struct sim_dev *sd);
int sim_dev_suspend(struct sim_dev *sd);
int sim_dev_resume(struct sim_dev *sd);
void sim_reset_debugfs(struct sim_dev *sd);

#endif
