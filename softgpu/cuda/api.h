/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h - the part of the CUDA driver API that the software GPU offers, with
 * our own prototypes: the toolkit is not needed to build.
 */
#ifndef GP_SOFT_CUDA_API_H
#define GP_SOFT_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#define FACE_EXPORT __attribute__((visibility("default")))

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct face_ctx *CUcontext;
typedef struct face_stream *CUstream;
typedef struct face_event *CUevent;
typedef struct face_module *CUmodule;
typedef struct face_function *CUfunction;
typedef struct face_graph *CUgraph;
typedef struct face_exec *CUgraphExec;

enum face_result {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_OPERATING_SYSTEM = 304,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	CUDA_ERROR_UNKNOWN = 999,
};

#define CU_STREAM_NON_BLOCKING 1u
#define CU_STREAM_LEGACY ((CUstream)1)
#define CU_STREAM_PER_THREAD ((CUstream)2)
#define CU_EVENT_DISABLE_TIMING 2u

typedef struct {
	unsigned char bytes[16];
} CUuuid;

typedef struct {
	unsigned int gridDimX, gridDimY, gridDimZ;
	unsigned int blockDimX, blockDimY, blockDimZ;
	unsigned int sharedMemBytes;
	CUstream hStream;
	const void *attrs;
	unsigned int numAttrs;
} CUlaunchConfig;

/* Virtual memory: the layouts are those of cuda.h. */
typedef uint64_t CUmemGenericAllocationHandle;

typedef struct {
	int type; /* CU_MEM_LOCATION_DEVICE */
	int id;
} CUmemLocation;

typedef struct {
	int type; /* CU_MEM_ALLOCATION_PINNED */
	int handle_types;
	CUmemLocation location;
	void *win32;
	unsigned char flags[8];
} CUmemAllocationProp;

typedef struct {
	CUmemLocation location;
	int flags;
} CUmemAccessDesc;

#define CU_MEM_LOCATION_DEVICE 1
#define CU_MEM_ALLOCATION_PINNED 1
#define CU_MEM_HANDLE_FD 1

