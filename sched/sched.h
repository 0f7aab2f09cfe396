/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched.h - the core: one pure state machine that makes every scheduling decision.
 *
 * gp_sched_step() takes the time and one event, and returns decisions. It makes no system
 * call, starts no thread, reads no clock and allocates nothing. All state is in struct
 * gp_sched, whose size is fixed. The host executes the decisions and reports each outcome
 * (GP_EV_OUTCOME). Not thread-safe: the host serialises the calls.
 *
 * The host's side of the contract:
 *
 * - It executes decisions in order.
 * - It reports the OUTCOME of each SET_SLICE, SUSPEND, RESUME and PREEMPT, success too. The
 *   group gets no new decision before that.
 * - HOLD, RELEASE and ARM_TIMER count as done, so the host reports only their failures. The
 *   core arms a failed timer again with the next event. If none comes, the host tries again.
 * - -ESRCH and -ENODEV mean that the group is gone. The core retries after other errors.
 * - A step for an OUTCOME returns decisions like any other. The core ignores an OUTCOME of an
 *   unknown decision.
 *
 * Another HOLD of the same tenant renews its hold (hold_piece_ns, or a later limit), up to 250
 * us before the earlier limit. The host makes the new hold before it ends the old one, so that
 * the device is not lost in between. A tenant that leaves while it holds gets a RELEASE, which
 * the host may ignore.
 */
#ifndef GP_SCHED_H
#define GP_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpreempt/class.h"

#define GP_SCHED_MAX_TENANTS 512
#define GP_SCHED_MAX_GROUPS 2048   /* a context of libcuda has four */
#define GP_SCHED_MAX_DECISIONS 160 /* the most that one step gives */

#define GP_SCHED_NO_TIMER 0 /* ARM_TIMER at 0: disarm */

/* Defaults that the rest of the project uses too. */
#define GP_SCHED_LC_SLICE_US 5000000u
#define GP_SCHED_BE_SLICE_US 1u
/* Of BE's copy groups; any number of them may have it (docs/nvidia.md, "Copies"). */
#define GP_SCHED_COPY_SLICE_US 5u
/* Of LC's that move its memory: other LC's copies wait for one, and each end of one costs 12 us. */
#define GP_SCHED_MOVER_SLICE_US 50u
#define GP_SCHED_HOLD_LIMIT_NS 20000000u
#define GP_SCHED_PILE_SLICE_US 20000u

/*
 * The core takes classes as include/gpreempt/class.h defines them. Only gp_policy_credit
 * enforces caps; 100 is no cap. Deadlines count for LC under gp_policy_edf. A deadline without
 * a period has a period of the same length.
 */

/*
 * An event has a tenant unless its comment excludes that, and uses the named member of
 * gp_event.
 */
enum gp_event_type {
	GP_EV_TENANT_JOIN, /* spec, party */
	/*
	 * gone with all its groups. With rotate, suspended groups are resumed first: the
	 * process may live on
	 */
	GP_EV_TENANT_LEAVE,
	GP_EV_TENANT_CLASS, /* spec, party: from now on */
	GP_EV_GROUP_APPEAR, /* group: of the compute engine, or of a copy engine */
	GP_EV_GROUP_GONE,   /* group; no tenant */
	/* hint: work will come. -EBUSY: a prediction, but the tenant announces work itself */
	GP_EV_HINT,
	GP_EV_SEGMENT_BEGIN,
	GP_EV_SEGMENT_END,
	GP_EV_HOLD, /* hold: by hand; nests */
	GP_EV_RELEASE,
	GP_EV_BUSY, /* busy: it has work on the device or queued */
	GP_EV_IDLE, /* idle: it has none (LC: its work is done) */
	/* queued: it waits for all its queued work, which needs no hint's hold any more */
	GP_EV_QUEUED,
	GP_EV_SYNC,	 /* it is about to wait for the whole device: holds must end now */
	GP_EV_SYNC_DONE, /* that wait is over */
	/* slot; no tenant. An instance that rotates has the slot until this event */
	GP_EV_SLOT,
	GP_EV_TIMER,	       /* the armed time has come; no tenant */
	GP_EV_OUTCOME,	       /* outcome: of a decision; no tenant */
	GP_EV_SWITCH_MEASURED, /* measured: from hold to having the device */
	GP_EV_USAGE,	       /* usage: see below */
	/*
	 * this instance ends: it releases holds and restores every group; no tenant. Only
	 * OUTCOME, TIMER, GROUP_GONE and TENANT_LEAVE are valid after it, until
	 * gp_sched_settled()
	 */
	GP_EV_CLOSE,
	GP_EV_KEEP, /* hold: between the waits of a request, or no longer; replaces the last */
	GP_EV_TURN, /* turn: of a gang, with rotate only. -EINVAL: it is none */
};

