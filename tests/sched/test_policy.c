// SPDX-License-Identifier: Apache-2.0
/*
 * Policies among BE tenants, each against a model of its own. rr has a queue, and credit has
 * accounts in long double. For caps, the time in any stretch counts.
 */
#include <math.h>
#include <stdio.h>

#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define SEED 7u
#define QUANTUM_NS (50 * MS)

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd_state >> 33) % below;
}

static struct gp_sched_config config_of(const struct gp_be_policy *policy)
{
	return (struct gp_sched_config){
		.rotate = 1,
		.slice_preempts = 1,
		.quantum_ns = QUANTUM_NS,
		.be_policy = policy,
	};
}

/* ---- rr: a queue -------------------------------------------------------------- */

#define RR 7

struct queue_model {
	uint32_t waiting[RR], n; /* in order of arrival */
	uint32_t runs;		 /* 0: none */
	uint64_t since_ns;
	uint64_t came_ns; /* arrival of the last one */
};

static void queue_next(struct queue_model *q, uint64_t now_ns)
{
	q->runs = q->n ? q->waiting[0] : 0;
	q->since_ns = now_ns;
	if (q->n)
		memmove(q->waiting, q->waiting + 1, --q->n * sizeof(q->waiting[0]));
}

static void queue_busy(struct queue_model *q, uint32_t id, uint64_t now_ns)
{
	if (id == q->runs)
		return;
	q->waiting[q->n++] = id;
	q->came_ns = now_ns;
	if (!q->runs)
		queue_next(q, now_ns);
}

static void queue_idle(struct queue_model *q, uint32_t id, uint64_t now_ns)
{
	uint32_t kept = 0;

	/* The last one stays at its place, without work. */
	if (id == q->runs && q->n)
		queue_next(q, now_ns);
	for (uint32_t i = 0; i < q->n; i++)
		if (q->waiting[i] != id)
			q->waiting[kept++] = q->waiting[i];
	q->n = kept;
}

/* Turns that end by @now_ns; @busy: tenants with work. */
static void queue_pass(struct queue_model *q, uint64_t now_ns, const bool *busy)
{
	while (q->runs && q->n && q->since_ns + QUANTUM_NS <= now_ns) {
		uint64_t at = q->since_ns + QUANTUM_NS;

		/* Alone, it ran beyond its turn. */
		if (at < q->came_ns)
			at = q->came_ns;
		if (busy[q->runs])
			q->waiting[q->n++] = q->runs;
		queue_next(q, at);
	}
}

static void test_rr_is_a_queue(void **state)
{
	const struct gp_sched_config config = config_of(&gp_policy_rr);
	bool busy[RR + 1] = { false };
	struct queue_model q = { .n = 0 };
	static struct machine m;

	rnd_state = SEED;
	machine_init(&m, &config);
	for (uint32_t i = 1; i <= RR; i++) {
		machine_add_be(&m, i, 1 + rnd(500), 0);
		queue_busy(&q, i, m.d.now_ns);
		busy[i] = true;
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t id = 1 + rnd(RR);

		/* A step is never exactly at the end of a turn, where both results are right. */
		machine_run(&m, (1 + rnd(20000)) * 1000ull + 1 + rnd(900));
		queue_pass(&q, m.d.now_ns, busy);
		assert_int_equal(machine_resident(&m), q.runs);
		/* An idle resident without waiters keeps its turn's clock. */
		if (busy[id] && !(id == q.runs && !q.n)) {
			machine_tell(&m, GP_EV_IDLE, id);
			queue_idle(&q, id, m.d.now_ns);
			busy[id] = false;
		} else if (!busy[id]) {
			machine_tell(&m, GP_EV_BUSY, id);
			queue_busy(&q, id, m.d.now_ns);
			busy[id] = true;
		}
		machine_finish(&m);
		queue_pass(&q, m.d.now_ns, busy);
		assert_int_equal(machine_resident(&m), q.runs);
	}
	machine_end(&m);
}

/* ---- credit: accounts ------------------------------------------------------------ */

