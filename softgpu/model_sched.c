// SPDX-License-Identifier: Apache-2.0
/*
 * model_sched.c - which groups are on the device. Runlists switch by timeslice: all engines of
 * GP_MODEL_TIMESLICE, and the copy engines of both kinds. Slots hold the queues of
 * GP_MODEL_SLOTS's compute engine. The controls suspend and resume.
 */
#include <errno.h>
#include <string.h>

#include "softgpu/model_priv.h"

static bool has_slots(const struct gp_model *m, uint32_t r)
{
	return r == 0 && m->cfg.kind == GP_MODEL_SLOTS;
}

static uint32_t slot_of(const struct gp_model *m, const struct model_group *g)
{
	return (uint32_t)(g - m->group) + 1;
}

static void emit_switch(struct gp_model *m, const struct model_group *g, enum gp_switch_kind kind)
{
	struct gp_model_event ev = {
		.type = GP_MODEL_SWITCH,
		.group = g->id,
		.time_ns = m->now_ns,
		.switch_kind = kind,
		.pid = g->pid,
	};

	/* This is the log of FECS, which switches contexts of the compute engine. */
	if (g->kind == GP_GROUP_COMPUTE)
		model_emit(m, &ev);
}

static bool runnable(struct gp_model *m, struct model_group *g)
{
	return !g->suspended && model_group_has_work(m, g);
}

/* ---- timeslices --------------------------------------------------------- */

/* A copy engine has no context to switch, so it costs nothing. */
static uint64_t cost(uint32_t r, uint64_t ns)
{
	return r ? 0 : ns;
}

/* Earliest time that another group than the current one was seen runnable. */
static uint64_t others_since(struct gp_model *m, const struct model_runlist *rl)
{
	uint64_t since = MODEL_NEVER;
	uint32_t i = rl->ring;

	if (!i)
		return since;
	do {
		struct model_group *g = &m->group[i - 1];

		if (i != rl->cur && runnable(m, g))
			since = model_min(since, g->since_ns);
		i = g->next;
	} while (i != rl->ring);
	return since;
}

/* The next after @after that the host has seen runnable. 0: none. */
static uint32_t pick(struct gp_model *m, const struct model_runlist *rl, uint32_t after)
{
	uint32_t from, i;

	if (!rl->ring)
		return 0;
	from = after ? m->group[after - 1].next : rl->ring;
	i = from;
	do {
		struct model_group *g = &m->group[i - 1];

		if (runnable(m, g) && g->since_ns <= m->now_ns)
			return i;
		i = g->next;
	} while (i != from);
	return 0;
}

/*
 * While one group runs, the host goes to the first other group with work and waits there. A
 * group that gets work later, between the two in the ring, is not next (softgpu/README.md, "The
 * model").
 */
static uint32_t next_in_turn(struct gp_model *m, const struct model_runlist *rl)
{
	if (rl->next && runnable(m, &m->group[rl->next - 1]))
		return rl->next;
	return pick(m, rl, rl->cur ? rl->cur : rl->after);
}

static void choose_next(struct gp_model *m, struct model_runlist *rl)
{
	const uint32_t next = next_in_turn(m, rl);

	rl->next = next == rl->cur ? 0 : next;
}

static void begin_slice(const struct gp_model *m, struct model_runlist *rl)
{
	rl->slice_ns = m->now_ns + m->cfg.slice_begin_ns;
}

/* Since when have its front ends only had to report the end of running work? */
static void watch_renewing(struct gp_model *m, struct model_group *g)
{
	const bool renews = model_group_renews(m, g);

	if (g->renews && !renews)
		g->last_ns = m->now_ns;
	g->renews = renews;
}

/*
 * A slice that ends while no group waits is renewed. It is not if the group only has to report
 * the end of its running work: the next group then has the device at once (softgpu/README.md,
 * "The model"). So the slice ends at the first multiple after both that state and another
 * group came.
 */
static uint64_t slice_end(const struct gp_model *m, const struct model_runlist *rl,
			  const struct model_group *g, uint64_t since_ns)
{
	const uint64_t slice = g->slice_us * m->cfg.slice_unit_ns;
	const uint64_t last_ns = g->renews ? since_ns : model_min(since_ns, g->last_ns);
	uint64_t times = 1;

	if (last_ns > rl->slice_ns)
		times = model_max(1, (last_ns - rl->slice_ns + slice - 1) / slice);
	return rl->slice_ns + times * slice;
}

