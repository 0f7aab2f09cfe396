// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The slots of the firmware's scheduler: queues go on and off, and take turns if there are too
 * many. The head of hws.c has the facts and the assumptions.
 */
#include "amdgpu.h"
#include "gc/gc_9_0_offset.h"
#include "gc/gc_9_0_sh_mask.h"
#include "v9_structs.h"

#include "hws.h"

/* The registers of a queue, as its MQD has them. */
int sim_hws_read_mqd(struct sim_engine *e, u64 mqd, u32 *regs)
{
	int err = sim_mc_read(e->sim, mqd + offsetof(struct v9_mqd, cp_mqd_base_addr_lo), regs,
			      SIM_HQD_REGS * sizeof(*regs));

	if (err)
		dev_err(e->sim->dev, "HWS: no memory at the MQD %#llx\n", mqd);
	return err;
}

/* ---- unmapping ------------------------------------------------------------------ */

static void log_doorbell(struct sim_engine *e, const struct sim_hqd *hqd)
{
	u32 doorbell = hqd->doorbell ? (hqd->doorbell - e->sim->doorbells) * 2 : ~0u;

	dev_err(e->sim->dev, "HWS: HQD %u.%u does not answer\n", hqd->index / SIM_PIPE_QUEUES,
		hqd->index % SIM_PIPE_QUEUES);
	if (e->hws->hiq_mqd &&
	    sim_mc_write(e->sim, e->hws->hiq_mqd + offsetof(struct v9_mqd, queue_doorbell_id0),
			 &doorbell, sizeof(doorbell)))
		dev_err(e->sim->dev, "HWS: no memory at the HIQ's MQD\n");
}

static void forget_slot(struct sim_engine *e, unsigned int slot)
{
	struct sim_hws *hws = e->hws;

	hws->mapped &= ~BIT(slot);
	hws->stuck &= ~BIT(slot);
	/* An idle slot hears no doorbell. */
	spin_lock(&e->reg_lock);
	e->hqds[slot].regs[HQD(HQD_PQ_DOORBELL_CONTROL)] = 0;
	spin_unlock(&e->reg_lock);
}

void sim_hws_begin_unmap(struct sim_engine *e, u32 slots, u32 type)
{
	struct sim_hws *hws = e->hws;

	hws->unmaps = true;
	hws->to_unmap = slots;
	hws->type = type;
	hws->asked = false;
	e->hws_unmaps += slots != 0;
}

/* One queue after the other. False: one is still on its slot. */
bool sim_hws_unmapped(struct sim_engine *e, u64 now)
{
	struct sim_hws *hws = e->hws;

	while (hws->to_unmap) {
		unsigned int slot = __ffs(hws->to_unmap);
		struct sim_hqd *hqd = &e->hqds[slot];

		if (hqd->state == SIM_HQD_OFF && sim_xcc_is_off(e, slot)) {
			forget_slot(e, slot);
		} else if (!hws->asked) {
			sim_hqd_dequeue(e, hqd, hws->type, now);
			sim_xcc_dequeue(e, slot, now);
			hws->asked = true;
			hws->asked_ns = now;
			return false;
		} else if (now >= hws->asked_ns + hws->limit_ns) {
			log_doorbell(e, hqd);
			hws->mapped &= ~BIT(slot);
			hws->stuck |= BIT(slot);
		} else {
			return false;
		}
		hws->to_unmap &= ~BIT(slot);
		hws->asked = false;
	}
	hws->unmaps = false;
	return true;
}

/* Slots of queues that were given up, and that the driver reset since. */
void sim_hws_take_back_slots(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; e->hws->stuck && i < SIM_HQDS; i++)
		if (e->hws->stuck & BIT(i) && e->hqds[i].state == SIM_HQD_OFF)
			forget_slot(e, i);
}

/* ---- mapping -------------------------------------------------------------------- */

static u32 vmids_in_use(struct sim_engine *e)
{
	struct sim_hws *hws = e->hws;
	u32 used = 0;
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++)
		if ((hws->mapped | hws->stuck) & BIT(i))
			used |= BIT(e->hqds[i].vmid);
	return used;
}