#define CR 9

struct accounts {
	uint32_t weight[CR + 1], cap[CR + 1];
	long double owed[CR + 1];   /* ns */
	long double bucket[CR + 1]; /* ns */
	uint64_t queue_no[CR + 1], numbers;
	uint64_t seen_ns, turn_since_ns;
	uint32_t was;
	uint64_t checked, close_calls, turns;
};

static long double turn_of(const struct accounts *a, uint32_t i)
{
	long double turn = QUANTUM_NS;

	return a->cap[i] ? fminl(turn, turn * CR * a->cap[i] / 100) : turn;
}

/* Fills glasses until @pot is used up, or all glasses with a rim are full. */
static void pour(struct accounts *a, long double pot)
{
	long double low = 0, high = pot * 2 + QUANTUM_NS * 1000.0L, given[CR + 1];

	for (int k = 0; k < 200; k++) {
		long double mid = (low + high) / 2, sum = 0;

		for (uint32_t i = 1; i <= CR; i++) {
			long double room = a->cap[i] ? fmaxl(turn_of(a, i) - a->owed[i], 0) :
						       INFINITY;

			given[i] = fminl(mid * a->weight[i] / 1000, room);
			sum += given[i];
		}
		if (sum > pot)
			high = mid;
		else
			low = mid;
	}
	for (uint32_t i = 1; i <= CR; i++)
		a->owed[i] += given[i];
}

static bool may_run(const struct accounts *a, uint32_t i)
{
	return !a->cap[i] || a->bucket[i] + 0.001L >= turn_of(a, i);
}

/*
 * If all that may run are in debt, those with credit lend them some, by weight, until one owes
 * nothing.
 */
static void lend(struct accounts *a)
{
	long double level = INFINITY, lent = 0, rich = 0;

	for (uint32_t i = 1; i <= CR; i++)
		if (may_run(a, i))
			level = fminl(level, ceill(fmaxl(-a->owed[i], 0) / a->weight[i]));
	for (uint32_t i = 1; i <= CR; i++) {
		long double part = fminl(level * a->weight[i], -a->owed[i]);

		rich += fmaxl(a->owed[i], 0);
		if (!may_run(a, i) || level <= 0 || isinf(level))
			continue;
		a->owed[i] += part;
		lent += part;
	}
	for (uint32_t i = 1; i <= CR && lent > 0; i++)
		if (a->owed[i] > 0)
			a->owed[i] -= a->owed[i] * lent / rich;
}

/* @i goes before @j by the accounts; @sure: by more than rounding. */
static bool goes_first(const struct accounts *a, uint32_t i, uint32_t j, bool *sure)
{
	bool i_owes = a->owed[i] < 0, j_owes = a->owed[j] < 0;

	*sure = fabsl(a->owed[i]) > 100 && fabsl(a->owed[j]) > 100;
	if (i_owes != j_owes)
		return j_owes;
	/* All came at one moment, so any tenant without a turn yet may be next. */
	if (a->queue_no[i] <= CR && a->queue_no[j] <= CR)
		*sure = false;
	return a->queue_no[i] < a->queue_no[j];
}

static void accounts_pass(struct machine *m, struct accounts *a)
{
	long double passed = m->d.now_ns - a->seen_ns;

	a->seen_ns = m->d.now_ns;
	for (uint32_t i = 1; i <= CR; i++) {
		long double full = 4.0L * CR * QUANTUM_NS * a->cap[i] / 100;

		a->bucket[i] = fminl(a->bucket[i] + passed * a->cap[i] / 100, full);
	}
	if (a->was) {
		a->owed[a->was] -= passed;
		a->bucket[a->was] -= passed;
	}
}

