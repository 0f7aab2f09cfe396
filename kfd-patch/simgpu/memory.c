// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers of the software GPU: video memory, GART, doorbell BAR, user pages.
 *
 * Video memory consists of ordinary pages, so the CPU sees all of it (a large BAR). A stale
 * translation of the engine's TLB then holds a page, and does not point at other memory of the
 * kernel. Video memory still has addresses of its own: a page table entry names a page of
 * video memory, not of the system. Addresses run out at the size of the card.
 *
 * Assumption: MTYPE and the caches do not matter; memory is coherent.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "driver.h"

static void *alloc_bitmap(unsigned long bits)
{
	return bitmap_zalloc(bits, GFP_KERNEL);
}

int sim_mem_create(struct sim_gpu *sim)
{
	struct sim_mem *mem;
	unsigned long n = 1UL << SIM_DOORBELL_ORDER;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	sim->mem = mem;
	spin_lock_init(&mem->lock);
	mutex_init(&mem->alloc_lock);
	xa_init_flags(&mem->roots, XA_FLAGS_LOCK_IRQ);
	mt_init_flags(&mem->mmaps, MT_FLAGS_ALLOC_RANGE);

	mem->vram_pages = sim->vram_bytes >> PAGE_SHIFT;
	mem->gart_pages = SIM_GART_BYTES >> PAGE_SHIFT;
	mem->vram = vcalloc(mem->vram_pages, sizeof(*mem->vram));
	mem->gart = vcalloc(mem->gart_pages, sizeof(*mem->gart));
	mem->vram_used = alloc_bitmap(mem->vram_pages);
	mem->gart_used = alloc_bitmap(mem->gart_pages);
	mem->doorbell_used = alloc_bitmap(n);
	mem->doorbell_pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, SIM_DOORBELL_ORDER);
	if (!mem->vram || !mem->gart || !mem->vram_used || !mem->gart_used || !mem->doorbell_used ||
	    !mem->doorbell_pages) {
		sim_mem_destroy(sim);
		return -ENOMEM;
	}
	split_page(mem->doorbell_pages, SIM_DOORBELL_ORDER);
	mem->doorbell_npages = n;
	/* The KFD maps doorbells uncached; the kernel's mapping must agree. */
	set_memory_uc((unsigned long)page_address(mem->doorbell_pages), n);
	sim->doorbells = page_address(mem->doorbell_pages);
	sim->doorbell_bytes = n << PAGE_SHIFT;
	/* Address 0 means "none"; page 0 of the doorbells is the driver's. */
	__set_bit(0, mem->gart_used);
	__set_bit(0, mem->doorbell_used);
	return 0;
}

void sim_mem_destroy(struct sim_gpu *sim)
{
	struct sim_mem *mem = sim->mem;
	unsigned long i;

	if (!mem)
		return;
	if (mem->doorbell_npages) {
		set_memory_wb((unsigned long)sim->doorbells, mem->doorbell_npages);
		for (i = 0; i < mem->doorbell_npages; i++)
			put_page(mem->doorbell_pages + i);
	}
	mtree_destroy(&mem->mmaps);
	xa_destroy(&mem->roots);
	bitmap_free(mem->doorbell_used);
	bitmap_free(mem->gart_used);
	bitmap_free(mem->vram_used);
	vfree(mem->gart);
	vfree(mem->vram);
	kfree(mem);
	sim->mem = NULL;
}

/* Returns the first of @n free bits, now set, or @size when there are none. */
static unsigned long area_alloc(struct sim_mem *mem, unsigned long *map, unsigned long size,
				unsigned long n)
{
	unsigned long first;

	mutex_lock(&mem->alloc_lock);
	first = bitmap_find_next_zero_area(map, size, 0, n, 0);
	if (first < size)
		bitmap_set(map, first, n);
	else
		first = size;
	mutex_unlock(&mem->alloc_lock);
	return first;
}

static void area_free(struct sim_mem *mem, unsigned long *map, unsigned long first, unsigned long n)
{
	mutex_lock(&mem->alloc_lock);
	bitmap_clear(map, first, n);
	mutex_unlock(&mem->alloc_lock);
}

