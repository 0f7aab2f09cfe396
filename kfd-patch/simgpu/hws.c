// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The firmware's scheduler (HWS): the work of MEC 1's microcode on the driver's HIQ.
 *
 * The KIQ names the HIQ, a ring of the driver's. Its packets are executed in order. A run list
 * holds processes and their queues. While these fit into the VMIDs and slots, all are loaded.
 * Else they take turns, in the order of the list. UNMAP_QUEUES saves the loaded queues one
 * after the other, and only then does the next packet begin.
 *
 * Known: the packets' formats (kfd_pm4_headers_ai.h, kfd_pm4_headers_aldebaran.h) and order
 * (kfd_packet_manager.c). A queue that does not answer is given up, and its doorbell goes to
 * the HIQ's MQD (unmap_queues_cpsch()). SET_RESOURCES has the limit, 4 s.
 *
 * Assumptions: a turn's length; its end saves all queues. A VMID that gets a process has its
 * TLB and instruction caches invalidated. A run list that follows another without an unmap
 * replaces it.
 *
 * With several XCCs the first one's HIQ leads, and all take a queue on and off together
 * (Assumption). A queue that does not answer is modelled for one XCC alone.
 *
 * Queues of SDMA engines are not built, nor are static queues, the debugger's queue, and GWS.
 */
#include <linux/vmalloc.h>

#include "amdgpu.h"
#include "gc/gc_9_0_offset.h"
#include "gc/gc_9_0_sh_mask.h"
#include "kfd_pm4_headers_ai.h"
#include "kfd_pm4_headers_aldebaran.h"
#include "kfd_pm4_opcodes.h"
#include "v9_structs.h"

#include "hws.h"

#define PACKET_DWORDS 32
#define LATENCY_UNIT_NS (100 * NSEC_PER_MSEC) /* of SET_RESOURCES.unmap_latency */
#define NOP_ONE_DWORD 0x3fff

/* ---- the KIQ ----------------------------------------------------------------- */

/**
 * sim_hws_map_hiq - the KIQ's MAP_QUEUES for the HIQ
 * @sim: the GPU
 * @mqd: address of its MQD
 *
 * Any context.
 */
void sim_hws_map_hiq(struct sim_gpu *sim, u64 mqd)
{
	struct sim_engine *e = sim->engine;

	spin_lock(&e->reg_lock);
	e->hws->new_mqd = mqd;
	e->hws->changed = true;
	spin_unlock(&e->reg_lock);
	sim_kick(e);
}

/**
 * sim_hws_unmap_hiq - the KIQ's UNMAP_QUEUES for the HIQ
 * @sim: the GPU
 *
 * May sleep. On return the HIQ's memory is not used any more.
 */
void sim_hws_unmap_hiq(struct sim_gpu *sim)
{
	struct sim_engine *e = sim->engine;

	mutex_lock(&e->run_lock);
	sim_hws_power_on(e);
	mutex_unlock(&e->run_lock);
}

static void load_hiq(struct sim_engine *e, u64 mqd)
{
	struct sim_hws *hws = e->hws;
	u32 regs[SIM_HQD_REGS];
	u64 *doorbell;

	if (sim_hws_read_mqd(e, mqd, regs))
		return;
	doorbell = sim_doorbell_of(e, regs);
	if (!doorbell) {
		dev_err(e->sim->dev, "HWS: the HIQ has no doorbell\n");
		return;
	}
	hws->hiq_mqd = mqd;
	hws->ring_va = sim_reg64(regs, HQD(HQD_PQ_BASE)) << 8;
	hws->ring_dwords = 2u << (regs[HQD(HQD_PQ_CONTROL)] & CP_HQD_PQ_CONTROL__QUEUE_SIZE_MASK);
	hws->report_va = sim_reg64(regs, HQD(HQD_PQ_RPTR_REPORT_ADDR));
	hws->doorbell = doorbell;
	hws->rptr = regs[HQD(HQD_PQ_RPTR)];
	hws->wptr = hws->rptr;
}