/* Is the resident the tenant that the accounts name? */
static void accounts_look(struct machine *m)
{
	uint32_t now = machine_resident(m);
	struct accounts *a = m->arg;
	long double sum = 0;

	accounts_pass(m, a);
	/* The next turn may be the same tenant's. */
	if (now == a->was && (!now || m->d.now_ns - a->turn_since_ns < (uint64_t)turn_of(a, now)))
		return;
	a->turns++;
	a->turn_since_ns = m->d.now_ns;
	for (uint32_t i = 1; i <= CR; i++)
		sum += a->owed[i];
	pour(a, -sum);
	lend(a);
	if (a->was)
		a->queue_no[a->was] = ++a->numbers;
	for (uint32_t j = 1; j <= CR && now; j++) {
		bool sure, before;

		if (j == now || (a->cap[j] && a->bucket[j] < turn_of(a, j) + 2000))
			continue;
		before = goes_first(a, j, now, &sure);
		a->checked += sure;
		a->close_calls += !sure;
		if (sure && before)
			fail_msg("tenant %u runs, not %u", now, j);
	}
	for (uint32_t j = 1; j <= CR; j++) {
		bool full = !a->cap[j] || a->bucket[j] > turn_of(a, j) + 2000;

		if (!now && full)
			fail_msg("nobody runs, and %u could", j);
		if (j == now && a->cap[j] && a->bucket[j] < turn_of(a, j) - 2000)
			fail_msg("%u runs beyond its cap", j);
	}
	a->was = now;
}

static void accounts_start(struct machine *m, struct accounts *a, bool caps)
{
	const struct gp_sched_config config = config_of(&gp_policy_credit);

	memset(a, 0, sizeof(*a));
	machine_init(m, &config);
	for (uint32_t i = 1; i <= CR; i++) {
		a->weight[i] = 1 + rnd(1000);
		a->cap[i] = caps && rnd(4) ? 1 + rnd(40) : 0;
	}
	for (uint32_t i = 1; i <= CR; i++) {
		machine_add_be(m, i, a->weight[i], a->cap[i]);
		a->queue_no[i] = ++a->numbers;
	}
	a->was = machine_resident(m);
	a->seen_ns = m->d.now_ns;
	a->turn_since_ns = m->d.now_ns;
	m->arg = a;
	m->look = accounts_look;
}

static void test_credit_keeps_accounts(void **state)
{
	static struct machine m;
	uint64_t checked = 0, close_calls = 0;
	struct accounts a;

	rnd_state = SEED;
	for (int round = 0; round < 60; round++) {
		accounts_start(&m, &a, round % 2);
		machine_run(&m, 60000 * MS);
		assert_true(a.turns > 500);
		/* Where all are capped, all may owe nothing for a while. */
		assert_true(a.checked > 4 * a.close_calls);
		checked += a.checked;
		close_calls += a.close_calls;
		machine_end(&m);
	}
	assert_true(checked > 50 * close_calls);
}

/* Without caps, each gets its weight's share of a long time, to two turns. */
static void test_credit_shares(void **state)
{
	const struct gp_sched_config config = config_of(&gp_policy_credit);
	static const uint32_t weight[] = { 0, 100, 200, 400, 50 };
	static struct machine m;

	machine_init(&m, &config);
	for (uint32_t i = 1; i <= 4; i++)
		machine_add_be(&m, i, weight[i], 0);
	machine_run(&m, 100000 * MS);
	for (uint32_t i = 1; i <= 4; i++) {
		uint64_t share = 100000 * MS * weight[i] / 750;

		assert_in_range(m.ran_ns[i], share - 2 * QUANTUM_NS, share + 2 * QUANTUM_NS);
	}
	machine_end(&m);
}

/* As much as the absence lasted; never beyond 0. */
static void test_absence_erases_credit_and_debt(void **state)
{
	static const int64_t had_ms[] = { 50, 50, -50, -50, 0 }, has_ms[] = { 30, 0, -30, 0, 0 };
	static const uint64_t away_ms[] = { 20, 60, 20, 60, 20 };

	for (size_t i = 0; i < 5; i++) {
		struct gp_be_time at = { .now_ns = 1000 * MS };
		struct gp_be_entity e = { .credit_ns = had_ms[i] * (int64_t)MS };

		e.left_ns = at.now_ns - away_ms[i] * MS;
		gp_policy_credit.enter(&e, &at);
		assert_true(e.credit_ns == has_ms[i] * (int64_t)MS);
	}
}

