/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy.h - work of ours that nobody announces, on devices where its launches
 * cannot be seen but its queues can be looked at (GP_CAP_BUSY): while the device
 * is held for us the thread looks, and tells the core BUSY and IDLE. So a hint's
 * hold lasts until the work that it spoke of is done. All of it is the thread's.
 */
#ifndef GP_CLIENT_BUSY_H
#define GP_CLIENT_BUSY_H

#include "client/engine.h"

#define GP_BUSY_LOOK_NS 100000u

/** Is @dev to be looked at every GP_BUSY_LOOK_NS? */
bool gp_busy_watches(const struct gp_edev *dev);
void gp_busy_serve(struct gp_edev *dev);

#endif
