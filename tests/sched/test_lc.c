// SPDX-License-Identifier: Apache-2.0
/*
 * Policies among LC tenants: the holder, against a list of jobs that is searched from scratch
 * each time.
 */
#include <stdbool.h>
#include <stdio.h>

#include "tests/common/gp_test.h"
#include "tests/sched/drive.h"

#define SEED 5u
#define LC 6
#define NO_DEADLINE UINT64_MAX

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd_state >> 33) % below;
}

struct job {
	bool on;
	uint64_t used_ns, length_ns; /* by reports */
	uint32_t done;
	uint64_t came_ns;
	uint64_t until_ns; /* its hold's limit */
};

struct jobs {
	struct gp_class_request spec[LC + 1];
	struct job job[LC + 1];
	bool edf, sjf;
};

/* The deadline at @now_ns: missed ones move by periods. */
static uint64_t due(const struct jobs *all, uint32_t i, uint64_t now_ns)
{
	const struct gp_class_request *spec = &all->spec[i];
	uint64_t step = spec->period_ns > spec->deadline_ns ? spec->period_ns : spec->deadline_ns;
	uint64_t at = all->job[i].came_ns + spec->deadline_ns;

	if (!spec->deadline_ns || !all->job[i].on)
		return NO_DEADLINE;
	while (at <= now_ns)
		at += step;
	return at;
}

static bool is_shorter(const struct job *a, const struct job *b)
{
	return a->length_ns && (!b->length_ns || a->length_ns < b->length_ns);
}

/* Is @i's work before @j's? */
static bool before(const struct jobs *all, uint32_t i, uint32_t j, uint64_t now_ns)
{
	uint64_t a = due(all, i, now_ns), b = due(all, j, now_ns);

	if (all->sjf && all->spec[i].cls.value == all->spec[j].cls.value)
		return is_shorter(&all->job[i], &all->job[j]);
	if (!all->edf || (a == NO_DEADLINE && b == NO_DEADLINE))
		return all->spec[i].cls.value < all->spec[j].cls.value;
	return a < b || (a == b && i < j);
}

static void check_holders(const struct drive *d, const struct jobs *all)
{
	uint64_t now = d->now_ns;

	for (uint32_t i = 1; i <= LC; i++) {
		bool holds = all->job[i].on && all->job[i].until_ns > now;

		for (uint32_t j = 1; j <= LC && holds; j++)
			if (all->job[j].on && all->job[j].until_ns > now && before(all, j, i, now))
				holds = false;
		if (drive_stat(d, i).held != holds)
			fail_msg("tenant %u is %sheld", i, holds ? "not " : "");
	}
}

static void begin(struct drive *d, struct jobs *all, uint32_t i)
{
	struct job *job = &all->job[i];
	uint64_t limit = d->now_ns + 20 * MS;

	drive_at(d, d->now_ns, GP_EV_SEGMENT_BEGIN, i);
	job->on = true;
	job->came_ns = d->now_ns;
	if (all->edf && all->spec[i].deadline_ns && job->came_ns + all->spec[i].deadline_ns > limit)
		limit = job->came_ns + all->spec[i].deadline_ns;
	job->until_ns = limit;
}

/* Runs all timers of the next @ns, and checks the holders after each. */
static void advance(struct drive *d, uint64_t *armed_ns, uint64_t ns, const struct jobs *all)
{
	uint64_t end = d->now_ns + ns;

	for (;;) {
		const struct gp_decision *arm = drive_find(d, GP_DO_ARM_TIMER);

		if (arm)
			*armed_ns = arm->at_ns;
		check_holders(d, all);
		if (!*armed_ns || *armed_ns > end)
			break;
		drive_at(d, *armed_ns, GP_EV_TIMER, 0);
		*armed_ns = 0;
	}
	d->now_ns = end;
}

