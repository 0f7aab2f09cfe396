/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.h - requests of the verbs to gpreemptd. Answers are checked, and their texts end. */
#ifndef GP_CLI_DAEMON_H
#define GP_CLI_DAEMON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/class.h"
#include "wire/wire.h"

/**
 * Send @msg, and wait for one answer, into @msg: of @type, or GP_WIRE_SAID. 0: check
 * head.type; -ETIMEDOUT, -ECONNRESET, -EPROTO, other negative errno: no answer, and @fd is
 * useless now.
 */
int gp_daemon_ask(int fd, union gp_wire_msg *msg, enum gp_wire_type type);

/**
 * Send @request; call @row for each answer of @type up to the daemon's last one. 0 or negative
 * errno, as gp_daemon_ask().
 */
int gp_daemon_list(int fd, enum gp_wire_type request, enum gp_wire_type type,
		   int (*row)(void *arg, const union gp_wire_msg *msg), void *arg);

/** The cause of an error of gp_wire_daemon_connect() or of these, and the next step. */
const char *gp_daemon_reason(int err);

/** Print one line for an error of gp_wire_daemon_connect() or of these. GP_EXIT_OWN. */
int gp_fail_daemon(const char *verb, int err);

/** In the form that users write. */
void gp_daemon_class(const struct gp_wire_request *request, char *buf, size_t len);

#endif
