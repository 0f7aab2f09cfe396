// SPDX-License-Identifier: Apache-2.0
/*
 * test_sim_sched.c - the core drives the simulated device: dozens of BE
 * tenants, two LC ones, whole seconds of virtual time. Checked are shares,
 * the longest wait of any BE tenant, LC's latency, and what BE keeps.
 *
 * One instance, carried out by one thread, as a daemon would: while it waits
 * for a suspend, hints wait for it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"
#include "softgpu/sim_hal.h"
#include "tests/common/gp_test.h"

#define US 1000ull
#define MS 1000000ull
#define MAX_BE 32
#define MAX_LC 2
#define QUEUE 256
#define STEP_NS (10 * US)
#define QUANTUM_NS (50 * MS)
#define KERNEL_NS MS
#define ALONE_NS (550 * US + 10 * US)	/* start, five kernels, end */
#define MAX_SAMPLES 8192

struct lc {
	struct gp_sim_context *context;
	struct gp_hold *hold;
	uint64_t period_ns, due_ns, began_ns;
	bool hinted, hint_sent, begun, running;
	uint64_t sample[MAX_SAMPLES];
	size_t samples;
};

struct be {
	struct gp_sim_context *context;
	uint64_t done, last_ns, longest_ns;
	uint32_t weight;
};

struct world {
	struct gp_sim *sim;
	struct gp_device *dev;
	struct gp_sched *sched;
	struct gp_decisions out;
	struct gp_group_list groups[MAX_BE + MAX_LC + 1];
	struct gp_event queue[QUEUE];
	size_t queued;
	uint64_t timer_ns, hint_ahead_ns;
	struct be be[MAX_BE];
	struct lc lc[MAX_LC];
	size_t n_be, n_lc;
	uint64_t suspends, errors;
};

/* Tenants and their groups have the same ids: BE from 1, LC behind them. */
static uint32_t lc_id(const struct world *w, size_t i)
{
	return (uint32_t)(w->n_be + i + 1);
}

static void post(struct world *w, uint32_t type, uint32_t tenant, uint64_t at_ns)
{
	assert_true(w->queued < QUEUE);
	w->queue[w->queued++] = (struct gp_event){
		.type = type, .tenant = tenant, .at_ns = at_ns,
	};
}

/* ---- what goes on besides the GPU ------------------------------------------- */

static uint64_t lc_next(const struct lc *lc, uint64_t ahead_ns)
{
	if (lc->running)
		return UINT64_MAX;
	return lc->hinted && !lc->hint_sent ? lc->due_ns - ahead_ns : lc->due_ns;
}

static uint64_t agent_next(void *arg)
{
	struct world *w = arg;
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < w->n_lc; i++) {
		uint64_t at = lc_next(&w->lc[i], w->hint_ahead_ns);

		next = at < next ? at : next;
	}
	return next;
}

static void lc_launch(struct world *w, struct lc *lc, uint64_t now_ns)
{
	struct gp_model_method m = {
		.type = GP_METHOD_KERNEL, .blocks = 132, .block_ns = 110 * US,
	};

	for (int i = 0; i < 5; i++)
		assert_int_equal(gp_sim_submit(lc->context, 0, &m, NULL), 0);
	m = (struct gp_model_method){
		.type = GP_METHOD_FENCE,
		.cookie = 1000 + (uint64_t)(lc - w->lc),
	};
	assert_int_equal(gp_sim_submit(lc->context, 0, &m, NULL), 0);
	lc->running = true;
	lc->began_ns = now_ns;
}

static void agent_run(void *arg, uint64_t now_ns)
{
	struct world *w = arg;

	for (size_t i = 0; i < w->n_lc; i++) {
		struct lc *lc = &w->lc[i];

		if (lc_next(lc, w->hint_ahead_ns) > now_ns)
			continue;
		if (lc->hinted && !lc->hint_sent) {
			lc->hint_sent = true;
			post(w, GP_EV_HINT, lc_id(w, i), lc->due_ns);
			continue;
		}
		post(w, GP_EV_SEGMENT_BEGIN, lc_id(w, i), 0);
		lc_launch(w, lc, now_ns);
	}
}

static void submit_be(const struct be *be, uint64_t cookie)
{
	const struct gp_model_method m = {
		.type = GP_METHOD_KERNEL, .blocks = 1056,
		.block_ns = KERNEL_NS, .cookie = cookie,
	};

	assert_int_equal(gp_sim_submit(be->context, 0, &m, NULL), 0);
}

static void agent_event(void *arg, const struct gp_model_event *ev)
{
	struct world *w = arg;

	if (ev->type != GP_MODEL_DONE)
		return;
	if (ev->cookie >= 1 && ev->cookie <= w->n_be) {
		struct be *be = &w->be[ev->cookie - 1];

		if (ev->time_ns - be->last_ns > be->longest_ns)
			be->longest_ns = ev->time_ns - be->last_ns;
		be->last_ns = ev->time_ns;
		be->done++;
		submit_be(be, ev->cookie);
	} else if (ev->cookie >= 1000 && ev->cookie < 1000 + w->n_lc) {
		struct lc *lc = &w->lc[ev->cookie - 1000];

		assert_true(lc->samples < MAX_SAMPLES);
		lc->sample[lc->samples++] = ev->time_ns - lc->began_ns;
		lc->running = false;
		lc->hint_sent = false;
		while (lc->due_ns < ev->time_ns + w->hint_ahead_ns)
			lc->due_ns += lc->period_ns;
		post(w, GP_EV_SEGMENT_END, lc_id(w, ev->cookie - 1000), 0);
	}
}

