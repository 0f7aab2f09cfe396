// SPDX-License-Identifier: Apache-2.0
#include "tests/common/gp_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hal/spec.h"

static const struct gp_device_id card = {
	.name = "NVIDIA H200",
	.uuid = { 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8 },
	.pci_domain = 0,
	.pci_bus = 0x3b,
};

static int parse(const char *text)
{
	struct gp_spec spec;

	return gp_spec_parse(text, &spec);
}

static bool names_card(const char *text)
{
	struct gp_spec spec;

	assert_int_equal(gp_spec_parse(text, &spec), 0);
	return gp_spec_matches(&spec, &card);
}

static void test_uuid(void **state)
{
	assert_true(names_card("GPU-12345678-9abc-def0-0102-030405060708"));
	assert_true(names_card("GPU-12345678-9ABC-DEF0-0102-030405060708"));
	assert_true(names_card("GPU-12345678"));
	assert_true(names_card("GPU-12345678-9"));
	assert_true(names_card("GPU-12345678-9abc"));
	assert_true(names_card("GPU-123456789abcdef00102030405060708"));
	assert_false(names_card("GPU-12345679"));
	assert_false(names_card("GPU-12345678-8"));
	assert_int_equal(parse("GPU-1234567"), -EINVAL);
	assert_int_equal(parse("GPU-"), -EINVAL);
	assert_int_equal(parse("gpu-12345678"), -EINVAL);
	assert_int_equal(parse("GPU-1234-5678"), -EINVAL);
	assert_int_equal(parse("GPU-12345678--9abc"), -EINVAL);
	assert_int_equal(parse("GPU-1234567g"), -EINVAL);
	assert_int_equal(parse("GPU-12345678-9abc-def0-0102-0304050607080"), -EINVAL);
	assert_int_equal(parse("MIG-12345678"), -EINVAL);
}

static void test_pci(void **state)
{
	assert_true(names_card("0000:3b:00.0"));
	assert_true(names_card("00000000:3B:00.0"));
	assert_true(names_card("3b:00.0"));
	assert_false(names_card("0001:3b:00.0"));
	assert_false(names_card("3b:00.1"));
	assert_int_equal(parse("3b:00"), -EINVAL);
	assert_int_equal(parse("3b:00.8"), -EINVAL);
	assert_int_equal(parse("3b:20.0"), -EINVAL);
	assert_int_equal(parse("3b:00.0 "), -EINVAL);
	assert_int_equal(parse("000:3b:00.0"), -EINVAL);
	assert_int_equal(parse("000000000:3b:00.0"), -EINVAL);
	assert_int_equal(parse("0x3b:00.0"), -EINVAL);
}

static void test_soft(void **state)
{
	struct gp_device_id soft = { .name = "soft1" };
	struct gp_spec spec;

	assert_int_equal(gp_spec_parse("soft1", &spec), 0);
	assert_true(gp_spec_matches(&spec, &soft));
	assert_false(gp_spec_matches(&spec, &card));
	assert_int_equal(parse("soft"), -EINVAL);
	assert_int_equal(parse("soft01"), -EINVAL);
	assert_int_equal(parse("soft-1"), -EINVAL);
	assert_int_equal(parse("soft1x"), -EINVAL);
	assert_int_equal(parse("soft99999999999"), -EINVAL);
}

static void test_any_and_nonsense(void **state)
{
	static const char *const bad[] = { "",	  "0",	 "1",	   "-1",	  " ",
					   "all", "GPU", "nvidia", "soft0,soft1", "3b:00.0\n" };

	assert_true(names_card(NULL));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
}

static void test_failure_leaves_out_alone(void **state)
{
	struct gp_spec spec = { .soft = 77 };

	assert_int_equal(gp_spec_parse("bogus", &spec), -EINVAL);
	assert_int_equal(spec.soft, 77);
}

static uint32_t next_random(uint32_t *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

/* Printing a parsed text and parsing it again gives the same. */
static void test_random_text(void **state)
{
	static const char letters[] = "GPU-soft0123456789abcdefABCDEF:.-x ";
	uint32_t seed = 4711, x = seed;
	unsigned int good = 0;

	print_message("seed %u\n", seed);
	for (int i = 0; i < 200000; i++) {
		static const char *const head[] = { "", "GPU-", "soft", "0000:3b:" };
		char text[64];
		struct gp_spec spec;
		size_t n = next_random(&x) % 24;
		size_t at = strlen(strcpy(text, head[next_random(&x) % 4]));

		for (size_t k = 0; k < n; k++)
			text[at++] = letters[next_random(&x) % (sizeof(letters) - 1)];
		text[at] = '\0';
		if (gp_spec_parse(text, &spec))
			continue;
		good++;
		if (spec.kind == GP_SPEC_UUID)
			assert_in_range(spec.uuid_digits, 8, 32);
		else if (spec.kind == GP_SPEC_PCI)
			assert_true(spec.pci_dev < 32 && spec.pci_fn < 8);
		else
			assert_int_equal(spec.kind, GP_SPEC_SOFT);
	}
	assert_true(good > 100);
}

static void test_uuid_format(void **state)
{
	char text[41];

	gp_uuid_format(card.uuid, text, sizeof(text));
	assert_string_equal(text, "GPU-12345678-9abc-def0-0102-030405060708");
	assert_true(names_card(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uuid),
		cmocka_unit_test(test_pci),
		cmocka_unit_test(test_soft),
		cmocka_unit_test(test_any_and_nonsense),
		cmocka_unit_test(test_failure_leaves_out_alone),
		cmocka_unit_test(test_random_text),
		cmocka_unit_test(test_uuid_format),
	};

	return gp_run_tests(tests);
}
