// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Encodings to struct gfx9_inst: "Vega" ISA reference, chapter 13. */
#include "gfx9.h"
#include "gfx9_inst.h"

#define BITS(word, high, low) (((word) >> (low)) & ((2u << ((high) - (low))) - 1))

#define NAME(op, name) [op] = #name,
static const char *const sop2_names[128] = { GFX9_SOP2_OPS(NAME) };
static const char *const sopk_names[32] = { GFX9_SOPK_OPS(NAME) };
static const char *const sop1_names[256] = { GFX9_SOP1_OPS(NAME) };
static const char *const sopc_names[128] = { GFX9_SOPC_OPS(NAME) };
static const char *const sopp_names[128] = { GFX9_SOPP_OPS(NAME) };
static const char *const smem_names[256] = { GFX9_SMEM_OPS(NAME) };
static const char *const ds_names[256] = { GFX9_DS_OPS(NAME) };
static const char *const vop3p_names[128] = { GFX9_VOP3P_OPS(NAME) };
#undef NAME
#define NAME(op, name) [op] = "flat_" #name,
static const char *const flat_names[128] = { GFX9_VMEM_OPS(NAME) };
#undef NAME
#define NAME(op, name) [op] = "global_" #name,
static const char *const global_names[128] = { GFX9_VMEM_OPS(NAME) };
#undef NAME
#define NAME(op, name) [op] = "scratch_" #name,
static const char *const scratch_names[128] = { GFX9_VMEM_OPS(NAME) };
#undef NAME
#define NAME(op, name) [op] = "buffer_" #name,
static const char *const mubuf_names[128] = { GFX9_VMEM_OPS(NAME) GFX9_MUBUF_OPS(NAME) };
#undef NAME

#define INFO(op, mnemonic, count, to, from, bits) \
	[op] = { .name = #mnemonic,               \
		 .sources = (count),              \
		 .result = GFX9_TYPE_##to,        \
		 .source = GFX9_TYPE_##from,      \
		 .flags = (bits) },
static const struct gfx9_valu_info valu_info[GFX9_VALU_COUNT] = { GFX9_VALU_OPS(INFO) };
#undef INFO

const struct gfx9_valu_info *gfx9_valu_info(u32 op)
{
	return &valu_info[op & (GFX9_VALU_COUNT - 1)];
}

static const char *flat_name(const struct gfx9_inst *inst)
{
	switch (inst->segment) {
	case GFX9_SEGMENT_FLAT:
		return flat_names[inst->op & 127];
	case GFX9_SEGMENT_GLOBAL:
		return global_names[inst->op & 127];
	case GFX9_SEGMENT_SCRATCH:
		/* There are no atomics on scratch. */
		if (inst->op < GFX9_atomic_swap)
			return scratch_names[inst->op & 127];
		return NULL;
	default:
		return NULL;
	}
}

const char *gfx9_inst_name(const struct gfx9_inst *inst)
{
	switch (inst->format) {
	case GFX9_FORMAT_SOP2:
		return sop2_names[inst->op & 127];
	case GFX9_FORMAT_SOPK:
		return sopk_names[inst->op & 31];
	case GFX9_FORMAT_SOP1:
		return sop1_names[inst->op & 255];
	case GFX9_FORMAT_SOPC:
		return sopc_names[inst->op & 127];
	case GFX9_FORMAT_SOPP:
		return sopp_names[inst->op & 127];
	case GFX9_FORMAT_SMEM:
		return smem_names[inst->op & 255];
	case GFX9_FORMAT_DS:
		return ds_names[inst->op & 255];
	case GFX9_FORMAT_VOP3P:
		return vop3p_names[inst->op & 127];
	case GFX9_FORMAT_MUBUF:
		return mubuf_names[inst->op & 127];
	case GFX9_FORMAT_VALU:
		return gfx9_valu_info(inst->op)->name;
	case GFX9_FORMAT_FLAT:
		return flat_name(inst);
	default:
		return NULL;
	}
}

static u32 sign_extend(u32 value, u32 bits)
{
	const u32 sign = 1u << (bits - 1);

	return (value ^ sign) - sign;
}

/* ---- scalar ----------------------------------------------------------------- */

static void take_literal(struct gfx9_inst *inst, u32 second)
{
	inst->imm = second;
	inst->size = 8;
}

