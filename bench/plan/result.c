// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/result.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/common/samples.h"

#define NS_PER_S 1000000000u

void gp_plan_result_free(struct gp_plan_result *result)
{
	for (size_t i = 0; i < GP_PLAN_CLIENTS_MAX; i++)
		free(result->client[i].request);
	free(result->stretch);
	*result = (struct gp_plan_result){ 0 };
}

int gp_plan_result_middle(const struct gp_plan_result *r, uint64_t *p50_ns, double *per_s)
{
	const struct gp_plan_done *c = &r->client[0];
	uint64_t *ns = calloc(c->requests + 1, sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	if (!c->requests) {
		free(ns);
		return -ENODATA;
	}
	for (size_t i = 0; i < c->requests; i++)
		ns[i] = c->request[i].end_ns - c->request[i].intended_ns;
	gp_samples_sort(ns, c->requests);
	*p50_ns = gp_samples_rank(ns, c->requests, 500);
	*per_s = (double)c->requests * NS_PER_S /
		 (double)(c->request[c->requests - 1].end_ns - r->begin_ns);
	free(ns);
	return 0;
}
