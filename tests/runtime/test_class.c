// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "runtime/class.h"
#include "tests/common/gp_test.h"

static void accepts(void **state)
{
	static const struct {
		const char *text;
		struct gp_class_value v;
	} good[] = {
		{ "lc", { GP_CLASS_LC, 0 } },	  { "lc:0", { GP_CLASS_LC, 0 } },
		{ "lc:15", { GP_CLASS_LC, 15 } }, { "be", { GP_CLASS_BE, 100 } },
		{ "be:1", { GP_CLASS_BE, 1 } },	  { "be:10000", { GP_CLASS_BE, 10000 } },
	};
	char text[GP_CLASS_TEXT_LEN];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct gp_class_value v, again;

		assert_int_equal(gp_class_parse(good[i].text, &v), 0);
		assert_int_equal(v.cls, good[i].v.cls);
		assert_int_equal(v.value, good[i].v.value);
		assert_int_equal(gp_class_check(v.cls, v.value), 0);
		gp_class_format(&v, text, sizeof(text));
		assert_int_equal(gp_class_parse(text, &again), 0);
		assert_int_equal(again.value, v.value);
	}
}

static void refuses(void **state)
{
	static const struct {
		const char *text;
		int err;
	} bad[] = {
		{ "", -EINVAL },
		{ "l", -EINVAL },
		{ "LC", -EINVAL },
		{ "lc:", -EINVAL },
		{ "lc:-1", -EINVAL },
		{ "lc:+1", -EINVAL },
		{ "lc: 1", -EINVAL },
		{ "lc:01", -EINVAL },
		{ "lc:1x", -EINVAL },
		{ "lc:16", -ERANGE },
		{ "lc1", -EINVAL },
		{ "be:0", -ERANGE },
		{ "be:10001", -ERANGE },
		{ "be:1.5", -EINVAL },
		{ "bee", -EINVAL },
		{ "none", -EINVAL },
		{ NULL, -EINVAL },
		{ "be:99999999999999999999999", -ERANGE },
		{ "be:99999999999999999999999x", -EINVAL },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct gp_class_value v = { 77, 77 };

		assert_int_equal(gp_class_parse(bad[i].text, &v), bad[i].err);
		assert_int_equal(v.cls, 77);
		assert_int_equal(v.value, 77);
	}
}

#define MS 1000000ull

static void accepts_requests(void **state)
{
	static const struct {
		const char *text;
		struct gp_class_request r;
		const char *again;
	} good[] = {
		{ "lc:3", { { GP_CLASS_LC, 3 }, 0, 0, 0, 0, 0 }, "lc:3" },
		{ "lc:1,period=20ms,deadline=10ms,runtime=2ms",
		  { { GP_CLASS_LC, 1 }, 0, 0, 20 * MS, 10 * MS, 2 * MS },
		  "lc:1,period=20ms,deadline=10ms,runtime=2ms" },
		{ "lc,runtime=500us,period=0.02s",
		  { { GP_CLASS_LC, 0 }, 0, 0, 20 * MS, 20 * MS, MS / 2 },
		  "lc:0,period=20ms,deadline=20ms,runtime=500us" },
		{ "lc,deadline=1ms,runtime=1ms,period=1ms",
		  { { GP_CLASS_LC, 0 }, 0, 0, MS, MS, MS },
		  "lc:0,period=1ms,deadline=1ms,runtime=1ms" },
		{ "lc,runtime=1ns,period=10s",
		  { { GP_CLASS_LC, 0 }, 0, 0, 10000 * MS, 10000 * MS, 1 },
		  "lc:0,period=10s,deadline=10s,runtime=1ns" },
		{ "be,cap=1%", { { GP_CLASS_BE, 100 }, 1, 0, 0, 0, 0 }, "be:100,cap=1%" },
		{ "be:7,cap=100%", { { GP_CLASS_BE, 7 }, 100, 0, 0, 0, 0 }, "be:7,cap=100%" },
	};
	char text[GP_CLASS_REQUEST_TEXT_LEN];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct gp_class_request r;
		struct gp_class_value v;
		const char *why;

		assert_int_equal(gp_class_request_parse(good[i].text, &r, &why), 0);
		assert_memory_equal(&r, &good[i].r, sizeof(r));
		gp_class_request_format(&r, text, sizeof(text));
		assert_string_equal(text, good[i].again);
		assert_int_equal(gp_class_parse(good[i].text, &v),
				 gp_class_request_extra(&r) ? -EOPNOTSUPP : 0);
	}
}

