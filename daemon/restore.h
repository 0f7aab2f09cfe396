/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore.h - put back what a dead daemon may have left: every process that the
 * journal names runs again, with the driver's own slices.
 */
#ifndef GP_DAEMON_RESTORE_H
#define GP_DAEMON_RESTORE_H

#include "daemon/journal.h"

struct gp_restore_stat {
	uint32_t processes;		/* that live, and were put back */
	uint32_t gone;
	uint32_t failed;		/* could not be looked into, or set */
};

/**
 * gp_restore_all() - slices first, of all of a device's groups, then all are
 * resumed: two groups at a short slice would livelock the device. Blocks: some ms
 * a process. Records stay; who has the daemon's role drops them.
 */
void gp_restore_all(const struct gp_journal *journal, struct gp_restore_stat *stat);

#endif
