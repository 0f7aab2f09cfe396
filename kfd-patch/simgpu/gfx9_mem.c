// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Scalar and vector memory: "Vega" ISA reference, chapters 7 (scalar), 8 (buffers)
 * and 9 (flat, global, scratch).
 */
#include "gfx9_access.h"

/* ---- translation --------------------------------------------------------------- */

void gfx9_tlb_drop(struct gfx9_env *env)
{
	for (u32 i = 0; i < GFX9_TLB_ENTRIES; i++)
		env->tlb[i].page = ~0ull;
	env->code_page = ~0ull;
}

static bool refill(struct gfx9_env *env, struct gfx9_tlb_entry *entry, u64 page, u32 access)
{
	u64 span = 0;
	void *host = env->ops->translate(env->ctx, page * GFX9_PAGE_BYTES, access, &span);

	if (!host || span < GFX9_PAGE_BYTES)
		return false;
	if (entry->page == page && entry->host == host)
		access |= entry->access;
	entry->page = page;
	entry->host = host;
	entry->access = access;
	return true;
}

u8 *gfx9_translate(struct gfx9_env *env, u64 va, u32 access)
{
	const u64 page = va / GFX9_PAGE_BYTES;
	struct gfx9_tlb_entry *entry = &env->tlb[page % GFX9_TLB_ENTRIES];

	if (entry->page != page || (entry->access & access) != access) {
		if (!refill(env, entry, page, access)) {
			env->fault_address = va;
			env->fault_access = access;
			return NULL;
		}
	}
	return entry->host + va % GFX9_PAGE_BYTES;
}

static u32 bytes_in_page(u64 va, u32 bytes)
{
	const u32 left = GFX9_PAGE_BYTES - va % GFX9_PAGE_BYTES;

	return bytes < left ? bytes : left;
}

/*
 * Aligned words are moved whole: a lane that polls a word sees it as another
 * wave, or the host, wrote it.
 */
static void copy_words(void *to, const void *from, u32 bytes)
{
	u32 i;

	if (((unsigned long)to | (unsigned long)from | bytes) % 4) {
		if (bytes == 2 && !(((unsigned long)to | (unsigned long)from) % 2)) {
			*(volatile u16 *)to = *(const volatile u16 *)from;
			return;
		}
		for (i = 0; i < bytes; i++)
			((volatile u8 *)to)[i] = ((const volatile u8 *)from)[i];
		return;
	}
	if (bytes == 8 && !(((unsigned long)to | (unsigned long)from) % 8)) {
		*(volatile u64 *)to = *(const volatile u64 *)from;
		return;
	}
	for (i = 0; i < bytes / 4; i++)
		((volatile u32 *)to)[i] = ((const volatile u32 *)from)[i];
}

bool gfx9_read_bytes(struct gfx9_env *env, u64 va, void *to, u32 bytes)
{
	while (bytes) {
		const u32 part = bytes_in_page(va, bytes);
		const u8 *host = gfx9_translate(env, va, GFX9_READ);

		if (!host)
			return false;
		copy_words(to, host, part);
		to = (u8 *)to + part;
		va += part;
		bytes -= part;
	}
	return true;
}

bool gfx9_write_bytes(struct gfx9_env *env, u64 va, const void *from, u32 bytes)
{
	while (bytes) {
		const u32 part = bytes_in_page(va, bytes);
		u8 *host = gfx9_translate(env, va, GFX9_WRITE);

		if (!host)
			return false;
		copy_words(host, from, part);
		from = (const u8 *)from + part;
		va += part;
		bytes -= part;
	}
	return true;
}

/* ---- scalar memory -------------------------------------------------------------- */

/* The buffer resource in four SGPRs ("Vega" ISA, 8.1.8). */
struct resource {
	u64 base;
	u32 stride;
	u32 records;
	u32 index_stride;
	bool swizzle;
	bool add_lane;
};