/* ---- the driver ---------------------------------------------------------------- */

static struct gp_group *compute_group(struct world *w, uint32_t id)
{
	struct gp_group_list *list = &w->groups[id];

	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->kind == GP_GROUP_COMPUTE)
			return list->group[i];
	return NULL;
}

static int carry_out(struct world *w, const struct gp_decision *d)
{
	const struct gp_hal_ops *ops = w->dev->ops;
	struct gp_group *group = d->group ? compute_group(w, d->group) : NULL;
	struct gp_hold *hold = d->tenant > w->n_be ?
			       w->lc[d->tenant - w->n_be - 1].hold : NULL;

	switch (d->type) {
	case GP_DO_SET_SLICE:
		return ops->set_slice(group, d->slice_us ? d->slice_us : 2048);
	case GP_DO_SUSPEND:
		w->suspends++;
		return ops->suspend(&group, 1);
	case GP_DO_RESUME:
		return ops->resume(&group, 1);
	case GP_DO_HOLD:
		return ops->hold(hold, d->limit_ns);
	case GP_DO_RELEASE:
		return ops->release(hold);
	default:
		fail_msg("decision %u", d->type);
		return -EINVAL;
	}
}

/* Carrying out takes time, in which more events come: they wait in line. */
static void step(struct world *w, const struct gp_event *ev)
{
	struct gp_decisions todo;

	assert_int_equal(gp_sched_step(w->sched, gp_sim_now(w->sim), ev, &w->out), 0);
	todo = w->out;
	for (size_t i = 0; i < todo.count; i++) {
		const struct gp_decision *d = &todo.d[i];
		struct gp_event outcome = { .type = GP_EV_OUTCOME };
		uint64_t start = gp_sim_now(w->sim);

		if (d->type == GP_DO_ARM_TIMER) {
			w->timer_ns = d->at_ns;
			continue;
		}
		outcome.decision = d->id;
		outcome.error = carry_out(w, d);
		outcome.took_ns = gp_sim_now(w->sim) - start;
		w->errors += outcome.error != 0;
		assert_true(w->queued < QUEUE);
		w->queue[w->queued++] = outcome;
	}
}

static void tell(struct world *w)
{
	struct gp_event ev;

	while (w->queued) {
		ev = w->queue[0];
		w->queued--;
		memmove(w->queue, w->queue + 1, w->queued * sizeof(ev));
		step(w, &ev);
	}
	if (!w->timer_ns || gp_sim_now(w->sim) < w->timer_ns)
		return;
	w->timer_ns = 0;
	ev = (struct gp_event){ .type = GP_EV_TIMER };
	step(w, &ev);
}

static void run(struct world *w, uint64_t ns)
{
	uint64_t end = gp_sim_now(w->sim) + ns;

	while (gp_sim_now(w->sim) < end) {
		tell(w);
		gp_sim_advance(w->sim, gp_sim_now(w->sim) + STEP_NS);
	}
}

/* ---- set up ---------------------------------------------------------------------- */

static void join(struct world *w, uint32_t id, struct gp_sim_context **context,
		 struct gp_class_spec spec)
{
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN, .tenant = id,
			       .spec = spec };

	*context = gp_sim_context_create(w->sim, 1000 + (pid_t)id, 1);
	assert_non_null(*context);
	assert_int_equal(w->dev->ops->groups(w->dev, 1000 + (pid_t)id,
					     &w->groups[id]), 0);
	step(w, &ev);
	ev = (struct gp_event){ .type = GP_EV_GROUP_APPEAR, .tenant = id, .group = id };
	step(w, &ev);
}

static void add_be(struct world *w, uint32_t id, uint32_t weight)
{
	struct be *be = &w->be[id - 1];

	be->weight = weight;
	join(w, id, &be->context, (struct gp_class_spec){
		.cls = GP_TENANT_BE, .weight = weight });
	be->last_ns = gp_sim_now(w->sim);
	for (int i = 0; i < 2; i++)
		submit_be(be, id);
}

static void add_lc(struct world *w, size_t i, bool hinted)
{
	struct lc *lc = &w->lc[i];

	join(w, lc_id(w, i), &lc->context, (struct gp_class_spec){
		.cls = GP_TENANT_LC, .level = (uint32_t)i });
	assert_int_equal(w->dev->ops->hold_create(w->dev, lc->context, &lc->hold), 0);
	lc->hinted = hinted;
	lc->period_ns = (5000 + 2137 * i) * US;
	lc->due_ns = gp_sim_now(w->sim) + lc->period_ns;
}

