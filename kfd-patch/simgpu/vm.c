// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Page tables of the software GPU.
 *
 * Four levels of 512 entries (PDB2, PDB1, PDB0, PTB), 48 bits, in the format
 * of gfx9: enum amdgpu_vm_level and AMDGPU_PTE_* of amdgpu_vm.h. Addresses in
 * entries are physical ones of the system (AMDGPU_PTE_SYSTEM) or offsets in
 * video memory from its MC address.
 *
 * Assumption: the tables themselves lie in memory of the system. On a card
 * they lie in video memory; nothing in amdkfd can tell.
 */
#include <linux/interval_tree_generic.h>
#include <linux/slab.h>

#include "driver.h"
#include "athub/athub_1_0_offset.h"
#include "athub/athub_1_0_sh_mask.h"
#include "soc15_common.h"

#define PT_ENTRIES 512UL
#define PT_SHIFT 9
#define PT_LEVELS 4
#define PTE_ADDR GENMASK_ULL(47, 12)
#define VA_BITS 48

#define MAPPING_START(m) ((m)->start)
#define MAPPING_LAST(m) ((m)->last)

INTERVAL_TREE_DEFINE(struct amdgpu_bo_va_mapping, rb, uint64_t, __subtree_last, MAPPING_START,
		     MAPPING_LAST, static __maybe_unused, sim_va_it)

struct sim_gpu *sim_of_vm(struct amdgpu_vm *vm)
{
	return to_sim_bo(vm->root.bo)->sim;
}

static u64 *table_of(u64 entry)
{
	return page_address(pfn_to_page(PHYS_PFN(entry & PTE_ADDR)));
}

static unsigned int index_at(u64 va, unsigned int level)
{
	return (va >> (PAGE_SHIFT + PT_SHIFT * (PT_LEVELS - 1 - level))) & (PT_ENTRIES - 1);
}

static u64 pde_of(struct page *page)
{
	return page_to_phys(page) | AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM | AMDGPU_PTE_SNOOPED;
}

int sim_vm_create(struct sim_gpu *sim, struct amdgpu_vm *vm)
{
	struct sim_bo *root;
	int r;

	memset(vm, 0, sizeof(*vm));
	vm->va = RB_ROOT_CACHED;
	mutex_init(&vm->eviction_lock);
	spin_lock_init(&vm->status_lock);
	INIT_LIST_HEAD(&vm->vm_list_node);
	r = sim_bo_create(sim, SIM_BO_GTT, PAGE_SIZE, &root);
	if (r)
		return r;
	r = xa_err(xa_store_irq(&sim->mem->roots, page_to_pfn(root->pages[0]), root, GFP_KERNEL));
	if (r) {
		sim_bo_put(root);
		return r;
	}
	vm->root.bo = &root->abo;
	vm->root.vm = vm;
	vm->pd_phys_addr = pde_of(root->pages[0]);
	return 0;
}

/* Tables below @entry, of a VM that no walk finds any more. */
static void free_tables(u64 entry, unsigned int level)
{
	u64 *table = table_of(entry);
	unsigned int i;

	if (level < PT_LEVELS - 1)
		for (i = 0; i < PT_ENTRIES; i++)
			if (table[i] & AMDGPU_PTE_VALID)
				free_tables(table[i], level + 1);
	if (level)
		__free_page(virt_to_page(table));
}

void sim_vm_destroy(struct sim_gpu *sim, struct amdgpu_vm *vm)
{
	struct sim_mem *mem = sim->mem;
	unsigned long flags;

	if (!vm->root.bo)
		return;
	/* A walk under way holds mem->lock, so it is over after this. */
	xa_erase_irq(&mem->roots, PHYS_PFN(vm->pd_phys_addr & PTE_ADDR));
	spin_lock_irqsave(&mem->lock, flags);
	spin_unlock_irqrestore(&mem->lock, flags);
	free_tables(vm->pd_phys_addr, 0);
	amdgpu_bo_unref(&vm->root.bo);
}

/*
 * The PTB that holds @va, made with all above it when @make. Called with the
 * VM's root reserved, so nobody else adds tables.
 */
static u64 *leaf_table(struct amdgpu_vm *vm, u64 va, bool make)
{
	u64 *table = table_of(vm->pd_phys_addr);
	unsigned int level;

	for (level = 0; level < PT_LEVELS - 1; level++) {
		u64 *entry = &table[index_at(va, level)];

		if (!(*entry & AMDGPU_PTE_VALID)) {
			struct page *page;

			if (!make)
				return NULL;
			page = alloc_page(GFP_KERNEL | __GFP_ZERO);
			if (!page)
				return NULL;
			WRITE_ONCE(*entry, pde_of(page));
		}
		table = table_of(*entry);
	}
	return table;
}

static u64 pte_of(struct sim_bo *bo, unsigned long i, u64 pte_flags)
{
	if (bo->in_vram)
		return ((u64)(bo->vram_first + i) << PAGE_SHIFT) | pte_flags | AMDGPU_PTE_VALID;
	return page_to_phys(bo->pages[i]) | pte_flags | AMDGPU_PTE_VALID | AMDGPU_PTE_SYSTEM |
	       AMDGPU_PTE_SNOOPED;
}

