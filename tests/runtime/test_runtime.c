// SPDX-License-Identifier: Apache-2.0
/* The loop over a real core. Its HAL and its host only write down their calls. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tests/common/gp_test.h"

#define US 1000ull
#define MS 1000000ull
#define BASE 1u	 /* tenant without a context */
#define OTHER 2u /* another tenant */
#define SLICE_MAX_US 1000000u

struct rig {
	struct gp_device dev;
	struct gp_hal_ops ops;
	struct gp_hal_caps caps;
	struct gp_runtime *rt;
	struct gp_executor queue; /* keeps calls until the test runs them */
	struct gp_call *waits[8];
	size_t waiting;
	uint64_t now_ns;
	int slice_error, hold_error, arm_error;
	int copies_error; /* of a suspend or resume with copy groups */
	uint64_t arm_ns;
	struct gp_event *nested; /* reported from hold() */
	struct gp_event *early;	 /* .. from before() */
	struct gp_event *late;	 /* .. from timed() */
	uint32_t put;		 /* groups that were put */
	char log[1024];		 /* of calls, in their order */
};

static struct rig r;

static void note(const char *fmt, ...)
{
	size_t at = strlen(r.log);
	va_list ap;

	va_start(ap, fmt);
	if (at)
		r.log[at++] = ' ';
	vsnprintf(r.log + at, sizeof(r.log) - at, fmt, ap);
	va_end(ap);
}

/* All that was called since the last time. */
#define assert_called(expected)                       \
	do {                                          \
		assert_string_equal(r.log, expected); \
		r.log[0] = 0;                         \
	} while (0)

/* ---- the HAL ---------------------------------------------------------------------- */

static int hal_caps(struct gp_device *dev, struct gp_hal_caps *caps)
{
	*caps = r.caps;
	return 0;
}

static int hal_now(struct gp_device *dev, uint64_t *ns)
{
	*ns = r.now_ns;
	return 0;
}

static int hal_set_slice(struct gp_group *g, uint64_t us)
{
	note("slice(%u,%llu)", g->id, (unsigned long long)us);
	return r.slice_error;
}

static int note_groups(const char *what, struct gp_group *const *g, size_t n)
{
	char ids[64] = "";

	for (size_t i = 0; i < n; i++)
		snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), i ? ",%u" : "%u", g[i]->id);
	note("%s(%s)", what, ids);
	return n > 1 || g[0]->kind == GP_GROUP_COPY ? r.copies_error : 0;
}

static int hal_suspend(struct gp_group *const *g, size_t n)
{
	return note_groups("suspend", g, n);
}

static int hal_resume(struct gp_group *const *g, size_t n)
{
	return note_groups("resume", g, n);
}

static int hal_set_preempt_mode(struct gp_group *g, enum gp_preempt_mode mode)
{
	assert_int_equal(mode, GP_PREEMPT_INSTRUCTION);
	note("mode(%u)", g->id);
	return 0;
}

static void hal_group_put(struct gp_group *g)
{
	r.put++;
}

static const struct gp_hal_ops hal_ops = {
	.caps = hal_caps,
	.group_put = hal_group_put,
	.now = hal_now,
	.resume = hal_resume,
	.set_preempt_mode = hal_set_preempt_mode,
	.set_slice = hal_set_slice,
	.suspend = hal_suspend,
};

/* ---- the host --------------------------------------------------------------------- */

static void before(void *host)
{
	note("before");
	if (r.early)
		assert_int_equal(gp_runtime_event(r.rt, r.early), 0);
}

static void stepped(void *host, const struct gp_event *ev, uint64_t now_ns)
{
	assert_int_equal(now_ns, r.now_ns);
	note("stepped");
}

static int hold(void *host, uint32_t tenant, uint64_t limit_ns)
{
	note("hold(%u)", tenant);
	if (r.nested)
		assert_int_equal(gp_runtime_event(r.rt, r.nested), 0);
	return r.hold_error;
}

static int release(void *host, uint32_t tenant)
{
	note("release(%u)", tenant);
	return 0;
}

static void called(void *host, const struct gp_call *call)
{
	note("called(%d%s%s)", call->err, call->own ? ",own" : "", call->turned ? ",turned" : "");
}

static void over(void *host)
{
	note("over");
}

