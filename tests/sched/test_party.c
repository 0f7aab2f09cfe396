// SPDX-License-Identifier: Apache-2.0
/*
 * Parties: BE tenants with one account. A party has the share, the cap and the waits of one
 * tenant, also while its tenants idle, join or leave. These use its turns alternately.
 */
#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define QUANTUM_NS (50 * MS)
#define PARTY 7
#define MEMBERS 8
#define LONE 9 /* the tenant beside it */

static struct machine m;

static void init(const struct gp_be_policy *policy)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.quantum_ns = QUANTUM_NS,
		.be_policy = policy,
	};

	machine_init(&m, &config);
}

static struct gp_class_request be_class(uint32_t weight, uint32_t cap_pct)
{
	return (struct gp_class_request){ .cls = { GP_CLASS_BE, weight }, .cap_pct = cap_pct };
}

static void spec(uint32_t id, struct gp_class_request request, uint32_t party)
{
	assert_int_equal(machine_ev(&m, (struct gp_event){ .type = GP_EV_TENANT_CLASS,
							   .tenant = id,
							   .party = party,
							   .spec = request }),
			 0);
}

/* It joins, and is of the party before it has a group. */
static void add(uint32_t id, uint32_t weight, uint32_t cap_pct)
{
	assert_int_equal(machine_ev(&m, (struct gp_event){ .type = GP_EV_TENANT_JOIN,
							   .tenant = id,
							   .party = PARTY,
							   .spec = be_class(weight, cap_pct) }),
			 0);
	m.there[id] = m.on[id] = m.runs[id] = true;
	m.idle[id] = false;
	assert_int_equal(machine_ev(&m, (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
							   .tenant = id,
							   .group.id = id }),
			 0);
	machine_finish(&m);
}

/* Its process has ended. */
static void end_one(uint32_t id)
{
	m.there[id] = m.on[id] = m.runs[id] = m.is_short[id] = false;
	assert_int_equal(
		machine_ev(&m, (struct gp_event){ .type = GP_EV_GROUP_GONE, .group.id = id }), 0);
	machine_tell(&m, GP_EV_TENANT_LEAVE, id);
	machine_finish(&m);
}

static void add_all(void)
{
	for (uint32_t i = 1; i <= MEMBERS; i++)
		add(i, 100, 0);
}

static void forget(void)
{
	memset(m.ran_ns, 0, sizeof(m.ran_ns));
}

static double part_of(uint32_t first, uint32_t last)
{
	uint64_t ran = 0, all = 0;

	for (uint32_t i = 1; i <= M_TENANTS; i++) {
		all += m.ran_ns[i];
		ran += i >= first && i <= last ? m.ran_ns[i] : 0;
	}
	return (double)ran / (double)all;
}

static void expect_part(uint32_t first, uint32_t last, double part)
{
	assert_true(part_of(first, last) > part - 0.02);
	assert_true(part_of(first, last) < part + 0.02);
}

static void test_share_of_one(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		init(gp_be_policies[i]);
		add_all();
		machine_add_be(&m, LONE, 100, 0);
		machine_run(&m, 20000 * MS);
		expect_part(1, MEMBERS, 0.5);
		for (uint32_t k = 1; k <= MEMBERS; k++)
			expect_part(k, k, 0.5 / MEMBERS);
		machine_end(&m);
	}
}

/* The tenant beside it waits for one turn, not for eight. */
static void test_one_turn_in_a_round(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		init(gp_be_policies[i]);
		add_all();
		machine_add_be(&m, LONE, 100, 0);
		machine_run(&m, 2000 * MS);
		m.longest_off_ns[LONE] = 0;
		machine_run(&m, 20000 * MS);
		assert_true(m.longest_off_ns[LONE] <= QUANTUM_NS + 2 * MS);
		machine_end(&m);
	}
}

static void test_idle_members_cost_nothing(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		init(gp_be_policies[i]);
		add_all();
		machine_add_be(&m, LONE, 100, 0);
		for (uint32_t k = 2; k <= MEMBERS; k++)
			machine_tell(&m, GP_EV_IDLE, k);
		machine_run(&m, 500 * MS);
		forget();
		machine_run(&m, 10000 * MS);
		expect_part(1, 1, 0.5);
		/* None of it has work. */
		machine_tell(&m, GP_EV_IDLE, 1);
		machine_run(&m, 500 * MS);
		forget();
		machine_run(&m, 1000 * MS);
		expect_part(LONE, LONE, 1);
		machine_tell(&m, GP_EV_BUSY, 5);
		machine_tell(&m, GP_EV_BUSY, 6);
		machine_run(&m, 500 * MS);
		forget();
		machine_run(&m, 10000 * MS);
		expect_part(5, 6, 0.5);
		machine_end(&m);
	}
}