static void read_resource(const struct gfx9_wave *wave, u32 number, struct resource *res)
{
	const u32 *word = &wave->s[number];

	res->base = word[0] | (u64)(word[1] & 0xffff) << 32;
	res->stride = word[1] >> 16 & 0x3fff;
	res->swizzle = word[1] >> 31;
	res->records = word[2];
	res->index_stride = 8u << (word[3] >> 21 & 3);
	res->add_lane = word[3] >> 23 & 1;
	/* With ADD_TID_ENABLE, DATA_FORMAT is the stride's high bits. */
	if (res->add_lane)
		res->stride |= (word[3] >> 15 & 15) << 14;
}

static u64 smem_offset(const struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	u64 offset = 0;

	if (inst->flags & GFX9_I_IMM)
		offset = (s64)(s32)inst->imm;
	if (inst->flags & GFX9_I_SOFFSET)
		offset += wave->s[inst->soffset & 127];
	return offset;
}

/* How many dwords a scalar load or store moves; 0: another instruction. */
static u32 smem_dwords(u32 op)
{
	switch (op) {
	case GFX9_s_load_dword:
	case GFX9_s_buffer_load_dword:
	case GFX9_s_store_dword:
	case GFX9_s_buffer_store_dword:
		return 1;
	case GFX9_s_load_dwordx2:
	case GFX9_s_buffer_load_dwordx2:
	case GFX9_s_store_dwordx2:
	case GFX9_s_buffer_store_dwordx2:
		return 2;
	case GFX9_s_load_dwordx4:
	case GFX9_s_buffer_load_dwordx4:
	case GFX9_s_store_dwordx4:
	case GFX9_s_buffer_store_dwordx4:
		return 4;
	case GFX9_s_load_dwordx8:
	case GFX9_s_buffer_load_dwordx8:
		return 8;
	case GFX9_s_load_dwordx16:
	case GFX9_s_buffer_load_dwordx16:
		return 16;
	default:
		return 0;
	}
}

/* The bytes of a scalar buffer access that are within the buffer. */
static u32 smem_clamp(const struct resource *res, u64 offset, u32 bytes)
{
	const u64 size = (u64)res->records * (res->stride ? res->stride : 1);

	if (offset >= size)
		return 0;
	return size - offset < bytes ? (size - offset) & ~3ull : bytes;
}

static int smem_move(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst,
		     u32 dwords)
{
	const bool store = inst->op >= GFX9_s_store_dword;
	const bool buffer = inst->op & 8;
	u32 bytes = dwords * 4, within = bytes;
	u64 offset = smem_offset(wave, inst);
	u64 va = wave->q[inst->saddr / 2];
	struct resource res;

	/* Up to VCC: the registers after it are no program's to load. */
	if (inst->vdst + dwords > GFX9_TTMP0 || (dwords > 1 && inst->vdst & 1))
		return GFX9_X_UNKNOWN;
	if (buffer) {
		if (inst->saddr + 4 > GFX9_SREG_COUNT)
			return GFX9_X_UNKNOWN;
		read_resource(wave, inst->saddr, &res);
		va = res.base;
		offset &= ~3ull;
		within = smem_clamp(&res, offset, bytes);
	}
	va = (va + offset) & ~3ull;
	if (store)
		return gfx9_write_bytes(env, va, &wave->s[inst->vdst], within) ? GFX9_X_OK :
										 GFX9_X_FAULT;
	if (!gfx9_read_bytes(env, va, &wave->s[inst->vdst], within))
		return GFX9_X_FAULT;
	memset((u8 *)&wave->s[inst->vdst] + within, 0, bytes - within);
	return GFX9_X_OK;
}

static int read_clock(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	if (inst->vdst & 1)
		return GFX9_X_UNKNOWN;
	wave->q[inst->vdst / 2] = env->ops->clock(env->ctx, inst->op == GFX9_s_memtime);
	return GFX9_X_OK;
}

int gfx9_exec_smem(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	const u32 dwords = smem_dwords(inst->op);

	if (dwords)
		return smem_move(env, wave, inst, dwords);
	switch (inst->op) {
	case GFX9_s_memtime:
	case GFX9_s_memrealtime:
		return read_clock(env, wave, inst);
	case GFX9_s_dcache_inv: /* there is no such cache here */
	case GFX9_s_dcache_wb:
	case GFX9_s_dcache_inv_vol:
	case GFX9_s_dcache_wb_vol:
		return GFX9_X_OK;
	default:
		return GFX9_X_UNKNOWN;
	}
}

