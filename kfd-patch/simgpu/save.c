// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Waves to and from a queue's save area; sim_save.h has the layout.
 *
 * The GPU remembers each save until it is restored, so a save that is restored twice, or
 * forgotten, is reported. A new MQD at the same address (init_mqd() clears it) ends that. It
 * is recognised by cp_mqd_save_end_time, which the CP owns.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "amdgpu.h"
#include "gc/gc_9_0_offset.h"
#include "v9_structs.h"

#include "engine.h"
#include "sim_save.h"

struct area {
	struct sim_engine *e;
	const struct sim_hqd *hqd;
	u64 va;
};

static int area_write(void *ctx, u64 offset, const void *from, size_t bytes)
{
	struct area *area = ctx;

	return sim_va_write(area->e, area->hqd->vmid, area->va + offset, from, bytes);
}

static int area_read(void *ctx, u64 offset, void *to, size_t bytes)
{
	struct area *area = ctx;

	return sim_va_read(area->e, area->hqd->vmid, area->va + offset, to, bytes);
}

/* Bytes of wave state that a save of @hqd's waves writes. */
u64 sim_save_bytes(const struct sim_hqd *hqd)
{
	const struct sim_group *group;
	u64 bytes = 0;

	list_for_each_entry (group, &hqd->groups, hqd_link)
		bytes += group->save_bytes;
	return bytes;
}

static unsigned int packets_used(const struct sim_hqd *hqd)
{
	unsigned int i, used = 0;

	for (i = 0; i < SIM_INFLIGHT; i++)
		used += hqd->packets[i].state != SIM_PACKET_FREE;
	return used;
}

static u32 stack_bytes(unsigned int packets, unsigned int groups)
{
	return sizeof(struct sim_save_header) + packets * sizeof(struct sim_save_packet) +
	       groups * sizeof(struct sim_save_group);
}

static u64 mqd_mark(struct sim_engine *e, u64 mqd)
{
	u64 mark = 0;

	if (sim_mc_read(e->sim, mqd + offsetof(struct v9_mqd, cp_mqd_save_end_time_lo), &mark,
			sizeof(mark)))
		return 0;
	return mark;
}

static struct sim_saved *find_saved(struct sim_engine *e, u64 mqd)
{
	struct sim_saved *saved;

	list_for_each_entry (saved, &e->saved, link)
		if (saved->mqd == mqd)
			return saved;
	return NULL;
}

void sim_save_forget(struct sim_engine *e, u64 mqd)
{
	struct sim_saved *saved = find_saved(e, mqd);

	if (!saved)
		return;
	list_del(&saved->link);
	kfree(saved);
}

void sim_save_forget_all(struct sim_engine *e)
{
	struct sim_saved *saved, *n;

	list_for_each_entry_safe (saved, n, &e->saved, link) {
		list_del(&saved->link);
		kfree(saved);
	}
}

static void remember(struct sim_engine *e, const struct sim_hqd *hqd, u64 id)
{
	struct sim_saved *saved = find_saved(e, hqd->mqd);

	if (!saved) {
		saved = kmalloc(sizeof(*saved), GFP_KERNEL);
		if (!saved)
			return; /* only a self-check is lost */
		saved->mqd = hqd->mqd;
		list_add(&saved->link, &e->saved);
	}
	saved->id = id;
	saved->hqd = hqd->index;
	saved->vmid = hqd->vmid;
}

static void fill_packets(const struct sim_hqd *hqd, struct sim_save_packet *record)
{
	unsigned int i;

	for (i = 0; i < SIM_INFLIGHT; i++) {
		const struct sim_packet *packet = &hqd->packets[i];

		if (packet->state == SIM_PACKET_FREE)
			continue;
		record->index = packet->index;
		record->next_group = packet->next_group;
		record->start_ns = packet->start_ns;
		record->done = packet->state == SIM_PACKET_DONE;
		record++;
	}
}

static int write_groups(struct sim_engine *e, struct sim_hqd *hqd, struct sim_save_group *record)
{
	struct area area = { .e = e, .hqd = hqd, .va = hqd->save_va + hqd->stack_size };
	const struct sim_group *group;
	int err;

	list_for_each_entry (group, &hqd->groups, hqd_link) {
		err = gfx9_workgroup_save(group->wg, area_write, &area);
		if (err)
			return err;
		record->index_low = group->packet->index;
		record->bytes = group->save_bytes;
		record++;
		area.va += group->save_bytes;
	}
	return 0;
}

static int check_room(struct sim_engine *e, const struct sim_hqd *hqd, u64 bytes, u32 stack)
{
	if (!e->vmids[hqd->vmid].tba) {
		sim_check(e, SIM_CHECK_NO_TRAP,
			  "waves of pasid %#x are to be saved, but VMID %u has no trap handler",
			  hqd->pasid, hqd->vmid);
		return -ENXIO;
	}
	if (!hqd->save_va || hqd->stack_size + bytes > hqd->save_size || stack > hqd->stack_size ||
	    stack > e->stack_bytes) {
		sim_check(e, SIM_CHECK_SAVE_AREA,
			  "a save of %llu + %u bytes does not fit into %u (stack %u) at %#llx",
			  bytes, stack, hqd->save_size, hqd->stack_size, hqd->save_va);
		return -ENOSPC;
	}
	return 0;
}

