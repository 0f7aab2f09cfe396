// SPDX-License-Identifier: Apache-2.0
/* libhsaq over the fake KFD: the three modes, rights, errors, and lifetimes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd-patch/uapi/linux/kfd_sched.h"
#include "hsaq.h"
#include "tests/common/gp_test.h"
#include "tests/hsaq/fake_kfd.h"

#define MS 1000000ull
#define OTHER 54321 /* exists in the fake only */

static struct hsaq *start(const struct fake_config *config)
{
	struct hsaq *h = NULL;

	fake_kfd_start(config);
	assert_int_equal(hsaq_open(NULL, &h), 0);
	return h;
}

static void end(struct hsaq *h)
{
	hsaq_close(h);
	assert_int_equal(fake_files(), 0);
	fake_kfd_stop();
}

/* ---- opening and modes ------------------------------------------------------- */

static void check_mode(enum fake_kernel kernel, enum hsaq_mode mode, const char *word)
{
	const struct fake_config config = { .kernel = kernel };
	struct hsaq *h = start(&config);
	char line[256];

	assert_int_equal(hsaq_mode(h), mode);
	hsaq_mode_line(h, line, sizeof(line));
	assert_non_null(strstr(line, word));
	assert_null(strchr(line, '\n'));
	end(h);
}

static void modes_are_told_apart(void **state)
{
	check_mode(FAKE_PATCHED, HSAQ_MODE_SCHED, "patched, no HWS");
	check_mode(FAKE_PATCHED_HWS, HSAQ_MODE_HWS, "patched, but the firmware schedules");
	check_mode(FAKE_STOCK, HSAQ_MODE_NO_HWS, "stock, no HWS");
	check_mode(FAKE_STOCK_HWS, HSAQ_MODE_HWS, "stock, firmware scheduling");
}

/* If the firmware of one card schedules, the other card keeps its own mode. */
static void each_device_has_its_mode(void **state)
{
	const struct fake_config config = { .gpu2_hws = true };
	struct hsaq *h = start(&config);
	char line[256];

	assert_int_equal(hsaq_mode(h), HSAQ_MODE_SCHED);
	assert_int_equal(hsaq_device_mode(h, FAKE_GPU), HSAQ_MODE_SCHED);
	assert_int_equal(hsaq_device_mode(h, FAKE_GPU2), HSAQ_MODE_HWS);
	assert_int_equal(hsaq_device_mode(h, 1), HSAQ_MODE_SCHED);
	hsaq_device_mode_line(h, FAKE_GPU2, line, sizeof(line));
	assert_non_null(strstr(line, "this card's firmware always schedules"));
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 0, NULL), 0);
	assert_int_equal(hsaq_hold(h, FAKE_GPU2, 15, MS, 0, NULL), -EOPNOTSUPP);
	assert_int_equal(hsaq_reset_class(h, FAKE_GPU2), -EOPNOTSUPP);
	end(h);
}

static void check_refusal(const struct fake_config *config, int err, const char *word)
{
	char why[256] = "";
	const struct hsaq_open_opts opts = {
		.size = sizeof(opts),
		.why = why,
		.why_len = sizeof(why),
	};
	struct hsaq *h = NULL;

	fake_kfd_start(config);
	assert_int_equal(hsaq_open(&opts, &h), err);
	assert_null(h);
	assert_non_null(strstr(why, word));
	assert_int_equal(fake_files(), 0);
	fake_kfd_stop();
}

static void what_cannot_be_opened_says_why(void **state)
{
	const struct fake_config none = { .no_kfd = -ENOENT };
	const struct fake_config closed = { .no_kfd = -EACCES };
	const struct fake_config older = { .kernel = FAKE_STOCK, .minor = 9 };
	const struct fake_config later = { .kernel = FAKE_STOCK, .major = 2 };

	check_refusal(&none, -ENOENT, "modprobe amdgpu");
	check_refusal(&closed, -EACCES, "group");
	check_refusal(&older, -EPROTO, "KFD ABI 0.9");
	check_refusal(&later, -EPROTO, "KFD ABI 2.0");
}

