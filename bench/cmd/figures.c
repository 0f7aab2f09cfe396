// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cmd/overall.h"
#include "bench/report/percentile.h"

#define NS_PER_US 1000.0
#define NS_PER_S 1e9

/* 0: too few samples. */
struct latency {
	double p50_us, p99_us;
};

/* As many samples as percentiles need: ten beyond. */
#define LATE_MIN_P50 20u
#define LATE_MIN_P99 1000u

struct figures {
	struct latency request;
	struct latency first, next; /* tokens */
	struct latency late;	    /* delays of starts by the load generator itself */
	double done_per_s;
	int64_t missed; /* < 0: it has no deadline */
};

static int latency_of(const uint64_t *ns, size_t count, struct latency *of)
{
	struct gp_percentiles p = { 0 };
	int err = count ? gp_percentiles(ns, count, 1, &p) : 0;

	of->p50_us = (double)p.of[GP_P50].ns / NS_PER_US;
	of->p99_us = (double)p.of[GP_P99].ns / NS_PER_US;
	return err;
}

static int token_figures(const struct gp_plan_done *c, struct figures *f)
{
	struct gp_token_latencies l;
	int err = gp_token_latencies(&c->tokens, c->request, c->requests, &l);

	if (!err)
		err = latency_of(l.first_ns, l.firsts, &f->first);
	if (!err)
		err = latency_of(l.next_ns, l.nexts, &f->next);
	gp_token_latencies_free(&l);
	return err;
}

/*
 * The delay of a request's start, from when it is due and the one before is done. 0 is a
 * figure, too; < 0: none.
 */
static int late_figures(const struct gp_plan_done *c, uint64_t *ns, struct latency *late)
{
	uint64_t done_ns = 0;
	int err;

	for (size_t k = 0; k < c->requests; k++) {
		const struct gp_request *r = &c->request[k];

		ns[k] = r->start_ns - (r->intended_ns > done_ns ? r->intended_ns : done_ns);
		done_ns = r->end_ns;
	}
	err = latency_of(ns, c->requests, late);
	if (c->requests < LATE_MIN_P99)
		late->p99_us = -1;
	if (c->requests < LATE_MIN_P50)
		late->p50_us = -1;
	return err;
}

/* A request that was not done misses its deadline, too. */
static int64_t missed(const struct gp_plan_done *c, uint32_t deadline_us)
{
	int64_t count = (int64_t)c->left;

	for (size_t k = 0; k < c->requests; k++)
		count += c->request[k].end_ns - c->request[k].intended_ns > deadline_us * 1000ull;
	return deadline_us ? count : -1;
}

static int figures_of(const struct gp_plan_job *job, const struct gp_plan_result *r, size_t i,
		      struct figures *f)
{
	const struct gp_plan_done *c = &r->client[i];
	uint64_t *ns = calloc(c->requests + 1, sizeof(*ns));
	int err = ns ? 0 : -ENOMEM;

