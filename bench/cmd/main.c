// SPDX-License-Identifier: Apache-2.0
/*
 * main.c - gpreempt-bench: list the suites, run one.
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cmd/suite.h"
#include "bench/common/opts.h"

#define REQUESTS_MAX 100000000u

static const struct gp_suite *const suites[] = {
	&gp_suite_theory,
};
#define SUITES (sizeof(suites) / sizeof(suites[0]))

enum { OPT_SEED = 0x100, OPT_REQUESTS };

static const struct argp_option argp_options[] = {
	{ "seed", OPT_SEED, "N", 0, "of what is random (1)", 0 },
	{ "requests", OPT_REQUESTS, "N", 0, "of each run (the suite's own number)", 0 },
	{ 0 },
};

struct args {
	const char *command, *suite;
	struct gp_suite_options options;
};

static uint64_t number(struct argp_state *state, const char *name, const char *text,
		       uint64_t max)
{
	uint64_t value;

	if (gp_opts_number(text, &value) || !value || value > max)
		argp_error(state, "--%s=%s: a number from 1 to %llu is wanted", name, text,
			   (unsigned long long)max);
	return value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_SEED:
		a->options.seed = number(state, "seed", text, UINT32_MAX);
		return 0;
	case OPT_REQUESTS:
		a->options.requests = number(state, "requests", text, REQUESTS_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (!a->command)
			a->command = text;
		else if (!a->suite)
			a->suite = text;
		else
			argp_error(state, "%s: one suite at a time", text);
		return 0;
	case ARGP_KEY_END:
		if (!a->command)
			argp_error(state, "what? list, or run SUITE");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct gp_suite *find(const char *name)
{
	for (size_t i = 0; i < SUITES; i++)
		if (!strcmp(suites[i]->name, name))
			return suites[i];
	return NULL;
}

static int list(void)
{
	for (size_t i = 0; i < SUITES; i++)
		printf("%-10s %s\n", suites[i]->name, suites[i]->what);
	return 0;
}

static int run(const struct args *a)
{
	const struct gp_suite *suite = a->suite ? find(a->suite) : NULL;
	int r;

	if (!suite) {
		fprintf(stderr, "gpreempt-bench: run %s: no such suite; \"gpreempt-bench "
				"list\" says which there are\n", a->suite ? a->suite : "");
		return 2;
	}
	r = suite->run(&a->options, stdout);
	if (r < 0) {
		fprintf(stderr, "gpreempt-bench: %s: %s\n", suite->name, strerror(-r));
		return 1;
	}
	return r;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options, .parser = parse,
		.args_doc = "list\nrun SUITE",
		.doc = "Run gpreempt's benchmarks.",
	};
	struct args args = { .options = { .seed = 1 } };

	argp_program_version = "gpreempt-bench " GP_VERSION;
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	if (!strcmp(args.command, "list") && !args.suite)
		return list();
	if (!strcmp(args.command, "run"))
		return run(&args);
	fprintf(stderr, "gpreempt-bench: %s: no such command; list, or run SUITE\n",
		args.command);
	return 2;
}
