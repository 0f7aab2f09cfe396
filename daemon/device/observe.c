// SPDX-License-Identifier: Apache-2.0
/*
 * observe.c - observes tenants by their pages and the device's log. Tenants send no messages
 * about their work, so the daemon looks:
 *  - at the end of a turn. While LC work runs or is about to come, it looks again every
 *    200 us, and the turn ends without such work;
 *  - where levels share a device: 250 us after a tenant reported work or its end, and again
 *    until the most urgent tenant has the device. Another one may have got it in between;
 *  - when a BE tenant may have nothing to run (be_activity.c);
 *  - 2 ms before expected work of a tenant that may be preempted, and when it did not come;
 *  - ten times a second while two tenants share a device, for usage, and while only the log
 *    would show new work of an idle tenant. On an unused device the interval grows;
 *  - once a second otherwise;
 *  - soon again after it saw LC work. The BE minimum counts this time, so the daemon checks
 *    that the work lasts.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "daemon/device/device_internal.h"
#include "daemon/device/gangs.h"
#include "daemon/device/tenant.h"
#include "daemon/loop/log.h"
#include "daemon/loop/times.h"

#define PUT_OFF_NS 200000u
#define CUT_NS 250000u /* after some of these twice as long .. */
#define CUT_LOOKS 8u
#define CUT_SHIFT_MAX 6u  /* .. up to 16 ms */
#define BUSY_NS 500000u	  /* doubles .. */
#define BUSY_SHIFT_MAX 5u /* .. to 16 ms */
#define USAGE_NS 100000000u
#define NOTICE_NS 110000000u /* by the wall's clock: past USAGE_NS for certain; doubles .. */
#define NOTICE_SHIFT_MAX 3u  /* .. to 0.9 s while nobody uses the device .. */
#define NOTICE_SHIFT_LC 2u   /* .. or 0.4 where latency-critical work may begin */
#define UNCHECKED_MAX 7u     /* reads of all slices that are left out while nobody uses it */
/* A rotation takes so long, in which work of LC's would be late: 0.5 ms to get
 * one off, 0.3 ms the next one on (H200, driver 580). */
#define AHEAD_NS 1500000u
/* For a tenant that may be preempted: BE is suspended before its hold starts. */
#define AHEAD_CUT_NS 2000000u
#define RECORDS 4096u /* more are read by the next look */

struct gp_log_look {
	struct gp_job job;
	struct gp_ddev *dev;
	struct gp_clocks clocks;
	uint64_t core_ns, log_ns; /* just before it was read, in both clocks */
	size_t count;
	struct gp_switch_record rec[RECORDS];
};

/* ---- reports of BUSY and IDLE ------------------------------------------------- */

/* So early BE has to be suspended, if it is, before @t's work. */
static uint64_t ahead_ns(const struct gp_dtenant *t)
{
	const uint64_t leave_ns = gp_sched_leave_ns(gp_runtime_core(t->dev->rt));
	const uint64_t cut_ns = gp_dtenant_may_be_cut(t) ? AHEAD_CUT_NS : AHEAD_NS;

	return leave_ns > cut_ns ? leave_ns : cut_ns;
}

static enum gp_reported activity(const struct gp_dtenant *t, uint64_t now_ns)
{
	if (t->request.cls.cls != GP_CLASS_LC || (!t->page && !t->dev->log))
		return GP_REPORTED_NOTHING;
	return gp_dtenant_activity(t, now_ns, ahead_ns(t));
}

static struct gp_dtenant *most_urgent(const struct gp_ddev *dev, uint64_t now_ns)
{
	struct gp_dtenant *best = NULL;

