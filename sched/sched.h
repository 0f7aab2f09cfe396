/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched.h - the core: one pure state machine that decides everything.
 *
 * gp_sched_step() takes the time, one event, and gives decisions. It makes no
 * system call, starts no thread, reads no clock, allocates nothing: all state
 * is in struct gp_sched, whose size is fixed. Who drives it carries the
 * decisions out and reports how each went (GP_EV_OUTCOME). Not thread-safe:
 * the driver has a lock.
 *
 * What the driver owes the core: decisions are carried out in order; each
 * SET_SLICE, SUSPEND, RESUME and PREEMPT has its OUTCOME reported, success too (a
 * group gets no new decision before); HOLD, RELEASE and ARM_TIMER are believed
 * to have worked, so of these only failures matter. A step for an OUTCOME gives
 * decisions like any other. -ESRCH and -ENODEV mean that the group is gone,
 * other errors are tried again. An OUTCOME nobody waits for is ignored.
 *
 * A hold is renewed (hold_piece_ns, or its limit moved) by another HOLD of the
 * same tenant, up to 250 us before the limit of the one before: the driver makes
 * the new one, then ends the old, so that the device is not lost between.
 * A tenant that leaves while held gets a RELEASE, which may be ignored.
 */
#ifndef GP_SCHED_H
#define GP_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpreempt/class.h"

#define GP_SCHED_MAX_TENANTS 64
#define GP_SCHED_MAX_GROUPS 128
#define GP_SCHED_MAX_DECISIONS 160 /* the most that one step gives */

#define GP_SCHED_NO_TIMER 0 /* ARM_TIMER at 0: disarm */

/* Defaults that others go by as well. */
#define GP_SCHED_LC_SLICE_US 5000000u
#define GP_SCHED_BE_SLICE_US 1u
#define GP_SCHED_HOLD_LIMIT_NS 20000000u

/*
 * The core takes a class as include/gpreempt/class.h has it. A cap is kept by
 * gp_policy_credit alone; 100 is no cap. Deadlines count for LC under gp_policy_edf. A
 * deadline without a period has a period as long.
 */

/* Each event has a tenant but where this says so, and the member of gp_event that is named. */
enum gp_event_type {
	GP_EV_TENANT_JOIN,  /* spec */
	GP_EV_TENANT_LEAVE, /* gone with all its groups. With rotate, what was
				* suspended is resumed first: its process may live on */
	GP_EV_TENANT_CLASS, /* spec: from now on */
	GP_EV_GROUP_APPEAR, /* group: a compute group */
	GP_EV_GROUP_GONE,   /* group; no tenant */
	GP_EV_HINT,	    /* hint: its work comes then. -EBUSY: a guess, and the
				* tenant spoke for itself */
	GP_EV_SEGMENT_BEGIN,
	GP_EV_SEGMENT_END,
	GP_EV_HOLD, /* hold: by hand; nests */
	GP_EV_RELEASE,
	GP_EV_BUSY,	       /* busy: it has work on the device or queued */
	GP_EV_IDLE,	       /* idle: it has none (LC: its work is done) */
	GP_EV_QUEUED,	       /* queued: it waits for all that it has queued; a hint's
				* hold is not needed any more */
	GP_EV_SYNC,	       /* it is about to wait for the whole device: what
				* holds it must end now */
	GP_EV_SYNC_DONE,       /* that wait is over */
	GP_EV_SLOT,	       /* slot; no tenant. An instance that rotates has the
				* slot until it is told otherwise */
	GP_EV_TIMER,	       /* the armed time has come; no tenant */
	GP_EV_OUTCOME,	       /* outcome: of a decision; no tenant */
	GP_EV_SWITCH_MEASURED, /* measured: from hold to having the device */
	GP_EV_USAGE,	       /* usage: see below */
	GP_EV_CLOSE,	       /* this instance ends: releases, and restores every
				* group as it was found; no tenant. Then only OUTCOME,
				* TIMER, GROUP_GONE and TENANT_LEAVE are taken, until
				* gp_sched_settled() */
};

