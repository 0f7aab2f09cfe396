/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - what the hardware ran and what was decided, to whoever reads along. A
 * reader that is slow loses records, and is told how many; nobody waits for it.
 */
#ifndef GP_DAEMON_TRACE_H
#define GP_DAEMON_TRACE_H

#include <stdbool.h>

#include "daemon/loop.h"
#include "wire/wire.h"

struct gp_trace;

int gp_trace_create(struct gp_loop *loop, struct gp_trace **trace);
/** NULL is legal; closes its readers' connections. */
void gp_trace_destroy(struct gp_trace *trace);
/**
 * From now on @fd, a connection, gets GP_WIRE_TRACED, and is closed in the end, or
 * when its peer says anything. 0; -EUSERS: too many read; other negative errno: it
 * is the caller's still.
 */
int gp_trace_reader(struct gp_trace *trace, int fd);
/** Do as many read as may at once? */
bool gp_trace_full(const struct gp_trace *trace);
/** Does anybody read? What costs something to find out need not be, else. */
bool gp_trace_wanted(const struct gp_trace *trace);
void gp_trace_add(struct gp_trace *trace, const struct gp_wire_trace_record *record);

#endif
