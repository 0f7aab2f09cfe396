// SPDX-License-Identifier: Apache-2.0
/*
 * edf_admission.c - admission of tenants with deadlines. docs/sched.md states the bound.
 * All times are whole us, rounded to the unfavourable side, so that the product
 * of two fits.
 *
 * Proof that admitted tenants meet their deadlines. Suppose that a job misses its
 * deadline d. Let t0 be the last moment before d without a pending job due by d,
 * and t = d - t0. From t0 to d the device does only the following:
 *
 * - Jobs that came from t0 on, due by d. Tenant i has at most
 *   floor((t - D_i) / T_i) + 1 of them, less than (t - D_i + T_i) / T_i.
 * - Two switches for each of these jobs: to it, and back to the preempted job.
 *   Both are in its cost, the 2 s in C'_i.
 * - Once, the work that had the device at t0, or was being switched to: b to
 *   suspend the one before, s to switch, b until it can be preempted itself. Less
 *   urgent work runs again only when no such job is left, which is another t0.
 * - Windows of the BE minimum, X long and P or more apart: at most
 *   X (P - X + t) / P.
 *
 * The bound at each deadline D_k makes their sum less than t at t = D_k. Between
 * the D_k, and beyond the last, the bound on the load keeps the sum from growing
 * faster than t. So no job misses its deadline.
 */
#include <errno.h>

#include "sched/internal.h"

#define TIME_MAX_NS (1000000 * GP_NS_PER_MS)
#define PPM 1000000ull

/* One tenant's request. */
struct demand {
	uint32_t tenant;
	uint64_t cost_us; /* runtime, and two switches */
	uint64_t deadline_us, period_us;
};

struct demands {
	size_t n;
	struct demand d[GP_SCHED_MAX_TENANTS + 1];
};

static uint64_t up_us(uint64_t ns)
{
	return (ns + GP_NS_PER_US - 1) / GP_NS_PER_US;
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static uint64_t period_of(const struct gp_class_request *spec)
{
	return spec->period_ns ? spec->period_ns : spec->deadline_ns;
}

static bool spec_possible(const struct gp_class_request *spec)
{
	return spec->runtime_ns && spec->runtime_ns <= spec->deadline_ns &&
	       spec->deadline_ns <= period_of(spec) && spec->deadline_ns >= GP_NS_PER_US &&
	       period_of(spec) < TIME_MAX_NS;
}

static bool asks(const struct gp_class_request *spec)
{
	return spec->cls.cls == GP_CLASS_LC && spec->deadline_ns;
}

static void add(const struct gp_sched *s, struct demands *all, uint32_t tenant,
		const struct gp_class_request *spec)
{
	all->d[all->n++] = (struct demand){
		.tenant = tenant,
		.cost_us = up_us(spec->runtime_ns) +
			   up_us(2 * gp_min_u64(s->config.lc_switch_ns, TIME_MAX_NS)),
		.deadline_us = spec->deadline_ns / GP_NS_PER_US,
		.period_us = period_of(spec) / GP_NS_PER_US,
	};
}

/* Long-run share of the device that @d takes. */
static uint64_t load_ppm(const struct demand *d)
{
	return div_up(d->cost_us * PPM, d->period_us);
}

/* @d's demand in @t_us, by a straight line above its steps. */
static uint64_t demand_us(const struct demand *d, uint64_t t_us)
{
	uint64_t more = t_us - d->deadline_us;

	return d->cost_us + more / d->period_us * d->cost_us +
	       div_up(more % d->period_us * d->cost_us, d->period_us);
}

/*
 * The time until a tenant that has just come can run: a switch between two
 * others that began a moment before, and the work that then has the device.
 */
static uint64_t blocking_us(const struct gp_sched *s)
{
	return up_us(2 * gp_min_u64(s->config.cut_ns, TIME_MAX_NS)) +
	       up_us(gp_min_u64(s->config.lc_switch_ns, TIME_MAX_NS));
}

/*
 * BE's windows in @t_us: LC is suspended @blackout_us long, a be_period_ns
 * apart or more. A straight line again.
 */
static uint64_t window_us(const struct gp_sched *s, uint64_t blackout_us, uint64_t t_us)
{
	uint64_t every = s->config.be_period_ns / GP_NS_PER_US;

	if (blackout_us >= every)
		return t_us;
	return div_up(blackout_us * (every - blackout_us + t_us), every);
}

/* All demand by @t_us, with blocking and windows. */
static uint64_t all_us(const struct gp_sched *s, const struct demands *all, uint64_t blackout_us,
		       uint64_t t_us)
{
	uint64_t sum = blocking_us(s) + window_us(s, blackout_us, t_us);

	for (size_t i = 0; i < all->n; i++)
		if (all->d[i].deadline_us <= t_us)
			sum += demand_us(&all->d[i], t_us);
	return sum;
}

static int judge(const struct gp_sched *s, const struct demands *all, uint64_t blackout_us,
		 struct gp_sched_admission *a)
{
	if (blackout_us)
		a->load_ppm = div_up(blackout_us * PPM, s->config.be_period_ns / GP_NS_PER_US);
	for (size_t i = 0; i < all->n; i++)
		a->load_ppm += load_ppm(&all->d[i]);
	if (a->load_ppm > PPM) {
		a->reason = GP_ADMIT_LOAD;
		return -ENOSPC;
	}
	for (size_t i = 0; i < all->n; i++) {
		uint64_t t = all->d[i].deadline_us;
		uint64_t sum = all_us(s, all, blackout_us, t);

		if (sum <= t)
			continue;
		a->reason = GP_ADMIT_DEADLINE;
		a->tenant = all->d[i].tenant;
		a->demand_ns = sum * GP_NS_PER_US;
		a->deadline_ns = t * GP_NS_PER_US;
		return -ENOSPC;
	}
	return 0;
}

static bool has_group(const struct gp_sched *s, size_t tenant)
{
	for (size_t i = 0; i < s->groups; i++)
		if (gp_computes(&s->group[i]) && s->group[i].tenant == tenant)
			return true;
	return false;
}

/* LC groups that may still appear: one of each tenant, and of the new one. */
static uint64_t groups_to_come(const struct gp_sched *s, uint32_t who)
{
	uint64_t n = 1;

	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];
		bool lc_group = gp_is_lc(t) && has_group(s, i);

		if (t->id && t->id == who)
			n -= lc_group;
		else
			n += gp_is_lc(t) && !lc_group;
	}
	return n;
}

int gp_sched_admit(const struct gp_sched *s, uint32_t tenant, const struct gp_class_request *spec,
		   struct gp_sched_admission *a)
{
	struct demands all = { .n = 0 };

	*a = (struct gp_sched_admission){ .reason = GP_ADMIT_OK };
	if (!asks(spec))
		return 0;
	if (!spec_possible(spec)) {
		a->reason = GP_ADMIT_SPEC;
		return -EINVAL;
	}
	for (size_t i = 0; i < s->tenants; i++) {
		const struct gp_tenant *t = &s->tenant[i];

		/* A tenant that was never admitted is no reason to refuse others. */
		if (t->id && t->id != tenant && asks(&t->spec) && spec_possible(&t->spec))
			add(s, &all, t->id, &t->spec);
	}
	add(s, &all, tenant, spec);
	return judge(s, &all, up_us(gp_min_blackout_ns(s, groups_to_come(s, tenant))), a);
}