static void decode_sop2(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_SOP2;
	inst->op = BITS(first, 29, 23);
	inst->vdst = BITS(first, 22, 16);
	inst->src[1] = BITS(first, 15, 8);
	inst->src[0] = BITS(first, 7, 0);
	if (inst->src[0] == GFX9_SRC_LITERAL || inst->src[1] == GFX9_SRC_LITERAL)
		take_literal(inst, second);
}

static void decode_sopk(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_SOPK;
	inst->op = BITS(first, 27, 23);
	inst->vdst = BITS(first, 22, 16);
	inst->src[0] = BITS(first, 15, 0);
	if (inst->op == GFX9_s_setreg_imm32_b32)
		take_literal(inst, second);
}

static void decode_sop1(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_SOP1;
	inst->op = BITS(first, 15, 8);
	inst->vdst = BITS(first, 22, 16);
	inst->src[0] = BITS(first, 7, 0);
	if (inst->src[0] == GFX9_SRC_LITERAL)
		take_literal(inst, second);
}

static void decode_sopc(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_SOPC;
	inst->op = BITS(first, 22, 16);
	inst->src[1] = BITS(first, 15, 8);
	inst->src[0] = BITS(first, 7, 0);
	/* s_set_gpr_idx_on's second source is an immediate. */
	if (inst->src[0] == GFX9_SRC_LITERAL ||
	    (inst->src[1] == GFX9_SRC_LITERAL && inst->op != GFX9_s_set_gpr_idx_on))
		take_literal(inst, second);
}

static void decode_sopp(struct gfx9_inst *inst, u32 first)
{
	inst->format = GFX9_FORMAT_SOPP;
	inst->op = BITS(first, 22, 16);
	inst->imm = BITS(first, 15, 0);
}

static void decode_smem(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_SMEM;
	inst->size = 8;
	inst->op = BITS(first, 25, 18);
	inst->saddr = BITS(first, 5, 0) * 2;
	inst->vdst = BITS(first, 12, 6);
	if (first & 1u << 16)
		inst->flags |= GFX9_I_GLC;
	if (first & 1u << 17) {
		inst->flags |= GFX9_I_IMM;
		inst->imm = sign_extend(BITS(second, 20, 0), 21);
		if (first & 1u << 14)
			inst->flags |= GFX9_I_SOFFSET;
		inst->soffset = BITS(second, 31, 25);
	} else {
		inst->flags |= GFX9_I_SOFFSET;
		inst->soffset = BITS(second, 6, 0);
	}
}

/* ---- vector ALU -------------------------------------------------------------- */

static void decode_sdwa(struct gfx9_inst *inst, u32 second, bool compare)
{
	inst->flags |= GFX9_I_SDWA;
	inst->size = 8;
	inst->src[0] = BITS(second, 7, 0) + (second & 1u << 23 ? 0 : GFX9_SRC_VGPR);
	/* The second source is in the first dword: a VGPR unless S1 is set. */
	if (second & 1u << 31)
		inst->src[1] -= GFX9_SRC_VGPR;
	inst->sdwa_sel[0] = BITS(second, 18, 16);
	inst->sdwa_sel[1] = BITS(second, 26, 24);
	inst->sdwa_sext = BITS(second, 19, 19) | BITS(second, 27, 27) << 1;
	inst->neg = BITS(second, 20, 20) | BITS(second, 28, 28) << 1;
	inst->abs = BITS(second, 21, 21) | BITS(second, 29, 29) << 1;
	if (compare) {
		if (second & 1u << 15)
			inst->sdst = BITS(second, 14, 8);
		return;
	}
	inst->sdwa_dst_sel = BITS(second, 10, 8);
	inst->sdwa_dst_unused = BITS(second, 12, 11);
	inst->omod = BITS(second, 15, 14);
	if (second & 1u << 13)
		inst->flags |= GFX9_I_CLAMP;
}

static void decode_dpp(struct gfx9_inst *inst, u32 second)
{
	inst->flags |= GFX9_I_DPP;
	inst->size = 8;
	inst->src[0] = BITS(second, 7, 0) + GFX9_SRC_VGPR;
	inst->dpp_ctrl = BITS(second, 16, 8);
	inst->bound_ctrl = BITS(second, 19, 19);
	inst->neg = BITS(second, 20, 20) | BITS(second, 22, 22) << 1;
	inst->abs = BITS(second, 21, 21) | BITS(second, 23, 23) << 1;
	inst->dpp_masks = BITS(second, 31, 24);
}