enum gp_busy {
	GP_BUSY_ANEW = 1u << 0,	  /* other work than before, which is done */
	GP_BUSY_ON = 1u << 1,	  /* it has some, as was said before, and was
					 * seen to have the device at at_ns; alone */
	GP_BUSY_SOON = 1u << 2,	  /* it has none yet: no time to rotate, and
					 * perhaps to get BE off, but nothing to
					 * cut others for; alone */
	GP_BUSY_UNSURE = 1u << 3, /* seen from outside: IDLE may come late */
};

enum gp_idle {
	GP_IDLE_UNSURE = 1, /* it had none a while ago: whether it has by
					 * now is not known */
	GP_IDLE_TELLS = 2,  /* BUSY will tell when it has some: BE whose
					 * turn it is not is off until then, and not
					 * on with idle_slice_us */
};

/**
 * struct gp_event - something that the core has to know.
 * @type: enum gp_event_type; it says which member of the union counts
 * @tenant: the caller's id, not 0
 * @spec: the class
 * @group.id: the caller's id, not 0
 * @hint.at_ns: work comes then
 * @hint.guess: nobody said so. Only then @hint.limit_ns and @hint.lead_ns count
 * @hint.limit_ns: its hold ends so long after @at_ns if no work came; 0: hint_timeout_ns
 * @hint.lead_ns: its hold starts at most so long before @at_ns; 0: no limit
 * @hold.limit_ns: the longest time
 * @busy.how: enum gp_busy bits
 * @busy.at_ns: with GP_BUSY_ON: it was seen to have the device then
 * @idle.how: enum gp_idle
 * @queued.told: the tenant says so itself, of work that may not have been seen to come
 * @slot.have: this instance has the device's short slice
 * @outcome.decision: its id
 * @outcome.error: 0 or negative errno
 * @measured.took_ns: from the hold to having the device
 * @measured.missed: it did not have the device by then
 * @usage.used_ns: it had the device so long since the last such event
 * @usage.displaced_ns: others had it so long, LC above all, while this tenant was
 *	resident; 0: not known
 * @usage.at_ns: all use until then is reported; 0: not known
 */
struct gp_event {
	uint32_t type;
	uint32_t tenant;
	union {
		struct gp_class_request spec;
		struct {
			uint32_t id;
		} group;
		struct {
			uint64_t at_ns, limit_ns, lead_ns;
			bool guess;
		} hint;
		struct {
			uint64_t limit_ns;
		} hold;
		struct {
			uint32_t how;
			uint64_t at_ns;
		} busy;
		struct {
			uint32_t how;
		} idle;
		struct {
			bool told;
		} queued;
		struct {
			bool have;
		} slot;
		struct {
			uint32_t decision;
			int32_t error;
		} outcome;
		struct {
			uint64_t took_ns;
			bool missed;
		} measured;
		struct {
			uint64_t used_ns, displaced_ns, at_ns;
		} usage;
	};
};

/*
 * GP_EV_USAGE. Without it a BE tenant is charged the time that it was resident. With it
 * the tenant gets back what others took, and is charged what both are more than it was
 * resident. So nobody pays for what LC took, nobody gets for nothing what it left unused
 * in its turn, and what it used beyond its turn (it went late) is paid for. Reports may be
 * late (33 ms on NVIDIA): up to 100 ms of residency that none has told of yet count for
 * those to come. Nothing of what BE surely had before @usage.at_ns is to come. For an LC
 * tenant it is a figure for views.
 */

enum gp_decision_type {
	GP_DO_SET_SLICE, /* group, slice_us (0: the driver's own) */
	GP_DO_SUSPEND,	 /* group */
	GP_DO_RESUME,	 /* group */
	GP_DO_HOLD,	 /* tenant, limit_ns */
	GP_DO_RELEASE,	 /* tenant */
	GP_DO_ARM_TIMER, /* at_ns; replaces the one before */
	GP_DO_PREEMPT,	 /* group: its turn on the device ends now,
					 * others that have work go first; it runs
					 * on when its turn comes. Has an OUTCOME;
					 * -EOPNOTSUPP: suspend instead from now on.
					 * Only with lc_preempt */
};

