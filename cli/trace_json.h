/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_json.h - records of gpreemptd as a trace that Perfetto and Chrome open (the
 * Trace Event Format), written as they come, in memory that does not grow.
 *
 * Records come in no good order: the hardware's are tens of milliseconds late. Each
 * is kept for GP_TRACE_LATE_NS, then all are written in order. A finished hold is
 * known only later still; it is an event of its own length, which needs no order.
 */
#ifndef GP_CLI_TRACE_JSON_H
#define GP_CLI_TRACE_JSON_H

#include <stdint.h>
#include <stdio.h>

#include "cli/view.h"
#include "wire/wire.h"

#define GP_TRACE_LATE_NS 300000000ull
#define GP_TRACE_KEPT 32768u  /* records at once; more are written early */
#define GP_TRACE_TENANTS 512u /* of these at once, with those that left last */

struct gp_trace_json;

struct gp_trace_json_stat {
	uint64_t records; /* that came */
	uint64_t lost;	  /* that did not: read too slowly, says the daemon */
	uint64_t late;	  /* that came too late to be written in order */
	uint64_t crowded; /* of tenants that found no room */
};

/** @out and @view are borrowed; @view: who was there when it began. 0 or -ENOMEM. */
int gp_trace_json_open(FILE *out, const struct gp_view *view, struct gp_trace_json **trace);
/** @now_ns: when it came, on any clock that only rises. */
void gp_trace_json_add(struct gp_trace_json *trace, const struct gp_wire_trace_record *record,
		       uint64_t now_ns);
/** @count records did not come. */
void gp_trace_json_lost(struct gp_trace_json *trace, uint64_t count);
/** Write what is due at @now_ns. */
void gp_trace_json_write(struct gp_trace_json *trace, uint64_t now_ns);
/** Write all that is left, end what is open, and the file. NULL is legal. */
void gp_trace_json_close(struct gp_trace_json *trace, struct gp_trace_json_stat *stat);

#endif
