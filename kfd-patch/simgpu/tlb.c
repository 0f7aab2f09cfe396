// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A TLB per VMID, and memory by a queue's virtual addresses.
 *
 * An entry lives until its VMID is flushed or its place is needed, even if the page tables
 * change. It is an assumption that gfx9's L2 TLB keeps entries over a change of the page table
 * base. The driver's flushes after every unmapping show that it keeps them over a change of
 * the page tables.
 *
 * The instruction cache is tagged by VMID and address, too (Assumption; "Vega" ISA, 4.1 names the
 * cache). ACQUIRE_MEM and SQC_CACHES invalidate it, for all VMIDs. AQL packets do not.
 *
 * An entry holds a reference on its page, so a stale one reads and writes old memory, never
 * unrelated memory. Each use is compared with a walk of the page tables: a stale use is
 * counted, and reported by a self-check.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "amdgpu.h"
#include "soc15_int.h"

#include "engine.h"

static bool sim_icache = true;
module_param(sim_icache, bool, 0444);
MODULE_PARM_DESC(sim_icache, "instruction caches keep code until they are invalidated");

static const char *stale_kind(const struct sim_tlb_entry *entry, u64 pt_base, int err,
			      const struct sim_xlat *now)
{
	if (entry->pt_base != pt_base)
		return "of another address space";
	if (err)
		return "of an unmapped page";
	if (now->page != entry->page)
		return "of a page that moved";
	if (now->flags != entry->flags)
		return "with old rights";
	return NULL;
}

static void check_stale(struct sim_engine *e, unsigned int vmid, u64 pt_base,
			const struct sim_tlb_entry *entry)
{
	u64 va = entry->page_number << PAGE_SHIFT;
	struct sim_xlat now;
	const char *stale;
	int err;

	err = sim_vm_walk(e->sim, pt_base, va, &now);
	stale = stale_kind(entry, pt_base, err, &now);
	if (stale)
		sim_check(e, SIM_CHECK_STALE_TLB, "VMID %u uses a translation %s, at %#llx", vmid,
			  stale, va);
	if (!err)
		put_page(now.page);
}

static struct sim_tlb_entry *lookup(struct sim_engine *e, unsigned int vmid, u64 va)
{
	struct sim_vmid *vm = &e->vmids[vmid];
	u64 page_number = va >> PAGE_SHIFT;
	u64 pt_base = sim_regs_pt_base(e, vmid);
	struct sim_tlb_entry *entry = &vm->tlb[hash_64(page_number, SIM_TLB_BITS)];
	struct sim_xlat xlat;

	if (entry->page && entry->page_number == page_number) {
		check_stale(e, vmid, pt_base, entry);
		return entry;
	}
	if (sim_vm_walk(e->sim, pt_base, va, &xlat))
		return NULL;
	if (entry->page)
		put_page(entry->page);
	entry->page_number = page_number;
	entry->pt_base = pt_base;
	entry->flags = xlat.flags;
	entry->page = xlat.page;
	e->tlb_fills++;
	return entry;
}

/**
 * sim_va_ptr - memory behind a virtual address
 * @e: the engine, run_lock held
 * @vmid: address space
 * @va: address
 * @access: GFX9_READ, GFX9_WRITE, GFX9_EXECUTE, or several
 * @span: out: bytes from there to the end of the page; may be NULL
 *
 * Return: an address that is good until run_lock is given up or the next call,
 * or NULL for a fault. Does not sleep.
 */
void *sim_va_ptr(struct sim_engine *e, unsigned int vmid, u64 va, u32 access, u64 *span)
{
	struct sim_tlb_entry *entry = lookup(e, vmid, va);
	u64 need = 0;

	if (!entry)
		return NULL;
	if (access & GFX9_READ)
		need |= AMDGPU_PTE_READABLE;
	if (access & GFX9_WRITE)
		need |= AMDGPU_PTE_WRITEABLE;
	if (access & GFX9_EXECUTE)
		need |= AMDGPU_PTE_EXECUTABLE;
	if ((entry->flags & need) != need)
		return NULL;
	if (span)
		*span = PAGE_SIZE - offset_in_page(va);
	return page_address(entry->page) + offset_in_page(va);
}

int sim_va_read(struct sim_engine *e, unsigned int vmid, u64 va, void *buf, size_t len)
{
	while (len) {
		u64 span;
		void *from = sim_va_ptr(e, vmid, va, GFX9_READ, &span);

		if (!from)
			return -EFAULT;
		span = min_t(u64, span, len);
		memcpy(buf, from, span);
		buf += span;
		va += span;
		len -= span;
	}
	return 0;
}

