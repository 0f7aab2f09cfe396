// SPDX-License-Identifier: Apache-2.0
/*
 * gang.c - which gang has its turn on all its devices.
 */
#include "sched/gang.h"

/* A gang on all its devices. */
struct view {
	uint64_t has;  /* bits of devices where it has its turn */
	bool works;    /* anywhere */
	bool awaited;  /* others wait for the end of its turn anywhere */
	bool over;     /* that has come anywhere */
	bool behind;   /* others go before it anywhere */
	bool due;      /* a turn is over anywhere .. */
	bool all_free; /* .. or nobody else has one on any of them */
};

static uint64_t bit(size_t device)
{
	return (uint64_t)1 << device;
}

static struct view look(const struct gp_gangs *gs, struct gp_gang *g)
{
	struct view v = { .all_free = true };

	g->devices = 0;
	for (size_t i = 0; i < gs->devices; i++) {
		struct gp_sched_gang at;

		if (!g->tenant[i])
			continue;
		gp_sched_gang(gs->core[i], g->tenant[i], &at);
		if (at.state == GP_GANG_NONE)
			continue;
		g->devices |= bit(i);
		v.has |= at.state >= GP_GANG_RUNS ? bit(i) : 0;
		v.works |= at.works;
		v.awaited |= at.awaited;
		v.over |= at.state == GP_GANG_OVER;
		v.behind |= at.state == GP_GANG_WAITS;
		v.due |= at.state == GP_GANG_DUE;
		v.all_free &= at.state == GP_GANG_FREE;
	}
	return v;
}

void gp_gang_add(struct gp_gangs *gs, struct gp_gang *g)
{
	struct gp_gang **at = &gs->first;

	while (*at)
		at = &(*at)->next;
	g->next = NULL;
	*at = g;
}

void gp_gang_remove(struct gp_gangs *gs, struct gp_gang *g)
{
	struct gp_gang **at = &gs->first;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
}

/* @g has its turn and is not on all its devices, or the reverse. */
static bool differs(const struct gp_gangs *gs, const struct gp_gang *g, const struct view *v,
		    struct gp_gang_turn *turn)
{
	const uint64_t wrong = g->runs ? g->devices & ~v->has : v->has;

	for (size_t i = 0; i < gs->devices; i++) {
		if (!(wrong & bit(i)))
			continue;
		*turn = (struct gp_gang_turn){ i, g->tenant[i], !g->runs };
		return true;
	}
	return false;
}

static bool is_over(const struct gp_gang *g, const struct view *v)
{
	return v->over || !g->devices || (!v->works && v->awaited);
}

/* Ends turns that are over; true: a core is to know that first, or of a change to its groups. */
static bool end_turns(struct gp_gangs *gs, struct gp_gang_turn *turn)
{
	for (struct gp_gang *g = gs->first, *next; g; g = next) {
		const struct view v = look(gs, g);

		next = g->next;
		if (g->runs && is_over(g, &v)) {
			g->runs = false;
			gp_gang_remove(gs, g);
			gp_gang_add(gs, g);
		}
		g->asks = !g->runs && v.works && !v.behind;
		g->waits_for_turn = !v.due && !v.all_free;
		if (differs(gs, g, &v, turn))
			return true;
	}
	return false;
}

static size_t first_device(uint64_t devices)
{
	return (size_t)__builtin_ctzll(devices);
}

/* By the policy of the first device that both need. */
static bool goes_before(const struct gp_gangs *gs, const struct gp_gang *a, const struct gp_gang *b)
{
	const uint64_t both = a->devices & b->devices;
	const size_t i = both ? first_device(both) : 0;

	return both && gp_sched_gang_before(gs->core[i], a->tenant[i], b->tenant[i]);
}

static bool is_first(const struct gp_gangs *gs, const struct gp_gang *g)
{
	for (const struct gp_gang *o = gs->first; o; o = o->next)
		if (o != g && o->asks && goes_before(gs, o, g))
			return false;
	return true;
}

/* Of those that ask. Where they go before each other in a circle, the longest wait counts. */
static struct gp_gang *first_asking(const struct gp_gangs *gs)
{
	struct gp_gang *longest = NULL;

	for (struct gp_gang *g = gs->first; g; g = g->next) {
		if (!g->asks)
			continue;
		if (is_first(gs, g))
			return g;
		longest = longest ? longest : g;
	}
	return longest;
}

static uint64_t taken(const struct gp_gangs *gs)
{
	uint64_t devices = 0;

	for (const struct gp_gang *g = gs->first; g; g = g->next)
		devices |= g->runs ? g->devices : 0;
	return devices;
}

/* A gang that waits for its turn keeps its devices from the gangs behind it. */
static void begin_turns(struct gp_gangs *gs)
{
	uint64_t kept = taken(gs);
	struct gp_gang *g;

	while ((g = first_asking(gs))) {
		g->asks = false;
		g->runs = !(g->devices & kept) && !g->waits_for_turn;
		kept |= g->devices;
	}
}

bool gp_gang_next(struct gp_gangs *gs, struct gp_gang_turn *turn)
{
	if (!gs->first)
		return false;
	if (end_turns(gs, turn))
		return true;
	begin_turns(gs);
	return end_turns(gs, turn);
}
