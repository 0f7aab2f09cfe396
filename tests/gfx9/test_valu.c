// SPDX-License-Identifier: Apache-2.0
/*
 * Single instructions, as LLVM encodes them, on random registers. Each is checked
 * against a function here, written from the ISA reference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/gp_test.h"
#include "tests/gfx9/machine.h"
#include "tests/gfx9/names.h"
#include "tests/gfx9/probe.h"

#define NAMES (sizeof(names) / sizeof(names[0]))
#define ROUNDS 30

/* ---- by encoding: modifiers, and instructions without a plain function ------------- */

typedef u32 (*want_fn)(const struct registers *r, u32 lane);

struct encoded {
	const char *text;
	u32 words[2];
	u32 count;
	want_fn want; /* v4 of an active lane */
};

static float f32(u32 bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static u32 bits32(float value)
{
	u32 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float half(u32 bits)
{
	_Float16 value;
	u16 low = bits;

	memcpy(&value, &low, sizeof(value));
	return (float)value;
}

static u32 to_half(double value)
{
	_Float16 rounded = (_Float16)value;
	u16 bits;

	memcpy(&bits, &rounded, sizeof(bits));
	return bits;
}

#define V(n) (r->v[n][lane])
#define WANT(name, expression)                               \
	static u32 name(const struct registers *r, u32 lane) \
	{                                                    \
		return expression;                           \
	}

/* The source lane's v2; without such a lane 0 or the old v4. */
static u32 from_lane(const struct registers *r, u32 lane, s32 source, bool zero)
{
	if (source >= 0 && source < 64 && r->exec >> source & 1)
		return r->v[2][source];
	return zero ? 0 : r->v[4][lane];
}

WANT(dpp_quad, from_lane(r, lane, lane ^ 1, false))
WANT(dpp_shr, from_lane(r, lane, lane % 16 ? (s32)lane - 1 : -1, false))
WANT(dpp_shr_zero, from_lane(r, lane, lane % 16 ? (s32)lane - 1 : -1, true))
WANT(dpp_shl, from_lane(r, lane, lane % 16 < 13 ? (s32)lane + 3 : -1, false))
WANT(dpp_bcast15, lane / 16 % 2 ? from_lane(r, lane, lane / 16 * 16 - 1, false) : V(4))
WANT(dpp_bcast31, lane >= 32 ? from_lane(r, lane, 31, false) : V(4))
WANT(dpp_wave_shr, from_lane(r, lane, (s32)lane - 1, false))
WANT(dpp_mirror, from_lane(r, lane, lane / 16 * 16 + 15 - lane % 16, false))
WANT(dpp_half_mirror, from_lane(r, lane, lane / 8 * 8 + 7 - lane % 8, false))
WANT(dpp_wave_rol, from_lane(r, lane, (lane + 1) % 64, false))

static u32 dpp_add_ror(const struct registers *r, u32 lane)
{
	const u32 source = lane / 16 * 16 + (lane + 16 - 5) % 16;
	const bool enabled = lane / 16 % 2 && lane % 16 < 8;

	if (!enabled || !(r->exec >> source & 1))
		return V(4);
	return r->v[2][source] + V(4);
}

static u32 dpp_add_float(const struct registers *r, u32 lane)
{
	const u32 source = lane / 4 * 4 + (lane % 4 >= 2 ? 2 : 0);

	if (!(r->exec >> source & 1))
		return V(4);
	return bits32(-f32(r->v[2][source]) + fabsf(f32(V(4))));
}

WANT(sdwa_byte, (V(4) & 0xff00ffff) | (V(2) >> 8 & 255) << 16)
WANT(sdwa_word, V(2) << 16)
WANT(sdwa_sext, (u32)((s32)V(2) >> 24))
WANT(sdwa_unused_sext, (u32)(s32)(s8)(V(2) >> 16))
WANT(sdwa_add, (V(2) >> 16) + (u32)(s32)(s8)V(6))
WANT(sdwa_mul, (r->s[3] & 0xffffff) * (V(6) >> 16))
WANT(sdwa_half, (V(4) & 0xffff) | to_half(-half(V(2) >> 16) + fabsf(half(V(6)))) << 16)
WANT(omod, bits32(-f32(V(2)) + fabsf(f32(V(6)))))
WANT(mad_opsel,
     (V(4) & 0xffff) |
	     to_half((double)half(to_half((double)half(V(2) >> 16) * half(V(6)))) + half(V(8)))
		     << 16)
WANT(pk_add, ((V(2) + (V(6) >> 16)) & 0xffff) | ((V(2) >> 16) + V(6)) << 16)
WANT(pk_mul, to_half((double)-half(V(2)) * half(V(6))) |
		     to_half((double)half(V(2) >> 16) * -half(V(6) >> 16)) << 16)
WANT(mixed, bits32(fmaf(half(V(2) >> 16), f32(V(6)), f32(V(8)))))
WANT(saturated, V(2) + V(6) < V(2) ? 0xffffffff : V(2) + V(6))
WANT(cndmask_neg, ((u64)r->s[7] << 32 | r->s[6]) >> lane & 1 ? V(6) ^ 0x80000000 : V(2))
WANT(mul_inv_2pi, bits32(f32(0x3e22f983) * f32(V(2))))
WANT(add_half_constant, to_half(0.5 + (double)half(V(2))))
WANT(literal, 0x12345678)
WANT(fract_of,
     bits32(f32(V(2)) - floorf(f32(V(2))) >= 1 ? 0x1.fffffep-1f : f32(V(2)) - floorf(f32(V(2)))))
WANT(swizzle_quad, r->exec >> (lane ^ 3) & 1 ? r->v[2][lane ^ 3] : 0)
WANT(swizzle_swap, r->exec >> (lane ^ 16) & 1 ? r->v[2][lane ^ 16] : 0)
WANT(swizzle_broadcast, r->exec >> (lane / 8 * 8 + 3) & 1 ? r->v[2][lane / 8 * 8 + 3] : 0)
WANT(write_lane, lane == 7 ? r->s[3] : V(4))

static u32 clamped(const struct registers *r, u32 lane)
{
	const float sum = f32(V(2)) + f32(V(6));

	return bits32(!(sum > 0) ? 0 : sum > 1 ? 1 : sum);
}

static u32 dot4(const struct registers *r, u32 lane)
{
	u32 sum = V(8);

	for (u32 i = 0; i < 32; i += 8)
		sum += (u32)((s8)(V(2) >> i) * (s8)(V(6) >> i));
	return sum;
}

/* v_mad_f32 and similar ones flush subnormals and round the product. */
static float flushed(float value)
{
	return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

static u32 mad(float a, float b, float c)
{
	volatile float product = flushed(flushed(a) * flushed(b));

	return bits32(flushed(product + flushed(c)));
}

WANT(madak, mad(f32(V(2)), f32(V(6)), f32(0x40490fdb)))
WANT(madmk, mad(f32(V(2)), f32(0x40490fdb), f32(V(6))))

#define ONE(text, word, want)           \
	{                               \
		text, { word }, 1, want \
	}
#define TWO(text, first, second, want)           \
	{                                        \
		text, { first, second }, 2, want \
	}

static const struct encoded encoded[] = {
	TWO("v_mov_b32_dpp v4, v2 quad_perm:[1,0,3,2]", 0x7e0802fa, 0xff00b102, dpp_quad),
	TWO("v_mov_b32_dpp v4, v2 row_shr:1", 0x7e0802fa, 0xff011102, dpp_shr),
	TWO("v_mov_b32_dpp v4, v2 row_shr:1 bound_ctrl:0", 0x7e0802fa, 0xff091102, dpp_shr_zero),
	TWO("v_mov_b32_dpp v4, v2 row_shl:3", 0x7e0802fa, 0xff010302, dpp_shl),
	TWO("v_add_u32_dpp v4, v2, v4 row_ror:5 row_mask:0xa bank_mask:0x3", 0x680808fa, 0xa3012502,
	    dpp_add_ror),
	TWO("v_mov_b32_dpp v4, v2 row_bcast:15 row_mask:0xa", 0x7e0802fa, 0xaf014202, dpp_bcast15),
	TWO("v_mov_b32_dpp v4, v2 row_bcast:31 row_mask:0xc", 0x7e0802fa, 0xcf014302, dpp_bcast31),
	TWO("v_mov_b32_dpp v4, v2 wave_shr:1", 0x7e0802fa, 0xff013802, dpp_wave_shr),
	TWO("v_mov_b32_dpp v4, v2 row_mirror", 0x7e0802fa, 0xff014002, dpp_mirror),
	TWO("v_mov_b32_dpp v4, v2 row_half_mirror", 0x7e0802fa, 0xff014102, dpp_half_mirror),
	TWO("v_mov_b32_dpp v4, v2 wave_rol:1", 0x7e0802fa, 0xff013402, dpp_wave_rol),
	TWO("v_add_f32_dpp v4, -v2, |v4| quad_perm:[0,0,2,2]", 0x020808fa, 0xff90a002,
	    dpp_add_float),
	TWO("v_mov_b32_sdwa v4, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1",
	    0x7e0802f9, 0x00011202, sdwa_byte),
	TWO("v_mov_b32_sdwa v4, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0",
	    0x7e0802f9, 0x00040502, sdwa_word),
	TWO("v_mov_b32_sdwa v4, sext(v2) src0_sel:BYTE_3", 0x7e0802f9, 0x000b0602, sdwa_sext),
	TWO("v_mov_b32_sdwa v4, v2 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:WORD_1",
	    0x7e0802f9, 0x00050802, sdwa_unused_sext),
	TWO("v_add_u32_sdwa v4, v2, sext(v6) src0_sel:WORD_1 src1_sel:BYTE_0", 0x68080cf9,
	    0x08050602, sdwa_add),
	TWO("v_mul_u32_u24_sdwa v4, s3, v6 src0_sel:DWORD src1_sel:WORD_1", 0x10080cf9, 0x05860603,
	    sdwa_mul),
	TWO("v_add_f16_sdwa v4, -v2, |v6| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
	    "src0_sel:WORD_1 src1_sel:WORD_0",
	    0x3e080cf9, 0x24151502, sdwa_half),
	TWO("v_add_f32_e64 v4, -v2, |v6| mul:2 (ignored)", 0xd1010204, 0x28020d02, omod),
	TWO("v_add_f32_e64 v4, v2, v6 clamp", 0xd1018004, 0x00020d02, clamped),
	TWO("v_mad_f16 v4, v2, v6, v8 op_sel:[1,0,0,1]", 0xd2034804, 0x04220d02, mad_opsel),
	TWO("v_pk_add_u16 v4, v2, v6 op_sel:[0,1] op_sel_hi:[1,0]", 0xd38a5004, 0x08020d02, pk_add),
	TWO("v_pk_mul_f16 v4, v2, v6 neg_lo:[1,0] neg_hi:[0,1]", 0xd3904204, 0x38020d02, pk_mul),
	TWO("v_fma_mix_f32 v4, v2, v6, v8 op_sel:[1,0,0] op_sel_hi:[1,0,0]", 0xd3a00804, 0x0c220d02,
	    mixed),
	TWO("v_dot4_i32_i8 v4, v2, v6, v8", 0xd3a84004, 0x1c220d02, dot4),
	TWO("v_add_u32_e64 v4, v2, v6 clamp", 0xd1348004, 0x00020d02, saturated),
	TWO("v_cndmask_b32_e64 v4, v2, -v6, s[6:7]", 0xd1000004, 0x401a0d02, cndmask_neg),
	ONE("v_mul_f32_e32 v4, 0.15915494, v2", 0x0a0804f8, mul_inv_2pi),
	ONE("v_add_f16_e32 v4, 0.5, v2", 0x3e0804f0, add_half_constant),
	TWO("v_mov_b32_e32 v4, 0x12345678", 0x7e0802ff, 0x12345678, literal),
	TWO("v_madak_f32 v4, v2, v6, 0x40490fdb", 0x30080d02, 0x40490fdb, madak),
	TWO("v_madmk_f32 v4, v2, 0x40490fdb, v6", 0x2e080d02, 0x40490fdb, madmk),
	ONE("v_fract_f32_e32 v4, v2", 0x7e083702, fract_of),
	TWO("ds_swizzle_b32 v4, v2 offset:swizzle(QUAD_PERM,3,2,1,0)", 0xd87a801b, 0x04000002,
	    swizzle_quad),
	TWO("ds_swizzle_b32 v4, v2 offset:swizzle(SWAP,16)", 0xd87a401f, 0x04000002, swizzle_swap),
	TWO("ds_swizzle_b32 v4, v2 offset:swizzle(BROADCAST,8,3)", 0xd87a0078, 0x04000002,
	    swizzle_broadcast),
};

/* All NaNs are equal, as the host chooses their bits. */
static bool same(u32 got, u32 want)
{
	if (got == want)
		return true;
	if (isnan(f32(got)) && isnan(f32(want)))
		return true;
	/* The same for two halves. */
	for (u32 shift = 0; shift < 32; shift += 16) {
		const u32 a = got >> shift & 0xffff, b = want >> shift & 0xffff;

		if (a != b && !((a & 0x7fff) > 0x7c00 && (b & 0x7fff) > 0x7c00))
			return false;
	}
	return true;
}

static void check_encoded(void **state)
{
	struct probe *p = *state;

	for (u32 i = 0; i < sizeof(encoded) / sizeof(encoded[0]); i++)
		for (u32 round = 0; round < ROUNDS; round++) {
			randomise(&p->before, round % 2 ? random64() : ~0ull);
			if (run_words(p, encoded[i].words, encoded[i].count) != GFX9_STOP_ENDED)
				fail_msg("%s does not run", encoded[i].text);
			for (u32 lane = 0; lane < GFX9_LANES; lane++) {
				u32 want = p->before.v[4][lane];

				if (p->before.exec >> lane & 1)
					want = encoded[i].want(&p->before, lane);
				if (!same(p->after.v[4][lane], want))
					fail_msg("%s: lane %u %08x, not %08x", encoded[i].text,
						 lane, p->after.v[4][lane], want);
			}
		}
}

/* ---- plain instructions: by name, in every encoding that LLVM knows ------------------ */

struct plain {
	const char *name;
	u32 (*want)(u32 a, u32 b, u32 c);
};

#define PLAIN(instruction, expression)                     \
	static u32 want_##instruction(u32 a, u32 b, u32 c) \
	{                                                  \
		return expression;                         \
	}

static s64 sx(u32 value)
{
	return (s32)value;
}

static u32 pick(bool first, u32 a, u32 b)
{
	return first ? a : b;
}

static u32 clamp_to(s64 value, s64 low, s64 high)
{
	return (u32)(value < low ? low : value > high ? high : value);
}

static u32 to_integer(double value, double low, double high)
{
	if (isnan(value))
		return 0;
	return (u32)(s64)(value < low ? low : value > high ? high : value);
}

static u32 min_float(u32 a, u32 b, bool max)
{
	const float x = f32(a), y = f32(b);

	if (isnan(x) || isnan(y)) {
		/* In IEEE mode a signaling NaN makes the result a quiet one. */
		if (isnan(x) && !(a & 0x400000))
			return a | 0x400000;
		if (isnan(y) && !(b & 0x400000))
			return b | 0x400000;
		return isnan(x) ? b : a;
	}
	if (x == y)
		return (a >> 31) != max ? a : b;
	return (x < y) != max ? a : b;
}

PLAIN(v_mov_b32, a)
PLAIN(v_not_b32, ~a)
PLAIN(v_add_u32, a + b)
PLAIN(v_sub_u32, a - b)
PLAIN(v_subrev_u32, b - a)
PLAIN(v_and_b32, a &b)
PLAIN(v_or_b32, a | b)
PLAIN(v_xor_b32, a ^ b)
PLAIN(v_xnor_b32, ~(a ^ b))
PLAIN(v_lshlrev_b32, b << (a & 31))
PLAIN(v_lshrrev_b32, b >> (a & 31))
PLAIN(v_ashrrev_i32, (u32)(sx(b) >> (a & 31)))
PLAIN(v_min_u32, pick(a < b, a, b))
PLAIN(v_max_u32, pick(a > b, a, b))
PLAIN(v_min_i32, pick(sx(a) < sx(b), a, b))
PLAIN(v_max_i32, pick(sx(a) > sx(b), a, b))
PLAIN(v_mul_u32_u24, (a & 0xffffff) * (b & 0xffffff))
PLAIN(v_mul_i32_i24, (u32)((sx(a << 8) >> 8) * (sx(b << 8) >> 8)))
PLAIN(v_mul_hi_u32_u24, (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 32))
PLAIN(v_bfrev_b32, (u32)__builtin_bswap32(((a & 0x01010101) << 7) | ((a & 0x02020202) << 5) |
					  ((a & 0x04040404) << 3) | ((a & 0x08080808) << 1) |
					  ((a & 0x10101010) >> 1) | ((a & 0x20202020) >> 3) |
					  ((a & 0x40404040) >> 5) | ((a & 0x80808080) >> 7)))
PLAIN(v_ffbh_u32, a ? (u32)__builtin_clz(a) : ~0u)
PLAIN(v_ffbl_b32, a ? (u32)__builtin_ctz(a) : ~0u)
PLAIN(v_ffbh_i32, a + 1 > 1 ? (u32)__builtin_clz(a >> 31 ? ~a : a) : ~0u)
PLAIN(v_add_u16, (a + b) & 0xffff)
PLAIN(v_sub_u16, (a - b) & 0xffff)
PLAIN(v_mul_lo_u16, (a & 0xffff) * (b & 0xffff) & 0xffff)
PLAIN(v_lshlrev_b16, b << (a & 15) & 0xffff)
PLAIN(v_lshrrev_b16, (b & 0xffff) >> (a & 15))
PLAIN(v_ashrrev_i16, (u32)((s16)b >> (a & 15)) & 0xffff)
PLAIN(v_max_i16, pick((s16)a > (s16)b, a, b) & 0xffff)
PLAIN(v_min_u16, pick((a & 0xffff) < (b & 0xffff), a, b) & 0xffff)
PLAIN(v_mad_u32_u24, (a & 0xffffff) * (b & 0xffffff) + c)
PLAIN(v_bfe_u32, (a >> (b & 31)) & ((1u << (c & 31)) - 1))
PLAIN(v_bfi_b32, (a & b) | (~a & c))
PLAIN(v_alignbit_b32, (u32)(((u64)a << 32 | b) >> (c & 31)))
PLAIN(v_alignbyte_b32, (u32)(((u64)a << 32 | b) >> (c & 3) * 8))
PLAIN(v_min3_u32, pick(a < b, pick(a < c, a, c), pick(b < c, b, c)))
PLAIN(v_max3_i32, pick(sx(a) > sx(b), pick(sx(a) > sx(c), a, c), pick(sx(b) > sx(c), b, c)))
PLAIN(v_add3_u32, a + b + c)
PLAIN(v_or3_b32, a | b | c)
PLAIN(v_and_or_b32, (a & b) | c)
PLAIN(v_lshl_or_b32, a << (b & 31) | c)
PLAIN(v_lshl_add_u32, (a << (b & 31)) + c)
PLAIN(v_add_lshl_u32, (a + b) << (c & 31))
PLAIN(v_xad_u32, (a ^ b) + c)
PLAIN(v_sad_u32, pick(a > b, a - b, b - a) + c)
PLAIN(v_mul_lo_u32, a *b)
PLAIN(v_mul_hi_u32, (u32)((u64)a *b >> 32))
PLAIN(v_mul_hi_i32, (u32)((u64)(sx(a) * sx(b)) >> 32))
PLAIN(v_bcnt_u32_b32, (u32)__builtin_popcount(a) + b)
PLAIN(v_bfm_b32, ((1u << (a & 31)) - 1) << (b & 31))
PLAIN(v_cvt_pk_u16_u32, pick(a > 0xffff, 0xffff, a) | pick(b > 0xffff, 0xffff, b) << 16)
PLAIN(v_cvt_pk_i16_i32,
      (clamp_to(sx(a), -0x8000, 0x7fff) & 0xffff) | clamp_to(sx(b), -0x8000, 0x7fff) << 16)
PLAIN(v_mad_u32_u16, (a & 0xffff) * (b & 0xffff) + c)
PLAIN(v_mad_i32_i16, (u32)((s16)a *(s16)b) + c)
PLAIN(v_add_f32, bits32(f32(a) + f32(b)))
PLAIN(v_sub_f32, bits32(f32(a) - f32(b)))
PLAIN(v_subrev_f32, bits32(f32(b) - f32(a)))
PLAIN(v_mul_f32, bits32(f32(a) * f32(b)))
PLAIN(v_min_f32, min_float(a, b, false))
PLAIN(v_max_f32, min_float(a, b, true))
PLAIN(v_fma_f32, bits32(fmaf(f32(a), f32(b), f32(c))))
PLAIN(v_mad_f32, mad(f32(a), f32(b), f32(c)))
PLAIN(v_trunc_f32, bits32(truncf(f32(a))))
PLAIN(v_ceil_f32, bits32(ceilf(f32(a))))
PLAIN(v_floor_f32, bits32(floorf(f32(a))))
PLAIN(v_rndne_f32, bits32(rintf(f32(a))))
PLAIN(v_cvt_f32_i32, bits32((float)(s32)a))
PLAIN(v_cvt_f32_u32, bits32((float)a))
PLAIN(v_cvt_i32_f32, to_integer(f32(a), -2147483648.0, 2147483647.0))
PLAIN(v_cvt_u32_f32, to_integer(f32(a), 0, 4294967295.0))
PLAIN(v_cvt_flr_i32_f32, to_integer(floor(f32(a)), -2147483648.0, 2147483647.0))
PLAIN(v_cvt_f32_ubyte2, bits32((float)(a >> 16 & 255)))
PLAIN(v_cvt_f32_f16, bits32(half(a)))
PLAIN(v_cvt_f16_f32, to_half(f32(a)))
PLAIN(v_rcp_f32, bits32(1 / f32(a)))
PLAIN(v_ldexp_f32, bits32(ldexpf(f32(a), (s32)b)))
PLAIN(v_add_f16, to_half((double)half(a) + half(b)))
PLAIN(v_mul_f16, to_half((double)half(a) * half(b)))
PLAIN(v_pack_b32_f16, (a & 0xffff) | b << 16)
PLAIN(v_frexp_mant_f32, bits32(isfinite(f32(a)) ? frexpf(f32(a), (int[1]){ 0 }) : f32(a)))

static u32 want_v_frexp_exp_i32_f32(u32 a, u32 b, u32 c)
{
	int exponent = 0;

	if (isfinite(f32(a)))
		frexpf(f32(a), &exponent);
	return (u32)exponent;
}

static u32 want_v_bfe_i32(u32 a, u32 b, u32 c)
{
	const u32 width = c & 31;

	if (!width)
		return 0;
	return (u32)((s64)((u64)(sx(a) >> (b & 31)) << (64 - width)) >> (64 - width));
}

static u32 want_v_perm_b32(u32 a, u32 b, u32 c)
{
	const u64 bytes = (u64)a << 32 | b;
	u32 result = 0;

	for (u32 i = 0; i < 32; i += 8) {
		const u32 select = c >> i & 255;
		u32 byte;

		if (select >= 13)
			byte = 255;
		else if (select == 12)
			byte = 0;
		else if (select >= 8)
			byte = bytes >> (15 + (select - 8) * 16) & 1 ? 255 : 0;
		else
			byte = bytes >> select * 8 & 255;
		result |= byte << i;
	}
	return result;
}

static u32 want_v_med3_i32(u32 a, u32 b, u32 c)
{
	const s64 x = sx(a), y = sx(b), z = sx(c);
	const s64 high = x > y ? (x > z ? x : z) : (y > z ? y : z);
	const s64 low = x < y ? (x < z ? x : z) : (y < z ? y : z);

	return (u32)(x + y + z - high - low);
}

static u32 want_v_sad_u8(u32 a, u32 b, u32 c)
{
	for (u32 i = 0; i < 32; i += 8)
		c += (u32)abs((int)(a >> i & 255) - (int)(b >> i & 255));
	return c;
}

#define NAMED(instruction)                       \
	{                                        \
#instruction, want_##instruction \
	}
static const struct plain plains[] = {
	NAMED(v_mov_b32),	  NAMED(v_not_b32),	      NAMED(v_add_u32),
	NAMED(v_sub_u32),	  NAMED(v_subrev_u32),	      NAMED(v_and_b32),
	NAMED(v_or_b32),	  NAMED(v_xor_b32),	      NAMED(v_xnor_b32),
	NAMED(v_lshlrev_b32),	  NAMED(v_lshrrev_b32),	      NAMED(v_ashrrev_i32),
	NAMED(v_min_u32),	  NAMED(v_max_u32),	      NAMED(v_min_i32),
	NAMED(v_max_i32),	  NAMED(v_mul_u32_u24),	      NAMED(v_mul_i32_i24),
	NAMED(v_mul_hi_u32_u24),  NAMED(v_bfrev_b32),	      NAMED(v_ffbh_u32),
	NAMED(v_ffbl_b32),	  NAMED(v_ffbh_i32),	      NAMED(v_add_u16),
	NAMED(v_sub_u16),	  NAMED(v_mul_lo_u16),	      NAMED(v_lshlrev_b16),
	NAMED(v_lshrrev_b16),	  NAMED(v_ashrrev_i16),	      NAMED(v_max_i16),
	NAMED(v_min_u16),	  NAMED(v_mad_u32_u24),	      NAMED(v_bfe_u32),
	NAMED(v_bfe_i32),	  NAMED(v_bfi_b32),	      NAMED(v_alignbit_b32),
	NAMED(v_alignbyte_b32),	  NAMED(v_min3_u32),	      NAMED(v_max3_i32),
	NAMED(v_med3_i32),	  NAMED(v_add3_u32),	      NAMED(v_or3_b32),
	NAMED(v_and_or_b32),	  NAMED(v_lshl_or_b32),	      NAMED(v_lshl_add_u32),
	NAMED(v_add_lshl_u32),	  NAMED(v_xad_u32),	      NAMED(v_sad_u32),
	NAMED(v_sad_u8),	  NAMED(v_perm_b32),	      NAMED(v_mul_lo_u32),
	NAMED(v_mul_hi_u32),	  NAMED(v_mul_hi_i32),	      NAMED(v_bcnt_u32_b32),
	NAMED(v_bfm_b32),	  NAMED(v_cvt_pk_u16_u32),    NAMED(v_cvt_pk_i16_i32),
	NAMED(v_mad_u32_u16),	  NAMED(v_mad_i32_i16),	      NAMED(v_add_f32),
	NAMED(v_sub_f32),	  NAMED(v_subrev_f32),	      NAMED(v_mul_f32),
	NAMED(v_min_f32),	  NAMED(v_max_f32),	      NAMED(v_fma_f32),
	NAMED(v_mad_f32),	  NAMED(v_trunc_f32),	      NAMED(v_ceil_f32),
	NAMED(v_floor_f32),	  NAMED(v_rndne_f32),	      NAMED(v_cvt_f32_i32),
	NAMED(v_cvt_f32_u32),	  NAMED(v_cvt_i32_f32),	      NAMED(v_cvt_u32_f32),
	NAMED(v_cvt_flr_i32_f32), NAMED(v_cvt_f32_ubyte2),    NAMED(v_cvt_f32_f16),
	NAMED(v_cvt_f16_f32),	  NAMED(v_rcp_f32),	      NAMED(v_ldexp_f32),
	NAMED(v_add_f16),	  NAMED(v_mul_f16),	      NAMED(v_pack_b32_f16),
	NAMED(v_frexp_mant_f32),  NAMED(v_frexp_exp_i32_f32),
};

static bool is_vop3(u32 word)
{
	return word >> 26 == 0x34;
}

/* names.h encodes VOP3 as v4 = v2, v4, v6; VOP2 as v4 = v1, v2; VOP1 as v4 = v2. */
static u32 operand(const struct registers *r, u32 word, u32 which, u32 lane)
{
	static const u32 vop3[3] = { 2, 4, 6 }, vop2[3] = { 1, 2, 4 }, vop1[3] = { 2, 2, 2 };
	const bool one = word >> 25 == 0x3f;

	return r->v[is_vop3(word) ? vop3[which] : one ? vop1[which] : vop2[which]][lane];
}

static void check_plain_row(struct probe *p, const struct plain *plain, const struct named *row)
{
	randomise(&p->before, random32() % 2 ? ~0ull : random64());
	if (run_words(p, row->words, row->size) != GFX9_STOP_ENDED)
		fail_msg("%s does not run", row->name);
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		const u32 a = operand(&p->before, row->words[0], 0, lane);
		const u32 b = operand(&p->before, row->words[0], 1, lane);
		const u32 c = operand(&p->before, row->words[0], 2, lane);
		u32 want = p->before.v[4][lane];

		if (p->before.exec >> lane & 1)
			want = plain->want(a, b, c);
		if (!same(p->after.v[4][lane], want))
			fail_msg("%s (%08x) of %08x, %08x, %08x: %08x, not %08x", row->name,
				 row->words[0], a, b, c, p->after.v[4][lane], want);
	}
}

static void check_plain(void **state)
{
	struct probe *p = *state;

	for (u32 k = 0; k < sizeof(plains) / sizeof(plains[0]); k++) {
		u32 found = 0;

		for (u32 i = 0; i < NAMES; i++) {
			if (!names[i].name || strcmp(names[i].name, plains[k].name))
				continue;
			found++;
			for (u32 round = 0; round < ROUNDS; round++)
				check_plain_row(p, &plains[k], &names[i]);
		}
		if (!found)
			fail_msg("LLVM knows no %s", plains[k].name);
	}
}

/* ---- comparisons ------------------------------------------------------------------------ */

static bool holds(const char *predicate, double a, double b)
{
	/* clang-format off */
	static const char *const name[16] = { "f", "lt", "eq", "le", "gt", "lg", "ge", "o",
					      "u", "nge", "nlg", "ngt", "nle", "neq", "nlt",
					      "tru" };
	const bool less = a < b, equal = a == b, more = a > b;
	const bool known = less || equal || more;
	const bool value[16] = { false, less, equal, less || equal, more, less || more,
				 more || equal, known, !known, !(more || equal),
				 !(less || more), !more, !(less || equal), !equal, !less, true };
	/* clang-format on */

	for (u32 i = 0; i < 16; i++)
		if (!strcmp(predicate, name[i]))
			return value[i];
	if (!strcmp(predicate, "ne"))
		return !equal;
	return !strcmp(predicate, "t");
}

static double compared(const char *type, const struct registers *r, u32 number, u32 lane)
{
	const u32 value = r->v[number][lane];

	if (!strcmp(type, "f32"))
		return f32(value);
	if (!strcmp(type, "f16"))
		return half(value);
	if (!strcmp(type, "i32"))
		return (s32)value;
	if (!strcmp(type, "u32"))
		return value;
	if (!strcmp(type, "i16"))
		return (s16)value;
	return (u16)value;
}

static void check_compare_row(struct probe *p, const struct named *row, const char *predicate,
			      const char *type)
{
	const bool vop3 = is_vop3(row->words[0]), writes_exec = row->name[5] == 'x';
	u64 want = 0, got;

	randomise(&p->before, random64());
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		want |= (u64)holds(predicate, compared(type, &p->before, 2, lane),
				   compared(type, &p->before, vop3 ? 4 : 2, lane))
			<< lane;
	want &= p->before.exec;
	if (run_words(p, row->words, row->size) != GFX9_STOP_ENDED)
		fail_msg("%s does not run", row->name);
	got = vop3 ? (u64)p->after.s[5] << 32 | p->after.s[4] : p->after.vcc;
	if (got != want)
		fail_msg("%s (%08x)", row->name, row->words[0]);
	assert_true(p->after.exec == (writes_exec ? want : p->before.exec));
}

static void check_comparisons(void **state)
{
	struct probe *p = *state;
	u32 checked = 0;

	for (u32 i = 0; i < NAMES; i++) {
		char predicate[8], type[8], wrong;
		const char *name = names[i].name;

		if (!name || strncmp(name, "v_cmp", 5))
			continue;
		name += name[5] == 'x' ? 7 : 6;
		if (sscanf(name, "%7[a-z]_%7[a-z0-9]%c", predicate, type, &wrong) != 2)
			continue;
		if (strstr(type, "64") || !strcmp(predicate, "class"))
			continue;
		for (u32 round = 0; round < 5; round++)
			check_compare_row(p, &names[i], predicate, type);
		checked++;
	}
	assert_true(checked >= 250);
}

/* ---- all vector instructions ---------------------------------------------------------------- */

static bool crosses_lanes(const char *name)
{
	static const char *const those[] = {
		"v_readlane_b32",
		"v_readfirstlane_b32",
		"v_writelane_b32",
	};

	for (u32 i = 0; i < sizeof(those) / sizeof(those[0]); i++)
		if (!strcmp(those[i], name))
			return true;
	return false;
}

/*
 * A lane that EXEC disables keeps its registers. An enabled lane gets the same result as
 * with all lanes enabled.
 */
static void check_lanes_alone(void **state)
{
	struct probe *p = *state;
	struct registers all;
	u32 ran = 0;

	for (u32 i = 0; i < NAMES; i++) {
		if (!names[i].name || strncmp(names[i].name, "v_", 2) ||
		    crosses_lanes(names[i].name))
			continue;
		randomise(&p->before, ~0ull);
		if (run_words(p, names[i].words, names[i].size) != GFX9_STOP_ENDED)
			continue;
		all = p->after;
		p->before.exec = random64();
		assert_int_equal(run_words(p, names[i].words, names[i].size), GFX9_STOP_ENDED);
		for (u32 lane = 0; lane < GFX9_LANES; lane++)
			for (u32 v = 0; v < PROBE_VGPRS; v++) {
				const struct registers *want =
					p->before.exec >> lane & 1 ? &all : &p->before;

				if (p->after.v[v][lane] != want->v[v][lane])
					fail_msg("%s (%08x): lane %u, v%u", names[i].name,
						 names[i].words[0], lane, v);
			}
		ran++;
	}
	assert_true(ran >= 770);
}

/* ---- single instructions ------------------------------------------------------------- */

static void check_lane_moves(void **state)
{
	struct probe *p = *state;

	randomise(&p->before, 0xff00);
	p->before.s[3] = 77;
	run_one(p, 0xd2890004, 0x00000702, 2); /* v_readlane_b32 s4, v2, s3 */
	assert_int_equal(p->after.s[4], p->before.v[2][77 % 64]);
	run_one(p, 0x7e080502, 0, 1); /* v_readfirstlane_b32 s4, v2 */
	assert_int_equal(p->after.s[4], p->before.v[2][8]);
	p->before.exec = 0;
	run_one(p, 0x7e080502, 0, 1);
	assert_int_equal(p->after.s[4], p->before.v[2][0]);
	run_one(p, 0xd28a0004, 0x00010e03, 2); /* v_writelane_b32 v4, s3, 7 */
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		assert_int_equal(p->after.v[4][lane], write_lane(&p->before, lane));
}

static void check_swap(void **state)
{
	struct probe *p = *state;

	randomise(&p->before, 0x5555555555555555);
	run_one(p, 0x7e08a302, 0, 1); /* v_swap_b32 v4, v2 */
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		const bool active = p->before.exec >> lane & 1;

		assert_int_equal(p->after.v[4][lane], p->before.v[active ? 2 : 4][lane]);
		assert_int_equal(p->after.v[2][lane], p->before.v[active ? 4 : 2][lane]);
	}
}

static void check_index_mode(void **state)
{
	struct probe *p = *state;
	/* s_set_gpr_idx_on s3, gpr_idx(SRC0,DST); v_mov_b32 v4, v2; s_set_gpr_idx_off */
	const u32 words[3] = { 0xbf110903, 0x7e080302, 0xbf9c0000 };

	randomise(&p->before, ~0ull);
	p->before.s[3] = 5;
	assert_int_equal(run_words(p, words, 3), GFX9_STOP_ENDED);
	assert_memory_equal(p->after.v[9], p->before.v[7], sizeof(p->after.v[9]));
	assert_memory_equal(p->after.v[4], p->before.v[4], sizeof(p->after.v[4]));
}

/* Registers that the wave does not have read as v0; writes to them have no effect. */
static void check_missing_registers(void **state)
{
	struct probe *p = *state;

	randomise(&p->before, ~0ull);
	run_one(p, 0x7e080200 | (256 + 200), 0, 1); /* v_mov_b32 v4, v200 */
	assert_memory_equal(p->after.v[4], p->before.v[0], sizeof(p->after.v[4]));
	run_one(p, 0x7e000302 | 200 << 17, 0, 1); /* v_mov_b32 v200, v2 */
	assert_memory_equal(p->after.v, p->before.v, sizeof(p->after.v));
}

static void check_doubles(void **state)
{
	struct probe *p = *state;

	randomise(&p->before, ~0ull);
	run_one(p, 0xd2800104, 0x40020d02, 2); /* v_add_f64 v[4:5], |v[2:3]|, -v[6:7] */
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		u64 abits = (u64)p->before.v[3][lane] << 32 | p->before.v[2][lane];
		u64 bbits = (u64)p->before.v[7][lane] << 32 | p->before.v[6][lane];
		u64 dbits = (u64)p->after.v[5][lane] << 32 | p->after.v[4][lane];
		double a, b, d;

		memcpy(&a, &abits, 8);
		memcpy(&b, &bbits, 8);
		memcpy(&d, &dbits, 8);
		assert_true(d == fabs(a) - b || (isnan(d) && isnan(fabs(a) - b)));
	}
	run_one(p, 0xd28f0004, 0x00020483, 2); /* v_lshlrev_b64 v[4:5], 3, v[2:3] */
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		u64 value = (u64)p->before.v[3][lane] << 32 | p->before.v[2][lane];

		assert_int_equal(p->after.v[4][lane], (u32)(value << 3));
		assert_int_equal(p->after.v[5][lane], (u32)(value << 3 >> 32));
	}
}

