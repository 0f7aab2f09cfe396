// SPDX-License-Identifier: Apache-2.0
/* Decisions that fail: when the core tries again, and when it gives up. */
#include <stdbool.h>

#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

static const struct gp_sched_config rotating = {
	.rotate = 1,
	.slice_preempts = 1,
	.quantum_ns = 50 * MS,
};

#define GROUPS 4
#define TYPES (GP_DO_PREEMPT + 1)
#define FOR_EVER INT32_MAX

/* A device that executes decisions at once. Tenants and their groups have the same ids. */
struct device {
	struct drive d;
	uint64_t armed_ns;
	int32_t fails[TYPES][GROUPS]; /* so often the next ones fail .. */
	int error;		      /* .. with this */
	uint32_t asked[TYPES][GROUPS];
	bool off[GROUPS];
	uint64_t slice_us[GROUPS];
};

static void outcome(struct drive *d, uint32_t id, int error)
{
	assert_int_equal(
		drive_ev(d, (struct gp_event){ .type = GP_EV_OUTCOME, .outcome = { id, error } }),
		0);
}

static void carry_out(struct device *dev);

static void execute(struct device *dev, const struct gp_decision *what)
{
	int32_t *fails = &dev->fails[what->type][what->group];
	int error = *fails ? dev->error : 0;

	dev->asked[what->type][what->group]++;
	if (*fails && *fails != FOR_EVER)
		--*fails;
	if (!error && what->type == GP_DO_SET_SLICE)
		dev->slice_us[what->group] = what->slice_us;
	else if (!error)
		dev->off[what->group] = what->type == GP_DO_SUSPEND;
	assert_false(!dev->off[1] && !dev->off[2] && dev->slice_us[1] == 1 &&
		     dev->slice_us[2] == 1);
	outcome(&dev->d, what->id, error);
	carry_out(dev);
}

static void carry_out(struct device *dev)
{
	const struct gp_decisions todo = dev->d.out;
	const struct gp_decision *arm = drive_find(&dev->d, GP_DO_ARM_TIMER);

	if (arm)
		dev->armed_ns = arm->at_ns;
	for (size_t i = 0; i < todo.count; i++)
		if (todo.d[i].type != GP_DO_ARM_TIMER)
			execute(dev, &todo.d[i]);
}

static void event(struct device *dev, struct gp_event ev)
{
	assert_int_equal(drive_ev(&dev->d, ev), 0);
	carry_out(dev);
}

static void run(struct device *dev, uint64_t ns)
{
	uint64_t to_ns = dev->d.now_ns + ns;

	while (dev->armed_ns && dev->armed_ns <= to_ns) {
		dev->d.now_ns = dev->armed_ns;
		dev->armed_ns = 0;
		event(dev, (struct gp_event){ .type = GP_EV_TIMER });
	}
	dev->d.now_ns = to_ns;
}

static void add(struct device *dev, uint32_t id, uint32_t cls)
{
	drive_join(&dev->d, id, cls, cls == GP_CLASS_BE ? 100 : 0);
	carry_out(dev);
	event(dev, (struct gp_event){ .type = GP_EV_GROUP_APPEAR, .tenant = id, .group.id = id });
}

static void start_with(struct device *dev, const struct gp_sched_config *config, uint32_t be)
{
	memset(dev, 0, sizeof(*dev));
	dev->error = -EIO;
	drive_init(&dev->d, config);
	for (uint32_t i = 1; i <= be; i++)
		add(dev, i, GP_CLASS_BE);
}

static void start(struct device *dev, uint32_t be)
{
	start_with(dev, &rotating, be);
}

static void set_class(struct device *dev, uint32_t id, uint32_t cls)
{
	event(dev, (struct gp_event){ .type = GP_EV_TENANT_CLASS,
				      .tenant = id,
				      .spec.cls = { cls, cls == GP_CLASS_BE ? 100 : 0 } });
}

/* Failures of SUSPEND are no tries of the slice: the group does get its short slice. */
static void test_tries_of_a_slice_are_its_own(void **state)
{
	struct device dev;

	start(&dev, 1);
	dev.fails[GP_DO_SUSPEND][2] = 10;
	dev.fails[GP_DO_SET_SLICE][2] = 4;
	add(&dev, 2, GP_CLASS_BE);
	run(&dev, 300 * MS);
	assert_in_range(dev.asked[GP_DO_SUSPEND][2], 6, 10);
	event(&dev, (struct gp_event){ .type = GP_EV_TENANT_LEAVE, .tenant = 1 });
	run(&dev, 2000 * MS);
	assert_int_equal(dev.slice_us[2], 1);
	assert_int_equal(dev.asked[GP_DO_SET_SLICE][2], 5);
	drive_end(&dev.d);
}

