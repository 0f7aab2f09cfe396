/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens.h - of requests that give one token after another, a decoder's: how long the
 * first took (TTFT), and how long after each came the next (ITL).
 */
#ifndef GP_BENCH_TOKENS_H
#define GP_BENCH_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/plan/request.h"

/* When each came, request by request; as many of each. */
struct gp_tokens {
	uint64_t *ns;
	size_t of_each; /* 0: none */
};

/* Latencies, ns, in the order in which they came. */
struct gp_token_latencies {
	uint64_t *first_ns, *next_ns;
	size_t firsts, nexts;
};

/**
 * The first of each request counts from when the request was meant to come. 0; -ENOMEM.
 * Free with gp_token_latencies_free().
 */
int gp_token_latencies(const struct gp_tokens *tokens, const struct gp_request *request,
		       size_t requests, struct gp_token_latencies *latencies);
void gp_token_latencies_free(struct gp_token_latencies *latencies);

#endif
