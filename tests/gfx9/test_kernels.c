// SPDX-License-Identifier: Apache-2.0
/* The kernels of kernels.hip, compiled by hipcc, against the same in C on the host. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/gp_test.h"
#include "tests/gfx9/kernels_co.h"
#include "tests/gfx9/machine.h"

#define MEMORY_BYTES (64u << 20)
#define BUDGET 1000

static int setup(void **state)
{
	struct machine *m = machine_create(MEMORY_BYTES);

	machine_load(m, kernels_co, sizeof(kernels_co));
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	machine_destroy(*state);
	return 0;
}

static void launch(struct machine *m, const char *name, u32 groups, u32 group, const void *args,
		   u32 arg_bytes)
{
	struct launch l = {
		.kernel = machine_kernel(m, name),
		.groups = { groups },
		.group = { group },
		.args = args,
		.arg_bytes = arg_bytes,
	};
	struct gfx9_result result;

	assert_true(l.kernel);
	machine_run(m, &l, BUDGET, &result);
	if (result.stop == GFX9_STOP_UNKNOWN)
		fail_msg("%s: %s %08x %08x at %llx", name, result.mnemonic ? result.mnemonic : "?",
			 result.encoding[0], result.encoding[1], (unsigned long long)result.pc);
	assert_int_equal(result.stop, GFX9_STOP_ENDED);
}

/* Floats of moderate size and both signs. */
static u64 random_floats(struct machine *m, u32 count)
{
	const u64 va = machine_alloc(m, count * 4);
	float *at = machine_at(m, va);

	for (u32 i = 0; i < count; i++)
		at[i] = (float)((s32)random32()) / (1 << 24);
	return va;
}

