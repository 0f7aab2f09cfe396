// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Vector ALU, 32-bit floats, conversions, and the dispatch to the others: "Vega" ISA
 * reference, 12.7 to 12.12. The host's FPU does the arithmetic, with its MXCSR set from the
 * MODE register.
 *
 * Assumption: an invalid operation gives the host's NaN, 0xffc00000, as the reference states
 * for V_DIV_FIXUP_F32.
 */
#include "gfx9_access.h"
#include "gfx9_float.h"

typedef float v4f __attribute__((vector_size(16), may_alias));

/* A row's bits as floats, four by four. */
static const v4f *floats(const void *row)
{
	return row;
}

static v4f *float_results(void *row)
{
	return row;
}

/* ---- MXCSR -------------------------------------------------------------------------------- */

#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_DAZ (1u << 6)
#define MXCSR_FTZ (1u << 15)

static u32 mxcsr_of(u32 round, u32 denormals)
{
	/* MODE: nearest, up, down, zero; MXCSR: nearest, down, up, zero. */
	static const u8 control[4] = { 0, 2, 1, 3 };
	u32 value = MXCSR_DEFAULT | (u32)control[round & 3] << 13;

	if (!(denormals & 1))
		value |= MXCSR_DAZ;
	if (!(denormals & 2))
		value |= MXCSR_FTZ;
	return value;
}

static void set_mxcsr(u32 value)
{
	asm volatile("ldmxcsr %0" : : "m"(value) : "memory");
}

/* ---- loops -------------------------------------------------------------------------- */

#define VECTOR_OP(expression)                                        \
	do {                                                         \
		const v4f *ra = floats(lanes->src[0][0]);            \
		const v4f *rb = floats(lanes->src[1][0]);            \
		v4f *rd = float_results(lanes->dst[0]);              \
                                                                     \
		for (u32 i = 0; i < GFX9_VECTORS; i++) {             \
			const v4f A __attribute__((unused)) = ra[i]; \
			const v4f B __attribute__((unused)) = rb[i]; \
                                                                     \
			rd[i] = (expression);                        \
		}                                                    \
		return true;                                         \
	} while (0)

/* LANE_OP() with the floats that the bits are. */
#define FLOAT_OP(expression)                                                                   \
	do {                                                                                   \
		for (u32 i = 0; i < GFX9_LANES; i++) {                                         \
			const float a __attribute__((unused)) = gfx9_f32(lanes->src[0][0][i]); \
			const float b __attribute__((unused)) = gfx9_f32(lanes->src[1][0][i]); \
			const float c __attribute__((unused)) = gfx9_f32(lanes->src[2][0][i]); \
                                                                                               \
			lanes->dst[0][i] = gfx9_f32_bits(expression);                          \
		}                                                                              \
		return true;                                                                   \
	} while (0)

/* ---- pieces ------------------------------------------------------------------------- */

#define QUIET_BIT 0x00400000u
#define NEGATIVE_NAN 0xffc00000u

/* Exact in a double but for the last rounding, which rounding to odd keeps single. */
static float fma32(float a, float b, float c)
{
	return (float)gfx9_add_to_odd((double)a * b, c);
}

typedef double v2d __attribute__((vector_size(16), may_alias));
typedef float v2f __attribute__((vector_size(8), may_alias));

/*
 * Whether doubles, rounded to floats, could be off for having been rounded
 * before: one lies just between two floats, or is below the normal ones.
 */
static bool fma_in_doubt(const v2d sum[2], v4f result)
{
	const gfx9_v4u a = (gfx9_v4u)sum[0], b = (gfx9_v4u)sum[1];
	const gfx9_v4u low = { a[0], a[2], b[0], b[2] };
	const gfx9_v4s between = (low & 0x1fffffff) == 0x10000000;
	const gfx9_v4s small = ((gfx9_v4u)result & 0x7f800000) == 0;

	return gfx9_collect(between | small, 0);
}

static v2d widen(v4f value, bool high)
{
	const v2f part = { value[high ? 2 : 0], value[high ? 3 : 1] };

	return __builtin_convertvector(part, v2d);
}

