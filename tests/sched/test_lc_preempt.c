// SPDX-License-Identifier: Apache-2.0
/* Which LC groups are preempted for which, how often, and for how long. */
#include <stdbool.h>

#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

/* Tenants and their groups have the same ids; levels as given, BE last. */
static void start(struct drive *d, uint32_t cut, const uint32_t *level, uint32_t n)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.lc_preempt = cut,
	};

	drive_init(d, &config);
	for (uint32_t i = 1; i <= n + 1; i++) {
		const struct gp_decision *set;

		drive_join(d, i, i <= n ? GP_CLASS_LC : GP_CLASS_BE, i <= n ? level[i - 1] : 100);
		assert_int_equal(drive_appear(d, i, i), 0);
		set = drive_find(d, GP_DO_SET_SLICE);
		assert_non_null(set);
		drive_outcome(d, GP_DO_SET_SLICE, 0);
	}
	for (uint32_t i = 1; i <= n; i++)
		drive_at(d, d->now_ns, GP_EV_IDLE, i);
}

static bool asked(const struct drive *d, uint32_t type, uint32_t group)
{
	for (size_t i = 0; i < d->out.count; i++)
		if (d->out.d[i].type == type && d->out.d[i].group == group)
			return true;
	return false;
}

/* @group's decision of @type is over. */
static void over(struct drive *d, const struct gp_decisions *of, uint32_t type, uint32_t group,
		 int32_t error)
{
	for (size_t i = 0; i < of->count; i++)
		if (of->d[i].type == type && of->d[i].group == group) {
			assert_int_equal(
				drive_ev(d, (struct gp_event){ .type = GP_EV_OUTCOME,
							       .outcome = { of->d[i].id, error } }),
				0);
			return;
		}
	fail();
}

static void test_one_is_cut(void **state)
{
	static const uint32_t level[] = { 0, 1, 1 };
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 3);
	assert_int_equal(gp_sched_most_urgent(d.sched), 0);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 2);
	assert_int_equal(gp_sched_most_urgent(d.sched), 2);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_at(&d, d.now_ns, GP_EV_BUSY, 1);
	assert_int_equal(gp_sched_most_urgent(d.sched), 1);
	/* Neither idle tenants nor best-effort: slices preempt these. */
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	assert_false(asked(&d, GP_DO_PREEMPT, 3));
	assert_false(asked(&d, GP_DO_PREEMPT, 4));
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	/* Once each time that it becomes the most urgent. */
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_END, 1);
	drive_at(&d, d.now_ns, GP_EV_IDLE, 1);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_at(&d, d.now_ns, GP_EV_HOLD, 1);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_end(&d);
}

/* A request that fails is too late by then: the group is not asked again for this work. */
static void test_a_failed_request_is_not_repeated(void **state)
{
	static const uint32_t level[] = { 0, 1, 1 };
	struct gp_decisions asks;
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 3);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 2);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 3);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 1);
	asks = d.out;
	over(&d, &asks, GP_DO_PREEMPT, 2, -EIO);
	assert_false(asked(&d, GP_DO_PREEMPT, 2));
	/* The other one is asked twice, as there are two. */
	over(&d, &asks, GP_DO_PREEMPT, 3, 0);
	assert_true(asked(&d, GP_DO_PREEMPT, 3));
	drive_at(&d, d.now_ns + 100 * MS, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_PREEMPT, 2));
	drive_end(&d);
}

/* Observed late from outside: idle then, so it is asked in case it has work by now. */
static void test_who_was_idle_a_while_ago(void **state)
{
	static const uint32_t level[] = { 0, 1 };
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 2);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 1);
	assert_false(asked(&d, GP_DO_PREEMPT, 2));
	drive_at(&d, d.now_ns, GP_EV_IDLE, 1);
	drive_ev(&d,
		 (struct gp_event){ .type = GP_EV_IDLE, .tenant = 2, .idle.how = GP_IDLE_UNSURE });
	drive_at(&d, d.now_ns, GP_EV_BUSY, 1);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_end(&d);
}

static void busy(struct drive *d, uint32_t tenant, uint32_t how)
{
	assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_BUSY,
							.tenant = tenant,
							.busy.how = how }),
			 0);
}

