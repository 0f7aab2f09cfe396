// SPDX-License-Identifier: Apache-2.0
/*
 * be_activity.c - has a best-effort tenant work? A tenant without work must not keep its turn from
 * the others. There are two sources:
 *
 * - The log: a tenant that has not had the device 5 ms after it could is idle. Once it has the
 *   device, the log shows nothing: a device that no other tenant wants remains its own.
 * - Its page, if its preload observes launches and waits. During its turn the daemon reads the
 *   page every ms, less often if it had work all through its last turns. "No work" counts half
 *   a ms later.
 *
 * A tenant that is idle by its page is suspended, and reports when it begins again. After a
 * while it runs with a slice of some length, like one that is idle by the log. If it has
 * unreported work, that runs then, and its page is not trusted any more.
 */
#include <stddef.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/tenant.h"
#include "daemon/loop/times.h"

#define TURN_NS 5000000u
#define LOOK_NS 1000000u
#define LOOK_SHIFT_MAX 3u      /* .. up to 8 ms */
#define IDLE_NS 500000u	       /* with the interval of reads, as long as a rotation */
#define OFF_NS 100000000u      /* it is suspended for this long */
#define LOG_LATE_NS 100000000u /* its records are at most this old */

static bool is_believed(const struct gp_dtenant *t)
{
	return gp_dtenant_is_be(t) && gp_dtenant_provides_work(t) && !t->page_wrong;
}

bool gp_dtenant_will_report(const struct gp_dtenant *t, uint64_t now_ns)
{
	return is_believed(t) && t->idle_since_ns && now_ns - t->idle_since_ns < OFF_NS;
}

/* Tenants with turns must report when they have no work, where slices preempt. */
uint32_t gp_dtenant_be_wakes(const struct gp_dtenant *t)
{
	const uint32_t needs = GP_CAP_SLICE_PREEMPTS | GP_CAP_SUSPEND;
	uint32_t others = 0;

	if (!gp_dtenant_is_be(t) || (t->dev->caps.caps & needs) != needs)
		return 0;
	for (const struct gp_dtenant *u = t->dev->tenants; u; u = u->next)
		others += u != t && gp_dtenant_is_be(u);
	if (!others)
		return 0;
	/* It was seen without work: request wakes before that counts. */
	return GP_PAGE_ASKS_WORK | (t->idle_since_ns ? GP_PAGE_WAKE_NOW : 0u);
}

/* ---- the log ------------------------------------------------------------------ */

/* It ran since, although it reported no work. */
static bool is_wrong(const struct gp_dtenant *t)
{
	return t->idle_since_ns && t->log_seen_ns > t->idle_since_ns + LOG_LATE_NS;
}

static void was_on(struct gp_dtenant *t, uint64_t starts, uint64_t now_ns)
{
	t->on_since_ns = 0; /* it had the device, so it has work */
	/* That it still runs proves nothing: no other tenant wanted the device. */
	if (is_believed(t) && starts != t->starts && is_wrong(t))
		t->page_wrong = true;
	t->starts = starts;
	if (t->reported == GP_REPORTED_IDLE && (!is_believed(t) || !t->idle_since_ns))
		gp_dtenant_report(t, GP_REPORTED_BUSY, now_ns);
}

/* Long after all its other groups were suspended it still had the device. */
static bool ran_aside(const struct gp_dtenant *t, const struct gp_usage_process *p)
{
	const uint64_t on_ns = p->on ? t->dev->usage.until_ns : p->ended_ns;
	const uint64_t off_ns = t->off_since_ns + (uint64_t)t->dev->clocks.ahead_ns;

	return t->off_since_ns && !t->away.away && on_ns > off_ns + LOG_LATE_NS;
}

