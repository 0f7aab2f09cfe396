// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/clock.h"
#include "bench/gpu/hip.h"
#include "bench/gpu/kernels.h"

#define CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT 16
#define CU_ERROR_NOT_FOUND 500 /* HIP has the same number */

struct gp_cuda gp_cu;

void gp_cu_check(int error, const char *what)
{
	const char *name = NULL;

	if (!error)
		return;
	if (gp_cu.cuGetErrorName)
		gp_cu.cuGetErrorName(error, &name);
	fprintf(stderr, "%s: %s: %s (%d)\n", program_invocation_short_name, what,
		name ? name : "unknown error", error);
	exit(1);
}

static void *symbol(void *lib, const char *name)
{
	void *fn = dlsym(lib, name);

	if (!fn) {
		fprintf(stderr, "%s: libcuda.so.1 has no %s: driver too old\n",
			program_invocation_short_name, name);
		exit(1);
	}
	return fn;
}

static void load(void)
{
	if (gp_cu.lib)
		return;
	gp_cu.lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!gp_cu.lib && !gp_hip_load(&gp_cu))
		return;
	if (!gp_cu.lib) {
		fprintf(stderr,
			"%s: neither libcuda.so.1 nor libamdhip64 found; install a driver, or use "
			"device soft0\n",
			program_invocation_short_name);
		exit(1);
	}
#define GP_CU_LOAD(fn, params) *(void **)&gp_cu.fn = symbol(gp_cu.lib, #fn);
	GP_CU_FUNCTIONS(GP_CU_LOAD)
#undef GP_CU_LOAD
	gp_clock_choose(gp_cu.lib);
}

static void load_kernels(struct gp_bench_gpu *gpu)
{
	static const char *const names[GP_KERNEL_COUNT] = {
		[GP_KERNEL_WORK] = "gp_work",	    [GP_KERNEL_SMEM] = "gp_smem",
		[GP_KERNEL_TENSOR] = "gp_tensor",   [GP_KERNEL_COOP] = "gp_coop",
		[GP_KERNEL_STREAM] = "gp_stream",   [GP_KERNEL_CSR] = "gp_csr",
		[GP_KERNEL_STENCIL] = "gp_stencil",
	};
	const void *image = gp_cu.is_hip ? gp_hip_kernels() : gp_kernels_ptx;

	GP_CU(cuModuleLoadData(&gpu->module, image));
	for (size_t i = 0; i < GP_KERNEL_COUNT; i++) {
		const int error = gp_cu.cuModuleGetFunction(&gpu->fn[i], gpu->module, names[i]);

		if (error == CU_ERROR_NOT_FOUND)
			gpu->fn[i] = NULL;
		else
			gp_cu_check(error, names[i]);
	}
}

static void read_uuid(struct gp_bench_gpu *gpu)
{
	int (*get_uuid)(unsigned char *uuid, int dev);
	unsigned char u[16];
	size_t n = 4;

	*(void **)&get_uuid = dlsym(gp_cu.lib, "cuDeviceGetUuid_v2");
	if (!get_uuid || get_uuid(u, gpu->dev))
		return;
	strcpy(gpu->uuid, "GPU-");
	for (size_t i = 0; i < sizeof(u); i++)
		n += (size_t)snprintf(gpu->uuid + n, sizeof(gpu->uuid) - n, "%s%02x",
				      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

int gp_bench_gpu_count(void)
{
	int count;

	load();
	GP_CU(cuInit(0));
	GP_CU(cuDeviceGetCount(&count));
	return count;
}

void gp_bench_gpu_open(struct gp_bench_gpu *gpu, unsigned int sched_flags)
{
	gp_bench_gpu_open_nth(gpu, 0, sched_flags);
}

void gp_bench_gpu_open_nth(struct gp_bench_gpu *gpu, int number, unsigned int sched_flags)
{
	int sms = 0;

	memset(gpu, 0, sizeof(*gpu));
	load();
	GP_CU(cuInit(0));
	GP_CU(cuDeviceGet(&gpu->dev, number));
	GP_CU(cuDeviceGetName(gpu->name, sizeof(gpu->name), gpu->dev));
	read_uuid(gpu);
	GP_CU(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu->dev));
	gpu->sms = (unsigned int)sms;
	GP_CU(cuDevicePrimaryCtxSetFlags_v2(gpu->dev, sched_flags));
	GP_CU(cuDevicePrimaryCtxRetain(&gpu->ctx, gpu->dev));
	GP_CU(cuCtxSetCurrent(gpu->ctx));
	load_kernels(gpu);
}
