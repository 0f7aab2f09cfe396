// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The other XCCs of a card with several (MI300X: six in one partition).
 *
 * Each has registers and slots of its own. A queue is on one slot of the same number on all of
 * them, each with its part of the save area, and all take part in each packet.
 *
 * Assumption, to keep this small: XCC 0 executes all workgroups, with as many CUs as each XCC has.
 * The others only take part in loading and unloading. No packet is launched before all have the
 * queue. Each leaves its slot after the modelled time of a save without waves. What the driver
 * does to them is checked: the queue, its VMID and trap handler have to be the same on all, and
 * their save areas apart.
 *
 * Registers of XCC n lie at n * SIM_REGS. Everything here is protected by reg_lock.
 */
#include <linux/vmalloc.h>

#include "amdgpu.h"
#include "gc/gc_9_0_offset.h"
#include "gc/gc_9_0_sh_mask.h"
#include "soc15_common.h"
#include "v9_structs.h"

#include "hws.h"

#define GC_REG(name) SOC15_REG_OFFSET(GC, 0, mm##name)

static struct sim_xcc_hqd *selected_hqd(struct sim_xcc *x)
{
	u32 cntl = x->grbm_cntl;
	u32 me = (cntl & GRBM_GFX_CNTL__MEID_MASK) >> GRBM_GFX_CNTL__MEID__SHIFT;
	u32 pipe = (cntl & GRBM_GFX_CNTL__PIPEID_MASK) >> GRBM_GFX_CNTL__PIPEID__SHIFT;
	u32 queue = (cntl & GRBM_GFX_CNTL__QUEUEID_MASK) >> GRBM_GFX_CNTL__QUEUEID__SHIFT;

	return me == 1 ? &x->hqds[pipe * SIM_PIPE_QUEUES + queue] : NULL;
}

static void mqd_write(struct sim_engine *e, u64 mqd, size_t offset, u32 value)
{
	if (sim_mc_write(e->sim, mqd + offset, &value, sizeof(value)))
		dev_err_ratelimited(e->sim->dev, "no memory at the MQD %#llx\n", mqd);
}

/* The dequeue's time is over: as hqd.c's unloaded(), without waves. */
static void settle(struct sim_engine *e, struct sim_xcc_hqd *hqd)
{
	u64 mqd = sim_reg64(hqd->regs, 0);
	u32 stack = hqd->regs[HQD(HQD_CNTL_STACK_SIZE)];

	if (!hqd->until_ns || sim_now() < hqd->until_ns)
		return;
	hqd->until_ns = 0;
	hqd->regs[HQD(HQD_ACTIVE)] = 0;
	hqd->regs[HQD(HQD_DEQUEUE_REQUEST)] = 0;
	mqd_write(e, mqd, offsetof(struct v9_mqd, cp_hqd_cntl_stack_offset), stack);
	mqd_write(e, mqd, offsetof(struct v9_mqd, cp_hqd_wg_state_offset), stack);
	mqd_write(e, mqd, offsetof(struct v9_mqd, cp_hqd_active), 0);
	mqd_write(e, mqd, offsetof(struct v9_mqd, cp_hqd_dequeue_request), 0);
}

static void write_hqd(struct sim_engine *e, struct sim_xcc *x, u32 i, u32 value)
{
	struct sim_xcc_hqd *hqd = selected_hqd(x);
	u32 active;

	if (!hqd)
		return;
	settle(e, hqd);
	active = hqd->regs[HQD(HQD_ACTIVE)] & CP_HQD_ACTIVE__ACTIVE_MASK;
	if (i == HQD(HQD_DEQUEUE_REQUEST)) {
		if (active && value && !hqd->until_ns)
			hqd->until_ns = sim_now() + e->params.save_ns;
		return;
	}
	if (!i && active)
		sim_check(e, SIM_CHECK_SLOT_BUSY, "XCC %u: a slot is loaded while a queue is on it",
			  x->index);
	hqd->regs[i] = value;
	if (i == HQD(HQD_ACTIVE))
		sim_kick(e);
}

