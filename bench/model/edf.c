// SPDX-License-Identifier: Apache-2.0
#include "bench/model/edf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/model/sim_sched.h"

#define NEVER UINT64_MAX
#define US 1000u
#define MS 1000000u
#define REPORT_NS (100 * MS)
#define BE_KERNEL_NS (10 * MS)
#define BE_COOKIE (GP_EDF_TASKS_MAX + 1)
/* Launch to completion seen, without the kernel itself, on the model of an H200. */
#define LAUNCH_NS (20 * US)
/* Upper bound of a switch between LC tenants on that model, a preemption included. */
#define LC_SWITCH_NS (350 * US)
#define PERIOD_MIN_NS (10.0 * MS)
#define PERIOD_TIMES 10.0
#define DEADLINE_MIN 0.6

struct job {
	const struct gp_edf_task *task;
	uint32_t id; /* the tenant's */
	bool runs;
	uint64_t came_ns; /* arrival of the job that runs */
	uint64_t next_ns; /* next arrival */
};

struct world {
	struct gp_sim_sched *host;
	struct job job[GP_EDF_TASKS_MAX];
	size_t tasks;
	uint32_t be;
	uint64_t end_ns; /* no job arrives later */
	struct gp_edf_result *result;
	int error;
};

/* ---- tasks ----------------------------------------------------------------------- */

void gp_edf_draw(struct gp_random *random, double load, struct gp_edf_task *task, size_t tasks)
{
	double left = load;

	for (size_t i = 0; i < tasks; i++) {
		const size_t others = tasks - i - 1;
		const double rest =
			!others ? 0 : left * pow(gp_random_uniform(random), 1 / (double)others);
		const double period_ns =
			PERIOD_MIN_NS * pow(PERIOD_TIMES, gp_random_uniform(random));
		const double tight = DEADLINE_MIN + (1 - DEADLINE_MIN) * gp_random_uniform(random);

		task[i] = (struct gp_edf_task){
			.period_ns = (uint64_t)period_ns,
			.deadline_ns = (uint64_t)(tight * period_ns),
			.runtime_ns = 1 + (uint64_t)((left - rest) * period_ns),
			.phase_ns = (uint64_t)(gp_random_uniform(random) * period_ns),
		};
		left = rest;
	}
}

/* ---- jobs ------------------------------------------------------------------------ */

static void failed(struct world *w, int err)
{
	if (!w->error)
		w->error = err;
	gp_sim_stop(gp_sim_sched_sim(w->host));
}

static void submit(struct world *w, uint32_t id, uint32_t type, uint64_t ns, uint64_t cookie)
{
	const struct gp_model_method method = {
		.type = type,
		.blocks = 1,
		.block_ns = ns,
		.cookie = cookie,
	};
	int err = gp_sim_submit(gp_sim_sched_context(w->host, id), 0, &method, NULL);

	if (err)
		failed(w, err);
}

static void tell(struct world *w, const struct job *j, uint32_t type)
{
	const struct gp_event ev = { .type = type, .tenant = j->id };
	int err = gp_sim_sched_tell(w->host, &ev);

	if (err)
		failed(w, err);
}

static void begin(struct world *w, struct job *j)
{
	j->runs = true;
	j->came_ns = j->next_ns;
	j->next_ns += j->task->period_ns;
	if (j->next_ns >= w->end_ns)
		j->next_ns = NEVER;
	tell(w, j, GP_EV_SEGMENT_BEGIN);
	submit(w, j->id, GP_METHOD_KERNEL, j->task->runtime_ns, 0);
	submit(w, j->id, GP_METHOD_FENCE, 0, (uint64_t)(j - w->job) + 1);
}

static void count(struct world *w, const struct job *j, uint64_t now_ns)
{
	const uint64_t ns = now_ns - j->came_ns;
	const double of_deadline = (double)ns / (double)j->task->deadline_ns;

	w->result->jobs++;
	w->result->missed += ns > j->task->deadline_ns;
	if (of_deadline > w->result->worst)
		w->result->worst = of_deadline;
}

static void ended(struct world *w, struct job *j, uint64_t now_ns)
{
	count(w, j, now_ns);
	j->runs = false;
	tell(w, j, GP_EV_SEGMENT_END);
	if (j->next_ns <= now_ns)
		begin(w, j);
}

/* ---- the world beside the device ------------------------------------------------- */

static uint64_t agent_next(void *arg)
{
	const struct world *w = arg;
	uint64_t next_ns = NEVER;

	for (size_t i = 0; i < w->tasks; i++)
		if (!w->job[i].runs && w->job[i].next_ns < next_ns)
			next_ns = w->job[i].next_ns;
	return next_ns;
}

