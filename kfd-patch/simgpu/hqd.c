// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hardware queue descriptors: loading, unloading and resetting a queue.
 *
 *	OFF -> LOADING -> RUNNING -> DRAINING | RESETTING | SAVING -> OFF
 *
 * LOADING, RESETTING and SAVING take modelled time from the register write on. A save goes to
 * memory at its end, in one piece. Until then the waves stay in place, so a test finds it if
 * the memory is removed too early.
 *
 * At the end of a dequeue the CP writes its state for a later load into the MQD, and only then
 * clears ACTIVE. get_wave_state() of kfd_mqd_manager_v9.c relies on the CP's update of the
 * MQD. The fields besides those read there are an assumption.
 */
#include <linux/moduleparam.h>

#include "amdgpu.h"
#include "gc/gc_9_0_offset.h"
#include "gc/gc_9_0_sh_mask.h"
#include "v9_structs.h"

#include "engine.h"

bool sim_hqd_any_active(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++)
		if (e->hqds[i].state != SIM_HQD_OFF)
			return true;
	return false;
}

/* Is a queue with this VMID on a slot? */
bool sim_hqd_has_vmid(struct sim_engine *e, unsigned int vmid)
{
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++)
		if (e->hqds[i].state != SIM_HQD_OFF && e->hqds[i].vmid == vmid)
			return true;
	return false;
}

static bool quiet(const struct sim_hqd *hqd)
{
	switch (hqd->state) {
	case SIM_HQD_OFF:
		return true;
	case SIM_HQD_RUNNING:
		return hqd->halted || hqd->rptr == hqd->wptr;
	default:
		return hqd->silent;
	}
}

/* Is there nothing that goes on without a doorbell? */
bool sim_hqd_all_quiet(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++)
		if (!quiet(&e->hqds[i]))
			return false;
	return true;
}

/* Its first workgroup starts: busy time runs. */
void sim_hqd_busy(struct sim_hqd *hqd, u64 now)
{
	if (!hqd->busy_since_ns)
		hqd->busy_since_ns = now;
}

/* Its last workgroup ended, or was taken away. */
void sim_hqd_idle(struct sim_hqd *hqd, u64 now)
{
	if (hqd->busy_since_ns)
		hqd->stat->busy_ns += now - min(hqd->busy_since_ns, now);
	hqd->busy_since_ns = 0;
}

static void go_off(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	struct sim_group *group, *n;
	unsigned int i;

	sim_hqd_idle(hqd, now);
	list_for_each_entry_safe (group, n, &hqd->groups, hqd_link)
		sim_group_free(e, group);
	for (i = 0; i < SIM_INFLIGHT; i++)
		hqd->packets[i].state = SIM_PACKET_FREE;
	if (hqd->stat) {
		if (hqd->active_since_ns)
			hqd->stat->loaded_ns += now - min(hqd->active_since_ns, now);
		hqd->stat->last_unload_ns = now;
		sim_stat_put(hqd->stat);
		hqd->stat = NULL;
	}
	hqd->active_since_ns = 0;
	hqd->state = SIM_HQD_OFF;
	hqd->silent = false;
	hqd->poll = false;
}

/* The slot is switched off under its queue: running work is lost. */
void sim_hqd_drop(struct sim_engine *e, struct sim_hqd *hqd)
{
	if (hqd->state == SIM_HQD_OFF)
		return;
	sim_event(e, SIM_EV_DROPPED, hqd, sim_now(), hqd->group_count);
	go_off(e, hqd, sim_now());
}

/* The doorbell that a slot's registers name; NULL: there is no such one. */
u64 *sim_doorbell_of(struct sim_engine *e, const u32 *regs)
{
	u32 at = (regs[HQD(HQD_PQ_DOORBELL_CONTROL)] &
		  CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET_MASK) >>
		 CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET__SHIFT;

	if ((u64)at * sizeof(u32) + sizeof(u64) > e->sim->doorbell_bytes)
		return NULL;
	return e->sim->doorbells + at / 2;
}

