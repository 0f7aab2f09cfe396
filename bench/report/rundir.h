/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rundir.h - a folder with all results of a command, for "gpreempt-bench report" and other
 * evaluations. run.json (schema_version 1) describes the runs. Beside it, compressed CSV
 * files have the raw samples, one request a row, and the use of the device over time.
 */
#ifndef GP_BENCH_RUNDIR_H
#define GP_BENCH_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/plan/request.h"
#include "bench/plan/tokens.h"

struct gp_rundir;

struct gp_rundir_about {
	const char *suite, *command, *device, *driver;
	uint64_t seed;
};

struct gp_rundir_client {
	const char *id, *workload, *load;
	bool lc;
	double offered; /* rate times the time alone; < 0: a closed loop */
	double alone_us, alone_per_s;
	const struct gp_request *request;
	size_t requests;
	double done_per_s;
	size_t left;			      /* requests that arrived and were not done */
	struct gp_tokens tokens;	      /* of the requests */
	double alone_first_us, alone_next_us; /* of its tokens */
	int64_t missed;			      /* of deadlines; < 0: it has none */
	double late_p50_us, late_p99_us;      /* of the load generator; < 0: not known */
	double cpu_s;			      /* used by the client; 0: not known */
	bool killed;			      /* .. kills times; its work is not known */
	size_t kills;
};

/* One plan under one scheduler, once. */
struct gp_rundir_run {
	const char *plan, *scheduler;
	uint64_t number; /* of the repetition */
	double seconds;
	double rates_times;  /* factor on the rates of the plan's file */
	double energy_j;     /* 0: not known */
	double beside_cpu_s; /* of processes beside the clients; 0: none, or not known */
	const struct gp_rundir_client *client;
	size_t clients;
	const struct gp_stretch *stretch; /* NULL: not known */
	size_t stretches;
};

/** 0; -EEXIST: there is a run.json in @path; or another negative errno. */
int gp_rundir_create(const char *path, const struct gp_rundir_about *about, struct gp_rundir **dir);
/** Write the run's samples and a new run.json. 0, or negative errno. */
int gp_rundir_add(struct gp_rundir *dir, const struct gp_rundir_run *run);
/** Record that the run is absent, and @why. 0, or negative errno. */
int gp_rundir_absent(struct gp_rundir *dir, const char *plan, const char *scheduler,
		     const char *why);
/**
 * Free @dir, in any case. If it has no run and no other file, the folder is removed.
 * NULL is fine.
 */
int gp_rundir_close(struct gp_rundir *dir);

#endif
