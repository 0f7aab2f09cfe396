// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Atomic operations on the host's memory: "Vega" ISA reference, 12.13, 12.14 and 12.18. */
#include "gfx9_access.h"

static bool is_float(u32 op)
{
	return op >= GFX9_ATOMIC_FMIN;
}

static s64 as_signed(u64 value, bool wide)
{
	return wide ? (s64)value : (s32)value;
}

/* Of 32 bits unless @wide: these are zero-extended, and the result is truncated. */
static u64 new_value(u32 op, u64 old, u64 data, u64 compare, bool wide)
{
	switch (op) {
	case GFX9_ATOMIC_SWAP:
		return data;
	case GFX9_ATOMIC_CMPSWAP:
		return old == compare ? data : old;
	case GFX9_ATOMIC_ADD:
		return old + data;
	case GFX9_ATOMIC_SUB:
		return old - data;
	case GFX9_ATOMIC_RSUB:
		return data - old;
	case GFX9_ATOMIC_SMIN:
		return as_signed(old, wide) < as_signed(data, wide) ? old : data;
	case GFX9_ATOMIC_UMIN:
		return old < data ? old : data;
	case GFX9_ATOMIC_SMAX:
		return as_signed(old, wide) > as_signed(data, wide) ? old : data;
	case GFX9_ATOMIC_UMAX:
		return old > data ? old : data;
	case GFX9_ATOMIC_AND:
		return old & data;
	case GFX9_ATOMIC_OR:
		return old | data;
	case GFX9_ATOMIC_XOR:
		return old ^ data;
	case GFX9_ATOMIC_INC:
		return old >= data ? 0 : old + 1;
	case GFX9_ATOMIC_DEC:
		return !old || old > data ? data : old - 1;
	default: /* MSKOR */
		return (old & ~compare) | data;
	}
}

u32 gfx9_atomic32(u32 *at, u32 op, u32 data, u32 compare)
{
	u32 old = __atomic_load_n(at, __ATOMIC_RELAXED);
	u32 value;

	do {
		if (is_float(op))
			value = gfx9_atomic_float32(op, old, data, compare);
		else
			value = new_value(op, old, data, compare, false);
	} while (!__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return old;
}

u64 gfx9_atomic64(u64 *at, u32 op, u64 data, u64 compare)
{
	u64 old = __atomic_load_n(at, __ATOMIC_RELAXED);
	u64 value;

	do {
		if (is_float(op))
			value = gfx9_atomic_float64(op, old, data, compare);
		else
			value = new_value(op, old, data, compare, true);
	} while (!__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return old;
}
