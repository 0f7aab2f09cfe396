// SPDX-License-Identifier: Apache-2.0
/*
 * tenant.c - state of a process on a device, and the reports of its page.
 */
#include "daemon/device/tenant.h"
#include "daemon/device/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/device/device_internal.h"
#include "daemon/discover/proc.h"
#include "daemon/loop/log.h"

/* An announcement that is late by more than this was wrong. */
#define NEXT_LATE_NS 1000000u
#define LATELY_NS 1000000000u /* it has worked since: it may again, any time */
/* Dense LC that has not come to this daemon yet suffers from piles. It looks every 2 s. */
#define ALL_CAME_IDLES 3u
#define QUIET_NS 2000000u /* off the device for so long: not between two kernels */

struct gp_dtenant *gp_dtenant_of(struct gp_ddev *dev, uint32_t id)
{
	for (struct gp_dtenant *t = dev->tenants; id && t; t = t->next)
		if (t->id == id)
			return t;
	return NULL;
}

struct gp_dtenant *gp_dtenant_of_pid(struct gp_ddev *dev, pid_t pid)
{
	for (struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (t->who.pid == pid)
			return t;
	return NULL;
}

static bool is_lc(const struct gp_dtenant *t)
{
	return t->request.cls.cls == GP_CLASS_LC;
}

/* By the log, when it was read last. */
static bool is_on(const struct gp_dtenant *t)
{
	const struct gp_usage_process *p = gp_usage_of(&t->dev->usage, t->who.pid);

	return p && p->on;
}

static void record(struct gp_dtenant *t, enum gp_wire_histogram kind, uint64_t ns)
{
	gp_hist_add(&t->hist[kind], ns);
	gp_hist_add(&t->dev->hist[kind], ns);
	if (t->account && (kind == GP_WIRE_HIST_WAIT || kind == GP_WIRE_HIST_SWITCH))
		t->account->waited_ns += ns;
	if (t->account && kind == GP_WIRE_HIST_HOLD)
		t->account->held_ns += ns;
}

/* ---- turns ----------------------------------------------------------- */

static void wants_turn(struct gp_dtenant *t, uint64_t now_ns)
{
	if (gp_dtenant_is_be(t) && !t->turn_since_ns && t->reported != GP_REPORTED_IDLE)
		t->wants_since_ns = now_ns;
	else
		t->wants_since_ns = 0;
}

static void turn_begins(struct gp_dtenant *t)
{
	uint64_t now_ns = gp_ddev_now(t->dev);

	if (t->wants_since_ns)
		record(t, GP_WIRE_HIST_WAIT, now_ns - t->wants_since_ns);
	t->wants_since_ns = 0;
	t->turn_since_ns = now_ns;
	t->turns++;
	t->dev->stat.turns++;
	if (t->account)
		t->account->turns++;
}

static void turn_ends(struct gp_dtenant *t)
{
	const bool preempted = t->reported != GP_REPORTED_IDLE;

	t->turn_since_ns = 0;
	t->on_since_ns = 0;
	t->turn_end_ns = gp_ddev_now(t->dev);
	gp_dtenant_had_turn(t);
	t->preempted += preempted;
	if (t->account)
		t->account->preempted += preempted;
	wants_turn(t, gp_ddev_now(t->dev));
}

void gp_dtenant_follow_turns(struct gp_ddev *dev)
{
	uint32_t now = gp_sched_resident(gp_runtime_core(dev->rt));
	struct gp_dtenant *t;

	if (now == dev->resident)
		return;
	t = gp_dtenant_of(dev, dev->resident);
	if (t)
		turn_ends(t);
	dev->resident = now;
	t = gp_dtenant_of(dev, now);
	if (t)
		turn_begins(t);
	gp_usage_turn(&dev->usage, (uint64_t)((int64_t)gp_ddev_now(dev) + dev->clocks.ahead_ns),
		      t ? t->who.pid : 0);
	gp_ddev_trace(dev, GP_WIRE_TRACE_RESIDENT, t ? t->who.pid : 0, 0);
}

/* From now on it has the device if it has work: whether it has is seen by that. */
static void watch_for_work(struct gp_dtenant *t, uint64_t now_ns)
{
	const struct gp_usage_process *p = gp_usage_of(&t->dev->usage, t->who.pid);

	t->starts = p ? p->starts : 0;
	t->on_since_ns = t->turn_since_ns ? now_ns : 0;
}

/*
 * In a window of the BE minimum LC is suspended, and the resident counts as running even
 * without work. So check whether the resident has work while other BE tenants wait.
 */
static void watch_resident(const struct gp_ddev *dev, uint64_t now_ns)
{
	for (struct gp_dtenant *t = dev->tenants; t; t = t->next) {
		const struct gp_usage_process *p = gp_usage_of(&t->dev->usage, t->who.pid);

		if (gp_dtenant_is_be(t) && t->turn_since_ns && !t->on_since_ns && !(p && p->on))
			watch_for_work(t, now_ns);
	}
}

void gp_dtenant_group_off(struct gp_dtenant *t, bool off)
{
	uint64_t now_ns = gp_ddev_now(t->dev);

	if (off) {
		t->off_since_ns = now_ns;
	} else if (t->off_since_ns) {
		t->off_ns += now_ns - t->off_since_ns;
		record(t, GP_WIRE_HIST_SUSPENDED, now_ns - t->off_since_ns);
		t->off_since_ns = 0;
	}
	t->on_since_ns = 0;
	if (!off) {
		t->resumed_ns = now_ns;
		watch_for_work(t, now_ns);
	} else if (is_lc(t)) {
		watch_resident(t->dev, now_ns);
	}
}

static uint32_t activity_bits(const struct gp_dtenant *t)
{
	uint32_t bits = t->page ? atomic_load_explicit(&t->page->activity, memory_order_acquire) :
				  0;

	return bits & (GP_PAGE_SEGMENT | GP_PAGE_HELD | GP_PAGE_WORK);
}

bool gp_dtenant_reports_work(const struct gp_dtenant *t)
{
	return activity_bits(t) != 0;
}

uint64_t gp_dtenant_work_seq(const struct gp_dtenant *t)
{
	return t->page ? atomic_load_explicit(&t->page->work_seq, memory_order_acquire) : 0;
}

/* Why it counts as busy. Without a page it is assumed to have work. */
static uint32_t why_busy(const struct gp_dtenant *t)
{
	uint32_t bits = activity_bits(t);

	return bits ? bits : GP_PAGE_WORK;
}

static bool known_by_log(const struct gp_dtenant *t)
{
	return is_lc(t) && !gp_dtenant_provides_work(t);
}

/*
 * The log shows late that a tenant has no work: by now it may have the device again. A tenant
 * that last had the device long before the log was read has none. If it has begun since, its
 * wake shows that.
 */
static bool may_have_work(const struct gp_dtenant *t, uint64_t now_ns)
{
	const struct gp_usage_process *p = gp_usage_of(&t->dev->usage, t->who.pid);

	if (!known_by_log(t))
		return false;
	/* It was not asked whether it has, for some time. */
	if (t->off_since_ns || now_ns < t->resumed_ns + QUIET_NS)
		return true;
	return !t->dev->log || !p || !p->starts || p->on ||
	       t->dev->usage.until_ns - p->ended_ns < QUIET_NS;
}

/* Not by its page: it was seen to have the device. */
static bool is_guessed(const struct gp_dtenant *t)
{
	return known_by_log(t) && !activity_bits(t);
}

static uint32_t how_idle(const struct gp_dtenant *t, uint64_t now_ns)
{
	if (gp_frozen_is_off(&t->frozen))
		return 0;
	if (may_have_work(t, now_ns))
		return GP_IDLE_UNSURE;
	return gp_dtenant_will_report(t, now_ns) ? GP_IDLE_TELLS : 0;
}

static uint64_t needs_ns(const struct gp_dtenant *t)
{
	return atomic_load_explicit(&t->page->needs_ns, memory_order_acquire);
}

void gp_dtenant_report(struct gp_dtenant *t, enum gp_reported what, uint64_t now_ns)
{
	const uint32_t how = what == GP_REPORTED_IDLE ? how_idle(t, now_ns) : 0;
	const bool same = t->reported == what;
	const bool guessed = what == GP_REPORTED_BUSY && is_guessed(t);
	const uint64_t work_seq = gp_dtenant_work_seq(t);
	/* An idle moment in between is not reported: a turn that waits for it would end. */
	const bool works = what == GP_REPORTED_BUSY || what == GP_REPORTED_PILES;
	const bool anew = works && same && is_lc(t) && work_seq != t->work_seq;
	struct gp_event ev = { .type = GP_EV_BUSY, .tenant = t->id };

	if (same && how == t->reported_how && guessed == t->reported_guessed && !anew)
		return;
	if (what == GP_REPORTED_IDLE)
		ev = (struct gp_event){ .type = GP_EV_IDLE, .tenant = t->id, .idle.how = how };
	else if (what == GP_REPORTED_SOON)
		ev.busy.how = GP_BUSY_SOON;
	else if (what == GP_REPORTED_PILES)
		ev.busy = (typeof(ev.busy)){ GP_BUSY_PILES, needs_ns(t) };
	else
		ev.busy.how = (anew ? GP_BUSY_ANEW : 0u) | (guessed ? GP_BUSY_UNSURE : 0u);
	t->reported = what;
	t->reported_how = how;
	t->reported_guessed = guessed;
	t->work_seq = work_seq;
	wants_turn(t, now_ns);
	if (!same)
		gp_ddev_trace(t->dev, GP_WIRE_TRACE_BUSY, t->who.pid, works ? why_busy(t) : 0);
	gp_runtime_event(t->dev->rt, &ev);
}

void gp_dtenant_report_on(struct gp_dtenant *t)
{
	const struct gp_event ev = { .type = GP_EV_BUSY,
				     .tenant = t->id,
				     .busy = { GP_BUSY_ON, t->dev->log_whole_ns } };

	/* Each time, because it may have been preempted since. */
	if (is_lc(t) && t->reported == GP_REPORTED_BUSY && is_on(t))
		gp_runtime_event(t->dev->rt, &ev);
}

/* ---- its page -------------------------------------------------------- */

bool gp_dtenant_provides_work(const struct gp_dtenant *t)
{
	return t->page && atomic_load_explicit(&t->page->provides, memory_order_relaxed) &
				  GP_PAGE_PROVIDES_WORK;
}

/* Its launches could pile up, and best-effort would gain by that. */
static bool takes_piles(const struct gp_dtenant *t)
{
	const uint32_t needs = GP_CAP_SLICE_PREEMPTS | GP_CAP_SUSPEND | GP_CAP_PREEMPT;

	if (!is_lc(t) || !t->page || (t->dev->caps.caps & needs) != needs ||
	    t->dev->idles < ALL_CAME_IDLES || t->dev->settings.lc_policy->deadlines ||
	    !(atomic_load_explicit(&t->page->provides, memory_order_relaxed) &
	      GP_PAGE_PROVIDES_PILES))
		return false;
	for (const struct gp_dtenant *u = t->dev->tenants; u; u = u->next)
		if (gp_dtenant_is_be(u))
			return true;
	return false;
}

/* Deadlines change the order of all tenants, job lengths the order within a level. */
static bool may_cut(const struct gp_dtenant *t, const struct gp_dtenant *other)
{
	const struct gp_lc_policy *policy = t->dev->settings.lc_policy;
	const uint32_t mine = t->request.cls.value, its = other->request.cls.value;

	return t != other && is_lc(t) && is_lc(other) &&
	       (mine < its || policy->deadlines || (mine == its && policy->lengths));
}

bool gp_dtenant_waits_for_cut(const struct gp_dtenant *t)
{
	if (is_on(t))
		return false;
	for (const struct gp_dtenant *u = t->dev->tenants; u; u = u->next)
		if (may_cut(t, u) && (u->reported == GP_REPORTED_BUSY || known_by_log(u)))
			return true;
	return false;
}

static uint64_t said_next_ns(const struct gp_dtenant *t)
{
	return t->page ? atomic_load_explicit(&t->page->next_ns, memory_order_relaxed) : 0;
}

/* Its work needs no device before a time that is still to come. */
static bool piles_up(const struct gp_dtenant *t, uint64_t now_ns)
{
	return t->page &&
	       atomic_load_explicit(&t->page->activity, memory_order_acquire) ==
		       (GP_PAGE_WORK | GP_PAGE_PILES) &&
	       takes_piles(t) && gp_dtenant_provides_work(t) && needs_ns(t) > now_ns;
}

static enum gp_reported page_activity(const struct gp_dtenant *t, uint64_t now_ns,
				      uint64_t ahead_ns)
{
	uint64_t next_ns;

	if (piles_up(t, now_ns))
		return GP_REPORTED_PILES;
	if (activity_bits(t))
		return GP_REPORTED_BUSY;
	next_ns = said_next_ns(t);
	return next_ns && next_ns < now_ns + ahead_ns &&
			       (next_ns > now_ns || now_ns - next_ns < NEXT_LATE_NS) ?
		       GP_REPORTED_SOON :
		       GP_REPORTED_IDLE;
}

enum gp_reported gp_dtenant_activity(const struct gp_dtenant *t, uint64_t now_ns, uint64_t ahead_ns)
{
	enum gp_reported says;