struct gp_decision {
	uint32_t type; /* enum gp_decision_type; it says which fields count */
	uint32_t id;   /* for its OUTCOME; never 0 */
	uint32_t tenant;
	uint32_t group;
	union {
		uint64_t slice_us;
		uint64_t limit_ns;
		uint64_t at_ns;
	};
};

/** Decisions in the order in which they are to be carried out. */
struct gp_decisions {
	size_t count;
	struct gp_decision d[GP_SCHED_MAX_DECISIONS];
};

enum gp_lc_preempt {
	GP_LC_CUT_NONE,	   /* not this instance's */
	GP_LC_CUT_PREEMPT, /* by GP_DO_PREEMPT */
	GP_LC_CUT_SUSPEND, /* by GP_DO_SUSPEND, until it is done */
};

/**
 * struct gp_sched_config - one device, one instance. 0 takes the default.
 * @rotate: this instance decides who among BE is resident, and suspends the
 *	others (the daemon, simulations). Without it there is one process's
 *	tenants only: slices by GP_EV_SLOT, never a suspend.
 * @slice_preempts: GP_CAP_SLICE_PREEMPTS
 * @slots: hardware queue slots (AMD kind), 0: no limit
 */
struct gp_sched_config {
	const struct gp_be_policy *be_policy; /* NULL: gp_policy_fair */
	const struct gp_lc_policy *lc_policy; /* NULL: gp_policy_level */
	uint32_t rotate;
	uint32_t slice_preempts;
	uint32_t slots;
	uint32_t be_min_pct; /* with rotate: BE gets so much of the
					 * device, whatever LC does; 0..50 */
	uint32_t lc_preempt; /* enum gp_lc_preempt: how less urgent LC is
					 * cut, with rotate where slices preempt:
					 * there all LC have long slices */
	uint32_t pad;
	uint64_t lc_slice_us;		/* GP_SCHED_LC_SLICE_US */
	uint64_t be_slice_us;		/* GP_SCHED_BE_SLICE_US */
	uint64_t quantum_ns;		/* how long a BE tenant is resident: 50 ms */
	uint64_t switch_ns;		/* first guess of one switch: 200 µs */
	uint64_t hold_limit_ns;		/* longest single hold:
					 * GP_SCHED_HOLD_LIMIT_NS, 20 ms */
	uint64_t hold_piece_ns;		/* 0: one piece; else holds are renewed in
					 * pieces of this (syncs cannot be seen) */
	uint64_t hint_timeout_ns;	/* a hint's hold ends so long after the
					 * time it named, if no work came: 500 µs */
	uint64_t auto_hold_ns;		/* 0: no; else LC work after idleness is
					 * held for, unasked, until IDLE or so long */
	uint64_t rotation_defer_max_ns; /* a rotation waits for an LC segment at
					 * most so long: 20 ms */
	uint64_t lc_switch_ns;		/* from one LC tenant to another, at most:
					 * switch_ns */
	uint64_t cut_ns;		/* until what runs can be cut, at most:
					 * 500 µs */
	uint64_t control_ns;		/* one suspend or resume, at most: 1 ms */
	uint64_t be_period_ns;		/* LC is off for BE's minimum so often, at
					 * most: 50 ms */
	uint64_t idle_slice_us;		/* with rotate where slices preempt: a BE
					 * tenant that is IDLE stays on, with this
					 * slice, so that it can be seen to get work;
					 * 0: it is off, as who waits is */
};

struct gp_sched;

/* Bytes that a struct gp_sched needs; it has no pointers into itself. */
size_t gp_sched_size(void);

/** 0; -EINVAL: a value out of range. @sched: gp_sched_size() bytes, 8-aligned. */
int gp_sched_init(struct gp_sched *sched, const struct gp_sched_config *config);

