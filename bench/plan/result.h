/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - results of a run of a plan, on a device or in virtual time. */
#ifndef GP_BENCH_PLAN_RESULT_H
#define GP_BENCH_PLAN_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "bench/plan/request.h"
#include "bench/plan/tokens.h"
#include "bench/plan/plan.h"

struct gp_plan_done {
	struct gp_request *request;
	size_t requests;	 /* that ended, at most 0.5 s after the plan's end */
	size_t left;		 /* that arrived and had not ended by then */
	struct gp_tokens tokens; /* of the requests that ended */
	uint64_t cpu_ns;	 /* CPU time meanwhile; 0: not known */
	size_t kills;		 /* the only known figure of a killed client */
};

struct gp_plan_result {
	struct gp_plan_done client[GP_PLAN_CLIENTS_MAX];
	struct gp_stretch *stretch;
	size_t stretches;
	double energy_j;	   /* of the device; 0: not known */
	uint64_t beside_cpu_ns;	   /* of processes beside the clients; 0: none, or not known */
	uint64_t begin_ns, end_ns; /* of the plan; all times are of one clock */
};

void gp_plan_result_free(struct gp_plan_result *result);

/** Requests a second that a client did before the plan's end. */
double gp_plan_result_per_s(const struct gp_plan_result *result, size_t client);

/* A client's figures alone, the reference of all others. */
struct gp_plan_alone {
	uint64_t p50_ns;	    /* median of its requests' times */
	uint64_t first_ns, next_ns; /* the same of its tokens; 0: none */
	double per_s;
};

/**
 * Figures of the result's first client, from a closed loop. 0; -ENOMEM; -ENODATA: no request
 * ended.
 */
int gp_plan_result_alone(const struct gp_plan_result *result, struct gp_plan_alone *alone);

#endif
