// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How a kernel-dispatch packet becomes workgroups and waves. The packet is the
 * HSA Platform System Architecture Specification's (2.9.6); the descriptor and
 * the initial registers are LLVM's AMDGPU usage page's ("Kernel Descriptor",
 * "Initial Kernel Execution State").
 */
#include "gfx9_internal.h"

#define BITS(word, high, low) (((word) >> (low)) & ((2u << ((high) - (low))) - 1))

#define PACKET_SETUP 2
#define PACKET_GROUP 4 /* three of 16 bits */
#define PACKET_GRID 12 /* three of 32 bits */
#define PACKET_PRIVATE 24
#define PACKET_LDS 28
#define PACKET_KERNEL_OBJECT 32
#define PACKET_KERNARG 40
#define PACKET_SIGNAL 56

#define DESCRIPTOR_ENTRY 16
#define DESCRIPTOR_RSRC1 48
#define DESCRIPTOR_RSRC2 52
#define DESCRIPTOR_PROPERTIES 56

/* kernel_code_properties, from the low bit on, in the order of their SGPRs. */
enum property {
	PROPERTY_PRIVATE_BUFFER = 1 << 0,
	PROPERTY_DISPATCH_PTR = 1 << 1,
	PROPERTY_QUEUE_PTR = 1 << 2,
	PROPERTY_KERNARG_PTR = 1 << 3,
	PROPERTY_DISPATCH_ID = 1 << 4,
	PROPERTY_FLAT_SCRATCH_INIT = 1 << 5,
	PROPERTY_PRIVATE_SIZE = 1 << 6,
	PROPERTY_GROUPS_X = 1 << 7,
	PROPERTY_GROUPS_Y = 1 << 8,
	PROPERTY_GROUPS_Z = 1 << 9,
	PROPERTY_WAVE32 = 1 << 10,
};

enum rsrc2 {
	RSRC2_PRIVATE_SEGMENT = 1 << 0,
	RSRC2_GROUP_ID_X = 1 << 7,
	RSRC2_GROUP_ID_Y = 1 << 8,
	RSRC2_GROUP_ID_Z = 1 << 9,
	RSRC2_GROUP_INFO = 1 << 10,
};

#define MAX_USER_SGPRS 16u
#define MAX_WORK_ITEMS 1024u
#define SCRATCH_GRANULE 1024u
#define LDS_GRANULE 512u

/* Of a gfx9 CU: four SIMDs, each with ten waves and 256 registers a lane. */
#define CU_SIMDS 4u
#define CU_WAVES 40u
#define SIMD_WAVES 10u
#define SIMD_VGPRS 256u
/* kfd_queue.c: VGPRs, SGPRs, LDS and hardware registers of a CU. */
#define CU_SAVE_BYTES (0x40000u + 0x4000u + 0x10000u + 0x1000u)

static u16 get16(const void *from, u32 offset)
{
	u16 value;

	memcpy(&value, (const u8 *)from + offset, sizeof(value));
	return value;
}

static u32 get32(const void *from, u32 offset)
{
	u32 value;

	memcpy(&value, (const u8 *)from + offset, sizeof(value));
	return value;
}

static u64 get64(const void *from, u32 offset)
{
	u64 value;

	memcpy(&value, (const u8 *)from + offset, sizeof(value));
	return value;
}

u64 gfx9_packet_kernel_object(const void *packet)
{
	return get64(packet, PACKET_KERNEL_OBJECT);
}

static u32 round_up_to(u32 value, u32 granule)
{
	return (value + granule - 1) / granule * granule;
}

static int read_sizes(struct gfx9_dispatch *d, const void *packet)
{
	const u32 dimensions = get16(packet, PACKET_SETUP) & 3;
	u32 items = 1;

	if (!dimensions)
		return -EINVAL;
	for (u32 i = 0; i < 3; i++) {
		d->group[i] = i < dimensions ? get16(packet, PACKET_GROUP + 2 * i) : 1;
		d->grid[i] = i < dimensions ? get32(packet, PACKET_GRID + 4 * i) : 1;
		if (!d->group[i] || !d->grid[i] || d->group[i] > MAX_WORK_ITEMS)
			return -EINVAL;
		d->groups[i] = (u32)(((u64)d->grid[i] + d->group[i] - 1) / d->group[i]);
		items *= d->group[i];
		if (items > MAX_WORK_ITEMS)
			return -EINVAL;
	}
	d->shape.wave_count = (items + GFX9_LANES - 1) / GFX9_LANES;
	return 0;
}

