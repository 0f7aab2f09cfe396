/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - is B better than A, worse, or can nobody tell?
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
	double low, high;	 /* the ratio lies between these, 1 - alpha sure */
	double p;		 /* so likely is that much by chance alone */
};

/**
 * One figure of each run, all > 0: run i of A and run i of B were neighbours in
 * time (A B A B), so what disturbed one disturbed the other. Student's t over the
 * logarithms of the pairs' ratios: samples of one run depend on each other, and are not counted
 * as many. 0; -EINVAL: fewer than GP_COMPARE_PAIRS_MIN
 * pairs, or a figure that is not > 0; -EDOM:
 * alpha not in (0, 1).
 */
int gp_compare(const double *a, const double *b, size_t pairs, double alpha,
	       struct gp_comparison *result);

/** P(|T| >= t) of Student's distribution. */
double gp_student_both_tails(double t, size_t freedom);

#endif
