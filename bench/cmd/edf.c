// SPDX-License-Identifier: Apache-2.0
/*
 * edf.c - the suite "edf": admitted and refused sets of tasks, and the misses of both, on the model
 * of a GPU in virtual time.
 */
#include <stdbool.h>

#include "bench/cmd/suite.h"
#include "bench/model/edf.h"

#define TASKS 3
#define SETS 60
#define LENGTH_NS 3000000000u

static const double loads[] = { 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 };
#define LOADS (sizeof(loads) / sizeof(loads[0]))

/* [1]: of admitted sets; [0]: of refused ones. */
struct tally {
	unsigned int sets[2], missing[2];
	uint64_t jobs[2], missed[2];
	double worst[2];
};

static int run_sets(const struct gp_model_config *device, uint64_t seed, size_t which,
		    struct tally *t)
{
	struct gp_edf_task task[TASKS];
	struct gp_random random;
	struct gp_edf_result r;

	gp_random_seed(&random, seed, which + 1);
	for (int i = 0; i < SETS; i++) {
		int err;

		gp_edf_draw(&random, loads[which], task, TASKS);
		err = gp_edf_run(device, task, TASKS, LENGTH_NS, &r);
		if (err)
			return err;
		t->sets[r.admitted]++;
		t->missing[r.admitted] += r.missed != 0;
		t->jobs[r.admitted] += r.jobs;
		t->missed[r.admitted] += r.missed;
		if (r.worst > t->worst[r.admitted])
			t->worst[r.admitted] = r.worst;
	}
	return 0;
}

static int say(double load, const struct tally *t, struct gp_results *results, FILE *out)
{
	char row[32];
	int err;

	fprintf(out, "%4.1f %8u %8llu %8llu %8.3f %10u %10u %8.3f  %s\n", load, t->sets[1],
		(unsigned long long)t->jobs[1], (unsigned long long)t->missed[1], t->worst[1],
		t->sets[0], t->missing[0], t->worst[0], t->missed[1] ? "FAIL" : "pass");
	snprintf(row, sizeof(row), "load %.1f", load);
	err = gp_results_add(results, row, "let_in", GP_BETTER_HIGHER, t->sets[1]);
	if (!err)
		err = gp_results_add(results, row, "worst_let_in", GP_BETTER_LOWER, t->worst[1]);
	if (!err)
		err = gp_results_add(results, row, "others_that_miss", GP_BETTER_LOWER,
				     t->missing[0]);
	return err ? err : t->missed[1] != 0;
}

static int run_edf(const struct gp_suite_options *options, struct gp_results *results, FILE *out)
{
	struct gp_model_config device;
	int missed = 0;

	gp_model_config_h200(&device);
	for (uint64_t run = 0; run < options->runs; run++) {
		fprintf(out,
			"%d sets of %d tasks a load, 3 s each, best-effort beside; seed %llu\n"
			"load   let in     jobs   missed    worst     others  that miss    "
			"worst\n",
			SETS, TASKS, (unsigned long long)(options->seed + run));
		for (size_t i = 0; i < LOADS; i++) {
			struct tally t = { 0 };
			int r = run_sets(&device, options->seed + run, i, &t);

			if (!r)
				r = say(loads[i], &t, results, out);
			if (r < 0)
				return r;
			missed |= r;
		}
	}
	return missed;
}

const struct gp_suite gp_suite_edf = {
	.name = "edf",
	.what = "tasks that EDF's admission test accepts, and the deadlines that they miss; no "
		"GPU, 5 s",
	.run = run_edf,
};
