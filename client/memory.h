/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - memory that leaves the device with a best-effort process. The layer of driver calls
 * moves it (preload/memory.h); this is its part between processes.
 */
#ifndef GP_CLIENT_MEMORY_H
#define GP_CLIENT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "gpreempt/hal.h"
#include "wire/wire.h"

struct gp_client_device;

/* Of one process on one device. */
struct gp_memory_stat {
	struct gp_wire_memory_figures figures;
	bool ready; /* the mover can move */
	bool moving;
	bool takes_turns; /* with others of that kind, under gpreemptd */
	bool by_itself;	  /* it leaves when the process is idle, of any class, and on no request */
};

enum gp_memory_stop {
	GP_MEMORY_RUN,
	GP_MEMORY_MOVE, /* all groups stop but the mover's */
	GP_MEMORY_OUT,	/* these have nothing to do either */
};

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/**
 * @need bytes are missing on the device @uuid: ask gpreemptd for room, and all tenants of this
 * user without one. Returns whether any may still give room: it moves, or has memory that can
 * leave. Waits a second at most for each answer, and while any moves, a minute at most. @turns: of
 * those that take turns with this process, which only gpreemptd knows.
 */
bool gp_memory_ask(const uint8_t uuid[16], uint64_t need, bool turns);
/**
 * Suspend this process's groups on the device @uuid, those that appear later too, or resume them.
 * Where gpreemptd decides turns, it does that, and this waits for it. 0; -ENODEV: it has none
 * there; -EPERM: gpreemptd asked for no memory; another errno, and the groups are as before.
 */
int gp_memory_stop(const uint8_t uuid[16], enum gp_memory_stop what);
/**
 * Memory comes back for a call that waits: idle memory of others leaves later meanwhile. An open
 * file whose close ends that, or negative errno.
 */
int gp_memory_link_take(const uint8_t uuid[16]);
/** Does any process have that? */
bool gp_memory_link_is_taken(const uint8_t uuid[16]);
/** From now on until @on is false, nothing runs that gp_memory_stop() would have to stop. */
void gp_memory_idle(bool on);
/**
 * This process's place among those that have one limit of memory by gpreemptd. @file: the page
 * (wire/quota.h), the caller's. 0; -ENOENT: there is no daemon; -EPERM ..: it refused; other errno.
 */
int gp_memory_quota(int *file, uint32_t *place);
/** gp_engine_hooks.memory has other figures of the device @uuid now. */
void gp_memory_changed(const uint8_t uuid[16]);

#pragma GCC visibility pop

/**
 * Figures of @dev, which is of class @be now or is not: only best-effort memory can leave. @need:
 * let so many bytes leave, beyond those that have; 0: these stay away for a while; NULL: nothing.
 */
void gp_memory_read(struct gp_client_device *dev, bool be, const uint64_t *need,
		    struct gp_memory_stat *stat);
/** Answer a request. 0; -EINVAL; -ENODEV: this process does not use that device. */
int gp_memory_serve(const struct gp_wire_memory *msg, union gp_wire_msg *reply);

#endif