/**
 * sim_vm_set - write the page table entries of a buffer
 * @vm: with its root reserved
 * @bo: the buffer, all of it
 * @va: its address
 * @pte_flags: AMDGPU_PTE_READABLE and the like
 *
 * A valid entry that changes to another page makes a flush due, as in
 * amdgpu_vm_update_range().
 *
 * Return: 0, -ENOMEM (part of it may be written).
 */
int sim_vm_set(struct amdgpu_vm *vm, struct sim_bo *bo, u64 va, u64 pte_flags)
{
	struct sim_mem *mem = bo->sim->mem;
	unsigned long i = 0;
	bool moved = false;

	while (i < bo->npages) {
		u64 at = va + ((u64)i << PAGE_SHIFT);
		unsigned int slot = index_at(at, PT_LEVELS - 1);
		u64 *table = leaf_table(vm, at, true);

		if (!table)
			return -ENOMEM;
		spin_lock_irq(&mem->lock);
		for (; i < bo->npages && slot < PT_ENTRIES; i++, slot++) {
			u64 pte = pte_of(bo, i, pte_flags);

			if ((table[slot] & AMDGPU_PTE_VALID) && table[slot] != pte)
				moved = true;
			WRITE_ONCE(table[slot], pte);
		}
		spin_unlock_irq(&mem->lock);
		cond_resched();
	}
	if (moved)
		atomic64_inc(&vm->tlb_seq);
	return 0;
}

/**
 * sim_vm_clear - invalidate page table entries
 * @vm: with its root reserved
 * @va: from where
 * @npages: how many
 *
 * A flush is due afterwards; the caller of the driver half (the KFD) does it.
 */
void sim_vm_clear(struct amdgpu_vm *vm, u64 va, unsigned long npages)
{
	struct sim_mem *mem = sim_of_vm(vm)->mem;
	unsigned long i = 0;

	while (i < npages) {
		u64 at = va + ((u64)i << PAGE_SHIFT);
		unsigned int slot = index_at(at, PT_LEVELS - 1);
		unsigned long n = min(npages - i, PT_ENTRIES - slot);
		u64 *table = leaf_table(vm, at, false);

		if (table) {
			spin_lock_irq(&mem->lock);
			memset(table + slot, 0, n * sizeof(*table));
			spin_unlock_irq(&mem->lock);
		}
		i += n;
		cond_resched();
	}
	atomic64_inc(&vm->tlb_seq);
}

static struct page *page_of_pte(struct sim_mem *mem, u64 pte)
{
	unsigned long pfn = PHYS_PFN(pte & PTE_ADDR);

	if (pte & AMDGPU_PTE_SYSTEM)
		return pfn_to_page(pfn);
	return pfn < mem->vram_pages ? mem->vram[pfn] : NULL;
}

int sim_vm_walk(struct sim_gpu *sim, u64 pt_base, u64 va, struct sim_xlat *xlat)
{
	struct sim_mem *mem = sim->mem;
	struct page *page = NULL;
	unsigned int level;
	unsigned long flags;
	u64 entry = pt_base;

	if (va >> VA_BITS)
		return -EFAULT;
	spin_lock_irqsave(&mem->lock, flags);
	if (!xa_load(&mem->roots, PHYS_PFN(pt_base & PTE_ADDR))) {
		spin_unlock_irqrestore(&mem->lock, flags);
		return -ENXIO;
	}
	for (level = 0; level < PT_LEVELS; level++) {
		if (!(entry & AMDGPU_PTE_VALID))
			break;
		entry = READ_ONCE(table_of(entry)[index_at(va, level)]);
	}
	if (level == PT_LEVELS && (entry & AMDGPU_PTE_VALID))
		page = page_of_pte(mem, entry);
	if (page)
		get_page(page);
	spin_unlock_irqrestore(&mem->lock, flags);
	if (!page)
		return -EFAULT;
	xlat->page = page;
	xlat->flags = entry & ~PTE_ADDR;
	xlat->doorbell = sim_page_is_doorbell(sim, page);
	return 0;
}

/* ---- Calls of amdkfd and gpuvm.c ----------------------------------------- */

struct amdgpu_bo_va_mapping *amdgpu_vm_bo_lookup_mapping(struct amdgpu_vm *vm, uint64_t addr)
{
	return sim_va_it_iter_first(&vm->va, addr, addr);
}

struct amdgpu_bo_va *amdgpu_vm_bo_find(struct amdgpu_vm *vm, struct amdgpu_bo *bo)
{
	struct amdgpu_vm_bo_base *base;

	for (base = bo->vm_bo; base; base = base->next)
		if (base->vm == vm)
			return container_of(base, struct amdgpu_bo_va, base);
	return NULL;
}

struct amdgpu_bo_va *amdgpu_vm_bo_add(struct amdgpu_device *adev, struct amdgpu_vm *vm,
				      struct amdgpu_bo *bo)
{
	struct amdgpu_bo_va *bo_va = kzalloc(sizeof(*bo_va), GFP_KERNEL);

