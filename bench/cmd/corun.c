// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/corun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cmd/device.h"
#include "bench/cmd/figures.h"
#include "bench/cmd/schedulers.h"
#include "bench/run/run.h"
#include "bench/model/corun.h"

/* Length of a run alone on a device. A software GPU is slower than real time. */
#define ALONE_S 2
#define ALONE_SOFT_S 0.25

/* Clients with equal work are measured alone once. */
struct known {
	char *workload;
	struct gp_plan_client client;
	struct gp_plan_alone alone;
	char *found; /* file of its kernels' measured lengths, now or later */
};

struct session {
	const struct gp_suite_options *options;
	struct gp_model_config model;
	struct gp_schedulers schedulers;
	struct known *known;
	size_t knowns;
	char folder[32]; /* of the session's own files; "": none */
};

/* ---- alone ----------------------------------------------------------------------- */

static int run_on_device(const struct gp_plan_job *job, const struct gp_plan *plan,
			 char *const *workload, char *const *found, const struct gp_peer *peer,
			 uint64_t seed, struct gp_plan_result *r, char *why, size_t why_len)
{
	const struct gp_device_run run = {
		.client = gp_device_client(),
		.torch_client = gp_device_torch_client(),
		.ctxlog = gp_device_ctxlog(),
		.device = job->options->device,
		.soft = gp_device_is_soft(job->options->device),
		.plan = plan,
		.workload = workload,
		.found = found,
		.peer = peer,
		.seed = seed,
	};
	int err = gp_device_run(&run, r, why, why_len);

	if (err)
		fprintf(stderr, "gpreempt-bench: %s: %s (%s)\n", job->name, why, strerror(-err));
	return err ? -ECANCELED : 0;
}

/* Run client @i alone without a peer's command, in a closed loop. */
static int alone_on_device(struct gp_plan_job *job, size_t i, char *found)
{
	static char nothing[] = "alone";
	const struct gp_peer peer = { .name = nothing };
	struct gp_plan plan = { .clients = 1, .seconds = ALONE_S };
	struct gp_plan_result r;
	char why[256];
	int err;

	if (gp_device_is_soft(job->options->device))
		plan.seconds = ALONE_SOFT_S;
	plan.client[0] = job->plan->client[i];
	plan.client[0].load = GP_PLAN_CONTINUOUS;
	plan.client[0].after = 0;
	plan.client[0].killed_every_s = 0;
	err = run_on_device(job, &plan, &job->models.name[i], &found, &peer, 1, &r, why,
			    sizeof(why));
	if (err)
		return err;
	err = gp_plan_result_alone(&r, &job->alone[i]);
	gp_plan_result_free(&r);
	return err;
}

static struct gp_corun virtual_run(const struct session *s, const struct gp_plan_job *job,
				   enum gp_corun_scheduler scheduler, uint64_t seed)
{
	return (struct gp_corun){
		.device = &s->model,
		.plan = job->plan,
		.scheduler = scheduler,
		.workload = (const struct gp_workload *const *)job->models.workload,
		.seed = seed,
	};
}

static const struct known *find_known(const struct session *s, const struct gp_plan_job *job,
				      size_t i)
{
	const struct gp_plan_client *c = &job->plan->client[i];

	for (size_t k = 0; k < s->knowns; k++) {
		const struct gp_plan_client *was = &s->known[k].client;

		if (!strcmp(s->known[k].workload, job->models.name[i]) && was->graph == c->graph &&
		    was->prepare_us == c->prepare_us)
			return &s->known[k];
	}
	return NULL;
}

/* @found: the name of a new file. 0 or -ENOMEM. */
static int name_found(const struct session *s, char **found)
{
	*found = NULL;
	if (!*s->folder)
		return 0;
	return asprintf(found, "%s/%zu", s->folder, s->knowns) < 0 ? -ENOMEM : 0;
}

