// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Vector ALU: sources with their modifiers (SDWA, DPP, NEG, ABS, OP_SEL) to rows,
 * the work itself (gfx9_integer.c, gfx9_float.c), results to the active lanes.
 * "Vega" ISA reference, chapter 6, and 13.3 for the encodings.
 */
#include "gfx9_lanes.h"

static bool is_wide(u32 type)
{
	return type >= GFX9_TYPE_B64 && type <= GFX9_TYPE_F64;
}

static bool is_16(u32 type)
{
	return type >= GFX9_TYPE_B16 && type <= GFX9_TYPE_F16;
}

static bool is_float(u32 type)
{
	return type == GFX9_TYPE_F32 || type == GFX9_TYPE_F16 || type == GFX9_TYPE_F64;
}

/* ---- rows ------------------------------------------------------------------------------ */

static void fill(u32 *row, u32 value)
{
	const gfx9_v4u all = { value, value, value, value };

	for (u32 i = 0; i < GFX9_VECTORS; i++)
		((gfx9_v4u *)row)[i] = all;
}

/*
 * A row with @value in all lanes, to be read only. Most constants come again
 * and again; whether a row holds one is seen by its first lane, as rows are
 * filled whole.
 */
static const u32 *constant_row(struct gfx9_env *env, u32 value)
{
	u32 *row = env->constant_row[(value ^ value >> 5 ^ value >> 23) % GFX9_CONSTANT_ROWS];

	if (row[0] != value)
		fill(row, value);
	return row;
}

/* Two of one instruction may have the same hash: the second has a row of its own. */
static const u32 *scalar_row(struct gfx9_env *env, u32 i, u32 before, u32 value)
{
	u32 *row = env->rows[GFX9_ROW_SRC0 + 2 * i];

	if (!before)
		return constant_row(env, value);
	fill(row, value);
	return row;
}

static void blend(u32 *to, const u32 *from, u64 mask)
{
	gfx9_v4u *d = (gfx9_v4u *)to;
	const gfx9_v4u *s = (const gfx9_v4u *)from;

	if (to == from)
		return;
	for (u32 i = 0; i < GFX9_VECTORS; i++) {
		const gfx9_v4u keep = gfx9_expand(mask, i);

		d[i] = (s[i] & keep) | (d[i] & ~keep);
	}
}

/* ---- sources ------------------------------------------------------------------------------ */

struct valu {
	struct gfx9_env *env;
	struct gfx9_wave *wave;
	const struct gfx9_inst *inst;
	const struct gfx9_valu_info *info;
	struct gfx9_lanes lanes;
	u64 write; /* lanes that keep the result */
	u32 vdst;
};

/* Constants of 16-bit operations: 0.5 and so on as half floats. */
static u32 constant16(u32 number, u32 value)
{
	static const u16 halves[9] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
				       0xc000, 0x4400, 0xc400, 0x3118 };

	if (number >= GFX9_SRC_HALF && number <= GFX9_SRC_INV_2PI)
		return halves[number - GFX9_SRC_HALF];
	return value;
}

static u32 source_type(const struct gfx9_valu_info *info, u32 i)
{
	if ((i == 0 && info->flags & GFX9_A_S0_32) ||
	    (i == 1 && info->flags & (GFX9_A_S1_32 | GFX9_A_CLASS)) ||
	    (i > 0 && info->flags & GFX9_A_S12_32))
		return GFX9_TYPE_B32;
	if (i == 2 && info->flags & GFX9_A_S2_64)
		return GFX9_TYPE_B64;
	/* v_mad_u32_u16 and v_mad_i32_i16 add 32 bits. */
	if (i == 2 && is_16(info->source) && !is_16(info->result))
		return GFX9_TYPE_B32;
	return info->source;
}