	for (size_t k = 0; k < c->requests && ns; k++)
		ns[k] = c->request[k].end_ns - c->request[k].intended_ns;
	if (!err)
		err = latency_of(ns, c->requests, &f->request);
	f->late = (struct latency){ -1, -1 };
	if (!err && job->options->device)
		err = late_figures(c, ns, &f->late);
	if (!err)
		err = token_figures(c, f);
	f->missed = missed(c, job->plan->client[i].deadline_us);
	f->done_per_s = gp_plan_result_per_s(r, i);
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

static void print_latency(const char *scheduler, const char *whose, const char *class,
			  uint64_t alone_ns, const struct latency *of, FILE *out)
{
	const double alone_us = (double)alone_ns / NS_PER_US;

	fprintf(out, "%-17s %-16.16s %-2s %9.1f", scheduler, whose, class, alone_us);
	print_or_dash(out, 9, 1, of->p50_us);
	print_or_dash(out, 9, 1, of->p99_us);
	print_or_dash(out, 7, 3, of->p50_us / alone_us);
}

/* A row for the first token, one for those after it. */
static void print_tokens(const char *scheduler, const struct gp_plan_alone *alone,
			 const struct figures *f, FILE *out)
{
	if (!alone->first_ns)
		return;
	print_latency(scheduler, "  first token", "", alone->first_ns, &f->first, out);
	fputc('\n', out);
	if (!alone->next_ns)
		return;
	print_latency(scheduler, "  token after", "", alone->next_ns, &f->next, out);
	fputc('\n', out);
}

/* Figures of a device only: in virtual time a client is never late and uses no CPU. */
static void print_device(const struct gp_plan_job *job, const struct figures *f, uint64_t cpu_ns,
			 FILE *out)
{
	if (f->late.p50_us >= 0)
		fprintf(out, " %7.1f", f->late.p50_us);
	else
		fprintf(out, " %7s", "-");
	if (f->late.p99_us >= 0)
		fprintf(out, " %7.1f", f->late.p99_us);
	else
		fprintf(out, " %7s", "-");
	print_or_dash(out, 6, 1, (double)cpu_ns / job->plan->seconds / 1e7);
}

static void print_client(const struct gp_plan_job *job, size_t i, const char *scheduler,
			 const struct figures *f, const struct gp_plan_done *done, FILE *out)
{
	const struct gp_plan_client *c = &job->plan->client[i];

	print_latency(scheduler, c->id, c->lc ? "lc" : "be", job->alone[i].p50_ns, &f->request,
		      out);
	if (c->killed_every_s > 0)
		fprintf(out, " %9s %6s", "-", "-");
	else
		fprintf(out, " %9.2f %6.3f", f->done_per_s, f->done_per_s / job->alone[i].per_s);
	if (job->options->device)
		print_device(job, f, done->cpu_ns, out);
	if (f->missed >= 0)
		fprintf(out, "  %lld missed", (long long)f->missed);
	if (done->left)
		fprintf(out, "  %zu left", done->left);
	if (c->killed_every_s > 0)
		fprintf(out, "  %zu killed", done->kills);
	fputc('\n', out);
	print_tokens(scheduler, &job->alone[i], f, out);
}

static void print_overall(const char *scheduler, const struct gp_overall *all, FILE *out)
{
	fprintf(out, "%-17s all", scheduler);
	if (all->lc_mean > 0)
		fprintf(out, " lc: mean %.3f", all->lc_mean);
	if (all->lc_p99 > 0)
		fprintf(out, ", p99 %.3f", all->lc_p99);
	fprintf(out, "%s%s", all->lc_mean > 0 ? " of alone" : "",
		all->lc_mean > 0 && all->be >= 0 ? ";" : "");
	if (all->be >= 0)
		fprintf(out, " be: %.3f of alone", all->be);
	fputc('\n', out);
}

static int keep_overall(const struct gp_plan_job *job, const char *scheduler,
			const struct gp_overall *all, struct gp_results *results)
{
	char row[256];
	int err = 0;

	snprintf(row, sizeof(row), "%s, %s: all", job->name, scheduler);
	if (all->lc_mean > 0)
		err = gp_results_add(results, row, "lc_mean", GP_BETTER_LOWER, all->lc_mean);
	if (!err && all->lc_p99 > 0)
		err = gp_results_add(results, row, "lc_p99", GP_BETTER_LOWER, all->lc_p99);
	if (!err && all->be >= 0)
		err = gp_results_add(results, row, "be", GP_BETTER_HIGHER, all->be);
	return err;
}

static int say_overall(const struct gp_plan_job *job, const char *scheduler,
		       const struct gp_plan_result *r, struct gp_results *results, FILE *out)
{
	struct gp_overall all;
	int err = gp_overall_of(job, r, &all);

	if (err)
		return err;
	print_overall(scheduler, &all, out);
	return keep_overall(job, scheduler, &all, results);
}

/* Print the device's energy and the CPU time of processes beside the clients. */
static void print_spent(const char *scheduler, const struct gp_plan_result *r, FILE *out)
{
	if (r->energy_j > 0)
		fprintf(out, "%-17s %.1f J\n", scheduler, r->energy_j);
	if (r->beside_cpu_ns)
		fprintf(out, "%-17s %.4f s of CPU beside the clients\n", scheduler,
			(double)r->beside_cpu_ns / NS_PER_S);
}

static int keep_spent(const struct gp_plan_job *job, const char *scheduler,
		      const struct gp_plan_result *r, struct gp_results *results)
{
	char row[256];

	if (!r->beside_cpu_ns)
		return 0;
	snprintf(row, sizeof(row), "%s, %s", job->name, scheduler);
	return gp_results_add(results, row, "beside_cpu_s", GP_BETTER_LOWER,
			      (double)r->beside_cpu_ns / NS_PER_S);
}

static int keep_latency(struct gp_results *results, const char *row, const char *of,
			const struct latency *latency)
{
	char name[32];
	int err = 0;

	snprintf(name, sizeof(name), "%sp50_us", of);
	if (latency->p50_us > 0)
		err = gp_results_add(results, row, name, GP_BETTER_LOWER, latency->p50_us);
	snprintf(name, sizeof(name), "%sp99_us", of);
	if (!err && latency->p99_us > 0)
		err = gp_results_add(results, row, name, GP_BETTER_LOWER, latency->p99_us);
	return err;
}

static int keep(const struct gp_plan_job *job, size_t i, const char *scheduler,
		const struct figures *f, struct gp_results *results)
{
	const struct gp_plan_client *c = &job->plan->client[i];
	char row[256];
	int err;

	if (c->killed_every_s > 0)
		return 0;
	snprintf(row, sizeof(row), "%s, %s: %s", job->name, scheduler, c->id);
	err = gp_results_add(results, row, "done_per_s", GP_BETTER_HIGHER, f->done_per_s);
	if (err || !c->lc)
		return err;
	err = keep_latency(results, row, "", &f->request);
	if (!err)
		err = keep_latency(results, row, "ttft_", &f->first);
	if (!err)
		err = keep_latency(results, row, "itl_", &f->next);
	return err;
}

/* ---- the folder ------------------------------------------------------------------ */

void gp_figures_load(const struct gp_plan_client *c, char *text, size_t len)
{
	if (c->rate > 0)
		snprintf(text, len, "%s %g/s", gp_plan_load_name(c->load), c->rate);
	else
		snprintf(text, len, "%s", gp_plan_load_name(c->load));
}

struct words {
	char workload[160], load[64];
};

static void fill_client(const struct gp_plan_job *job, size_t i, const struct gp_plan_result *r,
			const struct figures *f, const struct words *words,
			struct gp_rundir_client *to)
{
	const struct gp_plan_client *c = &job->plan->client[i];

