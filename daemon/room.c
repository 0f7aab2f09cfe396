// SPDX-License-Identifier: Apache-2.0
/* room.c - chooses the tenant whose memory leaves, and speaks with it. */
#include "daemon/room.h"

#include <errno.h>
#include <string.h>

#include "daemon/daemon_internal.h"
#include "daemon/discover/proc.h"
#include "daemon/memory_turns.h"

#define TENANTS 64
#define AGAIN_NS 250000000u /* between requests to a tenant that is away: it stays there */

/* ---- the choice ---------------------------------------------------------------------- */

/* Its room may come without another request. */
static bool will_come(const struct gp_room_tenant *t)
{
	if (t->moving)
		return t->asked_ns < GP_ROOM_MOVE_NS;
	return t->movable && !t->gave && t->asked_ns < GP_ROOM_BEGIN_NS;
}

/* One that gave a part can give more at once, as long as all its moves may take. */
static bool can_be_asked(const struct gp_room_tenant *t)
{
	return t->movable && !t->moving &&
	       (t->asked_ns >= GP_ROOM_SKIP_NS ||
		(t->away && t->gave && t->since_ns < GP_ROOM_MOVE_NS));
}

static bool goes_before(const struct gp_room_tenant *a, const struct gp_room_tenant *b)
{
	if (a->away != b->away)
		return a->away;
	return a->weight < b->weight || (a->weight == b->weight && a->off_ns > b->off_ns);
}

int gp_room_choose(const struct gp_room_tenant *t, size_t n, bool *may_come)
{
	int best = -1;

	*may_come = false;
	for (size_t i = 0; i < n; i++) {
		if (t[i].may && will_come(&t[i]))
			*may_come = true;
		if (t[i].may && can_be_asked(&t[i]) && (best < 0 || goes_before(&t[i], &t[best])))
			best = (int)i;
	}
	if (*may_come)
		return -1;
	*may_come = best >= 0;
	return best;
}

/* ---- the tenants ----------------------------------------------------------------------- */

/* LC of any user that the rules gave this class, and the tenant's own user. */
static bool may_ask(const struct gp_ddev *dev, const struct gp_conn *conn,
		    const struct gp_dtenant *t)
{
	const struct gp_dtenant *u;

	if (conn->uid == t->who.uid || conn->uid == 0)
		return true;
	for (u = dev->tenants; u; u = u->next)
		if (u->who.pid == conn->pid && u->request.cls.cls == GP_CLASS_LC)
			return true;
	return false;
}

/* Each value of its page is copied once. */
static struct gp_room_tenant facts_of(const struct gp_conn *conn, struct gp_dtenant *t,
				      uint64_t now_ns)
{
	return (struct gp_room_tenant){
		.may = t->conn && t->page && !t->banned && may_ask(t->dev, conn, t),
		.away = t->away.away,
		.moving = t->page && atomic_load_explicit(&t->page->moving, memory_order_acquire),
		.movable = t->page ? atomic_load_explicit(&t->page->movable, memory_order_relaxed) :
				     0,
		.gave = t->page && atomic_load_explicit(&t->page->moved, memory_order_relaxed) !=
					   t->away.room_moved,
		.asked_ns = gp_room_age_ns(t->away.room_ns, now_ns),
		.since_ns = t->away.give_ns ? now_ns - t->away.give_ns : 0,
		.off_ns = t->turn_since_ns ? 0 :
					     gp_room_age_ns(t->turn_end_ns, gp_ddev_now(t->dev)),
		.weight = t->request.cls.value,
	};
}

/* @need: 0: what has left stays away. */
static bool tell(struct gp_dtenant *t, uint64_t need)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_MEMORY);
	msg.memory.leave = 1;
	msg.memory.need = need;
	memcpy(msg.memory.uuid, t->dev->hal->id.uuid, sizeof(msg.memory.uuid));
	return gp_conn_send(t->conn, &msg, NULL, 0);
}

bool gp_room_hold_away(struct gp_dtenant *t, uint64_t now_ns)
{
	const uint64_t age_ns = gp_room_age_ns(t->away.again_ns, now_ns);

	if (!t->away.away || age_ns < AGAIN_NS)
		return true;
	/* Nobody waited for it meanwhile. */
	if (age_ns >= GP_ROOM_BEGIN_NS)
		t->away.give_ns = 0;
	t->away.again_ns = now_ns;
	return tell(t, 0);
}