static void agent_run(void *arg, uint64_t now_ns)
{
	struct world *w = arg;

	for (size_t i = 0; i < w->tasks; i++)
		if (!w->job[i].runs && w->job[i].next_ns <= now_ns)
			begin(w, &w->job[i]);
}

static void agent_event(void *arg, const struct gp_model_event *ev)
{
	struct world *w = arg;

	if (ev->type != GP_MODEL_DONE || !ev->cookie)
		return;
	if (ev->cookie == BE_COOKIE)
		submit(w, w->be, GP_METHOD_KERNEL, BE_KERNEL_NS, BE_COOKIE);
	else if (ev->cookie <= w->tasks)
		ended(w, &w->job[ev->cookie - 1], ev->time_ns);
}

/* ---- set-up ---------------------------------------------------------------------- */

static int join(struct world *w, const struct gp_edf_task *task)
{
	const struct gp_class_request spec = {
		.cls = { GP_CLASS_LC },
		.period_ns = task->period_ns,
		.deadline_ns = task->deadline_ns,
		.runtime_ns = task->runtime_ns + LAUNCH_NS,
	};
	struct gp_sched_admission a;
	struct job *j = &w->job[w->tasks];
	int id;

	if (gp_sched_admit(gp_sim_sched_core(w->host), (uint32_t)w->tasks + 2, &spec, &a))
		w->result->admitted = false;
	w->result->promised = (double)a.load_ppm / 1e6;
	id = gp_sim_sched_join(w->host, &spec);
	if (id < 0)
		return id;
	*j = (struct job){ .task = task, .id = (uint32_t)id };
	w->tasks++;
	return 0;
}

static int join_be(struct world *w)
{
	const struct gp_class_request spec = { .cls = { GP_CLASS_BE, 100 } };
	int id = gp_sim_sched_join(w->host, &spec);

	if (id < 0)
		return id;
	w->be = (uint32_t)id;
	for (int i = 0; i < 2; i++)
		submit(w, w->be, GP_METHOD_KERNEL, BE_KERNEL_NS, BE_COOKIE);
	return 0;
}

static int make(struct world *w, const struct gp_model_config *device,
		const struct gp_edf_task *task, size_t tasks)
{
	static const struct gp_sched_config core = {
		.rotate = 1,
		.slice_preempts = 1,
		.lc_preempt = GP_LC_CUT_PREEMPT,
		.lc_policy = &gp_policy_edf,
		.lc_switch_ns = LC_SWITCH_NS,
	};
	const struct gp_sim_sched_config config = { .model = device,
						    .core = &core,
						    .report_ns = REPORT_NS };
	const struct gp_sim_agent agent = { w, agent_next, agent_run, agent_event };
	int err = gp_sim_sched_create(&config, &w->host);

	if (err)
		return err;
	err = join_be(w);
	for (size_t i = 0; i < tasks && !err; i++)
		err = join(w, &task[i]);
	if (!err)
		gp_sim_sched_set_agent(w->host, &agent);
	return err;
}

/* Jobs that run when the time is up count, and miss a deadline that has passed. */
static void count_rest(struct world *w)
{
	const uint64_t now_ns = gp_sim_now(gp_sim_sched_sim(w->host));

	for (size_t i = 0; i < w->tasks; i++)
		if (w->job[i].runs && now_ns > w->job[i].came_ns + w->job[i].task->deadline_ns)
			count(w, &w->job[i], now_ns);
}

static int run(struct world *w, uint64_t length_ns)
{
	const uint64_t now_ns = gp_sim_now(gp_sim_sched_sim(w->host));
	int err;

	w->end_ns = now_ns + length_ns;
	for (size_t i = 0; i < w->tasks; i++)
		w->job[i].next_ns = now_ns + w->job[i].task->phase_ns;
	err = gp_sim_sched_run(w->host, w->end_ns);
	count_rest(w);
	return err ? err : w->error;
}

int gp_edf_run(const struct gp_model_config *device, const struct gp_edf_task *task, size_t tasks,
	       uint64_t length_ns, struct gp_edf_result *result)
{
	struct world w = { .result = result };
	int err;

	if (tasks > GP_EDF_TASKS_MAX)
		return -EINVAL;
	*result = (struct gp_edf_result){ .admitted = true };
	for (size_t i = 0; i < GP_EDF_TASKS_MAX; i++)
		w.job[i].next_ns = NEVER;
	err = make(&w, device, task, tasks);
	if (!err)
		err = run(&w, length_ns);
	gp_sim_sched_destroy(w.host);
	return err;
}
