// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Registers: a flat file by offset, the banks that GRBM_GFX_CNTL chooses, and the effects of
 * writes. Names, offsets and fields are those of the kernel's own register headers. The bank
 * of a register follows from the selections in amdgpu_amdkfd_gfx_v9.c.
 *
 * A write only notes a request; the engine's thread executes it. So no write sleeps, and the
 * driver may hold srbm_mutex over a wait.
 */
#include <linux/vmalloc.h>

#include "amdgpu.h"
#include "athub/athub_1_0_offset.h"
#include "athub/athub_1_0_sh_mask.h"
#include "gc/gc_9_0_offset.h"
#include "gc/gc_9_0_sh_mask.h"
#include "oss/osssys_4_0_offset.h"
#include "soc15_common.h"

#include "engine.h"

#define GC_REG(name) SOC15_REG_OFFSET(GC, 0, mm##name)
/* ATHUB 1.8 of GC 9.4.3 has its registers elsewhere: device.c moves the base for that. */
#define ATHUB_REG(name) (SOC15_REG_OFFSET(ATHUB, 0, mm##name) + e->sim->athub_shift)

/* Is @reg one of @count from @first on? Its place among them goes to @i. */
static bool in_regs(u32 reg, u32 first, u32 count, u32 *i)
{
	*i = reg - first;
	return *i < count;
}

static u32 selected(struct sim_engine *e, u32 mask, u32 shift)
{
	return (e->grbm_cntl & mask) >> shift;
}

static unsigned int selected_vmid(struct sim_engine *e)
{
	return selected(e, GRBM_GFX_CNTL__VMID_MASK, GRBM_GFX_CNTL__VMID__SHIFT);
}

static unsigned int selected_pipe(struct sim_engine *e)
{
	return selected(e, GRBM_GFX_CNTL__PIPEID_MASK, GRBM_GFX_CNTL__PIPEID__SHIFT);
}

/* me 0 is the graphics ring's, 1 and 2 are MEC 1 and 2; 3 there is none. */
static unsigned int selected_bank(struct sim_engine *e)
{
	u32 me = selected(e, GRBM_GFX_CNTL__MEID_MASK, GRBM_GFX_CNTL__MEID__SHIFT);
	u32 queue = selected(e, GRBM_GFX_CNTL__QUEUEID_MASK, GRBM_GFX_CNTL__QUEUEID__SHIFT);

	return (me % SIM_MES) * SIM_HQDS + selected_pipe(e) * SIM_PIPE_QUEUES + queue;
}

/* The compute queue that is selected, or NULL: only MEC 1's are built. */
static struct sim_hqd *selected_hqd(struct sim_engine *e)
{
	unsigned int bank = selected_bank(e);

	return bank / SIM_HQDS == 1 ? &e->hqds[bank % SIM_HQDS] : NULL;
}

static bool bank_active(const struct sim_hqd *hqd)
{
	return hqd->regs[HQD(HQD_ACTIVE)] & CP_HQD_ACTIVE__ACTIVE_MASK;
}

static void request(struct sim_engine *e, struct sim_hqd *hqd, unsigned long what)
{
	hqd->requests |= what;
	__set_bit(hqd->index, &e->request_map);
	sim_kick(e);
}

static void write_active(struct sim_engine *e, struct sim_hqd *hqd, u32 value)
{
	bool was = bank_active(hqd);

	hqd->regs[HQD(HQD_ACTIVE)] = value;
	if (value & CP_HQD_ACTIVE__ACTIVE_MASK) {
		if (was)
			return;
		hqd->load_ns = sim_now();
		request(e, hqd, SIM_REQ_LOAD);
	} else if (was) {
		request(e, hqd, SIM_REQ_OFF);
	}
}

static void write_dequeue(struct sim_engine *e, struct sim_hqd *hqd, u32 value)
{
	u32 type = value & CP_HQD_DEQUEUE_REQUEST__DEQUEUE_REQ_MASK;

	if (!type || !bank_active(hqd))
		return;
	/* Assumption: a second request while the first runs changes nothing,
	 * but for a reset after a request that the queue cannot carry out.
	 */
	if (hqd->regs[HQD(HQD_DEQUEUE_REQUEST)] && type != SIM_DEQUEUE_RESET)
		return;
	hqd->regs[HQD(HQD_DEQUEUE_REQUEST)] = value;
	hqd->dequeue_type = type;
	hqd->dequeue_ns = sim_now();
	request(e, hqd, SIM_REQ_DEQUEUE);
}