static void settled(void *host, bool any)
{
	note("settled(%d)", any);
}

static void timed(void *host)
{
	note("timed");
	if (r.late)
		assert_int_equal(gp_runtime_event(r.rt, r.late), 0);
}

static int arm(void *host, uint64_t at_ns)
{
	note("arm");
	r.arm_ns = at_ns;
	return r.arm_error;
}

/* All of them; most tests want less to be written down. */
static const struct gp_host_ops all_ops = {
	.arm = arm,
	.before = before,
	.called = called,
	.hold = hold,
	.over = over,
	.release = release,
	.settled = settled,
	.stepped = stepped,
	.timed = timed,
};
static const struct gp_host_ops few_ops = { .called = called };

static void queue_start(struct gp_executor *ex, struct gp_call *call)
{
	assert_ptr_equal(ex, &r.queue);
	r.waits[r.waiting++] = call;
}

static void queue_stop(struct gp_executor *ex)
{
	while (r.waiting)
		gp_call_done(r.waits[--r.waiting]);
}

static void run_next(void)
{
	struct gp_call *call = r.waits[0];

	memmove(r.waits, r.waits + 1, --r.waiting * sizeof(r.waits[0]));
	gp_call_run(call);
	gp_call_done(call);
}

/* ---- the rig ---------------------------------------------------------------------- */

static void make(struct gp_executor *executor, const struct gp_host_ops *ops, bool borrowed,
		 uint32_t rotate)
{
	struct gp_runtime_config config = {
		.hal = &r.dev,
		.executor = executor,
		.ops = ops,
		.borrowed = borrowed,
		.core.rotate = rotate,
	};

	gp_hal_set_ops(&r.ops, &hal_ops);
	r.dev.ops = &r.ops;
	r.caps = (struct gp_hal_caps){
		.caps = GP_CAP_SLICES | GP_CAP_SLICE_PREEMPTS | GP_CAP_HOLD | GP_CAP_SUSPEND,
		.min_slice_us = 20,
		.max_slice_us = SLICE_MAX_US,
		.default_slice_us = 2048,
		.default_copy_slice_us = 1024,
	};
	r.queue = (struct gp_executor){ queue_start, queue_stop };
	r.now_ns = 1000 * MS;
	assert_int_equal(gp_runtime_create(&config, &r.rt), 0);
}

static int teardown(void **state)
{
	gp_runtime_destroy(r.rt);
	r = (struct rig){ 0 };
	return 0;
}

static void join(uint32_t tenant, uint32_t cls, uint32_t value)
{
	const struct gp_event ev = {
		.type = GP_EV_TENANT_JOIN,
		.tenant = tenant,
		.spec.cls = { cls, value },
	};

	assert_int_equal(gp_runtime_event(r.rt, &ev), 0);
}

static int tenant_event(uint32_t type, uint32_t tenant)
{
	const struct gp_event ev = { .type = type, .tenant = tenant };

	return gp_runtime_event(r.rt, &ev);
}

static struct gp_group group(uint32_t id)
{
	return (struct gp_group){ .dev = &r.dev, .kind = GP_GROUP_COMPUTE, .id = id };
}

static void slot(bool have)
{
	const struct gp_event ev = { .type = GP_EV_SLOT, .slot.have = have };

	assert_int_equal(gp_runtime_event(r.rt, &ev), 0);
}

/* ---- tests ------------------------------------------------------------------------ */

static void slices_are_in_the_range_of_the_device(void **state)
{
	struct gp_group g = group(7);
	struct gp_runtime_group *in;

	make(&gp_executor_inline, &few_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &g), 0);
	in = gp_runtime_group(r.rt, 7);
	assert_called("slice(7,1000000) called(0)"); /* 5 s */
	assert_int_equal(in->slice_us, SLICE_MAX_US);
	slot(true);
	assert_int_equal(gp_runtime_event(r.rt,
					  &(struct gp_event){ .type = GP_EV_TENANT_CLASS,
							      .tenant = BASE,
							      .spec.cls = { GP_CLASS_BE, 100 } }),
			 0);
	assert_called("slice(7,20) called(0)"); /* 1 us */
	slot(false);
	assert_called("slice(7,2048) called(0)"); /* the driver's */
	assert_int_equal(in->slice_us, 2048);
}

