// SPDX-License-Identifier: Apache-2.0
/*
 * runtime.c - steps the core and starts its decisions.
 *
 * An event steps the core. Its decisions wait in a ring, and are started in their order.
 * An event of an op or a call meanwhile steps the core, too, and only adds to the ring:
 * the event under way starts those decisions as well. The timer is armed last, as a virtual clock
 * goes on from there.
 */
#include "runtime/runtime_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hal/timer.h"
#include "runtime/log.h"

struct gp_sched *gp_runtime_core(struct gp_runtime *rt)
{
	return rt->core;
}

uint64_t gp_runtime_clock_ns(const struct gp_runtime *rt)
{
	uint64_t ns = 0;

	rt->config.hal->ops->now(rt->config.hal, &ns);
	return ns;
}

uint64_t gp_runtime_stepped_ns(const struct gp_runtime *rt)
{
	return rt->stepped_ns;
}

uint64_t gp_runtime_due_ns(const struct gp_runtime *rt)
{
	return rt->due_ns;
}

bool gp_runtime_is_managed(const struct gp_runtime *rt)
{
	return rt->managed;
}

void gp_runtime_managed(struct gp_runtime *rt, bool managed)
{
	rt->managed = managed;
	if (!managed)
		gp_runtime_again(rt);
}

/* ---- calls ------------------------------------------------------------------------ */

uint64_t gp_runtime_default_us(const struct gp_runtime *rt, const struct gp_runtime_group *g)
{
	return g->copies ? rt->caps.default_copy_slice_us : rt->caps.default_slice_us;
}

/* 0 is the driver's own slice. */
static uint64_t slice_us(const struct gp_runtime *rt, const struct gp_runtime_group *g, uint64_t us)
{
	const struct gp_hal_caps *caps = &rt->caps;

	if (!us)
		us = gp_runtime_default_us(rt, g);
	if (caps->max_slice_us && us > caps->max_slice_us)
		us = caps->max_slice_us;
	return us < caps->min_slice_us ? caps->min_slice_us : us;
}

static size_t groups_of(const struct gp_call *call, struct gp_group *group[1 + GP_CALL_COPIES])
{
	size_t n = 1;

	group[0] = call->group->hal;
	for (size_t i = 0; i < call->copies; i++)
		if (call->copy[i]->hal)
			group[n++] = call->copy[i]->hal;
	return n;
}

/* Copies that go on delay no kernel. */
static int suspend(struct gp_call *call, const struct gp_hal_ops *ops)
{
	struct gp_group *group[1 + GP_CALL_COPIES];
	const size_t n = groups_of(call, group);
	const int err = ops->suspend(group, n);

	if (!err || n == 1)
		return err;
	call->copies_stay = true;
	return ops->suspend(group, 1);
}

/* One by one, so that a failure of one does not keep another suspended. */
static int resume(const struct gp_call *call, const struct gp_hal_ops *ops)
{
	struct gp_group *group[1 + GP_CALL_COPIES];
	const size_t n = groups_of(call, group);
	int first = ops->resume(group, n);

	if (!first || n == 1)
		return first;
	first = 0;
	for (size_t i = 0; i < n; i++) {
		int err = ops->resume(&group[i], 1);

		/* A copy group that is gone needs nothing. */
		if (i && (err == -ESRCH || err == -ENODEV))
			err = 0;
		first = first ? first : err;
	}
	return first;
}

static int call_op(struct gp_call *call)
{
	const struct gp_hal_ops *ops = call->rt->config.hal->ops;
	struct gp_group *group = call->group->hal;

	if (!group)
		return -ESRCH;
	switch (call->what.type) {
	case GP_DO_SET_SLICE:
		return ops->set_slice(group, call->slice_us);
	case GP_DO_SUSPEND:
		return suspend(call, ops);
	case GP_DO_RESUME:
		return resume(call, ops);
	case GP_DO_PREEMPT:
		return ops->preempt(group);
	case GP_CALL_PREEMPT_MODE:
		return ops->set_preempt_mode(group, GP_PREEMPT_INSTRUCTION);
	default:
		return -EOPNOTSUPP;
	}
}

void gp_call_run(struct gp_call *call)
{
	const uint64_t start_ns = gp_wall_ns();

	/* A borrowed group leaves the table before it is freed. */
	if (call->rt->config.borrowed)
		gp_runtime_lock(call->rt);
	call->err = call_op(call);
	if (call->rt->config.borrowed)
		gp_runtime_unlock(call->rt);
	call->took_ns = gp_wall_ns() - start_ns;
}

static bool turns(const struct gp_call *call)
{
	return call->what.type == GP_DO_SUSPEND || call->what.type == GP_DO_RESUME;
}

static void follow(struct gp_call *call)
{
	struct gp_runtime_group *g = call->group;
	const bool was_off = g->off;

	if (!call->err && call->what.type == GP_DO_SET_SLICE)
		g->slice_us = call->slice_us;
	if (!turns(call))
		return;
	if (!call->err)
		g->off = call->what.type == GP_DO_SUSPEND;
	g->off_next = g->off;
	for (size_t i = 0; i < call->copies; i++) {
		if (!call->err && !call->copies_stay)
			call->copy[i]->off = g->off;
		call->copy[i]->off_next = call->copy[i]->off;
	}
	call->turned = g->off != was_off;
}

