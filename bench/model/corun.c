// SPDX-License-Identifier: Apache-2.0
#include "bench/model/corun.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/plan/arrivals.h"
#include "bench/model/sim_sched.h"

#define NEVER UINT64_MAX
#define NS_PER_S 1000000000u
#define DRAIN_NS 500000000u
#define REPORT_NS 100000000u
#define BE_WEIGHT 100u
#define ALONE_REQUESTS 50u
/*
 * How late it is seen that a BE client is idle. The daemon looks every ms whether the tenant
 * in its turn is idle, and looks again half a ms later: together this on average.
 */
#define BE_IDLE_SEEN_NS 1000000u
/* One kernel for the device. @at_ns counts from the request's start, or the last token. */
struct part {
	uint64_t at_ns, length_ns;
	bool token; /* the client waits for it */
};

enum state {
	IDLE,
	PREPARING,
	LAUNCHED
};

struct client {
	const struct gp_plan_client *plan;
	uint32_t id; /* the tenant's */
	struct part *part;
	size_t parts;
	struct gp_arrivals arrivals; /* periodic, poisson, bursty */
	size_t traces;		     /* arrivals of its trace so far */
	uint64_t *due_ns;	     /* dependent: requests to come, first to last */
	size_t due_first, due_count, due_room;
	uint64_t seen; /* bits of clients: they ended a request since the last due one */

	enum state state;
	uint64_t wake_ns; /* its next action */
	uint64_t next_ns; /* its next request; NEVER: none, or not known */
	uint64_t intended_ns, start_ns, launched_ns;
	size_t part_next;
	size_t tokens;	       /* of this request, so far */
	bool busy;	       /* and the core knows */
	uint64_t idle_told_ns; /* when the core will see it idle; NEVER */
	bool watched;	       /* gpreempt sees its launches as they begin */
	bool segments;	       /* it marks segments */
	uint64_t segment_ns;   /* begin of the segment that runs */
	struct gp_plan_done *result;
	size_t room, token_room;
};

struct world {
	const struct gp_corun *run;
	struct gp_sim_sched *host;
	struct gp_plan_result *result;
	struct client client[GP_PLAN_CLIENTS_MAX];
	size_t clients;
	size_t stretch_room;
	uint32_t on; /* the client that has the device + 1; 0: none */
	uint64_t on_since_ns;
	int error;
};

const char *gp_corun_name(enum gp_corun_scheduler scheduler)
{
	static const char *const names[] = {
		[GP_CORUN_SLICES] = "time-slicing",
		[GP_CORUN_GPREEMPT] = "gpreempt",
		[GP_CORUN_HINTED] = "gpreempt, hinted",
		[GP_CORUN_SJF] = "gpreempt, sjf",
	};

	return names[scheduler];
}

static bool says_when(enum gp_corun_scheduler scheduler)
{
	return scheduler == GP_CORUN_HINTED || scheduler == GP_CORUN_SJF;
}

bool gp_corun_differs(enum gp_corun_scheduler scheduler, const struct gp_plan *plan)
{
	if (scheduler != GP_CORUN_SJF)
		return true;
	for (size_t i = 0; i < plan->clients; i++)
		for (size_t k = 0; k < i; k++)
			if (plan->client[i].lc && plan->client[k].lc &&
			    plan->client[i].level == plan->client[k].level)
				return true;
	return false;
}

static void failed(struct world *w, int err)
{
	if (!w->error)
		w->error = err;
	gp_sim_stop(gp_sim_sched_sim(w->host));
}

/* Room for one more of @size bytes. */
static bool grow(void **array, size_t count, size_t *room, size_t size)
{
	const size_t more = *room ? 2 * *room : 256;
	void *grown;

	if (count < *room)
		return true;
	grown = realloc(*array, more * size);
	if (!grown)
		return false;
	*array = grown;
	*room = more;
	return true;
}

/* ---- when requests come ---------------------------------------------------------- */

static bool is_over(const struct world *w, uint64_t at_ns)
{
	return at_ns >= w->result->end_ns;
}

static uint64_t next_due(struct client *c)
{
	return c->due_first < c->due_count ? c->due_ns[c->due_first++] : NEVER;
}

