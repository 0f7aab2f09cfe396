// SPDX-License-Identifier: Apache-2.0
/*
 * A hold ends with its holder, even if SIGKILL arrives within the call, and even if a
 * forked child still has the file open.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define SLOTS 4
#define KILLS 1000
#define BACK_NS 20000000ull
#define GIVEN_UP_NS 1000000000ull

static struct kfd k;
static struct tenant *be;

struct shared {
	uint32_t held; /* holds that the holder has made */
	pid_t grandchild;
};

/* Holds and releases until it is killed. */
static void holder(struct shared *sh, bool with_child)
{
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd own;

	if (kfd_open(&own))
		_exit(1);
	if (with_child) {
		pid_t pid = fork();

		if (!pid)
			for (;;)
				pause();
		sh->grandchild = pid;
	}
	for (;;) {
		if (kfd_hold(&own, own.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 5000000000ull, 0,
			     &hold))
			_exit(2);
		__atomic_add_fetch(&sh->held, 1, __ATOMIC_RELEASE);
		sleep_ns(rng() % 3000000);
		if (rng() % 2)
			kfd_release(&own, own.gpus[0].gpu_id, hold.hold_id, NULL);
	}
}

static bool is_back(void)
{
	struct kfd_sched_device_state dev = { 0 };

	must(kfd_states(&k, k.gpus[0].gpu_id, NULL, 0, &dev), "state");
	return !dev.holders && dev.loaded >= SLOTS;
}

/* Returns the time from the begin of its exit until the hold ended and slots were full. */
static uint64_t kill_one(bool with_child, uint64_t *since_kill)
{
	struct shared *sh = shared_alloc(sizeof(*sh));
	uint64_t killed, back, exited;
	uint32_t seed = rng();
	pid_t pid = fork();

	if (!pid) {
		rng_start(seed);
		holder(sh, with_child);
	}
	must(wait_word(&sh->held, 1, 20000), "the holder holds");
	sleep_ns(rng() % 6000000);
	killed = now_ns();
	kill(pid, SIGKILL);
	do {
		sleep_ns(200000);
		back = now_ns();
	} while (!is_back() && back - killed < GIVEN_UP_NS);
	*since_kill = back - killed;
	waitpid(pid, NULL, 0);
	exited = trace_exit_ns(pid);
	if (!exited)
		bail("no trace of the exit of %d", pid);
	if (sh->grandchild > 0)
		kill(sh->grandchild, SIGKILL);
	return back > exited ? back - exited : 0;
}

static void check_kills(bool with_child, unsigned int num)
{
	uint64_t worst = 0, since_kill, worst_since_kill = 0;
	unsigned int n, late = 0, missing = 0;

	for (n = 0; n < num; n++) {
		uint64_t took = kill_one(with_child, &since_kill);

		missing += since_kill >= GIVEN_UP_NS;
		late += took > BACK_NS;
		if (took > worst)
			worst = took;
		if (since_kill > worst_since_kill)
			worst_since_kill = since_kill;
	}
	ok(!missing, "holder killed %u times%s: all loaded again (%u times not)", num,
	   with_child ? ", a child has its file" : "", missing);
	ok_time(!late, "within 20 ms (%u times not)", late);
	figure("to all slots taken%s: from exit %llu us at most, from the kill %llu us",
	       with_child ? ", with a child" : "", (unsigned long long)worst / 1000,
	       (unsigned long long)worst_since_kill / 1000);
}

/* Time until all slots are in use again; GIVEN_UP_NS: some stay empty. */
static uint64_t wait_back(void)
{
	uint64_t start = now_ns();

	while (!is_back()) {
		if (now_ns() - start >= GIVEN_UP_NS)
			return GIVEN_UP_NS;
		sleep_ns(200000);
	}
	return now_ns() - start;
}

/* The limit ends a hold, and the release reports it. */
static void check_limit(void)
{
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd_ioctl_sched_release_args rel;
	uint64_t took;

	must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 5000000, 0, &hold), "hold");
	ok(!is_back(), "the device is held");
	took = wait_back();
	ok(took < GIVEN_UP_NS, "its limit of 5 ms ends it");
	ok_time(took < 30000000, "in time (%llu us)", (unsigned long long)took / 1000);
	is_err(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, &rel), 0, "release of it");
	ok(rel.ended == KFD_SCHED_ENDED_LIMIT, "says that its limit ended it (%u)", rel.ended);
}

/* Closing the file ends the hold, too. */
static void check_close(void)
{
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd other;
	uint64_t took;

	must(kfd_open(&other), "open again");
	must(kfd_hold(&other, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 5000000000ull, 0, &hold),
	     "hold");
	ok(!is_back(), "held by a second file");
	kfd_close(&other);
	took = wait_back();
	ok(took < GIVEN_UP_NS, "closing it ends the hold");
	ok_time(took < BACK_NS, "in time (%llu us)", (unsigned long long)took / 1000);
}

int main(void)
{
	rng_seed(6);
	signal(SIGCHLD, SIG_DFL);
	be = tenants_alloc(2);
	must(trace_exits(), "tracing");
	kfd_open_sched(&k);
	tenants_simple(be, 2, 3, 0);
	check_limit();
	check_close();
	check_kills(false, scaled(KILLS));
	check_kills(true, scaled(KILLS / 5));
	tenants_stop(be, 2, 60000);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
