// SPDX-License-Identifier: Apache-2.0
/*
 * main.c - gpreempt-bench: lists suites and files, runs suites and plans, prints the load of their
 * rates, compares two runs, makes the page of a run.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cmd/corun.h"
#include "bench/cmd/data.h"
#include "bench/cmd/device.h"
#include "bench/cmd/line.h"
#include "bench/cmd/list.h"
#include "bench/cmd/plans.h"
#include "bench/cmd/report.h"
#include "bench/cmd/suite.h"
#include "bench/gpu/opts.h"
#include "bench/model/policies.h"
#include "bench/plan/workload.h"
#include "runtime/options.h"

#define REQUESTS_MAX 100000000u
#define RUNS_MAX 1000u
#define SECONDS_MAX 86400
#define ALPHA 0.01
#define WORDS 2

static const struct gp_suite *const suites[] = {
	&gp_suite_edf, &gp_suite_quick, &gp_suite_rig, &gp_suite_switch, &gp_suite_theory,
};
#define SUITES (sizeof(suites) / sizeof(suites[0]))

enum {
	OPT_SEED = 0x100,
	OPT_REQUESTS,
	OPT_RUNS,
	OPT_OUT,
	OPT_DIR,
	OPT_WORKLOADS,
	OPT_DEVICE,
	OPT_PEERS,
	OPT_OFFERED,
	OPT_SECONDS
};

static const struct argp_option argp_options[] = {
	{ "seed", OPT_SEED, "N", 0, "seed of the first run (1)", 0 },
	{ "runs", OPT_RUNS, "N", 0, "number of runs; each next run adds 1 to the seed (1)", 0 },
	{ "requests", OPT_REQUESTS, "N", 0, "requests in each run of theory (400000)", 0 },
	{ "out", OPT_OUT, "FILE", 0, "write the results, for compare (JSON)", 0 },
	{ "dir", OPT_DIR, "DIR", 0, "write raw samples and all results, for report", 0 },
	{ "device", OPT_DEVICE, "ID", 0,
	  "run plans on this device, not in virtual time (soft0, UUID, PCI address)", 0 },
	{ "peers", OPT_PEERS, "DIR", 0,
	  "folder of the schedulers to compare, with --device (the installed one)", 0 },
	{ "workloads", OPT_WORKLOADS, "DIR", 0, "folder of recorded models (the installed one)",
	  0 },
	{ "seconds", OPT_SECONDS, "S", 0, "length of each run, instead of the plan's", 0 },
	{ "offered", OPT_OFFERED, "LOAD", 0,
	  "scale all rates of a plan by one factor, so that its latency-critical clients together "
	  "offer this load, above 0 and up to 1 (as in the file)",
	  0 },
	{ 0 },
};

struct args {
	const char *command, *word[WORDS], *out, *dir;
	char *line; /* the command line */
	int words;
	bool peers_said;
	struct gp_suite_options options;
};

static uint64_t number(struct argp_state *state, const char *name, const char *text, uint64_t max)
{
	uint64_t value;

	if (gp_opts_number(text, &value) || !value || value > max)
		argp_failure(state, 2, 0, "--%s=%s: a number from 1 to %llu is wanted", name, text,
			     (unsigned long long)max);
	return value;
}

