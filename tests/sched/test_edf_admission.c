// SPDX-License-Identifier: Apache-2.0
/*
 * Admission by deadlines against a device played out job by job. No admitted tenant ever
 * misses, whichever switches and uninterruptible sections it pays for. And the bound admits
 * enough.
 */
#include <stdbool.h>
#include <stdio.h>

#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

#define SEED 11u
#define SETS 12000
#define TASKS 6

static uint64_t rnd_state;

static uint64_t rnd(uint64_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (rnd_state >> 24) % below;
}

/* ---- a device, played out ------------------------------------------------------- */

struct task {
	uint64_t runtime_ns, deadline_ns, period_ns;
	uint64_t release_ns;	  /* of the next job */
	uint64_t left_ns, due_ns; /* of the present job; left 0: none */
};

struct play {
	struct task task[TASKS];
	size_t n;
	uint64_t switch_ns, cut_ns;
	uint64_t window_ns, window_every_ns, next_window_ns;
	uint64_t now_ns;
	uint32_t pct;
	int on; /* a task, or -1: best-effort */
	bool missed;
};

/* Jobs that came by now; each comes at its earliest time, or later. */
static void release(struct play *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct task *t = &p->task[i];

		if (t->release_ns > p->now_ns)
			continue;
		if (t->left_ns)
			p->missed = true; /* of a period at least its deadline */
		t->left_ns = t->runtime_ns;
		t->due_ns = t->release_ns + t->deadline_ns;
		t->release_ns += t->period_ns + (rnd(4) ? 0 : rnd(t->period_ns));
	}
}

static int earliest(const struct play *p)
{
	int best = -1;

	for (size_t i = 0; i < p->n; i++)
		if (p->task[i].left_ns && (best < 0 || p->task[i].due_ns < p->task[best].due_ns))
			best = (int)i;
	return best;
}

static void pass(struct play *p, uint64_t ns)
{
	p->now_ns += ns;
	if (p->on >= 0) {
		struct task *t = &p->task[p->on];

		t->left_ns -= ns < t->left_ns ? ns : t->left_ns;
		if (!t->left_ns && p->now_ns > t->due_ns)
			p->missed = true;
	}
	release(p);
}

static uint64_t next_release(const struct play *p)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < p->n; i++)
		if (p->task[i].release_ns < next)
			next = p->task[i].release_ns;
	return next;
}

/* The running task continues until it can be preempted, or is done; then none runs. */
static void change(struct play *p, int to)
{
	bool runs = p->on < 0 || p->task[p->on].left_ns;
	uint64_t cut = runs ? p->cut_ns : 0;

	if (runs && p->on >= 0 && p->task[p->on].left_ns < cut)
		cut = p->task[p->on].left_ns;
	pass(p, cut);
	p->on = -1;
	p->now_ns += p->switch_ns;
	release(p);
	p->on = to;
}

static void window(struct play *p)
{
	int on = p->on;

	p->next_window_ns = p->now_ns + p->window_every_ns + (rnd(3) ? 0 : rnd(p->window_every_ns));
	p->on = -1;
	pass(p, p->window_ns);
	p->on = on;
}

static bool play_misses(struct play *p, uint64_t until_ns)
{
	release(p);
	while (p->now_ns < until_ns && !p->missed) {
		uint64_t to = next_release(p);
		int best = earliest(p);

		if (p->window_ns && p->now_ns >= p->next_window_ns) {
			window(p);
		} else if (best != p->on) {
			change(p, best);
		} else {
			if (p->on >= 0 && p->task[p->on].left_ns < to - p->now_ns)
				to = p->now_ns + p->task[p->on].left_ns;
			if (p->window_ns && p->next_window_ns < to)
				to = p->next_window_ns;
			pass(p, to - p->now_ns);
		}
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->task[i].left_ns && p->task[i].due_ns < p->now_ns)
			p->missed = true;
	return p->missed;
}

/* ---- random sets ------------------------------------------------------------------ */