/* A scalar or constant in all lanes. */
static bool fetch_scalar(struct valu *v, u32 i, u32 number, u32 type)
{
	u32 *low = v->env->rows[GFX9_ROW_SRC0 + 2 * i];
	u32 *high = v->env->rows[GFX9_ROW_SRC0 + 2 * i + 1];
	u32 value;
	u64 wide;

	v->lanes.src[i][0] = low;
	v->lanes.src[i][1] = high;
	if (is_wide(type)) {
		if (!gfx9_scalar64(v->env, v->wave, v->inst, number, &wide))
			return false;
		/* A double's literal is its high half, a signed one is extended (6.2.1). */
		if (number == GFX9_SRC_LITERAL && type == GFX9_TYPE_F64)
			wide <<= 32;
		if (number == GFX9_SRC_LITERAL && type == GFX9_TYPE_I64)
			wide = (s64)(s32)wide;
		fill(low, wide);
		fill(high, wide >> 32);
	} else {
		if (!gfx9_scalar32(v->env, v->wave, v->inst, number, &value))
			return false;
		if (is_16(type))
			value = constant16(number, value);
		v->lanes.src[i][0] = scalar_row(v->env, i, v->lanes.uniform, value);
	}
	v->lanes.uniform |= 1u << i;
	return true;
}

/* s_set_gpr_idx_on adds M0's index to VGPR numbers ("Vega" ISA, 6.6). */
static u32 indexed(const struct valu *v, u32 which, u32 number)
{
	const u32 m0 = v->wave->s[GFX9_M0];

	if (!(v->wave->mode & GFX9_MODE_GPR_IDX_EN) || !(m0 >> (12 + which) & 1))
		return number;
	return number + (m0 & 255);
}

static bool is_madmk(u32 op)
{
	return op == GFX9_v_madmk_f32 || op == GFX9_v_madmk_f16;
}

static bool fetch(struct valu *v, u32 i, u32 number, u32 type)
{
	if (number < GFX9_SRC_VGPR)
		return fetch_scalar(v, i, number, type);
	/* madmk's encoded second source is its third (6.6.2). */
	number = indexed(v, i == 1 && is_madmk(v->inst->op) ? 2 : i, number - GFX9_SRC_VGPR);
	v->lanes.src[i][0] = gfx9_vgpr_read(v->wave, number);
	v->lanes.src[i][1] = gfx9_vgpr_read(v->wave, number + 1);
	return true;
}

static bool fetch_all(struct valu *v)
{
	const u32 count = v->info->sources;
	u32 i;

	for (i = 0; i < count; i++)
		if (!fetch(v, i, v->inst->src[i], source_type(v->info, i)))
			return false;
	for (; i < 3; i++) {
		v->lanes.src[i][0] = v->env->rows[GFX9_ROW_SRC0];
		v->lanes.src[i][1] = v->env->rows[GFX9_ROW_SRC0];
	}
	if (v->info->flags & GFX9_A_ACC)
		v->lanes.src[2][0] = gfx9_vgpr_read(v->wave, indexed(v, 3, v->inst->vdst));
	/* madmk: D = S0 * K + S1; madak: D = S0 * S1 + K. */
	if (v->info->flags & GFX9_A_K) {
		fill(v->env->rows[GFX9_ROW_SRC2], v->inst->imm);
		v->lanes.src[2][0] = v->env->rows[GFX9_ROW_SRC2];
		if (is_madmk(v->inst->op)) {
			v->lanes.src[2][0] = v->lanes.src[1][0];
			v->lanes.src[1][0] = v->env->rows[GFX9_ROW_SRC2];
		}
	}
	return true;
}

/* ---- source modifiers --------------------------------------------------------------- */

/* The row of source @i that may be changed: its own copy. */
static u32 *own_row(struct valu *v, u32 i, u32 half)
{
	u32 *row = v->env->rows[GFX9_ROW_SRC0 + 2 * i + half];

	if (v->lanes.src[i][half] != row)
		memcpy(row, v->lanes.src[i][half], sizeof(gfx9_row));
	v->lanes.src[i][half] = row;
	return row;
}

static void apply_sign(struct valu *v, u32 i)
{
	const u32 type = source_type(v->info, i);
	const u32 sign = type == GFX9_TYPE_F16 ? 0x8000 : 0x80000000;
	const bool clear = v->inst->abs >> i & 1, flip = v->inst->neg >> i & 1;
	u32 *row;

	if (!clear && !flip)
		return;
	row = own_row(v, i, is_wide(type));
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		if (clear)
			row[lane] &= ~sign;
		if (flip)
			row[lane] ^= sign;
	}
}