/* ---- what a vector memory instruction moves --------------------------------------- */

static bool load_transfer(u32 op, struct gfx9_transfer *t)
{
	switch (op) {
	case GFX9_load_ubyte:
		*t = (struct gfx9_transfer){ .bytes = 1 };
		return true;
	case GFX9_load_sbyte:
		*t = (struct gfx9_transfer){ .bytes = 1, .sign = true };
		return true;
	case GFX9_load_ushort:
		*t = (struct gfx9_transfer){ .bytes = 2 };
		return true;
	case GFX9_load_sshort:
		*t = (struct gfx9_transfer){ .bytes = 2, .sign = true };
		return true;
	case GFX9_load_dword:
	case GFX9_load_dwordx2:
	case GFX9_load_dwordx3:
	case GFX9_load_dwordx4:
		*t = (struct gfx9_transfer){ .bytes = (op - GFX9_load_dword + 1) * 4 };
		return true;
	case GFX9_load_ubyte_d16:
	case GFX9_load_ubyte_d16_hi:
	case GFX9_load_sbyte_d16:
	case GFX9_load_sbyte_d16_hi:
		*t = (struct gfx9_transfer){ .bytes = 1 };
		break;
	case GFX9_load_short_d16:
	case GFX9_load_short_d16_hi:
		*t = (struct gfx9_transfer){ .bytes = 2 };
		break;
	default:
		return false;
	}
	t->sign = op == GFX9_load_sbyte_d16 || op == GFX9_load_sbyte_d16_hi;
	/* The _hi forms have the odd numbers. */
	t->part = op & 1 ? GFX9_PART_HIGH : GFX9_PART_LOW;
	return true;
}

static bool store_transfer(u32 op, struct gfx9_transfer *t)
{
	switch (op) {
	case GFX9_store_byte:
	case GFX9_store_byte_d16_hi:
		*t = (struct gfx9_transfer){ .bytes = 1 };
		break;
	case GFX9_store_short:
	case GFX9_store_short_d16_hi:
		*t = (struct gfx9_transfer){ .bytes = 2 };
		break;
	case GFX9_store_dword:
	case GFX9_store_dwordx2:
	case GFX9_store_dwordx3:
	case GFX9_store_dwordx4:
		*t = (struct gfx9_transfer){ .bytes = (op - GFX9_store_dword + 1) * 4 };
		return true;
	default:
		return false;
	}
	t->part = op & 1 ? GFX9_PART_HIGH : GFX9_PART_WHOLE;
	return true;
}

/* Atomics are numbered alike, the 64-bit ones 0x20 higher. */
static bool atomic_of(u32 op, u32 *atomic, bool *wide)
{
	*wide = op >= GFX9_atomic_swap_x2;
	op -= *wide ? GFX9_atomic_swap_x2 : GFX9_atomic_swap;
	if (op > GFX9_ATOMIC_DEC)
		return false;
	*atomic = op;
	return true;
}

/* ---- one lane ------------------------------------------------------------------------ */

/* Where a vector memory instruction's lanes point. */
enum space {
	SPACE_GLOBAL,	/* env->address is an address */
	SPACE_SCRATCH,	/* an offset into the lane's scratch */
	SPACE_FLAT,	/* an address in any aperture */
	SPACE_SWIZZLED, /* an offset into a swizzled buffer */
};

struct vmem {
	struct gfx9_env *env;
	struct gfx9_workgroup *wg;
	struct gfx9_wave *wave;
	enum space space;
	struct resource res; /* SPACE_SWIZZLED */
	u32 soffset;
};

/*
 * Scratch is interleaved by dword: dword n of the 64 lanes lie together
 * ("Vega" ISA, 9.3: SCRATCH_BASE + swizzle).
 */
static u64 scratch_address(const struct gfx9_wave *wave, u64 offset, u32 lane)
{
	return wave->q[GFX9_FLAT_SCRATCH / 2] + (offset & ~3ull) * GFX9_LANES + lane * 4 +
	       (offset & 3);
}