static void write_hqd(struct sim_engine *e, u32 i, u32 value)
{
	struct sim_hqd *hqd = selected_hqd(e);

	if (!hqd) {
		e->banks[selected_bank(e)][i] = value;
		return;
	}
	switch (i) {
	case HQD(HQD_ACTIVE):
		write_active(e, hqd, value);
		return;
	case HQD(HQD_DEQUEUE_REQUEST):
		write_dequeue(e, hqd, value);
		return;
	case 0:
		if (bank_active(hqd)) {
			sim_check(e, SIM_CHECK_SLOT_BUSY,
				  "HQD %u.%u is loaded while a queue is on it",
				  hqd->index / SIM_PIPE_QUEUES, hqd->index % SIM_PIPE_QUEUES);
			write_active(e, hqd, 0);
		}
		break;
	}
	hqd->regs[i] = value;
}

/* The driver's kgd_gfx_v9_get_queue_mask(): a bit per queue of MEC 1. */
static void write_poll(struct sim_engine *e, u32 mask)
{
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++)
		if (mask & BIT(i))
			request(e, &e->hqds[i], SIM_REQ_POLL);
}

static void reset_pipe(struct sim_engine *e, u32 value)
{
	unsigned int pipe, i;

	for (pipe = 0; pipe < SIM_PIPES; pipe++) {
		if (!(value & CP_MEC_CNTL__MEC_ME1_PIPE0_RESET_MASK << pipe) ||
		    READ_ONCE(e->params.fault_no_reset) & 2)
			continue;
		for (i = 0; i < SIM_PIPE_QUEUES; i++)
			write_active(e, &e->hqds[pipe * SIM_PIPE_QUEUES + i], 0);
	}
}

/*
 * A binding of @vmid changes. That is an error while a queue with it is on an HQD: only a
 * queue with a pending dequeue may lose its address space.
 */
static void check_vmid_change(struct sim_engine *e, unsigned int vmid, const char *what, u32 from,
			      u32 to)
{
	unsigned int i;

	if (from == to)
		return;
	for (i = 0; i < SIM_HQDS; i++) {
		struct sim_hqd *hqd = &e->hqds[i];

		if (!bank_active(hqd) || (hqd->regs[HQD(HQD_VMID)] & 0xf) != vmid)
			continue;
		if (!to && hqd->regs[HQD(HQD_DEQUEUE_REQUEST)])
			continue;
		sim_check(e, SIM_CHECK_VMID_LIVE,
			  "%s of VMID %u goes from %#x to %#x under HQD %u.%u", what, vmid, from,
			  to, i / SIM_PIPE_QUEUES, i % SIM_PIPE_QUEUES);
	}
}

static bool write_athub(struct sim_engine *e, u32 reg, u32 value)
{
	struct amdgpu_device *adev = e->sim->adev;
	u32 status = ATHUB_REG(ATC_VMID_PASID_MAPPING_UPDATE_STATUS);
	u32 vmid;

	if (reg == status) {
		e->regs[reg] &= ~value; /* the driver acknowledges by a one */
		return true;
	}
	if (in_regs(reg, ATHUB_REG(ATC_VMID0_PASID_MAPPING), SIM_VMIDS, &vmid)) {
		check_vmid_change(e, vmid, "pasid", e->regs[reg], value);
		e->regs[reg] = value;
		e->regs[status] |= BIT(vmid);
		sim_event_vmid(e, SIM_EV_VMID, vmid, value & ATC_VMID0_PASID_MAPPING__PASID_MASK,
			       value);
		return true;
	}
	if (in_regs(reg, ATHUB_REG(ATC_VMID16_PASID_MAPPING), SIM_VMIDS, &vmid)) {
		e->regs[reg] = value;
		e->regs[status] |= BIT(vmid + 16);
		return true;
	}
	return false;
}

static void set_half(u64 *to, bool high, u32 value)
{
	if (high)
		*to = (u64)value << 32 | lower_32_bits(*to);
	else
		*to = (*to & ~0xffffffffull) | value;
}

/* Registers that each VMID has its own of. */
static bool write_vmid(struct sim_engine *e, u32 reg, u32 value)
{
	struct amdgpu_device *adev = e->sim->adev;
	struct sim_vmid *vm = &e->vmids[selected_vmid(e)];

	if (reg == GC_REG(SH_MEM_CONFIG))
		vm->sh_mem_config = value;
	else if (reg == GC_REG(SH_MEM_BASES))
		WRITE_ONCE(vm->sh_mem_bases, value);
	else if (reg == GC_REG(SQ_SHADER_TBA_LO) || reg == GC_REG(SQ_SHADER_TBA_HI))
		set_half(&vm->tba, reg == GC_REG(SQ_SHADER_TBA_HI), value);
	else if (reg == GC_REG(SQ_SHADER_TMA_LO) || reg == GC_REG(SQ_SHADER_TMA_HI))
		set_half(&vm->tma, reg == GC_REG(SQ_SHADER_TMA_HI), value);
	else
		return false;
	return true;
}