	if (gp_frozen_is_off(&t->frozen))
		return GP_REPORTED_IDLE;
	says = page_activity(t, now_ns, ahead_ns);
	/* Where it cannot take the device itself, it is taken for it, and in time. */
	if (says == GP_REPORTED_SOON && !(t->dev->caps.caps & GP_CAP_SLICE_PREEMPTS))
		says = GP_REPORTED_BUSY;
	if (says == GP_REPORTED_BUSY || gp_dtenant_provides_work(t))
		return says;
	return is_on(t) ? GP_REPORTED_BUSY : says;
}

bool gp_dtenant_may_be_cut(const struct gp_dtenant *t)
{
	if (!(t->dev->caps.caps & GP_CAP_SLICE_PREEMPTS))
		return false;
	for (const struct gp_dtenant *u = t->dev->tenants; u; u = u->next)
		if (may_cut(u, t))
			return true;
	return false;
}

bool gp_dtenant_must_tell(const struct gp_dtenant *t)
{
	return gp_dtenant_may_be_cut(t) ||
	       (is_lc(t) && gp_sched_leave_ns(gp_runtime_core(t->dev->rt)));
}

uint64_t gp_dtenant_next_look_ns(const struct gp_dtenant *t, uint64_t now_ns, uint64_t ahead_ns)
{
	const uint64_t next_ns = said_next_ns(t);

	if (!next_ns || t->reported == GP_REPORTED_BUSY || next_ns + NEXT_LATE_NS <= now_ns)
		return 0;
	if (t->reported == GP_REPORTED_SOON)
		return next_ns + NEXT_LATE_NS;
	/* From then on page_activity() returns SOON, and not at that time yet. */
	return next_ns > now_ns + ahead_ns ? next_ns - ahead_ns + 1 : now_ns;
}

void gp_dtenant_used(struct gp_dtenant *t, uint64_t ns)
{
	t->used_ns = (t->used_ns == GP_WIRE_UNKNOWN ? 0 : t->used_ns) + ns;
	t->dev->used_ns[t->request.cls.cls] += ns;
	if (t->account)
		t->account->used_ns += ns;
}

/*
 * Number of new entries in a ring of @size, of which *@counted were counted. Overwritten
 * entries, and a number that went back, are skipped.
 */
static uint64_t written(_Atomic uint64_t *number, uint64_t *counted, uint64_t size)
{
	uint64_t have = atomic_load_explicit(number, memory_order_acquire);

	if (have - *counted > size)
		*counted = have - size;
	return have;
}

static void count_holds(struct gp_dtenant *t)
{
	struct gp_page *page = t->page;
	uint64_t have = written(&page->samples, &t->samples, GP_PAGE_SAMPLES);

	for (; t->samples != have; t->samples++) {
		struct gp_page_sample *s = &page->sample[t->samples % GP_PAGE_SAMPLES];
		uint64_t held_ns = atomic_load_explicit(&s->held_ns, memory_order_relaxed);
		uint64_t switch_ns = atomic_load_explicit(&s->switch_ns, memory_order_relaxed);

		record(t, GP_WIRE_HIST_HOLD, held_ns);
		if (switch_ns)
			record(t, GP_WIRE_HIST_SWITCH, switch_ns);
		gp_ddev_trace_at(t->dev, GP_WIRE_TRACE_HOLD, t->who.pid, held_ns,
				 atomic_load_explicit(&s->from_ns, memory_order_relaxed));
	}
}

static void count_segments(struct gp_dtenant *t)
{
	struct gp_page *page = t->page;
	uint64_t have = written(&page->segments_timed, &t->segments_timed, GP_PAGE_SEGMENTS);

	for (; t->segments_timed != have; t->segments_timed++)
		record(t, GP_WIRE_HIST_SEGMENT,
		       atomic_load_explicit(&page->segment_ns[t->segments_timed % GP_PAGE_SEGMENTS],
					    memory_order_relaxed));
}

void gp_dtenant_samples(struct gp_dtenant *t)
{
	if (!t->page)
		return;
	count_holds(t);
	count_segments(t);
}

/* Sums of an account never fall, and a tenant may write any figure. */
static void add_risen(uint64_t *sum, uint64_t now, uint64_t before)
{
	if (now > before)
		*sum += now - before;
}

void gp_dtenant_memory(struct gp_dtenant *t)
{
	const struct gp_wire_memory_figures before = t->memory;
	struct gp_page *p = t->page;

	if (!p)
		return;
	t->memory = (struct gp_wire_memory_figures){
		.movable = atomic_load_explicit(&p->movable, memory_order_relaxed),
		.fixed = atomic_load_explicit(&p->fixed, memory_order_relaxed),
		.out = atomic_load_explicit(&p->out, memory_order_relaxed),
		.moves = atomic_load_explicit(&p->moves, memory_order_relaxed),
		.moved = atomic_load_explicit(&p->moved, memory_order_relaxed),
		.move_ns = atomic_load_explicit(&p->move_ns, memory_order_relaxed),
		.pinned = atomic_load_explicit(&p->pinned, memory_order_relaxed),
		.kept = atomic_load_explicit(&p->kept, memory_order_relaxed),
		.host_max = atomic_load_explicit(&p->host_max, memory_order_relaxed),
	};
	if (!t->account)
		return;
	add_risen(&t->account->moves, t->memory.moves, before.moves);
	add_risen(&t->account->moved, t->memory.moved, before.moved);
	add_risen(&t->account->move_ns, t->memory.move_ns, before.move_ns);
}

/*
 * Never read: the tenant has the same open file. If it cleared O_NONBLOCK, and read the count
 * first, a read here would block. Each write is an edge, whatever the count (fs/eventfd.c,
 * eventfd_write()). At the greatest count the tenant's own writes fail.
 */
static void wake_ready(struct gp_source *source, uint32_t events)
{
	struct gp_dtenant *t = gp_holder(source, struct gp_dtenant, wake);

	if (gp_dtenant_is_be(t))
		gp_ddev_observe_pages(t->dev);
	else
		gp_ddev_woken(t->dev);
}

static void page_destroy(struct gp_dtenant *t)
{
	gp_dtenant_memory(t);
	gp_loop_remove(&t->wake);
	if (t->wake.fd >= 0)
		close(t->wake.fd);
	if (t->page)
		munmap(t->page, GP_PAGE_BYTES);
	if (t->page_fd >= 0)
		close(t->page_fd);
	t->page = NULL;
	t->page_fd = t->wake.fd = -1;
}

/* Sealed: nobody can take away the memory under the other's feet. */
static int page_create(struct gp_dtenant *t)
{
	int err;

	t->page_fd = memfd_create("gpreempt-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (t->page_fd < 0)
		goto err_page;
	if (ftruncate(t->page_fd, GP_PAGE_BYTES) ||
	    fcntl(t->page_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		goto err_page;
	t->page = mmap(NULL, GP_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, t->page_fd, 0);
	if (t->page == MAP_FAILED) {
		t->page = NULL;
		goto err_page;
	}
	t->page->magic = GP_PAGE_MAGIC;
	t->page->version = GP_PAGE_VERSION;
	t->page->bytes = GP_PAGE_BYTES;
	atomic_store(&t->page->epoch, gp_journal_epoch(t->dev->journal));
	t->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->wake.fd < 0)
		goto err_page;
	t->wake.ready = wake_ready;
	t->wake.is_urgent = true;
	err = gp_loop_add(t->dev->loop, &t->wake, EPOLLIN | EPOLLET);
	if (err)
		goto err_add;
	return 0;

err_page:
	err = -errno;
err_add:
	gp_log_shortage(err, "cannot make a tenant's page");
	page_destroy(t);
	return err;
}

/* When it went off the device last, by the core's clock; 0: it never was on. */
static uint64_t went_off_ns(const struct gp_dtenant *t)
{
	const struct gp_usage *usage = &t->dev->usage;
	const struct gp_usage_process *p = gp_usage_of(&t->dev->usage, t->who.pid);

	/* The log's own clock is another one. */
	return p && p->ended_ns ? t->dev->log_read_ns - (usage->until_ns - p->ended_ns) : 0;
}

/*
 * The log shows a past moment. A tenant that had work then may be between two requests now,
 * or in the next one.
 */
static void see_work(struct gp_dtenant *t, uint64_t now_ns)
{
	if (gp_dtenant_activity(t, now_ns, 0) != GP_REPORTED_IDLE)
		t->worked_ns = now_ns;
	else if (went_off_ns(t) > t->worked_ns)
		t->worked_ns = went_off_ns(t);
}

static bool has_nothing_to_cut(const struct gp_dtenant *t, uint64_t now_ns)
{
	if (!known_by_log(t))
		return gp_dtenant_activity(t, now_ns, 0) == GP_REPORTED_IDLE;
	return t->dev->log && (!t->worked_ns || t->worked_ns + LATELY_NS <= now_ns);
}

static uint32_t wakes_of(const struct gp_dtenant *t, uint64_t now_ns)
{
	uint32_t wakes = gp_dtenant_be_wakes(t);

	for (const struct gp_dtenant *u = t->dev->tenants; u; u = u->next) {
		if (may_cut(u, t) || (may_cut(t, u) && !has_nothing_to_cut(u, now_ns)))
			wakes |= GP_PAGE_WAKE_NOW;
		if (may_cut(u, t) || may_cut(t, u))
			wakes |= GP_PAGE_WAKE_LATER;
	}
	if (is_lc(t) && gp_sched_leave_ns(gp_runtime_core(t->dev->rt)))
		wakes |= GP_PAGE_WAKE_NOW | GP_PAGE_WAKE_LATER;
	if (gp_dtenant_must_tell(t))
		wakes |= GP_PAGE_WAKE_NEXT;
	if (takes_piles(t))
		wakes |= GP_PAGE_TAKES_PILES;
	if (is_lc(t) && gp_sched_piles(gp_runtime_core(t->dev->rt)))
		wakes |= GP_PAGE_WAKE_NOW;
	return wakes;
}

/*
 * Where several levels share a device, the daemon must know at once when work begins or
 * ends: it ends the turns of less urgent tenants and suspends BE meanwhile. The only tenant
 * with work need not report it if none is more urgent, because a wake costs two system
 * calls. A BE tenant reports new work (be_activity.c).
 */
void gp_dtenant_request_wakes(struct gp_ddev *dev)
{
	const uint64_t now_ns = gp_ddev_now(dev);

	for (struct gp_dtenant *t = dev->tenants; t; t = t->next)
		see_work(t, now_ns);
	for (struct gp_dtenant *t = dev->tenants; t; t = t->next) {
		const uint32_t wakes = t->page ? wakes_of(t, now_ns) : 0;

		if (t->page && atomic_load(&t->page->wake_on) != wakes)
			atomic_store(&t->page->wake_on, wakes);
	}
}

/* ---- coming and going ------------------------------------------------ */

static void ended(struct gp_source *source, uint32_t events)
{
	struct gp_dtenant *t = gp_holder(source, struct gp_dtenant, ended);

	gp_dtenant_leave(t, true);
}

/* The process that was read, and not one that has its number by now. */
static int watch_process(struct gp_dtenant *t)
{
	uint64_t start;
	int err;

	t->ended.fd = (int)syscall(SYS_pidfd_open, t->who.pid, 0u);
	if (t->ended.fd < 0)
		return -errno;
	err = gp_proc_start(t->who.pid, &start);
	if (!err && start != t->who.start_ticks)
		err = -ESRCH;
	t->ended.ready = ended;
	return err ? err : gp_loop_add(t->dev->loop, &t->ended, EPOLLIN);
}

static int journal_put(struct gp_dtenant *t)
{
	struct gp_journal_record r = {
		.pid = t->who.pid,
		.start_ticks = t->who.start_ticks,
		.origin = t->origin,
		.banned = t->banned,
		.away = gp_away_record(t),
	};
	int place;

	memcpy(r.uuid, t->dev->hal->id.uuid, sizeof(r.uuid));
	gp_class_request_to_wire(&t->request, &r.request);
	place = gp_journal_put(t->dev->journal, &r);
	if (place < 0)
		return place;
	if (t->place >= 0)
		gp_journal_drop(t->dev->journal, t->place);
	t->place = place;
	return 0;
}

static void free_tenant(struct gp_dtenant *t)
{
	if (t->place >= 0)
		gp_journal_drop(t->dev->journal, t->place);
	page_destroy(t);
	gp_loop_remove(&t->ended);
	if (t->ended.fd >= 0)
		close(t->ended.fd);
	gp_proc_clear(&t->who);
	gp_clients_free(t);
	free(t->cgroup);
	free(t);
}

/* Cut anywhere: nothing else can end a long kernel's turn. */
static void make_preemptible(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	if (!(t->dev->caps.caps & GP_CAP_PREEMPT_MODE))
		return;
	while ((g = gp_runtime_next_compute(t->dev->rt, t, g)))
		gp_runtime_own(t->dev->rt, g, GP_CALL_PREEMPT_MODE);
}

/* While it is away, or frozen, the core does not decide about @group. */
static int add_group(struct gp_dtenant *t, struct gp_group *group)
{
	return t->away.away || gp_frozen_is_off(&t->frozen) ?
		       gp_runtime_group_outside(t->dev->rt, t->id, t, group) :
		       gp_runtime_group_add(t->dev->rt, t->id, t, group);
}

/* The core's groups are the device's from then on; the rest is dropped. */
static int take_groups(struct gp_dtenant *t, struct gp_group_list *list)
{
	int first = 0, err;

	for (size_t i = 0; i < list->count; i++) {
		struct gp_group *group = list->group[i];

		err = gp_runtime_takes(t->dev->rt, group) && group->dev == t->dev->hal ?
			      add_group(t, group) :
			      -EEXIST;
		if (err)
			t->dev->hal->ops->group_put(group);
		if (err && err != -EEXIST && !first)
			first = err;
	}
	free(list->group);
	*list = (struct gp_group_list){ 0 };
	return first;
}

static void copy_name(char to[GP_CONTAINER_VALUE_MAX + 1], const char *name)
{
	if (name)
		snprintf(to, GP_CONTAINER_VALUE_MAX + 1, "%s", name);
}

/* A container without a name counts by the beginning of its id, as engines show it. */
static void open_account(struct gp_dtenant *t)
{
	const struct gp_container *c = t->who.facts;
	struct gp_account_names names = { 0 };

	snprintf(names.container, sizeof(names.container), "%.12s", t->who.container);
	memcpy(names.job, t->who.job, sizeof(names.job));
	if (c) {
		copy_name(names.namespace, c->namespace);
		copy_name(names.pod, c->pod);
		copy_name(names.container, c->name);
	}
	t->account = gp_account_get(&t->dev->accounts, &names);
}

/* The number that the others of its cgroup have. */
static uint32_t party_of(const struct gp_dtenant *t)
{
	if (!t->cgroup)
		return 0;
	for (const struct gp_dtenant *u = t->dev->tenants; u; u = u->next)
		if (u != t && u->cgroup && !strcmp(u->cgroup, t->cgroup))
			return u->party;
	return ++t->dev->last_party;
}

static int core_join(struct gp_dtenant *t)
{
	const struct gp_event ev = { .type = GP_EV_TENANT_JOIN,
				     .tenant = t->id,
				     .party = t->party,
				     .gang = t->gang,
				     .spec = t->request };

	return gp_runtime_event(t->dev->rt, &ev);
}

int gp_dtenant_join(struct gp_ddev *dev, struct gp_join *how, struct gp_dtenant **out)
{
	struct gp_dtenant *t;
	int err;

	if (gp_dtenant_of_pid(dev, how->who.pid))
		return -EEXIST;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->dev = dev;
	t->id = ++dev->last_tenant_id;
	t->origin = how->origin;
	t->request = how->request;
	t->asked = how->asked;
	snprintf(t->why, sizeof(t->why), "%s", how->why);
	t->since_ns = gp_ddev_now(dev);
	t->place = t->page_fd = t->wake.fd = t->ended.fd = -1;
	t->gone = how->gone;
	t->gone_arg = how->arg;
	t->used_ns = dev->log ? 0 : GP_WIRE_UNKNOWN;
	t->away.away = how->away || how->recover;
	t->away.asked = how->away == GP_JOURNAL_AWAY_ASKED;
	t->who.pid = how->who.pid;
	t->who.start_ticks = how->who.start_ticks;
	t->cgroup = how->party;
	how->party = NULL;
	t->party = party_of(t);
	err = watch_process(t);
	if (!err && how->page)
		err = page_create(t);
	if (!err)
		err = journal_put(t);
	if (!err)
		err = gp_usage_join(&dev->usage, t->who.pid, is_lc(t));
	if (!err)
		err = gp_dgang_set(t, how->gang);
	if (!err)
		err = core_join(t);
	if (err) {
		(void)gp_dgang_set(t, false);
		gp_usage_leave(&dev->usage, t->who.pid);
		free_tenant(t);
		return err;
	}
	t->who = how->who;
	how->who = (struct gp_subject){ 0 };
	open_account(t);
	t->next = dev->tenants;
	dev->tenants = t;
	gp_dgang_refresh(t->gang);
	gp_ddev_trace(dev, GP_WIRE_TRACE_JOIN, t->who.pid,
		      (uint64_t)t->request.cls.cls << 32 | t->request.cls.value);
	wants_turn(t, t->since_ns);
	gp_ddev_report_class(dev, t->who.pid, &t->request.cls);
	/* One group too many is left alone; the others are not for that. */
	(void)take_groups(t, &how->list);
	if (how->away)
		gp_away_joined(t, how->away);
	else if (how->recover)
		gp_away_back(t);
	if (gp_dtenant_is_be(t))
		make_preemptible(t);
	gp_dtenant_request_wakes(dev);
	*out = t;
	return 0;
}

static void forget_groups(struct gp_dtenant *t, bool gone)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g))) {
		if (gone)
			gp_runtime_group_gone(t->dev->rt, g);
		else
			g->owner = NULL;
	}
}