/* SDWA's selections: bytes 0 to 3, words 0 and 1, or the whole. */
static u32 select_part(u32 value, u32 select, bool sign)
{
	if (select < 4) {
		value = value >> select * 8 & 0xff;
		return sign ? (u32)(s8)value : value;
	}
	if (select < 6) {
		value = value >> (select - 4) * 16 & 0xffff;
		return sign ? (u32)(s16)value : value;
	}
	return value;
}

static void apply_sdwa(struct valu *v, u32 i)
{
	const bool sign = v->inst->sdwa_sext >> i & 1;
	const u32 select = v->inst->sdwa_sel[i];
	u32 *row;

	if (select >= 6)
		return;
	row = own_row(v, i, 0);
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		row[lane] = select_part(row[lane], select, sign);
}

static void apply_opsel(struct valu *v, u32 i)
{
	u32 *row;

	if (!(v->inst->opsel >> i & 1) || !is_16(source_type(v->info, i)))
		return;
	row = own_row(v, i, 0);
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		row[lane] >>= 16;
}

/* The lane that DPP has @lane read, or -1 ("Vega" ISA, 13.3.9, DPP_CTRL). */
static s32 dpp_source(u32 control, s32 lane)
{
	const s32 row = lane & ~15, within = lane & 15, shift = control & 15;

	if (control <= 0xff)
		return (lane & ~3) | (control >> (lane & 3) * 2 & 3);
	switch (control & 0x1f0) {
	case 0x100: /* row_shl */
		return within + shift < 16 ? lane + shift : -1;
	case 0x110: /* row_shr */
		return within >= shift ? lane - shift : -1;
	case 0x120: /* row_ror */
		return row | ((within - shift) & 15);
	default:
		break;
	}
	switch (control) {
	case 0x130: /* wave_shl:1 */
		return lane < 63 ? lane + 1 : -1;
	case 0x134: /* wave_rol:1 */
		return (lane + 1) & 63;
	case 0x138: /* wave_shr:1 */
		return lane - 1;
	case 0x13c: /* wave_ror:1 */
		return (lane - 1) & 63;
	case 0x140: /* row_mirror */
		return row | (15 - within);
	case 0x141: /* row_half_mirror */
		return (lane & ~7) | (7 - (lane & 7));
	case 0x142: /* row_bcast:15 */
		return row - 1;
	case 0x143: /* row_bcast:31 */
		return lane < 32 ? -1 : 31;
	default:
		return -1;
	}
}

static bool dpp_exists(u32 control)
{
	const u32 shift = control & 15;

	if (control <= 0xff)
		return true;
	if (control < 0x130)
		return shift;
	return control == 0x130 || control == 0x134 || control == 0x138 || control == 0x13c ||
	       (control >= 0x140 && control <= 0x143);
}

/*
 * Assumption: a source lane that EXEC disables counts as one out of range, as
 * LLVM assumes: BOUND_CTRL gives zero, else the lane is not written.
 */
static bool apply_dpp(struct valu *v)
{
	const struct gfx9_inst *inst = v->inst;
	const u64 exec = gfx9_exec(v->wave);
	const u32 *from = v->lanes.src[0][0];
	u32 *to = v->env->rows[GFX9_ROW_TEMP];
	u64 enabled = 0;

	if (!dpp_exists(inst->dpp_ctrl) || is_wide(v->info->source) || is_wide(v->info->result) ||
	    v->info->result == GFX9_TYPE_MASK)
		return false;
	for (s32 lane = 0; lane < GFX9_LANES; lane++) {
		const s32 source = dpp_source(inst->dpp_ctrl, lane);
		const bool valid = source >= 0 && exec >> source & 1;
		const bool in_masks = inst->dpp_masks >> (4 + lane / 16) & 1 &&
				      inst->dpp_masks >> (lane / 4 & 3) & 1;

		to[lane] = valid ? from[source] : 0;
		enabled |= (u64)(in_masks && (valid || inst->bound_ctrl)) << lane;
	}
	v->lanes.src[0][0] = to;
	v->lanes.uniform &= ~1u;
	v->write &= enabled;
	return true;
}

