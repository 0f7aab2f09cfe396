/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edf.h - periodic latency-critical tasks with deadlines beside best-effort, on the model
 * of a GPU in virtual time, under gpreempt's earliest deadline first: are they let in,
 * and what do they miss?
 */
#ifndef GP_BENCH_MODEL_EDF_H
#define GP_BENCH_MODEL_EDF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/plan/random.h"
#include "softgpu/model.h"

#define GP_EDF_TASKS_MAX 16u

struct gp_edf_task {
	uint64_t period_ns, deadline_ns;
	uint64_t runtime_ns; /* one kernel, which fills the device */
	uint64_t phase_ns;   /* its first job comes then */
};

struct gp_edf_result {
	bool admitted;	 /* all of them, by gp_sched_admit() */
	double promised; /* of the device, all together, as reckoned there */
	uint64_t jobs, missed;
	double worst; /* the latest job: its time over its deadline */
};

/**
 * All tasks run, also when they are not let in. Jobs that had not ended when their
 * deadline came have missed it. 0; -ENOMEM; -EINVAL: too many tasks.
 */
int gp_edf_run(const struct gp_model_config *device, const struct gp_edf_task *task, size_t tasks,
	       uint64_t length_ns, struct gp_edf_result *result);

/**
 * Tasks that together ask for @load of the device: shares by UUniFast (Bini and Buttazzo,
 * Real-Time Systems 30, 2005), periods of 10 to 100 ms, equal on a logarithmic scale,
 * deadlines of 0.6 to 1 period.
 */
void gp_edf_draw(struct gp_random *random, double load, struct gp_edf_task *task, size_t tasks);

#endif