/* First the page, then calls, then all else that follows, and the timer last. */
static void ops_come_in_their_order(void **state)
{
	struct gp_group g = group(7);
	struct gp_event hint = { .type = GP_EV_HINT, .tenant = BASE };

	make(&gp_executor_inline, &all_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &g), 0);
	assert_called("stepped settled(0) stepped slice(7,1000000) called(0) over settled(1)");
	hint.hint.at_ns = r.now_ns + 10 * MS;
	assert_int_equal(gp_runtime_event(r.rt, &hint), 0);
	assert_called("stepped settled(0) arm");
	assert_int_equal(r.arm_ns, gp_runtime_due_ns(r.rt));
	assert_in_range(r.arm_ns, r.now_ns + 5 * MS, r.now_ns + 10 * MS);
	/* Not in force: nothing is stepped, and the timer stays. */
	assert_int_equal(tenant_event(GP_EV_SEGMENT_END, BASE), -EINVAL);
	assert_called("");
	/* It wakes up early, so that the hold's time finds it awake. */
	for (int i = 0; i < 8 && !strstr(r.log, "hold"); i++) {
		r.log[0] = 0;
		r.now_ns = r.arm_ns;
		gp_runtime_timer(r.rt);
	}
	assert_called("before stepped hold(1) settled(1) timed arm");
	assert_int_equal(gp_runtime_stepped_ns(r.rt), r.now_ns);
	assert_int_equal(tenant_event(GP_EV_SYNC, BASE), 0);
	assert_called("stepped release(1) settled(1) arm");
	assert_int_equal(r.arm_ns, GP_SCHED_NO_TIMER);
}

