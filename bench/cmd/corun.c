// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/corun.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stats/percentile.h"
#include "bench/virtual/corun.h"

#define NS_PER_US 1000.0
#define NS_PER_S 1e9

/* What a client does alone, which all is held against. */
struct alone {
	uint64_t p50_ns;
	double per_s;
};

struct job {
	const struct gp_corun_plan *plan;
	struct gp_workload *workload[GP_PLAN_CLIENTS_MAX];
	struct alone alone[GP_PLAN_CLIENTS_MAX];
};

/* ---- workloads ------------------------------------------------------------------- */

static bool is_file_name(const char *model)
{
	return *model && *model != '.' && !strchr(model, '/');
}

static struct gp_workload *workload_of(const char *model, const char *folder, char *why,
				       size_t why_len)
{
	char path[PATH_MAX];

	if (strchr(model, ':'))
		return gp_workload_named(model, why, why_len);
	if (!is_file_name(model)) {
		snprintf(why, why_len, "%s: a workload's name is wanted", model);
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/%s.json", folder, model);
	return gp_workload_read(path, why, why_len);
}

static int find_workloads(struct job *job, const struct gp_suite_options *options)
{
	const struct gp_plan *plan = job->plan->plan;
	char why[256];

	for (size_t i = 0; i < plan->clients; i++) {
		const struct gp_plan_client *c = &plan->client[i];

		if (!c->model)
			snprintf(why, sizeof(why), "client.model_name is not there");
		else if (c->batch > 1)
			snprintf(why, sizeof(why), "client.batch_size: found %u, 1 is wanted",
				 c->batch);
		else
			job->workload[i] = workload_of(c->model, options->workloads, why,
						       sizeof(why));
		if (!job->workload[i]) {
			fprintf(stderr, "gpreempt-bench: %s: %s: %s\n", job->plan->name,
				c->id, why);
			return -ENOENT;
		}
	}
	return 0;
}

static void end_job(struct job *job)
{
	for (size_t i = 0; i < GP_PLAN_CLIENTS_MAX; i++)
		gp_workload_destroy(job->workload[i]);
}

static struct gp_corun run_of(const struct job *job, const struct gp_model_config *device,
			      enum gp_corun_scheduler scheduler, uint64_t seed)
{
	return (struct gp_corun){
		.device = device, .plan = job->plan->plan, .scheduler = scheduler,
		.workload = (const struct gp_workload *const *)job->workload, .seed = seed,
	};
}

static int measure_alone(struct job *job, const struct gp_model_config *device)
{
	const struct gp_corun run = run_of(job, device, GP_CORUN_SLICES, 1);
	int err = 0;

	for (size_t i = 0; i < job->plan->plan->clients && !err; i++)
		err = gp_corun_alone(&run, i, &job->alone[i].p50_ns, &job->alone[i].per_s);
	return err;
}

/* ---- figures --------------------------------------------------------------------- */

struct figures {
	double p50_us, p99_us;	/* 0: there are too few requests for it */
	double done_per_s;
};

static int figures_of(const struct gp_corun_result *r, size_t i, struct figures *f)
{
	const struct gp_corun_client *c = &r->client[i];
	uint64_t *ns = calloc(c->requests + 1, sizeof(*ns));
	struct gp_percentiles p = { 0 };
	size_t done = 0;
	int err = ns ? 0 : -ENOMEM;

	for (size_t k = 0; k < c->requests && ns; k++) {
		ns[k] = c->request[k].end_ns - c->request[k].intended_ns;
		done += c->request[k].end_ns <= r->end_ns;
	}
	if (!err && c->requests)
		err = gp_percentiles(ns, c->requests, 1, &p);
	f->p50_us = (double)p.of[GP_P50].ns / NS_PER_US;
	f->p99_us = (double)p.of[GP_P99].ns / NS_PER_US;
	f->done_per_s = (double)done * NS_PER_S / (double)(r->end_ns - r->begin_ns);
	free(ns);
	return err;
}

static void print_or_dash(FILE *out, int width, int digits, double value)
{
	if (value > 0)
		fprintf(out, " %*.*f", width, digits, value);
	else
		fprintf(out, " %*s", width, "-");
}

static void print_client(const struct job *job, size_t i, enum gp_corun_scheduler scheduler,
			 const struct figures *f, bool behind, FILE *out)
{
	const struct gp_plan_client *c = &job->plan->plan->client[i];
	const double alone_us = (double)job->alone[i].p50_ns / NS_PER_US;

	fprintf(out, "%-17s %-16.16s %-2s %9.1f", gp_corun_name(scheduler), c->id,
		c->lc ? "lc" : "be", alone_us);
	print_or_dash(out, 9, 1, f->p50_us);
	print_or_dash(out, 9, 1, f->p99_us);
	print_or_dash(out, 7, 3, f->p50_us / alone_us);
	fprintf(out, " %9.2f %6.3f%s\n", f->done_per_s,
		f->done_per_s / job->alone[i].per_s, behind ? "  behind" : "");
}

static int keep(const struct job *job, size_t i, enum gp_corun_scheduler scheduler,
		const struct figures *f, struct gp_results *results)
{
	const struct gp_plan_client *c = &job->plan->plan->client[i];
	char row[256];
	int err;

	snprintf(row, sizeof(row), "%s, %s: %s", job->plan->name, gp_corun_name(scheduler),
		 c->id);
	err = gp_results_add(results, row, "done_per_s", GP_BETTER_HIGHER, f->done_per_s);
	if (!err && c->lc && f->p50_us > 0)
		err = gp_results_add(results, row, "p50_us", GP_BETTER_LOWER, f->p50_us);
	if (!err && c->lc && f->p99_us > 0)
		err = gp_results_add(results, row, "p99_us", GP_BETTER_LOWER, f->p99_us);
	return err;
}

/* ---- the folder ------------------------------------------------------------------ */

static void say_load(const struct gp_plan_client *c, char *text, size_t len)
{
	if (c->rate > 0)
		snprintf(text, len, "%s %g/s", gp_plan_load_name(c->load), c->rate);
	else
		snprintf(text, len, "%s", gp_plan_load_name(c->load));
}

static void fill_client(const struct job *job, size_t i, const struct gp_corun_result *r,
			double done_per_s, const char *load, struct gp_rundir_client *to)
{
	const struct gp_plan_client *c = &job->plan->plan->client[i];

	*to = (struct gp_rundir_client){
		.id = c->id, .workload = c->model, .load = load, .lc = c->lc,
		.offered = c->rate > 0 ? c->rate / job->alone[i].per_s : -1,
		.alone_us = (double)job->alone[i].p50_ns / NS_PER_US,
		.alone_per_s = job->alone[i].per_s, .done_per_s = done_per_s,
		.request = r->client[i].request, .requests = r->client[i].requests,
		.behind = r->client[i].behind,
	};
}

static int keep_all(const struct job *job, enum gp_corun_scheduler scheduler,
		    uint64_t number, const struct gp_corun_result *r,
		    const struct figures *f, struct gp_rundir *dir)
{
	const size_t clients = job->plan->plan->clients;
	struct gp_rundir_client *client = calloc(clients, sizeof(*client));
	char load[GP_PLAN_CLIENTS_MAX][64];
	int err = -ENOMEM;

	for (size_t i = 0; i < clients && client; i++) {
		say_load(&job->plan->plan->client[i], load[i], sizeof(load[i]));
		fill_client(job, i, r, f[i].done_per_s, load[i], &client[i]);
	}
	if (client)
		err = gp_rundir_add(dir, &(struct gp_rundir_run){
			.plan = job->plan->name, .scheduler = gp_corun_name(scheduler),
			.number = number, .seconds = job->plan->plan->seconds,
			.client = client, .clients = clients, .stretch = r->stretch,
			.stretches = r->stretches });
	free(client);
	return err;
}

/* ---- running --------------------------------------------------------------------- */

static int say(const struct job *job, enum gp_corun_scheduler scheduler, uint64_t number,
	       const struct gp_corun_result *r, const struct gp_suite_options *options,
	       struct gp_results *results, FILE *out)
{
	struct figures f[GP_PLAN_CLIENTS_MAX];
	int err = 0;

	for (size_t i = 0; i < job->plan->plan->clients && !err; i++) {
		err = figures_of(r, i, &f[i]);
		if (err)
			break;
		print_client(job, i, scheduler, &f[i], r->client[i].behind, out);
		err = keep(job, i, scheduler, &f[i], results);
	}
	if (!err && options->dir)
		err = keep_all(job, scheduler, number, r, f, options->dir);
	return err;
}

static int run_once(const struct job *job, const struct gp_model_config *device,
		    const struct gp_suite_options *options, uint64_t number,
		    struct gp_results *results, FILE *out)
{
	fprintf(out, "%s, %g s, run %llu\n%-17s %-16s %-2s %9s %9s %9s %7s %9s %6s\n",
		job->plan->name, job->plan->plan->seconds, (unsigned long long)number + 1,
		"", "client", "", "alone, us", "p50", "p99", "/ alone", "done, 1/s", "of it");
	for (int i = 0; i < GP_CORUN_SCHEDULERS; i++) {
		const enum gp_corun_scheduler scheduler = (enum gp_corun_scheduler)i;
		const struct gp_corun run = run_of(job, device, scheduler,
						   options->seed + number);
		struct gp_corun_result r;
		int err = gp_corun_run(&run, &r);

		if (err)
			return err;
		err = say(job, scheduler, number, &r, options, results, out);
		gp_corun_free(&r);
		if (err)
			return err;
	}
	fputc('\n', out);
	return 0;
}

static int run_plan(const struct gp_corun_plan *plan, const struct gp_suite_options *options,
		    uint64_t number, struct gp_results *results, FILE *out)
{
	struct job job = { .plan = plan };
	struct gp_model_config device;
	int err;

	gp_model_config_h200(&device);
	err = find_workloads(&job, options);
	if (!err)
		err = measure_alone(&job, &device);
	if (!err)
		err = run_once(&job, &device, options, number, results, out);
	end_job(&job);
	return err;
}

int gp_corun_plans(const struct gp_corun_plan *plan, size_t plans,
		   const struct gp_suite_options *options, struct gp_results *results,
		   FILE *out)
{
	int err = 0;

	for (uint64_t number = 0; number < options->runs && !err; number++)
		for (size_t i = 0; i < plans && !err; i++)
			err = run_plan(&plan[i], options, number, results, out);
	return err;
}
