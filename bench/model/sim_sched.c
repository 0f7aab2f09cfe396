// SPDX-License-Identifier: Apache-2.0
/*
 * sim_sched.c - a host of the runtime in virtual time, with an executor that needs no thread.
 *
 * Events and ended calls wait in one queue. The device's agent reports them in their order, so
 * an outcome keeps its place behind the events that came while the call ran.
 */
#include "bench/model/sim_sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

#define PID_FIRST 1000
#define TENANTS GP_SCHED_MAX_TENANTS
#define NEVER UINT64_MAX
/* First estimate of a switch; NVIDIA's backend measured 170 us on a card. */
#define SWITCH_NS 200000u
/* Interval at which the daemon reads the running group while the most urgent tenant waits. */
#define LOOK_NS 250000u

struct tenant {
	struct gp_class_request spec;
	struct gp_sim_context *context;
	struct gp_group *group; /* its compute group */
	bool entered;		/* the runtime owns the group */
	struct gp_hold *hold;	/* of an LC tenant */
	uint64_t reported_ns;	/* usage at the last report */
	uint64_t displaced_ns;	/* LC's usage since then while this tenant was resident */
};

/* An event for the core, or a call that ended. */
struct entry {
	struct gp_event ev;
	struct gp_call *ended; /* NULL: an event */
};

struct gp_sim_sched {
	struct gp_executor executor; /* the first member */
	struct gp_sim *sim;
	struct gp_device *dev;
	struct gp_runtime *runtime;	  /* NULL: no scheduler */
	struct gp_job *call, **last_call; /* to run */
	uint64_t report_interval_ns, next_report_ns;
	struct tenant tenant[TENANTS + 1]; /* ids are places */
	uint32_t tenants;
	struct gp_sim_agent user;
	struct entry *queue; /* a ring */
	size_t first, count, room;
	uint64_t look_ns;    /* NEVER: the most urgent tenant does not wait */
	uint32_t running;    /* the tenant on the device; 0: none */
	uint64_t lc_used_ns; /* at the last look */
	uint32_t resident;   /* the BE tenant that was resumed last; 0: none */
	struct gp_sim_sched_stat stat;
	int error;
};

struct gp_sim *gp_sim_sched_sim(struct gp_sim_sched *s)
{
	return s->sim;
}

struct gp_sched *gp_sim_sched_core(struct gp_sim_sched *s)
{
	return s->runtime ? gp_runtime_core(s->runtime) : NULL;
}

struct gp_sim_context *gp_sim_sched_context(struct gp_sim_sched *s, uint32_t id)
{
	return s->tenant[id].context;
}

void gp_sim_sched_stat(const struct gp_sim_sched *s, struct gp_sim_sched_stat *stat)
{
	*stat = s->stat;
}

static bool is_be(const struct gp_sim_sched *s, uint32_t id)
{
	return s->tenant[id].spec.cls.cls == GP_CLASS_BE;
}

static bool is_lc(const struct gp_sim_sched *s, uint32_t id)
{
	return s->tenant[id].spec.cls.cls == GP_CLASS_LC;
}

static void failed(struct gp_sim_sched *s, int err)
{
	if (!s->error)
		s->error = err;
	gp_sim_stop(s->sim);
}

/* ---- the queue ------------------------------------------------------------------- */

static int more_room(struct gp_sim_sched *s)
{
	const size_t room = s->room ? 2 * s->room : 64;
	struct entry *queue = malloc(room * sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++)
		queue[i] = s->queue[(s->first + i) % s->room];
	free(s->queue);
	s->queue = queue;
	s->first = 0;
	s->room = room;
	return 0;
}

static int enqueue(struct gp_sim_sched *s, const struct entry *e)
{
	int err = s->count == s->room ? more_room(s) : 0;

	if (err) {
		failed(s, err);
		return err;
	}
	s->queue[(s->first + s->count++) % s->room] = *e;
	return 0;
}

int gp_sim_sched_tell(struct gp_sim_sched *s, const struct gp_event *ev)
{
	const struct entry e = { .ev = *ev };

	return s->runtime ? enqueue(s, &e) : 0;
}

static struct entry dequeue(struct gp_sim_sched *s)
{
	const struct entry e = s->queue[s->first];

	s->first = (s->first + 1) % s->room;
	s->count--;
	return e;
}

