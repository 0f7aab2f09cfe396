// SPDX-License-Identifier: Apache-2.0
/*
 * sched.c - one step: check the event, apply it, reconcile, arm the timer.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sched/internal.h"

#define BE_MIN_PCT_MAX 50
#define PERIOD_MAX_NS (10000 * GP_NS_PER_MS)

size_t gp_sched_size(void)
{
	return sizeof(struct gp_sched);
}

static void or_default(uint64_t *value, uint64_t def)
{
	if (!*value)
		*value = def;
}

int gp_sched_init(struct gp_sched *s, const struct gp_sched_config *config)
{
	struct gp_sched_config c = *config;

	if (c.be_slice_us && (c.be_slice_us == c.lc_slice_us || c.be_slice_us == c.pile_slice_us))
		return -EINVAL;
	/* One slot for the LC tenants, one for the tenant that has its turn. */
	if (c.rotate && c.slots == 1)
		return -EINVAL;
	if (c.be_min_pct > BE_MIN_PCT_MAX || c.lc_preempt > GP_LC_CUT_SUSPEND ||
	    c.be_period_ns > PERIOD_MAX_NS || c.control_ns > PERIOD_MAX_NS ||
	    c.leave_limit_ns > PERIOD_MAX_NS)
		return -EINVAL;
	if (!c.be_policy)
		c.be_policy = &gp_policy_fair;
	if (!c.lc_policy)
		c.lc_policy = &gp_policy_level;
	or_default(&c.lc_slice_us, GP_SCHED_LC_SLICE_US);
	or_default(&c.be_slice_us, GP_SCHED_BE_SLICE_US);
	or_default(&c.quantum_ns, 50 * GP_NS_PER_MS);
	or_default(&c.switch_ns, 200 * GP_NS_PER_US);
	or_default(&c.hold_limit_ns, GP_SCHED_HOLD_LIMIT_NS);
	or_default(&c.hint_timeout_ns, 500 * GP_NS_PER_US);
	or_default(&c.rotation_defer_max_ns, 20 * GP_NS_PER_MS);
	or_default(&c.lc_switch_ns, c.switch_ns);
	or_default(&c.cut_ns, 500 * GP_NS_PER_US);
	or_default(&c.control_ns, GP_NS_PER_MS);
	or_default(&c.be_period_ns, 50 * GP_NS_PER_MS);

	/* Memory of places that are never used stays untouched. */
	memset(s, 0, offsetof(struct gp_sched, tenant));
	s->config = c;
	s->resident = GP_NONE;
	s->turn_of = GP_NONE;
	s->cut_top = GP_NONE;
	s->cut_was = GP_NONE;
	s->slot_ok = c.rotate;
	return 0;
}

struct gp_decision *gp_emit(struct gp_sched *s, struct gp_decisions *out, uint32_t type)
{
	struct gp_decision *d;

	/* The last place is the timer's, which requests another step. */
	if (out->count >= GP_SCHED_MAX_DECISIONS - 1 && type != GP_DO_ARM_TIMER) {
		s->overflow = 1;
		return NULL;
	}
	d = &out->d[out->count++];
	if (!++s->last_id)
		s->last_id = 1;
	*d = (struct gp_decision){ .type = type, .id = s->last_id };
	return d;
}

static struct gp_tenant *tenant_find(struct gp_sched *s, uint32_t id)
{
	for (size_t i = 0; id && i < s->tenants; i++)
		if (s->tenant[i].id == id)
			return &s->tenant[i];
	return NULL;
}

static struct gp_tenant *tenant_free_place(struct gp_sched *s)
{
	for (size_t i = 0; i < s->tenants; i++)
		if (!s->tenant[i].id)
			return &s->tenant[i];
	return s->tenants < GP_SCHED_MAX_TENANTS ? &s->tenant[s->tenants] : NULL;
}

static struct gp_tenant *tenant_new(struct gp_sched *s)
{
	struct gp_tenant *t = tenant_free_place(s);

	s->tenants = (uint32_t)gp_max_u64(s->tenants, (uint64_t)(t - s->tenant) + 1);
	return t;
}

