/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_sched.h - the core drives the simulated device. One instance,
 * carried out by one thread, as a daemon would: while it waits for a suspend,
 * hints wait for it.
 */
#ifndef GP_TEST_SIM_SCHED_H
#define GP_TEST_SIM_SCHED_H

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
#define MAX_BE 64
#define MAX_LC 3
#define QUEUE 1024
#define QUANTUM_NS (50 * MS)
#define MAX_SAMPLES 16384
#define LC_COOKIE 1000

/* LC: requests of @kernels kernels. */
struct lc {
	struct gp_sim_context *context;
	struct gp_hold *hold;
	struct gp_class_spec spec;
	bool hinted;			/* says 300 us ahead that work comes */
	bool segments;			/* says SEGMENT_*, else BUSY and IDLE */
	bool silent;			/* says nothing at all */
	bool endless;			/* the next request waits behind this one */
	uint32_t kernels;
	uint64_t kernel_ns, period_ns;

	uint64_t due_ns, began_ns;
	bool hint_sent, running;
	uint64_t sample[MAX_SAMPLES];
	size_t samples;
};

struct be {
	struct gp_sim_context *context;
	uint64_t kernel_ns, done, last_ns, longest_ns;
	uint64_t told_ns;		/* usage when it was last reported */
	uint64_t taken_ns;		/* by LC, while it could have run, since */
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
	uint64_t report_ns, next_report_ns;	/* GP_EV_USAGE so often; 0: never */
	uint64_t lc_seen_ns;
	uint32_t on;			/* the BE group resumed last */
	struct be be[MAX_BE];
	struct lc lc[MAX_LC];
	size_t n_be, n_lc;
	bool measures;			/* GP_EV_SWITCH_MEASURED */
	uint64_t steps, suspends, preempts, errors;
};

/* Tenants and their groups have the same ids: BE from 1, LC behind them. */
static inline uint32_t lc_id(const struct world *w, size_t i)
{
	return (uint32_t)(w->n_be + i + 1);
}

static inline void post_event(struct world *w, const struct gp_event *ev)
{
	assert_true(w->queued < QUEUE);
	w->queue[w->queued++] = *ev;
	gp_sim_stop(w->sim);
}

static inline void post(struct world *w, uint32_t type, uint32_t tenant,
			uint64_t at_ns)
{
	const struct gp_event ev = {
		.type = type, .tenant = tenant, .at_ns = at_ns,
	};

	post_event(w, &ev);
}

/* ---- what goes on besides the GPU ------------------------------------------- */

static inline uint64_t lc_next(const struct lc *lc, uint64_t ahead_ns)
{
	if (lc->running || !lc->kernels)
		return UINT64_MAX;
	return lc->hinted && !lc->hint_sent ? lc->due_ns - ahead_ns : lc->due_ns;
}

static inline uint64_t agent_next(void *arg)
{
	struct world *w = arg;
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < w->n_lc; i++) {
		uint64_t at = lc_next(&w->lc[i], w->hint_ahead_ns);

		next = at < next ? at : next;
	}
	return next;
}

static inline void lc_request(struct world *w, struct lc *lc)
{
	struct gp_model_method m = {
		.type = GP_METHOD_KERNEL, .blocks = 132, .block_ns = lc->kernel_ns,
	};

	for (uint32_t i = 0; i < lc->kernels; i++)
		assert_int_equal(gp_sim_submit(lc->context, 0, &m, NULL), 0);
	m = (struct gp_model_method){
		.type = GP_METHOD_FENCE,
		.cookie = LC_COOKIE + (uint64_t)(lc - w->lc),
	};
	assert_int_equal(gp_sim_submit(lc->context, 0, &m, NULL), 0);
}

static inline void lc_launch(struct world *w, struct lc *lc, uint64_t now_ns)
{
	lc_request(w, lc);
	if (lc->endless)
		lc_request(w, lc);
	lc->running = true;
	lc->began_ns = now_ns;
}

static inline void agent_run(void *arg, uint64_t now_ns)
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
		if (!lc->silent)
			post(w, lc->segments ? GP_EV_SEGMENT_BEGIN : GP_EV_BUSY,
			     lc_id(w, i), 0);
		lc_launch(w, lc, now_ns);
	}
}