static bool fma_lanes(struct gfx9_lanes *lanes)
{
	for (u32 i = 0; i < GFX9_VECTORS; i++) {
		const v4f a = floats(lanes->src[0][0])[i];
		const v4f b = floats(lanes->src[1][0])[i];
		const v4f c = floats(lanes->src[2][0])[i];
		const v2d sum[2] = {
			widen(a, false) * widen(b, false) + widen(c, false),
			widen(a, true) * widen(b, true) + widen(c, true),
		};
		v4f result = { (float)sum[0][0], (float)sum[0][1], (float)sum[1][0],
			       (float)sum[1][1] };

		if (fma_in_doubt(sum, result))
			result = (v4f){ fma32(a[0], b[0], c[0]), fma32(a[1], b[1], c[1]),
					fma32(a[2], b[2], c[2]), fma32(a[3], b[3], c[3]) };
		float_results(lanes->dst[0])[i] = result;
	}
	return true;
}

/* v_mad_f32 and v_mac_f32 round the product too: hence two statements. */
static float mad32(float a, float b, float c)
{
	volatile float product = a * b;

	return product + c;
}

static u32 quiet(u32 bits)
{
	return bits | QUIET_BIT;
}

/*
 * An operand of a minimum or maximum. gfx9's obey MODE, unlike earlier ones (LLVM,
 * GCNSubtarget::supportsMinMaxDenormModes). The result is an operand, so it does not matter
 * which of the two MODE flushes.
 */
static u32 kept32(const struct gfx9_lanes *lanes, u32 bits)
{
	if (GFX9_MODE_DENORM_32(lanes->mode) == 3 || bits & 0x7f800000)
		return bits;
	return bits & 0x80000000;
}

/* Zeroes are ordered: -0 < +0. In IEEE mode a signaling NaN wins, quieted. */
u32 gfx9_min32(u32 a, u32 b, bool ieee)
{
	if (gfx9_is_nan32(a) || gfx9_is_nan32(b)) {
		if (ieee && gfx9_is_nan32(a) && !(a & QUIET_BIT))
			return quiet(a);
		if (ieee && gfx9_is_nan32(b) && !(b & QUIET_BIT))
			return quiet(b);
		return gfx9_is_nan32(a) ? b : a;
	}
	if (gfx9_f32(a) == gfx9_f32(b))
		return a | b;
	return gfx9_f32(a) < gfx9_f32(b) ? a : b;
}

u32 gfx9_max32(u32 a, u32 b, bool ieee)
{
	if (gfx9_is_nan32(a) || gfx9_is_nan32(b))
		return gfx9_min32(a, b, ieee);
	if (gfx9_f32(a) == gfx9_f32(b))
		return a == b ? a : a & b;
	return gfx9_f32(a) > gfx9_f32(b) ? a : b;
}

static u32 min3(u32 a, u32 b, u32 c, bool ieee)
{
	return gfx9_min32(gfx9_min32(a, b, ieee), c, ieee);
}

static u32 max3(u32 a, u32 b, u32 c, bool ieee)
{
	return gfx9_max32(gfx9_max32(a, b, ieee), c, ieee);
}

static u32 med3(u32 a, u32 b, u32 c, bool ieee)
{
	if (gfx9_is_nan32(a) || gfx9_is_nan32(b) || gfx9_is_nan32(c))
		return min3(a, b, c, ieee);
	return gfx9_max32(gfx9_min32(a, b, ieee), gfx9_min32(gfx9_max32(a, b, ieee), c, ieee),
			  ieee);
}

static float fract(float value)
{
	const float result = value - (float)gfx9_floor(value);

	/* Just below a whole number the difference rounds to 1. */
	return result >= 1 ? gfx9_f32(0x3f7fffff) : result;
}

static u32 frexp_exponent(u32 bits)
{
	const u32 exponent = bits >> 23 & 0xff;

	if (exponent == 0xff || !(bits & 0x7fffffff))
		return 0;
	if (!exponent)
		return -126 - (s32)__builtin_clz(bits & 0x7fffff) + 9;
	return exponent - 126;
}

