// SPDX-License-Identifier: Apache-2.0
/* Each reason that gp_sched_why() gives, with its facts. */
#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define QUANTUM_NS (50 * MS)
#define LC 40 /* an LC tenant's id */

static void start(struct machine *m, const struct gp_sched_config *more)
{
	struct gp_sched_config config = *more;

	config.rotate = 1;
	config.quantum_ns = QUANTUM_NS;
	config.slice_preempts = !config.slots;
	machine_init(m, &config);
	m->off_ns = 500 * US;
	m->on_ns = 300 * US;
}

static struct gp_sched_why why(const struct machine *m, uint32_t tenant)
{
	struct gp_sched_why y;

	assert_int_equal(gp_sched_why(m->d.sched, tenant, &y), 0);
	return y;
}

static void add_lc(struct machine *m, uint32_t id, uint32_t level)
{
	machine_add(m, id, (struct gp_class_request){ .cls = { GP_CLASS_LC, level } });
	machine_tell(m, GP_EV_IDLE, id);
	machine_finish(m);
}

static void test_turns(void **state)
{
	static const struct gp_sched_config config = { 0 };
	static struct machine m;
	struct gp_sched_why y;
	uint64_t began;

	start(&m, &config);
	machine_add_be(&m, 1, 100, 0);
	assert_int_equal(why(&m, 1).reason, GP_WHY_RUNS);
	for (uint32_t i = 2; i <= 4; i++)
		machine_add_be(&m, i, 100, 0);
	/* Into a turn of 2. */
	while (machine_resident(&m) != 2)
		machine_run(&m, 100 * US);
	y = why(&m, 2);
	assert_int_equal(y.reason, GP_WHY_SWITCHING);
	assert_int_equal(y.other, 1);
	began = y.since_ns;
	assert_true(m.d.now_ns - began <= MS);
	machine_run(&m, 10 * MS);
	assert_int_equal(why(&m, 2).reason, GP_WHY_RUNS);
	for (uint32_t i = 1; i <= 4; i++) {
		static const uint32_t ahead[] = { 0, 2, 0, 0, 1 };

		if (i == 2)
			continue;
		y = why(&m, i);
		assert_int_equal(y.reason, GP_WHY_TURN);
		assert_int_equal(y.other, 2);
		assert_int_equal(y.ahead, ahead[i]);
		assert_int_equal(y.since_ns, began);
		/* It ran 0.8 ms after its turn began. */
		assert_in_range(y.until_ns, began + QUANTUM_NS, began + QUANTUM_NS + MS);
	}
	machine_tell(&m, GP_EV_IDLE, 4);
	assert_int_equal(why(&m, 4).reason, GP_WHY_IDLE);
	assert_int_equal(why(&m, 1).ahead, 1);
	assert_int_equal(gp_sched_why(m.d.sched, 9, &y), -ENOENT);
	assert_int_equal(machine_ev(&m, (struct gp_event){ .type = GP_EV_TENANT_JOIN,
							   .tenant = 9,
							   .spec = { .cls = { GP_CLASS_BE, 1 } } }),
			 0);
	assert_int_equal(why(&m, 9).reason, GP_WHY_NO_GROUP);
	machine_end(&m);
}

static void test_put_off_and_behind_lc(void **state)
{
	static const struct gp_sched_config config = { 0 };
	static struct machine m;
	struct gp_sched_why y;
	uint64_t began, due;

	start(&m, &config);
	machine_add_be(&m, 1, 100, 0);
	machine_add_be(&m, 2, 100, 0);
	add_lc(&m, LC, 0);
	due = why(&m, 2).until_ns;
	machine_run(&m, due - MS - m.d.now_ns);
	assert_int_equal(why(&m, 2).reason, GP_WHY_TURN);
	machine_tell(&m, GP_EV_SEGMENT_BEGIN, LC);
	began = m.d.now_ns;
	y = why(&m, 1);
	assert_int_equal(y.reason, GP_WHY_LC);
	assert_int_equal(y.other, LC);
	assert_int_equal(y.since_ns, began);
	assert_int_equal(y.until_ns, began + 20 * MS);
	assert_int_equal(why(&m, LC).reason, GP_WHY_RUNS);
	machine_run(&m, 3 * MS);
	y = why(&m, 2);
	assert_int_equal(y.reason, GP_WHY_PUT_OFF);
	assert_int_equal(y.other, LC);
	assert_int_equal(y.since_ns, due);
	assert_int_equal(y.until_ns, due + 20 * MS);
	machine_end(&m);
}