/* The request after the one that was intended for @last_ns and ended at @done_ns. */
static uint64_t next_request(struct world *w, struct client *c, uint64_t last_ns, uint64_t done_ns)
{
	uint64_t at_ns = NEVER;

	switch (c->plan->load) {
	case GP_PLAN_PERIODIC:
	case GP_PLAN_POISSON:
	case GP_PLAN_BURSTY:
		at_ns = gp_arrivals_next_ns(&c->arrivals, last_ns, done_ns);
		break;
	case GP_PLAN_CONTINUOUS:
		at_ns = done_ns;
		break;
	case GP_PLAN_TRACE:
		if (c->traces < c->plan->traces)
			at_ns = w->result->begin_ns + c->plan->trace_ns[c->traces++];
		break;
	case GP_PLAN_DEPENDENT:
		at_ns = next_due(c);
		break;
	}
	return is_over(w, at_ns) ? NEVER : at_ns;
}

static void wait_for_next(struct client *c, uint64_t now_ns)
{
	c->state = IDLE;
	c->wake_ns = c->next_ns == NEVER || c->next_ns > now_ns ? c->next_ns : now_ns;
}

/* @done's request ended: clients that depend on it get a request if all others ended too. */
static void tell_dependents(struct world *w, const struct client *done, uint64_t now_ns)
{
	const uint64_t bit = 1ull << (done - w->client);

	for (size_t i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if (c->plan->load != GP_PLAN_DEPENDENT || !(c->plan->after & bit))
			continue;
		c->seen |= bit;
		if (c->seen != c->plan->after || is_over(w, now_ns))
			continue;
		c->seen = 0;
		if (!grow((void **)&c->due_ns, c->due_count, &c->due_room, sizeof(*c->due_ns))) {
			failed(w, -ENOMEM);
			return;
		}
		c->due_ns[c->due_count++] = now_ns;
		if (c->state == IDLE && c->next_ns == NEVER) {
			c->next_ns = next_due(c);
			wait_for_next(c, now_ns);
		}
	}
}

/* ---- a client -------------------------------------------------------------------- */

static void tell_event(struct world *w, const struct gp_event *ev)
{
	int err = gp_sim_sched_tell(w->host, ev);

	if (err)
		failed(w, err);
}

static void tell(struct world *w, const struct client *c, uint32_t type)
{
	tell_event(w, &(struct gp_event){ .type = type, .tenant = c->id });
}

static void tell_hint(struct world *w, const struct client *c, uint64_t at_ns)
{
	tell_event(w,
		   &(struct gp_event){ .type = GP_EV_HINT, .tenant = c->id, .hint.at_ns = at_ns });
}

static void submit(struct world *w, const struct client *c, uint32_t type, uint64_t ns,
		   uint64_t cookie)
{
	const struct gp_model_method method = {
		.type = type,
		.blocks = 1,
		.block_ns = ns,
		.cookie = cookie,
	};
	int err = gp_sim_submit(gp_sim_sched_context(w->host, c->id), 0, &method, NULL);

	if (err)
		failed(w, err);
}

static void work_begins(struct world *w, struct client *c)
{
	if (!c->busy)
		tell(w, c, GP_EV_BUSY);
	c->busy = true;
	c->idle_told_ns = NEVER;
}

static void tell_idle(struct world *w, struct client *c)
{
	tell(w, c, GP_EV_IDLE);
	c->busy = false;
	c->idle_told_ns = NEVER;
}

/* As in the library: an LC process that waited for all its work is idle at once. */
static void work_ended(struct world *w, struct client *c, uint64_t now_ns)
{
	if (c->plan->lc)
		tell_idle(w, c);
	else
		c->idle_told_ns = now_ns + BE_IDLE_SEEN_NS;
}

/* Launch the kernels that are due, up to one that the client waits for. */
static void launch_due(struct world *w, struct client *c, uint64_t now_ns)
{
	const struct part *part;

	do {
		part = &c->part[c->part_next];
		c->wake_ns = c->launched_ns + part->at_ns;
		if (c->wake_ns > now_ns)
			return;
		work_begins(w, c);
		submit(w, c, GP_METHOD_KERNEL, part->length_ns, 0);
		c->part_next++;
	} while (!part->token && c->part_next < c->parts);
	c->wake_ns = NEVER;
	submit(w, c, GP_METHOD_FENCE, 0, (uint64_t)(c - w->client) + 1);
}

static void begin_segment(struct world *w, struct client *c, uint64_t now_ns)
{
	if (c->segments)
		tell(w, c, GP_EV_SEGMENT_BEGIN);
	c->segment_ns = now_ns;
}

static void end_segment(struct world *w, const struct client *c)
{
	if (c->segments)
		tell(w, c, GP_EV_SEGMENT_END);
}

static void launch(struct world *w, struct client *c, uint64_t now_ns)
{
	begin_segment(w, c, now_ns);
	c->state = LAUNCHED;
	c->launched_ns = now_ns;
	c->part_next = 0;
	c->tokens = 0;
	if (c->watched)
		work_begins(w, c);
	launch_due(w, c, now_ns);
}

