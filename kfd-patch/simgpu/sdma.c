// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SDMA engines of Vega 10 (SDMA 4.0): the packets that ROCr's BlitSdma makes. Formats are
 * those of vega10_sdma_pkt_open.h. Ring pointers count bytes and do not wrap.
 *
 * A queue runs while both RB_ENABLE and the doorbell's ENABLE are set: the driver sets the
 * first again after a queue has gone, with the second clear (kgd_hqd_sdma_destroy()). A copy
 * or fill is done in pieces, and restarts if its queue is suspended in the middle of it
 * (Assumption).
 */
#include "amdgpu.h"
#include "sdma0/sdma0_4_0_offset.h"
#include "sdma0/sdma0_4_0_sh_mask.h"
#include "sdma1/sdma1_4_0_offset.h"
#include "soc15_common.h"
#include "soc15_int.h"
#include "vega10_sdma_pkt_open.h"

#include "engine.h"

#define PIECE_BYTES 65536u
#define ATOMIC_ADD64 47 /* SDMA_ATOMIC_ADD64 of ROCr's sdma_registers.h */
#define DOORBELL_ENABLE BIT(28)
#define RLC_STRIDE (mmSDMA0_RLC1_RB_CNTL - mmSDMA0_RLC0_RB_CNTL)

#define RLC(reg) (mmSDMA0_RLC0_##reg - mmSDMA0_RLC0_RB_CNTL)

static u32 engine_base(struct sim_engine *e, unsigned int engine)
{
	struct amdgpu_device *adev = e->sim->adev;

	return engine ? SOC15_REG_OFFSET(SDMA1, 0, mmSDMA1_RLC0_RB_CNTL) :
			SOC15_REG_OFFSET(SDMA0, 0, mmSDMA0_RLC0_RB_CNTL);
}

/* ---- registers (reg_lock is held) --------------------------------------------- */

static bool enabled(const u32 *rlc)
{
	return (rlc[RLC(RB_CNTL)] & SDMA0_RLC0_RB_CNTL__RB_ENABLE_MASK) &&
	       (rlc[RLC(DOORBELL)] & DOORBELL_ENABLE);
}

/* Returns whether @reg is one of SDMA's queues, and then does the write. */
bool sim_sdma_write(struct sim_engine *e, u32 reg, u32 value)
{
	unsigned int i;

	for (i = 0; i < SIM_SDMA_QUEUES; i++) {
		struct sim_sdma *queue = &e->sdma[i];
		u32 at = reg - queue->base;
		bool was;

		if (at >= RLC_STRIDE)
			continue;
		was = enabled(&e->regs[queue->base]);
		e->regs[reg] = value;
		if (was != enabled(&e->regs[queue->base])) {
			e->regs[queue->base + RLC(CONTEXT_STATUS)] &=
				~SDMA0_RLC0_CONTEXT_STATUS__IDLE_MASK;
			queue->changed = true;
			sim_kick(e);
		}
		return true;
	}
	return false;
}

/* Everything off and idle; the register file is zero. */
void sim_sdma_power_on(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; i < SIM_SDMA_QUEUES; i++) {
		struct sim_sdma *queue = &e->sdma[i];

		queue->changed = false;
		queue->engine = i / SIM_SDMA_RLCS;
		queue->base = engine_base(e, queue->engine) + i % SIM_SDMA_RLCS * RLC_STRIDE;
		e->regs[queue->base + RLC(CONTEXT_STATUS)] = SDMA0_RLC0_CONTEXT_STATUS__IDLE_MASK;
	}
}

static u64 reg64(const u32 *rlc, u32 hi, u32 lo)
{
	return (u64)rlc[hi] << 32 | rlc[lo];
}

