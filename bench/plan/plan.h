/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - clients beside each other, their loads and the length: one run, read from a
 * JSON file. Files of GPreempt's and DISB's artifacts work unchanged. Fields beyond those
 * here are listed, and ignored::
 *
 *   {"time": 60, "tasks": [{"id": "vgg_rt",
 *     "load": {"type": "periodic", "frequency": 100, "priority": 0},
 *     "client": {"model_name": "vgg", "priority": 0, "batch_size": 1,
 *                "use_cuda_graph": true, "preprocess_time": 200}}, ...]}
 *
 * Units: time s, frequency 1/s, preprocess_time us, trace ms from the start. Priority
 * 0 is latency-critical, 1 best-effort. The client's counts; else an id that ends in _rt
 * or _be, as DISB's do; else the load's; else the client is best-effort.
 *
 * Beyond theirs:
 *
 * - "schema_version" (1), "what" and "source" (a line each) of the plan
 * - of a load "bursty" with "frequency" and "sigma"
 * - of a load "offered" instead of "frequency": a share of the client's rate alone
 * - of a client "level" (latency-critical: 0, the most urgent, to 15)
 * - of a client "weight" (best-effort: 1 to 10000)
 * - of a client "deadline_us", and "hint_off_us": error of its hints, early below 0
 * - of a latency-critical, periodic client "runtime_us": its requests take the device so
 *   long, and are to be done within deadline_us
 * - of a best-effort client "killed_every_s": mean time between random kills
 */
#ifndef GP_BENCH_PLAN_H
#define GP_BENCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_PLAN_CLIENTS_MAX 64
#define GP_PLAN_TRACE_MAX 1000000u

enum gp_plan_load {
	GP_PLAN_PERIODIC,
	GP_PLAN_POISSON,
	GP_PLAN_CONTINUOUS, /* when the last one is done */
	GP_PLAN_TRACE,	    /* at the times of a list */
	GP_PLAN_DEPENDENT,  /* when other clients' requests are done */
	GP_PLAN_BURSTY,	    /* log-normal gaps */
};

struct gp_plan_client {
	char *id;    /* unique; by default its name and index */
	char *model; /* NULL: none */
	bool lc;
	enum gp_plan_load load;
	double rate;	    /* 1/s: periodic, poisson, bursty .. */
	double offered;	    /* .. as a share of its rate alone; 0: frequency is set */
	double sigma;	    /* bursty */
	uint64_t *trace_ns; /* ascending, from the start */
	size_t traces;
	uint64_t after; /* dependent: bits of clients, by their place */
	uint32_t batch;
	uint32_t prepare_us;	/* CPU time before each request */
	uint32_t level, weight; /* lc; be, 0: the default */
	uint32_t deadline_us;	/* 0: none */
	uint32_t runtime_us;	/* 0: not set */
	int32_t hint_off_us;
	double killed_every_s; /* 0: never */
	bool graph;
};

struct gp_plan {
	char *what, *source; /* NULL: not set */
	double seconds;
	struct gp_plan_client client[GP_PLAN_CLIENTS_MAX];
	size_t clients;
	char **unknown; /* ignored fields, each once: client.name .. */
	size_t unknowns;
};

/**
 * NULL and one line in @why: the file, the place, the value there and a right one.
 * Free with gp_plan_destroy().
 */
struct gp_plan *gp_plan_read(const char *path, char *why, size_t why_len);
/** The same from memory; @why names the text @name. */
struct gp_plan *gp_plan_parse(const char *name, const char *text, size_t bytes, char *why,
			      size_t why_len);
void gp_plan_destroy(struct gp_plan *plan); /* NULL is fine */

/** The load's name in files: "periodic". */
const char *gp_plan_load_name(enum gp_plan_load load);
/** Has it a rate: periodic, poisson, bursty? */
bool gp_plan_has_rate(const struct gp_plan_client *client);
/** The law of a client with a rate, in the form of gp_arrivals_parse(). */
void gp_plan_law(const struct gp_plan_client *client, char *text, size_t len);
/** The period of a client with a runtime. */
uint64_t gp_plan_period_ns(const struct gp_plan_client *client);
/** Is its period at least the deadline, and within the limit of a class? */
bool gp_plan_period_fits(const struct gp_plan_client *client);
/** Bits of the clients that depend on @client's requests. */
uint64_t gp_plan_waiters(const struct gp_plan *plan, size_t client);
/** Is one of its clients killed? */
bool gp_plan_kills(const struct gp_plan *plan);

/**
 * A copy with all rates multiplied by @factor, traces included. A rate by "offered" becomes
 * that share of @alone_per_s instead. NULL: out of memory.
 */
struct gp_plan *gp_plan_scaled(const struct gp_plan *plan, const double *alone_per_s,
			       double factor);

#endif
