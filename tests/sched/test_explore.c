// SPDX-License-Identifier: Apache-2.0
/*
 * All orders of events over the core itself, for small configurations.
 *
 * Breadth-first from a start: each event that may come now is applied to each state that was
 * not seen before, up to a depth. So the first violation has a shortest trace, which is
 * printed. world.h checks invariants 1, 3 (holds) and 4 after each event, and knows nothing of
 * how the core decides. From each state the world also runs on without failures. Then no group
 * may be left suspended (2), and each BE tenant with work has to run within its bound (3).
 *
 * Two states are the same if the core cannot tell them apart: times count from now, virtual
 * runtimes from their least, and counters of views and ids are left out. All other bytes are
 * compared, so a new member of the core's state makes states differ until it is named here.
 * Only hashes of 64 bits are kept: two of 10 million states collide with probability 3e-6.
 *
 * GP_WHOLE=1 explores deeper.
 */
#include <stddef.h>
#include <stdlib.h>

#include "sched/internal.h"
#include "tests/common/gp_test.h"
#include "tests/sched/world.h"

#define MS 1000000ull
#define US 1000ull
#define QUANTUM_NS (4 * MS)
#define WAIT_NS (2 * MS)

#define TENANTS 3
#define GROUPS 3
#define PENDING 5

/* How many moves of a kind may come in one path. */
enum budget {
	CHANGES, /* of tenants and groups */
	ACTS,	 /* of tenants */
	FAILURES,
	WAITS, /* time passes while decisions are under way, or without a timer */
	BUDGETS,
	FREE = BUDGETS,
};

/* ---- a state ------------------------------------------------------------------ */

/* All that changes of world.h, of the core and of this file. */
struct state {
	uint64_t now_ns, armed_ns;
	bool closed;
	uint32_t left[BUDGETS];
	uint32_t last_id, last_hold_id, last_hold_tenant;
	struct w_group group[GROUPS + 1];
	struct w_tenant tenant[TENANTS + 1];
	struct w_pending pending[PENDING];
	size_t n_pending;
	struct gp_group_state core_group[GROUPS];
	/* Without the estimates for hints, which do not come here. */
	unsigned char core_tenant[TENANTS][offsetof(struct gp_tenant, pre)];
	/* The core's part before its tenants. */
	unsigned char core[offsetof(struct gp_sched, tenant)];
};

/* Kinds of moves. */
enum kind {
	JOIN,
	LEAVE,
	CLASS, /* its other class */
	APPEAR,
	APPEAR_UNKNOWN,
	GONE,
	DIE, /* its process: the core notices with the next outcome */
	BUSY,
	IDLE,
	TELLS,
	BEGIN,
	END,
	HAND,
	HAND_END,
	SYNC,
	SYNC_DONE,
	SLOT,
	SLOT_LOST,
	CLOSE,
	/* Not chosen by the configuration. */
	OUTCOME,
	FAILS,
	FAILS_HALF,
	HOLD_FAILS,
	TIMER_FAILS,
	TIMER,
	WAIT,
	KINDS,
};

static const char *const kind_name[KINDS] = {
	"join",	     "leave",	  "class",	"appear",      "appear, slice unknown",
	"gone",	     "die",	  "busy",	"idle",	       "idle, tells",
	"segment",   "end",	  "hold",	"release",     "sync",
	"sync done", "slot",	  "slot lost",	"close",       "outcome",
	"fails",     "half done", "hold fails", "timer fails", "timer",
	"wait",
};

struct move {
	uint8_t kind, at; /* tenant, group or place in pending[] */
};

#define CAN(k) (1u << (k))

struct setup {
	const char *name;
	struct gp_sched_config config;
	struct gp_class_request spec[TENANTS + 1][2];
	uint32_t owner[GROUPS + 1];			 /* 0: no such group */
	uint32_t can;					 /* kinds of events */
	bool slices_fail;				 /* and nothing else */
	uint32_t quick[BUDGETS + 1], whole[BUDGETS + 1]; /* budgets, and the depth */
};

static struct world w;
static const struct setup *setup;
static uint32_t left[BUDGETS];

