/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - what libcuda.so.1 exports to the libcupti.so.13 beside it: calls of
 * the driver API are seen to go by. Numbers of calls are their places in
 * FACE_API, from 1 on.
 */
#ifndef GP_SOFT_CALLS_H
#define GP_SOFT_CALLS_H

#include <stdbool.h>

#include "preload/cupti_abi.h"

#pragma GCC visibility push(default)

/** @fn is called on entry and exit of each call that is seen. 0; -EBUSY: another is. */
int gp_soft_calls_watch(cupti_callback_fn fn, void *user);
/** Nothing is seen from now on; what other threads are in may still come. */
void gp_soft_calls_unwatch(void);
/** Is call @id seen from now on? -EINVAL: there is none, or nobody watches. */
int gp_soft_calls_see(uint32_t id, bool on);
/** Its exported name; NULL: there is none. */
const char *gp_soft_calls_name(uint32_t id);

#pragma GCC visibility pop

#endif