static void take_hiq(struct sim_engine *e)
{
	struct sim_hws *hws = e->hws;
	bool changed;
	u64 mqd;

	spin_lock(&e->reg_lock);
	changed = hws->changed;
	mqd = hws->new_mqd;
	hws->changed = false;
	spin_unlock(&e->reg_lock);
	if (changed)
		load_hiq(e, mqd);
}

/* ---- packets --------------------------------------------------------------------- */

static void stop_at(struct sim_engine *e, const char *why, u32 value)
{
	dev_err(e->sim->dev, "HWS: %s %#x: the firmware hangs\n", why, value);
	e->hws->halted = true;
}

static u32 opcode_of(u32 header)
{
	return header >> 8 & 0xff;
}

static u32 dwords_of(u32 header)
{
	u32 count = header >> 16 & 0x3fff;

	return opcode_of(header) == IT_NOP && count == NOP_ONE_DWORD ? 1 : count + 2;
}

static void add_process(struct sim_engine *e, const u32 *dwords)
{
	/* The longer packet of Aldebaran begins with the same fields. */
	const struct pm4_mes_map_process *p = (const void *)dwords;
	struct sim_hws *hws = e->hws;

	if (hws->processes == SIM_HWS_PROCESSES) {
		stop_at(e, "processes in a run list:", SIM_HWS_PROCESSES + 1);
		return;
	}
	hws->process[hws->processes++] = (struct sim_hws_process){
		.binding = {
			.pasid = p->bitfields2.pasid,
			.pt_base = (u64)p->vm_context_page_table_base_addr_hi32 << 32 |
				   p->vm_context_page_table_base_addr_lo32,
			.sh_mem_bases = p->sh_mem_bases,
			.sh_mem_config = p->sh_mem_config,
			.tba = (u64)p->sq_shader_tba_hi << 32 | p->sq_shader_tba_lo,
			.tma = (u64)p->sq_shader_tma_hi << 32 | p->sq_shader_tma_lo,
		},
	};
}

static void add_queue(struct sim_engine *e, const u32 *dwords)
{
	const struct pm4_mes_map_queues *p = (const void *)dwords;
	struct sim_hws *hws = e->hws;

	if (p->bitfields2.engine_sel != engine_sel__mes_map_queues__compute_vi ||
	    p->bitfields2.queue_type != queue_type__mes_map_queues__normal_compute_vi ||
	    !hws->processes || hws->queues == SIM_HWS_QUEUES) {
		stop_at(e, "cannot map queue", p->ordinal2);
		return;
	}
	hws->queue[hws->queues++] = (struct sim_hws_queue){
		.process = hws->processes - 1,
		.mqd = (u64)p->mqd_addr_hi << 32 | p->mqd_addr_lo,
	};
}

/* One packet of a run list; the chain at its end leads back to its begin. */
static void list_packet(struct sim_engine *e, const u32 *dwords)
{
	switch (opcode_of(dwords[0])) {
	case IT_MAP_PROCESS:
		add_process(e, dwords);
		break;
	case IT_MAP_QUEUES:
		add_queue(e, dwords);
		break;
	case IT_RUN_LIST:
		break;
	default:
		stop_at(e, "unknown packet in a run list:", dwords[0]);
		break;
	}
}

static void read_list(struct sim_engine *e, u64 va, u32 total)
{
	u32 at, n, dwords[PACKET_DWORDS];

	for (at = 0; at < total && !e->hws->halted; at += n) {
		if (sim_mc_read(e->sim, va + 4ull * at, dwords, sizeof(dwords[0]))) {
			stop_at(e, "no memory at dword of a run list:", at);
			return;
		}
		n = dwords_of(dwords[0]);
		if (n > PACKET_DWORDS || n > total - at ||
		    sim_mc_read(e->sim, va + 4ull * at, dwords, 4 * n)) {
			stop_at(e, "bad length in a run list:", dwords[0]);
			return;
		}
		list_packet(e, dwords);
	}
}

