// SPDX-License-Identifier: Apache-2.0
/*
 * Two devices of the daemon's over the software GPU in virtual time: turns, idle tenants,
 * rotation deferred by pages, and complete restore. Tenants are sleeping processes of ours;
 * their work is the model's.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/device/device_internal.h"
#include "daemon/discover/proc.h"
#include "daemon/device/tenant.h"
#include "softgpu/sim_hal.h"
#include "tests/common/gp_child.h"
#include "tests/common/gp_test.h"

#define MS 1000000ull
#define STEP_NS 100000u
#define DEVICES 2
#define MOST 8
#define POLICIES .be_policy = &gp_policy_fair, .lc_policy = &gp_policy_level

struct process {
	pid_t pid;
	struct gp_sim_context *context;
	bool works;
	uint32_t queued;
	uint64_t done;
	struct gp_dtenant *tenant;
};

struct device {
	struct gp_sim *sim;
	struct gp_ddev *dev;
	struct process process[MOST];
	size_t count;
};

static struct gp_loop *loop;
static struct gp_trace *trace;
static struct gp_journal *journal;
static struct device device[DEVICES];
static char journal_path[64];

static const struct gp_model_method kernel = {
	.type = GP_METHOD_KERNEL,
	.blocks = 1056,
	.block_ns = 1000000,
};

/* ---- the world ----------------------------------------------------------------- */

static void submit(struct process *p)
{
	for (; p->works && p->queued < 2; p->queued++)
		assert_int_equal(gp_sim_submit(p->context, 0, &kernel, NULL), 0);
}

static void on_event(void *arg, const struct gp_model_event *ev)
{
	struct device *d = arg;

	for (size_t i = 0; ev->type == GP_MODEL_DONE && i < d->count; i++) {
		struct process *p = &d->process[i];

		if (!p->context || gp_sim_context_group(p->context) != ev->group)
			continue;
		p->done++;
		p->queued--;
		submit(p);
	}
}

/* The second device's log has a clock of its own, as a card's has. */
#define LOG_AHEAD_NS (1000000 * MS)

static const struct gp_hal_ops *sim_ops;

static int other_caps(struct gp_device *dev, struct gp_hal_caps *caps)
{
	int err = sim_ops->caps(dev, caps);

	caps->caps &= ~(uint32_t)GP_CAP_VIRTUAL_TIME;
	return err;
}

static int other_log_now(struct gp_log *log, uint64_t *ns)
{
	*ns = gp_sim_now(device[1].sim) + LOG_AHEAD_NS;
	return 0;
}

static ssize_t other_log_read(struct gp_log *log, struct gp_switch_record *rec, size_t n)
{
	ssize_t got = sim_ops->log_read(log, rec, n);

	for (ssize_t i = 0; i < got; i++)
		rec[i].time_ns += LOG_AHEAD_NS;
	return got;
}

static struct gp_hal_ops other_clock_ops;

/* Calls of the second device: on some, even its clock is a message. */
static uint32_t clock_reads, slice_reads;

static int counted_now(struct gp_device *dev, uint64_t *ns)
{
	clock_reads++;
	return sim_ops->now(dev, ns);
}

static int counted_get_slice(struct gp_group *group, uint64_t *us)
{
	slice_reads++;
	return sim_ops->get_slice(group, us);
}

static void device_start(struct device *d, uint16_t number,
			 const struct gp_config_settings *settings)
{
	const struct gp_sim_agent agent = { .arg = d, .event = on_event };
	struct gp_model_config config;
	struct gp_device_id id;
	struct gp_device *hal;

	gp_model_config_h200(&config);
	d->sim = gp_sim_create(&config);
	assert_non_null(d->sim);
	gp_sim_set_agent(d->sim, &agent);
	gp_sim_id(d->sim, &id);
	assert_int_equal(gp_sim_timeslice_ops.open(&id, &hal), 0);
	sim_ops = hal->ops;
	other_clock_ops = *sim_ops;
	other_clock_ops.caps = other_caps;
	other_clock_ops.log_now = other_log_now;
	other_clock_ops.log_read = other_log_read;
	other_clock_ops.now = counted_now;
	other_clock_ops.get_slice = counted_get_slice;
	if (number)
		hal->ops = &other_clock_ops;
	assert_int_equal(gp_ddev_create(loop, &gp_observe_ops, hal, number, settings, journal,
					trace, &d->dev),
			 0);
}

static bool at_work(void)
{
	for (size_t i = 0; i < DEVICES; i++)
		if (gp_runtime_jobs(device[i].dev->rt) || device[i].dev->looking)
			return true;
	return false;
}

static void settle(void)
{
	do
		assert_int_equal(gp_loop_once(loop, at_work() ? 10 : 0), 0);
	while (at_work());
}

/* A timer is never armed for a past time: that would repeat endlessly. */
static void check_timer(const struct device *d)
{
	assert_true(!gp_runtime_due_ns(d->dev->rt) ||
		    gp_runtime_due_ns(d->dev->rt) > gp_sim_now(d->sim));
}

static void run(uint64_t ns)
{
	for (uint64_t ran = 0; ran < ns; ran += STEP_NS) {
		settle();
		for (size_t i = 0; i < DEVICES; i++)
			check_timer(&device[i]);
		for (size_t i = 0; i < DEVICES; i++)
			gp_sim_advance(device[i].sim, gp_sim_now(device[i].sim) + STEP_NS);
	}
	settle();
}

static void gone(struct gp_dtenant *tenant, void *arg)
{
	struct process *p = arg;

	p->tenant = NULL;
}

static void join(struct device *d, struct process *p, struct gp_join *how)
{
	assert_int_equal(gp_proc_read(p->pid, &how->who), 0);
	assert_int_equal(d->dev->hal->ops->groups(d->dev->hal, p->pid, &how->list), 0);
	assert_int_equal(gp_dtenant_join(d->dev, how, &p->tenant), 0);
	settle();
}

static struct process *tenant(struct device *d, struct gp_class_value cls, bool works, bool page)
{
	struct process *p = &d->process[d->count++];
	struct gp_join how = { .origin = GP_WIRE_BY_RUN,
			       .request.cls = cls,
			       .why = "a test",
			       .page = page,
			       .gone = gone,
			       .arg = p };

	*p = (struct process){ .pid = gp_child_start(), .works = works };
	assert_int_equal(gp_sim_process_add(d->sim, p->pid), 0);
	p->context = gp_sim_context_create(d->sim, p->pid, 1);
	assert_non_null(p->context);
	submit(p);
	join(d, p, &how);
	return p;
}

/* A latency-critical tenant of @level with a page that reports its work. */
static struct process *teller(struct device *d, uint32_t level)
{
	struct process *p = tenant(d, (struct gp_class_value){ GP_CLASS_LC, level }, false, true);

	atomic_store(&p->tenant->page->provides, GP_PAGE_PROVIDES_WORK);
	return p;
}

static struct process *be(struct device *d, uint32_t weight)
{
	return tenant(d, (struct gp_class_value){ GP_CLASS_BE, weight }, true, false);
}

static int start(void **state)
{
	const struct gp_config_settings settings = { .quantum_ns = 50 * MS, POLICIES };

	snprintf(journal_path, sizeof(journal_path), "/tmp/gpreempt-test-device.%d", (int)getpid());
	memset(device, 0, sizeof(device));
	assert_int_equal(gp_loop_create(&loop), 0);
	assert_int_equal(gp_trace_create(loop, &trace), 0);
	assert_int_equal(gp_journal_open(journal_path, &journal), 0);
	assert_int_equal(gp_journal_take(journal, GP_ROLE_DAEMON), 0);
	for (uint16_t i = 0; i < DEVICES; i++)
		device_start(&device[i], i, &settings);
	return 0;
}

static uint32_t records(void)
{
	struct gp_journal_record r;
	uint32_t n = 0;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		n += gp_journal_get(journal, i, &r);
	return n;
}