/* "Vega" ISA, 8.1.5.3, with elements of 4 bytes. */
static u64 swizzled_address(const struct vmem *m, u32 offset, u32 lane)
{
	const struct resource *res = &m->res;
	const u32 index = res->add_lane ? lane : 0;
	const u64 block = (u64)(index / res->index_stride) * res->stride + (offset & ~3u);

	return res->base + m->soffset + block * res->index_stride + index % res->index_stride * 4 +
	       (offset & 3);
}

static bool in_aperture(u64 address, u64 base)
{
	return base && address >> 32 == base >> 32;
}

/* A piece of at most 4 bytes that does not leave its dword: its place. */
static u8 *locate_piece(const struct vmem *m, u64 address, u32 lane, u32 bytes, u32 access)
{
	struct gfx9_env *env = m->env;

	switch (m->space) {
	case SPACE_SCRATCH:
		return gfx9_translate(env, scratch_address(m->wave, address, lane), access);
	case SPACE_SWIZZLED:
		return gfx9_translate(env, swizzled_address(m, address, lane), access);
	case SPACE_FLAT:
		if (in_aperture(address, env->private_base))
			return gfx9_translate(env, scratch_address(m->wave, (u32)address, lane),
					      access);
		if (in_aperture(address, env->shared_base)) {
			if ((u32)address <= m->wg->shape.lds_bytes - bytes &&
			    m->wg->shape.lds_bytes >= bytes)
				return m->wg->lds + (u32)address;
			env->fault_address = address;
			env->fault_access = access;
			return NULL;
		}
		return gfx9_translate(env, address, access);
	default:
		return gfx9_translate(env, address, access);
	}
}

static bool contiguous(const struct vmem *m, u64 address)
{
	return m->space == SPACE_GLOBAL ||
	       (m->space == SPACE_FLAT && !in_aperture(address, m->env->private_base) &&
		!in_aperture(address, m->env->shared_base));
}

/* In pieces that end with their dword. */
static bool move_pieces(const struct vmem *m, u64 address, u32 lane, u8 *data, u32 bytes,
			u32 access)
{
	while (bytes) {
		const u32 left = 4 - (address & 3);
		const u32 part = bytes < left ? bytes : left;
		u8 *host = locate_piece(m, address, lane, part, access);

		if (!host)
			return false;
		if (access == GFX9_READ)
			copy_words(data, host, part);
		else
			copy_words(host, data, part);
		data += part;
		address += part;
		bytes -= part;
	}
	return true;
}

static bool load_lane(const struct vmem *m, u64 address, u32 lane, u32 *to, u32 bytes)
{
	if (contiguous(m, address))
		return gfx9_read_bytes(m->env, address, to, bytes);
	return move_pieces(m, address, lane, (u8 *)to, bytes, GFX9_READ);
}

static bool store_lane(const struct vmem *m, u64 address, u32 lane, u32 *from, u32 bytes)
{
	if (contiguous(m, address))
		return gfx9_write_bytes(m->env, address, from, bytes);
	return move_pieces(m, address, lane, (u8 *)from, bytes, GFX9_WRITE);
}

/* ---- all lanes ------------------------------------------------------------------------- */

/*
 * When all 64 lanes access dwords one after the other within a page: where;
 * else NULL, or a fault that the slow way will find again.
 */
static u32 *coalesced(const struct vmem *m, u64 exec, u32 access)
{
	const u64 *address = m->env->address;
	const u64 first = address[0];
	u64 differ = first & 3;

	if (exec != ~0ull || !contiguous(m, first))
		return NULL;
	if (bytes_in_page(first, GFX9_LANES * 4) != GFX9_LANES * 4)
		return NULL;
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		differ |= address[lane] ^ (first + lane * 4);
	if (differ)
		return NULL;
	return (u32 *)gfx9_translate(m->env, first, access);
}

static void copy_row(u32 *to, const u32 *from)
{
	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		to[lane] = from[lane];
}

/*
 * One lane's dwords straight from or to the page that the lane before used;
 * NULL: another page, or not aligned, or across its end.
 */
static u32 *in_same_page(const u64 address, u64 page, u8 *host, u32 bytes)
{
	const u32 within = address % GFX9_PAGE_BYTES;

	if (address / GFX9_PAGE_BYTES != page || within % 4 || within + bytes > GFX9_PAGE_BYTES)
		return NULL;
	return (u32 *)(host + within);
}

