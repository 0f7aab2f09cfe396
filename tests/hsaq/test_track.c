// SPDX-License-Identifier: Apache-2.0
/*
 * The preload and gpreempt.h in an AMD program, over the fake KFD. The preload sees
 * queues by their ioctls and gives the class to the driver; hints and segments hold the
 * device. There is one process with one engine: each test continues from the last one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/engine.h"
#include "gpreempt/gpreempt.h"
#include "kfd-patch/uapi/linux/kfd_sched.h"
#include "libhsaq/kfd_abi.h"
#include "libhsaq/track.h"
#include "tests/common/gp_test.h"
#include "tests/hsaq/fake_kfd.h"

#define MS 1000000ull
#define OTHER 54321
#define NR_CREATE 0x02
#define NR_HOLD _IOC_NR(AMDKFD_IOC_SCHED_HOLD)
#define NR_SET_CLASS _IOC_NR(AMDKFD_IOC_SCHED_SET_CLASS)

/* libhsakmt's structure (ABI 1.11) is shorter than the driver's (ABI 1.17). */
struct create_1_11 {
	struct hsaq_kfd_create c;
	uint64_t eop, eop_bytes, save;
	uint32_t save_bytes, ctl_stack;
};
struct create_1_17 {
	struct create_1_11 c;
	uint32_t sdma_engine, pad;
};
#define CREATE_1_11 _IOWR('K', NR_CREATE, struct create_1_11)
#define CREATE_1_17 _IOWR('K', NR_CREATE, struct create_1_17)
#define DESTROY _IOWR('K', HSAQ_KFD_NR_DESTROY_QUEUE, struct hsaq_kfd_destroy)

static int kfd; /* the application's own file */
static size_t ready, gone;
static uint32_t other_be;

/* As preload/inject.c does. */
static void group_ready(void *arg, struct gp_group *group)
{
	struct gp_client_device *dev;

	ready++;
	assert_int_equal(group->kind, GP_GROUP_COMPUTE);
	assert_int_equal(group->pid, getpid());
	assert_int_equal(gp_engine_device(group->dev->ops, &group->dev->id, &dev), 0);
	assert_int_equal(gp_client_device_group_add(dev, group), 0);
}

static void group_gone(void *arg, struct gp_group *group)
{
	gone++;
	gp_engine_group_gone(group);
}

static int setup(void **state)
{
	static const struct gp_track_ops ops = { .group_ready = group_ready,
						 .group_gone = group_gone };
	static const struct gp_engine_hooks hooks = {
		.request.cls = { GP_CLASS_LC, 1 },
		.tracks = true,
	};
	const struct fake_config config = { 0 };

	fake_kfd_start(&config);
	kfd = fake_open_kfd();
	fake_process_add(OTHER);
	other_be = fake_queue_create(OTHER, FAKE_GPU2, 0);
	gp_engine_set_hooks(&hooks);
	assert_int_equal(gp_amd_track_start(&ops, NULL), 0);
	assert_int_equal(gp_amd_track_start(&ops, NULL), -EALREADY);
	return 0;
}

static int teardown(void **state)
{
	fake_kfd_stop();
	return 0;
}

static int app_ioctl(int fd, unsigned long request, void *arg)
{
	return gp_amd_track_ioctl(fd, request, arg, fake_ioctl);
}

/* A driver that does nothing. */
static int succeed(int fd, unsigned long request, void *arg)
{
	return 0;
}

static int refuse(int fd, unsigned long request, void *arg)
{
	return -1;
}

static uint32_t create(unsigned long request, uint32_t type)
{
	struct create_1_17 args = { .c.c = {
					    .ring_base = 0x10000,
					    .ring_bytes = 4096,
					    .gpu_id = FAKE_GPU2,
					    .type = type,
					    .percentage = 100,
					    .priority = 7,
				    } };

	assert_int_equal(app_ioctl(kfd, request, &args), 0);
	return args.c.c.queue_id;
}

static void destroy(uint32_t id)
{
	struct hsaq_kfd_destroy args = { .queue_id = id };

	assert_int_equal(app_ioctl(kfd, DESTROY, &args), 0);
}

static void assert_class(uint32_t id, uint32_t cls, uint32_t level)
{
	uint32_t c, l, w;

	fake_queue_class(getpid(), id, &c, &l, &w);
	assert_int_equal(c, cls);
	assert_int_equal(l, level);
}

