// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Vector ALU, integers: "Vega" ISA reference, 12.7 to 12.12. */
#include "gfx9_lanes.h"

#define MASKS(n)                                                      \
	{                                                             \
		-(n & 1), -(n >> 1 & 1), -(n >> 2 & 1), -(n >> 3 & 1) \
	}
const u32 gfx9_nibble_masks[16][4] __attribute__((aligned(16))) = {
	MASKS(0u),  MASKS(1u),	MASKS(2u),  MASKS(3u),	MASKS(4u),  MASKS(5u),
	MASKS(6u),  MASKS(7u),	MASKS(8u),  MASKS(9u),	MASKS(10u), MASKS(11u),
	MASKS(12u), MASKS(13u), MASKS(14u), MASKS(15u),
};

/* ---- loops over lanes -------------------------------------------------------------- */

/* With vectors A, B, C unsigned and SA, SB, SC signed. */
#define VECTOR_OP(expression)                                                    \
	do {                                                                     \
		GFX9_ROWS(lanes);                                                \
		for (u32 i = 0; i < GFX9_VECTORS; i++) {                         \
			const gfx9_v4u A __attribute__((unused)) = ra[i];        \
			const gfx9_v4u B __attribute__((unused)) = rb[i];        \
			const gfx9_v4u C __attribute__((unused)) = rc[i];        \
			const gfx9_v4s SA __attribute__((unused)) = (gfx9_v4s)A; \
			const gfx9_v4s SB __attribute__((unused)) = (gfx9_v4s)B; \
			const gfx9_v4s SC __attribute__((unused)) = (gfx9_v4s)C; \
                                                                                 \
			rd[i] = (gfx9_v4u)(expression);                          \
		}                                                                \
		return true;                                                     \
	} while (0)

/* With 64-bit scalars a, b, c; the result is 64 bits. */
#define WIDE_OP(expression)                                                           \
	do {                                                                          \
		for (u32 i = 0; i < GFX9_LANES; i++) {                                \
			const u64 a __attribute__((unused)) = gfx9_wide(lanes, 0, i); \
			const u64 b __attribute__((unused)) = gfx9_wide(lanes, 1, i); \
			const u64 c __attribute__((unused)) = gfx9_wide(lanes, 2, i); \
                                                                                      \
			gfx9_put_wide(lanes, i, (expression));                        \
		}                                                                     \
		return true;                                                          \
	} while (0)

/* ---- pieces -------------------------------------------------------------------------- */

static s32 i24(u32 value)
{
	return (s32)(value << 8) >> 8;
}

static u32 u24(u32 value)
{
	return value & 0xffffff;
}

static u32 bits_set(u32 value)
{
	value -= value >> 1 & 0x55555555;
	value = (value & 0x33333333) + (value >> 2 & 0x33333333);
	value = (value + (value >> 4)) & 0x0f0f0f0f;
	return value * 0x01010101 >> 24;
}

