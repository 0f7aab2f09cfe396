// SPDX-License-Identifier: Apache-2.0
/* Usage of tenants by a device's log, against sums made in the simple way. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/usage.h"
#include "tests/common/gp_test.h"

#define MS 1000000ull

static struct gp_usage usage;

static void rec(uint32_t kind, uint64_t at_ns, pid_t pid, uint32_t context)
{
	gp_usage_record(&usage, &(struct gp_switch_record){ .kind = kind,
							    .time_ns = at_ns,
							    .pid = pid,
							    .context = context,
							    .count = 1 });
}

static void expect(pid_t pid, uint64_t used_ns, uint64_t displaced_ns)
{
	uint64_t used, displaced;

	gp_usage_take(gp_usage_of(&usage, pid), &used, &displaced);
	assert_int_equal(used, used_ns);
	assert_int_equal(displaced, displaced_ns);
}

static void start(void)
{
	memset(&usage, 0, sizeof(usage));
	assert_int_equal(gp_usage_join(&usage, 1, false), 0);
	assert_int_equal(gp_usage_join(&usage, 2, false), 0);
	assert_int_equal(gp_usage_join(&usage, 9, true), 0);
}

static void test_stretches(void **state)
{
	start();
	rec(GP_SWITCH_START, 10 * MS, 1, 100);
	rec(GP_SWITCH_END, 12 * MS, 1, 100);
	rec(GP_SWITCH_START, 12 * MS, 77, 5); /* no tenant's */
	rec(GP_SWITCH_END, 13 * MS, 77, 5);
	rec(GP_SWITCH_START, 13 * MS, 2, 200);
	assert_true(gp_usage_of(&usage, 2)->on);
	gp_usage_until(&usage, 20 * MS);
	expect(1, 2 * MS, 0);
	expect(2, 7 * MS, 0);
	/* A running tenant's time counts up to there, once. */
	rec(GP_SWITCH_END, 21 * MS, 2, 200);
	gp_usage_until(&usage, 30 * MS);
	expect(2, 1 * MS, 0);
	expect(1, 0, 0);
	assert_int_equal(gp_usage_of(&usage, 1)->starts, 1);
	assert_int_equal(gp_usage_of(&usage, 2)->ended_ns, 21 * MS);
}

static void test_taken(void **state)
{
	start();
	gp_usage_turn(&usage, 0, 1);
	gp_usage_turn(&usage, 50 * MS, 2);
	gp_usage_turn(&usage, 100 * MS, 0);
	/* 5 ms in each one's turn, and 1 ms outside of turns. */
	rec(GP_SWITCH_START, 45 * MS, 9, 900);
	rec(GP_SWITCH_END, 55 * MS, 9, 900);
	rec(GP_SWITCH_START, 120 * MS, 9, 900);
	rec(GP_SWITCH_END, 121 * MS, 9, 900);
	expect(1, 0, 5 * MS);
	expect(2, 0, 5 * MS);
	expect(9, 11 * MS, 0);
}

static void test_what_is_lost_is_not_guessed(void **state)
{
	start();
	rec(GP_SWITCH_START, 10 * MS, 1, 100);
	gp_usage_until(&usage, 15 * MS);
	gp_usage_record(&usage, &(struct gp_switch_record){
					.kind = GP_SWITCH_LOST, .time_ns = 30 * MS, .count = 12 });
	gp_usage_until(&usage, 40 * MS);
	expect(1, 5 * MS, 0);
	assert_int_equal(usage.lost, 12);
	/* An end without a start does not count. */
	rec(GP_SWITCH_END, 45 * MS, 1, 100);
	expect(1, 0, 0);
}

static void test_late_records(void **state)
{
	start();
	/* It was counted beyond its end, and then the end came late. */
	rec(GP_SWITCH_START, 10 * MS, 1, 100);
	gp_usage_until(&usage, 20 * MS);
	rec(GP_SWITCH_END, 15 * MS, 1, 100);
	/* A stretch that ended before counts from there only. */
	rec(GP_SWITCH_START, 16 * MS, 2, 200);
	gp_usage_until(&usage, 22 * MS);
	expect(1, 10 * MS, 0);
	expect(2, 2 * MS, 0);
}

static void test_many(void **state)
{
	memset(&usage, 0, sizeof(usage));
	for (pid_t pid = 1; pid <= GP_USAGE_PROCESSES; pid++)
		assert_int_equal(gp_usage_join(&usage, pid, false), 0);
	assert_int_equal(gp_usage_join(&usage, 100000, false), -ENOSPC);
	assert_int_equal(gp_usage_join(&usage, 7, true), 0);
	assert_true(gp_usage_of(&usage, 7)->lc);
	gp_usage_leave(&usage, 7);
	assert_null(gp_usage_of(&usage, 7));
	assert_null(gp_usage_of(&usage, 0));
	assert_int_equal(gp_usage_join(&usage, 100000, false), 0);
}

/* Random switching, one at a time, with turns: sums agree with a second by second count. */
static void test_random(void **state)
{
	uint64_t used[4] = { 0 }, displaced[4] = { 0 }, now = 0, r = 20261121;
	const pid_t pid[4] = { 1, 2, 9, 0 };
	pid_t turn = 0;

	printf("seed %llu\n", (unsigned long long)r);
	start();
	for (int i = 0; i < 20000; i++) {
		uint64_t got, got_displaced, length;
		int who;

		r = r * 6364136223846793005ull + 1442695040888963407ull;
		who = (int)(r >> 60) % 4;
		length = 1 + (r >> 33) % 1000000;
		if ((r >> 50) % 8 == 0) {
			turn = pid[(r >> 40) % 2];
			gp_usage_turn(&usage, now, turn);
		}
		if (pid[who]) {
			rec(GP_SWITCH_START, now, pid[who], 50 + (uint32_t)who);
			rec(GP_SWITCH_END, now + length, pid[who], 50 + (uint32_t)who);
			used[who] += length;
		}
		if (pid[who] == 9 && turn)
			displaced[turn == 1 ? 0 : 1] += length;
		now += length;
		if ((r >> 20) % 16)
			continue;
		gp_usage_until(&usage, now);
		for (int k = 0; k < 3; k++) {
			gp_usage_take(gp_usage_of(&usage, pid[k]), &got, &got_displaced);
			assert_int_equal(got, used[k]);
			assert_int_equal(got_displaced, displaced[k]);
			used[k] = displaced[k] = 0;
		}
	}
}

/* The log is read late: it has stretches from before the tenant came. */
static void test_before_it_came(void **state)
{
	start();
	gp_usage_from(&usage, 1, 14 * MS);
	rec(GP_SWITCH_START, 10 * MS, 1, 100);
	rec(GP_SWITCH_END, 12 * MS, 1, 100);
	rec(GP_SWITCH_START, 13 * MS, 1, 100);
	rec(GP_SWITCH_END, 17 * MS, 1, 100);
	rec(GP_SWITCH_START, 17 * MS, 2, 200);
	gp_usage_until(&usage, 20 * MS);
	expect(1, 3 * MS, 0);
	expect(2, 3 * MS, 0);
	gp_usage_from(&usage, 77, 30 * MS); /* no tenant's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stretches),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_what_is_lost_is_not_guessed),
		cmocka_unit_test(test_late_records),
		cmocka_unit_test(test_before_it_came),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_random),
	};

	return gp_run_tests(tests);
}
