/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conformance.h - one suite that every backend passes: what hal.h says of each
 * op, its errors, and what remains true when it fails halfway. A rig makes the
 * world that the ops act on.
 */
#ifndef GP_CONFORMANCE_H
#define GP_CONFORMANCE_H

#include <stdbool.h>

#include "gpreempt/hal.h"

struct rig_be;
struct rig_lc;

enum rig_fault {
	RIG_FAIL_SUSPEND,
	RIG_FAIL_RESUME,
	RIG_FAIL_SET_SLICE
};

/**
 * struct rig - what the suite needs of a backend's surroundings.
 * @ops: the backend under test
 * @setup: make the device; non-zero: there is none here, skip (it said why)
 * @open: open it
 * @be_start: a process that keeps the device full with short kernels
 * @be_done: how many kernels it has finished
 * @be_files: files as it would hand them over, the caller's; how many. NULL: this
 *	backend's processes have none to hand over
 * @lc_start: a context of this test's own, current where that means anything
 * @lc_request: launch a kernel of some 100 µs and wait; its latency, ns
 * @reset: stop what a test that failed has left
 * @run: let at least @ns of the device's time pass
 * @slow: here all takes so many times as long (a kernel that looks for faults
 *	in itself); 0: as it should
 * @stranger: a process that lives, and has nothing of the device's open, until
 *	reset(); NULL: this rig has none
 * @inject: the next such op fails with @err at its group number @at; false, or
 *	NULL: this rig cannot do that
 */
struct rig {
	const char *name;
	const struct gp_hal_ops *ops;
	int (*setup)(void);
	void (*teardown)(void);
	int (*open)(struct gp_device **dev);
	struct rig_be *(*be_start)(void);
	pid_t (*be_pid)(struct rig_be *be);
	uint64_t (*be_done)(struct rig_be *be);
	size_t (*be_files)(struct rig_be *be, int *fd, size_t max);
	void (*be_stop)(struct rig_be *be);
	struct rig_lc *(*lc_start)(void);
	void *(*lc_context)(struct rig_lc *lc);
	uint64_t (*lc_request)(struct rig_lc *lc);
	void (*lc_stop)(struct rig_lc *lc);
	void (*reset)(void);
	void (*run)(uint64_t ns);
	uint64_t slow;
	pid_t (*stranger)(void);
	bool (*inject)(enum rig_fault fault, size_t at, int err);
};

/* sim_rig.c: the in-process software GPU, in both kinds. */
extern const struct rig gp_rig_sim_timeslice, gp_rig_sim_slots;

/** Run the suite; the exit status of a test program. */
int gp_conformance(const struct rig *rig);

#endif
