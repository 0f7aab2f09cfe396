/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - what a suite found: figures, one value for each run, and what made
 * them; as a JSON file (schema_version 1), to be kept and compared.
 */
#ifndef GP_BENCH_RESULTS_H
#define GP_BENCH_RESULTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gp_results;

enum gp_better {
	GP_BETTER_LOWER,
	GP_BETTER_HIGHER
};

/** Free with gp_results_destroy(). NULL: out of memory. */
struct gp_results *gp_results_create(const char *suite, uint64_t seed);
void gp_results_destroy(struct gp_results *r); /* NULL is fine */

/**
 * One more run's value of figure @name of row @row. Figures keep the order in which
 * they came. 0; -ENOMEM; -EINVAL: @value is not finite, or @better is not what it was.
 */
int gp_results_add(struct gp_results *r, const char *row, const char *name, enum gp_better better,
		   double value);

/** 0, or negative errno; the file is whole or not there. */
int gp_results_write(const struct gp_results *r, const char *path);

/**
 * NULL and one line in @why: the file, where in it, what was found there and what
 * would be right.
 */
struct gp_results *gp_results_read(const char *path, char *why, size_t why_len);
/** The same from memory; @name is what @why calls it. */
struct gp_results *gp_results_parse(const char *name, const char *text, size_t bytes, char *why,
				    size_t why_len);

/**
 * Prints, for each figure of both, whether @b is better, worse or undecided, by
 * gp_compare(); where no value differs, "same", and where there are too few runs to tell,
 * "differs". @alpha: that any of them is called better or worse where none is. How many are
 * worse or differ; negative errno.
 */
int gp_results_compare(const struct gp_results *a, const struct gp_results *b, double alpha,
		       FILE *out);

#endif
