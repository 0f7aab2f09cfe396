// SPDX-License-Identifier: Apache-2.0
/*
 * be_rotation.c - which BE group is resident, and for how long.
 *
 * This file only chooses. group_reconcile.c suspends the old resident, and resumes the
 * new one when the old is known to be suspended. The policy chooses among
 * tenants. A tenant with several groups gives its turns to them alternately:
 * two contexts of one process at the short slice livelock like two processes.
 * Tenants of one party share an account, and use its turns alternately likewise.
 *
 * The host begins and ends the turns of a gang, because it knows the other devices (GP_EV_TURN).
 * Here a gang counts as any tenant that waits, but gets no turn by itself.
 */
#include "sched/internal.h"

/* A report covers time up to this long ago. */
#define REPORT_LATE_NS (100 * GP_NS_PER_MS)

static bool group_usable(const struct gp_sched *s, const struct gp_group_state *g, uint32_t tenant)
{
	return gp_computes(g) && g->tenant == tenant && g->retry_ns <= s->now_ns;
}

static uint32_t next_group(const struct gp_sched *s, uint32_t tenant)
{
	uint32_t last = s->tenant[tenant].last_group;

	for (uint32_t i = 1; i <= s->groups; i++) {
		uint32_t g = (last + i) % s->groups;

		if (group_usable(s, &s->group[g], tenant))
			return g;
	}
	return GP_NONE;
}

static struct gp_be_time be_time(const struct gp_sched *s)
{
	return (struct gp_be_time){
		.now_ns = s->now_ns,
		.base_ns = s->config.quantum_ns,
		.min_vruntime_ns = s->min_vruntime_ns,
		.runnable = s->runnable,
		.late_ns = REPORT_LATE_NS,
	};
}

/* Its own, or its party's. */
static bool has_account(const struct gp_sched *s, size_t i)
{
	return s->tenant[i].id && s->tenant[i].account == i;
}

static size_t all_entities(struct gp_sched *s, struct gp_be_entity *entity[GP_SCHED_MAX_TENANTS])
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->tenants; i++)
		if (has_account(s, i))
			entity[n++] = &s->tenant[i].be;
	return n;
}

/* Hands out the use up to now among the tenants that are runnable until now. */
static void settle(struct gp_sched *s)
{
	struct gp_be_entity *entity[GP_SCHED_MAX_TENANTS];
	const struct gp_be_time at = be_time(s);

	if (s->config.be_policy->settle)
		s->config.be_policy->settle(entity, all_entities(s, entity), &at);
}

static void balance(struct gp_sched *s)
{
	struct gp_be_entity *entity[GP_SCHED_MAX_TENANTS];

	if (s->config.be_policy->balance)
		s->config.be_policy->balance(entity, all_entities(s, entity));
}

static void charge(struct gp_sched *s, struct gp_tenant *t)
{
	const struct gp_be_time at = be_time(s);

	if (t->uncharged_ns)
		s->config.be_policy->charge(gp_account(s, t), t->uncharged_ns, &at);
	t->charged_ns = gp_add_sat(t->charged_ns, t->uncharged_ns);
	t->uncharged_ns = 0;
}

static void charge_all(struct gp_sched *s)
{
	for (size_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].id)
			charge(s, &s->tenant[i]);
}

static uint64_t min_vruntime_ns(const struct gp_sched *s, const bool runnable[GP_SCHED_MAX_TENANTS],
				bool gangs)
{
	uint64_t min = GP_NEVER;

	for (size_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].be.gang == gangs &&
		    (runnable ? runnable[i] : s->tenant[i].be.runnable))
			min = gp_min_u64(min, s->tenant[i].be.vruntime_ns);
	return min;
}

/*
 * The least virtual runtime of the tenants that are, or were, runnable; it never falls. A gang
 * that waits for another device must not keep it back.
 */
static void follow_min(struct gp_sched *s, const bool runnable[GP_SCHED_MAX_TENANTS])
{
	uint64_t min = min_vruntime_ns(s, runnable, false);

	if (min == GP_NEVER)
		min = min_vruntime_ns(s, runnable, true);
	if (min != GP_NEVER)
		s->min_vruntime_ns = gp_max_u64(s->min_vruntime_ns, min);
}

