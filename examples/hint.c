// SPDX-License-Identifier: Apache-2.0
/*
 * hint.c - a program that knows when its work comes. Two programs from one
 * source: hint uses CUDA, on a card or on the software GPU (gpreempt run --device
 * soft0 --class lc -- build/examples/hint), hint-hip uses HIP. What concerns
 * gpreempt is the same in both.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpreempt/gpreempt.h"

/* Every thread: buf[g] = iters times mul * x + (2 * g + 1), x = buf[g]. */
#ifdef HINT_HIP
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define LIBRARY "libamdhip64.so." TEXT(HIP_VERSION_MAJOR)
static const char kernel_text[] =
	"extern \"C\" __attribute__((global)) void gp_work(unsigned *buf,\n"
	"		unsigned long long in, unsigned mul, unsigned iters)\n"
	"{\n"
	"	unsigned g = __builtin_amdgcn_workgroup_id_x() * 256 +\n"
	"		     __builtin_amdgcn_workitem_id_x();\n"
	"	unsigned x = buf[g];\n"
	"	for (; iters; iters--)\n"
	"		x = mul * x + (2 * g + 1);\n"
	"	buf[g] = x;\n"
	"}\n";

#define FUNCTIONS(X)                                                                       \
	X(init, hipInit, unsigned int)                                                     \
	X(set_device, hipSetDevice, int)                                                   \
	X(properties, hipGetDeviceProperties, hipDeviceProp_t *, int)                      \
	X(rtc_create, hiprtcCreateProgram, void **, const char *, const char *, int,       \
	  const char **, const char **)                                                    \
	X(rtc_compile, hiprtcCompileProgram, void *, int, const char **)                   \
	X(rtc_log_size, hiprtcGetProgramLogSize, void *, size_t *)                         \
	X(rtc_log, hiprtcGetProgramLog, void *, char *)                                    \
	X(rtc_code_size, hiprtcGetCodeSize, void *, size_t *)                              \
	X(rtc_code, hiprtcGetCode, void *, char *)                                         \
	X(load, hipModuleLoadData, void **, const void *)                                  \
	X(function, hipModuleGetFunction, void **, void *, const char *)                   \
	X(allocate, hipMalloc, uint64_t *, size_t)                                         \
	X(fill, hipMemsetD32, uint64_t, unsigned int, size_t)                              \
	X(copy, hipMemcpyDtoH, void *, uint64_t, size_t)                                   \
	X(wait, hipStreamSynchronize, void *)                                              \
	X(launch, hipModuleLaunchKernel, void *, unsigned int, unsigned int, unsigned int, \
	  unsigned int, unsigned int, unsigned int, unsigned int, void *, void **, void **)
#else
#define TEXT(x) #x
#define LIBRARY "libcuda.so.1"
static const char kernel_text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry gp_work(.param .u64 pb, .param .u64 pi, .param .u32 pm, .param .u32 pn)\n"
	"{ .reg .pred %p; .reg .b32 %x, %m, %n, %g, %b, %t, %c; .reg .b64 %a, %o;\n"
	"ld.param.u64 %a, [pb]; ld.param.u32 %m, [pm]; ld.param.u32 %n, [pn];\n"
	"mov.u32 %b, %ctaid.x; mov.u32 %c, %ntid.x; mov.u32 %t, %tid.x;\n"
	"mad.lo.u32 %g, %b, %c, %t; mul.wide.u32 %o, %g, 4; add.u64 %a, %a, %o;\n"
	"cvta.to.global.u64 %a, %a; ld.global.u32 %x, [%a]; mad.lo.u32 %g, %g, 2, 1;\n"
	"L: setp.eq.u32 %p, %n, 0; @%p bra E; mad.lo.u32 %x, %m, %x, %g;\n"
	"sub.u32 %n, %n, 1; bra L; E: st.global.u32 [%a], %x; ret; }\n";