/* The arrival that its hint announces, wrong by the plan's hint_off_us. */
static uint64_t hinted_ns(const struct client *c, uint64_t now_ns)
{
	const int64_t at_ns = (int64_t)c->wake_ns + c->plan->hint_off_us * 1000ll;

	return at_ns > (int64_t)now_ns ? (uint64_t)at_ns : now_ns;
}

static void begin(struct world *w, struct client *c, uint64_t now_ns)
{
	const uint64_t prepare_ns = c->plan->prepare_us * 1000ull;

	c->intended_ns = c->next_ns;
	c->start_ns = now_ns;
	if (!prepare_ns) {
		launch(w, c, now_ns);
		return;
	}
	c->state = PREPARING;
	c->wake_ns = now_ns + prepare_ns;
	if (c->plan->lc && says_when(w->run->scheduler))
		tell_hint(w, c, hinted_ns(c, now_ns));
}

static void act(struct world *w, struct client *c, uint64_t now_ns)
{
	switch (c->state) {
	case IDLE:
		begin(w, c, now_ns);
		break;
	case PREPARING:
		launch(w, c, now_ns);
		break;
	case LAUNCHED:
		launch_due(w, c, now_ns);
		break;
	}
}

static void keep(struct world *w, struct client *c, uint64_t now_ns)
{
	struct gp_plan_done *r = c->result;

	if (!grow((void **)&r->request, r->requests, &c->room, sizeof(*r->request))) {
		failed(w, -ENOMEM);
		return;
	}
	r->request[r->requests++] = (struct gp_request){ c->intended_ns, c->start_ns, now_ns };
}

static void keep_token(struct world *w, struct client *c, uint64_t now_ns)
{
	struct gp_tokens *t = &c->result->tokens;
	const size_t at = c->result->requests * t->of_each + c->tokens;

	if (!grow((void **)&t->ns, at, &c->token_room, sizeof(*t->ns))) {
		failed(w, -ENOMEM);
		return;
	}
	t->ns[at] = now_ns;
	c->tokens++;
}

static void ended(struct world *w, struct client *c, uint64_t now_ns)
{
	keep(w, c, now_ns);
	c->next_ns = next_request(w, c, c->intended_ns, now_ns);
	wait_for_next(c, now_ns);
	tell_dependents(w, c, now_ns);
}

/* The end of what the client waits for: all its work, or a token. */
static void reached(struct world *w, struct client *c, uint64_t now_ns)
{
	if (c->part[c->part_next - 1].token)
		keep_token(w, c, now_ns);
	work_ended(w, c, now_ns);
	if (c->part_next == c->parts) {
		end_segment(w, c);
		ended(w, c, now_ns);
		return;
	}
	if (now_ns - c->segment_ns >= GP_WORKLOAD_SEGMENT_NS) {
		end_segment(w, c);
		begin_segment(w, c, now_ns);
	}
	c->launched_ns = now_ns;
	c->wake_ns = now_ns + c->part[c->part_next].at_ns;
}

/* ---- the world beside the device ------------------------------------------------- */

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static uint64_t agent_next(void *arg)
{
	const struct world *w = arg;
	uint64_t next_ns = NEVER;

	for (size_t i = 0; i < w->clients; i++)
		next_ns = sooner(next_ns, sooner(w->client[i].wake_ns, w->client[i].idle_told_ns));
	return next_ns;
}

static void agent_run(void *arg, uint64_t now_ns)
{
	struct world *w = arg;

	for (size_t i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		if (c->wake_ns <= now_ns)
			act(w, c, now_ns);
		if (c->idle_told_ns <= now_ns)
			tell_idle(w, c);
	}
}

/* @client: that has the device now, its index + 1; 0: none. */
static void device_to(struct world *w, uint32_t client, uint64_t now_ns)
{
	struct gp_plan_result *r = w->result;

	if (w->on &&
	    !grow((void **)&r->stretch, r->stretches, &w->stretch_room, sizeof(*r->stretch))) {
		failed(w, -ENOMEM);
		return;
	}
	if (w->on)
		r->stretch[r->stretches++] =
			(struct gp_stretch){ w->on_since_ns, now_ns, w->on - 1 };
	w->on = client;
	w->on_since_ns = now_ns;
}

static uint32_t client_of_group(const struct world *w, uint32_t group)
{
	for (size_t i = 0; i < w->clients; i++)
		if (gp_sim_context_group(gp_sim_sched_context(w->host, w->client[i].id)) == group)
			return (uint32_t)i + 1;
	return 0;
}