static void start(struct sim_engine *e, struct sim_sdma *queue, const u32 *rlc)
{
	u32 control = rlc[RLC(RB_CNTL)];
	u32 doorbell = (rlc[RLC(DOORBELL_OFFSET)] & SDMA0_RLC0_DOORBELL_OFFSET__OFFSET_MASK) >>
		       SDMA0_RLC0_DOORBELL_OFFSET__OFFSET__SHIFT;

	queue->vmid = (control & SDMA0_RLC0_RB_CNTL__RB_VMID_MASK) >>
		      SDMA0_RLC0_RB_CNTL__RB_VMID__SHIFT;
	queue->ring_va = reg64(rlc, RLC(RB_BASE_HI), RLC(RB_BASE)) << 8;
	queue->ring_bytes = 4ull << ((control & SDMA0_RLC0_RB_CNTL__RB_SIZE_MASK) >>
				     SDMA0_RLC0_RB_CNTL__RB_SIZE__SHIFT);
	queue->report_va = reg64(rlc, RLC(RB_RPTR_ADDR_HI), RLC(RB_RPTR_ADDR_LO));
	queue->rptr = reg64(rlc, RLC(RB_RPTR_HI), RLC(RB_RPTR));
	queue->wptr = reg64(rlc, RLC(RB_WPTR_HI), RLC(RB_WPTR));
	queue->wptr = clamp(queue->wptr & ~3ull, queue->rptr, queue->rptr + queue->ring_bytes);
	queue->doorbell = NULL;
	if ((u64)doorbell * 4 + 8 <= e->sim->doorbell_bytes)
		queue->doorbell = e->sim->doorbells + doorbell / 2;
	queue->piece = 0;
	queue->busy_until_ns = 0;
	queue->halted = !e->vmids[queue->vmid].tlb || !queue->ring_bytes;
	queue->running = true;
}

/* Starts and stops queues as the registers say. run_lock is held. */
void sim_sdma_requests(struct sim_engine *e)
{
	unsigned int i;

	spin_lock(&e->reg_lock);
	for (i = 0; i < SIM_SDMA_QUEUES; i++) {
		struct sim_sdma *queue = &e->sdma[i];
		u32 *rlc = &e->regs[queue->base];

		if (!queue->changed)
			continue;
		queue->changed = false;
		if (enabled(rlc))
			start(e, queue, rlc);
		else
			queue->running = false;
		rlc[RLC(CONTEXT_STATUS)] |= SDMA0_RLC0_CONTEXT_STATUS__IDLE_MASK;
	}
	spin_unlock(&e->reg_lock);
}

bool sim_sdma_any_active(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; i < SIM_SDMA_QUEUES; i++)
		if (e->sdma[i].running)
			return true;
	return false;
}

bool sim_sdma_all_quiet(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; i < SIM_SDMA_QUEUES; i++) {
		const struct sim_sdma *queue = &e->sdma[i];

		if (queue->running && !queue->halted && queue->rptr < queue->wptr)
			return false;
	}
	return true;
}

void sim_sdma_stop(struct sim_engine *e)
{
	unsigned int i;

	for (i = 0; i < SIM_SDMA_QUEUES; i++)
		e->sdma[i].running = false;
}

/* ---- packets ------------------------------------------------------------------ */

enum outcome {
	PACKET_DONE,
	PACKET_AGAIN, /* not done yet: a poll, or the next piece */
	PACKET_FAULT,
};

static enum outcome fault(struct sim_engine *e, struct sim_sdma *queue, u64 va, u32 access)
{
	queue->halted = true;
	sim_vm_fault(e, queue->vmid, va, access, "SDMA");
	return PACKET_FAULT;
}

static enum outcome put(struct sim_engine *e, struct sim_sdma *queue, u64 va, const void *data,
			size_t len)
{
	if (sim_va_write(e, queue->vmid, va, data, len))
		return fault(e, queue, va, GFX9_WRITE);
	return PACKET_DONE;
}

static u64 address(const u32 *dw)
{
	return (u64)dw[1] << 32 | dw[0];
}

static enum outcome copy_bytes(struct sim_engine *e, struct sim_sdma *queue, u64 to, u64 from,
			       u64 bytes)
{
	while (bytes) {
		u64 from_span, to_span;
		void *src, *dst;

		src = sim_va_ptr(e, queue->vmid, from, GFX9_READ, &from_span);
		if (!src)
			return fault(e, queue, from, GFX9_READ);
		/* The second look-up may take the first one's place in the TLB,
		 * and with it the reference on its page: keep one.
		 */
		get_page(virt_to_page(src));
		dst = sim_va_ptr(e, queue->vmid, to, GFX9_WRITE, &to_span);
		from_span = min3(from_span, to_span, bytes);
		if (dst)
			memmove(dst, src, from_span);
		put_page(virt_to_page(src));
		if (!dst)
			return fault(e, queue, to, GFX9_WRITE);
		from += from_span;
		to += from_span;
		bytes -= from_span;
	}
	return PACKET_DONE;
}