static void options_have_a_size(void **state)
{
	const struct fake_config config = { 0 };
	struct {
		struct hsaq_open_opts opts;
		uint64_t later;
	} o = { .opts.size = sizeof(o) };
	struct hsaq *h = NULL;

	fake_kfd_start(&config);
	assert_int_equal(hsaq_open(&o.opts, NULL), -EINVAL);
	o.later = 1;
	assert_int_equal(hsaq_open(&o.opts, &h), -E2BIG);
	o.later = 0;
	o.opts.flags = 1;
	assert_int_equal(hsaq_open(&o.opts, &h), -EINVAL);
	o.opts.flags = 0;
	o.opts.size = 4;
	assert_int_equal(hsaq_open(&o.opts, &h), -EINVAL);
	o.opts.size = sizeof(o);
	assert_int_equal(hsaq_open(&o.opts, &h), 0);
	end(h);
}

static void a_child_has_nothing_of_it(void **state)
{
	const struct fake_config config = { 0 };
	struct hsaq *h = start(&config);
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(hsaq_hold(h, FAKE_GPU, 15, MS, 0, NULL) == -ECHILD &&
				      hsaq_devices(h, NULL, NULL) == -ECHILD ?
			      0 :
			      1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end(h);
}

/* ---- lists ---------------------------------------------------------------------- */

struct seen {
	struct hsaq_device_info device[4];
	struct hsaq_queue_info queue[128];
	size_t devices, queues;
};

static int see_device(const struct hsaq_device_info *info, void *arg)
{
	struct seen *s = arg;

	s->device[s->devices++] = *info;
	return 0;
}

static int see_queue(const struct hsaq_queue_info *info, void *arg)
{
	struct seen *s = arg;

	s->queue[s->queues++] = *info;
	return 0;
}

static int stop_at_once(const struct hsaq_queue_info *info, void *arg)
{
	return 7;
}

static void devices_are_listed(void **state)
{
	const struct fake_config config = { .slots = 4 };
	struct hsaq *h = start(&config);
	struct seen s = { 0 };

	assert_int_equal(hsaq_devices(h, see_device, &s), 0);
	assert_int_equal(s.devices, 2);
	assert_int_equal(s.device[0].gpu_id, FAKE_GPU);
	assert_int_equal(s.device[0].node, 1);
	assert_int_equal(s.device[0].gfx_version, 90006);
	assert_int_equal(s.device[0].pci_domain, 1);
	assert_int_equal(s.device[0].pci_bus, 0x3c);
	assert_int_equal(s.device[0].render_minor, 128);
	assert_int_equal(s.device[0].cp_queues, 4);
	assert_true(s.device[0].unique_id == FAKE_UNIQUE_ID);
	assert_string_equal(s.device[0].name, "vega20");
	assert_int_equal(s.device[1].gpu_id, FAKE_GPU2);
	end(h);
}

static void check_listing(enum fake_kernel kernel, int32_t loaded, int32_t waits)
{
	const struct fake_config config = { .kernel = kernel, .slots = 1 };
	struct hsaq *h = start(&config);
	struct seen s = { 0 };

	fake_process_add(OTHER);
	fake_queue_create(OTHER, FAKE_GPU, 0);
	fake_queue_create(OTHER, FAKE_GPU, 1);
	fake_queue_create(OTHER, FAKE_GPU, 0);
	fake_queue_create(OTHER, FAKE_GPU2, 0);
	assert_int_equal(hsaq_queues(h, FAKE_GPU, OTHER, see_queue, &s), 0);
	assert_int_equal(s.queues, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct hsaq_queue_info *q = &s.queue[i];

		assert_int_equal(q->pid, OTHER);
		assert_int_equal(q->gpu_id, FAKE_GPU);
		assert_int_equal(q->type, q->queue_id == 1 ? HSAQ_QUEUE_SDMA : HSAQ_QUEUE_COMPUTE);
		assert_int_equal(q->state, q->queue_id == 0 ? loaded :
					   q->queue_id == 2 ? waits :
							      HSAQ_STATE_UNKNOWN);
	}
	memset(&s, 0, sizeof(s));
	assert_int_equal(hsaq_queues(h, 0, 0, see_queue, &s), 0);
	assert_int_equal(s.queues, 4);
	assert_int_equal(hsaq_queues(h, 0, 0, stop_at_once, NULL), 7);
	assert_int_equal(hsaq_queues(h, 0, OTHER + 1, see_queue, &s), 0);
	assert_int_equal(s.queues, 4);
	end(h);
}

static void queues_are_listed(void **state)
{
	check_listing(FAKE_PATCHED, HSAQ_STATE_LOADED, HSAQ_STATE_WAITING);
	check_listing(FAKE_STOCK, HSAQ_STATE_UNKNOWN, HSAQ_STATE_UNKNOWN);
}

/* The driver's types are of enum kfd_queue_type. */
static void queue_types_are_told_apart(void **state)
{
	static const struct {
		uint32_t driver, ours;
	} type[] = {
		{ 0, HSAQ_QUEUE_COMPUTE }, { 1, HSAQ_QUEUE_SDMA }, { 2, HSAQ_QUEUE_OTHER },
		{ 3, HSAQ_QUEUE_OTHER },   { 4, HSAQ_QUEUE_SDMA }, { 5, HSAQ_QUEUE_SDMA },
	};
	const struct fake_config config = { .kernel = FAKE_STOCK };
	struct hsaq *h = start(&config);
	struct seen s = { 0 };

	fake_process_add(OTHER);
	for (size_t i = 0; i < 6; i++)
		fake_queue_create(OTHER, FAKE_GPU, type[i].driver);
	assert_int_equal(hsaq_queues(h, 0, OTHER, see_queue, &s), 0);
	assert_int_equal(s.queues, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(s.queue[i].type, type[i].ours);
	end(h);
}

/* Without the right to see states, the list is from sysfs. More queues than room, too. */
static void queues_are_listed_to_anybody(void **state)
{
	const struct fake_config config = { .unprivileged = true, .sched_node = -EACCES };
	struct hsaq *h = start(&config);
	struct seen s = { 0 };

	fake_process_add(OTHER);
	fake_queue_create(OTHER, FAKE_GPU, 0);
	assert_int_equal(hsaq_queues(h, FAKE_GPU, OTHER, see_queue, &s), 0);
	assert_int_equal(s.queues, 1);
	assert_int_equal(s.queue[0].state, HSAQ_STATE_UNKNOWN);
	fake_kfd_privilege(true);
	for (int i = 0; i < 50; i++) {
		fake_queue_create(OTHER, FAKE_GPU, 0);
		fake_queue_create(getpid(), FAKE_GPU, 0);
	}
	memset(&s, 0, sizeof(s));
	assert_int_equal(hsaq_queues(h, FAKE_GPU, 0, see_queue, &s), 0);
	assert_int_equal(s.queues, 101);
	for (size_t i = 0; i < s.queues; i++)
		assert_int_not_equal(s.queue[i].state, HSAQ_STATE_UNKNOWN);
	end(h);
}

/* In a PID namespace of one's own, sysfs is no use: its PIDs are other processes there. */
static void queues_in_a_pid_namespace(void **state)
{
	const struct fake_config config = { .sched_node = -EACCES, .pid_namespace = true };
	struct hsaq *h = start(&config);
	struct seen s = { 0 };

	fake_process_add(OTHER);
	fake_queue_create(OTHER, FAKE_GPU, 0);
	fake_queue_create(OTHER, FAKE_GPU, 1);
	assert_int_equal(hsaq_queues(h, 0, 0, see_queue, &s), 0);
	assert_int_equal(s.queues, 1);
	assert_int_equal(s.queue[0].state, HSAQ_STATE_LOADED);
	assert_int_equal(hsaq_queues(h, FAKE_GPU, OTHER + 1, see_queue, &s), 0);
	assert_int_equal(s.queues, 1);
	fake_kfd_privilege(false);
	assert_int_equal(hsaq_queues(h, FAKE_GPU, 0, see_queue, &s), 0);
	assert_int_equal(s.queues, 1);
	assert_int_equal(hsaq_queues(h, FAKE_GPU, OTHER, see_queue, &s), -EPERM);
	end(h);
}

/* ---- holds ------------------------------------------------------------------------- */

static void a_hold_keeps_best_effort_off(void **state)
{
	const struct fake_config config = { 0 };
	struct hsaq *h = start(&config);
	struct hsaq_hold_result held = { .size = sizeof(held) };
	struct hsaq_release_result freed = { .size = sizeof(freed) };
	struct hsaq_device_state dev = { .size = sizeof(dev) };
	uint32_t be, inner;

	fake_process_add(OTHER);
	be = fake_queue_create(OTHER, FAKE_GPU, 0);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, 900 * MS, 0, &held), 0);
	assert_int_equal(held.unloaded, 1);
	assert_int_equal(fake_queue_state(OTHER, be), KFD_SCHED_STATE_HELD);
	inner = held.hold_id;
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 3, 900 * MS, 0, &held), 0);
	assert_int_equal(hsaq_device_state(h, FAKE_GPU, &dev), 0);
	assert_int_equal(dev.holders, 2);
	assert_int_equal(dev.hold_level, 3);
	assert_int_equal(hsaq_release(h, FAKE_GPU, inner, &freed), 0);
	assert_int_equal(freed.loaded, 0);
	assert_int_equal(freed.holders, 1);
	assert_int_equal(fake_queue_state(OTHER, be), KFD_SCHED_STATE_HELD);
	assert_int_equal(hsaq_release(h, FAKE_GPU, held.hold_id, &freed), 0);
	assert_int_equal(freed.loaded, 1);
	assert_int_equal(fake_queue_state(OTHER, be), KFD_SCHED_STATE_LOADED);
	assert_int_equal(hsaq_release(h, FAKE_GPU, held.hold_id, NULL), -ENOENT);
	end(h);
}