static u32 bits_reversed(u32 value)
{
	value = (value >> 1 & 0x55555555) | (value & 0x55555555) << 1;
	value = (value >> 2 & 0x33333333) | (value & 0x33333333) << 2;
	value = (value >> 4 & 0x0f0f0f0f) | (value & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(value);
}

static u32 first_high(u32 value)
{
	return value ? (u32)__builtin_clz(value) : ~0u;
}

static u32 first_low(u32 value)
{
	return value ? (u32)__builtin_ctz(value) : ~0u;
}

static u32 field_u32(u32 value, u32 offset, u32 width)
{
	return value >> (offset & 31) & ((1u << (width & 31)) - 1);
}

static u32 field_i32(u32 value, u32 offset, u32 width)
{
	offset &= 31;
	width &= 31;
	if (!width)
		return 0;
	if (offset + width >= 32)
		return (s32)value >> offset;
	return (s32)(value << (32 - width - offset)) >> (32 - width);
}

static u32 byte_of(u64 bytes, u32 select)
{
	if (select < 8)
		return bytes >> select * 8 & 255;
	if (select < 12) /* the sign of bytes 1, 3, 5, 7 */
		return bytes >> ((select - 8) * 16 + 15) & 1 ? 255 : 0;
	return select == 12 ? 0 : 255;
}

static u32 permute_bytes(u32 high, u32 low, u32 select)
{
	const u64 bytes = (u64)high << 32 | low;

	return byte_of(bytes, select & 255) | byte_of(bytes, select >> 8 & 255) << 8 |
	       byte_of(bytes, select >> 16 & 255) << 16 | byte_of(bytes, select >> 24) << 24;
}

static u32 distance(u32 a, u32 b)
{
	return a > b ? a - b : b - a;
}

/* Sum of the bytes' distances; @masked: bytes of b that are zero don't count. */
static u32 distance_u8(u32 a, u32 b, bool masked)
{
	u32 sum = 0;

	for (u32 shift = 0; shift < 32; shift += 8) {
		const u32 byte = b >> shift & 255;

		if (!masked || byte)
			sum += distance(a >> shift & 255, byte);
	}
	return sum;
}

static u32 median(s64 a, s64 b, s64 c)
{
	const s64 low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

static u32 lerp_u8(u32 a, u32 b, u32 c)
{
	u32 result = 0;

	for (u32 shift = 0; shift < 32; shift += 8)
		result |= ((a >> shift & 255) + (b >> shift & 255) + (c >> shift & 1)) / 2 << shift;
	return result;
}

/* ---- carry ------------------------------------------------------------------------------ */

static void add_carry(struct gfx9_lanes *lanes, u64 carry)
{
	GFX9_ROWS(lanes);
	u64 out = 0;

	for (u32 i = 0; i < GFX9_VECTORS; i++) {
		const gfx9_v4u sum = ra[i] + rb[i];
		const gfx9_v4u all = sum - gfx9_expand(carry, i);

		out |= gfx9_collect((gfx9_v4s)((gfx9_v4u)(sum < ra[i]) | (gfx9_v4u)(all < sum)), i);
		rd[i] = all;
	}
	lanes->mask = out;
}

static void sub_borrow(struct gfx9_lanes *lanes, u32 from, u64 borrow)
{
	const gfx9_v4u *a = (const gfx9_v4u *)lanes->src[from][0];
	const gfx9_v4u *b = (const gfx9_v4u *)lanes->src[1 - from][0];
	gfx9_v4u *d = (gfx9_v4u *)lanes->dst[0];
	u64 out = 0;

	for (u32 i = 0; i < GFX9_VECTORS; i++) {
		const gfx9_v4u difference = a[i] - b[i];
		const gfx9_v4u all = difference + gfx9_expand(borrow, i);

		out |= gfx9_collect(
			(gfx9_v4s)((gfx9_v4u)(a[i] < b[i]) | (gfx9_v4u)(all > difference)), i);
		d[i] = all;
	}
	lanes->mask = out;
}

static bool carries(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_add_co_u32:
		add_carry(lanes, 0);
		return true;
	case GFX9_v_addc_co_u32:
		add_carry(lanes, lanes->carry_in);
		return true;
	case GFX9_v_sub_co_u32:
		sub_borrow(lanes, 0, 0);
		return true;
	case GFX9_v_subrev_co_u32:
		sub_borrow(lanes, 1, 0);
		return true;
	case GFX9_v_subb_co_u32:
		sub_borrow(lanes, 0, lanes->carry_in);
		return true;
	case GFX9_v_subbrev_co_u32:
		sub_borrow(lanes, 1, lanes->carry_in);
		return true;
	default:
		return false;
	}
}

/* Which lanes the conditional move takes from the second source. */
static void choose(struct gfx9_lanes *lanes)
{
	GFX9_ROWS(lanes);

	for (u32 i = 0; i < GFX9_VECTORS; i++) {
		const gfx9_v4u second = gfx9_expand(lanes->carry_in, i);

		rd[i] = (ra[i] & ~second) | (rb[i] & second);
	}
}

/* ---- saturating ---------------------------------------------------------------------------- */

static bool saturating(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_add_u32:
		LANE_OP(gfx9_clamped((s64)a + b, 0, 0xffffffff));
	case GFX9_v_sub_u32:
		LANE_OP(gfx9_clamped((s64)a - b, 0, 0xffffffff));
	case GFX9_v_subrev_u32:
		LANE_OP(gfx9_clamped((s64)b - a, 0, 0xffffffff));
	case GFX9_v_add_i32:
		LANE_OP(gfx9_clamped((s64)(s32)a + (s32)b, -0x80000000ll, 0x7fffffff));
	case GFX9_v_sub_i32:
		LANE_OP(gfx9_clamped((s64)(s32)a - (s32)b, -0x80000000ll, 0x7fffffff));
	case GFX9_v_add_u16:
		LANE_OP(gfx9_clamped((s64)(u16)a + (u16)b, 0, 0xffff));
	case GFX9_v_sub_u16:
		LANE_OP(gfx9_clamped((s64)(u16)a - (u16)b, 0, 0xffff));
	case GFX9_v_subrev_u16:
		LANE_OP(gfx9_clamped((s64)(u16)b - (u16)a, 0, 0xffff));
	case GFX9_v_add_i16:
		LANE_OP((u16)gfx9_clamped((s64)(s16)a + (s16)b, -0x8000, 0x7fff));
	case GFX9_v_sub_i16:
		LANE_OP((u16)gfx9_clamped((s64)(s16)a - (s16)b, -0x8000, 0x7fff));
	case GFX9_v_mad_u32_u24:
		LANE_OP(gfx9_clamped((s64)u24(a) * u24(b) + c, 0, 0xffffffff));
	case GFX9_v_mad_i32_i24:
		LANE_OP(gfx9_clamped((s64)i24(a) * i24(b) + (s32)c, -0x80000000ll, 0x7fffffff));
	default:
		return false;
	}
}

