// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>

#include "client/class.h"
#include "tests/common/gp_test.h"

static void accepts(void **state)
{
	static const struct {
		const char *text;
		struct gp_class_value v;
	} good[] = {
		{ "lc", { GP_CLASS_LC, 0 } },	    { "lc:0", { GP_CLASS_LC, 0 } },
		{ "lc:15", { GP_CLASS_LC, 15 } },   { "be", { GP_CLASS_BE, 100 } },
		{ "be:1", { GP_CLASS_BE, 1 } },	    { "be:10000", { GP_CLASS_BE, 10000 } },
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
		{ "", -EINVAL },	 { "l", -EINVAL },	{ "LC", -EINVAL },
		{ "lc:", -EINVAL },	 { "lc:-1", -EINVAL },	{ "lc:+1", -EINVAL },
		{ "lc: 1", -EINVAL },	 { "lc:01", -EINVAL },	{ "lc:1x", -EINVAL },
		{ "lc:16", -ERANGE },	 { "lc1", -EINVAL },	{ "be:0", -ERANGE },
		{ "be:10001", -ERANGE }, { "be:1.5", -EINVAL }, { "bee", -EINVAL },
		{ "none", -EINVAL },	 { NULL, -EINVAL },
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

int main(void)
{
	const struct CMUnitTest class_parser[] = {
		cmocka_unit_test(accepts),
		cmocka_unit_test(refuses),
	};

	return gp_run_tests(class_parser);
}