static inline void submit_be(const struct be *be, uint64_t cookie)
{
	const struct gp_model_method m = {
		.type = GP_METHOD_KERNEL, .blocks = 1056,
		.block_ns = be->kernel_ns, .cookie = cookie,
	};

	assert_int_equal(gp_sim_submit(be->context, 0, &m, NULL), 0);
}

static inline void lc_done(struct world *w, struct lc *lc, uint64_t now_ns)
{
	uint32_t id = lc_id(w, (size_t)(lc - w->lc));

	assert_true(lc->samples < MAX_SAMPLES);
	lc->sample[lc->samples++] = now_ns - lc->began_ns;
	if (lc->endless) {
		lc->began_ns = now_ns;
		lc_request(w, lc);
		return;
	}
	lc->running = false;
	lc->hint_sent = false;
	while (lc->due_ns < now_ns + w->hint_ahead_ns)
		lc->due_ns += lc->period_ns;
	if (!lc->silent)
		post(w, lc->segments ? GP_EV_SEGMENT_END : GP_EV_IDLE, id, 0);
}

static inline void agent_event(void *arg, const struct gp_model_event *ev)
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
	} else if (ev->cookie >= LC_COOKIE && ev->cookie < LC_COOKIE + w->n_lc) {
		lc_done(w, &w->lc[ev->cookie - LC_COOKIE], ev->time_ns);
	}
}

/* ---- the driver ---------------------------------------------------------------- */

static inline struct gp_group *compute_group(struct world *w, uint32_t id)
{
	struct gp_group_list *list = &w->groups[id];

	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->kind == GP_GROUP_COMPUTE)
			return list->group[i];
	return NULL;
}

static inline uint64_t used_ns(struct world *w, uint32_t id)
{
	uint64_t ns = 0;

	assert_int_equal(w->dev->ops->usage(compute_group(w, id), &ns), 0);
	return ns;
}

/* What LC used since this was last asked is taken from who is on. */
static inline void note_taken(struct world *w)
{
	uint64_t lc = 0;

	for (size_t i = 0; i < w->n_lc; i++)
		lc += used_ns(w, lc_id(w, i));
	if (w->on)
		w->be[w->on - 1].taken_ns += lc - w->lc_seen_ns;
	w->lc_seen_ns = lc;
}

/* What the hold's switch took is learned from, as a client does. */
static inline int release(struct world *w, uint32_t tenant, struct gp_hold *hold)
{
	const struct gp_hal_ops *ops = w->dev->ops;
	struct gp_hold_stat stat;
	int err = ops->release(hold);

	if (w->measures && !err && !ops->hold_stat(hold, &stat) && stat.switch_ns) {
		const struct gp_event ev = {
			.type = GP_EV_SWITCH_MEASURED, .tenant = tenant,
			.took_ns = stat.switch_ns };

		post_event(w, &ev);
	}
	return err;
}

static inline int carry_out(struct world *w, const struct gp_decision *d)
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
		return release(w, d->tenant, hold);
	case GP_DO_PREEMPT:
		w->preempts++;
		return ops->preempt(group);
	default:
		fail_msg("decision %u", d->type);
		return -EINVAL;
	}
}

static inline int execute(struct world *w, const struct gp_decision *d)
{
	bool be = d->group && d->group <= w->n_be;
	int err;

	if (be && d->type == GP_DO_RESUME) {
		note_taken(w);
		w->on = d->group;
	}
	err = carry_out(w, d);
	if (be && d->type == GP_DO_SUSPEND && w->on == d->group) {
		note_taken(w);
		w->on = 0;
	}
	return err;
}

/* Carrying out takes time, in which more events come: they wait in line. */
static inline void step(struct world *w, const struct gp_event *ev)
{
	struct gp_decisions todo;

	w->steps++;
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
		outcome.error = execute(w, d);
		outcome.took_ns = gp_sim_now(w->sim) - start;
		w->errors += outcome.error != 0;
		post_event(w, &outcome);
	}
}