static void set_up(struct drive *d, struct jobs *all, const struct gp_lc_policy *policy)
{
	const struct gp_sched_config config = { .slice_preempts = 1, .lc_policy = policy };

	*all = (struct jobs){ .edf = policy == &gp_policy_edf, .sjf = policy == &gp_policy_sjf };
	drive_init(d, &config);
	for (uint32_t i = 1; i <= LC; i++) {
		struct gp_class_request *spec = &all->spec[i];

		*spec = (struct gp_class_request){ .cls = { GP_CLASS_LC, rnd(4) } };
		if (rnd(3)) {
			spec->deadline_ns = (1 + rnd(40)) * MS;
			spec->period_ns = rnd(2) * (1 + rnd(60)) * MS;
		}
		assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_TENANT_JOIN,
								.tenant = i,
								.spec = *spec }),
				 0);
	}
}

/* Its use since the last report; late jobs count more. */
static void report(struct drive *d, struct job *job, uint32_t i, uint64_t used_ns)
{
	assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_USAGE,
							.tenant = i,
							.usage.used_ns = used_ns }),
			 0);
	job->used_ns += used_ns;
	if (job->done)
		job->length_ns = job->used_ns / job->done;
	if (job->done >= 16) {
		job->done /= 2;
		job->used_ns /= 2;
	}
}

static void who_holds(const struct gp_lc_policy *policy)
{
	rnd_state = SEED;
	for (int round = 0; round < 200; round++) {
		uint64_t armed = 0;
		struct jobs all;
		struct drive d;

		set_up(&d, &all, policy);
		for (int k = 0; k < 300; k++) {
			uint32_t i = 1 + rnd(LC);

			advance(&d, &armed, rnd(3) ? rnd(900) * US : rnd(30) * MS + rnd(999), &all);
			if (all.job[i].on) {
				drive_at(&d, d.now_ns, GP_EV_SEGMENT_END, i);
				all.job[i].on = false;
				all.job[i].done++;
			} else {
				begin(&d, &all, i);
			}
			if (!rnd(4))
				report(&d, &all.job[i], i, (1 + rnd(9)) * i * MS);
		}
		drive_end(&d);
	}
}

static void test_level(void **state)
{
	who_holds(&gp_policy_level);
}

static void test_sjf(void **state)
{
	who_holds(&gp_policy_sjf);
}

static void test_edf(void **state)
{
	who_holds(&gp_policy_edf);
}

/* A total order for any entities. */
static void test_orders(void **state)
{
	static const struct gp_lc_policy *const each[] = { &gp_policy_edf, &gp_policy_level,
							   &gp_policy_sjf };
	struct gp_lc_entity e[30];

	rnd_state = SEED;
	for (uint32_t i = 0; i < 30; i++)
		e[i] = (struct gp_lc_entity){ .tenant = i + 1,
					      .level = rnd(3),
					      .deadline_ns = rnd(2) ? NO_DEADLINE : rnd(5),
					      .length_ns = rnd(2) ? UINT64_MAX : rnd(5) };
	for (size_t p = 0; p < 3; p++)
		for (size_t a = 0; a < 30; a++)
			for (size_t b = 0; b < 30; b++)
				for (size_t c = 0; c < 30; c++) {
					int ab = each[p]->compare(&e[a], &e[b]);
					int bc = each[p]->compare(&e[b], &e[c]);
					int ac = each[p]->compare(&e[a], &e[c]);

					assert_int_equal(each[p]->compare(&e[b], &e[a]), -ab);
					if (ab <= 0 && bc <= 0)
						assert_int_equal(ac, ab || bc ? -1 : 0);
				}
}

/* ---- single decisions -------------------------------------------------------------- */

static void join_edf(struct drive *d, uint32_t tenant, uint64_t deadline_ns)
{
	assert_int_equal(drive_ev(d, (struct gp_event){ .type = GP_EV_TENANT_JOIN,
							.tenant = tenant,
							.spec = { .cls = { GP_CLASS_LC },
								  .deadline_ns = deadline_ns,
								  .period_ns = deadline_ns } }),
			 0);
}

