/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon.h - what the verbs ask of gpreemptd. Its answers are checked, and their
 * texts end.
 */
#ifndef GP_CLI_DAEMON_H
#define GP_CLI_DAEMON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/class.h"
#include "wire/wire.h"

/**
 * Send @msg, and wait for the one answer, into @msg: of @type, or GP_WIRE_SAID.
 * 0: look at head.type; -ETIMEDOUT, -ECONNRESET, -EPROTO, other negative errno: there
 * is none, and @fd is of no more use.
 */
int gp_daemon_ask(int fd, union gp_wire_msg *msg, enum gp_wire_type type);

/**
 * Send @request; each answer of @type goes to @row, until the daemon says that there
 * are no more. 0 or negative errno, as gp_daemon_ask().
 */
int gp_daemon_list(int fd, enum gp_wire_type request, enum gp_wire_type type,
		   int (*row)(void *arg, const union gp_wire_msg *msg), void *arg);

/** One line for what gp_wire_daemon_connect() or one of these said. GP_EXIT_OWN. */
int gp_fail_daemon(const char *verb, int err);

/** As users write it. */
void gp_daemon_class(const struct gp_wire_request *request, char *buf, size_t len);

#endif
