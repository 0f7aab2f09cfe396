/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - internal to bench/plan: make a workload from text, up to the first error.
 * Every function returns false on an error.
 */
#ifndef GP_BENCH_PLAN_READER_H
#define GP_BENCH_PLAN_READER_H

#include <stdbool.h>

#include "bench/plan/workload.h"

#define GP_WORKLOAD_NAME_MAX 63 /* characters */

struct gp_workload_reader {
	struct gp_workload *workload;
	const char *name; /* of the text, for @why */
	char *why;
	size_t why_len;
};

/** Write the place of an error and the expected text to @why. Return: false. */
bool gp_workload_wrong(struct gp_workload_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool gp_workload_no_memory(struct gp_workload_reader *r);
/** Allocate @kernels kernels, all zero. */
bool gp_workload_make_room(struct gp_workload_reader *r, size_t kernels);
/** Fill @r's workload by the name @text (named.c). */
bool gp_workload_make_named(struct gp_workload_reader *r, const char *text);

#endif