struct page_hint {
	u64 page;
	u8 *host;
};

/* The dwords' place, looked up again if the last lane was elsewhere. */
static u32 *locate_dwords(const struct vmem *m, struct page_hint *hint, u64 address, u32 bytes,
			  u32 access)
{
	u32 *at = in_same_page(address, hint->page, hint->host, bytes);

	if (at || !contiguous(m, address))
		return at;
	hint->host = gfx9_translate(m->env, address & ~(u64)(GFX9_PAGE_BYTES - 1), access);
	hint->page = hint->host ? address / GFX9_PAGE_BYTES : ~0ull;
	return in_same_page(address, hint->page, hint->host, bytes);
}

static int do_load(const struct vmem *m, const struct gfx9_transfer *t, u32 vdst)
{
	const u64 exec = gfx9_exec(m->wave);
	const u32 dwords = (t->bytes + 3) / 4;
	u32 *row[4];
	struct page_hint hint = { .page = ~0ull };
	const u32 *host;
	u32 data[4];

	for (u32 i = 0; i < dwords; i++)
		row[i] = gfx9_vgpr_write(m->env, m->wave, vdst + i);
	if (t->bytes == 4) {
		host = coalesced(m, exec, GFX9_READ);
		if (host) {
			copy_row(row[0], host);
			return GFX9_X_OK;
		}
	}
	for (u64 left = exec; left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);
		const volatile u32 *at = NULL;

		if (t->bytes >= 4)
			at = locate_dwords(m, &hint, m->env->address[lane], t->bytes, GFX9_READ);
		if (at) {
			for (u32 i = 0; i < dwords; i++)
				row[i][lane] = at[i];
			continue;
		}
		data[0] = 0;
		if (!load_lane(m, m->env->address[lane], lane, data, t->bytes))
			return GFX9_X_FAULT;
		if (t->bytes < 4)
			row[0][lane] = gfx9_loaded(t, data[0], row[0][lane]);
		else
			for (u32 i = 0; i < dwords; i++)
				row[i][lane] = data[i];
	}
	return GFX9_X_OK;
}

static int do_store(const struct vmem *m, const struct gfx9_transfer *t, u32 vdata)
{
	const u64 exec = gfx9_exec(m->wave);
	const u32 dwords = (t->bytes + 3) / 4;
	const u32 *row[4];
	struct page_hint hint = { .page = ~0ull };
	u32 data[4];
	u32 *host;

	for (u32 i = 0; i < dwords; i++)
		row[i] = gfx9_vgpr_read(m->wave, vdata + i);
	if (t->bytes == 4) {
		host = coalesced(m, exec, GFX9_WRITE);
		if (host) {
			copy_row(host, row[0]);
			return GFX9_X_OK;
		}
	}
	for (u64 left = exec; left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);
		volatile u32 *at = NULL;

		if (t->bytes >= 4)
			at = locate_dwords(m, &hint, m->env->address[lane], t->bytes, GFX9_WRITE);
		if (at) {
			for (u32 i = 0; i < dwords; i++)
				at[i] = row[i][lane];
			continue;
		}
		for (u32 i = 0; i < dwords; i++)
			data[i] = row[i][lane];
		if (t->part == GFX9_PART_HIGH)
			data[0] >>= 16;
		if (!store_lane(m, m->env->address[lane], lane, data, t->bytes))
			return GFX9_X_FAULT;
	}
	return GFX9_X_OK;
}

static bool atomic_lane(const struct vmem *m, u32 atomic, bool wide, u32 lane, const u32 data[4],
			u32 old[2])
{
	const u64 address = m->env->address[lane];
	const u32 bytes = wide ? 8 : 4;
	u8 *host = NULL;
	u64 wide_old;

	/* Scratch lies in dwords: there is no atomic of two. */
	if (!(address & (bytes - 1)) &&
	    (!wide || contiguous(m, address) || in_aperture(address, m->env->shared_base)))
		host = locate_piece(m, address, lane, bytes, GFX9_READ | GFX9_WRITE);
	if (!host) {
		m->env->fault_address = address;
		m->env->fault_access = GFX9_READ | GFX9_WRITE;
		return false;
	}
	if (!wide) {
		old[0] = gfx9_atomic32((u32 *)host, atomic, data[0], data[1]);
		return true;
	}
	wide_old = gfx9_atomic64((u64 *)host, atomic, data[0] | (u64)data[1] << 32,
				 data[2] | (u64)data[3] << 32);
	old[0] = wide_old;
	old[1] = wide_old >> 32;
	return true;
}