static enum budget budget_of(uint8_t kind)
{
	switch (kind) {
	case BUSY:
	case IDLE:
	case TELLS:
	case BEGIN:
	case END:
	case HAND:
	case HAND_END:
	case SYNC:
	case SYNC_DONE:
		return ACTS;
	case FAILS:
	case FAILS_HALF:
	case HOLD_FAILS:
	case TIMER_FAILS:
		return FAILURES;
	case WAIT:
		return WAITS;
	case TIMER:
		return w.n_pending ? WAITS : FREE;
	case OUTCOME:
		return FREE;
	}
	return CHANGES;
}

static void save_core(struct state *s, const struct gp_sched *core)
{
	memcpy(s->core, core, sizeof(s->core));
	memcpy(s->core_group, core->group, sizeof(s->core_group));
	for (size_t i = 0; i < TENANTS; i++)
		memcpy(s->core_tenant[i], &core->tenant[i], sizeof(s->core_tenant[i]));
}

static void load_core(struct gp_sched *core, const struct state *s)
{
	memcpy(core, s->core, sizeof(s->core));
	memcpy(core->group, s->core_group, sizeof(s->core_group));
	for (size_t i = 0; i < TENANTS; i++)
		memcpy(&core->tenant[i], s->core_tenant[i], sizeof(s->core_tenant[i]));
}

static void save(struct state *s)
{
	memset(s, 0, sizeof(*s));
	s->now_ns = w.now_ns;
	s->armed_ns = w.armed_ns;
	s->closed = w.closed;
	memcpy(s->left, left, sizeof(left));
	s->last_id = w.last_id;
	s->last_hold_id = w.last_hold_id;
	s->last_hold_tenant = w.last_hold_tenant;
	memcpy(s->group, w.group, sizeof(s->group));
	memcpy(s->tenant, w.tenant, sizeof(s->tenant));
	memcpy(s->pending, w.pending, w.n_pending * sizeof(s->pending[0]));
	s->n_pending = w.n_pending;
	save_core(s, w.sched);
}

static void load(const struct state *s)
{
	w.now_ns = s->now_ns;
	w.armed_ns = s->armed_ns;
	w.closed = s->closed;
	memcpy(left, s->left, sizeof(left));
	w.last_id = s->last_id;
	w.last_hold_id = s->last_hold_id;
	w.last_hold_tenant = s->last_hold_tenant;
	memcpy(w.group, s->group, sizeof(s->group));
	memcpy(w.tenant, s->tenant, sizeof(s->tenant));
	memcpy(w.pending, s->pending, sizeof(s->pending));
	w.n_pending = s->n_pending;
	w.broken = NULL;
	load_core(w.sched, s);
}

/* ---- equal states have equal bytes ---------------------------------------------- */

/* A time in the future counts from @now, one that has come is 1; @t is 0 or NEVER: as it is. */
static void future(uint64_t *t, uint64_t now)
{
	if (*t && *t != GP_NEVER)
		*t = *t > now ? *t - now + 1 : 1;
}

static void age(uint64_t *t, uint64_t now)
{
	if (*t && *t != GP_NEVER)
		*t = now - *t + 1;
}

static bool under_way(const struct state *s, size_t group)
{
	for (size_t i = 0; i < s->n_pending; i++)
		if (s->pending[i].group == group)
			return true;
	return false;
}

static void normalise_world(struct state *s)
{
	future(&s->armed_ns, s->now_ns);
	s->last_hold_id = s->last_hold_id && s->tenant[s->last_hold_tenant].held;
	s->last_hold_tenant *= s->last_hold_id;
	s->last_id = 0;
	for (size_t i = 1; i <= GROUPS; i++) {
		s->group[i].ran_ns = 0;
		if (!under_way(s, i)) {
			s->group[i].old_runs = false;
			s->group[i].old_slice_us = 0;
		}
		s->group[i].slice_errors =
			(uint32_t)gp_min_u64(s->group[i].slice_errors, GP_SLICE_TRIES);
	}
	for (size_t i = 1; i <= TENANTS; i++) {
		struct w_tenant *t = &s->tenant[i];

		if (!t->there)
			*t = (struct w_tenant){ 0 };
		t->seg_began_ns *= t->seg != 0;
		t->held_until_ns *= t->held;
		age(&t->seg_began_ns, s->now_ns);
		future(&t->held_until_ns, s->now_ns);
		future(&t->hint_end_ns, s->now_ns);
	}
	for (size_t i = 0; i < s->n_pending; i++)
		s->pending[i].id = 0;
}