/* The core hears of a timer that is not set, and wants it again with the next event. */
static void a_timer_that_fails_is_asked_for_again(void **state)
{
	struct gp_event hint = { .type = GP_EV_HINT, .tenant = BASE };

	make(&gp_executor_inline, &all_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	r.log[0] = 0;
	hint.hint.at_ns = r.now_ns + 10 * MS;
	r.arm_error = -ENOMEM;
	assert_int_equal(gp_runtime_event(r.rt, &hint), 0);
	assert_called("stepped settled(0) arm stepped settled(0)");
	assert_int_equal(tenant_event(GP_EV_SYNC_DONE, BASE), 0);
	assert_called("stepped settled(0) arm stepped settled(0)");
	r.arm_error = 0;
	r.arm_ns = 0;
	assert_int_equal(tenant_event(GP_EV_SYNC_DONE, BASE), 0);
	assert_called("stepped settled(0) arm");
	assert_int_equal(r.arm_ns, gp_runtime_due_ns(r.rt));
	assert_true(r.arm_ns > r.now_ns);
	assert_int_equal(tenant_event(GP_EV_SYNC_DONE, BASE), 0);
	assert_called("stepped settled(0)");
}

/* An event from an op is a step, and its decisions come after those that wait. */
static void an_op_may_report_events(void **state)
{
	struct gp_event end = { .type = GP_EV_SEGMENT_END, .tenant = BASE };
	struct gp_event other = { .type = GP_EV_SEGMENT_BEGIN, .tenant = OTHER };
	struct gp_event hint = { .type = GP_EV_HINT, .tenant = BASE };

	make(&gp_executor_inline, &all_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	join(OTHER, GP_CLASS_LC, 1);
	r.log[0] = 0;
	r.nested = &end;
	assert_int_equal(tenant_event(GP_EV_SEGMENT_BEGIN, BASE), 0);
	assert_called("stepped hold(1) release(1) settled(1) arm");
	r.nested = NULL;
	/* From before(), and after the timer, they are events like others. */
	hint.hint.at_ns = r.now_ns + 10 * MS;
	assert_int_equal(gp_runtime_event(r.rt, &hint), 0);
	assert_called("stepped settled(0) arm");
	r.early = &other;
	r.now_ns = r.arm_ns + MS;
	hint.hint.at_ns = r.now_ns + 10 * MS;
	r.late = &hint;
	gp_runtime_timer(r.rt);
	assert_non_null(strstr(r.log, "before stepped hold"));
	assert_non_null(strstr(r.log, "timed stepped"));
	assert_null(strstr(r.log, "before stepped before"));
	/* .. and the timer is armed once, at the end. */
	assert_ptr_equal(strstr(strstr(r.log, "timed"), "arm"), r.log + strlen(r.log) - 3);
	r.log[0] = 0;
}

static void the_core_knows_of_a_failed_hold(void **state)
{
	struct gp_sched_tenant_stat st;

	make(&gp_executor_inline, &all_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	r.hold_error = -EIO;
	assert_int_equal(tenant_event(GP_EV_SEGMENT_BEGIN, BASE), 0);
	assert_int_equal(gp_sched_tenant_stat(gp_runtime_core(r.rt), BASE, &st), 0);
	assert_false(st.held);
	teardown(state);
	/* So does a host without holds. */
	make(&gp_executor_inline, &few_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(tenant_event(GP_EV_SEGMENT_BEGIN, BASE), 0);
	assert_int_equal(gp_sched_tenant_stat(gp_runtime_core(r.rt), BASE, &st), 0);
	assert_false(st.held);
	assert_int_equal(tenant_event(GP_EV_SEGMENT_END, BASE), 0);
}

static void who_else_sets_slices_has_them_left_alone(void **state)
{
	struct gp_group a = group(1), b = group(2);

	make(&gp_executor_inline, &few_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	r.log[0] = 0;
	gp_runtime_managed(r.rt, true);
	assert_true(gp_runtime_is_managed(r.rt));
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &b), 0);
	assert_called("");
	gp_runtime_slices_off(r.rt);
	assert_called("slice(1,2048) slice(2,2048)");
	gp_runtime_managed(r.rt, false);
	assert_called("slice(1,1000000) called(0) slice(2,1000000) called(0)");
}

/* The lock is held by the thread that frees a borrowed group. */
static void a_borrowed_group_leaves_before_its_event(void **state)
{
	const struct gp_event appear = { .type = GP_EV_GROUP_APPEAR,
					 .tenant = BASE,
					 .group.id = 7 };
	const struct gp_event gone = { .type = GP_EV_GROUP_GONE, .group.id = 7 };
	struct gp_group g = group(7), again = group(7);

	make(&gp_executor_inline, &few_ops, true, 0);
	join(BASE, GP_CLASS_LC, 0);
	gp_runtime_lock(r.rt);
	assert_int_equal(gp_runtime_group_enter(r.rt, BASE, &r, &g), 0);
	assert_int_equal(gp_runtime_group_enter(r.rt, BASE, &r, &again), -EEXIST);
	assert_ptr_equal(gp_runtime_group(r.rt, 7)->hal, &again);
	assert_false(gp_runtime_group_leave(r.rt, &g));
	assert_true(gp_runtime_group_leave(r.rt, &again));
	assert_null(gp_runtime_next(r.rt, NULL, NULL));
	assert_int_equal(gp_runtime_group_enter(r.rt, BASE, &r, &g), -EAGAIN);
	gp_runtime_unlock(r.rt);
	/* It is not touched any more, though the core meets it now. */
	assert_int_equal(gp_runtime_event(r.rt, &appear), 0);
	assert_called("");
	assert_int_equal(gp_runtime_event(r.rt, &gone), -ENOENT);
	assert_null(gp_runtime_group(r.rt, 7));
	gp_runtime_lock(r.rt);
	assert_int_equal(gp_runtime_group_enter(r.rt, BASE, &r, &g), 0);
	gp_runtime_unlock(r.rt);
	assert_int_equal(gp_runtime_event(r.rt, &appear), 0);
	assert_called("slice(7,1000000) called(0)");
	assert_int_equal(r.put, 0);
}

static void there_is_no_place_for_one_more(void **state)
{
	struct gp_group g[GP_SCHED_MAX_GROUPS + 1];
	struct gp_runtime_group *next = NULL;
	size_t n = 0;

	make(&gp_executor_inline, &few_ops, false, 0);
	for (uint32_t i = 0; i <= GP_SCHED_MAX_GROUPS; i++) {
		void *owner = i % 2 ? (void *)&r : (void *)&g;

		g[i] = group(i + 1);
		assert_int_equal(gp_runtime_group_enter(r.rt, BASE, owner, &g[i]),
				 i < GP_SCHED_MAX_GROUPS ? 0 : -ENOSPC);
	}
	while ((next = gp_runtime_next(r.rt, &r, next)))
		n++;
	assert_int_equal(n, GP_SCHED_MAX_GROUPS / 2);
	gp_runtime_destroy(r.rt);
	r.rt = NULL;
	assert_int_equal(r.put, GP_SCHED_MAX_GROUPS);
}

/* Each group has one decision under way; those of several are run in their order. */
static void calls_may_be_run_later(void **state)
{
	struct gp_group a = group(1), b = group(2);

	make(&r.queue, &all_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &b), 0);
	assert_int_equal(gp_runtime_jobs(r.rt), 2);
	r.log[0] = 0;
	r.slice_error = -EIO;
	run_next();
	assert_called("slice(1,1000000) called(-5) stepped settled(0) arm over");
	assert_int_equal(gp_runtime_group(r.rt, 1)->slice_us, 0);
	r.slice_error = 0;
	run_next();
	assert_called("slice(2,1000000) called(0) stepped settled(0) over");
	/* The one that failed is tried again. */
	r.now_ns = r.arm_ns;
	gp_runtime_timer(r.rt);
	r.log[0] = 0;
	run_next();
	assert_called("slice(1,1000000) called(0) stepped settled(0) over");
	assert_int_equal(gp_runtime_jobs(r.rt), 0);
}

static void a_group_stays_until_its_last_job(void **state)
{
	struct gp_group a = group(1), b = group(2);
	struct gp_runtime_group *g;

	make(&r.queue, &few_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	g = gp_runtime_group(r.rt, 1);
	gp_runtime_job_begin(r.rt, g);
	gp_runtime_job_begin(r.rt, NULL);
	assert_int_equal(gp_runtime_jobs(r.rt), 3);
	gp_runtime_group_gone(r.rt, g);
	assert_null(gp_runtime_next(r.rt, NULL, NULL));
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), -EAGAIN);
	run_next();
	assert_called("slice(1,1000000) called(0)");
	assert_int_equal(r.put, 0);
	gp_runtime_job_end(r.rt, g);
	assert_int_equal(r.put, 1);
	assert_null(gp_runtime_group(r.rt, 1));
	gp_runtime_job_end(r.rt, NULL);
	/* Without a job it is freed at once. */
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &b), 0);
	run_next();
	gp_runtime_group_gone(r.rt, gp_runtime_group(r.rt, 2));
	assert_int_equal(r.put, 2);
	r.log[0] = 0;
}

