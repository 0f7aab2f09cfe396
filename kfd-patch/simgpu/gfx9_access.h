/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * gfx9_access.h - transfers of vector memory and LDS instructions, and atomics on one location
 * of the host's memory.
 */
#ifndef GFX9_ACCESS_H
#define GFX9_ACCESS_H

#include "gfx9_internal.h"

/* Which part of the register a load or store of less than 32 bits is about. */
enum gfx9_part {
	GFX9_PART_WHOLE, /* a load clears the rest */
	GFX9_PART_LOW,	 /* d16: a load keeps the rest */
	GFX9_PART_HIGH,
};

struct gfx9_transfer {
	u8 bytes;
	bool sign;
	u8 part;
};

enum gfx9_atomic {
	GFX9_ATOMIC_SWAP,
	GFX9_ATOMIC_CMPSWAP,
	GFX9_ATOMIC_ADD,
	GFX9_ATOMIC_SUB,
	GFX9_ATOMIC_SMIN,
	GFX9_ATOMIC_UMIN,
	GFX9_ATOMIC_SMAX,
	GFX9_ATOMIC_UMAX,
	GFX9_ATOMIC_AND,
	GFX9_ATOMIC_OR,
	GFX9_ATOMIC_XOR,
	GFX9_ATOMIC_INC,
	GFX9_ATOMIC_DEC,
	GFX9_ATOMIC_RSUB,
	GFX9_ATOMIC_MSKOR,
	GFX9_ATOMIC_FMIN,
	GFX9_ATOMIC_FMAX,
	GFX9_ATOMIC_FADD,
	GFX9_ATOMIC_FCMPSWAP,
};

/* @at is aligned. Returns the old value. @compare: of CMPSWAP, mask of MSKOR. */
u32 gfx9_atomic32(u32 *at, u32 op, u32 data, u32 compare);
u64 gfx9_atomic64(u64 *at, u32 op, u64 data, u64 compare);

/* gfx9_float.c: the floating-point ones' new value. */
u32 gfx9_atomic_float32(u32 op, u32 old, u32 data, u32 compare);
u64 gfx9_atomic_float64(u32 op, u64 old, u64 data, u64 compare);

/* A loaded value as the register shall hold it. */
static inline u32 gfx9_loaded(const struct gfx9_transfer *transfer, u32 value, u32 before)
{
	if (transfer->bytes == 1)
		value = transfer->sign ? (u32)(s8)value : (u8)value;
	else if (transfer->bytes == 2)
		value = transfer->sign ? (u32)(s16)value : (u16)value;
	if (transfer->part == GFX9_PART_LOW)
		return (before & 0xffff0000) | (value & 0xffff);
	if (transfer->part == GFX9_PART_HIGH)
		return (before & 0xffff) | value << 16;
	return value;
}

#endif
