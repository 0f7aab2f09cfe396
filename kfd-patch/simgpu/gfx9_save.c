// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A workgroup to and from a save area. */
#include "gfx9_internal.h"
#include "gfx9_save.h"

static_assert(sizeof(struct gfx9_save_header) == 80, "the save area's layout");
static_assert(sizeof(struct gfx9_save_wave) == 472, "the save area's layout");
static_assert(offsetof(struct gfx9_save_wave, flat_scratch) -
			      offsetof(struct gfx9_save_wave, sgpr) ==
		      GFX9_FLAT_SCRATCH * sizeof(u32),
	      "the scalar registers lie in order");

static u64 vgpr_bytes(const struct gfx9_shape *shape)
{
	return (u64)shape->wave_count * shape->vgpr_count * sizeof(gfx9_row);
}

static u64 vgprs_at(const struct gfx9_shape *shape)
{
	return sizeof(struct gfx9_save_header) +
	       (u64)shape->wave_count * sizeof(struct gfx9_save_wave);
}

u64 gfx9_save_bytes(const struct gfx9_shape *shape)
{
	return vgprs_at(shape) + vgpr_bytes(shape) + shape->lds_bytes;
}

static u64 wave_at(u32 wave)
{
	return sizeof(struct gfx9_save_header) + (u64)wave * sizeof(struct gfx9_save_wave);
}

/* ---- saving -------------------------------------------------------------------------- */

static void pack_header(const struct gfx9_workgroup *wg, struct gfx9_save_header *to)
{
	*to = (struct gfx9_save_header){
		.magic = GFX9_SAVE_MAGIC,
		.version = GFX9_SAVE_VERSION,
		.wave_count = wg->shape.wave_count,
		.vgpr_count = wg->shape.vgpr_count,
		.sgpr_count = wg->shape.sgpr_count,
		.lds_bytes = wg->shape.lds_bytes,
		.scratch_slot = wg->scratch_slot,
		.hw_id = wg->hw_id,
		.next_wave = wg->next_wave,
	};
	memcpy(to->id, wg->id, sizeof(to->id));
	memcpy(to->owner, wg->owner, sizeof(to->owner));
}

/* SGPRs, FLAT_SCRATCH, XNACK_MASK and VCC follow each other in both. */
#define SAVED_SREGS (GFX9_TTMP0 * sizeof(u32))

static void pack_wave(const struct gfx9_wave *wave, struct gfx9_save_wave *to)
{
	memset(to, 0, sizeof(*to));
	to->pc = wave->pc;
	to->exec = wave->q[GFX9_EXEC / 2];
	to->instructions = wave->instructions;
	memcpy((u8 *)to + offsetof(struct gfx9_save_wave, sgpr), wave->s, SAVED_SREGS);
	to->m0 = wave->s[GFX9_M0];
	to->mode = wave->mode;
	to->trap_status = wave->trap_status;
	to->state = wave->state;
	to->scc = wave->scc;
}

int gfx9_workgroup_save(const struct gfx9_workgroup *wg, gfx9_save_write write, void *ctx)
{
	const struct gfx9_shape *shape = &wg->shape;
	struct gfx9_save_header header;
	struct gfx9_save_wave wave;
	int ret;

	pack_header(wg, &header);
	ret = write(ctx, 0, &header, sizeof(header));
	for (u32 i = 0; !ret && i < shape->wave_count; i++) {
		pack_wave(&wg->waves[i], &wave);
		ret = write(ctx, wave_at(i), &wave, sizeof(wave));
	}
	/* The waves' rows lie one after the other. */
	if (!ret)
		ret = write(ctx, vgprs_at(shape), wg->waves[0].vgpr, vgpr_bytes(shape));
	if (!ret && shape->lds_bytes)
		ret = write(ctx, vgprs_at(shape) + vgpr_bytes(shape), wg->lds, shape->lds_bytes);
	return ret;
}

/* ---- restoring ------------------------------------------------------------------------- */

