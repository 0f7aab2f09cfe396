// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The command processor: packets, signals, queue errors.
 *
 * Packets are those of the HSA Platform System Architecture specification, 2.9, and of AMD's
 * vendor-specific formats (hsa_ext_amd.h; PM4 in a packet as ROCr's AqlQueue::ExecutePM4()
 * writes it). amd_queue_t and amd_signal_t are those of amd_hsa_queue.h and amd_hsa_signal.h.
 * The address for the HQD's read index, amd_queue_t.read_dispatch_id, leads to the queue.
 *
 * A packet keeps its place in the ring until it is done, because the kernel reads it there.
 * Then its header becomes INVALID and the read index moves.
 */
#include <uapi/linux/kfd_ioctl.h>

#include "amdgpu.h"
#include "gc/gc_9_0_offset.h"
#include "soc15_int.h"

#include "engine.h"

/* Packet header: HSA PSA specification, 2.9.1. */
#define HEADER_TYPE(h) ((h)&0xff)
#define HEADER_BARRIER(h) ((h) >> 8 & 1)

enum packet_type {
	PACKET_VENDOR = 0,
	PACKET_INVALID = 1,
	PACKET_DISPATCH = 2,
	PACKET_BARRIER_AND = 3,
	PACKET_AGENT_DISPATCH = 4,
	PACKET_BARRIER_OR = 5,
};

/* Byte 2 of a vendor-specific packet. */
#define VENDOR_PM4_IB 1
#define VENDOR_BARRIER_VALUE 2

struct signal {
	__s64 kind;
	__s64 value;
	__u64 event_mailbox_ptr;
	__u32 event_id;
	__u32 reserved;
	__u64 start_ts;
	__u64 end_ts;
};

static_assert(offsetof(struct signal, end_ts) == 40);

/* Bytes into amd_queue_t. */
#define QUEUE_READ_INDEX 128
#define QUEUE_TMPRING_SIZE 140
#define QUEUE_SCRATCH_RESOURCE 144
#define QUEUE_SCRATCH_BASE 160
#define QUEUE_INACTIVE_SIGNAL 192

/* COMPUTE_TMPRING_SIZE: WAVES in 11:0, WAVESIZE in KiB in 24:12. */
#define TMPRING_WAVES(v) ((v)&0xfff)
#define TMPRING_WAVE_BYTES(v) (((v) >> 12 & 0x1fff) * 1024)

static const u32 completion_signal_at = 56; /* in every packet */

u64 sim_gpu_clock(struct sim_gpu *sim)
{
	return div_u64(sim_now(), 10);
}

u64 sim_cp_packet_va(const struct sim_hqd *hqd, u64 index)
{
	return hqd->ring_va + (index & (hqd->ring_packets - 1)) * SIM_PKT_BYTES;
}

/* An entry for the interrupt ring; the fields' places are in soc15_int.h. */
void sim_interrupt(struct sim_engine *e, unsigned int vmid, u32 client, u32 source, u32 ring,
		   u32 context0, u32 context1)
{
	u32 entry[SIM_IH_DWORDS] = {
		client | source << 8 | ring << 16 | vmid << 24,
	};

	/* Without the firmware scheduler gfx9 leaves the pasid out
	 * (event_interrupt_isr_v9() calls it a known issue).
	 */
	if (READ_ONCE(e->params.ih_pasid) || sim_hws_is_on(e))
		entry[3] = sim_regs_pasid(e, vmid);
	/* GC 9.4.3: the first XCC is node 1 (kfd_setup_interrupt_bitmap()). */
	if (e->sim->xccs > 1)
		entry[3] |= 1 << 16;
	entry[4] = context0;
	entry[5] = context1;
	e->interrupts++;
	sim_ih_raise(e->sim, entry);
}

/* Memory fault: gmc_v9_0_process_interrupt() has the fields. */
void sim_vm_fault(struct sim_engine *e, unsigned int vmid, u64 va, u32 access, const char *whose)
{
	u64 page = va >> PAGE_SHIFT;
	u32 ring = 0x08 | (access & GFX9_WRITE ? 0x20 : 0x10);

	e->vm_faults++;
	dev_err_ratelimited(e->sim->dev, "%s: memory fault at %#llx (%s), pasid %#x, VMID %u\n",
			    whose, va, access & GFX9_WRITE ? "write" : "read",
			    sim_regs_pasid(e, vmid), vmid);
	sim_interrupt(e, vmid, SOC15_IH_CLIENTID_UTCL2, SOC15_INTSRC_VMC_FAULT, ring,
		      lower_32_bits(page), upper_32_bits(page) & 0xf);
}

