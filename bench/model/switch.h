/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switch.h - estimate the cost of a switch between processes on the model of a GPU by
 * the method of GCAPS (ECRTS 2024), which needs run times only.
 */
#ifndef GP_BENCH_MODEL_SWITCH_H
#define GP_BENCH_MODEL_SWITCH_H

#include <stdint.h>

#include "softgpu/model.h"

#define GP_SWITCH_PROCESSES_MAX 16u

struct gp_switch_run {
	uint32_t processes; /* 2 to GP_SWITCH_PROCESSES_MAX, one kernel each */
	uint64_t slice_us;
	uint64_t kernel_ns; /* many times the slice */
};

/**
 * With E_1 the time of one kernel alone, and E_n the time of n kernels together, the cost
 * is (E_n - n E_1) / (n E_1) x slice. 0; -ENOMEM; -EINVAL: too few or too many processes,
 * or the device has no time slices.
 */
int gp_switch_estimate(const struct gp_model_config *device, const struct gp_switch_run *run,
		       double *switch_us);

/** The true cost: the sum of the model's own constants. */
double gp_switch_of_model(const struct gp_model_config *device);

#endif
