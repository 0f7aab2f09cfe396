/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discover.h - discovers processes that use a device and never asked. It uses the kernel's process
 * events (proc connector) if this process may receive them, and a scan of /proc besides or
 * instead. A process with a driver's files open and no groups yet is checked every 50 ms for
 * some time, then every 2 s. Others are not.
 */
#ifndef GP_DAEMON_DISCOVER_H
#define GP_DAEMON_DISCOVER_H

#include <sys/types.h>

#include "daemon/loop/loop.h"
#include "gpreempt/hal.h"

struct gp_discovery;

/**
 * struct gp_discover_ops - called in the loop.
 * @skip: is @pid not to be checked (it is a tenant already, or the daemon)?
 * @found: @pid has @list's groups on @dev now, compute ones among them. Returns true: the
 *	list is the callee's; false: check again later
 * @groups: as struct gp_hal_ops, called in the discovery thread. NULL: @dev's own
 */
struct gp_discover_ops {
	bool (*skip)(void *arg, struct gp_device *dev, pid_t pid);
	bool (*found)(void *arg, struct gp_device *dev, pid_t pid, struct gp_group_list *list);
	int (*groups)(void *arg, struct gp_device *dev, pid_t pid, struct gp_group_list *list);
};

/** @dev: @n devices, borrowed. @hurry: 1; n: all periods are an n-th. 0 or negative errno. */
int gp_discover_create(struct gp_loop *loop, struct gp_device *const *dev, size_t n,
		       const struct gp_discover_ops *ops, void *arg, unsigned int hurry,
		       struct gp_discovery **find);
/** NULL is legal. */
void gp_discover_destroy(struct gp_discovery *find);
/** It ends soon, and calls found() no more. Does not wait for a driver. */
void gp_discover_stop(struct gp_discovery *find);
/** Check all processes now (the rules changed). */
void gp_discover_all(struct gp_discovery *find);
/** "events and scan", "scan": the method; static. */
const char *gp_discover_how(const struct gp_discovery *find);

#endif
