// SPDX-License-Identifier: Apache-2.0
/*
 * leave.c - BE tenants that are slow to leave the device (leave_limit_ns).
 *
 * The hardware preempts a kernel in some 0.2 ms, unless page faults are
 * outstanding: then the device serves these first (H200: p90 13 ms, at most
 * 21 ms). Slices and suspends take as long, so such a tenant has to be off
 * before LC's work arrives.
 *
 * Each suspend measures its tenant. If nothing else suspends a tenant that has
 * its turn, a probe does so now and then, while LC is idle. A slow tenant has
 * its turns only while LC is likely to stay idle for long enough: the latest
 * pauses of LC tell. It has the BE minimum in any case.
 */
#include "sched/internal.h"

/* Faults are outstanding only now and then, so many suspends count. */
#define MEASURED 32 /* latest suspends of a tenant */
#define SLOW_FROM 3 /* so many of these over the limit: slow, until none is */
/* Probes cost 1 ms of BE: until all are measured or if one was slow, and else. */
#define PROBE_AGAIN_NS (100 * GP_NS_PER_MS)
#define PROBE_NS (1000 * GP_NS_PER_MS)

_Static_assert(MEASURED == sizeof(((struct gp_tenant *)0)->leave_ns) / sizeof(uint64_t), "ring");

/* Elsewhere a suspend is how LC gets the device at all. */
static bool follows(const struct gp_sched *s)
{
	return s->config.leave_limit_ns && s->config.rotate && s->config.slice_preempts;
}

static uint64_t longest_ns(const uint64_t *ns, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = gp_max_u64(most, ns[i]);
	return most;
}

static uint64_t shortest_ns(const uint64_t *ns, size_t n)
{
	uint64_t least = GP_NEVER;

	for (size_t i = 0; i < n; i++)
		least = gp_min_u64(least, ns[i]);
	return least;
}

uint64_t gp_leave_ns(const struct gp_tenant *t)
{
	return longest_ns(t->leave_ns, MEASURED);
}

static uint32_t over_limit(const struct gp_sched *s, const struct gp_tenant *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < MEASURED; i++)
		n += t->leave_ns[i] > s->config.leave_limit_ns;
	return n;
}

void gp_leave_suspended(struct gp_sched *s, struct gp_tenant *t, uint64_t took_ns)
{
	uint32_t over;

	t->probing = 0;
	t->leave_seen_ns = s->now_ns;
	if (!follows(s) || !took_ns)
		return;
	t->leave_ns[t->leaves++ % MEASURED] = took_ns;
	over = over_limit(s, t);
	t->slow = t->slow ? over != 0 : over >= SLOW_FROM;
	if (t->slow)
		gp_min_left(s, took_ns);
}

uint64_t gp_sched_leave_ns(const struct gp_sched *s)
{
	uint64_t most = 0;

	for (size_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].id && s->tenant[i].slow)
			most = gp_max_u64(most,
					  gp_leave_ns(&s->tenant[i]) + s->config.leave_limit_ns);
	return most;
}

/* ---- LC's pauses ----------------------------------------------------------------- */

/* A segment that lasts longer than its limit is none. */
static bool is_active(const struct gp_tenant *t)
{
	return t->held || t->seg_until_ns || t->hint == GP_HINT_ON || t->activity == GP_ACT_BUSY ||
	       t->activity == GP_ACT_PILES;
}

/* LC without a group here has nothing to wait for. */
static const struct gp_tenant *lc_of(const struct gp_sched *s, const struct gp_group_state *g)
{
	const struct gp_tenant *t = g->tenant == GP_NONE ? NULL : &s->tenant[g->tenant];

	return gp_computes(g) && t && gp_is_lc(t) ? t : NULL;
}

struct lc {
	bool there, active;
	uint64_t soon_until_ns; /* work that it named is awaited until then; 0: none is */
};

static struct lc look_at_lc(const struct gp_sched *s)
{
	/* The report of its work comes so early, and LC may be as late as a limit. */
	const uint64_t awaited_ns = gp_sched_leave_ns(s) + s->config.leave_limit_ns;
	struct lc lc = { 0 };

	for (size_t i = 0; i < s->groups; i++) {
		const struct gp_tenant *t = lc_of(s, &s->group[i]);

		if (!t)
			continue;
		lc.there = true;
		lc.active |= is_active(t);
		if (t->activity == GP_ACT_SOON)
			lc.soon_until_ns =
				gp_max_u64(lc.soon_until_ns, gp_add_sat(t->soon_ns, awaited_ns));
	}
	return lc;
}

/*
 * Short pauses are those inside a request: they only tell how long to wait until LC surely
 * pauses. Long ones tell how long it will.
 */
static void end_pause(struct gp_sched *s, uint64_t ns)
{
	const uint64_t long_ns = 4 * s->config.leave_limit_ns;

	if (ns < long_ns)
		s->short_pause_ns = gp_max_u64(ns, s->short_pause_ns - s->short_pause_ns / 8);
	else
		s->pause_ns[s->pauses++ % GP_LEAVE_PAUSES] = ns;
}