static bool apply_modifiers(struct valu *v)
{
	const struct gfx9_inst *inst = v->inst;
	const u32 count = v->info->sources;

	if (inst->flags & GFX9_I_DPP && !apply_dpp(v))
		return false;
	/* Signs are of floating-point numbers; SDWA's sext says "signed" instead. */
	for (u32 i = 0; i < count; i++) {
		if (inst->flags & GFX9_I_SDWA) {
			if (is_wide(v->info->source) || is_wide(v->info->result))
				return false;
			apply_sdwa(v, i);
		}
		if (inst->flags & GFX9_I_VOP3)
			apply_opsel(v, i);
		if ((inst->abs | inst->neg) >> i & 1 && !is_float(source_type(v->info, i)))
			return false;
		apply_sign(v, i);
	}
	return true;
}

/* ---- results ------------------------------------------------------------------------ */

/*
 * 16-bit results clear the other half of the register, except for those
 * instructions that gfx9 added and for the accumulating ones, which keep it
 * (LLVM, GCNSubtarget::zeroesHigh16BitsOfDest).
 */
static bool keeps_other_half(u32 op)
{
	switch (op) {
	case GFX9_v_mac_f16:
	case GFX9_v_madmk_f16:
	case GFX9_v_madak_f16:
	case GFX9_v_min3_f16:
	case GFX9_v_min3_i16:
	case GFX9_v_min3_u16:
	case GFX9_v_max3_f16:
	case GFX9_v_max3_i16:
	case GFX9_v_max3_u16:
	case GFX9_v_med3_f16:
	case GFX9_v_med3_i16:
	case GFX9_v_med3_u16:
	case GFX9_v_mad_f16:
	case GFX9_v_mad_u16:
	case GFX9_v_mad_i16:
	case GFX9_v_fma_f16:
	case GFX9_v_div_fixup_f16:
	case GFX9_v_add_i16:
	case GFX9_v_sub_i16:
		return true;
	default:
		return false;
	}
}

/* Puts a 16-bit result beside the half that stays. */
static void merge_halves(struct valu *v, const u32 *before)
{
	const bool high = v->inst->flags & GFX9_I_VOP3 && v->inst->opsel & 8;
	u32 *result = v->lanes.dst[0];

	if (!high && !keeps_other_half(v->inst->op))
		return;
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		result[lane] = high ? (before[lane] & 0xffff) | result[lane] << 16 :
				      (before[lane] & 0xffff0000) | (result[lane] & 0xffff);
}

/* DST_SEL and DST_UNUSED: 0 clears the rest, 1 extends the sign, 2 keeps it. */
static void place_sdwa(struct valu *v, const u32 *before)
{
	const u32 select = v->inst->sdwa_dst_sel;
	const u32 width = select < 4 ? 8 : 16;
	const u32 shift = select < 4 ? select * 8 : (select - 4) * 16;
	const u32 mask = (1u << width) - 1;
	u32 *result = v->lanes.dst[0];

	if (select >= 6)
		return;
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		u32 value = (result[lane] & mask) << shift;

		if (v->inst->sdwa_dst_unused == 2)
			value |= before[lane] & ~(mask << shift);
		else if (v->inst->sdwa_dst_unused == 1 && result[lane] >> (width - 1) & 1)
			value |= (u32)(~0ull << (shift + width));
		result[lane] = value;
	}
}

static void keep_results(struct valu *v)
{
	struct gfx9_env *env = v->env;
	u32 *to = gfx9_vgpr_write(env, v->wave, v->vdst);

	if (v->inst->flags & GFX9_I_SDWA)
		place_sdwa(v, to);
	else if (is_16(v->info->result))
		merge_halves(v, to);
	blend(to, v->lanes.dst[0], v->write);
	if (is_wide(v->info->result))
		blend(gfx9_vgpr_write(env, v->wave, v->vdst + 1), v->lanes.dst[1], v->write);
}