static u32 frexp_mantissa(u32 bits)
{
	u32 fraction = bits & 0x7fffff;

	if ((bits >> 23 & 0xff) == 0xff || !(bits & 0x7fffffff))
		return bits;
	if (!(bits >> 23 & 0xff))
		fraction = fraction << (__builtin_clz(fraction) - 8) & 0x7fffff;
	return (bits & 0x80000000) | 126u << 23 | fraction;
}

u32 gfx9_to_u32(double value)
{
	if (!(value > 0))
		return 0;
	return value >= 4294967295.0 ? 0xffffffff : (u32)(u64)value;
}

u32 gfx9_to_i32(double value)
{
	if (value != value)
		return 0;
	if (value >= 2147483647.0)
		return 0x7fffffff;
	return value <= -2147483648.0 ? 0x80000000 : (u32)(s32)value;
}

static u32 float_to_byte(float value)
{
	if (!(value > 0))
		return 0;
	return value >= 255 ? 255 : (u32)gfx9_round_even(value);
}

static u32 insert_byte(float value, u32 which, u32 into)
{
	const u32 shift = (which & 3) * 8;

	return (into & ~(255u << shift)) | float_to_byte(value) << shift;
}

static u32 norm_i16(float value)
{
	if (value != value)
		return 0;
	value = value < -1 ? -1 : value > 1 ? 1 : value;
	return (u32)(s32)gfx9_round_even((double)value * 32767) & 0xffff;
}

static u32 norm_u16(float value)
{
	if (!(value > 0))
		return 0;
	return value > 1 ? 0xffff : (u32)gfx9_round_even((double)value * 65535);
}

/* These don't take or give subnormals (LLVM lowers llvm.log2 and exp2 around it). */
static float log2_32(float value)
{
	if (value > -gfx9_f32(0x00800000) && value < gfx9_f32(0x00800000))
		value = 0;
	return (float)gfx9_log2(value);
}

static float exp2_32(float value)
{
	return value < -126 ? 0 : (float)gfx9_exp2(value);
}

static float sin_turns(float value, float shift)
{
	if (value - value != 0)
		return gfx9_f32(NEGATIVE_NAN);
	return (float)gfx9_sin_turns((double)value + shift);
}

/* ---- division: helpers of the reference's sequence ---------------------------------- */

static s32 exponent_of(u32 bits)
{
	return bits >> 23 & 0xff;
}

/* "DENORM" in the reference; even smaller values count, too. */
static bool is_tiny(float value)
{
	return !exponent_of(gfx9_f32_bits(value));
}

static u32 scale32(u32 bits, s32 exponent)
{
	return gfx9_f32_bits((float)gfx9_scale(gfx9_f32(bits), exponent));
}

/*
 * V_DIV_SCALE_F32: @a is the numerator or the denominator, whichever is to be
 * scaled; @den, @num. *@vcc: v_div_fmas must scale the quotient back.
 */
static u32 div_scale(u32 a, u32 den, u32 num, u64 *vcc)
{
	const float d = gfx9_f32(den), n = gfx9_f32(num);

	*vcc = 0;
	if (d == 0 || n == 0)
		return NEGATIVE_NAN;
	if (exponent_of(num) - exponent_of(den) >= 96) {
		*vcc = 1;
		return a == den ? scale32(a, 64) : a;
	}
	if (is_tiny(d))
		return scale32(a, 64);
	if (is_tiny(1 / d) && is_tiny(n / d)) {
		*vcc = 1;
		return a == den ? scale32(a, -64) : a;
	}
	if (is_tiny(1 / d))
		return scale32(a, -64);
	if (is_tiny(n / d)) {
		*vcc = 1;
		return a == num ? scale32(a, 64) : a;
	}
	return exponent_of(num) <= 23 ? scale32(a, 64) : a;
}