static struct gp_group_state *group_find(struct gp_sched *s, uint32_t id)
{
	for (size_t i = 0; id && i < s->groups; i++)
		if (s->group[i].id == id)
			return &s->group[i];
	return NULL;
}

static struct gp_group_state *group_free_place(struct gp_sched *s)
{
	for (size_t i = 0; i < s->groups; i++)
		if (!s->group[i].id)
			return &s->group[i];
	return s->groups < GP_SCHED_MAX_GROUPS ? &s->group[s->groups] : NULL;
}

static struct gp_group_state *group_new(struct gp_sched *s)
{
	struct gp_group_state *g = group_free_place(s);

	s->groups = (uint32_t)gp_max_u64(s->groups, (uint64_t)(g - s->group) + 1);
	return g;
}

/* ---- check: can the event be applied? Changes nothing. -------------------- */

static int check_spec(const struct gp_class_request *spec)
{
	switch (spec->cls.cls) {
	case GP_CLASS_NONE:
		return 0;
	case GP_CLASS_LC:
		return spec->cls.value > GP_LEVEL_MAX ? -EINVAL : 0;
	case GP_CLASS_BE:
		return spec->cls.value < GP_WEIGHT_MIN || spec->cls.value > GP_WEIGHT_MAX ||
				       spec->cap_pct > GP_CAP_MAX_PCT ?
			       -EINVAL :
			       0;
	}
	return -EINVAL;
}

/* LC groups are always loaded: all slots but one, for the others' turns. */
static int check_slots(struct gp_sched *s, const struct gp_tenant *t, uint32_t more)
{
	uint32_t lc = more;

	if (!s->config.rotate || !s->config.slots)
		return 0;
	for (size_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (gp_computes(g) && g->tenant != GP_NONE &&
		    (gp_is_lc(&s->tenant[g->tenant]) || &s->tenant[g->tenant] == t))
			lc++;
	}
	return lc > s->config.slots - 1 ? -ENOSPC : 0;
}

static int check_join(struct gp_sched *s, const struct gp_event *ev)
{
	if (!ev->tenant || tenant_find(s, ev->tenant) || check_spec(&ev->spec))
		return -EINVAL;
	return tenant_free_place(s) ? 0 : -ENOSPC;
}

static int check_class(struct gp_sched *s, const struct gp_tenant *t, const struct gp_event *ev)
{
	if (check_spec(&ev->spec))
		return -EINVAL;
	return ev->spec.cls.cls == GP_CLASS_LC ? check_slots(s, t, 0) : 0;
}

static int check_appear(struct gp_sched *s, const struct gp_tenant *t, const struct gp_event *ev)
{
	const struct gp_group_state *g = group_find(s, ev->group.id);

	if (!ev->group.id || (g && g->tenant != GP_NONE))
		return -EINVAL;
	if (!g && !group_free_place(s))
		return -ENOSPC;
	return gp_is_lc(t) ? check_slots(s, t, 1) : 0;
}

static int check_lc(const struct gp_tenant *t, const struct gp_event *ev)
{
	if (!gp_is_lc(t))
		return -EPERM;
	switch (ev->type) {
	case GP_EV_SEGMENT_BEGIN:
		return t->seg_depth == UINT32_MAX ? -EINVAL : 0;
	case GP_EV_SEGMENT_END:
		return t->seg_depth ? 0 : -EINVAL;
	case GP_EV_HOLD:
		return t->hand_depth == UINT32_MAX ? -EINVAL : 0;
	case GP_EV_RELEASE:
		return t->hand_depth ? 0 : -EINVAL;
	}
	return 0;
}