void sim_cp_vm_fault(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 access)
{
	char name[32];

	snprintf(name, sizeof(name), "HQD %u.%u", hqd->index / SIM_PIPE_QUEUES,
		 hqd->index % SIM_PIPE_QUEUES);
	sim_event(e, SIM_EV_FAULT, hqd, sim_now(), va);
	sim_vm_fault(e, hqd->vmid, va, access, name);
}

/* The CP itself met an unmapped address: the queue stops. */
static void cp_fault(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 access)
{
	hqd->halted = true;
	sim_cp_vm_fault(e, hqd, va, access);
}

static int cp_read(struct sim_engine *e, struct sim_hqd *hqd, u64 va, void *buf, size_t len)
{
	int err = sim_va_read(e, hqd->vmid, va, buf, len);

	if (err)
		cp_fault(e, hqd, va, GFX9_READ);
	return err;
}

static int cp_write(struct sim_engine *e, struct sim_hqd *hqd, u64 va, const void *buf, size_t len)
{
	int err = sim_va_write(e, hqd->vmid, va, buf, len);

	if (err)
		cp_fault(e, hqd, va, GFX9_WRITE);
	return err;
}

/* The action after a signal's value is written: wake its sleepers. */
static void signal_event(struct sim_engine *e, struct sim_hqd *hqd, const struct signal *signal)
{
	u64 id = signal->event_id;

	if (!signal->event_mailbox_ptr)
		return;
	if (cp_write(e, hqd, signal->event_mailbox_ptr, &id, sizeof(id)))
		return;
	sim_interrupt(e, hqd->vmid, SOC15_IH_CLIENTID_GRBM_CP, SOC15_INTSRC_CP_END_OF_PIPE, 0,
		      signal->event_id, 0);
}

static atomic64_t *signal_value(struct sim_engine *e, struct sim_hqd *hqd, u64 signal_va,
				struct signal *signal)
{
	atomic64_t *value;

	if (!IS_ALIGNED(signal_va, 64) || cp_read(e, hqd, signal_va, signal, sizeof(*signal)))
		return NULL;
	value = sim_va_ptr(e, hqd->vmid, signal_va + offsetof(struct signal, value),
			   GFX9_READ | GFX9_WRITE, NULL);
	if (!value)
		cp_fault(e, hqd, signal_va, GFX9_WRITE);
	return value;
}

/* A packet's completion signal: timestamps, then the value, then the event. */
void sim_cp_signal(struct sim_engine *e, struct sim_hqd *hqd, u64 signal_va, u64 start_ns,
		   u64 end_ns)
{
	u64 stamps[2] = { div_u64(start_ns, 10), div_u64(end_ns, 10) };
	struct signal signal;
	atomic64_t *value;

	if (!signal_va)
		return;
	value = signal_value(e, hqd, signal_va, &signal);
	if (!value ||
	    cp_write(e, hqd, signal_va + offsetof(struct signal, start_ts), stamps, sizeof(stamps)))
		return;
	/* The packet's work must be visible before its signal, that before the event. */
	smp_mb__before_atomic();
	atomic64_dec(value);
	smp_mb__after_atomic(); /* see above */
	signal_event(e, hqd, &signal);
}

/* The queue stops, and queue_inactive_signal gives the reason to its runtime. */
void sim_cp_queue_error(struct sim_engine *e, struct sim_hqd *hqd, u64 code)
{
	struct signal signal;
	atomic64_t *value;
	u64 signal_va;

	e->queue_errors++;
	sim_event(e, SIM_EV_ERROR, hqd, sim_now(), code);
	if (code != SIM_ERROR_SCRATCH)
		hqd->halted = true;
	if (!hqd->aql ||
	    cp_read(e, hqd, hqd->rptr_report_va - QUEUE_READ_INDEX + QUEUE_INACTIVE_SIGNAL,
		    &signal_va, sizeof(signal_va)) ||
	    !signal_va)
		return;
	value = signal_value(e, hqd, signal_va, &signal);
	if (!value)
		return;
	atomic64_set_release(value, code);
	signal_event(e, hqd, &signal);
}

