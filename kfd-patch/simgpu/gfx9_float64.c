// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Vector ALU, doubles: "Vega" ISA reference, 12.8 and 12.12. V_FMA_F64, V_DIV_FMAS_F64
 * and V_LDEXP_F64 round to nearest whatever MODE says, as the HSA ABI sets it.
 */
#include "gfx9_float.h"

/* From the bits of doubles a, b, c (A, B, C their values) to bits. */
#define WIDE_OP(expression)                                                           \
	do {                                                                          \
		for (u32 i = 0; i < GFX9_LANES; i++) {                                \
			const u64 a __attribute__((unused)) = gfx9_wide(lanes, 0, i); \
			const u64 b __attribute__((unused)) = gfx9_wide(lanes, 1, i); \
			const u64 c __attribute__((unused)) = gfx9_wide(lanes, 2, i); \
			const double A __attribute__((unused)) = gfx9_f64(a);         \
			const double B __attribute__((unused)) = gfx9_f64(b);         \
			const double C __attribute__((unused)) = gfx9_f64(c);         \
                                                                                      \
			gfx9_put_wide(lanes, i, (expression));                        \
		}                                                                     \
		return true;                                                          \
	} while (0)

#define DOUBLE_OP(expression) WIDE_OP(gfx9_f64_bits(expression))

/* From a double A (a its bits) to 32 bits. */
#define NARROW_OP(expression)                                                         \
	do {                                                                          \
		for (u32 i = 0; i < GFX9_LANES; i++) {                                \
			const u64 a __attribute__((unused)) = gfx9_wide(lanes, 0, i); \
			const double A __attribute__((unused)) = gfx9_f64(a);         \
                                                                                      \
			lanes->dst[0][i] = (expression);                              \
		}                                                                     \
		return true;                                                          \
	} while (0)

/* From 32 bits a to a double. */
#define WIDEN_OP(expression)                                                \
	do {                                                                \
		for (u32 i = 0; i < GFX9_LANES; i++) {                      \
			const u32 a = lanes->src[0][0][i];                  \
                                                                            \
			gfx9_put_wide(lanes, i, gfx9_f64_bits(expression)); \
		}                                                           \
		return true;                                                \
	} while (0)

#define QUIET_BIT (1ull << 51)
#define SIGN_BIT (1ull << 63)
#define INFINITY_BITS 0x7ff0000000000000ull
#define NEGATIVE_NAN 0xfff8000000000000ull

/* As kept32() of gfx9_float.c. */
static u64 kept64(const struct gfx9_lanes *lanes, u64 bits)
{
	if (GFX9_MODE_DENORM_64(lanes->mode) == 3 || bits & INFINITY_BITS)
		return bits;
	return bits & SIGN_BIT;
}

u64 gfx9_min64(u64 a, u64 b, bool ieee)
{
	if (gfx9_is_nan64(a) || gfx9_is_nan64(b)) {
		if (ieee && gfx9_is_nan64(a) && !(a & QUIET_BIT))
			return a | QUIET_BIT;
		if (ieee && gfx9_is_nan64(b) && !(b & QUIET_BIT))
			return b | QUIET_BIT;
		return gfx9_is_nan64(a) ? b : a;
	}
	if (gfx9_f64(a) == gfx9_f64(b))
		return a | b;
	return gfx9_f64(a) < gfx9_f64(b) ? a : b;
}

u64 gfx9_max64(u64 a, u64 b, bool ieee)
{
	if (gfx9_is_nan64(a) || gfx9_is_nan64(b))
		return gfx9_min64(a, b, ieee);
	if (gfx9_f64(a) == gfx9_f64(b))
		return a == b ? a : a & b;
	return gfx9_f64(a) > gfx9_f64(b) ? a : b;
}

static double fract(double value)
{
	const double result = value - gfx9_floor(value);

	return result >= 1 ? gfx9_f64(0x3fefffffffffffffull) : result;
}

static s32 exponent_of(u64 bits)
{
	return bits >> 52 & 0x7ff;
}

static u32 frexp_exponent(u64 bits)
{
	const u64 fraction = bits & 0xfffffffffffffull;

	if (exponent_of(bits) == 0x7ff || !(bits & ~SIGN_BIT))
		return 0;
	if (!exponent_of(bits))
		return -1022 - (s32)__builtin_clzll(fraction) + 12;
	return exponent_of(bits) - 1022;
}

static u64 frexp_mantissa(u64 bits)
{
	u64 fraction = bits & 0xfffffffffffffull;

	if (exponent_of(bits) == 0x7ff || !(bits & ~SIGN_BIT))
		return bits;
	if (!exponent_of(bits))
		fraction = fraction << (__builtin_clzll(fraction) - 11) & 0xfffffffffffffull;
	return (bits & SIGN_BIT) | 1022ull << 52 | fraction;
}

/* ---- division, as in gfx9_float.c ------------------------------------------------------- */

static bool is_tiny(double value)
{
	return !exponent_of(gfx9_f64_bits(value));
}

static u64 scale64(u64 bits, s32 exponent)
{
	return gfx9_f64_bits(gfx9_scale(gfx9_f64(bits), exponent));
}

static u64 div_scale(u64 a, u64 den, u64 num, u64 *vcc)
{
	const double d = gfx9_f64(den), n = gfx9_f64(num);

	*vcc = 0;
	if (d == 0 || n == 0)
		return NEGATIVE_NAN;
	if (exponent_of(num) - exponent_of(den) >= 768) {
		*vcc = 1;
		return a == den ? scale64(a, 128) : a;
	}
	if (is_tiny(d))
		return scale64(a, 128);
	if (is_tiny(1 / d) && is_tiny(n / d)) {
		*vcc = 1;
		return a == den ? scale64(a, -128) : a;
	}
	if (is_tiny(1 / d))
		return scale64(a, -128);
	if (is_tiny(n / d)) {
		*vcc = 1;
		return a == num ? scale64(a, 128) : a;
	}
	return exponent_of(num) <= 53 ? scale64(a, 128) : a;
}

