/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* gfx9_float.h - what the floating-point files share. */
#ifndef GFX9_FLOAT_H
#define GFX9_FLOAT_H

#include "gfx9_lanes.h"
#include "gfx9_math.h"

bool gfx9_lanes_float64(u32 op, struct gfx9_lanes *lanes);
bool gfx9_lanes_half(u32 op, struct gfx9_lanes *lanes);
void gfx9_compare_64(u32 predicate, struct gfx9_lanes *lanes);
void gfx9_compare_half(u32 predicate, struct gfx9_lanes *lanes);
u64 gfx9_by_predicate(u32 predicate, u64 lt, u64 eq, u64 gt);

u32 gfx9_min32(u32 a, u32 b, bool ieee);
u32 gfx9_max32(u32 a, u32 b, bool ieee);
u64 gfx9_min64(u64 a, u64 b, bool ieee);
u64 gfx9_max64(u64 a, u64 b, bool ieee);
/* Saturating; NaN is 0. */
u32 gfx9_to_u32(double value);
u32 gfx9_to_i32(double value);

#endif
