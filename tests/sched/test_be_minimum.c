// SPDX-License-Identifier: Apache-2.0
/*
 * BE's time beside endless LC (be_min_pct): the bound of docs/sched.md over any stretch of
 * time, and the longest suspension of LC.
 */
#include <stdio.h>

#include "tests/common/gp_test.h"
#include "tests/sched/machine.h"

#define SEED 3u
#define SAMPLES 20000
#define PERIOD_NS (50 * MS)
#define CONTROL_NS MS
#define SWITCH_NS (170 * US)
#define LC 40 /* ids of LC tenants from here on */

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd_state >> 33) % below;
}

/* BE's time on the device: its group runs, and no LC group has work. */
struct watch {
	bool suspends;	/* LC gets the device by suspending BE */
	bool lc_had_it; /* since the last call */
	uint32_t n_be, n_lc;
	uint64_t had_ns;
	bool first_on;		       /* the first LC group's state at the last call */
	uint64_t first_off_ns, gap_ns; /* its last suspension; the shortest time between two */
	uint64_t be_ran_ns[M_TENANTS + 1];
	uint64_t at_ns[SAMPLES], had_at_ns[SAMPLES];
	size_t n;
};

static bool lc_has_it(const struct machine *m, const struct watch *w)
{
	for (uint32_t i = 0; i < w->n_lc; i++)
		if (m->on[LC + i] && !m->idle[LC + i] && !w->suspends)
			return true;
	return false;
}

/* Called at each step; between steps only time changes. */
static void look(struct machine *m)
{
	struct watch *w = m->arg;
	uint64_t ran = 0;

	for (uint32_t i = 1; i <= w->n_be; i++) {
		ran += m->ran_ns[i] - w->be_ran_ns[i];
		w->be_ran_ns[i] = m->ran_ns[i];
	}
	w->had_ns += w->lc_had_it ? 0 : ran;
	w->lc_had_it = lc_has_it(m, w);
	if (w->first_on && !m->on[LC]) {
		uint64_t gap = m->d.now_ns - w->first_off_ns;

		w->gap_ns = w->first_off_ns && gap < w->gap_ns ? gap : w->gap_ns;
		w->first_off_ns = m->d.now_ns;
	}
	w->first_on = m->on[LC];
	assert_true(w->n < SAMPLES);
	w->at_ns[w->n] = m->d.now_ns;
	w->had_at_ns[w->n++] = w->had_ns;
}

/* Compares samples in strides: all pairs of 20,000 would be many. */
static void check_bound(const struct watch *w, uint64_t pct, uint64_t lacks_ns)
{
	for (size_t i = 0; i < w->n; i += 7) {
		for (size_t j = i; j < w->n; j += 5) {
			uint64_t want = (w->at_ns[j] - w->at_ns[i]) * pct / 100;

			if (w->had_at_ns[j] - w->had_at_ns[i] + lacks_ns < want)
				fail_msg("%llu of %llu us in %llu us",
					 (unsigned long long)((w->had_at_ns[j] - w->had_at_ns[i]) /
							      1000),
					 (unsigned long long)(want / 1000),
					 (unsigned long long)((w->at_ns[j] - w->at_ns[i]) / 1000));
		}
	}
}

/* docs/sched.md: 9/8 of a period's due, and pct of the time to suspend LC. */
static uint64_t lacks_ns(uint64_t pct, uint32_t n_lc)
{
	return PERIOD_NS * pct / 100 * 9 / 8 + n_lc * CONTROL_NS * pct / 100 + 2;
}

static uint64_t blackout_ns(uint64_t pct, uint32_t n_lc)
{
	uint64_t off = n_lc * CONTROL_NS;

	return off + SWITCH_NS + (PERIOD_NS * pct * 9 / 8 + off * pct) / (100 - pct) + 1 + off;
}

static void start(struct machine *m, struct watch *w, uint32_t pct, bool suspends)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = !suspends,
		.slots = suspends ? 24 : 0,
		.be_min_pct = pct,
		.be_period_ns = PERIOD_NS,
		.control_ns = CONTROL_NS,
		.switch_ns = SWITCH_NS,
	};

	memset(w, 0, sizeof(*w));
	machine_init(m, &config);
	m->off_ns = 200 * US + rnd(800) * US;
	m->on_ns = 200 * US + rnd(800) * US;
	m->arg = w;
	w->gap_ns = UINT64_MAX;
	w->suspends = suspends;
	w->n_be = 1 + rnd(4);
	w->n_lc = 1 + rnd(3);
	for (uint32_t i = 1; i <= w->n_be; i++)
		machine_add_be(m, i, 50 + rnd(200), 0);
	for (uint32_t i = 0; i < w->n_lc; i++)
		machine_add(m, LC + i, (struct gp_class_request){ .cls = { GP_CLASS_LC, rnd(3) } });
	memset(m->longest_off_ns, 0, sizeof(m->longest_off_ns));
}