static bool map_process(struct sim_engine *e, struct sim_hws_process *p)
{
	u32 free = e->hws->vmid_mask & ~vmids_in_use(e);

	if (!free)
		return false;
	p->vmid = __ffs(free);
	/* The driver may give a dead process's pasid and page directory to another one. */
	sim_tlb_invalidate(e, p->vmid);
	WRITE_ONCE(e->code_epoch, e->code_epoch + 1);
	sim_regs_bind_vmid(e, p->vmid, &p->binding);
	sim_xcc_bind(e, p->vmid, p->binding.tba);
	return true;
}

/* A free slot, of the pipe with the fewest queues. SIM_HQDS: there is none. */
static unsigned int find_slot(struct sim_engine *e)
{
	struct sim_hws *hws = e->hws;
	unsigned int i, best = SIM_HQDS, least = SIM_PIPE_QUEUES + 1;
	u32 used = hws->mapped | hws->stuck;

	for (i = 0; i < SIM_HQDS; i++) {
		u32 pipe = GENMASK(SIM_PIPE_QUEUES - 1, 0) << round_down(i, SIM_PIPE_QUEUES);

		if (!(hws->slot_mask & ~used & BIT(i)) || hweight32(used & pipe) >= least)
			continue;
		least = hweight32(used & pipe);
		best = i;
	}
	return best;
}

static void load_queue(struct sim_engine *e, unsigned int q, unsigned int slot, u64 now)
{
	struct sim_hws *hws = e->hws;
	const u32 vmid = hws->process[hws->queue[q].process].vmid;
	const u64 mqd = hws->queue[q].mqd;
	struct sim_hqd *hqd = &e->hqds[slot];
	u32 regs[SIM_HQD_REGS], stride;

	if (sim_hws_read_mqd(e, mqd, regs) ||
	    sim_mc_read(e->sim, mqd + offsetof(struct v9_mqd, cp_mqd_stride_size), &stride,
			sizeof(stride)) ||
	    sim_xcc_load(e, slot, mqd, stride, vmid))
		return;
	regs[HQD(HQD_VMID)] = vmid;
	regs[HQD(HQD_PQ_DOORBELL_CONTROL)] |= CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK;
	regs[HQD(HQD_ACTIVE)] = CP_HQD_ACTIVE__ACTIVE_MASK;
	regs[HQD(HQD_DEQUEUE_REQUEST)] = 0;
	spin_lock(&e->reg_lock);
	memcpy(hqd->regs, regs, sizeof(regs));
	spin_unlock(&e->reg_lock);
	sim_hqd_load(e, hqd, regs, now);
	hws->loaded[slot] = q;
	hws->mapped |= BIT(slot);
}

/* Loads queue @q. False: it has to wait for a later turn. */
bool sim_hws_map_queue(struct sim_engine *e, unsigned int q, unsigned int *processes, u64 now)
{
	struct sim_hws *hws = e->hws;
	struct sim_hws_process *p = &hws->process[hws->queue[q].process];
	unsigned int slot = find_slot(e);

	if (slot == SIM_HQDS)
		return false;
	if (!p->vmid) {
		if (*processes >= hws->at_once || !map_process(e, p))
			return false;
		++*processes;
	}
	load_queue(e, q, slot, now);
	return true;
}

static void begin_turn(struct sim_engine *e, u64 now)
{
	struct sim_hws *hws = e->hws;
	unsigned int i, processes = 0;

	for (i = 0; i < hws->processes; i++)
		hws->process[i].vmid = 0;
	for (i = 0; i < hws->queues; i++)
		if (!sim_hws_map_queue(e, (hws->next + i) % hws->queues, &processes, now))
			break;
	hws->turn_ends_ns = U64_MAX;
	if (i < hws->queues) {
		hws->next = (hws->next + i) % hws->queues;
		hws->turn_ends_ns = now + e->params.hws_turn_ns;
	}
	e->hws_turns++;
}

/* ---- turns ----------------------------------------------------------------------- */

void sim_hws_turns(struct sim_engine *e, u64 now)
{
	struct sim_hws *hws = e->hws;

	if (hws->start) {
		hws->start = false;
		begin_turn(e, now);
	} else if (now >= hws->turn_ends_ns) {
		hws->turn_ends_ns = U64_MAX;
		hws->start = true;
		sim_hws_begin_unmap(e, hws->mapped, SIM_DEQUEUE_SAVE);
	}
}
