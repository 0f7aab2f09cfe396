// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Scalar ALU, branches and program control: "Vega" ISA reference, 12.1 to 12.5. */
#include "gfx9_internal.h"

/* Registers of s_getreg_b32 and s_setreg_b32 ("Vega" ISA, 5.8). */
enum hardware_register {
	HW_REG_MODE = 1,
	HW_REG_STATUS = 2,
	HW_REG_TRAPSTS = 3,
	HW_REG_HW_ID = 4,
	HW_REG_GPR_ALLOC = 5,
	HW_REG_LDS_ALLOC = 6,
	HW_REG_IB_STS = 7,
	HW_REG_SH_MEM_BASES = 15,
};

static s32 simm16(u32 value)
{
	return (s16)value;
}

static void branch(struct gfx9_wave *wave, u32 simm)
{
	wave->pc += (s64)simm16(simm) * 4;
}

/* A pair must be aligned; M0 has no other half. */
static bool write64(struct gfx9_wave *wave, u32 number, u64 value)
{
	if (number & 1 || number == GFX9_M0)
		return false;
	wave->q[number / 2] = value;
	return true;
}

/* ---- SOP2 -------------------------------------------------------------------- */

static u64 bitfield_mask(u32 width, u32 limit)
{
	return width >= limit ? ~0ull : (1ull << width) - 1;
}

static u64 bfe_u64(u64 value, u32 control)
{
	const u32 shift = control & 63, width = control >> 16 & 127;

	return value >> shift & bitfield_mask(width, 64);
}

static u64 bfe_i64(u64 value, u32 control)
{
	const u32 shift = control & 63, width = control >> 16 & 127;
	const u64 field = bfe_u64(value, control);

	if (!width || shift + width >= 64)
		return width ? (u64)((s64)value >> shift) : 0;
	return (u64)((s64)(field << (64 - width)) >> (64 - width));
}

static u32 bfe_u32(u32 value, u32 control)
{
	const u32 shift = control & 31, width = control >> 16 & 127;

	return value >> shift & bitfield_mask(width, 32);
}

static u32 bfe_i32(u32 value, u32 control)
{
	const u32 shift = control & 31, width = control >> 16 & 127;

	if (!width)
		return 0;
	if (shift + width >= 32)
		return (s32)value >> shift;
	return (s32)(value << (32 - width - shift)) >> (32 - width);
}

static bool add_overflows(u32 a, u32 b, u32 sum)
{
	return (~(a ^ b) & (a ^ sum)) >> 31;
}

/* The 32-bit SOP2 that touch SCC as carry, overflow or choice, and the others. */
static bool sop2_arithmetic(struct gfx9_wave *wave, u32 op, u32 a, u32 b, u32 *d)
{
	u64 wide;

	switch (op) {
	case GFX9_s_add_u32:
	case GFX9_s_addc_u32:
		wide = (u64)a + b + (op == GFX9_s_addc_u32 ? wave->scc : 0);
		*d = wide;
		wave->scc = wide >> 32;
		return true;
	case GFX9_s_sub_u32:
	case GFX9_s_subb_u32:
		wide = (u64)a - b - (op == GFX9_s_subb_u32 ? wave->scc : 0);
		*d = wide;
		wave->scc = wide >> 63;
		return true;
	case GFX9_s_add_i32:
		*d = a + b;
		wave->scc = add_overflows(a, b, *d);
		return true;
	case GFX9_s_sub_i32:
		*d = a - b;
		wave->scc = ((a ^ b) & (a ^ *d)) >> 31;
		return true;
	case GFX9_s_min_i32:
		wave->scc = (s32)a < (s32)b;
		*d = wave->scc ? a : b;
		return true;
	case GFX9_s_min_u32:
		wave->scc = a < b;
		*d = wave->scc ? a : b;
		return true;
	case GFX9_s_max_i32:
		wave->scc = (s32)a > (s32)b;
		*d = wave->scc ? a : b;
		return true;
	case GFX9_s_max_u32:
		wave->scc = a > b;
		*d = wave->scc ? a : b;
		return true;
	case GFX9_s_cselect_b32:
		*d = wave->scc ? a : b;
		return true;
	case GFX9_s_mul_i32:
		*d = a * b;
		return true;
	case GFX9_s_mul_hi_u32:
		*d = (u64)a * b >> 32;
		return true;
	case GFX9_s_mul_hi_i32:
		*d = (s64)(s32)a * (s32)b >> 32;
		return true;
	case GFX9_s_bfm_b32:
		*d = ((1u << (a & 31)) - 1) << (b & 31);
		return true;
	case GFX9_s_pack_ll_b32_b16:
		*d = (a & 0xffff) | b << 16;
		return true;
	case GFX9_s_pack_lh_b32_b16:
		*d = (a & 0xffff) | (b & 0xffff0000);
		return true;
	case GFX9_s_pack_hh_b32_b16:
		*d = a >> 16 | (b & 0xffff0000);
		return true;
	case GFX9_s_lshl1_add_u32:
	case GFX9_s_lshl2_add_u32:
	case GFX9_s_lshl3_add_u32:
	case GFX9_s_lshl4_add_u32:
		wide = ((u64)a << (op - GFX9_s_lshl1_add_u32 + 1)) + b;
		*d = wide;
		wave->scc = !!(wide >> 32);
		return true;
	default:
		return false;
	}
}