static void look_at_log(struct gp_dtenant *t, uint64_t now_ns)
{
	const struct gp_usage_process *p = gp_usage_of(&t->dev->usage, t->who.pid);

	if (!p || !t->dev->log)
		return;
	if (ran_aside(t, p))
		gp_away_movers_ran(t);
	if (p->on || p->starts != t->starts) {
		was_on(t, p->starts, now_ns);
	} else if (t->on_since_ns && now_ns - t->on_since_ns >= TURN_NS) {
		t->on_since_ns = 0;
		gp_dtenant_report(t, GP_REPORTED_IDLE, now_ns);
	}
	t->log_seen_ns = t->dev->log_read_ns;
}

/* ---- the page ----------------------------------------------------------------- */

static void look_at_page(struct gp_dtenant *t, uint64_t now_ns)
{
	/* In this order: the next read sees work that begins in between. */
	const uint64_t work_seq = gp_dtenant_work_seq(t);
	const bool works = gp_dtenant_reports_work(t), began = work_seq != t->idle_work_seq;

	t->idle_work_seq = work_seq;
	if (began && t->on_since_ns)
		t->on_since_ns = now_ns;
	if (works) {
		t->idle_since_ns = 0;
		if (began && t->reported == GP_REPORTED_IDLE)
			gp_dtenant_report(t, GP_REPORTED_BUSY, now_ns);
	} else if (!t->idle_since_ns || began) {
		t->idle_since_ns = now_ns;
	} else if (now_ns - t->idle_since_ns >= IDLE_NS) {
		t->look_shift = 0;
		gp_dtenant_report(t, GP_REPORTED_IDLE, now_ns);
	}
}

void gp_dtenant_observe_be(struct gp_dtenant *t, uint64_t now_ns)
{
	if (gp_frozen_is_off(&t->frozen)) {
		t->on_since_ns = t->idle_since_ns = 0;
		gp_dtenant_report(t, GP_REPORTED_IDLE, now_ns);
		return;
	}
	/* Its mover's copies are reported nowhere, so there is nothing to look for. */
	if (gp_away_takes_turns(t)) {
		t->on_since_ns = t->idle_since_ns = 0;
		gp_dtenant_report(t, GP_REPORTED_BUSY, now_ns);
		return;
	}
	/* In this order: reported work may be in the log already. */
	if (is_believed(t))
		look_at_page(t, now_ns);
	look_at_log(t, now_ns);
	if (is_believed(t))
		return;
	t->idle_since_ns = 0;
	/* It reported before, but no longer: it may have work by now. */
	if (t->reported == GP_REPORTED_IDLE)
		gp_dtenant_report(t, GP_REPORTED_IDLE, now_ns);
}

/* A tenant that always has work is checked less often. */
void gp_dtenant_had_turn(struct gp_dtenant *t)
{
	if (t->reported != GP_REPORTED_IDLE && t->look_shift < LOOK_SHIFT_MAX)
		t->look_shift++;
}

static bool others_want(const struct gp_dtenant *t)
{
	for (const struct gp_dtenant *u = t->dev->tenants; u; u = u->next)
		if (u != t && gp_dtenant_is_be(u) && u->reported != GP_REPORTED_IDLE)
			return true;
	return false;
}

static uint64_t log_look_ns(const struct gp_dtenant *t)
{
	return t->dev->log && t->on_since_ns ? t->on_since_ns + TURN_NS : 0;
}

static uint64_t page_look_ns(const struct gp_dtenant *t, uint64_t now_ns)
{
	if (!is_believed(t))
		return 0;
	if (t->reported == GP_REPORTED_IDLE)
		return gp_dtenant_will_report(t, now_ns) ? t->idle_since_ns + OFF_NS : 0;
	if (t->idle_since_ns)
		return t->idle_since_ns + IDLE_NS;
	return t->turn_since_ns && others_want(t) ? now_ns + (LOOK_NS << t->look_shift) : 0;
}

uint64_t gp_dtenant_be_look_ns(const struct gp_dtenant *t, uint64_t now_ns)
{
	return gp_sooner(log_look_ns(t), page_look_ns(t, now_ns));
}

bool gp_dtenant_be_needs_log(const struct gp_dtenant *t, uint64_t now_ns)
{
	return log_look_ns(t) && log_look_ns(t) <= now_ns;
}
