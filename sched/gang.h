/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gang.h - gangs: best-effort tenants whose turns begin and end on all their devices at once.
 *
 * Each device has a core of its own. Its policy decides whether a gang goes before the others
 * there. A gang's turn begins when that holds on all its devices, and on one of them a turn is
 * over; turns on the others end early. It ends when it is over on one of them.
 */
#ifndef GP_SCHED_GANG_H
#define GP_SCHED_GANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/sched.h"

#define GP_GANG_DEVICES 16

/**
 * struct gp_gang - The host links it and fills in @tenant; the rest is gp_gang_next()'s.
 * @tenant: one of its tenants on each device, by the core's id; 0: none
 * @devices: bits of the devices where it could run
 * @runs: it has its turn
 * @asks: it could have one, if no other gang were there
 * @waits_for_turn: it is first on all its devices, but no turn of another is over
 */
struct gp_gang {
	struct gp_gang *next;
	uint32_t tenant[GP_GANG_DEVICES];
	uint64_t devices;
	bool runs, asks, waits_for_turn;
};

/** @first: the gang that waits longest, and so on; @core: borrowed, of each device. */
struct gp_gangs {
	struct gp_gang *first;
	const struct gp_sched *core[GP_GANG_DEVICES];
	size_t devices;
};

/* For a GP_EV_TURN. */
struct gp_gang_turn {
	size_t device;
	uint32_t tenant;
	bool ends;
};

/**
 * gp_gang_next() - The next turn that is to begin or to end. The host sends it to the device's
 * core and asks again, until the answer is false, after each step of a core.
 */
bool gp_gang_next(struct gp_gangs *gangs, struct gp_gang_turn *turn);

/** @gang comes last. */
void gp_gang_add(struct gp_gangs *gangs, struct gp_gang *gang);
void gp_gang_remove(struct gp_gangs *gangs, struct gp_gang *gang);

#endif
