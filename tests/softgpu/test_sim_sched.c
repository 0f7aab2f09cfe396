// SPDX-License-Identifier: Apache-2.0
/*
 * Dozens of BE tenants, two LC ones, whole seconds of virtual time: shares, the longest wait
 * of any BE tenant, LC's latency, and BE's remaining share.
 */
#include "tests/softgpu/test_sim_sched.h"

#define KERNEL_NS MS
#define ALONE_NS (550 * US + 10 * US) /* start, five kernels, end */
#define LEARNING 10		      /* requests */

/* The first has twice the weight. */
static struct world *crowd(size_t n_be, size_t n_lc, bool hinted)
{
	const struct gp_sched_config config = {
		.rotate = 1,
		.slice_preempts = 1,
		.quantum_ns = QUANTUM_NS,
	};
	struct gp_model_config model;
	struct world *w;

	gp_model_config_h200(&model);
	w = make(&config, &model);
	for (size_t i = 0; i < n_be; i++)
		add_be(w, i ? 100 : 200, 0, KERNEL_NS);
	for (uint32_t i = 0; i < n_lc; i++)
		add_lc(w, &(struct lc){ .spec.cls.value = i,
					.hinted = hinted,
					.segments = true,
					.kernels = 5,
					.kernel_ns = 110 * US,
					.period_ns = (5000 + 2137 * i) * US });
	return w;
}

/* ---- checks -------------------------------------------------------------------------- */

/* Each has its share by weight, to a turn; none waits longer than a round. */
static void check_shares(const struct world *w, uint64_t ns)
{
	uint64_t total = 0, weights = 0, turns;

	for (size_t i = 0; i < w->n_be; i++) {
		total += w->be[i].done;
		weights += w->be[i].weight;
	}
	turns = QUANTUM_NS / KERNEL_NS;
	for (size_t i = 0; i < w->n_be; i++) {
		const struct be *be = &w->be[i];
		uint64_t fair = total * be->weight / weights;

		if (be->done + 3 * turns < fair || be->done > fair + 3 * turns)
			fail_msg("tenant %zu: %llu kernels, fair %llu", i + 1,
				 (unsigned long long)be->done, (unsigned long long)fair);
		assert_true(be->longest_ns < 2 * (w->n_be + 2) * QUANTUM_NS);
		assert_true(be->last_ns + 2 * (w->n_be + 2) * QUANTUM_NS > ns);
	}
}

static void many_be_share(void **state)
{
	struct world *w = crowd(32, 0, false);

	run(w, 12000 * MS);
	check_shares(w, gp_sim_now(w->sim));
	assert_int_equal(carried(w).failed, 0);
	assert_true(carried(w).suspends > 150);
	printf("32 BE: %llu kernels in 12 s\n", (unsigned long long)be_total(w));
	assert_true(be_total(w) >= 12000 * 95 / 100);
	destroy(w);
}

static void hinted_lc_does_not_wait(void **state)
{
	struct world *w = crowd(16, 2, true);
	uint64_t p50[MAX_LC] = { 0 }, p99[MAX_LC] = { 0 }, keeps;

	run(w, 10000 * MS);
	for (size_t i = 0; i < w->n_lc; i++) {
		p50[i] = quantile(&w->lc[i], 50);
		p99[i] = quantile(&w->lc[i], 99);
		printf("LC %zu hinted: p50 %llu p99 %llu of %zu; alone %llu ns\n", i,
		       (unsigned long long)p50[i], (unsigned long long)p99[i], w->lc[i].samples,
		       ALONE_NS);
	}
	printf("16 BE beside it: %llu kernels in 10 s\n", (unsigned long long)be_total(w));
	assert_true(p50[0] <= ALONE_NS * 105 / 100);
	assert_true(p50[1] <= ALONE_NS * 105 / 100);
	/* Two requests may meet: one waits for the other, not for BE. */
	assert_true(p99[0] <= 2 * ALONE_NS + 400 * US);
	/* 200/s and 140/s, each its GPU time, lead and one switch. */
	keeps = 10000 - 3400 * (560 + 300 + 170) / 1000;
	assert_true(be_total(w) >= keeps * 90 / 100);
	check_shares(w, gp_sim_now(w->sim));
	assert_int_equal(carried(w).failed, 0);
	destroy(w);
}

/* Holds during a change of turns, which is 800 us in 50 ms: of 2000 some 30. */
static void a_hold_waits_for_no_control(void **state)
{
	struct world *w = crowd(4, 1, true);
	uint64_t slowest_ns = 0;

	run(w, 10000 * MS);
	/* The first requests determine the length of a switch. */
	for (size_t i = LEARNING; i < w->lc[0].samples; i++)
		if (w->lc[0].sample[i] > slowest_ns)
			slowest_ns = w->lc[0].sample[i];
	printf("LC hinted beside 4 BE: slowest %llu of %zu, alone %llu ns\n",
	       (unsigned long long)slowest_ns, w->lc[0].samples, ALONE_NS);
	assert_true(carried(w).suspends > 150);
	assert_true(slowest_ns <= ALONE_NS + 30 * US);
	destroy(w);
}

static void unhinted_lc_waits_for_one_switch(void **state)
{
	struct world *w = crowd(16, 1, false);
	uint64_t p50, p99;

	run(w, 10000 * MS);
	p50 = quantile(&w->lc[0], 50);
	p99 = quantile(&w->lc[0], 99);
	printf("LC not hinted: p50 %llu p99 %llu, alone %llu ns\n", (unsigned long long)p50,
	       (unsigned long long)p99, ALONE_NS);
	assert_true(p50 <= ALONE_NS + 190 * US);
	assert_true(p99 <= ALONE_NS + 500 * US);
	check_shares(w, gp_sim_now(w->sim));
	assert_int_equal(carried(w).failed, 0);
	destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_be_share),
		cmocka_unit_test(hinted_lc_does_not_wait),
		cmocka_unit_test(a_hold_waits_for_no_control),
		cmocka_unit_test(unhinted_lc_waits_for_one_switch),
	};

	return gp_run_tests(tests);
}
