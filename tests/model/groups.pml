/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: which decisions the core gives for them, and what the device then does. Models
 * sched/group_reconcile.c with rotation, where slices preempt, and the residents that
 * sched/be_rotation.c may choose under any policy.
 *
 * Each of N groups has a tenant of its own, or none, which is BE with or without work, or LC.
 * Decisions end in any order: right, failed (a group whose resume failed may run), or the group
 * is gone. Reports about former groups come as well. Tenants come, leave,
 * and change. The wait after a failure ends at any time. The device is pessimistic: a group
 * may run from the request of its resume until its suspend is done, and so on.
 *
 * Invariant 1: at most one group may run at the short slice.
 * Rest: when nothing is under way and no wait lasts, each group is as its tenant needs it.
 * Liveness (invariant 2): once all succeeds and nobody comes or goes, that rest is reached. A
 * cycle of such steps would be an acceptance cycle. Timers that failed before are included.
 *
 * MISTAKE=1: a short group may resume beside a short one that may run.
 *         2: a failed suspend counts as done.
 *         3: a group is short only when its slice is set, not from the decision on.
 *         4: a short slice is given up after too many failures.
 *         5: the resident never yields to a group that must run.
 *         6: the host does not retry a failed timer.
 *         7: a group that was left is forgotten with any slice.
 *         8: a slice that was refused stays so after another is set.
 *         9: the resident does not yield to a group that idles.
 */
#ifndef MISTAKE
#define MISTAKE 0
#endif
#ifndef N
#define N 2
#endif
#ifndef TRIES
#define TRIES 2 /* attempts to set one slice: GP_SLICE_TRIES, 5, needs more states only */
#endif
#ifndef IDLES
#define IDLES 1 /* idle_slice_us */
#endif
#ifndef LCS
#define LCS 1 /* 0: no tenant is LC */
#endif
#ifndef END
#define END 1 /* 0: this instance never ends */
#endif
#ifndef TIMERS
#define TIMERS 1 /* 0: setting the timer never fails */
#endif
#define NONE 255

/* kind[] */
#define LEFT 0
#define BE   1
#define IDLE 2
#define LC   3
/* state[] */
#define ON  0
#define OFF 1
#define UNKNOWN 2
/* pend[] */
#define NOTHING 0
#define SUSPEND 1
#define RESUME  2
#define SET     3
/* slice[], next[], refused[] */
#define DRIVER 0
#define SHORT  1
#define LONG   2
#define MIDDLE 3
#define ANY    4 /* unknown, or nothing refused */

/* The core. */
bit known[N], backoff[N], closed;
byte kind[N], state[N], pend[N], slice[N], next[N], refused[N], fails[N];
byte resident = NONE;
/* The core's timer for retries; the device's is lost if setting it failed. */
bit armed, arm_failed, timer_lost;
/* The device. */
bit runs[N], at_short[N], was_short[N];
bit gave_up; /* a short slice, after the end: invariant 1 allows for that */

/* Of one step. */
bit late;	  /* this step reports that the timer failed */
byte ev, at, how; /* for traces */
byte who, i, j, others, want, choice;
bit yields, wants_on, needs_timer, waits;

#define is_short(g) (slice[g] == SHORT || slice[g] == ANY || \
	(pend[g] == SET && next[g] == SHORT && MISTAKE != 3))
#define runnable(g) (known[g] && kind[g] == BE && !backoff[g])
#define takes_turns(g) (kind[g] == BE || kind[g] == IDLE)
#define idles(g) (IDLES && kind[g] == IDLE && g != resident)

inline forget(g)
{
	known[g] = 0; kind[g] = LEFT; state[g] = ON; pend[g] = NOTHING; slice[g] = DRIVER;
	next[g] = 0; refused[g] = ANY; fails[g] = 0; backoff[g] = 0
}