/* @took_ns: of a call; 0: of none. */
static void report_outcome(struct gp_runtime *rt, uint32_t decision, int err, uint64_t took_ns)
{
	const struct gp_event ev = { .type = GP_EV_OUTCOME, .outcome = { decision, err, took_ns } };

	gp_runtime_event(rt, &ev);
}

void gp_call_done(struct gp_call *call)
{
	struct gp_runtime *rt = call->rt;
	const struct gp_host_ops *ops = rt->config.ops;

	follow(call);
	if (ops->called)
		ops->called(rt->config.host, call);
	if (!call->own)
		report_outcome(rt, call->what.id, call->err, call->took_ns);
	gp_runtime_job_end(rt, call->group);
	for (size_t i = 0; i < call->copies; i++)
		gp_runtime_job_end(rt, call->copy[i]);
	free(call);
	if (ops->over)
		ops->over(rt->config.host);
}

static bool runs_besides(const struct gp_runtime *rt, const struct gp_runtime_group *g)
{
	for (size_t i = 0; i < rt->groups; i++) {
		const struct gp_runtime_group *o = &rt->group[i];

		if (o->id && o != g && o->tenant == g->tenant && gp_runtime_computes(o) &&
		    !o->off_next)
			return true;
	}
	return false;
}

/* A tenant's copies stop with its last group of kernels, and go on with the first. */
static void add_copies(struct gp_runtime *rt, struct gp_call *call)
{
	const struct gp_runtime_group *g = call->group;
	const bool suspends = call->what.type == GP_DO_SUSPEND;

	if (!turns(call))
		return;
	call->group->off_next = suspends;
	if (!rt->config.core.rotate || g->copies || (suspends && runs_besides(rt, g)))
		return;
	for (size_t i = 0; i < rt->groups && call->copies < GP_CALL_COPIES; i++) {
		struct gp_runtime_group *c = &rt->group[i];

		if (!c->id || c->gone || !c->copies || c->tenant != g->tenant ||
		    c->off_next == suspends)
			continue;
		gp_runtime_job_begin(rt, c);
		c->off_next = suspends;
		call->copy[call->copies++] = c;
	}
}

