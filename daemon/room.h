/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h - memory of best-effort tenants that leaves for an allocation that does not fit. The
 * daemon asks one tenant at a time, and the asking process tries again after each move.
 */
#ifndef GP_DAEMON_ROOM_H
#define GP_DAEMON_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/wire.h"

struct gp_conn;
struct gp_daemon;

#define GP_ROOM_TAKE_OVER_NS 10000000000ull /* a dead daemon's tenants come back within this */
#define GP_ROOM_BEGIN_NS 1000000000ull	    /* a tenant begins to move within this .. */
#define GP_ROOM_SKIP_NS 10000000000ull	    /* .. or is left out until then */
#define GP_ROOM_MOVE_NS 60000000000ull	    /* and has moved within this */

/**
 * struct gp_room_tenant - what the choice goes by.
 * @may: the asking process may let its memory leave
 * @away, @moving, @movable: as its page and the daemon have it
 * @gave: it has moved since the daemon's latest request
 * @asked_ns: age of that request; UINT64_MAX: none since it came back. @since_ns: of the
 *	first one without a pause between
 * @off_ns: since it had a turn
 */
struct gp_room_tenant {
	bool may, away, moving, gave;
	uint64_t movable, asked_ns, since_ns, off_ns;
	uint32_t weight;
};

/**
 * The tenant to ask now; -1: none. First those with memory that is out already, because they are
 * stopped; then the least weight, then the longest without a turn.
 * @may_come: one moves or has been asked, or is asked now.
 */
int gp_room_choose(const struct gp_room_tenant *tenant, size_t n, bool *may_come);

struct gp_dtenant;

/** The time since @at_ns; 0: never, and UINT64_MAX. */
static inline uint64_t gp_room_age_ns(uint64_t at_ns, uint64_t now_ns)
{
	return at_ns ? now_ns - at_ns : UINT64_MAX;
}

/** Ask @tenant for @need bytes of its memory, for the process @pid. A failed message ends it. */
void gp_room_request(struct gp_dtenant *tenant, pid_t pid, uint64_t need, uint64_t now_ns);
/** It comes back when nobody has asked for a second: ask again. False: it has left. */
bool gp_room_hold_away(struct gp_dtenant *tenant, uint64_t now_ns);
/** Answer GP_WIRE_ROOM. */
void gp_room_ask(struct gp_daemon *d, struct gp_conn *conn, const struct gp_wire_room *msg);
/** Answer GP_WIRE_AWAY. */
void gp_room_away(struct gp_conn *conn, const struct gp_wire_away *msg);

#endif
