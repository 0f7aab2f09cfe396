// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MES at the level of its two functions: a queue is added, and is removed.
 *
 * Known: the driver calls adev->mes.funcs->add_hw_queue() and remove_hw_queue() for one queue at
 * a time, and a failure of either lets it reset the GPU (add_queue_mes(), remove_queue_mes()).
 * It waits for 2.1 s (mes_v11_0_submit_pkt_and_poll_completion()).
 *
 * Assumptions: other queues stay on their slots, and after a queue that does not answer, MES
 * answers nothing before a reset. Queues that are too many take turns as under HWS.
 *
 * This is no model of the firmware: its packets, priorities, quanta and gangs do not exist
 * here, and the waves are those of gfx9.
 */
#include <linux/sched.h>

#include "hws.h"

#define MES_LIMIT_NS (2100 * NSEC_PER_MSEC)

/* reg_lock is held. */
void sim_mes_power_on(struct sim_engine *e)
{
	struct sim_hws *hws = e->hws;

	hws->vmid_mask = GENMASK(e->sim->first_vmid + e->sim->vmids - 1, e->sim->first_vmid);
	hws->slot_mask = e->sim->mes_slots;
	hws->limit_ns = MES_LIMIT_NS;
	hws->at_once = SIM_HWS_PROCESSES;
}

/* ---- the list ------------------------------------------------------------------ */

static unsigned int find_queue(const struct sim_hws *hws, u32 doorbell)
{
	unsigned int q;

	for (q = 0; q < hws->queues && hws->queue[q].doorbell != doorbell; q++)
		;
	return q;
}

static unsigned int find_process(const struct sim_hws *hws, u32 pasid)
{
	unsigned int p;

	for (p = 0; p < hws->processes && hws->process[p].binding.pasid != pasid; p++)
		;
	return p;
}

static bool on_slot(const struct sim_hws *hws, unsigned int slot, unsigned int q)
{
	return hws->mapped & BIT(slot) && hws->loaded[slot] == q;
}

/* SIM_HQDS: it is on none. */
static unsigned int slot_of(const struct sim_hws *hws, unsigned int q)
{
	unsigned int slot;

	for (slot = 0; slot < SIM_HQDS && !on_slot(hws, slot, q); slot++)
		;
	return slot;
}

static unsigned int queues_of(const struct sim_hws *hws, unsigned int p, bool loaded)
{
	unsigned int q, n = 0;

	for (q = 0; q < hws->queues; q++)
		n += hws->queue[q].process == p && (!loaded || slot_of(hws, q) < SIM_HQDS);
	return n;
}

static void drop_process(struct sim_hws *hws, unsigned int p)
{
	unsigned int q;

	hws->processes--;
	memmove(&hws->process[p], &hws->process[p + 1],
		(hws->processes - p) * sizeof(hws->process[0]));
	for (q = 0; q < hws->queues; q++)
		hws->queue[q].process -= hws->queue[q].process > p;
}

/* A queue without a slot. Its process gives its VMID up with its last loaded queue. */
static void drop_queue(struct sim_hws *hws, unsigned int q)
{
	const unsigned int p = hws->queue[q].process;
	unsigned int slot;

	hws->queues--;
	memmove(&hws->queue[q], &hws->queue[q + 1], (hws->queues - q) * sizeof(hws->queue[0]));
	for (slot = 0; slot < SIM_HQDS; slot++)
		hws->loaded[slot] -= hws->mapped & BIT(slot) && hws->loaded[slot] > q;
	hws->next -= hws->next > q;
	if (hws->next >= hws->queues)
		hws->next = 0;
	if (!queues_of(hws, p, true))
		hws->process[p].vmid = 0;
	if (!queues_of(hws, p, false))
		drop_process(hws, p);
}

/* Loads queues into free slots. The others stay where they are. */
static void fill(struct sim_engine *e, u64 now)
{
	struct sim_hws *hws = e->hws;
	unsigned int q, processes = 0;
	bool all = true;

	for (q = 0; q < hws->queues; q++)
		if (slot_of(hws, q) == SIM_HQDS)
			all &= sim_hws_map_queue(e, q, &processes, now);
	if (all)
		hws->turn_ends_ns = U64_MAX;
	else if (hws->turn_ends_ns == U64_MAX)
		hws->turn_ends_ns = now + e->params.hws_turn_ns;
}

/* ---- its two functions ---------------------------------------------------------------- */

static int add(struct sim_engine *e, u32 doorbell, u64 mqd, const struct sim_binding *binding)
{
	struct sim_hws *hws = e->hws;
	const unsigned int p = find_process(hws, binding->pasid);

	if (hws->halted)
		return -ETIMEDOUT;
	if (hws->unmaps || hws->start)
		return -EAGAIN;
	if (p == SIM_HWS_PROCESSES || hws->queues == SIM_HWS_QUEUES)
		return -ENOSPC;
	if (p == hws->processes)
		hws->process[hws->processes++] = (struct sim_hws_process){ .binding = *binding };
	hws->queue[hws->queues++] = (struct sim_hws_queue){
		.process = p,
		.mqd = mqd,
		.doorbell = doorbell,
	};
	fill(e, sim_now());
	e->mes_adds++;
	return 0;
}

static int remove(struct sim_engine *e, u32 doorbell)
{
	struct sim_hws *hws = e->hws;
	const unsigned int q = find_queue(hws, doorbell);
	unsigned int slot;

	if (hws->stuck)
		hws->halted = true;
	if (hws->halted)
		return -ETIMEDOUT;
	if (q == hws->queues)
		return -EINVAL;
	if (hws->unmaps || hws->start)
		return -EAGAIN;
	slot = slot_of(hws, q);
	if (slot < SIM_HQDS) {
		sim_hws_begin_unmap(e, BIT(slot), SIM_DEQUEUE_SAVE);
		return -EAGAIN;
	}
	drop_queue(hws, q);
	fill(e, sim_now());
	e->mes_removes++;
	return 0;
}

/* Others may have MES do something at the same time. -EAGAIN: it is not done yet. */
static int try(struct sim_engine *e, u32 doorbell, u64 mqd, const struct sim_binding *binding)
{
	int err;

	mutex_lock(&e->run_lock);
	err = binding ? add(e, doorbell, mqd, binding) : remove(e, doorbell);
	mutex_unlock(&e->run_lock);
	sim_kick(e);
	return err;
}

static int call(struct sim_engine *e, u32 doorbell, u64 mqd, const struct sim_binding *binding)
{
	int err;

	while ((err = try(e, doorbell, mqd, binding)) == -EAGAIN)
		while (READ_ONCE(e->hws->unmaps))
			schedule();
	if (err == -ETIMEDOUT)
		dev_err(e->sim->dev, "MES does not answer\n");
	return err;
}

int sim_mes_add_queue(struct sim_gpu *sim, u32 doorbell, u64 mqd, const struct sim_binding *binding)
{
	return call(sim->engine, doorbell, mqd, binding);
}

int sim_mes_remove_queue(struct sim_gpu *sim, u32 doorbell)
{
	return call(sim->engine, doorbell, 0, NULL);
}
