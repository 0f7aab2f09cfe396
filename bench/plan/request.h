/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - record of each request, by the client that made it. ns, of one clock a run. */
#ifndef GP_BENCH_REQUEST_H
#define GP_BENCH_REQUEST_H

#include <stdint.h>

struct gp_request {
	uint64_t intended_ns; /* intended arrival; latency counts from here */
	uint64_t start_ns;    /* the client began it */
	uint64_t end_ns;
};

/* A time in which a client had the device. */
struct gp_stretch {
	uint64_t start_ns, end_ns;
	uint32_t client; /* index in the plan */
};

#endif