/* The account stays when the tenant that brought it ends, and a new one brings none. */
static void test_members_come_and_go(void **state)
{
	for (size_t i = 0; gp_be_policies[i]; i++) {
		init(gp_be_policies[i]);
		add_all();
		machine_add_be(&m, LONE, 100, 0);
		for (uint32_t k = 0; k < 400; k++) {
			const uint32_t id = 1 + k % MEMBERS;

			end_one(id);
			machine_run(&m, 37 * MS);
			add(id, 100, 0);
			machine_run(&m, 13 * MS);
		}
		expect_part(1, MEMBERS, 0.5);
		for (uint32_t id = 1; id < MEMBERS; id++)
			end_one(id);
		machine_run(&m, 500 * MS);
		forget();
		machine_run(&m, 10000 * MS);
		expect_part(MEMBERS, MEMBERS, 0.5);
		end_one(MEMBERS);
		machine_run(&m, 500 * MS);
		forget();
		machine_run(&m, 1000 * MS);
		expect_part(LONE, LONE, 1);
		machine_end(&m);
	}
}

static void test_weight_is_the_latest(void **state)
{
	init(&gp_policy_fair);
	add_all();
	machine_add_be(&m, LONE, 100, 0);
	spec(3, be_class(300, 0), PARTY);
	machine_run(&m, 500 * MS);
	forget();
	machine_run(&m, 20000 * MS);
	expect_part(1, MEMBERS, 0.75);
	machine_end(&m);
}

static void test_out_of_it_and_back(void **state)
{
	init(&gp_policy_fair);
	add_all();
	machine_add_be(&m, LONE, 100, 0);
	machine_run(&m, 2000 * MS);
	/* The first brought the account. */
	spec(1, be_class(100, 0), 0);
	forget();
	machine_run(&m, 20000 * MS);
	expect_part(1, 1, 1.0 / 3);
	expect_part(2, MEMBERS, 1.0 / 3);
	spec(1, be_class(100, 0), PARTY);
	forget();
	machine_run(&m, 20000 * MS);
	expect_part(1, MEMBERS, 0.5);
	/* As another class it has no account in it, and its weight does not count. */
	spec(3, be_class(300, 0), PARTY);
	spec(2, (struct gp_class_request){ .cls = { GP_CLASS_LC, 0 } }, PARTY);
	machine_tell(&m, GP_EV_IDLE, 2);
	forget();
	machine_run(&m, 20000 * MS);
	m.ran_ns[2] = 0;
	expect_part(1, MEMBERS, 0.75);
	machine_end(&m);
}

static void test_one_cap(void **state)
{
	init(&gp_policy_credit);
	for (uint32_t i = 1; i <= MEMBERS; i++)
		add(i, 100, 20);
	machine_add_be(&m, LONE, 100, 0);
	machine_run(&m, 2000 * MS);
	forget();
	machine_run(&m, 20000 * MS);
	expect_part(1, MEMBERS, 0.2);
	machine_end(&m);
}

static void test_policy_changes(void **state)
{
	init(&gp_policy_fair);
	add_all();
	machine_add_be(&m, LONE, 100, 0);
	for (size_t i = 0; gp_be_policies[i]; i++) {
		gp_sched_set_policy(m.d.sched, gp_be_policies[i], NULL);
		machine_tell(&m, GP_EV_TIMER, 0);
		machine_run(&m, 500 * MS);
		forget();
		machine_run(&m, 10000 * MS);
		expect_part(1, MEMBERS, 0.5);
	}
	machine_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share_of_one),
		cmocka_unit_test(test_one_turn_in_a_round),
		cmocka_unit_test(test_idle_members_cost_nothing),
		cmocka_unit_test(test_members_come_and_go),
		cmocka_unit_test(test_weight_is_the_latest),
		cmocka_unit_test(test_out_of_it_and_back),
		cmocka_unit_test(test_one_cap),
		cmocka_unit_test(test_policy_changes),
	};

	return gp_run_tests(tests);
}