static bool scale_lanes(struct gfx9_lanes *lanes)
{
	u64 vcc = 0;

	for (u32 i = 0; i < GFX9_LANES; i++) {
		u64 bit;

		lanes->dst[0][i] = div_scale(lanes->src[0][0][i], lanes->src[1][0][i],
					     lanes->src[2][0][i], &bit);
		vcc |= bit << i;
	}
	lanes->mask = vcc;
	return true;
}

/*
 * V_DIV_FMAS_F32. It undoes V_DIV_SCALE_F32: times 2^64 for a quotient that was made small,
 * 2^-64 for one that was made large.
 */
static u32 div_fmas(u32 a, u32 b, u32 c, bool vcc)
{
	const u32 sum = gfx9_f32_bits(fma32(gfx9_f32(a), gfx9_f32(b), gfx9_f32(c)));

	if (!vcc)
		return sum;
	/* In a double, so that a subnormal quotient is rounded once. */
	return gfx9_f32_bits(
		(float)(gfx9_add_to_odd((double)gfx9_f32(a) * gfx9_f32(b), gfx9_f32(c)) *
			gfx9_power_of_two(exponent_of(c) > 127 ? 64 : -64)));
}

static u32 div_fixup(u32 quotient, u32 den, u32 num)
{
	const u32 sign = (den ^ num) & 0x80000000;
	const u32 d = den & 0x7fffffff, n = num & 0x7fffffff;

	if (gfx9_is_nan32(num))
		return quiet(num);
	if (gfx9_is_nan32(den))
		return quiet(den);
	if ((!d && !n) || (d == 0x7f800000 && n == 0x7f800000))
		return NEGATIVE_NAN;
	if (!d || n == 0x7f800000)
		return sign | 0x7f800000;
	if (d == 0x7f800000 || !n)
		return sign;
	/* The sequence overflowed. The reference says S1, which cannot be meant. */
	if (exponent_of(quotient) == 0xff)
		return sign | 0x7f800000;
	return sign | (quotient & 0x7fffffff);
}

/* ---- by encoding -------------------------------------------------------------------- */

static bool is_ieee(const struct gfx9_lanes *lanes)
{
	return lanes->mode & GFX9_MODE_IEEE;
}

static bool vop2(u32 op, struct gfx9_lanes *lanes)
{
	const bool ieee = is_ieee(lanes);

	switch (op) {
	case GFX9_v_add_f32:
		VECTOR_OP(A + B);
	case GFX9_v_sub_f32:
		VECTOR_OP(A - B);
	case GFX9_v_subrev_f32:
		VECTOR_OP(B - A);
	case GFX9_v_mul_f32:
		VECTOR_OP(A * B);
	case GFX9_v_mul_legacy_f32:
		FLOAT_OP(a == 0 || b == 0 ? 0 : a * b);
	case GFX9_v_min_f32:
		LANE_OP(gfx9_min32(kept32(lanes, a), kept32(lanes, b), ieee));
	case GFX9_v_max_f32:
		LANE_OP(gfx9_max32(kept32(lanes, a), kept32(lanes, b), ieee));
	case GFX9_v_mac_f32:
	case GFX9_v_madmk_f32:
	case GFX9_v_madak_f32:
		FLOAT_OP(mad32(a, b, c));
	case GFX9_v_fmac_f32:
		return fma_lanes(lanes);
	default:
		return false;
	}
}

