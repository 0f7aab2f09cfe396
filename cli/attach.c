// SPDX-License-Identifier: Apache-2.0
/* attach.c - gpreempt attach: a class for a running process. */
#include "cli/cli.h"
#include "cli/pause.h"

#define GP_KEY_PAUSE 0x101

struct attach {
	bool has_class;
	struct gp_class_request request;
	const char *device;
	pid_t pid;
	uint64_t pause_ns; /* 0: no pauses */
};

static const struct argp_option options[] = {
	GP_OPTION_PID,
	{ "class", 'c', "CLASS", 0,
	  "lc, lc:LEVEL, be or be:WEIGHT; with gpreemptd also deadlines and caps", 0 },
	{ "device", GP_KEY_DEVICE, "DEVICE", 0,
	  "act on this device only: a UUID, a PCI address or soft0", 0 },
	{ "pause", GP_KEY_PAUSE, "TIME", OPTION_ARG_OPTIONAL,
	  "be, AMD's stock driver, root: stay, and pause the process while LC asks for the GPU, at "
	  "most TIME at once (20ms)",
	  0 },
	{ 0 },
};

static error_t parse_pause(struct attach *a, const char *text)
{
	a->pause_ns = GP_PAUSE_NS;
	if (!text || (!gp_parse_duration(text, &a->pause_ns) && a->pause_ns >= GP_PAUSE_MIN_NS &&
		      a->pause_ns <= GP_PAUSE_MAX_NS))
		return 0;
	gp_fail("attach: --pause=%s: write a time from 1ms to 1s", text);
	return GP_ARGS_SAID;
}

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
	case GP_KEY_PAUSE:
		return parse_pause(a, arg);
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
	if (a.pause_ns && (a.request.cls.cls != GP_CLASS_BE || a.device))
		return gp_fail(
			"attach: --pause: only with --class=be and without --device: a pause "
			"stops a process on all its GPUs");
	if (a.pause_ns)
		return gp_pause_run(a.pid, a.request.cls.value, a.pause_ns);
	return gp_process_set_class("attach", a.pid, &a.request, a.device);
}
