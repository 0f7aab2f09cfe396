// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/solo.h"

#include <stddef.h>

#include "bench/gpu/clock.h"
#include "bench/plan/samples.h"

#define REQUESTS 21u

uint64_t gp_solo_ns(void (*request)(void *of), void *of)
{
	uint64_t ns[REQUESTS];

	for (size_t i = 0; i < REQUESTS; i++) {
		const uint64_t start_ns = gp_clock_now_ns();

		request(of);
		ns[i] = gp_clock_now_ns() - start_ns;
	}
	gp_samples_sort(ns, REQUESTS);
	return gp_samples_rank(ns, REQUESTS, 500);
}