static void run_list(struct sim_engine *e, const u32 *dwords)
{
	const struct pm4_mes_runlist *p = (const void *)dwords;
	struct sim_hws *hws = e->hws;

	hws->processes = 0;
	hws->queues = 0;
	hws->next = 0;
	hws->at_once = p->bitfields4.process_cnt;
	read_list(e, (u64)p->ib_base_hi << 32 | (p->ordinal2 & ~3u), p->bitfields4.ib_size);
	hws->start = !hws->halted;
	e->hws_runlists++;
	sim_hws_begin_unmap(e, hws->mapped, SIM_DEQUEUE_SAVE);
}

static bool has_pasid(const struct sim_hws *hws, unsigned int q, u32 pasid)
{
	return hws->process[hws->queue[q].process].binding.pasid == pasid;
}

/* Takes the queues of a process off the list. Return: their slots. */
static u32 remove_pasid(struct sim_hws *hws, u32 pasid)
{
	unsigned int i, kept = 0;
	u32 slots = 0;

	for (i = 0; i < SIM_HQDS; i++)
		if (hws->mapped & BIT(i) && has_pasid(hws, hws->loaded[i], pasid))
			slots |= BIT(i);
	for (i = 0; i < hws->queues; i++)
		if (!has_pasid(hws, i, pasid))
			hws->queue[kept++] = hws->queue[i];
	hws->queues = kept;
	hws->next = 0;
	return slots;
}

static void unmap_queues(struct sim_engine *e, const u32 *dwords)
{
	const struct pm4_mes_unmap_queues *p = (const void *)dwords;
	const bool reset = p->bitfields2.action == action__mes_unmap_queues__reset_queues;
	struct sim_hws *hws = e->hws;
	u32 slots = hws->mapped;

	if (p->bitfields2.queue_sel ==
	    queue_sel__mes_unmap_queues__perform_request_on_pasid_queues) {
		slots = remove_pasid(hws, p->bitfields3a.pasid);
	} else {
		hws->queues = 0;
		hws->processes = 0;
	}
	hws->turn_ends_ns = U64_MAX;
	sim_hws_begin_unmap(e, slots, reset ? SIM_DEQUEUE_RESET : SIM_DEQUEUE_SAVE);
}

static void set_resources(struct sim_engine *e, const u32 *dwords)
{
	const struct pm4_mes_set_resources *p = (const void *)dwords;
	struct sim_hws *hws = e->hws;

	hws->vmid_mask = p->bitfields2.vmid_mask;
	hws->slot_mask = p->queue_mask_lo;
	hws->limit_ns = p->bitfields2.unmap_latency * LATENCY_UNIT_NS;
}

static void query_status(struct sim_engine *e, const u32 *dwords)
{
	const struct pm4_mes_query_status *p = (const void *)dwords;
	u64 value = (u64)p->data_hi << 32 | p->data_lo;

	if (sim_mc_write(e->sim, (u64)p->addr_hi << 32 | p->addr_lo, &value, sizeof(value)))
		stop_at(e, "no memory at the fence", p->addr_lo);
}

static void write_data(struct sim_engine *e, const u32 *dwords)
{
	const struct pm4_mec_write_data_mmio *p = (const void *)dwords;

	if (p->bitfields2.dst_sel == dst_sel___write_data__mem_mapped_register)
		sim_reg_write(e->sim, p->bitfields3.dst_mmreg_addr, p->data);
	else
		stop_at(e, "cannot write data to", p->ordinal2);
}

