// SPDX-License-Identifier: Apache-2.0
/* AQL queues, packets, and the calls of kfd_sched.h. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kfd.h"

/* Offsets in amd_queue_t of the HSA runtime ABI. The packet processor computes one address
 * from the other. */
#define WRITE_DISPATCH_ID_OFFSET 56
#define READ_DISPATCH_ID_OFFSET 128
#define DOORBELL_SLICE_BYTES 8192
#define EOP_BYTES 4096
#define PACKET_TYPE_KERNEL 2
#define PACKET_TYPE_BARRIER_AND 3
#define PACKET_TYPE_BARRIER_OR 5
#define PACKET_FENCES (2u << 9 | 2u << 11) /* acquire and release: system */

static int alloc_buffers(struct kfd *k, unsigned int gpu, struct kfd_queue *q)
{
	const struct kfd_gpu *g = &k->gpus[gpu];
	int err;

	err = kfd_mem_alloc(k, gpu, q->packets * sizeof(struct kfd_packet), KFD_MEM_GTT, &q->ring);
	if (!err)
		err = kfd_mem_alloc(k, gpu, KFD_PAGE_BYTES, KFD_MEM_GTT, &q->pointers);
	if (!err)
		err = kfd_mem_alloc(k, gpu, EOP_BYTES, KFD_MEM_VRAM, &q->eop);
	if (!err)
		err = kfd_mem_alloc(k, gpu, ((uint64_t)g->cwsr_bytes + g->debug_bytes) * g->xccs,
				    KFD_MEM_GTT, &q->cwsr);
	if (!err)
		err = kfd_mem_alloc(k, gpu, (uint64_t)q->packets * KFD_KERNARG_BYTES, KFD_MEM_GTT,
				    &q->kernarg);
	return err;
}

static int free_buffers(struct kfd_queue *q)
{
	struct kfd_mem *all[] = { &q->ring, &q->pointers, &q->eop, &q->cwsr, &q->kernarg };
	unsigned int i;
	int err = 0;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int e = kfd_mem_free(q->k, all[i]);

		if (!err)
			err = e;
	}
	return err;
}

static int map_doorbells(struct kfd *k, struct kfd_gpu *g, uint64_t offset)
{
	void *p;

	if (g->doorbells)
		return 0;
	p = mmap(NULL, DOORBELL_SLICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd,
		 offset & ~(DOORBELL_SLICE_BYTES - 1ull));
	if (p == MAP_FAILED)
		return -errno;
	g->doorbells = p;
	return 0;
}

int kfd_queue_create(struct kfd *k, unsigned int gpu, uint32_t packets, struct kfd_queue *q)
{
	struct kfd_gpu *g = &k->gpus[gpu];
	struct kfd_ioctl_create_queue_args create = { 0 };
	uint32_t i;
	int err;

	memset(q, 0, sizeof(*q));
	q->k = k;
	q->gpu = gpu;
	q->packets = packets;
	err = alloc_buffers(k, gpu, q);
	if (err)
		goto err_free;
	q->wptr = (uint64_t *)((uint8_t *)q->pointers.va + WRITE_DISPATCH_ID_OFFSET);
	q->rptr = (uint64_t *)((uint8_t *)q->pointers.va + READ_DISPATCH_ID_OFFSET);
	for (i = 0; i < packets; i++)
		((struct kfd_packet *)q->ring.va)[i].header = 1; /* invalid */

	create.ring_base_address = (uintptr_t)q->ring.va;
	create.ring_size = q->ring.bytes;
	create.write_pointer_address = (uintptr_t)q->wptr;
	create.read_pointer_address = (uintptr_t)q->rptr;
	create.gpu_id = g->gpu_id;
	create.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
	create.queue_percentage = 100;
	create.queue_priority = 7;
	create.eop_buffer_address = (uintptr_t)q->eop.va;
	create.eop_buffer_size = EOP_BYTES;
	create.ctx_save_restore_address = (uintptr_t)q->cwsr.va;
	create.ctx_save_restore_size = g->cwsr_bytes;
	create.ctl_stack_size = g->ctl_stack_bytes;
	err = kfd_call(k, AMDKFD_IOC_CREATE_QUEUE, &create);
	if (err)
		goto err_free;
	q->id = create.queue_id;
	err = map_doorbells(k, g, create.doorbell_offset);
	if (err) {
		kfd_queue_destroy(q);
		return err;
	}
	q->doorbell =
		(volatile uint64_t *)(g->doorbells + create.doorbell_offset % DOORBELL_SLICE_BYTES);
	return 0;

err_free:
	free_buffers(q);
	return err;
}