static struct world *make(size_t n_be, size_t n_lc, bool hinted)
{
	struct gp_sched_config config = {
		.rotate = 1, .slice_preempts = 1, .quantum_ns = QUANTUM_NS,
	};
	struct gp_model_config model;
	struct gp_device_id id;
	struct world *w = calloc(1, sizeof(*w));
	struct gp_sim_agent agent = { w, agent_next, agent_run, agent_event };

	assert_non_null(w);
	w->n_be = n_be;
	w->hint_ahead_ns = 300 * US;
	gp_model_config_h200(&model);
	w->sim = gp_sim_create(&model);
	assert_non_null(w->sim);
	gp_sim_id(w->sim, &id);
	assert_int_equal(gp_sim_timeslice_ops.open(&id, &w->dev), 0);
	w->sched = calloc(1, gp_sched_size());
	assert_non_null(w->sched);
	assert_int_equal(gp_sched_init(w->sched, &config), 0);
	gp_sim_set_agent(w->sim, &agent);
	for (uint32_t i = 1; i <= n_be; i++)
		add_be(w, i, i == 1 ? 200 : 100);
	for (size_t i = 0; i < n_lc; i++) {
		add_lc(w, i, hinted);
		w->n_lc++;
	}
	return w;
}

static void destroy(struct world *w)
{
	for (size_t i = 0; i < w->n_lc; i++)
		w->dev->ops->hold_destroy(w->lc[i].hold);
	for (size_t i = 0; i < MAX_BE + MAX_LC + 1; i++)
		if (w->groups[i].count)
			gp_group_list_put(&w->groups[i]);
	w->dev->ops->close(w->dev);
	gp_sim_destroy(w->sim);
	free(w->sched);
	free(w);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t quantile(struct lc *lc, unsigned int pct)
{
	assert_true(lc->samples > 100);
	qsort(lc->sample, lc->samples, sizeof(lc->sample[0]), compare);
	return lc->sample[lc->samples * pct / 100];
}

/* ---- what must be true -------------------------------------------------------------- */

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
				 (unsigned long long)be->done,
				 (unsigned long long)fair);
		assert_true(be->longest_ns < 2 * (w->n_be + 2) * QUANTUM_NS);
		assert_true(be->last_ns + 2 * (w->n_be + 2) * QUANTUM_NS > ns);
	}
}

static uint64_t be_total(const struct world *w)
{
	uint64_t total = 0;

	for (size_t i = 0; i < w->n_be; i++)
		total += w->be[i].done;
	return total;
}

static void many_be_share(void **state)
{
	struct world *w = make(MAX_BE, 0, false);

	run(w, 12000 * MS);
	check_shares(w, gp_sim_now(w->sim));
	assert_int_equal(w->errors, 0);
	assert_true(w->suspends > 150);
	printf("32 BE: %llu kernels in 12 s\n", (unsigned long long)be_total(w));
	assert_true(be_total(w) >= 12000 * 95 / 100);
	destroy(w);
}

static void hinted_lc_does_not_wait(void **state)
{
	struct world *w = make(16, 2, true);
	uint64_t p50[MAX_LC] = { 0 }, p99[MAX_LC] = { 0 }, keeps;

	run(w, 10000 * MS);
	for (size_t i = 0; i < w->n_lc; i++) {
		p50[i] = quantile(&w->lc[i], 50);
		p99[i] = quantile(&w->lc[i], 99);
		printf("LC %zu hinted: p50 %llu p99 %llu of %zu; alone %llu ns\n",
		       i, (unsigned long long)p50[i], (unsigned long long)p99[i],
		       w->lc[i].samples, ALONE_NS);
	}
	printf("16 BE beside it: %llu kernels in 10 s\n",
	       (unsigned long long)be_total(w));
	assert_true(p50[0] <= ALONE_NS * 105 / 100);
	assert_true(p50[1] <= ALONE_NS * 105 / 100);
	/* Two requests may meet: one waits for the other, not for BE. */
	assert_true(p99[0] <= 2 * ALONE_NS + 400 * US);
	/* 200/s and 140/s, each its GPU time, lead and one switch. */
	keeps = 10000 - 3400 * (560 + 300 + 170) / 1000;
	assert_true(be_total(w) >= keeps * 90 / 100);
	check_shares(w, gp_sim_now(w->sim));
	assert_int_equal(w->errors, 0);
	destroy(w);
}

static void unhinted_lc_waits_for_one_switch(void **state)
{
	struct world *w = make(16, 1, false);
	uint64_t p50, p99;

	run(w, 10000 * MS);
	p50 = quantile(&w->lc[0], 50);
	p99 = quantile(&w->lc[0], 99);
	printf("LC not hinted: p50 %llu p99 %llu, alone %llu ns\n",
	       (unsigned long long)p50, (unsigned long long)p99, ALONE_NS);
	assert_true(p50 <= ALONE_NS + 190 * US);
	assert_true(p99 <= ALONE_NS + 500 * US);
	check_shares(w, gp_sim_now(w->sim));
	assert_int_equal(w->errors, 0);
	destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_be_share),
		cmocka_unit_test(hinted_lc_does_not_wait),
		cmocka_unit_test(unhinted_lc_waits_for_one_switch),
	};

	return gp_run_tests(tests);
}
