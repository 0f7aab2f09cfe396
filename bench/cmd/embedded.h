/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.h - plans that are part of a suite's source. */
#ifndef GP_BENCH_CMD_EMBEDDED_H
#define GP_BENCH_CMD_EMBEDDED_H

#include "bench/cmd/suite.h"

struct gp_embedded_plan {
	const char *name, *text;
};

/** Return: as gp_corun_plans(); -EINVAL: an invalid plan, reported. */
int gp_embedded_run(const struct gp_embedded_plan *plan, size_t plans,
		    const struct gp_suite_options *options, struct gp_results *results, FILE *out);

#endif