/* Each function: number of arguments, exported name, and type and name of each argument. */
#define FACE_API(X)                                                                                \
	X(1, cuInit, unsigned int, flags)                                                          \
	X(1, cuDriverGetVersion, int *, version)                                                   \
	X(2, cuGetErrorName, CUresult, error, const char **, name)                                 \
	X(2, cuGetErrorString, CUresult, error, const char **, text)                               \
	X(4, cuGetProcAddress, const char *, name, void **, fn, int, version, uint64_t, flags)     \
	X(5, cuGetProcAddress_v2, const char *, name, void **, fn, int, version, uint64_t, flags,  \
	  int *, status)                                                                           \
	X(2, cuDeviceGet, CUdevice *, dev, int, ordinal)                                           \
	X(1, cuDeviceGetCount, int *, count)                                                       \
	X(3, cuDeviceGetName, char *, name, int, len, CUdevice, dev)                               \
	X(2, cuDeviceGetUuid, CUuuid *, uuid, CUdevice, dev)                                       \
	X(2, cuDeviceGetUuid_v2, CUuuid *, uuid, CUdevice, dev)                                    \
	X(3, cuDeviceGetPCIBusId, char *, id, int, len, CUdevice, dev)                             \
	X(2, cuDeviceGetByPCIBusId, CUdevice *, dev, const char *, id)                             \
	X(3, cuDeviceGetAttribute, int *, value, int, attribute, CUdevice, dev)                    \
	X(2, cuDeviceTotalMem_v2, size_t *, bytes, CUdevice, dev)                                  \
	X(3, cuDeviceComputeCapability, int *, major, int *, minor, CUdevice, dev)                 \
	X(2, cuDevicePrimaryCtxRetain, CUcontext *, ctx, CUdevice, dev)                            \
	X(1, cuDevicePrimaryCtxRelease_v2, CUdevice, dev)                                          \
	X(3, cuDevicePrimaryCtxGetState, CUdevice, dev, unsigned int *, flags, int *, active)      \
	X(2, cuDevicePrimaryCtxSetFlags_v2, CUdevice, dev, unsigned int, flags)                    \
	X(1, cuDevicePrimaryCtxReset_v2, CUdevice, dev)                                            \
	X(3, cuCtxCreate_v2, CUcontext *, ctx, unsigned int, flags, CUdevice, dev)                 \
	X(4, cuCtxCreate_v4, CUcontext *, ctx, void *, params, unsigned int, flags, CUdevice, dev) \
	X(1, cuCtxDestroy_v2, CUcontext, ctx)                                                      \
	X(1, cuCtxGetCurrent, CUcontext *, ctx)                                                    \
	X(1, cuCtxSetCurrent, CUcontext, ctx)                                                      \
	X(1, cuCtxPushCurrent_v2, CUcontext, ctx)                                                  \
	X(1, cuCtxPopCurrent_v2, CUcontext *, ctx)                                                 \
	X(1, cuCtxGetDevice, CUdevice *, dev)                                                      \
	X(0, cuCtxSynchronize)                                                                     \
	X(2, cuCtxGetStreamPriorityRange, int *, least, int *, greatest)                           \
	X(2, cuCtxGetApiVersion, CUcontext, ctx, unsigned int *, version)                          \
	X(1, cuCtxGetFlags, unsigned int *, flags)                                                 \
	X(2, cuStreamCreate, CUstream *, stream, unsigned int, flags)                              \
	X(3, cuStreamCreateWithPriority, CUstream *, stream, unsigned int, flags, int, priority)   \
	X(1, cuStreamDestroy_v2, CUstream, stream)                                                 \
	X(1, cuStreamSynchronize, CUstream, stream)                                                \
	X(1, cuStreamQuery, CUstream, stream)                                                      \
	X(3, cuStreamWaitEvent, CUstream, stream, CUevent, event, unsigned int, flags)             \
	X(4, cuStreamWriteValue32_v2, CUstream, stream, CUdeviceptr, at, unsigned int, value,      \
	  unsigned int, flags)                                                                     \
	X(2, cuStreamGetCtx, CUstream, stream, CUcontext *, ctx)                                   \
	X(2, cuStreamGetFlags, CUstream, stream, unsigned int *, flags)                            \
	X(2, cuStreamGetPriority, CUstream, stream, int *, priority)                               \
	X(2, cuStreamBeginCapture_v2, CUstream, stream, int, mode)                                 \
	X(2, cuStreamEndCapture, CUstream, stream, CUgraph *, graph)                               \
	X(2, cuStreamIsCapturing, CUstream, stream, int *, status)                                 \
	X(1, cuThreadExchangeStreamCaptureMode, int *, mode)                                       \
	X(2, cuEventCreate, CUevent *, event, unsigned int, flags)                                 \
	X(2, cuEventRecord, CUevent, event, CUstream, stream)                                      \
	X(1, cuEventSynchronize, CUevent, event)                                                   \
	X(1, cuEventQuery, CUevent, event)                                                         \
	X(3, cuEventElapsedTime, float *, ms, CUevent, start, CUevent, end)                        \
	X(3, cuEventElapsedTime_v2, float *, ms, CUevent, start, CUevent, end)                     \
	X(1, cuEventDestroy_v2, CUevent, event)                                                    \
	X(2, cuMemAlloc_v2, CUdeviceptr *, ptr, size_t, bytes)                                     \
	X(1, cuMemFree_v2, CUdeviceptr, ptr)                                                       \
	X(2, cuMemGetInfo_v2, size_t *, free_bytes, size_t *, total_bytes)                         \
	X(3, cuMemGetAddressRange_v2, CUdeviceptr *, base, size_t *, bytes, CUdeviceptr, ptr)      \
	X(5, cuMemAddressReserve, CUdeviceptr *, ptr, size_t, bytes, size_t, align, CUdeviceptr,   \
	  at, uint64_t, flags)                                                                     \
	X(2, cuMemAddressFree, CUdeviceptr, ptr, size_t, bytes)                                    \
	X(4, cuMemCreate, CUmemGenericAllocationHandle *, handle, size_t, bytes,                   \
	  const CUmemAllocationProp *, prop, uint64_t, flags)                                      \
	X(1, cuMemRelease, CUmemGenericAllocationHandle, handle)                                   \
	X(2, cuMemRetainAllocationHandle, CUmemGenericAllocationHandle *, handle, void *, ptr)     \
	X(5, cuMemMap, CUdeviceptr, ptr, size_t, bytes, size_t, offset,                            \
	  CUmemGenericAllocationHandle, handle, uint64_t, flags)                                   \
	X(2, cuMemUnmap, CUdeviceptr, ptr, size_t, bytes)                                          \
	X(4, cuMemSetAccess, CUdeviceptr, ptr, size_t, bytes, const CUmemAccessDesc *, access,     \
	  size_t, count)                                                                           \
	X(3, cuMemGetAllocationGranularity, size_t *, bytes, const CUmemAllocationProp *, prop,    \
	  int, option)                                                                             \
	X(4, cuMemExportToShareableHandle, void *, file, CUmemGenericAllocationHandle, handle,     \
	  int, type, uint64_t, flags)                                                              \
	X(3, cuPointerGetAttribute, void *, data, int, attribute, CUdeviceptr, ptr)                \
	X(2, cuMemAllocHost_v2, void **, ptr, size_t, bytes)                                       \
	X(3, cuMemHostAlloc, void **, ptr, size_t, bytes, unsigned int, flags)                     \
	X(1, cuMemFreeHost, void *, ptr)                                                           \
	X(3, cuMemHostGetDevicePointer_v2, CUdeviceptr *, dptr, void *, ptr, unsigned int, flags)  \
	X(2, cuMemHostGetFlags, unsigned int *, flags, void *, ptr)                                \
	X(3, cuMemHostRegister_v2, void *, ptr, size_t, bytes, unsigned int, flags)                \
	X(1, cuMemHostUnregister, void *, ptr)                                                     \
	X(3, cuMemcpyHtoD_v2, CUdeviceptr, dst, const void *, src, size_t, bytes)                  \
	X(3, cuMemcpyDtoH_v2, void *, dst, CUdeviceptr, src, size_t, bytes)                        \
	X(3, cuMemcpyDtoD_v2, CUdeviceptr, dst, CUdeviceptr, src, size_t, bytes)                   \
	X(4, cuMemcpyHtoDAsync_v2, CUdeviceptr, dst, const void *, src, size_t, bytes, CUstream,   \
	  stream)                                                                                  \
	X(4, cuMemcpyDtoHAsync_v2, void *, dst, CUdeviceptr, src, size_t, bytes, CUstream, stream) \
	X(4, cuMemcpyDtoDAsync_v2, CUdeviceptr, dst, CUdeviceptr, src, size_t, bytes, CUstream,    \
	  stream)                                                                                  \
	X(3, cuMemsetD8_v2, CUdeviceptr, dst, unsigned char, value, size_t, count)                 \
	X(3, cuMemsetD32_v2, CUdeviceptr, dst, unsigned int, value, size_t, count)                 \
	X(4, cuMemsetD8Async, CUdeviceptr, dst, unsigned char, value, size_t, count, CUstream,     \
	  stream)                                                                                  \
	X(4, cuMemsetD32Async, CUdeviceptr, dst, unsigned int, value, size_t, count, CUstream,     \
	  stream)                                                                                  \
	X(2, cuModuleLoadData, CUmodule *, module, const void *, image)                            \
	X(5, cuModuleLoadDataEx, CUmodule *, module, const void *, image, unsigned int, count,     \
	  int *, options, void **, values)                                                         \
	X(1, cuModuleUnload, CUmodule, module)                                                     \
	X(3, cuModuleGetFunction, CUfunction *, fn, CUmodule, module, const char *, name)          \
	X(4, cuModuleGetGlobal_v2, CUdeviceptr *, ptr, size_t *, bytes, CUmodule, module,          \
	  const char *, name)                                                                      \
	X(3, cuFuncSetAttribute, CUfunction, fn, int, attribute, int, value)                       \
	X(3, cuFuncGetAttribute, int *, value, int, attribute, CUfunction, fn)                     \
	X(4, cuOccupancyMaxActiveBlocksPerMultiprocessor, int *, blocks, CUfunction, fn, int,      \
	  threads, size_t, shared_bytes)                                                           \
	X(11, cuLaunchKernel, CUfunction, fn, unsigned int, grid_x, unsigned int, grid_y,          \
	  unsigned int, grid_z, unsigned int, block_x, unsigned int, block_y, unsigned int,        \
	  block_z, unsigned int, shared_bytes, CUstream, stream, void **, params, void **, extra)  \
	X(4, cuLaunchKernelEx, const CUlaunchConfig *, config, CUfunction, fn, void **, params,    \
	  void **, extra)                                                                          \
	X(10, cuLaunchCooperativeKernel, CUfunction, fn, unsigned int, grid_x, unsigned int,       \
	  grid_y, unsigned int, grid_z, unsigned int, block_x, unsigned int, block_y,              \
	  unsigned int, block_z, unsigned int, shared_bytes, CUstream, stream, void **, params)    \
	X(3, cuGraphInstantiateWithFlags, CUgraphExec *, exec, CUgraph, graph, uint64_t, flags)    \
	X(5, cuGraphInstantiate_v2, CUgraphExec *, exec, CUgraph, graph, void **, node, char *,    \
	  log, size_t, log_bytes)                                                                  \
	X(2, cuGraphLaunch, CUgraphExec, exec, CUstream, stream)                                   \
	X(1, cuGraphDestroy, CUgraph, graph)                                                       \
	X(1, cuGraphExecDestroy, CUgraphExec, exec)

