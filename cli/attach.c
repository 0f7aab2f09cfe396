// SPDX-License-Identifier: Apache-2.0
/* attach.c - gpreempt attach: a class for a running process. */
#include "cli/cli.h"

struct attach {
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
	  "act on this device only: a UUID, a PCI address or soft0", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct attach *a = state->input;

	switch (key) {
	case 'c':
		a->has_class = true;
		return gp_args_request("attach", arg, &a->request);
	case GP_KEY_DEVICE:
		a->device = arg;
		return 0;
	case 'p':
	case ARGP_KEY_ARG:
		return gp_args_process("attach", arg, &a->pid);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int gp_verb_attach(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PID",
		.doc = "Give a running process a class, without a restart. The class lasts until "
		       "the process ends or gets another one.\vThis changes the contexts that "
		       "exist now. Contexts that the process creates later have the driver's "
		       "timeslices.",
	};
	struct attach a = { 0 };
	int err = gp_args(&argp, argc, argv, &a);

	if (err)
		return err;
	if (!a.has_class)
		return gp_fail("attach: class missing; write --class=lc or --class=be");
	if (!a.pid)
		return gp_fail("attach: PID missing; write gpreempt attach --class=be PID");
	return gp_process_set_class("attach", a.pid, &a.request, a.device);
}