static void a_hold_ends_with_its_handle(void **state)
{
	const struct fake_config config = { 0 };
	struct hsaq *h = start(&config);
	uint32_t be;

	fake_process_add(OTHER);
	be = fake_queue_create(OTHER, FAKE_GPU, 0);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, 900 * MS, 0, NULL), 0);
	hsaq_close(h);
	assert_int_equal(fake_queue_state(OTHER, be), KFD_SCHED_STATE_LOADED);
	end(NULL);
}

static void holds_refuse_nonsense(void **state)
{
	const struct fake_config config = { 0 };
	struct hsaq *h = start(&config);
	struct hsaq_hold_result small = { .size = 8 };

	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, 0, 0, NULL), -ERANGE);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, FAKE_MAX_HOLD_NS + 1, 0, NULL), -ERANGE);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 16, MS, 0, NULL), -EINVAL);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 8, NULL), -EINVAL);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 0, &small), -EINVAL);
	assert_int_equal(hsaq_hold(h, 1, 15, MS, 0, NULL), -ENODEV);
	assert_int_equal(hsaq_hold(NULL, FAKE_GPU, 15, MS, 0, NULL), -EINVAL);
	end(h);
}

static void holds_take_a_right(void **state)
{
	const struct fake_config config = { .unprivileged = true, .sched_node = -EACCES };
	const struct fake_config group = { .unprivileged = true };
	struct hsaq *h = start(&config);

	assert_int_equal(hsaq_has_grant(h), 0);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 0, NULL), -EPERM);
	end(h);
	h = start(&group);
	assert_int_equal(hsaq_has_grant(h), 1);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 0, NULL), 0);
	end(h);
}