enum gp_busy {
	GP_BUSY_ANEW = 1u << 0, /* other work than before, which is done */
	/* as reported before, and it was seen on the device at at_ns; alone */
	GP_BUSY_ON = 1u << 1,
	/* it has none yet: it defers rotation and may suspend BE, but preempts no LC; alone */
	GP_BUSY_SOON = 1u << 2,
	GP_BUSY_UNSURE = 1u << 3, /* observed from outside: IDLE may come late */
	/*
	 * LC: its launches pile up. It needs the device at at_ns, or from the next BUSY without
	 * this bit on; alone. Where piles are not possible, it needs it at once
	 */
	GP_BUSY_PILES = 1u << 4,
};

enum gp_idle {
	GP_IDLE_UNSURE = 1, /* it had none a while ago and may have some now */
	/*
	 * BUSY will report new work. BE without a turn is suspended until then, and gets no
	 * idle_slice_us
	 */
	GP_IDLE_TELLS = 2,
};

/**
 * struct gp_event - An input of the core.
 * @type: enum gp_event_type; selects the member of the union
 * @tenant: the caller's id, not 0
 * @party: BE tenants of one party share one account of the policy: weight, cap and turn in a
 *	round are those of one tenant, and they use them alternately. The latest @spec counts for
 *	all of it. 0: none
 * @gang: the host begins and ends the turns of this BE tenant, and of its party (GP_EV_TURN)
 * @spec: the class
 * @group.id: the caller's id, not 0
 * @group.slice_unknown: GROUP_APPEAR: it may have any slice; else it has the driver's
 * @group.copies: GROUP_APPEAR: it is of a copy engine. It gets a slice by its tenant's class,
 *	and counts for nothing else
 * @group.aside: GROUP_APPEAR: it moves memory, by the host's word. It has no kernels, so it gets
 *	no turns: as one of BE it runs beside them with idle_slice_us. Its copies are no requests of
 *	LC's (GP_SCHED_MOVER_SLICE_US)
 * @hint.at_ns: when the work comes
 * @hint.guess: a prediction; only then @hint.limit_ns and @hint.lead_ns count
 * @hint.limit_ns: the hold ends this long after @at_ns if no work came; 0:
 *	hint_timeout_ns
 * @hint.lead_ns: the hold starts at most this long before @at_ns; 0: no limit
 * @hold.limit_ns: the longest time; of KEEP 0: no longer
 * @busy.how: enum gp_busy bits
 * @busy.at_ns: with GP_BUSY_ON: when the tenant had the device; with GP_BUSY_PILES: when it needs
 *	it at the latest
 * @idle.how: enum gp_idle
 * @queued.reported: the tenant reports this itself; BUSY may have missed the work
 * @turn.ends: its turn is over; else it begins, and another tenant's ends for it
 * @slot.have: this instance has the device's short slice
 * @outcome.decision: its id
 * @outcome.error: 0 or negative errno
 * @outcome.took_ns: time of the control itself; 0: unknown
 * @measured.took_ns: from the hold to having the device
 * @measured.missed: the tenant did not have the device by then
 * @usage.used_ns: time on the device since the last such event. With @displaced_ns, the core
 *	believes at most the time that passed since then, and 100 ms besides
 * @usage.displaced_ns: time that other tenants, mostly LC, had the device while this one
 *	was resident; 0: unknown
 * @usage.at_ns: all use until then is reported; 0: unknown
 */