/* The 32-bit SOP2 after which SCC says that the result is not zero. */
static bool sop2_bits(struct gfx9_wave *wave, u32 op, u32 a, u32 b, u32 *d)
{
	switch (op) {
	case GFX9_s_and_b32:
		*d = a & b;
		break;
	case GFX9_s_or_b32:
		*d = a | b;
		break;
	case GFX9_s_xor_b32:
		*d = a ^ b;
		break;
	case GFX9_s_andn2_b32:
		*d = a & ~b;
		break;
	case GFX9_s_orn2_b32:
		*d = a | ~b;
		break;
	case GFX9_s_nand_b32:
		*d = ~(a & b);
		break;
	case GFX9_s_nor_b32:
		*d = ~(a | b);
		break;
	case GFX9_s_xnor_b32:
		*d = ~(a ^ b);
		break;
	case GFX9_s_lshl_b32:
		*d = a << (b & 31);
		break;
	case GFX9_s_lshr_b32:
		*d = a >> (b & 31);
		break;
	case GFX9_s_ashr_i32:
		*d = (s32)a >> (b & 31);
		break;
	case GFX9_s_bfe_u32:
		*d = bfe_u32(a, b);
		break;
	case GFX9_s_bfe_i32:
		*d = bfe_i32(a, b);
		break;
	case GFX9_s_absdiff_i32:
		/* Of the 32-bit difference: |INT_MIN - 1| is INT_MAX (12.1). */
		*d = (s32)(a - b) < 0 ? b - a : a - b;
		break;
	default:
		return false;
	}
	wave->scc = !!*d;
	return true;
}

static bool sop2_bits64(struct gfx9_wave *wave, u32 op, u64 a, u64 b, u64 *d)
{
	switch (op) {
	case GFX9_s_and_b64:
		*d = a & b;
		break;
	case GFX9_s_or_b64:
		*d = a | b;
		break;
	case GFX9_s_xor_b64:
		*d = a ^ b;
		break;
	case GFX9_s_andn2_b64:
		*d = a & ~b;
		break;
	case GFX9_s_orn2_b64:
		*d = a | ~b;
		break;
	case GFX9_s_nand_b64:
		*d = ~(a & b);
		break;
	case GFX9_s_nor_b64:
		*d = ~(a | b);
		break;
	case GFX9_s_xnor_b64:
		*d = ~(a ^ b);
		break;
	case GFX9_s_lshl_b64:
		*d = a << (b & 63);
		break;
	case GFX9_s_lshr_b64:
		*d = a >> (b & 63);
		break;
	case GFX9_s_ashr_i64:
		*d = (s64)a >> (b & 63);
		break;
	case GFX9_s_bfe_u64:
		*d = bfe_u64(a, b);
		break;
	case GFX9_s_bfe_i64:
		*d = bfe_i64(a, b);
		break;
	case GFX9_s_cselect_b64:
		*d = wave->scc ? a : b;
		return true;
	case GFX9_s_bfm_b64:
		*d = ((1ull << (a & 63)) - 1) << (b & 63);
		return true;
	default:
		return false;
	}
	wave->scc = !!*d;
	return true;
}

static bool sop2_is_64(u32 op)
{
	switch (op) {
	case GFX9_s_cselect_b64:
	case GFX9_s_and_b64:
	case GFX9_s_or_b64:
	case GFX9_s_xor_b64:
	case GFX9_s_andn2_b64:
	case GFX9_s_orn2_b64:
	case GFX9_s_nand_b64:
	case GFX9_s_nor_b64:
	case GFX9_s_xnor_b64:
	case GFX9_s_lshl_b64:
	case GFX9_s_lshr_b64:
	case GFX9_s_ashr_i64:
	case GFX9_s_bfm_b64:
	case GFX9_s_bfe_u64:
	case GFX9_s_bfe_i64:
		return true;
	default:
		return false;
	}
}

