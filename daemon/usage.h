/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - who had the device, as its own context-switch log tells, beside whose
 * turn it was. Pure: records and times go in. All times are in the log's clock.
 */
#ifndef GP_DAEMON_USAGE_H
#define GP_DAEMON_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpreempt/hal.h"

#define GP_USAGE_PROCESSES 256
#define GP_USAGE_TURNS 256

/* A process on the device. Contexts are counted apart, and summed up. */
struct gp_usage_process {
	pid_t pid;	   /* 0: place is free */
	bool lc;	   /* what it has is taken from best-effort */
	bool on;	   /* one of its contexts has the device */
	uint32_t context;  /* which */
	uint64_t from_ns;  /* what was before is not its own as a tenant */
	uint64_t since_ns; /* counted until then, if @on */
	uint64_t used_ns;  /* since it was last asked for */
	uint64_t taken_ns; /* likewise: lc had it, in this one's turns */
	uint64_t starts;   /* so many stretches began, ever */
	uint64_t ended_ns; /* the last one did then; 0: never */
};

/* A turn began: who is resident from then on; 0: nobody. */
struct gp_usage_turn {
	uint64_t at_ns;
	pid_t pid;
};

struct gp_usage {
	struct gp_usage_process process[GP_USAGE_PROCESSES];
	struct gp_usage_turn turn[GP_USAGE_TURNS]; /* a ring */
	uint64_t turns;
	uint64_t lost;	   /* records, ever */
	uint64_t until_ns; /* all is counted until then */
};

/** @pid is a tenant from now on; known already: of this class. -ENOSPC. */
int gp_usage_join(struct gp_usage *usage, pid_t pid, bool lc);
/** It is one since @from_ns: nothing that it had before counts. */
void gp_usage_from(struct gp_usage *usage, pid_t pid, uint64_t from_ns);
void gp_usage_leave(struct gp_usage *usage, pid_t pid);
/** Turns come in the order of time. */
void gp_usage_turn(struct gp_usage *usage, uint64_t at_ns, pid_t pid);
void gp_usage_record(struct gp_usage *usage, const struct gp_switch_record *rec);
/** Count what is on until @now_ns: all records up to then have come. */
void gp_usage_until(struct gp_usage *usage, uint64_t now_ns);
/** NULL: not a tenant. */
struct gp_usage_process *gp_usage_of(struct gp_usage *usage, pid_t pid);
/** What is counted since the last time, which begins anew. */
void gp_usage_take(struct gp_usage_process *process, uint64_t *used_ns, uint64_t *taken_ns);

#endif