static void a_call_that_is_not_run_is_cancelled(void **state)
{
	struct gp_group a = group(1);

	make(&r.queue, &few_ops, false, 0);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	gp_runtime_destroy(r.rt);
	r.rt = NULL;
	assert_called("called(-125)");
	assert_int_equal(r.put, 1);
}

/* The host hears of a call when the worker's file is readable, or when it stops. */
static void a_worker_runs_calls(void **state)
{
	struct gp_group a = group(1), b = group(2);
	struct pollfd pfd = { .events = POLLIN };
	struct gp_worker *worker;

	assert_int_equal(gp_worker_create(&worker), 0);
	make(gp_worker_executor(worker), &few_ops, false, 0);
	pfd.fd = gp_worker_fd(worker);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	assert_int_equal(gp_runtime_jobs(r.rt), 1);
	assert_int_equal(poll(&pfd, 1, 10000), 1);
	gp_worker_ready(worker);
	assert_int_equal(gp_runtime_jobs(r.rt), 0);
	assert_int_equal(gp_runtime_group(r.rt, 1)->slice_us, SLICE_MAX_US);
	assert_called("slice(1,1000000) called(0)");
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &b), 0);
	gp_runtime_destroy(r.rt);
	r.rt = NULL;
	assert_non_null(strstr(r.log, "called("));
	assert_int_equal(r.put, 2);
	gp_worker_destroy(worker);
	gp_worker_destroy(NULL);
}

