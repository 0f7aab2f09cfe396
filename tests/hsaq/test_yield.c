// SPDX-License-Identifier: Apache-2.0
/*
 * Holds by agreement, on the stock driver with and without a firmware scheduler. This process
 * is BE and has queues. Its children are LC and ask for the device; they release it, reach
 * their limit, or are killed. Each process has a fake KFD of its own, of the same device.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/engine.h"
#include "gpreempt/gpreempt.h"
#include "libhsaq/kfd_abi.h"
#include "libhsaq/track.h"
#include "tests/common/gp_test.h"
#include "tests/hsaq/fake_kfd.h"

#define MS 1000000ull
#define NR_UPDATE 0x07
#define DESTROY _IOWR('K', HSAQ_KFD_NR_DESTROY_QUEUE, struct hsaq_kfd_destroy)
#define CREATE _IOWR('K', HSAQ_KFD_NR_CREATE_QUEUE, struct hsaq_kfd_create)

/* One child, and two pipes for its steps: one letter each. */
struct lc {
	pid_t pid;
	int to, from;
};

static struct fake_config config;
static uint64_t device; /* unique_id of this run */
static struct lc lc[2];
static int kfd;
static uint32_t queue;

/* ---- the LC child ------------------------------------------------------------- */

static void step(int from, int to, struct gp_handle **h)
{
	char letter;
	int err = 0;

	if (read(from, &letter, 1) != 1)
		_exit(0);
	switch (letter) {
	case 'o':
		err = gp_open(NULL, h);
		break;
	case 'b':
		err = gp_segment_begin(*h);
		break;
	case 'e':
		err = gp_segment_end(*h);
		break;
	case 'h':
		err = gp_hold(*h, 5 * MS);
		break;
	case 'c':
		gp_close(*h);
		break;
	}
	letter = err ? '!' : '.';
	if (write(to, &letter, 1) != 1)
		_exit(1);
}

static struct lc start_lc(void)
{
	struct gp_handle *h = NULL;
	int down[2], up[2];
	pid_t pid;

	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(down[1]);
		fake_kfd_start(&config);
		for (;;)
			step(down[0], up[1], &h);
	}
	close(down[0]);
	close(up[1]);
	return (struct lc){ pid, down[1], up[0] };
}

static void tell(const struct lc *l, char letter)
{
	char answer = 0;

	assert_int_equal(write(l->to, &letter, 1), 1);
	assert_int_equal(read(l->from, &answer, 1), 1);
	assert_int_equal(answer, '.');
}

/* ---- the BE parent --------------------------------------------------------------- */

static void group_ready(void *arg, struct gp_group *group)
{
	struct gp_client_device *dev;

	assert_int_equal(gp_engine_device(group->dev->ops, &group->dev->id, &dev), 0);
	assert_int_equal(gp_client_device_group_add(dev, group), 0);
	gp_thread_start(true);
}

static void group_gone(void *arg, struct gp_group *group)
{
	gp_engine_group_gone(group);
}

static uint32_t create_of(uint32_t type)
{
	struct hsaq_kfd_create args = {
		.ring_base = 0x10000,
		.ring_bytes = 4096,
		.gpu_id = FAKE_GPU,
		.type = type,
		.percentage = 100,
		.priority = 7,
	};

	assert_int_equal(gp_amd_track_ioctl(kfd, CREATE, &args, fake_ioctl), 0);
	return args.queue_id;
}

static uint32_t create(void)
{
	return create_of(HSAQ_KFD_QUEUE_COMPUTE_AQL);
}

/* As ROCr's Suspend, Resume and SetPriority. */
static int app_update(uint32_t id, uint32_t percentage, uint32_t priority)
{
	struct hsaq_kfd_update args = {
		.ring_base = 0x10000,
		.queue_id = id,
		.ring_bytes = 4096,
		.percentage = percentage,
		.priority = priority,
	};
	int r = gp_amd_track_ioctl(kfd, HSAQ_KFD_UPDATE_QUEUE, &args, fake_ioctl);

	/* The application's own argument is as it was. */
	assert_int_equal(args.percentage, percentage);
	return r;
}