/* The device has no such group any more. */
inline vanish(g)
{
	forget(g);
	runs[g] = 0; at_short[g] = 0; was_short[g] = 0;
	resident = (resident == g -> NONE : resident)
}

inline leave(g)
{
	kind[g] = LEFT; refused[g] = ANY; fails[g] = 0; backoff[g] = 0;
	resident = (resident == g -> NONE : resident)
}

/* Who may have the turn, under any policy: @choice, if it is runnable. */
inline rotate()
{
	if
	:: resident != NONE && (!known[resident] || !takes_turns(resident)) -> resident = NONE
	:: else
	fi;
	waits = 0;
	i = 0;
	do
	:: i < N -> waits = waits || (i != resident && runnable(i)); i++
	:: else -> break
	od;
	if
	:: waits && choice != NONE && runnable(choice) -> resident = choice
	:: waits && (choice == NONE || !runnable(choice)) && (resident == NONE || !runnable(resident)) ->
		i = 0;
		do
		:: !runnable(i) -> i++
		:: else -> break
		od;
		resident = i
	:: else
	fi
}

inline may_run_short()
{
	others = 0;
	j = 0;
	do
	:: j < N -> others = others + (j != i && known[j] && state[j] != OFF && is_short(j)); j++
	:: else -> break
	od
}

/* A group has to run although it may be suspended and its short slice cannot be changed. */
inline must_yield()
{
	yields = 0;
	j = 0;
	do
	:: j < N -> yields = yields || (known[j] && state[j] != ON && is_short(j) &&
			fails[j] >= TRIES && MISTAKE != 5 &&
			(!takes_turns(j) || (idles(j) && MISTAKE != 9))); j++
	:: else -> break
	od
}

inline decide()
{
	may_run_short();
	must_yield();
	wants_on = !takes_turns(i) || idles(i) || (i == resident && !yields);
	want = (kind[i] == LEFT -> DRIVER : (kind[i] == LC -> LONG : (idles(i) -> MIDDLE : SHORT)));
	if
	:: !wants_on && state[i] != OFF ->
		pend[i] = SUSPEND; state[i] = UNKNOWN
	:: !wants_on && state[i] == OFF
	:: wants_on && slice[i] != want && refused[i] != want && !(fails[i] >= TRIES && state[i] != ON) ->
		if
		:: want == SHORT && state[i] != OFF && others
		:: else ->
			pend[i] = SET; next[i] = want;
			was_short[i] = at_short[i];
			at_short[i] = at_short[i] || want == SHORT
		fi
	:: wants_on && !(slice[i] != want && refused[i] != want && !(fails[i] >= TRIES && state[i] != ON)) ->
		if
		:: state[i] == ON
		:: state[i] != ON && is_short(i) && others && MISTAKE != 1
		:: else ->
			pend[i] = RESUME; state[i] = UNKNOWN;
			runs[i] = 1
		fi
	fi
}

inline reconcile()
{
	i = 0;
	do
	:: i < N && known[i] && kind[i] == LEFT && pend[i] == NOTHING && state[i] == ON &&
	   (slice[i] == DRIVER || refused[i] == DRIVER || MISTAKE == 7) -> forget(i); i++
	:: i < N && !(known[i] && kind[i] == LEFT && pend[i] == NOTHING && state[i] == ON &&
	   (slice[i] == DRIVER || refused[i] == DRIVER || MISTAKE == 7)) -> i++
	:: i == N -> break
	od;
	i = 0;
	do
	:: i < N && known[i] && pend[i] == NOTHING && !backoff[i] -> decide(); i++
	:: i < N && !(known[i] && pend[i] == NOTHING && !backoff[i]) -> i++
	:: i == N -> break
	od
}

inline arm()
{
	needs_timer = 0;
	i = 0;
	do
	:: i < N -> needs_timer = needs_timer || (known[i] && pend[i] == NOTHING && backoff[i]); i++
	:: else -> break
	od;
	if
	:: late
	:: !late && !needs_timer -> armed = 0; arm_failed = 0; timer_lost = 0
	:: !late && needs_timer && (!armed || arm_failed) -> armed = 1; arm_failed = 0; timer_lost = 0
	:: else
	fi;
	late = 0
}