static uint64_t saves_of_other(void)
{
	return fake_queue_saves(OTHER, other_be);
}

/* Waits, because a timer thread starts the hold soon after the hint, not at once. */
static bool was_off_and_is_on(uint64_t saves)
{
	const struct timespec ms = { .tv_nsec = MS };

	for (int i = 0; i < 5000; i++) {
		if (saves_of_other() > saves &&
		    fake_queue_state(OTHER, other_be) == KFD_SCHED_STATE_LOADED)
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

static void every_queue_is_seen(void **state)
{
	uint32_t aql = create(CREATE_1_11, HSAQ_KFD_QUEUE_COMPUTE_AQL), pm4, sdma;

	assert_int_equal(ready, 1);
	assert_class(aql, KFD_SCHED_CLASS_LC, 1);
	pm4 = create(CREATE_1_17, HSAQ_KFD_QUEUE_COMPUTE);
	assert_int_equal(ready, 2);
	assert_class(pm4, KFD_SCHED_CLASS_LC, 1);
	sdma = create(CREATE_1_17, HSAQ_KFD_QUEUE_SDMA);
	assert_int_equal(ready, 2);
	/* One call sets the class of the whole process. */
	assert_int_equal(fake_calls(NR_SET_CLASS), 1);
	destroy(sdma);
	assert_int_equal(gone, 0);
	destroy(pm4);
	assert_int_equal(gone, 1);
}

static void other_calls_are_not(void **state)
{
	struct create_1_17 args = { .c.c.gpu_id = FAKE_GPU2 };
	size_t before = ready;

	assert_false(gp_amd_track_wants(_IO('K', NR_CREATE)));
	assert_false(gp_amd_track_wants(_IOWR('F', NR_CREATE, args)));
	assert_false(gp_amd_track_wants(_IOWR('K', NR_HOLD, args)));
	/* A file that is not the KFD's, a failed call, and a call with a short argument. */
	assert_int_equal(gp_amd_track_ioctl(0, CREATE_1_17, &args, succeed), 0);
	assert_int_equal(gp_amd_track_ioctl(kfd, CREATE_1_17, &args, refuse), -1);
	assert_int_equal(gp_amd_track_ioctl(kfd, _IOWR('K', NR_CREATE, uint64_t), &args, succeed),
			 0);
	assert_int_equal(ready, before);
}

static void a_handle_is_of_the_used_device(void **state)
{
	const struct gp_open_opts first = { .size = sizeof(first), .device = "0001:3c:00.0" };
	struct gp_client_device *dev[4];
	struct gp_handle *h = NULL;

	/* Two devices; the queue is on the second. */
	assert_int_equal(gp_open(NULL, &h), 0);
	assert_int_equal(gp_engine_devices(dev, 4), 1);
	assert_int_equal(dev[0]->hal->id.minor, 129);
	gp_close(h);
	assert_int_equal(gp_open(&first, &h), 0);
	assert_int_equal(gp_engine_devices(dev, 4), 2);
	assert_int_equal(dev[1]->hal->id.minor, 128);
	gp_close(h);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* State of the other process's queue before, in and after a segment, and its counts. */
struct segment {
	uint32_t before, inside, after;
	unsigned int calls;
	struct gp_stats stats;
	uint64_t took_ns; /* both calls included */
};

static struct segment segment_once(uint64_t for_ns)
{
	const struct timespec ts = { .tv_nsec = (long)for_ns };
	struct segment s = { .stats.size = sizeof(s.stats) };
	struct gp_handle *h = NULL;
	unsigned int calls = fake_calls(NR_HOLD);
	uint64_t start_ns;

	assert_int_equal(gp_open(NULL, &h), 0);
	s.before = fake_queue_state(OTHER, other_be);
	start_ns = now_ns();
	assert_int_equal(gp_segment_begin(h), 0);
	nanosleep(&ts, NULL);
	s.inside = fake_queue_state(OTHER, other_be);
	assert_int_equal(gp_segment_end(h), 0);
	s.took_ns = now_ns() - start_ns;
	s.after = fake_queue_state(OTHER, other_be);
	s.calls = fake_calls(NR_HOLD) - calls;
	assert_int_equal(gp_stats_get(h, &s.stats), 0);
	gp_close(h);
	return s;
}

/*
 * A segment's hold ends after 20 ms, also if other processes use the CPU meanwhile. A
 * segment that took as long proves nothing: repeat it.
 */
static struct segment segment(uint64_t for_ns)
{
	struct segment s = { 0 };

	for (int i = 0; i < 200; i++) {
		s = segment_once(for_ns);
		if (s.took_ns < 15 * MS)
			return s;
	}
	fail_msg("each segment took longer than a hold lasts");
	return s;
}

static void a_segment_holds_the_device(void **state)
{
	struct segment s = segment(0);

	assert_int_equal(s.before, KFD_SCHED_STATE_LOADED);
	/* BE is suspended before begin returns, so no LC work runs beside BE. */
	assert_int_equal(s.inside, KFD_SCHED_STATE_HELD);
	assert_int_equal(s.after, KFD_SCHED_STATE_LOADED);
	assert_int_equal(s.stats.segments, 1);
	assert_int_equal(s.stats.holds, 1);
	assert_int_equal(s.stats.holds_expired, 0);
	assert_int_equal(s.stats.syncs_cut, 0);
	assert_true(s.stats.switch_ns == 250000);
}

/* The hold is not renewed in pieces, as it does not delay the program's own work. */
static void a_hold_is_one_call(void **state)
{
	struct segment s = segment(5 * MS);

	assert_int_equal(s.inside, KFD_SCHED_STATE_HELD);
	assert_int_equal(s.calls, 1);
}

static void a_hint_holds_and_lapses(void **state)
{
	struct gp_stats stats = { .size = sizeof(stats) };
	struct gp_handle *h = NULL;
	uint64_t before;

	assert_int_equal(gp_open(NULL, &h), 0);
	before = saves_of_other();
	assert_int_equal(gp_hint(h, 20 * MS), 0);
	/* No work comes: the hold lasts for a moment. */
	assert_true(was_off_and_is_on(before));
	assert_int_equal(gp_stats_get(h, &stats), 0);
	assert_int_equal(stats.hints, 1);
	assert_int_equal(stats.holds, 1);
	/* A hint from outside, as by `gpreempt hint`. */
	before = saves_of_other();
	assert_int_equal(gp_engine_hint(0), 0);
	assert_true(was_off_and_is_on(before));
	gp_close(h);
}

/* The queue's indices, one packet with a signal, and the signal (value at +8). */
static struct {
	uint64_t w, r;
	uint64_t signal[8];
	uint64_t ring[64 * 8];
} gpu;

static bool stays_off(void)
{
	const struct timespec ts = { .tv_nsec = 3 * MS };

	nanosleep(&ts, NULL);
	return fake_queue_state(OTHER, other_be) == KFD_SCHED_STATE_HELD;
}

/*
 * BE is suspended while the work waits and while it runs, until its signal. A hint lapses
 * if the library does not look for 0.5 ms, and a hold ends after 20 ms. A slow machine
 * needs more tries.
 */
static bool lasts_as_its_work(struct gp_handle *h)
{
	for (int i = 0; i < 50; i++) {
		uint64_t before = saves_of_other();
		bool waiting, running, ended;

		gpu.signal[1] = 1;
		gpu.w++;
		assert_int_equal(gp_hint(h, 0), 0);
		waiting = stays_off();
		gpu.r++;
		running = stays_off();
		gpu.signal[1] = 0;
		ended = was_off_and_is_on(before);
		if (waiting && running && ended)
			return true;
	}
	return false;
}

/* The work lasts longer than the 0.5 ms after which a hint without work lapses. */
static void a_hint_lasts_as_its_work(void **state)
{
	struct create_1_17 args = { .c.c = {
					    .ring_base = (uintptr_t)gpu.ring,
					    .ring_bytes = sizeof(gpu.ring),
					    .write_pointer = (uintptr_t)&gpu.w,
					    .read_pointer = (uintptr_t)&gpu.r,
					    .gpu_id = FAKE_GPU2,
					    .type = HSAQ_KFD_QUEUE_COMPUTE_AQL,
					    .percentage = 100,
					    .priority = 7,
				    } };
	struct gp_handle *h = NULL;

	assert_int_equal(app_ioctl(kfd, CREATE_1_17, &args), 0);
	assert_int_equal(gp_open(NULL, &h), 0);
	for (size_t i = 0; i < 64; i++)
		gpu.ring[8 * i + 7] = (uintptr_t)gpu.signal;
	assert_true(lasts_as_its_work(h));
	gp_close(h);
	destroy(args.c.c.queue_id);
}

static void a_class_changes_for_all(void **state)
{
	uint32_t id = create(CREATE_1_17, HSAQ_KFD_QUEUE_COMPUTE_AQL);
	struct gp_handle *h = NULL;

	assert_int_equal(gp_open(NULL, &h), 0);
	assert_int_equal(gp_set_class(h, GP_CLASS_BE, 10), 0);
	assert_class(id, KFD_SCHED_CLASS_BE, 0);
	assert_int_equal(gp_hint(h, 0), -EPERM);
	fake_kfd_privilege(false);
	fake_fail(NR_SET_CLASS, 0, -EPERM);
	assert_int_equal(gp_set_class(h, GP_CLASS_LC, 0), -EPERM);
	assert_int_equal(gp_hint(h, 0), -EPERM);
	fake_kfd_privilege(true);
	assert_int_equal(gp_set_class(h, GP_CLASS_LC, 0), 0);
	assert_class(id, KFD_SCHED_CLASS_LC, 0);
	gp_close(h);
	destroy(id);
}

static size_t open_pipes(void)
{
	struct stat st;
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += !fstat(fd, &st) && S_ISFIFO(st.st_mode);
	return n;
}

/* In a child, with queues of its parent's numbers. Return: 0, or the failed check. */
static int forked(uint32_t id, size_t pipes)
{
	struct create_1_17 args = { .c.c = {
					    .ring_base = 0x10000,
					    .ring_bytes = 4096,
					    .gpu_id = FAKE_GPU2,
					    .type = HSAQ_KFD_QUEUE_COMPUTE_AQL,
					    .percentage = 100,
					    .priority = 7,
				    } };
	struct hsaq_kfd_destroy gone_args = { .queue_id = id };
	size_t was_ready = ready, was_gone = gone;
	unsigned int files = fake_files();
	struct gp_handle *h = NULL;
	int fd = fake_open_kfd();

	if (fd < 0 || app_ioctl(fd, CREATE_1_17, &args))
		return 1;
	/* The driver's answer for the child's own queue of that number. */
	(void)gp_amd_track_ioctl(fd, DESTROY, &gone_args, succeed);
	if (ready != was_ready || gone != was_gone)
		return 2;
	if (gp_open(NULL, &h) != -ECHILD)
		return 3;
	if (fake_files() != files + 1)
		return 4;
	/* The child has closed the parent's pair of pipes for busy(). */
	return open_pipes() + 2 == pipes ? 0 : 5;
}

static void a_child_leaves_its_parents_alone(void **state)
{
	uint32_t id = create(CREATE_1_17, HSAQ_KFD_QUEUE_COMPUTE_AQL);
	size_t was_gone = gone, pipes = open_pipes();
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(forked(id, pipes));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_class(id, KFD_SCHED_CLASS_LC, 0);
	assert_int_equal(gone, was_gone);
	destroy(id);
	assert_int_equal(gone, was_gone + 1);
}

/* The driver refuses a hold: the program runs on without one. */
static void a_hold_that_is_refused_costs_nothing(void **state)
{
	struct gp_handle *h = NULL;

	assert_int_equal(gp_open(NULL, &h), 0);
	fake_fail(NR_HOLD, 0, -EIO);
	assert_int_equal(gp_segment_begin(h), 0);
	assert_int_equal(gp_segment_end(h), 0);
	assert_int_equal(fake_queue_state(OTHER, other_be), KFD_SCHED_STATE_LOADED);
	gp_close(h);
}

int main(void)
{
	const struct CMUnitTest track[] = {
		cmocka_unit_test(every_queue_is_seen),
		cmocka_unit_test(other_calls_are_not),
		cmocka_unit_test(a_handle_is_of_the_used_device),
		cmocka_unit_test(a_segment_holds_the_device),
		cmocka_unit_test(a_hold_is_one_call),
		cmocka_unit_test(a_hint_holds_and_lapses),
		cmocka_unit_test(a_hint_lasts_as_its_work),
		cmocka_unit_test(a_class_changes_for_all),
		cmocka_unit_test(a_child_leaves_its_parents_alone),
		cmocka_unit_test(a_hold_that_is_refused_costs_nothing),
	};

	return gp_run_group("track", cmocka_run_group_tests(track, setup, teardown),
			    sizeof(track) / sizeof(track[0]));
}
