/* SPDX-License-Identifier: Apache-2.0 */
/* suite.h - suites of gpreempt-bench. A suite is one file with one of these. */
#ifndef GP_BENCH_SUITE_H
#define GP_BENCH_SUITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/report/results.h"
#include "bench/report/rundir.h"

struct gp_suite_options {
	uint64_t seed; /* of the first run; run i has seed + i */
	uint64_t runs;
	uint64_t requests;     /* of each run of theory; 0: its own number */
	const char *workloads; /* folder of recorded workloads */
	struct gp_rundir *dir; /* for raw samples; NULL: not kept */
	const char *device;    /* plans run there; NULL: in virtual time */
	const char *peers;     /* folder of peers, with a device */
	const char *only;      /* words: the peers to take of it; NULL or "": all */
	double seconds;	       /* of each plan; 0: as in its file */
	double offered;	       /* load of all LC clients; 0: published rates */
};

struct gp_suite {
	const char *name;
	const char *what;	/* one line: its purpose and needs */
	bool samples;		/* it has raw samples for --dir */
	const char *deviceless; /* message without --device; NULL: needs no device */
	/**
	 * Print tables to @out, and add figures to @results. 0; 1: a bar was missed; negative
	 * errno.
	 */
	int (*run)(const struct gp_suite_options *options, struct gp_results *results, FILE *out);
};

extern const struct gp_suite gp_suite_edf, gp_suite_quick, gp_suite_rig, gp_suite_switch,
	gp_suite_theory;

#endif
