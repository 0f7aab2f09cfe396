// SPDX-License-Identifier: Apache-2.0
/*
 * run.c - gpreempt run: set the environment, then be CMD. A plain exec, so that
 * exit status, signals, terminal and process number are CMD's own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

struct run {
	const char *class_text;
	const char *device;
	bool hold;
	bool no_learn;
	char **cmd;
};

static const struct argp_option options[] = {
	{"class", 'c', "CLASS", 0, "lc, lc:LEVEL, be or be:WEIGHT", 0},
	{"device", 'd', "DEVICE", 0,
	 "where gpreempt acts: a UUID, a PCI address or soft0; what CMD sees "
	 "stays as it is",
	 0},
	{"hold", 'H', NULL, 0,
	 "lc: hold the GPU unasked, from the first work after idleness until CMD "
	 "has waited for it; takes CUPTI, which a profiler in CMD then has not",
	 0},
	{"no-learn", 'L', NULL, 0,
	 "lc: don't learn the rhythm of a CMD that gives no hints, to hold the GPU "
	 "before its next request",
	 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run *r = state->input;
	struct gp_class_value cls;

	switch (key) {
	case 'c':
		r->class_text = arg;
		return gp_args_class("run", arg, &cls);
	case 'd':
		r->device = arg;
		return 0;
	case 'H':
		r->hold = true;
		return 0;
	case 'L':
		r->no_learn = true;
		return 0;
	case ARGP_KEY_ARG:
		r->cmd = gp_args_rest(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_verb_run(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-- CMD [ARG...]",
		.doc = "Run CMD, and the processes it starts, with a class."
		       "\vExit status: CMD's own; 125 gpreempt failed and CMD "
		       "did not run, 126 CMD "
		       "cannot be executed, 127 it was not found.",
	};
	struct run r = {0};
	int err = gp_args(&argp, argc, argv, &r);

	if (err)
		return err;
	if (!r.class_text)
		return gp_fail("run: no class; write --class=lc or --class=be");
	if (!r.cmd)
		return gp_fail(
			"run: no command; write gpreempt run --class=%s -- CMD",
			r.class_text);
	if (r.hold && strncmp(r.class_text, "lc", 2))
		return gp_fail("run: --hold is for --class=lc; best-effort holds nothing");
	if ((r.hold && setenv("GPREEMPT_HOLD", "auto", 1)) ||
	    (r.no_learn && setenv("GPREEMPT_LEARN", "0", 1)))
		return gp_fail("run: environment: %s", strerror(errno));
	err = gp_launch_prepare("run", r.class_text, r.device);
	if (err)
		return err;
	execvp(r.cmd[0], r.cmd);
	return gp_launch_failed("run", r.cmd[0], errno);
}