void gp_room_request(struct gp_dtenant *t, pid_t pid, uint64_t need, uint64_t now_ns)
{
	struct gp_subject who = { 0 };

	if (!t->away.give_ns || gp_room_age_ns(t->away.room_ns, now_ns) >= GP_ROOM_SKIP_NS)
		t->away.give_ns = now_ns;
	t->away.room_moved = atomic_load_explicit(&t->page->moved, memory_order_relaxed);
	t->away.room_ns = t->away.again_ns = now_ns;
	t->away.room_pid = pid;
	memset(t->away.room_comm, 0, sizeof(t->away.room_comm));
	if (!gp_proc_read(pid, &who))
		memcpy(t->away.room_comm, who.comm,
		       strnlen(who.comm, sizeof(t->away.room_comm) - 1));
	gp_proc_clear(&who);
	(void)tell(t, need);
}

/* A failed message ends a tenant, so at most one is sent for each walk of the list. */
static bool hold_all_away(struct gp_ddev *dev, const struct gp_conn *conn, uint64_t now_ns)
{
	for (struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (t->conn && t->conn != conn && may_ask(dev, conn, t) &&
		    !gp_room_hold_away(t, now_ns))
			return false;
	return true;
}

static bool any_comes(const struct gp_room_tenant *t, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= t[i].may && will_come(&t[i]);
	return any;
}

/* Do bytes come from any tenant? If from none yet, ask one for @need; 0: none. */
static bool find_room(struct gp_ddev *dev, const struct gp_conn *conn, uint64_t need)
{
	struct gp_room_tenant facts[TENANTS];
	struct gp_dtenant *tenant[TENANTS];
	const uint64_t now_ns = gp_loop_now_ns();
	bool may_come;
	size_t n = 0;
	int best;

	if (!hold_all_away(dev, conn, now_ns))
		return true;
	for (struct gp_dtenant *t = dev->tenants; t && n < TENANTS; t = t->next) {
		if (!gp_dtenant_is_be(t) || t->conn == conn || t->who.pid == conn->pid)
			continue;
		facts[n] = facts_of(conn, t, now_ns);
		tenant[n++] = t;
	}
	if (!need)
		return any_comes(facts, n);
	best = gp_room_choose(facts, n, &may_come);
	if (best >= 0)
		gp_room_request(tenant[best], conn->pid, need, now_ns);
	return may_come;
}

static bool has_taken_over(const struct gp_daemon *d)
{
	return d->took_over_ns && gp_loop_now_ns() - d->took_over_ns < GP_ROOM_TAKE_OVER_NS;
}

static struct gp_dtenant *that_takes_turns(struct gp_ddev *dev, pid_t pid)
{
	struct gp_dtenant *t = dev->tenants;

	while (t && (t->who.pid != pid || !gp_memory_turns(t)))
		t = t->next;
	return t;
}

static bool room_comes(struct gp_daemon *d, struct gp_ddev *dev, const struct gp_conn *conn,
		       const struct gp_wire_room *msg, uint32_t *moving)
{
	struct gp_dtenant *asks = that_takes_turns(dev, conn->pid);
	bool moves, comes;

	if (asks) {
		comes = gp_memory_turns_ask(d, asks, &moves);
	} else {
		moves = find_room(dev, conn, msg->moving ? 0 : msg->need);
		comes = moves;
	}
	*moving = moves;
	return comes || has_taken_over(d);
}

void gp_room_ask(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_room *msg)
{
	struct gp_ddev *dev = gp_daemon_device(d, msg->uuid);
	union gp_wire_msg out;

	gp_wire_init(&out, GP_WIRE_ROOM);
	memcpy(out.room.uuid, msg->uuid, sizeof(out.room.uuid));
	out.head.result = dev ? 0 : -ENODEV;
	if (dev)
		out.room.may_come = room_comes(d, dev, conn, msg, &out.room.moving);
	gp_conn_send(conn, &out, NULL, 0);
}

static void answer(struct gp_dtenant *t, bool away, int err)
{
	union gp_wire_msg out;

	if (!t->conn)
		return;
	gp_wire_init(&out, GP_WIRE_AWAY);
	out.head.result = err;
	out.away.away = away;
	gp_conn_send(t->conn, &out, NULL, 0);
}

void gp_room_away(struct gp_conn *conn, const struct gp_wire_away *msg)
{
	if (conn->tenant)
		gp_away_set(conn->tenant, msg, answer);
	else
		gp_conn_result(conn, -EINVAL);
}
