// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/hip.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of hip/hip_runtime_api.h; CUDA has other numbers for these. */
#define HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT 63
#define HIP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK 74
#define HIP_ERROR_INVALID_VALUE 1
#define HIP_ERROR_NOT_SUPPORTED 801

#define CU_ATTRIBUTE_MULTIPROCESSOR_COUNT 16

/* Calls with the same parameters; flags have the same values. */
static const struct {
	size_t place;
	const char *name;
} twins[] = {
#define TWIN(cu, hip)                             \
	{                                         \
		offsetof(struct gp_cuda, cu), hip \
	}
	TWIN(cuCtxCreate_v2, "hipCtxCreate"),
	TWIN(cuCtxDestroy_v2, "hipCtxDestroy"),
	TWIN(cuCtxGetCurrent, "hipCtxGetCurrent"),
	TWIN(cuCtxGetStreamPriorityRange, "hipDeviceGetStreamPriorityRange"),
	TWIN(cuCtxPopCurrent_v2, "hipCtxPopCurrent"),
	TWIN(cuCtxSetCurrent, "hipCtxSetCurrent"),
	/* hipCtxSynchronize() is there, and never supported. */
	TWIN(cuCtxSynchronize, "hipDeviceSynchronize"),
	TWIN(cuDeviceGet, "hipDeviceGet"),
	TWIN(cuDeviceGetCount, "hipGetDeviceCount"),
	TWIN(cuDeviceGetName, "hipDeviceGetName"),
	TWIN(cuDevicePrimaryCtxRetain, "hipDevicePrimaryCtxRetain"),
	TWIN(cuDriverGetVersion, "hipDriverGetVersion"),
	TWIN(cuEventCreate, "hipEventCreateWithFlags"),
	TWIN(cuEventDestroy_v2, "hipEventDestroy"),
	TWIN(cuEventRecord, "hipEventRecord"),
	TWIN(cuEventSynchronize, "hipEventSynchronize"),
	TWIN(cuFuncGetAttribute, "hipFuncGetAttribute"),
	TWIN(cuGraphDestroy, "hipGraphDestroy"),
	TWIN(cuGraphExecDestroy, "hipGraphExecDestroy"),
	TWIN(cuGraphInstantiateWithFlags, "hipGraphInstantiateWithFlags"),
	TWIN(cuGraphLaunch, "hipGraphLaunch"),
	TWIN(cuInit, "hipInit"),
	TWIN(cuLaunchKernel, "hipModuleLaunchKernel"),
	TWIN(cuMemAlloc_v2, "hipMalloc"),
	TWIN(cuMemGetInfo_v2, "hipMemGetInfo"),
	TWIN(cuMemFreeHost, "hipHostFree"),
	TWIN(cuMemFree_v2, "hipFree"),
	TWIN(cuMemHostAlloc, "hipHostMalloc"),
	TWIN(cuMemcpyDtoDAsync_v2, "hipMemcpyDtoDAsync"),
	TWIN(cuMemcpyDtoHAsync_v2, "hipMemcpyDtoHAsync"),
	TWIN(cuMemcpyDtoH_v2, "hipMemcpyDtoH"),
	TWIN(cuMemcpyHtoDAsync_v2, "hipMemcpyHtoDAsync"),
	TWIN(cuMemcpyHtoD_v2, "hipMemcpyHtoD"),
	TWIN(cuModuleGetFunction, "hipModuleGetFunction"),
	TWIN(cuModuleLoadData, "hipModuleLoadData"),
	TWIN(cuModuleUnload, "hipModuleUnload"),
	TWIN(cuStreamBeginCapture_v2, "hipStreamBeginCapture"),
	TWIN(cuStreamCreate, "hipStreamCreateWithFlags"),
	TWIN(cuStreamCreateWithPriority, "hipStreamCreateWithPriority"),
	TWIN(cuStreamDestroy_v2, "hipStreamDestroy"),
	TWIN(cuStreamEndCapture, "hipStreamEndCapture"),
	TWIN(cuStreamSynchronize, "hipStreamSynchronize"),
#undef TWIN
};

static const char *(*hip_error_name)(int error);
static int (*hip_attribute)(int *value, int attribute, int dev);
static int (*hip_set_device)(int dev);
static int (*hip_set_flags)(unsigned int flags);

/* ---- calls that differ ------------------------------------------------------------- */

static int error_name(int error, const char **name)
{
	*name = hip_error_name(error);
	return 0;
}

