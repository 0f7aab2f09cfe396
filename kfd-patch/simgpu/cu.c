// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Compute units: workgroups get a place on one, and run there in modelled time.
 *
 * A CU has a clock of its own that follows the GPU's and never runs ahead of it. Each
 * instruction of a wave takes insn_ns; a CU's workgroups take turns of "quantum" instructions.
 * (Assumption: a CU issues one instruction at a time. Silicon's four SIMDs issue in turn. It
 * only matters here that work takes time, and that queues on one CU share its time.)
 *
 * On a machine that is too slow to interpret at insn_ns, the CU falls behind. It drops lag
 * beyond max_lag_ns and counts it in lag_ns.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "amdgpu.h"
#include "soc15_int.h"

#include "engine.h"

#define FREE_GROUPS_MAX 64

static u32 cu_vgprs(const struct gfx9_shape *shape)
{
	return shape->wave_count * ALIGN(shape->vgpr_count, 4);
}

static bool fits(const struct sim_cu *cu, const struct gfx9_shape *shape, u64 save_bytes)
{
	return cu->waves + shape->wave_count <= SIM_CU_WAVES &&
	       cu->vgprs + cu_vgprs(shape) <= SIM_CU_VGPRS &&
	       cu->lds_bytes + shape->lds_bytes <= SIM_CU_LDS_BYTES &&
	       cu->save_bytes + save_bytes <= SIM_CU_SAVE_BYTES;
}

/* Could an empty CU hold such a workgroup? */
bool sim_cu_can_hold(const struct gfx9_shape *shape)
{
	const struct sim_cu empty = {};

	return fits(&empty, shape, gfx9_save_bytes(shape));
}

/* The next CU in turn that has room, or NULL. */
static struct sim_cu *find_cu(struct sim_engine *e, const struct gfx9_shape *shape, u64 save_bytes)
{
	unsigned int i;

	for (i = 0; i < e->cu_count; i++) {
		struct sim_cu *cu = &e->cus[(e->next_cu + i) % e->cu_count];

		if (fits(cu, shape, save_bytes)) {
			e->next_cu = cu - e->cus + 1;
			return cu;
		}
	}
	return NULL;
}

static void place(struct sim_group *group, struct sim_cu *cu, u64 now)
{
	const struct gfx9_shape *shape = &group->wg->shape;

	if (list_empty(&cu->groups))
		cu->clock_ns = now;
	group->cu = cu;
	group->wake_ns = 0;
	group->hqd->parked--;
	list_add_tail(&group->cu_link, &cu->groups);
	cu->waves += shape->wave_count;
	cu->vgprs += cu_vgprs(shape);
	cu->lds_bytes += shape->lds_bytes;
	cu->save_bytes += group->save_bytes;
	sim_hqd_busy(group->hqd, now);
}

static void leave(struct sim_group *group)
{
	const struct gfx9_shape *shape = &group->wg->shape;
	struct sim_cu *cu = group->cu;

	if (!cu) {
		group->hqd->parked--;
		return;
	}
	list_del(&group->cu_link);
	cu->waves -= shape->wave_count;
	cu->vgprs -= cu_vgprs(shape);
	cu->lds_bytes -= shape->lds_bytes;
	cu->save_bytes -= group->save_bytes;
	group->cu = NULL;
}

/* ---- workgroups ------------------------------------------------------------- */

static struct sim_group *take_free(struct sim_engine *e, size_t bytes)
{
	struct sim_group *group;

	list_for_each_entry (group, &e->free_groups, hqd_link) {
		if (group->bytes != bytes)
			continue;
		list_del(&group->hqd_link);
		e->free_group_count--;
		return group;
	}
	return NULL;
}

static struct sim_group *make_group(size_t bytes)
{
	struct sim_group *group = kzalloc(sizeof(*group), GFP_KERNEL);

	if (!group)
		return NULL;
	group->bytes = bytes;
	group->wg = kvmalloc(bytes, GFP_KERNEL | __GFP_NOWARN);
	if (!group->wg) {
		kfree(group);
		return NULL;
	}
	return group;
}

static void destroy_group(struct sim_group *group)
{
	kvfree(group->wg);
	kfree(group);
}

/* A workgroup of @packet without a CU, its memory not yet filled; NULL: no memory. */
struct sim_group *sim_group_alloc(struct sim_engine *e, struct sim_hqd *hqd,
				  struct sim_packet *packet, const struct gfx9_shape *shape)
{
	size_t bytes = gfx9_workgroup_bytes(shape);
	struct sim_group *group = take_free(e, bytes);

