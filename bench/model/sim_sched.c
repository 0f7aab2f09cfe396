// SPDX-License-Identifier: Apache-2.0
#include "bench/model/sim_sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PID_FIRST 1000
#define TENANTS GP_SCHED_MAX_TENANTS
#define DEFAULT_SLICE_US 2048u
#define NEVER UINT64_MAX
/* Who has the device is looked at so often while the most urgent one waits (daemon/look.c). */
#define LOOK_NS 250000u
/* Each tenant has one group, and a group gets no control before the last one's outcome. */
#define CONTROLS TENANTS

struct tenant {
	struct gp_class_request spec;
	struct gp_sim_context *context;
	struct gp_group_list groups;
	struct gp_hold *hold; /* LC's */
	uint64_t told_ns;     /* usage when it was last reported */
	uint64_t taken_ns;    /* by LC, while it could have run, since */
};

struct gp_sim_sched {
	struct gp_sim *sim;
	struct gp_device *dev;
	struct gp_sched *core;
	struct gp_sim_sched_config config;
	struct tenant tenant[TENANTS + 1]; /* ids are places */
	uint32_t tenants;
	struct gp_sim_agent user;
	struct gp_event *queue; /* a ring */
	size_t first, count, room;
	struct gp_decision control[CONTROLS]; /* likewise: the worker's */
	size_t control_first, controls;
	uint64_t timer_ns, next_report_ns; /* timer_ns 0: not armed */
	uint64_t look_ns;		   /* NEVER: nobody waits */
	uint32_t has;			   /* the tenant that has the device; 0: none */
	uint64_t lc_seen_ns;
	uint32_t on; /* the BE tenant that was resumed last */
	struct gp_sim_sched_stat stat;
	int error;
};

struct gp_sim *gp_sim_sched_sim(struct gp_sim_sched *s)
{
	return s->sim;
}

