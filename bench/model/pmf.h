/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmf.h - distributions of a time, on a grid: p[i] is the probability of i steps.
 * What queueing theory gives as transforms is computed here by sums.
 */
#ifndef GP_BENCH_PMF_H
#define GP_BENCH_PMF_H

#include <stddef.h>

/** Whoever makes one frees it. What lies beyond the end is lost: see missing. */
struct gp_pmf {
	double *p;
	size_t count;
	double step; /* of time; the unit is the caller's */
};

/** P(X > t) of some distribution, with what it needs. */
typedef double (*gp_tail_fn)(double t, const void *arg);

/**
 * From P(X > t): each step has what lies around it, half a step to either side.
 * Ends where less than 1e-12 is left, at the latest at @most. 0, -ENOMEM.
 */
int gp_pmf_of_tail(struct gp_pmf *out, gp_tail_fn tail, const void *arg, double step, double most);
/** All at @at. 0, -ENOMEM. */
int gp_pmf_constant(struct gp_pmf *out, double at, double step);
/** Of the sum of the two, up to @most. Same step. 0, -ENOMEM. */
int gp_pmf_add(struct gp_pmf *out, const struct gp_pmf *a, const struct gp_pmf *b, double most);
/** Of @a with probability @share, else of @b. Same step. 0, -ENOMEM. */
int gp_pmf_mix(struct gp_pmf *out, const struct gp_pmf *a, const struct gp_pmf *b, double share);
/**
 * What is left of X when it is met at a random moment of it: density
 * P(X > t) / E[X]. 0, -ENOMEM.
 */
int gp_pmf_residual(struct gp_pmf *out, const struct gp_pmf *x);
/**
 * The sum of N of @x, where P(N = n) = (1 - rho) rho^n, up to @most. By Panjer's
 * recursion (ASTIN Bulletin 12, 1981). 0, -ENOMEM.
 */
int gp_pmf_geometric_sum(struct gp_pmf *out, const struct gp_pmf *x, double rho, double most);
void gp_pmf_free(struct gp_pmf *x);

double gp_pmf_mean(const struct gp_pmf *x);
/** E[X^2]. */
double gp_pmf_square(const struct gp_pmf *x);
/** Smallest t of the grid with P(X <= t) >= @part. */
double gp_pmf_quantile(const struct gp_pmf *x, double part);
/** What the grid's end cut off: 1 - sum. */
double gp_pmf_missing(const struct gp_pmf *x);

#endif
