/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmf.h - distributions of a time on a grid: p[i] is the probability of i steps.
 * Sums on the grid stand for the transforms of queueing theory.
 */
#ifndef GP_BENCH_PMF_H
#define GP_BENCH_PMF_H

#include <stddef.h>

/**
 * The caller of a function that fills one in frees it with gp_pmf_free(). The grid ends
 * somewhere: gp_pmf_missing() gives the probability beyond.
 */
struct gp_pmf {
	double *p;
	size_t count;
	double step; /* of time; the unit is the caller's */
};

/** P(X > t) of some distribution; @arg holds its parameters. */
typedef double (*gp_tail_fn)(double t, const void *arg);

/**
 * From P(X > t): p[i] is the probability of half a step to either side of i steps.
 * The grid ends where less than 1e-12 is left, at the latest at @most. 0, -ENOMEM.
 */
int gp_pmf_of_tail(struct gp_pmf *out, gp_tail_fn tail, const void *arg, double step, double most);
/** The constant @at. 0, -ENOMEM. */
int gp_pmf_constant(struct gp_pmf *out, double at, double step);
/** The sum of independent @a and @b, up to @most. They share one step. 0, -ENOMEM. */
int gp_pmf_add(struct gp_pmf *out, const struct gp_pmf *a, const struct gp_pmf *b, double most);
/** @a with probability @share, else @b. They share one step. 0, -ENOMEM. */
int gp_pmf_mix(struct gp_pmf *out, const struct gp_pmf *a, const struct gp_pmf *b, double share);
/**
 * The residual of @x: the time left at a random moment within it. Its density is
 * P(X > t) / E[X]. 0, -ENOMEM.
 */
int gp_pmf_residual(struct gp_pmf *out, const struct gp_pmf *x);
/**
 * The sum of N independent times like @x, where P(N = n) = (1 - rho) rho^n, up to @most.
 * By Panjer's recursion (ASTIN Bulletin 12, 1981). 0, -ENOMEM.
 */
int gp_pmf_geometric_sum(struct gp_pmf *out, const struct gp_pmf *x, double rho, double most);
void gp_pmf_free(struct gp_pmf *x);

double gp_pmf_mean(const struct gp_pmf *x);
/** E[X^2]. */
double gp_pmf_square(const struct gp_pmf *x);
/** Smallest t of the grid with P(X <= t) >= @part. */
double gp_pmf_quantile(const struct gp_pmf *x, double part);
/** The probability beyond the grid's end: 1 - sum. */
double gp_pmf_missing(const struct gp_pmf *x);

#endif
