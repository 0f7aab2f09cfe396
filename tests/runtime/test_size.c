// SPDX-License-Identifier: Apache-2.0
/* Sizes as users write them, strictly. */
#include <errno.h>
#include <stdio.h>

#include "runtime/size.h"
#include "tests/common/gp_test.h"

#define UNTOUCHED 0x5a5a5a5au

static void takes(const char *text, uint64_t bytes)
{
	uint64_t got = UNTOUCHED;

	if (gp_parse_size(text, &got) || got != bytes)
		fail_msg("'%s': %llu bytes instead of %llu", text, (unsigned long long)got,
			 (unsigned long long)bytes);
}

static void refuses(const char *text, int err)
{
	uint64_t got = UNTOUCHED;
	int r = gp_parse_size(text, &got);

	if (r != err || got != UNTOUCHED)
		fail_msg("'%s': %d instead of %d, out %llu", text, r, err, (unsigned long long)got);
}

static void test_size_units(void **state)
{
	takes("0B", 0);
	takes("1B", 1);
	takes("4KiB", 4096);
	takes("64MiB", 64ull << 20);
	takes("0020GiB", 20ull << 30);
	takes("16777215TiB", 16777215ull << 40);
	takes("18446744073709551615B", UINT64_MAX);
}

static void test_size_refused(void **state)
{
	static const char *const bad[] = {
		"",	 "MiB",	  "64",	   "64 MiB", " 64MiB", "64MiB ", "64MB",   "64M",
		"64mib", "+1MiB", "-1MiB", "1.5GiB", "1e3MiB", "0x10B",	 "64MiB:", "64iB",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses(bad[i], -EINVAL);
	refuses("99999999999999999999999999999", -EINVAL);
}

static void test_size_too_large(void **state)
{
	refuses("18446744073709551616B", -ERANGE);
	refuses("16777216TiB", -ERANGE);
	refuses("17179869184GiB", -ERANGE);
	refuses("99999999999999999999999999999KiB", -ERANGE);
}

static void test_size_round_trip(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} c[] = {
		{ 0, "0B" },
		{ 1, "1B" },
		{ 1000, "1000B" },
		{ 1536, "1536B" },
		{ 2048, "2KiB" },
		{ 96ull << 20, "96MiB" },
		{ 80ull << 30, "80GiB" },
		{ 5ull << 50, "5120TiB" },
		{ UINT64_MAX, "18446744073709551615B" },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		char text[GP_SIZE_TEXT_LEN];

		gp_format_size(c[i].bytes, text, sizeof(text));
		assert_string_equal(text, c[i].text);
		takes(text, c[i].bytes);
	}
}

static void test_size_range(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t min, max;
	} c[] = {
		{ "1MiB:2GiB", 0, 1ull << 20, 2ull << 30 },
		{ "1GiB:1024MiB", 0, 1ull << 30, 1ull << 30 },
		{ "1MiB:", 0, 1ull << 20, UINT64_MAX },
		{ ":64MiB", 0, 0, 64ull << 20 },
		{ "0B:1B", 0, 0, 1 },
		{ "", -EINVAL, 0, 0 },
		{ ":", -EINVAL, 0, 0 },
		{ "1MiB", -EINVAL, 0, 0 },
		{ "1MiB:2MiB:", -EINVAL, 0, 0 },
		{ "1MiB:2", -EINVAL, 0, 0 },
		{ "1:2MiB", -EINVAL, 0, 0 },
		{ " :1MiB", -EINVAL, 0, 0 },
		{ "MiB:1MiB", -EINVAL, 0, 0 },
		{ ":0B", -ERANGE, 0, 0 },
		{ "2MiB:1MiB", -ERANGE, 0, 0 },
		{ "1MiB:16777216TiB", -ERANGE, 0, 0 },
		{ "16777216TiB:", -ERANGE, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct gp_size_range r = { 7, 8 };
		const int err = gp_parse_size_range(c[i].text, &r);

		if (err != c[i].err || r.min != (err ? 7 : c[i].min) ||
		    r.max != (err ? 8 : c[i].max))
			fail_msg("'%s': %d, %llu, %llu", c[i].text, err, (unsigned long long)r.min,
				 (unsigned long long)r.max);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_units),     cmocka_unit_test(test_size_refused),
		cmocka_unit_test(test_size_too_large), cmocka_unit_test(test_size_round_trip),
		cmocka_unit_test(test_size_range),
	};

	return gp_run_tests(tests);
}
