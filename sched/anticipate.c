// SPDX-License-Identifier: Apache-2.0
/*
 * anticipate.c - see anticipate.h.
 *
 * As in ski rental: the device is kept idle at most as long as the switches take that this saves.
 * So it costs at most twice the best choice, and only while half of the latest pauses were shorter.
 */
#include "sched/anticipate.h"

/* A hold's kernel takes one block's place; a new hold takes 6 us of CPU (H200). */
#define LONG_NS 100000u
#define SOON_OF_8 4

static unsigned int ones(uint8_t bits)
{
	return (unsigned int)__builtin_popcount(bits);
}

void gp_anticipate_busy(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns)
{
	a->busy_ns = now_ns;
	if (a->idle_ns)
		a->soon = (uint8_t)(a->soon << 1 | (now_ns - a->idle_ns <= keep_ns));
}

uint64_t gp_anticipate_idle(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns)
{
	if (a->busy_ns)
		a->work_ns += (now_ns - a->busy_ns) / 4 - a->work_ns / 4;
	a->busy_ns = 0;
	a->idle_ns = now_ns;
	return ones(a->soon) >= SOON_OF_8 ? keep_ns : 0;
}

bool gp_anticipate_long(const struct gp_anticipation *a, uint64_t keep_ns)
{
	/* Where the device was not kept, switches lengthen it as much. */
	return a->work_ns > LONG_NS + keep_ns;
}