#define rest (rest_of(0) && rest_of(1) && rest_of(N - 1))
#define rest_of(g) (!known[g] || (pend[g] == NOTHING && !backoff[g]))
/* Given up as a slice, in favour of any other. */
#define has_slice(g, s) (slice[g] == s || refused[g] == s)
#define right(g) (!known[g] || (kind[g] != LEFT && \
	(kind[g] != LC || (state[g] == ON && has_slice(g, LONG))) && \
	(!idles(g) || (state[g] == ON && has_slice(g, MIDDLE))) && \
	(!takes_turns(g) || idles(g) || g == resident || state[g] == OFF) && \
	(g != resident || (state[g] == ON && has_slice(g, SHORT)))))
#define alone(g, h) (!(runs[g] && at_short[g] && runs[h] && at_short[h]))

#if defined(TRACE) || defined(PRINT)
#define SHOW print_step()
inline print_step()
{
	printf("step %d %d %d %d", ev, at, how, resident);
	i = 0;
	do
	:: i < N -> printf(" | %d %d %d %d %d %d %d %d", known[i], state[i], pend[i], slice[i], next[i],
			   refused[i], fails[i], backoff[i]); i++
	:: else -> break
	od;
	printf("\n");
	i = 0
}
#else
#define SHOW skip
#endif

/* The facts are applied: the rest of the step. */
inline finish()
{
	d_step {
		rotate();
		reconcile();
		arm();
		i = 0; j = 0; others = 0; want = 0; choice = NONE; yields = 0; wants_on = 0;
		needs_timer = 0; waits = 0;
		SHOW;
#ifndef FOLLOW
		assert(gave_up || (alone(0, 1) && (N < 3 || (alone(0, N - 1) && alone(1, N - 1)))));
		assert(!rest || (right(0) && right(1) && right(N - 1)));
#endif
		who = 0; ev = 0; at = 0; how = 0
	}
}

/* ---- events ------------------------------------------------------------------ */

#define EV_APPEAR 1 /* how: its kind; + 8: its slice is unknown */
#define EV_LEAVE 2
#define EV_GONE 3
#define EV_KIND 4 /* how: its kind */
#define EV_CLOSE 5
#define EV_OUTCOME 6 /* how: 0 right, 1 failed, 3 gone */
#define EV_TIMER 7
#define EV_OTHER 8 /* which changes nothing by itself: of a decision for a former group */

inline appear(g, k, s)
{
	ev = EV_APPEAR; at = g; how = k + (s == ANY -> 8 : 0);
	if
	:: !known[g] -> slice[g] = s; state[g] = ON; known[g] = 1; runs[g] = 1
	:: else
	fi;
	kind[g] = k; refused[g] = ANY; fails[g] = 0
}

inline succeed(g)
{
	ev = EV_OUTCOME; at = g; how = 0;
	if
	:: pend[g] == SUSPEND -> state[g] = OFF; runs[g] = 0
	:: pend[g] == RESUME -> state[g] = ON
	:: pend[g] == SET ->
		slice[g] = next[g]; fails[g] = 0; at_short[g] = (next[g] == SHORT);
		refused[g] = (MISTAKE == 8 -> refused[g] : ANY)
	fi;
	pend[g] = NOTHING; next[g] = 0; backoff[g] = 0; was_short[g] = 0
}

