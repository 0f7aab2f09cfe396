// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Vector ALU, half floats and packed halves: "Vega" ISA reference, 12.7 to 12.12.
 * Sums and products of halves are exact in doubles, so one rounding at the end
 * is right. Assumption: subnormal halves are kept, as the HSA ABI sets MODE to.
 */
#include "gfx9_float.h"

/* LANE_OP() with the values of halves, and one rounding. */
#define HALF_OP(expression)                                                                    \
	do {                                                                                   \
		for (u32 i = 0; i < GFX9_LANES; i++) {                                         \
			const double a                                                         \
				__attribute__((unused)) = gfx9_from_half(lanes->src[0][0][i]); \
			const double b                                                         \
				__attribute__((unused)) = gfx9_from_half(lanes->src[1][0][i]); \
			const double c                                                         \
				__attribute__((unused)) = gfx9_from_half(lanes->src[2][0][i]); \
                                                                                               \
			lanes->dst[0][i] = gfx9_to_half((expression), round);                  \
		}                                                                              \
		return true;                                                                   \
	} while (0)

/* Halves are floats, exactly, so their order is. */
static u32 widened(u32 half)
{
	return gfx9_f32_bits((float)gfx9_from_half(half));
}

static u32 narrowed(u32 bits)
{
	return gfx9_to_half(gfx9_f32(bits), 0);
}

static u32 min_half(u32 a, u32 b, bool ieee)
{
	return narrowed(gfx9_min32(widened(a), widened(b), ieee));
}

static u32 max_half(u32 a, u32 b, bool ieee)
{
	return narrowed(gfx9_max32(widened(a), widened(b), ieee));
}

static u32 med3(u32 a, u32 b, u32 c, bool ieee)
{
	const u32 nan = 0x7c00;

	if ((a & 0x7fff) > nan || (b & 0x7fff) > nan || (c & 0x7fff) > nan)
		return min_half(min_half(a, b, ieee), c, ieee);
	return max_half(min_half(a, b, ieee), min_half(max_half(a, b, ieee), c, ieee), ieee);
}

/* The product of two halves is exact; the sum is rounded to odd first. */
static double fma_half(double a, double b, double c)
{
	return gfx9_add_to_odd(a * b, c);
}

static double mad_half(double a, double b, double c, u32 round)
{
	return gfx9_from_half(gfx9_to_half(a * b, round)) + c;
}

static u32 to_u16(double value)
{
	if (!(value > 0))
		return 0;
	return value >= 65535 ? 0xffff : (u32)value;
}

static u32 to_i16(double value)
{
	if (value != value)
		return 0;
	return (u16)(value >= 32767 ? 32767 : value <= -32768 ? -32768 : (s32)value);
}

static u32 norm_i16(double value)
{
	if (value != value)
		return 0;
	value = value < -1 ? -1 : value > 1 ? 1 : value;
	return (u16)(s32)gfx9_round_even(value * 32767);
}

static u32 norm_u16(double value)
{
	if (!(value > 0))
		return 0;
	return value > 1 ? 0xffff : (u32)gfx9_round_even(value * 65535);
}

static u32 frexp_exponent(u32 half)
{
	const u32 bits = widened(half);

	if ((half & 0x7fff) >= 0x7c00 || !(half & 0x7fff))
		return 0;
	return (u16)((bits >> 23 & 0xff) - 126);
}

static u32 frexp_mantissa(u32 half)
{
	const u32 bits = widened(half);

	if ((half & 0x7fff) >= 0x7c00 || !(half & 0x7fff))
		return half & 0xffff;
	return narrowed((bits & 0x807fffff) | 126u << 23);
}

static double fract(double value)
{
	const double result = value - gfx9_floor(value);

	return result >= 0.99951171875 ? 0.99951171875 : result;
}