/* Shifts and bitfields of 64 bits take their counts from one register. */
static bool second_is_32(u32 op)
{
	return op == GFX9_s_lshl_b64 || op == GFX9_s_lshr_b64 || op == GFX9_s_ashr_i64 ||
	       op == GFX9_s_bfm_b64 || op == GFX9_s_bfe_u64 || op == GFX9_s_bfe_i64;
}

static int exec_sop2_64(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	u64 a, b, d;
	u32 low = 0;
	bool ok;

	if (inst->op == GFX9_s_bfm_b64) {
		ok = gfx9_scalar32(env, wave, inst, inst->src[0], &low);
		a = low;
	} else {
		ok = gfx9_scalar64(env, wave, inst, inst->src[0], &a);
	}
	if (!ok)
		return GFX9_X_UNKNOWN;
	if (second_is_32(inst->op)) {
		ok = gfx9_scalar32(env, wave, inst, inst->src[1], &low);
		b = low;
	} else {
		ok = gfx9_scalar64(env, wave, inst, inst->src[1], &b);
	}
	if (!ok || !sop2_bits64(wave, inst->op, a, b, &d) || !write64(wave, inst->vdst, d))
		return GFX9_X_UNKNOWN;
	return GFX9_X_OK;
}

static int exec_sop2(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	u32 a, b, d;

	if (sop2_is_64(inst->op))
		return exec_sop2_64(env, wave, inst);
	if (!gfx9_scalar32(env, wave, inst, inst->src[0], &a) ||
	    !gfx9_scalar32(env, wave, inst, inst->src[1], &b))
		return GFX9_X_UNKNOWN;
	if (!sop2_arithmetic(wave, inst->op, a, b, &d) && !sop2_bits(wave, inst->op, a, b, &d))
		return GFX9_X_UNKNOWN;
	wave->s[inst->vdst] = d;
	return GFX9_X_OK;
}

/* ---- SOPK -------------------------------------------------------------------- */

static bool sopk_compare(struct gfx9_wave *wave, u32 op, u32 value, u32 simm)
{
	const s32 a = value, b = simm16(simm);
	const u32 ub = simm;

	switch (op) {
	case GFX9_s_cmpk_eq_i32:
		wave->scc = a == b;
		return true;
	case GFX9_s_cmpk_lg_i32:
		wave->scc = a != b;
		return true;
	case GFX9_s_cmpk_gt_i32:
		wave->scc = a > b;
		return true;
	case GFX9_s_cmpk_ge_i32:
		wave->scc = a >= b;
		return true;
	case GFX9_s_cmpk_lt_i32:
		wave->scc = a < b;
		return true;
	case GFX9_s_cmpk_le_i32:
		wave->scc = a <= b;
		return true;
	case GFX9_s_cmpk_eq_u32:
		wave->scc = value == ub;
		return true;
	case GFX9_s_cmpk_lg_u32:
		wave->scc = value != ub;
		return true;
	case GFX9_s_cmpk_gt_u32:
		wave->scc = value > ub;
		return true;
	case GFX9_s_cmpk_ge_u32:
		wave->scc = value >= ub;
		return true;
	case GFX9_s_cmpk_lt_u32:
		wave->scc = value < ub;
		return true;
	case GFX9_s_cmpk_le_u32:
		wave->scc = value <= ub;
		return true;
	default:
		return false;
	}
}

static u32 status_register(const struct gfx9_wave *wave)
{
	return wave->scc | (u32)!gfx9_exec(wave) << 9 | (u32)!gfx9_vcc(wave) << 10 | 1u << 16;
}

