// SPDX-License-Identifier: Apache-2.0
/* A virtual function keeps a slot for each queue: the calls of kfd_sched.h are refused. */
#include <errno.h>

#include "kfd.h"

#define TIMEOUT_MS 20000

static struct kfd k;

static void check_calls(void)
{
	struct kfd_ioctl_sched_hold_args hold;
	uint32_t gpu_id = k.gpus[0].gpu_id;

	is_err(kfd_states(&k, gpu_id, NULL, 0, NULL), -EOPNOTSUPP, "states");
	is_err(kfd_set_class(&k, gpu_id, 0, UINT32_MAX, KFD_SCHED_CLASS_BE, 0, 50), -EOPNOTSUPP,
	       "a class");
	is_err(kfd_hold(&k, gpu_id, 0, 1000000, 0, &hold), -EOPNOTSUPP, "a hold");
}

static void check_queue(void)
{
	struct kfd_signal *sig = kfd_signal_create(&k, 1, false);
	struct kfd_queue q;
	struct kfd_work w;

	must(kfd_work_create(&k, 0, 256, 1, &w), "work");
	is_err(kfd_queue_create(&k, 0, 64, &q), 0, "a queue");
	must(kfd_work_launch(&w, &q, 0, sig), "launch");
	is_err(kfd_signal_wait(&k, sig, 1, TIMEOUT_MS), 0, "its packet ends");
	ok(!kfd_work_wrong(&w), "with the right result");
	is_err(kfd_queue_destroy(&q), 0, "destroy");
}

int main(void)
{
	must(kfd_setup(&k), "set up");
	check_calls();
	check_queue();
	return done();
}