/* It runs again, as it was found. */
static void pardon(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g))) {
		gp_runtime_own(t->dev->rt, g, GP_DO_SET_SLICE);
		gp_runtime_own(t->dev->rt, g, GP_DO_RESUME);
	}
}

void gp_dtenant_leave(struct gp_dtenant *t, bool process_ended)
{
	const struct gp_event ev = { .type = GP_EV_TENANT_LEAVE, .tenant = t->id };
	const struct gp_class_value none = { .cls = GP_CLASS_NONE };
	struct gp_ddev *dev = t->dev;
	struct gp_dtenant **at = &dev->tenants;

	t->gone(t, t->gone_arg);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	(void)gp_dgang_set(t, false);
	/* Without its memory none but the process itself may resume it. */
	if (gp_dtenant_is_stopped(t) && !process_ended && !t->away.away)
		pardon(t);
	forget_groups(t, process_ended);
	if (!process_ended) {
		gp_ddev_report_class(dev, t->who.pid, &none);
		if (!t->away.away)
			gp_ddev_leaving(dev, t->place);
		t->place = -1;
	}
	gp_runtime_event(dev->rt, &ev);
	gp_usage_leave(&dev->usage, t->who.pid);
	gp_ddev_trace(dev, GP_WIRE_TRACE_LEAVE, t->who.pid, 0);
	gp_dtenant_request_wakes(dev);
	gp_account_put(&dev->accounts, t->account);
	free_tenant(t);
	gp_ddev_sweep(dev);
}