static void agent_event(void *arg, const struct gp_model_event *ev)
{
	struct world *w = arg;

	if (ev->type == GP_MODEL_DONE && ev->cookie && ev->cookie <= w->clients)
		reached(w, &w->client[ev->cookie - 1], ev->time_ns);
	else if (ev->type == GP_MODEL_SWITCH && ev->switch_kind == GP_SWITCH_START)
		device_to(w, client_of_group(w, ev->group), ev->time_ns);
	else if (ev->type == GP_MODEL_SWITCH && ev->switch_kind == GP_SWITCH_END)
		device_to(w, 0, ev->time_ns);
}

/* ---- set-up ---------------------------------------------------------------------- */

/*
 * The factor by which a request alone takes as long as recorded, as in replay. It corrects
 * for the profiler, which lengthens kernels, and for kernels that overlapped.
 */
static double fit(const struct gp_workload *workload, const struct gp_model_config *device)
{
	const struct gp_workload_sum sum = gp_workload_sum(workload);
	const uint64_t waits = workload->tokens ? workload->tokens : 1;
	const uint64_t other_ns = waits * (device->start_ns + device->end_ns);
	const uint64_t work_ns = sum.length_ns + sum.gap_ns - workload->kernel[0].gap_ns;

	return workload->solo_ns > other_ns ?
		       (double)(workload->solo_ns - other_ns) / (double)work_ns :
		       1;
}

static uint64_t fitted(uint64_t ns, double by)
{
	return (uint64_t)((double)ns * by + 0.5);
}

static int make_parts(struct client *c, const struct gp_workload *workload,
		      const struct gp_model_config *device)
{
	const double by = fit(workload, device);
	uint64_t at_ns = 0;

	c->part = calloc(workload->kernels, sizeof(*c->part));
	if (!c->part)
		return -ENOMEM;
	for (size_t i = 0; i < workload->kernels; i++) {
		const struct gp_workload_kernel *k = &workload->kernel[i];
		const uint64_t gap_ns = fitted(k->gap_ns, by), length_ns = fitted(k->length_ns, by);
		const bool after_token = i && k[-1].token;
		const bool queued = i && !after_token &&
				    (c->plan->graph || gp_workload_is_queued(workload, i));

		if (after_token)
			at_ns = 0;
		/* The gap before the first kernel is the launch, which the model adds. */
		if (i)
			at_ns += gap_ns;
		if (queued)
			c->part[c->parts - 1].length_ns += gap_ns + length_ns;
		else
			c->part[c->parts++] = (struct part){ at_ns, length_ns, false };
		c->part[c->parts - 1].token = k->token;
		at_ns += length_ns;
	}
	return 0;
}

/* Two clients that compete: one may preempt the other, or both are BE. */
static bool concern_each_other(enum gp_corun_scheduler scheduler, const struct gp_plan_client *a,
			       const struct gp_plan_client *b)
{
	if (a->lc != b->lc)
		return false;
	return !a->lc || a->level != b->level || scheduler == GP_CORUN_SJF;
}

/* gpreempt watches the launches of a client that competes with another, as gpreemptd asks. */
static bool is_watched(const struct gp_corun *run, size_t i)
{
	const struct gp_plan *plan = run->plan;

	for (size_t k = 0; k < plan->clients && run->scheduler != GP_CORUN_SLICES; k++)
		if (k != i &&
		    concern_each_other(run->scheduler, &plan->client[k], &plan->client[i]))
			return true;
	return false;
}

static int make_client(struct world *w, size_t i)
{
	const struct gp_plan_client *plan = &w->run->plan->client[i];
	const struct gp_class_request spec = {
		.cls = { plan->lc ? GP_CLASS_LC : GP_CLASS_BE, plan->lc	    ? plan->level :
							       plan->weight ? plan->weight :
									      BE_WEIGHT },
	};
	char law[32];
	struct client *c = &w->client[i];
	int err, id = gp_sim_sched_join(w->host, &spec);

	if (id < 0)
		return id;
	*c = (struct client){ .plan = plan,
			      .id = (uint32_t)id,
			      .wake_ns = NEVER,
			      .idle_told_ns = NEVER,
			      .result = &w->result->client[i] };
	if (gp_workload_needs_device(w->run->workload[i]) || plan->killed_every_s > 0)
		return -EINVAL;
	c->watched = is_watched(w->run, i);
	c->segments = plan->lc && says_when(w->run->scheduler) &&
		      gp_workload_waits_often(w->run->workload[i]);
	c->result->tokens.of_each = w->run->workload[i]->tokens;
	err = make_parts(c, w->run->workload[i], w->run->device);
	if (err || !gp_plan_has_rate(plan))
		return err;
	gp_plan_law(plan, law, sizeof(law));
	return gp_arrivals_parse(law, 1e9 / plan->rate, w->run->seed, i + 1, &c->arrivals);
}

