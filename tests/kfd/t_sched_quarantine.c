// SPDX-License-Identifier: Apache-2.0
/*
 * A queue that does not leave its slot, and cannot be reset alone (t_sched_reset). The driver
 * reports and quarantines it, and the others run on. It returns if it answers late; else
 * the driver resets the GPU. Its process can die meanwhile. A reset also ends holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kfd.h"

#define PARAMETERS "/sys/module/amdgpu/parameters/"
#define SECOND_NS 1000000000ull
#define MAX_STATES 64
#define TENANTS 3
#define QUEUES 2
#define RESETS 20

static struct kfd k;
static struct kfd_sched_queue_state states[MAX_STATES];

static void set_parameter(const char *name, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd < 0 || write(fd, value, strlen(value)) < 0 ? -errno : 0, name);
	close(fd);
}

static struct kfd_sched_device_state device_state(void)
{
	struct kfd_sched_device_state dev;

	must(kfd_states(&k, k.gpus[0].gpu_id, states, MAX_STATES, &dev) < 0 ? -EIO : 0, "states");
	return dev;
}

static unsigned int count_state(uint32_t state)
{
	unsigned int i, num = 0, queues = device_state().queues;

	for (i = 0; i < queues && i < MAX_STATES; i++)
		num += states[i].state == state;
	return num;
}

static uint64_t newest_event(void)
{
	return device_state().seq;
}

/* The next event of that kind after *seq, or one of kind 0. */
static struct kfd_ioctl_sched_wait_args wait_event(uint64_t *seq, uint32_t kind)
{
	struct kfd_ioctl_sched_wait_args args;
	uint64_t end = now_ns() + 10 * SECOND_NS;

	do {
		args = (struct kfd_ioctl_sched_wait_args){
			.size = sizeof(args),
			.gpu_id = k.gpus[0].gpu_id,
			.timeout_ms = 1000,
			.seq = *seq,
			.grant_fd = -1,
		};
		if (!kfd_call(&k, AMDKFD_IOC_SCHED_WAIT, &args)) {
			*seq = args.seq;
			if (args.kind == kind)
				return args;
		}
	} while (now_ns() < end);
	args.kind = 0;
	return args;
}

static struct tenant *start_tenants(void)
{
	struct tenant *t = tenants_alloc(TENANTS);
	unsigned int i;

	for (i = 0; i < TENANTS; i++) {
		t[i].queues = QUEUES;
		tenant_start(&t[i]);
	}
	must(tenants_ready(t, TENANTS, 60000), "tenants");
	return t;
}

static void kill_tenants(struct tenant *t)
{
	unsigned int i;

	for (i = 0; i < TENANTS; i++)
		tenant_kill(&t[i]);
}

/* The number of endless waves that beat within half a second. */
static unsigned int beating(const struct tenant *t)
{
	uint32_t before[TENANTS][QUEUES];
	unsigned int i, q, num = 0;

	for (i = 0; i < TENANTS; i++)
		for (q = 0; q < QUEUES; q++)
			before[i][q] = t[i].words[q][TENANT_BEAT];
	sleep_ns(SECOND_NS / 2);
	for (i = 0; i < TENANTS; i++)
		for (q = 0; q < QUEUES; q++)
			num += t[i].words[q][TENANT_BEAT] != before[i][q];
	return num;
}

/* Wait until the KFD has destroyed the queues of dead processes, in a work item. */
static void wait_empty(void)
{
	unsigned int tries = 0;

	while (device_state().queues && ++tries < 100)
		sleep_ns(SECOND_NS / 50);
	ok(!device_state().queues, "the queues of the dead are gone");
}

/* All slots work, and results are exact. */
static void check_whole(const char *when)
{
	struct tenant *t = start_tenants();

	ok(beating(t) == TENANTS * QUEUES, "all queues run %s", when);
	ok(!device_state().slots_quarantined, "on all slots");
	tenants_stop(t, TENANTS, 60000);
	wait_empty();
}

static void check_late(void)
{
	uint64_t seq = newest_event(), recoveries = device_state().recoveries;
	struct kfd_ioctl_sched_wait_args ev;
	struct tenant *t = start_tenants();

	must(simgpu_write_u64(0, "engine/faults/late_ns", SECOND_NS / 4), "late_ns");
	must(simgpu_write_u64(0, "engine/faults/late", 1), "late");
	ev = wait_event(&seq, KFD_SCHED_EVENT_QUARANTINED);
	ok(ev.kind == KFD_SCHED_EVENT_QUARANTINED, "a late queue is reported");
	ok(ev.took_ns >= 100000000, "not before the timeout of 100 ms");
	ok_time(ev.took_ns < 120000000, "but soon after it (%llu us)",
		(unsigned long long)ev.took_ns / 1000);
	ok(count_state(KFD_SCHED_STATE_QUARANTINED) == 1, "and quarantined");
	ev = wait_event(&seq, KFD_SCHED_EVENT_RECOVERED);
	ok(ev.kind == KFD_SCHED_EVENT_RECOVERED, "its late answer is taken");
	ok(ev.took_ns >= SECOND_NS / 4, "not before it came");
	ok_time(ev.took_ns < SECOND_NS / 4 + 20000000, "but soon after it (%llu us)",
		(unsigned long long)ev.took_ns / 1000);
	ok(device_state().recoveries == recoveries + 1, "and counted");
	ok(beating(t) == TENANTS * QUEUES, "all queues run again");
	tenants_stop(t, TENANTS, 60000);
	wait_empty();
}

