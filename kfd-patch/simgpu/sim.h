/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The software GPU, in two halves.
 *
 * The driver half (this header's "Offered by the driver half") stands in for amdgpu: devices,
 * buffers, page tables, doorbell pages, interrupts, reset, suspend. The engine half ("Offered
 * by the engine") is the hardware: a file of registers, HQDs, TLB, command processor, SDMA,
 * waves, a clock. They meet here only, and at the level of the real machine: registers,
 * doorbells, memory by GPU address, interrupt ring entries.
 *
 * Locks. The driver half calls sim_reg_read() and sim_reg_write() with adev->srbm_mutex or
 * adev->grbm_idx_mutex held or not, in process context; it calls sim_tlb_flush() from process
 * context, with locks of the KFD held. The engine must not take the driver's mutexes
 * (srbm_mutex among them). The functions that it calls here take spinlocks only, and allow
 * disabled preemption unless stated otherwise.
 */
#ifndef SIM_H
#define SIM_H

#include <linux/device.h>
#include <linux/types.h>

/* Registers of an XCC, in dwords; those of the next one follow. */
#define SIM_XCC_REGS 0x20000

struct amdgpu_device;
struct dentry;
struct page;
struct sim_engine;
struct sim_mem;
struct sim_ih;

/**
 * struct sim_gpu - one software GPU
 * @adev: the driver's device. The engine may read reg_offset (so that SOC15_REG_OFFSET
 *	works), gfx.mec.num_pipe_per_mec, num_queue_per_pipe, gfx.config, gfx.cu_info and
 *	sdma.num_instances, nothing else
 * @dev: for dev_info() and the like
 * @index: 0 for the first
 * @hqds: compute queue slots that the KFD may use, of MEC 1
 * @first_vmid, @vmids: address spaces of the KFD: first_vmid to first_vmid + vmids - 1.
 *	VMID 0 is the driver's own
 * @mes: the firmware's scheduler is MES
 * @mes_slots: slots that MES may use, by sim_hqd.index
 * @xccs: XCCs, which share each queue
 * @athub_shift: where ATHUB lies, from ATHUB 1.0's place
 * @cus: compute units of each XCC, over all shader engines
 * @vram_bytes: size of video memory
 * @doorbells: the doorbell BAR as the CPU's stores find it. Users' stores land here
 *	unseen: the engine has to look. DOORBELL_OFFSET of an HQD counts dwords from here
 * @doorbell_bytes: size of @doorbells
 * @debugfs: directory of this GPU, /sys/kernel/debug/simgpu/@index; the engine adds its
 *	files in sim_engine_create()
 * @engine: the engine's own, set by sim_engine_create()
 * @mem: the driver half's memory
 * @ih: the driver half's interrupt ring
 */
struct sim_gpu {
	struct amdgpu_device *adev;
	struct device *dev;
	unsigned int index;
	unsigned int hqds;
	unsigned int first_vmid;
	unsigned int vmids;
	bool mes;
	u32 mes_slots;
	unsigned int xccs;
	unsigned int athub_shift;
	unsigned int cus;
	u64 vram_bytes;
	u64 *doorbells;
	size_t doorbell_bytes;
	struct dentry *debugfs;
	struct sim_engine *engine;
	struct sim_mem *mem;
	struct sim_ih *ih;
};

/* ---- Offered by the driver half ---------------------------------------- */

/**
 * struct sim_xlat - translation of one page of GPU virtual addresses
 * @page: 4 KiB of memory, with a reference for the caller, released by put_page()
 * @flags: AMDGPU_PTE_* of the page table entry (READABLE, WRITEABLE, EXECUTABLE, SYSTEM)
 * @doorbell: the page is one of sim_gpu.doorbells: a store rings
 *
 * A TLB keeps the page's reference with its entry. A stale entry then reads and writes a page
 * without a user, or one of another process by now, but never memory of the kernel.
 */
struct sim_xlat {
	struct page *page;
	u64 flags;
	bool doorbell;
};

/**
 * sim_vm_walk - walk the page tables of a VMID
 * @sim: the GPU
 * @pt_base: VM_CONTEXTn_PAGE_TABLE_BASE_ADDR_HI32:LO32 as it was written
 * @va: GPU virtual address, any in the page
 * @xlat: out
 *
 * Four levels, gfx9's format (PDB2, PDB1, PDB0, PTB of 512 entries). This is
 * the walk alone: no TLB. For VMID 0 see sim_mc_walk().
 *
 * Return: 0; -EFAULT: not mapped; -ENXIO: @pt_base names no page directory.
 */
int sim_vm_walk(struct sim_gpu *sim, u64 pt_base, u64 va, struct sim_xlat *xlat);

/**
 * sim_mc_walk - translate an address of VMID 0
 * @sim: the GPU
 * @addr: in VRAM's or the GART's aperture of the memory controller
 * @xlat: out
 *
 * Return: 0; -EFAULT: nothing there.
 */
int sim_mc_walk(struct sim_gpu *sim, u64 addr, struct sim_xlat *xlat);

/**
 * sim_mc_read, sim_mc_write - copy from and to an address of VMID 0
 * @sim: the GPU
 * @addr: see sim_mc_walk()
 * @buf: kernel memory
 * @len: in bytes; may cross pages
 *
 * Return: 0; -EFAULT: (partly) nothing there.
 */
int sim_mc_read(struct sim_gpu *sim, u64 addr, void *buf, size_t len);
int sim_mc_write(struct sim_gpu *sim, u64 addr, const void *buf, size_t len);

#define SIM_IH_DWORDS 8

/**
 * sim_ih_raise - put an entry into the interrupt ring
 * @sim: the GPU
 * @entry: SIM_IH_DWORDS in the format of vega10's IH
 *
 * The entry has client_id, source_id, ring_id and vmid in dword 0, pasid from the IH's own
 * table in dword 3, and context ids in dwords 4 to 7. This fills in the timestamp (dwords 1,
 * 2).
 *
 * The driver half passes it to kgd2kfd_interrupt() from a thread, after the delay in debugfs
 * "ih_delay_ns". Any context but NMI.
 */
void sim_ih_raise(struct sim_gpu *sim, const u32 entry[SIM_IH_DWORDS]);

/* ---- Offered by the engine --------------------------------------------- */

/**
 * sim_engine_create - power on: registers at their reset values, clock running
 * @sim: filled in but for @engine. The BAR, memory and interrupts work
 *
 * Return: 0 or a negative errno.
 */
int sim_engine_create(struct sim_gpu *sim);

/**
 * sim_engine_destroy - power off, and wait until nothing runs any more
 * @sim: the GPU. All TLB references are put. May be called when create failed
 */
void sim_engine_destroy(struct sim_gpu *sim);

/**
 * sim_engine_suspend - the power goes: registers, TLB and waves are lost
 * @sim: the GPU. On return nothing runs. Memory stays
 */
void sim_engine_suspend(struct sim_gpu *sim);

/**
 * sim_engine_resume - the power is back: registers at their reset values
 * @sim: the GPU
 *
 * Return: 0 or a negative errno.
 */
int sim_engine_resume(struct sim_gpu *sim);

/**
 * sim_engine_reset - reset of the whole GPU
 * @sim: the GPU. As suspend and resume, but faults planted by debugfs that
 *	stand for a hung queue end too
 *
 * Return: 0 or a negative errno.
 */
int sim_engine_reset(struct sim_gpu *sim);

/**
 * sim_reg_read, sim_reg_write - MMIO
 * @sim: the GPU
 * @reg: offset in dwords, as RREG32() and WREG32() take it. Banked registers
 *	go by GRBM_GFX_CNTL and GRBM_GFX_INDEX
 *
 * Process context. Does not sleep.
 */
u32 sim_reg_read(struct sim_gpu *sim, u32 reg);
void sim_reg_write(struct sim_gpu *sim, u32 reg, u32 value);

/**
 * sim_hws_map_hiq, sim_hws_unmap_hiq - the KIQ names the HIQ, and takes it away
 * @sim: the GPU
 * @mqd: address of its MQD
 *
 * The first: any context. The second may sleep; after it the HIQ's memory is unused.
 */
void sim_hws_map_hiq(struct sim_gpu *sim, u64 mqd);
void sim_hws_unmap_hiq(struct sim_gpu *sim);

/* What a VMID has of its process, as the registers take it. */
struct sim_binding {
	u32 pasid;
	u64 pt_base;
	u32 sh_mem_config;
	u32 sh_mem_bases;
	u64 tba;
	u64 tma;
};

/**
 * sim_mes_add_queue, sim_mes_remove_queue - MES takes a queue, and takes it off
 * @sim: the GPU, with @mes
 * @doorbell: its DOORBELL_OFFSET, which names it
 * @mqd: address of its MQD
 * @binding: its process
 *
 * May sleep: the second returns when the queue is saved.
 *
 * Return: 0; -ETIMEDOUT: no answer within MES's limit, nor ever after but for a reset;
 * -EINVAL: there is no such queue; -ENOSPC: there are too many.
 */
int sim_mes_add_queue(struct sim_gpu *sim, u32 doorbell, u64 mqd,
		      const struct sim_binding *binding);
int sim_mes_remove_queue(struct sim_gpu *sim, u32 doorbell);

/**
 * sim_tlb_flush - invalidate a VMID's entries in the TLB
 * @sim: the GPU
 * @vmid: 0 to 15
 * @type: enum TLB_FLUSH_TYPE of amdgpu_amdkfd.h
 *
 * Stands for a request in VM_INVALIDATE_ENGx_REQ and the wait for its acknowledgement. On
 * return no access under way uses an old translation. May sleep.
 */
void sim_tlb_flush(struct sim_gpu *sim, unsigned int vmid, unsigned int type);

/**
 * sim_mem_freed - a buffer of the GART is about to be given back
 * @sim: the GPU
 * @addr: see sim_mc_walk()
 * @bytes: size
 *
 * For a self-check: gfx9's MQDs are such buffers. (Those of SDMA queues are
 * parts of one that lives as long as the KFD; their engine does not read them.)
 * May sleep.
 */
void sim_mem_freed(struct sim_gpu *sim, u64 addr, u64 bytes);

/**
 * sim_check_gone - a self-check failed: the KFD's device goes, and processes have data of it
 * @sim: the GPU
 * @processes: how many
 */
void sim_check_gone(struct sim_gpu *sim, int processes);

/**
 * sim_gpu_clock - the GPU's clock counter (100 MHz), as in the timestamps that
 * it writes into signals
 * @sim: the GPU
 */
u64 sim_gpu_clock(struct sim_gpu *sim);

#endif
