// SPDX-License-Identifier: Apache-2.0
#include "bench/model/pmf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TAIL_ENOUGH 1e-12

static int create(struct gp_pmf *out, size_t count, double step)
{
	out->p = calloc(count, sizeof(*out->p));
	out->count = count;
	out->step = step;
	return out->p ? 0 : -ENOMEM;
}

static size_t steps_to(double most, double step)
{
	return (size_t)ceil(most / step) + 1;
}

int gp_pmf_of_tail(struct gp_pmf *out, gp_tail_fn tail, const void *arg, double step, double most)
{
	size_t count = 1, limit = steps_to(most, step);
	double left = 1;

	while (count < limit && tail((double)count * step, arg) > TAIL_ENOUGH)
		count++;
	if (create(out, count, step))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		double after = tail(((double)i + 0.5) * step, arg);

		out->p[i] = left - after;
		left = after;
	}
	return 0;
}

int gp_pmf_constant(struct gp_pmf *out, double at, double step)
{
	const size_t i = (size_t)llround(at / step);

	if (create(out, i + 1, step))
		return -ENOMEM;
	out->p[i] = 1;
	return 0;
}

int gp_pmf_add(struct gp_pmf *out, const struct gp_pmf *a, const struct gp_pmf *b, double most)
{
	size_t count = a->count + b->count - 1, limit = steps_to(most, a->step);

	if (count > limit)
		count = limit;
	if (create(out, count, a->step))
		return -ENOMEM;
	for (size_t i = 0; i < a->count && i < count; i++) {
		size_t end = count - i < b->count ? count - i : b->count;

		for (size_t j = 0; a->p[i] > 0 && j < end; j++)
			out->p[i + j] += a->p[i] * b->p[j];
	}
	return 0;
}

int gp_pmf_mix(struct gp_pmf *out, const struct gp_pmf *a, const struct gp_pmf *b, double share)
{
	if (create(out, a->count > b->count ? a->count : b->count, a->step))
		return -ENOMEM;
	for (size_t i = 0; i < a->count; i++)
		out->p[i] += share * a->p[i];
	for (size_t i = 0; i < b->count; i++)
		out->p[i] += (1 - share) * b->p[i];
	return 0;
}

int gp_pmf_residual(struct gp_pmf *out, const struct gp_pmf *x)
{
	const double mean_steps = gp_pmf_mean(x) / x->step;
	double more = 1; /* P(X > i steps) */

	/* One step more: the probability in [i, i + 1) is split between its two ends. */
	if (create(out, x->count + 1, x->step))
		return -ENOMEM;
	for (size_t i = 0; i < x->count; i++) {
		more -= x->p[i];
		if (more < 0)
			more = 0;
		out->p[i] += more / 2 / mean_steps;
		out->p[i + 1] += more / 2 / mean_steps;
	}
	return 0;
}

int gp_pmf_geometric_sum(struct gp_pmf *out, const struct gp_pmf *x, double rho, double most)
{
	const double scale = 1 / (1 - rho * x->p[0]);

	if (create(out, steps_to(most, x->step), x->step))
		return -ENOMEM;
	out->p[0] = (1 - rho) * scale;
	for (size_t i = 1; i < out->count; i++) {
		size_t end = i < x->count - 1 ? i : x->count - 1;
		double sum = 0;

		for (size_t j = 1; j <= end; j++)
			sum += x->p[j] * out->p[i - j];
		out->p[i] = rho * scale * sum;
	}
	return 0;
}

void gp_pmf_free(struct gp_pmf *x)
{
	free(x->p);
	x->p = NULL;
	x->count = 0;
}

double gp_pmf_mean(const struct gp_pmf *x)
{
	double sum = 0;

	for (size_t i = 0; i < x->count; i++)
		sum += x->p[i] * (double)i;
	return sum * x->step;
}

double gp_pmf_square(const struct gp_pmf *x)
{
	double sum = 0;

	for (size_t i = 0; i < x->count; i++)
		sum += x->p[i] * (double)i * (double)i;
	return sum * x->step * x->step;
}

double gp_pmf_quantile(const struct gp_pmf *x, double part)
{
	double sum = 0;

	for (size_t i = 0; i < x->count; i++) {
		sum += x->p[i];
		if (sum >= part)
			return (double)i * x->step;
	}
	return INFINITY;
}

double gp_pmf_missing(const struct gp_pmf *x)
{
	double sum = 0;

	for (size_t i = 0; i < x->count; i++)
		sum += x->p[i];
	return 1 - sum;
}