static struct hsaq *open_with(int grant_fd)
{
	const struct hsaq_open_opts opts = { .size = sizeof(opts), .grant_fd = grant_fd };
	struct hsaq *h = NULL;

	assert_int_equal(hsaq_open(&opts, &h), 0);
	return h;
}

static void a_narrow_grant_gives_less(void **state)
{
	const struct fake_config config = { .unprivileged = true };
	struct hsaq *first = start(&config), *h;
	int fd = hsaq_grant_open();

	assert_true(fd >= 0);
	assert_int_equal(hsaq_grant_narrow(fd, 0x10, 0, 0), -EINVAL);
	assert_int_equal(hsaq_grant_narrow(fd, HSAQ_RIGHT_HOLD, 4, FAKE_GPU), 0);
	h = open_with(fd);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 3, MS, 0, NULL), -EPERM);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 4, MS, 0, NULL), 0);
	assert_int_equal(hsaq_hold(h, FAKE_GPU2, 4, MS, 0, NULL), -EPERM);
	hsaq_close(h);
	hsaq_close(open_with(fd));
	hsaq_close(first);
	fake_kfd_stop();
}

static void no_hold_without_the_series(void **state)
{
	const enum fake_kernel kernel[] = { FAKE_PATCHED_HWS, FAKE_STOCK, FAKE_STOCK_HWS };
	struct hsaq_event ev = { .size = sizeof(ev) };

	for (size_t i = 0; i < 3; i++) {
		const struct fake_config config = { .kernel = kernel[i] };
		struct hsaq *h = start(&config);

		assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 0, NULL), -EOPNOTSUPP);
		assert_int_equal(hsaq_wait(h, FAKE_GPU, 0, 0, &ev), -EOPNOTSUPP);
		assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER, 0, 0), -EOPNOTSUPP);
		end(h);
	}
}