static void test_cap(void **state)
{
	static const struct gp_sched_config config = { .be_policy = &gp_policy_credit };
	static struct machine m;
	struct gp_sched_why y;

	start(&m, &config);
	machine_add_be(&m, 1, 100, 10);
	machine_run(&m, 1010 * MS);
	while (why(&m, 1).reason != GP_WHY_CAP)
		machine_run(&m, MS);
	y = why(&m, 1);
	machine_run(&m, y.until_ns - m.d.now_ns - 1);
	assert_int_equal(why(&m, 1).reason, GP_WHY_CAP);
	machine_run(&m, 2);
	assert_int_equal(why(&m, 1).reason, GP_WHY_SWITCHING);
	machine_end(&m);
}

/* On a device with slots a holder suspends the others. */
static void test_held_out(void **state)
{
	static const struct gp_sched_config config = { .slots = 4 };
	static struct machine m;
	struct gp_sched_why y;

	start(&m, &config);
	machine_add_be(&m, 1, 100, 0);
	add_lc(&m, LC, 0);
	add_lc(&m, LC + 1, 1);
	machine_tell(&m, GP_EV_SEGMENT_BEGIN, LC);
	machine_run(&m, 5 * MS);
	for (uint32_t i = 0; i < 2; i++) {
		y = why(&m, i ? LC + 1 : 1);
		assert_int_equal(y.reason, GP_WHY_LC);
		assert_int_equal(y.other, LC);
		assert_int_equal(y.since_ns, m.d.now_ns - 5 * MS);
		assert_int_equal(y.until_ns, m.d.now_ns + 15 * MS);
	}
	machine_tell(&m, GP_EV_SEGMENT_END, LC);
	assert_int_equal(why(&m, LC + 1).reason, GP_WHY_SWITCHING);
	machine_end(&m);
}

static void test_more_urgent(void **state)
{
	static const struct gp_sched_config config = { .lc_preempt = GP_LC_CUT_PREEMPT };
	static struct machine m;

	start(&m, &config);
	add_lc(&m, LC, 0);
	add_lc(&m, LC + 1, 1);
	machine_tell(&m, GP_EV_BUSY, LC + 1);
	assert_int_equal(why(&m, LC + 1).reason, GP_WHY_RUNS);
	machine_tell(&m, GP_EV_BUSY, LC);
	assert_int_equal(why(&m, LC).reason, GP_WHY_RUNS);
	assert_int_equal(why(&m, LC + 1).reason, GP_WHY_LC);
	assert_int_equal(why(&m, LC + 1).other, LC);
	assert_int_equal(why(&m, LC + 1).until_ns, 0);
	machine_end(&m);
}

static void test_be_minimum(void **state)
{
	static const struct gp_sched_config config = { .be_min_pct = 10 };
	static struct machine m;
	struct gp_sched_why y;

	start(&m, &config);
	machine_add_be(&m, 1, 100, 0);
	add_lc(&m, LC, 0);
	machine_tell(&m, GP_EV_BUSY, LC);
	assert_int_equal(why(&m, 1).reason, GP_WHY_LC);
	while (m.on[LC])
		machine_run(&m, 100 * US);
	y = why(&m, LC);
	assert_int_equal(y.reason, GP_WHY_MINIMUM);
	assert_in_range(y.since_ns, m.d.now_ns - MS, m.d.now_ns);
	assert_true(y.until_ns > m.d.now_ns && y.until_ns < m.d.now_ns + 10 * MS);
	assert_int_equal(why(&m, 1).reason, GP_WHY_RUNS);
	machine_end(&m);
}

static void test_retry(void **state)
{
	static const struct gp_sched_config config = { 0 };
	struct gp_event done = { .type = GP_EV_OUTCOME, .outcome.error = -EIO };
	static struct machine m;
	struct gp_sched_why y;

	start(&m, &config);
	machine_add_be(&m, 1, 100, 0);
	machine_add_be(&m, 2, 100, 0);
	/* Up to the resume of either one. */
	while (!m.queued || m.queue[0].what.type != GP_DO_RESUME)
		machine_run(&m, 100 * US);
	done.outcome.decision = m.queue[0].what.id;
	y.other = m.queue[0].what.group;
	m.queued = 0;
	assert_int_equal(machine_ev(&m, done), 0);
	done.tenant = y.other;
	y = why(&m, done.tenant);
	assert_int_equal(y.reason, GP_WHY_RETRY);
	assert_int_equal(y.error, -EIO);
	assert_int_equal(y.until_ns, m.d.now_ns + MS);
	machine_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),	    cmocka_unit_test(test_put_off_and_behind_lc),
		cmocka_unit_test(test_cap),	    cmocka_unit_test(test_held_out),
		cmocka_unit_test(test_more_urgent), cmocka_unit_test(test_be_minimum),
		cmocka_unit_test(test_retry),
	};

	return gp_run_tests(tests);
}
