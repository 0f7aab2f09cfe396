// SPDX-License-Identifier: Apache-2.0
/*
 * procaddr.c - names of the driver API: by number, and by cuGetProcAddress, where a name
 * without a version means the latest.
 */
#include <stdio.h>
#include <string.h>

#include "softgpu/cuda/calls.h"
#include "softgpu/cuda/face.h"

static const struct {
	const char *name;
	void *fn;
} symbols[] = {
#define X(n, name, ...) { #name, (void *)(uintptr_t)own_##name },
	FACE_API(X)
#undef X
};

#define SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))

const char *gp_soft_calls_name(uint32_t id)
{
	return id && id <= SYMBOLS ? symbols[id - 1].name : NULL;
}

static void *find(const char *name)
{
	for (size_t i = 0; i < SYMBOLS; i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].fn;
	return NULL;
}

void *face_symbol(const char *name)
{
	char versioned[128];
	void *fn = NULL;

	/* cuCtxCreate_v4 takes other parameters, so only its full name finds it. */
	snprintf(versioned, sizeof(versioned), "%s_v2", name);
	fn = find(versioned);
	return fn ? fn : find(name);
}

static void log_once(const char *name)
{
	static char seen[64][48];
	static unsigned int count;

	pthread_mutex_lock(&face_lock);
	for (unsigned int i = 0; i < count; i++) {
		if (strncmp(seen[i], name, sizeof(seen[i]) - 1))
			continue;
		pthread_mutex_unlock(&face_lock);
		return;
	}
	if (count < sizeof(seen) / sizeof(seen[0]))
		snprintf(seen[count++], sizeof(seen[0]), "%s", name);
	pthread_mutex_unlock(&face_lock);
	face_log("%s: not supported", name);
}

CUresult do_cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags,
				int *status)
{
	if (!name || !fn)
		return CUDA_ERROR_INVALID_VALUE;
	*fn = face_symbol(name);
	if (status)
		*status = *fn ? 0 : 1; /* 1: symbol not found */
	if (*fn)
		return CUDA_SUCCESS;
	log_once(name);
	return CUDA_ERROR_NOT_FOUND;
}

CUresult do_cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
	return do_cuGetProcAddress_v2(name, fn, version, flags, NULL);
}
