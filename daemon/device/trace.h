/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - passes the hardware's activity and the daemon's decisions to readers. A slow
 * reader loses records, and gets their number. The daemon never waits for it.
 */
#ifndef GP_DAEMON_TRACE_H
#define GP_DAEMON_TRACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/loop/loop.h"
#include "wire/wire.h"

struct gp_trace;

int gp_trace_create(struct gp_loop *loop, struct gp_trace **trace);
/** NULL is legal; closes its readers' connections. */
void gp_trace_destroy(struct gp_trace *trace);
/**
 * From now on the connection @fd of user @uid gets GP_WIRE_TRACED. Its peer cannot send any
 * more. It is closed at the end, or when its peer closes it. Nothing unread may be in it. If all
 * places are taken, it replaces the oldest reader of the user with the most.
 * 0; -EUSERS: gp_trace_full(); other negative errno: it remains the caller's.
 */
int gp_trace_reader(struct gp_trace *trace, int fd, uid_t uid);
/** Are all places taken, and none of them by a user with more readers than @uid would have? */
bool gp_trace_full(const struct gp_trace *trace, uid_t uid);
/** Is there a reader? Else the daemon can skip expensive records. */
bool gp_trace_wanted(const struct gp_trace *trace);
void gp_trace_add(struct gp_trace *trace, const struct gp_wire_trace_record *record);

#endif
