/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns: N BE tenants reduced to whether they have work, and their accounts. Models
 * sched/be_rotation.c with sched/policy_fair.c (POLICY=0) and sched/policy_credit.c (1), in
 * their own integers, without caps and reports. Controls take no time. Time passes in ticks of
 * TICK ns, QUANTUM of them are a turn. Tenants pause and return, leave and join at any tick;
 * LEAVES bounds the departures.
 *
 * Bound: nobody waits longer than docs/sched.md says under "Waiting".
 * Credits add up to 0, and no debt is longer than a turn (credit). Among runnable tenants no
 * virtual runtime is more than a turn of the lightest one above the least (fair).
 *
 * MISTAKE=1: use is not settled before the set of runnable tenants changes (credit).
 *         2: what a leaving tenant used at last does not reach the minimum (fair).
 *         3: a tenant that returns keeps its old virtual runtime (fair).
 *         4: accounts are not balanced after a change (credit).
 *         5: nobody is lifted out of debt (credit).
 *         6: a tenant that pauses keeps its place among those that wait.
 */
#ifndef MISTAKE
#define MISTAKE 0
#endif
#ifndef POLICY
#define POLICY 0
#endif
#ifndef N
#define N 2
#endif
#ifndef LEAVES
#define LEAVES 1
#endif
#ifndef QUANTUM
#define QUANTUM 2
#endif
#define TICK 1200
#define TURN (QUANTUM * TICK)
#define NONE 255
#define CREDIT (POLICY == 1)

/* Weights: 100 is the unit of fair. */
#ifndef W0
#define W0 100
#endif
#ifndef W1
#define W1 200
#endif
#ifndef W2
#define W2 100
#endif
#define LIGHTEST (W0 <= W1 && W0 <= W2 -> W0 : (W1 <= W2 -> W1 : W2))
#define weight(i) (i == 0 -> W0 : (i == 1 -> W1 : W2))

bit there[N], busy[N], runnable[N];
/* Virtual runtime above the least that was, or credit. */
int account[N];
byte away[N];	/* ticks since it was runnable, as far as they count */
byte waited[N]; /* ticks since it entered, or its last turn ended */
byte resident = NONE;
byte ran;	/* ticks of this turn */
byte left_over = LEAVES;
/* Others with work while a tenant waits, and the turns of them that it may wait for. */
byte met[N], turns[N];

/* Of one step. */
byte ev, at, i, j, k, old, first;
int pot, share, rest, sum, same, weights, least, need;
bit changed, others;

#define has_work(i) (there[i] && busy[i])

/* Use until now is handed out by weight among those that were runnable. */
inline settle()
{
	if
	:: CREDIT ->
		pot = 0; weights = 0;
		i = 0;
		do
		:: i < N -> pot = pot - account[i]; weights = weights + (runnable[i] -> weight(i) : 0); i++
		:: else -> break
		od;
		k = 0;
		do
		:: k < 8 && weights && (pot > 0 || (pot != 0 && k == 0)) ->
			rest = pot;
			i = 0;
			do
			:: i < N && runnable[i] ->
				share = (pot / weights) * weight(i) + (pot % weights) * weight(i) / weights;
				account[i] = account[i] + share;
				rest = rest - share;
				i++
			:: i < N && !runnable[i] -> i++
			:: i == N -> break
			od;
			k = (rest == pot -> 8 : k + 1);
			pot = rest
		:: else -> break
		od;
		/* Less than one ns a tenant. */
		sum = 0;
		i = 0;
		do
		:: i < N -> sum = sum + there[i]; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < N && !runnable[i] -> i++
		:: i < N && runnable[i] ->
			account[i] = account[i] + (pot < sum && pot > -sum -> pot : 0);
			break
		:: i == N -> break
		od
	:: else
	fi
}

/* Credits, or debts, shrink in proportion until all add up to 0. */
inline balance()
{
	if
	:: CREDIT && MISTAKE != 4 ->
		sum = 0;
		i = 0;
		do
		:: i < N -> sum = sum + account[i]; i++
		:: else -> break
		od;
		same = 0;
		i = 0;
		do
		:: i < N -> same = same + ((account[i] < 0) == (sum < 0) -> account[i] : 0); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < N && sum != 0 && (account[i] < 0) == (sum < 0) ->
			account[i] = account[i] - account[i] * sum / same; i++
		:: i < N && !(sum != 0 && (account[i] < 0) == (sum < 0)) -> i++
		:: i == N -> break
		od
	:: else
	fi
}

