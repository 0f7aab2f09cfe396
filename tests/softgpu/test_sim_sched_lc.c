// SPDX-License-Identifier: Apache-2.0
/*
 * Several LC tenants on the simulated device, and best-effort beside them: levels and their
 * preemption, deadlines, and best-effort's share beside endless LC.
 */
#include "tests/softgpu/test_sim_sched.h"

#define ALONE_NS (550 * US + 10 * US) /* start, five kernels, end */

static struct world *world_of(struct gp_sched_config config, uint32_t kind)
{
	struct gp_model_config model;

	gp_model_config_h200(&model);
	model.kind = kind;
	model.slots = 4;
	config.rotate = 1;
	config.slice_preempts = kind == GP_MODEL_TIMESLICE;
	config.slots = kind == GP_MODEL_SLOTS ? model.slots : 0;
	return make(&config, &model);
}

/* ---- levels ------------------------------------------------------------------- */

static const struct lc level_0 = {
	.kernels = 5,
	.kernel_ns = 110 * US,
	.period_ns = 5 * MS,
};
static const struct lc level_1 = {
	.spec.cls.value = 1,
	.kernels = 10,
	.kernel_ns = MS,
	.period_ns = 40 * MS,
};

struct figures {
	uint64_t p50[2], p99[2], max1;
	uint64_t preempts;
};

static struct figures two_levels(uint32_t cut, bool hinted, bool beside)
{
	struct world *w =
		world_of((struct gp_sched_config){ .lc_preempt = cut }, GP_MODEL_TIMESLICE);
	struct lc lc = level_0;
	struct figures f = { .p50 = { 0 } };

	w->hint_ahead_ns = MS;
	for (int i = 0; i < 4; i++)
		add_be(w, 100, 0, MS);
	lc.hinted = lc.segments = hinted;
	add_lc(w, &lc);
	if (beside)
		add_lc(w, &level_1);
	run(w, 10000 * MS);
	for (size_t i = 0; i < w->n_lc; i++) {
		f.p50[i] = quantile(&w->lc[i], 50);
		f.p99[i] = quantile(&w->lc[i], 99);
	}
	if (beside)
		f.max1 = w->lc[1].sample[w->lc[1].samples - 1];
	f.preempts = carried(w).preempts;
	assert_int_equal(carried(w).failed, 0);
	destroy(w);
	printf("%s, %s: level 0 p50 %llu p99 %llu, level 1 p50 %llu max %llu us, "
	       "%llu preempts\n",
	       hinted ? "hinted" : "not hinted",
	       !beside			? "level 1 not there" :
	       cut == GP_LC_CUT_NONE	? "not cut" :
	       cut == GP_LC_CUT_PREEMPT ? "preempted" :
					  "suspended",
	       (unsigned long long)f.p50[0] / 1000, (unsigned long long)f.p99[0] / 1000,
	       (unsigned long long)f.p50[1] / 1000, (unsigned long long)f.max1 / 1000,
	       (unsigned long long)f.preempts);
	return f;
}

static void a_level_cuts_another(void **state)
{
	/* Two or three requests of level 0, and a switch to each and back. */
	const uint64_t level_1_ns = 10 * MS + 3 * (ALONE_NS + 2 * 170 * US);
	struct figures f = two_levels(GP_LC_CUT_NONE, false, true);

	assert_true(f.p99[0] > 5 * MS);
	for (uint32_t cut = GP_LC_CUT_PREEMPT; cut <= GP_LC_CUT_SUSPEND; cut++) {
		f = two_levels(cut, false, true);
		assert_true(f.p99[0] <=
			    ALONE_NS + 700 * US + (cut == GP_LC_CUT_SUSPEND ? 150 * US : 0));
		assert_true(f.max1 <= level_1_ns + MS + (cut == GP_LC_CUT_SUSPEND ? 3 * MS : 0));
		assert_int_equal(f.preempts != 0, cut == GP_LC_CUT_PREEMPT);
	}
}

static void a_hint_cuts_in_time(void **state)
{
	struct figures alone = two_levels(GP_LC_CUT_PREEMPT, true, false);
	struct figures f = two_levels(GP_LC_CUT_PREEMPT, true, true);

	assert_true(f.p50[0] <= alone.p50[0] * 105 / 100);
	assert_true(f.p99[0] <= alone.p99[0] * 105 / 100 + 60 * US);
}