	if (!group)
		group = make_group(bytes);
	if (!group)
		return NULL;
	group->hqd = hqd;
	group->packet = packet;
	group->cu = NULL;
	group->save_bytes = gfx9_save_bytes(shape);
	group->stopped = false;
	group->has_scratch = false;
	group->wg->shape = *shape;
	list_add_tail(&group->hqd_link, &hqd->groups);
	hqd->group_count++;
	hqd->parked++;
	WRITE_ONCE(hqd->waves, hqd->waves + shape->wave_count);
	packet->live++;
	return group;
}

void sim_group_free(struct sim_engine *e, struct sim_group *group)
{
	struct sim_hqd *hqd = group->hqd;
	u32 waves = group->wg->shape.wave_count;

	leave(group);
	if (group->has_scratch)
		bitmap_clear(hqd->scratch_slots, group->wg->scratch_slot, waves);
	list_del(&group->hqd_link);
	hqd->group_count--;
	WRITE_ONCE(hqd->waves, hqd->waves - waves);
	group->packet->live--;
	if (e->free_group_count < FREE_GROUPS_MAX) {
		list_add(&group->hqd_link, &e->free_groups);
		e->free_group_count++;
	} else {
		destroy_group(group);
	}
}

u32 sim_hqd_waves(const struct sim_hqd *hqd)
{
	return READ_ONCE(hqd->waves);
}

/* A restored workgroup continues with its former scratch slots. */
int sim_group_claim_scratch(struct sim_hqd *hqd, struct sim_group *group)
{
	u32 slot = group->wg->scratch_slot, waves = group->wg->shape.wave_count;

	if (!group->packet->dispatch.private_bytes)
		return 0;
	if (slot + waves > group->packet->scratch_waves ||
	    find_next_bit(hqd->scratch_slots, slot + waves, slot) < slot + waves)
		return -EINVAL;
	bitmap_set(hqd->scratch_slots, slot, waves);
	group->has_scratch = true;
	return 0;
}

/* First scratch slot for one more workgroup; -EBUSY: none now. */
static int find_scratch(const struct sim_hqd *hqd, const struct sim_packet *packet)
{
	u32 waves = packet->dispatch.shape.wave_count;
	unsigned long slot;

	if (!packet->dispatch.private_bytes)
		return 0;
	slot = bitmap_find_next_zero_area((unsigned long *)hqd->scratch_slots,
					  packet->scratch_waves, 0, waves, 0);
	return slot + waves > packet->scratch_waves ? -EBUSY : slot;
}

static void finish_packet(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
			  u64 now)
{
	if (packet->state != SIM_PACKET_RUNNING || packet->live ||
	    packet->next_group < packet->groups_total)
		return;
	e->last_work_ns = now;
	sim_cp_packet_done(e, hqd, packet, now);
}

/*
 * Assumption: a killed wave ends as by s_endpgm, and the packet's remaining workgroups do not
 * start.
 */
void sim_groups_kill(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	struct sim_group *group, *n;
	unsigned int i;

	list_for_each_entry_safe (group, n, &hqd->groups, hqd_link)
		sim_group_free(e, group);
	sim_hqd_idle(hqd, now);
	for (i = 0; i < SIM_INFLIGHT; i++) {
		hqd->packets[i].next_group = hqd->packets[i].groups_total;
		/* A queue that hangs does not notice, and touches no memory. */
		if (!hqd->silent)
			finish_packet(e, hqd, &hqd->packets[i], now);
	}
}

/* ---- filling ---------------------------------------------------------------- */

static bool place_parked(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	struct sim_group *group;
	struct sim_cu *cu;

	list_for_each_entry (group, &hqd->groups, hqd_link) {
		if (group->cu)
			continue;
		cu = find_cu(e, &group->wg->shape, group->save_bytes);
		if (!cu)
			return false;
		place(group, cu, now);
		return true;
	}
	return false;
}

static struct sim_packet *packet_to_start(struct sim_hqd *hqd, u64 now)
{
	u64 index;

	for (index = hqd->rptr; index < hqd->next; index++) {
		struct sim_packet *packet = &hqd->packets[index % SIM_INFLIGHT];

		if (packet->state == SIM_PACKET_RUNNING &&
		    packet->next_group < packet->groups_total)
			return packet->ready_ns <= now ? packet : NULL;
	}
	return NULL;
}

static void group_id(const struct gfx9_dispatch *dispatch, u64 number, u32 id[3])
{
	u32 x, y;

	number = div_u64_rem(number, dispatch->groups[0], &x);
	number = div_u64_rem(number, dispatch->groups[1], &y);
	id[0] = x;
	id[1] = y;
	id[2] = number;
}

