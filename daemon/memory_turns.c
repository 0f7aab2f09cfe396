// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_turns.h"

#include "daemon/daemon_internal.h"
#include "daemon/room.h"

#define TENANTS 64
#define STEP_NS 50000000u
#define STEP_MAX_NS 1000000000u /* is counted of a step */
#define WAITS_NS 1000000000u	/* since the last request of an allocation: it waits */
#define ALONE_NS \
	1500000000u /* since the last request to a tenant: it comes back if there is room */
#define COMES_NS 10000000000u /* for the way back, beside the moves */
#define LATER_NS 10000000000u /* then another may come */
#define BYTES_PER_NS 25	      /* of a link, before there was a move */
#define COST_HALVES 11	      /* twice 5.5 moves: a turn of two tenants takes two such lengths */
#define SERVED_PER_NS 1024u

/* ---- the choice ------------------------------------------------------------------------ */

uint64_t gp_memory_turn_ns(const struct gp_memory_turn *a, const struct gp_memory_turn *b)
{
	const uint64_t moved = a->moved + b->moved, bytes = a->bytes + b->bytes;
	const double per_byte = moved ? (double)(a->move_ns + b->move_ns) / (double)moved :
					1.0 / BYTES_PER_NS;
	const double ns = per_byte * (double)bytes * COST_HALVES / 2;

	/* The figures are the tenants' own. */
	if (ns > GP_MEMORY_TURN_MAX_NS)
		return GP_MEMORY_TURN_MAX_NS;
	return ns > GP_MEMORY_TURN_MIN_NS ? (uint64_t)ns : GP_MEMORY_TURN_MIN_NS;
}

/* By how much the more served of two is ahead when their memory changes places. */
static uint64_t ahead(const struct gp_memory_turn *a, const struct gp_memory_turn *b)
{
	const uint32_t least = a->weight < b->weight ? a->weight : b->weight;

	return gp_memory_turn_ns(a, b) * SERVED_PER_NS / (least ? least : 1);
}

static bool may_leave(const struct gp_memory_turn *t, const struct gp_memory_turn *waits)
{
	const uint64_t lead = t->waits ? 0 : ahead(t, waits);

	return t->here && t->bytes && t->served >= waits->served + lead;
}

int gp_memory_turn_choose(const struct gp_memory_turn *t, size_t n, size_t waits)
{
	int most = -1;

	for (size_t i = 0; i < n; i++)
		if (i != waits && may_leave(&t[i], &t[waits]) &&
		    (most < 0 || t[i].served > t[most].served))
			most = (int)i;
	return most;
}

static bool is_served(const struct gp_memory_turn *t)
{
	return t->here && !t->waits;
}

void gp_memory_turn_serve(struct gp_memory_turn *t, size_t n, uint64_t ns)
{
	uint64_t weights = 0;

	for (size_t i = 0; i < n; i++)
		weights += is_served(&t[i]) ? t[i].weight : 0;
	for (size_t i = 0; weights && i < n; i++)
		t[i].served += is_served(&t[i]) ? ns * SERVED_PER_NS / weights : 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			if (t[k].served > t[i].served + 2 * ahead(&t[i], &t[k]))
				t[i].served = t[k].served - 2 * ahead(&t[i], &t[k]);
}

/* ---- the tenants of a device ------------------------------------------------------------- */

struct turns {
	struct gp_dtenant *tenant[TENANTS];
	struct gp_memory_turn turn[TENANTS];
	size_t n;
	uint64_t now_ns;
};

bool gp_memory_turns(const struct gp_dtenant *t)
{
	return t->conn && t->page && !t->banned && gp_dtenant_is_be(t) &&
	       atomic_load_explicit(&t->page->takes_turns, memory_order_relaxed);
}

/* By its page, which may lie. */
static bool says_it_moves(const struct gp_dtenant *t)
{
	return atomic_load_explicit(&t->page->moving, memory_order_acquire);
}

/* Since a request to leave, and no longer than a move may take. */
static bool is_leaving(const struct gp_dtenant *t, uint64_t now_ns)
{
	const uint64_t ns = gp_room_age_ns(t->away.room_ns, now_ns);

	return says_it_moves(t) ? ns < GP_ROOM_MOVE_NS : !t->away.away && ns < GP_ROOM_BEGIN_NS;
}

static bool allocation_waits(const struct gp_dtenant *t, uint64_t now_ns)
{
	return gp_room_age_ns(t->away.waits_ns, now_ns) < WAITS_NS;
}

static void add(struct turns *s, struct gp_dtenant *t)
{
	gp_dtenant_memory(t);
	s->tenant[s->n] = t;
	s->turn[s->n++] = (struct gp_memory_turn){
		.bytes = t->memory.movable + t->memory.out,
		.moved = t->memory.moved,
		.move_ns = t->memory.move_ns,
		.served = t->away.served,
		.weight = t->request.cls.value,
		.here = !t->away.away && !is_leaving(t, s->now_ns),
		.waits = allocation_waits(t, s->now_ns),
	};
}

/* A new one begins where the least served is. */
static void begin_new(struct turns *s)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < s->n; i++)
		if (s->tenant[i]->away.in_turns && s->turn[i].served < least)
			least = s->turn[i].served;
	for (size_t i = 0; i < s->n; i++) {
		if (!s->tenant[i]->away.in_turns)
			s->turn[i].served = least == UINT64_MAX ? 0 : least;
		s->tenant[i]->away.in_turns = true;
	}
}

static void collect(struct turns *s, struct gp_ddev *dev)
{
	s->n = 0;
	s->now_ns = gp_loop_now_ns();
	for (struct gp_dtenant *t = dev->tenants; t && s->n < TENANTS; t = t->next)
		if (gp_memory_turns(t))
			add(s, t);
	begin_new(s);
}

