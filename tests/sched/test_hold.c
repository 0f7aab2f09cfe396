// SPDX-License-Identifier: Apache-2.0
/* Client mode: slices, hints, segments, nested holds, waits for the device. */
#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

static const struct gp_sched_config client = { .slice_preempts = 1 };

#define assert_holds(d) assert_non_null(drive_find(d, GP_DO_HOLD))
#define assert_releases(d) assert_non_null(drive_find(d, GP_DO_RELEASE))
#define assert_leaves_holds(d)                             \
	do {                                               \
		assert_null(drive_find(d, GP_DO_HOLD));    \
		assert_null(drive_find(d, GP_DO_RELEASE)); \
	} while (0)

static void start_lc(struct drive *d, const struct gp_sched_config *config)
{
	drive_init(d, config);
	drive_join(d, 1, GP_CLASS_LC, 3);
}

static int hint(struct drive *d, uint32_t tenant, uint64_t at_ns)
{
	return drive_ev(
		d, (struct gp_event){ .type = GP_EV_HINT, .tenant = tenant, .hint.at_ns = at_ns });
}

static void hand_hold(struct drive *d, uint32_t tenant, uint64_t limit_ns)
{
	assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_HOLD,
							.tenant = tenant,
							.hold.limit_ns = limit_ns }),
			 0);
}

static void test_lc_slice(void **state)
{
	const struct gp_decision *dec;
	struct drive d;

	start_lc(&d, &client);
	assert_int_equal(drive_appear(&d, 1, 7), 0);
	dec = drive_find(&d, GP_DO_SET_SLICE);
	assert_non_null(dec);
	assert_int_equal(dec->group, 7);
	assert_int_equal(dec->slice_us, 5000000);
	drive_outcome(&d, GP_DO_SET_SLICE, 0);
	assert_null(drive_find(&d, GP_DO_SET_SLICE));

	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_TENANT_CLASS, .tenant = 1 }),
			 0);
	dec = drive_find(&d, GP_DO_SET_SLICE);
	assert_non_null(dec);
	assert_int_equal(dec->slice_us, 0);
	drive_end(&d);
}

static void test_one_short_slice(void **state)
{
	struct gp_event slot = { .type = GP_EV_SLOT, .slot.have = true };
	const struct gp_decision *dec;
	struct drive d;

	drive_init(&d, &client);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	assert_int_equal(drive_appear(&d, 1, 7), 0);
	assert_int_equal(d.out.count, 0);
	assert_int_equal(drive_ev(&d, slot), 0);
	dec = drive_find(&d, GP_DO_SET_SLICE);
	assert_non_null(dec);
	assert_int_equal(dec->group, 7);
	assert_int_equal(dec->slice_us, 1);
	drive_outcome(&d, GP_DO_SET_SLICE, 0);

	/* A second context of the process keeps the driver's slice until the first is gone. */
	assert_int_equal(drive_appear(&d, 1, 8), 0);
	assert_int_equal(d.out.count, 0);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_GROUP_GONE, .group.id = 7 }),
			 0);
	dec = drive_find(&d, GP_DO_SET_SLICE);
	assert_non_null(dec);
	assert_int_equal(dec->group, 8);
	assert_int_equal(dec->slice_us, 1);
	drive_outcome(&d, GP_DO_SET_SLICE, 0);

	slot.slot.have = false;
	assert_int_equal(drive_ev(&d, slot), 0);
	dec = drive_find(&d, GP_DO_SET_SLICE);
	assert_non_null(dec);
	assert_int_equal(dec->slice_us, 0);
	drive_end(&d);
}

static int appear_unknown(struct drive *d, uint32_t group)
{
	return drive_ev(d, (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
					      .tenant = 1,
					      .group = { .id = group, .slice_unknown = true } });
}

