// SPDX-License-Identifier: Apache-2.0
/*
 * switch.c - the suite "switch": the cost of a switch by GCAPS's method on the model of a GPU,
 * beside the model's own cost.
 */
#include <math.h>
#include <stdbool.h>

#include "bench/cmd/suite.h"
#include "bench/model/switch.h"

#define KERNEL_NS 1000000000u
#define WITHIN 0.06

static const struct {
	uint32_t processes;
	uint64_t slice_us;
} rows[] = {
	{ 2, 1024 }, { 2, 2048 }, { 2, 5000 }, { 4, 2048 }, { 8, 2048 }, { 16, 2048 },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int run_row(const struct gp_model_config *device, size_t i, struct gp_results *results,
		   FILE *out)
{
	const struct gp_switch_run run = { rows[i].processes, rows[i].slice_us, KERNEL_NS };
	const double made_us = gp_switch_of_model(device);
	double seen_us, off;
	char row[64];
	int err = gp_switch_estimate(device, &run, &seen_us);

	if (err)
		return err;
	off = seen_us / made_us - 1;
	fprintf(out, "%9u %11llu %8.1f %8.1f %+7.2f %%  %s\n", run.processes,
		(unsigned long long)run.slice_us, seen_us, made_us, 100 * off,
		fabs(off) <= WITHIN ? "pass" : "FAIL");
	snprintf(row, sizeof(row), "%u processes, slice %llu us", run.processes,
		 (unsigned long long)run.slice_us);
	err = gp_results_add(results, row, "switch_us", GP_BETTER_LOWER, seen_us);
	return err ? err : fabs(off) > WITHIN;
}

static int run_switch(const struct gp_suite_options *options, struct gp_results *results, FILE *out)
{
	struct gp_model_config device;
	int missed = 0;

	gp_model_config_h200(&device);
	fprintf(out,
		"one switch, us, from run times alone, on the model of an H200; within "
		"%.0f %%\nprocesses   slice, us     seen     made      off\n",
		100 * WITHIN);
	/* All runs are equal, as nothing here is random. */
	for (size_t i = 0; i < options->runs * ROWS; i++) {
		int r = run_row(&device, i % ROWS, results, out);

		if (r < 0)
			return r;
		missed |= r;
	}
	return missed;
}

const struct gp_suite gp_suite_switch = {
	.name = "switch",
	.what = "cost of one switch, from run times alone (GCAPS); no GPU, 1 s",
	.run = run_switch,
};