static int attribute_of(int *value, int attribute, int dev)
{
	switch (attribute) {
	case CU_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		return hip_attribute(value, HIP_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev);
	case GP_CU_DEVICE_SHARED_BYTES_MAX:
		return hip_attribute(value, HIP_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, dev);
	default:
		return HIP_ERROR_INVALID_VALUE;
	}
}

/* A block may have all that there is without asking; HIP's call is for other handles. */
static int set_function_attribute(void *fn, int attribute, int value)
{
	(void)fn, (void)value;
	return attribute == GP_CU_FUNCTION_SHARED_BYTES ? 0 : HIP_ERROR_INVALID_VALUE;
}

/* hipDevicePrimaryCtxSetFlags() always finds the context in use. */
static int set_flags(int dev, unsigned int flags)
{
	const int error = hip_set_device(dev);

	return error ? error : hip_set_flags(flags);
}

/* HIP 5.2 has it for kernels of the program itself only. */
static int no_cooperative_launch(void *fn, unsigned int gx, unsigned int gy, unsigned int gz,
				 unsigned int bx, unsigned int by, unsigned int bz,
				 unsigned int shared_bytes, void *stream, void **params)
{
	(void)fn, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
	(void)shared_bytes, (void)stream, (void)params;
	return HIP_ERROR_NOT_SUPPORTED;
}

/* ---- loading ----------------------------------------------------------------------- */

static void *symbol(void *lib, const char *name)
{
	void *fn = dlsym(lib, name);

	if (!fn) {
		fprintf(stderr, "%s: libamdhip64 has no %s: ROCm too old\n",
			program_invocation_short_name, name);
		exit(1);
	}
	return fn;
}

/* The calls here are the same in both; They were tried with version 5. */
static void *open_library(void)
{
	void *lib = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);

	return lib ? lib : dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
}

/* So that none is forgotten here. */
static void check_twins(const struct gp_cuda *cuda)
{
	static const char *const names[] = {
#define NAME(fn, params) #fn,
		GP_CU_FUNCTIONS(NAME)
#undef NAME
	};
	const void *const twin[] = {
#define PLACE(fn, params) *(void *const *)&cuda->fn,
		GP_CU_FUNCTIONS(PLACE)
#undef PLACE
	};

	for (size_t i = 0; i < sizeof(twin) / sizeof(twin[0]); i++) {
		if (twin[i])
			continue;
		fprintf(stderr, "%s: HIP has no twin of %s\n", program_invocation_short_name,
			names[i]);
		exit(1);
	}
}

int gp_hip_load(struct gp_cuda *cuda)
{
	void *lib = open_library();

	if (!lib)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(twins) / sizeof(twins[0]); i++)
		*(void **)((char *)cuda + twins[i].place) = symbol(lib, twins[i].name);
	*(void **)&hip_error_name = symbol(lib, "hipGetErrorName");
	*(void **)&hip_attribute = symbol(lib, "hipDeviceGetAttribute");
	*(void **)&hip_set_device = symbol(lib, "hipSetDevice");
	*(void **)&hip_set_flags = symbol(lib, "hipSetDeviceFlags");
	cuda->cuGetErrorName = error_name;
	cuda->cuDeviceGetAttribute = attribute_of;
	cuda->cuDevicePrimaryCtxSetFlags_v2 = set_flags;
	cuda->cuFuncSetAttribute = set_function_attribute;
	cuda->cuLaunchCooperativeKernel = no_cooperative_launch;
	cuda->lib = lib;
	cuda->is_hip = true;
	check_twins(cuda);
	return 0;
}

/* ---- kernels ------------------------------------------------------------------------ */

/* Beside the program, as it is installed; or where the build tree has it. */
static int open_kernels(void)
{
	static const char *const where[] = { "", "/../lib/gpreempt/bench",
					     "/" GP_LIBDIR_FROM_BIN "/gpreempt/bench" };
	char folder[PATH_MAX], path[PATH_MAX + 64];
	const ssize_t len = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	int fd = -1;

	if (len <= 0)
		return -1;
	folder[len] = '\0';
	*strrchr(folder, '/') = '\0';
	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%s/kernels.hsaco", folder, where[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

const void *gp_hip_kernels(void)
{
	const int fd = open_kernels();
	void *kernels = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st))
		kernels = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (kernels == MAP_FAILED) {
		fprintf(stderr, "%s: kernels.hsaco not found; install hipcc, then run make\n",
			program_invocation_short_name);
		exit(1);
	}
	close(fd);
	return kernels;
}