u64 sim_vram_free_bytes(struct sim_gpu *sim)
{
	struct sim_mem *mem = sim->mem;
	unsigned long used;

	mutex_lock(&mem->alloc_lock);
	used = bitmap_weight(mem->vram_used, mem->vram_pages);
	mutex_unlock(&mem->alloc_lock);
	return (u64)(mem->vram_pages - used) << PAGE_SHIFT;
}

bool sim_page_is_doorbell(struct sim_gpu *sim, const struct page *page)
{
	struct sim_mem *mem = sim->mem;

	return page >= mem->doorbell_pages && page < mem->doorbell_pages + mem->doorbell_npages;
}

static void put_pages(struct page **pages, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		if (pages[i])
			put_page(pages[i]);
}

static int alloc_page_array(struct page **pages, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
		if (!pages[i]) {
			put_pages(pages, i);
			memset(pages, 0, i * sizeof(*pages));
			return -ENOMEM;
		}
		if (!(i & 1023))
			cond_resched();
	}
	return 0;
}

static struct sim_bo *bo_alloc(struct sim_gpu *sim, enum sim_bo_kind kind, u64 bytes)
{
	struct ttm_buffer_object *tbo;
	struct sim_bo *bo;

	/* User space chooses: no more than there can be, as TTM does. */
	if (bytes > (u64)totalram_pages() << PAGE_SHIFT)
		return NULL;
	bo = kzalloc(sizeof(*bo), GFP_KERNEL);
	if (!bo)
		return NULL;
	bo->npages = PAGE_ALIGN(bytes) >> PAGE_SHIFT;
	bo->pages = kvcalloc(bo->npages, sizeof(*bo->pages), GFP_KERNEL);
	if (!bo->pages) {
		kfree(bo);
		return NULL;
	}
	bo->sim = sim;
	bo->kind = kind;
	mutex_init(&bo->move_lock);
	tbo = &bo->abo.tbo;
	kref_init(&tbo->base.refcount);
	tbo->base.size = (u64)bo->npages << PAGE_SHIFT;
	tbo->bdev = &sim->adev->mman.bdev;
	dma_resv_init(&tbo->base._resv);
	tbo->base.resv = &tbo->base._resv;
	bo->abo.preferred_domains = kind == SIM_BO_VRAM ? AMDGPU_GEM_DOMAIN_VRAM :
							  AMDGPU_GEM_DOMAIN_GTT;
	return bo;
}

static void bo_free(struct sim_bo *bo)
{
	dma_resv_fini(&bo->abo.tbo.base._resv);
	mutex_destroy(&bo->move_lock);
	kvfree(bo->pages);
	kfree(bo);
}

/* Gives @bo, whose pages are there, a place in video memory. */
static int vram_bind(struct sim_bo *bo)
{
	struct sim_mem *mem = bo->sim->mem;
	unsigned long first, i;

	first = area_alloc(mem, mem->vram_used, mem->vram_pages, bo->npages);
	if (first == mem->vram_pages)
		return -ENOMEM;
	spin_lock_irq(&mem->lock);
	for (i = 0; i < bo->npages; i++)
		mem->vram[first + i] = bo->pages[i];
	spin_unlock_irq(&mem->lock);
	bo->vram_first = first;
	bo->in_vram = true;
	return 0;
}

static void vram_unbind(struct sim_bo *bo)
{
	struct sim_mem *mem = bo->sim->mem;

	spin_lock_irq(&mem->lock);
	memset(mem->vram + bo->vram_first, 0, bo->npages * sizeof(*mem->vram));
	spin_unlock_irq(&mem->lock);
	area_free(mem, mem->vram_used, bo->vram_first, bo->npages);
	bo->in_vram = false;
}

int sim_bo_create(struct sim_gpu *sim, enum sim_bo_kind kind, u64 bytes, struct sim_bo **out)
{
	struct sim_bo *bo;
	int r;

	bo = bo_alloc(sim, kind, bytes);
	if (!bo)
		return -ENOMEM;
	r = alloc_page_array(bo->pages, bo->npages);
	if (r)
		goto err_free;
	if (kind == SIM_BO_VRAM) {
		r = vram_bind(bo);
		if (r)
			goto err_pages;
	}
	*out = bo;
	return 0;

err_pages:
	put_pages(bo->pages, bo->npages);
err_free:
	bo_free(bo);
	return r;
}

