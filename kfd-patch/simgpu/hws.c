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
 * Queues of SDMA engines are not built, nor are static queues, the debugger's queue, GWS, and
 * cards of several XCCs.
 */
#include <linux/vmalloc.h>

#include "amdgpu.h"
#include "gc/gc_9_0_offset.h"
#include "gc/gc_9_0_sh_mask.h"
#include "kfd_pm4_headers_ai.h"
#include "kfd_pm4_headers_aldebaran.h"
#include "kfd_pm4_opcodes.h"
#include "v9_structs.h"

#include "engine.h"

#define PROCESSES 64
#define QUEUES 256
#define PACKET_DWORDS 32
#define LATENCY_UNIT_NS (100 * NSEC_PER_MSEC) /* of SET_RESOURCES.unmap_latency */
#define NOP_ONE_DWORD 0x3fff

struct process {
	struct sim_binding binding;
	unsigned int vmid; /* 0: not in this turn */
};

struct queue {
	unsigned int process;
	u64 mqd;
};

struct sim_hws {
	/* Protected by reg_lock. */
	u64 new_mqd;
	bool changed;

	/* The rest: by run_lock. */
	u64 hiq_mqd; /* 0: there is no HIQ */
	u64 ring_va;
	u32 ring_dwords;
	u64 report_va;
	u64 *doorbell;
	u64 rptr; /* in dwords, as wptr */
	u64 wptr;
	bool halted; /* by a packet that it does not know */

	/* SET_RESOURCES */
	u32 vmid_mask;
	u32 slot_mask;
	u64 limit_ns;

	/* RUN_LIST */
	struct process process[PROCESSES];
	unsigned int processes;
	struct queue queue[QUEUES];
	unsigned int queues;
	unsigned int at_once; /* processes */
	bool start;	      /* map when all is unmapped */

	/* The turn under way */
	unsigned int next;	       /* queue of the next turn */
	u64 turn_ends_ns;	       /* U64_MAX: all are loaded */
	unsigned int loaded[SIM_HQDS]; /* queue, where mapped has a bit */
	u32 mapped;
	u32 stuck; /* slots of queues that were given up */

	/* The unmap under way */
	bool unmaps;
	u32 to_unmap; /* slots */
	u32 type;
	bool asked; /* the first of them */
	u64 asked_ns;
};

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

/* The registers of a queue, as its MQD has them. */
static int read_mqd(struct sim_engine *e, u64 mqd, u32 *regs)
{
	int err = sim_mc_read(e->sim, mqd + offsetof(struct v9_mqd, cp_mqd_base_addr_lo), regs,
			      SIM_HQD_REGS * sizeof(*regs));

	if (err)
		dev_err(e->sim->dev, "HWS: no memory at the MQD %#llx\n", mqd);
	return err;
}