static int check_tenant_event(struct gp_sched *s, const struct gp_event *ev)
{
	const struct gp_tenant *t = tenant_find(s, ev->tenant);

	if (!t)
		return -ENOENT;
	switch (ev->type) {
	case GP_EV_TENANT_CLASS:
		return check_class(s, t, ev);
	case GP_EV_GROUP_APPEAR:
		return check_appear(s, t, ev);
	case GP_EV_HINT:
		if (ev->hint.guess && gp_is_lc(t) && gp_hold_guess_busy(t))
			return -EBUSY;
		return check_lc(t, ev);
	case GP_EV_SEGMENT_BEGIN:
	case GP_EV_SEGMENT_END:
	case GP_EV_HOLD:
	case GP_EV_RELEASE:
	case GP_EV_KEEP:
		return check_lc(t, ev);
	case GP_EV_SYNC:
		return t->sync_depth == UINT32_MAX ? -EINVAL : 0;
	case GP_EV_TURN:
		return s->config.rotate && gp_account(s, t)->gang ? 0 : -EINVAL;
	}
	return 0;
}

static bool when_closed(uint32_t type)
{
	return type == GP_EV_OUTCOME || type == GP_EV_TIMER || type == GP_EV_GROUP_GONE ||
	       type == GP_EV_TENANT_LEAVE || type == GP_EV_CLOSE;
}

static int check(struct gp_sched *s, const struct gp_event *ev)
{
	if (s->closed && !when_closed(ev->type))
		return -EINVAL;
	switch (ev->type) {
	case GP_EV_TENANT_JOIN:
		return check_join(s, ev);
	case GP_EV_GROUP_GONE:
		return group_find(s, ev->group.id) ? 0 : -ENOENT;
	case GP_EV_SLOT:
	case GP_EV_TIMER:
	case GP_EV_OUTCOME:
	case GP_EV_CLOSE:
		return 0;
	}
	return ev->type > GP_EV_TURN ? -EINVAL : check_tenant_event(s, ev);
}

/* ---- apply: facts only -------------------------------------------------- */

static void apply_spec(struct gp_sched *s, struct gp_tenant *t, const struct gp_event *ev)
{
	const struct gp_class_request *spec = &ev->spec;
	bool be = spec->cls.cls == GP_CLASS_BE;

	if (spec->cls.cls != GP_CLASS_LC)
		gp_hold_forget(t);
	t->spec = *spec;
	gp_rotate_set_party(s, t, ev->party);
	gp_account(s, t)->weight = be ? spec->cls.value : GP_WEIGHT_DEFAULT;
	gp_account(s, t)->cap_pct = be ? spec->cap_pct % 100 : 0;
	gp_account(s, t)->gang = be && ev->gang;
	t->lc.level = gp_is_lc(t) ? spec->cls.value : 0;
	gp_deadline_renew(s, t);
}

static void apply_join(struct gp_sched *s, const struct gp_event *ev)
{
	struct gp_tenant *t = tenant_new(s);

	*t = (struct gp_tenant){ .id = ev->tenant,
				 .be.tenant = ev->tenant,
				 .lc.tenant = ev->tenant,
				 .lc.deadline_ns = GP_NEVER,
				 .lc.length_ns = GP_NEVER,
				 .reported_ns = s->now_ns };
	gp_prepreempt_init(&t->pre, s->config.switch_ns);
	gp_rotate_join(s, t);
	apply_spec(s, t, ev);
}

/*
 * What was done to the groups is undone by reconciling them without a tenant.
 * Without rotation nothing was suspended, and a group that is gone with its
 * tenant needs no slice.
 */
static void leave_groups(struct gp_sched *s, struct gp_tenant *t, bool restore)
{
	for (uint32_t i = 0; i < s->groups; i++) {
		struct gp_group_state *g = &s->group[i];

		if (!g->id || g->tenant != t - s->tenant)
			continue;
		if (!restore) {
			gp_group_free(s, g);
			continue;
		}
		gp_rotate_group_gone(s, i);
		g->tenant = GP_NONE;
		g->slice_refused_us = GP_NEVER;
		g->failures = 0;
		g->slice_failures = 0;
		g->retry_ns = 0;
	}
}

