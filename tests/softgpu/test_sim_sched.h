/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_sched.h - the core drives the simulated device: the programs that launch work. */
#ifndef GP_TEST_SIM_SCHED_H
#define GP_TEST_SIM_SCHED_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/model/sim_sched.h"
#include "tests/common/gp_test.h"

#define US 1000ull
#define MS 1000000ull
#define MAX_BE 64
#define MAX_LC 3
#define QUANTUM_NS (50 * MS)
#define MAX_SAMPLES 16384
#define LC_COOKIE 1000

/* LC: requests of @kernels kernels. */
struct lc {
	struct gp_sim_context *context;
	struct gp_class_request spec;
	bool hinted;   /* announces work 300 us ahead */
	bool segments; /* gives SEGMENT_*, else BUSY and IDLE */
	bool silent;   /* gives no events at all */
	bool endless;  /* the next request waits behind this one */
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
	uint32_t weight;
};

struct world {
	struct gp_sim_sched *host;
	struct gp_sim *sim;
	uint64_t hint_ahead_ns;
	struct be be[MAX_BE];
	struct lc lc[MAX_LC];
	size_t n_be, n_lc;
};

/* Tenants and their groups have the same ids: BE from 1, LC after them. */
static inline uint32_t lc_id(const struct world *w, size_t i)
{
	return (uint32_t)(w->n_be + i + 1);
}

static inline void post(struct world *w, uint32_t type, uint32_t tenant, uint64_t at_ns)
{
	struct gp_event ev = { .type = type, .tenant = tenant };

	if (type == GP_EV_HINT)
		ev.hint.at_ns = at_ns;
	assert_int_equal(gp_sim_sched_tell(w->host, &ev), 0);
}

/* ---- activity besides the GPU ------------------------------------------------ */

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
		.type = GP_METHOD_KERNEL,
		.blocks = 132,
		.block_ns = lc->kernel_ns,
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
			post(w, lc->segments ? GP_EV_SEGMENT_BEGIN : GP_EV_BUSY, lc_id(w, i), 0);
		lc_launch(w, lc, now_ns);
	}
}

static inline void submit_be(const struct be *be, uint64_t cookie)
{
	const struct gp_model_method m = {
		.type = GP_METHOD_KERNEL,
		.blocks = 1056,
		.block_ns = be->kernel_ns,
		.cookie = cookie,
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

static inline void run(struct world *w, uint64_t ns)
{
	assert_int_equal(gp_sim_sched_run(w->host, gp_sim_now(w->sim) + ns), 0);
}

/* Number of executed decisions by type. */
static inline struct gp_sim_sched_stat carried(const struct world *w)
{
	struct gp_sim_sched_stat stat;

	gp_sim_sched_stat(w->host, &stat);
	return stat;
}

/* ---- set up ---------------------------------------------------------------------- */

static inline void join(struct world *w, uint32_t id, struct gp_sim_context **context,
			struct gp_class_request spec)
{
	assert_int_equal(gp_sim_sched_join(w->host, &spec), id);
	*context = gp_sim_sched_context(w->host, id);
}

static inline void add_be(struct world *w, uint32_t weight, uint32_t cap_pct, uint64_t kernel_ns)
{
	struct be *be = &w->be[w->n_be++];
	uint32_t id = (uint32_t)w->n_be;

	be->weight = weight;
	be->kernel_ns = kernel_ns;
	join(w, id, &be->context,
	     (struct gp_class_request){ .cls = { GP_CLASS_BE, weight }, .cap_pct = cap_pct });
	be->last_ns = gp_sim_now(w->sim);
	for (int i = 0; i < 2; i++)
		submit_be(be, id);
}

/* After all BE tenants. */
static inline void add_lc(struct world *w, const struct lc *what)
{
	struct lc *lc = &w->lc[w->n_lc];

	*lc = *what;
	lc->spec.cls.cls = GP_CLASS_LC;
	join(w, lc_id(w, w->n_lc), &lc->context, lc->spec);
	if (!lc->due_ns)
		lc->due_ns = gp_sim_now(w->sim) + lc->period_ns;
	w->n_lc++;
}

/*
 * @report_ns: interval of usage reports to the core; 0: none.
 */
static inline struct world *make_reporting(const struct gp_sched_config *core,
					   const struct gp_model_config *model, uint64_t report_ns)
{
	const struct gp_sim_sched_config config = {
		.model = model,
		.core = core,
		.report_ns = report_ns,
	};
	struct world *w = calloc(1, sizeof(*w));
	struct gp_sim_agent agent = { w, agent_next, agent_run, agent_event };

	assert_non_null(w);
	w->hint_ahead_ns = 300 * US;
	assert_int_equal(gp_sim_sched_create(&config, &w->host), 0);
	w->sim = gp_sim_sched_sim(w->host);
	gp_sim_sched_set_agent(w->host, &agent);
	return w;
}

static inline struct world *make(const struct gp_sched_config *core,
				 const struct gp_model_config *model)
{
	return make_reporting(core, model, 0);
}

static inline void destroy(struct world *w)
{
	gp_sim_sched_destroy(w->host);
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