/* ---- shifts: most programs shift all lanes by the same count ----------------------------- */

static bool shifts(u32 op, struct gfx9_lanes *lanes)
{
	const u32 count = lanes->src[0][0][0] & 31;

	if (!(lanes->uniform & 1)) {
		switch (op) {
		case GFX9_v_lshlrev_b32:
			LANE_OP(b << (a & 31));
		case GFX9_v_lshrrev_b32:
			LANE_OP(b >> (a & 31));
		case GFX9_v_ashrrev_i32:
			LANE_OP((s32)b >> (a & 31));
		default:
			return false;
		}
	}
	switch (op) {
	case GFX9_v_lshlrev_b32:
		VECTOR_OP(B << count);
	case GFX9_v_lshrrev_b32:
		VECTOR_OP(B >> count);
	case GFX9_v_ashrrev_i32:
		VECTOR_OP(SB >> (s32)count);
	default:
		return false;
	}
}

/* ---- by encoding -------------------------------------------------------------------- */

#define CHOOSE(condition, yes, no) \
	(((yes) & (gfx9_v4u)(condition)) | ((no) & ~(gfx9_v4u)(condition)))

static bool vop2(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_cndmask_b32:
		choose(lanes);
		return true;
	case GFX9_v_add_u32:
		VECTOR_OP(A + B);
	case GFX9_v_sub_u32:
		VECTOR_OP(A - B);
	case GFX9_v_subrev_u32:
		VECTOR_OP(B - A);
	case GFX9_v_and_b32:
		VECTOR_OP(A & B);
	case GFX9_v_or_b32:
		VECTOR_OP(A | B);
	case GFX9_v_xor_b32:
		VECTOR_OP(A ^ B);
	case GFX9_v_xnor_b32:
		VECTOR_OP(~(A ^ B));
	case GFX9_v_min_u32:
		VECTOR_OP(CHOOSE(A < B, A, B));
	case GFX9_v_max_u32:
		VECTOR_OP(CHOOSE(A > B, A, B));
	case GFX9_v_min_i32:
		VECTOR_OP(CHOOSE(SA < SB, A, B));
	case GFX9_v_max_i32:
		VECTOR_OP(CHOOSE(SA > SB, A, B));
	case GFX9_v_mul_i32_i24:
		LANE_OP((u32)i24(a) * (u32)i24(b));
	case GFX9_v_mul_hi_i32_i24:
		LANE_OP((s64)i24(a) * i24(b) >> 32);
	case GFX9_v_mul_u32_u24:
		VECTOR_OP((A & 0xffffff) * (B & 0xffffff));
	case GFX9_v_mul_hi_u32_u24:
		LANE_OP((u64)u24(a) * u24(b) >> 32);
	default:
		return shifts(op, lanes) || carries(op, lanes);
	}
}

