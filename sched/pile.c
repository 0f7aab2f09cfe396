// SPDX-License-Identifier: Apache-2.0
/*
 * pile.c - LC whose CPU is the bottleneck (request_kind.h).
 *
 * At BE's short slice each small launch of such a tenant costs BE two switches, and the tenant
 * gains nothing until it waits. So while the launches of all LC tenants pile up, BE has a long
 * slice. BE is preempted when a tenant waits, or when it needs the device to be done by then.
 *
 * PREEMPT does nothing to a group that is about to have the device. As LC loses the device in each
 * gap of its launches, that may just happen as it begins to wait. So BE is preempted again while LC
 * waits.
 *
 * LC that does not pile up needs the short slice: the hardware preempts BE for it as soon as it
 * has work. The core cannot know of that work in time. A dense request of a tenant that else piles
 * up has the short slice while it lasts.
 */
#include "sched/internal.h"

#define LATELY_NS (10000 * GP_NS_PER_MS)
#define AGAIN_NS GP_NS_PER_MS /* doubles .. */
/* .. up to this. A trace shows five at most: at 0, 1, 3, 7 and 15 ms of a wait. */
#define AGAIN_MAX_NS (8 * GP_NS_PER_MS)

static bool can_pile(const struct gp_sched *s)
{
	return s->config.pile_slice_us && s->config.rotate && s->config.slice_preempts &&
	       s->config.lc_preempt == GP_LC_CUT_PREEMPT && !s->config.lc_policy->deadlines;
}

/* Most devices have no such tenant: they need no look at all groups. */
static bool any_lately(const struct gp_sched *s)
{
	return s->piled_ns && s->now_ns - s->piled_ns < LATELY_NS;
}

bool gp_sched_piles(const struct gp_sched *s)
{
	return any_lately(s);
}

bool gp_pile_lately(const struct gp_sched *s, const struct gp_tenant *t)
{
	return gp_is_lc(t) && t->piled_ns && s->now_ns - t->piled_ns < LATELY_NS;
}

bool gp_pile_begin(struct gp_sched *s, struct gp_tenant *t, uint64_t needs_ns)
{
	if (!can_pile(s) || !gp_is_lc(t) || needs_ns <= s->now_ns)
		return false;
	gp_hold_idle(t);
	gp_deadline_end(t);
	t->activity = GP_ACT_PILES;
	t->piled = 1;
	t->unsure = 0;
	t->needs_ns = gp_min_u64(needs_ns, s->now_ns + LATELY_NS / 2);
	t->piled_ns = s->piled_ns = s->now_ns;
	return true;
}

static bool is_long(const struct gp_sched *s, const struct gp_group_state *g)
{
	return g->slice_us == s->config.pile_slice_us ||
	       (g->pending && g->pending_type == GP_DO_SET_SLICE &&
		g->slice_next_us == s->config.pile_slice_us);
}

static void make_way(struct gp_sched *s)
{
	for (size_t i = 0; i < s->groups; i++) {
		struct gp_group_state *g = &s->group[i];

		g->make_way = gp_is_be_group(s, g) && g->run != GP_RUN_OFF;
	}
}

void gp_pile_needed(struct gp_sched *s)
{
	if (!any_lately(s))
		return;
	make_way(s);
	s->way_gap_ns = AGAIN_NS;
	s->way_again_ns = gp_add_sat(s->now_ns, s->way_gap_ns);
}

static void make_way_again(struct gp_sched *s)
{
	if (!s->way_again_ns || s->way_again_ns > s->now_ns)
		return;
	make_way(s);
	s->way_gap_ns *= 2;
	s->way_again_ns = s->way_gap_ns > AGAIN_MAX_NS ? 0 : gp_add_sat(s->now_ns, s->way_gap_ns);
}

void gp_pile_expire(struct gp_sched *s)
{
	make_way_again(s);
	for (size_t i = 0; any_lately(s) && i < s->tenants; i++) {
		struct gp_tenant *t = &s->tenant[i];

		if (t->activity != GP_ACT_PILES || t->needs_ns > s->now_ns)
			continue;
		make_way(s);
		gp_deadline_begin(s, t);
		t->activity = GP_ACT_BUSY;
	}
}

static bool needs_device(const struct gp_tenant *t)
{
	return gp_is_lc(t) && (t->activity == GP_ACT_BUSY || t->held || t->seg_depth);
}

/* Launches of its work may find the device idle, and need the short slice then. */
static bool is_dense(const struct gp_tenant *t)
{
	return needs_device(t) && !t->piled;
}

/* Some LC tenant's launches piled up lately, and those of all that have groups here did. */
static bool all_pile(const struct gp_sched *s)
{
	bool any = false;

	for (size_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (!gp_computes(g) || g->tenant == GP_NONE || !gp_is_lc(&s->tenant[g->tenant]))
			continue;
		if (!gp_pile_lately(s, &s->tenant[g->tenant]) || is_dense(&s->tenant[g->tenant]))
			return false;
		any = true;
	}
	return any;
}

void gp_pile_reconcile(struct gp_sched *s)
{
	bool needed = false;

	s->piles = can_pile(s) && any_lately(s) && all_pile(s);
	for (size_t i = 0; i < s->tenants; i++)
		needed |= needs_device(&s->tenant[i]);
	/* A late preemption is useless, and so is one of a group without a long slice. */
	if (!needed)
		s->way_again_ns = 0;
	for (size_t i = 0; i < s->groups; i++)
		s->group[i].make_way &= needed && is_long(s, &s->group[i]);
}

uint64_t gp_pile_next_ns(const struct gp_sched *s)
{
	uint64_t next = s->way_again_ns ? s->way_again_ns : GP_NEVER;

	for (size_t i = 0; any_lately(s) && i < s->tenants; i++)
		if (s->tenant[i].activity == GP_ACT_PILES)
			next = gp_min_u64(next, s->tenant[i].needs_ns);
	return next;
}