static void assert_is(uint32_t id, uint32_t percentage, uint32_t priority)
{
	uint32_t is, p;

	fake_queue_properties(getpid(), id, &is, &p);
	assert_int_equal(is, percentage);
	assert_int_equal(p, priority);
}

static int setup(void **state)
{
	static const struct gp_track_ops ops = { .group_ready = group_ready,
						 .group_gone = group_gone };
	static const struct gp_engine_hooks hooks = {
		.request.cls = { GP_CLASS_BE, 100 },
		.tracks = true,
	};
	lc[0] = start_lc();
	lc[1] = start_lc();
	fake_kfd_start(&config);
	kfd = fake_open_kfd();
	gp_engine_set_hooks(&hooks);
	assert_int_equal(gp_amd_track_start(&ops, NULL), 0);
	queue = create();
	return 0;
}

static int teardown(void **state)
{
	close(lc[1].to);
	waitpid(lc[1].pid, NULL, 0);
	fake_kfd_stop();
	return 0;
}

static bool is_off(uint32_t id)
{
	uint32_t percentage, priority;

	fake_queue_properties(getpid(), id, &percentage, &priority);
	return !percentage;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * A segment of @l begins, @then runs, and the queue is suspended. A segment's hold ends
 * after 20 ms: repeat if the machine took that long.
 */
static bool off_in_segment(const struct lc *l, void (*then)(void))
{
	for (int i = 0; i < 50; i++) {
		uint64_t start_ns = now_ns();
		bool off;

		tell(l, 'b');
		if (then)
			then();
		off = is_off(queue);
		if (off || now_ns() - start_ns < 15 * MS)
			return off;
		tell(l, 'e');
	}
	return false;
}

/* Waits, because a release does not wait for the resume. */
static bool comes_on(uint32_t id)
{
	const struct timespec ms = { .tv_nsec = MS };

	for (int i = 0; i < 5000 && is_off(id); i++)
		nanosleep(&ms, NULL);
	return !is_off(id);
}

/* The same, for a test that ends the segment with 'e'. */
static void begin_segment(void)
{
	assert_true(off_in_segment(&lc[0], NULL));
}

static void end_segment(void)
{
	tell(&lc[0], 'e');
	assert_true(comes_on(queue));
}

/*
 * The next segment begins while the end of the last one still resumes the queue. The answer to
 * that end must not be taken for one to the begin. Again, repeat on a slow machine.
 */
static void a_begin_may_follow_an_end(void **state)
{
	bool off = false, quick = false;

	for (int i = 0; i < 50 && !quick; i++) {
		uint64_t start_ns;

		begin_segment();
		fake_slow_update(MS);
		start_ns = now_ns();
		tell(&lc[0], 'e');
		tell(&lc[0], 'b');
		off = is_off(queue);
		quick = off || now_ns() - start_ns < 15 * MS;
		fake_slow_update(0);
		end_segment();
	}
	assert_true(off);
}

static uint32_t later;
static bool was_off;

static void create_later(void)
{
	later = create();
	was_off = is_off(later);
}

static void a_segment_is_yielded_to(void **state)
{
	tell(&lc[0], 'o');
	assert_true(off_in_segment(&lc[0], create_later));
	/* A queue created meanwhile was suspended, too. */
	assert_true(was_off);
	tell(&lc[0], 'e');
	assert_true(comes_on(queue));
	assert_true(comes_on(later));
}

static int updated;

static void resume_queue(void)
{
	updated = app_update(queue, 100, 7);
}

static void set_priority(void)
{
	updated = app_update(queue, 100, 11);
}

static void suspend_queue(void)
{
	updated = app_update(queue, 0, 7);
}

static void update_in_vain(void)
{
	fake_fail(NR_UPDATE, 0, -EINVAL);
	updated = app_update(queue, 50, 3);
}

/* The application's call comes while the queue is off for LC, and takes effect afterwards. */
static void app_calls_in_a_hold(void **state)
{
	assert_true(off_in_segment(&lc[0], resume_queue));
	assert_int_equal(updated, 0);
	end_segment();
	assert_is(queue, 100, 7);
	assert_true(off_in_segment(&lc[0], set_priority));
	assert_is(queue, 0, 11);
	end_segment();
	assert_is(queue, 100, 11);
	assert_true(off_in_segment(&lc[0], update_in_vain));
	assert_int_equal(updated, -EINVAL);
	end_segment();
	assert_is(queue, 100, 11);
}

/* What the application itself suspends stays so until it resumes it. */
static void an_app_may_suspend(void **state)
{
	assert_true(off_in_segment(&lc[0], suspend_queue));
	tell(&lc[0], 'e');
	/* The other queue shows the end of the hold. */
	assert_true(comes_on(later));
	assert_is(queue, 0, 7);
	begin_segment();
	tell(&lc[0], 'e');
	assert_int_equal(app_update(queue, 100, 7), 0);
	assert_true(comes_on(queue));
	assert_is(queue, 100, 7);
}

/* LeakSanitizer asks. A child lacks the threads whose stacks hold pointers to allocations. */
static bool in_child;
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int __lsan_is_turned_off(void)
{
	return in_child;
}

/* A child ends in the middle, with handlers of exit(), and has no part in it. */
static void fork_and_exit(void)
{
	pid_t pid = fork();

	if (!pid) {
		in_child = true;
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void a_forked_child_changes_nothing(void **state)
{
	assert_true(off_in_segment(&lc[0], fork_and_exit));
	end_segment();
}

/* A segment while the kernel has destroyed the queue, and the tracker does not know yet. */
static int destroy_late(int fd, unsigned long request, void *arg)
{
	int r = fake_ioctl(fd, request, arg);

	begin_segment();
	end_segment();
	return r;
}

static void a_queue_that_is_gone_is_no_failure(void **state)
{
	struct hsaq_kfd_destroy args = { .queue_id = later };

	assert_int_equal(gp_amd_track_ioctl(kfd, DESTROY, &args, destroy_late), 0);
}

static void a_resume_is_repeated(void **state)
{
	begin_segment();
	fake_fail(NR_UPDATE, 0, -EIO);
	end_segment();
}

/* The indices of two queues: of the second, one packet waits. */
static struct {
	uint64_t w, r;
} idle, busy = { .w = 1 };

static uint32_t create_with(uint64_t *w, uint64_t *r)
{
	struct hsaq_kfd_create args = {
		.ring_base = 0x10000,
		.ring_bytes = 4096,
		.write_pointer = (uintptr_t)w,
		.read_pointer = (uintptr_t)r,
		.gpu_id = FAKE_GPU,
		.type = HSAQ_KFD_QUEUE_COMPUTE,
		.percentage = 100,
		.priority = 7,
	};

	assert_int_equal(gp_amd_track_ioctl(kfd, CREATE, &args, fake_ioctl), 0);
	return args.queue_id;
}

static void busy_queues_go_first(void **state)
{
	uint32_t before = create_with(&idle.w, &idle.r), full = create_with(&busy.w, &busy.r);
	uint32_t after = create_with(&idle.w, &idle.r);

	begin_segment();
	assert_true(is_off(full) && is_off(before) && is_off(after));
	assert_true(fake_queue_updated(getpid(), full) < fake_queue_updated(getpid(), queue));
	assert_true(fake_queue_updated(getpid(), full) < fake_queue_updated(getpid(), before));
	assert_true(fake_queue_updated(getpid(), full) < fake_queue_updated(getpid(), after));
	end_segment();
}

/* Copies use no compute unit: they go on. */
static void a_copy_queue_stays_on(void **state)
{
	uint32_t copies = create_of(HSAQ_KFD_QUEUE_SDMA);

	begin_segment();
	assert_is(copies, 100, 7);
	end_segment();
}

static void another_begins_and_ends(void)
{
	const struct timespec ts = { .tv_nsec = 3 * MS };

	tell(&lc[0], 'b');
	tell(&lc[0], 'e');
	nanosleep(&ts, NULL);
}

static void two_may_ask(void **state)
{
	tell(&lc[1], 'o');
	assert_true(off_in_segment(&lc[1], another_begins_and_ends));
	tell(&lc[1], 'e');
	assert_true(comes_on(queue));
}

static void who_is_killed_lets_go(void **state)
{
	assert_true(off_in_segment(&lc[0], NULL));
	kill(lc[0].pid, SIGKILL);
	waitpid(lc[0].pid, NULL, 0);
	assert_true(comes_on(queue));
}

/* The holder is stopped and cannot release, so this process ends the hold at its limit. */
static void the_limit_ends_it(void **state)
{
	tell(&lc[1], 'h');
	kill(lc[1].pid, SIGSTOP);
	assert_true(comes_on(queue));
	kill(lc[1].pid, SIGCONT);
}

static void who_is_as_urgent_stays(void **state)
{
	const struct gp_class_value as_urgent = { GP_CLASS_LC, 0 };
	const struct gp_class_value be = { GP_CLASS_BE, 100 };
	struct gp_client_device *dev[1];

	assert_int_equal(gp_engine_devices(dev, 1), 1);
	assert_int_equal(gp_client_device_set_class(dev[0], &as_urgent), 0);
	tell(&lc[1], 'b');
	assert_false(is_off(queue));
	tell(&lc[1], 'e');
	assert_int_equal(gp_client_device_set_class(dev[0], &be), 0);
}

static char warning[512];
static unsigned int warnings;

static void log_line(enum gp_log_level level, const char *line, void *arg)
{
	warnings += level == GP_LOG_WARN;
	snprintf(warning, sizeof(warning), "%s", line);
}

/* Queues that would have to drain stay on, and the process runs as without a class. */
static void without_cwsr_nothing_goes_off(void **state)
{
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "no class has an effect here: amdgpu.cwsr_enable=0"));
	tell(&lc[0], 'o');
	tell(&lc[0], 'b');
	assert_is(queue, 100, 7);
	tell(&lc[0], 'e');
	assert_int_equal(fake_calls(NR_UPDATE), 0);
}

static int run_without_cwsr(void)
{
	const struct CMUnitTest yield[] = { cmocka_unit_test(without_cwsr_nothing_goes_off) };

	config = (struct fake_config){
		.kernel = FAKE_STOCK_HWS,
		.cwsr_off = true,
		.unique_id = device,
	};
	gp_set_log(log_line, NULL);
	return gp_run_group("yield-no-cwsr", cmocka_run_group_tests(yield, setup, teardown), 1);
}

/* A process has one engine, so each kernel takes a process. */
static int run_on(enum fake_kernel which, const char *name)
{
	const struct CMUnitTest yield[] = {
		cmocka_unit_test(a_segment_is_yielded_to),
		cmocka_unit_test(a_begin_may_follow_an_end),
		cmocka_unit_test(app_calls_in_a_hold),
		cmocka_unit_test(an_app_may_suspend),
		cmocka_unit_test(a_forked_child_changes_nothing),
		cmocka_unit_test(a_queue_that_is_gone_is_no_failure),
		cmocka_unit_test(a_resume_is_repeated),
		cmocka_unit_test(busy_queues_go_first),
		cmocka_unit_test(a_copy_queue_stays_on),
		cmocka_unit_test(two_may_ask),
		cmocka_unit_test(who_is_killed_lets_go),
		cmocka_unit_test(the_limit_ends_it),
		cmocka_unit_test(who_is_as_urgent_stays),
	};

	config = (struct fake_config){ .kernel = which, .unique_id = device };
	return gp_run_group(name, cmocka_run_group_tests(yield, setup, teardown),
			    sizeof(yield) / sizeof(yield[0]));
}

static bool ends_well(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		exit(run());
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static int run_on_hws(void)
{
	return run_on(FAKE_STOCK_HWS, "yield-hws");
}

int main(void)
{
	bool well;

	signal(SIGPIPE, SIG_IGN);
	device = (uint64_t)getpid() << 32 ^ now_ns();
	well = ends_well(run_on_hws);
	well &= ends_well(run_without_cwsr);
	return run_on(FAKE_STOCK, "yield-no-hws") || !well;
}
