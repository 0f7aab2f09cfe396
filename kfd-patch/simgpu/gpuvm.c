// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory of KFD processes: the functions of amdgpu_amdkfd_gpuvm.c over the software GPU's
 * buffers and page tables.
 *
 * A process has one struct amdkfd_process_info with one eviction fence, the real one of
 * amdgpu_amdkfd_fence.c. To move its buffers, the driver enables the fence's signaling. The
 * KFD then suspends the queues and signals it, and only after that the buffers move. The KFD
 * requests them back by amdgpu_amdkfd_gpuvm_restore_process_bos().
 */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/slab.h>

#include "driver.h"

#define EVICT_TIMEOUT (20 * HZ)

/**
 * struct sim_process - the buffers of a process, on all GPUs
 * @info: passed to amdkfd
 * @ref: of the VMs, and of walks over the list
 * @node: in processes
 */
struct sim_process {
	struct amdkfd_process_info info;
	struct kref ref;
	struct list_head node;
};

static LIST_HEAD(processes);
static DEFINE_MUTEX(processes_lock); /* protects the list */

static struct amdkfd_process_info *info_create(void)
{
	struct sim_process *p = kzalloc(sizeof(*p), GFP_KERNEL);
	struct amdkfd_process_info *info;

	if (!p)
		return NULL;
	info = &p->info;
	mutex_init(&info->lock);
	mutex_init(&info->notifier_lock);
	INIT_LIST_HEAD(&info->vm_list_head);
	INIT_LIST_HEAD(&info->kfd_bo_list);
	INIT_LIST_HEAD(&info->userptr_valid_list);
	INIT_LIST_HEAD(&info->userptr_inval_list);
	info->eviction_fence =
		amdgpu_amdkfd_fence_create(dma_fence_context_alloc(1), current->mm, NULL);
	if (!info->eviction_fence) {
		kfree(p);
		return NULL;
	}
	info->pid = get_task_pid(current->group_leader, PIDTYPE_PID);
	kref_init(&p->ref);
	mutex_lock(&processes_lock);
	list_add_tail(&p->node, &processes);
	mutex_unlock(&processes_lock);
	return info;
}

/* Called by kref_put_mutex(), which has taken processes_lock. */
static void process_release(struct kref *ref)
{
	struct sim_process *p = container_of(ref, struct sim_process, ref);
	struct amdkfd_process_info *info = &p->info;

	list_del(&p->node);
	mutex_unlock(&processes_lock);
	WARN_ON(!list_empty(&info->kfd_bo_list));
	dma_fence_put(&info->eviction_fence->base);
	put_pid(info->pid);
	mutex_destroy(&info->lock);
	mutex_destroy(&info->notifier_lock);
	kfree(p);
}

static void process_put(struct sim_process *p)
{
	kref_put_mutex(&p->ref, process_release, &processes_lock);
}

static void info_destroy(struct amdkfd_process_info *info)
{
	process_put(container_of(info, struct sim_process, info));
}

/* The process after @last in the list (NULL: the first), with a reference. */
static struct sim_process *process_next(struct sim_process *last)
{
	struct sim_process *p;

	mutex_lock(&processes_lock);
	p = list_prepare_entry(last, &processes, node);
	list_for_each_entry_continue(p, &processes,
				     node) if (kref_get_unless_zero(&p->ref)) goto found;
	p = NULL;
found:
	mutex_unlock(&processes_lock);
	if (last)
		process_put(last);
	return p;
}

