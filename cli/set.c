// SPDX-License-Identifier: Apache-2.0
/*
 * set.c - gpreempt set: another class, from now on.
 */
#include "cli/cli.h"

struct set {
	bool has_class;
	struct gp_class_request request;
	const char *device;
	pid_t pid;
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "the process", 0 },
	{ "class", 'c', "CLASS", 0,
	  "lc, lc:LEVEL, be or be:WEIGHT; with gpreemptd "
	  "deadlines and caps, too",
	  0 },
	{ "device", 'd', "DEVICE", 0,
	  "only there (a process that was attached): a UUID, a PCI address or "
	  "soft0",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct set *s = state->input;

	switch (key) {
	case 'p':
		return gp_args_pid("set", arg, &s->pid);
	case 'c':
		s->has_class = true;
		return gp_args_request("set", arg, &s->request);
	case 'd':
		s->device = arg;
		return 0;
	case ARGP_KEY_ARG:
		gp_fail("set: %s: not expected; write gpreempt set -p PID "
			"--class=CLASS",
			arg);
		return GP_ARGS_SAID;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_verb_set(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "",
		.doc = "Give a process another class, however it came to the "
		       "one it has.",
	};
	struct set s = { 0 };
	int err = gp_args(&argp, argc, argv, &s);

	if (err)
		return err;
	if (!s.pid)
		return gp_fail("set: no process; write -p PID");
	if (!s.has_class)
		return gp_fail("set: no class; write --class=lc or --class=be");
	return gp_apply("set", s.pid, &s.request, s.device);
}