	for (struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (activity(t, now_ns) == GP_REPORTED_BUSY &&
		    (!best || t->request.cls.value < best->request.cls.value))
			best = t;
	return best;
}

static void report_lc(struct gp_ddev *dev, uint64_t now_ns, enum gp_reported what,
		      const struct gp_dtenant *but)
{
	for (struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (t != but && activity(t, now_ns) == what)
			gp_dtenant_report(t, what, now_ns);
}

/* Does the most urgent tenant wait for a less urgent one? */
static bool waits_for_cut(struct gp_ddev *dev)
{
	const struct gp_dtenant *t =
		gp_dtenant_of(dev, gp_sched_most_urgent(gp_runtime_core(dev->rt)));

	return dev->log && t && gp_dtenant_waits_for_cut(t);
}

/*
 * BUSY comes first: a turn that is over ends as soon as no tenant needs the device. The most
 * urgent tenant comes last, because the core then knows which ones to preempt. At the end:
 * does the most urgent tenant have the device, and if not, which one does?
 */
static void look_at_pages(struct gp_ddev *dev)
{
	uint64_t now_ns = gp_ddev_now(dev);
	struct gp_dtenant *first;

	/* Before the pages are read: a tenant that begins later reports that. */
	gp_dtenant_request_wakes(dev);
	first = most_urgent(dev, now_ns);
	report_lc(dev, now_ns, GP_REPORTED_BUSY, first);
	if (first)
		gp_dtenant_report(first, GP_REPORTED_BUSY, now_ns);
	report_lc(dev, now_ns, GP_REPORTED_PILES, NULL);
	report_lc(dev, now_ns, GP_REPORTED_SOON, NULL);
	report_lc(dev, now_ns, GP_REPORTED_IDLE, NULL);
	first = gp_dtenant_of(dev, gp_sched_most_urgent(gp_runtime_core(dev->rt)));
	if (first)
		gp_dtenant_report_on(first);
	for (struct gp_dtenant *t = dev->tenants; waits_for_cut(dev) && t; t = t->next)
		gp_dtenant_report_on(t);
}

static void look_at_lc(struct gp_ddev *dev)
{
	const struct gp_sched *core = gp_runtime_core(dev->rt);
	const bool piled = gp_sched_piles(core);

	look_at_pages(dev);
	/* The first pile. Each tenant reports its work from now on. Earlier work is seen here. */
	if (!piled && gp_sched_piles(core))
		look_at_pages(dev);
}

static void look_at_tenants(struct gp_ddev *dev)
{
	uint64_t now_ns;

	look_at_lc(dev);
	now_ns = gp_ddev_now(dev);
	for (struct gp_dtenant *t = dev->tenants; t; t = t->next) {
		if (t->request.cls.cls == GP_CLASS_LC)
			gp_dtenant_samples(t);
		else if (gp_dtenant_is_be(t))
			gp_dtenant_observe_be(t, now_ns);
	}
}

static bool lc_is_busy(const struct gp_ddev *dev)
{
	for (const struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (t->request.cls.cls == GP_CLASS_LC && t->reported == GP_REPORTED_BUSY)
			return true;
	return false;
}

static bool is_quiet(const struct gp_ddev *dev)
{
	for (const struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (t->request.cls.cls != GP_CLASS_NONE && t->reported == GP_REPORTED_BUSY)
			return false;
	return true;
}

/* For some notices in a row. */
static bool is_unused(const struct gp_ddev *dev)
{
	return dev->noticing && dev->quiet_looks >= NOTICE_SHIFT_LC && is_quiet(dev);
}

static void check_slices(struct gp_ddev *dev)
{
	dev->unchecked = 0;
	gp_ddev_enforce(dev);
}

void gp_ddev_observe_pages(struct gp_ddev *dev)
{
	const struct gp_event ev = { .type = GP_EV_TIMER };

	look_at_tenants(dev);
	dev->busy_looks = lc_is_busy(dev) ? dev->busy_looks + 1 : 0;
	dev->cut_looks = waits_for_cut(dev) ? dev->cut_looks + 1 : 0;
	gp_runtime_event(dev->rt, &ev);
	if (dev->unchecked && !is_unused(dev))
		check_slices(dev);
}

void gp_ddev_woken(struct gp_ddev *dev)
{
	dev->cut_looks = 0;
	dev->woken = dev->log != NULL;
	if (dev->log && gp_sched_min_due(gp_runtime_core(dev->rt), gp_ddev_now(dev))) {
		look_at_lc(dev);
		gp_ddev_observe(dev);
		return;
	}
	gp_ddev_observe_pages(dev);
	/* The log may know more of the others. It is read after their preemption. */
	if (waits_for_cut(dev))
		gp_ddev_observe(dev);
}

/* ---- the log ------------------------------------------------------------------ */

/* @until_ns: all usage until then is reported, in the core's clock; 0: unknown. */
static void tell_usage(struct gp_ddev *dev, uint64_t until_ns)
{
	for (struct gp_dtenant *t = dev->tenants; t; t = t->next) {
		struct gp_usage_process *p = gp_usage_of(&dev->usage, t->who.pid);
		struct gp_event ev = { .type = GP_EV_USAGE,
				       .tenant = t->id,
				       .usage.at_ns = until_ns };

		if (!p)
			continue;
		gp_usage_take(p, &ev.usage.used_ns, &ev.usage.displaced_ns);
		gp_dtenant_used(t, ev.usage.used_ns);
		if (ev.usage.used_ns || ev.usage.displaced_ns)
			gp_runtime_event(dev->rt, &ev);
	}
}

/* The log is read late and contains the time before the tenants joined. */
static void tell_since_when(struct gp_ddev *dev, const struct gp_clocks *clocks)
{
	for (const struct gp_dtenant *t = dev->tenants; clocks->known && t; t = t->next)
		gp_usage_from(&dev->usage, t->who.pid, t->since_ns + (uint64_t)clocks->ahead_ns);
}

static void trace_records(struct gp_ddev *dev, const struct gp_log_look *look)
{
	if (!dev->clocks.known)
		return; /* the time of the records is unknown */
	for (size_t i = 0; gp_trace_wanted(dev->trace) && i < look->count; i++) {
		const struct gp_switch_record *r = &look->rec[i];

		gp_trace_add(dev->trace,
			     &(struct gp_wire_trace_record){
				     .time_ns = r->time_ns - (uint64_t)dev->clocks.ahead_ns,
				     .pid = r->pid,
				     .context = r->context,
				     .value = r->count,
				     .device = dev->number,
				     .kind = r->kind == GP_SWITCH_START ? GP_WIRE_TRACE_START :
					     r->kind == GP_SWITCH_END	? GP_WIRE_TRACE_END :
									  GP_WIRE_TRACE_LOST });
	}
}

/* Just before the log is read: it ends here. */
static void compare_clocks(struct gp_log_look *look)
{
	struct gp_ddev *dev = look->dev;
	const bool same = dev->caps.caps & GP_CAP_VIRTUAL_TIME;
	int err = gp_clocks_of_log(&look->clocks, dev->hal->ops, dev->hal, dev->log, same);

	dev->hal->ops->now(dev->hal, &look->core_ns);
	look->log_ns = err || !look->clocks.known ? 0 :
						    look->core_ns + (uint64_t)look->clocks.ahead_ns;
}

static void read_log(struct gp_job *job)
{
	struct gp_log_look *look = (struct gp_log_look *)(void *)job;
	const struct gp_hal_ops *ops = look->dev->hal->ops;
	struct gp_log *log = look->dev->log;
	ssize_t n;

	look->count = 0;
	compare_clocks(look);
	do {
		n = ops->log_read(log, look->rec + look->count, RECORDS - look->count);
		look->count += n > 0 ? (size_t)n : 0;
	} while (n > 0 && look->count < RECORDS);
}

static void log_was_read(struct gp_job *job)
{
	struct gp_log_look *look = (struct gp_log_look *)(void *)job;
	const bool whole = look->log_ns && look->count < RECORDS;
	struct gp_ddev *dev = look->dev;

	if (look->count)
		dev->quiet_looks = 0;
	tell_since_when(dev, &look->clocks);
	for (size_t i = 0; i < look->count; i++)
		gp_usage_record(&dev->usage, &look->rec[i]);
	dev->clocks = look->clocks;
	if (whole)
		gp_usage_until(&dev->usage, look->log_ns);
	trace_records(dev, look);
	dev->looking = NULL;
	dev->woken = false;
	dev->log_read_ns = look->core_ns;
	if (whole)
		dev->log_whole_ns = look->core_ns;
	free(look);
	tell_usage(dev, whole ? dev->log_read_ns : 0);
	gp_ddev_observe_pages(dev);
	gp_ddev_let_go(dev);
	gp_dgangs_let_go(dev->gangs);
}

/* Does what the pages do not tell matter now? */
static bool needs_log(struct gp_ddev *dev, uint64_t now_ns)
{
	if (!dev->log || dev->looking)
		return false;
	if (now_ns - dev->log_read_ns >= USAGE_NS || gp_trace_wanted(dev->trace) || dev->woken ||
	    waits_for_cut(dev) || gp_sched_min_due(gp_runtime_core(dev->rt), now_ns))
		return true;
	for (const struct gp_dtenant *t = dev->tenants; t; t = t->next) {
		if (t->request.cls.cls == GP_CLASS_LC && !gp_dtenant_provides_work(t))
			return true;
		if (gp_dtenant_be_needs_log(t, now_ns))
			return true;
	}
	return false;
}

void gp_ddev_observe(struct gp_ddev *dev)
{
	uint64_t now_ns = gp_ddev_now(dev);
	struct gp_log_look *look = NULL;

	dev->look_at_ns = 0;
	if (dev->looking)
		return;
	if (dev->tenants && needs_log(dev, now_ns)) {
		look = malloc(sizeof(*look));
		gp_log_shortage(look ? 0 : -ENOMEM, "cannot read the device's log");
	}
	if (!look) {
		gp_ddev_observe_pages(dev);
		return;
	}
	look->job = (struct gp_job){ .work = read_log, .done = log_was_read };
	look->dev = dev;
	look->clocks = dev->clocks;
	look->count = 0;
	look->log_ns = 0;
	look->core_ns = now_ns;
	dev->looking = look;
	gp_worker_post(dev->worker.worker, &look->job);
}

/* ---- when next ------------------------------------------------------------------ */

/*
 * An idle tenant runs with a longer slice. From its next work on it delays the others until
 * the daemon sees that.
 */
static bool waits_for_work(const struct gp_ddev *dev)
{
	if (!dev->log || !dev->tenants || !dev->tenants->next)
		return false;
	for (const struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (gp_dtenant_is_be(t) && t->reported == GP_REPORTED_IDLE)
			return true;
	return false;
}

static uint32_t notice_shift(const struct gp_ddev *dev)
{
	uint32_t most = NOTICE_SHIFT_MAX;

	for (const struct gp_dtenant *t = dev->tenants; t; t = t->next)
		if (t->request.cls.cls == GP_CLASS_LC)
			most = NOTICE_SHIFT_LC;
	return dev->quiet_looks < most ? dev->quiet_looks : most;
}

static void plan_notice(struct gp_ddev *dev)
{
	if (dev->noticing || !waits_for_work(dev))
		return;
	dev->noticing = true;
	gp_tick_in(&dev->notice, (uint64_t)NOTICE_NS << notice_shift(dev));
}

static void notice(struct gp_ddev *dev)
{
	dev->noticing = false;
	dev->quiet_looks = is_quiet(dev) ? dev->quiet_looks + 1 : 0;
	gp_ddev_observe(dev);
	plan_notice(dev);
}

static uint64_t cut_wait_ns(const struct gp_ddev *dev)
{
	uint32_t shift = dev->cut_looks < CUT_LOOKS ? 0 : dev->cut_looks - CUT_LOOKS + 1;

	return (uint64_t)CUT_NS << (shift < CUT_SHIFT_MAX ? shift : CUT_SHIFT_MAX);
}

/* After a step. A clock may cost a message. */
static void plan_look(struct gp_ddev *dev)
{
	const uint64_t now_ns = gp_runtime_stepped_ns(dev->rt);
	uint64_t at_ns = 0;
	uint32_t share = 0;

	if (gp_sched_rotation_deferred(gp_runtime_core(dev->rt)))
		at_ns = now_ns + PUT_OFF_NS;
	if (dev->woken || waits_for_cut(dev))
		at_ns = gp_sooner(at_ns, now_ns + cut_wait_ns(dev));
	for (const struct gp_dtenant *t = dev->tenants; t; t = t->next) {
		share += t->request.cls.cls != GP_CLASS_NONE && t->reported != GP_REPORTED_IDLE;
		at_ns = gp_sooner(at_ns, gp_dtenant_be_look_ns(t, now_ns));
		if (gp_dtenant_must_tell(t))
			at_ns = gp_sooner(at_ns, gp_dtenant_next_look_ns(t, now_ns, ahead_ns(t)));
	}
	/* A device that is not shared needs no accounting. */
	if (share > 1 && dev->busy_looks)
		at_ns = gp_sooner(at_ns, now_ns + (BUSY_NS << (dev->busy_looks < BUSY_SHIFT_MAX ?
								       dev->busy_looks :
								       BUSY_SHIFT_MAX)));
	if (share > 1)
		at_ns = gp_sooner(at_ns, now_ns + USAGE_NS);
	dev->look_at_ns = gp_sooner(at_ns, dev->look_at_ns);
	plan_notice(dev);
}

/* ---- ops of the device ------------------------------------------------------------ */

/* A turn may end with any step, at the latest then: not into work that is to come. */
static void before(void *host)
{
	look_at_lc(host);
}

static void settled(void *host, bool any)
{
	struct gp_ddev *dev = host;

	gp_dgangs_follow(dev->gangs);
	gp_dtenant_follow_turns(dev);
	plan_look(dev);
	if (!dev->acked)
		gp_ddev_arm(dev);
}

static void idle(struct gp_ddev *dev)
{
	/* A notice comes earlier than the next of these. */
	if (!dev->noticing)
		gp_ddev_observe(dev);
	gp_ddev_read_usage(dev);
	/* The slice of a group without work delays nobody. */
	if (is_unused(dev) && dev->unchecked < UNCHECKED_MAX)
		dev->unchecked++;
	else
		check_slices(dev);
}

static void changed(struct gp_ddev *dev)
{
	const struct gp_event ev = { .type = GP_EV_TIMER };

	gp_dtenant_request_wakes(dev);
	gp_runtime_event(dev->rt, &ev);
}

const struct gp_ddev_ops gp_observe_ops = {
	.host = {
		.before = before,
		.called = gp_ddev_called,
		.over = gp_ddev_over,
		.settled = settled,
	},
	.changed = changed,
	.due = gp_ddev_observe,
	.idle = idle,
	.notice = notice,
};