void gp_rotate_charge(struct gp_sched *s, struct gp_tenant *t)
{
	const struct gp_be_time at = be_time(s);

	if (!s->config.rotate)
		return;
	charge_all(s);
	follow_min(s, NULL);
	settle(s);
	/* A budget that grew at the old rate until now is made up, too. */
	s->config.be_policy->charge(gp_account(s, t), 0, &at);
}

void gp_rotate_left(struct gp_sched *s)
{
	if (s->config.rotate)
		balance(s);
}

uint32_t gp_rotate_tenant(const struct gp_sched *s)
{
	return s->resident == GP_NONE ? GP_NONE : s->group[s->resident].tenant;
}

void gp_rotate_join(struct gp_sched *s, struct gp_tenant *t)
{
	const struct gp_be_time at = be_time(s);

	t->account = (uint32_t)(t - s->tenant);
	s->config.be_policy->reset(&t->be, &at);
}

/* GP_NONE: it shares its account with nobody. */
static uint32_t other_of_account(const struct gp_sched *s, uint32_t tenant)
{
	for (uint32_t i = 0; i < s->tenants; i++)
		if (i != tenant && s->tenant[i].id &&
		    s->tenant[i].account == s->tenant[tenant].account)
			return i;
	return GP_NONE;
}

/* The account moves to the place of tenant @to. */
static void move_account(struct gp_sched *s, uint32_t from, uint32_t to)
{
	s->tenant[to].be = s->tenant[from].be;
	s->tenant[to].be.tenant = s->tenant[to].id;
	for (uint32_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].id && s->tenant[i].account == from)
			s->tenant[i].account = to;
}

void gp_rotate_part(struct gp_sched *s, struct gp_tenant *t)
{
	const uint32_t own = (uint32_t)(t - s->tenant), other = other_of_account(s, own);
	const struct gp_be_time at = be_time(s);

	t->party = 0;
	if (other == GP_NONE)
		return;
	if (t->account == own)
		move_account(s, own, other);
	t->account = own;
	t->runnable = 0;
	t->be = (struct gp_be_entity){ .tenant = t->id };
	s->config.be_policy->reset(&t->be, &at);
}

static void join_party(struct gp_sched *s, struct gp_tenant *t, uint32_t party)
{
	t->party = party;
	for (uint32_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *o = &s->tenant[i];

		if (o == t || !o->id || o->party != party)
			continue;
		t->account = o->account;
		t->runnable = 0;
		t->be = (struct gp_be_entity){ 0 };
		return;
	}
}

void gp_rotate_set_party(struct gp_sched *s, struct gp_tenant *t, uint32_t party)
{
	if (t->spec.cls.cls != GP_CLASS_BE)
		party = 0;
	if (t->party == party)
		return;
	gp_rotate_part(s, t);
	if (party)
		join_party(s, t, party);
	balance(s);
}

void gp_rotate_set_policy(struct gp_sched *s, const struct gp_be_policy *policy)
{
	const struct gp_be_time at = be_time(s);

	s->config.be_policy = policy;
	for (size_t i = 0; i < s->tenants; i++) {
		struct gp_tenant *t = &s->tenant[i];

		/* The new policy also forgets uncharged time. */
		t->uncharged_ns = 0;
		t->charged_ns = 0;
		if (has_account(s, i))
			policy->reset(&t->be, &at);
	}
}

/*
 * Takes @ns of a report from @open_ns, the unreported part; returns the excess. A later report
 * may cover the rest.
 */
static uint64_t settle_with(uint64_t *open_ns, uint64_t ns, uint64_t late_ns)
{
	uint64_t beyond = gp_sub_sat(ns, *open_ns);

	*open_ns = gp_min_u64(gp_sub_sat(*open_ns, ns), late_ns);
	return beyond;
}

/*
 * Reports cover no more than the time that passed, and REPORT_LATE_NS besides: a report may be
 * late, and the next one not. A wrong figure would starve the tenant, or others.
 */
static void believe(const struct gp_sched *s, struct gp_tenant *t, uint64_t *used_ns,
		    uint64_t *displaced_ns)
{
	const uint64_t passed_ns = s->now_ns - t->reported_ns;
	const uint64_t limit_ns = gp_add_sat(passed_ns, REPORT_LATE_NS - t->ahead_ns);

	*used_ns = gp_min_u64(*used_ns, limit_ns);
	*displaced_ns = gp_min_u64(*displaced_ns, limit_ns - *used_ns);
	t->ahead_ns = gp_sub_sat(gp_add_sat(t->ahead_ns, *used_ns + *displaced_ns), passed_ns);
	t->reported_ns = s->now_ns;
}