static void read_descriptor(struct sim_engine *e, struct sim_hqd *hqd, const u32 *regs)
{
	u32 control = regs[HQD(HQD_PQ_CONTROL)];
	u64 ring_dwords = 2ull << (control & CP_HQD_PQ_CONTROL__QUEUE_SIZE_MASK);

	hqd->mqd = sim_reg64(regs, 0);
	hqd->vmid = regs[HQD(HQD_VMID)] & 0xf;
	hqd->pasid = sim_regs_pasid(e, hqd->vmid);
	hqd->ring_va = sim_reg64(regs, HQD(HQD_PQ_BASE)) << 8;
	hqd->aql = control & CP_HQD_PQ_CONTROL__SLOT_BASED_WPTR_MASK;
	hqd->ring_packets = hqd->aql ? ring_dwords / SIM_PKT_DWORDS : ring_dwords;
	hqd->rptr_report_va = sim_reg64(regs, HQD(HQD_PQ_RPTR_REPORT_ADDR));
	hqd->wptr_poll_va = sim_reg64(regs, HQD(HQD_PQ_WPTR_POLL_ADDR));
	hqd->rptr_dwords = regs[HQD(HQD_PQ_RPTR)];
	hqd->wptr = sim_reg64(regs, HQD(HQD_PQ_WPTR_LO));
	hqd->save_va = sim_reg64(regs, HQD(HQD_CTX_SAVE_BASE_ADDR_LO));
	hqd->save_size = regs[HQD(HQD_CTX_SAVE_SIZE)];
	hqd->stack_size = regs[HQD(HQD_CNTL_STACK_SIZE)];
	hqd->stack_offset = regs[HQD(HQD_CNTL_STACK_OFFSET)];
	hqd->state_offset = regs[HQD(HQD_WG_STATE_OFFSET)];

	hqd->doorbell = NULL;
	if (regs[HQD(HQD_PQ_DOORBELL_CONTROL)] & CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK)
		hqd->doorbell = sim_doorbell_of(e, regs);
}

static bool sim_doorbells = true;
module_param(sim_doorbells, bool, 0444);
MODULE_PARM_DESC(sim_doorbells,
		 "report a doorbell enabled on two slots; the stock driver leaves them");

/*
 * An idle slot that still has the doorbell enabled hears it, too. Assumption: what the CP does
 * then is undefined; gfx_v9_0_kiq_fini_register() clears it after a dequeue.
 */
static void check_doorbell(struct sim_engine *e, const struct sim_hqd *hqd)
{
	const u32 mask = CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK |
			 CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET_MASK;
	u32 ours = READ_ONCE(hqd->regs[HQD(HQD_PQ_DOORBELL_CONTROL)]) & mask;
	unsigned int i;

	for (i = 0;
	     sim_doorbells && i < SIM_HQDS && ours & CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_EN_MASK;
	     i++) {
		const struct sim_hqd *other = &e->hqds[i];

		if (other != hqd && other->state == SIM_HQD_OFF &&
		    (READ_ONCE(other->regs[HQD(HQD_PQ_DOORBELL_CONTROL)]) & mask) == ours)
			sim_check(e, SIM_CHECK_DOORBELL_TWICE,
				  "HQD %u.%u is loaded, and its doorbell is enabled on HQD %u.%u",
				  hqd->index / SIM_PIPE_QUEUES, hqd->index % SIM_PIPE_QUEUES,
				  i / SIM_PIPE_QUEUES, i % SIM_PIPE_QUEUES);
	}
}