/* An unknown slice may be the short one: the other group waits until it is replaced. */
static void test_unknown_slice(void **state)
{
	struct gp_event slot = { .type = GP_EV_SLOT, .slot.have = true };
	struct gp_event outcome = { .type = GP_EV_OUTCOME };
	const struct gp_decision *dec;
	struct drive d;

	drive_init(&d, &client);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	assert_int_equal(drive_appear(&d, 1, 7), 0);
	assert_int_equal(appear_unknown(&d, 8), 0);
	dec = drive_find(&d, GP_DO_SET_SLICE);
	assert_non_null(dec);
	assert_int_equal(dec->group, 8);
	assert_int_equal(dec->slice_us, 0);
	outcome.outcome.decision = dec->id;
	assert_int_equal(drive_ev(&d, slot), 0);
	assert_int_equal(d.out.count, 0);
	assert_int_equal(drive_ev(&d, outcome), 0);
	dec = drive_find(&d, GP_DO_SET_SLICE);
	assert_non_null(dec);
	assert_int_equal(dec->group, 7);
	assert_int_equal(dec->slice_us, 1);
	drive_end(&d);
}

static void test_slice_failure_is_tried_again(void **state)
{
	struct drive d;
	int tries = 1;

	start_lc(&d, &client);
	assert_int_equal(drive_appear(&d, 1, 7), 0);
	for (; drive_find(&d, GP_DO_SET_SLICE); tries++) {
		const struct gp_decision *arm;

		drive_outcome(&d, GP_DO_SET_SLICE, -EIO);
		assert_null(drive_find(&d, GP_DO_SET_SLICE));
		arm = drive_find(&d, GP_DO_ARM_TIMER);
		assert_non_null(arm);
		drive_at(&d, arm->at_ns, GP_EV_TIMER, 0);
	}
	assert_int_equal(tries, 6); /* five, then the core gives up */
	drive_end(&d);
}

