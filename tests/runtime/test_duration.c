// SPDX-License-Identifier: Apache-2.0
/* Durations as users write them, strictly. */
#include <errno.h>
#include <stdio.h>

#include "runtime/duration.h"
#include "tests/common/gp_test.h"
#include "tests/common/gp_xorshift.h"

#define UNTOUCHED 0x5a5a5a5au

static void takes(const char *text, uint64_t ns)
{
	uint64_t got = UNTOUCHED;

	if (gp_parse_duration(text, &got) || got != ns)
		fail_msg("'%s': %llu ns instead of %llu", text, (unsigned long long)got,
			 (unsigned long long)ns);
}

static void refuses(const char *text, int err)
{
	uint64_t got = UNTOUCHED;
	int r = gp_parse_duration(text, &got);

	if (r != err || got != UNTOUCHED)
		fail_msg("'%s': %d instead of %d, out %llu", text, r, err, (unsigned long long)got);
}

static void test_duration_units(void **state)
{
	takes("0s", 0);
	takes("1ns", 1);
	takes("300us", 300000);
	takes("2ms", 2000000);
	takes("10s", 10000000000ull);
	takes("007us", 7000);
	takes("18446744073709551615ns", UINT64_MAX);
}

static void test_duration_fractions(void **state)
{
	takes("1.5ms", 1500000);
	takes("0.25us", 250);
	takes("0.000000001s", 1);
	takes("1.000000000s", 1000000000);
	takes("3.0ns", 3);
}

static void test_duration_refused(void **state)
{
	static const char *const bad[] = {
		"",	  "s",	    "300",	     "us",
		"300 us", " 300us", "300us ",	     "300usec",
		"+1us",	  "-1us",   "1e3us",	     "0x10us",
		"1.us",	  ".5us",   "1.5.5us",	     "1,5ms",
		"300US",  "300u",   "300\xc2\xb5s",  "1m",
		"1h",	  "0.5ns",  "1.0000000001s", "0.1234567891s",
		"nan",	  "inf",    "1.-5s",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses(bad[i], -EINVAL);
}

static void test_duration_too_large(void **state)
{
	refuses("18446744073709551616ns", -ERANGE);
	refuses("18446744073709552us", -ERANGE);
	refuses("18446744073709551.616us", -ERANGE);
	refuses("18446744074s", -ERANGE);
	refuses("99999999999999999999999999999s", -ERANGE);
	takes("18446744073709551.615us", UINT64_MAX);
	/* Out of range and no duration: what it is not comes first. */
	refuses("99999999999999999999999999999", -EINVAL);
}

/* A duration in ns, written in each unit, is read back exactly. */
static void test_duration_round_trip(void **state)
{
	static const struct {
		const char *name;
		uint64_t ns;
		int digits;
	} unit[] = {
		{ "ns", 1, 0 }, { "us", 1000, 3 }, { "ms", 1000000, 6 }, { "s", 1000000000, 9 }
	};
	uint64_t x = 1;
	char text[64];

	print_message("seed 1\n");
	for (int i = 0; i < 20000; i++) {
		size_t u = (size_t)i % 4;

		gp_xorshift(&x);
		if (unit[u].digits)
			snprintf(text, sizeof(text), "%llu.%0*llu%s",
				 (unsigned long long)(x / unit[u].ns), unit[u].digits,
				 (unsigned long long)(x % unit[u].ns), unit[u].name);
		else
			snprintf(text, sizeof(text), "%lluns", (unsigned long long)x);
		takes(text, x);
	}
}

static void test_duration_format(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} c[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 1500, "1500ns" },
		{ 2000, "2us" },
		{ 20000000, "20ms" },
		{ 1000000000, "1s" },
		{ 10000000000ull, "10s" },
		{ 1000000001, "1000000001ns" },
		{ UINT64_MAX, "18446744073709551615ns" },
	};
	char text[GP_DURATION_TEXT_LEN];

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		gp_format_duration(c[i].ns, text, sizeof(text));
		assert_string_equal(text, c[i].text);
		takes(text, c[i].ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duration_units),
		cmocka_unit_test(test_duration_fractions),
		cmocka_unit_test(test_duration_refused),
		cmocka_unit_test(test_duration_too_large),
		cmocka_unit_test(test_duration_round_trip),
		cmocka_unit_test(test_duration_format),
	};

	return gp_run_tests(tests);
}
