/* SPDX-License-Identifier: Apache-2.0 */
/* outside.h - the slices of a process without gpreempt, set once and without a daemon. */
#ifndef GP_RUNTIME_OUTSIDE_H
#define GP_RUNTIME_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "gpreempt/hal.h"

/**
 * gp_outside_set() - set the slices of a process by its class
 * @dev: the device
 * @list: all groups of the process on @dev; borrowed. Others than compute and copy groups are
 *	left alone
 * @cls: the class
 * @has_slot: the process has the slot of @dev. Its first compute group gets the short slice if
 *	@cls is BE; all other compute groups of a BE process get the driver's
 * @mode_err: set if not NULL: 0, or why that group of a BE process cannot be preempted at
 *	any instruction
 *
 * Return: 0, or the error of the first slice that could not be set.
 */
int gp_outside_set(struct gp_device *dev, const struct gp_group_list *list,
		   const struct gp_class_value *cls, bool has_slot, int *mode_err);

#endif
