// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/result.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/plan/samples.h"

#define NS_PER_S 1000000000u

void gp_plan_result_free(struct gp_plan_result *result)
{
	for (size_t i = 0; i < GP_PLAN_CLIENTS_MAX; i++) {
		free(result->client[i].request);
		free(result->client[i].tokens.ns);
	}
	free(result->stretch);
	*result = (struct gp_plan_result){ 0 };
}

double gp_plan_result_per_s(const struct gp_plan_result *r, size_t client)
{
	const struct gp_plan_done *c = &r->client[client];
	size_t done = 0;

	for (size_t k = 0; k < c->requests; k++)
		done += c->request[k].end_ns <= r->end_ns;
	return (double)done * NS_PER_S / (double)(r->end_ns - r->begin_ns);
}

/* Sorts @ns. */
static uint64_t middle(uint64_t *ns, size_t count)
{
	gp_samples_sort(ns, count);
	return gp_samples_rank(ns, count, 500);
}

static int alone_tokens(const struct gp_plan_done *c, struct gp_plan_alone *alone)
{
	struct gp_token_latencies l;
	int err = gp_token_latencies(&c->tokens, c->request, c->requests, &l);

	if (err)
		return err;
	alone->first_ns = middle(l.first_ns, l.firsts);
	alone->next_ns = middle(l.next_ns, l.nexts);
	gp_token_latencies_free(&l);
	return 0;
}

int gp_plan_result_alone(const struct gp_plan_result *r, struct gp_plan_alone *alone)
{
	const struct gp_plan_done *c = &r->client[0];
	uint64_t *ns;

	if (!c->requests)
		return -ENODATA;
	ns = calloc(c->requests, sizeof(*ns));
	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < c->requests; i++)
		ns[i] = c->request[i].end_ns - c->request[i].intended_ns;
	alone->p50_ns = middle(ns, c->requests);
	alone->per_s = (double)c->requests * NS_PER_S /
		       (double)(c->request[c->requests - 1].end_ns - r->begin_ns);
	free(ns);
	return alone_tokens(c, alone);
}