static void expect_as_found(struct device *d, struct process *p)
{
	struct gp_group_list list = { 0 };
	uint64_t us = 0, before = p->done;

	assert_int_equal(d->dev->hal->ops->groups(d->dev->hal, p->pid, &list), 0);
	for (size_t i = 0; i < list.count; i++)
		if (list.group[i]->kind == GP_GROUP_COMPUTE)
			assert_int_equal(list.group[i]->dev->ops->get_slice(list.group[i], &us), 0);
	gp_group_list_put(&list);
	assert_int_equal(us, d->dev->caps.default_slice_us);
	if (!p->works)
		return;
	for (int i = 0; i < 100 && p->done == before; i++)
		run(MS);
	assert_true(p->done > before);
}

/* All leave, are as they were found, and the journal has nothing of them. */
static int end(void **state)
{
	for (size_t i = 0; i < DEVICES; i++)
		while (device[i].dev->tenants)
			gp_dtenant_leave(device[i].dev->tenants, false);
	for (int i = 0; i < 1000 && (gp_ddev_putting_back(device[0].dev) ||
				     gp_ddev_putting_back(device[1].dev));
	     i++)
		run(MS);
	for (size_t i = 0; i < DEVICES; i++) {
		struct device *d = &device[i];

		assert_false(gp_ddev_putting_back(d->dev));
		for (size_t k = 0; k < d->count; k++) {
			struct process *p = &d->process[k];

			if (p->context)
				expect_as_found(d, p);
			gp_child_end(p->pid);
		}
	}
	assert_int_equal(records(), 0);
	for (size_t i = 0; i < DEVICES; i++) {
		struct gp_sim *sim = device[i].sim;

		gp_ddev_destroy(device[i].dev);
		gp_sim_destroy(sim);
	}
	gp_trace_destroy(trace);
	gp_journal_close(journal);
	gp_loop_destroy(loop);
	unlink(journal_path);
	return 0;
}

/* ---- tests ---------------------------------------------------------------------- */

static double share(const struct process *p, uint64_t ns)
{
	return (double)p->done * MS / (double)ns;
}

static void test_shares_on_each_device(void **state)
{
	const uint64_t ns = 4000 * MS;
	struct process *p[3], *other[2];
	double sum = 0, others;

	for (int i = 0; i < 3; i++)
		p[i] = be(&device[0], 100);
	other[0] = be(&device[1], 100);
	other[1] = be(&device[1], 300);
	assert_int_equal(records(), 5);
	run(ns);
	for (int i = 0; i < 3; i++)
		sum += share(p[i], ns);
	others = share(other[0], ns) + share(other[1], ns);
	printf("three equal: %.3f %.3f %.3f of %.3f; 100 and 300: %.3f %.3f\n", share(p[0], ns),
	       share(p[1], ns), share(p[2], ns), sum, share(other[0], ns), share(other[1], ns));
	assert_true(sum > 0.96 && others > 0.96);
	for (int i = 0; i < 3; i++)
		assert_true(share(p[i], ns) > sum / 3 - 0.02);
	assert_true(share(other[1], ns) > 0.7 * others && share(other[1], ns) < 0.8 * others);
	/* The daemon's observation is right. */
	for (int i = 0; i < 3; i++)
		assert_in_range(p[i]->tenant->used_ns, p[i]->done * MS * 95 / 100,
				p[i]->done * MS * 110 / 100 + 50 * MS);
}

static int fails_to_arm(struct gp_timer *timer, uint64_t at_ns)
{
	return -ENOMEM;
}

/* The tenant of the next turn within 0.5 s of real time; the same one: no turn ended. */
static uint32_t next_resident(struct device *d)
{
	const struct gp_sched *core = gp_runtime_core(d->dev->rt);
	const uint32_t had = gp_sched_resident(core);

	for (int i = 0; i < 50 && gp_sched_resident(core) == had; i++) {
		gp_sim_advance(d->sim, gp_sim_now(d->sim) + 5 * MS);
		usleep(10000);
		settle();
	}
	return gp_sched_resident(core);
}

/* Turns end without the device's timer, too: long before the next look, 1 s later. */
static void test_a_timer_that_fails(void **state)
{
	struct gp_ddev *dev = device[0].dev;

	be(&device[0], 100);
	be(&device[0], 100);
	run(100 * MS);
	dev->ops.timer_arm = fails_to_arm;
	/* The first one has its timer still. */
	for (int k = 0; k < 3; k++) {
		const uint32_t had = gp_sched_resident(gp_runtime_core(dev->rt));

		assert_int_not_equal(next_resident(&device[0]), had);
	}
	assert_true(dev->arm_failed);
	/* It is set again as soon as it can be. */
	dev->ops.timer_arm = sim_ops->timer_arm;
	usleep(20000);
	settle();
	assert_false(dev->arm_failed);
}

static void test_idle_costs_nothing(void **state)
{
	const struct gp_class_value cls = { GP_CLASS_BE, 100 };
	struct process *busy = be(&device[0], 100);
	struct process *idle = tenant(&device[0], cls, false, false);
	uint64_t before;

	run(200 * MS);
	assert_int_equal(idle->tenant->reported, GP_REPORTED_IDLE);
	before = busy->done;
	run(1000 * MS);
	printf("beside an idle one: %.3f\n", (double)(busy->done - before) / 1000);
	assert_true(busy->done - before >= 1000 * 98 / 100);
	/* It has work again, and gets its half of the time. */
	idle->works = true;
	submit(idle);
	run(10 * MS);
	gp_ddev_observe(device[0].dev); /* in real time this happens nine times a second */
	run(100 * MS);
	before = idle->done;
	run(1000 * MS);
	assert_true(idle->done - before > 1000 * 4 / 10);
	/* A look by the wall's clock may have found it between two kernels. */
	for (int i = 0; i < 200 && idle->tenant->reported != GP_REPORTED_BUSY; i++) {
		run(MS);
		gp_ddev_observe(device[0].dev);
		settle();
	}
	assert_int_equal(idle->tenant->reported, GP_REPORTED_BUSY);
}

/* A best-effort tenant without work and with a page that reports work. */
static struct process *idle_teller(struct device *d)
{
	struct process *p = tenant(d, (struct gp_class_value){ GP_CLASS_BE, 100 }, false, true);

	atomic_store(&p->tenant->page->provides, GP_PAGE_PROVIDES_WORK);
	return p;
}

/* What the wall's clock brings in a second to a device that nobody uses. */
static void unused_second(struct gp_ddev *dev)
{
	gp_observe_ops.notice(dev);
	settle();
	gp_observe_ops.idle(dev);
	settle();
}

static void until_unused(struct device *d)
{
	run(200 * MS);
	for (int i = 0; i < 8; i++)
		unused_second(d->dev);
}

static uint32_t clock_reads_of_a_second(struct device *d)
{
	until_unused(d);
	clock_reads = 0;
	unused_second(d->dev);
	return clock_reads;
}

static void test_idle_tenants_cost_no_calls(void **state)
{
	struct device *d = &device[1];
	uint32_t few, many, all;

	for (int i = 0; i < 2; i++)
		idle_teller(d);
	few = clock_reads_of_a_second(d);
	for (int i = 2; i < MOST; i++)
		idle_teller(d);
	many = clock_reads_of_a_second(d);
	printf("reads of the clock in a second: beside 2 %u, beside %d %u\n", few, MOST, many);
	/* One look at the pages and one at the log, and not twice. */
	assert_in_range(few, 1, 8);
	assert_int_equal(many, few);
	slice_reads = 0;
	gp_ddev_enforce(d->dev);
	settle();
	all = slice_reads;
	for (int i = 0; i < 16; i++)
		unused_second(d->dev);
	assert_in_range(all, MOST, 4 * MOST);
	assert_int_equal(slice_reads, 3 * all);
}