static bool has_group(const struct gp_group_list *list, uint32_t id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->id == id)
			return true;
	return false;
}

void gp_dtenant_groups(struct gp_dtenant *t, struct gp_group_list *list)
{
	struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(t->dev->rt, t, g)))
		if (!has_group(list, g->id))
			gp_runtime_group_gone(t->dev->rt, g);
	(void)take_groups(t, list);
	gp_away_movers(t);
	if (t->away.away)
		gp_away_follow(t);
	else if (t->frozen.frozen)
		gp_frozen_follow(t);
	if (t->banned)
		gp_dtenant_ban(t);
	else if (gp_dtenant_is_be(t))
		make_preemptible(t);
}

void gp_dtenant_party(struct gp_dtenant *t, char *cgroup, bool gang)
{
	struct gp_event ev = { .type = GP_EV_TENANT_CLASS, .tenant = t->id, .spec = t->request };
	const bool was_gang = t->gang;

	free(t->cgroup);
	t->cgroup = cgroup;
	ev.party = party_of(t);
	gp_log_shortage(gp_dgang_set(t, gang), "cannot make a process one of a gang");
	ev.gang = t->gang;
	if (ev.party == t->party && ev.gang == was_gang)
		return;
	t->party = ev.party;
	gp_runtime_event(t->dev->rt, &ev);
}