static void check_load(struct sim_engine *e, struct sim_hqd *hqd)
{
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++) {
		struct sim_hqd *other = &e->hqds[i];

		if (other != hqd && other->state != SIM_HQD_OFF && other->mqd == hqd->mqd)
			sim_check(e, SIM_CHECK_MQD_TWICE,
				  "MQD %#llx of pasid %#x is loaded on HQD %u.%u and %u.%u",
				  hqd->mqd, hqd->pasid, i / SIM_PIPE_QUEUES, i % SIM_PIPE_QUEUES,
				  hqd->index / SIM_PIPE_QUEUES, hqd->index % SIM_PIPE_QUEUES);
	}
	check_doorbell(e, hqd);
	if (!hqd->pasid || !sim_regs_pt_base(e, hqd->vmid))
		sim_check(e, SIM_CHECK_VMID_UNSET,
			  "HQD %u.%u is loaded with VMID %u: pasid %#x, page table base %#llx",
			  hqd->index / SIM_PIPE_QUEUES, hqd->index % SIM_PIPE_QUEUES, hqd->vmid,
			  hqd->pasid, sim_regs_pt_base(e, hqd->vmid));
}

static u64 kib_ns(u64 bytes, u64 ns_per_kib)
{
	return (bytes * ns_per_kib) >> 10;
}

static void load(struct sim_engine *e, struct sim_hqd *hqd, const u32 *regs, u64 from)
{
	struct sim_params *p = &e->params;

	if (hqd->state != SIM_HQD_OFF)
		sim_hqd_drop(e, hqd);
	read_descriptor(e, hqd, regs);
	check_load(e, hqd);
	if (!e->vmids[hqd->vmid].env) {
		dev_err(e->sim->dev, "HQD %u: VMID %u is not one of the KFD's\n", hqd->index,
			hqd->vmid);
		return;
	}
	hqd->stat = sim_stat_get(e, hqd->pasid, hqd->ring_va, hqd->mqd);
	hqd->stat->loads++;
	hqd->stat->last_load_ns = from;
	e->loads++;
	hqd->state = SIM_HQD_LOADING;
	hqd->halted = false;
	hqd->waiting_scratch = false;
	hqd->xccs_ready = false;
	hqd->idle_logged = false;
	hqd->wave_logged = false;
	hqd->load_from_ns = from;
	hqd->active_since_ns = from;
	hqd->until_ns =
		from + p->load_ns +
		kib_ns(hqd->state_offset - min(hqd->stack_size, hqd->state_offset), p->load_kib_ns);
	/*
	 * The CP does not see a doorbell rung while its queue was off: it finds the packets by
	 * the write pointer (Assumption).
	 */
	if (hqd->doorbell)
		xchg(hqd->doorbell, SIM_DOORBELL_QUIET);
	e->last_work_ns = sim_now();
	sim_event(e, SIM_EV_LOAD, hqd, from, hqd->mqd);
}

/* The firmware loads a queue, whose registers are written. run_lock is held. */
void sim_hqd_load(struct sim_engine *e, struct sim_hqd *hqd, const u32 *regs, u64 now)
{
	hqd->dequeue = 0;
	load(e, hqd, regs, now);
	hqd->poll = true;
}

/* Where a queue that is being loaded is to begin. */
static void find_start(struct sim_engine *e, struct sim_hqd *hqd)
{
	if (hqd->state != SIM_HQD_LOADING)
		return;
	sim_cp_poll_wptr(e, hqd);
	hqd->next = hqd->rptr;
}

static void loaded(struct sim_engine *e, struct sim_hqd *hqd)
{
	unsigned int i;

	for (i = 0; i < SIM_INFLIGHT; i++)
		hqd->packets[i].state = SIM_PACKET_FREE;
	bitmap_zero(hqd->scratch_slots, SIM_SCRATCH_SLOTS);
	find_start(e, hqd);
	switch (sim_save_read(e, hqd)) {
	case 0:
		break;
	case -ENOMEM:
		/* No memory here, though the area is sound: again later. */
		hqd->until_ns = sim_now() + 100 * NSEC_PER_USEC;
		return;
	default:
		hqd->halted = true;
		break;
	}
	hqd->state = hqd->dequeue == SIM_DEQUEUE_DRAIN ? SIM_HQD_DRAINING : SIM_HQD_RUNNING;
	sim_event(e, SIM_EV_LOADED, hqd, hqd->until_ns, hqd->until_ns - hqd->load_from_ns);
}

