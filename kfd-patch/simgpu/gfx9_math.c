// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Replacements for the C library. The transcendental functions are computed in doubles to
 * about 1e-12. Rounded to float they are within the 1 ULP that the hardware promises; its
 * exact bits are not documented.
 */
#include "gfx9_math.h"

double gfx9_sqrt(double value)
{
	double root;

	asm("sqrtsd %1, %0" : "=x"(root) : "x"(value));
	return root;
}

/* From here on doubles have no fraction. */
#define NO_FRACTION 4503599627370496.0

static bool is_whole(double value)
{
	return !(value > -NO_FRACTION && value < NO_FRACTION);
}

static double with_sign_of(double value, double sign)
{
	return gfx9_f64((gfx9_f64_bits(value) & ~(1ull << 63)) |
			(gfx9_f64_bits(sign) & 1ull << 63));
}

double gfx9_trunc(double value)
{
	if (is_whole(value))
		return value;
	return with_sign_of((double)(s64)value, value);
}

double gfx9_floor(double value)
{
	const double whole = gfx9_trunc(value);

	return whole > value ? whole - 1 : whole;
}

double gfx9_round_even(double value)
{
	double down, rest;

	if (is_whole(value))
		return value;
	down = gfx9_floor(value);
	rest = value - down;
	if (rest > 0.5 || (rest == 0.5 && (s64)down & 1))
		down += 1;
	return with_sign_of(down, value);
}

double gfx9_exp2(double value)
{
	/* ln(2)^n / n! */
	static const double term[] = {
		1.0,
		0.69314718055994530942,
		0.24022650695910071233,
		0.055504108664821579953,
		0.0096181291076284771619,
		0.0013333558146428443423,
		0.00015403530393381609954,
		1.5252733804059840281e-05,
		1.3215486790144309488e-06,
		1.0178086009239699728e-07,
		7.0549116208011233299e-09,
	};
	double whole, rest, sum = 0;

	if (value != value)
		return value;
	if (value > 1100)
		return gfx9_f64(0x7ff0000000000000ull);
	if (value < -1100)
		return 0;
	whole = gfx9_round_even(value);
	rest = value - whole;
	for (s32 i = sizeof(term) / sizeof(term[0]) - 1; i >= 0; i--)
		sum = sum * rest + term[i];
	return gfx9_scale(sum, (s32)whole);
}

double gfx9_log2(double value)
{
	u64 bits = gfx9_f64_bits(value);
	s32 exponent;
	double mantissa, t, square, sum = 0;

	if (value != value || bits == 0x7ff0000000000000ull)
		return value;
	if (value == 0)
		return -gfx9_f64(0x7ff0000000000000ull);
	if (value < 0)
		return gfx9_f64(0x7ff8000000000000ull);
	if (!(bits >> 52)) {
		bits = gfx9_f64_bits(value * gfx9_power_of_two(64));
		exponent = -64;
	} else {
		exponent = 0;
	}
	exponent += (s32)(bits >> 52) - 1023;
	mantissa = gfx9_f64((bits & 0xfffffffffffffull) | 1023ull << 52);
	if (mantissa > 1.41421356237309504880) {
		mantissa *= 0.5;
		exponent++;
	}
	/* ln(m) = 2 atanh(t), t = (m - 1) / (m + 1), |t| < 0.172 */
	t = (mantissa - 1) / (mantissa + 1);
	square = t * t;
	for (s32 n = 17; n >= 1; n -= 2)
		sum = sum * square + 1.0 / n;
	return exponent + 2 * t * sum * 1.44269504088896340736;
}

double gfx9_sin_turns(double turns)
{
	const double two_pi = 6.28318530717958647693;
	double x, square, sum = 1;

	turns -= gfx9_round_even(turns); /* [-0.5, 0.5] */
	if (turns > 0.25)
		turns = 0.5 - turns;
	else if (turns < -0.25)
		turns = -0.5 - turns;
	x = turns * two_pi; /* [-pi/2, pi/2] */
	square = x * x;
	for (s32 n = 19; n >= 3; n -= 2)
		sum = 1 - sum * square / (n * (n - 1));
	return x * sum;
}

/* ---- fused multiply and add of doubles --------------------------------------------------- */

/* Value: mantissa * 2^exponent. */
struct wide_float {
	unsigned __int128 mantissa;
	s32 exponent;
	bool negative;
};

