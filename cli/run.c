// SPDX-License-Identifier: Apache-2.0
/*
 * run.c - gpreempt run: set the environment, then exec CMD. Exit status, signals, terminal and
 * process number are therefore CMD's own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/admit.h"
#include "cli/cli.h"
#include "cli/limits.h"
#include "cli/pool.h"

struct run {
	struct gp_cmd_args cmd;
	bool auto_hold;
	bool no_predict;
	bool no_pile;
	bool no_preload;
	bool no_daemon;
	bool wait;
	struct gp_limits_args limits;
	struct gp_pool_args pool;
};

static const struct argp_option options[] = {
	{ "class", 'c', "CLASS", 0,
	  "lc, lc:LEVEL, be or be:WEIGHT; with gpreemptd also deadlines and caps, see gpreempt(1)",
	  0 },
	{ "device", GP_KEY_DEVICE, "DEVICE", 0,
	  "act on this device only: a UUID, a PCI address or soft0; CMD sees the same devices as "
	  "before",
	  0 },
	{ "auto-hold", 'H', NULL, 0,
	  "lc: hold the GPU from the first work after idleness until CMD waits for it", 0 },
	{ "no-predict", 'P', NULL, 0,
	  "lc: do not predict the next request of a CMD that gives no hints", 0 },
	{ "no-pile", 'I', NULL, 0,
	  "lc: let no launches pile up while best-effort runs, although CMD launches for longer "
	  "than "
	  "its kernels run",
	  0 },
	{ "no-preload", 'L', NULL, 0,
	  "do not set LD_PRELOAD, for a CMD that starts programs which it breaks; holds come in "
	  "pieces of 500 us",
	  0 },
	{ "no-daemon", 'D', NULL, 0,
	  "do not start a gpreemptd of this user's for several best-effort processes", 0 },
	{ "pool", 'O', "PERCENT", OPTION_ARG_OPTIONAL,
	  "NVIDIA: run CMD in its class's MPS pool, beside other programs of this user, which "
	  "gpreempt starts and ends; with at most PERCENT of the GPU's threads",
	  0 },
	{ "mem", 'm', "MIN:MAX", OPTION_ARG_OPTIONAL,
	  "be: when a latency-critical allocation does not fit, stop CMD, keep its device memory "
	  "on "
	  "the host, and continue CMD when there is room; none leaves while CMD has up to MIN, and "
	  "CMD has at most MAX: 8GiB:20GiB, 8GiB: or :20GiB",
	  0 },
	{ "wait", 'w', NULL, 0,
	  "with --mem=MIN:MAX: if MIN is not free, wait for it before CMD starts", 0 },
	{ "mem-turns", 'T', NULL, 0,
	  "with --mem: if CMD's memory does not fit beside that of other such programs, they take "
	  "turns on the GPU, by weight; needs gpreemptd",
	  0 },
	{ "mem-hook", 'k', "URLS", 0,
	  "with --mem: SLEEP,WAKE or SLEEP,WAKE,TIME: let CMD free memory itself, and take it "
	  "again, by these two URLs of its own; it moves if CMD does not answer within TIME (10s)",
	  0 },
	{ "idle-out", 'i', "TIME", 0,
	  "lc: when CMD has submitted no work for TIME, such as 30s, move its device memory to the "
	  "host; its next call waits until it is back",
	  0 },
	{ "mem-host", 'M', "SIZE", 0,
	  "with --mem or --idle-out: pin at most SIZE of the host's memory, such as 64GiB; more of "
	  "CMD's device memory than that does not leave",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run *r = state->input;

	switch (key) {
	case 'H':
		r->auto_hold = true;
		return 0;
	case 'P':
		r->no_predict = true;
		return 0;
	case 'I':
		r->no_pile = true;
		return 0;
	case 'L':
		r->no_preload = true;
		return 0;
	case 'O':
		return gp_pool_parse(&r->pool, arg);
	case 'm':
		return gp_limits_parse(&r->limits, arg);
	case 'T':
		r->limits.turns = true;
		return 0;
	case 'w':
		r->wait = true;
		return 0;
	case 'k':
		return gp_limits_parse_hook(&r->limits, arg);
	case 'i':
		return gp_limits_parse_idle(&r->limits, arg);
	case 'M':
		return gp_limits_parse_host(&r->limits, arg);
	case 'D':
		r->no_daemon = true;
		return 0;
	default:
		return gp_args_cmd("run", &r->cmd, key, arg, state);
	}
}

static int admit(const struct run *r)
{
	const struct gp_admit_args args = {
		.min = r->limits.min,
		.device = r->cmd.device,
		.wait = r->wait,
		.turns = r->limits.turns,
	};

	return gp_admit("run", &args);
}

int gp_verb_run(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-- CMD [ARG...]",
		.doc = "Run CMD, and the processes it starts, with a class.\vExit status: CMD's "
		       "own; 125 gpreempt failed and CMD did not run, 126 CMD cannot be executed, "
		       "127 CMD was not found.",
	};
	struct gp_wire_ruled ruled;
	struct run r = { 0 };
	int err = gp_args(&argp, argc, argv, &r);

	if (err)
		return err;
	if (!r.cmd.class_text && r.cmd.argv && gp_args_is_class(r.cmd.argv[0]))
		return gp_fail("run: class missing; write --class=%s, not %s", r.cmd.argv[0],
			       r.cmd.argv[0]);
	if (!r.cmd.class_text)
		return gp_fail("run: class missing; write --class=lc or --class=be");
	if (!r.cmd.argv)
		return gp_fail("run: command missing; write gpreempt run --class=%s -- CMD",
			       r.cmd.class_text);
	if (r.auto_hold && strncmp(r.cmd.class_text, "lc", 2))
		return gp_fail("run: --auto-hold needs --class=lc; best-effort never holds");
	if (r.limits.memory && strncmp(r.cmd.class_text, "be", 2))
		return gp_fail("run: --mem needs --class=be; latency-critical memory stays");
	if (r.limits.turns && !r.limits.memory)
		return gp_fail("run: --mem-turns needs --mem; else no memory leaves");
	if (r.limits.hook && (!r.limits.memory || r.limits.turns))
		return gp_fail("run: --mem-hook needs --mem, and excludes --mem-turns");
	if (r.limits.idle && strncmp(r.cmd.class_text, "lc", 2))
		return gp_fail(
			"run: --idle-out needs --class=lc; best-effort memory leaves with --mem");
	if (r.limits.host && !r.limits.memory && !r.limits.idle)
		return gp_fail("run: --mem-host needs --mem or --idle-out; else no memory leaves");
	if ((r.auto_hold && setenv("GPREEMPT_AUTO_HOLD", "1", 1)) ||
	    (r.no_preload && setenv("GPREEMPT_PRELOAD", "0", 1)) ||
	    (r.no_daemon && setenv("GPREEMPT_START_DAEMON", "0", 1)) ||
	    (r.no_pile && setenv("GPREEMPT_PILE", "0", 1)) ||
	    (r.no_predict && setenv("GPREEMPT_PREDICT", "0", 1)))
		return gp_fail("run: cannot set the environment: %s", strerror(errno));
	r.pool.no_daemon = r.no_daemon;
	err = gp_rule_ask(r.cmd.class_text, &ruled, r.pool.refusal);
	if (r.limits.turns && (err == -ENOENT || err == -ECONNREFUSED))
		gp_note("run: --mem-turns has no effect until gpreemptd runs; start it first");
	gp_limits_follow(&r.limits, r.cmd.class_text, &ruled);
	r.pool.memory = r.limits.memory || r.limits.idle;
	gp_pool_follow(&r.pool, &ruled);
	err = gp_limits_set("run", &r.limits, &ruled);
	if (err)
		return gp_fail("run: cannot set the environment: %s", strerror(-err));
	if (r.wait && !r.limits.min)
		return gp_fail("run: --wait needs MIN; write --mem=MIN:MAX or --mem=MIN:");
	err = gp_launch_prepare("run", r.cmd.class_text, r.cmd.device, r.cmd.argv[0]);
	if (!err)
		err = admit(&r);
	if (!err && r.pool.wanted)
		err = gp_pool_enter(&r.pool, r.cmd.class_text);
	if (err)
		return err;
	execvp(r.cmd.argv[0], r.cmd.argv);
	return gp_launch_failed("run", r.cmd.argv[0], errno);
}
