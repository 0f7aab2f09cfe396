// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * LDS: "Vega" ISA reference, chapter 10 and 12.13. Reads outside the workgroup's
 * allocation give zero, writes there do nothing (10.1).
 */
#include "gfx9_access.h"
#include "gfx9_lanes.h"

/* The transfer of a ds_* with one location per lane, or 0 bytes. */
static struct gfx9_transfer read_transfer(u32 op)
{
	switch (op) {
	case GFX9_ds_read_b32:
		return (struct gfx9_transfer){ .bytes = 4 };
	case GFX9_ds_read_b64:
		return (struct gfx9_transfer){ .bytes = 8 };
	case GFX9_ds_read_b96:
		return (struct gfx9_transfer){ .bytes = 12 };
	case GFX9_ds_read_b128:
		return (struct gfx9_transfer){ .bytes = 16 };
	case GFX9_ds_read_i8:
		return (struct gfx9_transfer){ .bytes = 1, .sign = true };
	case GFX9_ds_read_u8:
		return (struct gfx9_transfer){ .bytes = 1 };
	case GFX9_ds_read_i16:
		return (struct gfx9_transfer){ .bytes = 2, .sign = true };
	case GFX9_ds_read_u16:
		return (struct gfx9_transfer){ .bytes = 2 };
	case GFX9_ds_read_u8_d16:
		return (struct gfx9_transfer){ .bytes = 1, .part = GFX9_PART_LOW };
	case GFX9_ds_read_u8_d16_hi:
		return (struct gfx9_transfer){ .bytes = 1, .part = GFX9_PART_HIGH };
	case GFX9_ds_read_i8_d16:
		return (struct gfx9_transfer){ .bytes = 1, .sign = true, .part = GFX9_PART_LOW };
	case GFX9_ds_read_i8_d16_hi:
		return (struct gfx9_transfer){ .bytes = 1, .sign = true, .part = GFX9_PART_HIGH };
	case GFX9_ds_read_u16_d16:
		return (struct gfx9_transfer){ .bytes = 2, .part = GFX9_PART_LOW };
	case GFX9_ds_read_u16_d16_hi:
		return (struct gfx9_transfer){ .bytes = 2, .part = GFX9_PART_HIGH };
	default:
		return (struct gfx9_transfer){ 0 };
	}
}

static struct gfx9_transfer write_transfer(u32 op)
{
	switch (op) {
	case GFX9_ds_write_b32:
		return (struct gfx9_transfer){ .bytes = 4 };
	case GFX9_ds_write_b64:
		return (struct gfx9_transfer){ .bytes = 8 };
	case GFX9_ds_write_b96:
		return (struct gfx9_transfer){ .bytes = 12 };
	case GFX9_ds_write_b128:
		return (struct gfx9_transfer){ .bytes = 16 };
	case GFX9_ds_write_b8:
		return (struct gfx9_transfer){ .bytes = 1 };
	case GFX9_ds_write_b16:
		return (struct gfx9_transfer){ .bytes = 2 };
	case GFX9_ds_write_b8_d16_hi:
		return (struct gfx9_transfer){ .bytes = 1, .part = GFX9_PART_HIGH };
	case GFX9_ds_write_b16_d16_hi:
		return (struct gfx9_transfer){ .bytes = 2, .part = GFX9_PART_HIGH };
	default:
		return (struct gfx9_transfer){ 0 };
	}
}

/* The place of @bytes at @address, or NULL when any is outside. */
static u8 *lds_at(const struct gfx9_workgroup *wg, u32 address, u32 bytes)
{
	if (address >= wg->shape.lds_bytes || wg->shape.lds_bytes - address < bytes)
		return NULL;
	return wg->lds + address;
}

/* Lanes' addresses, which may lie in a register that is about to be written. */
static const u32 *addresses(struct gfx9_env *env, struct gfx9_wave *wave,
			    const struct gfx9_inst *inst)
{
	u32 *copy = env->rows[GFX9_ROW_TEMP];

	memcpy(copy, gfx9_vgpr_read(wave, inst->src[0]), sizeof(gfx9_row));
	return copy;
}