static s32 top_bit(unsigned __int128 value)
{
	const u64 high = value >> 64;

	return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((u64)value);
}

/* The top bit to bit 125: room for a carry. */
static void normalise(struct wide_float *value)
{
	const s32 up = 125 - top_bit(value->mantissa);

	if (up >= 0)
		value->mantissa <<= up;
	else
		value->mantissa = value->mantissa >> -up |
				  !!(value->mantissa & (((unsigned __int128)1 << -up) - 1));
	value->exponent -= up;
}

static struct wide_float unpack(double value)
{
	const u64 bits = gfx9_f64_bits(value);
	const s32 exponent = bits >> 52 & 0x7ff;

	return (struct wide_float){
		.mantissa = (bits & 0xfffffffffffffull) | (exponent ? 1ull << 52 : 0),
		.exponent = (exponent ? exponent : 1) - 1075,
		.negative = bits >> 63,
	};
}

/* To nearest even; the value is normalised. */
static double pack(const struct wide_float *value)
{
	const u64 sign = (u64)value->negative << 63;
	s32 exponent = value->exponent + 125 + 1023;
	s32 drop = 125 - 52;
	unsigned __int128 rest, half;
	u64 bits;

	if (exponent >= 0x7ff)
		return gfx9_f64(sign | 0x7ff0000000000000ull);
	if (exponent <= 0) {
		drop += 1 - exponent;
		exponent = 0;
		if (drop > 127)
			return gfx9_f64(sign);
	}
	bits = value->mantissa >> drop;
	rest = value->mantissa & (((unsigned __int128)1 << drop) - 1);
	half = (unsigned __int128)1 << (drop - 1);
	if (exponent)
		bits = (bits & 0xfffffffffffffull) | (u64)exponent << 52;
	/* A carry out of the mantissa goes to the exponent, as it must. */
	if (rest > half || (rest == half && bits & 1))
		bits++;
	return gfx9_f64(sign | bits);
}

static struct wide_float add_wide(struct wide_float a, struct wide_float b)
{
	struct wide_float swap;
	s32 shift;

	if (a.exponent < b.exponent || (a.exponent == b.exponent && a.mantissa < b.mantissa)) {
		swap = a;
		a = b;
		b = swap;
	}
	shift = a.exponent - b.exponent;
	if (shift > 126)
		b.mantissa = 1;
	else if (shift)
		b.mantissa = b.mantissa >> shift |
			     !!(b.mantissa & (((unsigned __int128)1 << shift) - 1));
	a.mantissa = a.negative == b.negative ? a.mantissa + b.mantissa : a.mantissa - b.mantissa;
	return a;
}

double gfx9_fma64(double a, double b, double c)
{
	return gfx9_fma64_scaled(a, b, c, 0);
}

double gfx9_fma64_scaled(double a, double b, double c, s32 exponent)
{
	struct wide_float product = unpack(a), factor = unpack(b), sum = unpack(c);
	const u64 exponents = 0x7ff0000000000000ull;

	/* Infinities, NaNs and zeroes: rounding twice does not differ from once. */
	if ((gfx9_f64_bits(a) & exponents) == exponents ||
	    (gfx9_f64_bits(b) & exponents) == exponents ||
	    (gfx9_f64_bits(c) & exponents) == exponents || a == 0 || b == 0)
		return a * b + c;
	product.mantissa *= factor.mantissa;
	product.exponent += factor.exponent + exponent;
	sum.exponent += exponent;
	product.negative ^= factor.negative;
	normalise(&product);
	if (c == 0)
		return pack(&product);
	normalise(&sum);
	sum = add_wide(product, sum);
	if (!sum.mantissa)
		return 0;
	normalise(&sum);
	return pack(&sum);
}

double gfx9_scale(double value, s32 exponent)
{
	const u64 exponents = 0x7ff0000000000000ull;
	struct wide_float scaled = unpack(value);

	if (value == 0 || (gfx9_f64_bits(value) & exponents) == exponents)
		return value;
	if (exponent > 4400)
		exponent = 4400;
	if (exponent < -4400)
		exponent = -4400;
	normalise(&scaled);
	scaled.exponent += exponent;
	return pack(&scaled);
}

/* ---- classes: the bits of v_cmp_class ----------------------------------------------------- */