static struct gp_class_request spec_of(uint64_t runtime_us, uint64_t deadline_us,
				       uint64_t period_us)
{
	return (struct gp_class_request){ .cls = { GP_CLASS_LC },
					  .runtime_ns = runtime_us * US,
					  .deadline_ns = deadline_us * US,
					  .period_ns = period_us * US };
}

/* Asks for a random task, and adds it if it is admitted. */
static bool ask(struct drive *d, struct play *p, uint64_t load_pct)
{
	uint64_t deadline = 2000 + rnd(rnd(2) ? 10000 : 100000);
	uint64_t period = rnd(2) ? deadline : deadline + rnd(2 * deadline);
	uint64_t runtime = 1 + rnd(deadline * load_pct / 100 + 1);
	struct gp_class_request spec = spec_of(runtime, deadline, period);
	struct gp_sched_admission a;
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN,
			       .tenant = (uint32_t)p->n + 1,
			       .spec = spec };
	int rc = gp_sched_admit(d->sched, ev.tenant, &spec, &a);

	assert_true(!rc == !a.reason);
	assert_true(rc == 0 || rc == -ENOSPC);
	if (rc)
		return false;
	assert_int_equal(drive_ev(d, ev), 0);
	/* Windows suspend groups, one per tenant. */
	assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_GROUP_APPEAR,
							.tenant = ev.tenant,
							.group.id = ev.tenant }),
			 0);
	p->task[p->n++] = (struct task){ .runtime_ns = spec.runtime_ns,
					 .deadline_ns = spec.deadline_ns,
					 .period_ns = spec.period_ns };
	return true;
}

static void releases(struct play *p)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < p->n; i++) {
		/* Together, shortly after one another, or at random. */
		uint64_t scale[] = { 1, 2 * (p->switch_ns + p->cut_ns) + 1, p->task[i].period_ns };

		p->task[i].release_ns = p->now_ns + rnd(scale[rnd(3)]);
		if (p->task[i].period_ns > longest)
			longest = p->task[i].period_ns;
	}
	p->next_window_ns = p->now_ns + (rnd(2) ? 0 : rnd(longest + 1));
}

static uint64_t horizon(const struct play *p)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->task[i].period_ns > longest)
			longest = p->task[i].period_ns;
	return 8 * longest;
}

static struct gp_sched_config config_of(struct play *p)
{
	p->switch_ns = rnd(3) * 150 * US;
	p->cut_ns = 1 + rnd(3) * 300 * US;
	/* As in docs/sched.md, for groups that are still to come. */
	if (rnd(2)) {
		uint64_t pct = 1 + rnd(6), controls = TASKS * 100 * US;

		p->window_every_ns = 50 * MS;
		p->window_ns = 2 * controls + 1 +
			       (p->window_every_ns * pct * 9 / 8 + controls * pct) / (100 - pct) +
			       1;
		p->pct = (uint32_t)pct;
	}
	return (struct gp_sched_config){
		.rotate = 1,
		.slice_preempts = 1,
		.lc_policy = &gp_policy_edf,
		.switch_ns = 1,
		.lc_switch_ns = p->switch_ns,
		.cut_ns = p->cut_ns,
		.be_min_pct = p->pct,
		.be_period_ns = p->window_every_ns,
		.control_ns = 100 * US,
	};
}

static void test_admitted_never_miss(void **state)
{
	uint64_t tasks = 0, refused = 0, load = 0;

	rnd_state = SEED;
	for (int set = 0; set < SETS;) {
		struct play p = { .on = -1, .now_ns = 1000 * MS };
		const struct gp_sched_config config = config_of(&p);
		uint64_t each = 10 + rnd(80);
		struct gp_sched_admission a;
		struct gp_class_request tiny = spec_of(1, 900000, 900000);
		struct drive d;

		drive_init(&d, &config);
		for (int k = 0; k < 12 && p.n < TASKS; k++)
			refused += !ask(&d, &p, each);
		gp_sched_admit(d.sched, 99, &tiny, &a);
		drive_end(&d);
		if (p.n < 2)
			continue;
		set++;
		tasks += p.n;
		/* All the tenants of the bound. */
		if (p.window_ns)
			p.window_ns -= (TASKS - p.n) * 100 * US *
				       (200 + 100 * p.pct / (100 - p.pct)) / 100;
		load += a.load_ppm;
		for (int k = 0; k < 3; k++) {
			struct play q = p;

			releases(&q);
			if (play_misses(&q, q.now_ns + horizon(&q)))
				fail_msg("set %d: missed", set);
		}
	}
	printf("%d sets, %llu tasks let in, %llu refused, mean load %.3f\n", SETS,
	       (unsigned long long)tasks, (unsigned long long)refused, (double)load / SETS / 1e6);
}