/* A group that kept the device without work, as no other had any, begins a slice with new work. */
void model_sched_work_came(struct gp_model *m, struct model_group *g)
{
	struct model_runlist *rl = &m->runlist[g->runlist];

	if (rl->phase == PHASE_RUN && &m->group[rl->cur - 1] == g)
		begin_slice(m, rl);
}

static void load(struct gp_model *m, struct model_runlist *rl, uint32_t r, uint32_t next,
		 uint64_t in_ns)
{
	rl->cur = next;
	rl->next = 0;
	rl->end_turn = false;
	rl->phase = next ? PHASE_IN : PHASE_EMPTY;
	rl->phase_ns = m->now_ns + cost(r, in_ns);
}

static bool step_empty(struct gp_model *m, struct model_runlist *rl, uint32_t r)
{
	uint32_t next = next_in_turn(m, rl);

	if (!next)
		return false;
	load(m, rl, r, next, m->cfg.idle_switch_ns);
	return true;
}

/* Must the running group leave now? */
static bool must_go(struct gp_model *m, struct model_runlist *rl, uint32_t r, struct model_group *g)
{
	uint64_t since = others_since(m, rl);

	if (g->suspended)
		return true;
	if (since > m->now_ns) {
		rl->give_up_ns = 0;
		return false;
	}
	if (!model_group_has_work(m, g) || rl->end_turn || m->now_ns >= slice_end(m, rl, g, since))
		return true;
	if (model_group_kept(m, g))
		rl->give_up_ns = 0;
	else if (!rl->give_up_ns)
		rl->give_up_ns = m->now_ns + model_max(1, cost(r, m->cfg.notice_ns));
	return rl->give_up_ns && m->now_ns >= rl->give_up_ns;
}

static bool step_out(struct gp_model *m, struct model_runlist *rl, uint32_t r)
{
	if (rl->cur) {
		struct model_group *g = &m->group[rl->cur - 1];

		emit_switch(m, g, GP_SWITCH_END);
		g->since_ns = m->now_ns;
		rl->after = rl->cur;
		rl->cur = 0;
	}
	load(m, rl, r, next_in_turn(m, rl), m->cfg.switch_in_ns);
	return true;
}

static bool step_runlist(struct gp_model *m, struct model_runlist *rl, uint32_t r)
{
	struct model_group *g = rl->cur ? &m->group[rl->cur - 1] : NULL;

	switch (rl->phase) {
	case PHASE_EMPTY:
		return step_empty(m, rl, r);
	case PHASE_RUN:
		watch_renewing(m, g);
		choose_next(m, rl);
		if (!must_go(m, rl, r, g))
			return false;
		model_group_ask_stop(m, g);
		rl->phase = PHASE_STOP;
		return true;
	case PHASE_STOP:
		if (!model_group_can_stop(m, g))
			return false;
		model_group_cut(m, g);
		rl->phase = PHASE_OUT;
		/* Time must pass, or two groups would switch for ever. */
		rl->phase_ns =
			m->now_ns + model_max(1, cost(r, m->cfg.switch_out_ns +
								 (g->saved ? m->cfg.save_ns : 0)));
		return true;
	default:
		break;
	}
	if (m->now_ns < rl->phase_ns)
		return false;
	switch (rl->phase) {
	case PHASE_OUT:
		return step_out(m, rl, r);
	case PHASE_IN:
		emit_switch(m, g, GP_SWITCH_START);
		/* Loading its state counts in the slice: at 1 us nothing is left. */
		begin_slice(m, rl);
		rl->phase = PHASE_BEGIN;
		rl->phase_ns =
			m->now_ns + cost(r, m->cfg.begin_ns + (g->saved ? m->cfg.restore_ns : 0));
		return true;
	default:
		rl->phase = PHASE_RUN;
		rl->give_up_ns = 0;
		model_group_continue(m, g);
		return true;
	}
}

