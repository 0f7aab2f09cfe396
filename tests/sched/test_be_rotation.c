// SPDX-License-Identifier: Apache-2.0
/* Many tenants: fair shares, the starvation bound, rotation beside LC. */
#include <stdbool.h>

#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

static const struct gp_sched_config rotating = {
	.rotate = 1,
	.slice_preempts = 1,
	.lc_slice_us = 5000000,
	.be_slice_us = 1,
	.quantum_ns = 50 * MS,
	.hold_limit_ns = 20 * MS,
	.rotation_defer_max_ns = 20 * MS,
};

/* ---- the policy against its definition ---------------------------------- */

static void test_fair_policy(void **state)
{
	struct gp_be_time at = { .base_ns = 7 };
	struct gp_be_entity e[40];
	uint64_t r = 99;

	for (uint32_t i = 0; i < 40; i++)
		e[i] = (struct gp_be_entity){ .tenant = i + 1, .weight = 1 + i * 250 };
	for (int round = 0; round < 20000; round++) {
		size_t want = 0, got = 0;
		uint64_t before, ran;

		for (size_t i = 1; i < 40; i++)
			if (e[i].vruntime_ns < e[want].vruntime_ns ||
			    (e[i].vruntime_ns == e[want].vruntime_ns &&
			     e[i].waiting_since_ns < e[want].waiting_since_ns))
				want = i;
		for (size_t i = 1; i < 40; i++)
			if (gp_policy_fair.before(&e[i], &e[got]))
				got = i;
		assert_int_equal(got, want);
		r = r * 6364136223846793005ull + 1442695040888963407ull;
		ran = (r >> 33) % (100 * MS);
		before = e[got].vruntime_ns;
		gp_policy_fair.charge(&e[got], ran, &at);
		assert_int_equal(e[got].vruntime_ns, before + ran * 100 / e[got].weight);
		gp_policy_fair.refund(&e[got], ran / 3, &at);
		assert_int_equal(e[got].vruntime_ns, before + ran * 100 / e[got].weight -
							     ran / 3 * 100 / e[got].weight);
		e[got].waiting_since_ns = (uint64_t)round;
	}
	at.min_vruntime_ns = UINT64_MAX;
	gp_policy_fair.enter(&e[0], &at);
	assert_true(e[0].vruntime_ns == UINT64_MAX);
	assert_int_equal(gp_policy_fair.quantum(&e[0], &at), 7);
}

/* ---- three dozen tenants ------------------------------------------------ */

#define MANY 36

struct many {
	struct drive d;
	uint64_t armed_ns, ran_ns[MANY + 1], on_since_ns[MANY + 1];
	uint64_t off_since_ns[MANY + 1], longest_ns[MANY + 1];
	bool off[MANY + 1];
};

/* Execute decisions at once, like hardware that never fails. */
static void many_carry_out(struct many *m)
{
	struct gp_decisions todo = m->d.out;
	const struct gp_decision *arm = drive_find(&m->d, GP_DO_ARM_TIMER);

	/* Before the steps for outcomes, which may arm the timer again. */
	if (arm)
		m->armed_ns = arm->at_ns;
	for (size_t i = 0; i < todo.count; i++) {
		const struct gp_decision *dec = &todo.d[i];
		uint32_t g = dec->group;

		if (dec->type == GP_DO_ARM_TIMER)
			continue;
		if (dec->type == GP_DO_SUSPEND) {
			m->ran_ns[g] += m->d.now_ns - m->on_since_ns[g];
			m->off_since_ns[g] = m->d.now_ns;
			m->off[g] = true;
		} else if (dec->type == GP_DO_RESUME) {
			uint64_t waited = m->d.now_ns - m->off_since_ns[g];

			if (waited > m->longest_ns[g])
				m->longest_ns[g] = waited;
			m->on_since_ns[g] = m->d.now_ns;
			m->off[g] = false;
		}
		drive_ev(&m->d,
			 (struct gp_event){ .type = GP_EV_OUTCOME, .outcome.decision = dec->id });
		many_carry_out(m);
	}
}

static void many_start(struct many *m, uint32_t heavy)
{
	memset(m, 0, sizeof(*m));
	drive_init(&m->d, &rotating);
	for (uint32_t i = 1; i <= MANY; i++) {
		drive_join(&m->d, i, GP_CLASS_BE, i <= heavy ? 200 : 100);
		m->on_since_ns[i] = m->d.now_ns;
		assert_int_equal(drive_appear(&m->d, i, i), 0);
		many_carry_out(m);
	}
}