/* A resume that failed may be half done: the group may run. */
inline fail(g)
{
	ev = EV_OUTCOME; at = g; how = 1;
	backoff[g] = 1;
	if
	:: pend[g] == SUSPEND -> state[g] = (MISTAKE == 2 -> OFF : ON); pend[g] = NOTHING
	:: pend[g] == RESUME ->
		pend[g] = NOTHING;
		resident = (resident == g -> NONE : resident)
	:: pend[g] == SET ->
		pend[g] = NOTHING;
		at_short[g] = was_short[g];
		fails[g] = (fails[g] < TRIES -> fails[g] + 1 : TRIES);
		if
		:: fails[g] >= TRIES && (closed || !is_short(g) || MISTAKE == 4) ->
			refused[g] = next[g];
			gave_up = gave_up || (closed && is_short(g))
		:: else
		fi
	fi;
	next[g] = 0; was_short[g] = 0
}

#ifdef TRACE
inline expire() { skip }
#else
/* Some waits may be over by now. */
inline expire()
{
	if
	:: backoff[0] && pend[0] == NOTHING -> backoff[0] = 0
	:: skip
	fi;
	if
	:: backoff[1] && pend[1] == NOTHING -> backoff[1] = 0
	:: skip
	fi;
	if
	:: N > 2 && backoff[N - 1] && pend[N - 1] == NOTHING -> backoff[N - 1] = 0
	:: skip
	fi
}
#endif

inline pick_turn()
{
	if
	:: choice = NONE
	:: choice = 0
	:: choice = 1
	:: N > 2 -> choice = N - 1
	fi
}

#define waiting(g) (known[g] && backoff[g] && pend[g] == NOTHING)
#define any_waiting (waiting(0) || waiting(1) || waiting(N - 1))

/* The waits that the timer is for are over. */
inline time_is_over()
{
	d_step {
		i = 0;
		do
		:: i < N && waiting(i) -> backoff[i] = 0; i++
		:: i < N && !waiting(i) -> i++
		:: i == N -> break
		od;
		i = 0;
		armed = 0; ev = EV_TIMER; at = 0; how = 0
	}
}

/* The first free place is taken. */
#define may_appear(g) (!closed && !known[g] && (g == 0 || known[g - (g > 0)]))
#define can(g) (known[g] || may_appear(g))

inline event(g)
{
	if
	:: may_appear(g) -> expire();
		if
		:: appear(g, BE, DRIVER)
		:: appear(g, BE, ANY)
		:: LCS -> appear(g, LC, DRIVER)
		fi
	/* Its tenant has left, and comes back. */
	:: !closed && known[g] && kind[g] == LEFT -> expire(); appear(g, BE, DRIVER)
	:: !closed && known[g] && kind[g] != LEFT -> expire(); leave(g); ev = EV_LEAVE; at = g
#ifdef TRACE
	:: pend[g] != NOTHING -> ev = EV_OUTCOME;
		if
		:: succeed(g)
		:: fail(g)
		fi
#endif
	:: known[g] -> expire(); vanish(g); ev = EV_GONE; at = g
	:: !closed && known[g] && kind[g] != LEFT -> expire();
		ev = EV_KIND; at = g;
		if
		:: kind[g] == BE -> kind[g] = IDLE
		:: LCS && kind[g] == BE -> kind[g] = LC
		:: kind[g] != BE -> kind[g] = BE
		fi;
		how = kind[g]
	:: pend[g] != NOTHING -> expire();
		if
		:: succeed(g)
		:: fail(g)
#ifdef TRACE
		/* Longer stories. */
		:: succeed(g)
		:: succeed(g)
		:: fail(g)
		:: fail(g)
#endif
		:: vanish(g); ev = EV_OUTCOME; at = g; how = 3
		fi
	fi
}

#ifndef FOLLOW
inline close()
{
	closed = 1;
	i = 0;
	do
	:: i < N && known[i] && kind[i] != LEFT -> leave(i); i++
	:: i < N && !(known[i] && kind[i] != LEFT) -> i++
	:: i == N -> break
	od;
	ev = EV_CLOSE
}

#define timer_fires (any_waiting && armed && !timer_lost)
/* The host retries by itself. */
#define host_retries (any_waiting && timer_lost && MISTAKE != 6)