uint64_t gp_rotate_usage(struct gp_sched *s, struct gp_tenant *t, const struct gp_event *ev)
{
	uint64_t used_ns = ev->usage.used_ns, displaced_ns = ev->usage.displaced_ns;
	const uint64_t late_ns = gp_min_u64(gp_sub_sat(s->now_ns, ev->usage.at_ns), REPORT_LATE_NS);
	const struct gp_be_time at = be_time(s);
	uint64_t back, over;

	believe(s, t, &used_ns, &displaced_ns);
	t->used_ns = gp_add_sat(t->used_ns, used_ns);
	gp_min_used(s, t, used_ns, ev->usage.at_ns);
	if (!gp_takes_turns(s, t))
		return used_ns;
	charge(s, t);
	back = gp_min_unused(t) ? 0 : gp_min_u64(displaced_ns, t->charged_ns);
	over = settle_with(&t->charged_ns, gp_add_sat(back, used_ns), REPORT_LATE_NS);
	gp_min_usage(s, settle_with(&t->sure_ns, used_ns, late_ns));
	if (over > back)
		s->config.be_policy->charge(gp_account(s, t), over - back, &at);
	else if (over < back)
		s->config.be_policy->refund(gp_account(s, t), back - over, &at);
	return used_ns;
}

/*
 * Does time count for the resident's turn? While LC has the device it does not, as BE gets its
 * minimum later. But the turn of a tenant that leaves this unused would last for ever.
 */
static bool turn_runs(const struct gp_sched *s)
{
	const uint32_t tenant = gp_rotate_tenant(s);

	return gp_min_turn_runs(s) || (tenant != GP_NONE && gp_min_unused(&s->tenant[tenant]));
}

/* Time passed: charge it to the BE group on the device. */
void gp_rotate_account(struct gp_sched *s, uint64_t now_ns)
{
	uint64_t passed = now_ns - s->now_ns;
	bool runs = turn_runs(s);

	if (s->config.rotate)
		gp_min_account(s, passed);
	s->now_ns = now_ns;
	if (!passed || !s->config.rotate)
		return;
	for (uint32_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (!gp_computes(g) || g->tenant == GP_NONE || g->run == GP_RUN_OFF)
			continue;
		if (i == s->resident && !runs)
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

static void find_runnable(const struct gp_sched *s, bool runnable[GP_SCHED_MAX_TENANTS])
{
	for (size_t i = 0; i < s->tenants; i++)
		runnable[i] = false;
	for (size_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (gp_computes(g) && g->tenant != GP_NONE && g->retry_ns <= s->now_ns)
			runnable[g->tenant] = true;
	}
	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];

		runnable[i] = runnable[i] && gp_takes_turns(s, t) && t->activity != GP_ACT_IDLE;
	}
}

static void enter(struct gp_sched *s, struct gp_tenant *t)
{
	const struct gp_be_time at = be_time(s);

	s->config.be_policy->enter(&t->be, &at);
	t->be.waiting_since_ns = s->now_ns;
}

/* The accounts of which a tenant may run; their number. */
static uint64_t find_accounts(const struct gp_sched *s, const bool is[GP_SCHED_MAX_TENANTS],
			      bool account[GP_SCHED_MAX_TENANTS])
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->tenants; i++)
		account[i] = false;
	for (size_t i = 0; i < s->tenants; i++) {
		const uint32_t at = s->tenant[i].account;

		n += is[i] && !account[at];
		account[at] |= is[i];
	}
	return n;
}

static void change_tenants(struct gp_sched *s, const bool is[GP_SCHED_MAX_TENANTS])
{
	for (size_t i = 0; i < s->tenants; i++) {
		if (is[i] && !s->tenant[i].runnable)
			s->tenant[i].turn_end_ns = s->now_ns;
		s->tenant[i].runnable = is[i];
	}
}

/* @is: the accounts of which a tenant may run from now on. */
static void change_accounts(struct gp_sched *s, const bool is[GP_SCHED_MAX_TENANTS])
{
	bool stays[GP_SCHED_MAX_TENANTS] = { false }, enters[GP_SCHED_MAX_TENANTS] = { false };

	for (size_t i = 0; i < s->tenants; i++) {
		struct gp_be_entity *be = &s->tenant[i].be;

		stays[i] = be->runnable && is[i];
		enters[i] = !be->runnable && is[i];
		if (be->runnable && !is[i])
			be->left_ns = s->now_ns;
		be->runnable = is[i];
	}
	follow_min(s, stays);
	for (size_t i = 0; i < s->tenants; i++)
		if (enters[i])
			enter(s, &s->tenant[i]);
	balance(s);
}

