// SPDX-License-Identifier: Apache-2.0
/*
 * The bounds on waiting of docs/sched.md, where tenants join, leave and pause. First the
 * cases that once broke them, then an hour of random pauses for each policy and number of
 * tenants.
 */
#include <stdio.h>

#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define SEED 11u
#define QUANTUM_NS (50 * MS)
#define OFF_NS (485 * US)
#define ON_NS (300 * US)
/* A suspend may wait for the one of a tenant that has just joined. */
#define SWITCH_NS (2 * OFF_NS + ON_NS)
#define TURN_NS (QUANTUM_NS + SWITCH_NS)
/* ThreadSanitizer has nothing to find here, and needs long for an hour. */
#ifdef __SANITIZE_THREAD__
#define SECONDS 360u
#else
#define SECONDS 3600u
#endif

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd_state >> 33) % below;
}

static void start(struct machine *m, const struct gp_be_policy *policy)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.quantum_ns = QUANTUM_NS,
		.be_policy = policy,
	};

	machine_init(m, &config);
	m->off_ns = OFF_NS;
	m->on_ns = ON_NS;
}

/* Turns of others while a tenant of weight @own waits for @n others of @weight. */
static uint64_t turns_to_wait(const struct gp_be_policy *policy, uint32_t own,
			      const uint32_t *weight, uint32_t n)
{
	uint64_t sum = own, turns = 0;

	for (uint32_t j = 0; j < n; j++) {
		sum += weight[j];
		turns += (weight[j] + own - 1) / own + 1;
	}
	if (policy == &gp_policy_rr)
		return n;
	if (policy == &gp_policy_credit)
		return (sum + own - 1) / own + n;
	return turns;
}

/* The longest wait of @i, the present one too. */
static uint64_t longest_wait_ns(const struct machine *m, uint32_t i)
{
	uint64_t now_ns = m->on[i] ? 0 : m->d.now_ns - m->off_since_ns[i];

	return now_ns > m->longest_off_ns[i] ? now_ns : m->longest_off_ns[i];
}

/* Its process ends. */
static void leaves(struct machine *m, uint32_t i)
{
	machine_tell(m, GP_EV_TENANT_LEAVE, i);
	m->there[i] = m->on[i] = m->runs[i] = m->is_short[i] = false;
	for (size_t k = 0; k < m->queued; k++)
		if (m->queue[k].what.group == i)
			m->queue[k].what.group = 0;
	/* It may be restored already, and unknown. */
	machine_ev(m, (struct gp_event){ .type = GP_EV_GROUP_GONE, .group.id = i });
}

/* ---- time alone --------------------------------------------------------------- */

static const struct gp_be_policy *const each[] = { &gp_policy_fair, &gp_policy_credit,
						   &gp_policy_rr };
static const uint32_t weights[][2] = { { 100, 100 }, { 100, 900 }, { 900, 100 } };

/* From now on 1 and 2 have work: each waits within its bound, and has its share at once. */
static void both_get_turns(struct machine *m, const struct gp_be_policy *policy,
			   const uint32_t *weight)
{
	const uint64_t total_ns = 20000 * MS;
	const uint64_t sum = weight[0] + weight[1];

	memset(m->longest_off_ns, 0, sizeof(m->longest_off_ns));
	memset(m->ran_ns, 0, sizeof(m->ran_ns));
	m->off_since_ns[1] = m->off_since_ns[2] = m->d.now_ns;
	machine_run(m, total_ns);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t turns = turns_to_wait(policy, weight[i], &weight[1 - i], 1);
		uint64_t due_ns = total_ns / sum * weight[i];

		assert_true(m->longest_off_ns[i + 1] > 0);
		assert_true(longest_wait_ns(m, i + 1) <= turns * TURN_NS + SWITCH_NS);
		if (policy != &gp_policy_rr)
			assert_in_range(m->ran_ns[i + 1], due_ns - due_ns / 50 - 2 * TURN_NS,
					due_ns + due_ns / 50 + 2 * TURN_NS);
	}
}

/* One that had the device alone owes nothing to a tenant that was not there. */
static void test_joins_one_alone(void **state)
{
	for (size_t p = 0; p < 3 * 3; p++) {
		const uint32_t *weight = weights[p / 3];
		static struct machine m;

		start(&m, each[p % 3]);
		machine_add_be(&m, 1, weight[0], 0);
		machine_run(&m, 60000 * MS);
		machine_add_be(&m, 2, weight[1], 0);
		both_get_turns(&m, each[p % 3], weight);
		machine_end(&m);
	}
}

