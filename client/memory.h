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

/* Of one process on one device. */
struct gp_memory_stat {
	uint64_t movable; /* bytes on the device that can leave */
	uint64_t out;	  /* bytes that left */
	uint64_t moves;	  /* times that memory left */
	bool moving;
};

/* Exported to the preload: see the PRIVATE node of libgpreempt.map. */
#pragma GCC visibility push(default)

/**
 * Ask all tenants of this user on the device @uuid to let their memory leave. Returns whether any
 * may still give room: it moves, or has memory that can leave. Waits a second at most for each
 * answer.
 */
bool gp_memory_ask(const uint8_t uuid[16]);
/**
 * Suspend this process's groups on the device @uuid, those that appear later too, or resume them.
 * 0; -ENODEV: it has none there; -EBUSY: gpreemptd decides its turns, and would resume them;
 * another errno of the backend, and the groups are as before.
 */
int gp_memory_stop(const uint8_t uuid[16], bool stop);

#pragma GCC visibility pop

/** Answer a request. 0; -EINVAL; -ENODEV: this process does not use that device. */
int gp_memory_serve(const struct gp_wire_memory *msg, union gp_wire_msg *reply);

#endif