int amdgpu_amdkfd_gpuvm_acquire_process_vm(struct amdgpu_device *adev, struct amdgpu_vm *avm,
					   void **process_info, struct dma_fence **ef)
{
	struct amdkfd_process_info *info = *process_info;
	struct amdkfd_process_info *fresh = NULL;
	int r;

	/* The root's reservation decides between two callers. */
	r = amdgpu_bo_reserve(avm->root.bo, true);
	if (r)
		return r;
	if (avm->process_info) {
		r = -EINVAL;
		goto out;
	}
	if (!info) {
		info = fresh = info_create();
		if (!info) {
			r = -ENOMEM;
			goto out;
		}
	}
	r = dma_resv_reserve_fences(avm->root.bo->tbo.base.resv, 1);
	if (r)
		goto out;
	dma_resv_add_fence(avm->root.bo->tbo.base.resv, &info->eviction_fence->base,
			   DMA_RESV_USAGE_BOOKKEEP);
	avm->process_info = info;
	avm->is_compute_context = true;
out:
	amdgpu_bo_unreserve(avm->root.bo);
	if (r) {
		if (fresh)
			info_destroy(fresh);
		return r;
	}
	mutex_lock(&info->lock);
	list_add_tail(&avm->vm_list_node, &info->vm_list_head);
	info->n_vms++;
	if (ef)
		*ef = dma_fence_get(&info->eviction_fence->base);
	mutex_unlock(&info->lock);
	*process_info = info;
	return 0;
}

/* When the render node's file is closed for good, or acquiring failed. */
void amdgpu_amdkfd_gpuvm_destroy_cb(struct amdgpu_device *adev, struct amdgpu_vm *vm)
{
	struct amdkfd_process_info *info = vm->process_info;
	unsigned int left;

	if (!info)
		return;
	mutex_lock(&info->lock);
	left = --info->n_vms;
	list_del_init(&vm->vm_list_node);
	mutex_unlock(&info->lock);
	vm->process_info = NULL;
	if (!left)
		info_destroy(info);
}

void amdgpu_amdkfd_gpuvm_release_process_vm(struct amdgpu_device *adev, void *drm_priv)
{
	drm_priv_to_vm(drm_priv)->is_compute_context = false;
}

uint64_t amdgpu_amdkfd_gpuvm_get_process_page_dir(void *drm_priv)
{
	return drm_priv_to_vm(drm_priv)->pd_phys_addr;
}

static int vm_set_pasid(struct amdgpu_device *adev, struct amdgpu_vm *vm, u32 pasid)
{
	int r;

	if (vm->pasid == pasid)
		return 0;
	if (vm->pasid) {
		xa_erase_irq(&adev->vm_manager.pasids, vm->pasid);
		vm->pasid = 0;
	}
	if (!pasid)
		return 0;
	r = xa_err(xa_store_irq(&adev->vm_manager.pasids, pasid, vm, GFP_KERNEL));
	if (!r)
		vm->pasid = pasid;
	return r;
}

int amdgpu_amdkfd_gpuvm_set_vm_pasid(struct amdgpu_device *adev, struct amdgpu_vm *avm, u32 pasid)
{
	return vm_set_pasid(adev, avm, pasid);
}

int amdgpu_vm_set_pasid(struct amdgpu_device *adev, struct amdgpu_vm *vm, u32 pasid)
{
	return vm_set_pasid(adev, vm, pasid);
}

/* ---- Buffers ------------------------------------------------------------ */

static int bo_of_flags(struct sim_gpu *sim, u64 size, u64 offset, u32 flags, struct sim_bo **bo)
{
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM)
		return sim_bo_create(sim, SIM_BO_VRAM, size, bo);
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_GTT)
		return sim_bo_create(sim, SIM_BO_GTT, size, bo);
	if (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)
		return offset ? sim_bo_create_user(sim, untagged_addr(offset), size, bo) : -EINVAL;
	if (flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP))
		return sim_bo_create_fixed(sim, offset, size, bo);
	return -EINVAL;
}

