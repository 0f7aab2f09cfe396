// SPDX-License-Identifier: Apache-2.0
#include "bench/run/kills.h"

#include <math.h>

#define NEVER UINT64_MAX
#define NS_PER_S 1e9
/* Those of the seed up to it are the clients' own: of when requests come. */
#define FIRST_STREAM (GP_PLAN_CLIENTS_MAX + 1u)

static void draw(const struct gp_kills *k, struct gp_kills_client *c)
{
	c->next_ns += (uint64_t)llround(c->mean_ns * gp_random_exponential(&c->random));
	if (c->next_ns > k->end_ns)
		c->next_ns = NEVER;
}

void gp_kills_begin(struct gp_kills *k, const struct gp_plan *plan, uint64_t seed,
		    uint64_t begin_ns, uint64_t end_ns)
{
	*k = (struct gp_kills){ .clients = plan->clients, .end_ns = end_ns };
	for (size_t i = 0; i < plan->clients; i++) {
		struct gp_kills_client *c = &k->client[i];

		c->mean_ns = plan->client[i].killed_every_s * NS_PER_S;
		c->next_ns = c->mean_ns > 0 ? begin_ns : NEVER;
		gp_random_seed(&c->random, seed, FIRST_STREAM + i);
		if (c->mean_ns > 0)
			draw(k, c);
	}
}

uint64_t gp_kills_next_ns(const struct gp_kills *k)
{
	uint64_t next_ns = NEVER;

	for (size_t i = 0; i < k->clients; i++)
		if (k->client[i].next_ns < next_ns)
			next_ns = k->client[i].next_ns;
	return next_ns;
}

int gp_kills_take(struct gp_kills *k, uint64_t now_ns)
{
	for (size_t i = 0; i < k->clients; i++) {
		if (k->client[i].next_ns > now_ns)
			continue;
		draw(k, &k->client[i]);
		return (int)i;
	}
	return -1;
}
