/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_hal.h - the model behind hal.h, in one process and in virtual time: for simulations and
 * for the conformance suite. Processes are numbers.
 *
 * Time moves in gp_sim_advance() and in ops that take time (set_slice, suspend, resume).
 * Activity besides the model (clients that launch) is an agent's. Safe for several threads,
 * which share the time.
 */
#ifndef GP_SOFT_SIM_HAL_H
#define GP_SOFT_SIM_HAL_H

#include "gpreempt/hal.h"
#include "softgpu/model.h"

struct gp_sim;
struct gp_sim_context;

/* One backend for each kind; probe() lists the created devices. */
extern const struct gp_hal_ops gp_sim_timeslice_ops, gp_sim_slots_ops;

/**
 * struct gp_sim_agent - a part of the simulated world besides the GPU.
 * @next: when it wants to run, UINT64_MAX: never
 * @run: its time has come; may submit work, not advance
 * @event: every event of the model (may be NULL); likewise
 */
struct gp_sim_agent {
	void *arg;
	uint64_t (*next)(void *arg);
	void (*run)(void *arg, uint64_t now_ns);
	void (*event)(void *arg, const struct gp_model_event *ev);
};

/** A device; NULL and errno on failure. Destroy it after everything made from it. */
struct gp_sim *gp_sim_create(const struct gp_model_config *config);
void gp_sim_destroy(struct gp_sim *sim);
void gp_sim_id(const struct gp_sim *sim, struct gp_device_id *id);
void gp_sim_set_agent(struct gp_sim *sim, const struct gp_sim_agent *agent);
uint64_t gp_sim_now(struct gp_sim *sim);
void gp_sim_advance(struct gp_sim *sim, uint64_t to_ns);
/** For agents: gp_sim_advance() returns to its caller now. */
void gp_sim_stop(struct gp_sim *sim);

/** A process that may have contexts; it is gone with gp_sim_process_end(). */
int gp_sim_process_add(struct gp_sim *sim, pid_t pid);
void gp_sim_process_end(struct gp_sim *sim, pid_t pid);

/** A control file of @pid, to be closed by the caller; negative errno. */
int gp_sim_control_file(struct gp_sim *sim, pid_t pid);

/** A context: one compute group with @streams channels, one copy group. */
struct gp_sim_context *gp_sim_context_create(struct gp_sim *sim, pid_t pid, unsigned int streams);
void gp_sim_context_destroy(struct gp_sim_context *context);
/** Ids in the model; the copy engine's channel is stream UINT_MAX. */
uint32_t gp_sim_context_group(const struct gp_sim_context *context);
int gp_sim_submit(struct gp_sim_context *context, unsigned int stream,
		  const struct gp_model_method *method, uint64_t *seq);

enum gp_sim_op {
	GP_SIM_SET_SLICE,
	GP_SIM_SUSPEND,
	GP_SIM_RESUME,
	GP_SIM_HOLD
};
/** The next @op fails with @err (negative) at its group number @at. */
void gp_sim_fail(struct gp_sim *sim, enum gp_sim_op op, size_t at, int err);

#endif
