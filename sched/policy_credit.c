// SPDX-License-Identifier: Apache-2.0
/*
 * policy_credit.c - weights and caps among BE tenants, after Xen's credit scheduler.
 *
 * Weights. A tenant's use is taken from its credit. At the end of each turn, and before the set
 * of runnable tenants changes, the use of all is handed out by weight among those that were
 * runnable. So the credits of all tenants add up to 0, and nobody gets a share of time from
 * before it came. Tenants with credit go before tenants in debt. Within each of the two the
 * longest wait goes first.
 *
 * Absence erases credit and debt, and a tenant takes its own along when it leaves. The credits
 * of the others, or their debts, then shrink in proportion until the sum is 0 again. So no
 * change makes a debt larger, nor a credit a debt.
 *
 * Credit of absent or capped tenants is no use to those that could run now. If these are all
 * in debt, they get credit by weight until one of them owes nothing, and it runs. So a turn
 * leads into a debt of that turn at most.
 *
 * The bound on waiting, with T as in docs/sched.md. Tenant i began its turn without debt, so it
 * owes at most T less its own part. Its part of all time is at least w_i / W, so it owes nothing
 * after (W / w_i - 1) T. No change adds to its debt. Then only tenants go before it that have
 * waited longer, one turn each.
 *
 * Caps. A bucket fills at cap_pct of real time, from empty, and the tenant's use is taken out.
 * A turn begins only when the bucket has all that the turn may use. It ends on time, even if
 * no other tenant wants the device. So no turn has to end early. Since its first work a tenant
 * never has more than its cap, apart from an overrun of its last turn, which the bucket then
 * owes.
 */
#include "sched/internal.h"

/*
 * A capped turn takes at most the cap's part of a round. A round has at least this many whole
 * turns. With fewer, the tenant would need more turns than the others have.
 */
#define CAP_PERIOD 5
/* The bucket holds this many rounds: others may have kept the tenant waiting. */
#define CAP_STORE 4
/* Of handing out use. The rest waits for the next time. */
#define ROUNDS 8
#define BASE_MAX_NS (100000 * GP_NS_PER_MS)
#define CREDIT_MAX ((int64_t)1 << 50) /* ns: 13 days */

static uint64_t base_of(const struct gp_be_time *t)
{
	return gp_min_u64(t->base_ns, BASE_MAX_NS);
}

static int64_t to_signed(uint64_t ns)
{
	return (int64_t)gp_min_u64(ns, (uint64_t)CREDIT_MAX);
}

static int64_t within(int64_t v, int64_t max)
{
	return v > max ? max : v < -max ? -max : v;
}

/* ---- caps --------------------------------------------------------------- */

static uint64_t cap_period_ns(const struct gp_be_time *t)
{
	return base_of(t) * gp_max_u64(CAP_PERIOD, t->runnable);
}

/* How long a capped tenant's turns are. */
static uint64_t cap_turn_ns(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	uint64_t base = base_of(t);

	return gp_max_u64(gp_min_u64(base, cap_period_ns(t) * e->cap_pct / 100), 1);
}

static int64_t budget_at(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	int64_t full = (int64_t)(cap_period_ns(t) * CAP_STORE * e->cap_pct);
	int64_t passed = to_signed(gp_sub_sat(t->now_ns, e->budget_ns));
	int64_t has = e->budget + passed * e->cap_pct;

	return has > full ? full : has;
}

static uint64_t credit_ready_ns(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	int64_t lacks;

	if (!e->cap_pct)
		return 0;
	lacks = (int64_t)cap_turn_ns(e, t) * 100 - budget_at(e, t);
	if (lacks <= 0)
		return 0;
	return gp_add_sat(t->now_ns, ((uint64_t)lacks + e->cap_pct - 1) / e->cap_pct);
}

static uint64_t credit_quantum(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	return e->cap_pct ? cap_turn_ns(e, t) : t->base_ns;
}

/* ---- weights ------------------------------------------------------------ */

static void credit_charge(struct gp_be_entity *e, uint64_t ran_ns, const struct gp_be_time *t)
{
	int64_t ran = to_signed(ran_ns);

	e->credit_ns = within(e->credit_ns - ran, CREDIT_MAX);
	/* A cap that comes later counts from then. */
	e->budget = e->cap_pct ? within(budget_at(e, t) - ran * 100, CREDIT_MAX * 100) : 0;
	e->budget_ns = t->now_ns;
}

static void credit_refund(struct gp_be_entity *e, uint64_t ns, const struct gp_be_time *t)
{
	int64_t back = to_signed(ns);

	e->credit_ns = within(e->credit_ns + back, CREDIT_MAX);
	if (e->cap_pct)
		e->budget = within(e->budget + back * 100, CREDIT_MAX * 100);
}

/*
 * Absence erases as much credit or debt as it lasted. So idling saves up no
 * credit, and a pause of a millisecond clears no turn.
 */