int gp_dtenant_class(struct gp_dtenant *t, const struct gp_class_request *request, bool asked,
		     const char *why)
{
	struct gp_event ev = { .type = GP_EV_TENANT_CLASS,
			       .tenant = t->id,
			       .party = t->party,
			       .gang = t->gang,
			       .spec = *request };
	const struct gp_class_request old = t->request;
	bool was_be = gp_dtenant_is_be(t);
	int err;

	t->request = *request;
	err = journal_put(t);
	if (!err)
		err = gp_runtime_event(t->dev->rt, &ev);
	if (err) {
		t->request = old;
		return err;
	}
	t->asked = asked;
	snprintf(t->why, sizeof(t->why), "%s", why);
	gp_usage_join(&t->dev->usage, t->who.pid, request->cls.cls == GP_CLASS_LC);
	gp_ddev_report_class(t->dev, t->who.pid, &request->cls);
	gp_dgang_refresh(t->gang);
	if (gp_dtenant_is_be(t) && !was_be)
		make_preemptible(t);
	gp_away_movers(t);
	wants_turn(t, gp_ddev_now(t->dev));
	gp_dtenant_request_wakes(t->dev);
	return 0;
}

/* The core decides no more about its groups: they are gone, as far as it knows. */
void gp_dtenant_ban(struct gp_dtenant *t)
{
	struct gp_runtime_group *g = NULL;

	t->banned = true;
	journal_put(t);
	while ((g = gp_runtime_next(t->dev->rt, t, g))) {
		const struct gp_event ev = { .type = GP_EV_GROUP_GONE, .group.id = g->id };

		gp_runtime_event(t->dev->rt, &ev);
		gp_runtime_own(t->dev->rt, g, GP_DO_SUSPEND);
	}
}

