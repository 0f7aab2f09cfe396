// SPDX-License-Identifier: Apache-2.0
/* idle.c - memory that leaves an idle program, and comes back for its next call. */
#include <time.h>
#include <unistd.h>

#include "preload/memory.h"
#include "preload/move.h"

#define CONTEXTS 16
#define ASK_NS 100000000 /* between requests for room */
#define BOTH_NS 60000000000ull
#define YIELD_NS 1000000 /* a move looks so often whether the link is free .. */
#define YIELDS_MOST 2000 /* .. at most: another process may lie */

static struct {
	bool out;	   /* the memory that is out left so */
	bool leaves;	   /* it does so now */
	uint64_t tried_ns; /* it had work, or could not move */
	uint64_t asked_ns; /* others for room */
	/* Any thread. */
	atomic_bool needed;	     /* a call waits for that memory */
	_Atomic(uint64_t) needed_ns; /* since when */
} idle;

bool gp_idle_is_out(void)
{
	return idle.out;
}

bool gp_idle_is_needed(void)
{
	return idle.out && atomic_load(&idle.needed);
}

void gp_memory_mover_need(void)
{
	if (atomic_exchange(&idle.needed, true))
		return;
	atomic_store(&idle.needed_ns, gp_memory_now_ns());
	gp_mover_wake();
}

/* ---- out --------------------------------------------------------------------------- */

static uint64_t latest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* To the moment at which the program may be idle for long enough; 0: now. */
uint64_t gp_idle_until_ns(void)
{
	const uint64_t since_ns = latest(idle.tried_ns, gp_memory_last_call_ns());
	const uint64_t ns = gp_memory_now_ns() - since_ns;

	return ns < gp_memory.idle_ns ? gp_memory.idle_ns - ns : 0;
}

bool gp_idle_is_due(void)
{
	return gp_memory.idle_ns && !atomic_load(&gp_memory.out) &&
	       atomic_load(&gp_memory.resident) && !gp_idle_until_ns();
}

/* Those of all pieces; 0: too many. */
static size_t list_contexts(void *context[CONTEXTS])
{
	size_t n = 0, i;

	pthread_mutex_lock(&gp_memory.lock);
	GP_EACH_PIECE(p)
	{
		for (i = 0; i < n && context[i] != p->context;)
			i++;
		if (i < n || n > CONTEXTS || !p->context)
			continue;
		if (n < CONTEXTS)
			context[n] = p->context;
		n++;
	}
	pthread_mutex_unlock(&gp_memory.lock);
	return n > CONTEXTS ? 0 : n;
}

/* Wait for all its work, without a lock: that may take long. False: it cannot be known. */
static bool wait_for_work(void)
{
	void *context[CONTEXTS], *popped;
	const size_t n = list_contexts(context);
	bool ok = n;

	for (size_t i = 0; ok && i < n; i++) {
		ok = !gp_memory_cuda.ctx_push(context[i]);
		if (!ok)
			break;
		ok = !gp_memory_cuda.ctx_synchronize();
		gp_memory_cuda.ctx_pop(&popped);
	}
	return ok;
}

/*
 * No call was in the driver, then all work ended, and no call came until later calls wait: the
 * program has nothing to run.
 */
int gp_idle_out(void)
{
	const uint64_t calls = gp_memory_calls();
	int err = 0;
	bool ok;

	/* Of a call that waited before. */
	atomic_store(&idle.needed, false);
	ok = !gp_memory_inside() && wait_for_work() && gp_memory_calls() == calls;
	pthread_mutex_lock(&gp_memory.lock);
	if (ok) {
		gp_move_shut();
		ok = !gp_memory_inside() && gp_memory_calls() == calls;
		gp_memory_idle(ok);
		idle.leaves = ok;
		if (ok)
			err = gp_move_out(UINT64_MAX);
		else
			gp_move_open();
		idle.leaves = false;
	}
	idle.out = gp_memory.out;
	gp_memory_idle(idle.out);
	idle.tried_ns = gp_memory_now_ns();
	pthread_mutex_unlock(&gp_memory.lock);
	return err;
}

/*
 * Nobody waits for an idle program's memory to leave. Copies in both directions slow each other:
 * on an H200 17 GiB came back in 435 ms beside such a move, else in 335. So others' way back goes
 * first. A call of the program's own ends the move.
 */
void gp_idle_give_way(uint64_t *left, unsigned int *yields)
{
	const struct timespec ns = { .tv_nsec = YIELD_NS };

	if (!idle.leaves)
		return;
	while (!atomic_load(&idle.needed) && *yields < YIELDS_MOST &&
	       gp_memory_link_is_taken(gp_memory.uuid)) {
		nanosleep(&ns, NULL);
		++*yields;
	}
	if (atomic_load(&idle.needed))
		*left = 0;
}

/* ---- in ---------------------------------------------------------------------------- */

/*
 * The bytes that are missing for its way back. A program that loads a model may leave while an
 * allocation of its waits for room. It comes back for that allocation only when both fit, or it
 * would leave again and again. After a minute it comes back without: the allocation then has an
 * end.
 */
static uint64_t lacks(void)
{
	const bool both = gp_memory_now_ns() - atomic_load(&idle.needed_ns) < BOTH_NS;
	uint64_t need = gp_memory.out + (both ? gp_memory.wanted : 0);
	size_t room, total;

	if (gp_memory_cuda.mem_get_info(&room, &total))
		return need;
	if (need > total)
		need = gp_memory.out;
	return need > room ? need - room : 0;
}

void gp_idle_make_room(void)
{
	const uint64_t need = lacks();

	if (!need || gp_memory_now_ns() - idle.asked_ns < ASK_NS)
		return;
	(void)gp_memory_ask(gp_memory.uuid, need, false);
	idle.asked_ns = gp_memory_now_ns();
}

void gp_idle_in(void)
{
	int link;

	if (lacks())
		return;
	link = gp_memory_link_take(gp_memory.uuid);
	gp_move_in();
	if (link >= 0)
		close(link);
	idle.out = gp_memory.out;
	gp_memory_idle(idle.out);
	idle.tried_ns = gp_memory_now_ns();
	if (idle.out)
		return;
	gp_memory.wanted = 0;
	atomic_store(&idle.needed, false);
}