/* Whether all lanes' accesses lie in the allocation, so that none need be checked. */
static bool all_inside(const struct gfx9_workgroup *wg, const u32 *address, u32 offset, u32 bytes)
{
	const gfx9_v4u *vector = (const gfx9_v4u *)address;
	gfx9_v4u outside = { 0 };

	if (wg->shape.lds_bytes < bytes)
		return false;
	for (u32 i = 0; i < GFX9_VECTORS; i++)
		outside |= (gfx9_v4u)(vector[i] + offset > wg->shape.lds_bytes - bytes);
	return !gfx9_collect((gfx9_v4s)outside, 0);
}

/* Sums of 32 bits, which wrap around as those that were checked. */
static void read_all(const u8 *lds, const u32 *address, u32 offset, u32 *row)
{
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		memcpy(&row[lane], lds + (u32)(address[lane] + offset), sizeof(row[lane]));
}

static void write_all(u8 *lds, const u32 *address, u32 offset, const u32 *row)
{
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		memcpy(lds + (u32)(address[lane] + offset), &row[lane], sizeof(row[lane]));
}

/* @dwords from each active lane's address on, to VGPRs @vdst on. */
static void read_dwords(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
			const u32 *address, u32 offset, u32 vdst, u32 dwords)
{
	u32 *row[4];

	for (u32 i = 0; i < dwords; i++)
		row[i] = gfx9_vgpr_write(env, wave, vdst + i);
	if (gfx9_exec(wave) == ~0ull && all_inside(wg, address, offset, dwords * 4)) {
		for (u32 i = 0; i < dwords; i++)
			read_all(wg->lds + 4 * i, address, offset, row[i]);
		return;
	}
	for (u64 left = gfx9_exec(wave); left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);
		const u8 *at = lds_at(wg, address[lane] + offset, dwords * 4);

		for (u32 i = 0; i < dwords; i++) {
			u32 value = 0;

			if (at)
				memcpy(&value, at + 4 * i, sizeof(value));
			row[i][lane] = value;
		}
	}
}

static void write_dwords(struct gfx9_workgroup *wg, struct gfx9_wave *wave, const u32 *address,
			 u32 offset, u32 vdata, u32 dwords)
{
	const u32 *row[4];

	for (u32 i = 0; i < dwords; i++)
		row[i] = gfx9_vgpr_read(wave, vdata + i);
	if (dwords == 1 && gfx9_exec(wave) == ~0ull && all_inside(wg, address, offset, 4)) {
		write_all(wg->lds, address, offset, row[0]);
		return;
	}
	for (u64 left = gfx9_exec(wave); left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);
		u8 *at = lds_at(wg, address[lane] + offset, dwords * 4);

		for (u32 i = 0; at && i < dwords; i++)
			memcpy(at + 4 * i, &row[i][lane], sizeof(row[i][lane]));
	}
}

/* Less than a dword. */
static void read_part(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		      const struct gfx9_inst *inst, const struct gfx9_transfer *t)
{
	const u32 *address = addresses(env, wave, inst);
	u32 *row = gfx9_vgpr_write(env, wave, inst->vdst);

	for (u64 left = gfx9_exec(wave); left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);
		const u8 *at = lds_at(wg, address[lane] + inst->imm, t->bytes);
		u32 value = 0;

		if (at)
			memcpy(&value, at, t->bytes);
		row[lane] = gfx9_loaded(t, value, row[lane]);
	}
}

static void write_part(struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		       const struct gfx9_inst *inst, const struct gfx9_transfer *t)
{
	const u32 *address = gfx9_vgpr_read(wave, inst->src[0]);
	const u32 *row = gfx9_vgpr_read(wave, inst->src[1]);

	for (u64 left = gfx9_exec(wave); left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);
		const u32 value = row[lane] >> (t->part == GFX9_PART_HIGH ? 16 : 0);
		u8 *at = lds_at(wg, address[lane] + inst->imm, t->bytes);

		if (at)
			memcpy(at, &value, t->bytes);
	}
}