/* ---- promises -------------------------------------------------------- */

/* Is that what the device goes by? */
static bool is_kept(const struct gp_ddev *dev, const struct gp_class_request *request, char *why,
		    size_t len)
{
	const struct gp_config_settings *s = &dev->settings;
	const char *name = dev->hal->id.name;
	bool kept = false;

	if (!request->cap_pct && !request->period_ns)
		return true;
	if (dev->caps.caps & GP_CAP_CLASS)
		snprintf(why, len,
			 "%s have no effect on %s: its driver schedules by weights and levels",
			 request->cap_pct ? "caps" : "deadlines", name);
	else if (request->cap_pct && !s->be_policy->caps)
		snprintf(why, len,
			 "caps have no effect on %s: its be_policy is %s; they need credit "
			 "(gpreempt.yaml(5))",
			 name, s->be_policy->name);
	else if (request->period_ns && !s->lc_policy->deadlines)
		snprintf(why, len,
			 "deadlines have no effect on %s: its lc_policy is %s; they need edf "
			 "(gpreempt.yaml(5))",
			 name, s->lc_policy->name);
	else
		kept = true;
	return kept;
}

int gp_dtenant_admit(struct gp_ddev *dev, const struct gp_dtenant *t,
		     const struct gp_class_request *request, char *why, size_t len)
{
	struct gp_sched_admission a;
	const struct gp_dtenant *whose;
	int err;

	if (!is_kept(dev, request, why, len))
		return -EINVAL;
	if (!request->period_ns)
		return 0;
	err = gp_sched_admit(gp_runtime_core(dev->rt), t ? t->id : 0, request, &a);
	if (!err)
		return 0;
	whose = gp_dtenant_of(dev, a.tenant);
	switch (a.reason) {
	case GP_ADMIT_SPEC:
		snprintf(why, len,
			 "write a runtime of at most the deadline, a deadline of at most the "
			 "period, and a period below 1000 s");
		break;
	case GP_ADMIT_LOAD:
		snprintf(why, len, "the promised load would be %.1f %% of %s",
			 (double)a.load_ppm / 10000, dev->hal->id.name);
		break;
	default:
		snprintf(why, len,
			 "process %d could miss its deadline of %.3f ms: up to %.3f ms of work "
			 "could be due by then on %s",
			 whose ? (int)whose->who.pid : 0, (double)a.deadline_ns / 1e6,
			 (double)a.demand_ns / 1e6, dev->hal->id.name);
	}
	return err;
}