#define FUNCTIONS(X)                                                                              \
	X(init, cuInit, unsigned int)                                                             \
	X(retain, cuDevicePrimaryCtxRetain, void **, int)                                         \
	X(set_context, cuCtxSetCurrent, void *)                                                   \
	X(load, cuModuleLoadData, void **, const void *)                                          \
	X(function, cuModuleGetFunction, void **, void *, const char *)                           \
	X(allocate, cuMemAlloc_v2, uint64_t *, size_t)                                            \
	X(fill, cuMemsetD32_v2, uint64_t, unsigned int, size_t)                                   \
	X(copy, cuMemcpyDtoH_v2, void *, uint64_t, size_t)                                        \
	X(wait, cuStreamSynchronize, void *)                                                      \
	X(launch, cuLaunchKernel, void *, unsigned int, unsigned int, unsigned int, unsigned int, \
	  unsigned int, unsigned int, unsigned int, void *, void **, void **)
#endif
#define DECLARE(name, symbol, ...) static int (*gpu_##name)(__VA_ARGS__);
#define LOAD(name, symbol, ...) *(void **)&gpu_##name = find(TEXT(symbol));
FUNCTIONS(DECLARE)
#define CALL(name, ...) check(gpu_##name(__VA_ARGS__), #name)

static void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "hint: %s: error %d\n", what, error);
	exit(1);
}

static void *find(const char *name)
{
	void *lib = dlopen(LIBRARY, RTLD_NOW);
	void *fn = lib ? dlsym(lib, name) : NULL;

	if (!fn) {
		fprintf(stderr, "hint: %s\n", dlerror());
		exit(1);
	}
	return fn;
}

#ifdef HINT_HIP
static void say_log(void *program)
{
	size_t bytes = 0;
	char *log;

	gpu_rtc_log_size(program, &bytes);
	log = calloc(1, bytes + 1);
	if (log && !gpu_rtc_log(program, log))
		fprintf(stderr, "%s\n", log);
	free(log);
}

/* The first device that the program may see, and the kernel's code for it. */
static const void *prepare(void)
{
	static hipDeviceProp_t device;
	char arch[sizeof(device.gcnArchName) + 32];
	const char *option = arch;
	void *program;
	size_t bytes;
	char *code;
	int error;

	CALL(set_device, 0);
	CALL(properties, &device, 0);
	snprintf(arch, sizeof(arch), "--gpu-architecture=%s", device.gcnArchName);
	CALL(rtc_create, &program, kernel_text, "hint", 0, NULL, NULL);
	error = gpu_rtc_compile(program, 1, &option);
	if (error)
		say_log(program);
	check(error, "rtc_compile");
	CALL(rtc_code_size, program, &bytes);
	code = malloc(bytes);
	check(!code, "malloc");
	CALL(rtc_code, program, code);
	return code;
}
#else
static const void *prepare(void)
{
	void *ctx;

	CALL(retain, &ctx, 0);
	CALL(set_context, ctx);
	return kernel_text;
}
#endif

int main(void)
{
	uint32_t mul = 1664525, iters = 10000, x;
	struct gp_handle *gp;
	void *module, *kernel;
	uint64_t buf, in = 0;
	void *args[] = { &buf, &in, &mul, &iters };

	FUNCTIONS(LOAD)
	CALL(init, 0);
	CALL(load, &module, prepare());
	CALL(function, &kernel, module, "gp_work");
	CALL(allocate, &buf, 256 * sizeof(x));
	CALL(fill, buf, 1, 256);
	check(gp_open(NULL, &gp), "gp_open"); /* the current device, class lc */

	for (int i = 0; i < 10; i++) {
		gp_hint(gp, 300000); /* work comes in 300 us .. */
		/* .. here a server reads its request and prepares data .. */
		gp_segment_begin(gp); /* .. and here it is */
		CALL(launch, kernel, 1, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
		CALL(wait, NULL);
		gp_segment_end(gp);
	}
	CALL(copy, &x, buf, sizeof(x));
	printf("hint: 10 requests, gpreempt %s, first word %08x\n", gp_version(), x);
	gp_close(gp);
	return 0;
}