/* Requests of the registers and of the firmware. run_lock is held. */
void sim_hqd_dequeue(struct sim_engine *e, struct sim_hqd *hqd, u32 type, u64 from)
{
	struct sim_params *p = &e->params;

	if (hqd->state == SIM_HQD_OFF)
		return;
	hqd->dequeue = type;
	hqd->dequeue_from_ns = from;
	sim_event(e, SIM_EV_DEQUEUE, hqd, from, type);
	if (sim_fault_take(e, &p->fault_ignore, hqd) || sim_silicon_deaf())
		hqd->silent = true;
	if (hqd->state == SIM_HQD_LOADING && type != SIM_DEQUEUE_RESET) {
		/* A save finds nothing read from the save area yet, and leaves
		 * it; a drain begins when the load is done.
		 */
		if (type == SIM_DEQUEUE_SAVE)
			hqd->until_ns = max(hqd->until_ns, from) + p->save_ns;
		return;
	}
	find_start(e, hqd);
	switch (type) {
	case SIM_DEQUEUE_DRAIN:
		hqd->state = SIM_HQD_DRAINING;
		hqd->until_ns = from;
		break;
	case SIM_DEQUEUE_RESET:
		hqd->state = SIM_HQD_RESETTING;
		hqd->until_ns = from + p->reset_ns;
		break;
	default:
		hqd->state = SIM_HQD_SAVING;
		hqd->until_ns = from + p->save_ns + p->fault_save_ns +
				kib_ns(sim_save_bytes(hqd), p->save_kib_ns);
		break;
	}
	if (sim_fault_take(e, &p->fault_late, hqd))
		hqd->until_ns += p->fault_late_ns;
}

static void mqd_write(struct sim_engine *e, u64 mqd, size_t offset, u32 value)
{
	if (sim_mc_write(e->sim, mqd + offset, &value, sizeof(value)))
		dev_err_ratelimited(e->sim->dev, "no memory at the MQD %#llx\n", mqd);
}

/* The CP's state in the MQD, so that a later load continues from here. */
static void write_state(struct sim_engine *e, const struct sim_late_mqd *s)
{
#define MQD_WRITE(field, value) mqd_write(e, s->mqd, offsetof(struct v9_mqd, field), value)
	MQD_WRITE(cp_hqd_pq_rptr, s->rptr);
	MQD_WRITE(cp_hqd_pq_wptr_lo, s->wptr_lo);
	MQD_WRITE(cp_hqd_pq_wptr_hi, s->wptr_hi);
	MQD_WRITE(cp_hqd_cntl_stack_offset, s->stack_offset);
	MQD_WRITE(cp_hqd_wg_state_offset, s->state_offset);
	MQD_WRITE(cp_hqd_active, 0);
	MQD_WRITE(cp_hqd_dequeue_request, 0);
#undef MQD_WRITE
}

/* Writes that a planted fault keeps back. */
static void write_late(struct sim_engine *e, u64 now)
{
	unsigned int i;

	for (i = 0; i < SIM_LATE_MQDS; i++) {
		struct sim_late_mqd *s = &e->late[i];

		if (!s->at_ns || s->at_ns > now)
			continue;
		write_state(e, s);
		s->at_ns = 0;
	}
}

static struct sim_late_mqd *late_room(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; sim_silicon(SIM_SILICON_MQD_LATE) && i < SIM_LATE_MQDS; i++)
		if (!e->late[i].at_ns)
			return &e->late[i];
	return NULL;
}

