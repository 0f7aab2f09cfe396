/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - the target of gp_log() in gpreemptd: a line each to stderr; with sd-daemon's levels
 * ("<6>") unless that is a terminal.
 */
#ifndef GP_DAEMON_LOG_H
#define GP_DAEMON_LOG_H

#include <stdatomic.h>
#include <stdint.h>

#include "runtime/log.h"

/**
 * gp_daemon_log() - log messages of @level (enum gp_log_level) or more severe.
 * @role: their prefix: "", "keeper: "; static
 */
void gp_daemon_log(const char *role, int level);
/** Another level, the same role. */
void gp_daemon_log_level(int level);

/** For gp_log_shortage(). */
void gp_log_shortage_at(_Atomic uint64_t *last_ns, int err, const char *text);

/**
 * Log that files or memory ran out: @text and @err, once a minute for each place in the code.
 * Nothing for another @err, 0 included: a missing file of /proc is no shortage.
 */
#define gp_log_shortage(err, text)                       \
	do {                                             \
		static _Atomic uint64_t last_ns;         \
		gp_log_shortage_at(&last_ns, err, text); \
	} while (0)

#endif
