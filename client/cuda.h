/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the library's few own calls of a loaded CUDA driver. */
#ifndef GP_CLIENT_CUDA_H
#define GP_CLIENT_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/** The context current in this thread, or NULL. */
void *gp_cuda_current(void);
/** UUID of the device of @context. 0; -ENXIO not a context; -ENOSYS. */
int gp_cuda_context_uuid(void *context, uint8_t uuid[16]);
/** The primary context of the device with @uuid if it is in use, or NULL. */
void *gp_cuda_primary(const uint8_t uuid[16]);

#pragma GCC visibility pop

#endif
