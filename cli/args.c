// SPDX-License-Identifier: Apache-2.0
/* args.c - options and arguments that several verbs share. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/daemon.h"
#include "wire/wire.h"

#define SECONDS_MIN_NS 10000000ull
#define SECONDS_MAX_NS (86400ull * 1000000000)

/* Place of the unknown argument that stopped getopt. */
static int failed_at;

static const struct argp_option common_options[] = {
	{ "help", 'h', NULL, 0, "print this help", -1 },
	{ NULL, '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, -1 },
	{ "version", 'V', NULL, 0, "print the version", -1 },
	{ 0 },
};

/* Like argp's own --help and --version, these end the program. */
static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'h':
	case '?':
		argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP, state->argv[0]);
		exit(gp_flush_output(0));
	case 'V':
		puts(argp_program_version);
		exit(gp_flush_output(0));
	case ARGP_KEY_ERROR:
		failed_at = state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- one line for an argument that getopt refuses ------------------------------ */

static const struct argp_option *find_long(const struct argp_option *o, const char *name,
					   size_t len)
{
	for (; o && (o->name || o->key); o++)
		if (o->name && strlen(o->name) == len && !strncmp(o->name, name, len))
			return o;
	return NULL;
}

static const struct argp_option *find_short(const struct argp_option *o, int key)
{
	for (; o && (o->name || o->key); o++)
		if (o->key == key)
			return o;
	return NULL;
}

static bool has_class(const struct argp *argp)
{
	return find_long(argp->options, "class", strlen("class"));
}

bool gp_args_is_class(const char *text)
{
	struct gp_class_request request;
	const char *why;

	return !gp_class_request_parse(text, &request, &why);
}

static bool starts_known(const struct argp *argp, const char *arg)
{
	return arg[0] == '-' && arg[1] && arg[1] != '-' &&
	       (find_short(argp->options, arg[1]) || find_short(common_options, arg[1]));
}

/*
 * getopt stops behind a long option, and at a word of short ones, unless the bad one is its last.
 * Then the word before it is good.
 */
static const char *refused_of(const struct argp *argp, int argc, char **argv)
{
	const char *before = failed_at > 1 && failed_at <= argc ? argv[failed_at - 1] : NULL;
	const char *at = failed_at > 0 && failed_at < argc ? argv[failed_at] : NULL;
	bool good = !before || before[0] != '-' || strchr(before, '=') ||
		    starts_known(argp, before);

	if (good && at && at[0] == '-' && at[1] != '-')
		return at;
	return before ? before : at ? at : "?";
}

static int fail_option(const struct argp *argp, const char *verb, const char *arg)
{
	const char *name = arg + strspn(arg, "-");
	const size_t len = strcspn(name, "=");
	const struct argp_option *o = find_long(argp->options, name, len);

	if (!o && !name[1])
		o = find_short(argp->options, name[0]);
	if (has_class(argp) && gp_args_is_class(name))
		return gp_fail("%s: %s: no such option; write --class=%s", verb, arg, name);
	if (o && o->arg && !name[len])
		return gp_fail("%s: %s: value missing; write --%s=%s", verb, arg, o->name, o->arg);
	if (o && !o->arg && name[len])
		return gp_fail("%s: %s: this option has no value; write --%s", verb, arg, o->name);
	return gp_fail("%s: %s: unknown option; see gpreempt %s --help", verb, arg, verb);
}

/* ARGP_NO_ERRS: argp itself would print two lines. That disables --help too. */
int gp_args(const struct argp *argp, int argc, char **argv, void *input)
{
	static const struct argp common = {
		.options = common_options,
		.parser = parse_common,
	};
	static const struct argp_child child[] = { { &common, 0, NULL, 0 }, { 0 } };
	struct argp whole = *argp;
	int err;

	whole.children = child;
	err = argp_parse(&whole, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP, NULL,
			 input);
	if (!err)
		return 0;
	if (err == GP_ARGS_SAID)
		return GP_EXIT_OWN;
	return fail_option(argp, argv[0] + strlen("gpreempt "), refused_of(argp, argc, argv));
}

/* Its current argument and the rest. */
static char **args_rest(struct argp_state *state)
{
	char **rest = &state->argv[state->next - 1];

	state->next = state->argc;
	return rest;
}

int gp_args_request(const char *verb, const char *text, struct gp_class_request *out)
{
	const char *why;
	int err = gp_class_request_parse(text, out, &why);

	if (!err)
		return 0;
	gp_fail("%s: --class=%s: %s; %s", verb, text,
		err == -ERANGE	  ? "out of range" :
		strchr(text, ',') ? "invalid" :
				    "no such class",
		why);
	return GP_ARGS_SAID;
}

/* CMD itself asks gpreemptd for a class with options. */
static int args_class_of_cmd(const char *verb, const char *text)
{
	struct gp_class_request request;
	int fd, err = gp_args_request(verb, text, &request);

	if (err || !gp_class_request_extra(&request))
		return err;
	fd = gp_wire_daemon_connect();
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -ENOENT)
		gp_fail("%s: --class=%s: deadlines and caps need gpreemptd, which does not run; "
			"start it, or write --class=%.*s",
			verb, text, (int)strcspn(text, ","), text);
	else
		gp_fail_daemon(verb, fd);
	return GP_ARGS_SAID;
}

int gp_args_seconds(const char *verb, const char *name, const char *text, uint64_t *ns)
{
	char seconds[32];

	snprintf(seconds, sizeof(seconds), "%ss", text);
	if ((gp_parse_duration(text, ns) && gp_parse_duration(seconds, ns)) ||
	    *ns < SECONDS_MIN_NS || *ns > SECONDS_MAX_NS) {
		gp_fail("%s: %s=%s: not a time from 10ms to 24 h; write seconds, or a number and a "
			"unit: 2, 0.5, 500ms",
			verb, name, text);
		return GP_ARGS_SAID;
	}
	return 0;
}

int gp_args_pid(const char *verb, const char *text, pid_t *out)
{
	if (!gp_parse_pid(text, out))
		return 0;
	gp_fail("%s: %s: not a PID; write a number such as %d (ps lists them)", verb, text,
		(int)getpid());
	return GP_ARGS_SAID;
}

int gp_args_process(const char *verb, const char *text, pid_t *pid)
{
	pid_t second;
	uint64_t ns;

	if (gp_parse_pid(text, &second) && gp_args_is_class(text)) {
		gp_fail("%s: %s: not a PID; write --class=%s", verb, text, text);
		return GP_ARGS_SAID;
	}
	if (gp_parse_pid(text, &second) && !gp_parse_duration(text, &ns)) {
		gp_fail("%s: %s: not a PID; write --in=%s, an option of gpreempt hint", verb, text,
			text);
		return GP_ARGS_SAID;
	}
	if (!*pid)
		return gp_args_pid(verb, text, pid);
	gp_fail("%s: two processes, %d and %s; name one", verb, (int)*pid, text);
	return GP_ARGS_SAID;
}

error_t gp_args_cmd(const char *verb, struct gp_cmd_args *cmd, int key, char *arg,
		    struct argp_state *state)
{
	switch (key) {
	case 'c':
		cmd->class_text = arg;
		return args_class_of_cmd(verb, arg);
	case GP_KEY_DEVICE:
		cmd->device = arg;
		return 0;
	case ARGP_KEY_ARG:
		cmd->argv = args_rest(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