static void tenant_leave(struct gp_sched *s, struct gp_decisions *out, struct gp_tenant *t,
			 bool restore)
{
	if (t->held && !gp_holds_by_suspend(s)) {
		struct gp_decision *d = gp_emit(s, out, GP_DO_RELEASE);

		if (d)
			d->tenant = t->id;
	}
	leave_groups(s, t, restore);
	gp_rotate_part(s, t);
	*t = (struct gp_tenant){ 0 };
}

static void apply_close(struct gp_sched *s, struct gp_decisions *out)
{
	for (size_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].id)
			tenant_leave(s, out, &s->tenant[i], true);
	s->closed = 1;
}

static void apply_appear(struct gp_sched *s, const struct gp_tenant *t, const struct gp_event *ev)
{
	struct gp_group_state *g = group_find(s, ev->group.id);

	if (!g) {
		g = group_new(s);
		*g = (struct gp_group_state){
			.id = ev->group.id,
			.copies = ev->group.copies,
			.aside = ev->group.aside,
		};
		if (ev->group.slice_unknown)
			g->slice_us = GP_NEVER;
	}
	g->tenant = (uint32_t)(t - s->tenant);
	g->slice_refused_us = GP_NEVER;
	g->slice_failures = 0;
}

static void apply_outcome(struct gp_sched *s, const struct gp_event *ev)
{
	uint32_t id = ev->outcome.decision;

	if (!id)
		return;
	if (id == s->arm_id) {
		s->arm_id = 0;
		s->arm_failed = ev->outcome.error != 0;
		s->arm_fails = s->arm_failed;
		return;
	}
	for (size_t i = 0; i < s->groups; i++) {
		if (s->group[i].id && s->group[i].pending == id) {
			gp_group_outcome(s, &s->group[i], ev->outcome.error, ev->outcome.took_ns);
			return;
		}
	}
	for (size_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].id)
			gp_hold_outcome(s, &s->tenant[i], id, ev->outcome.error);
}

static void apply_idle(struct gp_tenant *t, uint32_t how)
{
	gp_hold_idle(t);
	t->activity = how == GP_IDLE_UNSURE ? GP_ACT_UNKNOWN : GP_ACT_IDLE;
	t->tells = how == GP_IDLE_TELLS;
	gp_deadline_end(t);
}

static void apply_busy(struct gp_sched *s, struct gp_tenant *t, uint32_t how, uint64_t at_ns)
{
	if (how & GP_BUSY_ON) {
		gp_cut_seen(s, t, at_ns);
		return;
	}
	if (how & GP_BUSY_SOON) {
		if (t->activity != GP_ACT_SOON)
			t->soon_ns = s->now_ns;
		apply_idle(t, 0);
		t->activity = GP_ACT_SOON;
		t->unsure = 0;
		return;
	}
	if ((how & GP_BUSY_PILES) && gp_pile_begin(s, t, at_ns))
		return;
	/* No decision is made in between, so no other tenant gets a turn. */
	if (how & GP_BUSY_ANEW) {
		apply_idle(t, 0);
		gp_cut_anew(s, t);
	}
	if (t->activity != GP_ACT_PILES && t->activity != GP_ACT_BUSY)
		t->piled = 0;
	if (gp_is_lc(t))
		gp_pile_needed(s);
	gp_deadline_begin(s, t);
	gp_hold_busy(s, t);
	t->activity = GP_ACT_BUSY;
	t->unsure = !!(how & GP_BUSY_UNSURE);
}