static void normalise_group(struct gp_group_state *g, uint64_t now)
{
	if (g->retry_ns <= now)
		g->retry_ns = 0;
	future(&g->retry_ns, now);
	/* Only the wait after the next failure depends on it, and the view. */
	g->failures = (uint32_t)gp_min_u64(g->failures, GP_BACKOFF_SHIFT_MAX);
	g->slice_failures = (uint32_t)gp_min_u64(g->slice_failures, GP_SLICE_TRIES);
	g->pending = g->pending != 0;
	if (!g->pending)
		g->pending_type = 0;
}

static void normalise_account(struct gp_be_entity *be, const struct gp_sched *s, uint64_t now)
{
	const uint64_t credit_ns = (uint64_t)(be->credit_ns < 0 ? -be->credit_ns : be->credit_ns);

	/* Absence beyond the account erases no more. */
	age(&be->left_ns, now);
	be->left_ns = be->runnable ? 0 : gp_min_u64(be->left_ns, credit_ns + 1);
	if (!be->cap_pct)
		be->budget_ns = 0;
	age(&be->budget_ns, now);
	be->vruntime_ns -= gp_min_u64(be->vruntime_ns, s->min_vruntime_ns);
}

/* Policies only compare these; an event sets one to the present time. */
static void rank_waits(struct gp_sched *s)
{
	uint64_t rank[TENANTS] = { 0 };

	for (size_t i = 0; i < TENANTS; i++)
		for (size_t k = 0; k < TENANTS; k++)
			rank[i] += s->tenant[k].id && s->tenant[k].be.runnable &&
				   s->tenant[k].be.waiting_since_ns <
					   s->tenant[i].be.waiting_since_ns;
	for (size_t i = 0; i < TENANTS; i++)
		s->tenant[i].be.waiting_since_ns = s->tenant[i].be.runnable ? rank[i] : 0;
}

static void normalise_tenant(struct gp_tenant *t, const struct gp_sched *s, uint64_t now)
{
	uint64_t *const come[] = { &t->lc.deadline_ns,	 &t->hint_until_ns, &t->hint_start_ns,
				   &t->seg_until_ns,	 &t->hand_until_ns, &t->held_until_ns,
				   &t->release_retry_ns, &t->hold_retry_ns };
	uint64_t *const passed[] = { &t->soon_ns, &t->active_ns,     &t->active_from_ns,
				     &t->came_ns, &t->held_since_ns, &t->held_from_ns };

	t->came_ns *= t->has_work;
	t->held_since_ns *= t->held;
	t->held_from_ns *= t->held;
	for (size_t i = 0; i < sizeof(come) / sizeof(come[0]); i++)
		future(come[i], now);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		age(passed[i], now);
	normalise_account(&t->be, s, now);
	t->hold_id = t->hold_id != 0;
	t->release_id = t->release_id != 0;
	/* For views, or reports, which do not come here. */
	t->said = t->hints = t->segments = t->holds = t->holds_late = t->holds_expired = 0;
	t->syncs_cut = t->run_ns = t->used_ns = t->deadlines_missed = 0;
	t->charged_ns = t->sure_ns = t->reported_ns = t->ahead_ns = 0;
	t->window_ns = t->window_ended_ns = 0;
	t->pieces = 0;
	t->pieces_ns = t->length_ns = 0;
}

