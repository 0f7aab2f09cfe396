// SPDX-License-Identifier: Apache-2.0
/* cuda.c - the driver API, by dlsym. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "nvidia-backend/cuda.h"

int gp_nv_cuda_load(void *library, struct gp_nv_cuda *cu)
{
	struct gp_nv_cuda got = { 0 };
	struct {
		void *to;
		const char *name;
		const char *older; /* the name without its version, or NULL */
		bool optional;
	} symbol[] = {
		{ &got.ctx_get_current, "cuCtxGetCurrent", NULL, false },
		{ &got.ctx_push, "cuCtxPushCurrent_v2", "cuCtxPushCurrent", false },
		{ &got.ctx_pop, "cuCtxPopCurrent_v2", "cuCtxPopCurrent", false },
		{ &got.ctx_get_device, "cuCtxGetDevice", NULL, false },
		{ &got.ctx_priorities, "cuCtxGetStreamPriorityRange", NULL, false },
		{ &got.device_uuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid", true },
		{ &got.host_alloc, "cuMemHostAlloc", NULL, false },
		{ &got.host_device_pointer, "cuMemHostGetDevicePointer_v2",
		  "cuMemHostGetDevicePointer", false },
		{ &got.host_free, "cuMemFreeHost", NULL, false },
		{ &got.mem_alloc, "cuMemAlloc_v2", NULL, true },
		{ &got.mem_free, "cuMemFree_v2", NULL, true },
		{ &got.memset_u32, "cuMemsetD32_v2", NULL, true },
		{ &got.module_load, "cuModuleLoadData", NULL, false },
		{ &got.module_unload, "cuModuleUnload", NULL, false },
		{ &got.module_function, "cuModuleGetFunction", NULL, false },
		{ &got.stream_create, "cuStreamCreateWithPriority", NULL, false },
		{ &got.stream_destroy, "cuStreamDestroy_v2", "cuStreamDestroy", false },
		{ &got.stream_synchronize, "cuStreamSynchronize", NULL, false },
		{ &got.stream_write32, "cuStreamWriteValue32_v2", NULL, false },
		{ &got.launch, "cuLaunchKernel", NULL, false },
		{ &got.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", NULL, true },
	};

	for (size_t i = 0; i < sizeof(symbol) / sizeof(symbol[0]); i++) {
		void *found = dlsym(library, symbol[i].name);

		if (!found && symbol[i].older)
			found = dlsym(library, symbol[i].older);
		if (!found && !symbol[i].optional)
			return -EOPNOTSUPP;
		memcpy(symbol[i].to, &found, sizeof(found));
	}
	*cu = got;
	return 0;
}

int gp_nv_cuda_errno(int result)
{
	switch (result) {
	case GP_CU_OK:
		return 0;
	case GP_CU_ERROR_OUT_OF_MEMORY:
		return -ENOMEM;
	case GP_CU_ERROR_NOT_INITIALIZED:
	case GP_CU_ERROR_DEINITIALIZED:
	case GP_CU_ERROR_INVALID_CONTEXT:
	case GP_CU_ERROR_INVALID_HANDLE:
	case GP_CU_ERROR_CONTEXT_IS_DESTROYED:
		return -ENXIO;
	default:
		return -EIO;
	}
}