static void decode_vop_tail(struct gfx9_inst *inst, u32 second, bool compare)
{
	const struct gfx9_valu_info *info = gfx9_valu_info(inst->op);

	inst->format = GFX9_FORMAT_VALU;
	if (info->flags & GFX9_A_K) {
		take_literal(inst, second);
		return;
	}
	if (inst->src[0] == GFX9_SRC_SDWA)
		decode_sdwa(inst, second, compare);
	else if (inst->src[0] == GFX9_SRC_DPP)
		decode_dpp(inst, second);
	else if (inst->src[0] == GFX9_SRC_LITERAL)
		take_literal(inst, second);
}

#define VCC_NUMBER 106

static void decode_vop2(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->op = GFX9_v_cndmask_b32 + BITS(first, 30, 25);
	inst->vdst = BITS(first, 24, 17);
	inst->src[1] = BITS(first, 16, 9) + GFX9_SRC_VGPR;
	inst->src[0] = BITS(first, 8, 0);
	inst->src[2] = VCC_NUMBER;
	inst->sdst = VCC_NUMBER;
	decode_vop_tail(inst, second, false);
}

static void decode_vop1(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->op = GFX9_v_nop + BITS(first, 16, 9);
	inst->vdst = BITS(first, 24, 17);
	inst->src[0] = BITS(first, 8, 0);
	/* VOP3 has room for 128 of them. */
	if (BITS(first, 16, 9) > 0x7f) {
		inst->format = GFX9_FORMAT_UNKNOWN;
		return;
	}
	decode_vop_tail(inst, second, false);
}

static void decode_vopc(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->op = BITS(first, 24, 17);
	inst->src[1] = BITS(first, 16, 9) + GFX9_SRC_VGPR;
	inst->src[0] = BITS(first, 8, 0);
	inst->sdst = VCC_NUMBER;
	decode_vop_tail(inst, second, true);
}

static void decode_vop3_sources(struct gfx9_inst *inst, u32 second)
{
	inst->size = 8;
	inst->src[0] = BITS(second, 8, 0);
	inst->src[1] = BITS(second, 17, 9);
	inst->src[2] = BITS(second, 26, 18);
	inst->neg = BITS(second, 31, 29);
}

static void decode_vop3p(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_VOP3P;
	inst->op = BITS(first, 22, 16);
	inst->vdst = BITS(first, 7, 0);
	inst->neg_hi = BITS(first, 10, 8);
	inst->opsel = BITS(first, 13, 11);
	inst->opsel_hi = BITS(second, 28, 27) | BITS(first, 14, 14) << 2;
	if (first & 1u << 15)
		inst->flags |= GFX9_I_CLAMP;
	decode_vop3_sources(inst, second);
}

static void decode_vop3(struct gfx9_inst *inst, u32 first, u32 second)
{
	const struct gfx9_valu_info *info;

	inst->format = GFX9_FORMAT_VALU;
	inst->op = BITS(first, 25, 16);
	info = gfx9_valu_info(inst->op);
	inst->flags |= GFX9_I_VOP3;
	inst->vdst = BITS(first, 7, 0);
	if (first & 1u << 15)
		inst->flags |= GFX9_I_CLAMP;
	decode_vop3_sources(inst, second);
	inst->omod = BITS(second, 28, 27);
	if (info->result == GFX9_TYPE_MASK) {
		inst->sdst = inst->vdst;
		inst->abs = BITS(first, 10, 8);
	} else if (info->flags & GFX9_A_CARRY_OUT) {
		inst->sdst = BITS(first, 14, 8);
	} else {
		inst->abs = BITS(first, 10, 8);
		inst->opsel = BITS(first, 14, 11);
	}
	/* VOP3 has no instructions with a literal, or a scalar or second result. */
	if (info->flags & GFX9_A_K || inst->op == GFX9_v_readfirstlane_b32 ||
	    inst->op == GFX9_v_swap_b32)
		inst->format = GFX9_FORMAT_UNKNOWN;
}

/* Numbers that name no source: SDWA and DPP elsewhere than in VOP1 to VOPC, LDS. */
static bool is_source(const struct gfx9_inst *inst, u32 number)
{
	if (number == GFX9_SRC_LITERAL)
		return !(inst->flags & (GFX9_I_VOP3 | GFX9_I_SDWA));
	return number <= GFX9_SRC_INT_MIN || number >= GFX9_SRC_VGPR ||
	       (number >= GFX9_SRC_SHARED_BASE && number <= GFX9_SRC_PRIVATE_LIMIT) ||
	       (number >= GFX9_SRC_HALF && number <= GFX9_SRC_INV_2PI) ||
	       (number >= GFX9_SRC_VCCZ && number <= GFX9_SRC_SCC);
}