static bool vop2_16(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_add_u16:
		LANE_OP((u16)(a + b));
	case GFX9_v_sub_u16:
		LANE_OP((u16)(a - b));
	case GFX9_v_subrev_u16:
		LANE_OP((u16)(b - a));
	case GFX9_v_mul_lo_u16:
		LANE_OP((u16)((a & 0xffff) * (b & 0xffff)));
	case GFX9_v_lshlrev_b16:
		LANE_OP((u16)(b << (a & 15)));
	case GFX9_v_lshrrev_b16:
		LANE_OP((u16)b >> (a & 15));
	case GFX9_v_ashrrev_i16:
		LANE_OP((u16)((s16)b >> (a & 15)));
	case GFX9_v_max_u16:
		LANE_OP((u16)a > (u16)b ? (u16)a : (u16)b);
	case GFX9_v_max_i16:
		LANE_OP((u16)((s16)a > (s16)b ? a : b));
	case GFX9_v_min_u16:
		LANE_OP((u16)a < (u16)b ? (u16)a : (u16)b);
	case GFX9_v_min_i16:
		LANE_OP((u16)((s16)a < (s16)b ? a : b));
	default:
		return false;
	}
}

static bool vop1(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_mov_b32:
		VECTOR_OP(A);
	case GFX9_v_not_b32:
		VECTOR_OP(~A);
	case GFX9_v_bfrev_b32:
		LANE_OP(bits_reversed(a));
	case GFX9_v_ffbh_u32:
		LANE_OP(first_high(a));
	case GFX9_v_ffbl_b32:
		LANE_OP(first_low(a));
	case GFX9_v_ffbh_i32:
		LANE_OP(first_high((s32)a < 0 ? ~a : a));
	case GFX9_v_sat_pk_u8_i16:
		LANE_OP(gfx9_clamped((s16)a, 0, 255) | gfx9_clamped((s16)(a >> 16), 0, 255) << 8);
	default:
		return false;
	}
}