static void do_read(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		    const struct gfx9_inst *inst, const struct gfx9_transfer *t)
{
	if (t->bytes < 4)
		read_part(env, wg, wave, inst, t);
	else
		read_dwords(env, wg, wave, addresses(env, wave, inst), inst->imm, inst->vdst,
			    t->bytes / 4);
}

static void do_write(struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		     const struct gfx9_inst *inst, const struct gfx9_transfer *t)
{
	if (t->bytes < 4)
		write_part(wg, wave, inst, t);
	else
		write_dwords(wg, wave, gfx9_vgpr_read(wave, inst->src[0]), inst->imm, inst->src[1],
			     t->bytes / 4);
}

/* ---- two locations ------------------------------------------------------------------- */

enum pair_kind {
	PAIR_NONE,
	PAIR_READ,
	PAIR_WRITE,
	PAIR_EXCHANGE
};

struct pair {
	enum pair_kind kind;
	u32 bytes;
	u32 scale; /* of the two 8-bit offsets */
};

static struct pair pair_of(u32 op)
{
	switch (op) {
	case GFX9_ds_read2_b32:
		return (struct pair){ PAIR_READ, 4, 4 };
	case GFX9_ds_read2st64_b32:
		return (struct pair){ PAIR_READ, 4, 256 };
	case GFX9_ds_read2_b64:
		return (struct pair){ PAIR_READ, 8, 8 };
	case GFX9_ds_read2st64_b64:
		return (struct pair){ PAIR_READ, 8, 512 };
	case GFX9_ds_write2_b32:
		return (struct pair){ PAIR_WRITE, 4, 4 };
	case GFX9_ds_write2st64_b32:
		return (struct pair){ PAIR_WRITE, 4, 256 };
	case GFX9_ds_write2_b64:
		return (struct pair){ PAIR_WRITE, 8, 8 };
	case GFX9_ds_write2st64_b64:
		return (struct pair){ PAIR_WRITE, 8, 512 };
	case GFX9_ds_wrxchg2_rtn_b32:
		return (struct pair){ PAIR_EXCHANGE, 4, 4 };
	case GFX9_ds_wrxchg2st64_rtn_b32:
		return (struct pair){ PAIR_EXCHANGE, 4, 256 };
	case GFX9_ds_wrxchg2_rtn_b64:
		return (struct pair){ PAIR_EXCHANGE, 8, 8 };
	case GFX9_ds_wrxchg2st64_rtn_b64:
		return (struct pair){ PAIR_EXCHANGE, 8, 512 };
	default:
		return (struct pair){ PAIR_NONE, 0, 0 };
	}
}

/* The exchange of one lane's two locations with two registers. */
static void exchange_lane(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
			  const struct gfx9_inst *inst, const u32 at[2], u32 dwords, u32 lane)
{
	u32 before[4] = { 0 }, data[2][2];
	u32 i, n;
	u8 *place;

	for (i = 0; i < 2; i++) {
		place = lds_at(wg, at[i], dwords * 4);
		if (place)
			memcpy(&before[i * dwords], place, dwords * 4);
		for (n = 0; n < dwords; n++)
			data[i][n] = gfx9_vgpr_read(wave, inst->src[1 + i] + n)[lane];
	}
	for (i = 0; i < 2; i++) {
		place = lds_at(wg, at[i], dwords * 4);
		if (place)
			memcpy(place, data[i], dwords * 4);
	}
	for (n = 0; n < 2 * dwords; n++)
		gfx9_vgpr_write(env, wave, inst->vdst + n)[lane] = before[n];
}

static void do_pair(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		    const struct gfx9_inst *inst, const struct pair *pair)
{
	const u32 *address = addresses(env, wave, inst);
	const u32 dwords = pair->bytes / 4;
	const u32 offset[2] = { (inst->imm & 255) * pair->scale, (inst->imm >> 8) * pair->scale };

	for (u32 i = 0; i < 2 && pair->kind != PAIR_EXCHANGE; i++) {
		if (pair->kind == PAIR_READ)
			read_dwords(env, wg, wave, address, offset[i], inst->vdst + i * dwords,
				    dwords);
		else
			write_dwords(wg, wave, address, offset[i], inst->src[1 + i], dwords);
	}
	if (pair->kind != PAIR_EXCHANGE)
		return;
	for (u64 left = gfx9_exec(wave); left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);
		const u32 at[2] = { address[lane] + offset[0], address[lane] + offset[1] };

		exchange_lane(env, wg, wave, inst, at, dwords, lane);
	}
}