static u32 div_fixup(u32 quotient, u32 den, u32 num)
{
	const u32 sign = (den ^ num) & 0x8000;
	const u32 d = den & 0x7fff, n = num & 0x7fff;

	if (n > 0x7c00)
		return (num & 0xffff) | 0x200;
	if (d > 0x7c00)
		return (den & 0xffff) | 0x200;
	if ((!d && !n) || (d == 0x7c00 && n == 0x7c00))
		return 0xfe00;
	if (!d || n == 0x7c00)
		return sign | 0x7c00;
	if (d == 0x7c00 || !n)
		return sign;
	return sign | (quotient & 0x7fff);
}

static double infinity_or(double turns, double shift)
{
	if (turns - turns != 0)
		return gfx9_f64(0xfff8000000000000ull);
	return gfx9_sin_turns(turns + shift);
}

/* ---- one half per lane -------------------------------------------------------------- */

static bool arithmetic(u32 op, struct gfx9_lanes *lanes, u32 round)
{
	const bool ieee = lanes->mode & GFX9_MODE_IEEE;

	switch (op) {
	case GFX9_v_add_f16:
		HALF_OP(a + b);
	case GFX9_v_sub_f16:
		HALF_OP(a - b);
	case GFX9_v_subrev_f16:
		HALF_OP(b - a);
	case GFX9_v_mul_f16:
		HALF_OP(a * b);
	case GFX9_v_max_f16:
		LANE_OP(max_half(a, b, ieee));
	case GFX9_v_min_f16:
		LANE_OP(min_half(a, b, ieee));
	case GFX9_v_ldexp_f16:
		HALF_OP(gfx9_scale(a, (s16)lanes->src[1][0][i]));
	case GFX9_v_mac_f16:
	case GFX9_v_madmk_f16:
	case GFX9_v_madak_f16:
	case GFX9_v_mad_f16:
	case GFX9_v_mad_legacy_f16:
		HALF_OP(mad_half(a, b, c, round));
	case GFX9_v_fma_f16:
	case GFX9_v_fma_legacy_f16:
		HALF_OP(fma_half(a, b, c));
	case GFX9_v_div_fixup_f16:
	case GFX9_v_div_fixup_legacy_f16:
		LANE_OP(div_fixup(a, b, c));
	case GFX9_v_min3_f16:
		LANE_OP(min_half(min_half(a, b, ieee), c, ieee));
	case GFX9_v_max3_f16:
		LANE_OP(max_half(max_half(a, b, ieee), c, ieee));
	case GFX9_v_med3_f16:
		LANE_OP(med3(a, b, c, ieee));
	default:
		return false;
	}
}

static bool functions(u32 op, struct gfx9_lanes *lanes, u32 round)
{
	switch (op) {
	case GFX9_v_rcp_f16:
		HALF_OP(1 / a);
	case GFX9_v_sqrt_f16:
		HALF_OP(gfx9_sqrt(a));
	case GFX9_v_rsq_f16:
		HALF_OP(1 / gfx9_sqrt(a));
	case GFX9_v_log_f16:
		HALF_OP(gfx9_log2(a));
	case GFX9_v_exp_f16:
		HALF_OP(gfx9_exp2(a));
	case GFX9_v_floor_f16:
		HALF_OP(gfx9_floor(a));
	case GFX9_v_ceil_f16:
		HALF_OP(-gfx9_floor(-a));
	case GFX9_v_trunc_f16:
		HALF_OP(gfx9_trunc(a));
	case GFX9_v_rndne_f16:
		HALF_OP(gfx9_round_even(a));
	case GFX9_v_fract_f16:
		HALF_OP(fract(a));
	case GFX9_v_sin_f16:
		HALF_OP(infinity_or(a, 0));
	case GFX9_v_cos_f16:
		HALF_OP(infinity_or(a, 0.25));
	case GFX9_v_frexp_mant_f16:
		LANE_OP(frexp_mantissa(a));
	case GFX9_v_frexp_exp_i16_f16:
		LANE_OP(frexp_exponent(a));
	default:
		return false;
	}
}