static void report_event(struct gp_sim_sched *s, const struct gp_event *ev)
{
	int err = gp_runtime_event(s->runtime, ev);

	s->stat.steps++;
	if (err)
		failed(s, err);
}

static void report_all(struct gp_sim_sched *s)
{
	while (s->count) {
		const struct entry e = dequeue(s);

		if (e.ended)
			gp_call_done(e.ended);
		else
			report_event(s, &e.ev);
	}
}

/* ---- usage ----------------------------------------------------------------------- */

uint64_t gp_sim_sched_used(struct gp_sim_sched *s, uint32_t id)
{
	uint64_t ns = 0;

	return s->dev->ops->usage(s->tenant[id].group, &ns) ? 0 : ns;
}

/* LC's usage since the last call displaced the resident tenant. */
static void count_displaced(struct gp_sim_sched *s)
{
	uint64_t lc_ns = 0;

	for (uint32_t id = 1; id <= s->tenants; id++)
		if (!is_be(s, id))
			lc_ns += gp_sim_sched_used(s, id);
	if (s->resident)
		s->tenant[s->resident].displaced_ns += lc_ns - s->lc_used_ns;
	s->lc_used_ns = lc_ns;
}

static void report_usage(struct gp_sim_sched *s)
{
	count_displaced(s);
	for (uint32_t id = 1; id <= s->tenants; id++) {
		struct tenant *t = &s->tenant[id];
		const uint64_t used_ns = gp_sim_sched_used(s, id);
		const struct gp_event ev = {
			.type = GP_EV_USAGE,
			.tenant = id,
			.usage = { .used_ns = used_ns - t->reported_ns,
				   .displaced_ns = t->displaced_ns },
		};

		t->reported_ns = used_ns;
		t->displaced_ns = 0;
		gp_sim_sched_tell(s, &ev);
	}
}

/* ---- the running tenant ----------------------------------------------------------- */

/* A less urgent LC tenant runs. */
static bool urgent_waits(const struct gp_sim_sched *s)
{
	const uint32_t first = s->runtime ? gp_sched_most_urgent(gp_runtime_core(s->runtime)) : 0;

	return first && s->running && first != s->running && is_lc(s, s->running);
}

static void plan_look(struct gp_sim_sched *s)
{
	if (urgent_waits(s) && s->look_ns == NEVER)
		s->look_ns = gp_sim_now(s->sim) + LOOK_NS;
}

static void look(struct gp_sim_sched *s)
{
	const struct gp_event on = { .type = GP_EV_BUSY,
				     .tenant = s->running,
				     .busy = { GP_BUSY_ON, gp_sim_now(s->sim) } };

	s->look_ns = NEVER;
	if (s->running && is_lc(s, s->running))
		gp_sim_sched_tell(s, &on);
}

static uint32_t tenant_of(const struct gp_sim_sched *s, uint32_t group)
{
	for (uint32_t id = 1; id <= s->tenants; id++)
		if (gp_sim_context_group(s->tenant[id].context) == group)
			return id;
	return 0;
}

static void switched(struct gp_sim_sched *s, const struct gp_model_event *ev)
{
	if (ev->switch_kind == GP_SWITCH_START)
		s->running = tenant_of(s, ev->group);
	else if (ev->switch_kind == GP_SWITCH_END)
		s->running = 0;
	plan_look(s);
}

/* ---- ops of the runtime ---------------------------------------------------------- */

static int sim_hold(void *host, uint32_t tenant, uint64_t limit_ns)
{
	struct gp_sim_sched *s = host;
	int err = s->dev->ops->hold(s->tenant[tenant].hold, limit_ns);

	s->stat.failed += err != 0;
	return err;
}

/* Reports the switch that the hold measured, as a client does. */
static int sim_release(void *host, uint32_t tenant)
{
	struct gp_sim_sched *s = host;
	const struct gp_hal_ops *ops = s->dev->ops;
	struct gp_hold *hold = s->tenant[tenant].hold;
	struct gp_hold_stat stat;
	int err = ops->release(hold);

	s->stat.failed += err != 0;
	if (!err && !ops->hold_stat(hold, &stat) && stat.switch_ns) {
		const struct gp_event ev = {
			.type = GP_EV_SWITCH_MEASURED,
			.tenant = tenant,
			.measured.took_ns = stat.switch_ns,
		};

		gp_sim_sched_tell(s, &ev);
	}
	return err;
}

static void sim_called(void *host, const struct gp_call *call)
{
	struct gp_sim_sched *s = host;

	s->stat.failed += call->err != 0;
}