int kfd_queue_update(struct kfd_queue *q, uint32_t percentage)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = (uintptr_t)q->ring.va,
		.ring_size = q->ring.bytes,
		.queue_id = q->id,
		.queue_percentage = percentage,
		.queue_priority = 7,
	};

	return kfd_call(q->k, AMDKFD_IOC_UPDATE_QUEUE, &args);
}

int kfd_queue_destroy(struct kfd_queue *q)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = q->id };
	int err = kfd_call(q->k, AMDKFD_IOC_DESTROY_QUEUE, &args);

	return err ? err : free_buffers(q);
}

uint32_t kfd_queue_room(const struct kfd_queue *q)
{
	return q->packets - (q->next - __atomic_load_n(q->rptr, __ATOMIC_ACQUIRE));
}

/* Write the header last, because it makes the packet valid for the GPU. */
static void publish(struct kfd_queue *q, const struct kfd_packet *pkt)
{
	struct kfd_packet *slot = (struct kfd_packet *)q->ring.va + q->next % q->packets;
	uint32_t first;

	memcpy((uint8_t *)slot + 4, (const uint8_t *)pkt + 4, sizeof(*pkt) - 4);
	memcpy(&first, pkt, 4);
	__atomic_store_n((uint32_t *)slot, first, __ATOMIC_RELEASE);
	q->next++;
	__atomic_store_n(q->wptr, q->next, __ATOMIC_RELEASE);
}

void kfd_ring(struct kfd_queue *q)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*q->doorbell = q->next - 1;
}

int kfd_launch(struct kfd_queue *q, const struct kfd_launch *l)
{
	uint8_t *kernarg = (uint8_t *)q->kernarg.va + q->next % q->packets * KFD_KERNARG_BYTES;
	struct kfd_packet pkt = { 0 };
	unsigned int i, dims = 1;

	if (l->args_bytes > KFD_KERNARG_BYTES)
		return -EINVAL;
	if (!kfd_queue_room(q))
		return -EAGAIN;
	memset(kernarg, 0, KFD_KERNARG_BYTES);
	if (l->args_bytes)
		memcpy(kernarg, l->args, l->args_bytes);
	for (i = 0; i < 3; i++) {
		pkt.dispatch.grid[i] = l->grid[i] ? l->grid[i] : 1;
		pkt.dispatch.workgroup[i] = l->workgroup[i] ? l->workgroup[i] : 1;
		if (pkt.dispatch.grid[i] > 1)
			dims = i + 1;
	}
	pkt.header = PACKET_TYPE_KERNEL | PACKET_FENCES | (l->barrier ? KFD_BARRIER_BIT : 0);
	pkt.setup = dims;
	pkt.dispatch.group_bytes = l->group_bytes;
	if (!l->group_bytes) /* kernel descriptor, group_segment_fixed_size */
		memcpy(&pkt.dispatch.group_bytes, (const void *)(uintptr_t)l->kernel, 4);
	pkt.dispatch.kernel_object = l->kernel;
	pkt.dispatch.kernarg = (uintptr_t)kernarg;
	pkt.completion = (uintptr_t)l->signal;
	publish(q, &pkt);
	if (!l->quiet)
		kfd_ring(q);
	return 0;
}

