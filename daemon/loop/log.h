/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - the target of gp_log() in gpreemptd: a line each to stderr; with sd-daemon's levels
 * ("<6>") unless that is a terminal.
 */
#ifndef GP_DAEMON_LOG_H
#define GP_DAEMON_LOG_H

#include "runtime/log.h"

/**
 * gp_daemon_log() - log messages of @level (enum gp_log_level) or more severe.
 * @role: their prefix: "", "keeper: "; static
 */
void gp_daemon_log(const char *role, int level);
/** Another level, the same role. */
void gp_daemon_log_level(int level);

#endif