static void many_run(struct many *m, uint64_t ns)
{
	uint64_t to = m->d.now_ns + ns;

	while (m->armed_ns && m->armed_ns <= to) {
		drive_at(&m->d, m->armed_ns, GP_EV_TIMER, 0);
		many_carry_out(m);
	}
	m->d.now_ns = to;
}

static void test_shares_and_bound(void **state)
{
	static struct many m;
	uint64_t units = 12 * 2 + (MANY - 12), total = 120000 * MS;

	many_start(&m, 12);
	many_run(&m, total);
	for (uint32_t i = 1; i <= MANY; i++) {
		uint64_t share = total / units * (i <= 12 ? 2 : 1);

		assert_in_range(m.ran_ns[i], share - 100 * MS, share + 150 * MS);
		/* docs/sched.md: ceil(2) + 1 turns of each other at most */
		assert_true(m.longest_ns[i] <= (MANY - 1) * 3 * 70 * MS);
	}
	drive_end(&m.d);
}

static void test_idle_is_skipped(void **state)
{
	static struct many m;
	uint64_t before;

	many_start(&m, 0);
	for (uint32_t i = 3; i <= MANY; i++) {
		assert_int_equal(drive_tenant_ev(&m.d, GP_EV_IDLE, i), 0);
		many_carry_out(&m);
	}
	many_run(&m, 100 * MS);
	before = m.ran_ns[1] + m.ran_ns[2];
	many_run(&m, 10000 * MS);
	assert_in_range(m.ran_ns[1] + m.ran_ns[2] - before, 9900 * MS, 10100 * MS);
	drive_end(&m.d);
}

/* A rotation waits for a hold that starts within 1 ms, not for a later one. */
static void test_rotation_waits_for_a_hint(void **state)
{
	static struct many m;
	uint64_t due;

	many_start(&m, 0);
	drive_join(&m.d, 50, GP_CLASS_LC, 0);
	many_carry_out(&m);
	for (int near = 0; near < 2; near++) {
		struct gp_event ev = { .type = GP_EV_HINT, .tenant = 50 };

		due = m.armed_ns;
		m.d.now_ns = due - MS;
		ev.hint.at_ns = due + (near ? 1100 * US : 3 * MS);
		assert_int_equal(drive_ev(&m.d, ev), 0);
		many_carry_out(&m);
		drive_at(&m.d, due, GP_EV_TIMER, 0);
		assert_int_equal(gp_sched_rotation_deferred(m.d.sched), near);
		many_carry_out(&m);
		many_run(&m, 40 * MS);
	}
	drive_end(&m.d);
}

/* A rotation waits for a segment, up to the limit. */
static void test_rotation_waits_for_segment(void **state)
{
	static struct many m;
	uint64_t due;

	many_start(&m, 0);
	drive_join(&m.d, 50, GP_CLASS_LC, 0);
	many_carry_out(&m);
	due = m.armed_ns;
	drive_at(&m.d, due - MS, GP_EV_SEGMENT_BEGIN, 50);
	many_carry_out(&m);
	assert_false(gp_sched_rotation_deferred(m.d.sched));
	drive_at(&m.d, due, GP_EV_TIMER, 0);
	assert_null(drive_find(&m.d, GP_DO_SUSPEND));
	assert_true(gp_sched_rotation_deferred(m.d.sched));
	assert_int_equal(gp_sched_resident(m.d.sched), 1);
	drive_at(&m.d, due + 3 * MS, GP_EV_SEGMENT_END, 50);
	assert_false(gp_sched_rotation_deferred(m.d.sched));
	assert_int_equal(gp_sched_resident(m.d.sched), 2);
	assert_non_null(drive_find(&m.d, GP_DO_SUSPEND));
	many_carry_out(&m);

	due = m.armed_ns;
	drive_at(&m.d, due - MS, GP_EV_SEGMENT_BEGIN, 50);
	many_carry_out(&m);
	drive_at(&m.d, due, GP_EV_TIMER, 0);
	assert_null(drive_find(&m.d, GP_DO_SUSPEND));
	drive_at(&m.d, due + 20 * MS, GP_EV_TIMER, 0);
	assert_non_null(drive_find(&m.d, GP_DO_SUSPEND));
	drive_end(&m.d);
}

/* It also waits for work without a hint. */
static void test_rotation_waits_for_work(void **state)
{
	static struct many m;
	uint64_t due;

	many_start(&m, 0);
	drive_join(&m.d, 50, GP_CLASS_LC, 0);
	many_carry_out(&m);
	due = m.armed_ns;
	drive_at(&m.d, due - MS, GP_EV_BUSY, 50);
	many_carry_out(&m);
	drive_at(&m.d, due, GP_EV_TIMER, 0);
	assert_null(drive_find(&m.d, GP_DO_SUSPEND));
	drive_at(&m.d, due + 3 * MS, GP_EV_IDLE, 50);
	assert_non_null(drive_find(&m.d, GP_DO_SUSPEND));
	drive_end(&m.d);
}