/* The same where the other one was there, and idle. */
static void test_wakes_beside_one_alone(void **state)
{
	for (size_t p = 0; p < 3 * 3; p++) {
		const uint32_t *weight = weights[p / 3];
		static struct machine m;

		start(&m, each[p % 3]);
		machine_add_be(&m, 1, weight[0], 0);
		machine_add_be(&m, 2, weight[1], 0);
		machine_run(&m, 1000 * MS);
		machine_tell(&m, GP_EV_IDLE, 2);
		machine_run(&m, 60000 * MS);
		machine_tell(&m, GP_EV_BUSY, 2);
		both_get_turns(&m, each[p % 3], weight);
		machine_end(&m);
	}
}

/* 1 alone, then 2 alone, then both. */
static void test_one_alone_then_the_other(void **state)
{
	for (size_t p = 0; p < 3 * 3; p++) {
		const uint32_t *weight = weights[p / 3];
		static struct machine m;

		start(&m, each[p % 3]);
		machine_add_be(&m, 1, weight[0], 0);
		machine_add_be(&m, 2, weight[1], 0);
		machine_tell(&m, GP_EV_IDLE, 2);
		machine_run(&m, 60000 * MS);
		machine_tell(&m, GP_EV_IDLE, 1);
		machine_tell(&m, GP_EV_BUSY, 2);
		machine_run(&m, 10 * MS);
		machine_tell(&m, GP_EV_BUSY, 1);
		both_get_turns(&m, each[p % 3], weight);
		machine_end(&m);
	}
}

/* 1 leaves for good, with debt, while 2 and 3 wait. Nobody inherits its account. */
static void test_leaver_takes_its_account_along(void **state)
{
	for (size_t p = 0; p < 3; p++) {
		static const uint32_t weight[] = { 200, 100, 100 };
		static struct machine m;

		start(&m, each[p]);
		for (uint32_t i = 0; i < 3; i++)
			machine_add_be(&m, i + 1, weight[i], 0);
		machine_run(&m, 60000 * MS);
		machine_tell(&m, GP_EV_TENANT_LEAVE, 1);
		m.idle[1] = true;
		machine_finish(&m);
		memset(m.longest_off_ns, 0, sizeof(m.longest_off_ns));
		memset(m.ran_ns, 0, sizeof(m.ran_ns));
		machine_run(&m, 10000 * MS);
		for (uint32_t i = 2; i <= 3; i++) {
			uint64_t turns = turns_to_wait(each[p], 100, weight + 1, 1);

			assert_in_range(m.ran_ns[i], 4800 * MS, 5200 * MS);
			assert_true(longest_wait_ns(&m, i) <= turns * TURN_NS + SWITCH_NS);
		}
		machine_end(&m);
	}
}

#define LIGHT 20u
#define HEAVY 100u
#define OTHERS 20u

/* A light tenant, 1, and heavier others, under credit. */
static void start_light(struct machine *m)
{
	start(m, &gp_policy_credit);
	machine_add_be(m, 1, LIGHT, 0);
	for (uint32_t i = 2; i <= 1 + OTHERS; i++)
		machine_add_be(m, i, HEAVY, 0);
	machine_run(m, 2000 * MS);
	memset(m->longest_off_ns, 0, sizeof(m->longest_off_ns));
}

/* The light one waits within its bound. Debts of others that are forgiven bring it a bit more. */
static void check_light(const struct machine *m)
{
	uint64_t ran_ns = 0, due_ns, bound_ns;
	uint32_t weight[OTHERS];

	for (uint32_t i = 0; i < OTHERS; i++)
		weight[i] = HEAVY;
	for (uint32_t i = 1; i <= 1 + OTHERS; i++)
		ran_ns += m->ran_ns[i];
	due_ns = ran_ns * LIGHT / (LIGHT + OTHERS * HEAVY);
	assert_in_range(m->ran_ns[1], due_ns - due_ns / 10, due_ns + due_ns / 4);
	assert_true(m->longest_off_ns[1] > TURN_NS);
	/* One of them may have left, and its successor have come, in a turn of the other. */
	bound_ns =
		turns_to_wait(&gp_policy_credit, LIGHT, weight, OTHERS) * (TURN_NS + 2 * SWITCH_NS);
	assert_true(longest_wait_ns(m, 1) <= bound_ns);
}

/* Each heavy tenant leaves and comes again: after its turn, or (@within) in the middle of it. */
static void run_leavers(uint64_t step_ns, bool within)
{
	static struct machine m;

	start_light(&m);
	for (int i = 0; i < 2000; i++) {
		uint32_t has = machine_resident(&m);

		machine_run(&m, step_ns);
		if (has < 2 || (machine_resident(&m) == has) != within)
			continue;
		leaves(&m, has);
		machine_add_be(&m, has, HEAVY, 0);
	}
	check_light(&m);
	machine_end(&m);
}

/*
 * Each of many tenants has one turn and leaves in debt. A light one in debt waits for its
 * bound, not for the end of them.
 */
static void test_debts_that_leave_are_not_inherited(void **state)
{
	run_leavers(TURN_NS, false);
}

