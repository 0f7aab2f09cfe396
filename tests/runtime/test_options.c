// SPDX-License-Identifier: Apache-2.0
/* Options that a program does not have. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/options.h"
#include "tests/common/gp_test.h"

static const struct argp_option options[] = {
	{ "config", 256, "FILE", 0, NULL, 0 },
	{ "check", 257, NULL, 0, NULL, 0 },
	{ "dir", 258, "DIR", 0, NULL, 0 },
	{ "directory", 259, "DIR", 0, NULL, 0 },
	{ 0 },
};

/* Standard error of one check; the result is -EINVAL if there is any, else 0. */
static const char *said(char **argv)
{
	static char text[256];
	char path[] = "/tmp/gpreempt-test-options.XXXXXX";
	const int file = mkstemp(path), before = dup(STDERR_FILENO);
	int argc = 1, err;
	ssize_t n;

	while (argv[argc])
		argc++;
	assert_true(file >= 0 && before >= 0);
	unlink(path);
	dup2(file, STDERR_FILENO);
	err = gp_options_check("prog", options, argc, argv);
	dup2(before, STDERR_FILENO);
	close(before);
	n = pread(file, text, sizeof(text) - 1, 0);
	close(file);
	text[n > 0 ? n : 0] = '\0';
	assert_int_equal(err, *text ? -EINVAL : 0);
	return text;
}

#define SAID(...) said((char *[]){ "prog", __VA_ARGS__, NULL })

static void test_right(void **state)
{
	assert_string_equal(SAID("--config=x", "--check"), "");
	assert_string_equal(SAID("--config", "--wrong", "word"), ""); /* it is the value */
	assert_string_equal(SAID("--help", "--version", "--usage", "-?", "-V"), "");
	assert_string_equal(SAID("word", "-", "--", "--wrong", "-x"), "");
	assert_string_equal(SAID("--conf=x", "--dir=y", "--direct=y", "--vers"), "");
}

static void test_wrong(void **state)
{
	assert_string_equal(SAID("--wrong-option"),
			    "prog: --wrong-option: unknown option; see prog --help\n");
	assert_string_equal(SAID("word", "-x"), "prog: -x: unknown option; see prog --help\n");
	assert_string_equal(SAID("--c"), "prog: --c: unknown option; see prog --help\n");
	assert_string_equal(SAID("--configs=1"),
			    "prog: --configs=1: unknown option; see prog --help\n");
	assert_string_equal(SAID("--config"),
			    "prog: --config: value missing; write --config=FILE\n");
	assert_string_equal(SAID("--check=1"),
			    "prog: --check=1: this option has no value; write --check\n");
	assert_string_equal(SAID("--one", "--two"),
			    "prog: --one: unknown option; see prog --help\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_wrong),
	};

	return gp_run_tests(tests);
}
