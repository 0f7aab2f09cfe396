/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - callbacks of a tracker: the part of a backend that knows this process's groups
 * from the driver calls it observes.
 */
#ifndef GP_HAL_TRACK_H
#define GP_HAL_TRACK_H

#include "gpreempt/hal.h"

/**
 * struct gp_track_ops - Callbacks of a tracker.
 * @group_ready: NVIDIA: libcuda has set the slice of a compute group, its last step; AMD:
 *	a compute queue was created
 * @missed: a group may never be ready, for example as memory ran out. May be NULL
 * @group_gone: the group is being freed; last use of the pointer
 *
 * Context: the application's thread, right after the driver call, without a lock of the
 * tracker. HAL ops on the group are allowed.
 */
struct gp_track_ops {
	void (*group_ready)(void *arg, struct gp_group *group);
	void (*group_gone)(void *arg, struct gp_group *group);
	void (*missed)(void *arg, int err);
};

#endif
