// SPDX-License-Identifier: Apache-2.0
/* When the device is kept between the waits of a request, and what that costs. */
#include <stdlib.h>

#include "sched/anticipate.h"
#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

#define KEEP_NS (340 * US)
#define SWITCH_NS (170 * US)

/*
 * @n waits, so far apart, of work of @work_ns. Return: how many pauses were bridged, or of long
 * ones, how often the device was kept in vain.
 */
static unsigned int waits(struct gp_anticipation *a, uint64_t *now_ns, unsigned int n,
			  uint64_t work_ns, uint64_t gap_ns)
{
	const uint64_t least_ns = gap_ns < KEEP_NS ? gap_ns : 1;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < n; i++) {
		*now_ns += gap_ns;
		gp_anticipate_busy(a, *now_ns, KEEP_NS);
		*now_ns += work_ns;
		kept += gp_anticipate_idle(a, *now_ns, KEEP_NS, true) >= least_ns;
	}
	return kept;
}

static void test_pauses_in_a_request(void **state)
{
	struct gp_anticipation a = { 0 };
	uint64_t now_ns = MS;

	/* It takes two short pauses, then each is kept. */
	assert_int_equal(waits(&a, &now_ns, 20, 20 * US, 10 * US), 18);
	/* The next request: only its first pause was long. */
	now_ns += 20 * MS;
	assert_int_equal(waits(&a, &now_ns, 20, 20 * US, 100 * US), 19);
	assert_false(gp_anticipate_ends(&a, KEEP_NS));
	/* One long work does not count as all, nor do its switches as work. */
	waits(&a, &now_ns, 1, MS, 10 * US);
	assert_false(gp_anticipate_ends(&a, KEEP_NS));
	waits(&a, &now_ns, 20, 400 * US, 10 * US);
	assert_false(gp_anticipate_ends(&a, KEEP_NS));
	/* The next may be a little longer than all others, which almost take a step. */
	waits(&a, &now_ns, 20, 20 * US, KEEP_NS / 8 - US);
	gp_anticipate_busy(&a, now_ns + KEEP_NS / 8 - US, KEEP_NS);
	assert_true(gp_anticipate_idle(&a, now_ns + KEEP_NS / 8, KEEP_NS, true) >=
		    KEEP_NS / 8 + US);
	assert_int_equal(gp_anticipate_idle(&a, now_ns + KEEP_NS / 8, KEEP_NS, false), 0);
}

/* One wait a request: nothing is ever kept, and soon not after a change either. */
static void test_pauses_between_requests(void **state)
{
	struct gp_anticipation a = { 0 };
	uint64_t now_ns = MS;

	assert_int_equal(waits(&a, &now_ns, 100, 500 * US, 5 * MS), 0);
	assert_int_equal(waits(&a, &now_ns, 20, 20 * US, 10 * US), 11);
	assert_int_equal(waits(&a, &now_ns, 100, 500 * US, 5 * MS), 6);
	/* Every other pause is short: a hold for it costs as much as it saves. */
	for (unsigned int i = 0; i < 50; i++) {
		waits(&a, &now_ns, 1, 20 * US, 10 * US);
		waits(&a, &now_ns, 1, 20 * US, 5 * MS);
	}
	assert_int_equal(waits(&a, &now_ns, 1, 20 * US, 5 * MS), 0);
}

/*
 * @n waits, GAP_NS apart, of work that takes @beside_ns beside a hold and @free_ns without one,
 * switches included. Return: how many pauses were bridged.
 */
static unsigned int long_waits(struct gp_anticipation *a, uint64_t *now_ns, unsigned int n,
			       uint64_t beside_ns, uint64_t free_ns)
{
	const uint64_t gap_ns = 25 * US;
	unsigned int kept = 0;
	uint64_t keep_ns = a->kept_ns, on_ns;

	for (unsigned int i = 0; i < n; i++) {
		*now_ns += gap_ns;
		on_ns = gp_anticipate_busy(a, *now_ns, KEEP_NS);
		/* It goes on to the end of the work, or not at all. */
		assert_true(!on_ns || keep_ns > gap_ns);
		*now_ns += on_ns > beside_ns ? beside_ns : free_ns;
		keep_ns = gp_anticipate_idle(a, *now_ns, KEEP_NS, true);
		kept += keep_ns > gap_ns;
	}
	return kept;
}

/* A hold goes on beside long work where that is faster than the switches: by measurement. */
static void test_long_work(void **state)
{
	struct gp_anticipation a = { 0 };
	uint64_t now_ns = MS;

	/* A graph of small kernels: the hold costs nothing. */
	long_waits(&a, &now_ns, 20, 600 * US, 880 * US);
	assert_in_range(long_waits(&a, &now_ns, 2000, 620 * US, 880 * US), 1950, 1990);
	/* Each kernel fills the device, and takes twice as long beside a hold. */
	long_waits(&a, &now_ns, 300, 1200 * US, 880 * US);
	assert_in_range(long_waits(&a, &now_ns, 2000, 1200 * US, 880 * US), 10, 50);
	/* Nobody else has work: no hold. */
	long_waits(&a, &now_ns, 300, 600 * US, 600 * US);
	assert_in_range(long_waits(&a, &now_ns, 2000, 600 * US, 600 * US), 10, 50);
	/* Somebody has, from now on. */
	long_waits(&a, &now_ns, 300, 600 * US, 880 * US);
	assert_in_range(long_waits(&a, &now_ns, 2000, 600 * US, 880 * US), 1950, 1990);
	/* One slow request changes nothing. */
	long_waits(&a, &now_ns, 1, 20 * MS, 20 * MS);
	assert_in_range(long_waits(&a, &now_ns, 2000, 600 * US, 880 * US), 1950, 1990);
}