static void normalise_core(struct gp_sched *core, uint64_t world_now_ns)
{
	const uint64_t now = core->now_ns;

	for (size_t i = 0; i < core->groups; i++)
		normalise_group(&core->group[i], now);
	for (size_t i = 0; i < core->tenants; i++)
		if (core->tenant[i].id)
			normalise_tenant(&core->tenant[i], core, now);
	rank_waits(core);
	future(&core->armed_ns, now);
	core->turn_ran_ns = gp_min_u64(core->turn_ran_ns, core->turn_ns);
	core->turn_since_ns = 0;
	age(&core->rotate_since_ns, now);
	age(&core->window_since_ns, now);
	age(&core->cut_asked_ns, now);
	future(&core->be_back_ns, now);
	future(&core->window_next_ns, now);
	core->arm_id = core->arm_id != 0;
	core->last_id = 0;
	core->min_vruntime_ns = 0;
	/* Time that the core does not know of yet. */
	core->now_ns = world_now_ns - now;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9fb21c651e98df25ull;
	return h ^ h >> 29;
}

static uint64_t hash_of(const struct state *state)
{
	static struct gp_sched *core;
	static struct state s;
	const uint64_t *words = (const uint64_t *)&s;
	uint64_t h = 0x5851f42d4c957f2dull;

	if (!core)
		core = calloc(1, gp_sched_size());
	s = *state;
	load_core(core, state);
	normalise_core(core, s.now_ns);
	save_core(&s, core);
	normalise_world(&s);
	s.now_ns = 0;
	for (size_t i = 0; i < sizeof(s) / 8; i++)
		h = mix(h, words[i]);
	h ^= h >> 32;
	return h ? h : 1;
}

/* ---- moves --------------------------------------------------------------------- */

static bool may_move(struct move m)
{
	const struct w_tenant *t = &w.tenant[m.at];
	const bool lc = t->there && t->spec.cls.cls == GP_CLASS_LC;
	const struct w_group *g = &w.group[m.at];

	if (w.closed)
		return false;
	switch (m.kind) {
	case JOIN:
		return !t->there && setup->spec[m.at][0].cls.cls;
	case LEAVE:
	case CLASS:
		return t->there;
	case APPEAR:
	case APPEAR_UNKNOWN:
		return setup->owner[m.at] && w.tenant[setup->owner[m.at]].there && !g->tenant &&
		       (!g->known || g->alive);
	case GONE:
		return g->known;
	case DIE:
		return g->known && g->alive;
	case BUSY:
		return t->there && t->idle;
	case IDLE:
	case TELLS:
		return t->there && !t->idle;
	case BEGIN:
		return lc && !t->seg;
	case END:
		return lc && t->seg;
	case HAND:
		return lc && !t->hand;
	case HAND_END:
		return lc && t->hand;
	case SYNC:
		return lc && !t->sync;
	case SYNC_DONE:
		return t->there && t->sync;
	case SLOT:
		return !w.sched->slot_ok;
	case SLOT_LOST:
		return w.sched->slot_ok;
	}
	return m.kind == CLOSE;
}

static size_t add_move(struct move *m, size_t n, uint32_t kind, uint32_t at)
{
	const enum budget b = budget_of((uint8_t)kind);

	if (b != FREE && !left[b])
		return n;
	m[n] = (struct move){ (uint8_t)kind, (uint8_t)at };
	return n + 1;
}

/* All that may happen now. */
static size_t moves_of(struct move *m)
{
	size_t n = 0;

	for (uint32_t k = 0; k < OUTCOME; k++) {
		const bool of_none = k == SLOT || k == SLOT_LOST || k == CLOSE;
		/* As many groups as tenants. */
		const uint32_t last = of_none ? 1 : GROUPS;

		for (uint32_t at = 1; at <= last && setup->can & CAN(k); at++)
			if (may_move((struct move){ (uint8_t)k, (uint8_t)at }))
				n = add_move(m, n, k, at);
	}
	for (uint32_t at = 0; at < w.n_pending; at++) {
		n = add_move(m, n, OUTCOME, at);
		if (setup->slices_fail && w.pending[at].type != GP_DO_SET_SLICE)
			continue;
		n = add_move(m, n, FAILS, at);
		if (w.pending[at].type == GP_DO_RESUME)
			n = add_move(m, n, FAILS_HALF, at);
	}
	if (!setup->slices_fail && w.last_hold_id && w.tenant[w.last_hold_tenant].held)
		n = add_move(m, n, HOLD_FAILS, 0);
	if (!setup->slices_fail && w.sched->arm_id && w.armed_ns)
		n = add_move(m, n, TIMER_FAILS, 0);
	if (w.armed_ns)
		n = add_move(m, n, TIMER, 0);
	if (!w.armed_ns || w.armed_ns > w.now_ns + WAIT_NS)
		n = add_move(m, n, WAIT, 0);
	return n;
}

