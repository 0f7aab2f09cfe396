// SPDX-License-Identifier: Apache-2.0
/*
 * theory.c - the suite "theory": the model of a GPU in virtual time against queueing
 * theory. Needs no GPU; the same seed gives the same table on every machine.
 */
#include <math.h>
#include <stdbool.h>

#include "bench/cmd/suite.h"
#include "bench/model/against_theory.h"

#define SERVICE_NS 500000u
#define REQUESTS 400000u
#define WITHIN 0.03

static const struct {
	enum gp_service service;
	double load;
} rows[] = {
	{ GP_SERVICE_CONSTANT, 0.1 },	 { GP_SERVICE_CONSTANT, 0.3 },
	{ GP_SERVICE_CONSTANT, 0.5 },	 { GP_SERVICE_CONSTANT, 0.7 },
	{ GP_SERVICE_CONSTANT, 0.8 },	 { GP_SERVICE_EXPONENTIAL, 0.1 },
	{ GP_SERVICE_EXPONENTIAL, 0.3 }, { GP_SERVICE_EXPONENTIAL, 0.5 },
	{ GP_SERVICE_EXPONENTIAL, 0.7 }, { GP_SERVICE_EXPONENTIAL, 0.8 },
	{ GP_SERVICE_LOGNORMAL, 0.3 },	 { GP_SERVICE_LOGNORMAL, 0.7 },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Relative deviation; 0 if theory has no value. */
static double off(double run, double theory)
{
	return theory > 0 ? run / theory - 1 : 0;
}

static void print_time(FILE *out, double run, double theory)
{
	if (theory > 0)
		fprintf(out, " %9.1f %9.1f %+6.2f %%", run, theory, 100 * off(run, theory));
	else
		fprintf(out, " %9.1f %9s %8s", run, "-", "");
}

static bool print_row(FILE *out, const struct gp_against *a, const struct gp_against_result *r)
{
	const bool met = fabs(off(r->run.mean_us, r->theory.mean_us)) <= WITHIN &&
			 fabs(off(r->run.p99_us, r->theory.p99_us)) <= WITHIN;

	fprintf(out, "%-18s %4.2f", gp_service_name(a->service), a->load);
	print_time(out, r->run.mean_us, r->theory.mean_us);
	print_time(out, r->run.p99_us, r->theory.p99_us);
	fprintf(out, "  %6.4f %6.4f  %s\n", r->run.be_share, r->theory.be_share,
		met ? "pass" : "FAIL");
	return met;
}

static int keep(struct gp_results *results, const struct gp_against *a,
		const struct gp_against_figures *f)
{
	char row[64];
	int err;

	snprintf(row, sizeof(row), "%s, load %.2f", gp_service_name(a->service), a->load);
	err = gp_results_add(results, row, "mean_us", GP_BETTER_LOWER, f->mean_us);
	if (!err)
		err = gp_results_add(results, row, "p99_us", GP_BETTER_LOWER, f->p99_us);
	if (!err)
		err = gp_results_add(results, row, "be_share", GP_BETTER_HIGHER, f->be_share);
	return err;
}

static void print_head(FILE *out, uint64_t seed)
{
	fprintf(out,
		"a latency-critical queue beside best-effort, on the model of an H200; "
		"within %.0f %%; seed %llu\n%-18s %-4s %28s %28s  %13s\n%-23s %s %s  %s\n",
		100 * WITHIN, (unsigned long long)seed, "", "", "mean, us", "p99, us", "BE's share",
		"queue              load", "      run    theory      off",
		"      run    theory      off", "   run theory");
}

static int run_once(const struct gp_suite_options *options, uint64_t seed,
		    const struct gp_model_config *device, const struct gp_virtual_switch *cost,
		    struct gp_results *results, FILE *out)
{
	struct gp_against_result result;
	bool all_met = true;

	print_head(out, seed);
	for (size_t i = 0; i < ROWS; i++) {
		const struct gp_against a = {
			.service = rows[i].service,
			.load = rows[i].load,
			.service_ns = SERVICE_NS,
			.seed = seed,
			.requests = options->requests ? options->requests : REQUESTS,
		};
		int err = gp_against_theory(device, cost, &a, &result);

		if (!err)
			err = keep(results, &a, &result.run);
		if (err)
			return err;
		all_met &= print_row(out, &a, &result);
	}
	return !all_met;
}

static int run_theory(const struct gp_suite_options *options, struct gp_results *results, FILE *out)
{
	struct gp_model_config device;
	struct gp_virtual_switch cost;
	int missed = 0, err;

	gp_model_config_h200(&device);
	err = gp_virtual_switch_measure(&device, &cost);
	if (err)
		return err;
	for (uint64_t i = 0; i < options->runs; i++) {
		int r = run_once(options, options->seed + i, &device, &cost, results, out);

		if (r < 0)
			return r;
		missed |= r;
	}
	return missed;
}

const struct gp_suite gp_suite_theory = {
	.name = "theory",
	.what = "the model in virtual time against M/D/1, M/M/1, M/G/1; no GPU, 20 s",
	.run = run_theory,
};