/* Digits only, as strtod() also accepts signs, hexadecimal and more. */
static double real(struct argp_state *state, const char *name, const char *text, double max)
{
	double value = 0;
	char *end = (char *)text;

	if (*text && strspn(text, "0123456789.") == strlen(text))
		value = strtod(text, &end);
	if (*end || value <= 0 || value > max)
		argp_failure(state, 2, 0, "--%s=%s: a number above 0, up to %g, is wanted", name,
			     text, max);
	return value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_SEED:
		a->options.seed = number(state, "seed", text, UINT32_MAX);
		return 0;
	case OPT_RUNS:
		a->options.runs = number(state, "runs", text, RUNS_MAX);
		return 0;
	case OPT_REQUESTS:
		a->options.requests = number(state, "requests", text, REQUESTS_MAX);
		return 0;
	case OPT_OUT:
		if (!*text)
			argp_failure(state, 2, 0, "--out=: the name of a file is wanted");
		a->out = text;
		return 0;
	case OPT_DIR:
		if (!*text)
			argp_failure(state, 2, 0, "--dir=: the name of a folder is wanted");
		a->dir = text;
		return 0;
	case OPT_DEVICE:
		if (!*text)
			argp_failure(state, 2, 0,
				     "--device=: soft0, a UUID or a PCI address is wanted");
		a->options.device = text;
		return 0;
	case OPT_OFFERED:
		a->options.offered = real(state, "offered", text, 1);
		return 0;
	case OPT_SECONDS:
		a->options.seconds = real(state, "seconds", text, SECONDS_MAX);
		return 0;
	case OPT_PEERS:
		a->options.peers = text;
		a->peers_said = true;
		return 0;
	case OPT_WORKLOADS:
		a->options.workloads = text;
		return 0;
	case ARGP_KEY_ARG:
		if (!a->command)
			a->command = text;
		else if (a->words < WORDS)
			a->word[a->words++] = text;
		else
			argp_failure(state, 2, 0,
				     "%s: unexpected argument; see gpreempt-bench --help", text);
		return 0;
	case ARGP_KEY_END:
		if (!a->command)
			argp_failure(state, 2, 0,
				     "command missing; write list [FILE], run SUITE|PLAN, "
				     "calibrate SUITE|PLAN, compare FILE FILE, or report DIR");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int wrong_use(const char *use)
{
	fprintf(stderr, "gpreempt-bench: wrong number of arguments; write \"gpreempt-bench %s\"\n",
		use);
	return 2;
}

static int list(struct args *a)
{
	if (a->words > 1)
		return wrong_use("list [FILE]");
	if (a->words)
		return gp_list_file(a->word[0]);
	for (size_t i = 0; i < SUITES; i++)
		printf("%-13s %s\n", suites[i]->name, suites[i]->what);
	gp_plans_list(stdout);
	printf("\nworkloads of a plan or a client, besides files and recorded models:\n");
	gp_workload_list(stdout);
	printf("\npolicies of gpreemptd (be_policy, lc_policy in gpreempt.yaml):\n");
	gp_policies_list(stdout);
	return 0;
}

/* ---- run ------------------------------------------------------------------------- */

static const struct gp_suite *find(const char *name)
{
	for (size_t i = 0; i < SUITES; i++)
		if (!strcmp(suites[i]->name, name))
			return suites[i];
	return NULL;
}

static int failed(const char *what, int err)
{
	fprintf(stderr, "gpreempt-bench: %s: %s\n", what, strerror(-err));
	return 1;
}

static int run_plans(const struct args *a, struct gp_results *results)
{
	struct gp_suite_options options = a->options;
	struct gp_plans plans;
	int err = gp_plans_open(&plans, a->word[0]);

	if (!a->peers_said)
		options.only = plans.only;
	if (!err)
		err = gp_corun_plans(plans.list, plans.count, &options, results, stdout);
	gp_plans_close(&plans);
	return err;
}

static bool is_plan(const char *word)
{
	const char *dot = strrchr(word, '.');

	return (dot && !strcmp(dot, ".json")) || gp_plans_are(word);
}

static int open_dir(struct args *a)
{
	const struct gp_rundir_about about = {
		.suite = a->word[0],
		.command = a->line,
		.driver = gp_device_driver(a->options.device),
		.device = gp_device_about(a->options.device),
		.seed = a->options.seed,
	};

	return a->dir ? gp_rundir_create(a->dir, &about, &a->options.dir) : 0;
}

/* Return: 0; 1: a bar was missed, or an error; 2: a wrong command line. All are reported. */
static int run_and_keep(struct args *a, const struct gp_suite *suite, struct gp_results *results)
{
	int err = open_dir(a), r;

	if (err == -EEXIST) {
		fprintf(stderr,
			"gpreempt-bench: --dir=%s: the folder has a run; name a new folder\n",
			a->dir);
		return 2;
	}
	if (err)
		return failed(a->dir, err);
	r = suite ? suite->run(&a->options, results, stdout) : run_plans(a, results);
	err = gp_rundir_close(a->options.dir);
	/* Missing parts of a plan or its workloads were reported. */
	if (r == -ENOENT || r == -EINVAL)
		return 2;
	if (r == -ECANCELED)
		return 1;
	if (r < 0)
		return failed(a->word[0], r);
	if (err)
		return failed(a->dir, err);
	err = a->out ? gp_results_write(results, a->out) : 0;
	return err ? failed(a->out, err) : r;
}

static int no_such_suite(const char *command, const char *word)
{
	fprintf(stderr,
		"gpreempt-bench: %s %s: no such suite; see \"gpreempt-bench list\", or name a "
		"plan's file (.json) or a folder of plans\n",
		command, word);
	return 2;
}

static int calibrate(struct args *a)
{
	struct gp_plans plans;
	int err;

	if (a->words != 1)
		return wrong_use("calibrate SUITE|PLAN");
	if (find(a->word[0])) {
		fprintf(stderr,
			"gpreempt-bench: calibrate %s: the suite has no rates of its own; name a "
			"plan or a folder of plans\n",
			a->word[0]);
		return 2;
	}
	if (!is_plan(a->word[0]))
		return no_such_suite("calibrate", a->word[0]);
	err = gp_plans_open(&plans, a->word[0]);
	if (!err)
		err = gp_corun_calibrate(plans.list, plans.count, &a->options, stdout);
	gp_plans_close(&plans);
	if (err == -ENOENT || err == -EINVAL)
		return 2;
	if (err == -ECANCELED)
		return 1;
	return err ? failed(a->word[0], err) : 0;
}

/* Return: the reason why the suite cannot run; NULL: it can. */
static const char *cannot_run(const struct args *a, const struct gp_suite *suite)
{
	if (suite->deviceless && !a->options.device)
		return suite->deviceless;
	if (!suite->samples && a->dir)
		return "the suite has no raw samples for --dir; --out=FILE writes its results";
	if (!suite->samples &&
	    (a->options.device || a->options.seconds > 0 || a->options.offered > 0))
		return "the suite runs no plans; --device, --offered and --seconds are for plans";
	return NULL;
}

/* Check this before the suite runs, which may take long. */
static int can_write(const char *path)
{
	FILE *file = fopen(path, "ae");

	return file && !fclose(file) ? 0 : -errno;
}

static int run(struct args *a)
{
	const struct gp_suite *suite = NULL;
	struct gp_results *results;
	const char *why;
	int r;

	if (a->words != 1)
		return wrong_use("run SUITE|PLAN");
	suite = find(a->word[0]);
	if (!suite && !is_plan(a->word[0]))
		return no_such_suite("run", a->word[0]);
	if (a->peers_said && !a->options.device) {
		fprintf(stderr,
			"gpreempt-bench: --peers=%s: schedulers need a device; add --device=ID\n",
			a->options.peers);
		return 2;
	}
	why = suite ? cannot_run(a, suite) : NULL;
	if (why) {
		fprintf(stderr, "gpreempt-bench: run %s: %s\n", suite->name, why);
		return 2;
	}
	r = a->out ? can_write(a->out) : 0;
	if (r)
		return failed(a->out, r);
	results = gp_results_create(suite ? suite->name : a->word[0], a->options.seed);
	if (!results)
		return failed(a->word[0], -ENOMEM);
	r = run_and_keep(a, suite, results);
	gp_results_destroy(results);
	return r;
}

/* ---- compare --------------------------------------------------------------------- */

static struct gp_results *results_of(const char *path)
{
	char why[256];
	struct gp_results *r = gp_results_read(path, why, sizeof(why));

	if (!r)
		fprintf(stderr, "gpreempt-bench: %s\n", why);
	return r;
}

static int compare(struct args *a)
{
	struct gp_results *first, *second;
	int worse = -EINVAL;

	if (a->words != 2)
		return wrong_use("compare FILE FILE");
	first = results_of(a->word[0]);
	second = first ? results_of(a->word[1]) : NULL;
	if (second)
		worse = gp_results_compare(first, second, ALPHA, stdout);
	gp_results_destroy(first);
	gp_results_destroy(second);
	return worse < 0 ? 2 : worse > 0;
}

/* ---- report ---------------------------------------------------------------------- */

static int report(struct args *a)
{
	return a->words == 1 ? gp_report(a->word[0]) : wrong_use("report DIR");
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.args_doc = "list [FILE]\nrun SUITE|PLAN\ncalibrate SUITE|PLAN\n"
			    "compare FILE FILE\nreport DIR",
		.doc = "Run gpreempt's benchmarks, compare results, and draw reports.",
	};
	static const struct {
		const char *name;
		int (*command)(struct args *a);
	} commands[] = {
		{ "list", list },	{ "run", run },	      { "calibrate", calibrate },
		{ "compare", compare }, { "report", report },
	};
	char workloads[PATH_MAX], peers[PATH_MAX];
	struct args args = {
		.options = { .seed = 1, .runs = 1, .workloads = workloads, .peers = peers }
	};

	/* Before argp reorders the words. */
	args.line = gp_command_line(argc, argv);
	if (!args.line)
		return failed(argv[0], -ENOMEM);
	gp_data_path("data/workloads", workloads);
	gp_data_path("data/peers", peers);
	argp_program_version = "gpreempt-bench " GP_VERSION;
	argp_err_exit_status = 2;
	if (gp_options_check("gpreempt-bench", argp_options, argc, argv))
		return 2;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(args.command, commands[i].name)) {
			const int r = commands[i].command(&args);

			free(args.line);
			return r;
		}
	fprintf(stderr,
		"gpreempt-bench: %s: no such command; write list [FILE], run SUITE|PLAN, calibrate "
		"SUITE|PLAN, compare FILE FILE, or report DIR\n",
		args.command);
	return 2;
}
