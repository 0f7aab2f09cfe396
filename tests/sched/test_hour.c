// SPDX-License-Identifier: Apache-2.0
/*
 * An hour of a device's time with 64 tenants: 62 best-effort ones of mixed weights
 * under each policy, beside two of LC. One comes with hints and segments. The other has work
 * of any length, and once a minute more than fits: BE then gets the minimum.
 *
 * The core alone, over machine.h. Controls take as long as on an H200. LC with work has the
 * device by its slice. Usage is reported every 0.1 s, as in the daemon. machine.h checks that
 * no two groups are short at a time.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define SEED 5u
#define BE 62
#define LC_HINTED 63
#define LC_RANDOM 64
/* ThreadSanitizer needs two minutes of CPU for an hour, and has nothing to find here. */
#ifdef __SANITIZE_THREAD__
#define SECONDS 600u
#else
#define SECONDS 3600u
#endif
#define QUANTUM_NS (50 * MS)
#define DEFER_NS (20 * MS)
#define REPORT_NS (100 * MS)
#define OFF_NS (485 * US)
#define ON_NS (300 * US)
#define CONTROL_NS MS
#define PERIOD_NS (50 * MS)
#define MIN_PCT 5u
#define NEVER UINT64_MAX

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd_state >> 33) % below;
}

/* LC: its next action and the time of it. */
struct lc {
	uint64_t at_ns, begins_ns;
	bool at_work;
};

struct hour {
	struct machine m;
	uint32_t weight[BE + 1], cap_pct[BE + 1];
	struct lc hinted, random;
	uint64_t report_ns;

	/* Observations. */
	uint32_t resident;
	bool lc_has_it; /* since the last call */
	uint64_t looked_ns, ran_ns[BE + 1];
	uint64_t used_ns[BE + 1], displaced_ns[BE + 1], turns[BE + 1];
	uint64_t reported_used_ns[BE + 1], reported_displaced_ns[BE + 1];
	uint64_t lc_ns;		    /* LC's time on the device, */
	uint64_t be_ns;		    /* BE's time */
	int64_t lacks, lacks_most;  /* deficit of BE's minimum, in ns / 100 */
	uint64_t free_ns;	    /* time without LC on the device */
	uint64_t off_at_ns[BE + 1]; /* at its suspension, in that time; NEVER: it runs */
	uint64_t waits_ns[BE + 1];
	int64_t ahead[BE + 1], ahead_most[BE + 1]; /* lead over its cap, in ns / 100 */
};

/* ---- observations ----------------------------------------------------------- */

static bool lc_has_it(const struct machine *m)
{
	return (m->on[LC_HINTED] && !m->idle[LC_HINTED]) ||
	       (m->on[LC_RANDOM] && !m->idle[LC_RANDOM]);
}

/* Of any stretch of time up to now, the largest deficit. */
static void look_at_minimum(struct hour *h, uint64_t passed_ns, uint64_t had_ns)
{
	h->lacks += (int64_t)(passed_ns * MIN_PCT) - (int64_t)(had_ns * 100);
	if (h->lacks < 0)
		h->lacks = 0;
	if (h->lacks > h->lacks_most)
		h->lacks_most = h->lacks;
}

static void look_at_waits(struct hour *h)
{
	for (uint32_t i = 1; i <= BE; i++) {
		uint64_t wait_ns = h->free_ns - h->off_at_ns[i];

		if (!h->m.on[i] && h->off_at_ns[i] == NEVER) {
			h->off_at_ns[i] = h->free_ns;
		} else if (h->m.on[i] && h->off_at_ns[i] != NEVER) {
			h->off_at_ns[i] = NEVER;
			if (wait_ns > h->waits_ns[i])
				h->waits_ns[i] = wait_ns;
		}
	}
}

/* Of any stretch of time up to now, the largest lead over the cap. */
static void look_at_cap(struct hour *h, uint32_t i, uint64_t passed_ns, uint64_t had_ns)
{
	h->ahead[i] += (int64_t)(had_ns * 100) - (int64_t)(passed_ns * h->cap_pct[i]);
	if (h->ahead[i] < 0)
		h->ahead[i] = 0;
	if (h->ahead[i] > h->ahead_most[i])
		h->ahead_most[i] = h->ahead[i];
}

