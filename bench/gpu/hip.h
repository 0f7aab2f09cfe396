/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip.h - AMD's GPUs, by HIP. Its calls replace their twins of the CUDA driver API, so that
 * programs work on both. The loader finds libamdhip64, as it finds libcuda: the build needs no
 * ROCm.
 */
#ifndef GP_BENCH_HIP_H
#define GP_BENCH_HIP_H

#include "bench/gpu/cuda.h"

/** 0; -ENOENT: there is no libamdhip64. One that lacks a call ends the program. */
int gp_hip_load(struct gp_cuda *cuda);

/**
 * The kernels, for cuModuleLoadData: kernels.hsaco, which stays mapped, as HIP may read
 * it later. Ends the program where it is not: it is built where hipcc is.
 */
const void *gp_hip_kernels(void);

#endif