static bool write_gc(struct sim_engine *e, u32 reg, u32 value)
{
	struct amdgpu_device *adev = e->sim->adev;
	struct sim_hqd *hqd;
	u32 i;

	if (in_regs(reg, GC_REG(CP_MQD_BASE_ADDR), SIM_HQD_REGS, &i)) {
		write_hqd(e, i, value);
		return true;
	}
	if (reg == GC_REG(GRBM_GFX_CNTL)) {
		e->grbm_cntl = value;
		return true;
	}
	if (reg == GC_REG(CP_PQ_WPTR_POLL_CNTL1)) {
		write_poll(e, value);
		return true;
	}
	if (reg == GC_REG(SPI_COMPUTE_QUEUE_RESET)) {
		hqd = selected_hqd(e);
		if (hqd && (value & 1) && bank_active(hqd))
			request(e, hqd, SIM_REQ_QUEUE_RESET);
		return true;
	}
	if (reg == GC_REG(SQC_CACHES)) {
		if (value & SQC_CACHES__INVALIDATE_MASK && value & SQC_CACHES__TARGET_INST_MASK &&
		    !sim_silicon(SIM_SILICON_ICACHE_KEPT))
			WRITE_ONCE(e->code_epoch, e->code_epoch + 1);
		return true;
	}
	if (reg == GC_REG(CP_MEC_CNTL)) {
		reset_pipe(e, value);
		return false;
	}
	if (reg == GC_REG(SQ_CMD)) {
		/* Assumption: KILL looks at VM_ID even without CHECK_VMID. The
		 * KFD sets the one and not the other when it kills the waves of
		 * one process.
		 */
		if ((value & SQ_CMD__CMD_MASK) == 3) {
			e->kill_vmids |= BIT(value >> SQ_CMD__VM_ID__SHIFT & 0xf);
			sim_kick(e);
		}
		return true;
	}
	if (in_regs(reg, GC_REG(VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32), 2 * SIM_VMIDS, &i)) {
		check_vmid_change(e, i / 2, "page table base", e->regs[reg], value);
		return false;
	}
	return write_vmid(e, reg, value);
}

void sim_reg_write(struct sim_gpu *sim, u32 reg, u32 value)
{
	struct sim_engine *e = sim->engine;

	if (WARN_ON_ONCE(reg >= SIM_REGS * e->sim->xccs))
		return;
	spin_lock(&e->reg_lock);
	if (e->powered && !sim_xcc_write(e, reg, value) && !write_gc(e, reg, value) &&
	    !write_athub(e, reg, value) && !sim_sdma_write(e, reg, value))
		e->regs[reg] = value;
	spin_unlock(&e->reg_lock);
}

static bool read_vmid(struct sim_engine *e, u32 reg, u32 *value)
{
	struct amdgpu_device *adev = e->sim->adev;
	struct sim_vmid *vm = &e->vmids[selected_vmid(e)];

	if (reg == GC_REG(SH_MEM_CONFIG))
		*value = vm->sh_mem_config;
	else if (reg == GC_REG(SH_MEM_BASES))
		*value = vm->sh_mem_bases;
	else if (reg == GC_REG(SQ_SHADER_TBA_LO))
		*value = lower_32_bits(vm->tba);
	else if (reg == GC_REG(SQ_SHADER_TBA_HI))
		*value = upper_32_bits(vm->tba);
	else if (reg == GC_REG(SQ_SHADER_TMA_LO))
		*value = lower_32_bits(vm->tma);
	else if (reg == GC_REG(SQ_SHADER_TMA_HI))
		*value = upper_32_bits(vm->tma);
	else
		return false;
	return true;
}

static u32 active_map(struct sim_engine *e)
{
	u32 map = 0;
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++)
		if (bank_active(&e->hqds[i]))
			map |= BIT(i);
	return map;
}

