// SPDX-License-Identifier: Apache-2.0
#include "client/cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

struct cu_uuid {
	uint8_t bytes[16];
};

/* Names with the suffixes of the CUDA 12 ABI's exported symbols. */
static struct {
	int (*ctx_get_current)(void **ctx);
	int (*ctx_push)(void *ctx);
	int (*ctx_pop)(void **ctx);
	int (*ctx_get_device)(int *dev);
	int (*device_get_count)(int *count);
	int (*device_get_uuid)(struct cu_uuid *uuid, int dev);
	int (*primary_get_state)(int dev, unsigned int *flags, int *active);
	int (*primary_retain)(void **ctx, int dev);
	int (*primary_release)(int dev);
} cu;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *lib;

static void *symbol(const char *name, const char *older)
{
	void *fn = dlsym(lib, name);

	return fn || !older ? fn : dlsym(lib, older);
}

/* Only a loaded library: a program without CUDA gets none. */
static int load(void)
{
	pthread_mutex_lock(&lock);
	if (!lib) {
		lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
		if (lib) {
			*(void **)&cu.ctx_get_current = symbol("cuCtxGetCurrent", NULL);
			*(void **)&cu.ctx_push = symbol("cuCtxPushCurrent_v2", NULL);
			*(void **)&cu.ctx_pop = symbol("cuCtxPopCurrent_v2", NULL);
			*(void **)&cu.ctx_get_device = symbol("cuCtxGetDevice", NULL);
			*(void **)&cu.device_get_count = symbol("cuDeviceGetCount", NULL);
			*(void **)&cu.device_get_uuid =
				symbol("cuDeviceGetUuid_v2", "cuDeviceGetUuid");
			*(void **)&cu.primary_get_state =
				symbol("cuDevicePrimaryCtxGetState", NULL);
			*(void **)&cu.primary_retain = symbol("cuDevicePrimaryCtxRetain", NULL);
			*(void **)&cu.primary_release =
				symbol("cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease");
		}
	}
	pthread_mutex_unlock(&lock);
	return lib ? 0 : -ENOSYS;
}

void *gp_cuda_current(void)
{
	void *ctx = NULL;

	if (load() || !cu.ctx_get_current || cu.ctx_get_current(&ctx))
		return NULL;
	return ctx;
}

int gp_cuda_context_uuid(void *context, uint8_t uuid[16])
{
	struct cu_uuid id;
	void *old;
	int dev, err;

	if (load() || !cu.ctx_push || !cu.ctx_pop || !cu.ctx_get_device || !cu.device_get_uuid)
		return -ENOSYS;
	if (cu.ctx_push(context))
		return -ENXIO;
	err = cu.ctx_get_device(&dev);
	cu.ctx_pop(&old);
	if (err || cu.device_get_uuid(&id, dev))
		return -ENXIO;
	memcpy(uuid, id.bytes, 16);
	return 0;
}

static int device_by_uuid(const uint8_t uuid[16])
{
	struct cu_uuid id;
	int count;

	if (cu.device_get_count(&count))
		return -1;
	for (int i = 0; i < count; i++)
		if (!cu.device_get_uuid(&id, i) && !memcmp(id.bytes, uuid, 16))
			return i;
	return -1;
}

void *gp_cuda_primary(const uint8_t uuid[16])
{
	unsigned int flags;
	void *ctx = NULL;
	int dev, active;

	if (load() || !cu.device_get_count || !cu.device_get_uuid || !cu.primary_get_state ||
	    !cu.primary_retain || !cu.primary_release)
		return NULL;
	dev = device_by_uuid(uuid);
	if (dev < 0 || cu.primary_get_state(dev, &flags, &active) || !active)
		return NULL;
	if (cu.primary_retain(&ctx, dev))
		return NULL;
	/* Only its name was needed; it lives as long as the app keeps it. */
	cu.primary_release(dev);
	return ctx;
}