/* ---- views ----------------------------------------------------------- */

static uint32_t group_count(const struct gp_dtenant *t)
{
	const struct gp_runtime_group *g = NULL;
	uint32_t n = 0;

	while ((g = gp_runtime_next_compute(t->dev->rt, t, g)))
		n++;
	return n;
}

/* The core has no groups of one that is frozen, banned or away. */
static bool all_suspended(const struct gp_dtenant *t)
{
	const struct gp_runtime_group *g = NULL;
	bool any = false;

	while ((g = gp_runtime_next_compute(t->dev->rt, t, g))) {
		if (!gp_runtime_computes(g))
			continue;
		if (!g->off)
			return false;
		any = true;
	}
	return any;
}

static uint32_t flags_of(const struct gp_dtenant *t, const struct gp_sched_tenant_stat *st)
{
	uint32_t flags = 0, activity = 0;

	if (t->page)
		activity = atomic_load_explicit(&t->page->activity, memory_order_relaxed);
	flags |= t->dev->resident == t->id ? GP_WIRE_RESIDENT : 0;
	flags |= all_suspended(t) ? GP_WIRE_SUSPENDED : 0;
	flags |= activity & GP_PAGE_SEGMENT ? GP_WIRE_SEGMENT : 0;
	flags |= activity & GP_PAGE_HELD ? GP_WIRE_HELD : 0;
	flags |= t->reported == GP_REPORTED_BUSY || t->reported == GP_REPORTED_PILES ?
			 GP_WIRE_BUSY :
			 0;
	flags |= t->reported == GP_REPORTED_IDLE ? GP_WIRE_IDLE : 0;
	flags |= t->banned ? GP_WIRE_BANNED : 0;
	flags |= st->piles ? GP_WIRE_PILES : 0;
	flags |= t->away.away ? GP_WIRE_OUT : 0;
	flags |= t->frozen.frozen ? GP_WIRE_FROZEN : 0;
	return flags;
}