/* ---- atomics -------------------------------------------------------------------------- */

/* By the opcode's low five bits; bit 5 is "returns", bit 6 is 64 bits. */
static bool lds_atomic(u32 op, u32 *atomic)
{
	if (op >= 0x80)
		return false;
	switch (op & 31) {
	case GFX9_ds_add_u32:
		*atomic = GFX9_ATOMIC_ADD;
		return true;
	case GFX9_ds_sub_u32:
		*atomic = GFX9_ATOMIC_SUB;
		return true;
	case GFX9_ds_rsub_u32:
		*atomic = GFX9_ATOMIC_RSUB;
		return true;
	case GFX9_ds_inc_u32:
		*atomic = GFX9_ATOMIC_INC;
		return true;
	case GFX9_ds_dec_u32:
		*atomic = GFX9_ATOMIC_DEC;
		return true;
	case GFX9_ds_min_i32:
		*atomic = GFX9_ATOMIC_SMIN;
		return true;
	case GFX9_ds_max_i32:
		*atomic = GFX9_ATOMIC_SMAX;
		return true;
	case GFX9_ds_min_u32:
		*atomic = GFX9_ATOMIC_UMIN;
		return true;
	case GFX9_ds_max_u32:
		*atomic = GFX9_ATOMIC_UMAX;
		return true;
	case GFX9_ds_and_b32:
		*atomic = GFX9_ATOMIC_AND;
		return true;
	case GFX9_ds_or_b32:
		*atomic = GFX9_ATOMIC_OR;
		return true;
	case GFX9_ds_xor_b32:
		*atomic = GFX9_ATOMIC_XOR;
		return true;
	case GFX9_ds_mskor_b32:
		*atomic = GFX9_ATOMIC_MSKOR;
		return true;
	case GFX9_ds_write_b32: /* with bit 5: wrxchg */
		*atomic = GFX9_ATOMIC_SWAP;
		return true;
	case GFX9_ds_cmpst_b32:
		*atomic = GFX9_ATOMIC_CMPSWAP;
		return true;
	case GFX9_ds_cmpst_f32:
		*atomic = GFX9_ATOMIC_FCMPSWAP;
		return true;
	case GFX9_ds_min_f32:
		*atomic = GFX9_ATOMIC_FMIN;
		return true;
	case GFX9_ds_max_f32:
		*atomic = GFX9_ATOMIC_FMAX;
		return true;
	case GFX9_ds_add_f32:
		*atomic = GFX9_ATOMIC_FADD;
		return true;
	default:
		return false;
	}
}

/* Their first operand is the mask or the value to compare with, the second the new value. */
static bool second_is_data(u32 atomic)
{
	return atomic == GFX9_ATOMIC_CMPSWAP || atomic == GFX9_ATOMIC_FCMPSWAP ||
	       atomic == GFX9_ATOMIC_MSKOR;
}

static u64 register_pair(struct gfx9_wave *wave, u32 number, u32 lane, bool wide)
{
	u64 value = gfx9_vgpr_read(wave, number)[lane];

	if (wide)
		value |= (u64)gfx9_vgpr_read(wave, number + 1)[lane] << 32;
	return value;
}

static u64 atomic_lane(struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		       const struct gfx9_inst *inst, u32 atomic, bool wide, u32 lane)
{
	const u32 bytes = wide ? 8 : 4;
	const u32 address = gfx9_vgpr_read(wave, inst->src[0])[lane] + inst->imm;
	u8 *at = lds_at(wg, address & ~(bytes - 1), bytes);
	u64 data = register_pair(wave, inst->src[1], lane, wide), compare = 0;

	if (!at)
		return 0;
	if (second_is_data(atomic)) {
		compare = data;
		data = register_pair(wave, inst->src[2], lane, wide);
	}
	return wide ? gfx9_atomic64((u64 *)at, atomic, data, compare) :
		      gfx9_atomic32((u32 *)at, atomic, data, compare);
}

