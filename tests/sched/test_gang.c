// SPDX-License-Identifier: Apache-2.0
/*
 * Gangs: BE tenants whose turns begin and end on all their devices at once. The machines are the
 * devices, and the test is their host.
 */
#include "sched/gang.h"
#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define QUANTUM_NS (50 * MS)
#define DEVICES 3
#define LONE 20 /* and above: tenants of one device */
#define TURNS_MAX 64

static struct machine m[DEVICES];
static struct gp_gang gang[8];
static struct gp_gangs gangs;
static uint32_t lone;
static uint64_t apart_ns, apart_max_ns; /* some devices of a gang are its own, others are not */

static void init(const struct gp_be_policy *policy)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.quantum_ns = QUANTUM_NS,
		.be_policy = policy,
	};

	memset(gang, 0, sizeof(gang));
	gangs = (struct gp_gangs){ .devices = DEVICES };
	for (size_t i = 0; i < DEVICES; i++) {
		machine_init(&m[i], &config);
		m[i].off_ns = 500 * US;
		m[i].on_ns = 300 * US;
		gangs.core[i] = m[i].d.sched;
	}
	apart_ns = apart_max_ns = 0;
	lone = LONE;
}

static void end(void)
{
	for (size_t i = 0; i < DEVICES; i++)
		machine_end(&m[i]);
}

/* The gangs' host. */
static void follow(void)
{
	struct gp_gang_turn turn;
	size_t n = 0;

	while (gp_gang_next(&gangs, &turn)) {
		assert_true(n++ < TURNS_MAX);
		assert_int_equal(machine_ev(&m[turn.device],
					    (struct gp_event){ .type = GP_EV_TURN,
							       .tenant = turn.tenant,
							       .turn.ends = turn.ends }),
				 0);
	}
}

static uint64_t next_ns(const struct machine *at, uint64_t end_ns)
{
	if (at->armed_ns && at->armed_ns < end_ns)
		end_ns = at->armed_ns;
	if (at->queued && at->queue[0].done_ns < end_ns)
		end_ns = at->queue[0].done_ns;
	return end_ns > at->d.now_ns ? end_ns : at->d.now_ns;
}

/* Gangs have their turns, and are on their devices, all or none. */
static void look(uint64_t passed_ns)
{
	bool apart = false;

	for (const struct gp_gang *g = gangs.first; g; g = g->next) {
		uint32_t on = 0, has = 0, all = 0;

		for (size_t i = 0; i < DEVICES; i++) {
			const uint32_t id = g->tenant[i];

			all += id != 0;
			on += id && m[i].on[id];
			has += id && drive_stat(&m[i].d, id).resident;
		}
		assert_true(!has || has == all);
		apart |= on && on < all;
	}
	apart_ns = apart ? apart_ns + passed_ns : 0;
	apart_max_ns = apart_ns > apart_max_ns ? apart_ns : apart_max_ns;
}

static void run(uint64_t ns)
{
	const uint64_t end_ns = m[0].d.now_ns + ns;

	for (;;) {
		uint64_t next = end_ns, from = m[0].d.now_ns;

		follow();
		for (size_t i = 0; i < DEVICES; i++)
			next = next_ns(&m[i], next);
		look(next - from);
		for (size_t i = 0; i < DEVICES; i++)
			machine_run(&m[i], next - m[i].d.now_ns);
		if (from == end_ns && next == from)
			return;
	}
}

static void tell(size_t device, uint32_t type, uint32_t tenant)
{
	machine_tell(&m[device], type, tenant);
	follow();
}

static uint32_t add_lone(size_t device, uint32_t weight)
{
	machine_add_be(&m[device], ++lone, weight, 0);
	for (size_t i = 0; i < DEVICES; i++)
		m[i].d.now_ns = m[device].d.now_ns;
	return lone;
}

static void join(size_t device, uint32_t id, uint32_t weight, uint32_t cap_pct)
{
	assert_int_equal(
		machine_ev(&m[device],
			   (struct gp_event){
				   .type = GP_EV_TENANT_JOIN,
				   .tenant = id,
				   .gang = true,
				   .party = id,
				   .spec = { .cls = { GP_CLASS_BE, weight }, .cap_pct = cap_pct },
			   }),
		0);
	m[device].there[id] = m[device].on[id] = m[device].runs[id] = true;
	assert_int_equal(machine_ev(&m[device], (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
								   .tenant = id,
								   .group.id = id }),
			 0);
}