/* The next runs only when the former is known to be suspended. */
static void test_hand_over_in_order(void **state)
{
	struct gp_event done = { .type = GP_EV_OUTCOME };
	static struct many m;

	many_start(&m, 0);
	drive_at(&m.d, m.armed_ns, GP_EV_TIMER, 0);
	assert_null(drive_find(&m.d, GP_DO_RESUME));
	/* The next gets its short slice meanwhile, because it is suspended. */
	assert_non_null(drive_find(&m.d, GP_DO_SET_SLICE));
	done.outcome.decision = drive_find(&m.d, GP_DO_SET_SLICE)->id;
	drive_outcome(&m.d, GP_DO_SUSPEND, -EIO);
	assert_null(drive_find(&m.d, GP_DO_RESUME));
	assert_int_equal(drive_ev(&m.d, done), 0);
	assert_null(drive_find(&m.d, GP_DO_RESUME));
	drive_at(&m.d, m.d.now_ns + MS, GP_EV_TIMER, 0);
	assert_null(drive_find(&m.d, GP_DO_RESUME));
	drive_outcome(&m.d, GP_DO_SUSPEND, 0);
	assert_non_null(drive_find(&m.d, GP_DO_RESUME));
	drive_end(&m.d);
}

/* Where slices do not preempt, a segment suspends all less urgent groups. */
static void test_segment_suspends(void **state)
{
	struct gp_sched_config c = rotating;
	struct drive d;

	c.slice_preempts = 0;
	c.slots = 4;
	drive_init(&d, &c);
	drive_join(&d, 1, GP_CLASS_LC, 0);
	drive_join(&d, 2, GP_CLASS_LC, 5);
	drive_join(&d, 3, GP_CLASS_BE, 100);
	assert_int_equal(drive_appear(&d, 1, 11), 0);
	assert_int_equal(drive_appear(&d, 2, 12), 0);
	assert_int_equal(drive_appear(&d, 3, 13), 0);
	assert_int_equal(drive_appear(&d, 1, 14), 0);
	assert_int_equal(drive_appear(&d, 1, 15), -ENOSPC);

	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	assert_null(drive_find(&d, GP_DO_HOLD));
	assert_int_equal(d.out.count, 3); /* two suspends, the timer */
	assert_int_equal(d.out.d[0].type, GP_DO_SUSPEND);
	assert_int_equal(d.out.d[1].type, GP_DO_SUSPEND);
	assert_int_equal(d.out.d[0].group + d.out.d[1].group, 12 + 13);
	for (uint32_t id = d.out.d[0].id, n = 0; n < 2; n++)
		assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_OUTCOME,
								 .outcome.decision = id + n }),
				 0);
	drive_at(&d, d.now_ns + MS, GP_EV_SEGMENT_END, 1);
	assert_int_equal(d.out.d[0].type, GP_DO_RESUME);
	assert_int_equal(d.out.d[1].type, GP_DO_RESUME);
	drive_end(&d);
}

/* ---- idle tenants ----------------------------------------------------------- */

#define IDLE_US 500u

struct two {
	struct drive d;
	bool off[3];
	uint64_t slice_us[3];
};

/* Like hardware that never fails; two at the short slice never meet. */
static void two_carry_out(struct two *t)
{
	const struct gp_decisions todo = t->d.out;

	for (size_t i = 0; i < todo.count; i++) {
		const struct gp_decision *dec = &todo.d[i];

		if (dec->type == GP_DO_ARM_TIMER)
			continue;
		if (dec->type == GP_DO_SET_SLICE)
			t->slice_us[dec->group] = dec->slice_us;
		else
			t->off[dec->group] = dec->type == GP_DO_SUSPEND;
		assert_false(!t->off[1] && !t->off[2] && t->slice_us[1] == 1 &&
			     t->slice_us[2] == 1);
		drive_ev(&t->d,
			 (struct gp_event){ .type = GP_EV_OUTCOME, .outcome.decision = dec->id });
		two_carry_out(t);
	}
}

static void two_tell(struct two *t, uint32_t type, uint32_t tenant)
{
	drive_at(&t->d, t->d.now_ns + MS, type, tenant);
	two_carry_out(t);
}