static void events_are_waited_for(void **state)
{
	const struct fake_config config = { 0 };
	struct hsaq *h = start(&config);
	struct hsaq_event ev = { .size = sizeof(ev) };

	assert_int_equal(hsaq_wait(h, FAKE_GPU, 0, 0, &ev), -ETIME);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 0, NULL), 0);
	assert_int_equal(hsaq_wait(h, FAKE_GPU, 0, 0, &ev), 0);
	assert_int_equal(ev.kind, HSAQ_EVENT_HELD);
	assert_int_equal(hsaq_wait(h, FAKE_GPU, ev.seq, 0, &ev), -ETIME);
	end(h);
}

/* libhsaq checks the size of an argument before it calls the driver. */
static void results_have_a_size(void **state)
{
	const struct fake_config config = { 0 };
	struct hsaq *h = start(&config);
	struct hsaq_device_state dev = { .size = 8 };
	struct hsaq_event ev = { .size = 8 };

	assert_int_equal(hsaq_device_state(h, FAKE_GPU, &dev), -EINVAL);
	assert_int_equal(hsaq_device_state(h, FAKE_GPU, NULL), -EINVAL);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 0, NULL), 0);
	assert_int_equal(hsaq_wait(h, FAKE_GPU, 0, 0, &ev), -EINVAL);
	assert_int_equal(hsaq_wait(h, FAKE_GPU, 0, 0, NULL), -EINVAL);
	assert_int_equal(hsaq_devices(h, NULL, NULL), -EINVAL);
	assert_int_equal(hsaq_processes(h, NULL, NULL), -EINVAL);
	end(h);
}

/* ---- unload and load ---------------------------------------------------------------- */

static void others_are_unloaded_by_the_series(void **state)
{
	const struct fake_config config = { 0 };
	struct hsaq *h = start(&config);
	uint32_t a, b;

	fake_process_add(OTHER);
	a = fake_queue_create(OTHER, FAKE_GPU, 0);
	b = fake_queue_create(OTHER, FAKE_GPU, 0);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER, a, 0), 0);
	assert_int_equal(fake_queue_state(OTHER, a), KFD_SCHED_STATE_HELD);
	assert_int_equal(fake_queue_state(OTHER, b), KFD_SCHED_STATE_LOADED);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER, HSAQ_ALL_QUEUES, 0), 0);
	assert_int_equal(fake_queue_state(OTHER, b), KFD_SCHED_STATE_HELD);
	/* A second unload of a queue replaces the first: one load resumes it. */
	assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER, a, 500 * MS), 0);
	assert_int_equal(hsaq_load(h, FAKE_GPU, OTHER, HSAQ_ALL_QUEUES), 0);
	assert_int_equal(fake_queue_state(OTHER, a), KFD_SCHED_STATE_HELD);
	assert_int_equal(fake_queue_state(OTHER, b), KFD_SCHED_STATE_LOADED);
	assert_int_equal(hsaq_load(h, FAKE_GPU, OTHER, a), 0);
	assert_int_equal(fake_queue_state(OTHER, a), KFD_SCHED_STATE_LOADED);
	assert_int_equal(hsaq_load(h, FAKE_GPU, OTHER, a), 0);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER, 60, 0), -ENOENT);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER + 1, 0, 0), -ESRCH);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER, a, FAKE_MAX_HOLD_NS + 1), -ERANGE);
	end(h);
}

static void unloading_others_takes_a_right(void **state)
{
	const struct fake_config config = { .unprivileged = true, .sched_node = -EACCES };
	const struct fake_config older = { .no_only = true };
	struct hsaq *h = start(&config);

	fake_process_add(OTHER);
	fake_queue_create(OTHER, FAKE_GPU, 0);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER, 0, 0), -EPERM);
	end(h);
	h = start(&older);
	fake_process_add(OTHER);
	fake_queue_create(OTHER, FAKE_GPU, 0);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, OTHER, 0, 0), -EOPNOTSUPP);
	assert_int_equal(hsaq_hold(h, FAKE_GPU, 15, MS, 0, NULL), 0);
	end(h);
}