/* Its tenants have id @n + 1 on all its devices. */
static void add_gang(size_t n, uint32_t devices, uint32_t weight, uint32_t cap_pct)
{
	for (size_t i = 0; i < DEVICES; i++) {
		if (!(devices >> i & 1))
			continue;
		join(i, (uint32_t)n + 1, weight, cap_pct);
		gang[n].tenant[i] = (uint32_t)n + 1;
	}
	gp_gang_add(&gangs, &gang[n]);
}

/* Its process has ended. */
static void end_one(size_t device, uint32_t id)
{
	struct machine *at = &m[device];

	at->there[id] = at->on[id] = at->runs[id] = at->is_short[id] = false;
	assert_int_equal(
		machine_ev(at, (struct gp_event){ .type = GP_EV_GROUP_GONE, .group.id = id }), 0);
	machine_tell(at, GP_EV_TENANT_LEAVE, id);
}

static void forget(void)
{
	run(500 * MS);
	for (size_t i = 0; i < DEVICES; i++)
		memset(m[i].ran_ns, 0, sizeof(m[i].ran_ns));
	apart_max_ns = 0;
}

static double part(size_t device, uint32_t tenant)
{
	uint64_t all = 0;

	for (uint32_t i = 1; i <= M_TENANTS; i++)
		all += m[device].ran_ns[i];
	return all ? (double)m[device].ran_ns[tenant] / (double)all : 0;
}

static void expect_part(size_t device, uint32_t tenant, double want)
{
	assert_true(part(device, tenant) > want - 0.03);
	assert_true(part(device, tenant) < want + 0.03);
}

static void expect_together(void)
{
	assert_true(apart_max_ns <= MS);
}

static void expect_share(const struct gp_be_policy *policy, size_t crowded)
{
	uint32_t own, beside;

	init(policy);
	add_gang(0, 3, 100, 0);
	own = add_lone(!crowded, 100);
	add_lone(crowded, 100);
	beside = add_lone(crowded, 100);
	forget();
	run(30000 * MS);
	expect_together();
	if (policy == &gp_policy_fair) {
		expect_part(!crowded, 1, 1.0 / 3);
		expect_part(!crowded, own, 2.0 / 3);
		expect_part(crowded, 1, 1.0 / 3);
		expect_part(crowded, beside, 1.0 / 3);
	} else {
		assert_true(part(crowded, 1) > 0.25 && part(crowded, 1) < 0.45);
		assert_true(part(crowded, beside) > 0.25);
	}
	end();
}

/* It has the share that it has where most others are, and the others there have theirs. */
static void test_share(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		expect_share(gp_be_policies[i], 0);
		expect_share(gp_be_policies[i], 1);
	}
}

/* A device that nobody else uses gives it no more of the other one. */
static void test_alone_on_one_device(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		uint32_t beside;

		init(gp_be_policies[i]);
		add_gang(0, 3, 100, 0);
		beside = add_lone(1, 100);
		forget();
		run(10000 * MS);
		expect_together();
		expect_part(1, 1, 0.5);
		expect_part(1, beside, 0.5);
		/* A turn of either is a whole one. */
		assert_true(m[1].longest_off_ns[1] < QUANTUM_NS + 5 * MS);
		assert_true(m[1].longest_off_ns[beside] < QUANTUM_NS + 5 * MS);
		end();
	}
}

static void test_alone(void **state)
{
	init(&gp_policy_fair);
	add_gang(0, 7, 100, 0);
	forget();
	run(1000 * MS);
	assert_int_equal(apart_max_ns, 0);
	for (size_t i = 0; i < DEVICES; i++)
		assert_int_equal(m[i].ran_ns[1], 1000 * MS);
	end();
}

static void test_weights_among_gangs(void **state)
{
	init(&gp_policy_fair);
	add_gang(0, 3, 100, 0);
	add_gang(1, 3, 300, 0);
	forget();
	run(20000 * MS);
	expect_together();
	for (size_t i = 0; i < 2; i++) {
		expect_part(i, 1, 0.25);
		expect_part(i, 2, 0.75);
	}
	end();
}

