// SPDX-License-Identifier: Apache-2.0
/*
 * A queue never answers a save, one answers late, and a wave faults. The driver
 * reports, quarantines or resets, and the other queues are unharmed.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define MS 1000000ull

static struct kfd k;
static struct kfd_sched_device_state dev;

static void read_dev(void)
{
	must(kfd_states(&k, k.gpus[0].gpu_id, NULL, 0, &dev), "state");
}

/* The next event of a kind after *seq; false: none within ten seconds. */
static bool await(uint64_t *seq, uint32_t kind, struct kfd_ioctl_sched_wait_args *out)
{
	uint64_t end = now_ns() + 10000 * MS;

	while (now_ns() < end) {
		*out = (struct kfd_ioctl_sched_wait_args){
			.size = sizeof(*out),
			.gpu_id = k.gpus[0].gpu_id,
			.timeout_ms = 200,
			.seq = *seq,
			.grant_fd = -1,
		};
		if (kfd_call(&k, AMDKFD_IOC_SCHED_WAIT, out))
			continue;
		*seq = out->seq;
		if (out->kind == kind)
			return true;
	}
	return false;
}

static uint32_t hold_all(struct kfd_ioctl_sched_hold_args *hold)
{
	must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 3000 * MS, 0, hold), "hold");
	return hold->hold_id;
}

/* A queue that answers late is quarantined until then, and runs on. */
static void check_late(struct tenant *good)
{
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_ioctl_sched_wait_args ev;
	uint64_t seq;

	read_dev();
	seq = dev.seq;
	must(simgpu_write_u64(0, "engine/faults/late_ns", 400 * MS), "late_ns");
	must(simgpu_write_u64(0, "engine/faults/late", 1), "late");
	hold_all(&hold);
	ok(hold.failed == 1, "a hold says that one queue did not answer (%u)", hold.failed);
	ok(await(&seq, KFD_SCHED_EVENT_QUARANTINED, &ev), "there is an event of it");
	read_dev();
	ok(dev.slots_quarantined == 1, "its slot is quarantined (%u)", dev.slots_quarantined);
	ok(await(&seq, KFD_SCHED_EVENT_RECOVERED, &ev), "its late answer is an event too");
	read_dev();
	ok(!dev.slots_quarantined, "and its slot is back");
	must(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, NULL), "release");
	ok(!good->failed, "the others are there");
}

/* A memory fault stops the queue of one tenant only. */
static void check_fault(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		struct k_fault_args args = { (uint32_t *)0x10000 };
		struct kfd_launch l = { .grid = { 64 },
					.workgroup = { 64 },
					.args = &args,
					.args_bytes = sizeof(args) };
		struct kfd_code code;
		struct kfd_queue q;
		struct kfd own;

		if (kfd_setup(&own) || kfd_code_load(&own, 0, KFD_MEM_VRAM, &code) ||
		    kfd_queue_create(&own, 0, 64, &q))
			_exit(2);
		l.kernel = kfd_code_find(&code, "k_fault");
		l.signal = kfd_signal_create(&own, 1, false);
		if (kfd_launch(&q, &l))
			_exit(3);
		_exit(kfd_signal_wait(&own, l.signal, 1, 500) == -ETIME ? 0 : 4);
	}
	waitpid(pid, &status, 0);
	ok(status == 0, "a wave that faults never ends (status %#x)", status);
}

/* A queue without an answer, and that no reset of its own ends, is quarantined; then the driver
 * resets the GPU. */
static void check_silent(void)
{
	struct tenant *bad = tenants_alloc(1);
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_ioctl_sched_wait_args ev;
	uint64_t seq, resets;

	read_dev();
	seq = dev.seq;
	resets = dev.resets;
	tenants_simple(bad, 1, 1, 0);
	must(simgpu_write_u64(0, "engine/faults/no_reset", 3), "no_reset");
	must(simgpu_write_u64(0, "engine/faults/ignore", 1), "ignore");
	hold_all(&hold);
	ok(hold.failed == 1, "a hold says that one queue did not answer (%u)", hold.failed);
	ok(await(&seq, KFD_SCHED_EVENT_QUARANTINED, &ev), "there is an event of it");
	ok(await(&seq, KFD_SCHED_EVENT_RESET, &ev), "the device is reset for it");
	sleep_ns(200 * MS);
	read_dev();
	ok(dev.resets == resets + 1 && !dev.slots_quarantined && !dev.holders,
	   "one reset more (%llu), no slot lost (%u), no hold left (%u)",
	   (unsigned long long)(dev.resets - resets), dev.slots_quarantined, dev.holders);
	tenant_kill(bad);
}

/* The device works for later processes. */
static void check_after(void)
{
	struct tenant *t = tenants_alloc(2);

	tenants_simple(t, 2, 4, 3);
	sleep_ns(50 * MS);
	tenants_stop(t, 2, 60000);
}

int main(void)
{
	struct tenant *good = tenants_alloc(2);

	rng_seed(8);
	kfd_open_sched(&k);
	tenants_simple(good, 2, 3, 3);
	check_late(&good[0]);
	check_fault();
	tenants_stop(good, 2, 60000);
	check_silent();
	check_after();
	return done();
}
