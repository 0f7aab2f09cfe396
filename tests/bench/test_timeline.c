// SPDX-License-Identifier: Apache-2.0
/* A device's log becomes the clients' stretches; unknown parts stay unknown. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/run/timeline.h"
#include "tests/common/gp_test.h"

/* The third client was killed once. */
static const struct gp_timeline_who who[] = { { 70, 0 }, { 0, 1 }, { 90, 2 }, { 91, 2 } };

static int read_text(const char *text, struct gp_plan_result *result)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int err;

	assert_non_null(file);
	memset(result, 0, sizeof(*result));
	result->begin_ns = 1000;
	result->end_ns = 9000;
	err = gp_timeline_read(file, who, 4, result);
	fclose(file);
	return err;
}

static void test_stretches(void **state)
{
	struct gp_plan_result r;

	assert_int_equal(read_text("900 start 70 1 0\n990 end 70 1 0\n" /* before the plan */
				   "995 start 90 2 0\n"
				   "1100 start 70 1 0\n1200 end 70 1 0\n"
				   "1250 start 5 3 0\n1300 end 5 3 0\n" /* no client's */
				   "1400 end 90 2 0\n1500 start 70 1 0\n"
				   "9500 end 70 1 0\n9600 start 70 1 0\n" /* and after it */
				   "9700 end 70 1 0\n9800 start 70 1 0\n",
				   &r),
			 0);
	assert_int_equal(r.stretches, 3);
	assert_int_equal(r.stretch[0].client, 0);
	assert_int_equal(r.stretch[0].start_ns, 1100);
	assert_int_equal(r.stretch[0].end_ns, 1200);
	assert_int_equal(r.stretch[1].client, 2);
	assert_int_equal(r.stretch[1].start_ns, 1000);
	assert_int_equal(r.stretch[1].end_ns, 1400);
	assert_int_equal(r.stretch[2].start_ns, 1500);
	assert_int_equal(r.stretch[2].end_ns, 9000);
	gp_plan_result_free(&r);
}

static void test_what_is_lost_is_not_guessed(void **state)
{
	struct gp_plan_result r;

	assert_int_equal(read_text("1100 start 70 1 0\n1150 lost 0 0 7\n1200 end 70 1 0\n"
				   "1300 end 90 2 0\n1400 start 90 2 0\n1500 end 90 2 0\n",
				   &r),
			 0);
	assert_int_equal(r.stretches, 1);
	assert_int_equal(r.stretch[0].start_ns, 1400);
	gp_plan_result_free(&r);
	/* A process that is not known is no client. */
	assert_int_equal(read_text("1100 start 0 1 0\n1200 end 0 1 0\n", &r), 0);
	assert_int_equal(r.stretches, 0);
	gp_plan_result_free(&r);
}

/* A stretch that was open at a kill has no known end. */
static void test_another_life(void **state)
{
	struct gp_plan_result r;

	assert_int_equal(read_text("1100 start 90 1 0\n1200 end 90 1 0\n1300 start 90 1 0\n"
				   "1500 start 91 1 0\n1600 end 91 1 0\n",
				   &r),
			 0);
	assert_int_equal(r.stretches, 2);
	assert_int_equal(r.stretch[0].client, 2);
	assert_int_equal(r.stretch[1].client, 2);
	assert_int_equal(r.stretch[1].start_ns, 1500);
	gp_plan_result_free(&r);
}

static void test_many(void **state)
{
	struct gp_plan_result r = { .end_ns = UINT64_MAX };
	FILE *file = tmpfile();

	assert_non_null(file);
	for (int i = 1; i <= 5000; i++)
		fprintf(file, "%d start 90 1 0\n%d end 90 1 0\n", 10 * i, 10 * i + 5);
	rewind(file);
	assert_int_equal(gp_timeline_read(file, who, 4, &r), 0);
	fclose(file);
	assert_int_equal(r.stretches, 5000);
	assert_int_equal(r.stretch[4999].end_ns, 50005);
	gp_plan_result_free(&r);
}

static void test_no_log(void **state)
{
	struct gp_plan_result r;

	assert_int_equal(read_text("device: not permitted\n", &r), -EBADMSG);
	gp_plan_result_free(&r);
	assert_int_equal(read_text("\n", &r), -EBADMSG);
	gp_plan_result_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stretches),
		cmocka_unit_test(test_what_is_lost_is_not_guessed),
		cmocka_unit_test(test_another_life),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_no_log),
	};

	return gp_run_tests(tests);
}