static void apply_tenant(struct gp_sched *s, const struct gp_event *ev, struct gp_decisions *out,
			 struct gp_tenant *t)
{
	switch (ev->type) {
	case GP_EV_TENANT_LEAVE:
		gp_rotate_charge(s, t);
		tenant_leave(s, out, t, s->config.rotate);
		gp_rotate_left(s);
		break;
	case GP_EV_TENANT_CLASS:
		gp_rotate_charge(s, t);
		apply_spec(s, t, ev);
		break;
	case GP_EV_GROUP_APPEAR:
		apply_appear(s, t, ev);
		break;
	case GP_EV_HINT:
		if (ev->hint.guess)
			gp_hold_guess(s, t, ev);
		else
			gp_hold_hint(s, t, ev->hint.at_ns);
		break;
	case GP_EV_SEGMENT_BEGIN:
		gp_deadline_begin(s, t);
		gp_hold_segment_begin(s, t);
		break;
	case GP_EV_SEGMENT_END:
		gp_hold_segment_end(t);
		gp_deadline_end(t);
		break;
	case GP_EV_HOLD:
		gp_deadline_begin(s, t);
		gp_hold_by_hand(s, t, ev->hold.limit_ns);
		break;
	case GP_EV_RELEASE:
		gp_hold_by_hand_end(t);
		gp_deadline_end(t);
		break;
	case GP_EV_KEEP:
		gp_hold_keep(s, t, ev->hold.limit_ns);
		break;
	case GP_EV_BUSY:
		apply_busy(s, t, ev->busy.how, ev->busy.at_ns);
		break;
	case GP_EV_IDLE:
		apply_idle(t, ev->idle.how);
		break;
	case GP_EV_QUEUED:
		gp_hold_queued(s, t, ev->queued.reported);
		break;
	case GP_EV_SYNC:
		gp_hold_sync(s, t);
		break;
	case GP_EV_SYNC_DONE:
		gp_hold_sync_done(t);
		break;
	case GP_EV_SWITCH_MEASURED:
		if (ev->measured.missed)
			gp_prepreempt_missed(&t->pre, ev->measured.took_ns);
		else
			gp_prepreempt_switch(&t->pre, ev->measured.took_ns);
		break;
	case GP_EV_TURN:
		gp_rotate_turn(s, t, ev->turn.ends);
		break;
	case GP_EV_USAGE:
		gp_length_usage(t, gp_rotate_usage(s, t, ev));
		break;
	}
}

static void apply(struct gp_sched *s, const struct gp_event *ev, struct gp_decisions *out)
{
	struct gp_tenant *t = tenant_find(s, ev->tenant);

	switch (ev->type) {
	case GP_EV_TENANT_JOIN:
		apply_join(s, ev);
		break;
	case GP_EV_GROUP_GONE:
		gp_group_free(s, group_find(s, ev->group.id));
		break;
	case GP_EV_SLOT:
		s->slot_ok = ev->slot.have;
		break;
	case GP_EV_TIMER:
		s->armed_ns = GP_SCHED_NO_TIMER;
		break;
	case GP_EV_OUTCOME:
		apply_outcome(s, ev);
		break;
	case GP_EV_CLOSE:
		apply_close(s, out);
		break;
	default:
		apply_tenant(s, ev, out, t);
	}
}

/* ---- the one timer ------------------------------------------------------ */

static uint64_t next_ns(const struct gp_sched *s)
{
	uint64_t next = gp_hold_next_ns(s);

	next = gp_min_u64(next, gp_rotate_next_ns(s));
	next = gp_min_u64(next, gp_min_next_ns(s));
	next = gp_min_u64(next, gp_cut_next_ns(s));
	next = gp_min_u64(next, gp_leave_next_ns(s));
	next = gp_min_u64(next, gp_pile_next_ns(s));
	next = gp_min_u64(next, gp_group_next_ns(s));
	if (s->overflow)
		next = s->now_ns;
	if (next == GP_NEVER)
		return GP_SCHED_NO_TIMER;
	return gp_max_u64(next, gp_add_sat(s->now_ns, 1));
}

static void arm(struct gp_sched *s, struct gp_decisions *out)
{
	uint64_t at = next_ns(s);
	struct gp_decision *d;

	/* A new try right after the report of a failure could fail again, without end. */
	if (s->arm_fails)
		return;
	if (at == s->armed_ns && !s->arm_failed)
		return;
	s->arm_failed = 0;
	d = gp_emit(s, out, GP_DO_ARM_TIMER);
	d->at_ns = at;
	s->arm_id = d->id;
	s->armed_ns = at;
}

int gp_sched_step(struct gp_sched *s, uint64_t now_ns, const struct gp_event *event,
		  struct gp_decisions *out)
{
	int rc = check(s, event);

