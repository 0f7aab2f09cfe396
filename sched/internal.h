/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - shared by the files of the core.
 *
 * A step accounts the time that passed, ends holds and windows at their limits,
 * and applies the event to the facts. Then it compares the wanted state with
 * the facts and gives the decisions that close the gap (the gp_*_reconcile).
 * Nothing is decided anywhere else. So a failed or late decision needs no path
 * of its own: the gap still exists at the next step.
 */
#ifndef GP_SCHED_INTERNAL_H
#define GP_SCHED_INTERNAL_H

#include <stdbool.h>

#include "sched/sched.h"

#define GP_NS_PER_US 1000ull
#define GP_NS_PER_MS 1000000ull
#define GP_NEVER UINT64_MAX
#define GP_NONE UINT32_MAX /* no index */

#define GP_HOLD_TRIES 3		   /* attempts to make one hold */
#define GP_SLICE_TRIES 5	   /* attempts to set one slice */
#define GP_BACKOFF_NS GP_NS_PER_MS /* doubles with each failure .. */
#define GP_BACKOFF_SHIFT_MAX 6	   /* .. to 64 ms */

#define GP_LEAVE_PAUSES 4 /* LC's latest that tell how long the next one is */

enum gp_activity {
	GP_ACT_UNKNOWN,
	GP_ACT_BUSY,
	GP_ACT_IDLE,
	GP_ACT_SOON,
	GP_ACT_PILES /* it has work, and does not need the device yet */
};

/* State of a tenant's latest hint. */
enum gp_hint_state {
	GP_HINT_NONE,
	GP_HINT_WAITING, /* its hold starts at hint_start_ns */
	GP_HINT_ON,	 /* wants the device until hint_until_ns */
	GP_HINT_LAPSED,	 /* wants nothing; late work still teaches */
};

struct gp_tenant {
	uint32_t id; /* 0: free */
	uint32_t activity;
	struct gp_class_request spec;

	/* deadline.c */
	struct gp_lc_entity lc;
	uint32_t has_work;
	uint32_t cut_met;	 /* lc_preempt.c: BE is suspended for its job */
	uint32_t unsure;	 /* GP_BUSY_UNSURE */
	uint32_t tells;		 /* GP_IDLE_TELLS */
	uint64_t soon_ns;	 /* since then GP_ACT_SOON */
	uint64_t active_ns;	 /* lc_preempt.c: it had work, or held, then */
	uint64_t active_from_ns; /* likewise, without a gap since; 0: it has none */
	uint64_t lasted_ns;	 /* likewise, its length the time before */
	uint64_t came_ns;
	uint64_t deadlines_missed;

	/* job_length.c */
	uint32_t pieces;    /* jobs done .. */
	uint64_t pieces_ns; /* .. and their time on the device */
	uint64_t length_ns; /* of one job; 0: unknown */

	/* pile.c */
	uint64_t needs_ns; /* GP_ACT_PILES until then at the latest */
	uint64_t piled_ns; /* its launches piled up last; 0: they never did */
	uint32_t piled;	   /* those of its present work did, or do */

	/* hold.c */
	uint32_t seg_depth, hand_depth, sync_depth;
	uint32_t hint, hint_worked;
	uint32_t hint_queued;  /* its work needs the device, and no hold */
	uint32_t hint_guessed; /* a prediction */
	uint32_t hint_woken;   /* wake-ups so far for its start */
	uint32_t hint_cold;    /* its start is too near for wake-ups */
	uint32_t guess_worked; /* work came to the latest prediction */
	uint32_t held;	       /* HOLD given, neither released nor failed */
	uint32_t limit_hit;    /* the reason for the hold reached its limit */
	uint32_t hold_tries, release_tries;
	uint32_t hold_id, release_id; /* decisions whose outcome matters */
	uint64_t hint_timeout_ns;
	uint64_t hint_given_ns, hint_work_ns, hint_start_ns, hint_until_ns;
	uint64_t seg_until_ns, hand_until_ns; /* 0: over, or cut */
	uint64_t keep_until_ns;		      /* likewise; GP_EV_KEEP */
	uint64_t held_since_ns;		      /* since then without a gap */
	uint64_t held_from_ns, held_until_ns; /* of the latest HOLD */
	uint64_t hold_retry_ns, release_retry_ns;

