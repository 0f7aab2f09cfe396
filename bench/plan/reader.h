/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - inside bench/plan: what a workload is made of, and the first thing that
 * was wrong with it. Every function says by false that something was.
 */
#ifndef GP_BENCH_PLAN_READER_H
#define GP_BENCH_PLAN_READER_H

#include <stdbool.h>

#include "bench/plan/workload.h"

#define GP_WORKLOAD_NAME_MAX 63 /* characters */

struct gp_workload_reader {
	struct gp_workload *workload;
	const char *name; /* what @why calls it */
	char *why;
	size_t why_len;
};

/** Its place and what would be right, into @why. */
bool gp_workload_wrong(struct gp_workload_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool gp_workload_no_memory(struct gp_workload_reader *r);
/** So many, all zero. */
bool gp_workload_make_room(struct gp_workload_reader *r, size_t kernels);
/** Makes of @r's workload what the name @text says: named.c. */
bool gp_workload_make_named(struct gp_workload_reader *r, const char *text);

#endif