static void show_page(struct gp_dtenant *t, struct gp_wire_tenant *out)
{
	struct gp_page *p = t->page;

	out->hints = out->segments = out->holds = GP_WIRE_UNKNOWN;
	out->holds_late = out->holds_expired = out->held_ns = GP_WIRE_UNKNOWN;
	gp_dtenant_memory(t);
	out->memory = t->memory;
	if (!p || t->request.cls.cls != GP_CLASS_LC)
		return;
	gp_dtenant_samples(t);
	out->hints = atomic_load_explicit(&p->hints, memory_order_relaxed);
	out->segments = atomic_load_explicit(&p->segments, memory_order_relaxed);
	out->holds = atomic_load_explicit(&p->holds, memory_order_relaxed);
	out->holds_late = atomic_load_explicit(&p->holds_late, memory_order_relaxed);
	out->holds_expired = atomic_load_explicit(&p->holds_expired, memory_order_relaxed);
	out->held_ns = atomic_load_explicit(&p->held_ns, memory_order_relaxed);
}

/* Long names are alike at their beginning. */
static void show_cgroup(const struct gp_dtenant *t, struct gp_wire_tenant *out)
{
	const size_t n = t->cgroup ? strlen(t->cgroup) : 0;

	if (n)
		snprintf(out->cgroup, sizeof(out->cgroup), "%s",
			 t->cgroup + (n < sizeof(out->cgroup) ? 0 : n - sizeof(out->cgroup) + 1));
}

void gp_dtenant_show(struct gp_dtenant *t, struct gp_wire_tenant *out)
{
	/* Else its turns are the driver's. */
	const bool turns = gp_dtenant_is_be(t) && !(t->dev->caps.caps & GP_CAP_CLASS);
	struct gp_sched_tenant_stat st = { 0 };

	gp_sched_tenant_stat(gp_runtime_core(t->dev->rt), t->id, &st);
	show_page(t, out);
	show_cgroup(t, out);
	out->quota_used = out->quota_max = GP_WIRE_UNKNOWN;
	out->pid = t->who.pid;
	out->uid = t->who.uid;
	memcpy(out->uuid, t->dev->hal->id.uuid, sizeof(out->uuid));
	out->origin = t->origin;
	out->flags = flags_of(t, &st);
	out->groups = group_count(t);
	out->usage = gp_ddev_usage(t->dev);
	gp_class_request_to_wire(&t->request, &out->request);
	out->age_ns = gp_ddev_now(t->dev) - t->since_ns;
	out->resident_ns = turns ? st.run_ns : GP_WIRE_UNKNOWN;
	out->used_ns = t->used_ns;
	out->suspended_ns =
		t->off_ns + (t->off_since_ns ? gp_ddev_now(t->dev) - t->off_since_ns : 0);
	out->turns = turns ? t->turns : GP_WIRE_UNKNOWN;
	out->preempted = turns ? t->preempted : GP_WIRE_UNKNOWN;
	out->wait_p50_ns = gp_hist_quantile_ns(&t->hist[GP_WIRE_HIST_WAIT], 500);
	out->wait_p99_ns = gp_hist_quantile_ns(&t->hist[GP_WIRE_HIST_WAIT], 990);
	out->switch_p50_ns = gp_hist_quantile_ns(&t->hist[GP_WIRE_HIST_SWITCH], 500);
	out->switch_p99_ns = gp_hist_quantile_ns(&t->hist[GP_WIRE_HIST_SWITCH], 990);
	out->corrected = t->corrected;
	snprintf(out->comm, sizeof(out->comm), "%.*s", GP_WIRE_COMM_LEN - 1, t->who.comm);
	snprintf(out->device, sizeof(out->device), "%s", t->dev->hal->id.name);
	snprintf(out->why, sizeof(out->why), "%s", t->why);
}
