// SPDX-License-Identifier: Apache-2.0
/*
 * prepreempt.c - when a hold starts: the switch must be over when the work
 * comes. An earlier start costs best-effort time.
 *
 *   start = announced time + bias - switch estimate - timer lateness - margin
 *
 * Two predictions are judged. (1) The time from the hint to its work, bias
 * included. (2) The length of a switch: only one that is longer than estimated
 * is a miss. A shorter one (the device was idle) is nothing that a margin could
 * correct.
 *
 * The switch is the longer of two estimates. The first rises by half of the excess of a longer
 * switch, and falls by 1/128 at a shorter one. The second is the second longest of the last 128.
 * The margin grows by half at a miss. A hit takes away an eighth of what is above its minimum,
 * 32 switches without a miss half of it.
 */
#include "sched/internal.h"

#define SWITCH_MAX_NS (10 * GP_NS_PER_MS)
#define MARGIN_MIN_NS (40 * GP_NS_PER_US)
#define MARGIN_FIRST_NS (50 * GP_NS_PER_US)
#define MARGIN_MAX_NS GP_NS_PER_MS
#define MARGIN_STEP_NS (10 * GP_NS_PER_US)
#define TIMER_LATE_MAX_NS (500 * GP_NS_PER_US)
#define TIMER_LATE_MORE_NS (100 * GP_NS_PER_US)
#define BIAS_MAX_NS ((int64_t)(5 * GP_NS_PER_MS))

/*
 * A miss is counted against the lead, within bounds. A percentage of a very short lead would
 * be noise, that of a very long one more than a hold can bridge.
 */
#define SCALE_MAX_NS GP_NS_PER_MS

#define MISS_PCT 20
#define HIT_PCT 5
#define CALM 32u /* switches */

/* Was it a miss? */
static bool margin_judge(struct gp_prepreempt *p, uint64_t error_ns, uint64_t scale_ns)
{
	const bool missed = error_ns > scale_ns * MISS_PCT / 100;

	if (missed) {
		p->margin_ns += gp_max_u64(p->margin_ns / 2, MARGIN_STEP_NS);
		p->margin_ns = gp_min_u64(p->margin_ns, MARGIN_MAX_NS);
	} else if (error_ns <= scale_ns * HIT_PCT / 100) {
		p->margin_ns -= (p->margin_ns - MARGIN_MIN_NS) / 8;
	}
	return missed;
}

/* a - b, limited to the range of a bias. */
static int64_t diff_clamped(uint64_t a, uint64_t b)
{
	uint64_t d = a > b ? a - b : b - a;
	int64_t c = d > (uint64_t)BIAS_MAX_NS ? BIAS_MAX_NS : (int64_t)d;

	return a > b ? c : -c;
}

static uint64_t abs_ns(int64_t v)
{
	return v < 0 ? (uint64_t)-v : (uint64_t)v;
}

/*
 * Early work moves the start in full. Late work does so only as far as it is reliably late: a
 * later start risks the latency of the next request.
 */
static int64_t bias_used(const struct gp_prepreempt *p)
{
	int64_t sure;

	if (p->bias_ns <= 0)
		return p->bias_ns;
	sure = p->bias_ns - 2 * (int64_t)p->deviation_ns;
	return sure > 0 ? sure : 0;
}

void gp_prepreempt_init(struct gp_prepreempt *p, uint64_t switch_ns)
{
	*p = (struct gp_prepreempt){
		.switch_ns = gp_min_u64(switch_ns, SWITCH_MAX_NS),
		.level_ns = gp_min_u64(switch_ns, SWITCH_MAX_NS),
		.margin_ns = MARGIN_FIRST_NS,
	};
}

uint64_t gp_prepreempt_expected(const struct gp_prepreempt *p, uint64_t work_ns)
{
	int64_t bias = bias_used(p);

	if (bias >= 0)
		return gp_add_sat(work_ns, (uint64_t)bias);
	return work_ns > abs_ns(bias) ? work_ns - abs_ns(bias) : 0;
}

uint64_t gp_prepreempt_lead(const struct gp_prepreempt *p)
{
	return p->switch_ns + p->timer_late_ns + p->margin_ns;
}

uint64_t gp_prepreempt_start(const struct gp_prepreempt *p, uint64_t now_ns, uint64_t work_ns)
{
	uint64_t lead = gp_prepreempt_lead(p);
	uint64_t work = gp_prepreempt_expected(p, work_ns);

	return work > lead ? gp_max_u64(now_ns, work - lead) : now_ns;
}