static void follow_lc(struct gp_sched *s)
{
	const struct lc lc = look_at_lc(s);
	const bool active = lc.active;

	s->lc_there = lc.there;
	s->soon_until_ns = lc.soon_until_ns;
	if (active && s->pause_since_ns)
		end_pause(s, s->now_ns - s->pause_since_ns);
	if (active)
		s->pause_since_ns = 0;
	else if (!s->pause_since_ns)
		s->pause_since_ns = gp_max_u64(s->now_ns, 1);
}

/* ---- whether a slow tenant may run --------------------------------------------------- */

/* When a tenant may run, from a pause's begin on: from begin to end, and from again on. */
struct stretch {
	uint64_t begin_ns, end_ns, again_ns;
};

static struct stretch stretch_of(const struct gp_sched *s, const struct gp_tenant *t)
{
	const uint64_t leave_ns = gp_leave_ns(t);
	const uint64_t off_ns = leave_ns + s->config.leave_limit_ns;
	struct stretch r = { .begin_ns = gp_min_u64(2 * s->short_pause_ns, leave_ns) };
	uint64_t least;

	/* How long LC pauses is not known: once it paused for as long as a leave takes, it may. */
	if (s->pauses < GP_LEAVE_PAUSES) {
		r.again_ns = gp_max_u64(r.begin_ns, leave_ns);
		return r;
	}
	least = shortest_ns(s->pause_ns, GP_LEAVE_PAUSES);
	r.again_ns = longest_ns(s->pause_ns, GP_LEAVE_PAUSES);
	r.again_ns = gp_max_u64(gp_add_sat(r.again_ns, r.again_ns / 4 + off_ns), r.begin_ns);
	/* A stretch shorter than the time to leave is not worth the wait. */
	if (least >= gp_add_sat(r.begin_ns, off_ns + leave_ns))
		r.end_ns = least - off_ns;
	return r;
}

bool gp_leave_keeps_off(const struct gp_sched *s, const struct gp_tenant *t)
{
	struct stretch may;
	uint64_t paused_ns;

	/* While launches pile up LC waits no longer than its requests show (request_kind.h). */
	if (!t->slow || s->window_since_ns || s->piles)
		return false;
	if (!s->pause_since_ns || s->soon_until_ns > s->now_ns)
		return true;
	paused_ns = s->now_ns - s->pause_since_ns;
	may = stretch_of(s, t);
	return paused_ns < may.again_ns && (paused_ns < may.begin_ns || paused_ns >= may.end_ns);
}

uint64_t gp_leave_until_ns(const struct gp_sched *s, const struct gp_tenant *t)
{
	struct stretch may;
	uint64_t paused_ns, next;

	if (!t->slow || !s->pause_since_ns)
		return GP_NEVER;
	if (s->soon_until_ns > s->now_ns)
		return s->soon_until_ns;
	paused_ns = s->now_ns - s->pause_since_ns;
	may = stretch_of(s, t);
	next = paused_ns < may.begin_ns && may.begin_ns < may.end_ns ? may.begin_ns :
	       paused_ns < may.end_ns				     ? may.end_ns :
								       may.again_ns;
	return next > paused_ns ? gp_add_sat(s->pause_since_ns, next) : GP_NEVER;
}

/* ---- probes ------------------------------------------------------------------------- */

static struct gp_tenant *resident(struct gp_sched *s)
{
	const uint32_t tenant = gp_rotate_tenant(s);

	return tenant == GP_NONE ? NULL : &s->tenant[tenant];
}

static uint64_t probe_at_ns(const struct gp_sched *s, const struct gp_tenant *t)
{
	const bool few = t->leaves < MEASURED || over_limit(s, t);

	return gp_add_sat(gp_max_u64(t->leave_seen_ns, s->turn_since_ns),
			  few ? PROBE_AGAIN_NS : PROBE_NS);
}

static bool may_probe(const struct gp_sched *s, const struct gp_tenant *t)
{
	return t && !s->piles && !t->slow && !t->probing &&
	       s->group[s->resident].run == GP_RUN_ON && t->activity != GP_ACT_IDLE &&
	       s->pause_since_ns && !s->window_since_ns && s->lc_there;
}

void gp_leave_reconcile(struct gp_sched *s)
{
	struct gp_tenant *t = resident(s);

	if (!follows(s))
		return;
	follow_lc(s);
	/* Something else suspended its group, or it is gone. */
	if (t && t->probing && s->group[s->resident].run == GP_RUN_OFF)
		t->probing = 0;
	if (may_probe(s, t) && probe_at_ns(s, t) <= s->now_ns)
		t->probing = 1;
}

uint64_t gp_leave_next_ns(const struct gp_sched *s)
{
	const struct gp_tenant *t = resident((struct gp_sched *)s);
	uint64_t next = GP_NEVER;

	if (!follows(s))
		return next;
	/* Also of those that wait for a turn, which they may have then. */
	for (size_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].id && s->tenant[i].runnable)
			next = gp_min_u64(next, gp_leave_until_ns(s, &s->tenant[i]));
	if (may_probe(s, t))
		next = gp_min_u64(next, probe_at_ns(s, t));
	return next;
}