static void serve(struct turns *s, struct gp_ddev *dev)
{
	const uint64_t ns = dev->turns.step_ns ? s->now_ns - dev->turns.step_ns : 0;

	dev->turns.step_ns = s->now_ns;
	gp_memory_turn_serve(s->turn, s->n, ns < STEP_MAX_NS ? ns : STEP_MAX_NS);
	for (size_t i = 0; i < s->n; i++)
		s->tenant[i]->away.served = s->turn[i].served;
}

/* Is its memory out, and nobody else's request the cause? Then there is no room for it. */
static bool waits_outside(const struct gp_dtenant *t, uint64_t now_ns)
{
	return t->away.away && !says_it_moves(t) &&
	       gp_room_age_ns(t->away.again_ns, now_ns) >= ALONE_NS;
}

static bool waits(const struct gp_dtenant *t, uint64_t now_ns)
{
	return (allocation_waits(t, now_ns) || waits_outside(t, now_ns)) &&
	       gp_room_age_ns(t->away.late_ns, now_ns) >= LATER_NS;
}

/* ---- a change of places ------------------------------------------------------------------ */

static int number_of(const struct turns *s, uint32_t id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->tenant[i]->id == id)
			return (int)i;
	return -1;
}

/* The least served tenant of those that wait; -1: none. */
static int next_of(const struct turns *s)
{
	int next = -1;

	for (size_t i = 0; i < s->n; i++)
		if (waits(s->tenant[i], s->now_ns) &&
		    (next < 0 || s->turn[i].served < s->turn[next].served))
			next = (int)i;
	return next;
}

static bool has_come(const struct turns *s, int coming)
{
	const struct gp_dtenant *t = s->tenant[coming];

	return !t->away.away && !allocation_waits(t, s->now_ns);
}

/* Is it to come still? If it does not for long, that was its turn: it may never fit. */
static bool still_comes(struct turns *s, struct gp_ddev *dev, int coming)
{
	struct gp_dtenant *t = s->tenant[coming];
	struct gp_memory_turn *turn = &s->turn[coming];
	const uint64_t ns = gp_memory_turn_ns(turn, turn);

	if (has_come(s, coming))
		return false;
	if (s->now_ns - dev->turns.coming_ns < COMES_NS + ns)
		return true;
	t->away.late_ns = s->now_ns;
	turn->served = t->away.served += 2 * ahead(turn, turn);
	return false;
}

static bool any_leaves(const struct turns *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_leaving(s->tenant[i], s->now_ns))
			return true;
	return false;
}

/* Those that left for it come back only after it. */
static void hold_others(const struct turns *s, int coming)
{
	for (size_t i = 0; i < s->n; i++)
		if ((int)i != coming && !gp_room_hold_away(s->tenant[i], s->now_ns))
			return;
}

static void change_places(struct turns *s, struct gp_ddev *dev)
{
	int coming = number_of(s, dev->turns.coming), leaves = -1;

	if (coming >= 0 && !still_comes(s, dev, coming))
		coming = -1;
	if (coming < 0) {
		dev->turns.coming = 0;
		coming = next_of(s);
	}
	if (coming < 0)
		return;
	if (!any_leaves(s) && !says_it_moves(s->tenant[coming]))
		leaves = gp_memory_turn_choose(s->turn, s->n, (size_t)coming);
	if (leaves >= 0) {
		if (!dev->turns.coming)
			dev->turns.coming_ns = s->now_ns;
		dev->turns.coming = s->tenant[coming]->id;
		gp_room_request(s->tenant[leaves], s->tenant[coming]->who.pid, UINT64_MAX,
				s->now_ns);
	} else if (dev->turns.coming) {
		hold_others(s, coming);
	}
}

/* Does anybody wait? */
static bool step(struct gp_ddev *dev)
{
	struct turns s;
	bool any = false;

	collect(&s, dev);
	for (size_t i = 0; i < s.n; i++)
		any |= s.tenant[i]->away.away || allocation_waits(s.tenant[i], s.now_ns);
	if (!any || s.n < 2) {
		dev->turns.step_ns = 0;
		return false;
	}
	serve(&s, dev);
	change_places(&s, dev);
	return true;
}

/* ---- the daemon's part --------------------------------------------------------------------- */

void gp_memory_turns_check(struct gp_daemon *d)
{
	bool any = false;

	for (size_t i = 0; i < d->devs; i++)
		any |= step(d->dev[i]);
	if (any)
		gp_tick_in(&d->memory_turns, STEP_NS);
}

/* Has it memory on the device, at least for now? */
static bool may_give(const struct gp_dtenant *t, const struct gp_memory_turn *turn)
{
	return turn->bytes && (!t->away.away || says_it_moves(t));
}

bool gp_memory_turns_ask(struct gp_daemon *d, struct gp_dtenant *t, bool *moving)
{
	struct turns s;
	bool others = false;

	t->away.waits_ns = gp_loop_now_ns();
	collect(&s, t->dev);
	*moving = any_leaves(&s);
	for (size_t i = 0; i < s.n; i++)
		others |= s.tenant[i] != t && may_give(s.tenant[i], &s.turn[i]);
	if (!t->dev->turns.step_ns)
		gp_tick_in(&d->memory_turns, STEP_NS);
	return others;
}

static void turns_due(struct gp_tick *tick)
{
	gp_memory_turns_check(gp_holder(tick, struct gp_daemon, memory_turns));
}

int gp_memory_turns_open(struct gp_daemon *d)
{
	d->memory_turns.due = turns_due;
	return gp_tick_add(d->loop, &d->memory_turns);
}

void gp_memory_turns_close(struct gp_daemon *d)
{
	gp_tick_remove(&d->memory_turns);
}