/* Its slice delays others only with work, and is right soon after that begins. */
static void test_a_slice_set_while_nobody_works(void **state)
{
	struct device *d = &device[1];
	struct gp_group_list list = { 0 };
	struct process *p = idle_teller(d);
	uint64_t us = 0;

	idle_teller(d);
	until_unused(d);
	assert_int_equal(sim_ops->groups(d->dev->hal, p->pid, &list), 0);
	assert_int_equal(sim_ops->set_slice(list.group[0], 3000), 0);
	for (int i = 0; i < 10 && !d->dev->unchecked; i++)
		unused_second(d->dev);
	assert_true(d->dev->unchecked);
	assert_int_equal(p->tenant->corrected, 0);
	atomic_store(&p->tenant->page->activity, GP_PAGE_WORK);
	atomic_fetch_add(&p->tenant->page->work_seq, 1);
	gp_ddev_observe_pages(d->dev); /* as its wake does */
	settle();
	assert_int_equal(p->tenant->corrected, 1);
	assert_int_equal(sim_ops->get_slice(list.group[0], &us), 0);
	assert_int_not_equal(us, 3000);
	gp_group_list_put(&list);
	atomic_store(&p->tenant->page->activity, 0);
}

/*
 * A latency-critical tenant without further work keeps the device, and a best-effort one
 * without work keeps its turn. Waiting tenants still get it.
 */
static void test_two_that_idle_stop_nobody(void **state)
{
	const struct gp_config_settings settings = { .quantum_ns = 50 * MS,
						     .be_min_pct = 5,
						     POLICIES };
	const struct gp_class_value cls = { GP_CLASS_LC, 0 };
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);
	struct process *lc = tenant(&device[0], cls, false, false);
	struct process *has, *waits;
	uint64_t before;

	gp_ddev_settings(device[0].dev, &settings);
	run(210 * MS);
	has = device[0].dev->resident == a->tenant->id ? a : b;
	waits = has == a ? b : a;
	has->works = false;
	run(5 * MS);
	lc->works = true;
	submit(lc);
	run(3 * MS);
	gp_ddev_observe(device[0].dev);
	run(2 * MS);
	assert_int_equal(lc->tenant->reported, GP_REPORTED_BUSY);
	lc->works = false;
	run(10 * MS);
	before = waits->done;
	run(300 * MS);
	printf("in 300 ms: %llu\n", (unsigned long long)(waits->done - before));
	assert_true(waits->done - before > 240);
}

/* A capped tenant's turns end; without any work, no turn is to come. */
static void test_capped_and_idle(void **state)
{
	const struct gp_config_settings settings = { .quantum_ns = 50 * MS,
						     .be_policy = &gp_policy_credit,
						     .lc_policy = &gp_policy_level };
	struct gp_class_request capped = { .cls = { GP_CLASS_BE, 100 }, .cap_pct = 30 };
	struct process *p[2];

	gp_ddev_settings(device[0].dev, &settings);
	for (int i = 0; i < 2; i++) {
		p[i] = be(&device[0], 100);
		assert_int_equal(gp_dtenant_class(p[i]->tenant, &capped, true, "a test"), 0);
	}
	run(1000 * MS);
	for (int i = 0; i < 2; i++)
		assert_true(share(p[i], 1000 * MS) > 0.2 && share(p[i], 1000 * MS) < 0.32);
	for (int i = 0; i < 2; i++)
		p[i]->works = false;
	run(500 * MS);
	assert_int_equal(gp_runtime_due_ns(device[0].dev->rt), 0);
}

static void test_a_page_puts_off(void **state)
{
	const struct gp_class_value cls = { GP_CLASS_LC, 0 };
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);
	struct process *lc = tenant(&device[0], cls, false, true);
	uint64_t turns;

	atomic_store(&lc->tenant->page->provides, GP_PAGE_PROVIDES_WORK);
	run(200 * MS);
	/* The segment never ends: a turn of 50 ms becomes one of 70. */
	atomic_store(&lc->tenant->page->activity, GP_PAGE_SEGMENT);
	run(10 * MS);
	turns = a->tenant->turns + b->tenant->turns;
	run(700 * MS);
	assert_in_range(a->tenant->turns + b->tenant->turns - turns, 9, 11);
	/* No segment at all. */
	atomic_store(&lc->tenant->page->activity, 0);
	run(100 * MS);
	turns = a->tenant->turns + b->tenant->turns;
	run(700 * MS);
	assert_in_range(a->tenant->turns + b->tenant->turns - turns, 13, 15);
}

static void assert_admits(const struct gp_class_request *request, const char *refusal)
{
	char why[256] = "";

	assert_int_equal(gp_dtenant_admit(device[0].dev, NULL, request, why, sizeof(why)),
			 refusal ? -EINVAL : 0);
	if (refusal)
		assert_non_null(strstr(why, refusal));
}

/* A class that cannot be enforced is refused. */
static void test_what_is_not_kept_is_refused(void **state)
{
	struct gp_config_settings s = device[0].dev->settings;
	const struct gp_class_request due = { .cls = { GP_CLASS_LC, 0 },
					      .period_ns = 20 * MS,
					      .deadline_ns = 15 * MS,
					      .runtime_ns = MS };
	const struct gp_class_request capped = { .cls = { GP_CLASS_BE, 100 }, .cap_pct = 30 };

	assert_admits(&due, "its lc_policy is level; they need edf");
	assert_admits(&capped, "its be_policy is fair; they need credit");
	s.lc_policy = &gp_policy_edf;
	s.be_policy = &gp_policy_credit;
	gp_ddev_settings(device[0].dev, &s);
	assert_admits(&due, NULL);
	assert_admits(&capped, NULL);
	device[0].dev->caps.caps |= GP_CAP_CLASS;
	gp_ddev_settings(device[0].dev, &s);
	assert_admits(&due, "deadlines have no effect on ");
	assert_admits(&capped, "its driver schedules by weights");
	device[0].dev->caps.caps &= ~(uint32_t)GP_CAP_CLASS;
}

/* The first step after the end of a turn must consider the pages. */
static void test_no_step_ends_a_turn_into_work(void **state)
{
	const struct gp_class_value cls = { GP_CLASS_LC, 0 };
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);
	struct process *lc = tenant(&device[0], cls, false, true);
	struct gp_page *page = lc->tenant->page;
	struct gp_ddev *dev = device[0].dev;
	const struct gp_event ev = { .type = GP_EV_USAGE, .tenant = a->tenant->id };
	uint64_t turns, over_ns;

	atomic_store(&page->provides, GP_PAGE_PROVIDES_WORK | GP_PAGE_PROVIDES_NEXT);
	run(210 * MS);
	over_ns = gp_runtime_due_ns(dev->rt);
	assert_true(over_ns > gp_sim_now(device[0].sim));
	turns = a->tenant->turns + b->tenant->turns;
	atomic_store(&page->next_ns, over_ns + MS);
	gp_sim_advance(device[0].sim, over_ns);
	assert_int_equal(gp_runtime_event(dev->rt, &ev), 0);
	assert_int_equal(a->tenant->turns + b->tenant->turns, turns);
	assert_int_equal(lc->tenant->reported, GP_REPORTED_SOON);
	/* It did not come after all. */
	atomic_store(&page->next_ns, 0);
	run(5 * MS);
	assert_int_equal(a->tenant->turns + b->tenant->turns, turns + 1);
}

/* As the tenant's own code writes it on its page .. */
static void begins(struct process *p, uint32_t activity)
{
	atomic_fetch_add(&p->tenant->page->work_seq, 1);
	atomic_store(&p->tenant->page->activity, activity);
}

static void wake_by(struct process *p)
{
	const uint64_t one = 1;

	assert_int_equal(write(p->tenant->wake.fd, &one, sizeof(one)), sizeof(one));
}

/* .. with a wake. */
static void says(struct process *p, uint32_t activity)
{
	if (activity)
		begins(p, activity);
	else
		atomic_store(&p->tenant->page->activity, 0);
	wake_by(p);
}

static bool is_off(const struct process *p)
{
	return p->tenant->off_since_ns != 0;
}

/* Without activity it would check once a second of real time. */
static void look_after(struct process *p, uint64_t ns)
{
	run(ns);
	wake_by(p);
	run(MS);
}