/**
 * Step. @out is overwritten; its decisions are to be carried out in order.
 * Return: 0; -EINVAL: event makes no sense (nothing changed); -ENOSPC: too
 * many tenants or groups (nothing changed); -ENOENT: unknown tenant or group;
 * -EPERM: event needs an LC tenant; -EBUSY: a guess that is not wanted. Time
 * never goes back: an older @now_ns
 * counts as the latest one seen.
 */
int gp_sched_step(struct gp_sched *sched, uint64_t now_ns, const struct gp_event *event,
		  struct gp_decisions *out);

/**
 * gp_sched_settled() - 1 when nothing that this instance did to a group that
 * left, or after GP_EV_CLOSE, is still to be undone.
 */
int gp_sched_settled(const struct gp_sched *sched);

/**
 * Change hold_piece_ns from the next hold on: whether synchronisation can be
 * seen is known only once somebody tried to watch it.
 */
void gp_sched_set_hold_piece(struct gp_sched *sched, uint64_t piece_ns);

/**
 * Change policies; NULL leaves one as it is. In force from the next step on,
 * which should follow at once (GP_EV_TIMER will do). What the old policy among
 * BE kept is forgotten: all start equal, caps with nothing saved up; whose turn
 * it is keeps it to its end. Among LC the deadlines of work that is there
 * count from when it came.
 */
void gp_sched_set_policy(struct gp_sched *sched, const struct gp_be_policy *be,
			 const struct gp_lc_policy *lc);

/**
 * gp_sched_set_share() - other quantum_ns and be_min_pct, as in the config, from
 * the next step on. Whose turn it is keeps it to its end. 0; -EINVAL.
 */
int gp_sched_set_share(struct gp_sched *sched, uint64_t quantum_ns, uint32_t be_min_pct);

/**
 * gp_sched_rotation_deferred() - does something wait only for LC to be done: a turn that is over,
 * or best-effort to come back? Who has to look whether it is looks more often then.
 */
bool gp_sched_rotation_deferred(const struct gp_sched *sched);

/**
 * gp_sched_min_due() - as far as was told, is BE owed its minimum at @now_ns? LC goes
 * off for it at the next step, so usage is to be told before.
 */
bool gp_sched_min_due(const struct gp_sched *sched, uint64_t now_ns);

/**
 * The most urgent LC tenant that has work, or holds; 0: there is none, or nobody is
 * cut for it here (lc_preempt).
 */
uint32_t gp_sched_most_urgent(const struct gp_sched *sched);

/** The tenant whose turn it is among BE; 0: nobody's. */
uint32_t gp_sched_resident(const struct gp_sched *sched);

/* What a view may show. Counters since init. */
struct gp_sched_tenant_stat {
	struct gp_class_request spec;
	uint32_t resident, suspended, in_segment, held;
	uint32_t queued; /* it said that all of its work is: not long ago */
	uint64_t hints, segments, holds, holds_late, holds_expired, syncs_cut;
	uint64_t run_ns;  /* BE: time resident */
	uint64_t used_ns; /* by GP_EV_USAGE */
	uint64_t vruntime_ns;
	uint64_t switch_ns, switch_min_ns, switch_max_ns, margin_ns;
	uint64_t lead_ns;	   /* so long before work a hold starts */
	uint64_t deadlines_missed; /* under gp_policy_edf */
	uint64_t said;		   /* hints, segments, holds by hand */
	uint32_t guessing;	   /* a guess's hold is on or to come */
	uint32_t guess_worked;	   /* work is known to have come to it */
	uint64_t held_since_ns;	   /* of the last hold, renewals and all */
};
int gp_sched_tenant_stat(const struct gp_sched *sched, uint32_t tenant,
			 struct gp_sched_tenant_stat *stat);

/* ---- why a tenant runs or waits ----------------------------------------- */

