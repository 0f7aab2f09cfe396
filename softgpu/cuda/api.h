/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h - the part of the CUDA driver API that the software GPU offers, with
 * our own prototypes: the toolkit is not needed to build.
 *
 * FACE_API lists every function under its exported name: X(name).
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

#define FACE_API(X)                                                            \
	X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)  \
	X(cuGetProcAddress) X(cuGetProcAddress_v2)                             \
	X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName)                  \
	X(cuDeviceGetUuid) X(cuDeviceGetUuid_v2) X(cuDeviceGetPCIBusId)        \
	X(cuDeviceGetByPCIBusId) X(cuDeviceGetAttribute)                       \
	X(cuDeviceTotalMem_v2) X(cuDeviceComputeCapability)                    \
	X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2)            \
	X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxSetFlags_v2)         \
	X(cuDevicePrimaryCtxReset_v2)                                          \
	X(cuCtxCreate_v2) X(cuCtxCreate_v4) X(cuCtxDestroy_v2)                 \
	X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxPushCurrent_v2)           \
	X(cuCtxPopCurrent_v2) X(cuCtxGetDevice) X(cuCtxSynchronize)            \
	X(cuCtxGetStreamPriorityRange) X(cuCtxGetApiVersion) X(cuCtxGetFlags)  \
	X(cuStreamCreate) X(cuStreamCreateWithPriority)                        \
	X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuStreamQuery)          \
	X(cuStreamWaitEvent) X(cuStreamGetCtx) X(cuStreamGetFlags)             \
	X(cuStreamGetPriority) X(cuStreamBeginCapture_v2)                      \
	X(cuStreamEndCapture) X(cuStreamIsCapturing)                           \
	X(cuThreadExchangeStreamCaptureMode)                             \
	X(cuEventCreate) X(cuEventRecord) X(cuEventSynchronize)                \
	X(cuEventQuery) X(cuEventElapsedTime) X(cuEventElapsedTime_v2)         \
	X(cuEventDestroy_v2)                                                   \
	X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemGetInfo_v2)                    \
	X(cuMemAllocHost_v2) X(cuMemHostAlloc) X(cuMemFreeHost)                \
	X(cuMemHostGetDevicePointer_v2) X(cuMemHostGetFlags)                   \
	X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuMemcpyDtoD_v2)               \
	X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoHAsync_v2)                        \
	X(cuMemcpyDtoDAsync_v2) X(cuMemsetD8_v2) X(cuMemsetD32_v2)             \
	X(cuMemsetD8Async) X(cuMemsetD32Async)                                 \
	X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleUnload)            \
	X(cuModuleGetFunction) X(cuModuleGetGlobal_v2)                         \
	X(cuFuncSetAttribute) X(cuFuncGetAttribute)                            \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                         \
	X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel)     \
	X(cuGraphInstantiateWithFlags) X(cuGraphInstantiate_v2)                \
	X(cuGraphLaunch) X(cuGraphDestroy) X(cuGraphExecDestroy)

FACE_EXPORT CUresult cuInit(unsigned int flags);
FACE_EXPORT CUresult cuDriverGetVersion(int *version);
FACE_EXPORT CUresult cuGetErrorName(CUresult error, const char **name);
FACE_EXPORT CUresult cuGetErrorString(CUresult error, const char **text);
FACE_EXPORT CUresult cuGetProcAddress(const char *name, void **fn, int version,
				      uint64_t flags);
FACE_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **fn,
					 int version, uint64_t flags,
					 int *status);
FACE_EXPORT CUresult cuDeviceGet(CUdevice *dev, int ordinal);
FACE_EXPORT CUresult cuDeviceGetCount(int *count);
FACE_EXPORT CUresult cuDeviceGetName(char *name, int len, CUdevice dev);
FACE_EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
FACE_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev);
FACE_EXPORT CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev);
FACE_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id);
FACE_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute,
					  CUdevice dev);
FACE_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev);
FACE_EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor,
					       CUdevice dev);
FACE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev);
FACE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev);
FACE_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice dev,
						unsigned int *flags,
						int *active);
FACE_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev,
						   unsigned int flags);
FACE_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev);
FACE_EXPORT CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags,
				    CUdevice dev);
FACE_EXPORT CUresult cuCtxCreate_v4(CUcontext *ctx, void *params,
				    unsigned int flags, CUdevice dev);