static int write_all(struct sim_engine *e, struct sim_hqd *hqd, void *stack, u32 stack_len,
		     unsigned int packets)
{
	struct sim_save_header *header = stack;
	struct sim_save_packet *packet_records = (void *)(header + 1);
	struct sim_save_group *group_records = (void *)(packet_records + packets);
	u64 bytes = sim_save_bytes(hqd);
	int err;

	*header = (struct sim_save_header){
		.magic = SIM_SAVE_MAGIC,
		.packet_count = packets,
		.group_count = hqd->group_count,
		.bytes = bytes,
		.id = ++e->save_id,
		.rptr = hqd->rptr,
		.next = hqd->next,
	};
	fill_packets(hqd, packet_records);
	err = write_groups(e, hqd, group_records);
	if (err)
		return err;
	hqd->stack_offset = hqd->stack_size - stack_len;
	hqd->state_offset = hqd->stack_size + bytes;
	err = sim_mc_write(e->sim, hqd->mqd + PAGE_SIZE + hqd->stack_offset, stack, stack_len);
	if (err)
		return err;
	err = sim_mc_write(e->sim, hqd->mqd + offsetof(struct v9_mqd, cp_mqd_save_end_time_lo),
			   &header->id, sizeof(header->id));
	if (err)
		return err;
	remember(e, hqd, header->id);
	return 0;
}

/**
 * sim_save_write - everything under way on @hqd into its save area
 * @e: the engine
 * @hqd: its state stays as it is; the offsets into the area are set
 *
 * Return: 0, or an error after which the queue cannot answer.
 */
int sim_save_write(struct sim_engine *e, struct sim_hqd *hqd)
{
	unsigned int packets = packets_used(hqd);
	u32 stack_len = stack_bytes(packets, hqd->group_count);
	int err;

	if (!packets) {
		hqd->stack_offset = hqd->stack_size;
		hqd->state_offset = hqd->stack_size;
		return 0;
	}
	err = check_room(e, hqd, sim_save_bytes(hqd), stack_len);
	if (err)
		return err;
	memset(e->stack, 0, stack_len);
	err = write_all(e, hqd, e->stack, stack_len, packets);
	if (err)
		dev_err(e->sim->dev, "HQD %u, pasid %#x: cannot write its save area at %#llx\n",
			hqd->index, hqd->pasid, hqd->save_va);
	return err;
}

static int read_packet(struct sim_engine *e, struct sim_hqd *hqd,
		       const struct sim_save_packet *record)
{
	struct sim_packet *packet = &hqd->packets[record->index % SIM_INFLIGHT];
	u8 aql[SIM_PKT_BYTES];
	int err;

	if (record->done) {
		packet->index = record->index;
		packet->state = SIM_PACKET_DONE;
		return 0;
	}
	err = sim_va_read(e, hqd->vmid, sim_cp_packet_va(hqd, record->index), aql, sizeof(aql));
	if (err)
		return err;
	packet->index = record->index;
	err = sim_cp_prepare(e, hqd, packet, aql);
	if (err)
		return err;
	packet->next_group = min(record->next_group, packet->groups_total);
	if (sim_silicon(SIM_SILICON_GROUP_TWICE) && packet->next_group)
		packet->next_group--;
	packet->start_ns = record->start_ns;
	packet->state = SIM_PACKET_RUNNING;
	return 0;
}

static struct sim_packet *find_packet(struct sim_hqd *hqd, u32 index_low)
{
	unsigned int i;

	for (i = 0; i < SIM_INFLIGHT; i++)
		if (hqd->packets[i].state == SIM_PACKET_RUNNING &&
		    (u32)hqd->packets[i].index == index_low)
			return &hqd->packets[i];
	return NULL;
}

static bool same_shape(const struct gfx9_shape *a, const struct gfx9_shape *b)
{
	return a->wave_count == b->wave_count && a->vgpr_count == b->vgpr_count &&
	       a->sgpr_count == b->sgpr_count && a->lds_bytes == b->lds_bytes;
}

static bool any_stopped(const struct gfx9_workgroup *wg)
{
	u32 i;

	for (i = 0; i < wg->shape.wave_count; i++)
		if (wg->waves[i].state == GFX9_WAVE_STOPPED)
			return true;
	return false;
}