enum gp_why {
	GP_WHY_RUNS,	  /* nothing is in its way */
	GP_WHY_NO_GROUP,  /* nothing to run: no group is known */
	GP_WHY_IDLE,	  /* has no work */
	GP_WHY_TURN,	  /* @ahead others go before it; @other is
					 * resident since, at most until (0: until
					 * it is idle, or not known yet) */
	GP_WHY_PUT_OFF,	  /* its turn has come; LC tenant @other puts
					 * it off, since then, at most until */
	GP_WHY_SWITCHING, /* its turn has begun: it is being resumed,
					 * or @other (0: a place) has to go first */
	GP_WHY_CAP,	  /* its cap is used up until */
	GP_WHY_LC,	  /* LC tenant @other has the device, or goes
					 * before it: since, at most until (0: not
					 * known) */
	GP_WHY_MINIMUM,	  /* LC: best-effort has its minimum: since,
					 * at most until */
	GP_WHY_RETRY,	  /* it could not be resumed (@error); tried
					 * again at until */
};

struct gp_sched_why {
	uint32_t reason; /* enum gp_why */
	uint32_t other, ahead;
	int32_t error;
	uint64_t since_ns, until_ns;
};

/** As of the last step. 0; -ENOENT: no such tenant. */
int gp_sched_why(const struct gp_sched *sched, uint32_t tenant, struct gp_sched_why *why);

/* ---- admission --------------------------------------------------------- */

enum gp_admit_reason {
	GP_ADMIT_OK,
	GP_ADMIT_SPEC,	   /* runtime 0, over the deadline, or that
					 * over the period; or 1000 s and more */
	GP_ADMIT_LOAD,	   /* more than the device, in the long run */
	GP_ADMIT_DEADLINE, /* tenant could miss its deadline */
};

struct gp_sched_admission {
	uint32_t reason;      /* enum gp_admit_reason */
	uint32_t tenant;      /* DEADLINE: whose */
	uint64_t load_ppm;    /* of the device, all together */
	uint64_t demand_ns;   /* DEADLINE: what could have to be done .. */
	uint64_t deadline_ns; /* .. in so long */
};

/**
 * gp_sched_admit() - may @tenant, here already or not, have @spec? Says
 * whether all LC tenants with deadlines then meet them under gp_policy_edf, by
 * the bound in docs/sched.md: who is let in never misses, who is refused
 * might not have either. A spec without a deadline promises nothing and takes
 * nothing. Decides nothing by itself: the step takes any spec.
 * Return: 0; -EINVAL: GP_ADMIT_SPEC; -ENOSPC: the other reasons.
 */
int gp_sched_admit(const struct gp_sched *sched, uint32_t tenant,
		   const struct gp_class_request *spec, struct gp_sched_admission *admission);

/* ---- policies among LC tenants, one file each -------------------------- */

struct gp_lc_entity {
	uint32_t tenant;
	uint32_t level;
	uint64_t deadline_ns; /* of the work it has, or is said to get;
					 * UINT64_MAX: none */
	uint64_t length_ns;   /* of the work it has, as of that before, about;
					 * UINT64_MAX: not known */
};

struct gp_lc_policy {
	const char *name;
	/* Deadlines count: a passed one moves on, and a segment with one is
	 * held up to it where that is later than hold_limit_ns. */
	uint32_t deadlines;
	/* Lengths count, which are learned from GP_EV_USAGE. */
	uint32_t lengths;
	/* < 0: @a is more urgent than @b; 0: neither is. A total order. */
	int (*compare)(const struct gp_lc_entity *a, const struct gp_lc_entity *b);
};

extern const struct gp_lc_policy gp_policy_edf;
extern const struct gp_lc_policy gp_policy_level;
extern const struct gp_lc_policy gp_policy_sjf;

/* ---- policies among BE tenants, one file each -------------------------- */

/*
 * What a policy keeps per tenant; the core stores it, and sets what stands
 * before the policies' own.
 */
struct gp_be_entity {
	uint32_t tenant;
	uint32_t weight;
	uint32_t cap_pct;	   /* 0: none; 1..99 */
	uint32_t runnable;	   /* has work, and a group that can run */
	uint64_t waiting_since_ns; /* enters, or its turn ended */
	uint64_t left_ns;	   /* was no longer runnable then */

	uint64_t vruntime_ns; /* fair */
	int64_t credit_ns;    /* credit: what it is owed */
	int64_t budget;	      /* credit: of its cap, 1/100 ns, as of .. */
	uint64_t budget_ns;   /* .. then */
};