int sim_va_write(struct sim_engine *e, unsigned int vmid, u64 va, const void *buf, size_t len)
{
	while (len) {
		u64 span;
		void *to = sim_va_ptr(e, vmid, va, GFX9_WRITE, &span);

		if (!to)
			return -EFAULT;
		span = min_t(u64, span, len);
		memcpy(to, buf, span);
		buf += span;
		va += span;
		len -= span;
	}
	return 0;
}

void sim_tlb_invalidate(struct sim_engine *e, unsigned int vmid)
{
	struct sim_tlb_entry *tlb = e->vmids[vmid].tlb;
	unsigned int i;

	for (i = 0; tlb && i < SIM_TLB_ENTRIES; i++) {
		if (tlb[i].page)
			put_page(tlb[i].page);
		tlb[i].page = NULL;
	}
}

void sim_tlb_flush(struct sim_gpu *sim, unsigned int vmid, unsigned int type)
{
	struct sim_engine *e = sim->engine;

	if (WARN_ON_ONCE(vmid >= SIM_VMIDS))
		return;
	/* The interpreter keeps addresses only within a run, under run_lock. */
	mutex_lock(&e->run_lock);
	if (!sim_silicon(SIM_SILICON_TLB_KEPT) || sim_hqd_has_vmid(e, vmid))
		sim_tlb_invalidate(e, vmid);
	e->tlb_flushes++;
	mutex_unlock(&e->run_lock);
	sim_event_vmid(e, SIM_EV_FLUSH, vmid, sim_regs_pasid(e, vmid), type);
}

static void *wave_translate(void *ctx, u64 va, u32 access, u64 *span)
{
	struct sim_vmid *vm = ctx;

	return sim_va_ptr(vm->engine, vm - vm->engine->vmids, va, access, span);
}

static u64 wave_clock(void *ctx, bool shader)
{
	struct sim_vmid *vm = ctx;

	/* Assumption: a shader clock of 1 GHz. */
	return shader ? sim_now() : sim_gpu_clock(vm->engine->sim);
}

/* s_sendmsg of MSG_INTERRUPT: kfd_int_process_v9.c, SQ_INTERRUPT_WORD_WAVE_CTXID. */
static void wave_message(void *ctx, u32 message, u32 m0)
{
	struct sim_vmid *vm = ctx;
	const u32 encoding_inst = 1;
	u32 context0 = (m0 & 0xfff) | (m0 & 0xf000) << 16 | encoding_inst << 26;

	if ((message & 0xf) != 1)
		return;
	sim_interrupt(vm->engine, vm - vm->engine->vmids, SOC15_IH_CLIENTID_SE0SH,
		      SOC15_INTSRC_SQ_INTERRUPT_MSG, 0, context0, m0 >> 16 & 0xff);
}

static const struct gfx9_ops wave_ops = {
	.translate = wave_translate,
	.clock = wave_clock,
	.message = wave_message,
};

/* The runner of a VMID's waves, with the apertures that SH_MEM_BASES says. */
struct gfx9_env *sim_vmid_env(struct sim_engine *e, unsigned int vmid)
{
	struct sim_vmid *vm = &e->vmids[vmid];
	u32 bases = READ_ONCE(vm->sh_mem_bases);

	if (vm->env_bases != bases) {
		struct gfx9_env_config config = {
			.ops = &wave_ops,
			.ctx = vm,
			.shared_base = (u64)(bases >> 16) << 48,
			.private_base = (u64)(bases & 0xffff) << 48,
			.keeps_code = sim_icache,
		};

		gfx9_env_init(vm->env, &config);
		vm->env_bases = bases;
	}
	if (vm->code_epoch != READ_ONCE(e->code_epoch)) {
		vm->code_epoch = READ_ONCE(e->code_epoch);
		gfx9_env_drop_code(vm->env);
	}
	return vm->env;
}

int sim_tlb_init(struct sim_engine *e)
{
	unsigned int vmid;

	for (vmid = 0; vmid < SIM_VMIDS; vmid++) {
		struct sim_vmid *vm = &e->vmids[vmid];
		struct gfx9_env_config config = { .ops = &wave_ops, .ctx = vm };

		vm->engine = e;
		if (vmid < e->sim->first_vmid || vmid >= e->sim->first_vmid + e->sim->vmids)
			continue;
		vm->tlb = kvcalloc(SIM_TLB_ENTRIES, sizeof(*vm->tlb), GFP_KERNEL);
		vm->env = kvzalloc(gfx9_env_bytes(), GFP_KERNEL);
		if (!vm->tlb || !vm->env)
			return -ENOMEM;
		gfx9_env_init(vm->env, &config);
	}
	return 0;
}

void sim_tlb_fini(struct sim_engine *e)
{
	unsigned int vmid;

	for (vmid = 0; vmid < SIM_VMIDS; vmid++) {
		sim_tlb_invalidate(e, vmid);
		kvfree(e->vmids[vmid].tlb);
		kvfree(e->vmids[vmid].env);
	}
}