static int make_host(struct world *w)
{
	const struct gp_sched_config core = {
		.rotate = 1,
		.slice_preempts = 1,
		.lc_preempt = GP_LC_CUT_PREEMPT,
		.lc_policy = w->run->scheduler == GP_CORUN_SJF ? &gp_policy_sjf : NULL,
	};
	const struct gp_sim_sched_config config = {
		.model = w->run->device,
		.report_ns = REPORT_NS,
		.core = w->run->scheduler == GP_CORUN_SLICES ? NULL : &core,
	};
	const struct gp_sim_agent agent = { w, agent_next, agent_run, agent_event };
	int err = w->run->device->kind == GP_MODEL_TIMESLICE ?
			  gp_sim_sched_create(&config, &w->host) :
			  -EINVAL;

	if (!err)
		gp_sim_sched_set_agent(w->host, &agent);
	return err;
}

/* The plan begins once all clients have joined: joining takes virtual time. */
static void start_clients(struct world *w)
{
	const uint64_t now_ns = gp_sim_now(gp_sim_sched_sim(w->host));

	w->result->begin_ns = now_ns;
	w->result->end_ns = now_ns + (uint64_t)(w->run->plan->seconds * NS_PER_S);
	for (size_t i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		c->next_ns = next_request(w, c, now_ns, now_ns);
		wait_for_next(c, now_ns);
	}
}

/* Requests that arrived and did not start. In a closed loop the next one never arrived. */
static size_t waiting(struct world *w, struct client *c)
{
	size_t count = 0;
	uint64_t at_ns = c->next_ns;

	if (c->state != IDLE && c->plan->load != GP_PLAN_CONTINUOUS)
		at_ns = next_request(w, c, c->intended_ns, NEVER);
	for (; at_ns != NEVER; at_ns = next_request(w, c, at_ns, NEVER))
		count++;
	return count;
}

static void count_left(struct world *w)
{
	for (size_t i = 0; i < w->clients; i++) {
		struct client *c = &w->client[i];

		c->result->left = (c->state != IDLE) + waiting(w, c);
	}
}

static int run_all(struct world *w)
{
	int err = make_host(w);

	for (size_t i = 0; i < w->run->plan->clients && !err; i++) {
		err = make_client(w, i);
		w->clients += !err;
	}
	if (err)
		return err;
	start_clients(w);
	err = gp_sim_sched_run(w->host, w->result->end_ns + DRAIN_NS);
	count_left(w);
	return err ? err : w->error;
}

int gp_corun_run(const struct gp_corun *run, struct gp_plan_result *result)
{
	struct world *w = calloc(1, sizeof(*w));
	int err;

	*result = (struct gp_plan_result){ 0 };
	if (!w)
		return -ENOMEM;
	w->run = run;
	w->result = result;
	err = run_all(w);
	for (size_t i = 0; i < GP_PLAN_CLIENTS_MAX; i++) {
		free(w->client[i].part);
		free(w->client[i].due_ns);
	}
	gp_sim_sched_destroy(w->host);
	free(w);
	if (err)
		gp_plan_result_free(result);
	return err;
}

/* ---- alone ----------------------------------------------------------------------- */

static double seconds_for(const struct gp_plan_client *c, const struct gp_workload *w,
			  unsigned int requests)
{
	const struct gp_workload_sum sum = gp_workload_sum(w);
	const double one_ns = (double)(sum.length_ns + sum.gap_ns) + c->prepare_us * 1000.0;

	return one_ns * requests / NS_PER_S;
}

int gp_corun_alone(const struct gp_corun *run, size_t i, struct gp_plan_alone *of)
{
	struct gp_plan plan = { .clients = 1 };
	struct gp_corun alone = *run;
	struct gp_plan_result result;
	int err;

	plan.client[0] = run->plan->client[i];
	plan.client[0].load = GP_PLAN_CONTINUOUS;
	plan.client[0].killed_every_s = 0;
	plan.seconds = seconds_for(&plan.client[0], run->workload[i], ALONE_REQUESTS);
	alone.plan = &plan;
	alone.workload = &run->workload[i];
	alone.scheduler = GP_CORUN_SLICES;
	err = gp_corun_run(&alone, &result);
	if (err)
		return err;
	err = gp_plan_result_alone(&result, of);
	gp_plan_result_free(&result);
	return err;
}