static int do_atomic(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		     const struct gfx9_inst *inst)
{
	const bool wide = inst->op & 0x40, returns = inst->op & 0x20;
	u32 atomic;

	if (!lds_atomic(inst->op, &atomic) || (wide && atomic == GFX9_ATOMIC_FADD))
		return GFX9_X_UNKNOWN;
	for (u64 left = gfx9_exec(wave); left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);
		const u64 old = atomic_lane(wg, wave, inst, atomic, wide, lane);

		if (!returns)
			continue;
		gfx9_vgpr_write(env, wave, inst->vdst)[lane] = old;
		if (wide)
			gfx9_vgpr_write(env, wave, inst->vdst + 1)[lane] = old >> 32;
	}
	return GFX9_X_OK;
}

/* ---- exchanges between lanes, which touch no LDS --------------------------------------- */

static void write_lanes(struct gfx9_env *env, struct gfx9_wave *wave, u32 vdst, const u32 *from)
{
	u32 *to = gfx9_vgpr_write(env, wave, vdst);

	for (u64 left = gfx9_exec(wave); left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);

		to[lane] = from[lane];
	}
}

static void do_permute(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	const u32 *address = gfx9_vgpr_read(wave, inst->src[0]);
	const u32 *data = gfx9_vgpr_read(wave, inst->src[1]);
	const u64 exec = gfx9_exec(wave);
	u32 *result = env->rows[GFX9_ROW_RESULT];
	u32 lane;

	memset(result, 0, sizeof(gfx9_row));
	for (lane = 0; lane < GFX9_LANES; lane++) {
		const u32 other = (address[lane] + inst->imm) / 4 % GFX9_LANES;

		if (inst->op == GFX9_ds_permute_b32) {
			if (exec >> lane & 1)
				result[other] = data[lane];
		} else if (exec >> other & 1) {
			result[lane] = data[other];
		}
	}
	write_lanes(env, wave, inst->vdst, result);
}

/* The lane that @lane reads: quads by two bits each, or groups of 32 by masks. */
static u32 swizzle_source(u32 control, u32 lane)
{
	const u32 within = lane & 31;

	if (control & 0x8000)
		return (lane & ~3u) | (control >> (lane & 3) * 2 & 3);
	return (lane & 32) | (((within & control) | (control >> 5)) ^ (control >> 10)) % 32;
}

static int do_swizzle(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	const u32 *data = gfx9_vgpr_read(wave, inst->src[0]);
	const u64 exec = gfx9_exec(wave);
	u32 *result = env->rows[GFX9_ROW_RESULT];

	/* The rotate and FFT modes. */
	if (inst->imm >= 0xc000)
		return GFX9_X_UNKNOWN;
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		const u32 from = swizzle_source(inst->imm, lane);

		result[lane] = exec >> from & 1 ? data[from] : 0;
	}
	write_lanes(env, wave, inst->vdst, result);
	return GFX9_X_OK;
}

int gfx9_exec_ds(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		 const struct gfx9_inst *inst)
{
	struct gfx9_transfer t;
	struct pair pair;

	if (inst->flags & GFX9_I_GDS)
		return GFX9_X_UNKNOWN;
	switch (inst->op) {
	case GFX9_ds_nop:
		return GFX9_X_OK;
	case GFX9_ds_permute_b32:
	case GFX9_ds_bpermute_b32:
		do_permute(env, wave, inst);
		return GFX9_X_OK;
	case GFX9_ds_swizzle_b32:
		return do_swizzle(env, wave, inst);
	default:
		break;
	}
	t = read_transfer(inst->op);
	if (t.bytes) {
		do_read(env, wg, wave, inst, &t);
		return GFX9_X_OK;
	}
	t = write_transfer(inst->op);
	if (t.bytes) {
		do_write(wg, wave, inst, &t);
		return GFX9_X_OK;
	}
	pair = pair_of(inst->op);
	if (pair.kind != PAIR_NONE) {
		do_pair(env, wg, wave, inst, &pair);
		return GFX9_X_OK;
	}
	return do_atomic(env, wg, wave, inst);
}
