// SPDX-License-Identifier: Apache-2.0
#include "bench/cmd/overall.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/report/percentile.h"

#define PART 1e6 /* scales ratios to whole numbers for percentiles */

static bool is_lc(const struct gp_plan_job *job, size_t i)
{
	return job->plan->client[i].lc && job->alone[i].p50_ns;
}

static size_t requests_of(const struct gp_plan_job *job, const struct gp_plan_result *r)
{
	size_t count = 0;

	for (size_t i = 0; i < job->plan->clients; i++)
		count += is_lc(job, i) ? r->client[i].requests : 0;
	return count;
}

/* One client after the other, so that dependent samples stay together. */
static size_t fill(const struct gp_plan_job *job, const struct gp_plan_result *r, uint64_t *parts)
{
	size_t n = 0;

	for (size_t i = 0; i < job->plan->clients; i++) {
		const struct gp_plan_done *c = &r->client[i];

		for (size_t k = 0; is_lc(job, i) && k < c->requests; k++)
			parts[n++] = (uint64_t)((double)(c->request[k].end_ns -
							 c->request[k].intended_ns) *
						PART / (double)job->alone[i].p50_ns);
	}
	return n;
}

static int lc_of(const struct gp_plan_job *job, const struct gp_plan_result *r,
		 struct gp_overall *overall)
{
	const size_t count = requests_of(job, r);
	uint64_t *parts = count ? calloc(count, sizeof(*parts)) : NULL;
	struct gp_percentiles p;
	double sum = 0;
	int err;

	if (!count)
		return 0;
	if (!parts)
		return -ENOMEM;
	fill(job, r, parts);
	err = gp_percentiles(parts, count, 1, &p);
	for (size_t k = 0; k < count; k++)
		sum += (double)parts[k];
	free(parts);
	if (err)
		return err;
	overall->lc_mean = sum / (double)count / PART;
	overall->lc_p99 = (double)p.of[GP_P99].ns / PART;
	return 0;
}

static double be_of(const struct gp_plan_job *job, const struct gp_plan_result *r)
{
	double sum = -1;

	for (size_t i = 0; i < job->plan->clients; i++) {
		if (job->plan->client[i].lc)
			continue;
		if (job->plan->client[i].killed_every_s > 0)
			return -1;
		sum = (sum < 0 ? 0 : sum) + gp_plan_result_per_s(r, i) / job->alone[i].per_s;
	}
	return sum;
}

int gp_overall_of(const struct gp_plan_job *job, const struct gp_plan_result *r,
		  struct gp_overall *overall)
{
	*overall = (struct gp_overall){ .be = be_of(job, r) };
	return lc_of(job, r, overall);
}
