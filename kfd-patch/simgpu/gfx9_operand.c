// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Scalar operands: "Vega" ISA reference, 6.2 (vector ALU) and table of SSRC. */
#include "gfx9_internal.h"

#define INV_2PI_F32 0x3e22f983u

static const u32 float_constants[8] = {
	0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, /* +-0.5, +-1 */
	0x40000000, 0xc0000000, 0x40800000, 0xc0800000, /* +-2, +-4 */
};

/* VCCZ, EXECZ and SCC as a source are 0 or 1. */
static u32 condition(const struct gfx9_wave *wave, u32 number)
{
	switch (number) {
	case GFX9_SRC_VCCZ:
		return !gfx9_vcc(wave);
	case GFX9_SRC_EXECZ:
		return !gfx9_exec(wave);
	default:
		return wave->scc;
	}
}

static u64 aperture(const struct gfx9_env *env, u32 number)
{
	switch (number) {
	case GFX9_SRC_SHARED_BASE:
		return env->shared_base;
	case GFX9_SRC_SHARED_LIMIT:
		return env->shared_base | 0xffffffff;
	case GFX9_SRC_PRIVATE_BASE:
		return env->private_base;
	default:
		return env->private_base | 0xffffffff;
	}
}

bool gfx9_scalar32(const struct gfx9_env *env, const struct gfx9_wave *wave,
		   const struct gfx9_inst *inst, u32 number, u32 *value)
{
	if (number < GFX9_SREG_COUNT)
		*value = wave->s[number];
	else if (number <= GFX9_SRC_INT_MAX)
		*value = number - GFX9_SRC_ZERO;
	else if (number <= GFX9_SRC_INT_MIN)
		*value = GFX9_SRC_INT_MAX - number;
	else if (number == GFX9_SRC_LITERAL)
		*value = inst->imm;
	else if (number >= GFX9_SRC_HALF && number < GFX9_SRC_INV_2PI)
		*value = float_constants[number - GFX9_SRC_HALF];
	else if (number == GFX9_SRC_INV_2PI)
		*value = INV_2PI_F32;
	else if (number >= GFX9_SRC_VCCZ && number <= GFX9_SRC_SCC)
		*value = condition(wave, number);
	else if (number >= GFX9_SRC_SHARED_BASE && number <= GFX9_SRC_PRIVATE_LIMIT)
		*value = aperture(env, number);
	else
		return false;
	return true;
}

bool gfx9_scalar64(const struct gfx9_env *env, const struct gfx9_wave *wave,
		   const struct gfx9_inst *inst, u32 number, u64 *value)
{
	u32 low;

	if (number < GFX9_SREG_COUNT) {
		*value = wave->s[number] | (u64)wave->s[(number + 1) % GFX9_SREG_COUNT] << 32;
		return true;
	}
	if (number > GFX9_SRC_INT_MAX && number <= GFX9_SRC_INT_MIN) {
		*value = -(u64)(number - GFX9_SRC_INT_MAX);
		return true;
	}
	if (number >= GFX9_SRC_SHARED_BASE && number <= GFX9_SRC_PRIVATE_LIMIT) {
		*value = aperture(env, number);
		return true;
	}
	if (!gfx9_scalar32(env, wave, inst, number, &low))
		return false;
	/*
	 * A literal is zero-extended. Constants like 0.5 in an integer operation
	 * of 64 bits are doubles.
	 */
	if (number >= GFX9_SRC_HALF && number < GFX9_SRC_INV_2PI)
		*value = (u64)((low & 0x80000000) | ((low >> 3 & 0x0fffffff) + 0x38000000)) << 32;
	else if (number == GFX9_SRC_INV_2PI)
		*value = 0x3fc45f306dc9c882ull;
	else
		*value = low;
	return true;
}