static const uint8_t event_of[OUTCOME] = {
	[JOIN] = GP_EV_TENANT_JOIN,
	[LEAVE] = GP_EV_TENANT_LEAVE,
	[CLASS] = GP_EV_TENANT_CLASS,
	[APPEAR] = GP_EV_GROUP_APPEAR,
	[APPEAR_UNKNOWN] = GP_EV_GROUP_APPEAR,
	[GONE] = GP_EV_GROUP_GONE,
	[BUSY] = GP_EV_BUSY,
	[IDLE] = GP_EV_IDLE,
	[TELLS] = GP_EV_IDLE,
	[BEGIN] = GP_EV_SEGMENT_BEGIN,
	[END] = GP_EV_SEGMENT_END,
	[HAND] = GP_EV_HOLD,
	[HAND_END] = GP_EV_RELEASE,
	[SYNC] = GP_EV_SYNC,
	[SYNC_DONE] = GP_EV_SYNC_DONE,
	[SLOT] = GP_EV_SLOT,
	[SLOT_LOST] = GP_EV_SLOT,
	[CLOSE] = GP_EV_CLOSE,
};

static void step_event(struct move m)
{
	struct gp_event ev = { .type = event_of[m.kind], .tenant = m.at };
	const bool other = w.tenant[m.at].spec.cls.cls == setup->spec[m.at][0].cls.cls;

	switch (m.kind) {
	case JOIN:
	case CLASS:
		ev.spec = setup->spec[m.at][m.kind == CLASS && other];
		break;
	case APPEAR:
	case APPEAR_UNKNOWN:
		ev.tenant = setup->owner[m.at];
		ev.group.id = m.at;
		ev.group.slice_unknown = m.kind == APPEAR_UNKNOWN;
		break;
	case GONE:
		ev.group.id = m.at;
		break;
	case TELLS:
		ev.idle.how = GP_IDLE_TELLS;
		break;
	case SLOT:
		ev.slot.have = true;
		break;
	}
	w_step(&w, &ev);
}

/* The host retries where its timer failed. */
static void timer_failed(void)
{
	const struct gp_event ev = { .type = GP_EV_OUTCOME, .outcome = { w.sched->arm_id, -EIO } };

	w.armed_ns = 0;
	w_step(&w, &ev);
}

static void apply(struct move m)
{
	const enum budget b = budget_of(m.kind);

	if (b != FREE)
		left[b]--;
	switch (m.kind) {
	case DIE:
		w.group[m.at].alive = w.group[m.at].runs = false;
		break;
	case OUTCOME:
		w_outcome(&w, m.at, 0, false);
		break;
	case FAILS:
	case FAILS_HALF:
		w_outcome(&w, m.at, -EIO, m.kind == FAILS_HALF);
		break;
	case HOLD_FAILS:
		w_hold_failed(&w);
		break;
	case TIMER_FAILS:
		timer_failed();
		break;
	case TIMER:
		if (w.armed_ns > w.now_ns)
			w_pass(&w, w.armed_ns - w.now_ns);
		w_timer(&w);
		break;
	case WAIT:
		w_pass(&w, WAIT_NS);
		break;
	default:
		step_event(m);
	}
	if (w.n_pending > PENDING)
		w_broken(&w, "more decisions under way than groups can have");
}

/* ---- the rest, when nothing fails any more ------------------------- */

static bool is_be(const struct w_tenant *t)
{
	return t->spec.cls.cls == GP_CLASS_BE ||
	       (t->spec.cls.cls == GP_CLASS_NONE && setup->config.slots);
}