/* Each needs two of three devices: they are in each other's way, in a circle. */
static void test_circle(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		init(gp_be_policies[i]);
		add_gang(0, 3, 100, 0);
		add_gang(1, 6, 100, 0);
		add_gang(2, 5, 100, 0);
		forget();
		run(20000 * MS);
		expect_together();
		for (uint32_t k = 1; k <= 3; k++)
			assert_true(m[k - 1].ran_ns[k] > 4000 * MS);
		/* Beside tenants of one device, each still has its part. */
		for (size_t k = 0; k < DEVICES; k++)
			add_lone(k, 100);
		forget();
		run(20000 * MS);
		expect_together();
		for (uint32_t k = 1; k <= 3; k++)
			assert_true(m[k - 1].ran_ns[k] > 2000 * MS);
		for (uint32_t k = 0; k < DEVICES; k++)
			assert_true(part(k, LONE + 1 + k) > 0.2);
		end();
	}
}

/* It needs both devices, and the turns of the gangs there never end at the same time. */
static void test_others_out_of_step(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		init(gp_be_policies[i]);
		add_gang(0, 1, 100, 0);
		run(QUANTUM_NS / 2);
		add_gang(1, 2, 100, 0);
		add_gang(2, 3, 100, 0);
		forget();
		run(10000 * MS);
		expect_together();
		assert_true(part(0, 3) > 0.2);
		assert_true(part(1, 3) > 0.2);
		end();
	}
}

/* Gangs that need no device of each other run at the same time. */
static void test_apart(void **state)
{
	init(&gp_policy_fair);
	add_gang(0, 3, 100, 0);
	add_gang(1, 4, 100, 0);
	forget();
	run(1000 * MS);
	assert_int_equal(m[0].ran_ns[1], 1000 * MS);
	assert_int_equal(m[2].ran_ns[2], 1000 * MS);
	end();
}

/* While it waited long on one device, others of the other device owe it nothing. */
static void test_wait_is_no_credit(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		uint32_t own, late;

		init(gp_be_policies[i]);
		add_gang(0, 3, 100, 0);
		own = add_lone(0, 100);
		for (size_t k = 0; k < 6; k++)
			add_lone(1, 100);
		run(20000 * MS);
		late = add_lone(0, 100);
		for (uint64_t k = 0; k < 20; k++) {
			tell(0, GP_EV_IDLE, late);
			run((500 + 37 * k) * MS);
			tell(0, GP_EV_BUSY, late);
			m[0].longest_off_ns[own] = m[0].ran_ns[own] = 0;
			run(1000 * MS);
			assert_true(m[0].longest_off_ns[own] < 4 * QUANTUM_NS);
			assert_true(m[0].ran_ns[own] > 300 * MS);
		}
		end();
	}
}

/* Until its turn begins or ends; it took so long, but for a ms. Each core has a step a ms. */
static uint64_t wait_for(const struct gp_gang *g, bool runs)
{
	const uint64_t from_ns = m[0].d.now_ns;

	while (g->runs != runs) {
		run(MS);
		for (size_t i = 0; i < DEVICES; i++)
			tell(i, GP_EV_TIMER, 0);
		assert_true(m[0].d.now_ns - from_ns < 1000 * MS);
	}
	return m[0].d.now_ns - from_ns;
}

/* It is first again after a part of the other's turn, which is a whole one all the same. */
static void test_no_turn_ends_early(void **state)
{
	uint32_t beside;

	init(&gp_policy_fair);
	add_gang(0, 3, 300, 0);
	beside = add_lone(1, 100);
	forget();
	run(10000 * MS);
	expect_together();
	expect_part(1, 1, 0.75);
	expect_part(1, beside, 0.25);
	for (size_t k = 0; k < 20; k++) {
		wait_for(&gang[0], false);
		assert_true(wait_for(&gang[0], true) >= QUANTUM_NS - MS);
	}
	end();
}

