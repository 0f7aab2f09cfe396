// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/tokens.h"

#include <errno.h>
#include <stdlib.h>

static void add(struct gp_token_latencies *l, const uint64_t *token_ns, size_t tokens,
		uint64_t intended_ns)
{
	l->first_ns[l->firsts++] = token_ns[0] - intended_ns;
	for (size_t i = 1; i < tokens; i++)
		l->next_ns[l->nexts++] = token_ns[i] - token_ns[i - 1];
}

int gp_token_latencies(const struct gp_tokens *tokens, const struct gp_request *request,
		       size_t requests, struct gp_token_latencies *latencies)
{
	struct gp_token_latencies l = { 0 };

	*latencies = l;
	if (!tokens->of_each)
		return 0;
	l.first_ns = calloc(requests + 1, sizeof(*l.first_ns));
	l.next_ns = calloc(requests * (tokens->of_each - 1) + 1, sizeof(*l.next_ns));
	if (!l.first_ns || !l.next_ns) {
		gp_token_latencies_free(&l);
		return -ENOMEM;
	}
	for (size_t i = 0; i < requests; i++)
		add(&l, tokens->ns + i * tokens->of_each, tokens->of_each, request[i].intended_ns);
	*latencies = l;
	return 0;
}

void gp_token_latencies_free(struct gp_token_latencies *latencies)
{
	free(latencies->first_ns);
	free(latencies->next_ns);
	*latencies = (struct gp_token_latencies){ 0 };
}
