// SPDX-License-Identifier: Apache-2.0
/*
 * SDMA queues beside compute queues that rotate. They keep their slots, their process
 * keeps its VMID, and they copy on while the device is held. Every packet counts, also
 * one that wraps around the ring's end. No VMID changes its process during a reset.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kfd.h"

#define ENGINES 2u	     /* sim_sdma of tests.ini */
#define QUEUES (2 * ENGINES) /* kfd_device.c: 2 queues of an engine of Vega 10 */
#define DOORBELL_SLICE_BYTES 8192u
#define RING_BYTES 4096u
#define RING_DWORDS (RING_BYTES / 4)
/* vega10_sdma_pkt_open.h */
#define OP_COPY_LINEAR 1u
#define OP_FENCE 5u
#define COPY_DWORDS 7u
#define FENCE_DWORDS 4u
#define COPY_BYTES 6000u /* crosses a page's end */
#define ROUNDS 300	 /* of 44 bytes each: the ring wraps some times */
#define TENANTS 3
#define MAX_STATES 16
#define MS_NS 1000000ull
#define SECOND_NS (1000 * MS_NS)
#define TIMEOUT_MS 30000

struct sdma {
	struct kfd_mem ring, pointers, from, to;
	volatile uint32_t *fence;
	volatile uint64_t *doorbell;
	uint64_t *wptr;
	uint64_t next; /* in bytes; does not wrap */
	uint32_t id;
};

static struct kfd k;

static int sdma_create(struct sdma *s)
{
	struct kfd_ioctl_create_queue_args create = { 0 };
	uint8_t *page;
	int err;

	memset(s, 0, sizeof(*s));
	must(kfd_mem_alloc(&k, 0, RING_BYTES, KFD_MEM_GTT, &s->ring), "ring");
	must(kfd_mem_alloc(&k, 0, KFD_PAGE_BYTES, KFD_MEM_GTT, &s->pointers), "pointers");
	must(kfd_mem_alloc(&k, 0, COPY_BYTES, KFD_MEM_GTT, &s->from), "source");
	must(kfd_mem_alloc(&k, 0, COPY_BYTES, KFD_MEM_VRAM, &s->to), "destination");
	page = s->pointers.va;
	s->wptr = (uint64_t *)(page + 64);
	s->fence = (uint32_t *)(page + 128);
	create.ring_base_address = (uintptr_t)s->ring.va;
	create.ring_size = RING_BYTES;
	create.read_pointer_address = (uintptr_t)page;
	create.write_pointer_address = (uintptr_t)s->wptr;
	create.gpu_id = k.gpus[0].gpu_id;
	create.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
	create.queue_percentage = 100;
	create.queue_priority = 7;
	err = kfd_call(&k, AMDKFD_IOC_CREATE_QUEUE, &create);
	if (err)
		return err;
	s->id = create.queue_id;
	page = mmap(NULL, DOORBELL_SLICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, k.fd,
		    create.doorbell_offset & ~(DOORBELL_SLICE_BYTES - 1ull));
	must(page == MAP_FAILED ? -errno : 0, "doorbells");
	s->doorbell = (volatile uint64_t *)(page + create.doorbell_offset % DOORBELL_SLICE_BYTES);
	return 0;
}

static int sdma_destroy(struct sdma *s)
{
	struct kfd_ioctl_destroy_queue_args args = { .queue_id = s->id };

	return kfd_call(&k, AMDKFD_IOC_DESTROY_QUEUE, &args);
}

static void put(struct sdma *s, const uint32_t *packet, uint32_t dwords)
{
	volatile uint32_t *ring = s->ring.va;
	uint32_t i;

	for (i = 0; i < dwords; i++, s->next += 4)
		ring[s->next / 4 % RING_DWORDS] = packet[i];
}