static bool start_group(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	struct sim_packet *packet = packet_to_start(hqd, now);
	const struct gfx9_shape *shape;
	struct sim_group *group;
	struct sim_cu *cu;
	int slot;
	u32 id[3];

	if (!packet)
		return false;
	shape = &packet->dispatch.shape;
	slot = find_scratch(hqd, packet);
	cu = slot < 0 ? NULL : find_cu(e, shape, gfx9_save_bytes(shape));
	group = cu ? sim_group_alloc(e, hqd, packet, shape) : NULL;
	if (!group)
		return false;
	group_id(&packet->dispatch, packet->next_group, id);
	gfx9_workgroup_init(group->wg, &packet->dispatch, id, slot);
	if (packet->dispatch.private_bytes) {
		bitmap_set(hqd->scratch_slots, slot, shape->wave_count);
		group->has_scratch = true;
	}
	packet->next_group++;
	place(group, cu, now);
	return true;
}

/* Starts one more workgroup of @hqd, restored ones first. */
static bool fill_one(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	if (hqd->silent || (hqd->state != SIM_HQD_RUNNING && hqd->state != SIM_HQD_DRAINING))
		return false;
	return hqd->parked ? place_parked(e, hqd, now) : start_group(e, hqd, now);
}

/* Puts workgroups on CUs, one of each queue in turn, while there is room. */
void sim_cus_fill(struct sim_engine *e, u64 now)
{
	bool any;
	unsigned int i;

	do {
		any = false;
		for (i = 0; i < SIM_HQDS; i++)
			any |= fill_one(e, &e->hqds[(e->next_hqd + i) % SIM_HQDS], now);
		e->next_hqd++;
	} while (any);
}

/* ---- running ---------------------------------------------------------------- */

static bool can_run(const struct sim_group *group)
{
	const struct sim_hqd *hqd = group->hqd;

	return !group->stopped && !hqd->silent &&
	       (hqd->state == SIM_HQD_RUNNING || hqd->state == SIM_HQD_DRAINING);
}

static struct sim_group *next_group(const struct sim_cu *cu)
{
	struct sim_group *group;

	list_for_each_entry (group, &cu->groups, cu_link)
		if (can_run(group) && group->wake_ns <= cu->clock_ns)
			return group;
	return NULL;
}

static void stop_group(struct sim_engine *e, struct sim_group *group, u32 wave)
{
	group->stopped = true;
	group->wg->waves[wave].state = GFX9_WAVE_STOPPED;
	group->hqd->halted = true;
}

/* SQ's error interrupt: ERR_TYPE in context_id1[7:4], 1 is an illegal
 * instruction; encoding 2 is "error" (kfd_int_process_v9.c).
 */
static void wave_error(struct sim_engine *e, struct sim_group *group, u64 code, u32 sq_type)
{
	sim_cp_queue_error(e, group->hqd, code);
	sim_interrupt(e, group->hqd->vmid, SOC15_IH_CLIENTID_SE0SH, SOC15_INTSRC_SQ_INTERRUPT_MSG,
		      0, 2u << 26, sq_type << 4);
}

static void unknown_instruction(struct sim_engine *e, struct sim_group *group,
				const struct gfx9_result *result)
{
	dev_err(e->sim->dev,
		"instruction %s (%#010x %#010x) at %#llx is not built; pasid %#x, queue %#llx\n",
		result->mnemonic ?: "unknown", result->encoding[0], result->encoding[1], result->pc,
		group->hqd->pasid, group->hqd->ring_va);
	stop_group(e, group, result->wave);
	wave_error(e, group, SIM_ERROR_ILLEGAL, 1);
}

static void group_ended(struct sim_engine *e, struct sim_group *group, u64 now)
{
	struct sim_packet *packet = group->packet;
	struct sim_hqd *hqd = group->hqd;

	sim_group_free(e, group);
	if (!hqd->group_count)
		sim_hqd_idle(hqd, now);
	finish_packet(e, hqd, packet, now);
}

