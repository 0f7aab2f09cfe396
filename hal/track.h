/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.h - what a tracker tells: a part of a backend that knows this process's
 * own groups from the driver calls that go by.
 */
#ifndef GP_HAL_TRACK_H
#define GP_HAL_TRACK_H

#include "gpreempt/hal.h"

/**
 * struct gp_track_ops - called on the application's thread, right after the
 * driver call that made it so, without a lock of the tracker's held; HAL ops on
 * the group are allowed inside.
 * @group_ready: NVIDIA: libcuda has set the slice of a compute group, its last
 *	step; AMD: a compute queue was created
 * @group_gone: the group is being freed; last use of the pointer
 */
struct gp_track_ops {
	void (*group_ready)(void *arg, struct gp_group *group);
	void (*group_gone)(void *arg, struct gp_group *group);
};

#endif