/* Of those that may have the next turn at least one gets out of debt. */
inline lift()
{
	if
	:: CREDIT && MISTAKE != 5 ->
		least = 1000000;
		i = 0;
		do
		:: i < N && runnable[i] ->
			need = (account[i] < 0 -> (weight(i) - 1 - account[i]) / weight(i) : 0);
			least = (need < least -> need : least);
			i++
		:: i < N && !runnable[i] -> i++
		:: i == N -> break
		od;
		i = 0;
		do
		:: i < N && runnable[i] && least > 0 ->
			account[i] = account[i] + (least * weight(i) < -account[i] -> least * weight(i) : -account[i]);
			i++
		:: i < N && !(runnable[i] && least > 0) -> i++
		:: i == N -> break
		od;
		balance()
	:: else
	fi
}

/* Virtual runtimes count from the minimum, which never falls. */
inline follow_min(stays)
{
	if
	:: !CREDIT ->
		least = 1000000;
		i = 0;
		do
		:: i < N && runnable[i] && (!stays || has_work(i)) ->
			least = (account[i] < least -> account[i] : least); i++
		:: i < N && !(runnable[i] && (!stays || has_work(i))) -> i++
		:: i == N -> break
		od;
		i = 0;
		do
		:: i < N && least > 0 && least < 1000000 ->
			account[i] = (account[i] > least -> account[i] - least :
				(MISTAKE == 3 || runnable[i] -> account[i] - least : 0)); i++
		:: else -> break
		od
	:: else
	fi
}

inline enter()
{
	waited[i] = (MISTAKE == 6 -> waited[i] : 0);
	met[i] = 0; turns[i] = 0;
	if
	:: !CREDIT && MISTAKE != 3 -> account[i] = (account[i] > 0 -> account[i] : 0)
	:: CREDIT && account[i] > 0 ->
		account[i] = (account[i] > away[i] * TICK -> account[i] - away[i] * TICK : 0)
	:: CREDIT && account[i] < 0 ->
		account[i] = (-account[i] > away[i] * TICK -> account[i] + away[i] * TICK : 0)
	:: else
	fi;
	away[i] = 0
}

inline change_runnable()
{
	changed = 0;
	i = 0;
	do
	:: i < N -> changed = changed || runnable[i] != has_work(i); i++
	:: else -> break
	od;
	if
	:: changed ->
		if
		:: MISTAKE != 1 -> settle()
		:: else
		fi;
		follow_min(1);
		i = 0;
		do
		:: i < N && !runnable[i] && has_work(i) -> enter(); runnable[i] = 1; i++
		:: i < N && runnable[i] && !has_work(i) ->
			runnable[i] = 0; away[i] = 0;
			account[i] = (!CREDIT && account[i] < 0 -> 0 : account[i]);
			i++
		:: i < N && runnable[i] == has_work(i) -> i++
		:: i == N -> break
		od;
		balance()
	:: else
	fi
}

/* Is @a before @first? */
#define debt(i) (account[i] < 0)
#define before(a, b) (CREDIT && debt(a) != debt(b) -> debt(b) : \
	(!CREDIT && account[a] != account[b] -> account[a] < account[b] : waited[a] > waited[b]))

inline new_turn()
{
	old = N - 1;
	if
	:: resident != NONE ->
		old = resident; waited[old] = 0; met[old] = 0; turns[old] = 0
	:: else
	fi;
	settle();
	lift();
	first = NONE;
	k = 1;
	do
	:: k <= N ->
		j = (old + k) % N;
		if
		:: runnable[j] && first == NONE -> first = j
		:: runnable[j] && first != NONE -> first = (before(j, first) -> j : first)
		:: else
		fi;
		k++
	:: else -> break
	od;
	resident = first;
	ran = 0
}

inline rotate()
{
	others = 0;
	i = 0;
	do
	:: i < N -> others = others || (i != resident && runnable[i]); i++
	:: else -> break
	od;
	if
	:: resident == NONE || (others && (ran >= QUANTUM || !runnable[resident])) -> new_turn()
	:: else
	fi
}

#define up(a, b) ((a + b - 1) / b)
#define all_weights(i) (weight(i) + (met[i] & 1 -> W0 : 0) + (met[i] & 2 -> W1 : 0) + (met[i] & 4 -> W2 : 0))
#define all_met(i) ((met[i] & 1) + ((met[i] / 2) & 1) + ((met[i] / 4) & 1))
#define bound(i) (CREDIT -> up(all_weights(i), weight(i)) + all_met(i) : turns[i])