static void write_mqd(struct sim_engine *e, struct sim_hqd *hqd)
{
	u32 unit = hqd->aql ? SIM_PKT_DWORDS : 1;
	struct sim_late_mqd *late = late_room(e);
	struct sim_late_mqd state = {
		.at_ns = sim_now() + SIM_LATE_NS,
		.mqd = hqd->mqd,
		.rptr = lower_32_bits(hqd->rptr * unit),
		.wptr_lo = lower_32_bits(hqd->wptr * unit),
		.wptr_hi = upper_32_bits(hqd->wptr * unit),
		.stack_offset = hqd->stack_offset,
		.state_offset = hqd->state_offset,
	};

	if (late)
		*late = state;
	else if (!sim_silicon(SIM_SILICON_MQD_NEVER))
		write_state(e, &state);
}

static void unloaded(struct sim_engine *e, struct sim_hqd *hqd)
{
	u64 took = hqd->until_ns - hqd->dequeue_from_ns;

	write_mqd(e, hqd);
	sim_event(e, SIM_EV_UNLOADED, hqd, hqd->until_ns, took);
	go_off(e, hqd, hqd->until_ns);
	spin_lock(&e->reg_lock);
	hqd->regs[HQD(HQD_ACTIVE)] = 0;
	hqd->regs[HQD(HQD_DEQUEUE_REQUEST)] = 0;
	hqd->regs[HQD(HQD_PQ_RPTR)] = hqd->rptr * (hqd->aql ? SIM_PKT_DWORDS : 1);
	spin_unlock(&e->reg_lock);
}

static void finish_save(struct sim_engine *e, struct sim_hqd *hqd)
{
	u32 groups = hqd->group_count;

	if (sim_save_write(e, hqd)) {
		/* As silicon whose trap handler faults: no answer. */
		hqd->silent = true;
		return;
	}
	e->saves++;
	hqd->stat->saves++;
	if (groups) {
		e->saves_midwave++;
		hqd->stat->saves_midwave++;
		e->groups_saved += groups;
		hqd->stat->groups_saved += groups;
	}
	sim_silicon_neighbour(e, hqd);
	unloaded(e, hqd);
}

/* Assumption: packets whose waves a reset killed are done, without a signal. */
static void finish_reset(struct sim_engine *e, struct sim_hqd *hqd)
{
	e->resets++;
	hqd->rptr = hqd->next;
	hqd->stack_offset = hqd->stack_size;
	hqd->state_offset = hqd->stack_size;
	sim_save_forget(e, hqd->mqd);
	unloaded(e, hqd);
}

static bool packets_running(const struct sim_hqd *hqd)
{
	unsigned int i;

	for (i = 0; i < SIM_INFLIGHT; i++)
		if (hqd->packets[i].state == SIM_PACKET_RUNNING)
			return true;
	return false;
}

static void finish_drain(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	e->drains++;
	hqd->until_ns = now;
	hqd->stack_offset = hqd->stack_size;
	hqd->state_offset = hqd->stack_size;
	unloaded(e, hqd);
}

/* A dequeue that came in LOADING: nothing was restored, nothing changes. */
static void finish_unread(struct sim_engine *e, struct sim_hqd *hqd)
{
	find_start(e, hqd);
	e->saves++;
	hqd->stat->saves++;
	unloaded(e, hqd);
}

static void progress(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	if (hqd->silent)
		return;
	switch (hqd->state) {
	case SIM_HQD_OFF:
		break;
	case SIM_HQD_LOADING:
		if (now < hqd->until_ns)
			break;
		if (hqd->dequeue == SIM_DEQUEUE_SAVE)
			finish_unread(e, hqd);
		else
			loaded(e, hqd);
		break;
	case SIM_HQD_RUNNING:
		sim_cp_run(e, hqd, now);
		break;
	case SIM_HQD_DRAINING:
		sim_cp_run(e, hqd, now);
		if (!packets_running(hqd) && now >= hqd->until_ns)
			finish_drain(e, hqd, now);
		break;
	case SIM_HQD_RESETTING:
		if (now >= hqd->until_ns)
			finish_reset(e, hqd);
		break;
	case SIM_HQD_SAVING:
		if (now >= hqd->until_ns)
			finish_save(e, hqd);
		break;
	}
}

