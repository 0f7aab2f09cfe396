/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - the few driver-API calls that holds need, by dlsym: nothing here
 * needs a CUDA toolkit or links libcuda. Prototypes after cuda.h of CUDA 12.
 */
#ifndef GP_NV_CUDA_H
#define GP_NV_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define GP_CU_OK 0
#define GP_CU_ERROR_OUT_OF_MEMORY 2
#define GP_CU_ERROR_NOT_INITIALIZED 3
#define GP_CU_ERROR_DEINITIALIZED 4
#define GP_CU_ERROR_INVALID_CONTEXT 201
#define GP_CU_ERROR_INVALID_HANDLE 400
#define GP_CU_ERROR_CONTEXT_IS_DESTROYED 709
#define GP_CU_STREAM_NON_BLOCKING 1u
#define GP_CU_HOST_PORTABLE_DEVICEMAP 3u
#define GP_CU_CAPTURE_MODE_RELAXED 2

struct gp_nv_cuda {
	int (*ctx_get_current)(void **ctx);
	int (*ctx_push)(void *ctx);
	int (*ctx_pop)(void **ctx);
	int (*ctx_get_device)(int *device);
	int (*ctx_priorities)(int *least, int *greatest);
	int (*device_uuid)(uint8_t uuid[16], int device);
	int (*host_alloc)(void **host, size_t bytes, unsigned int flags);
	int (*host_device_pointer)(uint64_t *at, void *host, unsigned int flags);
	int (*host_free)(void *host);
	int (*mem_alloc)(uint64_t *at, size_t bytes);
	int (*mem_free)(uint64_t at);
	int (*memset_u32)(uint64_t at, uint32_t value, size_t n);
	int (*module_load)(void **module, const void *image);
	int (*module_unload)(void *module);
	int (*module_function)(void **function, void *module, const char *name);
	int (*stream_create)(void **stream, unsigned int flags, int priority);
	int (*stream_destroy)(void *stream);
	int (*stream_synchronize)(void *stream);
	int (*stream_write32)(void *stream, uint64_t at, uint32_t value, unsigned int flags);
	int (*launch)(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
		      unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared_bytes,
		      void *stream, void **params, void **extra);
	int (*exchange_capture_mode)(int *mode); /* may be NULL */
};

/* Fill @cu from @library. -EOPNOTSUPP: it lacks something. */
int gp_nv_cuda_load(void *library, struct gp_nv_cuda *cu);
int gp_nv_cuda_errno(int result);

#endif