static bool read_hardware_register(const struct gfx9_env *env, const struct gfx9_workgroup *wg,
				   const struct gfx9_wave *wave, u32 id, u32 *value)
{
	const u32 index = wave - wg->waves;

	switch (id) {
	case HW_REG_MODE:
		*value = wave->mode;
		return true;
	case HW_REG_STATUS:
		*value = status_register(wave);
		return true;
	case HW_REG_TRAPSTS:
		*value = wave->trap_status;
		return true;
	case HW_REG_HW_ID:
		/* WAVE_ID is its low four bits. */
		*value = (wg->hw_id & ~15u) | index;
		return true;
	case HW_REG_GPR_ALLOC:
		/* VGPR_SIZE in fours, less one; SGPR_SIZE in sixteens, less one. */
		*value = ((wg->shape.vgpr_count + 3) / 4 - 1) << 8 |
			 ((wg->shape.sgpr_count + 15) / 16 - 1) << 24;
		return true;
	case HW_REG_LDS_ALLOC:
		/* LDS_SIZE in units of 128 dwords. */
		*value = (wg->shape.lds_bytes + 511) / 512 << 12;
		return true;
	case HW_REG_IB_STS:
		*value = 0;
		return true;
	case HW_REG_SH_MEM_BASES:
		*value = (u32)(env->private_base >> 48) | (u32)(env->shared_base >> 48) << 16;
		return true;
	default:
		return false;
	}
}

static u32 register_field(u32 simm, u32 *shift)
{
	const u32 width = (simm >> 11 & 31) + 1;

	*shift = simm >> 6 & 31;
	return bitfield_mask(width, 32);
}

static int get_register(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
			const struct gfx9_inst *inst)
{
	u32 value, shift;
	const u32 mask = register_field(inst->src[0], &shift);

	if (!read_hardware_register(env, wg, wave, inst->src[0] & 63, &value))
		return GFX9_X_UNKNOWN;
	wave->s[inst->vdst] = value >> shift & mask;
	return GFX9_X_OK;
}

static int set_register(struct gfx9_wave *wave, const struct gfx9_inst *inst, u32 value)
{
	u32 shift;
	const u32 mask = register_field(inst->src[0], &shift);
	u32 *reg;

	switch (inst->src[0] & 63) {
	case HW_REG_MODE:
		reg = &wave->mode;
		break;
	case HW_REG_TRAPSTS:
		reg = &wave->trap_status;
		break;
	default:
		return GFX9_X_UNKNOWN;
	}
	*reg = (*reg & ~(mask << shift)) | (value & mask) << shift;
	return GFX9_X_OK;
}

static int exec_sopk(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		     const struct gfx9_inst *inst)
{
	const u32 simm = inst->src[0];
	u32 *d = &wave->s[inst->vdst];
	u32 sum;

	switch (inst->op) {
	case GFX9_s_movk_i32:
		*d = simm16(simm);
		return GFX9_X_OK;
	case GFX9_s_cmovk_i32:
		if (wave->scc)
			*d = simm16(simm);
		return GFX9_X_OK;
	case GFX9_s_addk_i32:
		sum = *d + simm16(simm);
		wave->scc = add_overflows(*d, simm16(simm), sum);
		*d = sum;
		return GFX9_X_OK;
	case GFX9_s_mulk_i32:
		*d *= (u32)simm16(simm);
		return GFX9_X_OK;
	case GFX9_s_getreg_b32:
		return get_register(env, wg, wave, inst);
	case GFX9_s_setreg_b32:
		return set_register(wave, inst, *d);
	case GFX9_s_setreg_imm32_b32:
		return set_register(wave, inst, inst->imm);
	case GFX9_s_call_b64:
		if (!write64(wave, inst->vdst, wave->pc))
			return GFX9_X_UNKNOWN;
		branch(wave, simm);
		return GFX9_X_OK;
	default:
		return sopk_compare(wave, inst->op, *d, simm) ? GFX9_X_OK : GFX9_X_UNKNOWN;
	}
}

/* ---- SOP1 -------------------------------------------------------------------- */

/* -1 when there is none. */
static u32 find_first(u64 bits)
{
	return bits ? (u32)__builtin_ctzll(bits) : ~0u;
}

static u32 leading_zeros(u64 bits, u32 width)
{
	return bits ? (u32)__builtin_clzll(bits) - (64 - width) : ~0u;
}

/* How many bits from the top equal the sign, -1 when all do. */
static u32 leading_signs(u64 bits, u32 width)
{
	const u64 mask = bitfield_mask(width, 64);
	const u64 sign = bits >> (width - 1) & 1 ? mask : 0;

	return leading_zeros((bits ^ sign) & mask, width);
}

static u32 count_bits(u64 bits)
{
	u32 count = 0;

	for (; bits; bits &= bits - 1)
		count++;
	return count;
}

static u64 reverse_bits(u64 bits, u32 width)
{
	u64 reversed = 0;

	for (u32 i = 0; i < width; i++)
		reversed |= (bits >> i & 1) << (width - 1 - i);
	return reversed;
}