static void two_idle_tells(struct two *t, uint32_t tenant)
{
	t->d.now_ns += MS;
	drive_ev(&t->d, (struct gp_event){
				.type = GP_EV_IDLE, .tenant = tenant, .idle.how = GP_IDLE_TELLS });
	two_carry_out(t);
}

static void two_are(const struct two *t, bool off1, uint64_t slice1_us, bool off2,
		    uint64_t slice2_us)
{
	assert_int_equal(t->off[1], off1);
	assert_int_equal(t->slice_us[1], slice1_us);
	assert_int_equal(t->off[2], off2);
	assert_int_equal(t->slice_us[2], slice2_us);
}

static enum gp_why why(const struct drive *d, uint32_t tenant)
{
	struct gp_sched_why w;

	assert_int_equal(gp_sched_why(d->sched, tenant, &w), 0);
	return w.reason;
}

static void two_start(struct two *t)
{
	struct gp_sched_config config = rotating;

	*t = (struct two){ 0 };
	config.idle_slice_us = IDLE_US;
	drive_init(&t->d, &config);
	for (uint32_t i = 1; i <= 2; i++) {
		drive_join(&t->d, i, GP_CLASS_BE, 100);
		assert_int_equal(drive_appear(&t->d, i, i), 0);
		two_carry_out(t);
	}
	two_are(t, false, 1, true, 0);
}

/* A tenant that reports new work can be suspended until then, and delays no other. */
static void test_idle_that_tells_is_off(void **state)
{
	struct two t;

	two_start(&t);
	two_idle_tells(&t, 1);
	two_are(&t, true, 1, false, 1);
	assert_int_equal(why(&t.d, 1), GP_WHY_IDLE);
	two_tell(&t, GP_EV_BUSY, 1);
	two_are(&t, true, 1, false, 1);
	assert_int_equal(why(&t.d, 1), GP_WHY_TURN);
	/* None is left: it resumes at once, and the other may keep the device. */
	two_idle_tells(&t, 2);
	two_are(&t, false, 1, true, 1);
	two_idle_tells(&t, 1);
	two_are(&t, false, 1, true, 1);
	two_tell(&t, GP_EV_BUSY, 2);
	two_are(&t, true, 1, false, 1);
	/* It no longer reports. */
	two_tell(&t, GP_EV_IDLE, 1);
	two_are(&t, false, IDLE_US, false, 1);
	drive_end(&t.d);
}

static void test_idle_stays_on(void **state)
{
	struct two t;

	two_start(&t);
	/* The resident is idle: the other's turn, and it keeps running. */
	two_tell(&t, GP_EV_IDLE, 1);
	two_are(&t, false, IDLE_US, false, 1);
	assert_int_equal(why(&t.d, 1), GP_WHY_IDLE);
	assert_int_equal(why(&t.d, 2), GP_WHY_RUNS);
	/* It has work again: suspended until its turn. */
	two_tell(&t, GP_EV_BUSY, 1);
	two_are(&t, true, IDLE_US, false, 1);
	assert_int_equal(why(&t.d, 1), GP_WHY_TURN);
	/* Both idle: the turn stays. */
	two_tell(&t, GP_EV_IDLE, 1);
	two_tell(&t, GP_EV_IDLE, 2);
	two_are(&t, false, IDLE_US, false, 1);
	two_tell(&t, GP_EV_BUSY, 1);
	two_are(&t, false, 1, false, IDLE_US);
	/* Another instance has the device's short slice, then not. */
	drive_ev(&t.d, (struct gp_event){ .type = GP_EV_SLOT, .slot.have = false });
	two_carry_out(&t);
	two_are(&t, false, 0, false, IDLE_US);
	drive_ev(&t.d, (struct gp_event){ .type = GP_EV_SLOT, .slot.have = true });
	two_carry_out(&t);
	two_are(&t, false, 1, false, IDLE_US);
	two_tell(&t, GP_EV_TENANT_LEAVE, 1);
	two_tell(&t, GP_EV_CLOSE, 0);
	two_are(&t, false, 0, false, 0);
	drive_end(&t.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fair_policy),
		cmocka_unit_test(test_shares_and_bound),
		cmocka_unit_test(test_idle_is_skipped),
		cmocka_unit_test(test_idle_that_tells_is_off),
		cmocka_unit_test(test_idle_stays_on),
		cmocka_unit_test(test_rotation_waits_for_a_hint),
		cmocka_unit_test(test_rotation_waits_for_segment),
		cmocka_unit_test(test_rotation_waits_for_work),
		cmocka_unit_test(test_hand_over_in_order),
		cmocka_unit_test(test_segment_suspends),
	};

	return gp_run_tests(tests);
}
