/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_abi.h - the hold kernel as its launcher and its executor see it: one
 * thread that keeps the device until a word says so or its time is over.
 *
 * A hold is two launches of it in one stream: the first runs, and the second,
 * queued behind it, keeps the channel's front end waiting with a method
 * pending, without which the group would give up the device at once.
 *
 *   gp_hold(u64 word, u64 stamp, u64 limit_ns, u32 ticket, u32 index)
 *
 * word: device address of a u32 that only grows. stamp: device address of a
 * struct gp_nv_hold_stamp. index: 0 for the first launch, 1 for the second.
 * Times are %globaltimer's (the software GPU: its clock).
 *
 *   now = time
 *   if index == 0: stamp->start_ns = now; from = now
 *   else:          from = stamp->start_ns	(so both end limit_ns after the
 *						 first's first instruction)
 *   how = 0
 *   loop: w = *word; now = time
 *	if (s32)(w - ticket) >= 0: how |= RELEASED, leave
 *	if now - from >= limit_ns: how |= LIMIT, leave
 *	how = WAITED
 *   stamp->end[index]: end_ns = now, how = how; then, after a fence to the
 *   whole system, ticket = ticket
 */
#ifndef GP_NV_HOLD_ABI_H
#define GP_NV_HOLD_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define GP_NV_HOLD_KERNEL "gp_hold"

/* The five parameters, in order; the block as cuLaunchKernel takes it. */
struct gp_nv_hold_params {
	uint64_t word;
	uint64_t stamp;
	uint64_t limit_ns;
	uint32_t ticket;
	uint32_t index;
};
_Static_assert(sizeof(struct gp_nv_hold_params) == 32, "parameter block");

#define GP_NV_HOLD_RELEASED 1u	/* the word had reached the ticket */
#define GP_NV_HOLD_LIMIT 2u	/* the time was over */
#define GP_NV_HOLD_WAITED 4u	/* had polled in vain before */

struct gp_nv_hold_end {
	uint64_t end_ns;
	uint32_t how;
	uint32_t ticket;	/* written last: this end is valid */
};

struct gp_nv_hold_stamp {
	uint64_t start_ns;	/* the first launch's first instruction */
	uint64_t pad;
	struct gp_nv_hold_end end[2];
	uint64_t pad2[2];
};
_Static_assert(sizeof(struct gp_nv_hold_stamp) == 64, "one cache line");
_Static_assert(offsetof(struct gp_nv_hold_stamp, end) == 16, "ends");

extern const char gp_nv_hold_ptx[];

#endif