static int read_group(struct sim_engine *e, struct sim_hqd *hqd, struct area *area,
		      const struct sim_save_group *record)
{
	struct sim_packet *packet = find_packet(hqd, record->index_low);
	struct gfx9_shape shape;
	struct sim_group *group;
	int err;

	if (!packet)
		return -EINVAL;
	err = gfx9_save_probe(area_read, area, record->bytes, &shape);
	if (err)
		return err;
	/* A workgroup of another shape than its packet's could ask for more
	 * than a CU has. Its owner has been at the area, or at the packet.
	 */
	if (!same_shape(&shape, &packet->dispatch.shape))
		return -EINVAL;
	group = sim_group_alloc(e, hqd, packet, &shape);
	if (!group)
		return -ENOMEM;
	err = gfx9_workgroup_restore(group->wg, &shape, area_read, area);
	if (!err)
		err = sim_group_claim_scratch(hqd, group);
	if (err) {
		sim_group_free(e, group);
		return err;
	}
	if (any_stopped(group->wg)) {
		group->stopped = true;
		hqd->halted = true;
	}
	sim_silicon_restored(group);
	area->va += record->bytes;
	return 0;
}

static int read_all(struct sim_engine *e, struct sim_hqd *hqd, const void *stack, u32 stack_len)
{
	const struct sim_save_header *header = stack;
	const struct sim_save_packet *packets = (const void *)(header + 1);
	const struct sim_save_group *groups;
	struct area area = { .e = e, .hqd = hqd, .va = hqd->save_va + hqd->stack_size };
	unsigned int i;
	int err;

	if (stack_len < sizeof(*header) || header->magic != SIM_SAVE_MAGIC ||
	    stack_len != stack_bytes(header->packet_count, header->group_count))
		return -EINVAL;
	groups = (const void *)(packets + header->packet_count);
	for (i = 0; i < header->packet_count; i++) {
		err = read_packet(e, hqd, &packets[i]);
		if (err)
			return err;
	}
	for (i = 0; i < header->group_count; i++) {
		err = read_group(e, hqd, &area, &groups[i]);
		if (err)
			return err;
	}
	hqd->rptr = header->rptr;
	hqd->next = header->next;
	return 0;
}

/* Is the save that this MQD names the one that was made last and not yet read? */
static void check_id(struct sim_engine *e, const struct sim_hqd *hqd, u64 id)
{
	const struct sim_saved *saved = find_saved(e, hqd->mqd);

	if (!saved)
		sim_check(e, SIM_CHECK_RESTORED_TWICE,
			  "pasid %#x, MQD %#llx: save %llu was restored before", hqd->pasid,
			  hqd->mqd, id);
	else if (saved->id != id)
		sim_check(e, SIM_CHECK_NOT_RESTORED,
			  "pasid %#x, MQD %#llx: save %llu is restored, but %llu came after it",
			  hqd->pasid, hqd->mqd, id, saved->id);
}

static void check_empty(struct sim_engine *e, const struct sim_hqd *hqd)
{
	const struct sim_saved *saved = find_saved(e, hqd->mqd);

	if (saved && mqd_mark(e, hqd->mqd) == saved->id)
		sim_check(e, SIM_CHECK_NOT_RESTORED,
			  "pasid %#x, MQD %#llx: loaded without its save %llu", hqd->pasid,
			  hqd->mqd, saved->id);
}

static void undo_read(struct sim_engine *e, struct sim_hqd *hqd)
{
	struct sim_group *group, *n;
	unsigned int i;

	list_for_each_entry_safe (group, n, &hqd->groups, hqd_link)
		sim_group_free(e, group);
	for (i = 0; i < SIM_INFLIGHT; i++)
		hqd->packets[i].state = SIM_PACKET_FREE;
}

/**
 * sim_save_read - restore the waves of a save
 * @e: the engine
 * @hqd: just loaded, nothing under way
 *
 * Return: 0, also when there is nothing; -ENOMEM: nothing was changed, try again; any other
 * error: the area or the packets are damaged.
 */
int sim_save_read(struct sim_engine *e, struct sim_hqd *hqd)
{
	u32 stack_len = hqd->stack_size - min(hqd->stack_offset, hqd->stack_size);
	int err;

	if (!stack_len) {
		check_empty(e, hqd);
		sim_save_forget(e, hqd->mqd);
		return 0;
	}
	err = stack_len > e->stack_bytes ? -EINVAL : 0;
	if (sim_silicon_bound(hqd, find_saved(e, hqd->mqd)))
		err = -EIO;
	if (!err)
		err = sim_mc_read(e->sim, hqd->mqd + PAGE_SIZE + hqd->stack_offset, e->stack,
				  stack_len);
	if (!err)
		err = read_all(e, hqd, e->stack, stack_len);
	if (err) {
		undo_read(e, hqd);
	} else {
		check_id(e, hqd, ((struct sim_save_header *)e->stack)->id);
		sim_save_forget(e, hqd->mqd);
		hqd->stack_offset = hqd->stack_size;
		hqd->state_offset = hqd->stack_size;
		e->groups_restored += hqd->group_count;
		hqd->stat->groups_restored += hqd->group_count;
	}
	if (err && err != -ENOMEM) {
		sim_save_forget(e, hqd->mqd);
		dev_err(e->sim->dev,
			"HQD %u, pasid %#x: its save at %#llx cannot be restored (%d)\n",
			hqd->index, hqd->pasid, hqd->save_va, err);
	}
	return err;
}