static bool write_mask(struct valu *v, u64 mask)
{
	if (v->inst->sdst & 1)
		return false;
	v->wave->q[(v->inst->sdst & 127) / 2] = mask & v->write;
	return true;
}

/* ---- instructions that are about single lanes --------------------------------------- */

static int lane_to_sgpr(struct valu *v, u32 lane)
{
	const u32 source = v->inst->src[0];
	u32 value;

	if (v->inst->vdst >= GFX9_SREG_COUNT)
		return GFX9_X_UNKNOWN;
	if (source >= GFX9_SRC_VGPR)
		value = gfx9_vgpr_read(v->wave, indexed(v, 0, source - GFX9_SRC_VGPR))[lane];
	else if (!gfx9_scalar32(v->env, v->wave, v->inst, v->inst->src[0], &value))
		return GFX9_X_UNKNOWN;
	v->wave->s[v->inst->vdst] = value;
	return GFX9_X_OK;
}

/* A lane number is a scalar. */
static bool lane_number(struct valu *v, u32 *lane)
{
	if (!gfx9_scalar32(v->env, v->wave, v->inst, v->inst->src[1], lane))
		return false;
	*lane %= GFX9_LANES;
	return true;
}

static int write_lane(struct valu *v)
{
	u32 lane, value;

	if (!lane_number(v, &lane) ||
	    !gfx9_scalar32(v->env, v->wave, v->inst, v->inst->src[0], &value))
		return GFX9_X_UNKNOWN;
	gfx9_vgpr_write(v->env, v->wave, v->vdst)[lane] = value;
	return GFX9_X_OK;
}

static int swap_registers(struct valu *v)
{
	const u32 other = v->inst->src[0] - GFX9_SRC_VGPR;
	u32 *temp = v->env->rows[GFX9_ROW_TEMP];

	if (v->inst->src[0] < GFX9_SRC_VGPR || !(v->inst->flags & GFX9_I_PLAIN))
		return GFX9_X_UNKNOWN;
	memcpy(temp, gfx9_vgpr_read(v->wave, v->vdst), sizeof(gfx9_row));
	blend(gfx9_vgpr_write(v->env, v->wave, v->vdst), gfx9_vgpr_read(v->wave, other), v->write);
	blend(gfx9_vgpr_write(v->env, v->wave, other), temp, v->write);
	return GFX9_X_OK;
}

/* -1: not one of these. */
static int exec_special(struct valu *v)
{
	const u64 exec = gfx9_exec(v->wave);
	u32 lane;

	switch (v->inst->op) {
	case GFX9_v_nop:
	case GFX9_v_clrexcp:
		return GFX9_X_OK;
	case GFX9_v_readfirstlane_b32:
		return lane_to_sgpr(v, exec ? __builtin_ctzll(exec) : 0);
	case GFX9_v_readlane_b32:
		return lane_number(v, &lane) ? lane_to_sgpr(v, lane) : GFX9_X_UNKNOWN;
	case GFX9_v_writelane_b32:
		return write_lane(v);
	case GFX9_v_swap_b32:
		return swap_registers(v);
	default:
		return -1;
	}
}

/* ---- the whole ---------------------------------------------------------------------- */

static bool compute(struct valu *v)
{
	const u32 op = v->inst->op;
	const bool floats = v->inst->flags & GFX9_I_FLOAT;

	if (v->info->result == GFX9_TYPE_MASK)
		return floats ? gfx9_lanes_compare_float(op, &v->lanes) :
				gfx9_lanes_compare_integer(op, &v->lanes);
	if (floats)
		return gfx9_lanes_float(op, &v->lanes);
	v->lanes.clamp = v->inst->flags & GFX9_I_CLAMP;
	return gfx9_lanes_integer(op, &v->lanes);
}

