/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switch.h - what one switch between processes costs, from outside, on the model of a
 * GPU: the method of GCAPS (ECRTS 2024), which needs nothing but run times.
 */
#ifndef GP_BENCH_MODEL_SWITCH_H
#define GP_BENCH_MODEL_SWITCH_H

#include <stdint.h>

#include "softgpu/model.h"

#define GP_SWITCH_PROCESSES_MAX 16u

struct gp_switch_run {
	uint32_t processes; /* 2 to GP_SWITCH_PROCESSES_MAX, one kernel each */
	uint64_t slice_us;
	uint64_t kernel_ns; /* many slices long */
};

/**
 * Of E_1, the time one kernel takes alone, and E_n, the time n of them take together:
 * (E_n - n E_1) / (n E_1) x slice. 0; -ENOMEM; -EINVAL: too few or too many processes, or
 * a device that has no slices.
 */
int gp_switch_estimate(const struct gp_model_config *device, const struct gp_switch_run *run,
		       double *switch_us);

/** What it should come to: the sum of the model's own constants. */
double gp_switch_of_model(const struct gp_model_config *device);

#endif