int amdgpu_amdkfd_gpuvm_alloc_memory_of_gpu(struct amdgpu_device *adev, uint64_t va, uint64_t size,
					    void *drm_priv, struct kgd_mem **out, uint64_t *offset,
					    uint32_t flags, bool criu_resume)
{
	struct amdgpu_vm *avm = drm_priv_to_vm(drm_priv);
	struct amdkfd_process_info *info = avm->process_info;
	struct kgd_mem *mem;
	struct sim_bo *bo;
	int r;

	if (criu_resume)
		return -EOPNOTSUPP;
	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	mem->aql_queue = flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM;
	/* Such a buffer is mapped twice in a row, and has half the memory. */
	if (mem->aql_queue)
		size >>= 1;
	if (!PAGE_ALIGN(size)) {
		r = -EINVAL;
		goto err_free;
	}
	r = bo_of_flags(to_sim(adev), size, offset ? *offset : 0, flags, &bo);
	if (r)
		goto err_free;
	r = sim_bo_mmap_offset(bo, drm_priv);
	if (r)
		goto err_put;

	INIT_LIST_HEAD(&mem->attachments);
	mutex_init(&mem->lock);
	mem->bo = &bo->abo;
	mem->va = va;
	mem->alloc_flags = flags;
	mem->domain = bo->abo.preferred_domains;
	mem->process_info = info;
	bo->abo.kfd_bo = mem;
	mutex_lock(&info->lock);
	list_add_tail(&mem->validate_list, &info->kfd_bo_list);
	mutex_unlock(&info->lock);
	if (offset)
		*offset = (u64)bo->mmap_first << PAGE_SHIFT;
	*out = mem;
	return 0;

err_put:
	sim_bo_put(bo);
err_free:
	kfree(mem);
	return r;
}

static void detach(struct kfd_mem_attachment *att)
{
	struct amdgpu_vm *vm = att->bo_va->base.vm;

	/* Two attachments of an AQL queue share a bo_va. */
	amdgpu_bo_reserve(vm->root.bo, true);
	list_del(&att->list);
	if (!--att->bo_va->ref_count)
		amdgpu_vm_bo_del(att->adev, att->bo_va);
	amdgpu_bo_unreserve(vm->root.bo);
	kfree(att);
}

int amdgpu_amdkfd_gpuvm_free_memory_of_gpu(struct amdgpu_device *adev, struct kgd_mem *mem,
					   void *drm_priv, uint64_t *size)
{
	struct kfd_mem_attachment *att, *next;
	unsigned int mapped;

	mutex_lock(&mem->lock);
	mapped = mem->mapped_to_gpu_memory;
	mutex_unlock(&mem->lock);
	if (mapped)
		return -EBUSY;

	mutex_lock(&mem->process_info->lock);
	list_del(&mem->validate_list);
	mutex_unlock(&mem->process_info->lock);
	list_for_each_entry_safe (att, next, &mem->attachments, list)
		detach(att);
	if (size)
		*size = to_sim_bo(mem->bo)->kind == SIM_BO_VRAM ? mem->bo->tbo.base.size : 0;
	mem->bo->kfd_bo = NULL;
	sim_bo_put(to_sim_bo(mem->bo));
	mutex_destroy(&mem->lock);
	kfree(mem);
	return 0;
}