static bool vop1(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_fract_f32:
		FLOAT_OP(fract(a));
	case GFX9_v_trunc_f32:
		FLOAT_OP((float)gfx9_trunc(a));
	case GFX9_v_ceil_f32:
		FLOAT_OP((float)-gfx9_floor(-(double)a));
	case GFX9_v_rndne_f32:
		FLOAT_OP((float)gfx9_round_even(a));
	case GFX9_v_floor_f32:
		FLOAT_OP((float)gfx9_floor(a));
	case GFX9_v_exp_f32:
	case GFX9_v_exp_legacy_f32:
		FLOAT_OP(exp2_32(a));
	case GFX9_v_log_f32:
	case GFX9_v_log_legacy_f32:
		FLOAT_OP(log2_32(a));
	case GFX9_v_rcp_f32:
	case GFX9_v_rcp_iflag_f32:
		VECTOR_OP(1.0f / A);
	case GFX9_v_rsq_f32:
		FLOAT_OP((float)(1 / gfx9_sqrt(a)));
	case GFX9_v_sqrt_f32:
		FLOAT_OP((float)gfx9_sqrt(a));
	case GFX9_v_sin_f32:
		FLOAT_OP(sin_turns(a, 0));
	case GFX9_v_cos_f32:
		FLOAT_OP(sin_turns(a, 0.25f));
	case GFX9_v_frexp_exp_i32_f32:
		LANE_OP(frexp_exponent(a));
	case GFX9_v_frexp_mant_f32:
		LANE_OP(frexp_mantissa(a));
	default:
		return false;
	}
}

static bool conversions(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_cvt_f32_i32:
		LANE_OP(gfx9_f32_bits((float)(s32)a));
	case GFX9_v_cvt_f32_u32:
		LANE_OP(gfx9_f32_bits((float)(s64)a));
	case GFX9_v_cvt_u32_f32:
		LANE_OP(gfx9_to_u32(gfx9_f32(a)));
	case GFX9_v_cvt_i32_f32:
		LANE_OP(gfx9_to_i32(gfx9_f32(a)));
	case GFX9_v_cvt_rpi_i32_f32:
		LANE_OP(gfx9_to_i32(gfx9_floor((double)gfx9_f32(a) + 0.5)));
	case GFX9_v_cvt_flr_i32_f32:
		LANE_OP(gfx9_to_i32(gfx9_floor(gfx9_f32(a))));
	case GFX9_v_cvt_off_f32_i4:
		LANE_OP(gfx9_f32_bits((float)((s32)(a << 28) >> 28) / 16));
	case GFX9_v_cvt_f32_ubyte0:
		LANE_OP(gfx9_f32_bits((float)(s32)(a & 255)));
	case GFX9_v_cvt_f32_ubyte1:
		LANE_OP(gfx9_f32_bits((float)(s32)(a >> 8 & 255)));
	case GFX9_v_cvt_f32_ubyte2:
		LANE_OP(gfx9_f32_bits((float)(s32)(a >> 16 & 255)));
	case GFX9_v_cvt_f32_ubyte3:
		LANE_OP(gfx9_f32_bits((float)(s32)(a >> 24)));
	case GFX9_v_cvt_pk_u8_f32:
		LANE_OP(insert_byte(gfx9_f32(a), b, c));
	case GFX9_v_cvt_pknorm_i16_f32:
		LANE_OP(norm_i16(gfx9_f32(a)) | norm_i16(gfx9_f32(b)) << 16);
	case GFX9_v_cvt_pknorm_u16_f32:
		LANE_OP(norm_u16(gfx9_f32(a)) | norm_u16(gfx9_f32(b)) << 16);
	case GFX9_v_cvt_pkrtz_f16_f32:
		LANE_OP(gfx9_to_half(gfx9_f32(a), 3) | gfx9_to_half(gfx9_f32(b), 3) << 16);
	case GFX9_v_cvt_f32_f16:
		LANE_OP(gfx9_f32_bits((float)gfx9_from_half(a)));
	default:
		return false;
	}
}