static int check_header(const struct gfx9_save_header *header, struct gfx9_shape *shape)
{
	if (header->magic != GFX9_SAVE_MAGIC || header->version != GFX9_SAVE_VERSION)
		return -EINVAL;
	if (!header->wave_count || header->wave_count > GFX9_MAX_WAVES || !header->vgpr_count ||
	    header->vgpr_count > GFX9_MAX_VGPRS || !header->sgpr_count ||
	    header->sgpr_count > GFX9_MAX_SGPRS || header->lds_bytes > GFX9_MAX_LDS_BYTES ||
	    header->lds_bytes % 8 || header->next_wave >= header->wave_count)
		return -EINVAL;
	*shape = (struct gfx9_shape){
		.wave_count = header->wave_count,
		.vgpr_count = header->vgpr_count,
		.sgpr_count = header->sgpr_count,
		.lds_bytes = header->lds_bytes,
	};
	return 0;
}

int gfx9_save_probe(gfx9_save_read read, void *ctx, u64 available, struct gfx9_shape *shape)
{
	struct gfx9_save_header header;
	struct gfx9_shape found;
	int ret;

	if (available < sizeof(header))
		return -EINVAL;
	ret = read(ctx, 0, &header, sizeof(header));
	if (!ret)
		ret = check_header(&header, &found);
	if (ret)
		return ret;
	if (gfx9_save_bytes(&found) > available)
		return -EINVAL;
	*shape = found;
	return 0;
}

static int unpack_wave(const struct gfx9_save_wave *from, struct gfx9_wave *wave)
{
	if (from->state > GFX9_WAVE_STOPPED || from->scc > 1 || from->pc & 3)
		return -EINVAL;
	wave->pc = from->pc;
	wave->q[GFX9_EXEC / 2] = from->exec;
	wave->instructions = from->instructions;
	memcpy(wave->s, (const u8 *)from + offsetof(struct gfx9_save_wave, sgpr), SAVED_SREGS);
	wave->s[GFX9_M0] = from->m0;
	wave->mode = from->mode;
	wave->trap_status = from->trap_status;
	wave->state = from->state;
	wave->scc = from->scc;
	return 0;
}

/* What was written between the probe and now is refused, not believed. */
static int restore_header(struct gfx9_workgroup *wg, const struct gfx9_shape *shape,
			  gfx9_save_read read, void *ctx)
{
	struct gfx9_save_header header;
	struct gfx9_shape now;
	int ret = read(ctx, 0, &header, sizeof(header));

	if (!ret)
		ret = check_header(&header, &now);
	if (ret)
		return ret;
	if (memcmp(&now, shape, sizeof(now)))
		return -EINVAL;
	memcpy(wg->id, header.id, sizeof(wg->id));
	memcpy(wg->owner, header.owner, sizeof(wg->owner));
	wg->scratch_slot = header.scratch_slot;
	wg->hw_id = header.hw_id;
	wg->next_wave = header.next_wave;
	return 0;
}

int gfx9_workgroup_restore(struct gfx9_workgroup *wg, const struct gfx9_shape *shape,
			   gfx9_save_read read, void *ctx)
{
	struct gfx9_save_wave wave;
	int ret;

	memset(wg, 0, sizeof(*wg) + shape->wave_count * sizeof(wg->waves[0]));
	gfx9_workgroup_lay_out(wg, shape);
	ret = restore_header(wg, shape, read, ctx);
	for (u32 i = 0; !ret && i < shape->wave_count; i++) {
		ret = read(ctx, wave_at(i), &wave, sizeof(wave));
		if (!ret)
			ret = unpack_wave(&wave, &wg->waves[i]);
	}
	if (!ret)
		ret = read(ctx, vgprs_at(shape), wg->waves[0].vgpr, vgpr_bytes(shape));
	if (!ret && shape->lds_bytes)
		ret = read(ctx, vgprs_at(shape) + vgpr_bytes(shape), wg->lds, shape->lds_bytes);
	return ret;
}
