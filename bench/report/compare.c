// SPDX-License-Identifier: Apache-2.0
#include "bench/report/compare.h"

#include <errno.h>
#include <math.h>

#define STEPS 400

/* Density of Student's distribution, with t = sqrt(f) tan(x): cos(x)^(f-1), scaled. */
static double shape(double x, size_t freedom)
{
	return pow(cos(x), (double)freedom - 1);
}

/* Simpson's rule from 0 to @to. */
static double area(double to, size_t freedom)
{
	const double step = to / STEPS;
	double sum = shape(0, freedom) + shape(to, freedom);

	for (int i = 1; i < STEPS; i++)
		sum += (i % 2 ? 4 : 2) * shape(i * step, freedom);
	return sum * step / 3;
}

double gp_student_both_tails(double t, size_t freedom)
{
	const double x = atan(fabs(t) / sqrt((double)freedom));

	return 1 - area(x, freedom) / area(M_PI_2, freedom);
}

/* The t with gp_student_both_tails(t) = alpha, by halving. */
static double student_limit(double alpha, size_t freedom)
{
	const double whole = area(M_PI_2, freedom);
	double low = 0, high = M_PI_2;

	for (int i = 0; i < 40; i++) {
		const double middle = (low + high) / 2;

		if (1 - area(middle, freedom) / whole > alpha)
			low = middle;
		else
			high = middle;
	}
	return tan(low) * sqrt((double)freedom);
}

static void conclude(double mean, double error, double alpha, size_t freedom,
		     struct gp_comparison *result)
{
	const double around = student_limit(alpha, freedom) * error;

	result->ratio = exp(mean);
	result->low = exp(mean - around);
	result->high = exp(mean + around);
	if (error > 0)
		result->p = gp_student_both_tails(mean / error, freedom);
	else /* no noise at all: virtual time */
		result->p = mean == 0 ? 1 : 0;
	result->verdict = result->p >= alpha ? GP_UNDECIDED : mean < 0 ? GP_LOWER : GP_HIGHER;
}

int gp_compare(const double *a, const double *b, size_t pairs, double alpha,
	       struct gp_comparison *result)
{
	double sum = 0, squares = 0, mean;

	if (!(alpha > 0 && alpha < 1))
		return -EDOM;
	if (pairs < GP_COMPARE_PAIRS_MIN)
		return -EINVAL;
	for (size_t i = 0; i < pairs; i++) {
		if (!(a[i] > 0 && b[i] > 0 && isfinite(a[i]) && isfinite(b[i])))
			return -EINVAL;
		sum += log(b[i] / a[i]);
	}
	mean = sum / (double)pairs;
	for (size_t i = 0; i < pairs; i++)
		squares += pow(log(b[i] / a[i]) - mean, 2);
	conclude(mean, sqrt(squares / (double)(pairs - 1) / (double)pairs), alpha, pairs - 1,
		 result);
	return 0;
}