static void test_idle(void **state)
{
	uint32_t beside;

	init(&gp_policy_fair);
	add_gang(0, 3, 100, 0);
	beside = add_lone(1, 100);
	/* With work on one device it has its turns on both. */
	tell(0, GP_EV_IDLE, 1);
	forget();
	run(5000 * MS);
	expect_part(1, 1, 0.5);
	/* Without any it has none, and its turn ends at once. */
	wait_for(&gang[0], true);
	tell(1, GP_EV_IDLE, 1);
	assert_false(gang[0].runs);
	forget();
	run(1000 * MS);
	assert_int_equal(m[1].ran_ns[beside], 1000 * MS);
	tell(0, GP_EV_BUSY, 1);
	tell(1, GP_EV_BUSY, 1);
	forget();
	run(5000 * MS);
	expect_together();
	expect_part(1, 1, 0.5);
	end();
}

static void test_cap(void **state)
{
	uint32_t beside;

	init(&gp_policy_credit);
	add_gang(0, 3, 100, 20);
	beside = add_lone(1, 100);
	forget();
	run(20000 * MS);
	expect_together();
	expect_part(1, 1, 0.2);
	expect_part(1, beside, 0.8);
	end();
}

/* Its group on one device cannot run, so it is a gang of the others; later it is one of all. */
static void test_groups_come_and_go(void **state)
{
	init(&gp_policy_fair);
	add_gang(0, 7, 100, 0);
	add_lone(2, 100);
	forget();
	for (uint32_t k = 0; k < 20; k++) {
		m[1].there[1] = m[1].on[1] = m[1].runs[1] = m[1].is_short[1] = false;
		assert_int_equal(machine_ev(&m[1], (struct gp_event){ .type = GP_EV_GROUP_GONE,
								      .group.id = 1 }),
				 0);
		gang[0].tenant[1] = 0;
		run(137 * MS);
		m[1].there[1] = m[1].on[1] = m[1].runs[1] = true;
		assert_int_equal(machine_ev(&m[1], (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
								      .tenant = 1,
								      .group.id = 1 }),
				 0);
		gang[0].tenant[1] = 1;
		run(113 * MS);
	}
	forget();
	run(5000 * MS);
	expect_together();
	expect_part(2, 1, 0.5);
	end();
}

/* It ends in its turn. */
static void test_leaves(void **state)
{
	uint32_t beside;

	init(&gp_policy_fair);
	add_gang(0, 3, 100, 0);
	add_gang(1, 3, 100, 0);
	beside = add_lone(1, 100);
	forget();
	wait_for(&gang[0], true);
	for (size_t i = 0; i < 2; i++)
		end_one(i, 1);
	gp_gang_remove(&gangs, &gang[0]);
	forget();
	run(5000 * MS);
	expect_together();
	expect_part(1, 2, 0.5);
	expect_part(1, beside, 0.5);
	end();
}

/* Another class, and no gang: its turns are as any other's. */
static void test_class(void **state)
{
	struct gp_event ev = { .type = GP_EV_TENANT_CLASS,
			       .tenant = 1,
			       .spec.cls = { GP_CLASS_BE, 100 } };
	const struct gp_event turn = { .type = GP_EV_TURN, .tenant = 1 };
	struct gp_sched_gang at;

	init(&gp_policy_fair);
	add_gang(0, 3, 100, 0);
	add_lone(0, 100);
	gp_sched_gang(m[0].d.sched, 1, &at);
	assert_int_not_equal(at.state, GP_GANG_NONE);
	gp_sched_gang(m[0].d.sched, 7, &at);
	assert_int_equal(at.state, GP_GANG_NONE);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(machine_ev(&m[i], ev), 0);
	gp_gang_remove(&gangs, &gang[0]);
	assert_int_equal(machine_ev(&m[0], turn), -EINVAL);
	forget();
	run(5000 * MS);
	expect_part(0, 1, 0.5);
	assert_int_equal(m[1].ran_ns[1], 5000 * MS);
	ev.spec.cls = (struct gp_class_value){ GP_CLASS_LC, 0 };
	ev.gang = true;
	assert_int_equal(machine_ev(&m[0], ev), 0);
	assert_int_equal(machine_ev(&m[0], turn), -EINVAL);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_alone_on_one_device),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_weights_among_gangs),
		cmocka_unit_test(test_circle),
		cmocka_unit_test(test_others_out_of_step),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_wait_is_no_credit),
		cmocka_unit_test(test_no_turn_ends_early),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_groups_come_and_go),
		cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_class),
	};

	return gp_run_tests(tests);
}