static struct hsaq_ring ring_of(uint32_t queue_id, uint32_t type)
{
	return (struct hsaq_ring){
		.size = sizeof(struct hsaq_ring),
		.gpu_id = FAKE_GPU,
		.queue_id = queue_id,
		.ring_base = 0x10000,
		.ring_bytes = 4096,
		.percentage = 100,
		.priority = 7,
		.type = type,
	};
}

static uint32_t adopt(struct hsaq *h, uint32_t type)
{
	uint32_t id = fake_queue_create(getpid(), FAKE_GPU, type);
	struct hsaq_ring ring = ring_of(id, type);

	assert_int_equal(hsaq_queue_adopt(h, &ring), 0);
	return id;
}

static uint32_t percentage_of(uint32_t id)
{
	uint32_t percentage, priority;

	fake_queue_properties(getpid(), id, &percentage, &priority);
	return percentage;
}

static void own_queues_go_off_in_any_kernel(void **state)
{
	const enum fake_kernel kernel[] = { FAKE_STOCK, FAKE_STOCK_HWS };

	for (size_t i = 0; i < 2; i++) {
		const struct fake_config config = { .kernel = kernel[i] };
		struct hsaq *h = start(&config);
		uint32_t a = adopt(h, HSAQ_QUEUE_COMPUTE);
		uint32_t b = adopt(h, HSAQ_QUEUE_COMPUTE);

		assert_int_equal(hsaq_unload(h, FAKE_GPU, 0, a, 0), 0);
		assert_int_equal(percentage_of(a), 0);
		assert_int_equal(percentage_of(b), 100);
		assert_int_equal(hsaq_unload(h, FAKE_GPU, getpid(), HSAQ_ALL_QUEUES, 0), 0);
		assert_int_equal(percentage_of(b), 0);
		assert_int_equal(hsaq_load(h, FAKE_GPU, 0, HSAQ_ALL_QUEUES), 0);
		assert_int_equal(percentage_of(a), 100);
		assert_int_equal(percentage_of(b), 100);
		assert_int_equal(hsaq_unload(h, FAKE_GPU, 0, 60, 0), -ENOENT);
		/* Closing the handle resumes all queues. */
		assert_int_equal(hsaq_unload(h, FAKE_GPU, 0, b, 0), 0);
		hsaq_close(h);
		assert_int_equal(percentage_of(b), 100);
		end(NULL);
	}
}

static void half_an_unload_is_undone(void **state)
{
	const struct fake_config config = { .kernel = FAKE_STOCK };
	struct hsaq *h = start(&config);
	uint32_t a = adopt(h, HSAQ_QUEUE_COMPUTE), b = adopt(h, HSAQ_QUEUE_COMPUTE);

	fake_fail(0x07, 1, -EIO);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, 0, HSAQ_ALL_QUEUES, 0), -EIO);
	assert_int_equal(percentage_of(a), 100);
	assert_int_equal(percentage_of(b), 100);
	hsaq_queue_forget(h, a);
	assert_int_equal(hsaq_unload(h, FAKE_GPU, 0, HSAQ_ALL_QUEUES, 0), 0);
	assert_int_equal(percentage_of(a), 100);
	assert_int_equal(percentage_of(b), 0);
	end(h);
}

/* The first of two queues cannot be resumed; the other is resumed nevertheless. */
static void a_load_goes_on_past_a_failure(void **state)
{
	const struct fake_config config = { .kernel = FAKE_STOCK };
	struct hsaq *h = start(&config);
	uint32_t a = adopt(h, HSAQ_QUEUE_COMPUTE), b = adopt(h, HSAQ_QUEUE_COMPUTE);

	assert_int_equal(hsaq_unload(h, FAKE_GPU, 0, HSAQ_ALL_QUEUES, 0), 0);
	fake_fail(0x07, 0, -EIO);
	assert_int_equal(hsaq_load(h, FAKE_GPU, 0, HSAQ_ALL_QUEUES), -EIO);
	assert_int_equal(percentage_of(a) + percentage_of(b), 100);
	assert_int_equal(hsaq_load(h, FAKE_GPU, 0, HSAQ_ALL_QUEUES), 0);
	assert_int_equal(percentage_of(a), 100);
	assert_int_equal(percentage_of(b), 100);
	end(h);
}

/* ---- routes ------------------------------------------------------------------ */