/* 2: groups of no tenant are restored, and forgotten; others run unless they wait for a turn. */
static void check_none_left_behind(void)
{
	for (size_t i = 1; i <= GROUPS; i++) {
		const struct w_group *g = &w.group[i];

		if (!g->known || !g->alive)
			continue;
		if (!g->tenant && (!g->runs || (g->slice_us && g->slice_errors < GP_SLICE_TRIES)))
			w_broken(&w, "2: a group that was left is not restored");
		if (g->tenant && !g->runs && !is_be(&w.tenant[g->tenant]) &&
		    !setup->config.be_min_pct)
			w_broken(&w, "2: a group without turns is suspended");
	}
	if (!gp_sched_settled(w.sched))
		w_broken(&w, "2: not settled");
}

/* 3: each BE tenant with work has run. Long segments and holds end by their limits. */
static void check_each_ran(void)
{
	bool ran[TENANTS + 1] = { false }, has[TENANTS + 1] = { false };

	if (!setup->config.rotate)
		return;
	for (size_t i = 1; i <= GROUPS; i++) {
		const struct w_group *g = &w.group[i];

		has[g->tenant] |= g->known && g->alive && g->tenant;
		ran[g->tenant] |= g->ran_ns != 0;
	}
	for (size_t i = 1; i <= TENANTS; i++)
		if (has[i] && !ran[i] && is_be(&w.tenant[i]) && !w.tenant[i].idle)
			w_broken(&w, "3: a BE tenant with work did not run");
}

/*
 * Turns of 4 ms, and 2 more that LC defers each. Three tenants of equal weight wait for four
 * turns at most, and for the time that failures add: 1 ms, then 2 and so on.
 */
static void check_rest(void)
{
	for (size_t i = 1; i <= GROUPS; i++)
		w.group[i].ran_ns = 0;
	if (!w.armed_ns)
		w_timer(&w);
	w_run(&w, 10 * (QUANTUM_NS + WAIT_NS) + (MS << setup->whole[FAILURES]));
	check_each_ran();
	check_none_left_behind();
}

/* ---- breadth first -------------------------------------------------------------- */

struct node {
	uint32_t from;
	struct move move;
};

struct explorer {
	uint64_t *seen; /* hashes, at their place or after it; 0: free */
	size_t room, states;
	struct node *node; /* of each state, in the order of finding */
	size_t nodes_room;
	struct state *level, *next;
	size_t n_level, n_next, level_room, next_room;
	uint64_t transitions, rests;
};

static void *must_alloc(void *p)
{
	assert_non_null(p);
	return p;
}

static void grow_seen(struct explorer *x)
{
	uint64_t *old = x->seen;
	size_t room = x->room;

	x->room = room ? room * 2 : 1 << 16;
	x->seen = must_alloc(calloc(x->room, sizeof(x->seen[0])));
	for (size_t i = 0; i < room; i++) {
		size_t at = old[i] & (x->room - 1);

		while (old[i] && x->seen[at])
			at = (at + 1) & (x->room - 1);
		if (old[i])
			x->seen[at] = old[i];
	}
	free(old);
}

/* Return: it is new. */
static bool note(struct explorer *x, uint64_t hash)
{
	size_t at;

	if (x->states * 2 >= x->room)
		grow_seen(x);
	for (at = hash & (x->room - 1); x->seen[at]; at = (at + 1) & (x->room - 1))
		if (x->seen[at] == hash)
			return false;
	x->seen[at] = hash;
	return true;
}

static void add(struct explorer *x, const struct state *s, struct node node)
{
	if (x->states == x->nodes_room) {
		x->nodes_room = x->nodes_room ? x->nodes_room * 2 : 1 << 16;
		x->node = must_alloc(realloc(x->node, x->nodes_room * sizeof(node)));
	}
	x->node[x->states++] = node;
	if (x->n_next == x->next_room) {
		x->next_room = x->next_room ? x->next_room * 2 : 1 << 10;
		x->next = must_alloc(realloc(x->next, x->next_room * sizeof(*s)));
	}
	x->next[x->n_next++] = *s;
}

static void print_trace(const struct explorer *x, size_t state)
{
	if (!state)
		return;
	print_trace(x, x->node[state].from);
	printf("  %s %u\n", kind_name[x->node[state].move.kind], x->node[state].move.at);
}