static void handle_stop(struct sim_engine *e, struct sim_cu *cu, struct sim_group *group,
			const struct gfx9_result *result)
{
	switch (result->stop) {
	case GFX9_STOP_ENDED:
		group_ended(e, group, cu->clock_ns);
		break;
	case GFX9_STOP_SLEEP:
		group->wake_ns = cu->clock_ns + max_t(u64, result->sleep_cycles, e->params.insn_ns);
		break;
	case GFX9_STOP_HALT:
		group->stopped = true;
		break;
	case GFX9_STOP_FAULT:
		stop_group(e, group, result->wave);
		dev_err_ratelimited(e->sim->dev, "wave at %#llx:\n", result->pc);
		sim_cp_vm_fault(e, group->hqd, result->address, result->access);
		break;
	case GFX9_STOP_UNKNOWN:
		unknown_instruction(e, group, result);
		break;
	case GFX9_STOP_TRAP:
		stop_group(e, group, result->wave);
		wave_error(e, group, SIM_ERROR_TRAP, 1);
		break;
	}
}

static void planted_fault(struct sim_engine *e, struct sim_group *group)
{
	stop_group(e, group, 0);
	sim_cp_vm_fault(e, group->hqd, group->wg->waves[0].pc, GFX9_READ);
}

static void run_group(struct sim_engine *e, struct sim_cu *cu, struct sim_group *group, u64 budget)
{
	struct sim_hqd *hqd = group->hqd;
	struct gfx9_env *env = sim_vmid_env(e, hqd->vmid);
	struct gfx9_result result = {};
	u64 ns, stale_pc;

	if (!hqd->wave_logged) {
		sim_event(e, SIM_EV_FIRST_WAVE, hqd, cu->clock_ns, group->packet->index);
		hqd->wave_logged = true;
	}
	if (sim_fault_take(e, &e->params.fault_wave, hqd)) {
		planted_fault(e, group);
		return;
	}
	gfx9_workgroup_run(env, group->wg, budget, &result);
	stale_pc = gfx9_env_stale_code(env);
	if (stale_pc)
		sim_check(e, SIM_CHECK_STALE_CODE,
			  "pasid %#x, VMID %u executes code at %#llx that is not there", hqd->pasid,
			  hqd->vmid, stale_pc);
	ns = result.executed * e->params.insn_ns;
	cu->clock_ns += ns;
	hqd->stat->cu_ns += ns;
	hqd->stat->instructions += result.executed;
	e->instructions += result.executed;
	list_move_tail(&group->cu_link, &cu->groups);
	handle_stop(e, cu, group, &result);
}

/* One turn of one CU. Returns whether it ran an instruction. */
static bool run_cu(struct sim_engine *e, struct sim_cu *cu, u64 now)
{
	struct sim_params *p = &e->params;
	u64 budget = p->quantum;
	struct sim_group *group;

	if (list_empty(&cu->groups))
		return false;
	if (cu->clock_ns + p->max_lag_ns < now) {
		e->lag_ns += now - p->max_lag_ns - cu->clock_ns;
		cu->clock_ns = now - p->max_lag_ns;
	}
	group = next_group(cu);
	if (!group || !p->insn_ns)
		cu->clock_ns = now;
	if (!group)
		return false;
	if (p->insn_ns)
		budget = min(budget, div64_u64(now - min(cu->clock_ns, now), p->insn_ns));
	if (!budget)
		return false;
	run_group(e, cu, group, budget);
	return true;
}

/* A turn for every CU that is behind @now. Returns whether any ran. */
bool sim_cus_run(struct sim_engine *e, u64 now)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < e->cu_count && !READ_ONCE(e->kicked); i++)
		any |= run_cu(e, &e->cus[i], now);
	return any;
}

/* When a CU has something to do next; U64_MAX: nothing is on any. */
u64 sim_cus_next_ns(struct sim_engine *e, u64 now)
{
	u64 slice = max(e->params.slice_ns, e->params.insn_ns), next = U64_MAX;
	unsigned int i;

	for (i = 0; i < e->cu_count; i++) {
		struct sim_group *group;

		list_for_each_entry (group, &e->cus[i].groups, cu_link)
			if (can_run(group))
				next = min(next, max(now + slice, group->wake_ns));
	}
	return next;
}

int sim_cus_init(struct sim_engine *e)
{
	unsigned int i;

	/* Not sim->cus: the number that an XCC's save areas are made for. */
	e->cu_count = e->sim->adev->gfx.cu_info.number / e->sim->xccs;
	e->cus = kcalloc(e->cu_count, sizeof(*e->cus), GFP_KERNEL);
	if (!e->cus)
		return -ENOMEM;
	for (i = 0; i < e->cu_count; i++)
		INIT_LIST_HEAD(&e->cus[i].groups);
	return 0;
}

void sim_cus_fini(struct sim_engine *e)
{
	struct sim_group *group, *n;

	list_for_each_entry_safe (group, n, &e->free_groups, hqd_link)
		destroy_group(group);
	kfree(e->cus);
}