/*
 * Assumption: pinning stands for the MMU notifier of the real driver. The pages remain the
 * same while the buffer lives, so queues never have to stop for a change of the process's
 * mappings.
 */
int sim_bo_create_user(struct sim_gpu *sim, u64 addr, u64 bytes, struct sim_bo **out)
{
	unsigned long done = 0;
	struct sim_bo *bo;
	long r;

	if (addr & ~PAGE_MASK)
		return -EINVAL;
	bo = bo_alloc(sim, SIM_BO_USERPTR, bytes);
	if (!bo)
		return -ENOMEM;
	while (done < bo->npages) {
		int n = min(bo->npages - done, 1024UL);

		r = pin_user_pages_fast(addr + (done << PAGE_SHIFT), n, FOLL_WRITE | FOLL_LONGTERM,
					bo->pages + done);
		if (r <= 0) {
			unpin_user_pages(bo->pages, done);
			bo_free(bo);
			return r ? r : -EFAULT;
		}
		done += r;
	}
	*out = bo;
	return 0;
}

int sim_bo_create_fixed(struct sim_gpu *sim, phys_addr_t phys, u64 bytes, struct sim_bo **out)
{
	struct sim_bo *bo = bo_alloc(sim, SIM_BO_FIXED, bytes);
	unsigned long i;

	if (!bo)
		return -ENOMEM;
	for (i = 0; i < bo->npages; i++) {
		bo->pages[i] = pfn_to_page(PHYS_PFN(phys) + i);
		get_page(bo->pages[i]);
	}
	*out = bo;
	return 0;
}

int sim_bo_kmap(struct sim_bo *bo)
{
	if (bo->kptr)
		return 0;
	bo->kptr = vmap(bo->pages, bo->npages, VM_MAP, PAGE_KERNEL);
	return bo->kptr ? 0 : -ENOMEM;
}

int sim_bo_gart_map(struct sim_bo *bo)
{
	struct sim_mem *mem = bo->sim->mem;
	unsigned long first, i;

	if (bo->gart)
		return 0;
	first = area_alloc(mem, mem->gart_used, mem->gart_pages, bo->npages);
	if (first == mem->gart_pages)
		return -ENOMEM;
	spin_lock_irq(&mem->lock);
	for (i = 0; i < bo->npages; i++)
		mem->gart[first + i] = bo->pages[i];
	spin_unlock_irq(&mem->lock);
	bo->gart = SIM_GART_START + ((u64)first << PAGE_SHIFT);
	return 0;
}

static void gart_unmap(struct sim_bo *bo)
{
	struct sim_mem *mem = bo->sim->mem;
	unsigned long first = (bo->gart - SIM_GART_START) >> PAGE_SHIFT;

	spin_lock_irq(&mem->lock);
	memset(mem->gart + first, 0, bo->npages * sizeof(*mem->gart));
	spin_unlock_irq(&mem->lock);
	area_free(mem, mem->gart_used, first, bo->npages);
}

int sim_bo_mmap_offset(struct sim_bo *bo, const void *owner)
{
	unsigned long first;
	int r;

	/* Offset 0 stays free: user space takes it for "none". */
	r = mtree_alloc_range(&bo->sim->mem->mmaps, &first, bo, bo->npages, 1, (1UL << 36) - 1,
			      GFP_KERNEL);
	if (r)
		return r;
	bo->mmap_first = first;
	bo->owner = owner;
	return 0;
}

static void copy_pages(struct page **to, struct page **from, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		copy_highpage(to[i], from[i]);
		if (!(i & 255))
			cond_resched();
	}
}

/* A queue that still runs would find this in the buffer's former place. */
static void poison_pages(struct page **pages, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		memset(page_address(pages[i]), 0xa5, PAGE_SIZE);
}

/* Moves the content to other pages; @bo's old ones are poisoned and put. */
static int move_pages(struct sim_bo *bo)
{
	struct page **to;
	int r;

	to = kvcalloc(bo->npages, sizeof(*to), GFP_KERNEL);
	if (!to)
		return -ENOMEM;
	r = alloc_page_array(to, bo->npages);
	if (r) {
		kvfree(to);
		return r;
	}
	mutex_lock(&bo->move_lock);
	if (bo->mmap_first)
		sim_render_zap(bo->sim, bo->mmap_first, bo->npages);
	copy_pages(to, bo->pages, bo->npages);
	swap(bo->pages, to);
	mutex_unlock(&bo->move_lock);
	poison_pages(to, bo->npages);
	put_pages(to, bo->npages);
	kvfree(to);
	return 0;
}