/* Its former work is done, and it has more: others may run by now. */
static void test_other_work_cuts_again(void **state)
{
	static const uint32_t level[] = { 0, 1 };
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 2);
	busy(&d, 2, 0);
	busy(&d, 1, 0);
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	busy(&d, 1, 0);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	busy(&d, 1, GP_BUSY_ANEW);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_end(&d);
}

/* Assumed idle when the urgent one began, and then seen on the device. */
static void test_who_is_seen_on_is_cut(void **state)
{
	static const uint32_t level[] = { 0, 1 };
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 2);
	busy(&d, 1, 0);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	/* Having work does not mean having the device. */
	busy(&d, 2, 0);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	busy(&d, 2, GP_BUSY_ON);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	/* The most urgent one may have it. */
	busy(&d, 1, GP_BUSY_ON);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_end(&d);
}

static void seen_on(struct drive *d, uint32_t tenant, uint64_t at_ns)
{
	assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_BUSY,
							.tenant = tenant,
							.busy = { GP_BUSY_ON, at_ns } }),
			 0);
}

/* The most urgent one has it, so no other is asked. An older sighting does not count. */
static void test_who_has_it_needs_no_cut(void **state)
{
	static const uint32_t level[] = { 0, 1, 1 };
	struct gp_decisions first;
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 3);
	busy(&d, 2, 0);
	busy(&d, 3, 0);
	drive_at(&d, d.now_ns + MS, GP_EV_BUSY, 1);
	first = d.out;
	seen_on(&d, 1, d.now_ns - 1);
	over(&d, &first, GP_DO_PREEMPT, 2, 0);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	d.now_ns += 100 * US;
	seen_on(&d, 1, d.now_ns);
	over(&d, &first, GP_DO_PREEMPT, 3, 0);
	assert_false(asked(&d, GP_DO_PREEMPT, 3));
	/* It loses the device again. */
	busy(&d, 3, GP_BUSY_ON);
	assert_true(asked(&d, GP_DO_PREEMPT, 3));
	drive_end(&d);
}

/* Expected work defers rotation, and preempts no tenant. */
static void test_work_to_come_cuts_nobody(void **state)
{
	static const uint32_t level[] = { 0, 1 };
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 2);
	busy(&d, 2, 0);
	busy(&d, 1, GP_BUSY_SOON);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	busy(&d, 1, 0);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	/* Its former work is done. */
	busy(&d, 1, GP_BUSY_SOON);
	busy(&d, 1, 0);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_end(&d);
}

/* 1 had work a moment ago, and 2 has some: since the returned time. */
static uint64_t second_begins(struct drive *d)
{
	static const uint32_t level[] = { 0, 1 };

	start(d, GP_LC_CUT_PREEMPT, level, 2);
	busy(d, 1, 0);
	drive_at(d, d->now_ns + MS, GP_EV_IDLE, 1);
	drive_at(d, d->now_ns + 5 * MS, GP_EV_BUSY, 2);
	assert_false(asked(d, GP_DO_SUSPEND, 3));
	return d->now_ns;
}