static int first_device(const struct hsaq_device_info *info, void *arg)
{
	*(struct hsaq_device_info *)arg = *info;
	return 1;
}

/* @word: of the reason; NULL: own queues can be unloaded. */
static void check_route(const struct fake_config *config, enum hsaq_scheduler scheduler,
			int32_t cwsr, const char *word)
{
	struct hsaq_device_info info = { 0 };
	struct hsaq *h = start(config);
	char why[256] = "", line[256];

	assert_int_equal(hsaq_devices(h, first_device, &info), 1);
	assert_int_equal(info.scheduler, scheduler);
	assert_int_equal(info.cwsr, cwsr);
	assert_int_equal(hsaq_can_unload_own(&info, why, sizeof(why)), !word);
	assert_int_equal(hsaq_can_unload_own(&info, NULL, 0), !word);
	assert_true(!!why[0] == !!word);
	assert_true(!word || strstr(why, word));
	/* The library itself refuses only a queue that would have to drain. */
	assert_int_equal(hsaq_unload(h, FAKE_GPU, 0, adopt(h, HSAQ_QUEUE_COMPUTE), 0),
			 cwsr ? 0 : -EOPNOTSUPP);
	hsaq_device_mode_line(h, FAKE_GPU, line, sizeof(line));
	assert_true(!!strstr(line, "without CWSR") == !cwsr);
	end(h);
}

static void routes_depend_on_the_card(void **state)
{
	static const struct {
		struct fake_config config;
		enum hsaq_scheduler scheduler;
		int32_t cwsr;
		const char *word;
	} card[] = {
		{ { .kernel = FAKE_STOCK_HWS }, HSAQ_SCHEDULER_HWS, 1, NULL },
		{ { .kernel = FAKE_STOCK }, HSAQ_SCHEDULER_NO_HWS, 1, NULL },
		{ { .kernel = FAKE_STOCK_HWS, .gfx = 100300 }, HSAQ_SCHEDULER_HWS, 1, NULL },
		{ { .kernel = FAKE_STOCK_HWS, .cwsr_off = true },
		  HSAQ_SCHEDULER_HWS,
		  0,
		  "cwsr_enable=0" },
		{ { .kernel = FAKE_STOCK_HWS, .gfx = 70001 }, HSAQ_SCHEDULER_NO_HWS, 0, "card" },
		{ { .kernel = FAKE_STOCK_HWS, .gfx = 70000 }, HSAQ_SCHEDULER_HWS, 0, "card" },
		{ { .kernel = FAKE_STOCK_HWS, .gfx = 80002 }, HSAQ_SCHEDULER_NO_HWS, 0, "card" },
		{ { .kernel = FAKE_STOCK_HWS, .gfx = 110000 }, HSAQ_SCHEDULER_MES, 1, "MES" },
		{ { .kernel = FAKE_STOCK, .gfx = 110000 }, HSAQ_SCHEDULER_NO_HWS, 1, "MES" },
		{ { .kernel = FAKE_STOCK_HWS, .gfx = 120000 }, HSAQ_SCHEDULER_MES, 1, "MES" },
		{ { .kernel = FAKE_STOCK_HWS, .gfx = 100300, .mes = true },
		  HSAQ_SCHEDULER_MES,
		  1,
		  "MES" },
		{ { .kernel = FAKE_STOCK_HWS, .mes = true }, HSAQ_SCHEDULER_HWS, 1, NULL },
	};

	for (size_t i = 0; i < sizeof(card) / sizeof(card[0]); i++)
		check_route(&card[i].config, card[i].scheduler, card[i].cwsr, card[i].word);
}

/* ---- classes --------------------------------------------------------------------------- */

static struct hsaq_class_opts class_of(int32_t pid, uint32_t cls, uint32_t value)
{
	return (struct hsaq_class_opts){
		.size = sizeof(struct hsaq_class_opts),
		.gpu_id = FAKE_GPU,
		.pid = pid,
		.queue_id = HSAQ_ALL_QUEUES,
		.cls = cls,
		.level = cls == HSAQ_CLASS_LC ? value : 0,
		.weight = cls == HSAQ_CLASS_BE ? value : 0,
	};
}

