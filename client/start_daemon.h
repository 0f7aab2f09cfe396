/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_daemon.h - starts the user's own gpreemptd, for `gpreempt run`. A best-effort process
 * that finds the short slice taken needs one, and no other does. All calls but the first are for
 * the library's thread.
 */
#ifndef GP_CLIENT_START_DAEMON_H
#define GP_CLIENT_START_DAEMON_H

#include <stdbool.h>

#define GP_START_DAEMON_ENV "GPREEMPT_START_DAEMON"
#define GP_START_DAEMON_IDLE "10s" /* it ends after this time without use */

/** Copies what it needs of the environment. Without GP_START_DAEMON_ENV no daemon is started. */
void gp_start_daemon_setup(void);
/**
 * There is no daemon, and this process needs one. True: one has been started and is not there
 * yet, so look again soon. False: none can be started; the reason was logged.
 */
bool gp_start_daemon(void);
/** There is one, started by this process or another: its successor may be started at once. */
void gp_start_daemon_found(void);

#endif