/* BE's turns would come between two of LC's, so it is suspended until the preempted job is done. */
static void test_best_effort_is_off_meanwhile(void **state)
{
	struct drive d;
	uint64_t began = second_begins(&d);

	assert_int_equal(drive_find(&d, GP_DO_ARM_TIMER)->at_ns, began + MS);
	drive_at(&d, began + MS, GP_EV_TIMER, 0);
	assert_true(asked(&d, GP_DO_SUSPEND, 3));
	drive_outcome(&d, GP_DO_SUSPEND, 0);
	busy(&d, 1, 0);
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	drive_at(&d, d.now_ns, GP_EV_IDLE, 1);
	busy(&d, 1, 0);
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	assert_false(gp_sched_rotation_deferred(d.sched));
	/* A resume could end a more urgent tenant's turn, so its end is awaited. */
	drive_at(&d, d.now_ns, GP_EV_IDLE, 2);
	assert_false(asked(&d, GP_DO_RESUME, 3));
	assert_true(gp_sched_rotation_deferred(d.sched));
	drive_at(&d, d.now_ns, GP_EV_IDLE, 1);
	assert_true(asked(&d, GP_DO_RESUME, 3));
	assert_false(gp_sched_rotation_deferred(d.sched));
	drive_outcome(&d, GP_DO_RESUME, 0);
	/* BE may have the gaps of the most urgent tenant alone. */
	busy(&d, 1, 0);
	drive_at(&d, d.now_ns + 2 * MS, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	drive_end(&d);
}

/* A tenant with long work is expected to have long work again, even before it has the device. */
static void test_off_from_the_beginning_the_next_time(void **state)
{
	struct drive d;
	uint64_t began = second_begins(&d);

	drive_at(&d, began + 2 * MS, GP_EV_IDLE, 2);
	busy(&d, 1, GP_BUSY_SOON);
	drive_at(&d, began + 40 * MS, GP_EV_BUSY, 2);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	assert_int_equal(drive_find(&d, GP_DO_ARM_TIMER)->at_ns, began + 40 * MS + 1);
	drive_at(&d, began + 40 * MS + 1, GP_EV_TIMER, 0);
	assert_true(asked(&d, GP_DO_SUSPEND, 3));
	drive_outcome(&d, GP_DO_SUSPEND, 0);
	drive_at(&d, began + 40 * MS + MS / 2, GP_EV_IDLE, 2);
	drive_at(&d, began + 40 * MS + MS / 2, GP_EV_IDLE, 1);
	assert_true(asked(&d, GP_DO_RESUME, 3));
	drive_outcome(&d, GP_DO_RESUME, 0);
	/* That was short. */
	drive_at(&d, began + 80 * MS, GP_EV_BUSY, 2);
	drive_at(&d, began + 80 * MS + 1, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	drive_end(&d);
}

/* 2 had work for @had_ns, and expects more: announced at the returned time. */
static uint64_t second_is_to_come(struct drive *d, uint64_t had_ns)
{
	uint64_t began = second_begins(d);

	drive_at(d, began + had_ns, GP_EV_IDLE, 2);
	busy(d, 1, 0);
	drive_at(d, began + 30 * MS, GP_EV_IDLE, 1);
	d->now_ns = began + 38 * MS;
	busy(d, 2, GP_BUSY_SOON);
	return d->now_ns;
}

/* Long expected work finds best-effort suspended. */
static void test_off_before_long_work_comes(void **state)
{
	struct drive d;
	uint64_t told = second_is_to_come(&d, 5 * MS);

	assert_true(asked(&d, GP_DO_SUSPEND, 3));
	drive_outcome(&d, GP_DO_SUSPEND, 0);
	drive_at(&d, told + 2 * MS, GP_EV_BUSY, 2);
	assert_false(asked(&d, GP_DO_RESUME, 3));
	/* Further work, at once. */
	busy(&d, 2, GP_BUSY_ANEW);
	assert_false(asked(&d, GP_DO_RESUME, 3));
	drive_at(&d, told + 12 * MS, GP_EV_IDLE, 2);
	assert_true(asked(&d, GP_DO_RESUME, 3));
	drive_end(&d);
}

/* BE loses nothing for shorter work, nor for work that does not come, .. */
static void test_best_effort_is_back_when_none_comes(void **state)
{
	struct drive d;
	uint64_t told;

	second_is_to_come(&d, 5 * MS - 1);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	drive_end(&d);
	told = second_is_to_come(&d, 5 * MS);
	drive_outcome(&d, GP_DO_SUSPEND, 0);
	drive_at(&d, told + 3 * MS, GP_EV_IDLE, 2);
	assert_true(asked(&d, GP_DO_RESUME, 3));
	drive_end(&d);
	/* .. even if it is announced again. */
	told = second_is_to_come(&d, 5 * MS);
	assert_int_equal(drive_find(&d, GP_DO_ARM_TIMER)->at_ns, told + 20 * MS);
	drive_outcome(&d, GP_DO_SUSPEND, 0);
	drive_at(&d, told + 20 * MS, GP_EV_TIMER, 0);
	drive_at(&d, told + 40 * MS, GP_EV_TIMER, 0);
	assert_true(asked(&d, GP_DO_RESUME, 3));
	drive_end(&d);
}

/* The urgent tenant's work comes as soon: a suspend could end its turn. */
static void test_not_before_the_urgent_one_either(void **state)
{
	struct drive d;
	uint64_t began = second_begins(&d);

	drive_at(&d, began + 5 * MS, GP_EV_IDLE, 2);
	busy(&d, 1, GP_BUSY_SOON);
	busy(&d, 2, GP_BUSY_SOON);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	busy(&d, 1, 0);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	drive_at(&d, d.now_ns + MS, GP_EV_IDLE, 1);
	assert_true(asked(&d, GP_DO_SUSPEND, 3));
	drive_end(&d);
}

/* While the urgent one runs, a suspend could end its turn. */
static void test_not_at_once_beside_the_urgent_one(void **state)
{
	struct drive d;
	uint64_t began = second_begins(&d);

	drive_at(&d, began + 2 * MS, GP_EV_IDLE, 2);
	drive_at(&d, began + 40 * MS, GP_EV_BUSY, 2);
	busy(&d, 1, 0);
	drive_at(&d, began + 40 * MS + 1, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	drive_at(&d, began + 40 * MS + MS / 2, GP_EV_IDLE, 1);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	drive_at(&d, began + 41 * MS, GP_EV_TIMER, 0);
	assert_true(asked(&d, GP_DO_SUSPEND, 3));
	drive_end(&d);
}

/* A suspend could end its turn. */
static void test_not_while_the_urgent_one_runs(void **state)
{
	struct drive d;
	uint64_t began = second_begins(&d);

	drive_at(&d, began + MS - 1, GP_EV_TIMER, 0);
	busy(&d, 1, GP_BUSY_SOON);
	drive_at(&d, began + MS, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	busy(&d, 1, 0);
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	drive_at(&d, began + 2 * MS, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	drive_at(&d, began + 2 * MS, GP_EV_IDLE, 1);
	assert_true(asked(&d, GP_DO_SUSPEND, 3));
	drive_end(&d);
}

/* The end of work that only the log shows may be unknown. */
static void test_not_for_unsure_work(void **state)
{
	static const uint32_t level[] = { 0, 1, 2 };
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 3);
	busy(&d, 1, 0);
	drive_at(&d, d.now_ns + MS, GP_EV_IDLE, 1);
	busy(&d, 2, GP_BUSY_UNSURE);
	/* It is sure that LC works. */
	busy(&d, 3, 0);
	drive_at(&d, d.now_ns + 2 * MS, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_SUSPEND, 4));
	drive_end(&d);
}

static void test_not_for_who_was_not_there_lately(void **state)
{
	struct drive d;
	uint64_t began = second_begins(&d);

	drive_at(&d, began, GP_EV_IDLE, 2);
	drive_at(&d, began + 100 * MS, GP_EV_BUSY, 2);
	drive_at(&d, began + 102 * MS, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_SUSPEND, 3));
	drive_end(&d);
}

/* A tenant that never becomes idle suspends BE for a limited time only. */
static void test_best_effort_comes_back(void **state)
{
	struct drive d;
	uint64_t began = second_begins(&d);

	drive_at(&d, began + MS, GP_EV_TIMER, 0);
	drive_outcome(&d, GP_DO_SUSPEND, 0);
	drive_at(&d, began + 20 * MS - 1, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_RESUME, 3));
	/* BE waits for a busy tenant as long as a turn is deferred at most. */
	drive_at(&d, began + 20 * MS, GP_EV_TIMER, 0);
	assert_false(asked(&d, GP_DO_RESUME, 3));
	assert_int_equal(drive_find(&d, GP_DO_ARM_TIMER)->at_ns, began + 40 * MS);
	drive_at(&d, began + 40 * MS, GP_EV_TIMER, 0);
	assert_true(asked(&d, GP_DO_RESUME, 3));
	drive_end(&d);
}

static void test_equals_are_not_cut(void **state)
{
	static const uint32_t level[] = { 1, 1 };
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 2);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 1);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 2);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_end(&d);
}