/* The same with each runtime half longer than declared: misses are found. */
static void test_play_can_miss(void **state)
{
	int missed = 0;

	rnd_state = SEED;
	for (int set = 0; set < 1000; set++) {
		struct play p = { .on = -1, .now_ns = 1000 * MS };
		const struct gp_sched_config config = config_of(&p);
		struct drive d;

		drive_init(&d, &config);
		for (int k = 0; k < 40 && p.n < TASKS; k++)
			ask(&d, &p, 60);
		drive_end(&d);
		for (size_t i = 0; i < p.n; i++)
			p.task[i].runtime_ns += p.task[i].runtime_ns / 2;
		releases(&p);
		missed += play_misses(&p, p.now_ns + horizon(&p));
	}
	printf("runtimes half as long again: %d sets of 1000 miss\n", missed);
	assert_true(missed > 500);
}

/* ---- admitted and refused sets ------------------------------------------------------ */

struct wish {
	uint64_t runtime_us, deadline_us, period_us;
};

/* The reason for the last of @n wishes; all before it must be admitted. */
static struct gp_sched_admission last_of(const struct gp_sched_config *config, const struct wish *w,
					 size_t n)
{
	struct gp_sched_admission a = { 0 };
	struct drive d;

	drive_init(&d, config);
	for (size_t i = 0; i < n; i++) {
		struct gp_event ev = { .type = GP_EV_TENANT_JOIN,
				       .tenant = (uint32_t)i + 1,
				       .spec = spec_of(w[i].runtime_us, w[i].deadline_us,
						       w[i].period_us) };
		int rc = gp_sched_admit(d.sched, ev.tenant, &ev.spec, &a);

		if (i + 1 < n)
			assert_int_equal(rc, 0);
		assert_int_equal(drive_ev(&d, ev), 0);
	}
	drive_end(&d);
	return a;
}

static const struct gp_sched_config edf = {
	.rotate = 1,
	.slice_preempts = 1,
	.lc_policy = &gp_policy_edf,
	.lc_switch_ns = 200 * US,
};

/*
 * Three that need 70 % together are admitted, so the bound is not vacuous. A fourth of 30 % is
 * refused.
 */
static void test_bound_is_not_vacuous(void **state)
{
	static const struct wish equal[] = {
		{ 2333, 10000, 0 }, { 2333, 10000, 0 }, { 2333, 10000, 0 }, { 3000, 10000, 0 }
	};
	static const struct wish mixed[] = {
		{ 2300, 10000, 0 }, { 4600, 20000, 0 }, { 9400, 40000, 0 }, { 12000, 40000, 0 }
	};
	static const struct wish tight[] = { { 2000, 10000, 20000 },
					     { 6000, 15000, 20000 },
					     { 9000, 30000, 30000 },
					     { 9000, 30000, 30000 } };
	const struct wish *const each[] = { equal, mixed, tight };

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(last_of(&edf, each[i], 3).reason, GP_ADMIT_OK);
		assert_int_not_equal(last_of(&edf, each[i], 4).reason, GP_ADMIT_OK);
	}
}