static bool valu_sources_exist(const struct gfx9_inst *inst)
{
	const u32 count = gfx9_valu_info(inst->op)->sources;

	for (u32 i = 0; i < count; i++)
		if (!is_source(inst, inst->src[i]))
			return false;
	return true;
}

static bool valu_is_plain(const struct gfx9_inst *inst)
{
	return !(inst->flags & (GFX9_I_SDWA | GFX9_I_DPP | GFX9_I_CLAMP)) && !inst->neg &&
	       !inst->abs && !inst->omod && !inst->opsel;
}

static bool type_is_32(u32 type)
{
	return type <= GFX9_TYPE_F32;
}

/* The most frequent instructions: no carry, only their own lane, no literal of their own. */
static bool valu_is_simple(const struct gfx9_inst *inst)
{
	const struct gfx9_valu_info *info = gfx9_valu_info(inst->op);

	return valu_is_plain(inst) && info->sources && type_is_32(info->source) &&
	       type_is_32(info->result) && !(info->flags & ~(u32)GFX9_A_ACC) &&
	       inst->op != GFX9_v_writelane_b32 && inst->op != GFX9_v_swap_b32 &&
	       inst->op != GFX9_v_div_fmas_f32;
}

static bool valu_is_float(const struct gfx9_inst *inst)
{
	const struct gfx9_valu_info *info = gfx9_valu_info(inst->op);

	/* Its sources are called floats for their sign modifiers. */
	if (inst->op == GFX9_v_cndmask_b32)
		return false;
	return info->source == GFX9_TYPE_F32 || info->source == GFX9_TYPE_F16 ||
	       info->source == GFX9_TYPE_F64 || info->result == GFX9_TYPE_F32 ||
	       info->result == GFX9_TYPE_F16 || info->result == GFX9_TYPE_F64;
}

static void note_valu(struct gfx9_inst *inst)
{
	const struct gfx9_valu_info *info = gfx9_valu_info(inst->op);

	inst->sources = info->sources;
	inst->accumulates = info->flags & GFX9_A_ACC;
	if (valu_is_float(inst))
		inst->flags |= GFX9_I_FLOAT;
	if (valu_is_plain(inst))
		inst->flags |= GFX9_I_PLAIN;
	if (valu_is_simple(inst))
		inst->flags |= GFX9_I_SIMPLE;
}

/* ---- memory ------------------------------------------------------------------- */

static void decode_ds(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_DS;
	inst->size = 8;
	inst->op = BITS(first, 24, 17);
	inst->imm = BITS(first, 15, 0);
	if (first & 1u << 16)
		inst->flags |= GFX9_I_GDS;
	inst->src[0] = BITS(second, 7, 0);
	inst->src[1] = BITS(second, 15, 8);
	inst->src[2] = BITS(second, 23, 16);
	inst->vdst = BITS(second, 31, 24);
}

static void decode_flat(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_FLAT;
	inst->size = 8;
	inst->op = BITS(first, 24, 18);
	inst->segment = BITS(first, 15, 14);
	/* A flat access can be of LDS or scratch: its offset is unsigned. */
	if (inst->segment == GFX9_SEGMENT_FLAT)
		inst->imm = BITS(first, 11, 0);
	else
		inst->imm = sign_extend(BITS(first, 12, 0), 13);
	if (first & 1u << 13)
		inst->flags |= GFX9_I_LDS;
	if (first & 1u << 16)
		inst->flags |= GFX9_I_GLC;
	inst->src[0] = BITS(second, 7, 0);
	inst->src[1] = BITS(second, 15, 8);
	inst->saddr = BITS(second, 22, 16);
	inst->vdst = BITS(second, 31, 24);
}

static void decode_mubuf(struct gfx9_inst *inst, u32 first, u32 second)
{
	inst->format = GFX9_FORMAT_MUBUF;
	inst->size = 8;
	inst->op = BITS(first, 24, 18);
	inst->imm = BITS(first, 11, 0);
	if (first & 1u << 12)
		inst->flags |= GFX9_I_OFFEN;
	if (first & 1u << 13)
		inst->flags |= GFX9_I_IDXEN;
	if (first & 1u << 14)
		inst->flags |= GFX9_I_GLC;
	if (first & 1u << 16)
		inst->flags |= GFX9_I_LDS;
	inst->src[0] = BITS(second, 7, 0);
	inst->vdst = BITS(second, 15, 8);
	inst->saddr = BITS(second, 20, 16) * 4;
	inst->soffset = BITS(second, 31, 24);
}

