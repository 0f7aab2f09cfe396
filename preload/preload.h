/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_PRELOAD_H
#define GP_PRELOAD_H

#include <stdbool.h>

#include "gpreempt/hal.h"

/** inject.c: track groups from now on; once per process. False: inert. */
bool gp_preload_start(void);
/** Another tool came with the app: leave the profiling interface to it. */
bool gp_preload_has_tool(void);

/** callbacks.c: the hooks of the engine. */
const char *gp_callbacks_watch(void);
/** The same, and make unknown contexts with work known. */
int gp_callbacks_watch_launches(void);
/** Watch from now on, and hold for unannounced work. */
void gp_callbacks_auto_hold(void);
void *gp_callbacks_context(const struct gp_device_id *dev);

#endif
