/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - the part of the CUDA driver API that the bench uses, with our own
 * prototypes, from whichever libcuda.so.1 the loader finds: no toolkit is
 * needed to build. Where there is none, AMD's HIP stands in (hip.h). Handles are
 * void pointers, device addresses uint64_t.
 */
#ifndef GP_BENCH_CUDA_H
#define GP_BENCH_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, parameters): all return a CUresult. */
#define GP_CU_FUNCTIONS(X)                                                                         \
	X(cuCtxCreate_v2, (void **ctx, unsigned int flags, int dev))                               \
	X(cuCtxDestroy_v2, (void *ctx))                                                            \
	X(cuCtxGetCurrent, (void **ctx))                                                           \
	X(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                \
	X(cuCtxPopCurrent_v2, (void **ctx))                                                        \
	X(cuCtxSetCurrent, (void *ctx))                                                            \
	X(cuCtxSynchronize, (void))                                                                \
	X(cuDeviceGet, (int *dev, int ordinal))                                                    \
	X(cuDeviceGetAttribute, (int *value, int attribute, int dev))                              \
	X(cuDeviceGetCount, (int *count))                                                          \
	X(cuDeviceGetName, (char *name, int len, int dev))                                         \
	X(cuDevicePrimaryCtxRetain, (void **ctx, int dev))                                         \
	X(cuDevicePrimaryCtxSetFlags_v2, (int dev, unsigned int flags))                            \
	X(cuDriverGetVersion, (int *version))                                                      \
	X(cuEventCreate, (void **event, unsigned int flags))                                       \
	X(cuEventDestroy_v2, (void *event))                                                        \
	X(cuEventRecord, (void *event, void *stream))                                              \
	X(cuEventSynchronize, (void *event))                                                       \
	X(cuFuncGetAttribute, (int *value, int attribute, void *fn))                               \
	X(cuFuncSetAttribute, (void *fn, int attribute, int value))                                \
	X(cuGetErrorName, (int error, const char **name))                                          \
	X(cuGraphDestroy, (void *graph))                                                           \
	X(cuGraphExecDestroy, (void *exec))                                                        \
	X(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))       \
	X(cuGraphLaunch, (void *exec, void *stream))                                               \
	X(cuInit, (unsigned int flags))                                                            \
	X(cuLaunchCooperativeKernel, (void *fn, unsigned int gx, unsigned int gy, unsigned int gz, \
				      unsigned int bx, unsigned int by, unsigned int bz,           \
				      unsigned int shared_bytes, void *stream, void **params))     \
	X(cuLaunchKernel, (void *fn, unsigned int gx, unsigned int gy, unsigned int gz,            \
			   unsigned int bx, unsigned int by, unsigned int bz,                      \
			   unsigned int shared_bytes, void *stream, void **params, void **extra))  \
	X(cuMemAlloc_v2, (uint64_t * ptr, size_t bytes))                                           \
	X(cuMemFreeHost, (void *ptr))                                                              \
	X(cuMemFree_v2, (uint64_t ptr))                                                            \
	X(cuMemHostAlloc, (void **ptr, size_t bytes, unsigned int flags))                          \
	X(cuMemcpyDtoDAsync_v2, (uint64_t dst, uint64_t src, size_t bytes, void *stream))          \
	X(cuMemGetInfo_v2, (size_t * free, size_t * total))                                        \
	X(cuMemcpyDtoHAsync_v2, (void *dst, uint64_t src, size_t bytes, void *stream))             \
	X(cuMemcpyDtoH_v2, (void *dst, uint64_t src, size_t bytes))                                \
	X(cuMemcpyHtoDAsync_v2, (uint64_t dst, const void *src, size_t bytes, void *stream))       \
	X(cuMemcpyHtoD_v2, (uint64_t dst, const void *src, size_t bytes))                          \
	X(cuModuleGetFunction, (void **fn, void *module, const char *name))                        \
	X(cuModuleLoadData, (void **module, const void *image))                                    \
	X(cuModuleUnload, (void *module))                                                          \
	X(cuStreamBeginCapture_v2, (void *stream, unsigned int mode))                              \
	X(cuStreamCreate, (void **stream, unsigned int flags))                                     \
	X(cuStreamCreateWithPriority, (void **stream, unsigned int flags, int priority))           \
	X(cuStreamDestroy_v2, (void *stream))                                                      \
	X(cuStreamEndCapture, (void *stream, void **graph))                                        \
	X(cuStreamSynchronize, (void *stream))

struct gp_cuda {
	void *lib;
	bool is_hip;
#define GP_CU_FIELD(name, params) int(*name) params;
	GP_CU_FUNCTIONS(GP_CU_FIELD)
#undef GP_CU_FIELD
};

extern struct gp_cuda gp_cu;

#define GP_CU_CTX_SCHED_SPIN 1u
#define GP_CU_CTX_SCHED_BLOCKING 4u
#define GP_CU_EVENT_BLOCKING_SYNC 1u
#define GP_CU_EVENT_DISABLE_TIMING 2u
#define GP_CU_STREAM_NON_BLOCKING 1u
#define GP_CU_CAPTURE_RELAXED 2u

#define GP_CU_DEVICE_SHARED_BYTES_MAX 97 /* of a block that asks for so much */
#define GP_CU_FUNCTION_THREADS_MAX 0
#define GP_CU_FUNCTION_REGISTERS 4
#define GP_CU_FUNCTION_SHARED_BYTES 8 /* dynamic; the value to request */

enum gp_bench_kernel {
	GP_KERNEL_WORK,
	GP_KERNEL_SMEM,
	GP_KERNEL_TENSOR,
	GP_KERNEL_COOP,
	GP_KERNEL_STREAM,
	GP_KERNEL_CSR,
	GP_KERNEL_STENCIL,
	GP_KERNEL_COUNT,
};

/** A device made ready: the primary context is current, the kernels loaded. */
struct gp_bench_gpu {
	char name[64];
	char uuid[48]; /* "GPU-..."; "": HIP does not say */
	int dev;
	unsigned int sms;
	void *ctx;
	void *module;
	void *fn[GP_KERNEL_COUNT]; /* NULL: not for this device */
};

/** Print the failed call and exit 1 unless @error is 0. */
void gp_cu_check(int error, const char *what);
#define GP_CU(call) gp_cu_check(gp_cu.call, #call)

/**
 * Load libcuda, or HIP, take device 0 with @sched_flags, load the kernels, choose
 * the clock (clock.h). Prints and exits 1 on failure.
 */
void gp_bench_gpu_open(struct gp_bench_gpu *gpu, unsigned int sched_flags);
/** The same of the device with that number, of gp_bench_gpu_count(). */
void gp_bench_gpu_open_nth(struct gp_bench_gpu *gpu, int number, unsigned int sched_flags);
int gp_bench_gpu_count(void);

#endif