int kfd_barrier(struct kfd_queue *q, struct kfd_signal *const *deps, unsigned int num, bool any,
		struct kfd_signal *signal)
{
	struct kfd_packet pkt = { 0 };
	unsigned int i;

	if (num > 5)
		return -EINVAL;
	if (!kfd_queue_room(q))
		return -EAGAIN;
	pkt.header = (any ? PACKET_TYPE_BARRIER_OR : PACKET_TYPE_BARRIER_AND) | PACKET_FENCES |
		     KFD_BARRIER_BIT;
	for (i = 0; i < num; i++)
		pkt.barrier.dep[i] = (uintptr_t)deps[i];
	pkt.completion = (uintptr_t)signal;
	publish(q, &pkt);
	kfd_ring(q);
	return 0;
}

/* ---- classes and holds ------------------------------------------------------- */

static int probe_sched(struct kfd *k)
{
	struct kfd_ioctl_sched_state_args args = {
		.size = sizeof(args),
		.gpu_id = k->gpus[0].gpu_id,
		.grant_fd = -1,
	};

	return kfd_call(k, AMDKFD_IOC_SCHED_STATE, &args);
}

bool kfd_has_sched(struct kfd *k)
{
	return !probe_sched(k);
}

void kfd_open_sched(struct kfd *k)
{
	must(kfd_open(k), "open /dev/kfd");
	must(probe_sched(k), "AMDKFD_IOC_SCHED_STATE");
}

int kfd_set_class(struct kfd *k, uint32_t gpu_id, uint32_t pid, uint32_t queue_id,
		  uint32_t sched_class, uint32_t level, uint32_t weight)
{
	struct kfd_ioctl_sched_set_class_args args = {
		.size = sizeof(args),
		.flags = queue_id == UINT32_MAX ? KFD_SCHED_SET_PROCESS : 0,
		.gpu_id = gpu_id,
		.pid = pid,
		.queue_id = queue_id == UINT32_MAX ? 0 : queue_id,
		.sched_class = sched_class,
		.level = level,
		.weight = weight,
		.grant_fd = -1,
	};

	return kfd_call(k, AMDKFD_IOC_SCHED_SET_CLASS, &args);
}

int kfd_hold(struct kfd *k, uint32_t gpu_id, uint32_t level, uint64_t limit_ns, uint32_t flags,
	     struct kfd_ioctl_sched_hold_args *args)
{
	*args = (struct kfd_ioctl_sched_hold_args){
		.size = sizeof(*args),
		.flags = flags,
		.gpu_id = gpu_id,
		.level = level,
		.limit_ns = limit_ns,
		.grant_fd = -1,
	};
	return kfd_call(k, AMDKFD_IOC_SCHED_HOLD, args);
}

int kfd_release(struct kfd *k, uint32_t gpu_id, uint32_t hold_id,
		struct kfd_ioctl_sched_release_args *args)
{
	struct kfd_ioctl_sched_release_args own;

	if (!args)
		args = &own;
	*args = (struct kfd_ioctl_sched_release_args){
		.size = sizeof(*args),
		.gpu_id = gpu_id,
		.hold_id = hold_id,
	};
	return kfd_call(k, AMDKFD_IOC_SCHED_RELEASE, args);
}

int kfd_states(struct kfd *k, uint32_t gpu_id, struct kfd_sched_queue_state *states,
	       unsigned int num, struct kfd_sched_device_state *dev)
{
	struct kfd_ioctl_sched_state_args args = {
		.size = sizeof(args),
		.gpu_id = gpu_id,
		.grant_fd = -1,
		.num_queues = num,
		.queue_size = sizeof(*states),
		.device_size = sizeof(*dev),
		.queues_ptr = (uintptr_t)states,
		.device_ptr = (uintptr_t)dev,
	};
	int err = kfd_call(k, AMDKFD_IOC_SCHED_STATE, &args);

	return err ? err : (int)args.num_queues;
}