static void work(struct process *p, bool works)
{
	p->works = works;
	submit(p);
	atomic_store(&p->tenant->page->activity, works ? GP_PAGE_WORK : 0);
	look_after(p, 100 * MS);
}

/* A best-effort tenant with observed launches; idle so far. */
static struct process *watched(struct device *d)
{
	struct process *p = tenant(d, (struct gp_class_value){ GP_CLASS_BE, 100 }, false, true);

	atomic_store(&p->tenant->page->provides, GP_PAGE_PROVIDES_WORK);
	return p;
}

static void begin_burst(struct process *p)
{
	const bool wakes = atomic_load(&p->tenant->page->wake_on) & GP_PAGE_WAKE_NOW;

	begins(p, GP_PAGE_WORK);
	p->works = true;
	submit(p);
	if (wakes)
		wake_by(p);
}

/* For @ns, every @every_ns, work of @length_ns; it waits for that, and reports it. */
static void bursts(struct process *p, uint64_t length_ns, uint64_t every_ns, uint64_t ns)
{
	uint64_t until = 0;

	for (uint64_t at = 0; at < ns; at += STEP_NS) {
		if (at % every_ns == 0) {
			until += length_ns / MS;
			begin_burst(p);
		}
		if (p->done + p->queued >= until)
			p->works = false;
		run(STEP_NS);
		if (!p->queued)
			atomic_store(&p->tenant->page->activity, 0);
	}
}

/* A tenant with work for a tenth of the time costs the others only that, and the turns. */
static void test_a_turn_ends_with_the_work(void **state)
{
	const uint64_t ns = 2000 * MS;
	struct process *full = be(&device[0], 100), *part = watched(&device[0]);

	assert_true(atomic_load(&part->tenant->page->wake_on) & GP_PAGE_ASKS_WORK);
	bursts(part, 10 * MS, 100 * MS, ns);
	printf("one always, one 10 of 100 ms: %.3f %.3f\n", share(full, ns), share(part, ns));
	assert_true(share(part, ns) > 0.09);
	assert_true(share(full, ns) > 0.83);
	assert_false(part->tenant->page_wrong);
}

/* A single tenant is not asked for reports. */
static void test_one_alone_is_asked_nothing(void **state)
{
	struct process *one = watched(&device[0]), *two;

	assert_int_equal(atomic_load(&one->tenant->page->wake_on), 0);
	two = watched(&device[0]);
	assert_int_equal(atomic_load(&one->tenant->page->wake_on), GP_PAGE_ASKS_WORK);
	gp_dtenant_leave(two->tenant, false);
	run(10 * MS);
	assert_int_equal(atomic_load(&one->tenant->page->wake_on), 0);
}

/* Suspended at first, because it reports; then resumed, in case it does not. */
static void test_who_tells_is_off_for_a_while(void **state)
{
	struct process *part = watched(&device[0]);

	be(&device[0], 100);
	/* Its turn began, and is over. */
	run(60 * MS);
	assert_int_equal(part->tenant->reported, GP_REPORTED_IDLE);
	assert_true(is_off(part));
	run(120 * MS);
	assert_int_equal(part->tenant->reported, GP_REPORTED_IDLE);
	assert_false(is_off(part));
	begin_burst(part);
	run(2 * MS);
	assert_int_equal(part->tenant->reported, GP_REPORTED_BUSY);
	part->works = false;
	run(100 * MS);
	atomic_store(&part->tenant->page->activity, 0);
	for (int i = 0; i < 100 && part->tenant->reported != GP_REPORTED_IDLE; i++)
		run(MS);
	run(2 * MS);
	assert_true(is_off(part));
	/* Its program ended, or no longer observes its work. */
	atomic_store(&part->tenant->page->provides, 0);
	look_after(part, 5 * MS);
	assert_false(is_off(part));
}

/* It waited for one of two streams. Its remaining work runs, and it has turns again. */
static void test_a_page_that_is_wrong(void **state)
{
	const uint64_t ns = 2000 * MS;
	struct process *full = be(&device[0], 100), *wrong = watched(&device[0]);
	uint64_t before[2];

	wrong->works = true;
	submit(wrong);
	for (int i = 0; i < 10; i++) {
		run(100 * MS);
		gp_ddev_observe(device[0].dev);
		run(MS);
	}
	assert_true(wrong->tenant->page_wrong);
	before[0] = full->done;
	before[1] = wrong->done;
	run(ns);
	assert_in_range(full->done - before[0], 900, 1050);
	assert_in_range(wrong->done - before[1], 900, 1050);
}

/* The log shows its new work before its wake is handled. */
static void test_a_page_that_is_right(void **state)
{
	struct process *part = watched(&device[0]);

	be(&device[0], 100);
	for (int i = 0; i < 4; i++) {
		run(100 * MS);
		gp_ddev_observe(device[0].dev);
	}
	assert_int_equal(part->tenant->reported, GP_REPORTED_IDLE);
	run(100 * MS);
	begins(part, GP_PAGE_WORK);
	part->works = true;
	submit(part);
	gp_sim_advance(device[0].sim, gp_sim_now(device[0].sim) + 5 * MS);
	gp_ddev_observe(device[0].dev);
	run(MS);
	assert_false(part->tenant->page_wrong);
	assert_int_equal(part->tenant->reported, GP_REPORTED_BUSY);
}

static bool is_known(const struct process *p, uint32_t id)
{
	const struct gp_runtime_group *g = NULL;

	while ((g = gp_runtime_next(p->tenant->dev->rt, p->tenant, g)))
		if (g->id == id)
			return true;
	return false;
}

/* A second context, of a mover by the page of @p, is found as the process asks for a look. */
static struct gp_sim_context *add_mover(struct device *d, struct process *p)
{
	struct gp_sim_context *mover = gp_sim_context_create(d->sim, p->pid, 1);
	struct gp_group_list list = { 0 };

	assert_non_null(mover);
	assert_int_equal(d->dev->hal->ops->groups(d->dev->hal, p->pid, &list), 0);
	for (size_t i = 0; i < list.count; i++)
		if (list.group[i]->kind == GP_GROUP_COMPUTE && !is_known(p, list.group[i]->id))
			atomic_store(&p->tenant->page->mover[0], list.group[i]->id);
	gp_dtenant_groups(p->tenant, &list);
	settle();
	return mover;
}

static bool shows(const struct process *p, uint32_t flag)
{
	struct gp_wire_tenant row = { 0 };

	gp_dtenant_show(p->tenant, &row);
	return row.flags & flag;
}

/* It has nothing to run, so it uses no turns of its process. */
static void test_a_mover_has_no_turns(void **state)
{
	struct device *d = &device[0];
	struct process *moves = tenant(d, (struct gp_class_value){ GP_CLASS_BE, 100 }, true, true);
	struct process *other = be(d, 100);
	const uint64_t ns = 2000 * MS;
	uint64_t before[2];

	add_mover(d, moves);
	run(200 * MS);
	before[0] = moves->done;
	before[1] = other->done;
	run(ns);
	printf("with a mover: %lu, another: %lu\n", (unsigned long)(moves->done - before[0]),
	       (unsigned long)(other->done - before[1]));
	assert_in_range(moves->done - before[0], 900, 1050);
	assert_in_range(other->done - before[1], 900, 1050);
	assert_false(moves->tenant->mover_wrong);
	/* It runs on in the other's turns, and its process counts as suspended in these. */
	for (int i = 0; i < 200 && !shows(moves, GP_WIRE_SUSPENDED); i++)
		run(MS);
	assert_true(shows(moves, GP_WIRE_SUSPENDED));
}

/* A process calls a group with kernels its mover's. These then take turns like others. */
static void test_a_mover_that_is_none(void **state)
{
	struct device *d = &device[0];
	struct process *lies = tenant(d, (struct gp_class_value){ GP_CLASS_BE, 100 }, true, true);
	struct process *other = be(d, 100);
	struct gp_sim_context *context = add_mover(d, lies), *was = lies->context;
	const uint64_t ns = 2000 * MS;
	uint64_t before;

	lies->context = context;
	lies->queued = 0;
	submit(lies);
	for (int i = 0; i < 10; i++) {
		run(100 * MS);
		gp_ddev_observe(d->dev);
	}
	assert_true(lies->tenant->mover_wrong);
	before = other->done;
	run(ns);
	printf("beside a mover that is none: %lu\n", (unsigned long)(other->done - before));
	assert_in_range(other->done - before, 900, 2000);
	lies->context = was;
	lies->works = false;
}