static void the_host_has_calls_of_its_own(void **state)
{
	struct gp_group a = group(1);
	struct gp_runtime_group *g;

	make(&gp_executor_inline, &all_ops, false, 0);
	join(BASE, GP_CLASS_NONE, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	g = gp_runtime_group(r.rt, 1);
	r.log[0] = 0;
	gp_runtime_own(r.rt, g, GP_CALL_PREEMPT_MODE);
	assert_called("mode(1) called(0,own) over");
	gp_runtime_own(r.rt, g, GP_DO_SUSPEND);
	assert_called("suspend(1) called(0,own,turned) over");
	gp_runtime_own(r.rt, g, GP_DO_SUSPEND);
	assert_called("suspend(1) called(0,own) over");
	assert_true(g->off);
	gp_runtime_own(r.rt, g, GP_DO_SET_SLICE);
	gp_runtime_own(r.rt, g, GP_DO_RESUME);
	assert_called("slice(1,2048) called(0,own) over resume(1) called(0,own,turned) over");
	assert_false(g->off);
}

/* A tenant that leaves has its groups restored; it may come back before that is done. */
static void a_group_that_left_may_come_back(void **state)
{
	struct gp_group a = group(1), again = group(1), third = group(1);
	struct gp_runtime_group *g;

	make(&r.queue, &few_ops, false, 1);
	join(BASE, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &again), -EEXIST);
	run_next();
	g = gp_runtime_group(r.rt, 1);
	g->owner = NULL;
	assert_int_equal(tenant_event(GP_EV_TENANT_LEAVE, BASE), 0);
	assert_false(gp_runtime_sweep(r.rt));
	join(OTHER, GP_CLASS_LC, 0);
	assert_int_equal(gp_runtime_group_add(r.rt, OTHER, &r, &again), 0);
	assert_ptr_equal(g->hal, &a);
	assert_int_equal(g->tenant, OTHER);
	assert_int_equal(r.put, 1); /* @again */
	/* If the core refuses it the caller has it still. */
	g->owner = NULL;
	assert_int_equal(gp_runtime_group_add(r.rt, OTHER, &r, &third), -EINVAL);
	assert_null(g->owner);
	assert_int_equal(r.put, 1);
	assert_int_equal(tenant_event(GP_EV_TENANT_LEAVE, OTHER), 0);
	while (r.waiting)
		run_next();
	assert_true(gp_runtime_sweep(r.rt));
	assert_null(gp_runtime_group(r.rt, 1));
	assert_int_equal(r.put, 2);
	r.log[0] = 0;
}

static struct gp_group copy_group(uint32_t id)
{
	return (struct gp_group){ .dev = &r.dev, .kind = GP_GROUP_COPY, .id = id };
}

static void next_turn(void)
{
	r.log[0] = 0;
	r.now_ns += 100 * MS;
	gp_runtime_timer(r.rt);
	while (r.waiting)
		run_next();
}

static void copies_stop_and_go_with_their_tenant(void **state)
{
	struct gp_group a = group(1), a_copies = copy_group(2);
	struct gp_group b = group(3), b2 = group(4), b_copies = copy_group(5);

	make(&r.queue, &few_ops, false, 1);
	join(BASE, GP_CLASS_BE, 100);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a_copies), 0);
	while (r.waiting)
		run_next();
	assert_called("slice(1,20) called(0) slice(2,20) called(0)");
	join(OTHER, GP_CLASS_BE, 100);
	assert_int_equal(gp_runtime_group_add(r.rt, OTHER, &r, &b_copies), 0);
	assert_int_equal(gp_runtime_group_add(r.rt, OTHER, &r, &b), 0);
	assert_int_equal(gp_runtime_group_add(r.rt, OTHER, &r, &b2), 0);
	r.log[0] = 0;
	while (r.waiting)
		run_next();
	assert_called("slice(5,20) called(0) suspend(3,5) called(0,turned) "
		      "suspend(4) called(0,turned)");
	assert_true(gp_runtime_group(r.rt, 5)->off);
	next_turn();
	assert_called("suspend(1,2) called(0,turned) slice(3,20) called(0) "
		      "resume(3,5) called(0,turned)");
	assert_true(gp_runtime_group(r.rt, 2)->off);
	assert_false(gp_runtime_group(r.rt, 5)->off);
	/* Kernels stop even if the HAL cannot suspend copies. */
	r.copies_error = -EIO;
	next_turn();
	assert_called("suspend(3,5) suspend(3) called(0,turned) "
		      "resume(1,2) resume(1) resume(2) called(-5) slice(4,20) called(0)");
	assert_false(gp_runtime_group(r.rt, 5)->off);
	assert_true(gp_runtime_group(r.rt, 2)->off);
	/* Another tenant has its turn first. They are tried again after it. */
	r.copies_error = 0;
	next_turn();
	assert_called("suspend(1) called(0) resume(4) called(0,turned)");
	next_turn();
	assert_called("suspend(4,5) called(0,turned) resume(1,2) called(0,turned)");
	assert_false(gp_runtime_group(r.rt, 2)->off);
}

