// SPDX-License-Identifier: Apache-2.0
/* set.c - gpreempt set: changes the class from now on. */
#include "cli/cli.h"

struct set {
	bool has_class;
	struct gp_class_request request;
	const char *device;
	pid_t pid;
};

static const struct argp_option options[] = {
	GP_OPTION_PID,
	{ "class", 'c', "CLASS", 0,
	  "lc, lc:LEVEL, be or be:WEIGHT; with gpreemptd also deadlines and caps", 0 },
	{ "device", GP_KEY_DEVICE, "DEVICE", 0,
	  "act on this device only (attached processes): a UUID, a PCI address or soft0", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct set *s = state->input;

	switch (key) {
	case 'c':
		s->has_class = true;
		return gp_args_request("set", arg, &s->request);
	case GP_KEY_DEVICE:
		s->device = arg;
		return 0;
	case 'p':
	case ARGP_KEY_ARG:
		return gp_args_process("set", arg, &s->pid);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_verb_set(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PID",
		.doc = "Change the class of a process, whether it was started, attached or "
		       "discovered.",
	};
	struct set s = { 0 };
	int err = gp_args(&argp, argc, argv, &s);

	if (err)
		return err;
	if (!s.pid)
		return gp_fail("set: PID missing; write gpreempt set --class=be PID");
	if (!s.has_class)
		return gp_fail("set: class missing; write --class=lc or --class=be");
	return gp_process_set_class("set", s.pid, &s.request, s.device);
}