static bool conversions(u32 op, struct gfx9_lanes *lanes, u32 round)
{
	switch (op) {
	case GFX9_v_cvt_f16_f32:
		LANE_OP(gfx9_to_half(gfx9_f32(a), round));
	case GFX9_v_cvt_f16_u16:
		LANE_OP(gfx9_to_half((double)(s32)(a & 0xffff), round));
	case GFX9_v_cvt_f16_i16:
		LANE_OP(gfx9_to_half((double)(s16)a, round));
	case GFX9_v_cvt_u16_f16:
		LANE_OP(to_u16(gfx9_from_half(a)));
	case GFX9_v_cvt_i16_f16:
		LANE_OP(to_i16(gfx9_from_half(a)));
	case GFX9_v_cvt_norm_i16_f16:
		LANE_OP(norm_i16(gfx9_from_half(a)));
	case GFX9_v_cvt_norm_u16_f16:
		LANE_OP(norm_u16(gfx9_from_half(a)));
	case GFX9_v_cvt_pknorm_i16_f16:
		LANE_OP(norm_i16(gfx9_from_half(a)) | norm_i16(gfx9_from_half(b)) << 16);
	case GFX9_v_cvt_pknorm_u16_f16:
		LANE_OP(norm_u16(gfx9_from_half(a)) | norm_u16(gfx9_from_half(b)) << 16);
	case GFX9_v_pack_b32_f16:
		LANE_OP((a & 0xffff) | b << 16);
	default:
		return false;
	}
}

bool gfx9_lanes_half(u32 op, struct gfx9_lanes *lanes)
{
	const u32 round = GFX9_MODE_ROUND_64(lanes->mode);

	return arithmetic(op, lanes, round) || functions(op, lanes, round) ||
	       conversions(op, lanes, round);
}

void gfx9_compare_half(u32 predicate, struct gfx9_lanes *lanes)
{
	u64 lt = 0, eq = 0, gt = 0;

	for (u32 i = 0; i < GFX9_LANES; i++) {
		const double a = gfx9_from_half(lanes->src[0][0][i]);
		const double b = gfx9_from_half(lanes->src[1][0][i]);

		lt |= (u64)(a < b) << i;
		eq |= (u64)(a == b) << i;
		gt |= (u64)(a > b) << i;
	}
	lanes->mask = gfx9_by_predicate(predicate, lt, eq, gt);
}

/* ---- packed: two halves per lane, VOP3P --------------------------------------------- */

static bool packed_is_float(u32 op)
{
	return op >= GFX9_v_pk_fma_f16 && op <= GFX9_v_pk_max_f16;
}

/* Half @which of source @i, by OP_SEL or OP_SEL_HI, its sign by NEG or NEG_HI. */
static u32 packed_source(const struct gfx9_inst *inst, u32 value, u32 i, bool high)
{
	const u32 select = high ? inst->opsel_hi : inst->opsel;
	const u32 negate = high ? inst->neg_hi : inst->neg;
	const u32 half = select >> i & 1 ? value >> 16 : value & 0xffff;

	return negate >> i & 1 ? half ^ 0x8000 : half;
}

static u32 packed_float(u32 op, u32 a, u32 b, u32 c, u32 mode)
{
	const double x = gfx9_from_half(a), y = gfx9_from_half(b);
	const u32 round = GFX9_MODE_ROUND_64(mode);
	const bool ieee = mode & GFX9_MODE_IEEE;

	switch (op) {
	case GFX9_v_pk_fma_f16:
		return gfx9_to_half(fma_half(x, y, gfx9_from_half(c)), round);
	case GFX9_v_pk_add_f16:
		return gfx9_to_half(x + y, round);
	case GFX9_v_pk_mul_f16:
		return gfx9_to_half(x * y, round);
	case GFX9_v_pk_min_f16:
		return min_half(a, b, ieee);
	default:
		return max_half(a, b, ieee);
	}
}