/* For a minute, tenant 1 is repeatedly away for 1 us, but never at a turn's end. */
static void start_pauses(struct machine *m, const struct gp_sched_config *config)
{
	machine_init(m, config);
	machine_add_be(m, 1, 10, 0);
	machine_add_be(m, 2, 100, 0);
	machine_add_be(m, 3, 100, 0);
	machine_run(m, 3 * MS);
	for (int i = 0; i < 6000; i++) {
		machine_run(m, 10 * MS - US);
		if (machine_resident(m) != 1)
			machine_tell(m, GP_EV_IDLE, 1);
		machine_run(m, US);
		machine_tell(m, GP_EV_BUSY, 1);
	}
}

/* A pause neither clears a debt nor earns credit. */
static void test_credit_pauses(void **state)
{
	const struct gp_sched_config config = config_of(&gp_policy_credit);
	static struct machine m;

	start_pauses(&m, &config);
	assert_in_range(m.ran_ns[1], 60000 * MS * 10 / 210 - 200 * MS,
			60000 * MS * 10 / 210 + 200 * MS);
	/* After any absence it gets no more than its share. */
	machine_tell(&m, GP_EV_IDLE, 1);
	machine_run(&m, 60000 * MS);
	machine_tell(&m, GP_EV_BUSY, 1);
	memset(m.ran_ns, 0, sizeof(m.ran_ns));
	machine_run(&m, 21000 * MS);
	assert_in_range(m.ran_ns[1], 900 * MS, 1100 * MS);
	machine_end(&m);
}

/* Nor does it change an account of fair. */
static void test_fair_pauses(void **state)
{
	const struct gp_sched_config config = config_of(&gp_policy_fair);
	static struct machine m;

	start_pauses(&m, &config);
	assert_in_range(m.ran_ns[1], 60000 * MS * 10 / 210 - 200 * MS,
			60000 * MS * 10 / 210 + 200 * MS);
	machine_end(&m);
}

/* ---- caps: time in any stretch --------------------------------------------------- */

#define CAP_SAMPLES 16384

struct cap_watch {
	uint32_t id, cap;
	uint64_t at_ns[CAP_SAMPLES], ran_ns[CAP_SAMPLES], from_ns;
	size_t n;
};

static void cap_look(struct machine *m)
{
	struct cap_watch *w = m->arg;

	assert_true(w->n < CAP_SAMPLES);
	w->at_ns[w->n] = m->d.now_ns;
	w->ran_ns[w->n++] = m->ran_ns[w->id];
}

/* docs/sched.md: at most the cap, and four saved rounds of it. */
static void cap_check(const struct cap_watch *w, uint64_t round, uint64_t over_ns)
{
	uint64_t saved = 4 * round * QUANTUM_NS;

	for (size_t i = 0; i < w->n; i++) {
		assert_true(w->ran_ns[i] <= (w->at_ns[i] - w->from_ns) * w->cap / 100 + over_ns);
		for (size_t j = 0; j < i; j++)
			assert_true(w->ran_ns[i] - w->ran_ns[j] <=
				    (w->at_ns[i] - w->at_ns[j] + saved) * w->cap / 100 + over_ns);
	}
}

/* Alone on the device: its cap to a turn, and the device idle otherwise. */
static void test_cap_of_one_alone(void **state)
{
	static const uint32_t caps[] = { 1, 7, 20, 33, 50, 90, 99 };
	const struct gp_sched_config config = config_of(&gp_policy_credit);

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		static struct cap_watch w;
		static struct machine m;
		uint64_t want = 30000 * MS * caps[i] / 100;

		memset(&w, 0, sizeof(w));
		machine_init(&m, &config);
		m.off_ns = 485 * US;
		m.on_ns = 300 * US;
		w.id = 1;
		w.cap = caps[i];
		w.from_ns = m.d.now_ns;
		machine_add_be(&m, 1, 100, caps[i]);
		m.arg = &w;
		m.look = cap_look;
		machine_run(&m, 30000 * MS);
		cap_check(&w, 5, m.off_ns + m.on_ns);
		/* Switches take from its own time. */
		assert_in_range(m.ran_ns[1], want - want / 50 - QUANTUM_NS, want + m.off_ns);
		machine_tell(&m, GP_EV_IDLE, 1);
		machine_run(&m, 10000 * MS);
		machine_tell(&m, GP_EV_BUSY, 1);
		machine_run(&m, 3000 * MS);
		cap_check(&w, 5, m.off_ns + m.on_ns);
		machine_end(&m);
	}
}