static bool vop3(u32 op, struct gfx9_lanes *lanes)
{
	const bool ieee = is_ieee(lanes);

	switch (op) {
	case GFX9_v_mad_f32:
		FLOAT_OP(mad32(a, b, c));
	case GFX9_v_mad_legacy_f32:
		FLOAT_OP(a == 0 || b == 0 ? c : mad32(a, b, c));
	case GFX9_v_fma_f32:
		return fma_lanes(lanes);
	case GFX9_v_min3_f32:
		LANE_OP(min3(kept32(lanes, a), kept32(lanes, b), kept32(lanes, c), ieee));
	case GFX9_v_max3_f32:
		LANE_OP(max3(kept32(lanes, a), kept32(lanes, b), kept32(lanes, c), ieee));
	case GFX9_v_med3_f32:
		LANE_OP(med3(kept32(lanes, a), kept32(lanes, b), kept32(lanes, c), ieee));
	case GFX9_v_div_fixup_f32:
		LANE_OP(div_fixup(a, b, c));
	case GFX9_v_div_scale_f32:
		return scale_lanes(lanes);
	case GFX9_v_div_fmas_f32:
		LANE_OP(div_fmas(a, b, c, lanes->carry_in >> i & 1));
	case GFX9_v_ldexp_f32:
		LANE_OP(scale32(a, (s32)b));
	default:
		return false;
	}
}

static bool is_about_64(u32 op)
{
	const struct gfx9_valu_info *info = gfx9_valu_info(op);

	return info->result == GFX9_TYPE_F64 || info->source == GFX9_TYPE_F64;
}

/* Kept whole: the compiler may not move its arithmetic across set_mxcsr(). */
static __attribute__((__noinline__)) bool compute(u32 op, struct gfx9_lanes *lanes)
{
	if (is_about_64(op))
		return gfx9_lanes_float64(op, lanes);
	return vop2(op, lanes) || vop3(op, lanes) || vop1(op, lanes) || conversions(op, lanes) ||
	       gfx9_lanes_half(op, lanes);
}

/* v_mad_f32 and its like flush subnormals in any MODE (LLVM, SIInstrInfo). */
static bool always_flushes(u32 op)
{
	return op == GFX9_v_mad_f32 || op == GFX9_v_mac_f32 || op == GFX9_v_madmk_f32 ||
	       op == GFX9_v_madak_f32 || op == GFX9_v_mad_legacy_f32;
}

static u32 control_for(u32 op, u32 mode)
{
	if (is_about_64(op))
		return mxcsr_of(GFX9_MODE_ROUND_64(mode), GFX9_MODE_DENORM_64(mode));
	if (always_flushes(op))
		return mxcsr_of(GFX9_MODE_ROUND_32(mode), 0);
	/* Conversions to and from half floats see subnormals as those of halves. */
	if (gfx9_valu_info(op)->source == GFX9_TYPE_F16 ||
	    gfx9_valu_info(op)->result == GFX9_TYPE_F16)
		return MXCSR_DEFAULT;
	return mxcsr_of(GFX9_MODE_ROUND_32(mode), GFX9_MODE_DENORM_32(mode));
}

bool gfx9_lanes_float(u32 op, struct gfx9_lanes *lanes)
{
	const u32 control = control_for(op, lanes->mode);
	bool known;

	if (control == MXCSR_DEFAULT)
		return compute(op, lanes);
	set_mxcsr(control);
	known = compute(op, lanes);
	set_mxcsr(MXCSR_DEFAULT);
	return known;
}

/* ---- comparisons -------------------------------------------------------------------- */

/* The opcode's low four bits: less, equal, greater, unordered. */
u64 gfx9_by_predicate(u32 predicate, u64 lt, u64 eq, u64 gt)
{
	u64 result = 0;

	if (predicate & 1)
		result |= lt;
	if (predicate & 2)
		result |= eq;
	if (predicate & 4)
		result |= gt;
	if (predicate & 8)
		result |= ~(lt | eq | gt);
	return result;
}

static void compare_32(u32 predicate, struct gfx9_lanes *lanes)
{
	const v4f *a = floats(lanes->src[0][0]);
	const v4f *b = floats(lanes->src[1][0]);
	u64 lt = 0, eq = 0, gt = 0;

	for (u32 i = 0; i < GFX9_VECTORS; i++) {
		lt |= gfx9_collect(a[i] < b[i], i);
		eq |= gfx9_collect(a[i] == b[i], i);
		gt |= gfx9_collect(a[i] > b[i], i);
	}
	lanes->mask = gfx9_by_predicate(predicate, lt, eq, gt);
}

