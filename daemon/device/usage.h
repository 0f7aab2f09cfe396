/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - use of the device by each process and in each turn, from the device's
 * context-switch log. Pure: records and times go in. All times are in the log's clock.
 */
#ifndef GP_DAEMON_USAGE_H
#define GP_DAEMON_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpreempt/hal.h"

#define GP_USAGE_PROCESSES 1024 /* tenants, and processes that were some */
#define GP_USAGE_TURNS 256

/* A process on the device. Contexts are counted separately, and summed up. */
struct gp_usage_process {
	pid_t pid;	       /* 0: free */
	bool lc;	       /* its time counts as taken from best-effort */
	bool on;	       /* one of its contexts has the device */
	uint32_t context;      /* which */
	uint64_t from_ns;      /* time before this is not its own as a tenant */
	uint64_t since_ns;     /* counted until then, if @on */
	uint64_t used_ns;      /* since the last query */
	uint64_t displaced_ns; /* likewise: time of lc in this one's turns */
	uint64_t starts;       /* number of all stretches */
	uint64_t ended_ns;     /* end of the last one; 0: none */
};

/* A turn began: the resident from then on; 0: none. */
struct gp_usage_turn {
	uint64_t at_ns;
	pid_t pid;
};

struct gp_usage {
	size_t processes; /* places from there on were never used */
	struct gp_usage_process process[GP_USAGE_PROCESSES];
	struct gp_usage_turn turn[GP_USAGE_TURNS]; /* a ring */
	uint64_t turns;
	uint64_t lost;	   /* all lost records */
	uint64_t until_ns; /* all time until then is counted */
};

/** @pid is a tenant from now on; if it is one already, of this class. -ENOSPC. */
int gp_usage_join(struct gp_usage *usage, pid_t pid, bool lc);
/** It is a tenant since @from_ns: earlier time does not count. */
void gp_usage_from(struct gp_usage *usage, pid_t pid, uint64_t from_ns);
void gp_usage_leave(struct gp_usage *usage, pid_t pid);
/** Turns come in order. */
void gp_usage_turn(struct gp_usage *usage, uint64_t at_ns, pid_t pid);
void gp_usage_record(struct gp_usage *usage, const struct gp_switch_record *rec);
/** Count running stretches until @now_ns: all records up to then have come. */
void gp_usage_until(struct gp_usage *usage, uint64_t now_ns);
/** NULL: not a tenant. */
struct gp_usage_process *gp_usage_of(struct gp_usage *usage, pid_t pid);
/** The counts since the last call, which are reset. */
void gp_usage_take(struct gp_usage_process *process, uint64_t *used_ns, uint64_t *displaced_ns);

#endif