/* One piece of @total bytes; *@at and *@bytes say which. */
static bool take_piece(struct sim_engine *e, struct sim_sdma *queue, u64 total, u64 now, u64 *at,
		       u64 *bytes)
{
	*at = queue->piece;
	*bytes = min_t(u64, total - queue->piece, PIECE_BYTES);
	queue->piece += *bytes;
	e->sdma_bytes += *bytes;
	queue->busy_until_ns = now + ((*bytes * e->params.sdma_kib_ns) >> 10);
	if (queue->piece < total)
		return false;
	queue->piece = 0;
	return true;
}

static enum outcome copy_linear(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw,
				u64 now)
{
	u64 at, bytes;
	bool last = take_piece(e, queue, (u64)(dw[1] & 0x3fffff) + 1, now, &at, &bytes);
	enum outcome outcome;

	outcome = copy_bytes(e, queue, address(&dw[5]) + at, address(&dw[3]) + at, bytes);
	return outcome == PACKET_DONE && !last ? PACKET_AGAIN : outcome;
}

/* A box out of a larger one, in elements of 1 << ELEMENTSIZE bytes. */
struct window {
	u64 base;
	u32 x, y, z;
	u64 pitch, slice;
};

static struct window read_window(const u32 *dw)
{
	return (struct window){
		.base = address(dw),
		.x = dw[2] & 0x3fff,
		.y = dw[2] >> 16 & 0x3fff,
		.z = dw[3] & 0x7ff,
		.pitch = (u64)(dw[3] >> 13) + 1,
		.slice = (u64)(dw[4] & 0xfffffff) + 1,
	};
}

static u64 window_at(const struct window *w, u32 y, u32 z, u32 shift)
{
	return w->base + (((w->z + z) * w->slice + (w->y + y) * w->pitch + w->x) << shift);
}

static enum outcome copy_window(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw,
				u64 now)
{
	u32 shift = dw[0] >> 29, rows = (dw[11] >> 16 & 0x3fff) + 1, slices = (dw[12] & 0x7ff) + 1;
	u64 row_bytes = ((u64)(dw[11] & 0x3fff) + 1) << shift;
	struct window src = read_window(&dw[1]), dst = read_window(&dw[6]);
	u32 y = queue->piece % rows, z = queue->piece / rows;
	enum outcome outcome;

	outcome = copy_bytes(e, queue, window_at(&dst, y, z, shift), window_at(&src, y, z, shift),
			     row_bytes);
	if (outcome != PACKET_DONE)
		return outcome;
	e->sdma_bytes += row_bytes;
	queue->busy_until_ns = now + ((row_bytes * e->params.sdma_kib_ns) >> 10);
	if (++queue->piece < (u64)rows * slices)
		return PACKET_AGAIN;
	queue->piece = 0;
	return PACKET_DONE;
}

static enum outcome write_linear(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw,
				 u32 dwords)
{
	return put(e, queue, address(&dw[1]), &dw[4], (dwords - 4) * 4);
}

static enum outcome fill_bytes(struct sim_engine *e, struct sim_sdma *queue, u64 to, u32 value,
			       u64 bytes)
{
	while (bytes) {
		u64 span;
		void *dst = sim_va_ptr(e, queue->vmid, to, GFX9_WRITE, &span);

		if (!dst)
			return fault(e, queue, to, GFX9_WRITE);
		span = min(span, bytes);
		memset32(dst, value, span / 4);
		to += span;
		bytes -= span;
	}
	return PACKET_DONE;
}

/* FILLSIZE 2, dwords, is the only one that is sent. */
static enum outcome const_fill(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw, u64 now)
{
	u64 at, bytes, total = (dw[4] & 0x3ffffc) + 4;
	enum outcome outcome;
	bool last;

	if (dw[0] >> 30 != 2 || dw[1] & 3)
		return fault(e, queue, address(&dw[1]), GFX9_WRITE);
	last = take_piece(e, queue, total, now, &at, &bytes);
	outcome = fill_bytes(e, queue, address(&dw[1]) + at, dw[3], bytes);
	return outcome == PACKET_DONE && !last ? PACKET_AGAIN : outcome;
}

