/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - the figures of a suite, with one value for each run, and the conditions of
 * the runs. They are kept and compared as a JSON file (schema_version 1).
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
 * Add one run's value of figure @name of row @row. Figures keep their order of arrival.
 * 0; -ENOMEM; -EINVAL: @value is not finite, or the figure has another @better.
 */
int gp_results_add(struct gp_results *r, const char *row, const char *name, enum gp_better better,
		   double value);

/** Write a whole file, or none. 0, or negative errno. */
int gp_results_write(const struct gp_results *r, const char *path);

/**
 * On error NULL, and one line in @why: the file, the place, its text and the expected one.
 */
struct gp_results *gp_results_read(const char *path, char *why, size_t why_len);
/** The same from memory; @why names the text @name. */
struct gp_results *gp_results_parse(const char *name, const char *text, size_t bytes, char *why,
				    size_t why_len);

/**
 * Print for each common figure whether @b is better, worse or undecided, by gp_compare().
 * It is "same" if no value differs, and "differs" if there are too few runs for a test.
 * @alpha: the probability that any figure is wrongly called better or worse.
 * Return: how many are worse or differ; negative errno.
 */
int gp_results_compare(const struct gp_results *a, const struct gp_results *b, double alpha,
		       FILE *out);

#endif