static uint64_t runlist_next(struct gp_model *m, struct model_runlist *rl)
{
	struct model_group *g = rl->cur ? &m->group[rl->cur - 1] : NULL;
	uint64_t since, next;

	switch (rl->phase) {
	case PHASE_EMPTY:
		return others_since(m, rl);
	case PHASE_RUN:
		since = others_since(m, rl);
		if (since > m->now_ns)
			return since;
		next = slice_end(m, rl, g, since);
		return rl->give_up_ns ? model_min(next, rl->give_up_ns) : next;
	case PHASE_STOP:
		return g->stop_ns > m->now_ns ? g->stop_ns : MODEL_NEVER;
	default:
		return rl->phase_ns;
	}
}

/* ---- slots -------------------------------------------------------------- */

static bool step_slot(struct gp_model *m, struct model_group *g)
{
	switch (g->phase) {
	case PHASE_EMPTY:
		if (g->suspended || m->slots_used == m->cfg.slots)
			return false;
		m->slots_used++;
		g->phase = PHASE_IN;
		g->phase_ns = m->now_ns + m->cfg.begin_ns + (g->saved ? m->cfg.restore_ns : 0);
		return true;
	case PHASE_RUN:
		if (!g->suspended)
			return false;
		model_group_ask_stop(m, g);
		g->phase = PHASE_STOP;
		return true;
	case PHASE_STOP:
		if (!model_group_can_stop(m, g))
			return false;
		model_group_cut(m, g);
		g->phase = PHASE_OUT;
		g->phase_ns = m->now_ns + m->cfg.switch_out_ns + (g->saved ? m->cfg.save_ns : 0);
		return true;
	default:
		break;
	}
	if (m->now_ns < g->phase_ns)
		return false;
	if (g->phase == PHASE_OUT) {
		emit_switch(m, g, GP_SWITCH_END);
		m->slots_used--;
		g->phase = PHASE_EMPTY;
		return true;
	}
	emit_switch(m, g, GP_SWITCH_START);
	g->phase = PHASE_RUN;
	model_group_continue(m, g);
	return true;
}

static bool step_slots(struct gp_model *m, struct model_runlist *rl)
{
	uint32_t i = rl->ring;

	if (!i)
		return false;
	do {
		if (step_slot(m, &m->group[i - 1]))
			return true;
		i = m->group[i - 1].next;
	} while (i != rl->ring);
	return false;
}

static uint64_t slots_next(struct gp_model *m, struct model_runlist *rl)
{
	uint64_t next = MODEL_NEVER;
	uint32_t i = rl->ring;

	if (!i)
		return next;
	do {
		struct model_group *g = &m->group[i - 1];

		if (g->phase == PHASE_IN || g->phase == PHASE_OUT)
			next = model_min(next, g->phase_ns);
		if (g->phase == PHASE_STOP && g->stop_ns > m->now_ns)
			next = model_min(next, g->stop_ns);
		i = g->next;
	} while (i != rl->ring);
	return next;
}

/* ---- controls ----------------------------------------------------------- */

static bool on_device(const struct gp_model *m, const struct model_group *g)
{
	if (has_slots(m, g->runlist))
		return g->phase != PHASE_EMPTY;
	return m->runlist[g->runlist].cur == slot_of(m, g);
}

/* Suspended, gone, or meanwhile resumed: the control is done. */
static bool suspend_over(const struct gp_model *m, const struct model_control *k)
{
	for (size_t i = 0; i < k->n; i++) {
		struct model_group *g = model_group_find(m, k->group[i]);

		if (g && g->suspended && on_device(m, g))
			return false;
	}
	return true;
}

static bool resume_over(const struct gp_model *m, const struct model_control *k)
{
	for (size_t i = 0; i < k->n; i++) {
		struct model_group *g = model_group_find(m, k->group[i]);

		if (g && has_slots(m, g->runlist) && !g->suspended && g->phase != PHASE_RUN)
			return false;
	}
	return true;
}

static void resume_now(struct gp_model *m, const struct model_control *k)
{
	for (size_t i = 0; i < k->n; i++) {
		struct model_group *g = model_group_find(m, k->group[i]);

		if (!g || g->op != k->op || !g->suspended)
			continue;
		g->suspended = false;
		g->since_ns = m->now_ns;
	}
}