static u32 clamp_half(u32 half)
{
	const double value = gfx9_from_half(half);

	if (!(value > 0))
		return 0;
	return value > 1 ? 0x3c00 : half;
}

/* The result before it is cut to, or saturated at, 16 bits. */
static bool packed_integer(u32 op, u32 a, u32 b, u32 c, s64 *result, bool *is_signed)
{
	const s32 sa = (s16)a, sb = (s16)b, sc = (s16)c;

	*is_signed = false;
	switch (op) {
	case GFX9_v_pk_mad_u16:
		*result = (s64)a * b + c;
		return true;
	case GFX9_v_pk_mul_lo_u16:
		*result = (a * b) & 0xffff;
		return true;
	case GFX9_v_pk_add_u16:
		*result = (s64)a + b;
		return true;
	case GFX9_v_pk_sub_u16:
		*result = (s64)a - b;
		return true;
	case GFX9_v_pk_max_u16:
		*result = a > b ? a : b;
		return true;
	case GFX9_v_pk_min_u16:
		*result = a < b ? a : b;
		return true;
	case GFX9_v_pk_lshlrev_b16:
		*result = (b << (a & 15)) & 0xffff;
		return true;
	case GFX9_v_pk_lshrrev_b16:
		*result = b >> (a & 15);
		return true;
	default:
		break;
	}
	*is_signed = true;
	switch (op) {
	case GFX9_v_pk_mad_i16:
		*result = (s64)sa * sb + sc;
		return true;
	case GFX9_v_pk_add_i16:
		*result = (s64)sa + sb;
		return true;
	case GFX9_v_pk_sub_i16:
		*result = (s64)sa - sb;
		return true;
	case GFX9_v_pk_ashrrev_i16:
		*result = sb >> (a & 15);
		return true;
	case GFX9_v_pk_max_i16:
		*result = sa > sb ? sa : sb;
		return true;
	case GFX9_v_pk_min_i16:
		*result = sa < sb ? sa : sb;
		return true;
	default:
		return false;
	}
}

static bool packed_half(const struct gfx9_inst *inst, const u32 source[3], bool high, u32 mode,
			u32 *half)
{
	const bool clamp = inst->flags & GFX9_I_CLAMP;
	bool is_signed;
	u32 part[3];
	s64 wide;

	for (u32 i = 0; i < 3; i++)
		part[i] = packed_source(inst, source[i], i, high);
	if (packed_is_float(inst->op)) {
		*half = packed_float(inst->op, part[0], part[1], part[2], mode);
		if (clamp)
			*half = clamp_half(*half);
		return true;
	}
	if (inst->neg || inst->neg_hi ||
	    !packed_integer(inst->op, part[0], part[1], part[2], &wide, &is_signed))
		return false;
	if (clamp)
		wide = is_signed ? gfx9_clamped(wide, -0x8000, 0x7fff) :
				   gfx9_clamped(wide, 0, 0xffff);
	*half = wide & 0xffff;
	return true;
}

/* ---- dot products ------------------------------------------------------------------- */

static s64 element(u32 value, u32 index, u32 bits, bool is_signed)
{
	const u32 field = value >> index * bits & ((1u << bits) - 1);

	if (is_signed && field >> (bits - 1))
		return (s64)field - (1ll << bits);
	return field;
}

