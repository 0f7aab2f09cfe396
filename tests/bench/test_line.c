// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "bench/cmd/line.h"
#include "tests/common/gp_test.h"

static void is(int argc, char *const *argv, const char *wanted)
{
	char *line = gp_command_line(argc, argv);

	assert_string_equal(line, wanted);
	free(line);
}

static void lines(void **state)
{
	is(4, (char *[]){ "/usr/bin/gpreempt-bench", "run", "quick", "--dir=a/b" },
	   "gpreempt-bench run quick --dir=a/b");
	is(3, (char *[]){ "bench", "it's $HOME", "" }, "bench 'it'\\''s $HOME' ''");
	is(1, (char *[]){ "bench" }, "bench");
	is(0, (char *[]){ NULL }, "");
}

int main(void)
{
	const struct CMUnitTest line[] = { cmocka_unit_test(lines) };

	return gp_run_tests(line);
}
