// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/opts.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTS 32
#define MAX_WORDS 32

static void fail(const char *name, const char *value, const char *why)
{
	fprintf(stderr, "%s: --%s=%s: %s\n", program_invocation_short_name, name, value, why);
	exit(2);
}

static void help(const struct gp_opt *opts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("  --%s%s\n\t%s\n", opts[i].name, opts[i].flag ? "" : "=VALUE",
		       opts[i].help);
	exit(0);
}

int gp_opts_number(const char *text, uint64_t *number)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end)
		return -EINVAL;
	*number = value;
	return 0;
}

static void set(const struct gp_opt *opt, const char *value)
{
	if (opt->flag) {
		*opt->flag = true;
	} else if (opt->text) {
		if (strlen(value) >= opt->text_len)
			fail(opt->name, value, "too long");
		strcpy(opt->text, value);
	} else if (gp_opts_number(value, opt->number)) {
		fail(opt->name, value, "not a whole number");
	}
}

void gp_opts_parse(const struct gp_opt *opts, size_t count, int argc, char **argv)
{
	struct option table[MAX_OPTS + 2] = { 0 };
	int which;

	for (size_t i = 0; i < count && i < MAX_OPTS; i++)
		table[i] = (struct option){
			opts[i].name,
			opts[i].flag ? no_argument : required_argument,
			NULL,
			(int)i + 1,
		};
	table[count] = (struct option){ "help", no_argument, NULL, MAX_OPTS + 1 };
	optind = 0; /* glibc: start over */
	while ((which = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (which == MAX_OPTS + 1)
			help(opts, count);
		if (which < 1 || which > (int)count)
			exit(2);
		set(&opts[which - 1], optarg ? optarg : "");
	}
	if (optind < argc) {
		fprintf(stderr, "%s: %s: unexpected argument; see --help\n",
			program_invocation_short_name, argv[optind]);
		exit(2);
	}
}

void gp_opts_parse_line(const struct gp_opt *opts, size_t count, char *line)
{
	char *words[MAX_WORDS + 1] = { program_invocation_short_name };
	char *save = NULL;
	int n = 1;

	for (char *w = strtok_r(line, " \n", &save); w && n < MAX_WORDS;
	     w = strtok_r(NULL, " \n", &save))
		words[n++] = w;
	gp_opts_parse(opts, count, n, words);
}