static bool vop3_32(u32 op, struct gfx9_lanes *lanes)
{
	const u32 count = lanes->src[1][0][0] & 31;

	switch (op) {
	case GFX9_v_mad_i32_i24:
		LANE_OP((u32)i24(a) * (u32)i24(b) + c);
	case GFX9_v_mad_u32_u24:
		VECTOR_OP((A & 0xffffff) * (B & 0xffffff) + C);
	case GFX9_v_bfe_u32:
		if ((lanes->uniform & 6) == 6)
			VECTOR_OP(A >> count & ((1u << (lanes->src[2][0][0] & 31)) - 1));
		LANE_OP(field_u32(a, b, c));
	case GFX9_v_bfe_i32:
		LANE_OP(field_i32(a, b, c));
	case GFX9_v_bfi_b32:
		VECTOR_OP((A & B) | (~A & C));
	case GFX9_v_lerp_u8:
		LANE_OP(lerp_u8(a, b, c));
	case GFX9_v_alignbit_b32:
		if (lanes->uniform & 4 && lanes->src[2][0][0] & 31) {
			const u32 right = lanes->src[2][0][0] & 31;

			VECTOR_OP(A << (32 - right) | B >> right);
		}
		LANE_OP((((u64)a << 32) | b) >> (c & 31));
	case GFX9_v_alignbyte_b32:
		/* Two bits count, as in AMD's later references; "Vega" says five. */
		LANE_OP((((u64)a << 32) | b) >> (c & 3) * 8);
	case GFX9_v_min3_i32:
		VECTOR_OP(CHOOSE(SA < SB, CHOOSE(SA < SC, A, C), CHOOSE(SB < SC, B, C)));
	case GFX9_v_min3_u32:
		VECTOR_OP(CHOOSE(A < B, CHOOSE(A < C, A, C), CHOOSE(B < C, B, C)));
	case GFX9_v_max3_i32:
		VECTOR_OP(CHOOSE(SA > SB, CHOOSE(SA > SC, A, C), CHOOSE(SB > SC, B, C)));
	case GFX9_v_max3_u32:
		VECTOR_OP(CHOOSE(A > B, CHOOSE(A > C, A, C), CHOOSE(B > C, B, C)));
	case GFX9_v_med3_i32:
		LANE_OP(median((s32)a, (s32)b, (s32)c));
	case GFX9_v_med3_u32:
		LANE_OP(median(a, b, c));
	case GFX9_v_sad_u8:
		LANE_OP(distance_u8(a, b, false) + c);
	case GFX9_v_sad_hi_u8:
		LANE_OP((distance_u8(a, b, false) << 16) + c);
	case GFX9_v_sad_u16:
		LANE_OP(distance((u16)a, (u16)b) + distance(a >> 16, b >> 16) + c);
	case GFX9_v_sad_u32:
		LANE_OP(distance(a, b) + c);
	case GFX9_v_msad_u8:
		LANE_OP(distance_u8(a, b, true) + c);
	case GFX9_v_perm_b32:
		LANE_OP(permute_bytes(a, b, c));
	case GFX9_v_mad_u32_u16:
		LANE_OP((u32)(u16)a * (u16)b + c);
	case GFX9_v_mad_i32_i16:
		LANE_OP((u32)((s32)(s16)a * (s16)b) + c);
	case GFX9_v_xad_u32:
		VECTOR_OP((A ^ B) + C);
	case GFX9_v_lshl_add_u32:
		if (lanes->uniform & 2)
			VECTOR_OP((A << count) + C);
		LANE_OP((a << (b & 31)) + c);
	case GFX9_v_add_lshl_u32:
		LANE_OP((a + b) << (c & 31));
	case GFX9_v_add3_u32:
		VECTOR_OP(A + B + C);
	case GFX9_v_lshl_or_b32:
		if (lanes->uniform & 2)
			VECTOR_OP((A << count) | C);
		LANE_OP((a << (b & 31)) | c);
	case GFX9_v_and_or_b32:
		VECTOR_OP((A & B) | C);
	case GFX9_v_or3_b32:
		VECTOR_OP(A | B | C);
	default:
		return false;
	}
}

static bool vop3_32_of_two(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_mul_lo_u32:
		VECTOR_OP(A * B);
	case GFX9_v_mul_hi_u32:
		LANE_OP((u64)a * b >> 32);
	case GFX9_v_mul_hi_i32:
		LANE_OP((s64)(s32)a * (s32)b >> 32);
	case GFX9_v_bcnt_u32_b32:
		LANE_OP(bits_set(a) + b);
	case GFX9_v_mbcnt_lo_u32_b32:
		LANE_OP(bits_set(i < 32 ? a & ((1u << i) - 1) : a) + b);
	case GFX9_v_mbcnt_hi_u32_b32:
		LANE_OP(bits_set(i < 32 ? 0 : a & ((1u << (i - 32)) - 1)) + b);
	case GFX9_v_bfm_b32:
		LANE_OP(((1u << (a & 31)) - 1) << (b & 31));
	case GFX9_v_cvt_pk_u16_u32:
		LANE_OP(gfx9_clamped(a, 0, 0xffff) | gfx9_clamped(b, 0, 0xffff) << 16);
	case GFX9_v_cvt_pk_i16_i32:
		LANE_OP((gfx9_clamped((s32)a, -0x8000, 0x7fff) & 0xffff) |
			gfx9_clamped((s32)b, -0x8000, 0x7fff) << 16);
	case GFX9_v_add_i32:
		VECTOR_OP(A + B);
	case GFX9_v_sub_i32:
		VECTOR_OP(A - B);
	default:
		return false;
	}
}