static int do_atomic(const struct vmem *m, const struct gfx9_inst *inst, u32 vdata, u32 vdst)
{
	const bool returns = inst->flags & GFX9_I_GLC;
	u32 atomic, rows, old[2] = { 0 }, data[4] = { 0 };
	u32 *to[2];
	bool wide;

	if (!atomic_of(inst->op, &atomic, &wide))
		return GFX9_X_UNKNOWN;
	rows = (wide ? 2 : 1) * (atomic == GFX9_ATOMIC_CMPSWAP ? 2 : 1);
	to[0] = gfx9_vgpr_write(m->env, m->wave, vdst);
	to[1] = gfx9_vgpr_write(m->env, m->wave, vdst + 1);
	for (u64 left = gfx9_exec(m->wave); left; left &= left - 1) {
		const u32 lane = __builtin_ctzll(left);

		for (u32 i = 0; i < rows; i++)
			data[i] = gfx9_vgpr_read(m->wave, vdata + i)[lane];
		if (!atomic_lane(m, atomic, wide, lane, data, old))
			return GFX9_X_FAULT;
		if (!returns)
			continue;
		to[0][lane] = old[0];
		if (wide)
			to[1][lane] = old[1];
	}
	return GFX9_X_OK;
}

static int do_vmem(const struct vmem *m, const struct gfx9_inst *inst, u32 vdata, u32 vdst)
{
	struct gfx9_transfer t;

	if (inst->flags & GFX9_I_LDS)
		return GFX9_X_UNKNOWN;
	if (load_transfer(inst->op, &t))
		return do_load(m, &t, vdst);
	if (store_transfer(inst->op, &t))
		return do_store(m, &t, vdata);
	if (inst->op < GFX9_atomic_swap)
		return GFX9_X_UNKNOWN;
	return do_atomic(m, inst, vdata, vdst);
}

/* ---- flat, global, scratch ----------------------------------------------------------- */

static void addresses64(struct gfx9_env *env, struct gfx9_wave *wave, u32 vaddr, u64 add)
{
	const u32 *low = gfx9_vgpr_read(wave, vaddr);
	const u32 *high = gfx9_vgpr_read(wave, vaddr + 1);

	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		env->address[lane] = (low[lane] | (u64)high[lane] << 32) + add;
}

static void addresses32(struct gfx9_env *env, struct gfx9_wave *wave, u32 vaddr, u64 add)
{
	const u32 *low = gfx9_vgpr_read(wave, vaddr);

	for (u32 lane = 0; lane < GFX9_LANES; lane++)
		env->address[lane] = low[lane] + add;
}

/* Scratch takes its address from a VGPR or from an SGPR. */
static void scratch_offsets(struct gfx9_env *env, struct gfx9_wave *wave,
			    const struct gfx9_inst *inst)
{
	const u32 *low = gfx9_vgpr_read(wave, inst->src[0]);

	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		u32 offset = inst->saddr == GFX9_SADDR_OFF ? low[lane] : wave->s[inst->saddr];

		env->address[lane] = (u32)(offset + inst->imm);
	}
}

int gfx9_exec_flat(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		   const struct gfx9_inst *inst)
{
	struct vmem m = { .env = env, .wg = wg, .wave = wave };
	const u64 imm = (s64)(s32)inst->imm;

	switch (inst->segment) {
	case GFX9_SEGMENT_FLAT:
		m.space = SPACE_FLAT;
		addresses64(env, wave, inst->src[0], imm);
		break;
	case GFX9_SEGMENT_GLOBAL:
		m.space = SPACE_GLOBAL;
		if (inst->saddr == GFX9_SADDR_OFF)
			addresses64(env, wave, inst->src[0], imm);
		else if (inst->saddr & 1)
			return GFX9_X_UNKNOWN;
		else
			addresses32(env, wave, inst->src[0], wave->q[inst->saddr / 2] + imm);
		break;
	default:
		m.space = SPACE_SCRATCH;
		scratch_offsets(env, wave, inst);
		break;
	}
	return do_vmem(&m, inst, inst->src[1], inst->vdst);
}