/* Beside others; one that pauses, and suspends that fail at first. */
static void test_caps_hold_beside_others(void **state)
{
	const struct gp_sched_config config = config_of(&gp_policy_credit);

	rnd_state = SEED;
	for (int round = 0; round < 40; round++) {
		uint32_t fails = rnd(3);
		static struct cap_watch w;
		static struct machine m;

		memset(&w, 0, sizeof(w));
		machine_init(&m, &config);
		w.id = 1;
		w.cap = 1 + rnd(60);
		w.from_ns = m.d.now_ns;
		m.arg = &w;
		m.off_ns = 485 * US;
		m.on_ns = 300 * US;
		machine_add_be(&m, 1, 1 + rnd(300), w.cap);
		for (uint32_t i = 2; i <= 2 + rnd(4); i++)
			machine_add_be(&m, i, 1 + rnd(300), rnd(2) * rnd(80));
		m.look = cap_look;
		m.errors_left = fails;
		for (int k = 0; k < 12; k++) {
			machine_run(&m, rnd(1000) * MS);
			machine_tell(&m, GP_EV_IDLE, 1);
			machine_run(&m, rnd(400) * MS);
			machine_tell(&m, GP_EV_BUSY, 1);
		}
		/* A failed suspend leaves it running for 1 ms, then two. */
		cap_check(&w, 6, m.off_ns + m.on_ns + fails * 4 * MS);
		machine_end(&m);
	}
}

/* ---- the bounds on waiting of docs/sched.md ---------------------------------------- */

static uint64_t turns_to_wait(const struct gp_be_policy *policy, const uint32_t *weight, uint32_t n,
			      uint32_t i)
{
	uint64_t sum = 0, turns = 0, least = UINT32_MAX;

	for (uint32_t j = 1; j <= n; j++) {
		sum += weight[j];
		least = weight[j] < least ? weight[j] : least;
	}
	if (policy == &gp_policy_rr)
		return n - 1;
	if (policy == &gp_policy_credit)
		return (sum + weight[i] - 1) / weight[i] + n - 1;
	for (uint32_t j = 1; j <= n; j++)
		turns += j == i ? 0 : (weight[j] + least - 1) / least + 1;
	return turns;
}

static void test_bounds_on_waiting(void **state)
{
	static const struct gp_be_policy *const each[] = { &gp_policy_credit, &gp_policy_fair,
							   &gp_policy_rr };

	rnd_state = SEED;
	for (int round = 0; round < 90; round++) {
		const struct gp_be_policy *policy = each[round % 3];
		const struct gp_sched_config config = config_of(policy);
		uint32_t n = 2 + rnd(8), weight[12];
		static struct machine m;

		machine_init(&m, &config);
		m.off_ns = rnd(1000) * US;
		m.on_ns = rnd(1000) * US;
		for (uint32_t i = 1; i <= n; i++) {
			weight[i] = 20 + rnd(300);
			machine_add_be(&m, i, weight[i], 0);
		}
		machine_run(&m, 60000 * MS);
		for (uint32_t i = 1; i <= n; i++)
			assert_true(m.longest_off_ns[i] <=
				    turns_to_wait(policy, weight, n, i) *
						    (QUANTUM_NS + m.off_ns + m.on_ns) +
					    m.off_ns + m.on_ns);
		machine_end(&m);
	}
}

/* ---- charging ------------------------------------------------------------------ */