/* Of two, the second may run when the first stops. */
static void test_two_are_asked_twice(void **state)
{
	static const uint32_t level[] = { 0, 1, 2 };
	struct gp_decisions first;
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 3);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 2);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 3);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	first = d.out;
	assert_int_equal(drive_find(&d, GP_DO_PREEMPT)->group, 2);
	over(&d, &first, GP_DO_PREEMPT, 2, 0);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	/* Its end is a change too: 3 may run instead of 2. */
	over(&d, &first, GP_DO_PREEMPT, 3, 0);
	assert_true(asked(&d, GP_DO_PREEMPT, 3));
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_END, 1);
	assert_true(asked(&d, GP_DO_PREEMPT, 3));
	assert_false(asked(&d, GP_DO_PREEMPT, 2));
	drive_end(&d);
}

/* The former most urgent tenant most likely has the device: asked first. */
static void test_likely_one_first(void **state)
{
	static const uint32_t level[] = { 2, 1, 0 };
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 3);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 1);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 2);
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 3);
	assert_int_equal(drive_find(&d, GP_DO_PREEMPT)->group, 2);
	assert_true(asked(&d, GP_DO_PREEMPT, 1));
	drive_end(&d);
}

static void test_urgent_one_goes_meanwhile(void **state)
{
	static const uint32_t level[] = { 0, 1, 2 };
	struct gp_decisions first;
	struct drive d;

	start(&d, GP_LC_CUT_PREEMPT, level, 3);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 3);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 2);
	assert_true(asked(&d, GP_DO_PREEMPT, 3));
	first = d.out;
	drive_at(&d, d.now_ns, GP_EV_IDLE, 2);
	over(&d, &first, GP_DO_PREEMPT, 3, -EIO);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_end(&d);
}