/* When, and of what turns are multiples. */
struct gp_be_time {
	uint64_t now_ns;
	uint64_t base_ns;	  /* gp_sched_config.quantum_ns */
	uint64_t min_vruntime_ns; /* of those runnable; never falls */
	uint64_t runnable;	  /* so many */
};

/** Fields sorted; settle and ready_ns may be NULL. */
struct gp_be_policy {
	const char *name;
	/* Of two that may run, is @a resident sooner? A strict weak order. */
	bool (*before)(const struct gp_be_entity *a, const struct gp_be_entity *b);
	/* @e was resident for @ran_ns, or used so much. */
	void (*charge)(struct gp_be_entity *e, uint64_t ran_ns, const struct gp_be_time *t);
	/* @e joins the runnable ones. */
	void (*enter)(struct gp_be_entity *e, const struct gp_be_time *t);
	/* For how long; ns. */
	uint64_t (*quantum)(const struct gp_be_entity *e, const struct gp_be_time *t);
	/* Not before then may @e have a turn; 0: any time. */
	uint64_t (*ready_ns)(const struct gp_be_entity *e, const struct gp_be_time *t);
	/* It was charged @ns too much. */
	void (*refund)(struct gp_be_entity *e, uint64_t ns);
	/* This policy begins, with @e: what was is forgotten. */
	void (*reset)(struct gp_be_entity *e, const struct gp_be_time *t);
	/* A turn is over; all @n runnable ones. */
	void (*settle)(struct gp_be_entity *const *e, size_t n, const struct gp_be_time *t);
};

extern const struct gp_be_policy gp_policy_credit;
extern const struct gp_be_policy gp_policy_fair;
extern const struct gp_be_policy gp_policy_rr;

/* ---- when a hold starts: prepreempt.c ---------------------------------- */

#define GP_PREPREEMPT_RECENT 128u

struct gp_prepreempt {
	uint64_t switch_ns;			  /* the estimate: the longer of two */
	uint64_t level_ns;			  /* slow to fall, quick to rise */
	uint32_t recent_ns[GP_PREPREEMPT_RECENT]; /* a ring; all but one are
							 * covered */
	uint64_t timer_late_ns;			  /* likewise: how late the timer wakes us .. */
	uint64_t cold_late_ns;			  /* .. and where we slept for long */
	uint64_t switch_min_ns, switch_max_ns;
	uint64_t margin_ns;
	int64_t bias_ns;       /* work comes this much after its hint says */
	uint64_t deviation_ns; /* mean distance of the work from that */
	uint32_t samples;
	uint32_t calm; /* switches since one was missed */
};
void gp_prepreempt_init(struct gp_prepreempt *p, uint64_t switch_ns);
/** When to start the hold for work at @work_ns; never before @now_ns. */
uint64_t gp_prepreempt_start(const struct gp_prepreempt *p, uint64_t now_ns, uint64_t work_ns);
/** So long before its work a hold starts. */
uint64_t gp_prepreempt_lead(const struct gp_prepreempt *p);
/** When the work of a hint for @work_ns is expected: bias counted in. */
uint64_t gp_prepreempt_expected(const struct gp_prepreempt *p, uint64_t work_ns);
/** The timer armed for a hold's start came @late_ns after it. */
void gp_prepreempt_timer(struct gp_prepreempt *p, uint64_t late_ns);
/** The same, of a timer after a long sleep. */
void gp_prepreempt_cold(struct gp_prepreempt *p, uint64_t late_ns);
/** One measured switch. */
void gp_prepreempt_switch(struct gp_prepreempt *p, uint64_t took_ns);
/** A switch that was not over when it was given up, after @waited_ns. */
void gp_prepreempt_missed(struct gp_prepreempt *p, uint64_t waited_ns);
/** Work said for @said_ns (ahead: @lead_ns) came at @came_ns. */
void gp_prepreempt_work(struct gp_prepreempt *p, uint64_t said_ns, uint64_t lead_ns,
			uint64_t came_ns);

#endif