static u64 *vmid_tba(struct sim_xcc *x)
{
	return &x->tba[(x->grbm_cntl & GRBM_GFX_CNTL__VMID_MASK) >> GRBM_GFX_CNTL__VMID__SHIFT];
}

static struct sim_xcc *xcc_of(struct sim_engine *e, u32 reg)
{
	u32 n = reg / SIM_REGS;

	return n && n < e->sim->xccs ? &e->xccs[n - 1] : NULL;
}

/* Is @reg of another XCC than the first? reg_lock is held. */
bool sim_xcc_write(struct sim_engine *e, u32 reg, u32 value)
{
	struct amdgpu_device *adev = e->sim->adev;
	struct sim_xcc *x = xcc_of(e, reg);
	u32 local = reg % SIM_REGS;

	if (!x)
		return reg >= SIM_REGS;
	if (local == GC_REG(GRBM_GFX_CNTL))
		x->grbm_cntl = value;
	else if (local - GC_REG(CP_MQD_BASE_ADDR) < SIM_HQD_REGS)
		write_hqd(e, x, local - GC_REG(CP_MQD_BASE_ADDR), value);
	else if (local == GC_REG(SQ_SHADER_TBA_LO))
		*vmid_tba(x) = (*vmid_tba(x) & ~0xffffffffull) | value;
	else if (local == GC_REG(SQ_SHADER_TBA_HI))
		*vmid_tba(x) = (u64)value << 32 | lower_32_bits(*vmid_tba(x));
	else
		x->regs[local] = value;
	return true;
}

bool sim_xcc_read(struct sim_engine *e, u32 reg, u32 *value)
{
	struct amdgpu_device *adev = e->sim->adev;
	struct sim_xcc *x = xcc_of(e, reg);
	u32 i = reg % SIM_REGS - GC_REG(CP_MQD_BASE_ADDR);
	struct sim_xcc_hqd *hqd;

	if (!x)
		return reg >= SIM_REGS;
	hqd = selected_hqd(x);
	if (reg % SIM_REGS == GC_REG(GRBM_GFX_CNTL))
		*value = x->grbm_cntl;
	else if (i >= SIM_HQD_REGS)
		*value = x->regs[reg % SIM_REGS];
	else if (!hqd)
		*value = 0;
	else {
		settle(e, hqd);
		*value = hqd->regs[i];
	}
	return true;
}

static bool overlap(const u32 *a, const u32 *b)
{
	u64 at = sim_reg64(a, HQD(HQD_CTX_SAVE_BASE_ADDR_LO));
	u64 bt = sim_reg64(b, HQD(HQD_CTX_SAVE_BASE_ADDR_LO));

	return at < bt + b[HQD(HQD_CTX_SAVE_SIZE)] && bt < at + a[HQD(HQD_CTX_SAVE_SIZE)];
}

static void check_same(struct sim_engine *e, const struct sim_hqd *hqd, const struct sim_xcc *x,
		       const u32 *regs)
{
	if (sim_reg64(regs, HQD(HQD_PQ_BASE)) << 8 != hqd->ring_va ||
	    (regs[HQD(HQD_VMID)] & 0xf) != hqd->vmid)
		sim_check(e, SIM_CHECK_XCC, "XCC %u has another queue or VMID than XCC 0 on HQD %u",
			  x->index, hqd->index);
	if (x->tba[hqd->vmid] != e->vmids[hqd->vmid].tba)
		sim_check(e, SIM_CHECK_XCC, "XCC %u has no trap handler for VMID %u", x->index,
			  hqd->vmid);
	if (overlap(regs, hqd->regs))
		sim_check(e, SIM_CHECK_XCC, "XCC %u saves to the area of XCC 0", x->index);
}

/* Do all XCCs have the queue that XCC 0 has in this slot? run_lock is held. */
bool sim_xcc_ready(struct sim_engine *e, struct sim_hqd *hqd)
{
	unsigned int n;
	bool ready = true;

	if (e->sim->xccs == 1 || hqd->xccs_ready)
		return true;
	spin_lock(&e->reg_lock);
	for (n = 1; n < e->sim->xccs && ready; n++) {
		struct sim_xcc_hqd *other = &e->xccs[n - 1].hqds[hqd->index];

		settle(e, other);
		ready = other->regs[HQD(HQD_ACTIVE)] & CP_HQD_ACTIVE__ACTIVE_MASK &&
			!other->until_ns;
		if (ready)
			check_same(e, hqd, &e->xccs[n - 1], other->regs);
	}
	spin_unlock(&e->reg_lock);
	hqd->xccs_ready = ready;
	return ready;
}