static bool scale_lanes(struct gfx9_lanes *lanes)
{
	u64 vcc = 0;

	for (u32 i = 0; i < GFX9_LANES; i++) {
		u64 bit;

		gfx9_put_wide(lanes, i,
			      div_scale(gfx9_wide(lanes, 0, i), gfx9_wide(lanes, 1, i),
					gfx9_wide(lanes, 2, i), &bit));
		vcc |= bit << i;
	}
	lanes->mask = vcc;
	return true;
}

static double div_fmas(double a, double b, double c, bool vcc)
{
	if (!vcc)
		return gfx9_fma64(a, b, c);
	return gfx9_fma64_scaled(a, b, c, exponent_of(gfx9_f64_bits(c)) > 1023 ? 128 : -128);
}

static u64 div_fixup(u64 quotient, u64 den, u64 num)
{
	const u64 sign = (den ^ num) & SIGN_BIT;
	const u64 d = den & ~SIGN_BIT, n = num & ~SIGN_BIT;

	if (gfx9_is_nan64(num))
		return num | QUIET_BIT;
	if (gfx9_is_nan64(den))
		return den | QUIET_BIT;
	if ((!d && !n) || (d == INFINITY_BITS && n == INFINITY_BITS))
		return NEGATIVE_NAN;
	if (!d || n == INFINITY_BITS)
		return sign | INFINITY_BITS;
	if (d == INFINITY_BITS || !n)
		return sign;
	if (exponent_of(quotient) == 0x7ff)
		return sign | INFINITY_BITS;
	return sign | (quotient & ~SIGN_BIT);
}

/* ---- by kind ------------------------------------------------------------------------------ */

static bool arithmetic(u32 op, struct gfx9_lanes *lanes)
{
	const bool ieee = lanes->mode & GFX9_MODE_IEEE;

	switch (op) {
	case GFX9_v_add_f64:
		DOUBLE_OP(A + B);
	case GFX9_v_mul_f64:
		DOUBLE_OP(A * B);
	case GFX9_v_fma_f64:
		DOUBLE_OP(gfx9_fma64(A, B, C));
	case GFX9_v_min_f64:
		WIDE_OP(gfx9_min64(kept64(lanes, a), kept64(lanes, b), ieee));
	case GFX9_v_max_f64:
		WIDE_OP(gfx9_max64(kept64(lanes, a), kept64(lanes, b), ieee));
	case GFX9_v_ldexp_f64:
		DOUBLE_OP(gfx9_scale(A, (s32)lanes->src[1][0][i]));
	case GFX9_v_div_scale_f64:
		return scale_lanes(lanes);
	case GFX9_v_div_fmas_f64:
		DOUBLE_OP(div_fmas(A, B, C, lanes->carry_in >> i & 1));
	case GFX9_v_div_fixup_f64:
		WIDE_OP(div_fixup(a, b, c));
	default:
		return false;
	}
}

static bool functions(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_trunc_f64:
		DOUBLE_OP(gfx9_trunc(A));
	case GFX9_v_ceil_f64:
		DOUBLE_OP(-gfx9_floor(-A));
	case GFX9_v_rndne_f64:
		DOUBLE_OP(gfx9_round_even(A));
	case GFX9_v_floor_f64:
		DOUBLE_OP(gfx9_floor(A));
	case GFX9_v_fract_f64:
		DOUBLE_OP(fract(A));
	case GFX9_v_rcp_f64:
		DOUBLE_OP(1 / A);
	case GFX9_v_rsq_f64:
		DOUBLE_OP(1 / gfx9_sqrt(A));
	case GFX9_v_sqrt_f64:
		DOUBLE_OP(gfx9_sqrt(A));
	case GFX9_v_frexp_mant_f64:
		WIDE_OP(frexp_mantissa(a));
	case GFX9_v_frexp_exp_i32_f64:
		NARROW_OP(frexp_exponent(a));
	default:
		return false;
	}
}

static bool conversions(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_cvt_i32_f64:
		NARROW_OP(gfx9_to_i32(A));
	case GFX9_v_cvt_u32_f64:
		NARROW_OP(gfx9_to_u32(A));
	case GFX9_v_cvt_f32_f64:
		NARROW_OP(gfx9_f32_bits((float)A));
	case GFX9_v_cvt_f64_f32:
		WIDEN_OP((double)gfx9_f32(a));
	case GFX9_v_cvt_f64_i32:
		WIDEN_OP((double)(s32)a);
	case GFX9_v_cvt_f64_u32:
		WIDEN_OP((double)(s64)a);
	default:
		return false;
	}
}

bool gfx9_lanes_float64(u32 op, struct gfx9_lanes *lanes)
{
	return arithmetic(op, lanes) || functions(op, lanes) || conversions(op, lanes);
}

void gfx9_compare_64(u32 predicate, struct gfx9_lanes *lanes)
{
	u64 lt = 0, eq = 0, gt = 0;

	for (u32 i = 0; i < GFX9_LANES; i++) {
		const double a = gfx9_f64(gfx9_wide(lanes, 0, i));
		const double b = gfx9_f64(gfx9_wide(lanes, 1, i));

		lt |= (u64)(a < b) << i;
		eq |= (u64)(a == b) << i;
		gt |= (u64)(a > b) << i;
	}
	lanes->mask = gfx9_by_predicate(predicate, lt, eq, gt);
}