struct gp_event {
	uint32_t type;
	uint32_t tenant;
	uint32_t party;
	bool gang;
	union {
		struct gp_class_request spec;
		struct {
			uint32_t id;
			bool slice_unknown, copies, aside;
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
			bool reported;
		} queued;
		struct {
			bool ends;
		} turn;
		struct {
			bool have;
		} slot;
		struct {
			uint32_t decision;
			int32_t error;
			uint64_t took_ns;
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
 * GP_EV_USAGE. Without it a BE tenant is charged its resident time. With it the tenant gets
 * displaced time back, and pays for used + displaced beyond its resident time. So it does not
 * pay for LC's use, but pays for an unused part of its turn and for a late end. Reports may be
 * late (33 ms on NVIDIA): up to 100 ms of unreported residency waits for them. BE time that
 * was certain before @usage.at_ns appears in no later report. For an LC tenant the figures
 * only serve views.
 */

enum gp_decision_type {
	GP_DO_SET_SLICE, /* group, slice_us (0: the driver's own) */
	GP_DO_SUSPEND,	 /* group */
	GP_DO_RESUME,	 /* group */
	GP_DO_HOLD,	 /* tenant, limit_ns */
	GP_DO_RELEASE,	 /* tenant */
	GP_DO_ARM_TIMER, /* at_ns; replaces the one before */
	/*
	 * group: its turn on the device ends now, so that others with work run first. It runs
	 * again in its next turn. Has an OUTCOME; after -EOPNOTSUPP the core suspends instead.
	 * Only with lc_preempt
	 */
	GP_DO_PREEMPT,
};

struct gp_decision {
	uint32_t type; /* enum gp_decision_type; selects the fields that count */
	uint32_t id;   /* for its OUTCOME; never 0 */
	uint32_t tenant;
	uint32_t group;
	union {
		uint64_t slice_us;
		uint64_t limit_ns;
		uint64_t at_ns;
	};
};

/** Decisions, in the order of execution. */
struct gp_decisions {
	size_t count;
	struct gp_decision d[GP_SCHED_MAX_DECISIONS];
};

enum gp_lc_preempt {
	GP_LC_CUT_NONE,	   /* this instance does not preempt LC */
	GP_LC_CUT_PREEMPT, /* by GP_DO_PREEMPT */
	GP_LC_CUT_SUSPEND, /* by GP_DO_SUSPEND, until the urgent work is done */
};

/**
 * struct gp_sched_config - One device, one instance. 0 takes the default.
 * @rotate: this instance decides which BE tenant is resident, and suspends the others
 *	(the daemon, simulations). Without it the tenants are of one process: slices follow
 *	GP_EV_SLOT, and nothing is suspended.
 * @slice_preempts: GP_CAP_SLICE_PREEMPTS
 * @slots: hardware queue slots (AMD kind), 0: no limit
 */
struct gp_sched_config {
	const struct gp_be_policy *be_policy; /* NULL: gp_policy_fair */
	const struct gp_lc_policy *lc_policy; /* NULL: gp_policy_level */
	uint32_t rotate;
	uint32_t slice_preempts;
	uint32_t slots;
	/* with rotate: part of the device that BE gets, however busy LC is; 0..50 */
	uint32_t be_min_pct;
	/*
	 * enum gp_lc_preempt: how to preempt less urgent LC, with rotate where slices preempt:
	 * all LC slices are long there
	 */
	uint32_t lc_preempt;
	uint32_t pad;
	uint64_t lc_slice_us;	/* GP_SCHED_LC_SLICE_US */
	uint64_t be_slice_us;	/* GP_SCHED_BE_SLICE_US */
	uint64_t quantum_ns;	/* how long a BE tenant is resident: 50 ms */
	uint64_t switch_ns;	/* initial estimate of one switch: 200 µs */
	uint64_t hold_limit_ns; /* longest single hold: GP_SCHED_HOLD_LIMIT_NS, 20 ms */
	/*
	 * 0: one piece; else holds are renewed in pieces of this length (syncs cannot be seen)
	 */
	uint64_t hold_piece_ns;
	/* a hint's hold ends this long after the announced time if no work came: 500 µs */
	uint64_t hint_timeout_ns;
	/*
	 * 0: none; else LC work after idleness is held for automatically, until IDLE or at
	 * most this long
	 */
	uint64_t auto_hold_ns;
	/* longest time that an LC segment defers a rotation: 20 ms */
	uint64_t rotation_defer_max_ns;
	/* longest switch from one LC tenant to another: switch_ns */
	uint64_t lc_switch_ns;
	uint64_t cut_ns;     /* longest time until running work is preempted: 500 µs */
	uint64_t control_ns; /* longest suspend or resume: 1 ms */
	/* windows of the BE minimum open at most once in this time: 50 ms */
	uint64_t be_period_ns;
	/*
	 * with rotate where slices preempt: BE that takes longer to leave has its turns only while
	 * LC is likely to stay idle; 0: as other BE
	 */
	uint64_t leave_limit_ns;
	/*
	 * with rotate where slices preempt: an IDLE BE tenant keeps running, with this slice,
	 * so that its new work can be observed; 0: it is suspended like a waiting one
	 */
	uint64_t idle_slice_us;
	/*
	 * with GP_LC_CUT_PREEMPT: BE's slice while the launches of all LC tenants pile up; 0: they
	 * never do
	 */
	uint64_t pile_slice_us;
};

struct gp_sched;

/* Bytes that a struct gp_sched needs; it has no pointers into itself. */
size_t gp_sched_size(void);

/** 0; -EINVAL: a value out of range. @sched: gp_sched_size() bytes, 8-aligned. */
int gp_sched_init(struct gp_sched *sched, const struct gp_sched_config *config);

/**
 * gp_sched_step() - Apply one event.
 * @out: overwritten; the host executes its decisions in order
 *
 * An @now_ns before the latest one counts as the latest one.
 * Return: 0; -EINVAL: invalid event (nothing changed); -ENOSPC: too many tenants or groups
 * (nothing changed); -ENOENT: unknown tenant or group; -EPERM: event needs an LC tenant;
 * -EBUSY: refused prediction.
 */
int gp_sched_step(struct gp_sched *sched, uint64_t now_ns, const struct gp_event *event,
		  struct gp_decisions *out);

/**
 * gp_sched_settled() - 1 when every group that left, or that existed at GP_EV_CLOSE, is
 * restored.
 */
int gp_sched_settled(const struct gp_sched *sched);

/**
 * Change hold_piece_ns from the next hold on. Whether syncs can be observed is known only
 * after an attempt to watch them.
 */
void gp_sched_set_hold_piece(struct gp_sched *sched, uint64_t piece_ns);

/**
 * Change policies from the next step on; NULL keeps one. Step soon after it (GP_EV_TIMER will
 * do). All BE tenants start equal, with empty caps; the current turn continues. Deadlines of
 * present LC work count from its arrival.
 */
void gp_sched_set_policy(struct gp_sched *sched, const struct gp_be_policy *be,
			 const struct gp_lc_policy *lc);

/**
 * gp_sched_set_share() - Change quantum_ns and be_min_pct from the next step on. The current
 * turn continues.
 * Return: 0; -EINVAL: quantum 0, or a minimum over 50 %.
 */
int gp_sched_set_share(struct gp_sched *sched, uint64_t quantum_ns, uint32_t be_min_pct);

/**
 * gp_sched_leave_ns() - So long before LC has work the core wants to know of it (GP_BUSY_SOON), as
 * a BE tenant is slow to leave. 0: none is.
 */
uint64_t gp_sched_leave_ns(const struct gp_sched *sched);

/**
 * gp_sched_piles() - Did launches of an LC tenant pile up lately? Then BE may have a long slice,
 * and the core has to know at once when an LC tenant begins or ceases to need the device.
 */
bool gp_sched_piles(const struct gp_sched *sched);

/** Change leave_limit_ns from the next step on. What was measured stays. */
void gp_sched_set_leave_limit(struct gp_sched *sched, uint64_t limit_ns);

/**
 * gp_sched_rotation_deferred() - Does only LC's activity defer the end of a turn, or a resume
 * of BE? The host then observes LC more often.
 */
bool gp_sched_rotation_deferred(const struct gp_sched *sched);

/**
 * gp_sched_min_due() - By the reports so far, is BE owed its minimum at @now_ns? The next step
 * then suspends LC, so the host reports usage before it.
 */
bool gp_sched_min_due(const struct gp_sched *sched, uint64_t now_ns);

/** The most urgent LC tenant that has work, or holds; 0: none, or lc_preempt is off. */
uint32_t gp_sched_most_urgent(const struct gp_sched *sched);

/** The BE tenant that has the turn; 0: none. */
uint32_t gp_sched_resident(const struct gp_sched *sched);

/* ---- gangs: tenants whose turns begin and end on several devices at once ------- */

enum gp_gang_state {
	GP_GANG_NONE,  /* it has no group here that could run */
	GP_GANG_WAITS, /* others go before it, or LC's work does */
	GP_GANG_NEXT,  /* it goes before all others, but the turn of one of them is not over */
	GP_GANG_FREE,  /* like GP_GANG_DUE, and no other has a turn or waits for one */
	GP_GANG_DUE,   /* the next turn is its own, from now on */
	GP_GANG_RUNS,  /* it has its turn */
	GP_GANG_OVER,  /* likewise, the turn is over, and others wait for it */
};

/**
 * struct gp_sched_gang - A gang on this device, as of the latest step.
 * @works: one of its tenants has work
 * @awaited: with GP_GANG_RUNS and GP_GANG_OVER: others wait for its turn's end
 */
struct gp_sched_gang {
	enum gp_gang_state state;
	bool works, awaited;
};

/** @tenant is one of the gang's, or unknown: GP_GANG_NONE. */
void gp_sched_gang(const struct gp_sched *sched, uint32_t tenant, struct gp_sched_gang *gang);

/** By the policy, does the gang of @tenant go before the one of @other? */
bool gp_sched_gang_before(const struct gp_sched *sched, uint32_t tenant, uint32_t other);

/* For views. Counters since init. */
struct gp_sched_tenant_stat {
	struct gp_class_request spec;
	uint32_t resident, in_segment, held;
	uint32_t queued; /* it reported a short time ago that all its work is queued */
	uint64_t hints, segments, holds, holds_late, holds_expired, syncs_cut;
	uint64_t run_ns;  /* BE: time resident */
	uint64_t used_ns; /* by GP_EV_USAGE */
	uint64_t vruntime_ns;
	uint64_t switch_ns, switch_min_ns, switch_max_ns, margin_ns;
	uint64_t lead_ns;	   /* lead of a hold before its work */
	uint64_t deadlines_missed; /* under gp_policy_edf */
	uint64_t said;		   /* hints, segments, holds by hand */
	uint32_t guessing;	   /* a prediction's hold is on, or will be */
	uint32_t guess_worked;	   /* work came to the latest prediction */
	uint64_t held_since_ns;	   /* start of the last hold, before any renewals */
	uint32_t piles;		   /* LC: its launches piled up lately */
};
int gp_sched_tenant_stat(const struct gp_sched *sched, uint32_t tenant,
			 struct gp_sched_tenant_stat *stat);

/* ---- why a tenant runs or waits ----------------------------------------- */

enum gp_why {
	GP_WHY_RUNS,	 /* nothing is in its way */
	GP_WHY_NO_GROUP, /* nothing to run: no group is known */
	GP_WHY_IDLE,	 /* has no work */
	/*
	 * @ahead tenants go before it; @other is resident from since_ns to at most until_ns
	 * (0: until it is idle, or unknown)
	 */
	GP_WHY_TURN,
	/* its turn is due; LC tenant @other defers it from since_ns to at most until_ns */
	GP_WHY_PUT_OFF,
	/*
	 * its turn has begun: it is being resumed, or @other (0: a slot) must be freed first
	 */
	GP_WHY_SWITCHING,
	GP_WHY_CAP, /* its cap is used up until then */
	/*
	 * LC tenant @other has the device, or goes first: from since_ns to at most until_ns
	 * (0: unknown)
	 */
	GP_WHY_LC,
	GP_WHY_MINIMUM, /* LC: BE has its minimum from since_ns to at most until_ns */
	GP_WHY_RETRY,	/* its resume failed (@error); the next try is at until_ns */
	/*
	 * it is slow to leave the device, and LC may have work by then; until_ns: when it may run,
	 * if LC stays idle
	 */
	GP_WHY_SLOW,
	/*
	 * LC: its launches pile up until it waits, at the latest until until_ns; @other has the
	 * device
	 */
	GP_WHY_PILES,
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
	/* runtime 0, over the deadline, or that over the period; or 1000 s and more */
	GP_ADMIT_SPEC,
	GP_ADMIT_LOAD,	   /* total load over the device's time */
	GP_ADMIT_DEADLINE, /* tenant could miss its deadline */
};

struct gp_sched_admission {
	uint32_t reason;      /* enum gp_admit_reason */
	uint32_t tenant;      /* DEADLINE: the tenant that could miss it */
	uint64_t load_ppm;    /* of the device, all tenants together */
	uint64_t demand_ns;   /* DEADLINE: longest demand .. */
	uint64_t deadline_ns; /* .. in this time */
};

/**
 * gp_sched_admit() - May @tenant, known or new, have @spec?
 *
 * Answers whether all LC tenants with deadlines meet them under gp_policy_edf, by the bound in
 * docs/sched.md. The test is sufficient, not necessary. A spec without a deadline needs no
 * admission. This call changes nothing, and the step takes any spec.
 * Return: 0; -EINVAL: GP_ADMIT_SPEC; -ENOSPC: the other reasons.
 */
int gp_sched_admit(const struct gp_sched *sched, uint32_t tenant,
		   const struct gp_class_request *spec, struct gp_sched_admission *admission);

/* ---- policies among LC tenants, one file each -------------------------- */

struct gp_lc_entity {
	uint32_t tenant;
	uint32_t level;
	uint64_t deadline_ns; /* of present or expected work; UINT64_MAX: none */
	uint64_t length_ns;   /* estimated length of its job; UINT64_MAX: unknown */
};

struct gp_lc_policy {
	const char *name;
	/*
	 * Deadlines count. A missed deadline moves by a period. A segment is held up to its
	 * deadline if that is later than hold_limit_ns.
	 */
	uint32_t deadlines;
	/* Job lengths count, from GP_EV_USAGE. */
	uint32_t lengths;
	/* < 0: @a is more urgent than @b; 0: neither is. A total order. */
	int (*compare)(const struct gp_lc_entity *a, const struct gp_lc_entity *b);
};

extern const struct gp_lc_policy gp_policy_edf;
extern const struct gp_lc_policy gp_policy_level;
extern const struct gp_lc_policy gp_policy_sjf;
/* All of them, and NULL: policies.c. */
extern const struct gp_lc_policy *const gp_lc_policies[];

/* ---- policies among BE tenants, one file each -------------------------- */

/* A policy's state per tenant or party. The core stores it and sets the fields up to left_ns. */
struct gp_be_entity {
	uint32_t tenant;
	uint32_t weight;
	uint32_t cap_pct;	   /* 0: none; 1..99 */
	uint32_t runnable;	   /* has work, and a group that can run */
	uint32_t gang;		   /* the host begins and ends its turns */
	uint64_t waiting_since_ns; /* when it entered, or its last turn ended */
	uint64_t left_ns;	   /* when it was last runnable */