/* ---- buffers --------------------------------------------------------------------------- */

/*
 * Lanes whose access is outside the buffer do nothing and load zero. The mask
 * of those inside ("Vega" ISA, 8.1.5.4).
 */
static u64 buffer_addresses(struct vmem *m, const struct gfx9_inst *inst, u32 bytes)
{
	struct gfx9_wave *wave = m->wave;
	const struct resource *res = &m->res;
	const u32 *index_row = gfx9_vgpr_read(wave, inst->src[0]);
	const u32 *offset_row = index_row;
	u64 inside = 0;

	if (inst->flags & GFX9_I_IDXEN)
		offset_row = gfx9_vgpr_read(wave, inst->src[0] + 1);
	for (u32 lane = 0; lane < GFX9_LANES; lane++) {
		u32 index = inst->flags & GFX9_I_IDXEN ? index_row[lane] : 0;
		u32 offset = inst->imm;
		bool fits;

		if (inst->flags & GFX9_I_OFFEN)
			offset += offset_row[lane];
		if (res->swizzle) {
			m->env->address[lane] = offset;
			fits = offset < res->records;
		} else {
			if (res->add_lane)
				index += lane;
			m->env->address[lane] =
				res->base + m->soffset + offset + (u64)res->stride * index;
			fits = res->stride ? index < res->records :
					     (u64)offset + bytes <= res->records;
		}
		inside |= (u64)fits << lane;
	}
	return inside;
}

static u32 access_bytes(const struct gfx9_inst *inst)
{
	struct gfx9_transfer t;

	if (load_transfer(inst->op, &t) || store_transfer(inst->op, &t))
		return t.bytes;
	return inst->op >= GFX9_atomic_swap_x2 ? 8 : 4;
}

static void clear_outside(struct gfx9_env *env, struct gfx9_wave *wave,
			  const struct gfx9_inst *inst, u64 outside)
{
	struct gfx9_transfer t;
	const bool loads = load_transfer(inst->op, &t);

	if (!loads && !(inst->flags & GFX9_I_GLC))
		return;
	if (!loads && inst->op < GFX9_atomic_swap)
		return;
	for (u64 left = outside; left; left &= left - 1)
		for (u32 i = 0; i < (access_bytes(inst) + 3) / 4; i++)
			gfx9_vgpr_write(env, wave, inst->vdst + i)[__builtin_ctzll(left)] = 0;
}

int gfx9_exec_mubuf(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst)
{
	struct vmem m = { .env = env, .wave = wave };
	const u64 exec = gfx9_exec(wave);
	u64 inside;
	int outcome;

	if (inst->op == GFX9_buffer_wbinvl1 || inst->op == GFX9_buffer_wbinvl1_vol)
		return GFX9_X_OK;
	if (inst->saddr + 4 > GFX9_SREG_COUNT ||
	    !gfx9_scalar32(env, wave, inst, inst->soffset, &m.soffset))
		return GFX9_X_UNKNOWN;
	read_resource(wave, inst->saddr, &m.res);
	m.space = m.res.swizzle ? SPACE_SWIZZLED : SPACE_GLOBAL;
	/* An index into a swizzled buffer: only graphics has those. */
	if (m.res.swizzle && inst->flags & GFX9_I_IDXEN)
		return GFX9_X_UNKNOWN;
	inside = buffer_addresses(&m, inst, access_bytes(inst));
	wave->q[GFX9_EXEC / 2] = exec & inside;
	outcome = do_vmem(&m, inst, inst->vdst, inst->vdst);
	wave->q[GFX9_EXEC / 2] = exec;
	if (outcome == GFX9_X_OK && exec & ~inside)
		clear_outside(env, wave, inst, exec & ~inside);
	return outcome;
}