static const struct gp_host_ops host_ops = {
	.hold = sim_hold,
	.release = sim_release,
	.called = sim_called,
};

/* ---- the executor ---------------------------------------------------------------- */

static void start_call(struct gp_executor *ex, struct gp_call *call)
{
	struct gp_sim_sched *s = (struct gp_sim_sched *)(void *)ex;

	call->job.next = NULL;
	*s->last_call = &call->job;
	s->last_call = &call->job.next;
	gp_sim_stop(s->sim);
}

static struct gp_call *next_call(struct gp_sim_sched *s)
{
	struct gp_job *job = s->call;

	s->call = job->next;
	if (!s->call)
		s->last_call = &s->call;
	return (struct gp_call *)(void *)job;
}

static void stop_calls(struct gp_executor *ex)
{
	struct gp_sim_sched *s = (struct gp_sim_sched *)(void *)ex;

	while (s->count || s->call) {
		const struct entry e = s->count ? dequeue(s) :
						  (struct entry){ .ended = next_call(s) };

		if (e.ended)
			gp_call_done(e.ended);
	}
}

static void run_call(struct gp_sim_sched *s, struct gp_call *call)
{
	const uint32_t id = call->group->tenant, type = call->what.type;

	s->stat.suspends += type == GP_DO_SUSPEND;
	s->stat.preempts += type == GP_DO_PREEMPT;
	if (is_be(s, id) && type == GP_DO_RESUME) {
		count_displaced(s);
		s->resident = id;
	}
	gp_call_run(call);
	if (type == GP_DO_SUSPEND && s->resident == id) {
		count_displaced(s);
		s->resident = 0;
	}
}

/* The call takes time. The agent reports events meanwhile. */
static void work(struct gp_sim_sched *s)
{
	const struct entry e = { .ended = next_call(s) };

	run_call(s, e.ended);
	if (enqueue(s, &e))
		gp_call_done(e.ended);
}

/* ---- the device's agent, beside the user's ------------------------------------------ */

static uint64_t report_due_ns(const struct gp_sim_sched *s)
{
	return s->report_interval_ns ? s->next_report_ns : NEVER;
}

static uint64_t timer_due_ns(const struct gp_sim_sched *s)
{
	const uint64_t ns = s->runtime ? gp_runtime_due_ns(s->runtime) : GP_SCHED_NO_TIMER;

	return ns == GP_SCHED_NO_TIMER ? NEVER : ns;
}

/* All that is due by now. */
static void serve(struct gp_sim_sched *s, uint64_t now_ns)
{
	if (report_due_ns(s) <= now_ns) {
		s->next_report_ns += s->report_interval_ns;
		report_usage(s);
	}
	if (s->look_ns <= now_ns)
		look(s);
	report_all(s);
	if (timer_due_ns(s) <= now_ns) {
		s->stat.steps++;
		gp_runtime_timer(s->runtime);
		report_all(s);
	}
	plan_look(s);
}

