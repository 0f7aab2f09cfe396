/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opts.h - a bench program's options: a table of --name=value, each with the
 * place of its value. The same table reads the lines of a control pipe.
 */
#ifndef GP_BENCH_OPTS_H
#define GP_BENCH_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Exactly one of the places is set. */
struct gp_opt {
	const char *name;
	uint64_t *number;
	bool *flag;
	char *text; /* array of @text_len */
	size_t text_len;
	const char *help;
};

/** Digits and nothing else. 0, -EINVAL; @number as it was on failure. */
int gp_opts_number(const char *text, uint64_t *number);

/** Reads all of @argv[1..]; prints and exits 2 on what it does not know. */
void gp_opts_parse(const struct gp_opt *opts, size_t count, int argc, char **argv);

/** The same from one line, which is changed. */
void gp_opts_parse_line(const struct gp_opt *opts, size_t count, char *line);

#endif
