/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrivals.h - intended times of a client's requests. Pure: no clock. All times are ns.
 *
 * In an open loop a request arrives at its time, even if the ones before are late. None is
 * dropped, so the latencies of a client that falls behind grow. Latency counts from the intended
 * time. Two laws are closed loops, in which each request waits for the last.
 */
#ifndef GP_BENCH_ARRIVALS_H
#define GP_BENCH_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/plan/random.h"

enum gp_arrivals_law {
	GP_ARRIVALS_PERIODIC,	/* one mean apart */
	GP_ARRIVALS_POISSON,	/* apart by an exponential law */
	GP_ARRIVALS_BURSTY,	/* by a log-normal one, of sigma */
	GP_ARRIVALS_CONTINUOUS, /* when the last one is done */
	GP_ARRIVALS_DEPENDENT,	/* one mean after the last one is done */
};

#define GP_ARRIVALS_SIGMA 1.0 /* of bursts, by default */
#define GP_ARRIVALS_SIGMA_MAX 3.0

struct gp_arrivals {
	enum gp_arrivals_law law;
	double mean_ns, sigma;
	struct gp_random random;
};

/** The laws' names, for a message. */
#define GP_ARRIVALS_NAMES "periodic, poisson, bursty, bursty:SIGMA, continuous or dependent"

/**
 * gp_arrivals_parse() - a law by its name.
 * @stream: of @seed: two clients of one run draw from streams of their own
 * Return: 0; -EINVAL: no such law, or @text continues after it;
 * -ERANGE: SIGMA is not above 0 and up to GP_ARRIVALS_SIGMA_MAX.
 */
int gp_arrivals_parse(const char *text, double mean_ns, uint64_t seed, uint64_t stream,
		      struct gp_arrivals *arrivals);

/** Is the next request's time known before the last one is done? */
bool gp_arrivals_is_open(const struct gp_arrivals *arrivals);

/**
 * The intended time of the next request.
 * @last_ns: intended time of the last one; @done_ns: when it was done
 */
uint64_t gp_arrivals_next_ns(struct gp_arrivals *arrivals, uint64_t last_ns, uint64_t done_ns);

#endif