static bool classify(u32 op, struct gfx9_lanes *lanes)
{
	u64 mask = 0;

	for (u32 i = 0; i < GFX9_LANES; i++) {
		const u32 low = lanes->src[0][0][i];
		u32 class;

		switch (op & ~1u) {
		case GFX9_v_cmp_class_f32:
			class = gfx9_class32(low);
			break;
		case GFX9_v_cmp_class_f64:
			class = gfx9_class64(gfx9_wide(lanes, 0, i));
			break;
		default:
			class = gfx9_class16(low);
			break;
		}
		mask |= (u64) !!(class & lanes->src[1][0][i]) << i;
	}
	lanes->mask = mask;
	return true;
}

static __attribute__((__noinline__)) bool compare(u32 op, struct gfx9_lanes *lanes)
{
	switch (op & 0xe0) {
	case 0x00:
		return classify(op, lanes);
	case 0x20:
		gfx9_compare_half(op & 15, lanes);
		return true;
	case 0x40:
		compare_32(op & 15, lanes);
		return true;
	case 0x60:
		gfx9_compare_64(op & 15, lanes);
		return true;
	default:
		return false;
	}
}

bool gfx9_lanes_compare_float(u32 op, struct gfx9_lanes *lanes)
{
	const u32 control = control_for(op, lanes->mode);
	bool known;

	if (control == MXCSR_DEFAULT)
		return compare(op, lanes);
	set_mxcsr(control);
	known = compare(op, lanes);
	set_mxcsr(MXCSR_DEFAULT);
	return known;
}

/* ---- output modifiers --------------------------------------------------------------- */

static double modified(double value, u32 omod, bool clamp)
{
	static const float factor[4] = { 1, 2, 4, 0.5f };

	value *= factor[omod & 3];
	if (!clamp)
		return value;
	/* NaN becomes 0: DX10_CLAMP, which the HSA ABI sets. */
	if (!(value > 0))
		return 0;
	return value > 1 ? 1 : value;
}

void gfx9_lanes_output(const struct gfx9_lanes *lanes, u32 type, u32 omod, bool clamp)
{
	for (u32 i = 0; i < GFX9_LANES; i++) {
		u32 *low = &lanes->dst[0][i], *high = &lanes->dst[1][i];
		u64 wide;

		if (type == GFX9_TYPE_F32) {
			*low = gfx9_f32_bits((float)modified(gfx9_f32(*low), omod, clamp));
			if (omod && !(*low & 0x7f800000))
				*low = 0;
		} else if (type == GFX9_TYPE_F16) {
			*low = gfx9_to_half(modified(gfx9_from_half(*low), omod, clamp),
					    GFX9_MODE_ROUND_64(lanes->mode));
			if (omod && !(*low & 0x7c00))
				*low = 0;
		} else {
			wide = gfx9_f64_bits(
				modified(gfx9_f64(*low | (u64)*high << 32), omod, clamp));
			if (omod && !(wide & 0x7ff0000000000000ull))
				wide = 0;
			*low = wide;
			*high = wide >> 32;
		}
	}
}

/* ---- atomics ------------------------------------------------------------------------ */

u32 gfx9_atomic_float32(u32 op, u32 old, u32 data, u32 compare_with)
{
	switch (op) {
	case GFX9_ATOMIC_FMIN:
		return gfx9_min32(old, data, true);
	case GFX9_ATOMIC_FMAX:
		return gfx9_max32(old, data, true);
	case GFX9_ATOMIC_FADD:
		return gfx9_f32_bits(gfx9_f32(old) + gfx9_f32(data));
	default:
		return gfx9_f32(old) == gfx9_f32(compare_with) ? data : old;
	}
}

u64 gfx9_atomic_float64(u32 op, u64 old, u64 data, u64 compare_with)
{
	switch (op) {
	case GFX9_ATOMIC_FMIN:
		return gfx9_min64(old, data, true);
	case GFX9_ATOMIC_FMAX:
		return gfx9_max64(old, data, true);
	default:
		return gfx9_f64(old) == gfx9_f64(compare_with) ? data : old;
	}
}
