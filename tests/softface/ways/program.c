// SPDX-License-Identifier: Apache-2.0
/*
 * program.c - uses the driver API as unchanged programs do; test_layer_soft.py builds it in
 * several ways. With LINKED it calls libcuda's exported names; else it looks them up: all at
 * once, or with the argument "late" after cuInit. With LIBRARY it is a library that exports
 * run(), else a program. Prints the results. With a library as its last argument the program
 *
 *	early, late	opens it with RTLD_DEEPBIND, and calls its run() with this argument
 *	after		calls its run() after a cuInit() of its own
 *	busy		opens and closes it in another thread all the time
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CALLS(X)                                    \
	X(cuInit, (unsigned int))                   \
	X(cuDevicePrimaryCtxRetain, (void **, int)) \
	X(cuCtxSetCurrent, (void *))                \
	X(cuMemAlloc_v2, (uint64_t *, size_t))      \
	X(cuCtxSynchronize, (void))                 \
	X(cuMemFree_v2, (uint64_t))

#ifdef LINKED
#define X(name, params) int name params;
#else
#define X(name, params) static int(*name) params;
#endif
CALLS(X)
#undef X

static int find(int late)
{
#ifndef LINKED
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return -1;
	*(void **)&cuInit = dlsym(lib, "cuInit");
	if (late)
		cuInit(0);
#define X(name, params) *(void **)&name = dlsym(lib, #name);
	CALLS(X)
#undef X
#endif
	return 0;
}

int run(int late);

int run(int late)
{
	uint64_t at = 0;
	void *ctx = NULL;

	if (find(late))
		return 1;
	printf("%d", cuInit(0));
	printf(" %d", cuDevicePrimaryCtxRetain(&ctx, 0));
	printf(" %d", cuCtxSetCurrent(ctx));
	printf(" %d", cuMemAlloc_v2(&at, 4096));
	printf(" %d", cuCtxSynchronize());
	printf(" %d", cuMemFree_v2(at));
	printf(" %d\n", cuMemFree_v2(at));
	return 0;
}

#ifndef LIBRARY
static atomic_int opened;

static void *open_and_close(void *path)
{
	for (;;) {
		void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

		if (lib)
			dlclose(lib);
		atomic_fetch_add(&opened, 1);
	}
	return NULL;
}

static int beside_opens(char *path)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, open_and_close, path))
		return 1;
	while (!atomic_load(&opened))
		;
	return run(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "early";
	const int late = !strcmp(how, "late"), after = !strcmp(how, "after");
	int (*deep)(int late) = NULL;
	void *lib;

	if (argc < 3)
		return run(late);
	if (!strcmp(how, "busy"))
		return beside_opens(argv[2]);
	if (after)
		find(1);
	lib = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | (after ? 0 : RTLD_DEEPBIND));
	if (lib)
		*(void **)&deep = dlsym(lib, "run");
	return deep ? deep(late) : 1;
}
#endif