static bool read_carry(struct valu *v)
{
	const u32 number = v->inst->flags & GFX9_I_VOP3 ? v->inst->src[2] : GFX9_VCC;

	/* v_div_fmas_f32 and _f64 read VCC in any encoding. */
	if (!(v->info->flags & GFX9_A_CARRY_IN)) {
		v->lanes.carry_in = gfx9_vcc(v->wave);
		return true;
	}
	return gfx9_scalar64(v->env, v->wave, v->inst, number, &v->lanes.carry_in);
}

/*
 * Straight to the destination when all lanes keep the result and no row of a
 * source lies where another part of it goes.
 */
static bool writes_in_place(const struct valu *v)
{
	return v->write == ~0ull && v->inst->flags & GFX9_I_PLAIN && !is_16(v->info->result) &&
	       v->vdst < v->wave->vgpr_count;
}

static void aim_results(struct valu *v)
{
	struct gfx9_env *env = v->env;

	if (writes_in_place(v)) {
		v->lanes.dst[0] = gfx9_vgpr_write(env, v->wave, v->vdst);
		v->lanes.dst[1] = is_wide(v->info->result) ?
					  gfx9_vgpr_write(env, v->wave, v->vdst + 1) :
					  env->rows[GFX9_ROW_RESULT + 1];
		return;
	}
	v->lanes.dst[0] = env->rows[GFX9_ROW_RESULT];
	v->lanes.dst[1] = env->rows[GFX9_ROW_RESULT + 1];
}

/*
 * OMOD is ignored where MODE has IEEE or lets results be subnormal ("Vega" ISA,
 * 6.2.2); doubles and halves share their bits of MODE.
 */
static u32 output_multiplier(const struct valu *v)
{
	const u32 mode = v->wave->mode;
	const u32 denormals = v->info->result == GFX9_TYPE_F32 ? GFX9_MODE_DENORM_32(mode) :
								 GFX9_MODE_DENORM_64(mode);

	return mode & GFX9_MODE_IEEE || denormals & 2 ? 0 : v->inst->omod;
}

static int finish(struct valu *v)
{
	const struct gfx9_inst *inst = v->inst;
	const bool clamp = inst->flags & GFX9_I_CLAMP;
	u32 omod;

	if (v->info->result == GFX9_TYPE_MASK) {
		if (!write_mask(v, v->lanes.mask))
			return GFX9_X_UNKNOWN;
		/* v_cmpx: class by bit 0, the others by bit 4. */
		if (inst->op < GFX9_v_cmp_f_f16 ? inst->op & 1 : inst->op & 0x10)
			v->wave->q[GFX9_EXEC / 2] = v->lanes.mask & v->write;
		return GFX9_X_OK;
	}
	if (!is_float(v->info->result) && inst->omod)
		return GFX9_X_UNKNOWN;
	omod = output_multiplier(v);
	if (is_float(v->info->result) && (omod || clamp))
		gfx9_lanes_output(&v->lanes, v->info->result, omod, clamp);
	if (!writes_in_place(v))
		keep_results(v);
	if (v->info->flags & GFX9_A_CARRY_OUT && !write_mask(v, v->lanes.mask))
		return GFX9_X_UNKNOWN;
	return GFX9_X_OK;
}

/* The part of the general path that GFX9_I_SIMPLE instructions need. */
static int exec_simple(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	const u64 exec = gfx9_exec(wave);
	const bool in_place = exec == ~0ull && inst->vdst < wave->vgpr_count;
	struct gfx9_lanes lanes;
	u32 i, value;
	bool known;

	if (!exec)
		return GFX9_X_OK;
	lanes.uniform = 0;
	for (i = 0; i < 3; i++) {
		const u32 number = i < inst->sources ? inst->src[i] : inst->src[0];

		if (number >= GFX9_SRC_VGPR) {
			lanes.src[i][0] = gfx9_vgpr_read(wave, number - GFX9_SRC_VGPR);
		} else if (i < inst->sources) {
			if (!gfx9_scalar32(env, wave, inst, number, &value))
				return GFX9_X_UNKNOWN;
			lanes.src[i][0] = scalar_row(env, i, lanes.uniform, value);
			lanes.uniform |= 1u << i;
		} else {
			lanes.src[i][0] = env->rows[GFX9_ROW_SRC0];
		}
	}
	if (inst->accumulates)
		lanes.src[2][0] = gfx9_vgpr_read(wave, inst->vdst);
	lanes.dst[0] = in_place ? wave->vgpr[inst->vdst] : env->rows[GFX9_ROW_RESULT];
	lanes.mode = wave->mode;
	lanes.clamp = false;
	known = inst->flags & GFX9_I_FLOAT ? gfx9_lanes_float(inst->op, &lanes) :
					     gfx9_lanes_integer(inst->op, &lanes);
	if (!known)
		return GFX9_X_UNKNOWN;
	if (!in_place)
		blend(gfx9_vgpr_write(env, wave, inst->vdst), lanes.dst[0], exec);
	return GFX9_X_OK;
}

