// SPDX-License-Identifier: Apache-2.0
#include "bench/model/theory.h"

#include <errno.h>
#include <math.h>

double gp_queue_load(const struct gp_queue *q)
{
	return q->rate * gp_pmf_mean(q->service);
}

static double setup_mean(const struct gp_queue *q)
{
	return q->setup ? gp_pmf_mean(q->setup) : 0;
}

double gp_queue_mean(const struct gp_queue *q)
{
	const double d = setup_mean(q), d2 = q->setup ? gp_pmf_square(q->setup) : 0;

	return gp_pmf_mean(q->service) +
	       q->rate * gp_pmf_square(q->service) / (2 * (1 - gp_queue_load(q))) +
	       (2 * d + q->rate * d2) / (2 * (1 + q->rate * d));
}

/* X of the sum: a request waits for the whole set-up, or for its residual. */
static int setup_met(struct gp_pmf *out, const struct gp_queue *q)
{
	struct gp_pmf rest;
	int err = gp_pmf_residual(&rest, q->setup);

	if (err)
		return err;
	err = gp_pmf_mix(out, q->setup, &rest, 1 / (1 + q->rate * setup_mean(q)));
	gp_pmf_free(&rest);
	return err;
}

static int wait_times(struct gp_pmf *out, const struct gp_queue *q, double most)
{
	struct gp_pmf rest;
	int err = gp_pmf_residual(&rest, q->service);

	if (err)
		return err;
	err = gp_pmf_geometric_sum(out, &rest, gp_queue_load(q), most);
	gp_pmf_free(&rest);
	return err;
}

int gp_queue_times(struct gp_pmf *out, const struct gp_queue *q, double most)
{
	struct gp_pmf wait, both, met;
	int err;

	if (gp_queue_load(q) >= 1)
		return -EDOM;
	err = wait_times(&wait, q, most);
	if (err)
		return err;
	err = gp_pmf_add(&both, q->service, &wait, most);
	gp_pmf_free(&wait);
	if (err)
		return err;
	if (!q->setup) {
		*out = both;
		return 0;
	}
	err = setup_met(&met, q);
	if (!err) {
		err = gp_pmf_add(out, &met, &both, most);
		gp_pmf_free(&met);
	}
	gp_pmf_free(&both);
	return err;
}

/*
 * A busy period lasts E[D + S] / (1 - load) on average. An empty period I is exponential with
 * mean 1 / lambda. Of each cycle of both, E[max(0, I - back)] is left to BE.
 */
double gp_queue_left(const struct gp_queue *q, double back)
{
	const double empty = 1 / q->rate;
	const double busy = (setup_mean(q) + gp_pmf_mean(q->service)) / (1 - gp_queue_load(q));

	return empty * exp(-q->rate * back) / (empty + busy);
}
