/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_PRELOAD_H
#define GP_PRELOAD_H

#include <stdbool.h>

#include "gpreempt/hal.h"

/** watch.c: the hooks of the engine. */
const char *gp_watch_sync(void);
/** The same, and make unknown contexts with work known. */
int gp_watch_launches(void);
void *gp_watch_context(const struct gp_device_id *dev);

/** Watch from the first call on, and hold for unannounced work. */
void gp_watch_auto_hold(void);
/** A channel group is there: warn if no call came through us by now. */
void gp_watch_check_auto_hold(void);

#endif