/* A slice that fails five times in a row is given up. */
static void test_a_slice_is_given_up(void **state)
{
	struct device dev;

	start(&dev, 0);
	dev.fails[GP_DO_SET_SLICE][1] = FOR_EVER;
	add(&dev, 1, GP_CLASS_LC);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(dev.asked[GP_DO_SET_SLICE][1], i + 1);
		/* 1, 2, 4, 8 ms. */
		run(&dev, (MS << i) - 1);
		assert_int_equal(dev.asked[GP_DO_SET_SLICE][1], i + 1);
		run(&dev, 1);
	}
	run(&dev, 1000 * MS);
	assert_int_equal(dev.asked[GP_DO_SET_SLICE][1], 5);
	/* A new tenant may have better luck. */
	dev.fails[GP_DO_SET_SLICE][1] = 4;
	event(&dev, (struct gp_event){ .type = GP_EV_GROUP_GONE, .group.id = 1 });
	event(&dev, (struct gp_event){ .type = GP_EV_GROUP_APPEAR, .tenant = 1, .group.id = 1 });
	run(&dev, 1000 * MS);
	assert_int_equal(dev.slice_us[1], GP_SCHED_LC_SLICE_US);
	drive_end(&dev.d);
}

/* A success begins the count again. */
static void test_failures_count_in_a_row(void **state)
{
	struct device dev;

	start(&dev, 0);
	dev.fails[GP_DO_SET_SLICE][1] = 4;
	add(&dev, 1, GP_CLASS_LC);
	for (uint32_t round = 0; round < 4; round++) {
		run(&dev, 1000 * MS);
		assert_int_equal(dev.slice_us[1], round % 2 ? 1 : GP_SCHED_LC_SLICE_US);
		dev.fails[GP_DO_SET_SLICE][1] = 4;
		set_class(&dev, 1, round % 2 ? GP_CLASS_LC : GP_CLASS_BE);
		/* The pause begins at 1 ms again. */
		assert_int_equal(dev.asked[GP_DO_SET_SLICE][1], 5 * (round + 1) + 1);
		run(&dev, MS);
		assert_int_equal(dev.asked[GP_DO_SET_SLICE][1], 5 * (round + 1) + 2);
	}
	drive_end(&dev.d);
}

/* A group that stays short beside others is never given up, and nobody runs beside it. */
static void test_a_short_slice_is_not_given_up(void **state)
{
	struct device dev;

	start(&dev, 2);
	run(&dev, 60 * MS);
	assert_true(dev.off[1]);
	dev.fails[GP_DO_SET_SLICE][2] = FOR_EVER;
	set_class(&dev, 2, GP_CLASS_LC);
	run(&dev, 900 * MS);
	assert_true(dev.off[1]);
	assert_in_range(dev.asked[GP_DO_SET_SLICE][2], 15, 25);
	dev.fails[GP_DO_SET_SLICE][2] = 0;
	run(&dev, 70 * MS);
	assert_int_equal(dev.slice_us[2], GP_SCHED_LC_SLICE_US);
	assert_false(dev.off[1]);
	drive_end(&dev.d);
}

/* A group that cannot be resumed loses its turn to the next one. */
static void test_a_failed_resume_gives_its_turn_away(void **state)
{
	struct device dev;
	uint64_t ran_ns;

	start(&dev, 2);
	dev.fails[GP_DO_RESUME][2] = FOR_EVER;
	run(&dev, 60 * MS);
	assert_int_equal(dev.asked[GP_DO_RESUME][2], 1);
	assert_int_equal(gp_sched_resident(dev.d.sched), 1);
	/* Whether 2 runs is unknown: it was suspended again before 1 was resumed. */
	assert_int_equal(dev.asked[GP_DO_SUSPEND][2], 2);
	assert_false(dev.off[1]);
	ran_ns = drive_stat(&dev.d, 1).run_ns;
	run(&dev, 1000 * MS);
	assert_true(drive_stat(&dev.d, 1).run_ns - ran_ns > 900 * MS);
	assert_in_range(dev.asked[GP_DO_RESUME][2], 5, 25);
	drive_end(&dev.d);
}

/* Of two groups the one that can be resumed has the turns. */
static void test_a_failed_resume_of_one_of_two(void **state)
{
	struct device dev;

	start(&dev, 2);
	event(&dev, (struct gp_event){ .type = GP_EV_GROUP_APPEAR, .tenant = 2, .group.id = 3 });
	dev.fails[GP_DO_RESUME][2] = FOR_EVER;
	run(&dev, 2000 * MS);
	assert_in_range(drive_stat(&dev.d, 2).run_ns, 900 * MS, 1100 * MS);
	assert_true(dev.asked[GP_DO_RESUME][3] > 10);
	drive_end(&dev.d);
}