static void credit_enter(struct gp_be_entity *e, const struct gp_be_time *t)
{
	int64_t away = to_signed(gp_sub_sat(t->now_ns, e->left_ns));

	if (e->credit_ns < 0)
		e->credit_ns = e->credit_ns < -away ? e->credit_ns + away : 0;
	else
		e->credit_ns = e->credit_ns > away ? e->credit_ns - away : 0;
}

static void credit_reset(struct gp_be_entity *e, const struct gp_be_time *t)
{
	e->credit_ns = 0;
	e->budget = 0;
	e->budget_ns = t->now_ns;
}

/* Credit beyond one capped turn is of no use to a capped tenant: the others get it. */
static bool at_limit(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	return e->cap_pct && e->credit_ns >= (int64_t)cap_turn_ns(e, t);
}

static bool takes_part(const struct gp_be_entity *e, const struct gp_be_time *t)
{
	return e->runnable && !at_limit(e, t);
}

static uint64_t weights_below_limit(struct gp_be_entity *const *e, size_t n,
				    const struct gp_be_time *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += takes_part(e[i], t) ? e[i]->weight : 0;
	return sum;
}

/* Hands out @pot by weight; returns the rest that found no room. */
static int64_t hand_out(struct gp_be_entity *const *e, size_t n, const struct gp_be_time *t,
			int64_t pot)
{
	int64_t weights = (int64_t)weights_below_limit(e, n, t), left = pot;

	for (size_t i = 0; i < n && weights; i++) {
		int64_t share, room;

		if (!takes_part(e[i], t))
			continue;
		share = pot / weights * e[i]->weight + pot % weights * e[i]->weight / weights;
		room = (int64_t)cap_turn_ns(e[i], t) - e[i]->credit_ns;
		if (e[i]->cap_pct && share > room)
			share = room;
		e[i]->credit_ns += share;
		left -= share;
	}
	return left;
}

static bool owes(const struct gp_be_entity *e)
{
	return e->credit_ns < 0;
}

static int64_t sum_of(struct gp_be_entity *const *e, size_t n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += e[i]->credit_ns;
	return sum;
}

/* Less than one ns a tenant is left: the first gets it. */
static void hand_rest(struct gp_be_entity *const *e, size_t n, int64_t rest)
{
	for (size_t i = 0; i < n; i++) {
		if (!e[i]->runnable || e[i]->cap_pct)
			continue;
		if (rest < (int64_t)n && rest > -(int64_t)n)
			e[i]->credit_ns += rest;
		return;
	}
}

static void credit_settle(struct gp_be_entity *const *e, size_t n, const struct gp_be_time *t)
{
	int64_t pot = -sum_of(e, n);

	/* Each round but the last brings at least one tenant to its limit, mostly just one. */
	for (size_t round = 0; round < ROUNDS && (pot > 0 || (pot && !round)); round++) {
		int64_t left = hand_out(e, n, t, pot);

		if (left == pot)
			break;
		pot = left;
	}
	hand_rest(e, n, pot);
}

/* @credit less its part of @less, of @all. */
static int64_t shrunk(int64_t credit, int64_t less, int64_t all)
{
	return credit - (int64_t)((__int128)credit * less / all);
}

static void credit_balance(struct gp_be_entity *const *e, size_t n)
{
	int64_t sum = sum_of(e, n), same_sign = 0;

	if (!sum)
		return;
	for (size_t i = 0; i < n; i++)
		same_sign += owes(e[i]) == (sum < 0) ? e[i]->credit_ns : 0;
	for (size_t i = 0; i < n; i++)
		if (owes(e[i]) == (sum < 0))
			e[i]->credit_ns = shrunk(e[i]->credit_ns, sum, same_sign);
}

/* @e needs this much, for each unit of its weight, to be without debt. */
static uint64_t lacks(const struct gp_be_entity *e)
{
	return owes(e) ? ((uint64_t)-e->credit_ns + e->weight - 1) / e->weight : 0;
}

static void credit_lift(struct gp_be_entity *const *e, size_t n)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		least = gp_min_u64(least, lacks(e[i]));
	for (size_t i = 0; i < n && least; i++)
		e[i]->credit_ns +=
			(int64_t)gp_min_u64(least * e[i]->weight, (uint64_t)-e[i]->credit_ns);
}

static bool credit_before(const struct gp_be_entity *a, const struct gp_be_entity *b)
{
	if (owes(a) != owes(b))
		return owes(b);
	return a->waiting_since_ns < b->waiting_since_ns;
}

const struct gp_be_policy gp_policy_credit = {
	.name = "credit",
	.caps = 1,
	.balance = credit_balance,
	.before = credit_before,
	.charge = credit_charge,
	.enter = credit_enter,
	.lift = credit_lift,
	.quantum = credit_quantum,
	.ready_ns = credit_ready_ns,
	.refund = credit_refund,
	.reset = credit_reset,
	.settle = credit_settle,
};
