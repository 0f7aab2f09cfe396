// SPDX-License-Identifier: Apache-2.0
/*
 * request_kind.c - see request_kind.h.
 *
 * Two lengths are known of each request: of its launches, and of the wait that follows. A dense
 * request spends its time in the wait. If one of long launches and a short wait had the device
 * from its first launch on, its kernels may fit the time of the launches or fill it. So the next
 * one piles up on trial. Then the wait shows how long its kernels take.
 *
 * From then on the kind needs the device so long before the wait that the pile is done by then. If
 * each request has as many calls, as those of a network have, it needs the device from one of them
 * on: their time may vary with the CPU. Otherwise time decides, if it is steady.
 *
 * That lead grows with each wait that is too long, by a quarter at most, and falls slowly. A kind
 * whose pile takes half as long as its launches gains little, and is dense again for a while.
 *
 * Small requests between sparse ones pile up, too: each change of BE's slice would cost more.
 */
#include "sched/request_kind.h"

#include <string.h>

#define US 1000ull
#define MS 1000000ull

#define LAUNCHES_NS MS	   /* shorter ones gain less than a preemption costs */
#define WAIT_NS (250 * US) /* more: a preemption takes longer (H200) */
#define FITS_TO_PILE 6u	   /* of 8 */
#define FITS_TO_STAY 5u	   /* likewise */
#define RHYTHM 4u	   /* requests until the time of the wait is predicted */
#define STEADY 5u	   /* of 8 */
#define OVERRUN 2u	   /* times the usual launches: it may not wait at all */
#define REST 64u	   /* requests; doubles .. */
#define REST_SHIFT_MAX 6u  /* .. up to 4,096 */
#define CALM 64u	   /* requests, after which setbacks no longer count */
#define LATELY_NS (10000 * MS)

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static unsigned int ones(uint8_t bits)
{
	return (unsigned int)__builtin_popcount(bits);
}

static struct gp_request_kind *find(struct gp_requests *r, uint64_t key)
{
	struct gp_request_kind *oldest = &r->kind[0];

	for (uint32_t i = 0; i < GP_REQUEST_KINDS; i++) {
		struct gp_request_kind *k = &r->kind[i];

		if (k->used && k->key == key)
			return k;
		if (k->used < oldest->used)
			oldest = k;
	}
	*oldest = (struct gp_request_kind){ .key = key };
	return oldest;
}

/* Nearly as many calls each time. */
static bool is_steady(const struct gp_request_kind *k)
{
	return ones(k->steady) >= STEADY;
}

static bool has_rhythm(const struct gp_request_kind *k)
{
	return k->samples >= RHYTHM && k->off_ns <= k->launch_ns / 4;
}

/* When a piled request needs the device. */
static uint64_t needs_ns(const struct gp_request_kind *k, uint64_t now_ns)
{
	const uint64_t early_ns = k->lead_ns + 2 * k->off_ns;

	if (is_steady(k) || !has_rhythm(k))
		return now_ns + OVERRUN * k->launch_ns;
	return now_ns + (early_ns < k->launch_ns ? k->launch_ns - early_ns : 1);
}

/* The last calls take the lead's part of the time. */
static uint32_t needs_call(const struct gp_request_kind *k)
{
	const uint64_t last = k->launch_ns ? k->calls * k->lead_ns / k->launch_ns : 0;

	if (!k->lead_ns || !is_steady(k))
		return 0;
	return last < k->calls ? k->calls - (uint32_t)last : 1;
}

uint64_t gp_request_begin(struct gp_requests *r, uint64_t key, uint64_t now_ns, bool pile)
{
	struct gp_request_kind *k = find(r, key);

	k->used = ++r->count;
	r->now = k;
	r->first_ns = now_ns;
	r->wait_ns = 0;
	r->piled = pile && (k->piles || (k->is_small && gp_requests_sparse(r, now_ns)));
	if (k->piles)
		r->piled_ns = now_ns;
	r->needs_ns = r->piled ? needs_ns(k, now_ns) : 0;
	r->needs_call = r->piled ? needs_call(k) : 0;
	return r->needs_ns;
}

void gp_request_needs(struct gp_requests *r, uint64_t now_ns)
{
	if (now_ns < r->needs_ns)
		r->needs_ns = now_ns;
}

static void learn_calls(struct gp_request_kind *k, uint32_t calls)
{
	const bool near = distance(calls, k->calls) <= k->calls / 16;

	/* One of another number, as a prompt among tokens, changes nothing. */
	if (near || !(k->steady & 1))
		k->calls = calls;
	k->steady = (uint8_t)(k->steady << 1 | near);
}