/* Rounds are shorter than the pause before the other one's next try. No turn waits for that. */
static void test_no_turn_waits_for_a_retry(void **state)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slots = 4,
		.quantum_ns = 200 * US,
		.be_policy = &gp_policy_rr,
	};
	struct device dev;

	start_with(&dev, &config, 2);
	event(&dev, (struct gp_event){ .type = GP_EV_GROUP_APPEAR, .tenant = 2, .group.id = 3 });
	dev.fails[GP_DO_RESUME][2] = FOR_EVER;
	run(&dev, 2000 * MS);
	assert_in_range(drive_stat(&dev.d, 1).run_ns, 990 * MS, 1000 * MS);
	drive_end(&dev.d);
}

/* At once: LC at work defers the end of a turn, but this turn cannot begin. */
static void test_a_failed_resume_beside_lc(void **state)
{
	struct device dev;

	start(&dev, 2);
	add(&dev, 3, GP_CLASS_LC);
	event(&dev, (struct gp_event){ .type = GP_EV_BUSY, .tenant = 3 });
	dev.fails[GP_DO_RESUME][2] = FOR_EVER;
	run(&dev, 80 * MS);
	assert_int_equal(dev.asked[GP_DO_RESUME][2], 1);
	assert_int_equal(gp_sched_resident(dev.d.sched), 1);
	assert_false(dev.off[1]);
	drive_end(&dev.d);
}

/* -ENODEV and -ESRCH: the group is gone, and nothing is tried again. */
static void test_a_gone_group_is_forgotten(void **state)
{
	static const int errors[] = { -ENODEV, -ESRCH };

	for (size_t i = 0; i < 2; i++) {
		struct gp_event gone = { .type = GP_EV_GROUP_GONE, .group.id = 2 };
		struct device dev;

		start(&dev, 1);
		dev.error = errors[i];
		dev.fails[GP_DO_SUSPEND][2] = 1;
		add(&dev, 2, GP_CLASS_BE);
		run(&dev, 1000 * MS);
		assert_int_equal(dev.asked[GP_DO_SUSPEND][2], 1);
		assert_int_equal(drive_ev(&dev.d, gone), -ENOENT);
		assert_int_equal(drive_appear(&dev.d, 2, 2), 0);
		drive_end(&dev.d);
	}
}

/*
 * A group that left is suspended at the short slice, which cannot be changed. The resident
 * leaves for it, and it is resumed as it is.
 */
static void test_the_resident_yields(void **state)
{
	struct device dev;

	start(&dev, 2);
	run(&dev, 60 * MS);
	assert_true(dev.off[1]);
	dev.fails[GP_DO_SET_SLICE][1] = 7;
	event(&dev, (struct gp_event){ .type = GP_EV_TENANT_LEAVE, .tenant = 1 });
	assert_false(dev.off[2]);
	/* Five tries: 1 + 2 + 4 + 8 ms. */
	run(&dev, 14 * MS);
	assert_false(dev.off[2]);
	run(&dev, MS);
	assert_true(dev.off[1]);
	assert_true(dev.off[2]);
	/* Its next decision is 16 ms later. */
	run(&dev, 16 * MS);
	assert_false(dev.off[1]);
	assert_true(dev.off[2]);
	assert_false(gp_sched_settled(dev.d.sched));
	run(&dev, 200 * MS);
	assert_int_equal(dev.slice_us[1], 0);
	assert_true(gp_sched_settled(dev.d.sched));
	assert_false(dev.off[2]);
	drive_end(&dev.d);
}

/* A group that left is resumed even if all slots are taken. */
static void test_a_left_group_needs_no_slot(void **state)
{
	struct gp_sched_config config = { .rotate = 1, .slots = 2 };
	struct device dev = { .error = -EIO };

	drive_init(&dev.d, &config);
	add(&dev, 3, GP_CLASS_LC);
	add(&dev, 1, GP_CLASS_BE);
	add(&dev, 2, GP_CLASS_BE);
	assert_false(dev.off[1]);
	assert_true(dev.off[2]);
	event(&dev, (struct gp_event){ .type = GP_EV_TENANT_LEAVE, .tenant = 2 });
	assert_false(dev.off[1]);
	assert_false(dev.off[2]);
	drive_end(&dev.d);
}

/* The instance has turns without the short slice while another one has it. */
static void test_a_slot_that_is_taken(void **state)
{
	struct device dev;

	start(&dev, 1);
	assert_int_equal(dev.slice_us[1], 1);
	event(&dev, (struct gp_event){ .type = GP_EV_SLOT, .slot.have = false });
	assert_int_equal(dev.slice_us[1], 0);
	event(&dev, (struct gp_event){ .type = GP_EV_SLOT, .slot.have = true });
	assert_int_equal(dev.slice_us[1], 1);
	drive_end(&dev.d);
}