static void load_hiq(struct sim_engine *e, u64 mqd)
{
	struct sim_hws *hws = e->hws;
	u32 regs[SIM_HQD_REGS];
	u64 *doorbell;

	if (read_mqd(e, mqd, regs))
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

/* ---- unmapping ------------------------------------------------------------------ */

static void log_doorbell(struct sim_engine *e, const struct sim_hqd *hqd)
{
	u32 doorbell = hqd->doorbell ? (hqd->doorbell - e->sim->doorbells) * 2 : ~0u;

	dev_err(e->sim->dev, "HWS: HQD %u.%u does not answer\n", hqd->index / SIM_PIPE_QUEUES,
		hqd->index % SIM_PIPE_QUEUES);
	if (sim_mc_write(e->sim, e->hws->hiq_mqd + offsetof(struct v9_mqd, queue_doorbell_id0),
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

static void begin_unmap(struct sim_engine *e, u32 slots, u32 type)
{
	struct sim_hws *hws = e->hws;

	hws->unmaps = true;
	hws->to_unmap = slots;
	hws->type = type;
	hws->asked = false;
	e->hws_unmaps += slots != 0;
}

/* One queue after the other. False: one is still on its slot. */
static bool goes_on(struct sim_engine *e, u64 now)
{
	struct sim_hws *hws = e->hws;

	while (hws->to_unmap) {
		unsigned int slot = __ffs(hws->to_unmap);
		struct sim_hqd *hqd = &e->hqds[slot];

		if (hqd->state == SIM_HQD_OFF) {
			forget_slot(e, slot);
		} else if (!hws->asked) {
			sim_hqd_dequeue(e, hqd, hws->type, now);
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
static void take_back_slots(struct sim_engine *e)
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

static bool map_process(struct sim_engine *e, struct process *p)
{
	u32 free = e->hws->vmid_mask & ~vmids_in_use(e);

	if (!free)
		return false;
	p->vmid = __ffs(free);
	/* The driver may give a dead process's pasid and page directory to another one. */
	sim_tlb_invalidate(e, p->vmid);
	WRITE_ONCE(e->code_epoch, e->code_epoch + 1);
	sim_regs_bind_vmid(e, p->vmid, &p->binding);
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
	struct sim_hqd *hqd = &e->hqds[slot];
	u32 regs[SIM_HQD_REGS];

	if (read_mqd(e, hws->queue[q].mqd, regs))
		return;
	regs[HQD(HQD_VMID)] = hws->process[hws->queue[q].process].vmid;
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
static bool map_queue(struct sim_engine *e, unsigned int q, unsigned int *processes, u64 now)
{
	struct sim_hws *hws = e->hws;
	struct process *p = &hws->process[hws->queue[q].process];
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
		if (!map_queue(e, (hws->next + i) % hws->queues, &processes, now))
			break;
	hws->turn_ends_ns = U64_MAX;
	if (i < hws->queues) {
		hws->next = (hws->next + i) % hws->queues;
		hws->turn_ends_ns = now + e->params.hws_turn_ns;
	}
	e->hws_turns++;
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

	if (hws->processes == PROCESSES) {
		stop_at(e, "processes in a run list:", PROCESSES + 1);
		return;
	}
	hws->process[hws->processes++] = (struct process){
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
	    !hws->processes || hws->queues == QUEUES) {
		stop_at(e, "cannot map queue", p->ordinal2);
		return;
	}
	hws->queue[hws->queues++] = (struct queue){
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
	begin_unmap(e, hws->mapped, SIM_DEQUEUE_SAVE);
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
	begin_unmap(e, slots, reset ? SIM_DEQUEUE_RESET : SIM_DEQUEUE_SAVE);
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

static void turns(struct sim_engine *e, u64 now)
{
	struct sim_hws *hws = e->hws;

	if (hws->start) {
		hws->start = false;
		begin_turn(e, now);
	} else if (now >= hws->turn_ends_ns) {
		hws->turn_ends_ns = U64_MAX;
		hws->start = true;
		begin_unmap(e, hws->mapped, SIM_DEQUEUE_SAVE);
	}
}

/* The firmware's part of a turn of the thread. run_lock is held. */
void sim_hws_run(struct sim_engine *e, u64 now)
{
	struct sim_hws *hws = e->hws;

	take_hiq(e);
	if (!hws->hiq_mqd)
		return;
	hear_doorbell(e);
	take_back_slots(e);
	do {
		if (hws->unmaps && !goes_on(e, now))
			return;
		if (hws->start || now >= hws->turn_ends_ns)
			turns(e, now);
	} while (hws->unmaps || next_packet(e));
}

/* When it has something to do next; U64_MAX: at a doorbell, or when a queue is off its slot. */
u64 sim_hws_next_ns(struct sim_engine *e)
{
	const struct sim_hws *hws = e->hws;

	if (!hws->hiq_mqd)
		return U64_MAX;
	if (hws->unmaps)
		return hws->asked_ns + hws->limit_ns;
	return hws->turn_ends_ns;
}

bool sim_hws_is_on(const struct sim_engine *e)
{
	return e->hws->hiq_mqd;
}

void sim_hws_power_on(struct sim_engine *e)
{
	if (e->hws->doorbell)
		xchg(e->hws->doorbell, SIM_DOORBELL_QUIET);
	spin_lock(&e->reg_lock);
	memset(e->hws, 0, sizeof(*e->hws));
	e->hws->turn_ends_ns = U64_MAX;
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
