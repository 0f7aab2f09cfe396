// SPDX-License-Identifier: Apache-2.0
/*
 * Corner cases that a random operand hardly ever hits, each with the result that the
 * ISA reference gives or implies.
 */
#include "tests/common/gp_test.h"
#include "tests/gfx9/machine.h"
#include "tests/gfx9/probe.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Modes: hipcc's, the same with f32's subnormals flushed, and without IEEE. */
#define MODE_HIP 0x3f0
#define MODE_FLUSH 0x3c0
#define MODE_PLAIN 0x1c0

static void all_lanes(u32 *row, u32 value)
{
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		row[lane] = value;
}

/* ---- scalar ---------------------------------------------------------------------- */

/* s4 = s2 OP s3, or s[4:5] = s[2:3] OP s6. */
struct scalar {
	const char *text;
	u32 word;
	u32 s2, s3, s6;
	u32 want, want_high;
	u32 scc;
	bool wide;
};

static const struct scalar scalars[] = {
	{ "s_absdiff_i32 s4, s2, s3", 0x95040302, 2, 5, 0, 3, 0, 1, false },
	{ "s_absdiff_i32 s4, s2, s3", 0x95040302, 0xffffffff, 0, 0, 1, 0, 1, false },
	{ "s_absdiff_i32 s4, s2, s3", 0x95040302, 7, 7, 0, 0, 0, 0, false },
	{ "s_absdiff_i32 s4, s2, s3", 0x95040302, 0x80000000, 0, 0, 0x80000000, 0, 1, false },
	{ "s_absdiff_i32 s4, s2, s3", 0x95040302, 0x80000000, 1, 0, 0x7fffffff, 0, 1, false },
	{ "s_absdiff_i32 s4, s2, s3", 0x95040302, 0x80000000, 0xffffffff, 0, 0x7fffffff, 0, 1,
	  false },
	{ "s_absdiff_i32 s4, s2, s3", 0x95040302, 0x80000000, 0xfffffffe, 0, 0x7ffffffe, 0, 1,
	  false },
	{ "s_bfe_u32 s4, s2, s3", 0x92840302, 0x89abcdef, 8 | 12 << 16, 0, 0xbcd, 0, 1, false },
	{ "s_bfe_u32 s4, s2, s3", 0x92840302, 0x89abcdef, 8 | 32 << 16, 0, 0x89abcd, 0, 1, false },
	{ "s_bfe_u32 s4, s2, s3", 0x92840302, 0x89abcdef, 8, 0, 0, 0, 0, false },
	{ "s_bfe_i32 s4, s2, s3", 0x93040302, 0x89abcdef, 8 | 12 << 16, 0, 0xfffffbcd, 0, 1,
	  false },
	{ "s_bfe_i32 s4, s2, s3", 0x93040302, 0x89abcdef, 28 | 12 << 16, 0, 0xfffffff8, 0, 1,
	  false },
	{ "s_bfe_i32 s4, s2, s3", 0x93040302, 0x89abcdef, 0x7f << 16, 0, 0x89abcdef, 0, 1, false },
	{ "s_bfe_u64 s[4:5], s[2:3], s6", 0x93840602, 0x89abcdef, 0xf1234567, 60 | 8 << 16, 0xf, 0,
	  1, true },
	{ "s_bfe_i64 s[4:5], s[2:3], s6", 0x94040602, 0x89abcdef, 0xf1234567, 60 | 3 << 16,
	  0xffffffff, 0xffffffff, 1, true },
	{ "s_bfe_i64 s[4:5], s[2:3], s6", 0x94040602, 0x89abcdef, 0xf1234567, 60 | 8 << 16,
	  0xffffffff, 0xffffffff, 1, true },
	{ "s_lshl4_add_u32 s4, s2, s3", 0x98840302, 0x10000000, 5, 0, 5, 0, 1, false },
	{ "s_lshl4_add_u32 s4, s2, s3", 0x98840302, 0x0fffffff, 0xf, 0, 0xffffffff, 0, 0, false },
	{ "s_sub_i32 s4, s2, s3", 0x81840302, 0x80000000, 1, 0, 0x7fffffff, 0, 1, false },
	{ "s_sub_i32 s4, s2, s3", 0x81840302, 0, 1, 0, 0xffffffff, 0, 0, false },
	{ "s_subb_u32 s4, s2, s3", 0x82840302, 0, 0xffffffff, 0, 0, 0, 1, false },
	{ "s_mul_hi_i32 s4, s2, s3", 0x96840302, 0x80000000, 0x80000000, 0, 0x40000000, 0, 1,
	  false },
	{ "s_min_i32 s4, s2, s3", 0x83040302, 0x80000000, 1, 0, 0x80000000, 0, 1, false },
	{ "s_min_i32 s4, s2, s3", 0x83040302, 1, 1, 0, 1, 0, 0, false },
};