static bool step_control(struct gp_model *m, struct model_control *k)
{
	struct gp_model_event ev = {
		.type = GP_MODEL_CONTROL_DONE,
		.time_ns = m->now_ns,
		.cookie = k->cookie,
	};

	if (m->now_ns < k->at_ns)
		return false;
	if (k->resume && !k->through) {
		resume_now(m, k);
		k->through = true;
		return true;
	}
	if (k->resume ? !resume_over(m, k) : !suspend_over(m, k))
		return false;
	k->used = false;
	m->controls_used--;
	model_emit(m, &ev);
	return true;
}

static int control_add(struct gp_model *m, const uint32_t *group, size_t n, uint64_t cookie,
		       bool resume)
{
	struct model_control *k = m->control;

	if (m->controls_used == MODEL_MAX_CONTROLS)
		return -ENOSPC;
	while (k->used)
		k++;
	m->controls_used++;
	memset(k, 0, sizeof(*k));
	k->used = true;
	k->resume = resume;
	k->cookie = cookie;
	k->op = ++m->ops;
	k->at_ns = m->now_ns + (resume ? m->cfg.resume_ns : m->cfg.suspend_ns);
	k->n = n;
	memcpy(k->group, group, n * sizeof(group[0]));
	for (size_t i = 0; i < n; i++)
		model_group_find(m, group[i])->op = k->op;
	return 0;
}

static int check_groups(const struct gp_model *m, const uint32_t *group, size_t n)
{
	if (!n || n > sizeof(m->control[0].group) / sizeof(group[0]))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!model_group_find(m, group[i]))
			return -ENOENT;
	return 0;
}

static void set_claim(struct gp_model *m, struct model_group *g, bool claim)
{
	if (!has_slots(m, g->runlist) || g->claim == claim)
		return;
	g->claim = claim;
	if (claim)
		m->claims++;
	else
		m->claims--;
}

int gp_model_suspend(struct gp_model *m, const uint32_t *group, size_t n, uint64_t cookie)
{
	int err = check_groups(m, group, n);

	if (!err)
		err = control_add(m, group, n, cookie, false);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		struct model_group *g = model_group_find(m, group[i]);

		g->suspended = true;
		set_claim(m, g, false);
	}
	return 0;
}

/* All of a slot kind's groups get slots, or none is resumed. */
static int claim_slots(struct gp_model *m, const uint32_t *group, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct model_group *g = model_group_find(m, group[i]);

		if (!has_slots(m, g->runlist) || g->claim)
			continue;
		if (m->claims < m->cfg.slots) {
			set_claim(m, g, true);
			continue;
		}
		while (i--) {
			g = model_group_find(m, group[i]);
			set_claim(m, g, !g->suspended);
		}
		return -EBUSY;
	}
	return 0;
}

int gp_model_resume(struct gp_model *m, const uint32_t *group, size_t n, uint64_t cookie)
{
	int err = check_groups(m, group, n);

	if (!err && m->controls_used == MODEL_MAX_CONTROLS)
		err = -ENOSPC;
	if (!err)
		err = claim_slots(m, group, n);
	if (!err)
		err = control_add(m, group, n, cookie, true);
	return err;
}

/** Takes effect at once: a running group's slice counts from now. */
int gp_model_set_slice(struct gp_model *m, uint32_t group, uint64_t us)
{
	struct model_group *g = model_group_find(m, group);

	if (!g)
		return -ENOENT;
	if (us < m->cfg.min_slice_us || us > m->cfg.max_slice_us)
		return -ERANGE;
	g->slice_us = us;
	if (!has_slots(m, g->runlist) && on_device(m, g))
		m->runlist[g->runlist].slice_ns = m->now_ns;
	return 0;
}

int gp_model_preempt(struct gp_model *m, uint32_t group)
{
	struct model_group *g = model_group_find(m, group);
	struct model_runlist *rl;

	if (!g)
		return -ENOENT;
	if (has_slots(m, g->runlist))
		return -ENOTSUP;
	rl = &m->runlist[g->runlist];
	if (rl->cur == slot_of(m, g) && others_since(m, rl) <= m->now_ns)
		rl->end_turn = true;
	return 0;
}

/* ---- all together ------------------------------------------------------- */