/* Return: no invariant is broken in the state that @m leads to. */
static bool visit(struct explorer *x, size_t from, struct move m)
{
	struct state s;
	bool new;

	apply(m);
	x->transitions++;
	if (!w.broken) {
		save(&s);
		new = note(x, hash_of(&s));
		if (!new)
			return true;
		add(x, &s, (struct node){ (uint32_t)from, m });
		x->rests++;
		check_rest();
	}
	if (!w.broken)
		return true;
	printf("%s: %s, after\n", setup->name, w.broken);
	print_trace(x, from);
	printf("  %s %u\n", kind_name[m.kind], m.at);
	return false;
}

static void next_level(struct explorer *x)
{
	struct state *level = x->level;
	size_t room = x->level_room;

	x->level = x->next;
	x->level_room = x->next_room;
	x->n_level = x->n_next;
	x->next = level;
	x->next_room = room;
	x->n_next = 0;
}

static bool expand_level(struct explorer *x, size_t first)
{
	for (size_t i = 0; i < x->n_level; i++) {
		struct move m[128];
		size_t n;

		load(&x->level[i]);
		n = moves_of(m);
		for (size_t k = 0; k < n; k++) {
			load(&x->level[i]);
			if (!visit(x, first + i, m[k]))
				return false;
		}
	}
	return true;
}

/* All are there, with their groups; nothing has been executed yet. */
static void start(struct explorer *x, const uint32_t budgets[BUDGETS])
{
	struct state s;

	w_init(&w, &setup->config, w.sched);
	memcpy(left, budgets, sizeof(left));
	for (uint8_t i = 1; i <= TENANTS; i++)
		if (setup->spec[i][0].cls.cls)
			step_event((struct move){ JOIN, i });
	for (uint8_t i = 1; i <= GROUPS; i++)
		if (setup->owner[i])
			step_event((struct move){ APPEAR, i });
	save(&s);
	note(x, hash_of(&s));
	add(x, &s, (struct node){ 0 });
	assert_null(w.broken);
}

static bool explore(const uint32_t budgets[BUDGETS + 1])
{
	struct explorer x = { 0 };
	uint32_t d = 0;
	bool ok = true;

	start(&x, budgets);
	for (next_level(&x); ok && d < budgets[BUDGETS] && x.n_level; d++) {
		ok = expand_level(&x, x.states - x.n_level);
		next_level(&x);
	}
	printf("%s: %zu states, %llu transitions, depth %u%s\n", setup->name, x.states,
	       (unsigned long long)x.transitions, d, ok && !x.n_level ? ", all" : "");
	free(x.seen);
	free(x.node);
	free(x.level);
	free(x.next);
	return ok;
}

/* ---- configurations --------------------------------------------------------------- */

#define BE                                                \
	{                                                 \
		.cls = { GP_CLASS_BE, GP_WEIGHT_DEFAULT } \
	}
#define LC                             \
	{                              \
		.cls = { GP_CLASS_LC } \
	}

#define CONFIG                                                                              \
	.quantum_ns = QUANTUM_NS, .hold_limit_ns = 4 * MS, .rotation_defer_max_ns = 2 * MS, \
	.lc_slice_us = GP_SCHED_LC_SLICE_US, .be_slice_us = GP_SCHED_BE_SLICE_US

static const struct setup turns = {
	.name = "two BE tenants, three groups",
	.config = { CONFIG, .rotate = 1, .slice_preempts = 1 },
	.spec = { [1] = { BE, LC }, [2] = { BE, BE } },
	.owner = { [1] = 1, [2] = 2, [3] = 2 },
	.can = CAN(LEAVE) | CAN(CLASS) | CAN(GONE) | CAN(DIE) | CAN(BUSY) | CAN(IDLE) | CAN(CLOSE) |
	       CAN(JOIN) | CAN(APPEAR) | CAN(APPEAR_UNKNOWN),
	.quick = { 1, 1, 1, 0, 40 },
	.whole = { 2, 1, 1, 1, 60 },
};

