// SPDX-License-Identifier: Apache-2.0
/*
 * queues.c - all visible queues: the scheduler's own account of them if available, and the
 * rest from sysfs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kfd-patch/uapi/linux/kfd_sched.h"
#include "libhsaq/hsaq_internal.h"

#define SOME_QUEUES 64u

struct states {
	struct kfd_sched_queue_state *q;
	uint32_t count;
};

/* Repeats the call with spare room if the list grew in between. */
static int read_states(struct hsaq *h, uint32_t gpu_id, int32_t pid, struct states *out)
{
	uint32_t room = SOME_QUEUES;
	struct kfd_sched_queue_state *q;

	for (;;) {
		struct kfd_ioctl_sched_state_args args = {
			.size = sizeof(args),
			.gpu_id = gpu_id,
			.pid = (uint32_t)pid,
			.grant_fd = h->grant_fd,
			.num_queues = room,
			.queue_size = sizeof(*q),
			.device_size = sizeof(struct kfd_sched_device_state),
		};
		int r;

		q = calloc(room, sizeof(*q));
		if (!q)
			return -ENOMEM;
		args.queues_ptr = (uintptr_t)q;
		r = hsaq_ioctl(h, AMDKFD_IOC_SCHED_STATE, &args);
		if (r) {
			free(q);
			return r;
		}
		if (args.num_queues <= room) {
			*out = (struct states){ q, args.num_queues };
			return 0;
		}
		free(q);
		room = args.num_queues + SOME_QUEUES;
	}
}

static void fill(struct hsaq_queue_info *info, uint32_t gpu_id,
		 const struct kfd_sched_queue_state *q)
{
	_Static_assert(HSAQ_STATE_QUARANTINED == KFD_SCHED_STATE_QUARANTINED &&
			       HSAQ_STATE_HELD == KFD_SCHED_STATE_HELD,
		       "one numbering");
	*info = (struct hsaq_queue_info){
		.size = sizeof(*info),
		.gpu_id = gpu_id,
		.pid = (int32_t)q->pid,
		.queue_id = q->queue_id,
		.type = HSAQ_QUEUE_COMPUTE,
		.state = (int32_t)q->state,
		.cls = q->sched_class,
		.level = q->level,
		.weight = q->weight,
		.pipe = q->pipe,
		.slot = q->slot,
		.vmid = q->vmid,
		.loads = q->loads,
		.saves = q->saves,
		.saves_midwave = q->saves_midwave,
		.loaded_ns = q->loaded_ns,
		.waiting_ns = q->waiting_ns,
		.last_save_ns = q->last_save_ns,
		.max_save_ns = q->max_save_ns,
	};
}

struct rest {
	const struct states *seen;
	hsaq_queue_fn fn;
	void *arg;
};

static int call_unseen(const struct hsaq_queue_info *info, void *arg)
{
	const struct rest *rest = arg;

	for (uint32_t i = 0; i < rest->seen->count; i++)
		if ((int32_t)rest->seen->q[i].pid == info->pid &&
		    rest->seen->q[i].queue_id == info->queue_id)
			return 0;
	return rest->fn(info, rest->arg);
}

static int device_queues(struct hsaq *h, uint32_t gpu_id, int32_t pid, hsaq_queue_fn fn, void *arg)
{
	struct states states = { 0 };
	struct rest rest = { &states, fn, arg };
	bool sched = hsaq_device_mode(h, gpu_id) == HSAQ_MODE_SCHED;
	struct hsaq_queue_info info;
	bool sysfs = !sched || h->io->pids_are_ours();
	int r = 0;

	/* Without permission, or without queues here, use sysfs. */
	if (sched)
		r = read_states(h, gpu_id, pid, &states);
	if (r == -ESRCH || (r == -EPERM && sysfs))
		r = 0;
	for (uint32_t i = 0; !r && i < states.count; i++) {
		fill(&info, gpu_id, &states.q[i]);
		r = fn(&info, arg);
	}
	if (!r && sysfs)
		r = hsaq_sysfs_queues(h->io, gpu_id, pid, call_unseen, &rest);
	free(states.q);
	return r;
}

struct every {
	struct hsaq *h;
	int32_t pid;
	hsaq_queue_fn fn;
	void *arg;
};

static int on_device(const struct hsaq_device_info *info, void *arg)
{
	const struct every *e = arg;

	return device_queues(e->h, info->gpu_id, e->pid, e->fn, e->arg);
}

int hsaq_queues(struct hsaq *h, uint32_t gpu_id, int32_t pid, hsaq_queue_fn fn, void *arg)
{
	struct every every = { h, pid, fn, arg };
	int r = hsaq_usable(h);

	if (r)
		return r;
	if (!fn || pid < 0)
		return -EINVAL;
	return gpu_id ? device_queues(h, gpu_id, pid, fn, arg) :
			hsaq_sysfs_devices(h->io, on_device, &every);
}

int hsaq_devices(struct hsaq *h, hsaq_device_fn fn, void *arg)
{
	int r = hsaq_usable(h);

	if (r)
		return r;
	return fn ? hsaq_sysfs_devices(h->io, fn, arg) : -EINVAL;
}

int hsaq_processes(struct hsaq *h, hsaq_process_fn fn, void *arg)
{
	int r = hsaq_usable(h);

	if (r)
		return r;
	return fn ? hsaq_sysfs_processes(h->io, fn, arg) : -EINVAL;
}
