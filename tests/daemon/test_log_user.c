// SPDX-License-Identifier: Apache-2.0
/* Messages that users cause, and shortages: each gets a few lines. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/loop/log.h"
#include "daemon/loop/log_user.h"
#include "daemon/loop/loop.h"
#include "tests/common/gp_test.h"

static unsigned int lines;
static char last[1024];

static void count(enum gp_log_level level, const char *message, void *arg)
{
	lines++;
	snprintf(last, sizeof(last), "%s", message);
}

static int setup(void **state)
{
	gp_log_user_flush(UINT64_MAX);
	lines = 0;
	return 0;
}

static void refuse(uid_t uid, unsigned int n)
{
	while (n--)
		gp_log_user(uid, GP_LOG_REFUSALS, GP_LOG_WARN, "refused %u", n);
}

static void a_flood_of_one_user(void **state)
{
	refuse(7, 1000);
	assert_int_equal(lines, 10);
	assert_string_equal(last, "refused 990");
	refuse(8, 1);
	assert_int_equal(lines, 11);
	gp_log_user(7, GP_LOG_JOINS, GP_LOG_INFO, "joined");
	assert_int_equal(lines, 12);
}

static void the_rest_is_counted(void **state)
{
	uint64_t now_ns = gp_loop_now_ns();

	refuse(7, 1000);
	gp_log_user_flush(now_ns);
	assert_int_equal(lines, 10);
	gp_log_user_flush(now_ns + 61000000000u);
	assert_int_equal(lines, 11);
	assert_string_equal(last, "user 7: 990 more refusals within a minute");
	/* A new minute. */
	refuse(7, 20);
	assert_int_equal(lines, 21);
}

/* Users beyond the table share one place: still a limit. */
static void many_users(void **state)
{
	for (uid_t uid = 1000; uid < 11000; uid++)
		refuse(uid, 20);
	assert_in_range(lines, 1000, 2000);
}

/* One line for each place in the code, and none for errors of another kind. */
static void shortages(void **state)
{
	const int none[] = { 0, -ESRCH, -ENOENT, -EPERM };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		gp_log_shortage(none[i], "not reached");
	assert_int_equal(lines, 0);
	for (int i = 0; i < 10; i++)
		gp_log_shortage(-EMFILE, "one");
	assert_int_equal(lines, 1);
	assert_string_equal(last, "one: Too many open files");
	gp_log_shortage(-ENOMEM, "another");
	assert_int_equal(lines, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_flood_of_one_user, setup),
		cmocka_unit_test_setup(the_rest_is_counted, setup),
		cmocka_unit_test_setup(many_users, setup),
		cmocka_unit_test_setup(shortages, setup),
	};

	/* Once: readers may use an earlier one, so none is freed. */
	gp_set_log(count, NULL);
	return gp_run_tests(tests);
}