/* ---- the whole ------------------------------------------------------------------ */

/*
 * Trap temporaries belong to the trap handler, and 125 is no register. Instructions that write
 * them are refused, so a save needs not hold them.
 */
static bool is_protected(u32 number)
{
	return (number >= GFX9_TTMP0 && number < GFX9_M0) || number == GFX9_M0 + 1;
}

static bool writes_protected(const struct gfx9_inst *inst)
{
	const struct gfx9_valu_info *info;

	switch (inst->format) {
	case GFX9_FORMAT_SOP2:
	case GFX9_FORMAT_SOP1:
	case GFX9_FORMAT_SOPK:
		return is_protected(inst->vdst);
	case GFX9_FORMAT_SMEM:
		/* Sixteen registers at most, the last of which may be VCC. */
		return inst->vdst >= GFX9_TTMP0;
	case GFX9_FORMAT_VALU:
		info = gfx9_valu_info(inst->op);
		if (info->flags & GFX9_A_SDST)
			return is_protected(inst->vdst);
		if (info->result == GFX9_TYPE_MASK || info->flags & GFX9_A_CARRY_OUT)
			return is_protected(inst->sdst) || inst->sdst == GFX9_M0;
		return false;
	default:
		return false;
	}
}

static void decode_vector(struct gfx9_inst *inst, u32 first, u32 second)
{
	if (BITS(first, 30, 25) == 0x3f)
		decode_vop1(inst, first, second);
	else if (BITS(first, 30, 25) == 0x3e)
		decode_vopc(inst, first, second);
	else
		decode_vop2(inst, first, second);
}

static void decode_scalar(struct gfx9_inst *inst, u32 first, u32 second)
{
	if (BITS(first, 29, 23) == 0x7d)
		decode_sop1(inst, first, second);
	else if (BITS(first, 29, 23) == 0x7e)
		decode_sopc(inst, first, second);
	else if (BITS(first, 29, 23) == 0x7f)
		decode_sopp(inst, first);
	else if (BITS(first, 29, 28) == 3)
		decode_sopk(inst, first, second);
	else
		decode_sop2(inst, first, second);
}

static void decode_long(struct gfx9_inst *inst, u32 first, u32 second)
{
	switch (first >> 26) {
	case 0x30:
		decode_smem(inst, first, second);
		break;
	case 0x34:
		if (BITS(first, 25, 23) == 7)
			decode_vop3p(inst, first, second);
		else
			decode_vop3(inst, first, second);
		break;
	case 0x36:
		decode_ds(inst, first, second);
		break;
	case 0x37:
		decode_flat(inst, first, second);
		break;
	case 0x38:
		decode_mubuf(inst, first, second);
		break;
	default:
		/* Interpolation, exports, images, typed buffers. */
		inst->format = GFX9_FORMAT_UNKNOWN;
		break;
	}
}

bool gfx9_needs_second_dword(u32 first)
{
	struct gfx9_inst inst;

	gfx9_decode(&inst, first, 0);
	return inst.size == 8;
}

void gfx9_decode(struct gfx9_inst *inst, u32 first, u32 second)
{
	memset(inst, 0, sizeof(*inst));
	inst->size = 4;
	if (!(first >> 31))
		decode_vector(inst, first, second);
	else if (first >> 30 == 2)
		decode_scalar(inst, first, second);
	else
		decode_long(inst, first, second);
	inst->raw[0] = first;
	inst->raw[1] = inst->size == 8 ? second : 0;
	if (!gfx9_inst_name(inst) || writes_protected(inst))
		inst->format = GFX9_FORMAT_UNKNOWN;
	if (inst->format != GFX9_FORMAT_VALU)
		return;
	if (!valu_sources_exist(inst))
		inst->format = GFX9_FORMAT_UNKNOWN;
	else
		note_valu(inst);
}

const char *gfx9_mnemonic(const u32 encoding[2], u32 *size_dwords)
{
	struct gfx9_inst inst;

	gfx9_decode(&inst, encoding[0], encoding[1]);
	*size_dwords = inst.size / 4;
	return gfx9_inst_name(&inst);
}