	out->count = 0;
	if (rc)
		return rc;
	gp_rotate_account(s, gp_max_u64(now_ns, s->now_ns));
	gp_hold_expire(s);
	gp_pile_expire(s);
	s->overflow = 0;
	s->arm_fails = 0;
	apply(s, event, out);
	gp_length_reconcile(s);
	gp_hold_reconcile(s, out);
	gp_leave_reconcile(s);
	gp_rotate_reconcile(s);
	gp_min_reconcile(s, event);
	gp_cut_reconcile(s);
	gp_pile_reconcile(s);
	gp_group_reconcile(s, out);
	arm(s, out);
	return 0;
}

int gp_sched_settled(const struct gp_sched *s)
{
	for (size_t i = 0; i < s->groups; i++)
		if (s->group[i].id && s->group[i].tenant == GP_NONE)
			return 0;
	return 1;
}

void gp_sched_set_hold_piece(struct gp_sched *s, uint64_t piece_ns)
{
	s->config.hold_piece_ns = piece_ns;
}

int gp_sched_set_share(struct gp_sched *s, uint64_t quantum_ns, uint32_t be_min_pct)
{
	if (!quantum_ns || be_min_pct > BE_MIN_PCT_MAX)
		return -EINVAL;
	s->config.quantum_ns = quantum_ns;
	s->config.be_min_pct = be_min_pct;
	return 0;
}

void gp_sched_set_leave_limit(struct gp_sched *s, uint64_t limit_ns)
{
	s->config.leave_limit_ns = gp_min_u64(limit_ns, PERIOD_MAX_NS);
	if (limit_ns)
		return;
	for (size_t i = 0; i < s->tenants; i++) {
		s->tenant[i].slow = 0;
		s->tenant[i].probing = 0;
	}
}

void gp_sched_set_policy(struct gp_sched *s, const struct gp_be_policy *be,
			 const struct gp_lc_policy *lc)
{
	if (lc)
		s->config.lc_policy = lc;
	for (size_t i = 0; i < s->tenants; i++)
		if (s->tenant[i].id && lc)
			gp_deadline_renew(s, &s->tenant[i]);
	if (be)
		gp_rotate_set_policy(s, be);
}

static void stat_groups(const struct gp_sched *s, uint32_t tenant,
			struct gp_sched_tenant_stat *stat)
{
	for (uint32_t i = 0; i < s->groups; i++) {
		const struct gp_group_state *g = &s->group[i];

		if (gp_computes(g) && g->tenant == tenant)
			stat->resident |= i == s->resident;
	}
}

int gp_sched_tenant_stat(const struct gp_sched *s, uint32_t tenant,
			 struct gp_sched_tenant_stat *stat)
{
	const struct gp_tenant *t = tenant_find((struct gp_sched *)s, tenant);

	if (!t)
		return -ENOENT;
	*stat = (struct gp_sched_tenant_stat){
		.spec = t->spec,
		.in_segment = t->seg_depth != 0,
		.held = t->held,
		.queued = gp_hold_is_queued(t),
		.hints = t->hints,
		.segments = t->segments,
		.holds = t->holds,
		.holds_late = t->holds_late,
		.holds_expired = t->holds_expired,
		.syncs_cut = t->syncs_cut,
		.run_ns = t->run_ns,
		.used_ns = t->used_ns,
		.vruntime_ns = gp_account_of(s, t)->vruntime_ns,
		.switch_ns = t->pre.switch_ns,
		.switch_min_ns = t->pre.switch_min_ns,
		.switch_max_ns = t->pre.switch_max_ns,
		.margin_ns = t->pre.margin_ns,
		.lead_ns = gp_prepreempt_lead(&t->pre),
		.said = t->said,
		.deadlines_missed = t->deadlines_missed,
		.guessing = gp_hold_guessing(t),
		.guess_worked = t->guess_worked,
		.held_since_ns = t->held_since_ns,
		.piles = gp_pile_lately(s, t),
	};
	stat_groups(s, (uint32_t)(t - s->tenant), stat);
	return 0;
}
