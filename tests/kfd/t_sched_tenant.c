// SPDX-License-Identifier: Apache-2.0
/*
 * Tenants are killed or exit at any moment: while held, during a save, during a load.
 * The others run on with exact results.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd.h"

#define KILLS 1000
#define VICTIMS 3

static struct kfd k;

/* Holds and releases all the time, so that queues change state at every moment. */
static pid_t start_holder(void)
{
	struct kfd_ioctl_sched_hold_args hold;
	struct kfd own;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (kfd_open(&own))
		_exit(1);
	for (;;) {
		if (kfd_hold(&own, own.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 1000000000, 0, &hold))
			_exit(2);
		sleep_ns(rng() % 500000);
		if (kfd_release(&own, own.gpus[0].gpu_id, hold.hold_id, NULL))
			_exit(3);
		sleep_ns(rng() % 2000000);
	}
}

static unsigned int left_queues(void)
{
	struct kfd_sched_device_state dev = { 0 };

	must(kfd_states(&k, k.gpus[0].gpu_id, NULL, 0, &dev), "state");
	return dev.queues;
}

int main(void)
{
	struct tenant *stay = tenants_alloc(2), *victim = tenants_alloc(VICTIMS);
	unsigned int n, kills = scaled(KILLS), failed = 0;
	int status = 0;
	pid_t holder;

	rng_seed(7);
	kfd_open_sched(&k);
	tenants_simple(stay, 2, 2, 3);
	holder = start_holder();
	for (n = 0; n < kills; n++) {
		struct tenant *t = &victim[n % VICTIMS];

		tenant_kill(t);
		t->queues = 1 + rng() % 3;
		t->heavy = rng() % 2 ? 4 : 0;
		tenant_start(t);
		/* Some die while they still create their queues. */
		if (rng() % 4)
			failed += tenants_ready(t, 1, 60000) != 0;
		sleep_ns(rng() % 3000000);
	}
	ok(!failed, "%u tenants started, beside those that were killed (%u failed)", kills, failed);
	for (n = 0; n < VICTIMS; n++)
		tenant_kill(&victim[n]);
	ok(!waitpid(holder, &status, WNOHANG), "the holder still holds and releases (%#x)", status);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	for (n = 0; n < 100 && left_queues() != 4; n++)
		sleep_ns(50000000);
	ok(left_queues() == 4, "no queue of the dead is left (%u, want 4)", left_queues());
	tenants_stop(stay, 2, 120000);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
