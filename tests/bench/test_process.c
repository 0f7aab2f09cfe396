// SPDX-License-Identifier: Apache-2.0
/* Programs that print lines, print none, end early, or do not end. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/run/process.h"
#include "tests/common/gp_test.h"

static struct gp_process shell(const char *script)
{
	char text[256];
	char *argv[] = { "sh", "-c", text, NULL };
	struct gp_process p;

	snprintf(text, sizeof(text), "%s", script);
	assert_int_equal(gp_process_start(&p, argv), 0);
	return p;
}

static void lines(void **state)
{
	struct gp_process p = shell("echo a 1; echo b 2; read x; echo got $x; exit 3");
	char line[64];

	assert_int_equal(gp_process_expect(&p, "b ", 10000, line, sizeof(line)), 0);
	assert_string_equal(line, "b 2");
	assert_int_equal(gp_process_expect(&p, "got", 50, line, sizeof(line)), -ETIMEDOUT);
	assert_int_equal(gp_process_send(&p, "this\n"), 0);
	assert_int_equal(gp_process_expect(&p, "got", 10000, line, sizeof(line)), 0);
	assert_string_equal(line, "got this");
	assert_int_equal(gp_process_expect(&p, "more", 10000, line, sizeof(line)), -EPIPE);
	assert_int_equal(gp_process_end(&p, 10000), 3);
	assert_int_equal(p.pid, 0);
}

static void a_line_that_is_too_long(void **state)
{
	struct gp_process p = shell("head -c 10000 /dev/zero | tr '\\0' x; sleep 100");
	char line[64];

	assert_int_equal(gp_process_expect(&p, "y", 10000, line, sizeof(line)), -E2BIG);
	gp_process_kill(&p);
}

/* Its children end with it. */
static void it_does_not_end(void **state)
{
	struct gp_process p = shell("sleep 1000 & echo $!; wait");
	char line[64];
	pid_t child;

	assert_int_equal(gp_process_expect(&p, "", 10000, line, sizeof(line)), 0);
	child = (pid_t)atoi(line);
	assert_true(child > 1);
	assert_int_equal(gp_process_end(&p, 50), -ETIMEDOUT);
	for (int i = 0; i < 200 && !kill(child, 0); i++)
		usleep(10000);
	assert_int_equal(kill(child, 0), -1);
	gp_process_kill(&p);
}

/* The question does not reap the process: it can be repeated, and the end waited for. */
static void has_ended(void **state)
{
	struct gp_process p = shell("read x; exit 3"), killed = shell("kill -9 $$");
	int status = -1;

	assert_false(gp_process_has_ended(&p, &status));
	gp_process_say_no_more(&p);
	for (int i = 0; i < 1000 && !gp_process_has_ended(&p, &status); i++)
		usleep(10000);
	assert_true(gp_process_has_ended(&p, &status));
	assert_int_equal(status, 3);
	assert_int_equal(gp_process_end(&p, 10000), 3);
	for (int i = 0; i < 1000 && !gp_process_has_ended(&killed, &status); i++)
		usleep(10000);
	assert_int_equal(status, gp_process_end(&killed, 10000));
	assert_int_not_equal(status, 3);
}

static void not_there(void **state)
{
	char *argv[] = { "/no/such/program", NULL };
	struct gp_process p;
	char line[64];

	assert_int_equal(gp_process_start(&p, argv), 0);
	assert_int_equal(gp_process_expect(&p, "", 10000, line, sizeof(line)), -EPIPE);
	assert_int_equal(gp_process_end(&p, 10000), 127);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),	   cmocka_unit_test(a_line_that_is_too_long),
		cmocka_unit_test(it_does_not_end), cmocka_unit_test(has_ended),
		cmocka_unit_test(not_there),
	};

	signal(SIGPIPE, SIG_IGN);
	return gp_run_tests(tests);
}