static void test_none(void **state)
{
	static const uint32_t level[] = { 0, 1 };
	struct drive d;

	start(&d, GP_LC_CUT_NONE, level, 2);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 2);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	assert_null(drive_find(&d, GP_DO_SUSPEND));
	drive_end(&d);
}

/* A device without PREEMPT: suspended until the job is done, or for 20 ms. */
static void test_suspends_instead(void **state)
{
	static const uint32_t level[] = { 0, 1 };
	struct drive d;
	uint64_t began;

	start(&d, GP_LC_CUT_PREEMPT, level, 2);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 2);
	drive_at(&d, d.now_ns, GP_EV_BUSY, 1);
	began = d.now_ns;
	drive_outcome(&d, GP_DO_PREEMPT, -EOPNOTSUPP);
	assert_true(asked(&d, GP_DO_SUSPEND, 2));
	drive_outcome(&d, GP_DO_SUSPEND, 0);
	drive_at(&d, began + 5 * MS, GP_EV_IDLE, 1);
	assert_true(asked(&d, GP_DO_RESUME, 2));
	drive_outcome(&d, GP_DO_RESUME, 0);

	drive_at(&d, began + 10 * MS, GP_EV_BUSY, 1);
	assert_true(asked(&d, GP_DO_SUSPEND, 2));
	drive_outcome(&d, GP_DO_SUSPEND, 0);
	drive_at(&d, began + 25 * MS, GP_EV_TIMER, 0);
	assert_int_equal(drive_find(&d, GP_DO_ARM_TIMER)->at_ns, began + 30 * MS);
	drive_at(&d, began + 30 * MS - 1, GP_EV_TIMER, 0);
	assert_null(drive_find(&d, GP_DO_RESUME));
	drive_at(&d, began + 30 * MS, GP_EV_TIMER, 0);
	assert_true(asked(&d, GP_DO_RESUME, 2));
	drive_end(&d);
}

/* ---- by length, within a level ---------------------------------------------------- */

/* Each did one job of the given us. */
static void start_sjf(struct drive *d, const uint32_t *us, uint32_t n)
{
	static const uint32_t level[] = { 0, 0, 0, 0 };

	start(d, GP_LC_CUT_PREEMPT, level, n);
	gp_sched_set_policy(d->sched, NULL, &gp_policy_sjf);
	for (uint32_t i = 1; i <= n; i++) {
		busy(d, i, 0);
		drive_at(d, d->now_ns, GP_EV_IDLE, i);
		assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_USAGE,
								.tenant = i,
								.usage.used_ns = us[i - 1] * US }),
				 0);
	}
}

static void test_the_shorter_cuts(void **state)
{
	static const uint32_t us[] = { 400, 4000, 3900 };
	struct drive d;

	start_sjf(&d, us, 3);
	busy(&d, 2, 0);
	assert_int_equal(gp_sched_most_urgent(d.sched), 2);
	busy(&d, 1, 0);
	assert_int_equal(gp_sched_most_urgent(d.sched), 1);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	busy(&d, 3, 0);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	/* The shortest of those that wait is next. */
	drive_at(&d, d.now_ns + MS, GP_EV_IDLE, 1);
	assert_int_equal(gp_sched_most_urgent(d.sched), 3);
	assert_true(asked(&d, GP_DO_PREEMPT, 2));
	drive_end(&d);
}

