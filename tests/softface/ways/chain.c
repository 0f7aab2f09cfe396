// SPDX-License-Identifier: Apache-2.0
/*
 * chain.c - another LD_PRELOAD library, as tools for CUDA are. Its dlsym() gives out its own
 * cuMemAlloc_v2(). It exports that name, too, and finds the real ones behind it. Its getpid()
 * finds the next by dlsym(RTLD_NEXT), which calls itself if the return address is lost. At the
 * end it prints the number of calls, and the object that answered to cuGetProcAddress_v2.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void *(*dlsym_fn)(void *handle, const char *name);
typedef int (*alloc_fn)(uint64_t *at, size_t bytes);

static alloc_fn real_alloc;
static unsigned int allocations;
static char getter[64] = "-";

int cuMemAlloc_v2(uint64_t *at, size_t bytes);

static dlsym_fn real_dlsym(void)
{
	static dlsym_fn real;

	if (!real)
		real = (dlsym_fn)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	return real;
}

int cuMemAlloc_v2(uint64_t *at, size_t bytes)
{
	if (!real_alloc)
		real_alloc = (alloc_fn)real_dlsym()(RTLD_NEXT, "cuMemAlloc_v2");
	allocations++;
	return real_alloc(at, bytes);
}

static void note_getter(const void *found)
{
	Dl_info in;

	if (dladdr(found, &in))
		snprintf(getter, sizeof(getter), "%s", strrchr(in.dli_fname, '/') + 1);
}

void *dlsym(void *handle, const char *name)
{
	void *found = real_dlsym()(handle, name);

	if (found && !strcmp(name, "cuGetProcAddress_v2"))
		note_getter(found);
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !found ||
	    strcmp(name, "cuMemAlloc_v2") || found == (void *)cuMemAlloc_v2)
		return found;
	real_alloc = (alloc_fn)found;
	return (void *)cuMemAlloc_v2;
}

pid_t getpid(void)
{
	static pid_t (*real)(void);

	/* By libc's dlsym(), or by gpreempt's if that is in front. */
	if (!real)
		*(void **)&real = real_dlsym()(RTLD_NEXT, "getpid");
	return real();
}

__attribute__((destructor)) static void end(void)
{
	const int right = getpid() == (pid_t)syscall(SYS_getpid);

	fprintf(stderr, "chain: allocations=%u right=%d getter=%s\n", allocations, right, getter);
}