/**
 * sim_bo_evict - move a buffer out of video memory
 * @bo: of SIM_BO_VRAM. The queues of its process are stopped, and no page
 *	table names it any more
 *
 * Return: 0, -ENOMEM.
 */
int sim_bo_evict(struct sim_bo *bo)
{
	int r;

	if (!bo->in_vram)
		return 0;
	/* The table of video memory must not name pages that are put. */
	vram_unbind(bo);
	r = move_pages(bo);
	if (r && vram_bind(bo))
		dev_err(bo->sim->dev, "a buffer lost its place in VRAM\n");
	return r;
}

/**
 * sim_bo_restore - move a buffer back into video memory, to a new place
 * @bo: any
 *
 * Return: 0, -ENOMEM: no room, it stays where it is.
 */
int sim_bo_restore(struct sim_bo *bo)
{
	if (bo->kind != SIM_BO_VRAM || bo->in_vram)
		return 0;
	return vram_bind(bo);
}

void sim_bo_get(struct sim_bo *bo)
{
	kref_get(&bo->abo.tbo.base.refcount);
}

static void bo_release(struct kref *kref)
{
	struct sim_bo *bo = container_of(kref, struct sim_bo, abo.tbo.base.refcount);
	struct sim_mem *mem = bo->sim->mem;

	if (bo->mmap_first)
		mtree_erase(&mem->mmaps, bo->mmap_first);
	if (bo->kptr && !bo->in_doorbells)
		vunmap(bo->kptr);
	if (bo->gart) {
		sim_mem_freed(bo->sim, bo->gart, (u64)bo->npages << PAGE_SHIFT);
		gart_unmap(bo);
	}
	if (bo->in_vram)
		vram_unbind(bo);
	if (bo->in_doorbells)
		area_free(mem, mem->doorbell_used, bo->doorbell_offset >> PAGE_SHIFT, bo->npages);
	if (bo->kind == SIM_BO_USERPTR)
		unpin_user_pages_dirty_lock(bo->pages, bo->npages, true);
	else
		put_pages(bo->pages, bo->npages);
	bo_free(bo);
}

void sim_bo_put(struct sim_bo *bo)
{
	kref_put(&bo->abo.tbo.base.refcount, bo_release);
}

/* ---- Calls of amdkfd ---------------------------------------------------- */

struct amdgpu_bo *amdgpu_bo_ref(struct amdgpu_bo *abo)
{
	if (abo)
		sim_bo_get(to_sim_bo(abo));
	return abo;
}

void amdgpu_bo_unref(struct amdgpu_bo **abo)
{
	if (!*abo)
		return;
	sim_bo_put(to_sim_bo(*abo));
	*abo = NULL;
}

u64 amdgpu_bo_gpu_offset(struct amdgpu_bo *abo)
{
	struct sim_bo *bo = to_sim_bo(abo);

	if (bo->in_doorbells)
		return bo->doorbell_offset;
	if (bo->in_vram)
		return SIM_VRAM_START + ((u64)bo->vram_first << PAGE_SHIFT);
	return bo->gart;
}

/* amdkfd makes doorbells by this, and nothing else. */
int amdgpu_bo_create_kernel(struct amdgpu_device *adev, unsigned long size, int align, u32 domain,
			    struct amdgpu_bo **out, u64 *gpu_addr, void **cpu_addr)
{
	struct sim_gpu *sim = to_sim(adev);
	struct sim_mem *mem = sim->mem;
	unsigned long n = PAGE_ALIGN(size) >> PAGE_SHIFT, first;
	struct sim_bo *bo;
	int r;

	if (domain != AMDGPU_GEM_DOMAIN_DOORBELL || align > PAGE_SIZE)
		return -EINVAL;
	first = area_alloc(mem, mem->doorbell_used, mem->doorbell_npages, n);
	if (first == mem->doorbell_npages)
		return -ENOMEM;
	r = sim_bo_create_fixed(sim, adev->doorbell.base + (first << PAGE_SHIFT), size, &bo);
	if (r) {
		area_free(mem, mem->doorbell_used, first, n);
		return r;
	}
	bo->in_doorbells = true;
	bo->doorbell_offset = (u64)first << PAGE_SHIFT;
	bo->kptr = (void *)sim->doorbells + bo->doorbell_offset;
	if (gpu_addr)
		*gpu_addr = bo->doorbell_offset;
	if (cpu_addr)
		*cpu_addr = bo->kptr;
	*out = &bo->abo;
	return 0;
}