/* LC uses nine tenths of 1's residency, by the hardware's report. */
static void test_usage_replaces_residency(void **state)
{
	static const struct gp_be_policy *const each[] = { &gp_policy_fair, &gp_policy_credit };

	for (size_t p = 0; p < 2; p++) {
		const struct gp_sched_config config = config_of(each[p]);
		uint64_t used[3] = { 0 }, told[3] = { 0 };
		static struct machine m;

		machine_init(&m, &config);
		machine_add_be(&m, 1, 100, 0);
		machine_add_be(&m, 2, 100, 0);
		for (int i = 0; i < 20000; i++) {
			uint64_t before[3], ran;

			memcpy(before, m.ran_ns, sizeof(before));
			machine_run(&m, 10 * MS);
			for (uint32_t t = 1; t <= 2; t++) {
				ran = m.ran_ns[t] - before[t];
				used[t] += t == 1 ? ran / 10 : ran;
				machine_usage(&m, t, used[t] - told[t], ran - (used[t] - told[t]));
				told[t] = used[t];
			}
		}
		assert_in_range(used[1], used[2] - 150 * MS, used[2] + 150 * MS);
		assert_in_range(drive_stat(&m.d, 1).used_ns, used[1], used[1]);
		machine_end(&m);
	}
}

/* An unused turn earns nothing, and a late end is paid for. */
static void test_usage_of_unused_and_overrun(void **state)
{
	const struct gp_sched_config config = config_of(&gp_policy_fair);
	static struct machine m;
	uint64_t v, ran;

	machine_init(&m, &config);
	machine_add_be(&m, 1, 100, 0);
	machine_add_be(&m, 2, 100, 0);
	for (int i = 0; i < 2000; i++) {
		ran = m.ran_ns[1];
		machine_run(&m, 20 * MS);
		machine_usage(&m, 1, (m.ran_ns[1] - ran) / 20, 0);
	}
	assert_in_range(m.ran_ns[1], 20000 * MS - 100 * MS, 20000 * MS + 100 * MS);

	/* Of 20 s, 0.1 may be reported later. */
	machine_usage(&m, 2, 0, 0);
	machine_usage(&m, 2, 100 * MS, 0);
	machine_tell(&m, GP_EV_IDLE, 2);
	machine_finish(&m);
	machine_run(&m, 100 * MS);
	v = drive_stat(&m.d, 2).vruntime_ns;
	machine_usage(&m, 2, 70 * MS, 0);
	assert_int_equal(drive_stat(&m.d, 2).vruntime_ns, v + 70 * MS);
	machine_tell(&m, GP_EV_BUSY, 2);
	/* Its own use is not refunded. */
	ran = m.ran_ns[2];
	machine_run(&m, 1000 * MS);
	ran = m.ran_ns[2] - ran;
	machine_tell(&m, GP_EV_TIMER, 0);
	v = drive_stat(&m.d, 2).vruntime_ns;
	machine_usage(&m, 2, ran, ran / 2);
	assert_int_equal(drive_stat(&m.d, 2).vruntime_ns, v);
	machine_end(&m);
}

/* In all, reports are believed up to the time that passed, and 100 ms. */
static void test_usage_beyond_time_is_not_believed(void **state)
{
	static const struct gp_be_policy *const each[] = { &gp_policy_fair, &gp_policy_credit };

	for (size_t p = 0; p < 4; p++) {
		const struct gp_sched_config config = config_of(each[p % 2]);
		static struct machine m;

		machine_init(&m, &config);
		machine_add_be(&m, 1, 100, 0);
		machine_add_be(&m, 2, 100, 0);
		machine_run(&m, 500 * MS);
		/* Tenant 1 used 60 s, or was displaced for them, in half a second. */
		machine_usage(&m, 1, p < 2 ? 60000 * MS : 0, p < 2 ? 0 : 60000 * MS);
		if (p < 2)
			assert_int_equal(drive_stat(&m.d, 1).used_ns, 600 * MS);
		for (int i = 0; i < 100; i++)
			machine_usage(&m, 1, 100 * MS, 0);
		if (p < 2)
			assert_int_equal(drive_stat(&m.d, 1).used_ns, 600 * MS);
		memset(m.longest_off_ns, 0, sizeof(m.longest_off_ns));
		machine_run(&m, 3000 * MS);
		for (uint32_t i = 1; i <= 2; i++) {
			assert_true(m.longest_off_ns[i] > 0);
			assert_true(m.longest_off_ns[i] <= 700 * MS);
		}
		/* Time makes up for it. */
		if (p < 2) {
			machine_usage(&m, 1, 10000 * MS, 0);
			assert_int_equal(drive_stat(&m.d, 1).used_ns, 3600 * MS);
			machine_run(&m, 40 * MS);
			machine_usage(&m, 1, 10000 * MS, 0);
			assert_int_equal(drive_stat(&m.d, 1).used_ns, 3640 * MS);
		}
		machine_end(&m);
	}
}

