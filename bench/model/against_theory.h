/* SPDX-License-Identifier: Apache-2.0 */
/*
 * against_theory.h - compare one load on the model of a GPU with queueing theory.
 * The theory's only figure of the device is the cost of one switch, which a run of
 * its own measures (gp_virtual_switch_measure()). Nothing is fitted to the load's run.
 */
#ifndef GP_BENCH_AGAINST_THEORY_H
#define GP_BENCH_AGAINST_THEORY_H

#include <stddef.h>
#include <stdint.h>

#include "bench/model/queue.h"

enum gp_service {
	GP_SERVICE_CONSTANT,	/* M/D/1 */
	GP_SERVICE_EXPONENTIAL, /* M/M/1 */
	GP_SERVICE_LOGNORMAL,	/* M/G/1, sigma 1: only means are compared */
};

struct gp_against {
	enum gp_service service;
	double load;	     /* arrival rate x time for which a request occupies the device */
	uint64_t service_ns; /* mean of a request's kernel */
	size_t requests;     /* without warm-up */
	uint64_t seed;
};

struct gp_against_figures {
	double mean_us, p99_us; /* arrival to completion; p99: 0 for lognormal theory */
	double be_share;	/* part of the time in which BE kernels ran */
};

struct gp_against_result {
	struct gp_against_figures run, theory;
};

/** @cost: of a switch on @device. 0; -ENOMEM; -EDOM: the load is not in (0, 1). */
int gp_against_theory(const struct gp_model_config *device, const struct gp_virtual_switch *cost,
		      const struct gp_against *a, struct gp_against_result *result);

const char *gp_service_name(enum gp_service service);

#endif