/* SCC is 1 before: s_subb_u32 uses it as a borrow, and s_mul_hi_i32 keeps it. */
static void check_scalars(void **state)
{
	struct probe *p = *state;

	for (u32 i = 0; i < COUNT(scalars); i++) {
		const struct scalar *s = &scalars[i];

		randomise(&p->before, ~0ull);
		p->before.s[2] = s->s2;
		p->before.s[3] = s->s3;
		p->before.s[6] = s->s6;
		p->before.scc = 1;
		run_one(p, s->word, 0, 1);
		if (p->after.s[4] != s->want || p->after.scc != s->scc ||
		    (s->wide && p->after.s[5] != s->want_high))
			fail_msg("%s of %08x, %08x, %08x: %08x %08x, SCC %u", s->text, s->s2, s->s3,
				 s->s6, p->after.s[4], p->after.s[5], p->after.scc);
	}
}

/* ---- atomics, through LDS ---------------------------------------------------------- */

struct atomic {
	const char *text;
	u32 first; /* ds_..._rtn v4 or v[4:5], v1, v8 or v[8:9] (, v10 ...) */
	u64 before, data, second;
	u64 want;
	bool wide;
};

#define MIN64 0x8000000000000000ull

static const struct atomic atomics[] = {
	{ "ds_add_rtn_u32", 0xd8400000, 0xffffffff, 2, 0, 1, false },
	{ "ds_sub_rtn_u32", 0xd8420000, 1, 2, 0, 0xffffffff, false },
	{ "ds_rsub_rtn_u32", 0xd8440000, 2, 1, 0, 0xffffffff, false },
	{ "ds_inc_rtn_u32", 0xd8460000, 5, 5, 0, 0, false },
	{ "ds_inc_rtn_u32", 0xd8460000, 0xffffffff, 0xffffffff, 0, 0, false },
	{ "ds_dec_rtn_u32", 0xd8480000, 0, 9, 0, 9, false },
	{ "ds_dec_rtn_u32", 0xd8480000, 10, 9, 0, 9, false },
	{ "ds_min_rtn_i32", 0xd84a0000, 0x80000000, 1, 0, 0x80000000, false },
	{ "ds_max_rtn_i32", 0xd84c0000, 0x80000000, 1, 0, 1, false },
	{ "ds_min_rtn_u32", 0xd84e0000, 0x80000000, 1, 0, 1, false },
	{ "ds_max_rtn_u32", 0xd8500000, 0x80000000, 1, 0, 0x80000000, false },
	{ "ds_mskor_rtn_b32", 0xd8580000, 0x12345678, 0x00ffff00, 0x00abcd01, 0x12abcd79, false },
	{ "ds_cmpst_rtn_b32", 0xd8600000, 7, 7, 8, 8, false },
	{ "ds_cmpst_rtn_b32", 0xd8600000, 6, 7, 8, 6, false },
	{ "ds_add_rtn_u64", 0xd8c00000, ~0ull, 2, 0, 1, true },
	{ "ds_add_rtn_u64", 0xd8c00000, 0xffffffff, 1, 0, 0x100000000ull, true },
	{ "ds_inc_rtn_u64", 0xd8c60000, 0x100000000ull, 0xffffffff, 0, 0, true },
	{ "ds_dec_rtn_u64", 0xd8c80000, 0x100000000ull, 0xffffffff, 0, 0xffffffff, true },
	{ "ds_min_rtn_i64", 0xd8ca0000, MIN64, 1, 0, MIN64, true },
	{ "ds_min_rtn_i64", 0xd8ca0000, 0x80000000, 1, 0, 1, true },
	{ "ds_max_rtn_i64", 0xd8cc0000, MIN64, 1, 0, 1, true },
	{ "ds_min_rtn_u64", 0xd8ce0000, MIN64, 1, 0, 1, true },
	{ "ds_max_rtn_u64", 0xd8d00000, MIN64, 1, 0, MIN64, true },
};

static u64 pair(const struct registers *r, u32 number, u32 lane, bool wide)
{
	return r->v[number][lane] | (wide ? (u64)r->v[number + 1][lane] << 32 : 0);
}

static void put_pair(struct registers *r, u32 number, u64 value)
{
	all_lanes(r->v[number], (u32)value);
	all_lanes(r->v[number + 1], (u32)(value >> 32));
}