/*
 * A bad packet also raises the interrupt. kfd_int_process_v9.c reads its context as doorbell
 * and error code.
 */
static void bad_packet(struct sim_engine *e, struct sim_hqd *hqd, u64 code, u32 kfd_code)
{
	u32 doorbell = hqd->doorbell ? (hqd->doorbell - e->sim->doorbells) & 0x3ff : 0;

	dev_err_ratelimited(e->sim->dev,
			    "bad packet %llu (error %#llx), pasid %#x, HQD %u, queue %#llx\n",
			    hqd->next, code, hqd->pasid, hqd->index, hqd->ring_va);
	sim_cp_queue_error(e, hqd, code);
	sim_interrupt(e, hqd->vmid, SOC15_IH_CLIENTID_GRBM_CP, SOC15_INTSRC_CP_BAD_OPCODE, 0,
		      doorbell | kfd_code << 10, 0);
}

/* ---- indices ---------------------------------------------------------------- */

static void set_wptr(struct sim_hqd *hqd, u64 wptr)
{
	/* The owner may write any value; a ring holds at most its size. */
	hqd->wptr = clamp(wptr, hqd->wptr, hqd->rptr + hqd->ring_packets);
}

/**
 * sim_cp_poll_wptr - read the write pointer from memory
 * @e: the engine
 * @hqd: in LOADING, its read index is completed as well
 *
 * The read index's register has 32 bits of dwords. The rest comes from the write pointer,
 * which is at most a ring ahead. (The driver's value for the upper bits is not used.)
 */
void sim_cp_poll_wptr(struct sim_engine *e, struct sim_hqd *hqd)
{
	u32 unit = hqd->aql ? SIM_PKT_DWORDS : 1;
	u32 behind_mask = hqd->aql ? BIT(28) - 1 : ~0u;
	u64 wptr;

	if (!hqd->poll || sim_silicon(SIM_SILICON_WPTR_LOST))
		wptr = div_u64(hqd->wptr, unit);
	else if (cp_read(e, hqd, hqd->wptr_poll_va, &wptr, sizeof(wptr)))
		wptr = hqd->rptr_dwords / unit;
	if (hqd->state == SIM_HQD_LOADING) {
		hqd->rptr = wptr - (((u32)wptr - hqd->rptr_dwords / unit) & behind_mask);
		hqd->wptr = hqd->rptr;
	}
	set_wptr(hqd, wptr);
	hqd->poll = false;
}

static void hear_doorbell(struct sim_engine *e, struct sim_hqd *hqd)
{
	u64 value;

	if (!hqd->doorbell || READ_ONCE(*hqd->doorbell) == SIM_DOORBELL_QUIET)
		return;
	value = xchg(hqd->doorbell, SIM_DOORBELL_QUIET);
	set_wptr(hqd, hqd->aql ? value + 1 : value);
	e->last_work_ns = sim_now();
	sim_event(e, SIM_EV_DOORBELL, hqd, sim_now(), value);
}

static void report_rptr(struct sim_engine *e, struct sim_hqd *hqd)
{
	if (hqd->rptr_report_va)
		cp_write(e, hqd, hqd->rptr_report_va, &hqd->rptr, hqd->aql ? 8 : 4);
}

static struct sim_packet *packet_at(struct sim_hqd *hqd, u64 index)
{
	return &hqd->packets[index % SIM_INFLIGHT];
}

/* Frees the ring places of the oldest finished packets. */
static void retire(struct sim_engine *e, struct sim_hqd *hqd)
{
	const u16 invalid = PACKET_INVALID;
	bool moved = false;

	for (;;) {
		struct sim_packet *packet = packet_at(hqd, hqd->rptr);

		if (hqd->rptr == hqd->next || packet->state != SIM_PACKET_DONE)
			break;
		if (cp_write(e, hqd, sim_cp_packet_va(hqd, hqd->rptr), &invalid, sizeof(invalid)))
			break;
		packet->state = SIM_PACKET_FREE;
		hqd->rptr++;
		moved = true;
	}
	if (moved)
		report_rptr(e, hqd);
}

