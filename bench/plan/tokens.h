/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens.h - token times of a decoder's requests: the time to the first token (TTFT), and
 * the times between tokens (ITL).
 */
#ifndef GP_BENCH_TOKENS_H
#define GP_BENCH_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/plan/request.h"

/* Times of all tokens, request by request; each request has as many. */
struct gp_tokens {
	uint64_t *ns;
	size_t of_each; /* 0: none */
};

/* Latencies in ns, in order of arrival. */
struct gp_token_latencies {
	uint64_t *first_ns, *next_ns;
	size_t firsts, nexts;
};

/**
 * A request's first token counts from the request's intended time. 0; -ENOMEM.
 * Free with gp_token_latencies_free().
 */
int gp_token_latencies(const struct gp_tokens *tokens, const struct gp_request *request,
		       size_t requests, struct gp_token_latencies *latencies);
void gp_token_latencies_free(struct gp_token_latencies *latencies);

#endif
