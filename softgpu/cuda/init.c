// SPDX-License-Identifier: Apache-2.0
/* init.c - cuInit, injection, errors, behaviour after a fork. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "softgpu/cuda/face.h"

#define DRIVER_VERSION 13000

enum {
	NEW,
	READY,
	FORKED
};

pthread_mutex_t face_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int state = NEW;
static int injected; /* init_lock */

void face_log(const char *format, ...)
{
	const char *level = getenv("GPREEMPT_LOG");
	va_list args;

	if (!level || !*level)
		return;
	va_start(args, format);
	fputs("softgpu: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

/* A child cannot use its parent's objects; the driver refuses that too. */
static void fork_child(void)
{
	pthread_mutex_init(&init_lock, NULL);
	pthread_mutex_init(&face_lock, NULL);
	if (state == READY)
		state = FORKED;
}

CUresult face_check(void)
{
	return state == READY ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult face_error(int err)
{
	switch (err) {
	case 0:
		return CUDA_SUCCESS;
	case -EAGAIN:
		return CUDA_ERROR_NOT_READY;
	case -EFAULT:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case -EINVAL:
	case -EEXIST:
		return CUDA_ERROR_INVALID_VALUE;
	case -ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case -ENODEV:
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	case -ENOENT:
		return CUDA_ERROR_NOT_FOUND;
	case -EOPNOTSUPP:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_UNKNOWN;
	}
}

/* The driver loads a tool here, and continues if the tool fails. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*start)(void);
	void *lib;

	if (!path || !*path)
		return;
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		face_log("injection: %s", dlerror());
		return;
	}
	*(void **)&start = dlsym(lib, "InitializeInjection");
	if (!start || start() != 1)
		face_log("injection: %s: InitializeInjection failed", path);
}

CUresult do_cuInit(unsigned int flags)
{
	static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
	bool first = false;
	uint32_t gpus = 0;
	int err = 0;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (state == FORKED)
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_once(&fork_once, face_fork_setup);
	pthread_mutex_lock(&init_lock);
	first = state == NEW && !injected++;
	pthread_mutex_unlock(&init_lock);
	/*
	 * Before the first object is made, as in NVIDIA's library. Outside the lock, because
	 * the injected tool may call cuInit itself.
	 */
	if (first)
		inject();
	pthread_mutex_lock(&init_lock);
	if (state == NEW) {
		err = face_rm_init(&gpus);
		if (!err && face_devices_init(gpus))
			err = -ENODEV;
		if (!err)
			state = READY;
	}
	pthread_mutex_unlock(&init_lock);
	if (err)
		face_log("no software GPU: error %d", err);
	return err ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

void face_fork_setup(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

CUresult do_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = DRIVER_VERSION;
	return CUDA_SUCCESS;
}

static const struct {
	CUresult error;
	const char *name, *text;
} errors[] = {
#define E(name, text)             \
	{                         \
		name, #name, text \
	}
	E(CUDA_SUCCESS, "no error"),
	E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	E(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
	E(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed"),
	E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	E(CUDA_ERROR_ILLEGAL_STATE, "illegal state"),
	E(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	E(CUDA_ERROR_NOT_READY, "device not ready"),
	E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
	E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "primary context is active"),
	E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
	E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	  "operation not permitted when stream is capturing"),
	E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
	  "operation failed due to a previous error during capture"),
	E(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef E
};

static CUresult error_text(CUresult error, const char **out, bool name)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].error != error)
			continue;
		*out = name ? errors[i].name : errors[i].text;
		return CUDA_SUCCESS;
	}
	*out = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGetErrorName(CUresult error, const char **name)
{
	return error_text(error, name, true);
}

CUresult do_cuGetErrorString(CUresult error, const char **text)
{
	return error_text(error, text, false);
}
