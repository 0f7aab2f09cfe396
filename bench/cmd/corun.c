// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/corun.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cmd/device.h"
#include "bench/device/run.h"
#include "bench/stats/percentile.h"
#include "bench/virtual/corun.h"

#define NS_PER_US 1000.0
#define NS_PER_S 1e9

struct job {
	const struct gp_corun_plan *plan;
	const struct gp_suite_options *options;
	struct gp_workload *workload[GP_PLAN_CLIENTS_MAX];
	char *workload_name[GP_PLAN_CLIENTS_MAX];	/* or its file */
	struct gp_plan_alone alone[GP_PLAN_CLIENTS_MAX];
	struct gp_model_config model;
};

/* On a device a peer; in virtual time one that the model can have. */
struct scheduler {
	const char *name;
	enum gp_corun_scheduler of_model;
	struct gp_peer *peer;		/* NULL: of_model */
};

#define ALONE_S 2

/* ---- workloads ------------------------------------------------------------------- */

static bool is_file_name(const char *model)
{
	return *model && *model != '.' && !strchr(model, '/');
}

/* @name: what a program of its own has to be told. */
static struct gp_workload *workload_of(const char *model, const char *folder, char **name,
				       char *why, size_t why_len)
{
	char path[PATH_MAX];

	if (strchr(model, ':')) {
		*name = strdup(model);
		return gp_workload_named(model, why, why_len);
	}
	if (!is_file_name(model)) {
		snprintf(why, why_len, "%s: a workload's name is wanted", model);
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/%s.json", folder, model);
	*name = strdup(path);
	return gp_workload_read(path, why, why_len);
}

static int find_workloads(struct job *job)
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
			job->workload[i] = workload_of(c->model, job->options->workloads,
						       &job->workload_name[i], why,
						       sizeof(why));
		if (job->workload[i] && !job->options->device &&
		    gp_workload_needs_device(job->workload[i])) {
			snprintf(why, sizeof(why), "%s: only a device can say what it takes; "
				 "--device=ID is wanted", c->model);
			gp_workload_destroy(job->workload[i]);
			job->workload[i] = NULL;
		}
		if (!job->workload[i]) {
			fprintf(stderr, "gpreempt-bench: %s: %s: %s%s\n", job->plan->name,
				c->id, why, job->workload_name[i] && !strchr(c->model, ':') ?
				"; --workloads=DIR is where recorded models are" : "");
			return -ENOENT;
		}
	}
	return 0;
}

static void end_job(struct job *job)
{
	for (size_t i = 0; i < GP_PLAN_CLIENTS_MAX; i++) {
		gp_workload_destroy(job->workload[i]);
		free(job->workload_name[i]);
	}
}

static struct gp_corun run_of(const struct job *job, enum gp_corun_scheduler scheduler,
			      uint64_t seed)
{
	return (struct gp_corun){
		.device = &job->model, .plan = job->plan->plan, .scheduler = scheduler,
		.workload = (const struct gp_workload *const *)job->workload, .seed = seed,
	};
}

static int run_on_device(const struct job *job, const struct gp_plan *plan,
			 char *const *workload, const struct gp_peer *peer, uint64_t seed,
			 struct gp_plan_result *r)
{
	const struct gp_device_run run = {
		.client = gp_device_client(), .device = job->options->device,
		.soft = gp_device_is_soft(job->options->device), .plan = plan,
		.workload = workload, .peer = peer, .seed = seed,
	};
	char why[256];
	int err = gp_device_run(&run, r, why, sizeof(why));

	if (err)
		fprintf(stderr, "gpreempt-bench: %s: %s (%s)\n", job->plan->name, why,
			strerror(-err));
	return err ? -ECANCELED : 0;
}

/* A process of its own with nothing in front of it, each request when the last is done. */
static int alone_on_device(struct job *job, size_t i)
{
	static char nothing[] = "alone";
	const struct gp_peer peer = { .name = nothing };
	struct gp_plan plan = { .clients = 1, .seconds = ALONE_S };
	struct gp_plan_result r;
	int err;

	plan.client[0] = job->plan->plan->client[i];
	plan.client[0].load = GP_PLAN_CONTINUOUS;
	plan.client[0].after = 0;
	err = run_on_device(job, &plan, &job->workload_name[i], &peer, 1, &r);
	if (err)
		return err;
	err = gp_plan_result_alone(&r, &job->alone[i]);
	gp_plan_result_free(&r);
	return err;
}

static int measure_alone(struct job *job)
{
	const struct gp_corun run = run_of(job, GP_CORUN_SLICES, 1);
	int err = 0;

	for (size_t i = 0; i < job->plan->plan->clients && !err; i++)
		err = job->options->device ? alone_on_device(job, i) :
		      gp_corun_alone(&run, i, &job->alone[i]);
	return err;
}