/* Reports 40 ms late: the same in the long run, and no tenant pays twice. */
static void test_usage_comes_late(void **state)
{
	const struct gp_sched_config config = config_of(&gp_policy_fair);
	uint64_t used[3][4] = { { 0 } }, taken[3][4] = { { 0 } };
	static struct machine m;

	machine_init(&m, &config);
	machine_add_be(&m, 1, 100, 0);
	machine_add_be(&m, 2, 100, 0);
	for (int i = 0; i < 6000; i++) {
		uint64_t before[3];

		memcpy(before, m.ran_ns, sizeof(before));
		machine_run(&m, 10 * MS);
		for (uint32_t t = 1; t <= 2; t++) {
			uint64_t ran = m.ran_ns[t] - before[t];
			uint64_t lc = t == 1 ? ran * 3 / 4 : 0;

			machine_usage(&m, t, used[t][i % 4], taken[t][i % 4]);
			used[t][i % 4] = ran - lc;
			taken[t][i % 4] = lc;
		}
	}
	/* 60 s: 1 is resident four times as long, and both are charged 12 s. */
	assert_in_range(m.ran_ns[1], 48000 * MS - 300 * MS, 48000 * MS + 300 * MS);
	for (uint32_t t = 1; t <= 2; t++)
		assert_in_range(drive_stat(&m.d, t).vruntime_ns, 12000 * MS - 200 * MS,
				12000 * MS + 200 * MS);
	machine_end(&m);
}

/* A cap limits use: additional time in the hardware's reports counts. */
static void test_usage_counts_for_caps(void **state)
{
	const struct gp_sched_config config = config_of(&gp_policy_credit);
	static struct machine m;
	uint64_t used = 0;

	machine_init(&m, &config);
	machine_add_be(&m, 1, 100, 20);
	for (int i = 0; i < 3000; i++) {
		uint64_t ran = m.ran_ns[1];

		machine_run(&m, 10 * MS);
		ran = (m.ran_ns[1] - ran) * 5 / 4;
		used += ran;
		machine_usage(&m, 1, ran, 0);
	}
	assert_in_range(used, 5800 * MS, 6000 * MS + 15 * MS);
	machine_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rr_is_a_queue),
		cmocka_unit_test(test_credit_keeps_accounts),
		cmocka_unit_test(test_credit_shares),
		cmocka_unit_test(test_absence_erases_credit_and_debt),
		cmocka_unit_test(test_credit_pauses),
		cmocka_unit_test(test_fair_pauses),
		cmocka_unit_test(test_cap_of_one_alone),
		cmocka_unit_test(test_caps_hold_beside_others),
		cmocka_unit_test(test_bounds_on_waiting),
		cmocka_unit_test(test_usage_replaces_residency),
		cmocka_unit_test(test_usage_of_unused_and_overrun),
		cmocka_unit_test(test_usage_beyond_time_is_not_believed),
		cmocka_unit_test(test_usage_comes_late),
		cmocka_unit_test(test_usage_counts_for_caps),
	};

	printf("seed %u\n", SEED);
	return gp_run_tests(tests);
}