/* FUNC in 30:28: always, <, <=, ==, !=, >=, >. */
static bool poll_met(u32 func, u32 value, u32 reference)
{
	switch (func) {
	case 1:
		return value < reference;
	case 2:
		return value <= reference;
	case 3:
		return value == reference;
	case 4:
		return value != reference;
	case 5:
		return value >= reference;
	case 6:
		return value > reference;
	default:
		return true;
	}
}

static enum outcome poll_regmem(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw)
{
	u32 value;

	/* Without MEM_POLL it is a register: the flush of the HDP, which there is not. */
	if (!(dw[0] >> 31))
		return PACKET_DONE;
	if (sim_va_read(e, queue->vmid, address(&dw[1]), &value, sizeof(value)))
		return fault(e, queue, address(&dw[1]), GFX9_READ);
	return poll_met(dw[0] >> 28 & 7, value & dw[4], dw[3]) ? PACKET_DONE : PACKET_AGAIN;
}

static enum outcome atomic(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw)
{
	u64 va = address(&dw[1]);
	atomic64_t *at = sim_va_ptr(e, queue->vmid, va, GFX9_READ | GFX9_WRITE, NULL);

	if (!at || va & 7 || dw[0] >> 25 != ATOMIC_ADD64)
		return fault(e, queue, va, GFX9_WRITE);
	smp_mb__before_atomic(); /* a copy is seen before its signal */
	atomic64_add(address(&dw[3]), at);
	return PACKET_DONE;
}

static enum outcome timestamp(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw)
{
	u64 ticks = sim_gpu_clock(e->sim);

	return put(e, queue, address(&dw[1]) & ~7ull, &ticks, sizeof(ticks));
}

static enum outcome trap(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw)
{
	sim_interrupt(e, queue->vmid,
		      queue->engine ? SOC15_IH_CLIENTID_SDMA1 : SOC15_IH_CLIENTID_SDMA0,
		      SOC15_INTSRC_SDMA_TRAP, 0, dw[1] & 0xfffffff, 0);
	return PACKET_DONE;
}

/* Dwords of the packet that begins with @header and, for WRITE, has @count in
 * its fourth; 0: it is not built.
 */
static u32 packet_dwords(u32 header, u32 count)
{
	switch (header & 0xffff) {
	case SDMA_OP_NOP:
		return 1 + (header >> 16 & 0x3fff);
	case SDMA_OP_COPY | SDMA_SUBOP_COPY_LINEAR << 8:
		return 7;
	case SDMA_OP_COPY | SDMA_SUBOP_COPY_LINEAR_SUB_WIND << 8:
		return 13;
	case SDMA_OP_WRITE | SDMA_SUBOP_WRITE_LINEAR << 8:
		return 4 + (count & 0xfffff) + 1;
	case SDMA_OP_FENCE:
		return 4;
	case SDMA_OP_TRAP:
		return 2;
	case SDMA_OP_POLL_REGMEM:
		return 6;
	case SDMA_OP_ATOMIC:
		return 8;
	case SDMA_OP_CONST_FILL:
		return 5;
	case SDMA_OP_TIMESTAMP | SDMA_SUBOP_TIMESTAMP_GET_GLOBAL << 8:
		return 3;
	default:
		return 0;
	}
}

static enum outcome execute(struct sim_engine *e, struct sim_sdma *queue, const u32 *dw, u32 dwords,
			    u64 now)
{
	switch (dw[0] & 0xffff) {
	case SDMA_OP_COPY | SDMA_SUBOP_COPY_LINEAR << 8:
		return copy_linear(e, queue, dw, now);
	case SDMA_OP_COPY | SDMA_SUBOP_COPY_LINEAR_SUB_WIND << 8:
		return copy_window(e, queue, dw, now);
	case SDMA_OP_WRITE | SDMA_SUBOP_WRITE_LINEAR << 8:
		return write_linear(e, queue, dw, dwords);
	case SDMA_OP_FENCE:
		return put(e, queue, address(&dw[1]), &dw[3], 4);
	case SDMA_OP_TRAP:
		return trap(e, queue, dw);
	case SDMA_OP_POLL_REGMEM:
		return poll_regmem(e, queue, dw);
	case SDMA_OP_ATOMIC:
		return atomic(e, queue, dw);
	case SDMA_OP_CONST_FILL:
		return const_fill(e, queue, dw, now);
	case SDMA_OP_TIMESTAMP | SDMA_SUBOP_TIMESTAMP_GET_GLOBAL << 8:
		return timestamp(e, queue, dw);
	default:
		return PACKET_DONE;
	}
}

