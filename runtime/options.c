// SPDX-License-Identifier: Apache-2.0
#include "runtime/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct argp_option argp_own[] = {
	{ "help", '?', NULL, 0, NULL, 0 },
	{ "usage", 'u', NULL, 0, NULL, 0 },
	{ "version", 'V', NULL, 0, NULL, 0 },
	{ 0 },
};

/* Adds the options that begin with @name; one with that whole name stands alone. */
static size_t find(const struct argp_option *options, const char *name, size_t len,
		   const struct argp_option **found)
{
	size_t n = 0;

	for (const struct argp_option *o = options; o->name; o++) {
		if (strncmp(o->name, name, len))
			continue;
		*found = o;
		if (!o->name[len])
			return 1;
		n++;
	}
	return n;
}

/* Like getopt_long(), which takes the beginning of a name if it is of one option. */
static const struct argp_option *option_of(const struct argp_option *options, const char *name,
					   size_t len)
{
	const struct argp_option *found = NULL;
	const size_t n = find(options, name, len, &found);

	if (n)
		return n == 1 ? found : NULL;
	return find(argp_own, name, len, &found) == 1 ? found : NULL;
}

static int fail_unknown(const char *program, const char *arg)
{
	fprintf(stderr, "%s: %s: unknown option; see %s --help\n", program, arg, program);
	return -EINVAL;
}

/* @takes: the next argument is its value. */
static int check_long(const char *program, const struct argp_option *options, const char *arg,
		      bool last, bool *takes)
{
	const size_t len = strcspn(arg + 2, "=");
	const struct argp_option *o = option_of(options, arg + 2, len);
	const bool has_value = arg[2 + len];

	if (!o)
		return fail_unknown(program, arg);
	*takes = o->arg && !has_value;
	if (*takes && last)
		fprintf(stderr, "%s: %s: value missing; write --%s=%s\n", program, arg, o->name,
			o->arg);
	else if (!o->arg && has_value)
		fprintf(stderr, "%s: %s: this option has no value; write --%s\n", program, arg,
			o->name);
	else
		return 0;
	return -EINVAL;
}

int gp_options_check(const char *program, const struct argp_option *options, int argc, char **argv)
{
	int err = 0;

	for (int i = 1; i < argc && !err && strcmp(argv[i], "--"); i++) {
		const char *arg = argv[i];
		bool takes = false;

		if (!strncmp(arg, "--", 2))
			err = check_long(program, options, arg, i + 1 == argc, &takes);
		else if (arg[0] == '-' && arg[1] && strspn(arg + 1, "?V") != strlen(arg + 1))
			err = fail_unknown(program, arg);
		i += takes;
	}
	return err;
}