static void execute(struct sim_engine *e, const u32 *dwords)
{
	switch (opcode_of(dwords[0])) {
	case IT_NOP:
		break;
	case IT_SET_RESOURCES:
		set_resources(e, dwords);
		break;
	case IT_RUN_LIST:
		run_list(e, dwords);
		break;
	case IT_UNMAP_QUEUES:
		unmap_queues(e, dwords);
		break;
	case IT_QUERY_STATUS:
		query_status(e, dwords);
		break;
	case IT_WRITE_DATA:
		write_data(e, dwords);
		break;
	default:
		stop_at(e, "unknown packet", dwords[0]);
		break;
	}
}

static void hear_doorbell(struct sim_engine *e)
{
	struct sim_hws *hws = e->hws;

	if (READ_ONCE(*hws->doorbell) != SIM_DOORBELL_QUIET)
		hws->wptr = xchg(hws->doorbell, SIM_DOORBELL_QUIET);
}

/* Executes the HIQ's next packet. False: there is none. */
static bool next_packet(struct sim_engine *e)
{
	struct sim_hws *hws = e->hws;
	u32 at = hws->rptr % hws->ring_dwords, dwords[PACKET_DWORDS], n, report;

	if (hws->rptr == hws->wptr || hws->halted)
		return false;
	if (sim_mc_read(e->sim, hws->ring_va + 4ull * at, dwords, sizeof(dwords[0]))) {
		stop_at(e, "no memory at the HIQ's dword", at);
		return false;
	}
	n = dwords_of(dwords[0]);
	if (n > PACKET_DWORDS || n > hws->wptr - hws->rptr || n > hws->ring_dwords - at ||
	    sim_mc_read(e->sim, hws->ring_va + 4ull * at, dwords, 4 * n)) {
		stop_at(e, "bad length in the HIQ:", dwords[0]);
		return false;
	}
	execute(e, dwords);
	hws->rptr += n;
	report = hws->rptr % hws->ring_dwords;
	if (sim_mc_write(e->sim, hws->report_va, &report, sizeof(report)))
		stop_at(e, "no memory for the HIQ's read pointer", at);
	return true;
}

/* ---- the thread's part --------------------------------------------------------------- */

/* The firmware's part of a turn of the thread. run_lock is held. */
void sim_hws_run(struct sim_engine *e, u64 now)
{
	struct sim_hws *hws = e->hws;

	if (!e->sim->mes)
		take_hiq(e);
	if (!sim_hws_is_on(e))
		return;
	if (!e->sim->mes)
		hear_doorbell(e);
	sim_hws_take_back_slots(e);
	do {
		if (hws->unmaps && !sim_hws_unmapped(e, now))
			return;
		if (hws->start || now >= hws->turn_ends_ns)
			sim_hws_turns(e, now);
	} while (hws->unmaps || (!e->sim->mes && next_packet(e)));
}

/* When it has something to do next; U64_MAX: at a doorbell, or when a queue is off its slot. */
u64 sim_hws_next_ns(struct sim_engine *e)
{
	const struct sim_hws *hws = e->hws;

	if (!sim_hws_is_on(e))
		return U64_MAX;
	if (hws->unmaps)
		return hws->asked_ns + hws->limit_ns;
	return hws->turn_ends_ns;
}

bool sim_hws_is_on(const struct sim_engine *e)
{
	return e->hws->hiq_mqd || e->sim->mes;
}

void sim_hws_power_on(struct sim_engine *e)
{
	if (e->hws->doorbell)
		xchg(e->hws->doorbell, SIM_DOORBELL_QUIET);
	spin_lock(&e->reg_lock);
	memset(e->hws, 0, sizeof(*e->hws));
	e->hws->turn_ends_ns = U64_MAX;
	if (e->sim->mes)
		sim_mes_power_on(e);
	spin_unlock(&e->reg_lock);
}

int sim_hws_init(struct sim_engine *e)
{
	e->hws = vzalloc(sizeof(*e->hws));
	if (!e->hws)
		return -ENOMEM;
	sim_hws_power_on(e);
	return 0;
}

void sim_hws_fini(struct sim_engine *e)
{
	vfree(e->hws);
}