static int read_ring(struct sim_engine *e, struct sim_sdma *queue, u32 *dw, u32 count)
{
	u64 at = queue->rptr;

	while (count) {
		u64 offset = at & (queue->ring_bytes - 1);
		u32 part = min_t(u64, count, (queue->ring_bytes - offset) / 4);

		if (sim_va_read(e, queue->vmid, queue->ring_va + offset, dw, part * 4)) {
			fault(e, queue, queue->ring_va + offset, GFX9_READ);
			return -EFAULT;
		}
		dw += part;
		at += part * 4;
		count -= part;
	}
	return 0;
}

static void advance(struct sim_engine *e, struct sim_sdma *queue, u32 dwords)
{
	u32 *rlc = &e->regs[queue->base];

	queue->rptr += dwords * 4;
	if (queue->report_va)
		put(e, queue, queue->report_va, &queue->rptr, sizeof(queue->rptr));
	spin_lock(&e->reg_lock);
	rlc[RLC(RB_RPTR)] = lower_32_bits(queue->rptr);
	rlc[RLC(RB_RPTR_HI)] = upper_32_bits(queue->rptr);
	spin_unlock(&e->reg_lock);
}

static void unbuilt(struct sim_engine *e, struct sim_sdma *queue, u32 header)
{
	dev_err_ratelimited(e->sim->dev, "SDMA packet %#x is not built; pasid %#x, ring %#llx\n",
			    header, sim_regs_pasid(e, queue->vmid), queue->ring_va);
	queue->halted = true;
}

/* One packet, or a piece of it. Returns whether there may be more at once. */
static bool step(struct sim_engine *e, struct sim_sdma *queue, u64 now)
{
	u64 left = (queue->wptr - queue->rptr) / 4;
	u32 *dw = e->sdma_packet, dwords;
	bool nop;

	if (queue->halted || queue->rptr >= queue->wptr || now < queue->busy_until_ns)
		return false;
	if (read_ring(e, queue, dw, min_t(u64, left, 4)))
		return false;
	dwords = packet_dwords(dw[0], left < 4 ? 0 : dw[3]);
	nop = (dw[0] & 0xff) == SDMA_OP_NOP;
	if (!dwords || dwords > left || (!nop && dwords > ARRAY_SIZE(e->sdma_packet))) {
		unbuilt(e, queue, dw[0]);
		return false;
	}
	if (!nop && read_ring(e, queue, dw, dwords))
		return false;
	if (execute(e, queue, dw, dwords, now) != PACKET_DONE)
		return false;
	advance(e, queue, dwords);
	e->sdma_packets++;
	e->last_work_ns = now;
	return true;
}

static void hear_doorbell(struct sim_sdma *queue)
{
	u64 value;

	if (!queue->doorbell || READ_ONCE(*queue->doorbell) == SIM_DOORBELL_QUIET)
		return;
	value = xchg(queue->doorbell, SIM_DOORBELL_QUIET);
	queue->wptr = clamp(value & ~3ull, queue->wptr, queue->rptr + queue->ring_bytes);
}

/* Lets every SDMA queue go on. Returns whether any did something. */
bool sim_sdma_run(struct sim_engine *e, u64 now)
{
	const unsigned int burst = 64;
	bool any = false;
	unsigned int i, n;

	for (i = 0; i < SIM_SDMA_QUEUES; i++) {
		struct sim_sdma *queue = &e->sdma[i];

		if (!queue->running)
			continue;
		hear_doorbell(queue);
		for (n = 0; n < burst && step(e, queue, now); n++)
			any = true;
	}
	return any;
}

/* When a queue's copy ends that runs now; U64_MAX: none runs. */
u64 sim_sdma_next_ns(struct sim_engine *e, u64 now)
{
	u64 next = U64_MAX;
	unsigned int i;

	for (i = 0; i < SIM_SDMA_QUEUES; i++)
		if (e->sdma[i].running && e->sdma[i].busy_until_ns > now)
			next = min(next, e->sdma[i].busy_until_ns);
	return next;
}