/* The page of a tenant that always has work is read less and less often. */
static void test_who_is_always_busy(void **state)
{
	struct process *p[] = { be(&device[0], 100), be(&device[0], 100), watched(&device[0]) };
	const uint64_t ns = 3000 * MS;
	double sum = 0;

	begin_burst(p[2]);
	run(ns);
	for (int i = 0; i < 3; i++)
		sum += share(p[i], ns);
	assert_true(sum > 0.96);
	assert_true(share(p[2], ns) > sum / 3 - 0.02);
	assert_int_equal(p[2]->tenant->look_shift, 3);
}

/* A wake is requested while some tenant could be preempted, and from that tenant. */
static void test_nobody_to_cut_no_wake(void **state)
{
	const struct gp_class_value cls[] = { { GP_CLASS_LC, 0 }, { GP_CLASS_LC, 1 } };
	struct process *lc = tenant(&device[0], cls[0], false, true);
	struct process *less = tenant(&device[0], cls[1], false, true);
	struct gp_page *page[] = { lc->tenant->page, less->tenant->page };
	const uint32_t now = GP_PAGE_WAKE_LATER | GP_PAGE_WAKE_NOW;
	const uint32_t cut = now | GP_PAGE_WAKE_NEXT;

	/* The log has never shown them. */
	assert_int_equal(atomic_load(&page[0]->wake_on), GP_PAGE_WAKE_LATER);
	assert_int_equal(atomic_load(&page[1]->wake_on), cut);
	for (int i = 0; i < 2; i++)
		atomic_store(&page[i]->provides, GP_PAGE_PROVIDES_WORK);
	work(less, true);
	assert_int_equal(atomic_load(&page[0]->wake_on), now);
	assert_int_equal(atomic_load(&page[1]->wake_on), cut);
	work(less, false);
	assert_int_equal(atomic_load(&page[0]->wake_on), GP_PAGE_WAKE_LATER);
	assert_int_equal(atomic_load(&page[1]->wake_on), cut);
}

/*
 * LC beside BE reports launches that pile up, and no other work: each wake costs its request a
 * system call. While BE may have a long slice it reports all.
 */
static void test_wakes_of_launches_that_pile_up(void **state)
{
	struct process *lc =
		tenant(&device[0], (struct gp_class_value){ GP_CLASS_LC, 0 }, false, true);
	struct gp_page *page = lc->tenant->page;

	be(&device[0], 100);
	atomic_store(&page->provides, GP_PAGE_PROVIDES_WORK | GP_PAGE_PROVIDES_PILES);
	/* Its idle time is the loop's, not the device's. */
	device[0].dev->idles = 10;
	work(lc, true);
	work(lc, false);
	assert_int_equal(atomic_load(&page->wake_on), GP_PAGE_TAKES_PILES);
	atomic_store(&page->needs_ns, gp_sim_now(device[0].sim) + 20 * MS);
	begins(lc, GP_PAGE_WORK | GP_PAGE_PILES);
	wake_by(lc);
	run(MS);
	assert_int_equal(atomic_load(&page->wake_on), GP_PAGE_TAKES_PILES | GP_PAGE_WAKE_NOW);
	atomic_store(&page->activity, 0);
	wake_by(lc);
	run(5000 * MS);
	assert_int_equal(atomic_load(&page->wake_on), GP_PAGE_TAKES_PILES | GP_PAGE_WAKE_NOW);
	run(8000 * MS);
	work(lc, true);
	work(lc, false);
	assert_int_equal(atomic_load(&page->wake_on), GP_PAGE_TAKES_PILES);
}

/* Where only the log reports, and late, a tenant that worked a moment ago may be preempted. */
static void wakes_by_the_log(struct device *d)
{
	const struct gp_class_value cls[] = { { GP_CLASS_LC, 0 }, { GP_CLASS_LC, 1 } };
	const uint32_t now = GP_PAGE_WAKE_LATER | GP_PAGE_WAKE_NOW;
	struct process *lc = tenant(d, cls[0], false, true);
	struct process *less = tenant(d, cls[1], false, true);
	struct gp_page *page = lc->tenant->page;

	less->works = true;
	submit(less);
	look_after(less, 200 * MS);
	assert_int_equal(atomic_load(&page->wake_on), now);
	less->works = false;
	lc->works = true;
	submit(lc);
	look_after(lc, 200 * MS);
	assert_int_equal(atomic_load(&page->wake_on), now);
	look_after(lc, 2000 * MS);
	assert_int_equal(atomic_load(&page->wake_on), GP_PAGE_WAKE_LATER);
}

static void test_wakes_by_the_log(void **state)
{
	wakes_by_the_log(&device[0]);
	wakes_by_the_log(&device[1]);
}

/* A turn that is over waits for expected work, also when that arrives. */
static void test_a_wake_ends_no_turn(void **state)
{
	const struct gp_class_value cls[] = { { GP_CLASS_LC, 0 }, { GP_CLASS_LC, 1 } };
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);
	struct process *lc = tenant(&device[0], cls[0], false, true);
	struct process *less = tenant(&device[0], cls[1], false, true);
	struct gp_page *page = lc->tenant->page;
	struct gp_ddev *dev = device[0].dev;
	uint64_t turns, over_ns;

	assert_true(atomic_load(&less->tenant->page->wake_on) & GP_PAGE_WAKE_NOW);
	atomic_store(&page->provides, GP_PAGE_PROVIDES_WORK | GP_PAGE_PROVIDES_NEXT);
	atomic_store(&less->tenant->page->provides, GP_PAGE_PROVIDES_WORK);
	run(210 * MS);
	over_ns = gp_runtime_due_ns(dev->rt);
	turns = a->tenant->turns + b->tenant->turns;
	atomic_store(&page->next_ns, over_ns + MS);
	run(over_ns + MS / 2 - gp_sim_now(device[0].sim));
	assert_true(gp_sched_rotation_deferred(gp_runtime_core(dev->rt)));
	/* It arrives. */
	atomic_store(&page->next_ns, 0);
	says(lc, GP_PAGE_HELD);
	run(2 * MS);
	assert_int_equal(a->tenant->turns + b->tenant->turns, turns);
	assert_true(gp_sched_rotation_deferred(gp_runtime_core(dev->rt)));
	atomic_store(&page->activity, 0);
	run(2 * MS);
	assert_int_equal(a->tenant->turns + b->tenant->turns, turns + 1);
}

/* All records of @kind that a trace's reader has got so far. None is of the future. */
static size_t traced(int fd, uint16_t kind, const struct device *d)
{
	union gp_wire_msg msg;
	size_t n = 0;

	while (gp_wire_recv(fd, &msg, NULL, NULL) > 0) {
		assert_int_equal(msg.head.type, GP_WIRE_TRACED);
		assert_int_equal(msg.traced.lost, 0);
		for (uint32_t i = 0; i < msg.traced.count; i++) {
			assert_true(msg.traced.record[i].time_ns <= gp_sim_now(d->sim));
			n += msg.traced.record[i].kind == kind;
		}
	}
	return n;
}

/* The device's activity and the decisions have one clock. */
static void test_a_trace_has_one_clock(void **state)
{
	size_t starts = 0;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(gp_trace_reader(trace, fd[1], 0), 0);
	be(&device[1], 100);
	be(&device[1], 100);
	run(200 * MS);
	/* It is sent in real time. */
	for (int i = 0; i < 100 && starts < 3; i++) {
		assert_int_equal(gp_loop_once(loop, 10), 0);
		starts += traced(fd[0], GP_WIRE_TRACE_START, &device[1]);
	}
	assert_true(starts >= 3);
	assert_true(device[1].dev->clocks.known);
	assert_int_equal(device[1].dev->clocks.ahead_ns, LOG_AHEAD_NS);
	close(fd[0]);
}