static void refuses_requests(void **state)
{
	static const char times[] = "write a time above 0s and at most 10s";
	static const char time[] = "write a number and a unit (us, ms, s), such as 20ms";
	static const char cap[] = "write a share of the device, such as cap=30%";
	static const char caps[] = "caps are cap=1% to cap=100%";
	static const char after_lc[] =
		"after lc:LEVEL come period=TIME, deadline=TIME and runtime=TIME";
	static const struct {
		const char *text;
		int err;
		const char *why;
	} bad[] = {
		{ "idle", -EINVAL, "write lc, lc:LEVEL, be or be:WEIGHT" },
		{ ",cap=3%", -EINVAL, "write lc, lc:LEVEL, be or be:WEIGHT" },
		{ "lc:16,runtime=1ms,period=2ms", -ERANGE,
		  "levels are lc:0 (most urgent) to lc:15" },
		{ "be:0,cap=3%", -ERANGE, "weights are be:1 to be:10000" },
		{ "lc,", -EINVAL, after_lc },
		{ "lc,,", -EINVAL, after_lc },
		{ "lc,runtime=1ms,period=2ms,", -EINVAL, after_lc },
		{ "lc, runtime=1ms,period=2ms", -EINVAL, after_lc },
		{ "lc,Runtime=1ms,period=2ms", -EINVAL, after_lc },
		{ "lc,runtime", -EINVAL, after_lc },
		{ "lc,weight=3", -EINVAL, after_lc },
		{ "be,weight=3", -EINVAL, "after be:WEIGHT comes cap=PERCENT%" },
		{ "be,", -EINVAL, "after be:WEIGHT comes cap=PERCENT%" },
		{ "lc,cap=30%", -EINVAL, "cap is for be" },
		{ "be,period=20ms", -EINVAL, "period, deadline and runtime are for lc" },
		{ "be,runtime=20ms", -EINVAL, "period, deadline and runtime are for lc" },
		{ "be,deadline=20ms", -EINVAL, "period, deadline and runtime are for lc" },
		{ "be,cap=0%", -ERANGE, caps },
		{ "be,cap=101%", -ERANGE, caps },
		{ "be,cap=99999999999999999999%", -ERANGE, caps },
		{ "be,cap=30", -EINVAL, cap },
		{ "be,cap=%", -EINVAL, cap },
		{ "be,cap=030%", -EINVAL, cap },
		{ "be,cap=1.5%", -EINVAL, cap },
		{ "be,cap=-1%", -EINVAL, cap },
		{ "be,cap=30%%", -EINVAL, cap },
		{ "be,cap=30%,cap=30%", -EINVAL, "cap is given twice" },
		{ "lc,period=2ms,period=2ms", -EINVAL, "period is given twice" },
		{ "lc,runtime=2ms,runtime=2ms", -EINVAL, "runtime is given twice" },
		{ "lc,deadline=2ms,deadline=2ms", -EINVAL, "deadline is given twice" },
		{ "lc,period=20", -EINVAL, time },
		{ "lc,period=", -EINVAL, time },
		{ "lc,period=20 ms", -EINVAL, time },
		{ "lc,period=1m", -EINVAL, time },
		{ "lc,runtime=0ms,period=1ms", -ERANGE, times },
		{ "lc,runtime=1ms,period=10000000001ns", -ERANGE, times },
		{ "lc,runtime=1ms,period=99999999999s", -ERANGE, times },
		{ "lc,period=20ms", -EINVAL, "a period needs runtime=TIME" },
		{ "lc,runtime=2ms", -EINVAL, "a runtime needs period=TIME" },
		{ "lc,deadline=2ms", -EINVAL, "a deadline needs runtime=TIME and period=TIME" },
		{ "lc,deadline=2ms,period=2ms", -EINVAL,
		  "a deadline needs runtime=TIME and period=TIME" },
		{ "lc,deadline=2ms,runtime=2ms", -EINVAL,
		  "a deadline needs runtime=TIME and period=TIME" },
		{ "lc,period=20ms,deadline=21ms,runtime=2ms", -EINVAL,
		  "the deadline is after the period's end" },
		{ "lc,period=20ms,deadline=10ms,runtime=11ms", -EINVAL,
		  "the runtime is longer than the deadline" },
		{ "lc,period=20ms,runtime=21ms", -EINVAL,
		  "the runtime is longer than the deadline" },
		{ "lc,period=000000000000000000000000000000000000000020ms,runtime=1ms", -EINVAL,
		  "the value is too long" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct gp_class_request r = { { 77, 77 }, 77, 77, 77, 77, 77 };
		const struct gp_class_request untouched = r;
		struct gp_class_value v = { 77, 77 };
		const char *why;
		int err = gp_class_request_parse(bad[i].text, &r, &why);

		if (err != bad[i].err || strcmp(why, bad[i].why))
			fail_msg("'%s': %d, '%s'", bad[i].text, err, why);
		assert_memory_equal(&r, &untouched, sizeof(r));
		assert_int_equal(gp_class_parse(bad[i].text, &v), bad[i].err);
		assert_int_equal(v.cls, 77);
	}
}

/* The longest there is fits. */
static void formats_the_longest(void **state)
{
	const struct gp_class_request lc = {
		{ GP_CLASS_LC, GP_LEVEL_MAX }, 0, 0, GP_PERIOD_MAX_NS - 1, GP_PERIOD_MAX_NS - 2,
		GP_PERIOD_MAX_NS - 3
	};
	const struct gp_class_request none = { { GP_CLASS_NONE, 0 }, 0, 0, 0, 0, 0 };
	char text[GP_CLASS_REQUEST_TEXT_LEN];

	gp_class_request_format(&lc, text, sizeof(text));
	assert_string_equal(text, "lc:15,period=9999999999ns,deadline=9999999998ns,"
				  "runtime=9999999997ns");
	gp_class_request_format(&none, text, sizeof(text));
	assert_string_equal(text, "none");
}

int main(void)
{
	const struct CMUnitTest class_parser[] = {
		cmocka_unit_test(accepts),
		cmocka_unit_test(refuses),
		cmocka_unit_test(accepts_requests),
		cmocka_unit_test(refuses_requests),
		cmocka_unit_test(formats_the_longest),
	};

	return gp_run_tests(class_parser);
}