/* What the hardware says of each BE tenant. */
static inline void report(struct world *w)
{
	note_taken(w);
	for (uint32_t i = 0; i < w->n_be; i++) {
		struct be *be = &w->be[i];
		uint64_t used = used_ns(w, i + 1);
		const struct gp_event ev = {
			.type = GP_EV_USAGE, .tenant = i + 1,
			.took_ns = used - be->told_ns, .taken_ns = be->taken_ns,
		};

		be->told_ns = used;
		be->taken_ns = 0;
		post_event(w, &ev);
	}
}

static inline void tell(struct world *w)
{
	struct gp_event ev;

	if (w->report_ns && gp_sim_now(w->sim) >= w->next_report_ns) {
		w->next_report_ns += w->report_ns;
		report(w);
	}
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

static inline void run(struct world *w, uint64_t ns)
{
	uint64_t end = gp_sim_now(w->sim) + ns;

	while (gp_sim_now(w->sim) < end) {
		uint64_t to = end;

		tell(w);
		if (w->timer_ns && w->timer_ns < to)
			to = w->timer_ns;
		if (w->report_ns && w->next_report_ns < to)
			to = w->next_report_ns;
		if (!w->queued && to > gp_sim_now(w->sim))
			gp_sim_advance(w->sim, to);
	}
}

/* ---- set up ---------------------------------------------------------------------- */

static inline void join(struct world *w, uint32_t id, struct gp_sim_context **context,
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

static inline void add_be(struct world *w, uint32_t weight, uint32_t cap_pct,
			  uint64_t kernel_ns)
{
	struct be *be = &w->be[w->n_be++];
	uint32_t id = (uint32_t)w->n_be;

	be->weight = weight;
	be->kernel_ns = kernel_ns;
	join(w, id, &be->context, (struct gp_class_spec){
		.cls = GP_TENANT_BE, .weight = weight, .cap_pct = cap_pct });
	be->last_ns = gp_sim_now(w->sim);
	for (int i = 0; i < 2; i++)
		submit_be(be, id);
}

/* After all BE. */
static inline void add_lc(struct world *w, const struct lc *what)
{
	struct lc *lc = &w->lc[w->n_lc];

	*lc = *what;
	lc->spec.cls = GP_TENANT_LC;
	join(w, lc_id(w, w->n_lc), &lc->context, lc->spec);
	assert_int_equal(w->dev->ops->hold_create(w->dev, lc->context, &lc->hold), 0);
	if (!lc->due_ns)
		lc->due_ns = gp_sim_now(w->sim) + lc->period_ns;
	w->n_lc++;
}

static inline struct world *make(const struct gp_sched_config *config,
				 const struct gp_model_config *model)
{
	struct world *w = calloc(1, sizeof(*w));
	struct gp_sim_agent agent = { w, agent_next, agent_run, agent_event };
	struct gp_device_id id;

	assert_non_null(w);
	w->hint_ahead_ns = 300 * US;
	w->sim = gp_sim_create(model);
	assert_non_null(w->sim);
	gp_sim_id(w->sim, &id);
	if (model->kind == GP_MODEL_SLOTS)
		assert_int_equal(gp_sim_slots_ops.open(&id, &w->dev), 0);
	else
		assert_int_equal(gp_sim_timeslice_ops.open(&id, &w->dev), 0);
	w->sched = calloc(1, gp_sched_size());
	assert_non_null(w->sched);
	assert_int_equal(gp_sched_init(w->sched, config), 0);
	gp_sim_set_agent(w->sim, &agent);
	return w;
}

static inline void destroy(struct world *w)
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

static inline int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static inline uint64_t quantile(struct lc *lc, unsigned int pct)
{
	assert_true(lc->samples > 100);
	qsort(lc->sample, lc->samples, sizeof(lc->sample[0]), compare);
	return lc->sample[lc->samples * pct / 100];
}

static inline uint64_t be_total(const struct world *w)
{
	uint64_t total = 0;

	for (size_t i = 0; i < w->n_be; i++)
		total += w->be[i].done;
	return total;
}

#endif
