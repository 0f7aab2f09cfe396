/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip.h - AMD's GPUs, by HIP: its calls in the places of the CUDA driver API's that they
 * are the twins of, so that a program here does not know whose device it has. libamdhip64
 * is found by the loader, as libcuda is: no ROCm is needed to build.
 */
#ifndef GP_BENCH_HIP_H
#define GP_BENCH_HIP_H

#include "bench/common/cuda.h"

/** 0; -ENOENT: there is no libamdhip64. One that lacks a call ends the program. */
int gp_hip_load(struct gp_cuda *cuda);

/**
 * The kernels, for cuModuleLoadData: kernels.hsaco, which stays mapped, as HIP may read
 * it later. Ends the program where it is not: it is built where hipcc is.
 */
const void *gp_hip_kernels(void);

#endif