/*
 * FACE_EACH_n(F, SEP, type, name, ..): F(type, name) of each of n arguments, with
 * SEP() between them.
 */
#define FACE_EACH_0(F, SEP, ...) F##_NONE
#define FACE_EACH_1(F, SEP, type, name) F(type, name)
#define FACE_EACH_2(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_1(F, SEP, __VA_ARGS__)
#define FACE_EACH_3(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_2(F, SEP, __VA_ARGS__)
#define FACE_EACH_4(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_3(F, SEP, __VA_ARGS__)
#define FACE_EACH_5(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_4(F, SEP, __VA_ARGS__)
#define FACE_EACH_6(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_5(F, SEP, __VA_ARGS__)
#define FACE_EACH_7(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_6(F, SEP, __VA_ARGS__)
#define FACE_EACH_8(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_7(F, SEP, __VA_ARGS__)
#define FACE_EACH_9(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_8(F, SEP, __VA_ARGS__)
#define FACE_EACH_10(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_9(F, SEP, __VA_ARGS__)
#define FACE_EACH_11(F, SEP, type, name, ...) F(type, name) SEP() FACE_EACH_10(F, SEP, __VA_ARGS__)
#define FACE_NOTHING()
#define FACE_COMMA() ,
#define FACE_DECLARE(type, name) type name
#define FACE_DECLARE_NONE void
#define FACE_PARAMETERS(n, ...) FACE_EACH_##n(FACE_DECLARE, FACE_COMMA, __VA_ARGS__)

/*
 * calls.c exports each of them so that CUPTI can observe it; do_cuNAME() does the work. own_cuNAME
 * is the exported function, also in a program that has another one of that name in front.
 */
#define X(n, name, ...)                                             \
	FACE_EXPORT CUresult name(FACE_PARAMETERS(n, __VA_ARGS__)); \
	CUresult do_##name(FACE_PARAMETERS(n, __VA_ARGS__));        \
	__attribute__((visibility("hidden"))) extern __typeof__(name) own_##name;
FACE_API(X)
#undef X

#endif