static void classes_go_to_the_driver(void **state)
{
	const struct fake_config config = { 0 };
	struct hsaq_class_opts lc = class_of(OTHER, HSAQ_CLASS_LC, 3);
	struct hsaq *h = start(&config);
	uint32_t cls, level, weight, id;

	fake_process_add(OTHER);
	assert_int_equal(hsaq_set_class(h, &lc), 0);
	/* Later queues get the class, too. */
	id = fake_queue_create(OTHER, FAKE_GPU, 0);
	fake_queue_class(OTHER, id, &cls, &level, &weight);
	assert_int_equal(cls, KFD_SCHED_CLASS_LC);
	assert_int_equal(level, 3);
	lc.pid = OTHER + 1;
	assert_int_equal(hsaq_set_class(h, &lc), -ESRCH);
	lc = class_of(OTHER, HSAQ_CLASS_LC, 16);
	assert_int_equal(hsaq_set_class(h, &lc), -EINVAL);
	lc = class_of(OTHER, HSAQ_CLASS_BE, 10001);
	assert_int_equal(hsaq_set_class(h, &lc), -EINVAL);
	end(h);
}

static void lowering_oneself_takes_no_right(void **state)
{
	const struct fake_config config = { .unprivileged = true, .sched_node = -EACCES };
	struct hsaq_class_opts lighter = class_of(0, HSAQ_CLASS_BE, 50);
	struct hsaq_class_opts heavier = class_of(0, HSAQ_CLASS_BE, 100);
	struct hsaq_class_opts lc = class_of(0, HSAQ_CLASS_LC, 0);
	struct hsaq *h = start(&config);

	assert_int_equal(hsaq_set_class(h, &lighter), 0);
	assert_int_equal(hsaq_set_class(h, &heavier), -EPERM);
	assert_int_equal(hsaq_set_class(h, &lc), -EPERM);
	end(h);
}

/* Nor is a priority of own queues set in its place: no scheduler of the stock driver heeds it. */
static void no_class_without_the_series(void **state)
{
	const enum fake_kernel kernel[] = { FAKE_STOCK, FAKE_STOCK_HWS, FAKE_PATCHED_HWS };

	for (size_t i = 0; i < 3; i++) {
		const struct fake_config config = { .kernel = kernel[i] };
		struct hsaq_class_opts lc = class_of(0, HSAQ_CLASS_LC, 0);
		struct hsaq *h = start(&config);

		adopt(h, HSAQ_QUEUE_COMPUTE);
		assert_int_equal(hsaq_set_class(h, &lc), -EOPNOTSUPP);
		assert_int_equal(hsaq_reset_class(h, FAKE_GPU), -EOPNOTSUPP);
		assert_int_equal(fake_calls(0x07), 0);
		end(h);
	}
}

int main(void)
{
	const struct CMUnitTest hsaq[] = {
		cmocka_unit_test(modes_are_told_apart),
		cmocka_unit_test(each_device_has_its_mode),
		cmocka_unit_test(what_cannot_be_opened_says_why),
		cmocka_unit_test(options_have_a_size),
		cmocka_unit_test(a_child_has_nothing_of_it),
		cmocka_unit_test(devices_are_listed),
		cmocka_unit_test(queues_are_listed),
		cmocka_unit_test(queue_types_are_told_apart),
		cmocka_unit_test(queues_are_listed_to_anybody),
		cmocka_unit_test(queues_in_a_pid_namespace),
		cmocka_unit_test(a_hold_keeps_best_effort_off),
		cmocka_unit_test(a_hold_ends_with_its_handle),
		cmocka_unit_test(holds_refuse_nonsense),
		cmocka_unit_test(holds_take_a_right),
		cmocka_unit_test(a_narrow_grant_gives_less),
		cmocka_unit_test(no_hold_without_the_series),
		cmocka_unit_test(events_are_waited_for),
		cmocka_unit_test(results_have_a_size),
		cmocka_unit_test(others_are_unloaded_by_the_series),
		cmocka_unit_test(unloading_others_takes_a_right),
		cmocka_unit_test(own_queues_go_off_in_any_kernel),
		cmocka_unit_test(half_an_unload_is_undone),
		cmocka_unit_test(a_load_goes_on_past_a_failure),
		cmocka_unit_test(routes_depend_on_the_card),
		cmocka_unit_test(classes_go_to_the_driver),
		cmocka_unit_test(lowering_oneself_takes_no_right),
		cmocka_unit_test(no_class_without_the_series),
	};

	return gp_run_tests(hsaq);
}
