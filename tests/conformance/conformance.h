/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conformance.h - one suite that every backend passes: the contract of each op in hal.h, its
 * errors, and its invariants after a partial failure. A rig provides the environment of the
 * ops.
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
 * struct rig - a backend's environment in the suite.
 * @ops: the backend under test
 * @setup: make the device; nonzero: there is none here, skip (after a message)
 * @open: open it
 * @be_start: a process that keeps the device full with short kernels
 * @be_done: number of kernels that it has finished
 * @be_files: its files for another process, the caller's; returns their number. NULL:
 *	this backend's processes pass no files
 * @lc_start: a context of this test's own, current if the backend has that
 * @lc_request: launch a kernel of some 100 µs and wait; its latency, ns
 * @reset: stop the leftovers of a failed test
 * @run: let at least @ns of the device's time pass
 * @slow: factor by which everything takes longer here (a kernel with checks for its own
 *	faults); 0: none
 * @stranger: a process that lives without open files of the device, until reset(); NULL:
 *	this rig has none
 * @inject: the next such op fails with @err at its group number @at; false, or NULL: this
 *	rig cannot
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