void gp_request_wait(struct gp_requests *r, uint64_t now_ns, uint32_t calls)
{
	if (!r->now || r->wait_ns)
		return;
	r->wait_ns = now_ns;
	learn_calls(r->now, calls);
}

static void learn_launches(struct gp_request_kind *k, uint64_t ns)
{
	if (!k->samples) {
		k->launch_ns = ns;
		k->off_ns = ns / 2;
	} else {
		k->off_ns += distance(ns, k->launch_ns) / 8 - k->off_ns / 8;
		k->launch_ns += ns / 8 - k->launch_ns / 8;
	}
	if (k->samples < RHYTHM)
		k->samples++;
}

static void start_piling(struct gp_request_kind *k)
{
	k->piles = true;
	k->lead_ns = 0;
	k->calm = 0;
	k->fits = UINT8_MAX;
}

static void stop_piling(struct gp_request_kind *k)
{
	k->piles = false;
	k->fits = 0;
	k->rest = REST << (k->setbacks < REST_SHIFT_MAX ? k->setbacks : REST_SHIFT_MAX);
	k->setbacks++;
}

/* It had the device as it launched. */
static void judge_dense(struct gp_request_kind *k, uint64_t launch_ns, uint64_t wait_ns)
{
	const bool fits = launch_ns >= LAUNCHES_NS && wait_ns <= launch_ns / 4;

	k->tail_ns = k->tail_ns ? k->tail_ns - k->tail_ns / 8 + wait_ns / 8 : wait_ns;
	k->is_small = launch_ns < LAUNCHES_NS && wait_ns < LAUNCHES_NS;
	k->fits = (uint8_t)(k->fits << 1 | fits);
	if (k->piles)
		k->piles = ones(k->fits) >= FITS_TO_STAY; /* it was not allowed to */
	else if (k->rest)
		k->rest--;
	else if (fits && ones(k->fits) >= FITS_TO_PILE)
		start_piling(k);
}

/* @early: it had the device before the wait, by prediction. */
static void learn_lead(struct gp_request_kind *k, uint64_t wait_ns, bool early)
{
	/* No lead shortens the end of the last kernels, or a copy. */
	const uint64_t late_ns = wait_ns > k->tail_ns ? wait_ns - k->tail_ns : 0;

	if (!k->lead_ns || !early)
		k->lead_ns = late_ns; /* as long as the whole pile takes */
	else if (late_ns > WAIT_NS)
		k->lead_ns += least((late_ns - WAIT_NS) / 2, k->lead_ns / 4 + WAIT_NS);
	else
		k->lead_ns -= k->lead_ns / 64;
	if (k->lead_ns > k->launch_ns)
		k->lead_ns = k->launch_ns;
}

static void judge_piled(struct gp_request_kind *k, uint64_t launch_ns, uint64_t wait_ns, bool early)
{
	const uint64_t half_ns = k->launch_ns / 2;
	const bool trial = !k->lead_ns, long_wait = wait_ns > launch_ns;
	bool fits;

	learn_lead(k, wait_ns, early);
	fits = launch_ns >= LAUNCHES_NS / 2 && wait_ns <= launch_ns / 2 && k->lead_ns <= half_ns;
	k->fits = (uint8_t)(k->fits << 1 | fits);
	/* A pile as long as the launches is hardly chance. */
	if (long_wait)
		k->fits <<= 1;
	if ((trial && long_wait) || ones(k->fits) < FITS_TO_STAY)
		stop_piling(k);
	k->calm = fits ? k->calm + 1 : 0;
	if (k->calm >= CALM)
		k->setbacks = 0;
}

void gp_request_end(struct gp_requests *r, uint64_t now_ns, uint32_t calls)
{
	struct gp_request_kind *k = r->now;
	uint64_t launch_ns;
	bool early;

	if (!k)
		return;
	gp_request_wait(r, now_ns, calls);
	r->now = NULL;
	launch_ns = r->wait_ns - r->first_ns;
	early = r->needs_ns < r->wait_ns;
	learn_launches(k, launch_ns);
	if (r->piled && !k->piles)
		k->is_small = launch_ns < LAUNCHES_NS && now_ns - r->wait_ns < 4 * LAUNCHES_NS;
	else if (r->piled)
		judge_piled(k, launch_ns, now_ns - r->wait_ns, early);
	else
		judge_dense(k, launch_ns, now_ns - r->wait_ns);
}

void gp_request_void(struct gp_requests *r)
{
	r->now = NULL;
}

bool gp_requests_sparse(const struct gp_requests *r, uint64_t now_ns)
{
	return r->piled_ns && now_ns - r->piled_ns < LATELY_NS;
}
