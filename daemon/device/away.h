/* SPDX-License-Identifier: Apache-2.0 */
/*
 * away.h - a tenant whose memory is off the device, or moves. None of its groups may run, so the
 * core has none of them. Its mover's groups copy the memory. They run beside all turns, if the
 * daemon asked for that memory, and for a limited time; else at the tenant's turns.
 */
#ifndef GP_DAEMON_AWAY_H
#define GP_DAEMON_AWAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/supervise/journal.h"
#include "wire/wire.h"

struct gp_dtenant;

#define GP_AWAY_ASKED_NS 10000000000ull	 /* an answer to the daemon's request comes within this */
#define GP_AWAY_BESIDE_NS 60000000000ull /* a mover's time beside all turns, out and back */

/**
 * struct gp_away - a tenant's part
 * @away: its memory moves, or is off the device
 * @asked: the daemon asked for that
 * @pending: a request of the tenant's is not answered
 * @keep: its mover's groups
 * @left_ns: time that these may still run beside all turns
 * @beside_since_ns: they do so since then; 0: not
 * @since_ns: away since then
 * @room_ns: when the daemon asked last; 0: not since it came back. @again_ns: also while away.
 *	Both are of gp_loop_now_ns(), because the process counts the machine's time
 * @give_ns: it has given memory since then, while others waited for it; @room_moved: its page's
 *	moved at room_ns
 * @room_pid, @room_comm: the process that needed room.
 * @in_turns: it takes turns (memory_turns.h)
 * @served: the part of them that it had
 * @waits_ns: an allocation of its asked for room then; 0: never
 * @late_ns: it did not come back for long, as of then
 */
struct gp_away {
	bool away, asked, pending;
	uint32_t keep[GP_WIRE_KEEP_MAX], count;
	uint64_t left_ns, beside_since_ns, since_ns;
	uint64_t room_ns, again_ns, give_ns, room_moved;
	bool in_turns;
	uint64_t served, waits_ns, late_ns;
	pid_t room_pid;
	char room_comm[GP_WIRE_COMM_LEN];
};

/**
 * gp_away_set() - as GP_WIRE_AWAY asks. @answer comes once, now or when all is executed, unless
 * the tenant has left; its values are those of the message. The journal has it by then.
 */
void gp_away_set(struct gp_dtenant *tenant, const struct gp_wire_away *msg,
		 void (*answer)(struct gp_dtenant *tenant, bool away, int err));
/** What its record says. */
enum gp_journal_away gp_away_record(const struct gp_dtenant *tenant);
/** It joins, and has its groups: away as @how says. */
void gp_away_joined(struct gp_dtenant *tenant, enum gp_journal_away how);
/** It joins with its memory, but may have been suspended for the sake of it: run its groups. */
void gp_away_back(struct gp_dtenant *tenant);
/**
 * Its groups, or those that it calls its mover's, may be others now. These have nothing to do
 * while no memory moves, and would waste the turns of best-effort: they run aside.
 */
void gp_away_movers(struct gp_dtenant *tenant);
/** Such a group had work: its process is not believed any more. */
void gp_away_movers_ran(struct gp_dtenant *tenant);
/** It has other groups now. */
void gp_away_follow(struct gp_dtenant *tenant);
/** Once a second: its mover's time may be over. */
void gp_away_check(struct gp_dtenant *tenant);
/** Does its mover run at its turns? It does not report its work. */
bool gp_away_takes_turns(const struct gp_dtenant *tenant);

#endif
