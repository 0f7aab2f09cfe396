/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edf.h - run periodic LC tasks with deadlines beside BE, on the model of a GPU in virtual
 * time, under gpreempt's earliest deadline first. The results are whether the test admits
 * the tasks, and how many deadlines they miss.
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
	uint64_t phase_ns;   /* when its first job arrives */
};

struct gp_edf_result {
	bool admitted;	 /* all of them, by gp_sched_admit() */
	double promised; /* share of the device, of all tasks, as that reckons it */
	uint64_t jobs, missed;
	double worst; /* of the latest job: response time / deadline */
};

/**
 * All tasks run, also when the test does not admit them. A job that still runs at its
 * deadline has missed it. 0; -ENOMEM; -EINVAL: too many tasks.
 */
int gp_edf_run(const struct gp_model_config *device, const struct gp_edf_task *task, size_t tasks,
	       uint64_t length_ns, struct gp_edf_result *result);

/**
 * Draw tasks that together ask for @load of the device. Shares are by UUniFast (Bini and
 * Buttazzo, Real-Time Systems 30, 2005). Periods are 10 to 100 ms, uniform on a logarithmic
 * scale; deadlines are 0.6 to 1 period.
 */
void gp_edf_draw(struct gp_random *random, double load, struct gp_edf_task *task, size_t tasks);

#endif