/* A preemption does not pay for a slightly shorter job; before its begin, a job preempts none. */
static void test_what_has_begun_is_shorter(void **state)
{
	static const uint32_t us[] = { 3700, 4000, 3500 };
	struct drive d;

	start_sjf(&d, us, 3);
	busy(&d, 2, 0);
	drive_at(&d, d.now_ns + 50 * US, GP_EV_BUSY, 1);
	assert_int_equal(gp_sched_most_urgent(d.sched), 1);
	drive_outcome(&d, GP_DO_PREEMPT, 0);
	/* Two switches are 400 us. */
	drive_at(&d, d.now_ns + 200 * US, GP_EV_BUSY, 3);
	assert_int_equal(gp_sched_most_urgent(d.sched), 1);
	assert_null(drive_find(&d, GP_DO_PREEMPT));
	drive_end(&d);
}

/* Work of unknown length goes behind known work, and preempts none. */
static void test_unknown_is_last(void **state)
{
	static const uint32_t us[] = { 4000, 9000 };
	struct drive d;

	start_sjf(&d, us, 2);
	drive_join(&d, 9, GP_CLASS_LC, 0);
	busy(&d, 9, 0);
	busy(&d, 2, 0);
	assert_int_equal(gp_sched_most_urgent(d.sched), 2);
	drive_at(&d, d.now_ns + MS, GP_EV_IDLE, 2);
	assert_int_equal(gp_sched_most_urgent(d.sched), 9);
	/* Endless work counts with its length so far. */
	drive_at(&d, d.now_ns, GP_EV_IDLE, 9);
	busy(&d, 2, 0);
	busy(&d, 1, 0);
	assert_int_equal(gp_sched_most_urgent(d.sched), 1);
	drive_at(&d, d.now_ns + 20 * MS, GP_EV_TIMER, 0);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_USAGE,
							 .tenant = 1,
							 .usage.used_ns = 20 * MS }),
			 0);
	assert_int_equal(gp_sched_most_urgent(d.sched), 2);
	drive_end(&d);
}

/* Levels come before lengths. */
static void test_a_level_is_not_cut_by_length(void **state)
{
	static const uint32_t us[] = { 400, 4000 };
	struct drive d;

	start_sjf(&d, us, 2);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_TENANT_CLASS,
							 .tenant = 1,
							 .spec = { .cls = { GP_CLASS_LC, 1 } } }),
			 0);
	busy(&d, 1, 0);
	busy(&d, 2, 0);
	assert_int_equal(gp_sched_most_urgent(d.sched), 2);
	drive_end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_failed_request_is_not_repeated),
		cmocka_unit_test(test_one_is_cut),
		cmocka_unit_test(test_who_was_idle_a_while_ago),
		cmocka_unit_test(test_other_work_cuts_again),
		cmocka_unit_test(test_who_is_seen_on_is_cut),
		cmocka_unit_test(test_who_has_it_needs_no_cut),
		cmocka_unit_test(test_work_to_come_cuts_nobody),
		cmocka_unit_test(test_best_effort_is_off_meanwhile),
		cmocka_unit_test(test_off_from_the_beginning_the_next_time),
		cmocka_unit_test(test_off_before_long_work_comes),
		cmocka_unit_test(test_best_effort_is_back_when_none_comes),
		cmocka_unit_test(test_not_before_the_urgent_one_either),
		cmocka_unit_test(test_not_at_once_beside_the_urgent_one),
		cmocka_unit_test(test_not_while_the_urgent_one_runs),
		cmocka_unit_test(test_not_for_unsure_work),
		cmocka_unit_test(test_not_for_who_was_not_there_lately),
		cmocka_unit_test(test_best_effort_comes_back),
		cmocka_unit_test(test_equals_are_not_cut),
		cmocka_unit_test(test_two_are_asked_twice),
		cmocka_unit_test(test_likely_one_first),
		cmocka_unit_test(test_urgent_one_goes_meanwhile),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_suspends_instead),
		cmocka_unit_test(test_the_shorter_cuts),
		cmocka_unit_test(test_what_has_begun_is_shorter),
		cmocka_unit_test(test_unknown_is_last),
		cmocka_unit_test(test_a_level_is_not_cut_by_length),
	};

	return gp_run_tests(tests);
}