/* Submit a copy of all of @from, then a write of @value into the fence. */
static void submit(struct sdma *s, uint32_t value)
{
	uint64_t from = (uintptr_t)s->from.va, to = (uintptr_t)s->to.va;
	uint64_t fence = (uintptr_t)s->fence;
	const uint32_t copy[COPY_DWORDS] = {
		OP_COPY_LINEAR, COPY_BYTES - 1, 0, from, from >> 32, to, to >> 32,
	};
	const uint32_t done_packet[FENCE_DWORDS] = { OP_FENCE, fence, fence >> 32, value };

	put(s, copy, COPY_DWORDS);
	put(s, done_packet, FENCE_DWORDS);
	__atomic_store_n(s->wptr, s->next, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*s->doorbell = s->next;
}

/* One copy by each queue. Returns the number of wrong or missing results. */
static unsigned int copy_round(struct sdma *s, uint32_t round)
{
	unsigned int i, n, wrong = 0;

	for (i = 0; i < QUEUES; i++) {
		for (n = 0; n < COPY_BYTES / 4; n++)
			((uint32_t *)s[i].from.va)[n] = round * 0x9e3779b9u + n * (i + 1);
		submit(&s[i], round);
	}
	for (i = 0; i < QUEUES; i++) {
		wrong += wait_word(s[i].fence, round, TIMEOUT_MS) != 0;
		wrong += memcmp(s[i].from.va, s[i].to.va, COPY_BYTES) != 0;
	}
	return wrong;
}

/* Work of an LC queue of this process while the BE queues are held. */
static unsigned int lc_round(struct kfd_work *w, struct kfd_queue *q, struct kfd_signal *sig)
{
	kfd_signal_set(sig, 1);
	must(kfd_work_launch(w, q, rng() % WORK_VARIANTS, sig), "launch");
	return kfd_signal_wait(&k, sig, 1, TIMEOUT_MS) != 0;
}

static struct kfd_sched_device_state device_state(void)
{
	struct kfd_sched_device_state dev;

	must(kfd_states(&k, k.gpus[0].gpu_id, NULL, 0, &dev) < 0 ? -EIO : 0, "states");
	return dev;
}

static unsigned int vmids_in_use(void)
{
	struct kfd_sched_queue_state states[MAX_STATES];
	unsigned int i, used = 0;
	int num;

	num = kfd_states(&k, k.gpus[0].gpu_id, states, MAX_STATES, NULL);
	must(num < 0 ? num : 0, "states");
	for (i = 0; i < (unsigned int)num && i < MAX_STATES; i++)
		if (states[i].state == KFD_SCHED_STATE_LOADED)
			used |= 1u << states[i].vmid;
	return __builtin_popcount(used);
}

static uint64_t resets_over(void)
{
	uint64_t resets = 0;

	must(simgpu_read_u64(0, "resets", &resets), "resets");
	return resets;
}

/*
 * A reset continues after the KFD's part of it. Until its end no VMID changes its
 * process: a new process gets none, and a dying one frees none.
 */
static void check_reset(struct tenant *be)
{
	uint64_t resets = device_state().resets, over = resets_over(), end = now_ns() + SECOND_NS;
	unsigned int i, used = 0, vmids = device_state().vmids;
	static struct sdma s;

	tenants_simple(be, TENANTS, 2, 0);
	must(simgpu_write_u64(0, "reset_end_ns", SECOND_NS / 4), "reset_end_ns");
	must(simgpu_write_u64(0, "reset", 2), "reset");
	while (device_state().resets == resets && now_ns() < end)
		sleep_ns(MS_NS / 10);
	is_err(sdma_create(&s), -EIO, "no VMID for an SDMA queue while a reset is under way");
	tenant_kill(&be[0]);
	ok(resets_over() == over && device_state().resets == resets + 1,
	   "the KFD's part of the reset is over, the reset is not");
	while (resets_over() == over && now_ns() < end)
		sleep_ns(MS_NS);
	ok(resets_over() == over + 1, "then the reset is over");
	for (i = 1; i < TENANTS; i++)
		tenant_kill(&be[i]);
	must(simgpu_write_u64(0, "reset_end_ns", 0), "reset_end_ns");
	tenants_simple(be, TENANTS, 2, 0);
	for (end = now_ns() + SECOND_NS; used < vmids && now_ns() < end; used = vmids_in_use())
		sleep_ns(MS_NS);
	ok(used == vmids, "all VMIDs are in use again: %u of %u", used, vmids);
	tenants_stop(be, TENANTS, 60000);
	is_err(sdma_create(&s), 0, "and an SDMA queue gets one");
	is_err(sdma_destroy(&s), 0, "destroy it");
}

int main(void)
{
	struct tenant *be = tenants_alloc(TENANTS);
	struct kfd_ioctl_sched_hold_args hold;
	static struct sdma s[QUEUES], none;
	uint64_t packets, saves;
	unsigned int i, round, wrong = 0, late = 0, held_wrong = 0, failed = 0;
	struct kfd_signal *sig;
	struct kfd_queue q;
	struct kfd_work w;

	rng_seed(11);
	kfd_open_sched(&k);
	must(kfd_acquire(&k, 0), "VM");
	for (i = 0; i < QUEUES; i++)
		is_err(sdma_create(&s[i]), 0, "SDMA queue %u", i);
	is_err(sdma_create(&none), -ENOMEM, "there are no more");
	must(kfd_set_class(&k, k.gpus[0].gpu_id, 0, UINT32_MAX, KFD_SCHED_CLASS_LC, 0, 0), "class");
	must(kfd_queue_create(&k, 0, 64, &q), "LC queue");
	must(kfd_work_create(&k, 0, 256, 1, &w), "work");
	sig = kfd_signal_create(&k, 1, false);
	tenants_simple(be, TENANTS, 2, 5);

	packets = simgpu_counter(0, "sdma_packets");
	saves = simgpu_counter(0, "saves_midwave");
	for (round = 1; round <= ROUNDS; round++) {
		wrong += copy_round(s, round);
		if (round % 10)
			continue;
		must(kfd_hold(&k, k.gpus[0].gpu_id, KFD_SCHED_LEVEL_MAX, 1000 * MS_NS, 0, &hold),
		     "hold");
		failed += hold.failed;
		late += lc_round(&w, &q, sig);
		held_wrong += copy_round(s, ++round);
		must(kfd_release(&k, k.gpus[0].gpu_id, hold.hold_id, NULL), "release");
	}
	packets = simgpu_counter(0, "sdma_packets") - packets;
	ok(!wrong, "%u rounds of copies beside queues that take turns: %u wrong", ROUNDS, wrong);
	ok(!held_wrong && !failed, "also while the device is held: %u wrong", held_wrong);
	ok(packets == (round - 1) * QUEUES * 2ull, "each packet ran once: %llu of %llu",
	   (unsigned long long)packets, (round - 1) * QUEUES * 2ull);
	ok(!late && !kfd_work_wrong(&w), "an LC queue beside them: %u launches late", late);
	saves = simgpu_counter(0, "saves_midwave") - saves;
	ok(saves > 0, "BE waves were cut %llu times", (unsigned long long)saves);
	tenants_stop(be, TENANTS, 60000);
	for (i = 0; i < QUEUES; i++)
		is_err(sdma_destroy(&s[i]), 0, "destroy SDMA queue %u", i);
	is_err(sdma_create(&none), 0, "then there is one again");
	is_err(sdma_destroy(&none), 0, "destroy it");
	check_reset(be);
	ok(!simgpu_checks(), "the GPU saw nothing wrong");
	return done();
}