/* Each group of four bits, if any is set: all of them (wqm) or one bit (mask). */
static u64 quads(u64 bits, u32 width, bool whole)
{
	u64 result = 0;

	for (u32 quad = 0; quad < width / 4; quad++) {
		if (!(bits >> quad * 4 & 15))
			continue;
		result |= whole ? 15ull << quad * 4 : 1ull << quad;
	}
	return result;
}

static u64 replicate_bits(u32 bits)
{
	u64 result = 0;

	for (u32 i = 0; i < 32; i++)
		result |= (u64)(bits >> i & 1) * 3 << i * 2;
	return result;
}

/* Operations with operands and results of 32 bits. */
static int sop1_32(struct gfx9_wave *wave, u32 op, u32 a, u32 *d)
{
	switch (op) {
	case GFX9_s_mov_b32:
		*d = a;
		return GFX9_X_OK;
	case GFX9_s_cmov_b32:
		if (wave->scc)
			*d = a;
		return GFX9_X_OK;
	case GFX9_s_brev_b32:
		*d = reverse_bits(a, 32);
		return GFX9_X_OK;
	case GFX9_s_ff0_i32_b32:
		*d = find_first((u32)~a);
		return GFX9_X_OK;
	case GFX9_s_ff1_i32_b32:
		*d = find_first(a);
		return GFX9_X_OK;
	case GFX9_s_flbit_i32_b32:
		*d = leading_zeros(a, 32);
		return GFX9_X_OK;
	case GFX9_s_flbit_i32:
		*d = leading_signs(a, 32);
		return GFX9_X_OK;
	case GFX9_s_sext_i32_i8:
		*d = (s8)a;
		return GFX9_X_OK;
	case GFX9_s_sext_i32_i16:
		*d = (s16)a;
		return GFX9_X_OK;
	case GFX9_s_bitset0_b32:
		*d &= ~(1u << (a & 31));
		return GFX9_X_OK;
	case GFX9_s_bitset1_b32:
		*d |= 1u << (a & 31);
		return GFX9_X_OK;
	case GFX9_s_not_b32:
		*d = ~a;
		break;
	case GFX9_s_wqm_b32:
		*d = quads(a, 32, true);
		break;
	case GFX9_s_quadmask_b32:
		*d = quads(a, 32, false);
		break;
	case GFX9_s_bcnt0_i32_b32:
		*d = 32 - count_bits(a);
		break;
	case GFX9_s_bcnt1_i32_b32:
		*d = count_bits(a);
		break;
	case GFX9_s_abs_i32:
		*d = (s32)a < 0 ? -a : a;
		break;
	default:
		return GFX9_X_UNKNOWN;
	}
	wave->scc = !!*d;
	return GFX9_X_OK;
}

/* Those of a 64-bit operand and a 32-bit result. */
static bool sop1_64_to_32(struct gfx9_wave *wave, u32 op, u64 a, u32 *d)
{
	switch (op) {
	case GFX9_s_ff0_i32_b64:
		*d = find_first(~a);
		return true;
	case GFX9_s_ff1_i32_b64:
		*d = find_first(a);
		return true;
	case GFX9_s_flbit_i32_b64:
		*d = leading_zeros(a, 64);
		return true;
	case GFX9_s_flbit_i32_i64:
		*d = leading_signs(a, 64);
		return true;
	case GFX9_s_bcnt0_i32_b64:
		*d = 64 - count_bits(a);
		break;
	case GFX9_s_bcnt1_i32_b64:
		*d = count_bits(a);
		break;
	default:
		return false;
	}
	wave->scc = !!*d;
	return true;
}

/* D = EXEC; EXEC = a combination of the source and EXEC. */
static bool saveexec(struct gfx9_wave *wave, const struct gfx9_inst *inst, u64 a)
{
	const u64 exec = gfx9_exec(wave);
	u64 result;

	switch (inst->op) {
	case GFX9_s_and_saveexec_b64:
		result = a & exec;
		break;
	case GFX9_s_or_saveexec_b64:
		result = a | exec;
		break;
	case GFX9_s_xor_saveexec_b64:
		result = a ^ exec;
		break;
	case GFX9_s_andn2_saveexec_b64:
		result = a & ~exec;
		break;
	case GFX9_s_orn2_saveexec_b64:
		result = a | ~exec;
		break;
	case GFX9_s_nand_saveexec_b64:
		result = ~(a & exec);
		break;
	case GFX9_s_nor_saveexec_b64:
		result = ~(a | exec);
		break;
	case GFX9_s_xnor_saveexec_b64:
		result = ~(a ^ exec);
		break;
	case GFX9_s_andn1_saveexec_b64:
		result = ~a & exec;
		break;
	case GFX9_s_orn1_saveexec_b64:
		result = ~a | exec;
		break;
	default:
		return false;
	}
	if (!write64(wave, inst->vdst, exec))
		return false;
	wave->q[GFX9_EXEC / 2] = result;
	wave->scc = !!result;
	return true;
}