/* Work for 10 ms; then 20 ms pass. */
static void had_work(struct process *p)
{
	says(p, GP_PAGE_HELD);
	run(10 * MS);
	says(p, 0);
	run(20 * MS);
}

/*
 * Best-effort is suspended before long work that will be preempted, and resumed if that does
 * not come.
 */
static void test_best_effort_is_off_before_long_work(void **state)
{
	const struct gp_class_value cls[] = { { GP_CLASS_LC, 0 }, { GP_CLASS_LC, 1 } };
	struct process *a = be(&device[0], 100);
	struct process *lc = tenant(&device[0], cls[0], false, true);
	struct process *less = tenant(&device[0], cls[1], false, true);
	struct gp_page *page[] = { lc->tenant->page, less->tenant->page };

	for (int i = 0; i < 2; i++)
		atomic_store(&page[i]->provides, GP_PAGE_PROVIDES_WORK | GP_PAGE_PROVIDES_NEXT);
	for (int comes = 0; comes < 2; comes++) {
		had_work(lc);
		had_work(less);
		assert_false(is_off(a));
		atomic_store(&page[1]->next_ns, gp_sim_now(device[0].sim) + 20 * MS);
		wake_by(less);
		run(17 * MS);
		assert_false(is_off(a));
		run(2 * MS);
		assert_true(is_off(a));
		if (comes)
			begins(less, GP_PAGE_HELD);
		run(3 * MS);
		assert_int_equal(is_off(a), comes);
	}
	/* The wake for an earlier observation changes nothing. */
	wake_by(less);
	run(MS);
	assert_int_equal(less->tenant->reported, GP_REPORTED_BUSY);
	assert_true(is_off(a));
	says(less, 0);
	run(3 * MS);
	assert_false(is_off(a));
}

/* Between two levels best-effort would have a turn at each preemption. */
static void test_off_while_levels_alternate(void **state)
{
	struct process *a = be(&device[0], 100);
	struct process *urgent = teller(&device[0], 0);
	struct process *less = teller(&device[0], 1);
	struct gp_ddev *dev = device[0].dev;
	uint64_t preempts;

	run(20 * MS);
	says(urgent, GP_PAGE_WORK);
	run(MS);
	says(urgent, 0);
	run(MS);
	says(less, GP_PAGE_WORK);
	run(MS / 2);
	assert_false(is_off(a));
	run(2 * MS);
	assert_true(is_off(a));
	preempts = dev->stat.preempts;
	says(urgent, GP_PAGE_HELD);
	run(MS);
	assert_true(dev->stat.preempts > preempts);
	says(urgent, 0);
	run(MS);
	assert_true(is_off(a));
	says(less, 0);
	run(2 * MS);
	assert_false(is_off(a));
}

/*
 * One job ended and another began between two checks: the second is recognised as other work,
 * and preempted for. A wake alone is not.
 */
static void test_other_work_is_told(void **state)
{
	struct process *urgent = teller(&device[0], 0);
	struct process *less = teller(&device[0], 1);
	struct gp_ddev *dev = device[0].dev;
	uint64_t preempts;

	says(less, GP_PAGE_WORK);
	says(urgent, GP_PAGE_HELD);
	run(MS);
	preempts = dev->stat.preempts;
	assert_true(preempts > 0);
	wake_by(urgent);
	run(MS);
	assert_int_equal(dev->stat.preempts, preempts);
	says(urgent, GP_PAGE_HELD);
	run(MS);
	assert_true(dev->stat.preempts > preempts);
}

/* It got the device although the urgent one had asked for it, and no page reports. */
static void test_who_is_seen_on_is_cut(void **state)
{
	const struct gp_class_value cls[] = { { GP_CLASS_LC, 0 }, { GP_CLASS_LC, 1 } };
	struct process *urgent = tenant(&device[0], cls[0], false, true);
	struct process *less = tenant(&device[0], cls[1], false, false);
	struct gp_ddev *dev = device[0].dev;
	uint64_t preempts;

	run(200 * MS);
	says(urgent, GP_PAGE_HELD);
	run(MS / 5);
	preempts = dev->stat.preempts;
	less->works = true;
	submit(less);
	run(MS);
	assert_true(dev->stat.preempts > preempts);
}

static void test_what_a_page_says_of_holds(void **state)
{
	const struct gp_class_value cls = { GP_CLASS_LC, 0 };
	struct process *lc = tenant(&device[0], cls, false, true);
	struct gp_page *page = lc->tenant->page;
	struct gp_wire_tenant out = { 0 };

	for (uint64_t i = 0; i < 3 * GP_PAGE_SAMPLES; i++) {
		struct gp_page_sample *s = &page->sample[i % GP_PAGE_SAMPLES];

		atomic_store(&s->held_ns, 500000);
		atomic_store(&s->switch_ns, i % 2 ? 170000 : 0);
		atomic_store(&page->samples, i + 1);
	}
	gp_dtenant_show(lc->tenant, &out);
	/* Of three rounds the last is there; half of them have a duration. */
	assert_int_equal(lc->tenant->hist[GP_WIRE_HIST_HOLD].total, GP_PAGE_SAMPLES);
	assert_int_equal(lc->tenant->hist[GP_WIRE_HIST_SWITCH].total, GP_PAGE_SAMPLES / 2);
	assert_in_range(out.switch_p50_ns, 170000, 170000 * 17 / 16);
	/* A number that goes back, or jumps: no more than there is room for. */
	atomic_store(&page->samples, 5);
	gp_dtenant_samples(lc->tenant);
	assert_true(lc->tenant->hist[GP_WIRE_HIST_HOLD].total <= 2 * GP_PAGE_SAMPLES);
}

static void test_what_a_page_says_of_segments(void **state)
{
	const struct gp_class_value cls = { GP_CLASS_LC, 0 };
	struct process *lc = tenant(&device[0], cls, false, true);
	struct gp_hist *hist = &lc->tenant->hist[GP_WIRE_HIST_SEGMENT];
	struct gp_page *page = lc->tenant->page;

	for (uint64_t i = 0; i < 10; i++)
		atomic_store(&page->segment_ns[i], (i + 1) * MS);
	atomic_store(&page->segments_timed, 10);
	gp_dtenant_samples(lc->tenant);
	gp_dtenant_samples(lc->tenant);
	assert_int_equal(hist->total, 10);
	assert_int_equal(hist->sum_ns, 55 * MS);
	assert_in_range(gp_hist_quantile_ns(hist, 500), 5 * MS, 5 * MS * 17 / 16);
	assert_int_equal(device[0].dev->hist[GP_WIRE_HIST_SEGMENT].total, 10);
	assert_int_equal(lc->tenant->hist[GP_WIRE_HIST_HOLD].total, 0);
	/* A number that jumps, or goes back: no more than there is room for. */
	atomic_store(&page->segments_timed, 10 + 5 * GP_PAGE_SEGMENTS);
	gp_dtenant_samples(lc->tenant);
	assert_int_equal(hist->total, 10 + GP_PAGE_SEGMENTS);
	atomic_store(&page->segments_timed, 2);
	gp_dtenant_samples(lc->tenant);
	assert_true(hist->total <= 10 + 2 * GP_PAGE_SEGMENTS);
}

static void test_a_process_that_dies(void **state)
{
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);
	uint64_t before;

	run(120 * MS);
	gp_child_end(a->pid);
	gp_sim_process_end(device[0].sim, a->pid);
	a->context = NULL;
	run(20 * MS);
	assert_null(a->tenant);
	assert_int_equal(records(), 1);
	before = b->done;
	run(400 * MS);
	assert_true(b->done - before >= 400 - 5);
}