void amdgpu_bo_free_kernel(struct amdgpu_bo **bo, u64 *gpu_addr, void **cpu_addr)
{
	amdgpu_bo_unref(bo);
	if (gpu_addr)
		*gpu_addr = 0;
	if (cpu_addr)
		*cpu_addr = NULL;
}

uint32_t amdgpu_doorbell_index_on_bar(struct amdgpu_device *adev, struct amdgpu_bo *db_bo,
				      uint32_t doorbell_index, uint32_t db_size)
{
	return to_sim_bo(db_bo)->doorbell_offset / sizeof(u32) +
	       doorbell_index * DIV_ROUND_UP(db_size, sizeof(u32));
}

int amdgpu_amdkfd_alloc_gtt_mem(struct amdgpu_device *adev, size_t size, void **mem_obj,
				uint64_t *gpu_addr, void **cpu_ptr, bool mqd_gfx9)
{
	struct sim_bo *bo;
	int r;

	r = sim_bo_create(to_sim(adev), SIM_BO_GTT, size, &bo);
	if (r)
		return r;
	r = sim_bo_gart_map(bo);
	if (!r)
		r = sim_bo_kmap(bo);
	if (r) {
		sim_bo_put(bo);
		return r;
	}
	*mem_obj = &bo->abo;
	*gpu_addr = bo->gart;
	*cpu_ptr = bo->kptr;
	return 0;
}

void amdgpu_amdkfd_free_gtt_mem(struct amdgpu_device *adev, void **mem_obj)
{
	amdgpu_bo_unref((struct amdgpu_bo **)mem_obj);
}

int amdgpu_amdkfd_map_gtt_bo_to_gart(struct amdgpu_bo *abo, struct amdgpu_bo **bo_gart)
{
	int r = sim_bo_gart_map(to_sim_bo(abo));

	if (r)
		return r;
	*bo_gart = amdgpu_bo_ref(abo);
	return 0;
}

/* ---- Calls of the engine ------------------------------------------------ */

int sim_mc_walk(struct sim_gpu *sim, u64 addr, struct sim_xlat *xlat)
{
	struct sim_mem *mem = sim->mem;
	struct page *page = NULL;
	unsigned long flags, i;

	spin_lock_irqsave(&mem->lock, flags);
	if (addr >= SIM_VRAM_START) {
		i = (addr - SIM_VRAM_START) >> PAGE_SHIFT;
		if (i < mem->vram_pages)
			page = mem->vram[i];
		xlat->flags = 0;
	} else {
		i = (addr - SIM_GART_START) >> PAGE_SHIFT;
		if (i < mem->gart_pages)
			page = mem->gart[i];
		xlat->flags = AMDGPU_PTE_SYSTEM;
	}
	if (page)
		get_page(page);
	spin_unlock_irqrestore(&mem->lock, flags);
	if (!page)
		return -EFAULT;
	xlat->flags |= AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE;
	xlat->page = page;
	xlat->doorbell = false;
	return 0;
}

static int mc_copy(struct sim_gpu *sim, u64 addr, void *buf, size_t len, bool write)
{
	while (len) {
		size_t off = offset_in_page(addr);
		size_t n = min_t(size_t, len, PAGE_SIZE - off);
		struct sim_xlat x;
		int r = sim_mc_walk(sim, addr, &x);

		if (r)
			return r;
		if (write)
			memcpy(page_address(x.page) + off, buf, n);
		else
			memcpy(buf, page_address(x.page) + off, n);
		put_page(x.page);
		addr += n;
		buf += n;
		len -= n;
	}
	return 0;
}

int sim_mc_read(struct sim_gpu *sim, u64 addr, void *buf, size_t len)
{
	return mc_copy(sim, addr, buf, len, false);
}

int sim_mc_write(struct sim_gpu *sim, u64 addr, const void *buf, size_t len)
{
	return mc_copy(sim, addr, (void *)buf, len, true);
}