static void check_atomics(void **state)
{
	struct probe *p = *state;

	p->lds_bytes = 512;
	for (u32 i = 0; i < COUNT(atomics); i++) {
		const struct atomic *a = &atomics[i];
		/* ds_write_b64 v1, v[6:7]; the atomic; ds_read_b64 v[2:3], v1 */
		const u32 words[6] = { 0xd89a0000, 0x00000601, a->first,
				       0x040a0801, 0xd8ec0000, 0x02000001 };

		randomise(&p->before, ~0ull);
		for (u32 lane = 0; lane < GFX9_LANES; lane++)
			p->before.v[1][lane] = lane * 8;
		put_pair(&p->before, 6, a->before);
		put_pair(&p->before, 8, a->data);
		put_pair(&p->before, 10, a->second);
		assert_int_equal(run_words(p, words, 6), GFX9_STOP_ENDED);
		for (u32 lane = 0; lane < GFX9_LANES; lane++)
			if (pair(&p->after, 2, lane, a->wide) != a->want ||
			    pair(&p->after, 4, lane, a->wide) != a->before)
				fail_msg("%s of %llx, %llx", a->text, (unsigned long long)a->before,
					 (unsigned long long)a->data);
	}
}

/* ---- vectors -------------------------------------------------------------------------- */

/* One instruction that computes v4 from v2 and v6 (and v8). */
struct vector {
	const char *text;
	u32 words[2];
	u32 mode;
	u32 v2, v6, v8;
	u32 want;
};

static const struct vector vectors[] = {
	/* MODE decides whether minima and maxima flush subnormals (from gfx9 on). */
	{ "v_min_f32", { 0x14080d02 }, MODE_HIP, 1, 2, 0, 1 },
	{ "v_min_f32", { 0x14080d02 }, MODE_FLUSH, 1, 2, 0, 0 },
	{ "v_min_f32", { 0x14080d02 }, MODE_FLUSH, 0x80000001, 2, 0, 0x80000000 },
	{ "v_max_f32", { 0x16080d02 }, MODE_HIP, 1, 2, 0, 2 },
	{ "v_max_f32", { 0x16080d02 }, MODE_FLUSH, 1, 2, 0, 0 },
	{ "v_max_f32", { 0x16080d02 }, MODE_FLUSH, 5, 5, 0, 0 },
	{ "v_max_f32", { 0x16080d02 }, MODE_FLUSH, 5, 0x3f800000, 0, 0x3f800000 },
	{ "v_med3_f32", { 0xd1d60004, 0x04220d02 }, MODE_HIP, 1, 2, 3, 2 },
	{ "v_med3_f32", { 0xd1d60004, 0x04220d02 }, MODE_FLUSH, 1, 2, 3, 0 },
	/* OMOD works only without IEEE and with flushed results, and then gives +0. */
	{ "v_add_f32 mul:2",
	  { 0xd1010004, 0x08020d02 },
	  MODE_PLAIN,
	  0x3f800000,
	  0x40000000,
	  0,
	  0x40c00000 },
	{ "v_add_f32 mul:2",
	  { 0xd1010004, 0x08020d02 },
	  MODE_PLAIN | 0x30,
	  0x3f800000,
	  0x40000000,
	  0,
	  0x40400000 },
	{ "v_add_f32 mul:2",
	  { 0xd1010004, 0x08020d02 },
	  MODE_FLUSH,
	  0x3f800000,
	  0x40000000,
	  0,
	  0x40400000 },
	{ "v_add_f32 mul:2", { 0xd1010004, 0x08020d02 }, MODE_PLAIN, 0x80000000, 0x80000000, 0, 0 },
	{ "v_add_f32 div:2", { 0xd1010004, 0x18020d02 }, MODE_PLAIN, 0x00800000, 0, 0, 0 },
	{ "v_add_f32 div:2", { 0xd1010004, 0x18020d02 }, MODE_PLAIN, 0x80800000, 0, 0, 0 },
};

static void check_vectors(void **state)
{
	struct probe *p = *state;

	for (u32 i = 0; i < COUNT(vectors); i++) {
		const struct vector *v = &vectors[i];

		randomise(&p->before, ~0ull);
		p->before.mode = v->mode;
		all_lanes(p->before.v[2], v->v2);
		all_lanes(p->before.v[6], v->v6);
		all_lanes(p->before.v[8], v->v8);
		run_one(p, v->words[0], v->words[1], v->words[1] ? 2 : 1);
		for (u32 lane = 0; lane < GFX9_LANES; lane++)
			if (p->after.v[4][lane] != v->want)
				fail_msg("%s of %08x, %08x by mode %03x: %08x, not %08x", v->text,
					 v->v2, v->v6, v->mode, p->after.v[4][lane], v->want);
	}
}

