// SPDX-License-Identifier: Apache-2.0
/*
 * anticipate.c - see anticipate.h.
 *
 * A hold that begins after a wait costs as much as the launch after it would: the device has left
 * by then. It gains when further short pauses follow, and the hold goes on beside the work between
 * them. So the latest pauses show which time would have gained most. Requests at random moments
 * have pauses of all lengths, and nothing is gained.
 *
 * A hold beside long work may slow it: one block of a kernel that fills the device runs after all
 * others. A graph of small kernels has room for it. So both are measured now and then.
 */
#include "sched/anticipate.h"

/* A hold's kernel takes one block's place; a new hold takes 6 us of CPU (H200). */
#define LONG_NS 100000u
#define TRIAL 4u   /* works that show which is faster. The first waits for the device */
#define AGAIN 256u /* works after which the other is measured again */
#define GAIN 64u   /* a hold beside work has to save this part of it */
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

/* One that something else made slow counts as twice as long. */
static uint64_t mean(uint64_t old_ns, uint64_t new_ns)
{
	if (!old_ns)
		return new_ns;
	if (new_ns > 2 * old_ns)
		new_ns = 2 * old_ns;
	return old_ns + new_ns / 4 - old_ns / 4;
}

static bool is_faster_beside(const struct gp_anticipation *a)
{
	return a->mean_ns[1] + a->mean_ns[1] / GAIN <= a->mean_ns[0];
}

static void change(struct gp_anticipation *a)
{
	a->beside = !a->beside;
	a->works = 0;
}

static void measure(struct gp_anticipation *a, uint64_t work_ns)
{
	if (!a->soon || a->held != a->beside || !a->works++)
		return;
	a->mean_ns[a->beside] = mean(a->mean_ns[a->beside], work_ns);
	if (a->works < TRIAL)
		return;
	if (a->works == AGAIN)
		a->mean_ns[!a->beside] = 0;
	if (!a->mean_ns[!a->beside] || is_faster_beside(a) != a->beside)
		change(a);
}

uint64_t gp_anticipate_busy(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns)
{
	const uint64_t kept_until_ns = a->idle_ns + a->kept_ns;
	const uint64_t until_ns = now_ns + 2 * a->work_ns;

	a->busy_ns = now_ns;
	a->soon = a->idle_ns && now_ns - a->idle_ns < keep_ns;
	a->held = a->kept_ns && now_ns < kept_until_ns;
	if (a->idle_ns)
		a->pauses = a->pauses << 4 | length_of(now_ns - a->idle_ns, keep_ns);
	if (!a->held || gp_anticipate_ends(a, keep_ns))
		return 0;
	return until_ns > kept_until_ns ? until_ns - now_ns : 0;
}

uint64_t gp_anticipate_idle(struct gp_anticipation *a, uint64_t now_ns, uint64_t keep_ns, bool may)
{
	int best = 0, most = 0;

	if (a->busy_ns) {
		a->work_ns += (now_ns - a->busy_ns) / 4 - a->work_ns / 4;
		measure(a, now_ns - a->busy_ns);
	}
	a->busy_ns = 0;
	a->idle_ns = now_ns;
	for (int steps = 1; may && steps < STEPS; steps++) {
		const int gains = gain(a, steps, !gp_anticipate_ends(a, keep_ns));

		if (gains > most) {
			most = gains;
			best = steps + 1; /* the next pause may be a little longer */
		}
	}
	a->kept_ns = keep_ns * (unsigned int)best / STEPS;
	return a->kept_ns;
}

bool gp_anticipate_ends(const struct gp_anticipation *a, uint64_t keep_ns)
{
	/* Where the device was not kept, switches lengthen it as much. */
	return !a->beside && a->work_ns > LONG_NS + keep_ns;
}