/* At the end of the instance no other group can be harmed: then it is given up. */
static void test_at_the_end_a_slice_is_given_up(void **state)
{
	struct device dev;

	start(&dev, 1);
	dev.fails[GP_DO_SET_SLICE][1] = FOR_EVER;
	event(&dev, (struct gp_event){ .type = GP_EV_CLOSE });
	run(&dev, 14 * MS);
	assert_false(gp_sched_settled(dev.d.sched));
	run(&dev, 100 * MS);
	assert_true(gp_sched_settled(dev.d.sched));
	assert_int_equal(dev.asked[GP_DO_SET_SLICE][1], 1 + 5);
	drive_end(&dev.d);
}

/* After CLOSE nothing new begins. */
static void test_after_the_end(void **state)
{
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN, .tenant = 3 };
	struct device dev;

	start(&dev, 2);
	assert_int_equal(drive_tenant_ev(&dev.d, GP_EV_CLOSE, 0), 0);
	assert_int_equal(drive_ev(&dev.d, ev), -EINVAL);
	assert_int_equal(drive_appear(&dev.d, 1, 5), -EINVAL);
	ev = (struct gp_event){ .type = GP_EV_SLOT, .slot.have = true };
	assert_int_equal(drive_ev(&dev.d, ev), -EINVAL);
	assert_int_equal(drive_tenant_ev(&dev.d, GP_EV_BUSY, 1), -EINVAL);
	assert_int_equal(drive_tenant_ev(&dev.d, GP_EV_CLOSE, 0), 0);
	assert_int_equal(drive_tenant_ev(&dev.d, GP_EV_TIMER, 0), 0);
	drive_end(&dev.d);
}

/* A timer that could not be armed is armed again with the next event, whichever it is. */
static void test_a_timer_fails(void **state)
{
	const struct gp_decision *arm;
	struct device dev;
	uint64_t at_ns;

	start(&dev, 1);
	drive_join(&dev.d, 2, GP_CLASS_LC, 0);
	assert_int_equal(drive_ev(&dev.d, (struct gp_event){ .type = GP_EV_HINT,
							     .tenant = 2,
							     .hint.at_ns = dev.d.now_ns + 5 * MS }),
			 0);
	arm = drive_find(&dev.d, GP_DO_ARM_TIMER);
	assert_non_null(arm);
	at_ns = arm->at_ns;
	outcome(&dev.d, arm->id, -ENOMEM);
	assert_null(drive_find(&dev.d, GP_DO_ARM_TIMER));
	/* An outcome of something else. */
	outcome(&dev.d, 12345, 0);
	arm = drive_find(&dev.d, GP_DO_ARM_TIMER);
	assert_non_null(arm);
	assert_int_equal(arm->at_ns, at_ns);
	outcome(&dev.d, 12345, 0);
	assert_null(drive_find(&dev.d, GP_DO_ARM_TIMER));
	drive_end(&dev.d);
}

/* A clock that steps back counts as standing still. */
static void test_time_goes_back(void **state)
{
	struct device dev;
	uint64_t now_ns;

	start(&dev, 1);
	drive_at(&dev.d, dev.d.now_ns + 10 * MS, GP_EV_TIMER, 0);
	now_ns = dev.d.now_ns;
	assert_int_equal(drive_stat(&dev.d, 1).run_ns, 10 * MS);
	drive_at(&dev.d, now_ns - 5 * MS, GP_EV_TIMER, 0);
	assert_int_equal(drive_stat(&dev.d, 1).run_ns, 10 * MS);
	drive_at(&dev.d, now_ns + MS, GP_EV_TIMER, 0);
	assert_int_equal(drive_stat(&dev.d, 1).run_ns, 11 * MS);
	drive_end(&dev.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tries_of_a_slice_are_its_own),
		cmocka_unit_test(test_a_slice_is_given_up),
		cmocka_unit_test(test_failures_count_in_a_row),
		cmocka_unit_test(test_a_short_slice_is_not_given_up),
		cmocka_unit_test(test_a_failed_resume_gives_its_turn_away),
		cmocka_unit_test(test_a_failed_resume_of_one_of_two),
		cmocka_unit_test(test_no_turn_waits_for_a_retry),
		cmocka_unit_test(test_a_failed_resume_beside_lc),
		cmocka_unit_test(test_a_gone_group_is_forgotten),
		cmocka_unit_test(test_the_resident_yields),
		cmocka_unit_test(test_a_left_group_needs_no_slot),
		cmocka_unit_test(test_a_slot_that_is_taken),
		cmocka_unit_test(test_at_the_end_a_slice_is_given_up),
		cmocka_unit_test(test_after_the_end),
		cmocka_unit_test(test_a_timer_fails),
		cmocka_unit_test(test_time_goes_back),
	};

	return gp_run_tests(tests);
}
