/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - where gp_log() goes in gpreemptd: a line each to stderr; with sd-daemon's
 * levels ("<6>") where that is not a terminal.
 */
#ifndef GP_DAEMON_LOG_H
#define GP_DAEMON_LOG_H

#include "runtime/log.h"

/**
 * gp_daemon_log() - from now on, what is of @level (enum gp_log_level) or worse.
 * @role: what stands before it: "", "keeper: "; static
 */
void gp_daemon_log(const char *role, int level);
/** Another level, the same role. */
void gp_daemon_log_level(int level);

#endif
