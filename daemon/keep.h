/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.h - the daemon and two keepers, which watch each other: whichever dies is
 * started anew by another one. They share the journal and the listening socket,
 * and nothing else: all that a keeper needs to put tenants back is the journal
 * and the right to look into their processes, which it has as the daemon had it.
 *
 * What `gpreemptd` starts as is the keeper; the daemon and the second keeper are
 * its children, by exec of the same program. A daemon that is not ready 2 s after
 * the last one died has everything put back in its stead (restore.h).
 */
#ifndef GP_DAEMON_KEEP_H
#define GP_DAEMON_KEEP_H

#include "daemon/journal.h"
#include "daemon/loop.h"

struct gp_keep;

/** In the daemon: watch the keepers from now on. 0 or negative errno. */
int gp_keep_watch(struct gp_keep *keep, struct gp_loop *loop);
/** And no longer: they are to end with this process. NULL is legal. */
void gp_keep_unwatch(struct gp_keep *keep);

#endif
