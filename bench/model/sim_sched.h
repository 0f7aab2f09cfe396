/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_sched.h - the core decides for a simulated device in virtual time, for simulations
 * and benchmarks. It stands for clients and daemon together. Each event is a step at once,
 * which also holds, releases and arms the timer. A worker executes the controls (slices,
 * suspends, resumes, preempts) one after the other, and each takes its time.
 *
 * For one thread. Agents (sim_hal.h) launch the work.
 */
#ifndef GP_BENCH_MODEL_SIM_SCHED_H
#define GP_BENCH_MODEL_SIM_SCHED_H

#include "sched/sched.h"
#include "softgpu/sim_hal.h"

struct gp_sim_sched_config {
	const struct gp_model_config *model;
	const struct gp_sched_config *core; /* NULL: no scheduler; the driver's
						 * slices stay */
	uint64_t report_ns;		    /* time between usage events; 0: no usage events */
};

struct gp_sim_sched_stat {
	uint64_t steps, suspends, preempts;
	uint64_t failed; /* decisions that the device refused */
};

struct gp_sim_sched;

/** 0; -ENOMEM; -EINVAL: of gp_runtime_create(). Free with gp_sim_sched_destroy(). */
int gp_sim_sched_create(const struct gp_sim_sched_config *config, struct gp_sim_sched **s);
void gp_sim_sched_destroy(struct gp_sim_sched *s); /* NULL is fine */

/**
 * Add a process with one context of one stream, and run until the core's decisions for it
 * are executed. Return: its id, from 1 on; or negative errno.
 */
int gp_sim_sched_join(struct gp_sim_sched *s, const struct gp_class_request *spec);
struct gp_sim_context *gp_sim_sched_context(struct gp_sim_sched *s, uint32_t id);

/** In place of gp_sim_set_agent(), because the device's own agent drives the core. */
void gp_sim_sched_set_agent(struct gp_sim_sched *s, const struct gp_sim_agent *agent);

/**
 * Report an event to the core; agents may, too. The core sees it when the agent has
 * returned, at the same virtual time, even while a control is executed. 0; -ENOMEM.
 */
int gp_sim_sched_tell(struct gp_sim_sched *s, const struct gp_event *ev);

/** Run until @to_ns, or until the first error of a step or an event. 0, or that error. */
int gp_sim_sched_run(struct gp_sim_sched *s, uint64_t to_ns);

struct gp_sim *gp_sim_sched_sim(struct gp_sim_sched *s);
struct gp_sched *gp_sim_sched_core(struct gp_sim_sched *s); /* NULL without one */
/** Time on the device so far, ns; 0 if the device does not count it. */
uint64_t gp_sim_sched_used(struct gp_sim_sched *s, uint32_t id);
void gp_sim_sched_stat(const struct gp_sim_sched *s, struct gp_sim_sched_stat *stat);

#endif
