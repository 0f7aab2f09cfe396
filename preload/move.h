/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move.h - the mover: a thread that owns all moves. It has a context of its own: a thread of the
 * program that is blocked in a launch holds the lock of the program's. mover.c decides for
 * it, move.c copies, and idle.c is for memory that leaves an idle program.
 *
 * Only that thread calls these, but for gp_mover_wake().
 */
#ifndef GP_PRELOAD_MOVE_H
#define GP_PRELOAD_MOVE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** With gp_memory.lock held. */
#define GP_EACH_PIECE(p) for (struct gp_memory_piece *p = NULL; (p = gp_memory_next(p));)

/* move.c */

/** Make its context, stream and events. 0 or CUDA's error. */
int gp_move_begin(void);
/** CLOCK_REALTIME so long from now, for a wait. */
struct timespec gp_move_after(uint64_t ns);
/** Calls that come from now on wait. gp_memory.lock held, as in the next three. */
void gp_move_shut(void);
void gp_move_open(void);
/**
 * @bytes leave, and the rest of the last part. 0, or negative errno: memory stays, and that which
 * is out comes back, at once or later.
 */
int gp_move_out(uint64_t bytes);
/** All that is out comes back, or nothing. */
void gp_move_in(void);

/* idle.c */

/** The memory that is out left so. */
bool gp_idle_is_out(void);
/** And a call waits for it. */
bool gp_idle_is_needed(void);
/** To the moment at which the program may be idle for long enough; 0: now. */
uint64_t gp_idle_until_ns(void);
bool gp_idle_is_due(void);
/** If the program is idle, its memory leaves. 0, also if it is not; or as gp_move_out(). */
int gp_idle_out(void);
/** As for an allocation that does not fit. */
void gp_idle_make_room(void);
/** If there is room, its memory comes back. gp_memory.lock held. */
void gp_idle_in(void);
/**
 * Before each part that leaves: if nobody waits for that, other processes' way back goes first. A
 * call of the program's own sets @left, the bytes that are still to leave, to 0. @yields: 0 at
 * first.
 */
void gp_idle_give_way(uint64_t *left, unsigned int *yields);

/* mover.c */

/** Any thread. */
void gp_mover_wake(void);

#endif