static void test_reasons(void **state)
{
	static const struct wish none[] = { { 0, 10000, 0 } };
	static const struct wish longer[] = { { 10001, 10000, 0 } };
	static const struct wish later[] = { { 100, 10000, 9000 } };
	static const struct wish load[] = { { 8000, 10000, 0 }, { 25000, 100000, 0 } };
	static const struct wish miss[] = { { 4000, 6000, 100000 }, { 4000, 8000, 100000 } };
	struct gp_sched_admission a;

	assert_int_equal(last_of(&edf, none, 1).reason, GP_ADMIT_SPEC);
	assert_int_equal(last_of(&edf, longer, 1).reason, GP_ADMIT_SPEC);
	assert_int_equal(last_of(&edf, later, 1).reason, GP_ADMIT_SPEC);
	a = last_of(&edf, load, 2);
	assert_int_equal(a.reason, GP_ADMIT_LOAD);
	assert_int_equal(a.load_ppm, 840000 + 254000);
	a = last_of(&edf, miss, 2);
	assert_int_equal(a.reason, GP_ADMIT_DEADLINE);
	assert_int_equal(a.tenant, 2);
	assert_int_equal(a.deadline_ns, 8000 * US);
	/* 4.4 ms, and 2 % of it over 2 ms; 4.4 ms; blocking of 1.2 */
	assert_int_equal(a.demand_ns, (4400 + 88 + 4400 + 1200) * US);
}

/* A tenant that asks again is not counted twice, nor one without a deadline. */
static void test_asking_anew(void **state)
{
	struct gp_class_request spec = spec_of(7000, 10000, 0);
	struct gp_class_request plain = { .cls = { GP_CLASS_LC, 3 } };
	struct gp_class_request be = { .cls = { GP_CLASS_BE, 100 } };
	struct gp_sched_admission a;
	struct drive d;

	drive_init(&d, &edf);
	assert_int_equal(
		drive_ev(&d,
			 (struct gp_event){ .type = GP_EV_TENANT_JOIN, .tenant = 1, .spec = spec }),
		0);
	assert_int_equal(gp_sched_admit(d.sched, 1, &spec, &a), 0);
	assert_int_equal(gp_sched_admit(d.sched, 2, &spec, &a), -ENOSPC);
	assert_int_equal(gp_sched_admit(d.sched, 2, &plain, &a), 0);
	assert_int_equal(gp_sched_admit(d.sched, 2, &be, &a), 0);
	assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_TENANT_CLASS,
							 .tenant = 1,
							 .spec = plain }),
			 0);
	assert_int_equal(gp_sched_admit(d.sched, 2, &spec, &a), 0);
	drive_end(&d);
}

/* Windows suspend each group: those that are still to come count as well. */
static void test_groups_to_come(void **state)
{
	struct gp_class_request spec = spec_of(1000, 100000, 0);
	struct gp_sched_config config = edf;
	struct gp_sched_admission before, after;
	struct drive d;

	config.be_min_pct = 5;
	drive_init(&d, &config);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(gp_sched_admit(d.sched, i, &spec, &before), 0);
		assert_int_equal(drive_ev(&d, (struct gp_event){ .type = GP_EV_TENANT_JOIN,
								 .tenant = i,
								 .spec = spec }),
				 0);
		assert_int_equal(gp_sched_admit(d.sched, i, &spec, &after), 0);
		assert_int_equal(after.load_ppm, before.load_ppm);
		if (i == 2)
			continue;
		assert_int_equal(drive_appear(&d, i, i), 0);
		assert_int_equal(gp_sched_admit(d.sched, i, &spec, &after), 0);
		assert_in_range(after.load_ppm, before.load_ppm - 1, before.load_ppm + 1);
	}
	/* 3 of 1.4 ms in 100; 6 controls, a switch, a 9/8 of 2.5 ms, 5 % of 3, in 50 */
	assert_in_range(after.load_ppm, 42000 + 186000, 42000 + 187000);
	drive_end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admitted_never_miss),  cmocka_unit_test(test_play_can_miss),
		cmocka_unit_test(test_bound_is_not_vacuous), cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_asking_anew),	     cmocka_unit_test(test_groups_to_come),
	};

	printf("seed %u\n", SEED);
	return gp_run_tests(tests);
}