enum {
	CLASS_SIGNALING_NAN = 1 << 0,
	CLASS_QUIET_NAN = 1 << 1,
	CLASS_MINUS_INFINITY = 1 << 2,
	CLASS_MINUS_NORMAL = 1 << 3,
	CLASS_MINUS_SUBNORMAL = 1 << 4,
	CLASS_MINUS_ZERO = 1 << 5,
	CLASS_PLUS_ZERO = 1 << 6,
	CLASS_PLUS_SUBNORMAL = 1 << 7,
	CLASS_PLUS_NORMAL = 1 << 8,
	CLASS_PLUS_INFINITY = 1 << 9,
};

static u32 class_of(bool negative, bool exponent_full, bool exponent_zero, u64 fraction,
		    u64 quiet_bit)
{
	if (exponent_full && fraction)
		return fraction & quiet_bit ? CLASS_QUIET_NAN : CLASS_SIGNALING_NAN;
	if (exponent_full)
		return negative ? CLASS_MINUS_INFINITY : CLASS_PLUS_INFINITY;
	if (!exponent_zero)
		return negative ? CLASS_MINUS_NORMAL : CLASS_PLUS_NORMAL;
	if (fraction)
		return negative ? CLASS_MINUS_SUBNORMAL : CLASS_PLUS_SUBNORMAL;
	return negative ? CLASS_MINUS_ZERO : CLASS_PLUS_ZERO;
}

u32 gfx9_class32(u32 bits)
{
	const u32 exponent = bits >> 23 & 0xff;

	return class_of(bits >> 31, exponent == 0xff, !exponent, bits & 0x7fffff, 1u << 22);
}

u32 gfx9_class64(u64 bits)
{
	const u32 exponent = bits >> 52 & 0x7ff;

	return class_of(bits >> 63, exponent == 0x7ff, !exponent, bits & 0xfffffffffffffull,
			1ull << 51);
}

u32 gfx9_class16(u32 bits)
{
	const u32 exponent = bits >> 10 & 0x1f;

	return class_of(bits >> 15 & 1, exponent == 0x1f, !exponent, bits & 0x3ff, 1u << 9);
}

/* ---- half floats -------------------------------------------------------------------- */

double gfx9_from_half(u32 half)
{
	const u64 sign = (u64)(half >> 15 & 1) << 63;
	const u32 exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;

	if (exponent == 0x1f)
		return gfx9_f64(sign | 0x7ff0000000000000ull | (u64)fraction << 42);
	if (exponent)
		return gfx9_f64(sign | (u64)(exponent + 1023 - 15) << 52 | (u64)fraction << 42);
	return with_sign_of(fraction * gfx9_power_of_two(-24), gfx9_f64(sign));
}

static bool rounds_up(u32 mode, bool negative, u64 rest, u64 half, bool odd)
{
	switch (mode) {
	case 0:
		return rest > half || (rest == half && odd);
	case 1:
		return rest && !negative;
	case 2:
		return rest && negative;
	default:
		return false;
	}
}

u32 gfx9_to_half(double value, u32 mode)
{
	const u64 bits = gfx9_f64_bits(value);
	const bool negative = bits >> 63;
	const u32 sign = (u32)negative << 15;
	const u64 fraction = bits & 0xfffffffffffffull;
	s32 exponent = (s32)(bits >> 52 & 0x7ff) - 1023 + 15;
	u64 mantissa = fraction | 1ull << 52;
	u32 drop = 42, half;

	if ((bits >> 52 & 0x7ff) == 0x7ff)
		return sign | 0x7c00 | (fraction ? 0x200 | (u32)(fraction >> 42) : 0);
	if (!(bits >> 52 & 0x7ff))
		mantissa = !!fraction;
	if (exponent <= 0) {
		drop += 1 - exponent;
		/* Too small for any bit of it to stay. */
		if (drop > 60) {
			drop = 60;
			mantissa = !!mantissa;
		}
		exponent = 0;
	}
	half = mantissa >> drop;
	if (exponent)
		half = (half & 0x3ff) | (u32)(exponent > 0x1f ? 0x1f : exponent) << 10;
	if (exponent >= 0x1f)
		return sign | (rounds_up(mode, negative, 1, 0, true) ? 0x7c00 : 0x7bff);
	half += rounds_up(mode, negative, mantissa & ((1ull << drop) - 1), 1ull << (drop - 1),
			  half & 1);
	return sign | half;
}
