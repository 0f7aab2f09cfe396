// SPDX-License-Identifier: Apache-2.0
/*
 * anticipate.c - see anticipate.h.
 *
 * A hold that begins after a wait costs as much as the launch after it would: the device has left
 * by then. It gains when further short pauses follow, and no work between them is so long that the
 * hold ends. So the latest pauses show which time would have gained most. Requests at random
 * moments have pauses of all lengths, and nothing is gained.
 */
#include "sched/anticipate.h"

/* A hold's kernel takes one block's place; a new hold takes 6 us of CPU (H200). */
#define LONG_NS 100000u
#define PAUSES 16u
#define STEPS 8	   /* keep_ns is so many; a pause's length is in steps, rounded up */
#define LONGER 15u /* the length of longer ones; 0: there was none yet */

static unsigned int length_of(uint64_t pause_ns, uint64_t keep_ns)
{
	return pause_ns < keep_ns ? (unsigned int)(pause_ns * STEPS / keep_ns) + 1 : LONGER;
}

/* In steps: what keeping for @steps, and one more, would have gained in all latest pauses. */
static int gain(const struct gp_anticipation *a, int steps, bool goes_on)
{
	bool held = false;
	int sum = 0;

	for (unsigned int i = PAUSES; i-- > 0;) {
		const int length = (int)(a->pauses >> 4 * i & 15);

		if (!length)
			continue;
		sum += held ? STEPS : 0;
		sum -= length <= steps ? length : STEPS + steps + 1;
		held = length <= steps && goes_on;
	}
	return sum;
}

void gp_anticipate_busy(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns)
{
	a->busy_ns = now_ns;
	if (a->idle_ns)
		a->pauses = a->pauses << 4 | length_of(now_ns - a->idle_ns, keep_ns);
}

uint64_t gp_anticipate_idle(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns)
{
	int best = 0, most = 0;

	if (a->busy_ns)
		a->work_ns += (now_ns - a->busy_ns) / 4 - a->work_ns / 4;
	a->busy_ns = 0;
	a->idle_ns = now_ns;
	for (int steps = 1; steps < STEPS; steps++) {
		const int gains = gain(a, steps, !gp_anticipate_long(a, keep_ns));

		if (gains > most) {
			most = gains;
			best = steps + 1; /* the next pause may be a little longer */
		}
	}
	return keep_ns * (unsigned int)best / STEPS;
}

bool gp_anticipate_long(const struct gp_anticipation *a, uint64_t keep_ns)
{
	/* Where the device was not kept, switches lengthen it as much. */
	return a->work_ns > LONG_NS + keep_ns;
}
