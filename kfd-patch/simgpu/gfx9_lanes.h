/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * gfx9_lanes.h - vector ALU work on all 64 lanes at once, four lanes to a
 * vector of the compiler's. Which lanes keep the result is decided afterwards.
 */
#ifndef GFX9_LANES_H
#define GFX9_LANES_H

#include "gfx9_internal.h"

typedef u32 gfx9_v4u __attribute__((vector_size(16), may_alias));
typedef s32 gfx9_v4s __attribute__((vector_size(16), may_alias));

#define GFX9_VECTORS (GFX9_LANES / 4)

/**
 * struct gfx9_lanes - an instruction's operands as rows
 * @src: low and high (of 64 bits) row of each source; those that the
 *	instruction lacks point to some row
 * @uniform: a bit per source that has the same value in all lanes
 * @dst: where the result goes, in all lanes; may be a source's row
 * @carry_in: VCC or an SGPR pair, a bit per lane
 * @mask: the result of comparisons, and carry out
 * @clamp: of an integer instruction: saturate
 */
struct gfx9_lanes {
	const u32 *src[3][2];
	u32 *dst[2];
	u64 carry_in;
	u64 mask;
	u32 mode;
	u8 uniform;
	bool clamp;
};

/* False: no such instruction here. */
bool gfx9_lanes_integer(u32 op, struct gfx9_lanes *lanes);
bool gfx9_lanes_compare_integer(u32 op, struct gfx9_lanes *lanes);
bool gfx9_lanes_float(u32 op, struct gfx9_lanes *lanes);
bool gfx9_lanes_compare_float(u32 op, struct gfx9_lanes *lanes);
/*
 * Output modifiers of floating-point results: OMOD, then clamp to [0, 1]. With
 * OMOD there is neither a subnormal nor a negative zero.
 */
void gfx9_lanes_output(const struct gfx9_lanes *lanes, u32 type, u32 omod, bool clamp);
bool gfx9_lanes_packed(const struct gfx9_inst *inst, struct gfx9_lanes *lanes);

/* A bit per lane to all bits of each lane, and back. */
extern const u32 gfx9_nibble_masks[16][4];

static inline gfx9_v4u gfx9_expand(u64 mask, u32 vector)
{
	return *(const gfx9_v4u *)gfx9_nibble_masks[mask >> vector * 4 & 15];
}

static inline u64 gfx9_collect(gfx9_v4s lanes, u32 vector)
{
#ifdef __SSE__
	typedef float v4f __attribute__((vector_size(16)));

	return (u64)__builtin_ia32_movmskps((v4f)lanes) << vector * 4;
#else
	return (u64)((lanes[0] & 1) | (lanes[1] & 2) | (lanes[2] & 4) | (lanes[3] & 8))
	       << vector * 4;
#endif
}

/* Both registers of an operand of 64 bits, of one lane. */
static inline u64 gfx9_wide(const struct gfx9_lanes *lanes, u32 source, u32 lane)
{
	return lanes->src[source][0][lane] | (u64)lanes->src[source][1][lane] << 32;
}

static inline void gfx9_put_wide(struct gfx9_lanes *lanes, u32 lane, u64 value)
{
	lanes->dst[0][lane] = value;
	lanes->dst[1][lane] = value >> 32;
}

static inline u32 gfx9_clamped(s64 value, s64 low, s64 high)
{
	return value < low ? low : value > high ? high : value;
}

/* Lane by lane: from the sources' 32 bits a, b, c to 32 bits. Returns true. */
#define LANE_OP(expression)                                                        \
	do {                                                                       \
		for (u32 i = 0; i < GFX9_LANES; i++) {                             \
			const u32 a __attribute__((unused)) = lanes->src[0][0][i]; \
			const u32 b __attribute__((unused)) = lanes->src[1][0][i]; \
			const u32 c __attribute__((unused)) = lanes->src[2][0][i]; \
                                                                                   \
			lanes->dst[0][i] = (expression);                           \
		}                                                                  \
		return true;                                                       \
	} while (0)

/* The rows of one instruction as vectors: a, b, c from d, index i. */
#define GFX9_ROWS(lanes)                                                                         \
	const gfx9_v4u *const ra __attribute__((unused)) = (const gfx9_v4u *)(lanes)->src[0][0]; \
	const gfx9_v4u *const rb __attribute__((unused)) = (const gfx9_v4u *)(lanes)->src[1][0]; \
	const gfx9_v4u *const rc __attribute__((unused)) = (const gfx9_v4u *)(lanes)->src[2][0]; \
	gfx9_v4u *const rd = (gfx9_v4u *)(lanes)->dst[0]

#endif