static void look(struct machine *m)
{
	struct hour *h = m->arg;
	uint64_t passed_ns = m->d.now_ns - h->looked_ns, had_ns = 0;
	uint32_t resident = gp_sched_resident(m->d.sched);

	h->looked_ns = m->d.now_ns;
	for (uint32_t i = 1; i <= BE; i++) {
		uint64_t ran_ns = m->ran_ns[i] - h->ran_ns[i];

		h->ran_ns[i] = m->ran_ns[i];
		*(h->lc_has_it ? &h->displaced_ns[i] : &h->used_ns[i]) += ran_ns;
		had_ns += h->lc_has_it ? 0 : ran_ns;
		if (h->cap_pct[i])
			look_at_cap(h, i, passed_ns, h->lc_has_it ? 0 : ran_ns);
	}
	h->be_ns += had_ns;
	*(h->lc_has_it ? &h->lc_ns : &h->free_ns) += passed_ns;
	look_at_minimum(h, passed_ns, had_ns);
	look_at_waits(h);
	if (resident != h->resident)
		h->turns[resident]++;
	h->resident = resident;
	h->lc_has_it = lc_has_it(m);
}

static void report(struct hour *h)
{
	for (uint32_t i = 1; i <= BE; i++) {
		uint64_t used_ns = h->used_ns[i] - h->reported_used_ns[i];
		uint64_t displaced_ns = h->displaced_ns[i] - h->reported_displaced_ns[i];

		if (!used_ns && !displaced_ns)
			continue;
		h->reported_used_ns[i] += used_ns;
		h->reported_displaced_ns[i] += displaced_ns;
		machine_usage(&h->m, i, used_ns, displaced_ns);
	}
	h->report_ns += REPORT_NS;
}

/* ---- LC -------------------------------------------------------------------- */

/* Every 100 ms or so, for some time; announced a millisecond ahead. */
static void hinted_does(struct hour *h)
{
	struct lc *lc = &h->hinted;

	if (lc->at_work) {
		h->m.idle[LC_HINTED] = true;
		machine_tell(&h->m, GP_EV_SEGMENT_END, LC_HINTED);
		lc->begins_ns = h->m.d.now_ns + 80 * MS + rnd(40000) * US;
		lc->at_ns = lc->begins_ns - MS;
		lc->at_work = false;
	} else if (h->m.d.now_ns < lc->begins_ns) {
		assert_int_equal(machine_ev(&h->m,
					    (struct gp_event){ .type = GP_EV_HINT,
							       .tenant = LC_HINTED,
							       .hint.at_ns = lc->begins_ns }),
				 0);
		lc->at_ns = lc->begins_ns;
	} else {
		h->m.idle[LC_HINTED] = false;
		machine_tell(&h->m, GP_EV_SEGMENT_BEGIN, LC_HINTED);
		lc->at_ns = h->m.d.now_ns + MS + rnd(5000) * US;
		lc->at_work = true;
	}
}

static void random_does(struct hour *h)
{
	struct lc *lc = &h->random;
	uint64_t ns = (lc->at_work ? 20 * MS : MS) + rnd(lc->at_work ? 180000 : 30000) * US;

	if (!lc->at_work && h->m.d.now_ns >= lc->begins_ns) {
		lc->begins_ns += 60000 * MS;
		ns = 2000 * MS;
	}
	machine_tell(&h->m, lc->at_work ? GP_EV_IDLE : GP_EV_BUSY, LC_RANDOM);
	lc->at_work = !lc->at_work;
	lc->at_ns = h->m.d.now_ns + ns;
}

static void run(struct hour *h, uint64_t ns)
{
	const uint64_t end_ns = h->m.d.now_ns + ns;

	while (h->m.d.now_ns < end_ns) {
		uint64_t to_ns = h->report_ns;

		to_ns = h->hinted.at_ns < to_ns ? h->hinted.at_ns : to_ns;
		to_ns = h->random.at_ns < to_ns ? h->random.at_ns : to_ns;
		machine_run(&h->m, to_ns - h->m.d.now_ns);
		if (to_ns == h->hinted.at_ns)
			hinted_does(h);
		if (to_ns == h->random.at_ns)
			random_does(h);
		if (to_ns == h->report_ns)
			report(h);
	}
}

/* ---- the hour --------------------------------------------------------------- */

