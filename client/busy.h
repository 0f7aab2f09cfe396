/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy.h - work of ours that nobody announces, on devices where its launches
 * cannot be seen but its queues can be looked at (GP_CAP_BUSY): while the device
 * is held for us the thread looks, and tells the core BUSY and IDLE. So a hint's
 * hold lasts until the work that it spoke of is done. A daemon is told of it at any
 * time, some milliseconds late: its page says whether there is work. All of it is the
 * thread's.
 */
#ifndef GP_CLIENT_BUSY_H
#define GP_CLIENT_BUSY_H

#include "client/engine.h"

#define GP_BUSY_LOOK_NS 100000u		   /* while the device is held */
#define GP_BUSY_PAGE_NS 5000000u	   /* for the daemon .. */
#define GP_BUSY_QUIET_NS 20000000u	   /* .. while there has been no work for .. */
#define GP_BUSY_QUIET_AFTER_NS 1000000000u /* .. so long */

/** So often is @dev to be looked at, ns; 0: it is not. */
uint64_t gp_busy_period_ns(const struct gp_edev *dev);
void gp_busy_serve(struct gp_edev *dev);

#endif
