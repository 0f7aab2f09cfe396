/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.h - processes that use a device and never asked: seen by the kernel's process
 * events (proc connector) where this process may hear them, and by a scan of /proc
 * besides or instead. Who has the driver's files open and no groups yet is looked
 * at again every 50 ms for some time, then every 2 s; nobody else is.
 */
#ifndef GP_DAEMON_FIND_H
#define GP_DAEMON_FIND_H

#include <sys/types.h>

#include "daemon/loop.h"
#include "gpreempt/hal.h"

struct gp_find;

/**
 * struct gp_find_ops - called in the loop.
 * @skip: is @pid none of ours to look at (it is a tenant already, or the daemon)?
 * @found: @pid has @list's groups on @dev now, compute ones among them. The list
 *	is the callee's from then on if it returns true; false: look again later
 */
struct gp_find_ops {
	bool (*skip)(void *arg, struct gp_device *dev, pid_t pid);
	bool (*found)(void *arg, struct gp_device *dev, pid_t pid, struct gp_group_list *list);
};

/** @dev: @n devices, borrowed. 0 or negative errno. */
int gp_find_create(struct gp_loop *loop, struct gp_device *const *dev, size_t n,
		   const struct gp_find_ops *ops, void *arg, struct gp_find **find);
/** NULL is legal. */
void gp_find_destroy(struct gp_find *find);
/** Look at all processes now (rules have changed). */
void gp_find_all(struct gp_find *find);
/** "events and scan", "scan": how it finds; static. */
const char *gp_find_how(const struct gp_find *find);

#endif