static u32 float_bits(float value)
{
	u32 bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static bool same_float(float a, float b)
{
	return float_bits(a) == float_bits(b) || (isnan(a) && isnan(b));
}

static void check_axpy(void **state)
{
	enum {
		N = 1000
	};
	struct machine *m = *state;
	const u64 a = random_floats(m, N), b = random_floats(m, N);
	struct {
		u64 a, b;
		float factor;
		int n;
	} args = { a, b, 1.7f, N };
	float want[N];

	for (u32 i = 0; i < N; i++)
		want[i] =
			fmaf(((float *)machine_at(m, a))[i], 1.7f, ((float *)machine_at(m, b))[i]);
	launch(m, "axpy", 4, 256, &args, sizeof(args));
	for (u32 i = 0; i < N; i++)
		assert_true(same_float(((float *)machine_at(m, a))[i], want[i]));
}

/* Any bits, also subnormals, infinities and NaNs. */
static void check_divide(void **state)
{
	enum {
		N = 65536
	};
	struct machine *m = *state;
	struct {
		u64 q, r, a, b;
		int n;
	} args = {
		machine_alloc(m, N * 4),
		machine_alloc(m, N * 4),
		random_words(m, N),
		random_words(m, N),
		N,
	};
	const float *q = machine_at(m, args.q), *r = machine_at(m, args.r);
	const float *a = machine_at(m, args.a), *b = machine_at(m, args.b);

	launch(m, "divide", N / 256, 256, &args, sizeof(args));
	for (u32 i = 0; i < N; i++) {
		if (!same_float(q[i], a[i] / b[i]))
			fail_msg("%a / %a = %a, not %a", a[i], b[i], a[i] / b[i], q[i]);
		/* hipcc's default square root is within 1 ULP, not exact. */
		if (fabsf(b[i]) >= 1e-30f && isfinite(b[i]))
			assert_true(fabsf(r[i] - sqrtf(fabsf(b[i]))) <= r[i] * 2e-7f);
	}
}

static void check_divide64(void **state)
{
	enum {
		N = 16384
	};
	struct machine *m = *state;
	struct {
		u64 q, r, a, b;
		int n;
	} args = {
		machine_alloc(m, N * 8),
		machine_alloc(m, N * 8),
		random_words(m, N * 2),
		random_words(m, N * 2),
		N,
	};
	const double *q = machine_at(m, args.q), *r = machine_at(m, args.r);
	const double *a = machine_at(m, args.a), *b = machine_at(m, args.b);

	launch(m, "divide64", N / 256, 256, &args, sizeof(args));
	for (u32 i = 0; i < N; i++) {
		const double want = a[i] / b[i], sum = fma(a[i], b[i], want);

		if (q[i] != want && !(isnan(q[i]) && isnan(want)))
			fail_msg("%a / %a = %a, not %a", a[i], b[i], want, q[i]);
		if (r[i] != sum && !(isnan(r[i]) && isnan(sum)))
			fail_msg("fma(%a, %a, %a) = %a, not %a", a[i], b[i], want, sum, r[i]);
	}
}

static void close_to(double got, double want, const char *what, double of)
{
	if (isnan(got) && isnan(want))
		return;
	if (isinf(want) && got == want)
		return;
	if (!(fabs(got - want) <= 4e-7 * (fabs(want) > 0.01 ? fabs(want) : 1)))
		fail_msg("%s(%a) = %.9g, not %.9g", what, of, want, got);
}

static void check_functions(void **state)
{
	enum {
		N = 4096
	};
	struct machine *m = *state;
	struct {
		u64 out, in;
		int n;
	} args = {
		machine_alloc(m, N * 32),
		random_floats(m, N),
		N,
	};
	const float *in = machine_at(m, args.in), *out = machine_at(m, args.out);

	launch(m, "functions", N / 64, 64, &args, sizeof(args));
	for (u32 i = 0; i < N; i++, out += 8) {
		const float x = in[i];

		if (isnormal((float)exp(x)))
			close_to(out[0] / exp(x), 1, "exp/exp", x);
		else
			assert_true(same_float(out[0], (float)exp(x)) ||
				    fabs(out[0] - (float)exp(x)) < 1e-44);
		close_to(out[1], log(x), "log", x);
		close_to(out[2], sin(x), "sin", x);
		close_to(out[3], cos(x), "cos", x);
		assert_true(same_float(out[4], floorf(x)));
		assert_true(same_float(out[5], rintf(x)));
		assert_true(same_float(out[6], x - truncf(x)));
		assert_true(same_float(out[7], fminf(fmaxf(x, -1), 1)));
	}
}

static void check_reduce(void **state)
{
	enum {
		N = 5000
	};
	struct machine *m = *state;
	struct {
		u64 sum, in;
		int n;
	} args = {
		machine_alloc(m, 8),
		random_words(m, N),
		N,
	};
	const u32 *in = machine_at(m, args.in);
	u64 want = 0, sum;

	for (u32 first = 0; first < N; first += 256) {
		u32 part = 0;

		for (u32 i = first; i < first + 256 && i < N; i++)
			part += in[i];
		want += part;
	}
	launch(m, "reduce", (N + 255) / 256, 256, &args, sizeof(args));
	memcpy(&sum, machine_at(m, args.sum), sizeof(sum));
	assert_true(sum == want);
}

static void check_collatz(void **state)
{
	enum {
		N = 1000
	};
	struct machine *m = *state;
	struct {
		u64 out;
		int n;
	} args = { machine_alloc(m, N * 4), N };
	const u32 *out = machine_at(m, args.out);

	launch(m, "collatz", (N + 127) / 128, 128, &args, sizeof(args));
	for (u32 i = 0; i < N; i++) {
		u64 value = i + 1;
		u32 steps = 0;

		for (; value != 1; steps++)
			value = value & 1 ? 3 * value + 1 : value / 2;
		assert_int_equal(out[i], steps);
	}
}

static u32 count_bits(u32 value)
{
	return (u32)__builtin_popcount(value);
}

static u32 reversed(u32 value)
{
	u32 result = 0;

	for (u32 i = 0; i < 32; i++)
		result |= (value >> i & 1) << (31 - i);
	return result;
}

static u32 integer(u32 which, u32 a, u32 b)
{
	const u64 wide = (u64)a << 32 | b;

	switch (which) {
	case 0:
		return a / (b | 1);
	case 1:
		return a % (b | 1);
	case 2:
		return (u32)((s64)(s32)a / ((s32)b | 1));
	case 3:
		return (u64)a * b >> 32;
	case 4:
		return (u64)((s64)(s32)a * (s32)b) >> 32;
	case 5:
		return count_bits(a) + (b ? (u32)__builtin_clz(b) : 32) * 100;
	case 6:
		return reversed(a);
	case 7:
		return b ? (u32)__builtin_ctz(b) + 1 : 0;
	case 8:
		return wide * wide >> 32;
	case 9:
		return wide / (b | 1);
	case 10:
		return wide >> (b & 63);
	case 11:
		return (u64)((s64)wide >> (a & 63)) + (wide << (b & 31));
	case 12:
		return (u8)(a + b) | (u32)(u16)(a - b) << 8;
	case 13:
		return (s32)(s8)(a >> 8) * (s16)b;
	case 14:
		return (a < b ? a : b) ^ (u32)((s32)a > (s32)b ? a : b);
	default:
		return a > b ? a << (b & 31) | a >> (-b & 31) : ~b;
	}
}

static void check_integers(void **state)
{
	enum {
		N = 4096
	};
	struct machine *m = *state;
	struct {
		u64 out, in;
		int n;
	} args = {
		machine_alloc(m, N * 64),
		random_words(m, N * 2),
		N,
	};
	const u32 *in = machine_at(m, args.in), *out = machine_at(m, args.out);

	launch(m, "integers", N / 256, 256, &args, sizeof(args));
	for (u32 i = 0; i < N; i++)
		for (u32 k = 0; k < 16; k++)
			if (out[16 * i + k] != integer(k, in[2 * i], in[2 * i + 1]))
				fail_msg("integer %u of %08x, %08x: %08x, not %08x", k, in[2 * i],
					 in[2 * i + 1], integer(k, in[2 * i], in[2 * i + 1]),
					 out[16 * i + k]);
}

static void check_grid3(void **state)
{
	enum {
		W = 24,
		H = 15,
		D = 6
	};
	struct machine *m = *state;
	struct {
		u64 out;
		int width, height;
	} args = { machine_alloc(m, W * H * D * 4), W, H };
	const u32 *out = machine_at(m, args.out);
	struct launch l = {
		.kernel = machine_kernel(m, "grid3"),
		.groups = { 3, 3, 3 },
		.group = { 8, 5, 2 },
		.args = &args,
		.arg_bytes = sizeof(args),
	};
	struct gfx9_result result;

	machine_run(m, &l, BUDGET, &result);
	assert_int_equal(result.stop, GFX9_STOP_ENDED);
	for (u32 z = 0; z < D; z++)
		for (u32 y = 0; y < H; y++)
			for (u32 x = 0; x < W; x++)
				assert_int_equal(out[(z * H + y) * W + x], x | y << 10 | z << 20);
}

/* The last workgroups of a grid are smaller than the others. */
static void check_partial(void **state)
{
	enum {
		W = 21,
		H = 13
	};
	struct machine *m = *state;
	struct {
		u64 out;
		int width;
	} args = { machine_alloc(m, W * (H + 1) * 4), W };
	u32 *out = machine_at(m, args.out);
	struct launch l = {
		.kernel = machine_kernel(m, "partial"),
		.items = { W, H, 1 },
		.group = { 16, 16, 1 },
		.args = &args,
		.arg_bytes = sizeof(args),
	};
	struct gfx9_result result;

	memset(out, 0xff, W * (H + 1) * 4);
	machine_run(m, &l, BUDGET, &result);
	assert_int_equal(result.stop, GFX9_STOP_ENDED);
	for (u32 y = 0; y < H; y++)
		for (u32 x = 0; x < W; x++)
			assert_int_equal(out[y * W + x], x | y << 10);
	assert_int_equal(out[W * H], ~0u);
}

static void check_scratch(void **state)
{
	enum {
		N = 300
	};
	struct machine *m = *state;
	struct {
		u64 out, in;
		int n;
	} args = {
		machine_alloc(m, N * 4),
		random_words(m, N),
		N,
	};
	const u32 *in = machine_at(m, args.in), *out = machine_at(m, args.out);

	launch(m, "scratch", 2, 192, &args, sizeof(args));
	for (u32 i = 0; i < N; i++) {
		u32 count[100] = { 0 }, sum = 0;

		for (u32 k = 0; k < 64; k++)
			count[in[(i + k) % N] % 100] += k;
		for (u32 k = 0; k < 100; k++)
			sum = sum * 31 + count[(k + i) % 100];
		assert_int_equal(out[i], sum);
	}
}

static void check_bytes(void **state)
{
	enum {
		N = 500
	};
	struct machine *m = *state;
	struct {
		u64 out, in, s;
		int n;
	} args = {
		machine_alloc(m, N * 4),
		random_words(m, N / 4),
		random_words(m, N / 2),
		N,
	};
	const u8 *in = machine_at(m, args.in), *out = machine_at(m, args.out);
	const s16 *s = machine_at(m, args.s);

	launch(m, "bytes", 2, 256, &args, sizeof(args));
	for (u32 i = 0; i < N; i++) {
		assert_int_equal(out[i], (u8)(in[N - 1 - i] + 1));
		assert_int_equal(out[N + i], (u8)(s[i] >> 3));
		assert_int_equal(((const s16 *)(out + 2 * N))[i], (s16)(s[i] * (s8)in[i]));
	}
}

static void check_atomics(void **state)
{
	enum {
		N = 1024
	};
	struct machine *m = *state;
	struct {
		u64 at;
		int n;
	} args = { machine_alloc(m, 64), N };
	u32 *at = machine_at(m, args.at);
	u32 want_xor = 0, bins[8] = { 0 };

	at[1] = 5000;
	launch(m, "atomics", 4, 256, &args, sizeof(args));
	for (u32 i = 0; i < N; i++) {
		want_xor ^= i * 7;
		bins[i & 7] += i;
	}
	assert_int_equal(at[0], N - 1);
	assert_int_equal(at[1], 0);
	assert_int_equal(at[2], want_xor);
	assert_int_equal(at[3], ~0u);
	assert_int_equal(at[4], N % 101);
	assert_int_equal(at[5], 3 * N);
	for (u32 i = 0; i < 8; i++)
		assert_int_equal(at[8 + i], bins[i]);
}

static void check_lanes(void **state)
{
	struct machine *m = *state;
	struct {
		u64 out;
	} args = { machine_alloc(m, 64 * 16) };
	const u32 *out = machine_at(m, args.out);
	u32 fives = 0;

	for (u32 i = 0; i < 64; i++)
		fives += (i * 3 + 1) % 5 == 0;
	launch(m, "lanes", 1, 64, &args, sizeof(args));
	for (u32 i = 0; i < 64; i++) {
		assert_int_equal(out[i * 4], ((i + 5) & 63) * 3 + 1);
		assert_int_equal(out[i * 4 + 1], (i ^ 9) * 3 + 1);
		assert_int_equal(out[i * 4 + 2], fives);
		assert_int_equal(out[i * 4 + 3], (i ? i - 1 : 0) * 3 + 1);
	}
}

static void check_calls(void **state)
{
	struct machine *m = *state;
	struct {
		u64 out;
	} args = { machine_alloc(m, 64 * 4) };
	const u32 *out = machine_at(m, args.out);

	launch(m, "calls", 1, 64, &args, sizeof(args));
	for (u32 i = 0; i < 64; i++)
		assert_int_equal(out[i], 2 * (i % 4) + 3);
}

static void check_matmul(void **state)
{
	enum {
		N = 48
	};
	struct machine *m = *state;
	struct {
		u64 c, a, b;
		int n;
	} args = {
		machine_alloc(m, N * N * 4),
		random_floats(m, N * N),
		random_floats(m, N * N),
		N,
	};
	const float *a = machine_at(m, args.a), *b = machine_at(m, args.b);
	const float *c = machine_at(m, args.c);
	struct launch l = {
		.kernel = machine_kernel(m, "matmul"),
		.groups = { N / 16, N / 16 },
		.group = { 16, 16 },
		.args = &args,
		.arg_bytes = sizeof(args),
	};
	struct gfx9_result result;

	machine_run(m, &l, BUDGET, &result);
	assert_int_equal(result.stop, GFX9_STOP_ENDED);
	for (u32 y = 0; y < N; y++)
		for (u32 x = 0; x < N; x++) {
			float sum = 0;

			for (u32 k = 0; k < N; k++)
				sum = fmaf(a[y * N + k], b[k * N + x], sum);
			assert_true(same_float(c[y * N + x], sum));
		}
}

static void check_spin(void **state)
{
	struct machine *m = *state;
	struct {
		u64 out;
		int turns;
	} args = { machine_alloc(m, 256 * 4), 100 };
	const u32 *out = machine_at(m, args.out);

	launch(m, "spin", 1, 256, &args, sizeof(args));
	for (u32 lane = 0; lane < 256; lane++) {
		u32 x = lane + 1;

		for (u32 i = 0; i < 100; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			x += i;
		}
		assert_int_equal(out[lane], x);
	}
}

#define ON_MACHINE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_MACHINE(check_axpy),	     ON_MACHINE(check_divide), ON_MACHINE(check_divide64),
		ON_MACHINE(check_functions), ON_MACHINE(check_reduce), ON_MACHINE(check_collatz),
		ON_MACHINE(check_integers),  ON_MACHINE(check_grid3),  ON_MACHINE(check_partial),
		ON_MACHINE(check_scratch),   ON_MACHINE(check_bytes),  ON_MACHINE(check_atomics),
		ON_MACHINE(check_lanes),     ON_MACHINE(check_calls),  ON_MACHINE(check_matmul),
		ON_MACHINE(check_spin),
	};

	return gp_run_tests(tests);
}