static int exec_general(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	struct valu v = {
		.env = env,
		.wave = wave,
		.inst = inst,
		.info = gfx9_valu_info(inst->op),
		.write = gfx9_exec(wave),
	};
	int outcome;

	if (v.info->flags & GFX9_A_REFUSED)
		return GFX9_X_UNKNOWN;
	v.vdst = indexed(&v, 3, inst->vdst);
	v.lanes.mode = wave->mode;
	outcome = exec_special(&v);
	if (outcome >= 0)
		return outcome;
	/* No lane, no work; comparisons and carries still write zeroes. */
	if (!v.write && v.info->result != GFX9_TYPE_MASK && !(v.info->flags & GFX9_A_CARRY_OUT) &&
	    inst->flags & GFX9_I_PLAIN)
		return GFX9_X_OK;
	if (!fetch_all(&v) || !read_carry(&v))
		return GFX9_X_UNKNOWN;
	if (!(inst->flags & GFX9_I_PLAIN) && !apply_modifiers(&v))
		return GFX9_X_UNKNOWN;
	aim_results(&v);
	if (!compute(&v))
		return GFX9_X_UNKNOWN;
	return finish(&v);
}

int gfx9_exec_valu(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	if (inst->flags & GFX9_I_SIMPLE && !(wave->mode & GFX9_MODE_GPR_IDX_EN))
		return exec_simple(env, wave, inst);
	return exec_general(env, wave, inst);
}

/* The type of a constant: a half, or 32 bits in instructions without halves. */
static u32 packed_type(const struct gfx9_inst *inst, u32 i)
{
	if (inst->op >= GFX9_v_fma_mix_f32 && inst->op <= GFX9_v_fma_mixhi_f16)
		return inst->opsel_hi >> i & 1 ? GFX9_TYPE_B16 : GFX9_TYPE_B32;
	return inst->op >= GFX9_v_dot2_f32_f16 && i == 2 ? GFX9_TYPE_B32 : GFX9_TYPE_B16;
}

int gfx9_exec_vop3p(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	static const struct gfx9_valu_info packed = {
		.name = "packed",
		.sources = 3,
		.result = GFX9_TYPE_B32,
		.source = GFX9_TYPE_B32,
	};
	struct valu v = {
		.env = env,
		.wave = wave,
		.inst = inst,
		.info = &packed,
		.write = gfx9_exec(wave),
	};

	v.vdst = indexed(&v, 3, inst->vdst);
	v.lanes.mode = wave->mode;
	for (u32 i = 0; i < 3; i++)
		if (!fetch(&v, i, inst->src[i], packed_type(inst, i)))
			return GFX9_X_UNKNOWN;
	v.lanes.dst[0] = env->rows[GFX9_ROW_RESULT];
	v.lanes.dst[1] = env->rows[GFX9_ROW_RESULT + 1];
	/* v_fma_mixlo and _mixhi write a half and keep the other. */
	memcpy(v.lanes.dst[0], gfx9_vgpr_read(wave, v.vdst), sizeof(gfx9_row));
	if (!gfx9_lanes_packed(inst, &v.lanes))
		return GFX9_X_UNKNOWN;
	blend(gfx9_vgpr_write(env, wave, v.vdst), v.lanes.dst[0], v.write);
	return GFX9_X_OK;
}
