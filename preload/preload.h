/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_PRELOAD_H
#define GP_PRELOAD_H

#include <stdbool.h>

#include "gpreempt/hal.h"

/** inject.c: track groups from now on; once per process. False: inert. */
bool gp_preload_start(void);
/** Somebody's tool came with the app: leave the profiling interface to it. */
bool gp_preload_has_tool(void);

/** callbacks.c: the hooks of the engine. */
const char *gp_callbacks_watch(void);
/** The same, and contexts that work and are not known are made known. */
int gp_callbacks_watch_launches(void);
/** Watch from now on, and hold for work that nobody announced. */
void gp_callbacks_auto_hold(void);
void *gp_callbacks_context(const struct gp_device_id *dev);

#endif
