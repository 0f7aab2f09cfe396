// SPDX-License-Identifier: Apache-2.0
/*
 * A process with /dev/kfd open and no VM, such as a controller, during a suspend of the
 * system. The stock restore_process_queues_nocpsch() used pdd->drm_priv without a check.
 */
#include <errno.h>

#include "kfd.h"

int main(void)
{
	struct kfd_ioctl_get_clock_counters_args clock = { 0 };
	struct kfd k;

	must(kfd_open(&k), "open");
	clock.gpu_id = k.gpus[0].gpu_id;
	must(kfd_call(&k, AMDKFD_IOC_GET_CLOCK_COUNTERS, &clock), "a call that needs no VM");
	is_err(machine_suspend(2), 0, "suspend and resume with a process without a VM");
	is_err(kfd_call(&k, AMDKFD_IOC_GET_CLOCK_COUNTERS, &clock), 0, "it can go on");
	return done();
}