static int remember(struct session *s, const struct gp_plan_job *job, size_t i, char *found)
{
	struct known *more = realloc(s->known, (s->knowns + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	s->known = more;
	more[s->knowns] = (struct known){ strdup(job->models.name[i]), job->plan->client[i],
					  job->alone[i], found };
	return more[s->knowns++].workload ? 0 : -ENOMEM;
}

static int get_to_know(struct session *s, struct gp_plan_job *job, size_t i)
{
	const struct gp_corun run = virtual_run(s, job, GP_CORUN_SLICES, 1);
	char *found;
	int err = name_found(s, &found);

	if (err)
		return err;
	err = job->options->device ? alone_on_device(job, i, found) :
				     gp_corun_alone(&run, i, &job->alone[i]);
	if (!err)
		err = remember(s, job, i, found);
	if (err)
		free(found);
	else
		job->found[i] = found;
	return err;
}

static int measure_alone(struct session *s, struct gp_plan_job *job)
{
	int err = 0;

	for (size_t i = 0; i < job->plan->clients && !err; i++) {
		const struct known *known = find_known(s, job, i);

		if (known) {
			job->alone[i] = known->alone;
			job->found[i] = known->found;
		} else {
			err = get_to_know(s, job, i);
		}
	}
	return err;
}

/* ---- rates ----------------------------------------------------------------------- */

static int scale_by(struct gp_plan_job *job, double factor)
{
	double per_s[GP_PLAN_CLIENTS_MAX];
	struct gp_plan *scaled;

	for (size_t i = 0; i < job->plan->clients; i++)
		per_s[i] = job->alone[i].per_s;
	scaled = gp_plan_scaled(job->plan, per_s, factor);
	if (!scaled)
		return -ENOMEM;
	gp_plan_destroy(job->plan);
	job->plan = scaled;
	job->scale = factor;
	return 0;
}

/* The load of the LC clients whose rates are in the file. */
static double offered_by_rates(const struct gp_plan_job *job)
{
	double sum = 0;

	for (size_t i = 0; i < job->plan->clients; i++) {
		const struct gp_plan_client *c = &job->plan->client[i];
		const double offered = gp_plan_job_offered(job, i);

		if (c->lc && offered > 0 && !(c->offered > 0))
			sum += offered;
	}
	return sum;
}

/* Deadlines do not scale with the rates, so a period may no longer fit. */
static int check_periods(const struct gp_plan_job *job)
{
	for (size_t i = 0; i < job->plan->clients; i++) {
		const struct gp_plan_client *c = &job->plan->client[i];

		if (!c->runtime_us || gp_plan_period_fits(c))
			continue;
		fprintf(stderr,
			"gpreempt-bench: %s: %s: --offered: the period of %.0f us is below the "
			"deadline of %u us, or above 10 s; name another load\n",
			job->name, c->id, 1e6 / c->rate, c->deadline_us);
		return -EINVAL;
	}
	return 0;
}

static int set_rates(struct gp_plan_job *job)
{
	const double wanted = job->options->offered, now = offered_by_rates(job);
	int err;

	if (wanted > 0 && !(now > 0)) {
		fprintf(stderr,
			"gpreempt-bench: %s: --offered: no latency-critical client of "
			"this plan has a rate\n",
			job->name);
		return -EINVAL;
	}
	err = scale_by(job, wanted > 0 ? wanted / now : 1);
	return err ? err : check_periods(job);
}

/* ---- a job ----------------------------------------------------------------------- */

static void close_job(struct gp_plan_job *job)
{
	gp_models_close(&job->models);
	gp_plan_destroy(job->plan);
	free(job);
}

/* Virtual time has no processes to kill. */
static int check_kills(const struct gp_plan_job *job)
{
	for (size_t i = 0; i < job->plan->clients && !job->options->device; i++) {
		if (!(job->plan->client[i].killed_every_s > 0))
			continue;
		fprintf(stderr,
			"gpreempt-bench: %s: %s: client.killed_every_s: virtual time has no "
			"processes to kill; add --device=ID\n",
			job->name, job->plan->client[i].id);
		return -EINVAL;
	}
	return 0;
}

/* Return: as gp_corun_plans(). */
static int open_job(struct session *s, const struct gp_corun_plan *plan, struct gp_plan_job **out)
{
	static const double none[GP_PLAN_CLIENTS_MAX];
	struct gp_plan_job *job = calloc(1, sizeof(*job));
	int err;

	if (!job)
		return -ENOMEM;
	job->name = plan->name;
	job->options = s->options;
	/* A copy, because its rates may change. */
	job->plan = gp_plan_scaled(plan->plan, none, 1);
	if (job->plan && s->options->seconds > 0)
		job->plan->seconds = s->options->seconds;
	err = job->plan ? check_kills(job) : -ENOMEM;
	if (!err)
		err = gp_models_open(&job->models, plan->name, job->plan, s->options->workloads,
				     s->options->device);
	if (!err)
		err = measure_alone(s, job);
	if (!err)
		err = set_rates(job);
	if (err)
		close_job(job);
	else
		*out = job;
	return err;
}

/* ---- peers ------------------------------------------------------------------------- */

/* The row is marked as not run; there is no estimate. */
static int say_absent(const struct gp_plan_job *job, const struct gp_scheduler *scheduler,
		      const char *why, FILE *out)
{
	fprintf(out, "%-17s absent: %s\n", scheduler->name, why);
	return job->options->dir ?
		       gp_rundir_absent(job->options->dir, job->name, scheduler->name, why) :
		       0;
}

/* Is there a PyTorch client, which cannot be a thread of another process? */
static bool has_torch(const struct gp_plan_job *job)
{
	for (size_t i = 0; i < job->plan->clients; i++)
		if (gp_workload_is_torch(job->models.workload[i]))
			return true;
	return false;
}

/* Report the failure; other schedulers still run. */
static int say_failed(const struct gp_plan_job *job, const struct gp_scheduler *scheduler,
		      const char *why, FILE *out)
{
	int err = say_absent(job, scheduler, why, out);

	return err ? err : -ECANCELED;
}

/* Is the peer missing here, or unable to run this plan? @why has the reason. */
static bool is_absent(const struct gp_plan_job *job, const struct gp_peer *peer, char *why,
		      size_t why_len)
{
	const char *own = NULL;

	if (gp_peer_is_absent(peer, gp_device_is_soft(job->options->device), why, why_len))
		return true;
	if (peer->together.count && gp_plan_kills(job->plan))
		own = "its clients share one process, but the plan kills some of them";
	else if (peer->together.count && has_torch(job))
		own = "its clients share one process, but a client in PyTorch needs its own";
	if (own)
		snprintf(why, why_len, "%s", own);
	return own;
}

static int run_under(const struct session *s, const struct gp_plan_job *job,
		     const struct gp_scheduler *scheduler, uint64_t number,
		     struct gp_results *results, FILE *out)
{
	const uint64_t seed = s->options->seed + number;
	const struct gp_corun run = virtual_run(s, job, scheduler->of_model, seed);
	struct gp_plan_result r;
	char why[256];
	int err;

	if (!scheduler->peer && !gp_corun_differs(scheduler->of_model, job->plan))
		return 0;
	if (scheduler->peer && is_absent(job, scheduler->peer, why, sizeof(why)))
		return say_absent(job, scheduler, why, out);
	err = scheduler->peer ? run_on_device(job, job->plan, job->models.name, job->found,
					      scheduler->peer, seed, &r, why, sizeof(why)) :
				gp_corun_run(&run, &r);
	if (err)
		return err == -ECANCELED ? say_failed(job, scheduler, why, out) : err;
	err = gp_figures_say(job, scheduler->name, number, &r, results, out);
	gp_plan_result_free(&r);
	return err;
}

static int run_once(const struct session *s, const struct gp_plan_job *job, uint64_t number,
		    struct gp_results *results, FILE *out)
{
	int err = 0, failed = 0;

	gp_figures_head(job, number, out);
	for (size_t i = 0; i < s->schedulers.count && !err; i++) {
		err = run_under(s, job, &s->schedulers.list[i], number, results, out);
		if (err == -ECANCELED) {
			failed = err;
			err = 0;
		}
		fflush(out);
	}
	fputc('\n', out);
	return err ? err : failed;
}

/* ---- plans ----------------------------------------------------------------------- */

static int make_folder(struct session *s)
{
	strcpy(s->folder, "/tmp/gpreempt-bench-XXXXXX");
	if (mkdtemp(s->folder))
		return 0;
	*s->folder = '\0';
	return -errno;
}

static int open_session(struct session *s, const struct gp_suite_options *options)
{
	int err = options->device ? gp_device_prepare(options->device) : 0;

	*s = (struct session){ .options = options };
	gp_model_config_h200(&s->model);
	if (!err)
		err = gp_schedulers_open(&s->schedulers, options->device ? options->peers : NULL,
					 options->only);
	if (!err && options->device)
		err = make_folder(s);
	return err;
}

static void close_session(struct session *s)
{
	gp_schedulers_close(&s->schedulers);
	for (size_t i = 0; i < s->knowns; i++) {
		if (s->known[i].found)
			unlink(s->known[i].found);
		free(s->known[i].found);
		free(s->known[i].workload);
	}
	free(s->known);
	if (*s->folder)
		rmdir(s->folder);
}

/* Errors of one plan do not end the others. */
static bool is_the_plans_own(int err)
{
	return err == -ENOENT || err == -ECANCELED || err == -EINVAL;
}

int gp_corun_plans(const struct gp_corun_plan *plan, size_t plans,
		   const struct gp_suite_options *options, struct gp_results *results, FILE *out)
{
	struct session s;
	int err = open_session(&s, options), failed = 0;

	for (uint64_t number = 0; number < options->runs && !err; number++)
		for (size_t i = 0; i < plans && !err; i++) {
			struct gp_plan_job *job;

			err = open_job(&s, &plan[i], &job);
			if (!err) {
				err = run_once(&s, job, number, results, out);
				close_job(job);
			}
			if (is_the_plans_own(err)) {
				failed = err;
				err = 0;
			}
		}
	close_session(&s);
	return err ? err : failed;
}

/* ---- calibrate ------------------------------------------------------------------- */

static void print_rates(const struct gp_plan_job *job, const struct gp_plan *file, FILE *out)
{
	char load[64], workload[160];

	fprintf(out, "%s: rates times %.4g\n%-16s %-2s %-32s %-20s %9s %9s %9s\n", job->name,
		job->scale, "client", "", "workload", "load", "alone, us", "times", "offered");
	for (size_t i = 0; i < file->clients; i++) {
		const double offered = gp_plan_job_offered(job, i);

		gp_figures_load(&file->client[i], load, sizeof(load));
		gp_models_say(&job->models, job->plan, i, workload, sizeof(workload));
		fprintf(out, "%-16.16s %-2s %-32.32s %-20s %9.1f", file->client[i].id,
			file->client[i].lc ? "lc" : "be", workload, load,
			(double)job->alone[i].p50_ns / 1000);
		if (offered >= 0)
			fprintf(out, " %9.4g %9.3f\n", job->scale, offered);
		else
			fprintf(out, " %9s %9s\n", "-", "-");
	}
	fputc('\n', out);
}

int gp_corun_calibrate(const struct gp_corun_plan *plan, size_t plans,
		       const struct gp_suite_options *options, FILE *out)
{
	struct session s;
	int err = open_session(&s, options), failed = 0;

	for (size_t i = 0; i < plans && !err; i++) {
		struct gp_plan_job *job;

		err = open_job(&s, &plan[i], &job);
		if (!err) {
			print_rates(job, plan[i].plan, out);
			close_job(job);
		} else if (is_the_plans_own(err)) {
			failed = err;
			err = 0;
		}
	}
	close_session(&s);
	return err ? err : failed;
}