FACE_EXPORT CUresult cuCtxDestroy_v2(CUcontext ctx);
FACE_EXPORT CUresult cuCtxGetCurrent(CUcontext *ctx);
FACE_EXPORT CUresult cuCtxSetCurrent(CUcontext ctx);
FACE_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext ctx);
FACE_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *ctx);
FACE_EXPORT CUresult cuCtxGetDevice(CUdevice *dev);
FACE_EXPORT CUresult cuCtxSynchronize(void);
FACE_EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
FACE_EXPORT CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version);
FACE_EXPORT CUresult cuCtxGetFlags(unsigned int *flags);
FACE_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
FACE_EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream,
						unsigned int flags,
						int priority);
FACE_EXPORT CUresult cuStreamDestroy_v2(CUstream stream);
FACE_EXPORT CUresult cuStreamSynchronize(CUstream stream);
FACE_EXPORT CUresult cuStreamQuery(CUstream stream);
FACE_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event,
				       unsigned int flags);
FACE_EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx);
FACE_EXPORT CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags);
FACE_EXPORT CUresult cuStreamGetPriority(CUstream stream, int *priority);
FACE_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
FACE_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
FACE_EXPORT CUresult cuStreamIsCapturing(CUstream stream, int *status);
FACE_EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *mode);
FACE_EXPORT CUresult cuEventCreate(CUevent *event, unsigned int flags);
FACE_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream);
FACE_EXPORT CUresult cuEventSynchronize(CUevent event);
FACE_EXPORT CUresult cuEventQuery(CUevent event);
FACE_EXPORT CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);
FACE_EXPORT CUresult cuEventElapsedTime_v2(float *ms, CUevent start,
					   CUevent end);
FACE_EXPORT CUresult cuEventDestroy_v2(CUevent event);
FACE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes);
FACE_EXPORT CUresult cuMemFree_v2(CUdeviceptr ptr);
FACE_EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
FACE_EXPORT CUresult cuMemAllocHost_v2(void **ptr, size_t bytes);
FACE_EXPORT CUresult cuMemHostAlloc(void **ptr, size_t bytes,
				    unsigned int flags);
FACE_EXPORT CUresult cuMemFreeHost(void *ptr);
FACE_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *dptr, void *ptr,
						  unsigned int flags);
FACE_EXPORT CUresult cuMemHostGetFlags(unsigned int *flags, void *ptr);
FACE_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src,
				     size_t bytes);
FACE_EXPORT CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes);
FACE_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src,
				     size_t bytes);
FACE_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src,
					  size_t bytes, CUstream stream);
FACE_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src,
					  size_t bytes, CUstream stream);
FACE_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src,
					  size_t bytes, CUstream stream);
FACE_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value,
				   size_t count);
FACE_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned int value,
				    size_t count);
FACE_EXPORT CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value,
				     size_t count, CUstream stream);
FACE_EXPORT CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int value,
				      size_t count, CUstream stream);
FACE_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image);
FACE_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
					unsigned int count, int *options,
					void **values);
FACE_EXPORT CUresult cuModuleUnload(CUmodule module);
FACE_EXPORT CUresult cuModuleGetFunction(CUfunction *fn, CUmodule module,
					 const char *name);
FACE_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes,
					  CUmodule module, const char *name);
FACE_EXPORT CUresult cuFuncSetAttribute(CUfunction fn, int attribute, int value);
FACE_EXPORT CUresult cuFuncGetAttribute(int *value, int attribute,
					CUfunction fn);
FACE_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
	int *blocks, CUfunction fn, int threads, size_t shared_bytes);
FACE_EXPORT CUresult cuLaunchKernel(CUfunction fn, unsigned int grid_x,
				    unsigned int grid_y, unsigned int grid_z,
				    unsigned int block_x, unsigned int block_y,
				    unsigned int block_z,
				    unsigned int shared_bytes, CUstream stream,
				    void **params, void **extra);
FACE_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config,
				      CUfunction fn, void **params,
				      void **extra);
FACE_EXPORT CUresult cuLaunchCooperativeKernel(
	CUfunction fn, unsigned int grid_x, unsigned int grid_y,
	unsigned int grid_z, unsigned int block_x, unsigned int block_y,
	unsigned int block_z, unsigned int shared_bytes, CUstream stream,
	void **params);
FACE_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec,
						 CUgraph graph, uint64_t flags);
FACE_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph,
					   void **node, char *log,
					   size_t log_bytes);
FACE_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
FACE_EXPORT CUresult cuGraphDestroy(CUgraph graph);
FACE_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec);

#endif