	*to = (struct gp_rundir_client){
		.id = c->id,
		.workload = words->workload,
		.load = words->load,
		.lc = c->lc,
		.offered = gp_plan_job_offered(job, i),
		.alone_us = (double)job->alone[i].p50_ns / NS_PER_US,
		.alone_per_s = job->alone[i].per_s,
		.done_per_s = f->done_per_s,
		.request = r->client[i].request,
		.requests = r->client[i].requests,
		.left = r->client[i].left,
		.tokens = r->client[i].tokens,
		.alone_first_us = (double)job->alone[i].first_ns / NS_PER_US,
		.alone_next_us = (double)job->alone[i].next_ns / NS_PER_US,
		.missed = f->missed,
		.late_p50_us = f->late.p50_us,
		.late_p99_us = f->late.p99_us,
		.cpu_s = (double)r->client[i].cpu_ns / NS_PER_S,
		.killed = c->killed_every_s > 0,
		.kills = r->client[i].kills,
	};
}

static int keep_all(const struct gp_plan_job *job, const char *scheduler, uint64_t number,
		    const struct gp_plan_result *r, const struct figures *f, struct gp_rundir *dir)
{
	const size_t clients = job->plan->clients;
	struct gp_rundir_client *client = calloc(clients, sizeof(*client));
	struct words words[GP_PLAN_CLIENTS_MAX];
	int err = -ENOMEM;

	for (size_t i = 0; i < clients && client; i++) {
		struct words *w = &words[i];

		gp_figures_load(&job->plan->client[i], w->load, sizeof(w->load));
		gp_models_say(&job->models, job->plan, i, w->workload, sizeof(w->workload));
		fill_client(job, i, r, &f[i], w, &client[i]);
	}
	if (client)
		err = gp_rundir_add(dir,
				    &(struct gp_rundir_run){
					    .plan = job->name,
					    .scheduler = scheduler,
					    .number = number,
					    .seconds = job->plan->seconds,
					    .rates_times = job->scale,
					    .energy_j = r->energy_j,
					    .beside_cpu_s = (double)r->beside_cpu_ns / NS_PER_S,
					    .client = client,
					    .clients = clients,
					    .stretch = r->stretch,
					    .stretches = r->stretches });
	free(client);
	return err;
}

/* ---- all of it ------------------------------------------------------------------- */

double gp_plan_job_offered(const struct gp_plan_job *job, size_t client)
{
	const struct gp_plan_client *c = &job->plan->client[client];
	const double per_s = c->load == GP_PLAN_TRACE ? (double)c->traces / job->plan->seconds :
							c->rate;

	return per_s > 0 ? per_s / job->alone[client].per_s : -1;
}

void gp_figures_head(const struct gp_plan_job *job, uint64_t number, FILE *out)
{
	fprintf(out, "%s, %g s, run %llu", job->name, job->plan->seconds,
		(unsigned long long)number + 1);
	if (job->scale != 1)
		fprintf(out, ", rates %.4g times those of its file", job->scale);
	fprintf(out, "\n%-17s %-16s %-2s %9s %9s %9s %7s %9s %6s", "", "client", "", "alone, us",
		"p50", "p99", "/ alone", "done, 1/s", "of it");
	if (job->options->device)
		fprintf(out, " %7s %7s %6s", "late50", "late99", "CPU, %");
	fputc('\n', out);
}

int gp_figures_say(const struct gp_plan_job *job, const char *scheduler, uint64_t number,
		   const struct gp_plan_result *r, struct gp_results *results, FILE *out)
{
	struct figures f[GP_PLAN_CLIENTS_MAX] = { 0 };
	int err = 0;

	for (size_t i = 0; i < job->plan->clients && !err; i++) {
		err = figures_of(job, r, i, &f[i]);
		if (err)
			break;
		print_client(job, i, scheduler, &f[i], &r->client[i], out);
		err = keep(job, i, scheduler, &f[i], results);
	}
	if (!err)
		err = say_overall(job, scheduler, r, results, out);
	print_spent(scheduler, r, out);
	if (!err)
		err = keep_spent(job, scheduler, r, results);
	if (!err && job->options->dir)
		err = keep_all(job, scheduler, number, r, f, job->options->dir);
	return err;
}
