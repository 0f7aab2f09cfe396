/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - the device's timeline by its own context-switch log, which a program beside the
 * clients (ctxlog) writes down.
 */
#ifndef GP_BENCH_RUN_TIMELINE_H
#define GP_BENCH_RUN_TIMELINE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bench/run/process.h"
#include "bench/plan/result.h"

struct gp_timeline {
	struct gp_process process;
	char path[64]; /* of its output */
};

/* A client's process; a client that is killed has several. */
struct gp_timeline_who {
	pid_t pid; /* 0: not known */
	uint32_t client;
};

/**
 * From now on, with its file in @folder. 0; negative errno: the log may not be read, or
 * there is none; nothing is running then.
 */
int gp_timeline_start(struct gp_timeline *timeline, const char *program, const char *device,
		      const char *folder);
/**
 * No longer: @result's stretches are those of the @count of @who while the plan was. 0; -ENOMEM;
 * -EBADMSG: its output is no log.
 */
int gp_timeline_end(struct gp_timeline *timeline, const struct gp_timeline_who *who, size_t count,
		    struct gp_plan_result *result);

/** The same from written lines, "time start|end|lost pid context count". */
int gp_timeline_read(FILE *file, const struct gp_timeline_who *who, size_t count,
		     struct gp_plan_result *result);

#endif