/* Only work that a hold goes on beside is measured as such, and no work after a long pause. */
static void test_what_is_measured(void **state)
{
	struct gp_anticipation a = { 0 };
	uint64_t now_ns = MS, mean_ns;

	long_waits(&a, &now_ns, 20, 600 * US, 880 * US);
	assert_true(a.beside);
	mean_ns = a.mean_ns[1];
	(void)gp_anticipate_idle(&a, now_ns, KEEP_NS, false);
	assert_int_equal(gp_anticipate_busy(&a, now_ns + 25 * US, KEEP_NS), 0);
	(void)gp_anticipate_idle(&a, now_ns + MS, KEEP_NS, true);
	assert_int_equal(a.mean_ns[1], mean_ns);
	(void)gp_anticipate_busy(&a, now_ns + 6 * MS, KEEP_NS);
	(void)gp_anticipate_idle(&a, now_ns + 7 * MS, KEEP_NS, true);
	assert_int_equal(a.mean_ns[1], mean_ns);
	/* Requests with long pauses between them have no other time. */
	a = (struct gp_anticipation){ 0 };
	waits(&a, &now_ns, 100, 600 * US, 5 * MS);
	assert_false(a.works || a.beside);
}

/* Requests at random moments: their pauses are of all lengths, and the device is kept for few. */
static void test_random_pauses(void **state)
{
	struct gp_anticipation a = { 0 };
	uint64_t now_ns = MS, kept_ns = 0, paused_ns = 0;
	unsigned int seed = 3;

	for (unsigned int i = 0; i < 1000; i++) {
		const uint64_t gap_ns = (uint64_t)rand_r(&seed) % (4 * MS);

		now_ns += gap_ns;
		paused_ns += gap_ns;
		gp_anticipate_busy(&a, now_ns, KEEP_NS);
		now_ns += 20 * US;
		kept_ns += gp_anticipate_idle(&a, now_ns, KEEP_NS, true);
	}
	assert_true(kept_ns < paused_ns / 500);
}

/* The core holds until the limit or the next KEEP, and counts no hint. */
static void test_keep(void **state)
{
	const struct gp_sched_config config = { .slice_preempts = 1, .switch_ns = SWITCH_NS };
	struct gp_event keep = { .type = GP_EV_KEEP, .tenant = 1, .hold.limit_ns = KEEP_NS };
	const struct gp_decision *dec;
	struct drive d;

	drive_init(&d, &config);
	drive_join(&d, 1, GP_CLASS_LC, 0);
	assert_int_equal(drive_ev(&d, keep), 0);
	dec = drive_find(&d, GP_DO_HOLD);
	assert_non_null(dec);
	/* Longer than the pause, so that the work after it needs no other hold. */
	assert_int_equal(dec->limit_ns, 20 * MS);
	drive_outcome(&d, GP_DO_HOLD, 0);
	keep.hold.limit_ns = MS;
	d.now_ns += 100 * US;
	assert_int_equal(drive_ev(&d, keep), 0);
	assert_null(drive_find(&d, GP_DO_HOLD));
	/* It replaces the last one: two do not add up. */
	d.now_ns += 100 * US;
	keep.hold.limit_ns = 50 * US;
	assert_int_equal(drive_ev(&d, keep), 0);
	d.now_ns += 50 * US;
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_TIMER }), 0);
	assert_non_null(drive_find(&d, GP_DO_RELEASE));
	assert_int_equal(drive_stat(&d, 1).said, 0);
	assert_int_equal(drive_stat(&d, 1).holds_expired, 0);

	/* No longer. */
	keep.hold.limit_ns = KEEP_NS;
	assert_int_equal(drive_ev(&d, keep), 0);
	assert_non_null(drive_find(&d, GP_DO_HOLD));
	drive_outcome(&d, GP_DO_HOLD, 0);
	keep.hold.limit_ns = 0;
	assert_int_equal(drive_ev(&d, keep), 0);
	assert_non_null(drive_find(&d, GP_DO_RELEASE));

	/* A prediction is taken meanwhile, and a wait for the whole device ends the keep. */
	keep.hold.limit_ns = KEEP_NS;
	assert_int_equal(drive_ev(&d, keep), 0);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_HINT,
							 .tenant = 1,
							 .hint = { .at_ns = d.now_ns + MS,
								   .guess = true } }),
			 0);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_SYNC, .tenant = 1 }), 0);
	assert_non_null(drive_find(&d, GP_DO_RELEASE));
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_SYNC_DONE, .tenant = 1 }),
			 0);
	assert_null(drive_find(&d, GP_DO_HOLD));
	drive_end(&d);
}

/* Only LC keeps the device. */
static void test_keep_refused(void **state)
{
	const struct gp_sched_config config = { .slice_preempts = 1 };
	struct drive d;

	drive_init(&d, &config);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_KEEP,
							 .tenant = 1,
							 .hold.limit_ns = KEEP_NS }),
			 -EPERM);
	drive_end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pauses_in_a_request),
		cmocka_unit_test(test_pauses_between_requests),
		cmocka_unit_test(test_long_work),
		cmocka_unit_test(test_what_is_measured),
		cmocka_unit_test(test_random_pauses),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_keep_refused),
	};

	return gp_run_tests(tests);
}
