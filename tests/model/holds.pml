/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds: two LC tenants, of which 0 is more urgent, with a segment each. Models the decisions of
 * sched/hold.c where a hold is a request to the host, in ticks of its retry (200 us). A hold is
 * renewed in pieces, one tick before its end. HOLD and RELEASE may fail, which is reported at any
 * time before the next tick. A failed renewal leaves the earlier hold on the device until its end.
 *
 * 1. The device holds for nobody longer than the core knows, nor beyond a segment's limit.
 * 2. It holds for both, or without a reason, only after a failed release or renewal.
 * 3. Between the pieces of a hold the device is not lost, unless a renewal failed.
 * 4. The most urgent tenant that wants the device, and may try, holds it. Nobody waits for one
 *    whose hold failed. A less urgent tenant does not hold beside it.
 * 5. A failed release is tried again: after the last attempt the hold ends by its limit.
 *
 * MISTAKE=1: a tenant whose hold failed blocks the other until its next attempt.
 *         2: a failed release is not tried again.
 *         3: a hold is renewed at its end, not before.
 *         4: a less urgent tenant keeps its hold.
 *         5: the limit of a segment does not end its hold.
 */
#ifndef MISTAKE
#define MISTAKE 0
#endif
#define TRIES 3 /* GP_HOLD_TRIES */
#define LIMIT 7 /* of a segment */
#define PIECE 3
#define RENEW (MISTAKE == 3 -> 0 : 1)

/* The core: ticks left of each; age: since the segment began. */
byte wants[2], age[2], until[2], retry[2], retry_release[2];
byte tries[2], release_tries[2];
bit segment[2], held[2], hold_open[2], release_open[2];
/* The device: ticks left; and will the outcome be a failure? */
byte device[2];
bit hold_bad[2], release_bad[2], release_failed[2], renewal_failed[2];
byte best, t;

#define may_hold(i) (tries[i] < TRIES && !retry[i])
#define candidate(i) (wants[i] && (held[i] || may_hold(i) || MISTAKE == 1))
#define should(i) (best == i && wants[i])
#define least(a, b) (a < b -> a : b)

inline hold(i)
{
	if
	:: hold_bad[i] = 1; renewal_failed[i] = device[i] > 0; release_failed[i] = 0
	:: hold_bad[i] = 0; renewal_failed[i] = 0; device[i] = least(wants[i], PIECE); release_failed[i] = 0
	fi;
	until[i] = least(wants[i], PIECE);
	held[i] = 1; hold_open[i] = 1; release_tries[i] = 0; retry_release[i] = 0
}

inline release(i)
{
	if
	:: release_bad[i] = device[i] > 0; release_failed[i] = device[i] > 0
	:: release_bad[i] = 0; release_failed[i] = 0; device[i] = 0
	fi;
	held[i] = 0; release_open[i] = 1; retry_release[i] = 0
}

inline ends(i)
{
	if
	:: held[i] && !should(i) && (MISTAKE != 4 || !wants[i]) -> release(i)
	:: !held[i] && retry_release[i] == 1 -> release(i)
	:: else
	fi
}

inline begins(i)
{
	if
	:: should(i) && held[i] && wants[i] > until[i] && until[i] <= RENEW -> hold(i)
	:: should(i) && !held[i] && may_hold(i) -> hold(i)
	:: else
	fi
}

inline check(i)
{
	assert(device[i] <= until[i] || renewal_failed[i]);
	assert(device[i] <= wants[i] || release_failed[i] || renewal_failed[i]);
	assert(!wants[i] || age[i] < LIMIT);
	assert(!held[i] || wants[i]);
	assert(!held[i] || device[i] || hold_bad[i]);
	assert(!should(i) || held[i] || !may_hold(i))
}

inline reconcile()
{
	best = (candidate(0) -> 0 : (candidate(1) -> 1 : 2));
	ends(0);
	ends(1);
	begins(0);
	begins(1);
	check(0);
	check(1);
	assert(!device[0] || !device[1] || release_failed[0] || release_failed[1] ||
		renewal_failed[0] || renewal_failed[1]);
	assert(!(held[0] && held[1]));
	assert(!(wants[1] && may_hold(1) && !held[1]) || held[0]);
	/* Not tried again: the attempts are used up, or its outcome is still to come. */
	assert(!release_failed[0] || held[0] || release_open[0] || retry_release[0] || !device[0] ||
		release_tries[0] == TRIES || hold_bad[0]);
	best = 0
}

inline down(x)
{
	x = (x > 0 -> x - 1 : 0)
}

inline outcome_of_hold(i)
{
	hold_open[i] = 0;
	if
	:: hold_bad[i] && held[i] -> held[i] = 0; tries[i]++; retry[i] = 1
	:: else
	fi;
	hold_bad[i] = 0
}

inline outcome_of_release(i)
{
	release_open[i] = 0;
	if
	:: release_bad[i] && !held[i] && until[i] && release_tries[i] < TRIES && MISTAKE != 2 ->
		release_tries[i]++; retry_release[i] = 2
	:: else
	fi;
	release_bad[i] = 0
}

inline tick(i)
{
	down(wants[i]);
	age[i] = (segment[i] && age[i] < LIMIT -> age[i] + 1 : age[i]);
	wants[i] = (MISTAKE == 5 && segment[i] && !wants[i] -> 1 : wants[i]);
	down(until[i]); down(device[i]); down(retry[i]);
	assert(!(held[i] && wants[i]) || device[i]);
	retry_release[i] = (retry_release[i] > 1 -> 1 : retry_release[i]);
	release_failed[i] = release_failed[i] && device[i];
	renewal_failed[i] = renewal_failed[i] && device[i]
}

inline event(i)
{
	if
	:: !segment[i] -> segment[i] = 1; age[i] = 0; wants[i] = LIMIT; tries[i] = 0; retry[i] = 0
	:: segment[i] -> segment[i] = 0; age[i] = 0; wants[i] = 0
	:: hold_open[i] -> outcome_of_hold(i)
	:: release_open[i] -> outcome_of_release(i)
	fi
}

active proctype core()
{
	do
	:: atomic { t = 0; event(t); reconcile(); t = 0 }
	:: atomic { t = 1; event(t); reconcile(); t = 0 }
	:: atomic { !hold_open[0] && !hold_open[1] && !release_open[0] && !release_open[1] ->
		tick(0); tick(1); reconcile() }
	od
}