/*
 * Charges the time that ran, and finds the tenants that may run from now on. Time until now
 * counts among those that could run until now, and the use of all of them reaches the minimum.
 */
static void refresh(struct gp_sched *s)
{
	bool is[GP_SCHED_MAX_TENANTS] = { false }, account[GP_SCHED_MAX_TENANTS];
	bool changed = false;
	uint64_t runnable;

	find_runnable(s, is);
	runnable = find_accounts(s, is, account);
	for (size_t i = 0; i < s->tenants; i++)
		changed |= account[i] != s->tenant[i].be.runnable;
	charge_all(s);
	follow_min(s, NULL);
	if (changed)
		settle(s);
	s->runnable = runnable;
	change_tenants(s, is);
	if (changed)
		change_accounts(s, account);
}

uint64_t gp_rotate_ready_ns(const struct gp_sched *s, const struct gp_tenant *t)
{
	const struct gp_be_time at = be_time(s);

	return s->config.be_policy->ready_ns ?
		       s->config.be_policy->ready_ns(gp_account_of(s, t), &at) :
		       0;
}

/* A capped turn ends even if no other tenant waits. */
static bool is_capped(const struct gp_sched *s, const struct gp_tenant *t)
{
	return s->config.be_policy->ready_ns && gp_account_of(s, t)->cap_pct;
}

/* @t may have a turn now. */
static bool is_ready(const struct gp_sched *s, const struct gp_tenant *t)
{
	return t->id && t->runnable && gp_rotate_ready_ns(s, t) <= s->now_ns;
}

/*
 * Is @t slow to leave, so that its turn is better another's? Beside LC's work all BE has only the
 * windows of its minimum, and @t has its share of these.
 */
static bool leaves_turn(const struct gp_sched *s, const struct gp_tenant *t)
{
	return (s->pause_since_ns || !s->config.be_min_pct) && gp_leave_keeps_off(s, t);
}

static bool is_gang(const struct gp_sched *s, uint32_t tenant)
{
	return gp_account_of(s, &s->tenant[tenant])->gang;
}

/* It may have a turn now, and needs no host for that. */
static bool has_turns(const struct gp_sched *s, uint32_t tenant)
{
	return is_ready(s, &s->tenant[tenant]) && !is_gang(s, tenant);
}

/* The tenants that may have a turn now, after @after first. */
static size_t list_ready(const struct gp_sched *s, uint32_t after,
			 uint32_t tenant[GP_SCHED_MAX_TENANTS])
{
	size_t n = 0;

	for (uint32_t k = 1; k <= s->tenants; k++) {
		uint32_t i = (after + k) % s->tenants;

		if (has_turns(s, i) && !leaves_turn(s, &s->tenant[i]))
			tenant[n++] = i;
	}
	/* One that is slow to leave then waits in its turn, for a window at least. */
	for (uint32_t k = 1; !n && k <= s->tenants; k++)
		if (has_turns(s, (after + k) % s->tenants))
			tenant[n++] = (after + k) % s->tenants;
	return n;
}

/* Of two of one party, the one that had no turn for longer. */
static bool goes_before(const struct gp_sched *s, const struct gp_tenant *a,
			const struct gp_tenant *b)
{
	if (a->account == b->account)
		return a->turn_end_ns < b->turn_end_ns;
	return s->config.be_policy->before(gp_account_of(s, a), gp_account_of(s, b));
}

/* Place in @tenant of the policy's first of @n. */
static size_t first_of(const struct gp_sched *s, const uint32_t *tenant, size_t n)
{
	size_t first = 0;

	for (size_t i = 1; i < n; i++)
		if (goes_before(s, &s->tenant[tenant[i]], &s->tenant[tenant[first]]))
			first = i;
	return first;
}

/*
 * Index of the tenant that has the next turn; GP_NONE: none may run. Among equals @after,
 * which had the last turn, comes last.
 */
static uint32_t pick(const struct gp_sched *s, uint32_t after)
{
	uint32_t tenant[GP_SCHED_MAX_TENANTS];
	size_t n = list_ready(s, after, tenant);

	return n ? tenant[first_of(s, tenant, n)] : GP_NONE;
}