/* v_cmp_class_f32: each float is of exactly one class. */
static void check_classes(void **state)
{
	static const u32 one_of_each[10] = {
		0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001,
		0x80000000, 0x00000000, 0x00000001, 0x3f800000, 0x7f800000,
	};
	struct probe *p = *state;

	randomise(&p->before, ~0ull);
	for (u32 class = 0; class < 10; class ++) {
		for (u32 lane = 0; lane < GFX9_LANES; lane++) {
			p->before.v[2][lane] = one_of_each[class];
			p->before.v[6][lane] = 1u << lane % 32;
		}
		run_one(p, 0xd0100004, 0x00020d02, 2); /* v_cmp_class_f32 s[4:5], v2, v6 */
		assert_int_equal(p->after.s[4], 1u << class);
		assert_int_equal(p->after.s[5], 1u << class);
	}
}

/* Rounding and subnormals by MODE. */
static void check_mode(void **state)
{
	struct probe *p = *state;
	const u32 v_add = 0x02080501; /* v_add_f32 v4, v1, v2 */

	randomise(&p->before, ~0ull);
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		p->before.v[1][lane] = 0x3f800000;
		p->before.v[2][lane] = 0x00000001;
	}
	run_one(p, v_add, 0, 1);
	assert_int_equal(p->after.v[4][0], 0x3f800000);
	p->before.mode = 0x3f1; /* up */
	run_one(p, v_add, 0, 1);
	assert_int_equal(p->after.v[4][0], 0x3f800001);
	p->before.mode = 0x3c1; /* up; the flushed operand leaves nothing to round */
	run_one(p, v_add, 0, 1);
	assert_int_equal(p->after.v[4][0], 0x3f800000);
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		p->before.v[1][lane] = 0x00000005;
	run_one(p, v_add, 0, 1);
	assert_int_equal(p->after.v[4][0], 0);
	p->before.mode = 0x3f0;
	run_one(p, v_add, 0, 1);
	assert_int_equal(p->after.v[4][0], 6);
	/* s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0; s_getreg_b32 s4, the same four bits */
	run_one(p, 0xba000901, 0, 2);
	assert_int_equal(p->after.mode, 0x3c0);
	run_one(p, 0xb8841901, 0, 1);
	assert_int_equal(p->after.s[4], 15);
}