/* ---- packets ---------------------------------------------------------------- */

static bool nothing_running(const struct sim_hqd *hqd)
{
	unsigned int i;

	for (i = 0; i < SIM_INFLIGHT; i++)
		if (hqd->packets[i].state == SIM_PACKET_RUNNING)
			return false;
	return true;
}

void sim_cp_packet_done(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
			u64 now)
{
	packet->state = SIM_PACKET_DONE;
	e->packets++;
	hqd->stat->packets++;
	sim_event(e, SIM_EV_COMPLETE, hqd, now, packet->index);
	sim_cp_signal(e, hqd, packet->dispatch.completion_signal, packet->start_ns, now);
	retire(e, hqd);
}

static int read_queue(struct sim_engine *e, struct sim_hqd *hqd, u64 index,
		      struct gfx9_queue *queue, u32 *scratch_waves)
{
	u64 va = hqd->rptr_report_va - QUEUE_READ_INDEX;
	u32 tmpring;
	int err;

	queue->queue_va = va;
	queue->packet_va = sim_cp_packet_va(hqd, index);
	queue->dispatch_id = index;
	err = cp_read(e, hqd, va + QUEUE_SCRATCH_RESOURCE, queue->scratch_resource,
		      sizeof(queue->scratch_resource));
	if (!err)
		err = cp_read(e, hqd, va + QUEUE_SCRATCH_BASE, &queue->scratch_base,
			      sizeof(queue->scratch_base));
	if (!err)
		err = cp_read(e, hqd, va + QUEUE_TMPRING_SIZE, &tmpring, sizeof(tmpring));
	if (err)
		return err;
	queue->scratch_wave_bytes = TMPRING_WAVE_BYTES(tmpring);
	*scratch_waves = TMPRING_WAVES(tmpring);
	return 0;
}

/**
 * sim_cp_prepare - parse a dispatch packet
 * @e: the engine
 * @hqd: its queue
 * @packet: its index is set; the rest is filled in
 * @aql: the packet
 *
 * Return: 0; -EFAULT: memory fault; -EINVAL: it cannot be run.
 */
int sim_cp_prepare(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
		   const u8 *aql)
{
	u8 descriptor[GFX9_DESCRIPTOR_BYTES];
	struct gfx9_queue queue;
	int err;

	err = read_queue(e, hqd, packet->index, &queue, &packet->scratch_waves);
	if (!err)
		err = cp_read(e, hqd, gfx9_packet_kernel_object(aql), descriptor,
			      sizeof(descriptor));
	if (!err)
		err = gfx9_dispatch_init(&packet->dispatch, aql, descriptor, &queue);
	if (err)
		return err;
	packet->groups_total = (u64)packet->dispatch.groups[0] * packet->dispatch.groups[1] *
			       packet->dispatch.groups[2];
	packet->next_group = 0;
	packet->live = 0;
	packet->ready_ns = 0;
	return 0;
}

/*
 * More scratch than the queue has. Its runtime is asked once, after all running work, and the
 * packet is tried again when the signal is 0.
 */
static bool needs_scratch(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet)
{
	if (!packet->dispatch.private_bytes ||
	    packet->dispatch.wave_scratch_bytes <= packet->dispatch.queue.scratch_wave_bytes)
		return false;
	if (nothing_running(hqd)) {
		hqd->waiting_scratch = true;
		sim_cp_queue_error(e, hqd, SIM_ERROR_SCRATCH);
	}
	return true;
}

static bool still_waiting_scratch(struct sim_engine *e, struct sim_hqd *hqd)
{
	u64 signal_va;
	s64 value;

	if (!hqd->waiting_scratch)
		return false;
	if (cp_read(e, hqd, hqd->rptr_report_va - QUEUE_READ_INDEX + QUEUE_INACTIVE_SIGNAL,
		    &signal_va, sizeof(signal_va)) ||
	    cp_read(e, hqd, signal_va + offsetof(struct signal, value), &value, sizeof(value)))
		return true;
	hqd->waiting_scratch = value;
	return value;
}

