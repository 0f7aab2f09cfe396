/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - exports of libcuda.so.1 for the libcupti.so.13 beside it, which observes calls of
 * the driver API. Numbers of calls are their places in FACE_API, from 1 on.
 */
#ifndef GP_SOFT_CALLS_H
#define GP_SOFT_CALLS_H

#include <stdbool.h>

#include "softgpu/cuda/cupti_abi.h"

#pragma GCC visibility push(default)

/** Call @fn on entry and exit of each observed call. 0; -EBUSY: there is a watcher. */
int gp_soft_calls_watch(cupti_callback_fn fn, void *user);
/** End observation; callbacks under way in other threads may still come. */
void gp_soft_calls_unwatch(void);
/** Is call @id observed from now on? -EINVAL: no such call, or no watcher. */
int gp_soft_calls_see(uint32_t id, bool on);
/** Its exported name; NULL: no such call. */
const char *gp_soft_calls_name(uint32_t id);

#pragma GCC visibility pop

#endif
