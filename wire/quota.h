/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.h - device memory of processes that have one limit together: a rule with as: one and
 * memory. The daemon makes a page for each cgroup (a sealed memfd), and all its processes map it.
 * Each has a place, and stores there the bytes that it has on each device. The daemon clears the
 * place when its process ends, at whatever instruction that is.
 *
 * A process that lies harms only the others of its cgroup: the daemon copies a value once, for
 * views alone.
 */
#ifndef GP_WIRE_QUOTA_H
#define GP_WIRE_QUOTA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#define GP_QUOTA_MAGIC 0x47505154u /* "GPQT" */
#define GP_QUOTA_PLACES 512u	   /* processes of one cgroup */

struct gp_quota_page {
	/* Set by the daemon before it sends the page. */
	uint32_t magic, pad;
	uint8_t uuid[GP_WIRE_MAX_DEVICES][16];
	/* Written by the process at the place, and by the daemon after its end. */
	_Alignas(64) _Atomic uint64_t bytes[GP_WIRE_MAX_DEVICES][GP_QUOTA_PLACES];
};

_Static_assert(offsetof(struct gp_quota_page, uuid) == 8, "ABI");
_Static_assert(offsetof(struct gp_quota_page, bytes) == 320, "ABI");
_Static_assert(sizeof(struct gp_quota_page) == 65856, "ABI");

/** Bytes of all places of a device, at most UINT64_MAX. Each is read once. */
static inline uint64_t gp_quota_column_sum(const _Atomic uint64_t column[GP_QUOTA_PLACES])
{
	uint64_t sum = 0, bytes;

	for (size_t i = 0; i < GP_QUOTA_PLACES; i++) {
		bytes = atomic_load(&column[i]);
		sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
	}
	return sum;
}

#endif