/* MODE has other bits for the subnormals of doubles. */
static void check_flushed_doubles(void **state)
{
	struct probe *p = *state;

	randomise(&p->before, ~0ull);
	put_pair(&p->before, 2, 1);
	put_pair(&p->before, 6, 2);
	run_one(p, 0xd2820004, 0x00020d02, 2); /* v_min_f64 v[4:5], v[2:3], v[6:7] */
	assert_true(pair(&p->after, 4, 63, true) == 1);
	p->before.mode = 0x330;
	run_one(p, 0xd2820004, 0x00020d02, 2);
	assert_true(pair(&p->after, 4, 63, true) == 0);
}

/* A literal is the low half of a 64-bit operand, extended by the operand's type. */
static void check_wide_literals(void **state)
{
	struct probe *p = *state;

	randomise(&p->before, ~0ull);
	put_pair(&p->before, 2, 5);
	run_one(p, 0x7dc804ff, 0x80000000, 2); /* v_cmp_gt_i64 vcc, 0x80000000, v[2:3] */
	assert_true(p->after.vcc == 0);
	run_one(p, 0x7dd804ff, 0x80000000, 2); /* v_cmp_gt_u64 vcc, 0x80000000, v[2:3] */
	assert_true(p->after.vcc == ~0ull);
	run_one(p, 0x7dc804ff, 0x7fffffff, 2);
	assert_true(p->after.vcc == ~0ull);
}

static void check_wide_sums(void **state)
{
	struct probe *p = *state;

	randomise(&p->before, 0xffffffff00000000ull);
	all_lanes(p->before.v[2], 0xffffffff);
	all_lanes(p->before.v[6], 0xffffffff);
	put_pair(&p->before, 8, 0x1ffffffffull);
	/* v_mad_u64_u32 v[4:5], s[4:5], v2, v6, v[8:9] */
	run_one(p, 0xd1e80404, 0x04220d02, 2);
	assert_true(pair(&p->after, 4, 63, true) == 0);
	assert_int_equal(p->after.s[4], 0);
	assert_int_equal(p->after.s[5], 0xffffffff);
	assert_int_equal(p->after.v[4][0], p->before.v[4][0]);
	put_pair(&p->before, 8, 0x1fffffffeull);
	run_one(p, 0xd1e80404, 0x04220d02, 2);
	assert_true(pair(&p->after, 4, 63, true) == ~0ull);
	assert_int_equal(p->after.s[5], 0);
}

/* Each bit of M0 selects an indexed register (6.6.2). */
static void check_index_bits(void **state)
{
	/* s_set_gpr_idx_on s3, ...; the instruction; s_set_gpr_idx_off */
	static const u32 on_src1 = 0xbf110203, on_src2 = 0xbf110403, on_dst = 0xbf110803;
	/* v_madmk_f32 v4, v2, 1.0, v6; v_pk_add_u16 v4, v2, v6 */
	u32 madmk[4] = { on_src2, 0x2e080d02, 0x3f800000, 0xbf9c0000 };
	const u32 packed[4] = { on_dst, 0xd38a4004, 0x18020d02, 0xbf9c0000 };
	struct probe *p = *state;

	randomise(&p->before, ~0ull);
	p->before.s[3] = 1;
	all_lanes(p->before.v[2], 0x40000000); /* 2 */
	all_lanes(p->before.v[6], 0x3f800000); /* 1 */
	all_lanes(p->before.v[7], 0x40800000); /* 4 */
	/* The addend is the third operand, but the second in the encoding. */
	assert_int_equal(run_words(p, madmk, 4), GFX9_STOP_ENDED);
	assert_int_equal(p->after.v[4][0], 0x40c00000);
	madmk[0] = on_src1;
	assert_int_equal(run_words(p, madmk, 4), GFX9_STOP_ENDED);
	assert_int_equal(p->after.v[4][0], 0x40400000);
	assert_int_equal(run_words(p, packed, 4), GFX9_STOP_ENDED);
	assert_int_equal(p->after.v[5][0], 0x7f800000);
	assert_int_equal(p->after.v[4][0], p->before.v[4][0]);
}

#define WITH_PROBE(f) cmocka_unit_test_setup_teardown(f, probe_setup, probe_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PROBE(check_scalars),	 WITH_PROBE(check_atomics),
		WITH_PROBE(check_vectors),	 WITH_PROBE(check_flushed_doubles),
		WITH_PROBE(check_wide_literals), WITH_PROBE(check_wide_sums),
		WITH_PROBE(check_index_bits),
	};

	return gp_run_tests(tests);
}