/* ---- figures --------------------------------------------------------------------- */

/* 0: there are too few for it. */
struct latency {
	double p50_us, p99_us;
};

struct figures {
	struct latency request;
	struct latency first, next;	/* tokens */
	double done_per_s;
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

static int figures_of(const struct gp_plan_result *r, size_t i, struct figures *f)
{
	const struct gp_plan_done *c = &r->client[i];
	uint64_t *ns = calloc(c->requests + 1, sizeof(*ns));
	size_t done = 0;
	int err = ns ? 0 : -ENOMEM;

	for (size_t k = 0; k < c->requests && ns; k++) {
		ns[k] = c->request[k].end_ns - c->request[k].intended_ns;
		done += c->request[k].end_ns <= r->end_ns;
	}
	if (!err)
		err = latency_of(ns, c->requests, &f->request);
	if (!err)
		err = token_figures(c, f);
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

static void print_latency(const struct scheduler *scheduler, const char *whose,
			  const char *class, uint64_t alone_ns, const struct latency *of,
			  FILE *out)
{
	const double alone_us = (double)alone_ns / NS_PER_US;

	fprintf(out, "%-17s %-16.16s %-2s %9.1f", scheduler->name, whose, class, alone_us);
	print_or_dash(out, 9, 1, of->p50_us);
	print_or_dash(out, 9, 1, of->p99_us);
	print_or_dash(out, 7, 3, of->p50_us / alone_us);
}

/* A row for the first token, one for those after it. */
static void print_tokens(const struct scheduler *scheduler, const struct gp_plan_alone *alone,
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

static void print_client(const struct job *job, size_t i, const struct scheduler *scheduler,
			 const struct figures *f, size_t left, FILE *out)
{
	const struct gp_plan_client *c = &job->plan->plan->client[i];

	print_latency(scheduler, c->id, c->lc ? "lc" : "be", job->alone[i].p50_ns, &f->request,
		      out);
	fprintf(out, " %9.2f %6.3f", f->done_per_s, f->done_per_s / job->alone[i].per_s);
	if (left)
		fprintf(out, "  %zu left", left);
	fputc('\n', out);
	print_tokens(scheduler, &job->alone[i], f, out);
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

static int keep(const struct job *job, size_t i, const struct scheduler *scheduler,
		const struct figures *f, struct gp_results *results)
{
	const struct gp_plan_client *c = &job->plan->plan->client[i];
	char row[256];
	int err;

	snprintf(row, sizeof(row), "%s, %s: %s", job->plan->name, scheduler->name, c->id);
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

static void say_load(const struct gp_plan_client *c, char *text, size_t len)
{
	if (c->rate > 0)
		snprintf(text, len, "%s %g/s", gp_plan_load_name(c->load), c->rate);
	else
		snprintf(text, len, "%s", gp_plan_load_name(c->load));
}

static void fill_client(const struct job *job, size_t i, const struct gp_plan_result *r,
			double done_per_s, const char *load, struct gp_rundir_client *to)
{
	const struct gp_plan_client *c = &job->plan->plan->client[i];

	*to = (struct gp_rundir_client){
		.id = c->id, .workload = c->model, .load = load, .lc = c->lc,
		.offered = c->rate > 0 ? c->rate / job->alone[i].per_s : -1,
		.alone_us = (double)job->alone[i].p50_ns / NS_PER_US,
		.alone_per_s = job->alone[i].per_s, .done_per_s = done_per_s,
		.request = r->client[i].request, .requests = r->client[i].requests,
		.left = r->client[i].left, .tokens = r->client[i].tokens,
		.alone_first_us = (double)job->alone[i].first_ns / NS_PER_US,
		.alone_next_us = (double)job->alone[i].next_ns / NS_PER_US,
	};
}

static int keep_all(const struct job *job, const struct scheduler *scheduler,
		    uint64_t number, const struct gp_plan_result *r,
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
			.plan = job->plan->name, .scheduler = scheduler->name,
			.number = number, .seconds = job->plan->plan->seconds,
			.client = client, .clients = clients, .stretch = r->stretch,
			.stretches = r->stretches });
	free(client);
	return err;
}

/* ---- running --------------------------------------------------------------------- */

static int say(const struct job *job, const struct scheduler *scheduler, uint64_t number,
	       const struct gp_plan_result *r, struct gp_results *results, FILE *out)
{
	struct figures f[GP_PLAN_CLIENTS_MAX] = { 0 };
	int err = 0;

	for (size_t i = 0; i < job->plan->plan->clients && !err; i++) {
		err = figures_of(r, i, &f[i]);
		if (err)
			break;
		print_client(job, i, scheduler, &f[i], r->client[i].left, out);
		err = keep(job, i, scheduler, &f[i], results);
	}
	if (!err && job->options->dir)
		err = keep_all(job, scheduler, number, r, f, job->options->dir);
	return err;
}

/* ---- under whom ------------------------------------------------------------------- */

static int is_peer(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".json");
}

static int read_peer(const char *folder, const char *name, struct scheduler *to)
{
	char path[PATH_MAX], why[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	to->peer = gp_peer_read(path, why, sizeof(why));
	if (!to->peer) {
		fprintf(stderr, "gpreempt-bench: %s\n", why);
		return -EINVAL;
	}
	to->name = to->peer->name;
	return 0;
}

static void free_schedulers(struct scheduler *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gp_peer_destroy(list[i].peer);
	free(list);
}

static int all_peers(const char *folder, struct scheduler **list, size_t *count)
{
	struct dirent **entry;
	int n = scandir(folder, &entry, is_peer, alphasort), err = 0;

	if (n <= 0) {
		fprintf(stderr, "gpreempt-bench: --peers=%s: %s\n", folder,
			n ? strerror(errno) : "there is none in it");
		return -ENOENT;
	}
	*list = calloc((size_t)n, sizeof(**list));
	for (int i = 0; i < n; i++) {
		if (*list && !err)
			err = read_peer(folder, entry[i]->d_name, &(*list)[i]);
		free(entry[i]);
	}
	free(entry);
	*count = (size_t)n;
	return *list ? err : -ENOMEM;
}

static int of_model(struct scheduler **list, size_t *count)
{
	*list = calloc(GP_CORUN_SCHEDULERS, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (int i = 0; i < GP_CORUN_SCHEDULERS; i++)
		(*list)[i] = (struct scheduler){
			.name = gp_corun_name((enum gp_corun_scheduler)i),
			.of_model = (enum gp_corun_scheduler)i };
	*count = GP_CORUN_SCHEDULERS;
	return 0;
}

/* Not guessed: a row says that it was not run. */
static int say_absent(const struct job *job, const struct scheduler *scheduler,
		      const char *why, FILE *out)
{
	fprintf(out, "%-17s absent: %s\n", scheduler->name, why);
	return job->options->dir ? gp_rundir_absent(job->options->dir, job->plan->name,
						    scheduler->name, why) : 0;
}

static int run_under(const struct job *job, const struct scheduler *scheduler,
		     uint64_t number, struct gp_results *results, FILE *out)
{
	const uint64_t seed = job->options->seed + number;
	const struct gp_corun run = run_of(job, scheduler->of_model, seed);
	const char *device = job->options->device;
	struct gp_plan_result r;
	char why[256];
	int err;

	if (scheduler->peer && gp_peer_is_absent(scheduler->peer, gp_device_is_soft(device), why,
						 sizeof(why)))
		return say_absent(job, scheduler, why, out);
	err = scheduler->peer ? run_on_device(job, job->plan->plan, job->workload_name,
					      scheduler->peer, seed, &r) :
				gp_corun_run(&run, &r);
	if (err)
		return err;
	err = say(job, scheduler, number, &r, results, out);
	gp_plan_result_free(&r);
	return err;
}

static int run_once(const struct job *job, uint64_t number, struct gp_results *results,
		    FILE *out)
{
	struct scheduler *list = NULL;
	size_t count = 0;
	int err = job->options->device ? all_peers(job->options->peers, &list, &count) :
					 of_model(&list, &count);

	if (!err)
		fprintf(out, "%s, %g s, run %llu\n%-17s %-16s %-2s %9s %9s %9s %7s %9s %6s\n",
			job->plan->name, job->plan->plan->seconds,
			(unsigned long long)number + 1, "", "client", "", "alone, us", "p50",
			"p99", "/ alone", "done, 1/s", "of it");
	for (size_t i = 0; i < count && !err; i++)
		err = run_under(job, &list[i], number, results, out);
	free_schedulers(list, count);
	if (!err)
		fputc('\n', out);
	return err;
}

static int run_plan(const struct gp_corun_plan *plan, const struct gp_suite_options *options,
		    uint64_t number, struct gp_results *results, FILE *out)
{
	struct job job = { .plan = plan, .options = options };
	int err;

	gp_model_config_h200(&job.model);
	err = find_workloads(&job);
	if (!err)
		err = measure_alone(&job);
	if (!err)
		err = run_once(&job, number, results, out);
	end_job(&job);
	return err;
}

int gp_corun_plans(const struct gp_corun_plan *plan, size_t plans,
		   const struct gp_suite_options *options, struct gp_results *results,
		   FILE *out)
{
	int err = options->device ? gp_device_prepare(options->device) : 0;

	for (uint64_t number = 0; number < options->runs && !err; number++)
		for (size_t i = 0; i < plans && !err; i++)
			err = run_plan(&plan[i], options, number, results, out);
	return err;
}
