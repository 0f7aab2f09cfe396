/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_json.h - writes gpreemptd's records as a trace for Perfetto and Chrome (the Trace
 * Event Format), as they come, in constant memory.
 *
 * Records come out of order: the hardware's are tens of milliseconds late. So each is kept for
 * GP_TRACE_LATE_NS, then all are written in order. A finished hold is known even later; it is
 * an event with a length of its own, which needs no order.
 */
#ifndef GP_CLI_TRACE_JSON_H
#define GP_CLI_TRACE_JSON_H

#include <stdint.h>
#include <stdio.h>

#include "cli/view.h"
#include "wire/wire.h"

#define GP_TRACE_LATE_NS 300000000ull
#define GP_TRACE_KEPT 32768u  /* records at once; beyond that the oldest are written early */
#define GP_TRACE_TENANTS 512u /* tenants at once, with those that left last */

struct gp_trace_json;

struct gp_trace_json_stat {
	uint64_t records; /* that came */
	uint64_t lost;	  /* the daemon's count of records that were read too slowly */
	uint64_t late;	  /* records too late for the order */
	uint64_t crowded; /* records of tenants beyond GP_TRACE_TENANTS */
};

/** @out and @view are borrowed; @view: the tenants at the start. 0 or -ENOMEM. */
int gp_trace_json_open(FILE *out, const struct gp_view *view, struct gp_trace_json **trace);
/**
 * @now_ns: its arrival, by any monotonic clock.
 */
void gp_trace_json_add(struct gp_trace_json *trace, const struct gp_wire_trace_record *record,
		       uint64_t now_ns);
/** @count records were lost. */
void gp_trace_json_lost(struct gp_trace_json *trace, uint64_t count);
/** Write the records due at @now_ns. */
void gp_trace_json_write(struct gp_trace_json *trace, uint64_t now_ns);
/** Write all remaining records, end open spans, and the file. NULL is legal. */
void gp_trace_json_close(struct gp_trace_json *trace, struct gp_trace_json_stat *stat);

#endif
