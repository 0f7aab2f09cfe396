/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.h - the lock behind gp_slot_try() and gp_slot_wait(), for callers that pass its file to
 * another process.
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

#endif