/*
 * A sleeping CPU takes 50 to 200 us to wake, above all that of a virtual machine. The estimate
 * rises at once and falls slowly: the lead has to cover late wake-ups, and an early hold costs
 * best-effort little. A single wake-up that is much later counts only in part.
 */
static void late_judge(uint64_t *estimate, uint64_t late_ns)
{
	late_ns = gp_min_u64(late_ns, TIMER_LATE_MAX_NS);
	late_ns = gp_min_u64(late_ns, *estimate + TIMER_LATE_MORE_NS);
	if (late_ns > *estimate)
		*estimate += (late_ns - *estimate + 1) / 2;
	else
		*estimate -= (*estimate - late_ns) / 64;
}

void gp_prepreempt_timer(struct gp_prepreempt *p, uint64_t late_ns)
{
	late_judge(&p->timer_late_ns, late_ns);
}

void gp_prepreempt_cold(struct gp_prepreempt *p, uint64_t late_ns)
{
	late_judge(&p->cold_late_ns, late_ns);
}

/*
 * Up by half the difference, down by a 128th. Short switches into an idle device, even seven
 * of eight, must not make the estimate too short for a real one. One outlier counts as four
 * times the estimate at most.
 */
static void level_judge(struct gp_prepreempt *p, uint64_t took_ns)
{
	uint64_t level = p->level_ns;

	if (took_ns > level) {
		took_ns = gp_min_u64(took_ns, 4 * gp_max_u64(level, MARGIN_MIN_NS));
		p->level_ns = level + (took_ns - level + 1) / 2;
	} else {
		p->level_ns = level - (level - took_ns) / 128;
	}
}

/*
 * The second longest: one switch in fifty meets another control under way and takes three
 * times as long (H200). The level has forgotten the last such one by then.
 */
static uint64_t second_longest(struct gp_prepreempt *p, uint64_t took_ns)
{
	uint64_t longest = 0, second = 0;

	p->recent_ns[p->samples % GP_PREPREEMPT_RECENT] = (uint32_t)took_ns;
	for (uint32_t i = 0; i < GP_PREPREEMPT_RECENT; i++) {
		const uint64_t ns = p->recent_ns[i];

		second = gp_max_u64(second, gp_min_u64(ns, longest));
		longest = gp_max_u64(longest, ns);
	}
	return second;
}

/*
 * The estimate is one of the longest switches, which few hit within 5 %. A long run without a
 * miss counts as a hit.
 */
static void calm_judge(struct gp_prepreempt *p, bool missed)
{
	p->calm = missed ? 0 : p->calm + 1;
	if (p->calm < CALM)
		return;
	p->margin_ns -= (p->margin_ns - MARGIN_MIN_NS) / 2;
	p->calm = 0;
}

void gp_prepreempt_switch(struct gp_prepreempt *p, uint64_t took_ns)
{
	uint64_t est = p->switch_ns;
	uint64_t took = gp_min_u64(took_ns, SWITCH_MAX_NS);
	uint64_t second = second_longest(p, took);
	bool missed = false;

	if (!p->samples || took_ns < p->switch_min_ns)
		p->switch_min_ns = took_ns;
	if (took_ns > p->switch_max_ns)
		p->switch_max_ns = took_ns;
	if (p->samples < UINT32_MAX)
		p->samples++;

	if (took > est)
		missed = margin_judge(p, took - est, est);
	else if ((est - took) * 100 <= est * HIT_PCT)
		margin_judge(p, est - took, est);
	calm_judge(p, missed);
	level_judge(p, took);
	p->switch_ns = gp_max_u64(p->level_ns, second);
}

/* The full time is unknown, so the waited time stands for it. */
void gp_prepreempt_missed(struct gp_prepreempt *p, uint64_t waited_ns)
{
	if (waited_ns > p->switch_ns)
		gp_prepreempt_switch(p, waited_ns);
}

void gp_prepreempt_work(struct gp_prepreempt *p, uint64_t said_ns, uint64_t lead_ns,
			uint64_t came_ns)
{
	uint64_t expected = gp_prepreempt_expected(p, said_ns);
	uint64_t miss = expected > came_ns ? expected - came_ns : came_ns - expected;
	uint64_t scale = gp_min_u64(gp_max_u64(lead_ns, p->switch_ns), SCALE_MAX_NS);
	int64_t late = diff_clamped(came_ns, said_ns);
	uint64_t off;

	margin_judge(p, miss, scale);
	p->bias_ns += (late - p->bias_ns) / 8;
	off = abs_ns(late - p->bias_ns);
	p->deviation_ns = (p->deviation_ns * 7 + off) / 8;
}