/* They leave in the middle of a turn: what they used until then counts. */
static void test_use_of_a_leaver_counts(void **state)
{
	run_leavers(QUANTUM_NS * 3 / 4, true);
}

/* They pause after each turn, until their debt is forgiven: the others do not pay for it. */
static void test_forgiven_debts_are_not_inherited(void **state)
{
	static struct machine m;

	start_light(&m);
	for (int i = 0; i < 2000; i++) {
		uint32_t had = machine_resident(&m);

		machine_run(&m, TURN_NS);
		for (uint32_t t = 2; t <= 1 + OTHERS; t++)
			if (m.idle[t] && t != had)
				machine_tell(&m, GP_EV_BUSY, t);
		if (had >= 2 && machine_resident(&m) != had && !m.idle[had])
			machine_tell(&m, GP_EV_IDLE, had);
	}
	check_light(&m);
	machine_end(&m);
}

/* LC has nine tenths of its residency. A refund to one alone is no lead over others. */
static void test_refunds_alone_are_no_lead(void **state)
{
	for (size_t p = 0; p < 3; p++) {
		static struct machine m;

		start(&m, each[p]);
		machine_add_be(&m, 1, 100, 0);
		machine_run(&m, 60000 * MS);
		machine_tell(&m, GP_EV_TIMER, 0);
		machine_usage(&m, 1, 6000 * MS, 54000 * MS);
		machine_add_be(&m, 2, 100, 0);
		memset(m.longest_off_ns, 0, sizeof(m.longest_off_ns));
		m.off_since_ns[2] = m.d.now_ns;
		machine_run(&m, 1000 * MS);
		assert_true(longest_wait_ns(&m, 1) <= 3 * TURN_NS);
		/* A late report may cover a lead. */
		assert_true(m.longest_off_ns[2] > 0);
		assert_true(longest_wait_ns(&m, 2) <= 3 * TURN_NS + 100 * MS);
		machine_end(&m);
	}
}

/* A refund leads below the minimum. A tenant that comes then starts at the minimum. */
static void test_the_minimum_never_falls(void **state)
{
	static struct machine m;

	start(&m, &gp_policy_fair);
	machine_add_be(&m, 1, 100, 0);
	machine_run(&m, 1000 * MS);
	machine_tell(&m, GP_EV_TIMER, 0);
	machine_usage(&m, 1, 920 * MS, 80 * MS);
	assert_int_equal(drive_stat(&m.d, 1).vruntime_ns, 920 * MS);
	machine_tell(&m, GP_EV_TIMER, 0);
	machine_add_be(&m, 2, 100, 0);
	assert_in_range(drive_stat(&m.d, 2).vruntime_ns, 1000 * MS, 1000 * MS + SWITCH_NS);
	machine_end(&m);
}

/* ---- an hour ------------------------------------------------------------------- */

struct tenant {
	uint32_t weight, number;
	bool busy;
	uint64_t acts_ns; /* when it goes to work, pauses, leaves or joins */
	/* Its present wait. */
	bool waits;
	uint64_t since_ns;
	uint32_t met[M_TENANTS + 1];  /* others with work meanwhile: their heaviest weight */
	uint32_t last[M_TENANTS + 1]; /* and the last of them at that place, by its number */
	uint64_t turns;		      /* of fair, for each of them */
	uint64_t pauses;	      /* turns meanwhile that ended early */
};

struct hour {
	struct machine m;
	const struct gp_be_policy *policy;
	uint32_t n;
	struct tenant t[M_TENANTS + 1];
	uint32_t numbers;
	uint64_t waits;
	double worst; /* wait / bound */
};

static uint64_t bound_ns(const struct hour *h, uint32_t i)
{
	const struct tenant *t = &h->t[i];
	uint32_t weight[M_TENANTS], n = 0;

	for (uint32_t j = 1; j <= h->n; j++)
		if (t->met[j])
			weight[n++] = t->met[j];
	return (h->policy == &gp_policy_fair ? t->turns :
					       turns_to_wait(h->policy, t->weight, weight, n)) *
		       TURN_NS +
	       (1 + t->pauses) * SWITCH_NS;
}

/* @j has work while @t waits. One that left and came back is another one. */
static void meet(struct tenant *t, uint32_t j, const struct tenant *u)
{
	if (!u->busy || t == u)
		return;
	if (t->last[j] != u->number)
		t->turns += turns_to_wait(&gp_policy_fair, t->weight, &u->weight, 1);
	t->last[j] = u->number;
	t->met[j] = u->weight > t->met[j] ? u->weight : t->met[j];
}

