/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - a plan on a present device: each client is a process, behind a peer's command. Its
 * results are those of a run in virtual time.
 */
#ifndef GP_BENCH_RUN_RUN_H
#define GP_BENCH_RUN_RUN_H

#include "bench/run/peer.h"
#include "bench/plan/result.h"

struct gp_device_run {
	const char *client;	  /* the program: bench/apps/client.c */
	const char *torch_client; /* of workloads torch:MODEL: bench/apps/client.py */
	const char *ctxlog;	  /* bench/apps/ctxlog.c; NULL: nothing is kept of the log */
	const char *device;	  /* as gpreempt run --device takes it */
	bool soft;		  /* the software GPU: its clock is its own */
	const struct gp_plan *plan;
	char *const *workload; /* of each client: a name or a file */
	char *const *found; /* of each: file for its kernels' measured lengths, for the next time */
	const struct gp_peer *peer;
	uint64_t seed;
};

/**
 * The device's timeline is known where its log may be read and each client is a process. A plan
 * that kills clients needs that. Of a killed client only the number of kills is known. Free @result
 * with gp_plan_result_free(). 0; or a negative errno, with its origin in one line in @why.
 */
int gp_device_run(const struct gp_device_run *run, struct gp_plan_result *result, char *why,
		  size_t why_len);

#endif