static bool wrexec(struct gfx9_wave *wave, const struct gfx9_inst *inst, u64 a)
{
	const u64 exec = gfx9_exec(wave);
	const u64 result = inst->op == GFX9_s_andn1_wrexec_b64 ? ~a & exec : a & ~exec;

	if (!write64(wave, inst->vdst, result))
		return false;
	wave->q[GFX9_EXEC / 2] = result;
	wave->scc = !!result;
	return true;
}

/* SGPR @number + M0, which must stay among the SGPRs. */
static bool relative(const struct gfx9_wave *wave, u32 number, u32 count, u32 *at)
{
	const u64 index = (u64)number + wave->s[GFX9_M0];

	if (index + count > GFX9_MAX_SGPRS || index % count)
		return false;
	*at = index;
	return true;
}

static bool move_relative(struct gfx9_env *env, struct gfx9_wave *wave,
			  const struct gfx9_inst *inst)
{
	u32 at, a;
	u64 wide;

	switch (inst->op) {
	case GFX9_s_movrels_b32:
		if (!relative(wave, inst->src[0], 1, &at))
			return false;
		wave->s[inst->vdst] = wave->s[at];
		return true;
	case GFX9_s_movrels_b64:
		return relative(wave, inst->src[0], 2, &at) &&
		       write64(wave, inst->vdst, wave->q[at / 2]);
	case GFX9_s_movreld_b32:
		if (!gfx9_scalar32(env, wave, inst, inst->src[0], &a) ||
		    !relative(wave, inst->vdst, 1, &at))
			return false;
		wave->s[at] = a;
		return true;
	default:
		return gfx9_scalar64(env, wave, inst, inst->src[0], &wide) &&
		       relative(wave, inst->vdst, 2, &at) && write64(wave, at, wide);
	}
}

/* Those of a 64-bit operand and a 64-bit result. */
static bool sop1_64(struct gfx9_wave *wave, const struct gfx9_inst *inst, u64 a)
{
	u64 d;

	switch (inst->op) {
	case GFX9_s_mov_b64:
		return write64(wave, inst->vdst, a);
	case GFX9_s_cmov_b64:
		return !wave->scc || write64(wave, inst->vdst, a);
	case GFX9_s_brev_b64:
		return write64(wave, inst->vdst, reverse_bits(a, 64));
	case GFX9_s_not_b64:
		d = ~a;
		break;
	case GFX9_s_wqm_b64:
		d = quads(a, 64, true);
		break;
	case GFX9_s_quadmask_b64:
		d = quads(a, 64, false);
		break;
	case GFX9_s_setpc_b64:
		wave->pc = a & ~3ull;
		return true;
	case GFX9_s_swappc_b64:
		if (!write64(wave, inst->vdst, wave->pc))
			return false;
		wave->pc = a & ~3ull;
		return true;
	case GFX9_s_andn1_wrexec_b64:
	case GFX9_s_andn2_wrexec_b64:
		return wrexec(wave, inst, a);
	default:
		return saveexec(wave, inst, a);
	}
	wave->scc = !!d;
	return write64(wave, inst->vdst, d);
}

