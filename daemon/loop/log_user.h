/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_user.h - messages that a user can cause at will: a limited number of each kind in a
 * minute. The others are counted, and their number is logged. For the loop's thread.
 */
#ifndef GP_DAEMON_LOG_USER_H
#define GP_DAEMON_LOG_USER_H

#include <stdint.h>
#include <sys/types.h>

#include "runtime/log.h"

/* Kinds of messages; the value is their number in a minute. */
enum gp_log_kind {
	GP_LOG_REFUSALS = 10,
	GP_LOG_JOINS = 100,
};

/** gp_log(), unless @uid caused too many of this kind within a minute. */
void gp_log_user(uid_t uid, enum gp_log_kind kind, enum gp_log_level level, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/** Log the numbers of messages left out in minutes that are over by @now_ns. */
void gp_log_user_flush(uint64_t now_ns);

#endif
