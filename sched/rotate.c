// SPDX-License-Identifier: Apache-2.0
/*
 * rotate.c - which BE group is resident, and for how long.
 *
 * Only the choice is made here: slice.c takes the old resident off, and lets
 * the new one on when the old is known to be off. The policy chooses among
 * tenants; a tenant with several groups gives its turns to them one by one,
 * because two contexts of one process at the short slice livelock like two
 * processes.
 */
#include "sched/internal.h"

static bool group_usable(const struct gp_sched *s,
			 const struct gp_group_state *g, uint32_t tenant)
{
	return g->id && g->tenant == tenant && g->retry_ns <= s->now_ns;
}

static uint32_t next_group(const struct gp_sched *s, uint32_t tenant)
{
	uint32_t last = s->tenant[tenant].last_group;

	for (uint32_t i = 1; i <= GP_SCHED_MAX_GROUPS; i++) {
		uint32_t g = (last + i) % GP_SCHED_MAX_GROUPS;

		if (group_usable(s, &s->group[g], tenant))
			return g;
	}
	return GP_NONE;
}

static bool runnable(const struct gp_sched *s, uint32_t tenant)
{
	const struct gp_tenant *t = &s->tenant[tenant];

	return gp_takes_turns(s, t) && t->activity != GP_ACT_IDLE &&
	       next_group(s, tenant) != GP_NONE;
}

static void charge(struct gp_sched *s, struct gp_tenant *t)
{
	if (t->uncharged_ns)
		s->config.be_policy->charge(&t->be, t->uncharged_ns);
	t->uncharged_ns = 0;
}

/* Time passed: it belongs to whoever of BE was on the device. */
void gp_rotate_account(struct gp_sched *s, uint64_t now_ns)
{
	uint64_t passed = now_ns - s->now_ns;

	s->now_ns = now_ns;
	if (!passed || !s->config.rotate)
		return;
	for (uint32_t i = 0; i < GP_SCHED_MAX_GROUPS; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (!g->id || g->tenant == GP_NONE || g->run == GP_RUN_OFF)
			continue;
		if (i == s->resident && g->run == GP_RUN_ON)
			s->turn_ran_ns += passed;
		if (gp_takes_turns(s, &s->tenant[g->tenant]) &&
		    s->tenant[g->tenant].activity != GP_ACT_IDLE) {
			s->tenant[g->tenant].uncharged_ns += passed;
			s->tenant[g->tenant].run_ns += passed;
		}
	}
}

static void refresh(struct gp_sched *s)
{
	uint64_t min = GP_NEVER;

	for (uint32_t i = 0; i < GP_SCHED_MAX_TENANTS; i++) {
		struct gp_tenant *t = &s->tenant[i];
		bool was = t->be.runnable;

		if (!t->id)
			continue;
		charge(s, t);
		t->be.runnable = runnable(s, i);
		if (was && t->be.runnable)
			min = gp_min_u64(min, t->be.vruntime_ns);
	}
	if (min != GP_NEVER)
		s->min_vruntime_ns = gp_max_u64(s->min_vruntime_ns, min);
}

static void enter(struct gp_sched *s, struct gp_tenant *t)
{
	s->config.be_policy->enter(&t->be, s->min_vruntime_ns);
	t->be.waiting_since_ns = s->now_ns;
}

/* Index of the tenant whose turn is next; GP_NONE: nobody has work. */
static uint32_t pick(struct gp_sched *s, size_t *count)
{
	const struct gp_be_entity *entity[GP_SCHED_MAX_TENANTS];
	uint32_t tenant[GP_SCHED_MAX_TENANTS];
	size_t n = 0;

	for (uint32_t i = 0; i < GP_SCHED_MAX_TENANTS; i++) {
		if (!s->tenant[i].id || !s->tenant[i].be.runnable)
			continue;
		entity[n] = &s->tenant[i].be;
		tenant[n++] = i;
	}
	*count = n;
	return n ? tenant[s->config.be_policy->pick(entity, n)] : GP_NONE;
}

static void new_turn(struct gp_sched *s)
{
	size_t n;
	uint32_t tenant = pick(s, &n);
	struct gp_tenant *t;

	s->rotate_since_ns = 0;
	if (tenant == GP_NONE)
		return;
	t = &s->tenant[tenant];
	if (s->resident != GP_NONE) {
		uint32_t old = s->group[s->resident].tenant;

		s->tenant[old].be.waiting_since_ns = s->now_ns;
	}
	s->resident = next_group(s, tenant);
	t->last_group = s->resident;
	s->turn_ran_ns = 0;
	s->turn_ns = s->config.be_policy->quantum(&t->be, n,
						  s->config.quantum_ns);
}

static bool others_wait(const struct gp_sched *s)
{
	for (uint32_t i = 0; i < GP_SCHED_MAX_GROUPS; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (i != s->resident && g->id && g->tenant != GP_NONE &&
		    s->tenant[g->tenant].be.runnable &&
		    g->retry_ns <= s->now_ns)
			return true;
	}
	return false;
}

static bool rotation_due(const struct gp_sched *s)
{
	const struct gp_tenant *t = &s->tenant[s->group[s->resident].tenant];

	if (!others_wait(s))
		return false;
	return !t->be.runnable || s->turn_ran_ns >= s->turn_ns;
}

/* Who was resident may have left, or be of another class by now. */
static void check_resident(struct gp_sched *s)
{
	const struct gp_group_state *g;

	if (s->resident == GP_NONE)
		return;
	g = &s->group[s->resident];
	if (!g->id || g->tenant == GP_NONE ||
	    !gp_takes_turns(s, &s->tenant[g->tenant]))
		s->resident = GP_NONE;
}

void gp_rotate_reconcile(struct gp_sched *s)
{
	bool before[GP_SCHED_MAX_TENANTS];

	if (!s->config.rotate)
		return;
	for (size_t i = 0; i < GP_SCHED_MAX_TENANTS; i++)
		before[i] = s->tenant[i].be.runnable;
	refresh(s);
	for (size_t i = 0; i < GP_SCHED_MAX_TENANTS; i++)
		if (!before[i] && s->tenant[i].be.runnable)
			enter(s, &s->tenant[i]);

	check_resident(s);
	if (s->resident == GP_NONE) {
		new_turn(s);
		return;
	}
	if (!rotation_due(s)) {
		s->rotate_since_ns = 0;
		return;
	}
	if (!s->rotate_since_ns)
		s->rotate_since_ns = s->now_ns;
	if (!gp_hold_lc_active(s) ||
	    s->now_ns - s->rotate_since_ns >= s->config.lc_defer_max_ns)
		new_turn(s);
}

void gp_rotate_group_gone(struct gp_sched *s, uint32_t group)
{
	if (s->resident == group)
		s->resident = GP_NONE;
}

uint64_t gp_rotate_next_ns(const struct gp_sched *s)
{
	if (!s->config.rotate || s->resident == GP_NONE || !others_wait(s))
		return GP_NEVER;
	if (s->rotate_since_ns)
		return gp_add_sat(s->rotate_since_ns,
				  s->config.lc_defer_max_ns);
	if (s->group[s->resident].run != GP_RUN_ON)
		return GP_NEVER;
	return gp_add_sat(s->now_ns, s->turn_ns - s->turn_ran_ns);
}
