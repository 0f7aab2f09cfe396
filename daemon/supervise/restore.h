/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore.h - restore the processes that a dead daemon may have changed. Every process in the
 * journal runs again, with the driver's own slices.
 */
#ifndef GP_DAEMON_RESTORE_H
#define GP_DAEMON_RESTORE_H

#include <stdbool.h>

#include "daemon/supervise/journal.h"

struct gp_restore_stat {
	uint32_t processes; /* living processes that were restored */
	uint32_t gone;
	uint32_t failed; /* not accessible, or not set */
};

/**
 * gp_restore_all() - first sets the slices of all of a device's groups, then resumes all: two
 * groups at a short slice would livelock the device. Blocks: some ms per process. Records
 * remain; the daemon's role drops them.
 * @classes: also reset classes in a driver, except those of tenants that connected, which
 *	set their own. Not for a daemon's successor, which sets them again: latency-critical
 *	work would lose its place meanwhile
 */
void gp_restore_all(const struct gp_journal *journal, bool classes, struct gp_restore_stat *stat);

#endif