/* @i runs, pauses or leaves. */
static void wait_over(struct hour *h, uint32_t i)
{
	struct tenant *t = &h->t[i];
	double part;

	if (!t->waits)
		return;
	part = (double)(h->m.d.now_ns - t->since_ns) / (double)bound_ns(h, i);
	t->waits = false;
	h->waits++;
	if (part > h->worst)
		h->worst = part;
	if (part > 1)
		fail_msg("%u of %u waited %.3f s, not %.3f", i, h->n,
			 (double)(h->m.d.now_ns - t->since_ns) / 1e9, (double)bound_ns(h, i) / 1e9);
}

static void look(struct machine *m)
{
	uint32_t resident = gp_sched_resident(m->d.sched);
	struct hour *h = m->arg;

	for (uint32_t i = 1; i <= h->n; i++) {
		struct tenant *t = &h->t[i];

		if (!t->busy || (m->on[i] && resident == i)) {
			wait_over(h, i);
			continue;
		}
		if (!t->waits) {
			memset(t->met, 0, sizeof(t->met));
			memset(t->last, 0, sizeof(t->last));
			t->turns = 0;
			t->waits = true;
			t->since_ns = m->d.now_ns;
			/* An idle resident has to be suspended, too. */
			t->pauses = 1;
		}
		for (uint32_t j = 1; j <= h->n; j++)
			meet(t, j, &h->t[j]);
	}
}

static void pause_of(struct hour *h, uint32_t i)
{
	/* Its suspend is charged to nobody. */
	bool early = h->m.runs[i];

	for (uint32_t j = 1; j <= h->n && early; j++)
		h->t[j].pauses++;
}

/* From microseconds to a minute. */
static uint64_t some_time(void)
{
	static const uint64_t scale[] = { 10 * US, MS, 20 * MS, 200 * MS, 2000 * MS, 60000 * MS };

	return 1 + scale[rnd(6)] / 1000 * rnd(1000);
}

static void acts(struct hour *h, uint32_t i)
{
	struct tenant *t = &h->t[i];

	t->acts_ns = h->m.d.now_ns + some_time();
	if (!h->m.there[i]) {
		t->weight = 1 + rnd(rnd(2) ? 1000 : 100);
		t->number = ++h->numbers;
		t->busy = true;
		h->m.idle[i] = false;
		machine_add_be(&h->m, i, t->weight, 0);
	} else if (!rnd(16)) {
		pause_of(h, i);
		t->busy = false;
		leaves(&h->m, i);
	} else if (t->busy) {
		pause_of(h, i);
		t->busy = false;
		machine_tell(&h->m, GP_EV_IDLE, i);
	} else {
		t->busy = true;
		machine_tell(&h->m, GP_EV_BUSY, i);
	}
}

static void hour_of(const struct gp_be_policy *policy, uint32_t n)
{
	static struct hour h;
	uint64_t end_ns;

	memset(&h, 0, sizeof(h));
	h.policy = policy;
	h.n = n;
	start(&h.m, policy);
	h.m.arg = &h;
	h.m.look = look;
	end_ns = h.m.d.now_ns + SECONDS * 1000 * MS;
	for (uint32_t i = 1; i <= n; i++)
		h.t[i].acts_ns = h.m.d.now_ns + some_time();
	while (h.m.d.now_ns < end_ns) {
		uint32_t next = 1;

		for (uint32_t i = 2; i <= n; i++)
			if (h.t[i].acts_ns < h.t[next].acts_ns)
				next = i;
		if (h.t[next].acts_ns > h.m.d.now_ns)
			machine_run(&h.m, h.t[next].acts_ns - h.m.d.now_ns);
		acts(&h, next);
	}
	for (uint32_t i = 1; i <= n; i++)
		wait_over(&h, i);
	printf("%s, %u tenants: %llu waits, the worst %.3f of its bound\n", policy->name, n,
	       (unsigned long long)h.waits, h.worst);
	assert_true(h.waits > SECONDS / 10);
	assert_true(h.worst > 0.1);
	machine_end(&h.m);
}

static void test_an_hour_of_pauses(void **state)
{
	static const uint32_t many[] = { 2, 4, 8, 64 };

	rnd_state = SEED;
	for (size_t i = 0; i < 4 * 3; i++)
		hour_of(each[i % 3], many[i / 3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joins_one_alone),
		cmocka_unit_test(test_wakes_beside_one_alone),
		cmocka_unit_test(test_one_alone_then_the_other),
		cmocka_unit_test(test_leaver_takes_its_account_along),
		cmocka_unit_test(test_debts_that_leave_are_not_inherited),
		cmocka_unit_test(test_use_of_a_leaver_counts),
		cmocka_unit_test(test_forgiven_debts_are_not_inherited),
		cmocka_unit_test(test_refunds_alone_are_no_lead),
		cmocka_unit_test(test_the_minimum_never_falls),
		cmocka_unit_test(test_an_hour_of_pauses),
	};

	printf("seed %u\n", SEED);
	return gp_run_tests(tests);
}
