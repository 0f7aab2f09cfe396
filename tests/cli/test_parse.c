// SPDX-License-Identifier: Apache-2.0
/* What users write: process numbers, strictly. */
#include <errno.h>

#include "cli/parse.c"
#include "tests/common/gp_test.h"

static void test_pid(void **state)
{
	static const struct {
		const char *text;
		int err;
		pid_t pid;
	} c[] = {
		{ "1", 0, 1 },
		{ "4194304", 0, 4194304 },
		{ "2147483647", 0, 2147483647 },
		{ "2147483648", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "0", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "12a", -EINVAL, 0 },
		{ " 12", -EINVAL, 0 },
		{ "self", -EINVAL, 0 },
		{ "99999999999999999999999x", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		pid_t pid = -7;
		int err = gp_parse_pid(c[i].text, &pid);

		if (err != c[i].err || pid != (err ? -7 : c[i].pid))
			fail_msg("'%s': %d, %d", c[i].text, err, (int)pid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pid),
	};

	return gp_run_tests(tests);
}
