/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * gfx9_math.h - floating-point numbers as bits, and what the C library would
 * offer if there were one. Included only by files that are compiled to use the FPU.
 */
#ifndef GFX9_MATH_H
#define GFX9_MATH_H

#include "gfx9_platform.h"

static inline float gfx9_f32(u32 bits)
{
	union {
		u32 bits;
		float value;
	} u = { .bits = bits };

	return u.value;
}

static inline u32 gfx9_f32_bits(float value)
{
	union {
		float value;
		u32 bits;
	} u = { .value = value };

	return u.bits;
}

static inline double gfx9_f64(u64 bits)
{
	union {
		u64 bits;
		double value;
	} u = { .bits = bits };

	return u.value;
}

static inline u64 gfx9_f64_bits(double value)
{
	union {
		double value;
		u64 bits;
	} u = { .value = value };

	return u.bits;
}

static inline bool gfx9_is_nan32(u32 bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

static inline bool gfx9_is_nan64(u64 bits)
{
	return (bits & ~0ull >> 1) > 0x7ff0000000000000ull;
}

/* The sum rounded to odd: rounding it again, to less, is as if done at once. */
static inline double gfx9_add_to_odd(double a, double b)
{
	const double sum = a + b;
	const double part = sum - a;
	const double error = (a - (sum - part)) + (b - part);
	u64 bits = gfx9_f64_bits(sum);

	if (!(error < 0 || error > 0) || bits & 1)
		return sum;
	return gfx9_f64((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/* 2 to the @exponent, which is within the normal numbers. */
static inline double gfx9_power_of_two(s32 exponent)
{
	return gfx9_f64((u64)(1023 + exponent) << 52);
}

double gfx9_sqrt(double value);
double gfx9_floor(double value);
double gfx9_trunc(double value);
double gfx9_round_even(double value);
double gfx9_exp2(double value);
double gfx9_log2(double value);
/* Of @turns full circles. */
double gfx9_sin_turns(double turns);
/* The value times 2 to the @exponent. */
double gfx9_scale(double value, s32 exponent);
double gfx9_fma64(double a, double b, double c);
/* Times 2 to the @exponent, rounded once. */
double gfx9_fma64_scaled(double a, double b, double c, s32 exponent);
u32 gfx9_class32(u32 bits);
u32 gfx9_class64(u64 bits);
u32 gfx9_class16(u32 bits);

/* Half floats. @mode: 0 to nearest even, 1 up, 2 down, 3 to zero. */
double gfx9_from_half(u32 half);
u32 gfx9_to_half(double value, u32 mode);

#endif