static bool dot_integer(const struct gfx9_inst *inst, const u32 source[3], u32 *result)
{
	bool is_signed = true;
	u32 bits;
	s64 sum;

	switch (inst->op) {
	case GFX9_v_dot2_u32_u16:
		is_signed = false;
		bits = 16;
		break;
	case GFX9_v_dot2_i32_i16:
		bits = 16;
		break;
	case GFX9_v_dot4_u32_u8:
		is_signed = false;
		bits = 8;
		break;
	case GFX9_v_dot4_i32_i8:
		bits = 8;
		break;
	case GFX9_v_dot8_u32_u4:
		is_signed = false;
		bits = 4;
		break;
	case GFX9_v_dot8_i32_i4:
		bits = 4;
		break;
	default:
		return false;
	}
	sum = is_signed ? (s64)(s32)source[2] : (s64)source[2];
	for (u32 i = 0; i < 32 / bits; i++)
		sum += element(source[0], i, bits, is_signed) *
		       element(source[1], i, bits, is_signed);
	if (inst->flags & GFX9_I_CLAMP)
		sum = is_signed ? (s32)gfx9_clamped(sum, -0x80000000ll, 0x7fffffff) :
				  (s64)gfx9_clamped(sum, 0, 0xffffffff);
	*result = sum;
	return true;
}

/* Assumption: the two products are added, then the third source, each rounded. */
static u32 dot_half(const struct gfx9_inst *inst, const u32 source[3])
{
	double part[2][2];
	float sum;

	for (u32 i = 0; i < 2; i++) {
		part[i][0] = gfx9_from_half(packed_source(inst, source[i], i, false));
		part[i][1] = gfx9_from_half(packed_source(inst, source[i], i, true));
	}
	sum = (float)(part[0][0] * part[1][0] + part[0][1] * part[1][1]);
	return gfx9_f32_bits(sum + gfx9_f32(source[2]));
}

/* ---- mixed: each source a half or a float ------------------------------------------- */

static double mixed_source(const struct gfx9_inst *inst, u32 value, u32 i)
{
	u32 bits;
	double result;

	if (inst->opsel_hi >> i & 1) {
		bits = inst->opsel >> i & 1 ? value >> 16 : value;
		result = gfx9_from_half(bits);
	} else {
		result = gfx9_f32(value);
	}
	/* NEG_HI is ABS here. */
	if (inst->neg_hi >> i & 1)
		result = gfx9_f64(gfx9_f64_bits(result) & ~0ull >> 1);
	return inst->neg >> i & 1 ? -result : result;
}

static u32 mix(const struct gfx9_inst *inst, const u32 source[3], u32 before, u32 mode)
{
	const double a = mixed_source(inst, source[0], 0);
	const double b = mixed_source(inst, source[1], 1);
	float sum = (float)gfx9_add_to_odd(a * b, mixed_source(inst, source[2], 2));
	u32 half;

	if (inst->flags & GFX9_I_CLAMP)
		sum = !(sum > 0) ? 0 : sum > 1 ? 1 : sum;
	if (inst->op == GFX9_v_fma_mix_f32)
		return gfx9_f32_bits(sum);
	half = gfx9_to_half(sum, GFX9_MODE_ROUND_64(mode));
	if (inst->op == GFX9_v_fma_mixlo_f16)
		return (before & 0xffff0000) | half;
	return (before & 0xffff) | half << 16;
}

static bool packed_lane(const struct gfx9_inst *inst, const u32 source[3], u32 mode, u32 *result)
{
	u32 low, high;

	switch (inst->op) {
	case GFX9_v_fma_mix_f32:
	case GFX9_v_fma_mixlo_f16:
	case GFX9_v_fma_mixhi_f16:
		*result = mix(inst, source, *result, mode);
		return true;
	case GFX9_v_dot2_f32_f16:
		*result = dot_half(inst, source);
		return true;
	default:
		break;
	}
	if (dot_integer(inst, source, result))
		return true;
	if (!packed_half(inst, source, false, mode, &low) ||
	    !packed_half(inst, source, true, mode, &high))
		return false;
	*result = low | high << 16;
	return true;
}

bool gfx9_lanes_packed(const struct gfx9_inst *inst, struct gfx9_lanes *lanes)
{
	for (u32 i = 0; i < GFX9_LANES; i++) {
		const u32 source[3] = { lanes->src[0][0][i], lanes->src[1][0][i],
					lanes->src[2][0][i] };

		if (!packed_lane(inst, source, lanes->mode, &lanes->dst[0][i]))
			return false;
	}
	return true;
}