static int exec_sop1(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	u32 a;
	u64 wide;

	switch (inst->op) {
	case GFX9_s_getpc_b64:
		return write64(wave, inst->vdst, wave->pc) ? GFX9_X_OK : GFX9_X_UNKNOWN;
	case GFX9_s_movrels_b32:
	case GFX9_s_movrels_b64:
	case GFX9_s_movreld_b32:
	case GFX9_s_movreld_b64:
		return move_relative(env, wave, inst) ? GFX9_X_OK : GFX9_X_UNKNOWN;
	default:
		break;
	}
	if (!gfx9_scalar32(env, wave, inst, inst->src[0], &a))
		return GFX9_X_UNKNOWN;
	switch (inst->op) {
	case GFX9_s_set_gpr_idx_idx:
		wave->s[GFX9_M0] = (wave->s[GFX9_M0] & ~0xffu) | (a & 0xff);
		return GFX9_X_OK;
	case GFX9_s_bitreplicate_b64_b32:
		return write64(wave, inst->vdst, replicate_bits(a)) ? GFX9_X_OK : GFX9_X_UNKNOWN;
	case GFX9_s_bitset0_b64:
	case GFX9_s_bitset1_b64:
		wide = wave->q[inst->vdst / 2];
		if (inst->op == GFX9_s_bitset1_b64)
			wide |= 1ull << (a & 63);
		else
			wide &= ~(1ull << (a & 63));
		return write64(wave, inst->vdst, wide) ? GFX9_X_OK : GFX9_X_UNKNOWN;
	default:
		break;
	}
	if (sop1_32(wave, inst->op, a, &wave->s[inst->vdst]) == GFX9_X_OK)
		return GFX9_X_OK;
	if (!gfx9_scalar64(env, wave, inst, inst->src[0], &wide))
		return GFX9_X_UNKNOWN;
	if (sop1_64_to_32(wave, inst->op, wide, &wave->s[inst->vdst]) || sop1_64(wave, inst, wide))
		return GFX9_X_OK;
	return GFX9_X_UNKNOWN;
}

/* ---- SOPC -------------------------------------------------------------------- */

static bool sopc_32(struct gfx9_wave *wave, u32 op, u32 a, u32 b)
{
	switch (op) {
	case GFX9_s_cmp_eq_i32:
	case GFX9_s_cmp_eq_u32:
		wave->scc = a == b;
		return true;
	case GFX9_s_cmp_lg_i32:
	case GFX9_s_cmp_lg_u32:
		wave->scc = a != b;
		return true;
	case GFX9_s_cmp_gt_i32:
		wave->scc = (s32)a > (s32)b;
		return true;
	case GFX9_s_cmp_ge_i32:
		wave->scc = (s32)a >= (s32)b;
		return true;
	case GFX9_s_cmp_lt_i32:
		wave->scc = (s32)a < (s32)b;
		return true;
	case GFX9_s_cmp_le_i32:
		wave->scc = (s32)a <= (s32)b;
		return true;
	case GFX9_s_cmp_gt_u32:
		wave->scc = a > b;
		return true;
	case GFX9_s_cmp_ge_u32:
		wave->scc = a >= b;
		return true;
	case GFX9_s_cmp_lt_u32:
		wave->scc = a < b;
		return true;
	case GFX9_s_cmp_le_u32:
		wave->scc = a <= b;
		return true;
	case GFX9_s_bitcmp0_b32:
		wave->scc = !(a >> (b & 31) & 1);
		return true;
	case GFX9_s_bitcmp1_b32:
		wave->scc = a >> (b & 31) & 1;
		return true;
	case GFX9_s_setvskip:
		if (a >> (b & 31) & 1)
			wave->mode |= GFX9_MODE_VSKIP;
		else
			wave->mode &= ~GFX9_MODE_VSKIP;
		return true;
	default:
		return false;
	}
}

static bool sopc_64(struct gfx9_wave *wave, u32 op, u64 a, u64 b)
{
	switch (op) {
	case GFX9_s_cmp_eq_u64:
		wave->scc = a == b;
		return true;
	case GFX9_s_cmp_lg_u64:
		wave->scc = a != b;
		return true;
	case GFX9_s_bitcmp0_b64:
		wave->scc = !(a >> (b & 63) & 1);
		return true;
	case GFX9_s_bitcmp1_b64:
		wave->scc = a >> (b & 63) & 1;
		return true;
	default:
		return false;
	}
}

static void set_index_mode(struct gfx9_wave *wave, u32 index, u32 bits)
{
	wave->mode |= GFX9_MODE_GPR_IDX_EN;
	wave->s[GFX9_M0] = (wave->s[GFX9_M0] & ~0xf0ffu) | (index & 0xff) | (bits & 15) << 12;
}

static int exec_sopc(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	u32 a, b, low;
	u64 wide_a, wide_b;

	if (!gfx9_scalar32(env, wave, inst, inst->src[0], &a))
		return GFX9_X_UNKNOWN;
	if (inst->op == GFX9_s_set_gpr_idx_on) {
		set_index_mode(wave, a, inst->src[1]);
		return GFX9_X_OK;
	}
	if (!gfx9_scalar32(env, wave, inst, inst->src[1], &b))
		return GFX9_X_UNKNOWN;
	if (sopc_32(wave, inst->op, a, b))
		return GFX9_X_OK;
	if (!gfx9_scalar64(env, wave, inst, inst->src[0], &wide_a))
		return GFX9_X_UNKNOWN;
	if (inst->op == GFX9_s_bitcmp0_b64 || inst->op == GFX9_s_bitcmp1_b64) {
		low = b;
		wide_b = low;
	} else if (!gfx9_scalar64(env, wave, inst, inst->src[1], &wide_b)) {
		return GFX9_X_UNKNOWN;
	}
	return sopc_64(wave, inst->op, wide_a, wide_b) ? GFX9_X_OK : GFX9_X_UNKNOWN;
}