static u64 pte_flags_of(const struct kgd_mem *mem)
{
	u64 flags = AMDGPU_PTE_READABLE;

	if (mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
		flags |= AMDGPU_PTE_WRITEABLE;
	if (mem->alloc_flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE)
		flags |= AMDGPU_PTE_EXECUTABLE;
	return flags;
}

static int attach(struct amdgpu_device *adev, struct kgd_mem *mem, struct amdgpu_vm *vm)
{
	struct kfd_mem_attachment *att[2] = {};
	unsigned int i, n = mem->aql_queue ? 2 : 1;
	struct amdgpu_bo_va *bo_va;

	for (i = 0; i < n; i++) {
		att[i] = kzalloc(sizeof(*att[i]), GFP_KERNEL);
		if (!att[i])
			goto err;
	}
	bo_va = amdgpu_vm_bo_add(adev, vm, mem->bo);
	if (!bo_va)
		goto err;
	bo_va->ref_count = n;
	for (i = 0; i < n; i++) {
		att[i]->type = KFD_MEM_ATT_SHARED;
		att[i]->bo_va = bo_va;
		att[i]->adev = adev;
		att[i]->va = mem->va + i * mem->bo->tbo.base.size;
		att[i]->pte_flags = pte_flags_of(mem);
		list_add_tail(&att[i]->list, &mem->attachments);
	}
	return 0;
err:
	kfree(att[0]);
	kfree(att[1]);
	return -ENOMEM;
}

static int map_attachment(struct kgd_mem *mem, struct kfd_mem_attachment *att)
{
	struct sim_bo *bo = to_sim_bo(mem->bo);
	struct amdgpu_vm *vm = att->bo_va->base.vm;
	int r;

	r = amdgpu_vm_bo_map(att->adev, att->bo_va, att->va, 0, mem->bo->tbo.base.size,
			     att->pte_flags);
	if (r)
		return r;
	/* An evicted buffer gets its entries when it is restored. */
	if (bo->kind != SIM_BO_VRAM || bo->in_vram)
		r = sim_vm_set(vm, bo, att->va, att->pte_flags);
	if (r) {
		amdgpu_vm_bo_unmap(att->adev, att->bo_va, att->va);
		return r;
	}
	att->is_mapped = true;
	mem->mapped_to_gpu_memory++;
	return 0;
}

static int unmap_attachment(struct kgd_mem *mem, struct kfd_mem_attachment *att)
{
	/* Queues hold their buffers mapped: kfd_queue_buffer_get(). */
	if (att->bo_va->queue_refcount)
		return -EBUSY;
	amdgpu_vm_bo_unmap(att->adev, att->bo_va, att->va);
	sim_vm_clear(att->bo_va->base.vm, att->va, to_sim_bo(mem->bo)->npages);
	att->is_mapped = false;
	mem->mapped_to_gpu_memory--;
	return 0;
}

int amdgpu_amdkfd_gpuvm_map_memory_to_gpu(struct amdgpu_device *adev, struct kgd_mem *mem,
					  void *drm_priv)
{
	struct amdgpu_vm *vm = drm_priv_to_vm(drm_priv);
	struct kfd_mem_attachment *att;
	int r = 0;

	/* No peer access: another card's video memory is not reachable. */
	if (to_sim_bo(mem->bo)->kind == SIM_BO_VRAM && to_sim_bo(mem->bo)->sim != to_sim(adev))
		return -EINVAL;

	mutex_lock(&mem->process_info->lock);
	mutex_lock(&mem->lock);
	r = amdgpu_bo_reserve(vm->root.bo, true);
	if (r)
		goto unlock;
	if (!amdgpu_vm_bo_find(vm, mem->bo))
		r = attach(adev, mem, vm);
	list_for_each_entry (att, &mem->attachments, list) {
		if (r)
			break;
		if (att->bo_va->base.vm == vm && !att->is_mapped)
			r = map_attachment(mem, att);
	}
	amdgpu_bo_unreserve(vm->root.bo);
unlock:
	mutex_unlock(&mem->lock);
	mutex_unlock(&mem->process_info->lock);
	return r;
}

int amdgpu_amdkfd_gpuvm_unmap_memory_from_gpu(struct amdgpu_device *adev, struct kgd_mem *mem,
					      void *drm_priv)
{
	struct amdgpu_vm *vm = drm_priv_to_vm(drm_priv);
	struct kfd_mem_attachment *att;
	bool any = false;
	int r;

	mutex_lock(&mem->lock);
	r = amdgpu_bo_reserve(vm->root.bo, true);
	if (r)
		goto unlock;
	list_for_each_entry (att, &mem->attachments, list) {
		if (att->bo_va->base.vm != vm || !att->is_mapped)
			continue;
		any = true;
		r = unmap_attachment(mem, att);
		if (r)
			break;
	}
	if (!any)
		r = -EINVAL;
	amdgpu_bo_unreserve(vm->root.bo);
unlock:
	mutex_unlock(&mem->lock);
	return r;
}

/* Page tables are written by the CPU, at once: nothing to wait for. */
int amdgpu_amdkfd_gpuvm_sync_memory(struct amdgpu_device *adev, struct kgd_mem *mem, bool intr)
{
	return 0;
}

/* Without an IOMMU there is no DMA mapping to undo. */
int amdgpu_amdkfd_gpuvm_dmaunmap_mem(struct kgd_mem *mem, void *drm_priv)
{
	return 0;
}

bool amdgpu_amdkfd_bo_mapped_to_dev(void *drm_priv, struct kgd_mem *mem)
{
	struct amdgpu_vm *vm = drm_priv_to_vm(drm_priv);
	struct kfd_mem_attachment *att;

	list_for_each_entry (att, &mem->attachments, list)
		if (att->is_mapped && att->bo_va->base.vm == vm)
			return true;
	return false;
}

int amdgpu_amdkfd_gpuvm_map_gtt_bo_to_kernel(struct kgd_mem *mem, void **kptr, uint64_t *size)
{
	struct sim_bo *bo = to_sim_bo(mem->bo);
	int r;

	if (bo->kind == SIM_BO_USERPTR)
		return -EINVAL;
	r = sim_bo_kmap(bo);
	if (r)
		return r;
	*kptr = bo->kptr;
	if (size)
		*size = mem->bo->tbo.base.size;
	return 0;
}

/* The mapping goes with the buffer. */
void amdgpu_amdkfd_gpuvm_unmap_gtt_bo_from_kernel(struct kgd_mem *mem)
{
}

size_t amdgpu_amdkfd_get_available_memory(struct amdgpu_device *adev, uint8_t xcp_id)
{
	return sim_vram_free_bytes(to_sim(adev));
}

int amdgpu_ttm_tt_get_userptr(const struct ttm_buffer_object *tbo, uint64_t *user_addr)
{
	return -EINVAL;
}

/* ---- Eviction ----------------------------------------------------------- */

/* Removes one buffer's entries from all page tables, or restores them. */
static int update_mappings(struct kgd_mem *mem, bool valid)
{
	struct sim_bo *bo = to_sim_bo(mem->bo);
	struct kfd_mem_attachment *att;
	int r = 0;

	mutex_lock(&mem->lock);
	list_for_each_entry (att, &mem->attachments, list) {
		struct amdgpu_vm *vm = att->bo_va->base.vm;

		if (!att->is_mapped)
			continue;
		amdgpu_bo_reserve(vm->root.bo, true);
		if (valid)
			r = sim_vm_set(vm, bo, att->va, att->pte_flags);
		else
			sim_vm_clear(vm, att->va, bo->npages);
		amdgpu_bo_unreserve(vm->root.bo);
		if (r)
			break;
	}
	mutex_unlock(&mem->lock);
	return r;
}

/* With info->lock held and the queues of the process off. */
static int evict_bos(struct sim_dev *sd, struct amdkfd_process_info *info)
{
	struct kgd_mem *mem;
	int r;

	list_for_each_entry (mem, &info->kfd_bo_list, validate_list) {
		struct sim_bo *bo = to_sim_bo(mem->bo);

		if (!bo->in_vram || bo->sim != &sd->gpu || bo->kptr)
			continue;
		update_mappings(mem, false);
		r = sim_bo_evict(bo);
		if (r)
			return r;
		atomic64_add(mem->bo->tbo.base.size, &sd->evicted_bytes);
	}
	return 0;
}

/* Does the same as TTM when other users need the memory of a process. */
static int evict_process(struct sim_dev *sd, struct amdkfd_process_info *info)
{
	struct dma_fence *ef;
	long left;
	int r;

	mutex_lock(&info->lock);
	ef = dma_fence_get(&info->eviction_fence->base);
	mutex_unlock(&info->lock);
	/* Waiting enables signaling, which makes the KFD stop the queues. */
	left = dma_fence_wait_timeout(ef, false, EVICT_TIMEOUT);
	dma_fence_put(ef);
	if (!left)
		return -ETIME;
	if (left < 0)
		return left;

	mutex_lock(&info->lock);
	if (!dma_fence_is_signaled(&info->eviction_fence->base)) {
		/* Restored in between: its queues run again. */
		mutex_unlock(&info->lock);
		return -EAGAIN;
	}
	r = evict_bos(sd, info);
	mutex_unlock(&info->lock);
	atomic64_inc(&sd->evictions);
	return r;
}

/**
 * sim_evict_pid - evict the buffers of a process, on demand
 * @sd: the GPU whose memory it is
 * @nr: the process, in the initial pid namespace; 0: all, one after the other
 *
 * Return: 0; -ESRCH; -ETIME: its queues did not go in time; -EAGAIN: it was
 * restored before its buffers moved; -ENOMEM.
 */
int sim_evict_pid(struct sim_dev *sd, pid_t nr)
{
	struct sim_process *p = NULL;
	int r = -ESRCH;

	while ((p = process_next(p))) {
		if (nr && pid_nr(p->info.pid) != nr)
			continue;
		r = evict_process(sd, &p->info);
		if (r) {
			process_put(p);
			break;
		}
	}
	return r;
}

/**
 * sim_evict_all - empty the video memory of a GPU before its power goes
 * @sd: the GPU; the KFD has stopped all queues and signaled all fences
 *
 * Return: 0, -ENOMEM.
 */
int sim_evict_all(struct sim_dev *sd)
{
	struct sim_process *p = NULL;
	int r = 0;

	while ((p = process_next(p))) {
		mutex_lock(&p->info.lock);
		r = evict_bos(sd, &p->info);
		mutex_unlock(&p->info.lock);
		if (r) {
			process_put(p);
			break;
		}
	}
	return r;
}

/**
 * sim_quiesce_pid - stop and resume the queues of a process
 * @nr: the process, in the initial pid namespace
 *
 * As amdgpu_amdkfd_evict_userptr() does it when user pages change, and its restore worker a
 * millisecond later.
 *
 * Return: 0, -ESRCH, or the KFD's error.
 */
int sim_quiesce_pid(pid_t nr)
{
	struct sim_process *p = NULL;
	struct mm_struct *mm;
	int r;

	do {
		p = process_next(p);
		if (!p)
			return -ESRCH;
	} while (pid_nr(p->info.pid) != nr);
	mutex_lock(&p->info.lock);
	mm = p->info.eviction_fence->mm;
	mmgrab(mm);
	mutex_unlock(&p->info.lock);
	process_put(p);
	r = kgd2kfd_quiesce_mm(mm, KFD_QUEUE_EVICTION_TRIGGER_USERPTR);
	if (!r) {
		usleep_range(1000, 1100);
		r = kgd2kfd_resume_mm(mm);
	}
	mmdrop(mm);
	return r;
}

static int restore_bo(struct kgd_mem *mem)
{
	struct sim_bo *bo = to_sim_bo(mem->bo);
	struct sim_dev *sd = container_of(bo->sim, struct sim_dev, gpu);
	int r;

	if (bo->kind != SIM_BO_VRAM || bo->in_vram)
		return 0;
	r = sim_bo_restore(bo);
	if (r)
		return r;
	r = update_mappings(mem, true);
	if (!r)
		atomic64_add(mem->bo->tbo.base.size, &sd->restored_bytes);
	return r;
}

int amdgpu_amdkfd_gpuvm_restore_process_bos(void *process_info, struct dma_fence __rcu **ef)
{
	struct amdkfd_process_info *info = process_info;
	struct amdgpu_amdkfd_fence *fence;
	struct amdgpu_vm *vm;
	struct kgd_mem *mem;
	int r = 0;

	mutex_lock(&info->lock);
	list_for_each_entry (mem, &info->kfd_bo_list, validate_list) {
		r = restore_bo(mem);
		if (r)
			goto unlock;
	}
	if (!dma_fence_is_signaled(&info->eviction_fence->base))
		goto unlock;
	fence = amdgpu_amdkfd_fence_create(info->eviction_fence->base.context,
					   info->eviction_fence->mm, NULL);
	if (!fence) {
		r = -ENOMEM;
		goto unlock;
	}
	dma_fence_put(&info->eviction_fence->base);
	info->eviction_fence = fence;
	dma_fence_put(rcu_replace_pointer(*ef, dma_fence_get(&fence->base), true));
	list_for_each_entry (vm, &info->vm_list_head, vm_list_node) {
		amdgpu_bo_reserve(vm->root.bo, true);
		if (!dma_resv_reserve_fences(vm->root.bo->tbo.base.resv, 1))
			dma_resv_add_fence(vm->root.bo->tbo.base.resv, &fence->base,
					   DMA_RESV_USAGE_BOOKKEEP);
		amdgpu_bo_unreserve(vm->root.bo);
	}
unlock:
	mutex_unlock(&info->lock);
	return r;
}