static uint64_t users_next(const struct gp_sim_sched *s)
{
	return s->user.next ? s->user.next(s->user.arg) : NEVER;
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static uint64_t agent_next(void *arg)
{
	const struct gp_sim_sched *s = arg;

	if (s->count)
		return 0;
	return sooner(sooner(users_next(s), s->look_ns), sooner(report_due_ns(s), timer_due_ns(s)));
}

static void agent_run(void *arg, uint64_t now_ns)
{
	struct gp_sim_sched *s = arg;

	if (users_next(s) <= now_ns)
		s->user.run(s->user.arg, now_ns);
	serve(s, now_ns);
}

static void agent_event(void *arg, const struct gp_model_event *ev)
{
	struct gp_sim_sched *s = arg;

	if (ev->type == GP_MODEL_SWITCH)
		switched(s, ev);
	if (s->user.event)
		s->user.event(s->user.arg, ev);
}

void gp_sim_sched_set_agent(struct gp_sim_sched *s, const struct gp_sim_agent *agent)
{
	s->user = *agent;
}

/* ---- running --------------------------------------------------------------------- */

int gp_sim_sched_run(struct gp_sim_sched *s, uint64_t to_ns)
{
	while (gp_sim_now(s->sim) < to_ns && !s->error) {
		if (s->call)
			work(s);
		else
			gp_sim_advance(s->sim, to_ns);
	}
	return s->error;
}

/* ---- making ---------------------------------------------------------------------- */

static int open_device(struct gp_sim_sched *s, uint32_t kind)
{
	const struct gp_hal_ops *ops = kind == GP_MODEL_SLOTS ? &gp_sim_slots_ops :
								&gp_sim_timeslice_ops;
	struct gp_device_id id;

	gp_sim_id(s->sim, &id);
	return ops->open(&id, &s->dev);
}

static int make_runtime(struct gp_sim_sched *s, const struct gp_sched_config *core)
{
	struct gp_runtime_config config = {
		.hal = s->dev,
		.executor = &s->executor,
		.ops = &host_ops,
		.host = s,
		.core = *core,
	};

	if (!core->switch_ns)
		config.core.switch_ns = SWITCH_NS;
	return gp_runtime_create(&config, &s->runtime);
}

int gp_sim_sched_create(const struct gp_sim_sched_config *config, struct gp_sim_sched **out)
{
	struct gp_sim_sched *s = calloc(1, sizeof(*s));
	const struct gp_sim_agent agent = { s, agent_next, agent_run, agent_event };
	int err;

	if (!s)
		return -ENOMEM;
	s->executor = (struct gp_executor){ start_call, stop_calls };
	s->last_call = &s->call;
	s->look_ns = NEVER;
	s->sim = gp_sim_create(config->model);
	err = s->sim ? open_device(s, config->model->kind) : -ENOMEM;
	if (!err && config->core) {
		s->report_interval_ns = config->report_ns;
		err = make_runtime(s, config->core);
	}
	if (err) {
		gp_sim_sched_destroy(s);
		return err;
	}
	gp_sim_set_agent(s->sim, &agent);
	*out = s;
	return 0;
}

void gp_sim_sched_destroy(struct gp_sim_sched *s)
{
	if (!s)
		return;
	/* The simulation still reports its end to the agent. */
	s->user = (struct gp_sim_agent){ 0 };
	gp_runtime_destroy(s->runtime);
	s->runtime = NULL;
	for (uint32_t id = 1; id <= s->tenants; id++) {
		struct tenant *t = &s->tenant[id];

		if (t->hold)
			s->dev->ops->hold_destroy(t->hold);
		if (t->group && !t->entered)
			s->dev->ops->group_put(t->group);
	}
	if (s->dev)
		s->dev->ops->close(s->dev);
	if (s->sim)
		gp_sim_destroy(s->sim);
	free(s->queue);
	free(s);
}

/* Runs until the core's decisions are executed. */
static int report_join(struct gp_sim_sched *s, uint32_t id)
{
	struct tenant *t = &s->tenant[id];
	const struct gp_event join = { .type = GP_EV_TENANT_JOIN, .tenant = id, .spec = t->spec };
	int err = gp_runtime_event(s->runtime, &join);

	if (!err)
		err = gp_runtime_group_add(s->runtime, id, t, t->group);
	if (err)
		return err;
	t->entered = true;
	s->stat.steps += 2;
	while (s->call && !s->error) {
		work(s);
		report_all(s);
	}
	return s->error;
}

static int open_group(struct gp_sim_sched *s, pid_t pid, struct gp_group **group)
{
	struct gp_group_list list;
	int err = s->dev->ops->groups(s->dev, pid, &list);

	if (err)
		return err;
	for (size_t i = 0; i < list.count && !*group; i++)
		if (list.group[i]->kind == GP_GROUP_COMPUTE) {
			*group = list.group[i];
			list.group[i] = list.group[--list.count];
		}
	gp_group_list_put(&list);
	return *group ? 0 : -ESRCH;
}

int gp_sim_sched_join(struct gp_sim_sched *s, const struct gp_class_request *spec)
{
	const uint32_t id = s->tenants + 1;
	struct tenant *t = &s->tenant[id];
	const pid_t pid = PID_FIRST + (pid_t)id;
	int err;

	if (id > TENANTS)
		return -ENOSPC;
	t->spec = *spec;
	t->context = gp_sim_context_create(s->sim, pid, 1);
	if (!t->context)
		return -errno;
	s->tenants++;
	err = open_group(s, pid, &t->group);
	if (!err && spec->cls.cls == GP_CLASS_LC)
		err = s->dev->ops->hold_create(s->dev, t->context, &t->hold);
	if (!err && s->runtime)
		err = report_join(s, id);
	return err ? err : (int)id;
}
