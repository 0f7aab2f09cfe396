/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore.h - put back what a dead daemon may have left: every process that the
 * journal names runs again, with the driver's own slices.
 */
#ifndef GP_DAEMON_RESTORE_H
#define GP_DAEMON_RESTORE_H

#include <stdbool.h>

#include "daemon/journal.h"

struct gp_restore_stat {
	uint32_t processes; /* that live, and were put back */
	uint32_t gone;
	uint32_t failed; /* could not be looked into, or set */
};

/**
 * gp_restore_all() - slices first, of all of a device's groups, then all are
 * resumed: two groups at a short slice would livelock the device. Blocks: some ms
 * a process. Records stay; who has the daemon's role drops them.
 * @classes: those that a driver was told are taken back, too, but of who came itself,
 * and tells its own. Not for a daemon's successor, who tells them anew: latency-
 * critical work would lose its place meanwhile
 */
void gp_restore_all(const struct gp_journal *journal, bool classes, struct gp_restore_stat *stat);

#endif
