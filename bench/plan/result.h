/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - results of a run of a plan, in any place. */
#ifndef GP_BENCH_PLAN_RESULT_H
#define GP_BENCH_PLAN_RESULT_H

#include <stddef.h>
#include <stdint.h>

#include "bench/plan/request.h"
#include "bench/plan/tokens.h"
#include "bench/plan/plan.h"

struct gp_plan_done {
	struct gp_request *request;
	size_t requests;	 /* that ended, half a second after the plan's end at most */
	size_t left;		 /* that had come, and had not ended by then */
	struct gp_tokens tokens; /* of the requests that ended */
	uint64_t cpu_ns;	 /* that it used meanwhile; 0: not known */
	size_t kills;		 /* of one that is killed, of which no more than this is known */
};

struct gp_plan_result {
	struct gp_plan_done client[GP_PLAN_CLIENTS_MAX];
	struct gp_stretch *stretch;
	size_t stretches;
	double energy_j;	   /* of the device; 0: it does not tell */
	uint64_t beside_cpu_ns;	   /* of processes beside the clients; 0: none, or not known */
	uint64_t begin_ns, end_ns; /* of the plan; all times are of one clock */
};

void gp_plan_result_free(struct gp_plan_result *result);

/** Requests a second that a client did before the plan's end. */
double gp_plan_result_per_s(const struct gp_plan_result *result, size_t client);

/* A client's figures alone, the reference of all others. */
struct gp_plan_alone {
	uint64_t p50_ns;	    /* the middle of how long its requests took */
	uint64_t first_ns, next_ns; /* the same of its tokens; 0: there are none */
	double per_s;
};

/**
 * Of its first client; each of its requests came when the last was done. 0; -ENOMEM; -ENODATA: no
 * request ended.
 */
int gp_plan_result_alone(const struct gp_plan_result *result, struct gp_plan_alone *alone);

#endif
