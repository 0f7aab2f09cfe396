// SPDX-License-Identifier: Apache-2.0
/* Every opcode of every format against LLVM's disassembler. */
#include "tests/common/gp_test.h"
#include "tests/gfx9/machine.h"
#include "tests/gfx9/names.h"

#define COUNT (sizeof(names) / sizeof(names[0]))
/* Minimum of gfx906's opcodes that the interpreter must know by name. */
#define KNOWN_FLOOR 1370

static void check_names(void **state)
{
	u32 known = 0;

	for (u32 i = 0; i < COUNT; i++) {
		u32 size;
		const char *name = gfx9_mnemonic(names[i].words, &size);

		if (!name)
			continue;
		if (!names[i].name || strcmp(name, names[i].name))
			fail_msg("%08x %08x: %s, not %s", names[i].words[0], names[i].words[1],
				 names[i].name ? names[i].name : "nothing", name);
		if (size != names[i].size)
			fail_msg("%s: %u dwords, not %u", name, names[i].size, size);
		known++;
	}
	assert_true(known >= KNOWN_FLOOR);
}

/* Of LLVM's opcodes the decoder refuses exactly these. */
static void check_refused(void **state)
{
	static const char *const refused[] = {
		"s_cbranch_g_fork", "s_rfe_restore_b64", "buffer_wbinvl1", /* its alias 0x71 */
	};
	u32 size;

	for (u32 i = 0; i < COUNT; i++) {
		bool expected = false;

		if (!names[i].name || gfx9_mnemonic(names[i].words, &size))
			continue;
		for (u32 k = 0; k < sizeof(refused) / sizeof(refused[0]); k++)
			expected |= !strcmp(refused[k], names[i].name);
		if (!expected)
			fail_msg("%s (%08x %08x) is refused", names[i].name, names[i].words[0],
				 names[i].words[1]);
	}
}

static const char *name_of(u32 first, u32 second, u32 *size)
{
	const u32 words[2] = { first, second };

	return gfx9_mnemonic(words, size);
}

/* With a literal, SDWA or DPP, a VOP1 is two dwords long. */
static void check_lengths(void **state)
{
	const u32 v_mov = 0x7e000200;
	u32 size;

	assert_string_equal(name_of(v_mov | 128, 0, &size), "v_mov_b32");
	assert_int_equal(size, 1);
	name_of(v_mov | 255, 5, &size);
	assert_int_equal(size, 2);
	name_of(v_mov | 249, 0x06060600, &size);
	assert_int_equal(size, 2);
	name_of(v_mov | 250, 0xff0000e4, &size);
	assert_int_equal(size, 2);
}

/* Instructions that write trap temporaries are invalid in a program. */
static void check_protected(void **state)
{
	u32 size;

	assert_null(name_of(0xbe800000 | 112 << 16 | 2, 0, &size));
	assert_non_null(name_of(0xbe800000 | 124 << 16 | 2, 0, &size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_names),
		cmocka_unit_test(check_refused),
		cmocka_unit_test(check_lengths),
		cmocka_unit_test(check_protected),
	};

	return gp_run_tests(tests);
}
