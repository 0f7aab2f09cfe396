/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - a plan on a device that is there: each client a process of its own, started the
 * way a peer says. What it finds is what a run in virtual time finds.
 */
#ifndef GP_BENCH_DEVICE_RUN_H
#define GP_BENCH_DEVICE_RUN_H

#include "bench/device/peer.h"
#include "bench/plan/result.h"

struct gp_device_run {
	const char *client;	  /* the program: bench/apps/client.c */
	const char *torch_client; /* of workloads torch:MODEL: bench/pytorch/client.py */
	const char *ctxlog;	  /* bench/apps/ctxlog.c; NULL: nothing is kept of the log */
	const char *device;	  /* as gpreempt run --device takes it */
	bool soft;		  /* the software GPU: its clock is its own */
	const struct gp_plan *plan;
	char *const *workload; /* of each client: a name or a file */
	char *const *found;    /* of each: what it finds out of its kernels on the
					 * device is kept there for the next time */
	const struct gp_peer *peer;
	uint64_t seed;
};

/**
 * Who had the device when is known where its log may be read, and each client is a process
 * of its own, as it has to be where clients are killed. Those leave nothing but how often
 * that was: what a life had done is gone with it. Free @result with gp_plan_result_free().
 * 0; or a negative errno, of which @why says in one line whose it is.
 */
int gp_device_run(const struct gp_device_run *run, struct gp_plan_result *result, char *why,
		  size_t why_len);

#endif