/* LDS addresses that wrap around or lie outside read as 0; writes have no effect. */
static void check_lds_ends(void **state)
{
	struct probe *p = *state;

	randomise(&p->before, ~0ull);
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		p->before.v[2][lane] = 0xfffffff0 + lane * 4;
	/* ds_write_b32 v2, v6 offset:16; ds_read_b32 v4, v2 offset:16 */
	p->lds_bytes = 512;
	assert_int_equal(
		run_words(p, (const u32[4]){ 0xd81a0010, 0x00000602, 0xd86c0010, 0x04000002 }, 4),
		GFX9_STOP_ENDED);
	assert_memory_equal(p->after.v[4], p->before.v[6], sizeof(p->after.v[4]));
	p->lds_bytes = 0;
	assert_int_equal(
		run_words(p, (const u32[4]){ 0xd81a0010, 0x00000602, 0xd86c0010, 0x04000002 }, 4),
		GFX9_STOP_ENDED);
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		assert_int_equal(p->after.v[4][lane], 0);
}

#define WITH_PROBE(f) cmocka_unit_test_setup_teardown(f, probe_setup, probe_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PROBE(check_encoded),     WITH_PROBE(check_plain),
		WITH_PROBE(check_comparisons), WITH_PROBE(check_lanes_alone),
		WITH_PROBE(check_lane_moves),  WITH_PROBE(check_swap),
		WITH_PROBE(check_index_mode),  WITH_PROBE(check_missing_registers),
		WITH_PROBE(check_doubles),     WITH_PROBE(check_classes),
		WITH_PROBE(check_mode),	       WITH_PROBE(check_lds_ends),
	};

	return gp_run_tests(tests);
}