static bool vop3_16(u32 op, struct gfx9_lanes *lanes)
{
	switch (op) {
	case GFX9_v_mad_legacy_u16:
	case GFX9_v_mad_legacy_i16:
	case GFX9_v_mad_u16:
	case GFX9_v_mad_i16:
		LANE_OP((u16)((a & 0xffff) * (b & 0xffff) + c));
	case GFX9_v_min3_i16:
		LANE_OP((u16)((s16)a < (s16)b ? ((s16)a < (s16)c ? a : c) :
						((s16)b < (s16)c ? b : c)));
	case GFX9_v_min3_u16:
		LANE_OP((u16)a < (u16)b ? ((u16)a < (u16)c ? (u16)a : (u16)c) :
					  ((u16)b < (u16)c ? (u16)b : (u16)c));
	case GFX9_v_max3_i16:
		LANE_OP((u16)((s16)a > (s16)b ? ((s16)a > (s16)c ? a : c) :
						((s16)b > (s16)c ? b : c)));
	case GFX9_v_max3_u16:
		LANE_OP((u16)a > (u16)b ? ((u16)a > (u16)c ? (u16)a : (u16)c) :
					  ((u16)b > (u16)c ? (u16)b : (u16)c));
	case GFX9_v_med3_i16:
		LANE_OP((u16)median((s16)a, (s16)b, (s16)c));
	case GFX9_v_med3_u16:
		LANE_OP(median((u16)a, (u16)b, (u16)c));
	case GFX9_v_add_i16:
		LANE_OP((u16)(a + b));
	case GFX9_v_sub_i16:
		LANE_OP((u16)(a - b));
	default:
		return false;
	}
}

/*
 * The carry of a 64-bit sum. Assumption: for signed factors it says that the sum
 * overflowed; the reference names it and does not define it.
 */
static bool mad_64(u32 op, struct gfx9_lanes *lanes)
{
	const bool is_signed = op == GFX9_v_mad_i64_i32;

	lanes->mask = 0;
	for (u32 i = 0; i < GFX9_LANES; i++) {
		const u32 a = lanes->src[0][0][i], b = lanes->src[1][0][i];
		const u64 c = gfx9_wide(lanes, 2, i);
		const u64 product = is_signed ? (u64)((s64)(s32)a * (s32)b) : (u64)a * b;
		const u64 sum = product + c;
		const u64 carry = is_signed ? (~(product ^ c) & (product ^ sum)) >> 63 :
					      sum < product;

		gfx9_put_wide(lanes, i, sum);
		lanes->mask |= carry << i;
	}
	return true;
}

/* By the same count in all lanes, as in address computations. */
static bool shift_wide(u32 op, struct gfx9_lanes *lanes)
{
	const gfx9_v4u *low = (const gfx9_v4u *)lanes->src[1][0];
	const gfx9_v4u *high = (const gfx9_v4u *)lanes->src[1][1];
	gfx9_v4u *dlow = (gfx9_v4u *)lanes->dst[0], *dhigh = (gfx9_v4u *)lanes->dst[1];
	const u32 count = lanes->src[0][0][0] & 63, rest = 32 - count;

	if (!count || count >= 32)
		return false;
	for (u32 i = 0; i < GFX9_VECTORS; i++) {
		const gfx9_v4u a = low[i], b = high[i];

		if (op == GFX9_v_lshlrev_b64) {
			dlow[i] = a << count;
			dhigh[i] = b << count | a >> rest;
			continue;
		}
		dlow[i] = a >> count | b << rest;
		dhigh[i] = op == GFX9_v_lshrrev_b64 ? b >> count :
						      (gfx9_v4u)((gfx9_v4s)b >> (s32)count);
	}
	return true;
}