/* ---- of the firmware's scheduler ------------------------------------------------ */

/* The firmware of each XCC loads its own MQD of the queue; they lie @stride bytes apart. */
int sim_xcc_load(struct sim_engine *e, unsigned int slot, u64 mqd, u32 stride, u32 vmid)
{
	u32 regs[SIM_HQD_REGS];
	unsigned int n;
	int err;

	for (n = 1; n < e->sim->xccs; n++) {
		err = sim_hws_read_mqd(e, mqd + n * (u64)stride, regs);
		if (err)
			return err;
		regs[HQD(HQD_VMID)] = vmid;
		regs[HQD(HQD_ACTIVE)] = CP_HQD_ACTIVE__ACTIVE_MASK;
		regs[HQD(HQD_DEQUEUE_REQUEST)] = 0;
		spin_lock(&e->reg_lock);
		memcpy(e->xccs[n - 1].hqds[slot].regs, regs, sizeof(regs));
		e->xccs[n - 1].hqds[slot].until_ns = 0;
		spin_unlock(&e->reg_lock);
	}
	return 0;
}

void sim_xcc_bind(struct sim_engine *e, unsigned int vmid, u64 tba)
{
	unsigned int n;

	spin_lock(&e->reg_lock);
	for (n = 1; n < e->sim->xccs; n++)
		e->xccs[n - 1].tba[vmid] = tba;
	spin_unlock(&e->reg_lock);
}

void sim_xcc_dequeue(struct sim_engine *e, unsigned int slot, u64 now)
{
	unsigned int n;

	spin_lock(&e->reg_lock);
	for (n = 1; n < e->sim->xccs; n++)
		e->xccs[n - 1].hqds[slot].until_ns = now + e->params.save_ns;
	spin_unlock(&e->reg_lock);
}

/* Has the queue left this slot of all other XCCs? */
bool sim_xcc_is_off(struct sim_engine *e, unsigned int slot)
{
	bool off = true;
	unsigned int n;

	spin_lock(&e->reg_lock);
	for (n = 1; n < e->sim->xccs; n++) {
		struct sim_xcc_hqd *hqd = &e->xccs[n - 1].hqds[slot];

		settle(e, hqd);
		off &= !(hqd->regs[HQD(HQD_ACTIVE)] & CP_HQD_ACTIVE__ACTIVE_MASK);
	}
	spin_unlock(&e->reg_lock);
	return off;
}

void sim_xcc_power_on(struct sim_engine *e)
{
	unsigned int n;

	for (n = 1; n < e->sim->xccs; n++) {
		struct sim_xcc *x = &e->xccs[n - 1];

		memset(x->regs, 0, SIM_REGS * sizeof(*x->regs));
		memset(x->hqds, 0, sizeof(x->hqds));
		memset(x->tba, 0, sizeof(x->tba));
		x->grbm_cntl = 0;
	}
}

int sim_xcc_init(struct sim_engine *e)
{
	unsigned int n;

	if (e->sim->xccs == 1)
		return 0;
	e->xccs = vzalloc((e->sim->xccs - 1) * sizeof(*e->xccs));
	if (!e->xccs)
		return -ENOMEM;
	for (n = 1; n < e->sim->xccs; n++) {
		e->xccs[n - 1].index = n;
		e->xccs[n - 1].regs = vzalloc(SIM_REGS * sizeof(u32));
		if (!e->xccs[n - 1].regs)
			return -ENOMEM;
	}
	return 0;
}

void sim_xcc_fini(struct sim_engine *e)
{
	unsigned int n;

	for (n = 1; e->xccs && n < e->sim->xccs; n++)
		vfree(e->xccs[n - 1].regs);
	vfree(e->xccs);
}
