// SPDX-License-Identifier: Apache-2.0
/*
 * hint.c - a program that knows when its work comes. Runs on a card, and on the
 * software GPU: gpreempt run --device soft0 --class lc -- build/examples/hint
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpreempt/gpreempt.h"

/* Every thread: buf[g] = iters times mul * x + (2 * g + 1), x = buf[g]. */
static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry gp_work(.param .u64 pb, .param .u64 pi, .param .u32 pm, .param .u32 pn)\n"
	"{ .reg .pred %p; .reg .b32 %x, %m, %n, %g, %b, %t, %c; .reg .b64 %a, %o;\n"
	"ld.param.u64 %a, [pb]; ld.param.u32 %m, [pm]; ld.param.u32 %n, [pn];\n"
	"mov.u32 %b, %ctaid.x; mov.u32 %c, %ntid.x; mov.u32 %t, %tid.x;\n"
	"mad.lo.u32 %g, %b, %c, %t; mul.wide.u32 %o, %g, 4; add.u64 %a, %a, %o;\n"
	"cvta.to.global.u64 %a, %a; ld.global.u32 %x, [%a]; mad.lo.u32 %g, %g, 2, 1;\n"
	"L: setp.eq.u32 %p, %n, 0; @%p bra E; mad.lo.u32 %x, %m, %x, %g;\n"
	"sub.u32 %n, %n, 1; bra L; E: st.global.u32 [%a], %x; ret; }\n";

#define FUNCTIONS(X)                                                          \
	X(cuInit, unsigned int)                                               \
	X(cuDevicePrimaryCtxRetain, void **, int)                             \
	X(cuCtxSetCurrent, void *)                                            \
	X(cuModuleLoadData, void **, const void *)                            \
	X(cuModuleGetFunction, void **, void *, const char *)                 \
	X(cuMemAlloc_v2, uint64_t *, size_t)                                  \
	X(cuMemsetD32_v2, uint64_t, unsigned int, size_t)                     \
	X(cuMemcpyDtoH_v2, void *, uint64_t, size_t)                          \
	X(cuStreamSynchronize, void *)                                        \
	X(cuLaunchKernel, void *, unsigned int, unsigned int, unsigned int,   \
	  unsigned int, unsigned int, unsigned int, unsigned int, void *,     \
	  void **, void **)
#define DECLARE(name, ...) static int (*name)(__VA_ARGS__);
#define LOAD(name, ...) *(void **)&name = symbol(#name);
FUNCTIONS(DECLARE)
#define CALL(name, ...) check(name(__VA_ARGS__), #name)

static void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "hint: %s: error %d\n", what, error);
	exit(1);
}

static void *symbol(const char *name)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	void *fn = cuda ? dlsym(cuda, name) : NULL;

	check(!fn, name);
	return fn;
}

int main(void)
{
	uint32_t mul = 1664525, iters = 10000, x;
	struct gp_handle *gp;
	void *ctx, *module, *kernel;
	uint64_t buf, in = 0;
	void *args[] = { &buf, &in, &mul, &iters };

	FUNCTIONS(LOAD)
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &ctx, 0);
	CALL(cuCtxSetCurrent, ctx);
	CALL(cuModuleLoadData, &module, ptx);
	CALL(cuModuleGetFunction, &kernel, module, "gp_work");
	CALL(cuMemAlloc_v2, &buf, 256 * sizeof(x));
	CALL(cuMemsetD32_v2, buf, 1, 256);
	check(gp_open(NULL, &gp), "gp_open"); /* the current context, class lc */

	for (int i = 0; i < 10; i++) {
		gp_hint(gp, 300000); /* work comes in 300 us .. */
		/* .. here a server reads its request and prepares data .. */
		gp_segment_begin(gp); /* .. and here it is */
		CALL(cuLaunchKernel, kernel, 1, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
		CALL(cuStreamSynchronize, NULL);
		gp_segment_end(gp);
	}
	CALL(cuMemcpyDtoH_v2, &x, buf, sizeof(x));
	printf("hint: 10 requests, gpreempt %s, first word %08x\n", gp_version(), x);
	gp_close(gp);
	return 0;
}
