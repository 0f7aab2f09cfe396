/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* gfx9_internal.h - shared by the interpreter's files. */
#ifndef GFX9_INTERNAL_H
#define GFX9_INTERNAL_H

#include "gfx9.h"
#include "gfx9_inst.h"

#define GFX9_PAGE_BYTES 4096u
#define GFX9_TLB_ENTRIES 64u
#define GFX9_ICACHE_ENTRIES 4096u
#define GFX9_CONSTANT_ROWS 32u

/* The result of an instruction. */
enum gfx9_outcome {
	GFX9_X_OK,
	GFX9_X_END,
	GFX9_X_BARRIER,
	GFX9_X_SLEEP,
	GFX9_X_HALT,
	GFX9_X_FAULT, /* env->fault_address, env->fault_access */
	GFX9_X_UNKNOWN,
	GFX9_X_TRAP, /* env->trap_id */
};

struct gfx9_tlb_entry {
	u64 page; /* address / GFX9_PAGE_BYTES, or all ones */
	u8 *host;
	u32 access;
};

typedef u32 gfx9_row[GFX9_LANES];

/*
 * Rows for values without a VGPR: constants, values with modifiers, results before they are
 * written to the active lanes.
 */
enum gfx9_scratch_row {
	GFX9_ROW_SRC0, /* and the high half of 64 bits */
	GFX9_ROW_SRC1 = 2,
	GFX9_ROW_SRC2 = 4,
	GFX9_ROW_RESULT = 6,
	GFX9_ROW_TEMP = 8,
	GFX9_ROW_NOWHERE = 10, /* a destination that does not exist */
	GFX9_ROW_COUNT = 12,
};

struct gfx9_env {
	const struct gfx9_ops *ops;
	void *ctx;
	u64 shared_base;
	u64 private_base;

	/* of the last outcome */
	u64 fault_address;
	u32 fault_access;
	u32 trap_id;
	u32 sleep_cycles;

	u64 code_page;
	const u8 *code_host;
	struct gfx9_tlb_entry tlb[GFX9_TLB_ENTRIES];
	gfx9_row rows[GFX9_ROW_COUNT] __attribute__((aligned(64)));
	u64 address[GFX9_LANES];
	/* The same value in all lanes, by its hash; never written but to refill. */
	gfx9_row constant_row[GFX9_CONSTANT_ROWS] __attribute__((aligned(64)));
	bool keeps_code;
	u64 stale_pc;
	u64 icache_tag[GFX9_ICACHE_ENTRIES]; /* with keeps_code: the address + 1 */
	struct gfx9_inst icache[GFX9_ICACHE_ENTRIES];
};

#define GFX9_MODE_ROUND_32(mode) ((mode)&3)
#define GFX9_MODE_ROUND_64(mode) ((mode) >> 2 & 3)
#define GFX9_MODE_DENORM_32(mode) ((mode) >> 4 & 3)
#define GFX9_MODE_DENORM_64(mode) ((mode) >> 6 & 3)
#define GFX9_MODE_DX10_CLAMP (1u << 8)
#define GFX9_MODE_IEEE (1u << 9)
#define GFX9_MODE_GPR_IDX_EN (1u << 27)
#define GFX9_MODE_VSKIP (1u << 28)

static inline u64 gfx9_exec(const struct gfx9_wave *wave)
{
	return wave->q[GFX9_EXEC / 2];
}

static inline u64 gfx9_vcc(const struct gfx9_wave *wave)
{
	return wave->q[GFX9_VCC / 2];
}

/* ---- memory (gfx9_mem.c) ---------------------------------------------------- */

u8 *gfx9_translate(struct gfx9_env *env, u64 va, u32 access);
void gfx9_tlb_drop(struct gfx9_env *env);
/* Access by gfx9_translate(), page by page. False: a fault. */
bool gfx9_read_bytes(struct gfx9_env *env, u64 va, void *to, u32 bytes);
bool gfx9_write_bytes(struct gfx9_env *env, u64 va, const void *from, u32 bytes);

/* ---- operands (gfx9_operand.c) ------------------------------------------------ */

/* Scalar sources as 32 and 64 bits; @number is one that a scalar field can hold. */
bool gfx9_scalar32(const struct gfx9_env *env, const struct gfx9_wave *wave,
		   const struct gfx9_inst *inst, u32 number, u32 *value);
bool gfx9_scalar64(const struct gfx9_env *env, const struct gfx9_wave *wave,
		   const struct gfx9_inst *inst, u32 number, u64 *value);

/* VGPR rows; numbers beyond the allocation read v0 and write nowhere. */
static inline u32 *gfx9_vgpr_read(struct gfx9_wave *wave, u32 number)
{
	return wave->vgpr[number < wave->vgpr_count ? number : 0];
}

static inline u32 *gfx9_vgpr_write(struct gfx9_env *env, struct gfx9_wave *wave, u32 number)
{
	if (number < wave->vgpr_count)
		return wave->vgpr[number];
	return env->rows[GFX9_ROW_NOWHERE];
}

/* ---- execution: each of a format ------------------------------------------------ */

int gfx9_exec_salu(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		   const struct gfx9_inst *inst);
int gfx9_exec_smem(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst);
int gfx9_exec_valu(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst);
int gfx9_exec_vop3p(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst);
int gfx9_exec_ds(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		 const struct gfx9_inst *inst);
int gfx9_exec_flat(struct gfx9_env *env, struct gfx9_workgroup *wg, struct gfx9_wave *wave,
		   const struct gfx9_inst *inst);
int gfx9_exec_mubuf(struct gfx9_env *env, struct gfx9_wave *wave, const struct gfx9_inst *inst);

/* Where rows and LDS lie in a workgroup's memory (gfx9_dispatch.c). */
void gfx9_workgroup_lay_out(struct gfx9_workgroup *wg, const struct gfx9_shape *shape);

/* The FPU for the kernel's own use; gfx9_fpu.c, user space needs nothing. */
void gfx9_fpu_begin(void);
void gfx9_fpu_end(void);

#endif