/* 0, or -ENOMEM, and nothing was started. */
static int start_call(struct gp_runtime *rt, struct gp_runtime_group *group,
		      const struct gp_decision *what, bool own, bool alone)
{
	struct gp_call *call = calloc(1, sizeof(*call));

	if (!call) {
		gp_log(GP_LOG_ERR, "cannot start a driver call: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	call->rt = rt;
	call->group = group;
	call->what = *what;
	call->own = own;
	call->err = -ECANCELED;
	if (what->type == GP_DO_SET_SLICE)
		call->slice_us = slice_us(rt, group, what->slice_us);
	gp_runtime_job_begin(rt, group);
	if (!alone)
		add_copies(rt, call);
	else if (turns(call))
		group->off_next = what->type == GP_DO_SUSPEND;
	rt->config.executor->start(rt->config.executor, call);
	return 0;
}

void gp_runtime_own(struct gp_runtime *rt, struct gp_runtime_group *group, uint32_t type)
{
	const struct gp_decision what = { .type = type, .group = group->id };

	(void)start_call(rt, group, &what, true, false);
}

void gp_runtime_own_alone(struct gp_runtime *rt, struct gp_runtime_group *group, uint32_t type)
{
	const struct gp_decision what = { .type = type, .group = group->id };

	(void)start_call(rt, group, &what, true, true);
}

/* ---- stepping --------------------------------------------------------------------- */

static void decide(struct gp_runtime *rt, const struct gp_decision *d)
{
	if (d->type == GP_DO_ARM_TIMER) {
		/* Only the last one counts. */
		rt->arm_asked = true;
		rt->arm_id = d->id;
		rt->due_ns = d->at_ns;
	} else if (rt->count == GP_RUNTIME_TODO) {
		gp_log(GP_LOG_ERR, "runtime: too many decisions at once; one is lost");
	} else {
		rt->todo[(rt->first + rt->count++) % GP_RUNTIME_TODO] = *d;
	}
}

static int step(struct gp_runtime *rt, const struct gp_event *ev, uint64_t now_ns)
{
	int err;

	/* The core takes its timer for fired, and arms it again if need be. */
	if (ev->type == GP_EV_TIMER)
		rt->due_ns = GP_SCHED_NO_TIMER;
	rt->stepped_ns = now_ns;
	err = gp_sched_step(rt->core, rt->stepped_ns, ev, &rt->out);
	for (size_t i = 0; !err && i < rt->out.count; i++)
		decide(rt, &rt->out.d[i]);
	if (ev->type == GP_EV_GROUP_GONE)
		gp_runtime_group_forget(rt, ev->group.id);
	return err;
}

static int hold(struct gp_runtime *rt, const struct gp_decision *d)
{
	const struct gp_host_ops *ops = rt->config.ops;

	if (d->type == GP_DO_RELEASE)
		return ops->release ? ops->release(rt->config.host, d->tenant) : 0;
	return ops->hold ? ops->hold(rt->config.host, d->tenant, d->limit_ns) : -EOPNOTSUPP;
}

/* A decision that starts no call has its outcome at once. */
static void start(struct gp_runtime *rt, const struct gp_decision *d)
{
	struct gp_runtime_group *group;
	int err;

	if (d->type == GP_DO_HOLD || d->type == GP_DO_RELEASE) {
		err = hold(rt, d);
		if (err)
			report_outcome(rt, d->id, err, 0);
		return;
	}
	if (d->type == GP_DO_SET_SLICE && rt->managed) {
		report_outcome(rt, d->id, 0, 0);
		return;
	}
	group = gp_runtime_group_present(rt, d->group);
	err = group ? start_call(rt, group, d, false, false) : -ESRCH;
	if (err)
		report_outcome(rt, d->id, err, 0);
}

static void start_all(struct gp_runtime *rt)
{
	while (rt->count) {
		const struct gp_decision d = rt->todo[rt->first];

		rt->first = (rt->first + 1) % GP_RUNTIME_TODO;
		rt->count--;
		start(rt, &d);
	}
}

static void arm(struct gp_runtime *rt)
{
	int err = 0;

	if (!rt->arm_asked || rt->arm_later)
		return;
	rt->arm_asked = false;
	if (rt->config.ops->arm)
		err = rt->config.ops->arm(rt->config.host, rt->due_ns);
	if (err)
		report_outcome(rt, rt->arm_id, err, 0);
}

/* Return: the time. A clock may cost a message. */
static uint64_t look_before(struct gp_runtime *rt)
{
	const struct gp_host_ops *ops = rt->config.ops;
	const uint64_t now_ns = gp_runtime_clock_ns(rt);

	if (!ops->before || rt->in_before || rt->due_ns == GP_SCHED_NO_TIMER || now_ns < rt->due_ns)
		return now_ns;
	rt->in_before = true;
	ops->before(rt->config.host);
	rt->in_before = false;
	return gp_runtime_clock_ns(rt);
}

int gp_runtime_event(struct gp_runtime *rt, const struct gp_event *ev)
{
	const struct gp_host_ops *ops = rt->config.ops;
	uint64_t now_ns;
	bool any;
	int err;

	if (rt->depth)
		return step(rt, ev, gp_runtime_clock_ns(rt));
	now_ns = look_before(rt);
	rt->depth++;
	err = step(rt, ev, now_ns);
	if (!err) {
		if (ops->stepped)
			ops->stepped(rt->config.host, ev, rt->stepped_ns);
		any = rt->count;
		start_all(rt);
		if (ops->settled)
			ops->settled(rt->config.host, any);
		/* It may have reported events. */
		start_all(rt);
	}
	rt->depth--;
	arm(rt);
	return err;
}

void gp_runtime_timer(struct gp_runtime *rt)
{
	const struct gp_event ev = { .type = GP_EV_TIMER };

	rt->arm_later = true;
	gp_runtime_event(rt, &ev);
	if (rt->config.ops->timed)
		rt->config.ops->timed(rt->config.host);
	rt->arm_later = false;
	arm(rt);
}

/* ---- making one ------------------------------------------------------------------- */

/* The device's capabilities decide these. */
static struct gp_sched_config core_config(const struct gp_runtime *rt)
{
	struct gp_sched_config config = rt->config.core;

	config.slice_preempts = !!(rt->caps.caps & GP_CAP_SLICE_PREEMPTS);
	if (config.rotate)
		config.slots = rt->caps.slots;
	if (!config.switch_ns)
		config.switch_ns = rt->caps.switch_ns;
	return config;
}

int gp_runtime_create(const struct gp_runtime_config *config, struct gp_runtime **out)
{
	struct gp_runtime *rt = calloc(1, sizeof(*rt));
	struct gp_sched_config core;
	int err;

	if (!rt)
		return -ENOMEM;
	rt->config = *config;
	rt->core = calloc(1, gp_sched_size());
	err = rt->core ? config->hal->ops->caps(config->hal, &rt->caps) : -ENOMEM;
	if (!err) {
		core = core_config(rt);
		err = gp_sched_init(rt->core, &core);
	}
	if (err) {
		free(rt->core);
		free(rt);
		return err;
	}
	pthread_mutex_init(&rt->groups_lock, NULL);
	*out = rt;
	return 0;
}

void gp_runtime_destroy(struct gp_runtime *rt)
{
	if (!rt)
		return;
	if (rt->config.executor->stop)
		rt->config.executor->stop(rt->config.executor);
	gp_runtime_groups_free(rt);
	pthread_mutex_destroy(&rt->groups_lock);
	free(rt->core);
	free(rt);
}