/* Endless LC work; on the other kind, one segment after another. */
static void endless(struct machine *m, struct watch *w, uint64_t ns)
{
	uint64_t end = m->d.now_ns + ns;

	for (uint32_t i = 0; i < w->n_lc; i++)
		machine_tell(m, w->suspends ? GP_EV_SEGMENT_BEGIN : GP_EV_BUSY, LC + i);
	m->look = look;
	while (m->d.now_ns < end) {
		machine_run(m, (1 + rnd(15)) * MS);
		for (uint32_t i = 0; i < w->n_lc && w->suspends; i++) {
			machine_tell(m, GP_EV_SEGMENT_END, LC + i);
			machine_tell(m, GP_EV_SEGMENT_BEGIN, LC + i);
		}
	}
}

static void check_blackout(const struct machine *m, const struct watch *w, uint32_t pct)
{
	for (uint32_t i = 0; i < w->n_lc; i++)
		assert_true(m->longest_off_ns[LC + i] <= blackout_ns(pct, w->n_lc));
}

static void minimum_is_kept(bool suspends)
{
	static struct machine m;
	static struct watch w;

	rnd_state = SEED;
	for (int round = 0; round < 40; round++) {
		uint32_t pct = 1 + rnd(50);

		start(&m, &w, pct, suspends);
		endless(&m, &w, 8000 * MS);
		check_bound(&w, pct, lacks_ns(pct, w.n_lc));
		/* .. and no more, except for the time of controls. */
		if (!suspends) {
			assert_true(w.had_ns <=
				    8000 * MS * pct / 100 + PERIOD_NS +
					    8000 * MS / PERIOD_NS * w.n_lc * CONTROL_NS * 2);
			check_blackout(&m, &w, pct);
		}
		machine_end(&m);
	}
}

static void test_slices(void **state)
{
	minimum_is_kept(false);
}

static void test_suspends(void **state)
{
	minimum_is_kept(true);
}

/* LC that comes and goes; the time it leaves counts. */
static void test_comes_and_goes(void **state)
{
	static struct machine m;
	static struct watch w;

	rnd_state = SEED;
	for (int round = 0; round < 40; round++) {
		uint32_t pct = 1 + rnd(50);

		start(&m, &w, pct, false);
		for (uint32_t i = 0; i < w.n_lc; i++)
			machine_tell(&m, GP_EV_IDLE, LC + i);
		m.look = look;
		for (int k = 0; k < 1000; k++) {
			uint32_t i = LC + rnd(w.n_lc);

			machine_run(&m, rnd(12000) * US);
			machine_tell(&m, m.idle[i] ? GP_EV_BUSY : GP_EV_IDLE, i);
		}
		check_bound(&w, pct, lacks_ns(pct, w.n_lc));
		check_blackout(&m, &w, pct);
		machine_end(&m);
	}
}

/* LC at work half of the time is not disturbed for a minimum of 10 %. */
static void test_no_window_without_need(void **state)
{
	static struct machine m;
	static struct watch w;

	rnd_state = SEED;
	start(&m, &w, 10, false);
	for (uint32_t i = 1; i < w.n_lc; i++)
		machine_tell(&m, GP_EV_IDLE, LC + i);
	for (int k = 0; k < 2000; k++) {
		machine_tell(&m, GP_EV_BUSY, LC);
		machine_run(&m, 4 * MS);
		machine_tell(&m, GP_EV_IDLE, LC);
		machine_run(&m, 4 * MS);
	}
	for (uint32_t i = 0; i < w.n_lc; i++)
		assert_int_equal(m.longest_off_ns[LC + i], 0);
	machine_end(&m);
}

/*
 * Each of several BE tenants has its share of the minimum. The switch to it, once in each
 * window, is not part of it.
 */
static void shares_of_the_minimum(uint64_t switch_ns)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.be_min_pct = 10,
		.be_period_ns = PERIOD_NS,
		.switch_ns = switch_ns,
	};
	uint64_t windows = 0, all;
	static struct machine m;
	bool on;
	static struct watch w;

	memset(&w, 0, sizeof(w));
	machine_init(&m, &config);
	m.off_ns = m.on_ns = 400 * US;
	for (uint32_t i = 1; i <= 3; i++)
		machine_add_be(&m, i, 100, 0);
	machine_add(&m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_tell(&m, GP_EV_BUSY, LC);
	for (uint64_t before[4], had[4] = { 0 }, k = 0; k < 60; k++) {
		for (int step = 0; step < 10000; step++) {
			memcpy(before, m.ran_ns, sizeof(before));
			on = m.on[LC];
			machine_run(&m, 100 * US);
			windows += on && !m.on[LC];
			for (int i = 1; i <= 3 && !m.on[LC]; i++)
				had[i] += m.ran_ns[i] - before[i];
		}
		if (k < 59)
			continue;
		printf("10 %% of 60 s among three: %.3f %.3f %.3f s, %llu switches\n", had[1] / 1e9,
		       had[2] / 1e9, had[3] / 1e9, (unsigned long long)windows);
		all = had[1] + had[2] + had[3];
		assert_in_range(all - windows * switch_ns, 3 * 1990 * MS, 3 * 2200 * MS);
		for (int i = 1; i <= 3; i++)
			assert_in_range(had[i], all * 32 / 100, all * 35 / 100);
	}
	machine_end(&m);
}