static void test_hint_then_segment(void **state)
{
	const struct gp_decision *arm;
	struct drive d;
	uint64_t work;

	start_lc(&d, &client);
	work = d.now_ns + 3 * MS;
	assert_int_equal(hint(&d, 1, work), 0);
	arm = drive_find(&d, GP_DO_ARM_TIMER);
	assert_non_null(arm);
	/* Woken twice to be awake, and then for the start. */
	assert_int_equal(arm->at_ns, work - 850 * US);
	assert_leaves_holds(&d);
	drive_at(&d, arm->at_ns, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	arm = drive_find(&d, GP_DO_ARM_TIMER);
	assert_non_null(arm);
	assert_int_equal(arm->at_ns, work - 500 * US);
	drive_at(&d, arm->at_ns, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	arm = drive_find(&d, GP_DO_ARM_TIMER);
	assert_non_null(arm);
	assert_int_equal(arm->at_ns, work - 250 * US);

	drive_at(&d, arm->at_ns, GP_EV_TIMER, 0);
	assert_holds(&d);
	/* Long enough for the work, so no renewal disturbs it. */
	assert_int_equal(drive_find(&d, GP_DO_HOLD)->limit_ns, 20 * MS);
	drive_at(&d, work, GP_EV_SEGMENT_BEGIN, 1);
	assert_leaves_holds(&d);
	drive_at(&d, work + MS, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	drive_at(&d, work + 2 * MS, GP_EV_SEGMENT_END, 1);
	assert_releases(&d);
	assert_int_equal(drive_stat(&d, 1).holds, 1);
	assert_int_equal(drive_stat(&d, 1).holds_late, 0);
	assert_int_equal(drive_stat(&d, 1).holds_expired, 0);
	drive_end(&d);
}

static int guess(struct drive *d, uint64_t at_ns, uint64_t hint_timeout_ns)
{
	return drive_ev(d, (struct gp_event){ .type = GP_EV_HINT,
					      .tenant = 1,
					      .hint = { .at_ns = at_ns,
							.guess = true,
							.limit_ns = hint_timeout_ns } });
}

/* A prediction is a hint with an end of its own, and not the tenant's report. */
static void test_guess(void **state)
{
	struct drive d;
	uint64_t work;

	start_lc(&d, &client);
	work = d.now_ns + 3 * MS;
	assert_int_equal(guess(&d, work, 80 * US), 0);
	assert_int_equal(drive_stat(&d, 1).guessing, 1);
	drive_at(&d, work - 250 * US, GP_EV_TIMER, 0);
	assert_holds(&d);
	drive_at(&d, work + 79 * US, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	drive_at(&d, work + 80 * US, GP_EV_TIMER, 0);
	assert_releases(&d);
	assert_int_equal(drive_stat(&d, 1).guessing, 0);
	assert_int_equal(drive_stat(&d, 1).guess_worked, 0);
	assert_int_equal(drive_stat(&d, 1).hints, 0);
	assert_int_equal(drive_stat(&d, 1).said, 0);

	/* Observed work keeps the hold, as with a hint. */
	work = d.now_ns + 3 * MS;
	assert_int_equal(guess(&d, work, 80 * US), 0);
	drive_at(&d, work - 250 * US, GP_EV_TIMER, 0);
	drive_at(&d, work, GP_EV_BUSY, 1);
	drive_at(&d, work + 200 * US, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	assert_int_equal(guess(&d, work + 2 * MS, 80 * US), -EBUSY);
	drive_at(&d, work + 500 * US, GP_EV_IDLE, 1);
	assert_releases(&d);
	assert_int_equal(drive_stat(&d, 1).guess_worked, 1);
	drive_end(&d);
}

/* A lead that does not fit is shortened; the start of a near hold has no wake-ups. */
static void test_guess_starts(void **state)
{
	struct gp_event ev = { .type = GP_EV_HINT,
			       .tenant = 1,
			       .hint = {
				       .guess = true, .limit_ns = 80 * US, .lead_ns = 100 * US } };
	struct drive d;

	start_lc(&d, &client);
	ev.hint.at_ns = d.now_ns + 3 * MS;
	assert_int_equal(drive_ev(&d, ev), 0);
	drive_at(&d, ev.hint.at_ns - 101 * US, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	drive_at(&d, ev.hint.at_ns - 100 * US, GP_EV_TIMER, 0);
	assert_holds(&d);
	drive_at(&d, ev.hint.at_ns + 80 * US, GP_EV_TIMER, 0);
	assert_releases(&d);

	/* The first wake-up was late, so a start 50 us away gets none. */
	assert_int_equal(hint(&d, 1, d.now_ns + drive_stat(&d, 1).lead_ns + 50 * US), 0);
	assert_holds(&d);
	drive_end(&d);
}

/* The tenant's own hints go first, and predictions do not change the bias. */
static void test_guess_gives_way(void **state)
{
	struct drive d;
	uint64_t work;

	start_lc(&d, &client);
	work = d.now_ns + 3 * MS;
	assert_int_equal(guess(&d, work, 80 * US), 0);
	assert_int_equal(hint(&d, 1, work + MS), 0);
	assert_int_equal(drive_stat(&d, 1).guessing, 0);
	assert_int_equal(guess(&d, work, 80 * US), -EBUSY);
	drive_at(&d, work + MS, GP_EV_SEGMENT_BEGIN, 1);
	assert_int_equal(guess(&d, work + 2 * MS, 80 * US), -EBUSY);
	drive_at(&d, work + 2 * MS, GP_EV_SEGMENT_END, 1);
	assert_int_equal(guess(&d, work + 3 * MS, 80 * US), 0);
	assert_int_equal(drive_stat(&d, 1).said, 2);
	drive_end(&d);
}

static void test_hint_ends_with_its_work(void **state)
{
	struct drive d;
	uint64_t t0;

	start_lc(&d, &client);
	t0 = d.now_ns;
	assert_int_equal(hint(&d, 1, t0), 0); /* for now: at once */
	assert_holds(&d);
	drive_at(&d, t0 + 50 * US, GP_EV_IDLE, 1); /* before its work */
	assert_leaves_holds(&d);
	drive_at(&d, t0 + 300 * US, GP_EV_BUSY, 1);
	assert_leaves_holds(&d);
	drive_at(&d, t0 + 400 * US, GP_EV_IDLE, 1);
	assert_releases(&d);
	drive_end(&d);
}

static void test_hint_without_work(void **state)
{
	const struct gp_decision *arm;
	struct drive d;
	uint64_t t0;

	start_lc(&d, &client);
	t0 = d.now_ns;
	assert_int_equal(hint(&d, 1, t0 - 5 * MS), 0); /* for the past */
	assert_holds(&d);
	arm = drive_find(&d, GP_DO_ARM_TIMER);
	assert_non_null(arm);
	assert_int_equal(arm->at_ns, t0 + 500 * US);
	drive_at(&d, arm->at_ns, GP_EV_TIMER, 0);
	assert_releases(&d);
	assert_int_equal(drive_stat(&d, 1).holds_expired, 0);
	drive_end(&d);
}

static void test_hint_replaced_and_early_work(void **state)
{
	struct drive d;
	uint64_t t0;

	start_lc(&d, &client);
	t0 = d.now_ns;
	assert_int_equal(hint(&d, 1, t0 + 2 * MS), 0);
	assert_int_equal(hint(&d, 1, t0 + 9 * MS), 0);
	drive_at(&d, t0 + 3 * MS, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	drive_at(&d, t0 + 4 * MS, GP_EV_BUSY, 1);
	assert_holds(&d); /* its gaps are worth keeping */
	assert_int_equal(drive_stat(&d, 1).holds_late, 1);
	drive_end(&d);
}

static void test_nesting(void **state)
{
	struct drive d;
	uint64_t t0;

	start_lc(&d, &client);
	t0 = d.now_ns;
	drive_at(&d, t0, GP_EV_SEGMENT_BEGIN, 1);
	assert_holds(&d);
	assert_int_equal(drive_find(&d, GP_DO_HOLD)->limit_ns, 20 * MS);
	drive_at(&d, t0, GP_EV_SEGMENT_BEGIN, 1);
	assert_leaves_holds(&d);
	hand_hold(&d, 1, 0);
	assert_leaves_holds(&d);
	drive_at(&d, t0, GP_EV_SEGMENT_END, 1);
	drive_at(&d, t0, GP_EV_SEGMENT_END, 1);
	assert_leaves_holds(&d);
	drive_at(&d, t0, GP_EV_RELEASE, 1);
	assert_releases(&d);
	assert_int_equal(drive_tenant_ev(&d, GP_EV_RELEASE, 1), -EINVAL);
	assert_int_equal(drive_tenant_ev(&d, GP_EV_SEGMENT_END, 1), -EINVAL);
	drive_end(&d);
}

static void test_limit(void **state)
{
	struct drive d;
	uint64_t t0;

	start_lc(&d, &client);
	t0 = d.now_ns;
	hand_hold(&d, 1, 2 * MS);
	assert_int_equal(drive_find(&d, GP_DO_HOLD)->limit_ns, 2 * MS);
	drive_at(&d, t0 + 2 * MS, GP_EV_TIMER, 0);
	assert_releases(&d);
	assert_int_equal(drive_stat(&d, 1).holds_expired, 1);
	drive_at(&d, t0 + 3 * MS, GP_EV_RELEASE, 1); /* late: harmless */
	assert_leaves_holds(&d);

	hand_hold(&d, 1, 100 * MS); /* never over the limit */
	assert_int_equal(drive_find(&d, GP_DO_HOLD)->limit_ns, 20 * MS);
	drive_end(&d);
}

static void test_higher_level_cuts(void **state)
{
	struct drive d;

	start_lc(&d, &client);
	drive_join(&d, 2, GP_CLASS_LC, 0);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	assert_holds(&d);
	drive_at(&d, d.now_ns + MS, GP_EV_SEGMENT_BEGIN, 2);
	assert_int_equal(d.out.d[0].type, GP_DO_RELEASE);
	assert_int_equal(d.out.d[0].tenant, 1);
	assert_int_equal(d.out.d[1].type, GP_DO_HOLD);
	assert_int_equal(d.out.d[1].tenant, 2);
	drive_at(&d, d.now_ns + MS, GP_EV_SEGMENT_END, 2);
	assert_int_equal(drive_find(&d, GP_DO_RELEASE)->tenant, 2);
	assert_int_equal(drive_find(&d, GP_DO_HOLD)->tenant, 1);
	assert_int_equal(drive_stat(&d, 1).holds_expired, 0);
	drive_end(&d);
}

static void test_sync_cuts(void **state)
{
	struct drive d;

	start_lc(&d, &client);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	hand_hold(&d, 1, 0);
	drive_at(&d, d.now_ns + MS, GP_EV_SYNC, 1);
	assert_releases(&d);
	assert_int_equal(hint(&d, 1, d.now_ns), 0);
	assert_leaves_holds(&d);
	drive_at(&d, d.now_ns + MS, GP_EV_SYNC_DONE, 1);
	assert_leaves_holds(&d); /* over for this segment */
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_END, 1);
	assert_int_equal(drive_stat(&d, 1).syncs_cut, 1);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	assert_holds(&d); /* but not for the next */
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_END, 1);
	assert_releases(&d);
	drive_at(&d, d.now_ns, GP_EV_RELEASE, 1);
	drive_at(&d, d.now_ns, GP_EV_SYNC_DONE, 1); /* one too many */
	assert_leaves_holds(&d);
	drive_end(&d);
}

/* A hint's hold ends when all its work is queued; a segment's belongs to its owner. */
static void test_all_is_queued(void **state)
{
	const struct gp_event says_queued = { .type = GP_EV_QUEUED,
					      .tenant = 1,
					      .queued.reported = true };
	struct gp_sched_config c = client;
	struct drive d;

	start_lc(&d, &client);
	assert_int_equal(hint(&d, 1, d.now_ns), 0);
	assert_holds(&d);
	drive_at(&d, d.now_ns + 10 * US, GP_EV_QUEUED, 1);
	assert_leaves_holds(&d); /* its work has not come */
	drive_at(&d, d.now_ns + 10 * US, GP_EV_BUSY, 1);
	drive_at(&d, d.now_ns + 10 * US, GP_EV_QUEUED, 1);
	assert_releases(&d);
	drive_at(&d, d.now_ns + MS, GP_EV_IDLE, 1);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	assert_holds(&d);
	drive_at(&d, d.now_ns + 10 * US, GP_EV_QUEUED, 1);
	assert_leaves_holds(&d);
	drive_end(&d);

	/*
	 * A tenant that reports it may have unobserved work; a report before its time ends the
	 * hold.
	 */
	start_lc(&d, &client);
	assert_int_equal(hint(&d, 1, d.now_ns), 0);
	assert_holds(&d);
	d.now_ns += 10 * US;
	assert_int_equal(drive_ev(&d, says_queued), 0);
	assert_releases(&d);
	assert_true(drive_stat(&d, 1).queued); /* others still keep away .. */
	drive_at(&d, d.now_ns + MS, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	assert_false(drive_stat(&d, 1).queued); /* .. for a while */
	assert_int_equal(hint(&d, 1, d.now_ns + 2 * MS), 0);
	assert_int_equal(drive_ev(&d, says_queued), 0);
	drive_at(&d, d.now_ns + 2 * MS, GP_EV_TIMER, 0);
	assert_leaves_holds(&d);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	assert_holds(&d);
	assert_int_equal(drive_ev(&d, says_queued), 0);
	assert_leaves_holds(&d);
	assert_true(drive_stat(&d, 1).held);
	drive_end(&d);

	/* Held by suspending others: nothing has to end. */
	c.slice_preempts = 0;
	start_lc(&d, &c);
	assert_int_equal(hint(&d, 1, d.now_ns), 0);
	drive_at(&d, d.now_ns + 10 * US, GP_EV_BUSY, 1);
	assert_true(drive_stat(&d, 1).held);
	drive_at(&d, d.now_ns + 10 * US, GP_EV_QUEUED, 1);
	assert_int_equal(drive_ev(&d, says_queued), 0);
	assert_true(drive_stat(&d, 1).held);
	drive_end(&d);
}

/* No hints: work after idleness is held for until idle. */
static void test_auto_hold(void **state)
{
	struct gp_sched_config c = client;
	struct drive d;

	c.auto_hold_ns = 5 * MS;
	start_lc(&d, &c);
	drive_at(&d, d.now_ns + MS, GP_EV_BUSY, 1);
	assert_holds(&d);
	drive_at(&d, d.now_ns + 100 * US, GP_EV_BUSY, 1);
	assert_leaves_holds(&d);
	drive_at(&d, d.now_ns + MS, GP_EV_IDLE, 1);
	assert_releases(&d);
	drive_at(&d, d.now_ns + MS, GP_EV_BUSY, 1);
	assert_holds(&d);
	/* Never idle: the hold ends at its limit, and does not return. */
	drive_at(&d, d.now_ns + 5 * MS, GP_EV_TIMER, 0);
	assert_releases(&d);
	drive_at(&d, d.now_ns + MS, GP_EV_BUSY, 1);
	assert_leaves_holds(&d);
	assert_int_equal(drive_stat(&d, 1).holds, 2);
	assert_int_equal(drive_stat(&d, 1).holds_expired, 1);
	drive_end(&d);
}

static void test_pieces(void **state)
{
	struct gp_sched_config c = client;
	struct drive d;
	uint64_t start;
	int pieces = 0;

	c.hold_piece_ns = 500 * US;
	start_lc(&d, &c);
	start = d.now_ns;
	drive_at(&d, start, GP_EV_SEGMENT_BEGIN, 1);
	while (drive_find(&d, GP_DO_HOLD)) {
		const struct gp_decision *arm = drive_find(&d, GP_DO_ARM_TIMER);
		uint64_t left = start + 20 * MS - d.now_ns;

		assert_null(drive_find(&d, GP_DO_RELEASE));
		assert_int_equal(drive_find(&d, GP_DO_HOLD)->limit_ns,
				 left < 500 * US ? left : 500 * US);
		assert_non_null(arm);
		/* Each begins while the former still holds. */
		assert_int_equal(arm->at_ns, d.now_ns + (left <= 500 * US ? left : 250 * US));
		pieces++;
		drive_at(&d, arm->at_ns, GP_EV_TIMER, 0);
	}
	assert_int_equal(pieces, 79); /* 20 ms, the limit */
	assert_releases(&d);
	assert_int_equal(drive_stat(&d, 1).holds, 1);
	assert_int_equal(drive_stat(&d, 1).holds_expired, 1);
	drive_end(&d);
}

static void test_hold_failure(void **state)
{
	struct drive d;
	const struct gp_decision *arm;
	int tries = 0;

	start_lc(&d, &client);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	while (drive_find(&d, GP_DO_HOLD)) {
		tries++;
		drive_outcome(&d, GP_DO_HOLD, -EBUSY);
		assert_int_equal(drive_stat(&d, 1).held, 0);
		arm = drive_find(&d, GP_DO_ARM_TIMER);
		assert_true((arm != NULL) == (tries < 3));
		drive_at(&d, d.now_ns + 200 * US, GP_EV_TIMER, 0);
	}
	assert_int_equal(tries, 3);
	drive_end(&d);
}

/* A RELEASE that fails is tried three times more, 200 us apart, while the hold would last. */
static void test_release_failure(void **state)
{
	struct drive d;
	int tries = 0;

	start_lc(&d, &client);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	drive_at(&d, d.now_ns + MS, GP_EV_SEGMENT_END, 1);
	while (drive_find(&d, GP_DO_RELEASE)) {
		tries++;
		drive_outcome(&d, GP_DO_RELEASE, -EBUSY);
		assert_null(drive_find(&d, GP_DO_RELEASE));
		drive_at(&d, d.now_ns + 200 * US - 1, GP_EV_TIMER, 0);
		assert_null(drive_find(&d, GP_DO_RELEASE));
		drive_at(&d, d.now_ns + 1, GP_EV_TIMER, 0);
	}
	assert_int_equal(tries, 4);
	/* Not once the hold is over by itself. */
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	drive_at(&d, d.now_ns + 20 * MS, GP_EV_SEGMENT_END, 1);
	drive_outcome(&d, GP_DO_RELEASE, -EBUSY);
	drive_at(&d, d.now_ns + MS, GP_EV_TIMER, 0);
	assert_null(drive_find(&d, GP_DO_RELEASE));
	drive_end(&d);
}

/* The process's first best-effort group has the slot, also while its slice fails. */
static void test_the_first_group_has_the_slot(void **state)
{
	const struct gp_decision *dec;
	struct drive d;

	drive_init(&d, &client);
	drive_join(&d, 1, GP_CLASS_BE, 100);
	assert_int_equal(drive_appear(&d, 1, 7), 0);
	assert_int_equal(drive_appear(&d, 1, 8), 0);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_SLOT, .slot.have = true }),
			 0);
	for (int i = 0; i < 3; i++) {
		dec = drive_find(&d, GP_DO_SET_SLICE);
		assert_non_null(dec);
		assert_int_equal(dec->group, 7);
		drive_outcome(&d, GP_DO_SET_SLICE, -EIO);
		assert_null(drive_find(&d, GP_DO_SET_SLICE));
		drive_at(&d, d.now_ns + 10 * MS, GP_EV_TIMER, 0);
	}
	drive_end(&d);
}

static void test_refusals(void **state)
{
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN, .tenant = 1 };
	struct drive d;

	drive_init(&d, &client);
	ev.spec.cls.cls = GP_CLASS_LC;
	ev.spec.cls.value = 16;
	assert_int_equal(drive_ev(&d, ev), -EINVAL);
	ev.spec = (struct gp_class_request){ .cls = { GP_CLASS_BE } };
	assert_int_equal(drive_ev(&d, ev), -EINVAL);
	ev.spec.cls.value = 10001;
	assert_int_equal(drive_ev(&d, ev), -EINVAL);
	ev.spec.cls.value = 10000;
	assert_int_equal(drive_ev(&d, ev), 0);
	assert_int_equal(drive_ev(&d, ev), -EINVAL); /* joined already */
	assert_int_equal(drive_tenant_ev(&d, GP_EV_SEGMENT_BEGIN, 1), -EPERM);
	assert_int_equal(hint(&d, 1, 5), -EPERM);
	assert_int_equal(drive_tenant_ev(&d, GP_EV_BUSY, 2), -ENOENT);
	assert_int_equal(drive_tenant_ev(&d, 99, 1), -EINVAL);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_GROUP_GONE, .group.id = 3 }),
			 -ENOENT);
	for (uint32_t i = 2; i <= GP_SCHED_MAX_TENANTS; i++)
		drive_join(&d, i, GP_CLASS_NONE, 0);
	ev.tenant = GP_SCHED_MAX_TENANTS + 1;
	assert_int_equal(drive_ev(&d, ev), -ENOSPC);
	for (uint32_t i = 1; i <= GP_SCHED_MAX_GROUPS; i++)
		assert_int_equal(drive_appear(&d, 2, i), 0);
	assert_int_equal(drive_appear(&d, 2, GP_SCHED_MAX_GROUPS + 1), -ENOSPC);
	assert_int_equal(drive_appear(&d, 2, 1), -EINVAL);
	drive_end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lc_slice),
		cmocka_unit_test(test_one_short_slice),
		cmocka_unit_test(test_unknown_slice),
		cmocka_unit_test(test_slice_failure_is_tried_again),
		cmocka_unit_test(test_hint_then_segment),
		cmocka_unit_test(test_guess),
		cmocka_unit_test(test_guess_gives_way),
		cmocka_unit_test(test_guess_starts),
		cmocka_unit_test(test_hint_ends_with_its_work),
		cmocka_unit_test(test_hint_without_work),
		cmocka_unit_test(test_hint_replaced_and_early_work),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_higher_level_cuts),
		cmocka_unit_test(test_sync_cuts),
		cmocka_unit_test(test_all_is_queued),
		cmocka_unit_test(test_auto_hold),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_hold_failure),
		cmocka_unit_test(test_release_failure),
		cmocka_unit_test(test_the_first_group_has_the_slot),
		cmocka_unit_test(test_refusals),
	};

	return gp_run_tests(tests);
}