/* With @caps every eighth is capped, at 1 to 4 %. */
static void start(struct hour *h, const struct gp_be_policy *policy, bool caps)
{
	static const uint32_t weights[] = { 50, 100, 100, 150, 300 };
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.be_policy = policy,
		.be_min_pct = MIN_PCT,
		.quantum_ns = QUANTUM_NS,
		.rotation_defer_max_ns = DEFER_NS,
		.be_period_ns = PERIOD_NS,
		.control_ns = CONTROL_NS,
	};

	rnd_state = SEED;
	memset(h, 0, sizeof(*h));
	machine_init(&h->m, &config);
	h->m.off_ns = OFF_NS;
	h->m.on_ns = ON_NS;
	h->m.slice_ns = 4 * US;
	for (uint32_t i = 1; i <= BE; i++) {
		h->weight[i] = weights[rnd(5)];
		h->cap_pct[i] = caps && i % 8 == 0 ? 1 + i / 8 % 4 : 0;
		h->off_at_ns[i] = NEVER;
		machine_add_be(&h->m, i, h->weight[i], h->cap_pct[i]);
	}
	for (uint32_t i = LC_HINTED; i <= LC_RANDOM; i++) {
		machine_add(&h->m, i,
			    (struct gp_class_request){ .cls = { GP_CLASS_LC, i - LC_HINTED } });
		machine_tell(&h->m, GP_EV_IDLE, i);
	}
	/* Until here they came one after another. */
	memset(h->m.longest_off_ns, 0, sizeof(h->m.longest_off_ns));
	memset(h->m.ran_ns, 0, sizeof(h->m.ran_ns));
	h->looked_ns = h->m.d.now_ns;
	h->report_ns = h->m.d.now_ns + REPORT_NS;
	h->random.at_ns = h->m.d.now_ns + 10 * MS;
	h->random.begins_ns = h->m.d.now_ns + 30000 * MS;
	h->hinted.at_ns = h->m.d.now_ns + 30 * MS;
	h->hinted.begins_ns = h->hinted.at_ns + MS;
	h->m.arg = h;
	h->m.look = look;
}

static uint64_t weights(const struct hour *h)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= BE; i++)
		sum += h->weight[i];
	return sum;
}

/* docs/sched.md: number of others' turns while it waits. */
static uint64_t turns_to_wait(const struct hour *h, const struct gp_be_policy *policy, uint32_t i)
{
	uint64_t turns = 0, least = UINT32_MAX;

	if (policy == &gp_policy_rr)
		return BE - 1;
	if (policy == &gp_policy_credit)
		return (weights(h) + h->weight[i] - 1) / h->weight[i] + BE - 1;
	for (uint32_t j = 1; j <= BE; j++)
		least = h->weight[j] < least ? h->weight[j] : least;
	for (uint32_t j = 1; j <= BE; j++)
		turns += j == i ? 0 : (h->weight[j] + least - 1) / least + 1;
	return turns;
}

/*
 * A turn's clock stands still while LC has the device, so the bound excludes that time. A
 * capped tenant waits for its cap as well.
 */
static void check_waits(const struct hour *h, const struct gp_be_policy *policy)
{
	const uint64_t turn_ns = QUANTUM_NS + DEFER_NS + OFF_NS + ON_NS;
	uint64_t most_ns = 0, most_bound_ns = 0;

	for (uint32_t i = 1; i <= BE; i++) {
		uint64_t bound_ns = turns_to_wait(h, policy, i) * turn_ns + OFF_NS + ON_NS;

		if (h->cap_pct[i])
			bound_ns +=
				BE * QUANTUM_NS + (DEFER_NS + OFF_NS + ON_NS) * 100 / h->cap_pct[i];
		if (h->waits_ns[i] > bound_ns || !h->waits_ns[i])
			fail_msg("%u waited %.3f s, not %.3f", i, (double)h->waits_ns[i] / 1e9,
				 (double)bound_ns / 1e9);
		if (h->waits_ns[i] > most_ns) {
			most_ns = h->waits_ns[i];
			most_bound_ns = bound_ns;
		}
	}
	printf("  longest wait %.3f s, bound %.3f s\n", (double)most_ns / 1e9,
	       (double)most_bound_ns / 1e9);
}

/*
 * docs/sched.md: 9/8 of a period's due, and the time to suspend LC. Twice that, because a
 * report pays debt by time that BE may have had before.
 */
static void check_minimum(const struct hour *h)
{
	const uint64_t bracket_ns =
		PERIOD_NS * MIN_PCT / 100 * 9 / 8 + 2 * CONTROL_NS * MIN_PCT / 100 + 2;
	const uint64_t blackout_ns = 4 * CONTROL_NS + bracket_ns * 100 / (100 - MIN_PCT);

	printf("  BE %.4f, LC %.4f of the device; BE lacked %.3f ms of its minimum, LC was "
	       "off for %.3f ms\n",
	       (double)h->be_ns / 1e9 / SECONDS, (double)h->lc_ns / 1e9 / SECONDS,
	       (double)h->lacks_most / 1e8, (double)h->m.longest_off_ns[LC_HINTED] / 1e6);
	assert_in_range(h->lacks_most, MS * 100, 2 * bracket_ns * 100);
	for (uint32_t i = LC_HINTED; i <= LC_RANDOM; i++)
		assert_in_range(h->m.longest_off_ns[i], MS, blackout_ns);
	/* Only switches lose time. */
	assert_true(h->be_ns + h->lc_ns >= SECONDS * 985 * MS);
}

