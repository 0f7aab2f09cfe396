/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of the BE minimum, and turns that LC defers. Models sched/be_minimum.c with a minimum
 * of 50 %, and the deferral of sched/be_rotation.c, in ticks. One LC group, which may be busy,
 * idle or of unknown activity, and one BE resident that may have a switch under way or pause. A
 * suspend or resume of LC takes up to CONTROL ticks, or longer: SLOW of them, which may fail.
 * Debts count half ticks: 1 a tick, less 2 for each tick that BE certainly has.
 *
 * 1. Two windows begin at least PERIOD apart.
 * 2. A window is over after its longest time.
 * 3. The debt outside a window is at most 9/8 of a period's.
 * 4. LC is suspended, or about to be, only in a window: after it the core resumes LC.
 * 5. A due turn is deferred for at most DEFER ticks, and not beyond the begin of a window.
 * 6. While controls are in time and the resident stays, a window pays the whole debt.
 *
 * MISTAKE=1: a window may open as soon as there is debt.
 *         2: a window ends by payment alone.
 *         3: debt has no bound outside a window.
 *         4: LC defers turns in a window, too.
 *         5: the end of a window does not count the switch to it.
 */
#ifndef MISTAKE
#define MISTAKE 0
#endif
#define PERIOD 8
#define DEFER 3
#define CONTROL 1
#define SWITCH 1
#ifndef SLOW
#define SLOW 1
#endif
#define DUE PERIOD
#define MOST (DUE + DUE / 8)
/* Longest window: the suspend, the switch, and the debt at half of the device. */
#define LONGEST ((MISTAKE == 5 -> 0 : CONTROL + SWITCH) + MOST + CONTROL + 1)

#define ON 0
#define OFF 1
#define UNKNOWN 2

/* LC, as the core knows it; ticks that its control has taken. */
byte lc_run, lc_took;
bit lc_busy, lc_unknown, lc_pending, lc_suspends;
bit be_runs = 1, be_wants = 1;
byte owed, window, since_window = PERIOD; /* window: 1 + ticks since it began; 0: none */
byte slow = SLOW;
bit disturbed; /* in this window: a slow control, or a turn of another tenant */
bit due_turn;
byte deferred;
bit by_timer;

#define has_device (lc_run != OFF && lc_busy)
#define may_have_device (lc_run != OFF && (lc_busy || lc_unknown))
#define be_gets (be_runs && be_wants && !may_have_device)
#define lc_active (lc_busy && (!window || MISTAKE == 4))

inline reconcile()
{
	/* The resident changes: gp_rotate_reconcile(). */
	if
	:: due_turn && (!lc_active || deferred >= DEFER) ->
		due_turn = 0; deferred = 0; be_runs = 0; disturbed = disturbed || window
	:: else
	fi;
	if
	:: window && ((owed == 0) || !be_wants || (window > LONGEST && MISTAKE != 2)) ->
		assert(owed == 0 || !be_wants || disturbed);
		window = 0;
		owed = (owed > MOST && MISTAKE != 3 -> MOST : owed);
		disturbed = 0
	:: else
	fi;
	if
	:: !window && by_timer && owed >= DUE && be_wants && be_runs &&
	   (since_window >= PERIOD || MISTAKE == 1) ->
		assert(since_window >= PERIOD);
		window = 1;
		since_window = 0;
		owed = owed + SWITCH;
		disturbed = lc_pending
	:: else
	fi;
	/* Groups. */
	if
	:: !lc_pending && window && lc_run != OFF -> lc_pending = 1; lc_suspends = 1; lc_run = UNKNOWN; lc_took = 0
	:: !lc_pending && !window && lc_run != ON -> lc_pending = 1; lc_suspends = 0; lc_run = UNKNOWN; lc_took = 0
	:: else
	fi;
	assert(!window || window <= LONGEST + 1);
	assert(window || owed <= MOST);
	assert(window || lc_run == ON || lc_pending);
	assert(!due_turn || deferred <= DEFER);
	assert(window <= 1 || !due_turn);
	by_timer = 0
}

inline tick()
{
	if
	:: be_wants -> owed = owed + 1
	:: else
	fi;
	if
	:: be_gets -> owed = (owed > 2 -> owed - 2 : 0)
	:: else
	fi;
	owed = (!window && owed > MOST && MISTAKE != 3 -> MOST : owed);
	since_window = (since_window < PERIOD -> since_window + 1 : PERIOD);
	disturbed = disturbed || (window && !be_runs);
	window = (window -> window + 1 : 0);
	deferred = (due_turn -> deferred + 1 : 0);
	lc_took = (lc_pending -> lc_took + 1 : 0);
	/* The core's timer is exact. */
	by_timer = 1
}

inline control_done()
{
	lc_pending = 0; lc_took = 0;
	if
	:: lc_run = (lc_suspends -> OFF : ON)
	:: slow -> slow--; disturbed = 1; lc_run = (lc_suspends -> ON : UNKNOWN)
	fi
}

active proctype core()
{
	do
	:: atomic { lc_busy = !lc_busy; lc_unknown = 0; reconcile() }
	:: atomic { !lc_busy -> lc_unknown = !lc_unknown; reconcile() }
	:: atomic { be_wants = !be_wants; reconcile() }
	:: atomic { be_runs && !due_turn && be_wants -> due_turn = 1; deferred = 0; reconcile() }
	:: atomic { !be_runs -> be_runs = 1; reconcile() }
	:: atomic { lc_pending -> control_done(); reconcile() }
	/* Later than a control may be. */
	:: atomic { lc_pending && lc_took >= CONTROL && slow -> slow--; disturbed = 1; lc_took = 0; tick(); reconcile() }
	:: atomic { !(lc_pending && lc_took >= CONTROL) -> tick(); reconcile() }
	od
}