static u32 reg_read(struct sim_engine *e, u32 reg)
{
	struct amdgpu_device *adev = e->sim->adev;
	u32 i, value;

	if (in_regs(reg, GC_REG(CP_MQD_BASE_ADDR), SIM_HQD_REGS, &i))
		return e->banks[selected_bank(e)][i];
	if (reg == GC_REG(GRBM_GFX_CNTL))
		return e->grbm_cntl;
	if (reg == GC_REG(SPI_CSQ_WF_ACTIVE_STATUS))
		return active_map(e);
	if (in_regs(reg, GC_REG(SPI_CSQ_WF_ACTIVE_COUNT_0), SIM_PIPE_QUEUES, &i))
		return sim_hqd_waves(&e->hqds[selected_pipe(e) * SIM_PIPE_QUEUES + i]);
	if (read_vmid(e, reg, &value))
		return value;
	return e->regs[reg];
}

u32 sim_reg_read(struct sim_gpu *sim, u32 reg)
{
	struct sim_engine *e = sim->engine;
	u32 value = 0xffffffff; /* PCIe's value when no device answers */

	if (WARN_ON_ONCE(reg >= SIM_REGS * e->sim->xccs))
		return value;
	spin_lock(&e->reg_lock);
	if (e->powered && !sim_xcc_read(e, reg, &value))
		value = reg_read(e, reg);
	spin_unlock(&e->reg_lock);
	return value;
}

/* VM_CONTEXTn_PAGE_TABLE_BASE_ADDR_HI32:LO32 of @vmid. */
u64 sim_regs_pt_base(struct sim_engine *e, unsigned int vmid)
{
	struct amdgpu_device *adev = e->sim->adev;
	u32 lo = GC_REG(VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32) + 2 * vmid;

	return (u64)READ_ONCE(e->regs[lo + 1]) << 32 | READ_ONCE(e->regs[lo]);
}

u32 sim_regs_pasid(struct sim_engine *e, unsigned int vmid)
{
	struct amdgpu_device *adev = e->sim->adev;

	return READ_ONCE(e->regs[ATHUB_REG(ATC_VMID0_PASID_MAPPING) + vmid]) &
	       ATC_VMID0_PASID_MAPPING__PASID_MASK;
}

/* The firmware gives a VMID to a process; no queue with the VMID is on a slot. */
void sim_regs_bind_vmid(struct sim_engine *e, unsigned int vmid, const struct sim_binding *b)
{
	struct amdgpu_device *adev = e->sim->adev;
	u32 base = GC_REG(VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32) + 2 * vmid;
	struct sim_vmid *vm = &e->vmids[vmid];

	spin_lock(&e->reg_lock);
	e->regs[base] = lower_32_bits(b->pt_base);
	e->regs[base + 1] = upper_32_bits(b->pt_base);
	e->regs[ATHUB_REG(ATC_VMID0_PASID_MAPPING) + vmid] = b->pasid |
							     ATC_VMID0_PASID_MAPPING__VALID_MASK;
	vm->sh_mem_config = b->sh_mem_config;
	WRITE_ONCE(vm->sh_mem_bases, b->sh_mem_bases);
	vm->tba = b->tba;
	vm->tma = b->tma;
	spin_unlock(&e->reg_lock);
	sim_event_vmid(e, SIM_EV_VMID, vmid, b->pasid, b->pasid);
}

/* Everything as after power-on. Nothing is active then. */
void sim_regs_power_on(struct sim_engine *e)
{
	unsigned int i;

	memset(e->regs, 0, SIM_REGS * sizeof(*e->regs));
	memset(e->banks, 0, sizeof(e->banks));
	e->grbm_cntl = 0;
	e->kill_vmids = 0;
	e->request_map = 0;
	for (i = 0; i < SIM_HQDS; i++)
		e->hqds[i].requests = 0;
	for (i = 0; i < SIM_VMIDS; i++) {
		e->vmids[i].sh_mem_config = 0;
		e->vmids[i].sh_mem_bases = 0;
		e->vmids[i].tba = 0;
		e->vmids[i].tma = 0;
	}
	sim_xcc_power_on(e);
	sim_sdma_power_on(e);
}

int sim_regs_init(struct sim_engine *e)
{
	unsigned int i;

	BUILD_BUG_ON(mmCP_HQD_PQ_WPTR_HI - mmCP_MQD_BASE_ADDR + 1 != SIM_HQD_REGS);
	e->regs = vzalloc(SIM_REGS * sizeof(*e->regs));
	if (!e->regs)
		return -ENOMEM;
	for (i = 0; i < SIM_HQDS; i++)
		e->hqds[i].regs = e->banks[SIM_HQDS + i];
	if (sim_xcc_init(e))
		return -ENOMEM;
	sim_regs_power_on(e);
	return 0;
}

void sim_regs_fini(struct sim_engine *e)
{
	sim_xcc_fini(e);
	vfree(e->regs);
}
