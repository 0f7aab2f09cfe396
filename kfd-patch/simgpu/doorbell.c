// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sleeping until a doorbell is rung.
 *
 * Doorbells are memory that processes write to unseen, so an engine with an active queue must
 * poll them. An engine that was idle for a while removes the pages from the processes' page
 * tables instead. The first store after that faults, gets the page back, and wakes the engine.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>

#include "doorbell_hook.h"
#include "engine.h"

#undef io_remap_pfn_range
#undef writeq

static DEFINE_SPINLOCK(engines_lock);
static LIST_HEAD(engines);

void sim_doorbells_init(struct sim_engine *e)
{
	spin_lock(&engines_lock);
	list_add(&e->link, &engines);
	spin_unlock(&engines_lock);
}

void sim_doorbells_fini(struct sim_engine *e)
{
	unsigned int i;

	spin_lock(&engines_lock);
	list_del(&e->link);
	spin_unlock(&engines_lock);
	for (i = 0; i < e->mapped_files; i++)
		iput(e->mapped[i].inode);
}

/*
 * The engine with the doorbell at @pfn. It lives while a mapping does: the mapped file holds
 * the module.
 */
static struct sim_engine *find_engine(unsigned long pfn)
{
	struct sim_engine *e, *found = NULL;

	spin_lock(&engines_lock);
	list_for_each_entry (e, &engines, link) {
		unsigned long first = PHYS_PFN(virt_to_phys(e->sim->doorbells));

		if (pfn - first < e->sim->doorbell_bytes >> PAGE_SHIFT)
			found = e;
	}
	spin_unlock(&engines_lock);
	return found;
}

/* Polls again, for a while at least: the store is yet to come. */
static void disarm(struct sim_engine *e)
{
	WRITE_ONCE(e->last_work_ns, sim_now());
	WRITE_ONCE(e->armed, false);
	sim_kick(e);
}

static vm_fault_t doorbell_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long first = (unsigned long)vma->vm_private_data;
	unsigned long pfn = first + ((vmf->address - vma->vm_start) >> PAGE_SHIFT);
	struct sim_engine *e = find_engine(pfn);
	vm_fault_t ret;

	if (!e)
		return VM_FAULT_SIGBUS;
	ret = vmf_insert_pfn(vma, vmf->address, pfn);
	/* Not earlier: the engine could be asleep again when the page comes. */
	disarm(e);
	return ret;
}

static const struct vm_operations_struct doorbell_vm_ops = {
	.fault = doorbell_fault,
};

/*
 * Remembers the file and offset of doorbell mappings: all processes use the same, unless the
 * device has several nodes.
 */
static bool remember(struct sim_engine *e, const struct vm_area_struct *vma)
{
	struct inode *inode = file_inode(vma->vm_file);
	unsigned int i;
	bool known = false;

	spin_lock(&engines_lock);
	for (i = 0; i < e->mapped_files; i++)
		known |= e->mapped[i].inode == inode && e->mapped[i].pgoff == vma->vm_pgoff;
	if (!known && e->mapped_files < SIM_MAPPED_FILES) {
		ihold(inode);
		e->mapped[e->mapped_files].inode = inode;
		e->mapped[e->mapped_files].mapping = vma->vm_file->f_mapping;
		e->mapped[e->mapped_files].pgoff = vma->vm_pgoff;
		e->mapped_files++;
		known = true;
	}
	spin_unlock(&engines_lock);
	return known;
}

/* Stands in for io_remap_pfn_range() in kfd_doorbell.c. */
int sim_map_doorbells(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn,
		      unsigned long size, pgprot_t prot)
{
	struct sim_engine *e = find_engine(pfn);
	int err;

	if (!e)
		return -ENXIO;
	if (remember(e, vma)) {
		/*
		 * Pages come by faults only: until this returns, arming does not find the
		 * mapping, and would miss pages that are mapped here.
		 */
		vma->vm_ops = &doorbell_vm_ops;
		vma->vm_private_data = (void *)pfn;
		return 0;
	}
	WRITE_ONCE(e->cannot_arm, true);
	err = io_remap_pfn_range(vma, addr, pfn, size, prot);
	disarm(e);
	return err;
}

/* Stands in for writeq() in kfd_doorbell.c: the HIQ's doorbell. */
void sim_writeq(u64 value, volatile void __iomem *addr)
{
	struct sim_engine *e = find_engine(PHYS_PFN(virt_to_phys((void __force *)addr)));

	WRITE_ONCE(*(u64 __force *)addr, value);
	if (e)
		sim_kick(e);
}

/**
 * sim_doorbells_arm - have the next store to a doorbell wake the engine
 * @e: the engine, without any lock: this waits for locks that page reclaim holds
 *
 * The caller must check doorbells once more after this.
 */
void sim_doorbells_arm(struct sim_engine *e)
{
	unsigned int i, count = READ_ONCE(e->mapped_files);

	WRITE_ONCE(e->armed, true);
	smp_mb(); /* before the pages are removed: a later fault clears it */
	for (i = 0; i < count; i++)
		unmap_mapping_range(e->mapped[i].mapping, (loff_t)e->mapped[i].pgoff << PAGE_SHIFT,
				    e->sim->doorbell_bytes, 1);
}
