/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gangs.h - gangs of tenants, whose turns begin and end on all devices at once (sched/gang.h). A
 * process is one, or with as: one the processes of a cgroup.
 */
#ifndef GP_DAEMON_GANGS_H
#define GP_DAEMON_GANGS_H

#include <stdbool.h>

#include "gpreempt/hal.h"
#include "sched/gang.h"

struct gp_ddev;
struct gp_dgang;
struct gp_dtenant;

/** All devices, and the gangs on them. Belongs to the loop. */
struct gp_dgangs {
	struct gp_gangs core;
	struct gp_ddev *dev[GP_HAL_MAX_DEVICES];
	bool busy;
};

/** @dev is the next one, by its number. Tenants come later. */
void gp_dgangs_add(struct gp_dgangs *gangs, struct gp_ddev *dev);
/** @tenant is in its gang from now on, or in none. 0 or -ENOMEM, and it is in none. */
int gp_dgang_set(struct gp_dtenant *tenant, bool is_one);
/** Its class or its groups may be others now. NULL is legal. */
void gp_dgang_refresh(struct gp_dgang *gang);
/** A core made a step: turns that are to begin or end do so. NULL is legal. */
void gp_dgangs_follow(struct gp_dgangs *gangs);
/** With gangs, a virtual clock stands while a device works. NULL is legal. */
bool gp_dgangs_work(const struct gp_dgangs *gangs);
/** A device's work is over: let a virtual clock go on. NULL is legal. */
void gp_dgangs_let_go(struct gp_dgangs *gangs);

#endif
