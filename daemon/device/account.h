/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - sums of a device's tenants, by container or job. They outlast the tenants, so that
 * no sum falls.
 */
#ifndef GP_DAEMON_ACCOUNT_H
#define GP_DAEMON_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/config/container.h"
#include "runtime/job.h"

#define GP_ACCOUNTS_MAX 512u /* of a device; then the one ended first joins the one without names */

/* "": none. All "": of processes without a container or a job. */
struct gp_account_names {
	char namespace[GP_CONTAINER_VALUE_MAX + 1];
	char pod[GP_CONTAINER_VALUE_MAX + 1];
	char container[GP_CONTAINER_VALUE_MAX + 1];
	char job[GP_JOB_LEN]; /* of Slurm */
};

/**
 * struct gp_account
 * @tenants: that add to it now
 * @ended: order of the ends of its last tenants
 * @used_ns: time on the device
 * @waited_ns: from having work to a turn, or from requesting the device to having it
 * @held_ns: of holds
 * @preempted: turns that ended before the work did
 * @moves, @moved, @move_ns: as struct gp_wire_memory_figures
 */
struct gp_account {
	struct gp_account *next;
	struct gp_account_names names;
	uint32_t tenants;
	uint64_t ended;
	uint64_t used_ns, waited_ns, held_ns, turns, preempted, moves, moved, move_ns;
};

struct gp_accounts {
	struct gp_account *first;
	size_t count;
	uint64_t ends;
};

/** The account of @names, with one more tenant. NULL: out of memory. */
struct gp_account *gp_account_get(struct gp_accounts *all, const struct gp_account_names *names);
/** The tenant has left. NULL is legal. */
void gp_account_put(struct gp_accounts *all, struct gp_account *account);
/** Without tenants. */
void gp_accounts_clear(struct gp_accounts *all);

#endif