struct gp_sched *gp_sim_sched_core(struct gp_sim_sched *s)
{
	return s->core;
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

/* ---- what waits in line ---------------------------------------------------------- */

static int more_room(struct gp_sim_sched *s)
{
	const size_t room = s->room ? 2 * s->room : 64;
	struct gp_event *queue = malloc(room * sizeof(*queue));

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

int gp_sim_sched_tell(struct gp_sim_sched *s, const struct gp_event *ev)
{
	int err = s->core && s->count == s->room ? more_room(s) : 0;

	if (!s->core)
		return 0;
	if (err) {
		failed(s, err);
		return err;
	}
	s->queue[(s->first + s->count++) % s->room] = *ev;
	return 0;
}

static struct gp_event next_event(struct gp_sim_sched *s)
{
	const struct gp_event ev = s->queue[s->first];

	s->first = (s->first + 1) % s->room;
	s->count--;
	return ev;
}

static void queue_control(struct gp_sim_sched *s, const struct gp_decision *d)
{
	s->control[(s->control_first + s->controls++) % CONTROLS] = *d;
	gp_sim_stop(s->sim);
}

static struct gp_decision next_control(struct gp_sim_sched *s)
{
	const struct gp_decision d = s->control[s->control_first];

	s->control_first = (s->control_first + 1) % CONTROLS;
	s->controls--;
	return d;
}

/* ---- usage ----------------------------------------------------------------------- */

static struct gp_group *compute_group(struct gp_sim_sched *s, uint32_t id)
{
	struct gp_group_list *list = &s->tenant[id].groups;

	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->kind == GP_GROUP_COMPUTE)
			return list->group[i];
	return NULL;
}

uint64_t gp_sim_sched_used(struct gp_sim_sched *s, uint32_t id)
{
	uint64_t ns = 0;

	return s->dev->ops->usage(compute_group(s, id), &ns) ? 0 : ns;
}

/* What LC used since this was last asked is taken from who is on. */
static void note_taken(struct gp_sim_sched *s)
{
	uint64_t lc_ns = 0;

	for (uint32_t id = 1; id <= s->tenants; id++)
		if (!is_be(s, id))
			lc_ns += gp_sim_sched_used(s, id);
	if (s->on)
		s->tenant[s->on].taken_ns += lc_ns - s->lc_seen_ns;
	s->lc_seen_ns = lc_ns;
}

/* What the hardware says of each tenant. */
static void report(struct gp_sim_sched *s)
{
	note_taken(s);
	for (uint32_t id = 1; id <= s->tenants; id++) {
		struct tenant *t = &s->tenant[id];
		const uint64_t used_ns = gp_sim_sched_used(s, id);
		const struct gp_event ev = {
			.type = GP_EV_USAGE,
			.tenant = id,
			.usage = { .used_ns = used_ns - t->told_ns, .displaced_ns = t->taken_ns },
		};

		t->told_ns = used_ns;
		t->taken_ns = 0;
		gp_sim_sched_tell(s, &ev);
	}
}

/* ---- whom the hardware took ------------------------------------------------------- */

static bool waits_for_cut(const struct gp_sim_sched *s)
{
	const uint32_t first = s->core ? gp_sched_most_urgent(s->core) : 0;

	return first && s->has && first != s->has && is_lc(s, s->has);
}

static void plan_look(struct gp_sim_sched *s)
{
	if (waits_for_cut(s) && s->look_ns == NEVER)
		s->look_ns = gp_sim_now(s->sim) + LOOK_NS;
}

static void look(struct gp_sim_sched *s)
{
	const struct gp_event on = { .type = GP_EV_BUSY,
				     .tenant = s->has,
				     .busy = { GP_BUSY_ON, gp_sim_now(s->sim) } };

	s->look_ns = NEVER;
	if (s->has && is_lc(s, s->has))
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
		s->has = tenant_of(s, ev->group);
	else if (ev->switch_kind == GP_SWITCH_END)
		s->has = 0;
	plan_look(s);
}

/* ---- decisions ------------------------------------------------------------------- */

/* What the hold's switch took is learned from, as a client does. */
static int release(struct gp_sim_sched *s, uint32_t id)
{
	const struct gp_hal_ops *ops = s->dev->ops;
	struct gp_hold *hold = s->tenant[id].hold;
	struct gp_hold_stat stat;
	int err = ops->release(hold);

	if (!err && !ops->hold_stat(hold, &stat) && stat.switch_ns) {
		const struct gp_event ev = {
			.type = GP_EV_SWITCH_MEASURED,
			.tenant = id,
			.measured.took_ns = stat.switch_ns,
		};

		gp_sim_sched_tell(s, &ev);
	}
	return err;
}

/* An outcome is told of what the core waits for, and of what failed. */
static void tell_outcome(struct gp_sim_sched *s, const struct gp_decision *d, int error)
{
	const struct gp_event ev = {
		.type = GP_EV_OUTCOME,
		.outcome = { d->id, error },
	};

	s->stat.failed += error != 0;
	gp_sim_sched_tell(s, &ev);
}

/* What takes no control is a client's own to do, whatever the worker is at. */
static void carry_out(struct gp_sim_sched *s, const struct gp_decision *d)
{
	int err = 0;

	switch (d->type) {
	case GP_DO_ARM_TIMER:
		s->timer_ns = d->at_ns;
		break;
	case GP_DO_HOLD:
		err = s->dev->ops->hold(s->tenant[d->tenant].hold, d->limit_ns);
		break;
	case GP_DO_RELEASE:
		err = release(s, d->tenant);
		break;
	default:
		queue_control(s, d);
	}
	if (err)
		tell_outcome(s, d, err);
}

static int step(struct gp_sim_sched *s, const struct gp_event *ev)
{
	struct gp_decisions todo;
	int err = gp_sched_step(s->core, gp_sim_now(s->sim), ev, &todo);

	s->stat.steps++;
	for (size_t i = 0; i < todo.count && !err; i++)
		carry_out(s, &todo.d[i]);
	return err;
}

/* ---- the worker ------------------------------------------------------------------ */

static int call(struct gp_sim_sched *s, const struct gp_decision *d)
{
	const struct gp_hal_ops *ops = s->dev->ops;
	struct gp_group *group = compute_group(s, d->group);

	switch (d->type) {
	case GP_DO_SET_SLICE:
		return ops->set_slice(group, d->slice_us ? d->slice_us : DEFAULT_SLICE_US);
	case GP_DO_SUSPEND:
		s->stat.suspends++;
		return ops->suspend(&group, 1);
	case GP_DO_RESUME:
		return ops->resume(&group, 1);
	case GP_DO_PREEMPT:
		s->stat.preempts++;
		return ops->preempt(group);
	default:
		return -EINVAL;
	}
}

static int execute(struct gp_sim_sched *s, const struct gp_decision *d)
{
	const bool be = is_be(s, d->group);
	int err;

	if (be && d->type == GP_DO_RESUME) {
		note_taken(s);
		s->on = d->group;
	}
	err = call(s, d);
	if (be && d->type == GP_DO_SUSPEND && s->on == d->group) {
		note_taken(s);
		s->on = 0;
	}
	return err;
}

/* It takes time, in which events are told, and steps made of them. */
static void work(struct gp_sim_sched *s)
{
	const struct gp_decision d = next_control(s);

	tell_outcome(s, &d, execute(s, &d));
}

/* ---- who drives the core: an agent of the device, beside the user's ----------------- */

static void step_all(struct gp_sim_sched *s)
{
	while (s->count) {
		const struct gp_event ev = next_event(s);
		int err = step(s, &ev);

		if (err)
			failed(s, err);
	}
}

static uint64_t report_due_ns(const struct gp_sim_sched *s)
{
	return s->config.report_ns ? s->next_report_ns : NEVER;
}

static uint64_t timer_due_ns(const struct gp_sim_sched *s)
{
	return s->timer_ns ? s->timer_ns : NEVER;
}

/* All that is due by now. */
static void serve(struct gp_sim_sched *s, uint64_t now_ns)
{
	static const struct gp_event timer = { .type = GP_EV_TIMER };

	if (report_due_ns(s) <= now_ns) {
		s->next_report_ns += s->config.report_ns;
		report(s);
	}
	if (s->look_ns <= now_ns)
		look(s);
	step_all(s);
	if (timer_due_ns(s) <= now_ns) {
		s->timer_ns = 0;
		gp_sim_sched_tell(s, &timer);
		step_all(s);
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

	/* What was told waits for no time to come. */
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
		if (s->controls)
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

static int make_core(struct gp_sim_sched *s)
{
	if (!s->config.core)
		return 0;
	s->core = calloc(1, gp_sched_size());
	return s->core ? gp_sched_init(s->core, s->config.core) : -ENOMEM;
}

int gp_sim_sched_create(const struct gp_sim_sched_config *config, struct gp_sim_sched **out)
{
	struct gp_sim_sched *s = calloc(1, sizeof(*s));
	const struct gp_sim_agent agent = { s, agent_next, agent_run, agent_event };
	int err;

	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->look_ns = NEVER;
	if (!config->core)
		s->config.report_ns = 0;
	s->sim = gp_sim_create(config->model);
	err = s->sim ? open_device(s, config->model->kind) : -ENOMEM;
	if (!err)
		err = make_core(s);
	/* The core is the config's only reader. */
	s->config.core = NULL;
	s->config.model = NULL;
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
	for (uint32_t id = 1; id <= s->tenants; id++) {
		if (s->tenant[id].hold)
			s->dev->ops->hold_destroy(s->tenant[id].hold);
		gp_group_list_put(&s->tenant[id].groups);
	}
	if (s->dev)
		s->dev->ops->close(s->dev);
	if (s->sim)
		gp_sim_destroy(s->sim);
	free(s->core);
	free(s->queue);
	free(s);
}

/* The core has it, and all that follows from that is done. */
static int tell_join(struct gp_sim_sched *s, uint32_t id)
{
	const struct gp_event ev[] = {
		{ .type = GP_EV_TENANT_JOIN, .tenant = id, .spec = s->tenant[id].spec },
		{ .type = GP_EV_GROUP_APPEAR, .tenant = id, .group.id = id },
	};
	int err = 0;

	for (size_t i = 0; s->core && i < 2 && !err; i++)
		err = step(s, &ev[i]);
	while (s->controls && !s->error) {
		work(s);
		step_all(s);
	}
	return err ? err : s->error;
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
	err = s->dev->ops->groups(s->dev, pid, &t->groups);
	if (!err && spec->cls.cls == GP_CLASS_LC)
		err = s->dev->ops->hold_create(s->dev, t->context, &t->hold);
	if (!err)
		err = tell_join(s, id);
	return err ? err : (int)id;
}
