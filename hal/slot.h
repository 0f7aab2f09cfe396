/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.h - the lock behind gp_slot_try() and gp_slot_wait(), for callers that pass its file to
 * another process, and that of the link to the host.
 */
#ifndef GP_HAL_SLOT_H
#define GP_HAL_SLOT_H

#include <stdbool.h>

#include "gpreempt/hal.h"

/**
 * gp_slot_lock() - take the lock at @place; its file remains the caller's.
 * Return: 0; -EBUSY: another process has it, and not @wait; other negative errno.
 */
int gp_slot_lock(const struct gp_slot_place *place, bool wait);

/** gp_slot_is_awaited() - is any process in gp_slot_wait()? */
bool gp_slot_is_awaited(struct gp_device *dev);

/**
 * gp_link_take() - memory comes back over the device's link to the host, and a call waits for it.
 * Several processes may have that at once. It orders nothing by itself: a process that has
 * time asks gp_link_is_taken().
 * @link_fd: receives an open file; closing it ends that
 * Return: 0; -EAGAIN: another process keeps all others from it; an errno of gp_hal_ops.slot.
 */
int gp_link_take(struct gp_device *dev, int *link_fd);

/** gp_link_is_taken() - for memory of any process, of any user; also of one that lies. */
bool gp_link_is_taken(struct gp_device *dev);

#endif