static bool vop3_64(u32 op, struct gfx9_lanes *lanes)
{
	if (op >= GFX9_v_lshlrev_b64 && op <= GFX9_v_ashrrev_i64 && lanes->uniform & 1 &&
	    shift_wide(op, lanes))
		return true;
	switch (op) {
	case GFX9_v_mad_u64_u32:
	case GFX9_v_mad_i64_i32:
		return mad_64(op, lanes);
	case GFX9_v_lshlrev_b64:
		WIDE_OP(b << (a & 63));
	case GFX9_v_lshrrev_b64:
		WIDE_OP(b >> (a & 63));
	case GFX9_v_ashrrev_i64:
		WIDE_OP((u64)((s64)b >> (a & 63)));
	default:
		return false;
	}
}

bool gfx9_lanes_integer(u32 op, struct gfx9_lanes *lanes)
{
	if (lanes->clamp)
		return saturating(op, lanes);
	if (op < GFX9_v_nop)
		return op < GFX9_v_add_u16 || op >= GFX9_v_add_u32 ? vop2(op, lanes) :
								     vop2_16(op, lanes);
	if (op < GFX9_v_mad_legacy_f32)
		return vop1(op, lanes);
	if (op < GFX9_v_add_f64)
		return vop3_32(op, lanes) || vop3_64(op, lanes) || vop3_16(op, lanes);
	return vop3_32_of_two(op, lanes) || vop3_64(op, lanes) || vop3_16(op, lanes);
}

/* ---- comparisons -------------------------------------------------------------------- */

/* Low three bits of the opcode: F LT EQ LE GT NE GE T. */
static u64 by_predicate(u32 predicate, u64 lt, u64 eq)
{
	u64 result = 0;

	if (predicate & 1)
		result |= lt;
	if (predicate & 2)
		result |= eq;
	if (predicate & 4)
		result |= ~(lt | eq);
	return result;
}

static void compare_32(struct gfx9_lanes *lanes, u32 predicate, bool is_signed)
{
	const gfx9_v4u *a = (const gfx9_v4u *)lanes->src[0][0];
	const gfx9_v4u *b = (const gfx9_v4u *)lanes->src[1][0];
	u64 lt = 0, eq = 0;

	for (u32 i = 0; i < GFX9_VECTORS; i++) {
		if (is_signed)
			lt |= gfx9_collect((gfx9_v4s)a[i] < (gfx9_v4s)b[i], i);
		else
			lt |= gfx9_collect(a[i] < b[i], i);
		eq |= gfx9_collect(a[i] == b[i], i);
	}
	lanes->mask = by_predicate(predicate, lt, eq);
}

static void compare_16(struct gfx9_lanes *lanes, u32 predicate, bool is_signed)
{
	u64 lt = 0, eq = 0;

	for (u32 i = 0; i < GFX9_LANES; i++) {
		const u32 a = lanes->src[0][0][i], b = lanes->src[1][0][i];

		lt |= (u64)(is_signed ? (s16)a < (s16)b : (u16)a < (u16)b) << i;
		eq |= (u64)((u16)a == (u16)b) << i;
	}
	lanes->mask = by_predicate(predicate, lt, eq);
}

static void compare_64(struct gfx9_lanes *lanes, u32 predicate, bool is_signed)
{
	u64 lt = 0, eq = 0;

	for (u32 i = 0; i < GFX9_LANES; i++) {
		const u64 a = gfx9_wide(lanes, 0, i), b = gfx9_wide(lanes, 1, i);

		lt |= (u64)(is_signed ? (s64)a < (s64)b : a < b) << i;
		eq |= (u64)(a == b) << i;
	}
	lanes->mask = by_predicate(predicate, lt, eq);
}

bool gfx9_lanes_compare_integer(u32 op, struct gfx9_lanes *lanes)
{
	/* 0xa0 to 0xbf: 16 bits, 0xc0 to 0xdf: 32, 0xe0 to 0xff: 64; bit 3: unsigned. */
	const bool is_signed = !(op & 8);

	switch (op & 0xe0) {
	case 0xa0:
		compare_16(lanes, op & 7, is_signed);
		return true;
	case 0xc0:
		compare_32(lanes, op & 7, is_signed);
		return true;
	case 0xe0:
		compare_64(lanes, op & 7, is_signed);
		return true;
	default:
		return false;
	}
}