/* A mover runs on, and is no reason for copies to do so. */
static void copies_stop_beside_a_mover(void **state)
{
	struct gp_group a = group(1), a_copies = copy_group(2), mover = group(3), b = group(4);

	make(&gp_executor_inline, &few_ops, false, 1);
	join(BASE, GP_CLASS_BE, 100);
	join(OTHER, GP_CLASS_BE, 100);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a_copies), 0);
	assert_int_equal(gp_runtime_group_outside(r.rt, BASE, &r, &mover), 0);
	gp_runtime_group(r.rt, 3)->aside = true;
	gp_runtime_group_to_core(r.rt, gp_runtime_group(r.rt, 3));
	assert_int_equal(gp_runtime_group_add(r.rt, OTHER, &r, &b), 0);
	r.log[0] = 0;
	next_turn();
	assert_called("suspend(1,2) called(0,turned) slice(4,20) called(0) resume(4) "
		      "called(0,turned)");
}

/* Nobody is left whose turn would resume them. */
static void copies_of_a_context_that_is_gone(void **state)
{
	struct gp_group a = group(1), b = group(2), copies = copy_group(3);

	make(&gp_executor_inline, &few_ops, false, 1);
	join(BASE, GP_CLASS_BE, 100);
	join(OTHER, GP_CLASS_BE, 100);
	assert_int_equal(gp_runtime_group_add(r.rt, BASE, &r, &a), 0);
	assert_int_equal(gp_runtime_group_add(r.rt, OTHER, &r, &copies), 0);
	r.log[0] = 0;
	assert_int_equal(gp_runtime_group_add(r.rt, OTHER, &r, &b), 0);
	assert_called("suspend(2,3) called(0,turned)");
	gp_runtime_group_gone(r.rt, gp_runtime_group(r.rt, 2));
	assert_called("resume(3) called(0,own,turned)");
}

static void what_is_wrong_makes_no_runtime(void **state)
{
	struct gp_runtime_config config = { .hal = &r.dev,
					    .executor = &gp_executor_inline,
					    .ops = &few_ops,
					    .core = { .rotate = 1, .be_min_pct = 99 } };
	struct gp_runtime *rt = NULL;

	gp_hal_set_ops(&r.ops, &hal_ops);
	r.dev.ops = &r.ops;
	assert_int_equal(gp_runtime_create(&config, &rt), -EINVAL);
	assert_null(rt);
	gp_runtime_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(slices_are_in_the_range_of_the_device, teardown),
		cmocka_unit_test_teardown(ops_come_in_their_order, teardown),
		cmocka_unit_test_teardown(a_timer_that_fails_is_asked_for_again, teardown),
		cmocka_unit_test_teardown(an_op_may_report_events, teardown),
		cmocka_unit_test_teardown(the_core_knows_of_a_failed_hold, teardown),
		cmocka_unit_test_teardown(who_else_sets_slices_has_them_left_alone, teardown),
		cmocka_unit_test_teardown(a_borrowed_group_leaves_before_its_event, teardown),
		cmocka_unit_test_teardown(there_is_no_place_for_one_more, teardown),
		cmocka_unit_test_teardown(calls_may_be_run_later, teardown),
		cmocka_unit_test_teardown(a_group_stays_until_its_last_job, teardown),
		cmocka_unit_test_teardown(a_call_that_is_not_run_is_cancelled, teardown),
		cmocka_unit_test_teardown(a_worker_runs_calls, teardown),
		cmocka_unit_test_teardown(the_host_has_calls_of_its_own, teardown),
		cmocka_unit_test_teardown(a_group_that_left_may_come_back, teardown),
		cmocka_unit_test_teardown(copies_stop_and_go_with_their_tenant, teardown),
		cmocka_unit_test_teardown(copies_stop_beside_a_mover, teardown),
		cmocka_unit_test_teardown(copies_of_a_context_that_is_gone, teardown),
		cmocka_unit_test(what_is_wrong_makes_no_runtime),
	};

	return gp_run_tests(tests);
}