uint32_t gp_rotate_ahead(const struct gp_sched *s, uint32_t who)
{
	const uint32_t has = gp_rotate_tenant(s), last = has == GP_NONE ? s->tenants - 1 : has;
	const struct gp_tenant *own = &s->tenant[who];
	uint32_t ahead = 0;
	bool met = false;

	/* In the order in which equals have their turns. */
	for (uint32_t k = 1; k <= s->tenants; k++) {
		const uint32_t i = (last + k) % s->tenants;
		const struct gp_tenant *t = &s->tenant[i];

		met |= i == who;
		if (i == who || i == has || !is_ready(s, t))
			continue;
		ahead += goes_before(s, t, own) || (!met && !goes_before(s, own, t));
	}
	return ahead;
}

/* At least one of the tenants that may have the next turn then owes nothing. */
static void lift(struct gp_sched *s)
{
	bool ready[GP_SCHED_MAX_TENANTS] = { false }, account[GP_SCHED_MAX_TENANTS];
	struct gp_be_entity *entity[GP_SCHED_MAX_TENANTS];
	size_t n = 0;

	if (!s->config.be_policy->lift)
		return;
	for (uint32_t i = 0; i < s->tenants; i++)
		ready[i] = has_turns(s, i);
	find_accounts(s, ready, account);
	for (uint32_t i = 0; i < s->tenants; i++)
		if (account[i])
			entity[n++] = &s->tenant[i].be;
	s->config.be_policy->lift(entity, n);
	balance(s);
}

/* The turn began just now, and has not been used. */
static bool is_new(const struct gp_sched *s)
{
	return s->turn_since_ns == s->now_ns && !s->turn_ran_ns;
}

/* Index of the tenant whose turn ends. */
static uint32_t end_turn(struct gp_sched *s)
{
	const uint32_t old = gp_rotate_tenant(s);

	s->rotate_since_ns = 0;
	if (old == GP_NONE)
		return s->tenants - 1;
	s->resident = GP_NONE;
	gp_account(s, &s->tenant[old])->waiting_since_ns = s->now_ns;
	s->tenant[old].turn_end_ns = s->now_ns;
	return old;
}

static void begin_turn(struct gp_sched *s, uint32_t tenant)
{
	const struct gp_be_time at = be_time(s);
	struct gp_tenant *t = &s->tenant[tenant];

	s->resident = next_group(s, tenant);
	t->last_group = s->resident;
	s->turn_ran_ns = 0;
	s->turn_since_ns = s->now_ns;
	s->turn_ns = s->config.be_policy->quantum(gp_account(s, t), &at);
}

static void new_turn(struct gp_sched *s)
{
	const uint32_t old = end_turn(s);
	uint32_t tenant;

	settle(s);
	lift(s);
	tenant = pick(s, old);
	if (tenant != GP_NONE)
		begin_turn(s, tenant);
}

static bool group_waits(const struct gp_sched *s, const struct gp_group_state *g)
{
	return gp_computes(g) && g->tenant != GP_NONE && s->tenant[g->tenant].runnable &&
	       g->retry_ns <= s->now_ns &&
	       gp_rotate_ready_ns(s, &s->tenant[g->tenant]) <= s->now_ns;
}

/* @keen: only those that could run at once. */
static bool others_wait(const struct gp_sched *s, bool keen)
{
	for (uint32_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (i != s->resident && group_waits(s, g) && !is_gang(s, g->tenant) &&
		    !(keen && leaves_turn(s, &s->tenant[g->tenant])))
			return true;
	}
	return false;
}

/* Another one than the resident's. */
static bool gangs_wait(const struct gp_sched *s)
{
	const uint32_t has = gp_rotate_tenant(s);
	const uint32_t account = has == GP_NONE ? GP_NONE : s->tenant[has].account;

	for (uint32_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (group_waits(s, g) && is_gang(s, g->tenant) &&
		    s->tenant[g->tenant].account != account)
			return true;
	}
	return false;
}

static bool anybody_waits(const struct gp_sched *s)
{
	return others_wait(s, false) || gangs_wait(s);
}

/* The turn of a gang is to end, or to begin, as nobody else waits. */
static bool host_decides(const struct gp_sched *s)
{
	const uint32_t has = gp_rotate_tenant(s);

	return is_gang(s, has) || (!is_capped(s, &s->tenant[has]) && !others_wait(s, false));
}