static void test_shares_of_the_minimum(void **state)
{
	shares_of_the_minimum(1);
	shares_of_the_minimum(SWITCH_NS);
	shares_of_the_minimum(1 * MS);
}

/* Without IDLE events, the hardware's report shows that no window is needed. */
static void test_usage_spares_windows(void **state)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.be_min_pct = 10,
	};
	static struct machine m;

	for (int told = 0; told < 2; told++) {
		machine_init(&m, &config);
		machine_add_be(&m, 1, 100, 0);
		machine_add(&m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
		for (int k = 0; k < 200; k++) {
			machine_run(&m, 20 * MS);
			if (told)
				machine_usage(&m, 1, 10 * MS, 10 * MS);
		}
		assert_int_equal(m.longest_off_ns[LC] != 0, !told);
		machine_end(&m);
	}
}

/*
 * A minimum that is due may not be due after a usage report. The resident's share comes last,
 * and LC may be seen to have begun before it.
 */
static void test_all_usage_is_told_first(void **state)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.be_min_pct = 10,
	};
	static struct machine m;

	for (int be = 0; be < 2; be++) {
		machine_init(&m, &config);
		m.off_ns = m.on_ns = 400 * US;
		machine_add_be(&m, 1, 100, 0);
		machine_add(&m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
		machine_run(&m, 49 * MS);
		for (int k = 0; k < 20; k++) {
			/* Its timer is due, and the log is read before it fires. */
			m.d.now_ns += 2 * MS;
			machine_tell(&m, GP_EV_BUSY, LC);
			machine_usage(&m, LC, 20 * MS, 0);
			if (be)
				machine_usage(&m, 1, 25 * MS, 25 * MS);
			machine_run(&m, 48 * MS);
		}
		assert_int_equal(m.longest_off_ns[LC] != 0, !be);
		machine_end(&m);
	}
}

/*
 * Windows of 10 s beside endless LC, and BE tenants that wait for turns. @use: the log shows that
 * the tenant in a window uses it; @told: the log is reported at all.
 */
static uint32_t windows_of(uint32_t tenants, bool told, bool use(uint32_t tenant, uint64_t ns),
			   uint64_t ran_ns[])
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.be_min_pct = 10,
	};
	static struct machine m;
	uint32_t windows = 0;
	bool on = true;

	machine_init(&m, &config);
	m.off_ns = m.on_ns = 400 * US;
	for (uint32_t i = 1; i <= tenants; i++)
		machine_add_be(&m, i, 100, 0);
	machine_add(&m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
	machine_tell(&m, GP_EV_BUSY, LC);
	for (uint64_t ms = 1; ms <= 10000; ms++) {
		uint64_t before[M_TENANTS];

		memcpy(before, m.ran_ns, sizeof(before));
		machine_run(&m, MS);
		windows += on && !m.on[LC];
		on = m.on[LC];
		if (told)
			machine_usage_until(&m, LC, 100 * US, 0, m.d.now_ns);
		for (uint32_t i = 1; i <= tenants; i++) {
			uint64_t ran = m.ran_ns[i] - before[i];
			bool uses = !on && use(i, m.d.now_ns);

			ran_ns[i] += on ? 0 : ran;
			if (told && ran)
				machine_usage_until(&m, i, uses ? ran : 0, uses ? 0 : ran,
						    m.d.now_ns);
		}
	}
	machine_end(&m);
	return windows;
}

static bool always(uint32_t tenant, uint64_t ns)
{
	return true;
}

static bool never(uint32_t tenant, uint64_t ns)
{
	return false;
}

static bool first_never(uint32_t tenant, uint64_t ns)
{
	return tenant != 1;
}

static bool later(uint32_t tenant, uint64_t ns)
{
	return ns > 5000 * MS;
}

