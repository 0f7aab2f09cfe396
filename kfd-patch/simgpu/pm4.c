// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The PM4 that user space sends to a compute queue: ROCr's cache invalidations (ACQUIRE_MEM in
 * an indirect buffer), and the packets to write memory and to signal. Formats: soc15d.h. There
 * are no caches here, so the acquire has nothing to do.
 */
#include "amdgpu.h"
#include "soc15_int.h"
#include "soc15d.h"

#include "engine.h"

#define PM4_TYPE(h) ((h) >> 30)
#define PM4_DWORDS(h) (((h) >> 16 & 0x3fff) + 2)
/* A NOP of this dword alone; bit 1, SHADER_TYPE, is of no effect on it. */
#define PM4_IS_FILLER(h) (((h) & ~2u) == 0xffff1000)
#define PM4_MAX_DWORDS 1024

static int read_dwords(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 *to, u32 count)
{
	return sim_va_read(e, hqd->vmid, va, to, count * sizeof(*to));
}

/* WRITE_DATA: control, address, data. DST_SEL 5 is memory. */
static int write_data(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 dwords)
{
	u32 head[4], value, i;
	u64 to;

	if (dwords < 5 || read_dwords(e, hqd, va, head, 4))
		return -EINVAL;
	if ((head[1] >> 8 & 0xf) != 5)
		return -EINVAL;
	to = (u64)head[3] << 32 | head[2];
	for (i = 4; i < dwords; i++) {
		if (read_dwords(e, hqd, va + i * 4, &value, 1) ||
		    sim_va_write(e, hqd->vmid, to + (i - 4) * 4, &value, sizeof(value)))
			return -EINVAL;
	}
	return 0;
}

/* RELEASE_MEM of gfx9: 8 dwords; DATA_SEL in 31:29 and INT_SEL in 26:24 of the
 * third; address, data, and the interrupt's context at the end.
 */
static int release_mem(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 dwords)
{
	u32 dw[8];
	u64 to, data;

	if (dwords != 8 || read_dwords(e, hqd, va, dw, 8))
		return -EINVAL;
	to = (u64)dw[4] << 32 | dw[3];
	data = (u64)dw[6] << 32 | dw[5];
	switch (dw[2] >> 29) {
	case 0:
		break;
	case 1:
		if (sim_va_write(e, hqd->vmid, to, &data, 4))
			return -EINVAL;
		break;
	case 3:
		data = sim_gpu_clock(e->sim);
		fallthrough;
	case 2:
		if (sim_va_write(e, hqd->vmid, to, &data, 8))
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	if (dw[2] >> 24 & 7)
		sim_interrupt(e, hqd->vmid, SOC15_IH_CLIENTID_GRBM_CP, SOC15_INTSRC_CP_END_OF_PIPE,
			      0, dw[7], 0);
	return 0;
}

static int run(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 dwords, unsigned int depth);

/* INDIRECT_BUFFER: address, and its size in the lower 20 bits. */
static int indirect(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 dwords,
		    unsigned int depth)
{
	u32 dw[4];

	if (depth || dwords != 4 || read_dwords(e, hqd, va, dw, 4))
		return -EINVAL;
	return run(e, hqd, (u64)dw[2] << 32 | (dw[1] & ~3u), dw[3] & 0xfffff, depth + 1);
}

static int packet(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 header, unsigned int depth)
{
	u32 dwords = PM4_DWORDS(header);

	switch (CP_PACKET3_GET_OPCODE(header)) {
	case PACKET3_ACQUIRE_MEM:
		spin_lock(&e->reg_lock);
		WRITE_ONCE(e->code_epoch, e->code_epoch + 1);
		spin_unlock(&e->reg_lock);
		return 0;
	case PACKET3_NOP:
	case PACKET3_EVENT_WRITE:
	case PACKET3_PFP_SYNC_ME:
		return 0;
	case PACKET3_WRITE_DATA:
		return write_data(e, hqd, va, dwords);
	case PACKET3_RELEASE_MEM:
		return release_mem(e, hqd, va, dwords);
	case PACKET3_INDIRECT_BUFFER:
		return indirect(e, hqd, va, dwords, depth);
	default:
		dev_err_ratelimited(e->sim->dev, "PM4 packet %#x is not built\n", header);
		return -EOPNOTSUPP;
	}
}

static int run(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 dwords, unsigned int depth)
{
	u32 at = 0, header, size;
	int err;

	if (dwords > PM4_MAX_DWORDS)
		return -EINVAL;
	while (at < dwords) {
		err = read_dwords(e, hqd, va + at * 4, &header, 1);
		if (err)
			return err;
		size = 1;
		if (!PM4_IS_FILLER(header) && PM4_TYPE(header) == 3)
			size = PM4_DWORDS(header);
		else if (!PM4_IS_FILLER(header) && PM4_TYPE(header) != 2)
			return -EINVAL;
		if (at + size > dwords)
			return -EINVAL;
		err = size > 1 ? packet(e, hqd, va + at * 4, header, depth) : 0;
		if (err)
			return err;
		at += size;
	}
	return 0;
}

/**
 * sim_pm4_run - run PM4 packets
 * @e: the engine
 * @hqd: their address space
 * @va: address of the first
 * @dwords: of all of them
 *
 * Return: 0, or the error of one of them; those before it were run.
 */
int sim_pm4_run(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 dwords)
{
	return run(e, hqd, va, dwords, 0);
}
