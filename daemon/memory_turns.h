/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_turns.h - best-effort tenants whose memory does not fit together take turns on the device
 * (run --mem-turns). One that waits has no memory there, or an allocation of its does not fit.
 *
 * Each tenant is served while its memory is there, by its part of the weights that are. The
 * most served one leaves when it is a turn ahead of the one that waits, so shares follow the
 * weights. A turn is so long that the moves take a tenth of the time at most.
 */
#ifndef GP_DAEMON_MEMORY_TURNS_H
#define GP_DAEMON_MEMORY_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_daemon;
struct gp_ddev;
struct gp_dtenant;

#define GP_MEMORY_TURN_MIN_NS 1000000000ull
#define GP_MEMORY_TURN_MAX_NS 120000000000ull

/**
 * struct gp_memory_turn - what the choice goes by.
 * @bytes: that can leave, or are out
 * @moved, @move_ns: by all its moves
 * @served: time by its weight, in 1/1024 ns
 * @here: on the device, and does not move
 * @waits: for an allocation: it leaves without being ahead, or two could wait for each other
 */
struct gp_memory_turn {
	uint64_t bytes, moved, move_ns, served;
	uint32_t weight;
	bool here, waits;
};

/** The length by which a tenant is ahead, before memory of @a and @b changes places; in ns. */
uint64_t gp_memory_turn_ns(const struct gp_memory_turn *a, const struct gp_memory_turn *b);
/** Which of @n tenants leaves now for the one with the number @waits; -1: none yet. */
int gp_memory_turn_choose(const struct gp_memory_turn *tenant, size_t n, size_t waits);
/** All that are here were served for @ns; nobody falls behind by more than two turns. */
void gp_memory_turn_serve(struct gp_memory_turn *tenant, size_t n, uint64_t ns);

/** Does @tenant take turns? */
bool gp_memory_turns(const struct gp_dtenant *tenant);
/** An allocation of @tenant does not fit. May room come? @moving: another's memory moves now. */
bool gp_memory_turns_ask(struct gp_daemon *d, struct gp_dtenant *tenant, bool *moving);
/** Begin turns where tenants wait. Every second. */
void gp_memory_turns_check(struct gp_daemon *d);
int gp_memory_turns_open(struct gp_daemon *d);
void gp_memory_turns_close(struct gp_daemon *d);

#endif