static bool rotation_due(const struct gp_sched *s)
{
	const struct gp_tenant *t = &s->tenant[s->group[s->resident].tenant];
	bool over = s->turn_ran_ns >= s->turn_ns;

	if (is_capped(s, t) && over)
		return true;
	if (leaves_turn(s, t) && others_wait(s, true))
		return true;
	return (over || !t->runnable) && anybody_waits(s);
}

/* The former resident may have left, or have another class by now. */
static void check_resident(struct gp_sched *s)
{
	const struct gp_group_state *g;

	if (s->resident == GP_NONE)
		return;
	g = &s->group[s->resident];
	if (!g->id || g->tenant == GP_NONE || !gp_takes_turns(s, &s->tenant[g->tenant]))
		s->resident = GP_NONE;
}

/* A rotation is due, and LC's work defers it. */
static bool lc_defers(const struct gp_sched *s)
{
	return gp_hold_lc_active(s) &&
	       s->now_ns - s->rotate_since_ns < s->config.rotation_defer_max_ns;
}

void gp_rotate_turn(struct gp_sched *s, const struct gp_tenant *t, bool ends)
{
	const uint32_t has = gp_rotate_tenant(s);
	const bool its = has != GP_NONE && s->tenant[has].account == t->account;

	s->turn_ends = ends && its;
	s->turn_of = ends || its ? GP_NONE : (uint32_t)(t - s->tenant);
}

/* Of a gang with the account of @tenant, the one with the next turn; GP_NONE: none could run. */
static uint32_t member(const struct gp_sched *s, uint32_t tenant)
{
	uint32_t best = GP_NONE;

	for (uint32_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i], *b = &s->tenant[best % s->tenants];

		if (!t->id || t->account != s->tenant[tenant].account ||
		    next_group(s, i) == GP_NONE)
			continue;
		if (best == GP_NONE || t->runnable > b->runnable ||
		    (t->runnable == b->runnable && t->turn_end_ns < b->turn_end_ns))
			best = i;
	}
	return best;
}

/*
 * While the gang waited for another device, its time here was others'. Beside them it does not
 * get that back. A wait of one round is for the others here, and counts.
 */
static void forget_wait(struct gp_sched *s, struct gp_be_entity *e)
{
	const struct gp_be_time at = be_time(s);

	if (min_vruntime_ns(s, NULL, false) == GP_NEVER ||
	    s->now_ns - e->waiting_since_ns <= s->runnable * s->config.quantum_ns)
		return;
	e->left_ns = 0;
	s->config.be_policy->enter(e, &at);
	balance(s);
}

/* As the host decided. */
static void change_turn(struct gp_sched *s)
{
	const uint32_t tenant = s->turn_of == GP_NONE ? GP_NONE : member(s, s->turn_of);

	s->turn_of = GP_NONE;
	if (s->turn_ends) {
		s->turn_ends = 0;
		new_turn(s);
	} else if (tenant != GP_NONE) {
		if (is_new(s))
			s->resident = GP_NONE;
		end_turn(s);
		settle(s);
		forget_wait(s, gp_account(s, &s->tenant[tenant]));
		begin_turn(s, tenant);
	}
}

/* ---- what the host sees of a gang ------------------------------------------- */

static uint32_t index_of(const struct gp_sched *s, uint32_t id)
{
	for (uint32_t i = 0; id && i < s->tenants; i++)
		if (s->tenant[i].id == id)
			return i;
	return GP_NONE;
}

/* Does a tenant that waits for a turn, by itself, go before @t? */
static bool others_first(const struct gp_sched *s, const struct gp_tenant *t)
{
	const uint32_t has = gp_rotate_tenant(s);

	for (uint32_t i = 0; i < s->tenants; i++)
		if (i != has && has_turns(s, i) && goes_before(s, &s->tenant[i], t))
			return true;
	return false;
}

/* It has no turn. */
static enum gp_gang_state waiting_state(const struct gp_sched *s, const struct gp_tenant *t)
{
	const uint32_t has = gp_rotate_tenant(s);
	const struct gp_tenant *resident = has == GP_NONE ? NULL : &s->tenant[has];

