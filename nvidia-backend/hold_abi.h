/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_abi.h - the hold kernel's interface to its launcher and its executor: one thread that
 * keeps the device until a word ends it or its time is over.
 *
 * A hold is one launch of it, and a write of a word (cuStreamWriteValue32) queued behind it in
 * the same stream. The write keeps the channel's front end waiting with a pending method.
 * Without one the group would give up the device at once.
 *
 *   gp_hold(u64 word, u64 stamp, u64 limit_ns, u32 ticket)
 *
 * word: device address of a u32 that only grows. stamp: device address of a struct
 * gp_nv_hold_stamp. Times are %globaltimer's (the software GPU: its clock).
 *
 * The kernel::
 *
 *   from = time
 *   stamp->start_ns = from
 *   how = 0
 *   loop: w = *word; now = time
 *        if (s32)(w - ticket) >= 0: how |= RELEASED, leave
 *        if now - from >= limit_ns: how |= LIMIT, leave
 *        how = WAITED, sleep 1 us (a switch waits for reads of host memory under way)
 *   stamp->end_ns = now, how = how; then, after a fence to the whole system,
 *        ticket = ticket
 */
#ifndef GP_NV_HOLD_ABI_H
#define GP_NV_HOLD_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define GP_NV_HOLD_KERNEL "gp_hold"

/* The four parameters, in order; the block as cuLaunchKernel takes it. */
struct gp_nv_hold_params {
	uint64_t word;
	uint64_t stamp;
	uint64_t limit_ns;
	uint32_t ticket;
};
#define GP_NV_HOLD_PARAMS_BYTES 28u /* of the block; C rounds the size up */
_Static_assert(offsetof(struct gp_nv_hold_params, ticket) + sizeof(uint32_t) ==
		       GP_NV_HOLD_PARAMS_BYTES,
	       "parameter block");

#define GP_NV_HOLD_RELEASED 1u /* the word had reached the ticket */
#define GP_NV_HOLD_LIMIT 2u    /* the time was over */
#define GP_NV_HOLD_WAITED 4u   /* it polled without success before */

struct gp_nv_hold_stamp {
	uint64_t start_ns; /* the first instruction */
	uint64_t end_ns;
	uint32_t how;
	uint32_t ticket; /* written last: the end is valid */
	uint64_t pad[5];
};
_Static_assert(sizeof(struct gp_nv_hold_stamp) == 64, "one cache line");
_Static_assert(offsetof(struct gp_nv_hold_stamp, ticket) == 20, "its end");

extern const char gp_nv_hold_ptx[];

#endif