static bool launch_dispatch(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
			    const u8 *aql, u64 now)
{
	int err;

	if (!gfx9_packet_kernel_object(aql)) {
		bad_packet(e, hqd, SIM_ERROR_CODE, EC_QUEUE_PACKET_DISPATCH_CODE_INVALID);
		return false;
	}
	err = sim_cp_prepare(e, hqd, packet, aql);
	if (err == -EINVAL)
		bad_packet(e, hqd, SIM_ERROR_DIM, EC_QUEUE_PACKET_DISPATCH_DIM_INVALID);
	if (err)
		return false;
	if (!sim_cu_can_hold(&packet->dispatch.shape)) {
		bad_packet(e, hqd, SIM_ERROR_VGPRS, EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID);
		return false;
	}
	if (needs_scratch(e, hqd, packet))
		return false;
	packet->state = SIM_PACKET_RUNNING;
	packet->start_ns = now;
	packet->ready_ns = now + e->params.dispatch_ns;
	hqd->next = packet->index + 1;
	sim_event(e, SIM_EV_LAUNCH, hqd, now, packet->index);
	return true;
}

static u64 qword(const u8 *aql, unsigned int at)
{
	u64 value;

	memcpy(&value, aql + at, sizeof(value));
	return value;
}

/* A packet without waves is done at once. */
static bool launch_done(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
			const u8 *aql, u64 now)
{
	packet->start_ns = now;
	packet->dispatch.completion_signal = qword(aql, completion_signal_at);
	hqd->next = packet->index + 1;
	sim_cp_packet_done(e, hqd, packet, now);
	return true;
}

enum {
	DEPENDENCIES = 5,
	DEPENDENCIES_AT = 8
};

/* Number of a barrier's dependencies; @met: of those that are met. */
static int dependencies(struct sim_engine *e, struct sim_hqd *hqd, const u8 *aql, u32 *met)
{
	u32 i, count = 0;

	*met = 0;
	for (i = 0; i < DEPENDENCIES; i++) {
		u64 signal_va = qword(aql, DEPENDENCIES_AT + 8 * i);
		s64 value;

		if (!signal_va)
			continue;
		if (cp_read(e, hqd, signal_va + offsetof(struct signal, value), &value,
			    sizeof(value)))
			return -EFAULT;
		count++;
		*met += value == 0;
	}
	return count;
}

static bool launch_barrier(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
			   const u8 *aql, bool all, u64 now)
{
	u32 met;
	int count = dependencies(e, hqd, aql, &met);

	if (count < 0)
		return false;
	if (all ? met < count : count && !met)
		return false;
	return launch_done(e, hqd, packet, aql, now);
}

/* hsa_amd_barrier_value_packet_t: (value & mask) compared with a constant. */
static bool launch_barrier_value(struct sim_engine *e, struct sim_hqd *hqd,
				 struct sim_packet *packet, const u8 *aql, u64 now)
{
	u64 signal_va = qword(aql, 8);
	s64 want = qword(aql, 16), mask = qword(aql, 24), value;
	bool met = true;

	if (signal_va) {
		if (cp_read(e, hqd, signal_va + offsetof(struct signal, value), &value,
			    sizeof(value)))
			return false;
		switch ((u32)qword(aql, 32)) { /* hsa_signal_condition_t */
		case 0:
			met = (value & mask) == want;
			break;
		case 1:
			met = (value & mask) != want;
			break;
		case 2:
			met = (value & mask) < want;
			break;
		case 3:
			met = (value & mask) >= want;
			break;
		}
	}
	return met && launch_done(e, hqd, packet, aql, now);
}