/* A tenant that only copies waits for turns, and has no use for a window. */
static void test_unused_windows(void **state)
{
	uint64_t ran_ns[4][M_TENANTS] = { 0 };
	uint32_t used = windows_of(1, true, always, ran_ns[0]);
	uint32_t unused = windows_of(1, true, never, ran_ns[1]);
	uint32_t later_used = windows_of(1, true, later, ran_ns[1]);
	uint32_t of_two = windows_of(2, true, first_never, ran_ns[2]);
	uint32_t of_eight = windows_of(8, true, never, ran_ns[1]);

	printf("windows in 10 s: %u, unused %u, used after 5 s %u; BE has %llu ms, beside an idle "
	       "tenant %llu; %u of eight\n",
	       used, unused, later_used, (unsigned long long)(ran_ns[0][1] / MS),
	       (unsigned long long)(ran_ns[2][2] / MS), of_eight);
	assert_in_range(used, 160, 200);
	assert_in_range(unused, 8, 14);
	/* Without reports it is not known. */
	assert_int_equal(windows_of(1, false, never, ran_ns[1]), used);
	/* The next window shows the use, and all come again. It comes within 32 periods. */
	assert_in_range(later_used, used / 2, used / 2 + 16);
	/* Eight have three each, and then together hardly more than one. */
	assert_in_range(of_eight, 24, 60);
	/* The other of two is not kept waiting for the windows. */
	assert_in_range(of_two, used * 9 / 10, used);
	assert_true(ran_ns[2][2] > ran_ns[0][1] * 85 / 100);
}

/*
 * LC is reported idle while it has the device now and then. The time that BE was assumed to
 * have is settled by a report, so its later time counts.
 */
static void test_what_was_told_is_over(void **state)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.be_min_pct = 10,
	};
	static struct machine m;

	for (int known = 0; known < 2; known++) {
		machine_init(&m, &config);
		m.off_ns = m.on_ns = 400 * US;
		machine_add_be(&m, 1, 100, 0);
		machine_add(&m, LC, (struct gp_class_request){ .cls = { GP_CLASS_LC } });
		for (int k = 0; k < 20; k++) {
			machine_tell(&m, GP_EV_IDLE, LC);
			machine_run(&m, 100 * MS);
			machine_usage_until(&m, 1, 60 * MS, 0, known ? m.d.now_ns : 0);
			machine_tell(&m, GP_EV_BUSY, LC);
			machine_run(&m, 49 * MS);
			machine_usage_until(&m, 1, 30 * MS, 0, known ? m.d.now_ns : 0);
			machine_run(&m, 2 * MS);
		}
		assert_int_equal(m.longest_off_ns[LC] != 0, !known);
		machine_end(&m);
	}
}

static void test_refused(void **state)
{
	static struct machine m;
	static struct watch w;

	rnd_state = SEED;
	start(&m, &w, 10, false);
	m.errors_left = 50;
	endless(&m, &w, 4000 * MS);
	check_blackout(&m, &w, 10);
	assert_true(w.had_ns > 4000 * MS * 5 / 100);
	machine_end(&m);
}

/* After a second without a step BE is owed 9/8 of a period's due, not a second's. */
static void test_debt_is_bounded(void **state)
{
	const uint64_t due_ns = PERIOD_NS * 5 * 9 / 8 / 95 + SWITCH_NS;
	static struct machine m;
	static struct watch w;

	rnd_state = SEED;
	start(&m, &w, 5, false);
	m.off_ns = m.on_ns = 0;
	for (uint32_t i = 0; i < w.n_lc; i++)
		machine_tell(&m, GP_EV_BUSY, LC + i);
	m.d.now_ns += 1000 * MS;
	m.armed_ns = 0;
	machine_tell(&m, GP_EV_TIMER, 0);
	machine_run(&m, 20 * MS);
	assert_in_range(m.longest_off_ns[LC], due_ns - 10 * US, due_ns + 10 * US);
	machine_end(&m);
}

/* Controls slower than configured: windows come no closer. */
static void test_slow(void **state)
{
	static struct machine m;
	static struct watch w;

	rnd_state = SEED;
	start(&m, &w, 10, false);
	m.off_ns = 12 * MS;
	endless(&m, &w, 4000 * MS);
	assert_true(w.gap_ns >= PERIOD_NS);
	assert_true(w.gap_ns < 2 * PERIOD_NS);
	machine_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_suspends),
		cmocka_unit_test(test_comes_and_goes),
		cmocka_unit_test(test_no_window_without_need),
		cmocka_unit_test(test_shares_of_the_minimum),
		cmocka_unit_test(test_usage_spares_windows),
		cmocka_unit_test(test_all_usage_is_told_first),
		cmocka_unit_test(test_what_was_told_is_over),
		cmocka_unit_test(test_unused_windows),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_debt_is_bounded),
		cmocka_unit_test(test_slow),
	};

	printf("seed %u\n", SEED);
	return gp_run_tests(tests);
}