	/* be_rotation.c */
	struct gp_be_entity be; /* its account, or its party's, or unused */
	uint32_t party;
	uint32_t account;     /* index of the tenant whose be counts for it */
	uint32_t runnable;    /* has work, and a group that can run */
	uint64_t turn_end_ns; /* when its last turn ended, or it became runnable */
	uint64_t uncharged_ns;
	uint64_t charged_ns;  /* not yet reported by GP_EV_USAGE */
	uint64_t sure_ns;     /* it had the device, be_min_pct; likewise */
	uint64_t reported_ns; /* its last report, or its join, was then */
	uint64_t ahead_ns;    /* so much more was reported than passed */
	uint32_t last_group;  /* index of its group that ran last */

	/* be_minimum.c */
	uint32_t unused_windows;  /* in a row, of those in its turns */
	uint64_t window_ns;	  /* the latest of them opened then .. */
	uint64_t window_ended_ns; /* .. and ended then; 0: none yet */

	/* leave.c, of BE */
	uint64_t leave_ns[32]; /* its latest suspends took so long; .. */
	uint32_t leaves;       /* .. number of all of them */
	uint32_t slow;	       /* it is slow to leave the device */
	uint32_t probing;      /* it is suspended only to measure that */
	uint64_t leave_seen_ns;

	uint64_t said;
	uint64_t hints, segments, holds, holds_late, holds_expired, syncs_cut;
	uint64_t run_ns, used_ns;

	struct gp_prepreempt pre; /* hold.c; large, so it comes last */
};

/* Known state of a group: after a failed resume, none (see hal.h). */
enum gp_run {
	GP_RUN_ON,
	GP_RUN_OFF,
	GP_RUN_UNKNOWN
};

struct gp_group_state {
	uint32_t id;	 /* 0: free */
	uint32_t tenant; /* index; GP_NONE: it left, and is restored */
	bool copies;	 /* of a copy engine */
	bool aside;	 /* it moves memory, and has no kernels */
	uint32_t run;
	uint32_t pending; /* id of the decision under way, or 0 */
	uint32_t pending_type;
	uint32_t failures;	   /* in a row */
	uint32_t slice_failures;   /* likewise, of SET_SLICE */
	uint64_t slice_us;	   /* in force; 0: the driver's own; GP_NEVER: unknown */
	uint64_t slice_next_us;	   /* being set */
	uint64_t slice_refused_us; /* refused for good; GP_NEVER: none */
	uint64_t retry_ns;	   /* nothing before then */
	uint32_t cut_left;	   /* PREEMPTs still to be sent */
	bool make_way;		   /* likewise one, for LC that waits */
	int32_t error;		   /* of the last failure */
};

struct gp_sched {
	struct gp_sched_config config;
	uint64_t now_ns;
	uint64_t armed_ns; /* GP_SCHED_NO_TIMER: disarmed */
	uint64_t runnable; /* BE tenants that are */
	uint64_t min_vruntime_ns;
	uint64_t turn_ran_ns; /* how long the resident ran in its turn */
	uint64_t turn_ns;     /* how long its turn is */
	uint64_t turn_since_ns;
	uint64_t rotate_since_ns; /* a rotation is due since; 0: it is not */
	uint64_t min_owed;	  /* to BE, of its minimum; 1/100 ns */
	uint64_t window_since_ns; /* LC is suspended for BE since; 0: it is not */
	uint64_t be_back_ns;	  /* latest end of be_off; 0: none yet */
	uint64_t window_next_ns;  /* no other window before */
	/* leave.c: LC has been idle since, 0: it is not; its latest long pauses; the short ones */
	uint64_t pause_since_ns;
	uint64_t pause_ns[GP_LEAVE_PAUSES];
	uint32_t pauses;
	uint32_t lc_there;	/* it has a group */
	uint64_t soon_until_ns; /* work that it named is awaited until then; 0: none is */
	uint64_t short_pause_ns;
	uint64_t usage_until_ns; /* all use until then is reported */
	uint32_t cut_top;	 /* most urgent of LC with work, or GP_NONE */
	uint32_t cut_was;	 /* the value before cut_top */
	uint64_t cut_asked_ns;	 /* asked for cut_top's job since */
	uint32_t piles;		 /* pile.c: BE has a long slice */
	uint64_t way_again_ns;	 /* likewise: BE is preempted once more then; 0: it is not .. */
	uint64_t way_gap_ns;	 /* .. and after such a time again */
	uint64_t piled_ns;	 /* likewise: a tenant's launches piled up last; 0: none's did */
	uint32_t be_off;	 /* BE is suspended for LC that will likely be preempted */
	uint32_t resident;	 /* index of a group, or GP_NONE */
	uint32_t turn_of;	 /* index of a gang's tenant whose turn begins in this step .. */
	uint32_t turn_ends;	 /* .. or the resident's ends */
	uint32_t slot_ok;
	uint32_t closed;
	uint32_t overflow; /* a decision found no room in this step */
	uint32_t arm_id, arm_failed;
	uint32_t arm_fails; /* this event reports the failure */
	uint32_t last_id;
	uint32_t tenants, groups; /* places from there on were never used */
	struct gp_tenant tenant[GP_SCHED_MAX_TENANTS];
	struct gp_group_state group[GP_SCHED_MAX_GROUPS];
};