/* amd_aql_pm4_ib: an INDIRECT_BUFFER command in dwords 1 to 4. */
static bool launch_pm4(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
		       const u8 *aql, u64 now)
{
	if (!nothing_running(hqd))
		return false;
	if (sim_pm4_run(e, hqd, sim_cp_packet_va(hqd, packet->index) + 4, 4)) {
		bad_packet(e, hqd, SIM_ERROR_VENDOR, EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
		return false;
	}
	return launch_done(e, hqd, packet, aql, now);
}

static bool launch_vendor(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
			  const u8 *aql, u64 now)
{
	switch (aql[2]) {
	case VENDOR_PM4_IB:
		return launch_pm4(e, hqd, packet, aql, now);
	case VENDOR_BARRIER_VALUE:
		return launch_barrier_value(e, hqd, packet, aql, now);
	default:
		bad_packet(e, hqd, SIM_ERROR_VENDOR, EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
		return false;
	}
}

static bool launch(struct sim_engine *e, struct sim_hqd *hqd, u16 header, u64 now)
{
	struct sim_packet *packet = packet_at(hqd, hqd->next);
	u8 aql[SIM_PKT_BYTES];

	if (cp_read(e, hqd, sim_cp_packet_va(hqd, hqd->next), aql, sizeof(aql)))
		return false;
	packet->index = hqd->next;
	switch (HEADER_TYPE(header)) {
	case PACKET_VENDOR:
		return launch_vendor(e, hqd, packet, aql, now);
	case PACKET_DISPATCH:
		return launch_dispatch(e, hqd, packet, aql, now);
	case PACKET_BARRIER_AND:
		return launch_barrier(e, hqd, packet, aql, true, now);
	case PACKET_BARRIER_OR:
		return launch_barrier(e, hqd, packet, aql, false, now);
	default:
		bad_packet(e, hqd, SIM_ERROR_FORMAT, EC_QUEUE_PACKET_UNSUPPORTED);
		return false;
	}
}

static bool next_header(struct sim_engine *e, struct sim_hqd *hqd, u16 *header)
{
	u16 *at = sim_va_ptr(e, hqd->vmid, sim_cp_packet_va(hqd, hqd->next), GFX9_READ, NULL);

	if (!at) {
		cp_fault(e, hqd, sim_cp_packet_va(hqd, hqd->next), GFX9_READ);
		return false;
	}
	/* Its producer writes the header last. */
	*header = smp_load_acquire(at);
	return true;
}

/* Launches the next packet if possible. */
static bool step(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	u16 header;

	if (hqd->halted || hqd->next >= hqd->wptr || still_waiting_scratch(e, hqd) ||
	    packet_at(hqd, hqd->next)->state != SIM_PACKET_FREE || !next_header(e, hqd, &header))
		return false;
	/* Reserved by its producer, but not yet written. */
	if (HEADER_TYPE(header) == PACKET_INVALID)
		return false;
	if (HEADER_BARRIER(header) && !nothing_running(hqd))
		return false;
	if (!launch(e, hqd, header, now))
		return false;
	e->last_work_ns = now;
	return true;
}

static void run_pm4_ring(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	u64 mask = hqd->ring_packets - 1;

	while (!hqd->halted && hqd->rptr < hqd->wptr) {
		u64 at = hqd->rptr & mask;
		u64 dwords = min(hqd->wptr - hqd->rptr, hqd->ring_packets - at);
		int done = sim_pm4_run(e, hqd, hqd->ring_va + at * 4, dwords);

		if (done) {
			bad_packet(e, hqd, SIM_ERROR_VENDOR, EC_QUEUE_PACKET_UNSUPPORTED);
			return;
		}
		hqd->rptr += dwords;
		hqd->next = hqd->rptr;
		report_rptr(e, hqd);
		e->last_work_ns = now;
	}
}

static void log_idle(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	bool idle = hqd->rptr == hqd->wptr;

	if (idle && !hqd->idle_logged) {
		sim_event(e, SIM_EV_IDLE, hqd, now, hqd->rptr);
		hqd->wave_logged = false;
	}
	hqd->idle_logged = idle;
}

/**
 * sim_cp_run - process a queue's packets
 * @e: the engine
 * @hqd: RUNNING, or DRAINING: launches nothing new
 * @now: time
 *
 * Return: was anything launched?
 */
bool sim_cp_run(struct sim_engine *e, struct sim_hqd *hqd, u64 now)
{
	bool any = false;

	hear_doorbell(e, hqd);
	if (hqd->state == SIM_HQD_RUNNING && !sim_silicon_starved(e, hqd) &&
	    sim_xcc_ready(e, hqd)) {
		if (hqd->aql)
			while (step(e, hqd, now))
				any = true;
		else
			run_pm4_ring(e, hqd, now);
	}
	retire(e, hqd);
	log_idle(e, hqd, now);
	return any;
}
