/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_poll.h - detects work without hints on devices where launches cannot be watched but
 * queues can be polled (GP_CAP_BUSY). While the device is held for us, the library's thread
 * polls, and reports BUSY and IDLE to the core. So a hint's hold lasts until the hinted work is
 * done. The page shows the daemon at any time, some milliseconds late, whether there is work.
 * Only the thread uses all of this.
 */
#ifndef GP_CLIENT_QUEUE_POLL_H
#define GP_CLIENT_QUEUE_POLL_H

#include "client/engine.h"

#define GP_QUEUE_POLL_NS 100000u		 /* while the device is held */
#define GP_QUEUE_POLL_PAGE_NS 5000000u		 /* for the daemon .. */
#define GP_QUEUE_POLL_QUIET_NS 20000000u	 /* .. after a time without work .. */
#define GP_QUEUE_POLL_QUIET_AFTER_NS 1000000000u /* .. of this length */

/** Interval of polling @dev, ns; 0: none. */
uint64_t gp_queue_poll_period_ns(const struct gp_client_device *dev);
void gp_queue_poll_serve(struct gp_client_device *dev);

#endif