static void start_edf(struct drive *d)
{
	const struct gp_sched_config config = { .slice_preempts = 1, .lc_policy = &gp_policy_edf };

	drive_init(d, &config);
	join_edf(d, 1, 10 * MS);
	join_edf(d, 2, 30 * MS);
}

/* A hint's hold starts from the announced time; the deadline counts from the arrival. */
static void test_hint_sets_deadline(void **state)
{
	struct drive d;
	uint64_t said;

	start_edf(&d);
	said = d.now_ns;
	assert_int_equal(
		drive_ev(&d,
			 (struct gp_event){ .type = GP_EV_HINT, .tenant = 2, .hint.at_ns = said }),
		0);
	assert_true(drive_stat(&d, 2).held);
	/* Due in 30 ms from then; 3 in 30.1, 4 in 29.95. */
	join_edf(&d, 3, 29900 * US);
	drive_at(&d, said + 200 * US, GP_EV_SEGMENT_BEGIN, 3);
	assert_true(drive_stat(&d, 2).held);
	drive_at(&d, said + 200 * US, GP_EV_SEGMENT_END, 3);
	join_edf(&d, 4, 29700 * US);
	drive_at(&d, said + 250 * US, GP_EV_SEGMENT_BEGIN, 4);
	assert_true(drive_stat(&d, 4).held);
	drive_at(&d, said + 250 * US, GP_EV_SEGMENT_END, 4);
	assert_true(drive_stat(&d, 2).held);
	/* Later than its hint: counted from its arrival. */
	drive_at(&d, said + 300 * US, GP_EV_SEGMENT_BEGIN, 2);
	drive_at(&d, said + 300 * US, GP_EV_SEGMENT_BEGIN, 3);
	assert_true(drive_stat(&d, 3).held);
	assert_false(drive_stat(&d, 2).held);
	drive_end(&d);
}

/* Held up to its deadline, even if that is later than a hold's limit. */
static void test_segment_is_held_to_its_deadline(void **state)
{
	struct drive d;
	uint64_t end;

	start_edf(&d);
	end = d.now_ns + 30 * MS;
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 2);
	for (;;) {
		const struct gp_decision *arm = drive_find(&d, GP_DO_ARM_TIMER);

		if (!arm || !arm->at_ns || arm->at_ns >= end)
			break;
		drive_at(&d, arm->at_ns, GP_EV_TIMER, 0);
		assert_true(drive_stat(&d, 2).held);
	}
	drive_at(&d, end, GP_EV_TIMER, 0);
	assert_false(drive_stat(&d, 2).held);
	assert_int_equal(drive_stat(&d, 2).deadlines_missed, 1);
	drive_end(&d);
}

/* A tenant that misses stands behind one that keeps to its runtime. */
static void test_missed_goes_behind(void **state)
{
	struct drive d;

	start_edf(&d);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 1);
	drive_at(&d, d.now_ns + 9 * MS, GP_EV_SEGMENT_BEGIN, 2);
	assert_true(drive_stat(&d, 1).held);
	/* Its next deadline is 20 ms after its start, the other's 39. */
	drive_at(&d, d.now_ns + 2 * MS, GP_EV_TIMER, 0);
	assert_true(drive_stat(&d, 1).held);
	join_edf(&d, 3, 5 * MS);
	drive_at(&d, d.now_ns, GP_EV_SEGMENT_BEGIN, 3);
	assert_true(drive_stat(&d, 3).held);
	assert_false(drive_stat(&d, 1).held);
	drive_end(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_level),
		cmocka_unit_test(test_edf),
		cmocka_unit_test(test_sjf),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_hint_sets_deadline),
		cmocka_unit_test(test_segment_is_held_to_its_deadline),
		cmocka_unit_test(test_missed_goes_behind),
	};

	printf("seed %u\n", SEED);
	return gp_run_tests(tests);
}