static inline uint64_t gp_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t gp_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t gp_sub_sat(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static inline uint64_t gp_add_sat(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Groups without kernels take no turns, and preempt nobody's. */
static inline bool gp_computes(const struct gp_group_state *g)
{
	return g->id && !g->copies && !g->aside;
}

static inline bool gp_is_lc(const struct gp_tenant *t)
{
	return t->id && t->spec.cls.cls == GP_CLASS_LC;
}

static inline bool gp_is_be_group(const struct gp_sched *s, const struct gp_group_state *g)
{
	return gp_computes(g) && g->tenant != GP_NONE &&
	       s->tenant[g->tenant].spec.cls.cls == GP_CLASS_BE;
}

/*
 * Where queue slots are few somebody must choose, so tenants without a class
 * take turns like best-effort ones.
 */
static inline bool gp_takes_turns(const struct gp_sched *s, const struct gp_tenant *t)
{
	return t->id && (t->spec.cls.cls == GP_CLASS_BE ||
			 (t->spec.cls.cls == GP_CLASS_NONE && s->config.slots));
}

static inline struct gp_be_entity *gp_account(struct gp_sched *s, const struct gp_tenant *t)
{
	return &s->tenant[t->account].be;
}

static inline const struct gp_be_entity *gp_account_of(const struct gp_sched *s,
						       const struct gp_tenant *t)
{
	return &s->tenant[t->account].be;
}

/*
 * The device is taken for an LC tenant by a hold in its context, or, where
 * slices do not preempt and this instance may suspend, by suspending others.
 */
static inline bool gp_holds_by_suspend(const struct gp_sched *s)
{
	return s->config.rotate && !s->config.slice_preempts;
}

/* < 0: @a is more urgent than @b. */
static inline int gp_urgency(const struct gp_sched *s, const struct gp_tenant *a,
			     const struct gp_tenant *b)
{
	return s->config.lc_policy->compare(&a->lc, &b->lc);
}

/* sched.c: room for one more decision, with its id set; NULL: none left. */
struct gp_decision *gp_emit(struct gp_sched *s, struct gp_decisions *out, uint32_t type);

/* hold.c */
void gp_hold_hint(struct gp_sched *s, struct gp_tenant *t, uint64_t at_ns);
/* The same for a prediction; gp_hold_guess_busy(): the tenant gives hints itself. */
void gp_hold_guess(struct gp_sched *s, struct gp_tenant *t, const struct gp_event *ev);
bool gp_hold_guess_busy(const struct gp_tenant *t);
bool gp_hold_guessing(const struct gp_tenant *t);
void gp_hold_segment_begin(struct gp_sched *s, struct gp_tenant *t);
void gp_hold_segment_end(struct gp_tenant *t);
void gp_hold_by_hand(struct gp_sched *s, struct gp_tenant *t, uint64_t limit_ns);
void gp_hold_by_hand_end(struct gp_tenant *t);
void gp_hold_keep(struct gp_sched *s, struct gp_tenant *t, uint64_t limit_ns);
void gp_hold_busy(struct gp_sched *s, struct gp_tenant *t);
bool gp_hold_is_queued(const struct gp_tenant *t);
void gp_hold_queued(const struct gp_sched *s, struct gp_tenant *t, bool said);
void gp_hold_idle(struct gp_tenant *t);
void gp_hold_sync(struct gp_sched *s, struct gp_tenant *t);
void gp_hold_sync_done(struct gp_tenant *t);
void gp_hold_outcome(struct gp_sched *s, struct gp_tenant *t, uint32_t id, int32_t error);
void gp_hold_forget(struct gp_tenant *t); /* wants nothing any more */
void gp_hold_expire(struct gp_sched *s);
void gp_hold_reconcile(struct gp_sched *s, struct gp_decisions *out);
uint64_t gp_hold_next_ns(const struct gp_sched *s);
/* The most urgent tenant that holds the device; NULL: none does. */
const struct gp_tenant *gp_hold_holder(const struct gp_sched *s);
/* The LC tenant that has, or will soon have, the device: no time to rotate. */
const struct gp_tenant *gp_hold_lc_active(const struct gp_sched *s);

/* deadline.c */
void gp_deadline_hint(struct gp_tenant *t, uint64_t work_ns);
void gp_deadline_begin(const struct gp_sched *s, struct gp_tenant *t);
void gp_deadline_end(struct gp_tenant *t);
void gp_deadline_expire(const struct gp_sched *s, struct gp_tenant *t);
/*
 * A new policy or spec: deadlines count again from now, and passed ones are no
 * misses.
 */
void gp_deadline_renew(const struct gp_sched *s, struct gp_tenant *t);
uint64_t gp_deadline_next_ns(const struct gp_sched *s, const struct gp_tenant *t);

/* job_length.c */
void gp_length_reconcile(struct gp_sched *s); /* lengths for the policies */
void gp_length_done(struct gp_tenant *t);     /* its work is */
void gp_length_usage(struct gp_tenant *t, uint64_t used_ns);

/* be_rotation.c */
void gp_rotate_account(struct gp_sched *s, uint64_t now_ns);
void gp_rotate_join(struct gp_sched *s, struct gp_tenant *t);
/* Charge the time up to now before @t leaves, or its weight or cap changes. */
void gp_rotate_charge(struct gp_sched *s, struct gp_tenant *t);
/*
 * @t's class is BE or not, and its party @party, from now on. Call gp_rotate_charge() before, and
 * before it leaves gp_rotate_part().
 */
void gp_rotate_set_party(struct gp_sched *s, struct gp_tenant *t, uint32_t party);
/* Its account stays with another tenant of its party, if there is one. */
void gp_rotate_part(struct gp_sched *s, struct gp_tenant *t);
/* The turn of @t's gang begins, or ends. */
void gp_rotate_turn(struct gp_sched *s, const struct gp_tenant *t, bool ends);
/* Call when a tenant has left. */
void gp_rotate_left(struct gp_sched *s);
/* Return: @t's use, as far as the core believes the report. */
uint64_t gp_rotate_usage(struct gp_sched *s, struct gp_tenant *t, const struct gp_event *ev);
void gp_rotate_set_policy(struct gp_sched *s, const struct gp_be_policy *policy);
void gp_rotate_reconcile(struct gp_sched *s);
void gp_rotate_group_gone(struct gp_sched *s, uint32_t group);
uint64_t gp_rotate_next_ns(const struct gp_sched *s);
/* Index of the tenant that has its turn; GP_NONE: none has. */
uint32_t gp_rotate_tenant(const struct gp_sched *s);

/* ---- leave.c ---- */

/* @t has been suspended in @took_ns; 0: unknown. */
void gp_leave_suspended(struct gp_sched *s, struct gp_tenant *t, uint64_t took_ns);
/* The longest of its latest suspends. */
uint64_t gp_leave_ns(const struct gp_tenant *t);
/* BE @t is slow to leave, and LC may have work before it has left. */
bool gp_leave_keeps_off(const struct gp_sched *s, const struct gp_tenant *t);
/* That may change then. */
uint64_t gp_leave_until_ns(const struct gp_sched *s, const struct gp_tenant *t);
void gp_leave_reconcile(struct gp_sched *s);
uint64_t gp_leave_next_ns(const struct gp_sched *s);
/* When @t may have a turn; 0: now. */
uint64_t gp_rotate_ready_ns(const struct gp_sched *s, const struct gp_tenant *t);
/* Number of tenants with a turn before @tenant, as things are. */
uint32_t gp_rotate_ahead(const struct gp_sched *s, uint32_t tenant);
/* When the turn ends if others wait; GP_NEVER: unknown. */
uint64_t gp_rotate_turn_end_ns(const struct gp_sched *s);

/* be_minimum.c */
void gp_min_account(struct gp_sched *s, uint64_t passed_ns);
/* BE had @more_ns more of the device than assumed. */
void gp_min_usage(struct gp_sched *s, uint64_t more_ns);
/* Does the resident's turn make progress, as far as is known? */
bool gp_min_turn_runs(const struct gp_sched *s);
/* Longest time that LC is suspended for BE, with @more_groups more LC groups. */
uint64_t gp_min_blackout_ns(const struct gp_sched *s, uint64_t more_groups);
void gp_min_reconcile(struct gp_sched *s, const struct gp_event *event);
/* Usage of BE @t is reported, by @at_ns (0: unknown) until then. */
void gp_min_used(struct gp_sched *s, struct gp_tenant *t, uint64_t used_ns, uint64_t at_ns);
/* Beyond its window the resident had the device for @ns, until it had left. */
void gp_min_left(struct gp_sched *s, uint64_t ns);
/* @t left its latest windows unused. */
bool gp_min_unused(const struct gp_tenant *t);
/* Latest end of the open window. */
uint64_t gp_min_window_end_ns(const struct gp_sched *s);
uint64_t gp_min_next_ns(const struct gp_sched *s);

/* lc_preempt.c */
/* The most urgent LC tenant with work that goes before @t; NULL: none. */
const struct gp_tenant *gp_cut_before(const struct gp_sched *s, const struct gp_tenant *t);
void gp_cut_reconcile(struct gp_sched *s);
/* Is @t the tenant for which others are preempted? */
bool gp_cut_is_top(const struct gp_sched *s, const struct gp_tenant *t);
/* @t's new work begins: groups are asked again; see GP_BUSY_ANEW. */
void gp_cut_anew(struct gp_sched *s, struct gp_tenant *t);
/* @g's turn is to be ended. */
bool gp_cut_now(const struct gp_sched *s, const struct gp_group_state *g);
/* The most urgent tenant for which others are suspended; NULL: none. */
const struct gp_tenant *gp_cut_suspender(const struct gp_sched *s);
/* @t is to be suspended for @suspender. */
bool gp_cut_off(const struct gp_sched *s, const struct gp_tenant *t,
		const struct gp_tenant *suspender);
/* BE is suspended while LC works that will likely be preempted. */
bool gp_cut_keeps_be_off(const struct gp_sched *s);
/* No such LC is left, but BE is still suspended for active LC. */
bool gp_cut_waits(const struct gp_sched *s);
/* @t was seen to have the device, at @at_ns. */
void gp_cut_seen(struct gp_sched *s, const struct gp_tenant *t, uint64_t at_ns);
/* The device does not support PREEMPT. */
void gp_cut_refused(struct gp_sched *s);
uint64_t gp_cut_next_ns(const struct gp_sched *s);

/* pile.c */
/* @t's launches pile up; false: they cannot here. */
bool gp_pile_begin(struct gp_sched *s, struct gp_tenant *t, uint64_t needs_ns);
/* LC has work that needs the device now. */
void gp_pile_needed(struct gp_sched *s);
/* Did @t's launches pile up lately? */
bool gp_pile_lately(const struct gp_sched *s, const struct gp_tenant *t);
/* Piles whose time has come need the device. */
void gp_pile_expire(struct gp_sched *s);
void gp_pile_reconcile(struct gp_sched *s);
uint64_t gp_pile_next_ns(const struct gp_sched *s);

/* group_reconcile.c: brings each group to its slice, and on or off the device. */
/* Does @g run without a turn because its tenant is idle? */
bool gp_group_idles(const struct gp_sched *s, const struct gp_group_state *g);
void gp_group_reconcile(struct gp_sched *s, struct gp_decisions *out);
void gp_group_outcome(struct gp_sched *s, struct gp_group_state *g, int32_t error,
		      uint64_t took_ns);
void gp_group_free(struct gp_sched *s, struct gp_group_state *g);
uint64_t gp_group_next_ns(const struct gp_sched *s);

#endif