static void check_stuck(void)
{
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_ioctl_sched_wait_args ev;
	struct tenant *t = start_tenants();
	uint64_t seq = newest_event(), resets = device_state().resets, start;
	unsigned int i, own = 0;

	set_parameter("nohws_reset_timeout_ms", "0");
	must(simgpu_write_u64(0, "engine/faults/no_reset", 3), "no_reset");
	must(simgpu_write_u64(0, "engine/faults/ignore", 1), "ignore");
	ev = wait_event(&seq, KFD_SCHED_EVENT_QUARANTINED);
	for (i = 0; i < TENANTS; i++)
		own += ev.pid == (uint32_t)t[i].pid;
	ok(ev.kind == KFD_SCHED_EVENT_QUARANTINED && own == 1, "a silent queue is reported");
	ok(count_state(KFD_SCHED_STATE_QUARANTINED) == 1, "and quarantined");
	ok(device_state().slots_quarantined == 1, "with its slot");
	ok(beating(t) >= TENANTS * QUEUES - 1, "the others go on");

	start = now_ns();
	is_err(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, SECOND_NS, 0, &hold), 0, "hold");
	ok_time(now_ns() - start < 50000000, "a hold does not wait for it again");
	ok(!hold.failed && !count_state(KFD_SCHED_STATE_LOADED) &&
		   !count_state(KFD_SCHED_STATE_SAVING),
	   "and has the others off");
	is_err(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, NULL), 0, "release");

	set_parameter("nohws_reset_timeout_ms", "50");
	ev = wait_event(&seq, KFD_SCHED_EVENT_RESET);
	ok(ev.kind == KFD_SCHED_EVENT_RESET, "then the GPU is reset");
	ok(device_state().resets == resets + 1, "once");
	ok(count_state(KFD_SCHED_STATE_EVICTED) == TENANTS * QUEUES,
	   "all queues stay evicted, as the driver wants it");
	set_parameter("nohws_reset_timeout_ms", "4000");
	kill_tenants(t);
	wait_empty();
	check_whole("after the reset");
}

static void check_killed(void)
{
	uint32_t loaded;
	struct tenant *t = start_tenants();
	uint64_t seq = newest_event();
	struct kfd_ioctl_sched_wait_args ev;

	set_parameter("nohws_reset_timeout_ms", "0");
	must(simgpu_write_u64(0, "engine/faults/no_reset", 3), "no_reset");
	must(simgpu_write_u64(0, "engine/faults/ignore", 1), "ignore");
	ev = wait_event(&seq, KFD_SCHED_EVENT_QUARANTINED);
	ok(ev.kind == KFD_SCHED_EVENT_QUARANTINED, "a silent queue again");
	kill_tenants(t);
	wait_empty();
	ok(device_state().slots_quarantined == 1, "its slot is lost when its process dies");
	t = start_tenants();
	ok(beating(t) == TENANTS * QUEUES, "others share the three that are left");
	loaded = device_state().loaded;
	ok(loaded && loaded <= 3, "no more than those are used (%u)", loaded);
	kill_tenants(t);
	wait_empty();
	must(simgpu_write_u64(0, "reset", 1), "reset");
	set_parameter("nohws_reset_timeout_ms", "4000");
	check_whole("after a reset by hand");
}

static void check_reset_held(void)
{
	struct kfd_ioctl_sched_release_args rel = { 0 };
	struct kfd_ioctl_sched_hold_args hold;
	struct tenant *t = start_tenants();

	must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 5 * SECOND_NS, 0, &hold), "hold");
	ok(count_state(KFD_SCHED_STATE_HELD) == TENANTS * QUEUES, "all queues are held");
	must(simgpu_write_u64(0, "reset", 1), "reset");
	ok(device_state().holders == 0, "a reset ends the hold");
	is_err(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, &rel), 0, "release");
	ok(rel.ended == KFD_SCHED_ENDED_RESET, "which says so");
	is_err(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, &rel), -ENOENT, "and only once");
	kill_tenants(t);
	wait_empty();
	check_whole("after a reset under a hold");
}

/*
 * A reset begins on another CPU at any moment while the driver moves queues. Here it
 * begins at the driver's n-th check for a reset.
 */
static void check_reset_rotating(void)
{
	unsigned int n, num = scaled(RESETS), missing = 0;

	set_parameter("nohws_quantum_us", "1000");
	for (n = 1; n <= num; n++) {
		uint64_t end = now_ns() + 10 * SECOND_NS, resets = device_state().resets;
		struct tenant *t = start_tenants();

		must(simgpu_write_u64(0, "reset_looks", n), "reset_looks");
		while (device_state().resets == resets && now_ns() < end)
			sleep_ns(SECOND_NS / 1000);
		missing += device_state().resets != resets + 1;
		kill_tenants(t);
		while (device_state().queues && now_ns() < end)
			sleep_ns(SECOND_NS / 1000);
	}
	set_parameter("nohws_quantum_us", "5000");
	ok(!missing, "%u resets that begin while queues are moved (%u did not)", num, missing);
	check_whole("after them");
}

int main(void)
{
	rng_seed(6);
	expect_dmesg("does not leave pipe|left its slot|cannot be taken off|cp queue preemption");
	expect_dmesg("lost until a reset|Resetting wave fronts|GPU reset|Failed to evict");
	must(kfd_open(&k), "open");
	if (!kfd_has_sched(&k))
		bail("the kernel does not know the calls of kfd_sched.h");
	check_late();
	check_stuck();
	check_killed();
	check_reset_held();
	check_reset_rotating();
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