static void test_classes_change(void **state)
{
	const struct gp_class_request lc = { .cls = { GP_CLASS_LC, 2 } };
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);
	const struct gp_runtime_group *g;

	run(120 * MS);
	assert_int_equal(gp_dtenant_class(a->tenant, &lc, true, "a test"), 0);
	run(20 * MS);
	g = gp_runtime_next(device[0].dev->rt, a->tenant, NULL);
	assert_non_null(g);
	assert_false(g->off);
	assert_int_equal(g->slice_us, GP_SCHED_LC_SLICE_US);
	assert_int_equal(device[0].dev->resident, b->tenant->id);
}

/* It resets its slice repeatedly, and is suspended in the end. */
static void test_who_defies_is_suspended(void **state)
{
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);
	uint64_t before;

	for (uint32_t i = 0; i < GP_BAN_AFTER; i++) {
		struct gp_group_list list = { 0 };

		assert_int_equal(device[0].dev->hal->ops->groups(device[0].dev->hal, a->pid, &list),
				 0);
		for (size_t k = 0; k < list.count; k++)
			list.group[k]->dev->ops->set_slice(list.group[k], 3000);
		gp_group_list_put(&list);
		gp_ddev_enforce(device[0].dev);
		run(2 * MS);
	}
	assert_true(a->tenant->banned);
	assert_true(a->tenant->corrected >= GP_BAN_AFTER);
	run(20 * MS);
	before = a->done;
	run(400 * MS);
	assert_int_equal(a->done, before);
	before = b->done;
	run(400 * MS);
	assert_true(b->done - before >= 400 - 5);
}

/* ---- memory that leaves ------------------------------------------------------------ */

static int away_err; /* of the last answer; 1: none came */

static void away_answer(struct gp_dtenant *t, bool away, int err)
{
	away_err = err;
}

/* @keep: its own compute group, as if that were its mover's. */
static int away(struct process *p, bool away, bool keep)
{
	struct gp_wire_away msg = { .away = away, .count = keep };

	if (keep)
		msg.keep[0] = gp_runtime_next_compute(p->tenant->dev->rt, p->tenant, NULL)->id;
	away_err = 1;
	gp_away_set(p->tenant, &msg, away_answer);
	settle();
	return away_err;
}

static void ask_for_room(struct process *p)
{
	p->tenant->away.room_ns = gp_loop_now_ns();
}

static uint64_t done_in(struct process *p, uint64_t ns)
{
	const uint64_t before = p->done;

	run(ns);
	return p->done - before;
}

static bool is_marked(const struct process *p)
{
	struct gp_journal_record r;

	for (uint32_t i = 0; i < GP_JOURNAL_RECORDS; i++)
		if (gp_journal_get(journal, i, &r) && r.pid == p->pid && r.away)
			return true;
	return false;
}

static void test_away_and_back(void **state)
{
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);

	run(120 * MS);
	ask_for_room(a);
	assert_int_equal(away(a, true, false), 0);
	assert_true(is_marked(a));
	run(5 * MS);
	b->done = 0;
	assert_int_equal(done_in(a, 400 * MS), 0);
	assert_true(b->done >= 400 - 5);
	assert_int_equal(away(a, false, false), 0);
	assert_false(is_marked(a));
	b->done = 0;
	assert_true(done_in(a, 400 * MS) >= 150);
	assert_true(b->done >= 150);
}

/* Else a tenant could run beside its turns whenever it likes. */
static void test_away_without_a_request(void **state)
{
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);

	run(120 * MS);
	assert_int_equal(away(a, true, true), -EPERM);
	assert_false(is_marked(a));
	while (device[0].dev->resident != b->tenant->id)
		run(MS);
	run(2 * MS);
	/* It has come back from nowhere: no resume in the other's turn. */
	assert_int_equal(away(a, false, false), 0);
	assert_int_equal(done_in(a, 20 * MS), 0);
	/* A request does not last for ever. */
	a->tenant->away.room_ns = gp_loop_now_ns() - GP_AWAY_ASKED_NS;
	settle();
	assert_int_equal(away(a, true, true), -EPERM);
}

/* The mover's group runs beside the other's turns, for its time, and then takes turns. */
static void test_a_mover_that_never_ends(void **state)
{
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);

	run(120 * MS);
	ask_for_room(a);
	assert_int_equal(away(a, true, true), 0);
	/* It has the driver's slice, and takes most of the time. */
	assert_true(done_in(a, 200 * MS) >= 100);
	a->tenant->away.left_ns = 100 * MS;
	gp_away_check(a->tenant);
	assert_true(gp_away_takes_turns(a->tenant));
	run(120 * MS);
	b->done = 0;
	assert_true(done_in(a, 400 * MS) >= 150);
	assert_true(b->done >= 150);
	/* It has no more time, however often it asks. */
	assert_int_equal(away(a, true, true), 0);
	assert_true(gp_away_takes_turns(a->tenant));
	assert_int_equal(away(a, true, false), 0);
	assert_int_equal(done_in(a, 200 * MS), 0);
	assert_int_equal(away(a, false, false), 0);
}

/* Its connection ends, or the daemon does: nobody resumes it, and its record stays. */
static void test_left_while_away(void **state)
{
	struct process *a = be(&device[0], 100);
	struct gp_join how = { .origin = GP_WIRE_BY_RUN,
			       .request.cls = { GP_CLASS_BE, 100 },
			       .why = "a test",
			       .away = GP_JOURNAL_AWAY,
			       .gone = gone,
			       .arg = a };
	enum gp_journal_away was;
	int place;

	run(20 * MS);
	ask_for_room(a);
	assert_int_equal(away(a, true, false), 0);
	gp_dtenant_leave(a->tenant, false);
	settle();
	assert_int_equal(done_in(a, 200 * MS), 0);
	assert_true(is_marked(a));
	join(&device[0], a, &how);
	assert_int_equal(done_in(a, 200 * MS), 0);
	assert_int_equal(gp_away_record(a->tenant), GP_JOURNAL_AWAY);
	/* It was marked by the request of the daemon, as its old record shows. */
	place = gp_journal_away_of(journal, a->pid, a->tenant->who.start_ticks,
				   device[0].dev->hal->id.uuid, &was);
	assert_int_equal(was, GP_JOURNAL_AWAY_ASKED);
	gp_journal_drop(journal, place);
	assert_int_equal(away(a, false, false), 0);
	assert_true(done_in(a, 100 * MS) > 0);
	assert_int_equal(records(), 1);
}

/* The daemon ended before it answered: the process never moved, and may be suspended. */
static void test_recovered(void **state)
{
	struct process *a = be(&device[0], 100);
	struct gp_join how = { .origin = GP_WIRE_BY_RUN,
			       .request.cls = { GP_CLASS_BE, 100 },
			       .why = "a test",
			       .recover = true,
			       .gone = gone,
			       .arg = a };

	run(20 * MS);
	ask_for_room(a);
	assert_int_equal(away(a, true, false), 0);
	gp_journal_drop(journal, a->tenant->place);
	gp_dtenant_leave(a->tenant, false);
	settle();
	join(&device[0], a, &how);
	assert_false(is_marked(a));
	assert_true(done_in(a, 100 * MS) > 0);
}

/* ---- frozen cgroups ---------------------------------------------------------------- */

static void set_frozen(struct process *p, bool frozen)
{
	gp_frozen_set(p->tenant, frozen);
	settle();
}

static void test_frozen_and_thawed(void **state)
{
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);

	for (int i = 0; i < 2; i++) {
		/* Once in its turn, and once in the other's. */
		while (shows(a, GP_WIRE_SUSPENDED) == i)
			run(MS);
		set_frozen(a, true);
		set_frozen(a, true);
		assert_true(shows(a, GP_WIRE_FROZEN) && shows(a, GP_WIRE_SUSPENDED));
		run(5 * MS);
		b->done = 0;
		assert_int_equal(done_in(a, 400 * MS), 0);
		assert_true(b->done >= 400 - 5);
		assert_int_equal(a->tenant->reported, GP_REPORTED_IDLE);
		set_frozen(a, false);
		run(100 * MS);
		b->done = 0;
		assert_true(done_in(a, 400 * MS) >= 150);
		assert_true(b->done >= 150);
		a->tenant->frozen.back_ns = 0;
	}
}

