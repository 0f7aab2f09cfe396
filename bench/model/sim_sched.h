/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_sched.h - the core decides for a simulated device: clients and daemon in one, in
 * virtual time. Events are stepped at once, and who steps holds, releases and arms the
 * timer. Controls (slices, suspends, resumes, preempts) are a worker's, which carries them
 * out one after the other, each in its time. For simulations and benchmarks.
 *
 * Not for several threads. What launches work is an agent (sim_hal.h).
 */
#ifndef GP_BENCH_MODEL_SIM_SCHED_H
#define GP_BENCH_MODEL_SIM_SCHED_H

#include "sched/sched.h"
#include "softgpu/sim_hal.h"

struct gp_sim_sched_config {
	const struct gp_model_config *model;
	const struct gp_sched_config *core; /* NULL: nobody decides, the driver's
						 * slices are left as they are */
	uint64_t report_ns;		    /* usage is told to the core so often; 0: never */
};

struct gp_sim_sched_stat {
	uint64_t steps, suspends, preempts;
	uint64_t failed; /* decisions that could not be carried out */
};

struct gp_sim_sched;

/** 0; -ENOMEM; -EINVAL: of gp_sched_init(). Free with gp_sim_sched_destroy(). */
int gp_sim_sched_create(const struct gp_sim_sched_config *config, struct gp_sim_sched **s);
void gp_sim_sched_destroy(struct gp_sim_sched *s); /* NULL is fine */

/**
 * A process with one context of one stream; all that the core has to do to it is done
 * then, which takes time. Its id, from 1 on; or negative errno.
 */
int gp_sim_sched_join(struct gp_sim_sched *s, const struct gp_class_request *spec);
struct gp_sim_context *gp_sim_sched_context(struct gp_sim_sched *s, uint32_t id);

/** In place of gp_sim_set_agent(): the device's own agent is who drives the core. */
void gp_sim_sched_set_agent(struct gp_sim_sched *s, const struct gp_sim_agent *agent);

/**
 * What agents may do as well: the core is told when the agent has returned, at the same
 * time, whatever control is under way. 0; -ENOMEM.
 */
int gp_sim_sched_tell(struct gp_sim_sched *s, const struct gp_event *ev);

/** Until @to_ns. 0; or the first error of a step or of telling, which ends it. */
int gp_sim_sched_run(struct gp_sim_sched *s, uint64_t to_ns);

struct gp_sim *gp_sim_sched_sim(struct gp_sim_sched *s);
struct gp_sched *gp_sim_sched_core(struct gp_sim_sched *s); /* NULL without one */
/** Time on the device so far, ns; 0 where that is not known. */
uint64_t gp_sim_sched_used(struct gp_sim_sched *s, uint32_t id);
void gp_sim_sched_stat(const struct gp_sim_sched *s, struct gp_sim_sched_stat *stat);

#endif
