// SPDX-License-Identifier: Apache-2.0
/*
 * call_kinds.c - kinds of calls by name, because only names remain the same.
 *
 * "Implicit synchronisation" of the CUDA C programming guide: page-locked and device memory
 * allocation, freeing, and changes of the address space. Observed as well: loading and
 * unloading code, peer access, limits, new contexts.
 */
#include "preload/call_kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The first match counts. A "*" at the end matches any rest. */
static const struct {
	const char *name;
	enum gp_call_kind kind;
} calls[] = {
	{ "cuLaunchKernelEx", GP_CALL_LAUNCH_EX },
	{ "cuLaunchKernel", GP_CALL_LAUNCH },
	{ "cuLaunchCooperativeKernel", GP_CALL_LAUNCH },
	{ "cuGraphLaunch", GP_CALL_SUBMIT },
	{ "cuMemcpyHtoDAsync", GP_CALL_COPY },
	{ "cuMemcpyDtoHAsync", GP_CALL_COPY },
	{ "cuMemcpyDtoDAsync", GP_CALL_COPY },
	{ "cuMemcpyAsync", GP_CALL_COPY },
	{ "cuMemcpy2DAsync", GP_CALL_COPY },
	{ "cuMemcpy3DAsync", GP_CALL_COPY },

	{ "cuStreamSynchronize", GP_CALL_WAIT },
	{ "cuEventRecord", GP_CALL_RECORD },
	{ "cuEventRecordWithFlags", GP_CALL_RECORD },
	{ "cuEventSynchronize", GP_CALL_WAIT_EVENT },
	{ "cuMemcpyDtoH", GP_CALL_WAIT },
	{ "cuStreamQuery", GP_CALL_QUERY },

	{ "cuCtxSynchronize", GP_CALL_SYNC_IDLE },
	{ "cuCtxDestroy", GP_CALL_DESTROY },
	{ "cuCtxCreate", GP_CALL_CONTEXT },
	{ "cuCtxDetach", GP_CALL_SYNC },
	{ "cuCtxSetLimit", GP_CALL_SYNC },
	{ "cuCtxEnablePeerAccess", GP_CALL_SYNC },
	{ "cuCtxDisablePeerAccess", GP_CALL_SYNC },
	{ "cuCtxResetPersistingL2Cache", GP_CALL_SYNC },
	{ "cuDevicePrimaryCtxRetain", GP_CALL_SYNC },
	{ "cuDevicePrimaryCtxRelease", GP_CALL_SYNC },
	{ "cuDevicePrimaryCtxReset", GP_CALL_SYNC },
	{ "cuGreenCtxCreate", GP_CALL_SYNC },
	{ "cuGreenCtxDestroy", GP_CALL_SYNC },

	{ "cuModuleUnload", GP_CALL_UNLOAD },
	{ "cuLibraryUnload", GP_CALL_UNLOAD },
	{ "cuModuleLoad*", GP_CALL_SYNC },
	{ "cuModuleGetFunction", GP_CALL_SYNC },
	{ "cuModuleGetGlobal", GP_CALL_SYNC },
	{ "cuLibraryLoad*", GP_CALL_SYNC },
	{ "cuLibraryGetModule", GP_CALL_SYNC },
	{ "cuLibraryGetGlobal", GP_CALL_SYNC },
	{ "cuLibraryGetManaged", GP_CALL_SYNC },
	{ "cuKernelGetFunction", GP_CALL_SYNC },
	{ "cuKernelGetAttribute", GP_CALL_SYNC },
	{ "cuKernelSetAttribute", GP_CALL_SYNC },
	{ "cuFuncLoad", GP_CALL_SYNC },
	{ "cuFuncGetAttribute", GP_CALL_SYNC },
	{ "cuFuncSetAttribute", GP_CALL_SYNC },
	{ "cuOccupancyMax*", GP_CALL_SYNC },

	{ "cuMemAllocAsync", GP_CALL_COPY },
	{ "cuMemAllocFromPoolAsync", GP_CALL_COPY },
	{ "cuMemFreeAsync", GP_CALL_COPY },
	{ "cuMemAlloc*", GP_CALL_SYNC },
	{ "cuMemFree*", GP_CALL_SYNC },
	{ "cuMemHostAlloc", GP_CALL_SYNC },
	{ "cuMemHostRegister", GP_CALL_SYNC },
	{ "cuMemHostUnregister", GP_CALL_SYNC },
	{ "cuMemCreate", GP_CALL_SYNC },
	{ "cuMemRelease", GP_CALL_SYNC },
	{ "cuMemMap", GP_CALL_SYNC },
	{ "cuMemUnmap", GP_CALL_SYNC },
	{ "cuMemSetAccess", GP_CALL_SYNC },
	{ "cuMemPoolTrimTo", GP_CALL_SYNC },
	{ "cuMemPoolDestroy", GP_CALL_SYNC },
	{ "cuArrayCreate", GP_CALL_SYNC },
	{ "cuArray3DCreate", GP_CALL_SYNC },
	{ "cuArrayDestroy", GP_CALL_SYNC },
	{ "cuMipmappedArrayCreate", GP_CALL_SYNC },
	{ "cuMipmappedArrayDestroy", GP_CALL_SYNC },
	{ "cuIpcOpenMemHandle", GP_CALL_SYNC },
	{ "cuIpcCloseMemHandle", GP_CALL_SYNC },
	{ "cuImportExternalMemory", GP_CALL_SYNC },
	{ "cuDestroyExternalMemory", GP_CALL_SYNC },

	{ "cuStreamCreate*", GP_CALL_SYNC },
	{ "cuStreamDestroy", GP_CALL_SYNC },
	{ "cuGraphInstantiate*", GP_CALL_SYNC },
	{ "cuGraphExecDestroy", GP_CALL_SYNC },
	{ "cuGraphUpload", GP_CALL_SYNC },
	{ "cuDeviceGraphMemTrim", GP_CALL_SYNC },
	{ "cuProfilerStart", GP_CALL_SYNC },
	{ "cuProfilerStop", GP_CALL_SYNC },
};

/* Length of @name without its version. */
static size_t base_length(const char *name)
{
	size_t n = strlen(name);

	if (n > 5 && (!strcmp(name + n - 5, "_ptsz") || !strcmp(name + n - 5, "_ptds")))
		n -= 5;
	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' && name[n - 1] >= '2' &&
	    name[n - 1] <= '9')
		n -= 3;
	return n;
}

static bool matches(const char *pattern, const char *name, size_t len)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return len >= n - 1 && !strncmp(pattern, name, n - 1);
	return len == n && !strncmp(pattern, name, n);
}

enum gp_call_kind gp_call_kind(const char *name)
{
	size_t len = base_length(name);

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (matches(calls[i].name, name, len))
			return calls[i].kind;
	return GP_CALL_OTHER;
}