static const struct setup credit = {
	.name = "credit, two BE tenants",
	.config = { CONFIG, .rotate = 1, .slice_preempts = 1, .be_policy = &gp_policy_credit,
		    .idle_slice_us = 500 },
	.spec = { [1] = { BE, BE }, [2] = { BE, BE } },
	.owner = { [1] = 1, [2] = 2 },
	.can = CAN(LEAVE) | CAN(BUSY) | CAN(IDLE) | CAN(TELLS) | CAN(JOIN) | CAN(APPEAR),
	.quick = { 2, 1, 2, 0, 40 },
	.whole = { 2, 2, 2, 1, 60 },
};

static const struct setup both = {
	.name = "LC and BE, with a minimum",
	.config = { CONFIG, .rotate = 1, .slice_preempts = 1, .be_min_pct = 20,
		    .be_period_ns = 10 * MS, .lc_preempt = GP_LC_CUT_PREEMPT },
	.spec = { [1] = { LC, BE }, [2] = { BE, LC } },
	.owner = { [1] = 1, [2] = 2 },
	.can = CAN(LEAVE) | CAN(CLASS) | CAN(GONE) | CAN(BUSY) | CAN(IDLE) | CAN(BEGIN) | CAN(END) |
	       CAN(CLOSE),
	.quick = { 1, 1, 1, 0, 24 },
	.whole = { 2, 1, 1, 0, 30 },
};

static const struct setup slots = {
	.name = "slots, LC and two BE tenants",
	.config = { CONFIG, .rotate = 1, .slots = 2 },
	.spec = { [1] = { LC, BE }, [2] = { BE, BE }, [3] = { BE, BE } },
	.owner = { [1] = 1, [2] = 2, [3] = 3 },
	.can = CAN(LEAVE) | CAN(CLASS) | CAN(GONE) | CAN(IDLE) | CAN(BUSY) | CAN(BEGIN) | CAN(END) |
	       CAN(CLOSE),
	.quick = { 1, 1, 1, 0, 40 },
	.whole = { 2, 1, 1, 1, 40 },
};

static const struct setup alone = {
	.name = "two LC tenants and BE of one process",
	.config = { CONFIG, .slice_preempts = 1, .hold_piece_ns = 1 * MS },
	.spec = { [1] = { LC, LC }, [2] = { { .cls = { GP_CLASS_LC, 1 } }, LC }, [3] = { BE, LC } },
	.owner = { [1] = 1, [2] = 3, [3] = 3 },
	.can = CAN(LEAVE) | CAN(BEGIN) | CAN(END) | CAN(HAND) | CAN(HAND_END) | CAN(SYNC) |
	       CAN(SYNC_DONE) | CAN(SLOT) | CAN(SLOT_LOST),
	.quick = { 1, 2, 1, 1, 40 },
	.whole = { 1, 3, 2, 1, 40 },
};

/* Slices that the driver refuses until the core gives up. */
static const struct setup stubborn = {
	.name = "two BE tenants, and slices that cannot be set",
	.config = { CONFIG, .rotate = 1, .slice_preempts = 1 },
	.spec = { [1] = { BE, LC }, [2] = { BE, BE } },
	.owner = { [1] = 1, [2] = 2 },
	.can = CAN(LEAVE) | CAN(CLASS) | CAN(CLOSE),
	.slices_fail = true,
	.quick = { 1, 0, 6, 0, 30 },
	.whole = { 2, 0, 7, 0, 60 },
};

static void run(const struct setup *s)
{
	const char *whole = getenv("GP_WHOLE");

	setup = s;
	if (!w.sched)
		w.sched = must_alloc(calloc(1, gp_sched_size()));
	assert_true(explore(whole && *whole == '1' ? s->whole : s->quick));
}

static void test_turns(void **state)
{
	run(&turns);
}

static void test_stubborn(void **state)
{
	run(&stubborn);
}

static void test_credit(void **state)
{
	run(&credit);
}

static void test_both(void **state)
{
	run(&both);
}

static void test_slots(void **state)
{
	run(&slots);
}

static void test_alone(void **state)
{
	run(&alone);
}

/* With a name only that test runs. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns), cmocka_unit_test(test_credit),
		cmocka_unit_test(test_both),  cmocka_unit_test(test_slots),
		cmocka_unit_test(test_alone), cmocka_unit_test(test_stubborn),
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return gp_run_tests(tests);
}