static u32 sgpr_count(u32 rsrc1)
{
	/* In sixteens; the field counts eights. */
	const u32 count = (BITS(rsrc1, 9, 6) / 2 + 1) * 16;

	return count > GFX9_MAX_SGPRS ? GFX9_MAX_SGPRS : count;
}

int gfx9_dispatch_init(struct gfx9_dispatch *dispatch, const void *packet, const void *descriptor,
		       const struct gfx9_queue *queue)
{
	struct gfx9_dispatch d = { .queue = *queue };
	const u32 lds = get32(packet, PACKET_LDS);
	const u64 wave_scratch = (u64)get32(packet, PACKET_PRIVATE) * GFX9_LANES;
	int ret = read_sizes(&d, packet);

	if (ret)
		return ret;
	if (lds > GFX9_MAX_LDS_BYTES || wave_scratch > 0x7fffffff)
		return -EINVAL;
	d.rsrc1 = get32(descriptor, DESCRIPTOR_RSRC1);
	d.rsrc2 = get32(descriptor, DESCRIPTOR_RSRC2);
	d.properties = get16(descriptor, DESCRIPTOR_PROPERTIES);
	if (d.properties & PROPERTY_WAVE32)
		return -EINVAL;
	d.shape.vgpr_count = (BITS(d.rsrc1, 5, 0) + 1) * 4;
	d.shape.sgpr_count = sgpr_count(d.rsrc1);
	d.shape.lds_bytes = round_up_to(lds, LDS_GRANULE);
	d.private_bytes = get32(packet, PACKET_PRIVATE);
	d.wave_scratch_bytes = round_up_to(wave_scratch, SCRATCH_GRANULE);
	d.completion_signal = get64(packet, PACKET_SIGNAL);
	d.kernel_object = get64(packet, PACKET_KERNEL_OBJECT);
	d.kernarg_va = get64(packet, PACKET_KERNARG);
	if (!gfx9_workgroups_per_cu(&d.shape))
		return -EINVAL;
	d.entry = (d.kernel_object + get64(descriptor, DESCRIPTOR_ENTRY)) & ~3ull;
	*dispatch = d;
	return 0;
}

/* ---- sizes -------------------------------------------------------------------------- */

static size_t rows_of(const struct gfx9_shape *shape)
{
	return (size_t)shape->wave_count * shape->vgpr_count;
}

#define ALIGNMENT 64u

size_t gfx9_workgroup_bytes(const struct gfx9_shape *shape)
{
	return sizeof(struct gfx9_workgroup) + shape->wave_count * sizeof(struct gfx9_wave) +
	       rows_of(shape) * sizeof(gfx9_row) + shape->lds_bytes + ALIGNMENT;
}

static u32 min_of(u32 a, u32 b)
{
	return a < b ? a : b;
}

u32 gfx9_workgroups_per_cu(const struct gfx9_shape *shape)
{
	const u32 simd_waves = min_of(SIMD_WAVES, SIMD_VGPRS / shape->vgpr_count);
	u32 count = CU_SIMDS * simd_waves / shape->wave_count;

	count = min_of(count, CU_WAVES / shape->wave_count);
	if (shape->lds_bytes)
		count = min_of(count, GFX9_MAX_LDS_BYTES / shape->lds_bytes);
	return min_of(count, CU_SAVE_BYTES / (u32)gfx9_save_bytes(shape));
}

/* ---- starting ----------------------------------------------------------------------- */

void gfx9_workgroup_lay_out(struct gfx9_workgroup *wg, const struct gfx9_shape *shape)
{
	unsigned long at = (unsigned long)&wg->waves[shape->wave_count];
	gfx9_row *rows;

	at = (at + ALIGNMENT - 1) & ~(unsigned long)(ALIGNMENT - 1);
	rows = (gfx9_row *)at;
	wg->shape = *shape;
	for (u32 i = 0; i < shape->wave_count; i++) {
		wg->waves[i].vgpr = rows + (size_t)i * shape->vgpr_count;
		wg->waves[i].vgpr_count = shape->vgpr_count;
	}
	wg->lds = (u8 *)(rows + rows_of(shape));
}

/* User SGPRs in the order of kernel_code_properties, then the system's. */
struct sgprs {
	u32 *s;
	u32 count;
	u32 limit;
};

static void put32(struct sgprs *to, u32 value)
{
	if (to->count < to->limit)
		to->s[to->count] = value;
	to->count++;
}

static void put64(struct sgprs *to, u64 value)
{
	put32(to, value);
	put32(to, value >> 32);
}

