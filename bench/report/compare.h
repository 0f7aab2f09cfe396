/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - is a figure of B higher or lower than that of A, or undecided?
 */
#ifndef GP_BENCH_COMPARE_H
#define GP_BENCH_COMPARE_H

#include <stddef.h>

#define GP_COMPARE_PAIRS_MIN 3

enum gp_verdict {
	GP_UNDECIDED,
	GP_LOWER,
	GP_HIGHER
};

struct gp_comparison {
	enum gp_verdict verdict; /* of B against A */
	double ratio;		 /* B / A: geometric mean over the pairs */
	double low, high;	 /* confidence interval of the ratio, at 1 - alpha */
	double p;		 /* probability of such a difference by chance */
};

/**
 * @a and @b have one figure of each run, all > 0. Runs i of A and B were neighbours in time
 * (A B A B), so a disturbance hit both. The test is Student's t over the logarithms of the
 * pairs' ratios. A run counts as one, because its samples depend on each other.
 * 0; -EINVAL: fewer than GP_COMPARE_PAIRS_MIN pairs, or a figure <= 0; -EDOM: @alpha is not
 * in (0, 1).
 */
int gp_compare(const double *a, const double *b, size_t pairs, double alpha,
	       struct gp_comparison *result);

/** P(|T| >= t) of Student's distribution. */
double gp_student_both_tails(double t, size_t freedom);

#endif
