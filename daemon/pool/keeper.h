/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h - the keeper of an MPS pool (POOLS.md). It starts and watches NVIDIA's control daemon of
 * MPS for one class of one user. It ends with the last process that uses it.
 */
#ifndef GP_DAEMON_POOL_KEEPER_H
#define GP_DAEMON_POOL_KEEPER_H

#include "runtime/class.h"

/**
 * gp_pool_keep() - keep the pool for class @cls of this user, until nobody uses it.
 * @program: this program's path
 * Return: 0, also if another keeper has it; negative errno, which is logged.
 */
int gp_pool_keep(const struct gp_class_value *cls, const char *program);

#endif