/* ---- SOPP -------------------------------------------------------------------- */

static bool branch_taken(const struct gfx9_wave *wave, u32 op)
{
	switch (op) {
	case GFX9_s_branch:
		return true;
	case GFX9_s_cbranch_scc0:
		return !wave->scc;
	case GFX9_s_cbranch_scc1:
		return wave->scc;
	case GFX9_s_cbranch_vccz:
		return !gfx9_vcc(wave);
	case GFX9_s_cbranch_vccnz:
		return gfx9_vcc(wave);
	case GFX9_s_cbranch_execz:
		return !gfx9_exec(wave);
	case GFX9_s_cbranch_execnz:
		return gfx9_exec(wave);
	default:
		/* s_cbranch_cdbg*: no debugger is attached to the conditional bits. */
		return false;
	}
}

static void send_message(struct gfx9_env *env, const struct gfx9_wave *wave, u32 message)
{
	if (env->ops->message)
		env->ops->message(env->ctx, message, wave->s[GFX9_M0]);
}

static int exec_sopp(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	switch (inst->op) {
	case GFX9_s_branch:
	case GFX9_s_cbranch_scc0:
	case GFX9_s_cbranch_scc1:
	case GFX9_s_cbranch_vccz:
	case GFX9_s_cbranch_vccnz:
	case GFX9_s_cbranch_execz:
	case GFX9_s_cbranch_execnz:
	case GFX9_s_cbranch_cdbgsys:
	case GFX9_s_cbranch_cdbguser:
	case GFX9_s_cbranch_cdbgsys_or_user:
	case GFX9_s_cbranch_cdbgsys_and_user:
		if (branch_taken(wave, inst->op))
			branch(wave, inst->imm);
		return GFX9_X_OK;
	case GFX9_s_nop:
	case GFX9_s_wakeup:
	case GFX9_s_waitcnt: /* memory instructions are done when they return */
	case GFX9_s_setprio:
	case GFX9_s_icache_inv:
	case GFX9_s_incperflevel:
	case GFX9_s_decperflevel:
	case GFX9_s_ttracedata:
		return GFX9_X_OK;
	case GFX9_s_endpgm:
	case GFX9_s_endpgm_ordered_ps_done:
		return GFX9_X_END;
	case GFX9_s_barrier:
		return GFX9_X_BARRIER;
	case GFX9_s_sleep:
		env->sleep_cycles = (inst->imm & 127) * 64;
		return GFX9_X_SLEEP;
	case GFX9_s_sethalt:
		return inst->imm & 1 ? GFX9_X_HALT : GFX9_X_OK;
	case GFX9_s_sendmsg:
		send_message(env, wave, inst->imm);
		return GFX9_X_OK;
	case GFX9_s_sendmsghalt:
		send_message(env, wave, inst->imm);
		return GFX9_X_HALT;
	case GFX9_s_trap:
		env->trap_id = inst->imm & 255;
		return GFX9_X_TRAP;
	case GFX9_s_set_gpr_idx_off:
		wave->mode &= ~GFX9_MODE_GPR_IDX_EN;
		return GFX9_X_OK;
	case GFX9_s_set_gpr_idx_mode:
		wave->s[GFX9_M0] = (wave->s[GFX9_M0] & ~0xf000u) | (inst->imm & 15) << 12;
		return GFX9_X_OK;
	default:
		return GFX9_X_UNKNOWN;
	}
}

int gfx9_exec_salu(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		   const struct gfx9_inst *inst)
{
	switch (inst->format) {
	case GFX9_FORMAT_SOP2:
		return exec_sop2(env, wave, inst);
	case GFX9_FORMAT_SOPK:
		return exec_sopk(env, wg, wave, inst);
	case GFX9_FORMAT_SOP1:
		return exec_sop1(env, wave, inst);
	case GFX9_FORMAT_SOPC:
		return exec_sopc(env, wave, inst);
	default:
		return exec_sopp(env, wave, inst);
	}
}
