// SPDX-License-Identifier: Apache-2.0
/* hint.c - gpreempt hint: a front end in another process announces work. */
#include <errno.h>

#include "cli/cli.h"
#include "gpreempt/gpreempt.h"
#include "wire/wire.h"

struct hint {
	bool has_in;
	uint64_t in_ns;
	pid_t pid;
};

static const struct argp_option options[] = {
	GP_OPTION_PID,
	{ "in", 'i', "TIME", 0, "time from now: a number and ns, us, ms or s", 0 },
	{ 0 },
};

static int parse_in(const char *text, struct hint *h)
{
	int err = gp_parse_duration(text, &h->in_ns);

	if (err == -EINVAL) {
		gp_fail("hint: --in=%s: not a time; write a number and a unit: "
			"300us, 1.5ms, 0s",
			text);
		return GP_ARGS_SAID;
	}
	if (err || h->in_ns > GP_HINT_MAX_NS) {
		gp_fail("hint: --in=%s: too long; write at most 10s", text);
		return GP_ARGS_SAID;
	}
	h->has_in = true;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct hint *h = state->input;

	switch (key) {
	case 'i':
		return parse_in(arg, h);
	case 'p':
	case ARGP_KEY_ARG:
		return gp_args_process("hint", arg, &h->pid);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* -EPERM has two reasons: the owner, and the class. */
static bool is_lc(int fd)
{
	union gp_wire_msg msg;

	gp_wire_init(&msg, GP_WIRE_QUERY);
	return !gp_wire_call(fd, &msg, GP_CALL_MS) && msg.status.cls == GP_CLASS_LC;
}

static int send_hint(const struct hint *h)
{
	GP_CLOSE int fd = gp_wire_connect(h->pid);
	union gp_wire_msg msg;
	int err;

	if (fd == -ESRCH)
		return gp_fail("hint: process %d does not run under gpreempt; start it with "
			       "gpreempt run --class=lc",
			       (int)h->pid);
	if (fd < 0)
		return gp_fail_access("hint", h->pid, fd);
	gp_wire_init(&msg, GP_WIRE_HINT);
	msg.hint.in_ns = h->in_ns;
	err = gp_wire_call(fd, &msg, GP_CALL_MS);
	if (err == -EPERM && !is_lc(fd))
		return gp_fail("hint: process %d is not lc; write gpreempt set -p %d --class=lc",
			       (int)h->pid, (int)h->pid);
	if (err == -EPERM)
		return gp_fail("hint: process %d: not permitted: it belongs to another user",
			       (int)h->pid);
	if (err == -ENXIO || err == -ENODEV)
		return gp_fail("hint: process %d has no GPU context yet; retry when it has one",
			       (int)h->pid);
	return err ? gp_fail_access("hint", h->pid, err) : 0;
}

int gp_verb_hint(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PID",
		.doc = "Announce that work of a latency-critical process arrives in TIME, so that "
		       "it has the GPU by then.",
	};
	struct hint h = { 0 };
	int err = gp_args(&argp, argc, argv, &h);

	if (err)
		return err;
	if (!h.pid)
		return gp_fail("hint: PID missing; write gpreempt hint PID --in=300us");
	if (!h.has_in)
		return gp_fail("hint: time missing; write --in=300us");
	err = gp_check_pid("hint", h.pid);
	return err ? err : send_hint(&h);
}