/* Three of one level compete: neither of the two keeps the device for long. */
static void one_cuts_several(void **state)
{
	struct world *w = world_of((struct gp_sched_config){ .lc_preempt = GP_LC_CUT_PREEMPT },
				   GP_MODEL_TIMESLICE);
	struct lc other = level_1;

	add_be(w, 100, 0, MS);
	add_lc(w, &other);
	other.due_ns = 40 * MS;
	add_lc(w, &other);
	add_lc(w, &level_0);
	run(w, 10000 * MS);
	printf("beside two of level 1: p99 %llu us\n",
	       (unsigned long long)quantile(&w->lc[2], 99) / 1000);
	assert_true(quantile(&w->lc[2], 99) <= ALONE_NS + 1700 * US);
	destroy(w);
}

/* ---- deadlines ------------------------------------------------------------------ */

static void deadlines_hold(void **state)
{
	static const struct {
		uint32_t kernels;
		uint64_t period_ns;
	} each[] = { { 2, 10 * MS }, { 4, 17 * MS }, { 7, 29 * MS } };
	struct world *w = world_of((struct gp_sched_config){ .lc_preempt = GP_LC_CUT_PREEMPT,
							     .lc_policy = &gp_policy_edf,
							     .lc_switch_ns = 350 * US },
				   GP_MODEL_TIMESLICE);
	struct gp_sched_admission a;
	struct gp_class_request fourth = { .cls = { GP_CLASS_LC },
					   .runtime_ns = 3 * MS,
					   .deadline_ns = 10 * MS };

	for (int i = 0; i < 4; i++)
		add_be(w, 100, 0, MS);
	for (size_t i = 0; i < 3; i++) {
		struct lc lc = { .segments = true,
				 .kernels = each[i].kernels,
				 .kernel_ns = MS,
				 .period_ns = each[i].period_ns };

		lc.spec.cls.cls = GP_CLASS_LC;
		lc.spec.runtime_ns = lc.kernels * MS + 20 * US;
		lc.spec.deadline_ns = lc.spec.period_ns = lc.period_ns;
		assert_int_equal(
			gp_sched_admit(gp_sim_sched_core(w->host), lc_id(w, i), &lc.spec, &a), 0);
		add_lc(w, &lc);
	}
	assert_int_equal(gp_sched_admit(gp_sim_sched_core(w->host), 60, &fourth, &a), -ENOSPC);
	run(w, 60000 * MS);
	for (size_t i = 0; i < 3; i++) {
		struct lc *lc = &w->lc[i];
		uint64_t worst;

		quantile(lc, 50);
		worst = lc->sample[lc->samples - 1];
		printf("edf, deadline %llu ms: longest of %zu %llu us\n",
		       (unsigned long long)(lc->period_ns / MS), lc->samples,
		       (unsigned long long)worst / 1000);
		assert_true(worst <= lc->period_ns);
	}
	printf("load %.3f, %llu best-effort kernels in 60 s\n", (double)a.load_ppm / 1e6,
	       (unsigned long long)be_total(w));
	assert_int_equal(carried(w).failed, 0);
	destroy(w);
}

/* ---- the minimum ---------------------------------------------------------------- */

static void minimum_of(uint32_t kind)
{
	struct world *w = world_of(
		(struct gp_sched_config){ .be_min_pct = 5, .hold_limit_ns = 60000 * MS }, kind);
	uint64_t used[2], lc;

	for (int i = 0; i < 2; i++)
		add_be(w, 100, 0, MS);
	/* On slots a segment suspends best-effort. */
	add_lc(w, &(struct lc){ .endless = true,
				.segments = kind == GP_MODEL_SLOTS,
				.kernels = 5,
				.kernel_ns = MS,
				.period_ns = 5 * MS });
	run(w, 30000 * MS);
	for (uint32_t i = 0; i < 2; i++)
		used[i] = gp_sim_sched_used(w->host, i + 1);
	lc = gp_sim_sched_used(w->host, 3);
	printf("be_min_pct 5, %s: %.4f %.4f, LC %.4f of 30 s\n",
	       kind == GP_MODEL_SLOTS ? "slots" : "slices", (double)used[0] / 3e10,
	       (double)used[1] / 3e10, (double)lc / 3e10);
	assert_true(used[0] + used[1] >= 30000 * MS * 49 / 1000);
	assert_true(used[0] * 10 > used[1] * 8 && used[1] * 10 > used[0] * 8);
	assert_true(lc >= 30000 * MS * 88 / 100);
	assert_int_equal(carried(w).failed, 0);
	destroy(w);
}

static void best_effort_keeps_its_minimum(void **state)
{
	minimum_of(GP_MODEL_TIMESLICE);
	minimum_of(GP_MODEL_SLOTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_level_cuts_another),
		cmocka_unit_test(a_hint_cuts_in_time),
		cmocka_unit_test(one_cuts_several),
		cmocka_unit_test(deadlines_hold),
		cmocka_unit_test(best_effort_keeps_its_minimum),
	};

	return gp_run_tests(tests);
}