/* What the tenants that wait meet. */
inline look()
{
	i = 0;
	do
	:: i < N && runnable[i] && i != resident ->
		j = 0;
		do
		:: j < N && j != i && runnable[j] && !(met[i] & (1 << j)) ->
			met[i] = met[i] | (1 << j);
			turns[i] = turns[i] + up(weight(j), weight(i)) + 1;
			j++
		:: j < N && !(j != i && runnable[j] && !(met[i] & (1 << j))) -> j++
		:: j == N -> break
		od;
		assert(waited[i] <= bound(i) * QUANTUM);
		i++
	:: i < N && !(runnable[i] && i != resident) -> met[i] = 0; turns[i] = 0; i++
	:: i == N -> break
	od;
	i = 0;
	sum = 0;
	do
	:: i < N -> sum = sum + account[i];
		assert(!CREDIT || i == resident || account[i] >= -TURN - N);
		assert(CREDIT || !runnable[i] || account[i] <= 2 * TURN * 100 / LIGHTEST);
		i++
	:: else -> break
	od;
	/* Only the use of this turn is still to be handed out; shares are rounded. */
	assert(!CREDIT || MISTAKE == 1 || MISTAKE == 4 || (sum <= N && sum >= -TURN - N))
}

#if defined(TRACE) || defined(PRINT)
inline print_step()
{
	printf("step %d %d %d", ev, at, resident);
	i = 0;
	do
	:: i < N -> printf(" | %d %d", runnable[i], account[i]); i++
	:: else -> break
	od;
	printf("\n")
}
#define SHOW print_step()
#else
#define SHOW skip
#endif

inline finish()
{
	if
	:: MISTAKE != 2 -> follow_min(0)
	:: else
	fi;
	change_runnable();
	rotate();
	/* As the step would that executes a decision. */
	if
	:: MISTAKE != 2 -> follow_min(0)
	:: else
	fi;
	SHOW;
	look();
	i = 0; j = 0; k = 0; old = 0; first = 0; ev = 0; at = 0;
	pot = 0; share = 0; rest = 0; sum = 0; same = 0; weights = 0; least = 0; need = 0;
	changed = 0; others = 0
}

/* ---- events ----------------------------------------------------------------------- */

#define EV_TICK 1
#define EV_PAUSE 2
#define EV_RETURN 3
#define EV_LEAVE 4
#define EV_JOIN 5

inline tick()
{
	ev = EV_TICK;
	i = 0;
	do
	:: i < N && i == resident && runnable[i] ->
		account[i] = (CREDIT -> account[i] - TICK :
			account[i] + (TICK / weight(i)) * 100 + (TICK % weight(i)) * 100 / weight(i));
		i++
	:: i < N && runnable[i] && i != resident -> waited[i]++; i++
	:: i < N && !runnable[i] ->
		away[i] = (CREDIT && away[i] * TICK < (account[i] < 0 -> -account[i] : account[i]) ->
			away[i] + 1 : away[i]);
		i++
	:: i == N -> break
	od;
	ran = (resident == NONE || ran >= QUANTUM -> ran : ran + 1);
	/* Alone it gets all back, now or later: else the account would have no end. */
	sum = 0;
	i = 0;
	do
	:: i < N -> sum = sum + runnable[i]; i++
	:: else -> break
	od;
	if
	:: sum == 1 && MISTAKE != 1 -> settle()
	:: else
	fi
}

inline pause(g)
{
	ev = EV_PAUSE; at = g; busy[g] = 0
}

inline come_back(g)
{
	ev = EV_RETURN; at = g; busy[g] = 1
}

/* Its account goes with it. */
inline leave(g)
{
	ev = EV_LEAVE; at = g;
	follow_min(0);
	settle();
	there[g] = 0; busy[g] = 0; runnable[g] = 0; account[g] = 0; away[g] = 0;
	waited[g] = 0; met[g] = 0; turns[g] = 0;
	resident = (resident == g -> NONE : resident);
	balance();
	/* Another one at its place is met again. */
	i = 0;
	do
	:: i < N -> met[i] = (CREDIT -> met[i] : met[i] & ~(1 << g)); i++
	:: else -> break
	od;
	left_over--
}

inline join(g)
{
	ev = EV_JOIN; at = g; there[g] = 1; busy[g] = 1; account[g] = 0
}

active proctype core()
{
	do
	:: atomic {
		if
		:: d_step { tick() }
		:: d_step { there[0] && busy[0] -> pause(0) }
		:: d_step { there[0] && !busy[0] -> come_back(0) }
		:: d_step { there[1] && busy[1] -> pause(1) }
		:: d_step { there[1] && !busy[1] -> come_back(1) }
		:: d_step { N > 2 && there[N - 1] && busy[N - 1] -> pause(N - 1) }
		:: d_step { N > 2 && there[N - 1] && !busy[N - 1] -> come_back(N - 1) }
		:: d_step { there[1] && left_over -> leave(1) }
		:: d_step { !there[0] -> join(0) }
		:: d_step { there[0] && !there[1] -> join(1) }
		:: d_step { N > 2 && there[N - 1] && left_over -> leave(N - 1) }
		:: d_step { N > 2 && there[1] && !there[N - 1] -> join(N - 1) }
		fi;
		d_step { finish() }
	   }
	od
}