void sim_hqd_progress(struct sim_engine *e, u64 now)
{
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++)
		progress(e, &e->hqds[i], now);
	write_late(e, now);
}

/* When the next LOADING, RESETTING or SAVING ends; U64_MAX: none runs. */
u64 sim_hqd_next_ns(struct sim_engine *e)
{
	u64 next = U64_MAX;
	unsigned int i;

	for (i = 0; i < SIM_LATE_MQDS; i++)
		if (e->late[i].at_ns)
			next = min(next, e->late[i].at_ns);
	for (i = 0; i < SIM_HQDS; i++) {
		struct sim_hqd *hqd = &e->hqds[i];

		if (hqd->silent)
			continue;
		if (hqd->state == SIM_HQD_LOADING || hqd->state == SIM_HQD_SAVING ||
		    hqd->state == SIM_HQD_RESETTING || hqd->state == SIM_HQD_DRAINING)
			next = min(next, hqd->until_ns);
	}
	return next;
}

/* SPI_COMPUTE_QUEUE_RESET: the waves go, and a dequeue that waited for them,
 * planted silence included, comes to its end (hqd_reset() of the driver).
 */
static void queue_reset(struct sim_engine *e, struct sim_hqd *hqd)
{
	if (hqd->state == SIM_HQD_OFF || READ_ONCE(e->params.fault_no_reset) & 1)
		return;
	find_start(e, hqd);
	hqd->silent = false;
	hqd->dequeue_from_ns = sim_now();
	hqd->state = SIM_HQD_RESETTING;
	hqd->until_ns = sim_now() + e->params.reset_ns;
}

static void hqd_request(struct sim_engine *e, struct sim_hqd *hqd)
{
	u32 regs[SIM_HQD_REGS];
	unsigned long requests;
	u64 load_ns, dequeue_ns;
	u32 type;

	spin_lock(&e->reg_lock);
	requests = hqd->requests;
	hqd->requests = 0;
	__clear_bit(hqd->index, &e->request_map);
	memcpy(regs, hqd->regs, sizeof(regs));
	load_ns = hqd->load_ns;
	dequeue_ns = hqd->dequeue_ns;
	type = hqd->dequeue_type;
	spin_unlock(&e->reg_lock);

	if (requests & SIM_REQ_OFF)
		sim_hqd_drop(e, hqd);
	if (requests & SIM_REQ_LOAD) {
		hqd->dequeue = 0;
		load(e, hqd, regs, load_ns);
	}
	if (requests & SIM_REQ_POLL) {
		hqd->poll = true;
		if (hqd->state == SIM_HQD_RUNNING)
			sim_cp_poll_wptr(e, hqd);
	}
	if (requests & SIM_REQ_DEQUEUE)
		sim_hqd_dequeue(e, hqd, type, dequeue_ns);
	if (requests & SIM_REQ_QUEUE_RESET)
		queue_reset(e, hqd);
}

static void kill_vmids(struct sim_engine *e)
{
	u32 vmids;
	unsigned int i;

	spin_lock(&e->reg_lock);
	vmids = e->kill_vmids;
	e->kill_vmids = 0;
	spin_unlock(&e->reg_lock);
	for (i = 0; vmids && i < SIM_HQDS; i++)
		if (e->hqds[i].state != SIM_HQD_OFF && (vmids & BIT(e->hqds[i].vmid)))
			sim_groups_kill(e, &e->hqds[i], sim_now());
}

/* Executes the requests of register writes. run_lock is held. */
void sim_hqd_requests(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; i < SIM_HQDS; i++)
		if (test_bit(i, &e->request_map))
			hqd_request(e, &e->hqds[i]);
	kill_vmids(e);
}
