// SPDX-License-Identifier: Apache-2.0
#include "bench/model/against_theory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/plan/samples.h"
#include "bench/plan/arrivals.h"
#include "bench/model/theory.h"

#define SIGMA 1.0
#define STEP_US 2.0
#define NS_PER_US 1000.0
#define WARMUP 1000
/* End of the grid in mean times of the queue: one of three million requests takes longer. */
#define REACH 15

const char *gp_service_name(enum gp_service service)
{
	static const char *const names[] = {
		[GP_SERVICE_CONSTANT] = "M/D/1",
		[GP_SERVICE_EXPONENTIAL] = "M/M/1",
		[GP_SERVICE_LOGNORMAL] = "M/G/1, log-normal",
	};

	return names[service];
}

/* ---- the run --------------------------------------------------------------------- */

struct source {
	const struct gp_against *a;
	struct gp_arrivals arrivals;
	struct gp_random services;
};

static uint64_t draw_gap(void *arg)
{
	struct source *s = arg;

	return gp_arrivals_next_ns(&s->arrivals, 0, 0);
}

static uint64_t draw_service(void *arg)
{
	struct source *s = arg;
	double times = 1;

	if (s->a->service == GP_SERVICE_EXPONENTIAL)
		times = gp_random_exponential(&s->services);
	else if (s->a->service == GP_SERVICE_LOGNORMAL)
		times = gp_random_lognormal(&s->services, SIGMA);
	/* At least 1 ns, as a kernel needs a length. */
	return (uint64_t)llround(fmax(1, times * (double)s->a->service_ns));
}

static void summarize(uint64_t *ns, size_t count, struct gp_against_figures *f)
{
	double sum = 0;

	gp_samples_sort(ns, count);
	for (size_t i = 0; i < count; i++)
		sum += (double)ns[i];
	f->mean_us = sum / (double)count / NS_PER_US;
	f->p99_us = (double)gp_samples_rank(ns, count, 990) / NS_PER_US;
}

static int run(const struct gp_model_config *device, const struct gp_against *a, double occupies_ns,
	       struct gp_against_figures *f)
{
	struct source source = { .a = a };
	const struct gp_virtual_queue q = {
		.device = device,
		.gap = draw_gap,
		.service = draw_service,
		.arg = &source,
		.requests = a->requests,
		.warmup = WARMUP,
	};
	struct gp_virtual_result got = {
		.time_ns = calloc(a->requests, sizeof(*got.time_ns)),
	};
	int err = gp_arrivals_parse("poisson", occupies_ns / a->load, a->seed, 1, &source.arrivals);

	gp_random_seed(&source.services, a->seed, 2);
	if (!err && !got.time_ns)
		err = -ENOMEM;
	if (!err)
		err = gp_virtual_queue_run(&q, &got);
	if (!err) {
		summarize(got.time_ns, a->requests, f);
		f->be_share = (double)got.be_ns / (double)got.length_ns;
	}
	free(got.time_ns);
	return err;
}

/* ---- theory ---------------------------------------------------------------------- */

struct service {
	const struct gp_against *a;
	double more_us; /* than the kernel */
};

static double service_tail(double t_us, const void *arg)
{
	const struct service *s = arg;
	const double times = (t_us - s->more_us) * NS_PER_US / (double)s->a->service_ns;

	if (times <= 0)
		return 1;
	if (s->a->service == GP_SERVICE_EXPONENTIAL)
		return exp(-times);
	return erfc((log(times) + SIGMA * SIGMA / 2) / SIGMA / M_SQRT2) / 2;
}

static int services(struct gp_pmf *out, const struct gp_against *a, double more_us, double most_us)
{
	const struct service s = { a, more_us };

	if (a->service == GP_SERVICE_CONSTANT)
		return gp_pmf_constant(out, (double)a->service_ns / NS_PER_US + more_us, STEP_US);
	return gp_pmf_of_tail(out, service_tail, &s, STEP_US, most_us);
}

/* The queue is empty for an exponential time; the set-up after it is as measured. */
static int setups(struct gp_pmf *out, const struct gp_virtual_switch *cost, double per_ns)
{
	const size_t steps = sizeof(cost->setup_ns) / sizeof(cost->setup_ns[0]);
	double most_us = 0, left = 1;
	int err;

	for (size_t i = 0; i < steps; i++)
		most_us = fmax(most_us, (double)cost->setup_ns[i] / NS_PER_US);
	err = gp_pmf_constant(out, most_us, STEP_US);
	if (err)
		return err;
	out->p[out->count - 1] = 0;
	for (size_t i = 0; i < steps; i++) {
		const double after =
			i + 1 == steps ? 0 :
					 exp(-per_ns * ((double)i + 0.5) * (double)cost->step_ns);

		out->p[llround((double)cost->setup_ns[i] / NS_PER_US / STEP_US)] += left - after;
		left = after;
	}
	return 0;
}

static int say_queue(const struct gp_queue *q, const struct gp_against *a,
		     struct gp_against_figures *f)
{
	const double reach_us = REACH * (double)a->service_ns / NS_PER_US / (1 - a->load);
	struct gp_pmf times;
	int err;

	f->mean_us = gp_queue_mean(q);
	f->p99_us = 0;
	if (a->service == GP_SERVICE_LOGNORMAL)
		return 0;
	err = gp_queue_times(&times, q, reach_us);
	if (err)
		return err;
	f->p99_us = gp_pmf_quantile(&times, 0.99);
	gp_pmf_free(&times);
	return 0;
}

static int say(const struct gp_against *a, const struct gp_virtual_switch *cost, double occupies_ns,
	       struct gp_against_figures *f)
{
	const double per_ns = a->load / occupies_ns;
	struct gp_pmf service, setup;
	struct gp_queue q = { per_ns * NS_PER_US, &service, &setup };
	int err = services(&service, a, (double)cost->alone_ns / NS_PER_US,
			   1000 * (double)a->service_ns / NS_PER_US);

	if (err)
		return err;
	err = setups(&setup, cost, per_ns);
	if (err)
		goto err_service;
	err = say_queue(&q, a, f);
	f->be_share = gp_queue_left(&q, (double)cost->back_ns / NS_PER_US);
	gp_pmf_free(&setup);

err_service:
	gp_pmf_free(&service);
	return err;
}

int gp_against_theory(const struct gp_model_config *device, const struct gp_virtual_switch *cost,
		      const struct gp_against *a, struct gp_against_result *result)
{
	const double occupies_ns = (double)(a->service_ns + cost->alone_ns);
	int err;

	if (!(a->load > 0 && a->load < 1))
		return -EDOM;
	err = run(device, a, occupies_ns, &result->run);
	return err ? err : say(a, cost, occupies_ns, &result->theory);
}