active proctype core()
{
	d_step { forget(0); forget(1); forget(N - 1) }
	do
	:: atomic {
		if
		:: can(0) || can(1) || can(N - 1) ->
			if
			:: can(0) -> who = 0
			:: can(1) -> who = 1
			:: N > 2 && can(N - 1) -> who = N - 1
			fi;
			event(who)
		:: END && !closed -> expire(); close()
		:: expire(); ev = EV_OTHER
		:: timer_fires || host_retries -> time_is_over()
		/* Setting it failed, and the core is told: no new attempt at once. */
		:: TIMERS && timer_fires -> timer_lost = 1; arm_failed = 1; late = 1
		fi;
		pick_turn();
		finish()
	   }
#ifndef TRACE
	:: break
#endif
	od;
	/* From now on all succeeds, and nobody comes or goes. */
accept_calm:
	do
	:: atomic {
		if
		:: pend[0] != NOTHING || pend[1] != NOTHING || pend[N - 1] != NOTHING ->
			if
			:: pend[0] != NOTHING -> who = 0
			:: pend[1] != NOTHING -> who = 1
			:: N > 2 && pend[N - 1] != NOTHING -> who = N - 1
			fi;
			succeed(who)
		:: timer_fires || host_retries -> time_is_over()
		fi;
		finish()
	   }
	:: rest -> break
	od
}
#endif

#ifdef FOLLOW
/* A trace of the core, as replay.c records it: the model has to take the same steps. */
#include "followed.h"

#define same(g, k) (!known[g] && !t_known[k] || (known[g] && t_known[k] && state[g] == t_state[k] && \
	pend[g] == t_pend[k] && slice[g] == t_slice[k] && (pend[g] != SET || next[g] == t_next[k]) && \
	refused[g] == t_refused[k] && fails[g] == t_fails[k] && backoff[g] == t_backoff[k]))

short at_step;

inline follow(g)
{
	if
	:: t_ev[at_step] == EV_APPEAR && (t_how[at_step] & 8) -> appear(g, t_how[at_step] & 7, ANY)
	:: t_ev[at_step] == EV_APPEAR && !(t_how[at_step] & 8) -> appear(g, t_how[at_step] & 7, DRIVER)
	:: t_ev[at_step] == EV_LEAVE -> leave(g)
	:: t_ev[at_step] == EV_GONE -> vanish(g)
	:: t_ev[at_step] == EV_KIND -> kind[g] = t_how[at_step]
	:: t_ev[at_step] == EV_OUTCOME && t_how[at_step] == 0 -> succeed(g)
	:: t_ev[at_step] == EV_OUTCOME && t_how[at_step] == 1 -> fail(g)
	:: t_ev[at_step] == EV_OUTCOME && t_how[at_step] == 3 -> vanish(g)
	:: t_ev[at_step] == EV_CLOSE ->
		closed = 1;
		if
		:: known[0] && kind[0] != LEFT -> leave(0)
		:: else
		fi;
		if
		:: known[1] && kind[1] != LEFT -> leave(1)
		:: else
		fi
	:: t_ev[at_step] == EV_OTHER
	fi
}

active proctype core()
{
	d_step { forget(0); forget(1) }
	do
	:: at_step < STEPS ->
		backoff[0] = backoff[0] && !(t_over[at_step] & 1);
		backoff[1] = backoff[1] && !(t_over[at_step] & 2);
		if
		:: t_at[at_step] == 0 -> follow(0)
		:: t_at[at_step] == 1 -> follow(1)
		fi;
		choice = t_resident[at_step];
		finish();
		if
		:: resident == t_resident[at_step] && same(0, 2 * at_step) && same(1, 2 * at_step + 1)
		:: else -> printf("step %d of the trace differs\n", at_step); assert(false)
		fi;
		at_step++
	:: at_step == STEPS -> printf("followed %d steps\n", at_step); break
	od
}
#endif