static void put_user_sgprs(struct sgprs *to, const struct gfx9_dispatch *d)
{
	const u32 properties = d->properties;
	u32 i;

	if (properties & PROPERTY_PRIVATE_BUFFER)
		for (i = 0; i < 4; i++)
			put32(to, d->queue.scratch_resource[i]);
	if (properties & PROPERTY_DISPATCH_PTR)
		put64(to, d->queue.packet_va);
	if (properties & PROPERTY_QUEUE_PTR)
		put64(to, d->queue.queue_va);
	if (properties & PROPERTY_KERNARG_PTR)
		put64(to, d->kernarg_va);
	if (properties & PROPERTY_DISPATCH_ID)
		put64(to, d->queue.dispatch_id);
	if (properties & PROPERTY_FLAT_SCRATCH_INIT)
		put64(to, d->queue.scratch_base);
	if (properties & PROPERTY_PRIVATE_SIZE)
		put32(to, d->private_bytes);
	for (i = 0; i < 3; i++)
		if (properties & PROPERTY_GROUPS_X << i)
			put32(to, d->groups[i]);
}

static void put_system_sgprs(struct sgprs *to, const struct gfx9_dispatch *d,
			     const struct gfx9_workgroup *wg, u32 wave)
{
	for (u32 i = 0; i < 3; i++)
		if (d->rsrc2 & RSRC2_GROUP_ID_X << i)
			put32(to, wg->id[i]);
	if (d->rsrc2 & RSRC2_GROUP_INFO)
		put32(to, (wave ? 0 : 1u << 31) | wg->shape.wave_count);
	if (d->rsrc2 & RSRC2_PRIVATE_SEGMENT)
		put32(to, (wg->scratch_slot + wave) * d->queue.scratch_wave_bytes);
}

static void start_sgprs(struct gfx9_wave *w, const struct gfx9_dispatch *d,
			const struct gfx9_workgroup *wg, u32 wave)
{
	const u32 user = min_of(BITS(d->rsrc2, 5, 1), MAX_USER_SGPRS);
	struct sgprs to = { .s = w->s, .limit = user };

	put_user_sgprs(&to, d);
	to.count = user;
	to.limit = GFX9_MAX_SGPRS;
	put_system_sgprs(&to, d, wg, wave);
}

/* v0, v1, v2: the work item's place in its workgroup of @size. */
static void start_vgprs(struct gfx9_wave *w, const struct gfx9_dispatch *d, const u32 size[3],
			u32 wave)
{
	const u32 ids = BITS(d->rsrc2, 12, 11);

	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		const u32 item = wave * GFX9_LANES + lane;

		w->vgpr[0][lane] = item % size[0];
		if (ids >= 1)
			w->vgpr[1][lane] = item / size[0] % size[1];
		if (ids >= 2)
			w->vgpr[2][lane] = item / size[0] / size[1];
	}
}

static u32 start_mode(u32 rsrc1)
{
	u32 mode = BITS(rsrc1, 19, 12);

	if (rsrc1 & 1u << 21)
		mode |= GFX9_MODE_DX10_CLAMP;
	if (rsrc1 & 1u << 23)
		mode |= GFX9_MODE_IEEE;
	return mode;
}

static void start_wave(struct gfx9_workgroup *wg, const struct gfx9_dispatch *d, const u32 size[3],
		       u32 wave)
{
	const u32 items = size[0] * size[1] * size[2] - wave * GFX9_LANES;
	struct gfx9_wave *w = &wg->waves[wave];

	w->pc = d->entry;
	w->mode = start_mode(d->rsrc1);
	w->q[GFX9_EXEC / 2] = items >= GFX9_LANES ? ~0ull : (1ull << items) - 1;
	w->state = GFX9_WAVE_READY;
	start_sgprs(w, d, wg, wave);
	start_vgprs(w, d, size, wave);
}

void gfx9_workgroup_init(struct gfx9_workgroup *wg, const struct gfx9_dispatch *dispatch,
			 const u32 id[3], u32 scratch_slot)
{
	struct gfx9_shape shape = dispatch->shape;
	u32 size[3];

	/* Those at the grid's end can be smaller, and have fewer waves. */
	for (u32 i = 0; i < 3; i++)
		size[i] =
			min_of(dispatch->group[i], dispatch->grid[i] - id[i] * dispatch->group[i]);
	shape.wave_count = (size[0] * size[1] * size[2] + GFX9_LANES - 1) / GFX9_LANES;
	memset(wg, 0, gfx9_workgroup_bytes(&shape));
	gfx9_workgroup_lay_out(wg, &shape);
	memcpy(wg->id, id, sizeof(wg->id));
	wg->scratch_slot = scratch_slot;
	for (u32 wave = 0; wave < shape.wave_count; wave++)
		start_wave(wg, dispatch, size, wave);
}