	uint64_t vruntime_ns; /* fair */
	int64_t credit_ns;    /* credit: time that it is owed */
	int64_t budget;	      /* credit: rest of its cap, 1/100 ns, as of .. */
	uint64_t budget_ns;   /* .. this time */
};

/* The time, and the units that policies compute with. */
struct gp_be_time {
	uint64_t now_ns;
	uint64_t base_ns;	  /* gp_sched_config.quantum_ns */
	uint64_t min_vruntime_ns; /* least of the runnable tenants; never falls */
	uint64_t runnable;	  /* number of runnable tenants */
	uint64_t late_ns;	  /* a report of usage comes at most this late */
};

/** Calls sorted; balance, lift, ready_ns and settle may be NULL. */
struct gp_be_policy {
	const char *name;
	/* Caps count: cap_pct limits a tenant. */
	uint32_t caps;
	/*
	 * Accounts changed that no use explains: a tenant left for good, or returned. @e are
	 * all @n tenants.
	 */
	void (*balance)(struct gp_be_entity *const *e, size_t n);
	/* Of two runnable tenants, is @a resident sooner? A strict weak order. */
	bool (*before)(const struct gp_be_entity *a, const struct gp_be_entity *b);
	/* @e was resident for @ran_ns, or used that much. */
	void (*charge)(struct gp_be_entity *e, uint64_t ran_ns, const struct gp_be_time *t);
	/* @e joins the runnable ones. */
	void (*enter)(struct gp_be_entity *e, const struct gp_be_time *t);
	/* The next turn is one of these @n tenants'. balance() follows. */
	void (*lift)(struct gp_be_entity *const *e, size_t n);
	/* Length of @e's turn in ns. */
	uint64_t (*quantum)(const struct gp_be_entity *e, const struct gp_be_time *t);
	/* Earliest time of @e's next turn; 0: any time. */
	uint64_t (*ready_ns)(const struct gp_be_entity *e, const struct gp_be_time *t);
	/* It was charged @ns too much. */
	void (*refund)(struct gp_be_entity *e, uint64_t ns, const struct gp_be_time *t);
	/* This policy takes over with @e: clear the former policy's state. */
	void (*reset)(struct gp_be_entity *e, const struct gp_be_time *t);
	/*
	 * A turn is over, or the set of runnable tenants or a weight is about to change: hand
	 * out the use up to now. @e are all @n tenants.
	 */
	void (*settle)(struct gp_be_entity *const *e, size_t n, const struct gp_be_time *t);
};

extern const struct gp_be_policy gp_policy_credit;
extern const struct gp_be_policy gp_policy_fair;
extern const struct gp_be_policy gp_policy_rr;
/* All of them, and NULL: policies.c. */
extern const struct gp_be_policy *const gp_be_policies[];

/* ---- when a hold starts: prepreempt.c ---------------------------------- */

#define GP_PREPREEMPT_RECENT 128u

struct gp_prepreempt {
	uint64_t switch_ns; /* the estimate: the longer of two */
	uint64_t level_ns;  /* slow to fall, quick to rise */
	/* a ring; the estimate covers all but the longest */
	uint32_t recent_ns[GP_PREPREEMPT_RECENT];
	uint64_t timer_late_ns; /* likewise: how late the timer fires .. */
	uint64_t cold_late_ns;	/* .. and after a long sleep */
	uint64_t switch_min_ns, switch_max_ns;
	uint64_t margin_ns;
	int64_t bias_ns;       /* work comes this much after its announced time */
	uint64_t deviation_ns; /* mean distance of the work from time + bias */
	uint32_t samples;
	uint32_t calm; /* switches since the last miss */
};
void gp_prepreempt_init(struct gp_prepreempt *p, uint64_t switch_ns);
/** When to start the hold for work at @work_ns; never before @now_ns. */
uint64_t gp_prepreempt_start(const struct gp_prepreempt *p, uint64_t now_ns, uint64_t work_ns);
/** The lead of a hold before its work. */
uint64_t gp_prepreempt_lead(const struct gp_prepreempt *p);
/** Expected arrival of work announced for @work_ns: adds the bias. */
uint64_t gp_prepreempt_expected(const struct gp_prepreempt *p, uint64_t work_ns);
/** The timer for a hold's start fired @late_ns after it. */
void gp_prepreempt_timer(struct gp_prepreempt *p, uint64_t late_ns);
/** The same for a timer after a long sleep. */
void gp_prepreempt_cold(struct gp_prepreempt *p, uint64_t late_ns);
/** One measured switch. */
void gp_prepreempt_switch(struct gp_prepreempt *p, uint64_t took_ns);
/** A switch was abandoned after @waited_ns, still under way. */
void gp_prepreempt_missed(struct gp_prepreempt *p, uint64_t waited_ns);
/** Work announced for @said_ns (ahead: @lead_ns) came at @came_ns. */
void gp_prepreempt_work(struct gp_prepreempt *p, uint64_t said_ns, uint64_t lead_ns,
			uint64_t came_ns);

#endif