/* It works all the time, and so do the kernels that it queued. */
static void test_frozen_lc(void **state)
{
	struct process *lc =
		tenant(&device[0], (struct gp_class_value){ GP_CLASS_LC, 0 }, true, true);
	struct process *b = be(&device[0], 100), *c = be(&device[0], 100);

	atomic_store(&lc->tenant->page->provides, GP_PAGE_PROVIDES_WORK);
	atomic_store(&lc->tenant->page->activity, GP_PAGE_WORK | GP_PAGE_HELD);
	run(100 * MS);
	b->done = c->done = 0;
	assert_true(done_in(lc, 200 * MS) >= 150);
	assert_true(b->done + c->done <= 20);
	set_frozen(lc, true);
	assert_int_equal(gp_dtenant_activity(lc->tenant, gp_ddev_now(device[0].dev), 0),
			 GP_REPORTED_IDLE);
	run(5 * MS);
	/* A notice, which the wall's clock begins, sees that both have work. */
	gp_ddev_observe(device[0].dev);
	settle();
	b->done = c->done = 0;
	assert_int_equal(done_in(lc, 400 * MS), 0);
	assert_true(b->done >= 150 && c->done >= 150);
	set_frozen(lc, false);
	run(20 * MS);
	assert_true(done_in(lc, 200 * MS) >= 150);
}

/* Its user does both all the time. */
static void test_thaws_once_a_second(void **state)
{
	struct process *a = be(&device[0], 100);

	set_frozen(a, true);
	set_frozen(a, false);
	assert_true(done_in(a, 20 * MS) > 0);
	set_frozen(a, true);
	run(5 * MS);
	set_frozen(a, false);
	gp_frozen_check(a->tenant);
	settle();
	assert_int_equal(done_in(a, 20 * MS), 0);
	a->tenant->frozen.back_ns -= GP_FROZEN_THAW_NS;
	gp_frozen_check(a->tenant);
	settle();
	assert_true(done_in(a, 20 * MS) > 0);
	assert_false(gp_frozen_is_off(&a->tenant->frozen));
}

/* New groups of a frozen tenant do not run either, and it may leave as it is. */
static void test_groups_while_frozen(void **state)
{
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);
	struct gp_sim_context *second;
	struct gp_group_list list = { 0 };

	set_frozen(a, true);
	run(5 * MS);
	second = gp_sim_context_create(device[0].sim, a->pid, 1);
	assert_non_null(second);
	assert_int_equal(gp_sim_submit(second, 0, &kernel, NULL), 0);
	assert_int_equal(device[0].dev->hal->ops->groups(device[0].dev->hal, a->pid, &list), 0);
	gp_dtenant_groups(a->tenant, &list);
	settle();
	b->done = 0;
	assert_int_equal(done_in(a, 200 * MS), 0);
	assert_true(b->done >= 200 - 5);
	gp_dtenant_leave(a->tenant, false);
	settle();
	assert_true(done_in(a, 200 * MS) > 0);
}

static void test_frozen_while_away(void **state)
{
	struct process *a = be(&device[0], 100), *b = be(&device[0], 100);

	run(120 * MS);
	ask_for_room(a);
	assert_int_equal(away(a, true, true), 0);
	assert_true(done_in(a, 100 * MS) > 0);
	set_frozen(a, true);
	run(5 * MS);
	assert_int_equal(done_in(a, 100 * MS), 0);
	/* Its last message comes late. */
	assert_int_equal(away(a, false, false), 0);
	b->done = 0;
	assert_int_equal(done_in(a, 200 * MS), 0);
	assert_true(b->done >= 200 - 5);
	set_frozen(a, false);
	assert_true(done_in(a, 200 * MS) > 50);
}

static void test_banned_while_frozen(void **state)
{
	struct process *a = be(&device[0], 100);

	set_frozen(a, true);
	gp_dtenant_ban(a->tenant);
	settle();
	set_frozen(a, false);
	run(5 * MS);
	assert_int_equal(done_in(a, 100 * MS), 0);
}

/* ---- cgroups that count as one ------------------------------------------------------ */

static void set_cgroup(struct process *p, const char *cgroup)
{
	char *own = cgroup ? strdup(cgroup) : NULL;

	assert_true(own || !cgroup);
	gp_dtenant_party(p->tenant, own, false);
	settle();
}

static void test_a_cgroup_that_is_one(void **state)
{
	struct process *lone = be(&device[0], 100), *p[4];
	uint64_t sum = 0;

	for (size_t i = 0; i < 4; i++) {
		p[i] = be(&device[0], 100);
		set_cgroup(p[i], "/job");
	}
	run(400 * MS);
	for (size_t i = 0; i < 4; i++)
		p[i]->done = 0;
	lone->done = 0;
	run(4000 * MS);
	for (size_t i = 0; i < 4; i++) {
		assert_true(share(p[i], 4000 * MS) > 0.10 && share(p[i], 4000 * MS) < 0.14);
		sum += p[i]->done;
	}
	assert_true(share(lone, 4000 * MS) > 0.47);
	assert_true((double)sum * MS / (4000.0 * MS) > 0.47);
	/* One of them ends, another one counts for itself. */
	kill(p[0]->pid, SIGKILL);
	gp_sim_context_destroy(p[0]->context);
	p[0]->context = NULL;
	while (p[0]->tenant)
		assert_int_equal(gp_loop_once(loop, 10), 0);
	set_cgroup(p[1], NULL);
	run(400 * MS);
	lone->done = p[1]->done = p[2]->done = p[3]->done = 0;
	run(4000 * MS);
	assert_true(share(lone, 4000 * MS) > 0.31 && share(lone, 4000 * MS) < 0.36);
	assert_true(share(p[1], 4000 * MS) > 0.31 && share(p[1], 4000 * MS) < 0.36);
	assert_true(share(p[2], 4000 * MS) > 0.14 && share(p[3], 4000 * MS) > 0.14);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_shares_on_each_device),
		TEST(test_a_timer_that_fails),
		TEST(test_idle_costs_nothing),
		TEST(test_idle_tenants_cost_no_calls),
		TEST(test_a_slice_set_while_nobody_works),
		TEST(test_two_that_idle_stop_nobody),
		TEST(test_capped_and_idle),
		TEST(test_a_page_puts_off),
		TEST(test_no_step_ends_a_turn_into_work),
		TEST(test_what_is_not_kept_is_refused),
		TEST(test_a_turn_ends_with_the_work),
		TEST(test_one_alone_is_asked_nothing),
		TEST(test_who_tells_is_off_for_a_while),
		TEST(test_a_page_that_is_wrong),
		TEST(test_a_page_that_is_right),
		TEST(test_a_mover_has_no_turns),
		TEST(test_a_mover_that_is_none),
		TEST(test_who_is_always_busy),
		TEST(test_nobody_to_cut_no_wake),
		TEST(test_wakes_of_launches_that_pile_up),
		TEST(test_wakes_by_the_log),
		TEST(test_a_wake_ends_no_turn),
		TEST(test_a_trace_has_one_clock),
		TEST(test_other_work_is_told),
		TEST(test_best_effort_is_off_before_long_work),
		TEST(test_off_while_levels_alternate),
		TEST(test_who_is_seen_on_is_cut),
		TEST(test_what_a_page_says_of_holds),
		TEST(test_what_a_page_says_of_segments),
		TEST(test_a_process_that_dies),
		TEST(test_classes_change),
		TEST(test_away_and_back),
		TEST(test_away_without_a_request),
		TEST(test_a_mover_that_never_ends),
		TEST(test_left_while_away),
		TEST(test_recovered),
		TEST(test_frozen_and_thawed),
		TEST(test_frozen_lc),
		TEST(test_thaws_once_a_second),
		TEST(test_groups_while_frozen),
		TEST(test_frozen_while_away),
		TEST(test_banned_while_frozen),
		TEST(test_a_cgroup_that_is_one),
		TEST(test_who_defies_is_suspended),
	};

	return gp_run_tests(tests);
}