/* Uncapped tenants have equal time for their weight: to a hundredth, and a turn. */
static void check_shares(const struct hour *h, bool weighted)
{
	uint64_t used_ns = 0, sum = 0;
	double low = 2, high = 0;

	for (uint32_t i = 1; i <= BE; i++) {
		used_ns += h->cap_pct[i] ? 0 : h->used_ns[i];
		sum += h->cap_pct[i] ? 0 : weighted ? h->weight[i] : 1;
	}
	for (uint32_t i = 1; i <= BE; i++) {
		double due = (double)used_ns * (weighted ? h->weight[i] : 1) / (double)sum;
		double is = (double)h->used_ns[i] / due;

		if (h->cap_pct[i])
			continue;
		low = is < low ? is : low;
		high = is > high ? is : high;
		assert_true(fabs((double)h->used_ns[i] - due) <= due / 100 + QUANTUM_NS);
	}
	printf("  of what is due: %.4f to %.4f\n", low, high);
}

static void check_turns(const struct hour *h)
{
	for (uint32_t i = 2; i <= BE; i++)
		assert_in_range(h->turns[i], h->turns[1] - 1, h->turns[1] + 1);
}

/* Time of the uncapped tenants, for @weight. */
static uint64_t of_weight_ns(const struct hour *h, uint32_t weight)
{
	uint64_t used_ns = 0, sum = 0;

	for (uint32_t i = 1; i <= BE; i++) {
		used_ns += h->cap_pct[i] ? 0 : h->used_ns[i];
		sum += h->cap_pct[i] ? 0 : h->weight[i];
	}
	return used_ns / sum * weight;
}

/*
 * docs/sched.md: at most the cap of any stretch of time, and of four rounds besides. At least
 * the same, except for switches, or the time of others of the same weight if that is less.
 */
static void check_caps(const struct hour *h)
{
	const int64_t over = (OFF_NS + ON_NS + DEFER_NS) * 100;

	for (uint32_t i = 1; i <= BE; i++) {
		uint64_t share_ns = of_weight_ns(h, h->weight[i]);
		int64_t saved = (int64_t)(4 * BE * QUANTUM_NS * h->cap_pct[i]);
		uint64_t cap_ns = SECONDS * 10 * MS * h->cap_pct[i];
		uint64_t due_ns = share_ns < cap_ns ? share_ns : cap_ns;

		if (!h->cap_pct[i])
			continue;
		printf("  %3u of weight, cap %u: %.4f of it, %.4f of its weight's share\n",
		       h->weight[i], h->cap_pct[i], (double)h->used_ns[i] / (double)cap_ns,
		       (double)h->used_ns[i] / (double)share_ns);
		assert_in_range(h->ahead_most[i], 1, saved + over);
		assert_true(h->used_ns[i] <= cap_ns + (uint64_t)over / 100);
		assert_true(h->used_ns[i] >= due_ns * 99 / 100);
	}
}

static void hour_of(struct hour *h, const struct gp_be_policy *policy, bool caps)
{
	clock_t from = clock();

	start(h, policy, caps);
	run(h, SECONDS * 1000 * MS);
	printf("%s%s: %llu steps, %.2f s of CPU\n", policy->name, caps ? " with caps" : "",
	       (unsigned long long)h->m.steps, (double)(clock() - from) / CLOCKS_PER_SEC);
	check_minimum(h);
	check_waits(h, policy);
	machine_end(&h->m);
}

static void test_fair(void **state)
{
	static struct hour h;

	hour_of(&h, &gp_policy_fair, false);
	check_shares(&h, true);
}

static void test_rr(void **state)
{
	static struct hour h;

	hour_of(&h, &gp_policy_rr, false);
	check_shares(&h, false);
	check_turns(&h);
}

static void test_credit(void **state)
{
	static struct hour h;

	hour_of(&h, &gp_policy_credit, false);
	check_shares(&h, true);
}

static void test_credit_caps(void **state)
{
	static struct hour h;

	hour_of(&h, &gp_policy_credit, true);
	check_shares(&h, true);
	check_caps(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_rr),
		cmocka_unit_test(test_credit),
		cmocka_unit_test(test_credit_caps),
	};

	printf("seed %u\n", SEED);
	return gp_run_tests(tests);
}