	if (gp_rotate_ready_ns(s, t) > s->now_ns || others_first(s, t))
		return GP_GANG_WAITS;
	if (!resident || (!resident->runnable && !others_wait(s, false)))
		return GP_GANG_FREE;
	if (is_gang(s, has))
		return GP_GANG_NEXT;
	if (is_new(s))
		return goes_before(s, t, resident) ? GP_GANG_DUE : GP_GANG_WAITS;
	if (s->rotate_since_ns)
		return lc_defers(s) ? GP_GANG_WAITS : GP_GANG_DUE;
	return goes_before(s, t, resident) && !gp_hold_lc_active(s) ? GP_GANG_NEXT : GP_GANG_WAITS;
}

void gp_sched_gang(const struct gp_sched *s, uint32_t tenant, struct gp_sched_gang *gang)
{
	const uint32_t i = index_of(s, tenant), has = gp_rotate_tenant(s);
	const struct gp_tenant *t = i == GP_NONE ? NULL : &s->tenant[i];

	*gang = (struct gp_sched_gang){ .state = GP_GANG_NONE };
	if (!s->config.rotate || !t || !is_gang(s, i) || member(s, i) == GP_NONE)
		return;
	gang->works = gp_account_of(s, t)->runnable;
	if (has == GP_NONE || s->tenant[has].account != t->account) {
		gang->state = waiting_state(s, t);
		return;
	}
	gang->awaited = anybody_waits(s);
	gang->state = s->turn_ran_ns >= s->turn_ns && s->rotate_since_ns && !lc_defers(s) ?
			      GP_GANG_OVER :
			      GP_GANG_RUNS;
}

bool gp_sched_gang_before(const struct gp_sched *s, uint32_t tenant, uint32_t other)
{
	const uint32_t a = index_of(s, tenant), b = index_of(s, other);

	return a != GP_NONE && b != GP_NONE && s->tenant[a].account != s->tenant[b].account &&
	       goes_before(s, &s->tenant[a], &s->tenant[b]);
}

void gp_rotate_reconcile(struct gp_sched *s)
{
	if (!s->config.rotate)
		return;
	refresh(s);
	check_resident(s);
	if (s->turn_of != GP_NONE || s->turn_ends) {
		change_turn(s);
		return;
	}
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
	if (!lc_defers(s) && !host_decides(s))
		new_turn(s);
}

bool gp_sched_rotation_deferred(const struct gp_sched *s)
{
	return (s->resident != GP_NONE && s->rotate_since_ns != 0 &&
		(!host_decides(s) || lc_defers(s))) ||
	       gp_cut_waits(s);
}

uint32_t gp_sched_resident(const struct gp_sched *s)
{
	uint32_t tenant = gp_rotate_tenant(s);

	return tenant == GP_NONE ? 0 : s->tenant[tenant].id;
}

void gp_rotate_group_gone(struct gp_sched *s, uint32_t group)
{
	if (s->resident == group)
		s->resident = GP_NONE;
}

/* The earliest time at which a tenant with a spent cap may run again. */
static uint64_t next_ready_ns(const struct gp_sched *s)
{
	uint32_t has = gp_rotate_tenant(s);
	uint64_t next = GP_NEVER;

	for (uint32_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];
		uint64_t at;

		if (!t->id || i == has || !t->runnable || !is_capped(s, t))
			continue;
		at = gp_rotate_ready_ns(s, t);
		if (at > s->now_ns)
			next = gp_min_u64(next, at);
	}
	return next;
}

uint64_t gp_rotate_turn_end_ns(const struct gp_sched *s)
{
	const struct gp_tenant *t;

	if (s->resident == GP_NONE)
		return GP_NEVER;
	t = &s->tenant[s->group[s->resident].tenant];
	if (!is_capped(s, t) && !anybody_waits(s))
		return GP_NEVER;
	if (s->rotate_since_ns)
		return host_decides(s) && !lc_defers(s) ?
			       GP_NEVER :
			       gp_add_sat(s->rotate_since_ns, s->config.rotation_defer_max_ns);
	if (s->group[s->resident].run != GP_RUN_ON || !turn_runs(s))
		return GP_NEVER;
	return gp_add_sat(s->now_ns, gp_sub_sat(s->turn_ns, s->turn_ran_ns));
}

uint64_t gp_rotate_next_ns(const struct gp_sched *s)
{
	if (!s->config.rotate)
		return GP_NEVER;
	return gp_min_u64(gp_rotate_turn_end_ns(s), next_ready_ns(s));
}