	if (!bo_va)
		return NULL;
	bo_va->base.vm = vm;
	bo_va->base.bo = bo;
	bo_va->base.next = bo->vm_bo;
	bo->vm_bo = &bo_va->base;
	bo_va->ref_count = 1;
	INIT_LIST_HEAD(&bo_va->valids);
	INIT_LIST_HEAD(&bo_va->invalids);
	return bo_va;
}

void amdgpu_vm_bo_del(struct amdgpu_device *adev, struct amdgpu_bo_va *bo_va)
{
	struct amdgpu_vm_bo_base **p;

	for (p = &bo_va->base.bo->vm_bo; *p; p = &(*p)->next) {
		if (*p == &bo_va->base) {
			*p = bo_va->base.next;
			break;
		}
	}
	kfree(bo_va);
}

int amdgpu_vm_bo_map(struct amdgpu_device *adev, struct amdgpu_bo_va *bo_va, uint64_t addr,
		     uint64_t offset, uint64_t size, uint64_t flags)
{
	struct amdgpu_vm *vm = bo_va->base.vm;
	struct amdgpu_bo_va_mapping *mapping;
	u64 start = addr >> PAGE_SHIFT;
	u64 last = start + (size >> PAGE_SHIFT) - 1;

	if ((addr | size) & ~PAGE_MASK || !size || last < start || last >> (VA_BITS - PAGE_SHIFT))
		return -EINVAL;
	if (sim_va_it_iter_first(&vm->va, start, last))
		return -EINVAL;
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	if (!mapping)
		return -ENOMEM;
	mapping->start = start;
	mapping->last = last;
	mapping->offset = offset;
	mapping->flags = flags;
	mapping->bo_va = bo_va;
	list_add(&mapping->list, &bo_va->valids);
	sim_va_it_insert(mapping, &vm->va);
	return 0;
}

int amdgpu_vm_bo_unmap(struct amdgpu_device *adev, struct amdgpu_bo_va *bo_va, uint64_t addr)
{
	struct amdgpu_bo_va_mapping *mapping;

	list_for_each_entry (mapping, &bo_va->valids, list) {
		if (mapping->start != addr >> PAGE_SHIFT)
			continue;
		list_del(&mapping->list);
		sim_va_it_remove(mapping, &bo_va->base.vm->va);
		kfree(mapping);
		return 0;
	}
	return -ENOENT;
}

/*
 * As gmc_v9_0_flush_gpu_tlb_pasid() does it: all VMIDs that the ATC's table
 * maps to the pasid at this moment, and none that it mapped before.
 */
int amdgpu_gmc_flush_gpu_tlb_pasid(struct amdgpu_device *adev, uint16_t pasid, uint32_t flush_type,
				   bool all_hub, uint32_t inst)
{
	unsigned int vmid;
	u32 mapped;

	/* A reset flushes all, so there is no need to while one is on. */
	if (!down_read_trylock(&adev->reset_domain->sem))
		return 0;
	for (vmid = 1; vmid < AMDGPU_NUM_VMID; vmid++) {
		mapped = RREG32(SOC15_REG_OFFSET(ATHUB, 0, mmATC_VMID0_PASID_MAPPING) +
				to_sim(adev)->athub_shift + vmid);
		if (mapped & ATC_VMID0_PASID_MAPPING__VALID_MASK &&
		    (mapped & ATC_VMID0_PASID_MAPPING__PASID_MASK) == pasid)
			sim_tlb_flush(to_sim(adev), vmid, flush_type);
	}
	up_read(&adev->reset_domain->sem);
	return 0;
}

void amdgpu_gmc_flush_gpu_tlb(struct amdgpu_device *adev, uint32_t vmid, uint32_t vmhub,
			      uint32_t flush_type)
{
	/* The engine has one TLB; AMDGPU_GFXHUB(0) stands for it. */
	if (vmhub != AMDGPU_GFXHUB(0))
		return;
	if (!down_read_trylock(&adev->reset_domain->sem))
		return;
	sim_tlb_flush(to_sim(adev), vmid, flush_type);
	up_read(&adev->reset_domain->sem);
}

/* Of the series: one VMID, of any process. On a card, a loop over its hubs. */
void amdgpu_vm_flush_compute_vmid(struct amdgpu_device *adev, u32 vmid, u32 flush_type,
				  u32 xcc_mask)
{
	amdgpu_gmc_flush_gpu_tlb(adev, vmid, AMDGPU_GFXHUB(0), flush_type);
}

int amdgpu_vm_flush_compute_tlb(struct amdgpu_device *adev, struct amdgpu_vm *vm,
				uint32_t flush_type, uint32_t xcc_mask)
{
	u64 seq = atomic64_read(&vm->tlb_seq);

	if (atomic64_xchg(&vm->kfd_last_flushed_seq, seq) == seq)
		return 0;
	return amdgpu_gmc_flush_gpu_tlb_pasid(adev, vm->pasid, flush_type, true, 0);
}