bool model_sched_step(struct gp_model *m)
{
	for (uint32_t r = 0; r < MODEL_RUNLISTS; r++)
		if (has_slots(m, r) ? step_slots(m, &m->runlist[r]) :
				      step_runlist(m, &m->runlist[r], r))
			return true;
	if (!m->controls_used)
		return false;
	for (uint32_t i = 0; i < MODEL_MAX_CONTROLS; i++)
		if (m->control[i].used && step_control(m, &m->control[i]))
			return true;
	return false;
}

uint64_t model_sched_next(struct gp_model *m)
{
	uint64_t next = MODEL_NEVER;

	for (uint32_t r = 0; r < MODEL_RUNLISTS; r++)
		next = model_min(next, has_slots(m, r) ? slots_next(m, &m->runlist[r]) :
							 runlist_next(m, &m->runlist[r]));
	if (!m->controls_used)
		return next;
	for (uint32_t i = 0; i < MODEL_MAX_CONTROLS; i++)
		if (m->control[i].used && m->control[i].at_ns > m->now_ns)
			next = model_min(next, m->control[i].at_ns);
	return next;
}

/* A group that stays loaded only because no other wants the device is idle. */
static void account_group(struct gp_model *m, struct model_group *g, enum model_phase phase,
			  uint64_t dt_ns)
{
	if (phase == PHASE_STOP || phase == PHASE_OUT || phase == PHASE_BEGIN ||
	    (phase == PHASE_RUN && model_group_has_work(m, g)))
		g->usage_ns += dt_ns;
}

void model_sched_account(struct gp_model *m, uint64_t dt_ns)
{
	for (uint32_t r = 0; r < MODEL_RUNLISTS; r++) {
		struct model_runlist *rl = &m->runlist[r];
		uint32_t i = rl->ring;

		if (!has_slots(m, r)) {
			if (rl->cur)
				account_group(m, &m->group[rl->cur - 1], rl->phase, dt_ns);
			continue;
		}
		for (; i; i = m->group[i - 1].next == rl->ring ? 0 : m->group[i - 1].next)
			account_group(m, &m->group[i - 1], m->group[i - 1].phase, dt_ns);
	}
}

/* A queue without a free slot starts unloaded. */
void model_sched_group_add(struct gp_model *m, struct model_group *g)
{
	struct model_runlist *rl = &m->runlist[g->runlist];
	uint32_t slot = slot_of(m, g);

	if (rl->ring) {
		struct model_group *first = &m->group[rl->ring - 1];

		g->prev = first->prev;
		g->next = rl->ring;
		m->group[first->prev - 1].next = slot;
		first->prev = slot;
	} else {
		g->prev = g->next = slot;
		rl->ring = slot;
	}
	if (!has_slots(m, g->runlist))
		return;
	if (m->claims < m->cfg.slots)
		set_claim(m, g, true);
	else
		g->suspended = true;
}

static void unload(struct gp_model *m, struct model_runlist *rl, struct model_group *g)
{
	if (rl->phase != PHASE_IN)
		emit_switch(m, g, GP_SWITCH_END);
	rl->cur = 0;
	/* Saving continues to its end although nothing is left to save. */
	if (rl->phase != PHASE_OUT)
		rl->phase = PHASE_EMPTY;
}

void model_sched_group_del(struct gp_model *m, struct model_group *g)
{
	struct model_runlist *rl = &m->runlist[g->runlist];
	uint32_t slot = slot_of(m, g);

	if (has_slots(m, g->runlist)) {
		if (g->phase != PHASE_EMPTY)
			m->slots_used--;
		if (g->phase != PHASE_EMPTY && g->phase != PHASE_IN)
			emit_switch(m, g, GP_SWITCH_END);
		set_claim(m, g, false);
	} else if (rl->cur == slot) {
		unload(m, rl, g);
	}
	if (rl->next == slot)
		rl->next = 0;
	if (rl->after == slot)
		rl->after = g->prev == slot ? 0 : g->prev;
	if (g->next == slot) {
		rl->ring = 0;
		return;
	}
	m->group[g->prev - 1].next = g->next;
	m->group[g->next - 1].prev = g->prev;
	if (rl->ring == slot)
		rl->ring = g->next;
}
