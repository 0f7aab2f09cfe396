/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * gfx9_inst.h - an instruction as its parts. Field positions are those of the
 * "Vega" ISA reference, chapter 13 (Microcode Formats).
 */
#ifndef GFX9_INST_H
#define GFX9_INST_H

#include "gfx9_opcodes.h"
#include "gfx9_platform.h"

enum gfx9_format {
	GFX9_FORMAT_NONE, /* not decoded */
	GFX9_FORMAT_SOP2,
	GFX9_FORMAT_SOPK,
	GFX9_FORMAT_SOP1,
	GFX9_FORMAT_SOPC,
	GFX9_FORMAT_SOPP,
	GFX9_FORMAT_SMEM,
	GFX9_FORMAT_VALU, /* VOP1, VOP2, VOPC, VOP3 */
	GFX9_FORMAT_VOP3P,
	GFX9_FORMAT_DS,
	GFX9_FORMAT_FLAT, /* flat_, global_, scratch_ by segment */
	GFX9_FORMAT_MUBUF,
	GFX9_FORMAT_UNKNOWN, /* of no format above, or of no known opcode */
};

/* Opcodes by name: GFX9_s_add_u32, GFX9_v_add_f32, GFX9_load_dword, ... */
#define GFX9_OPCODE(op, name) GFX9_##name = (op),
enum gfx9_sop2 {
	GFX9_SOP2_OPS(GFX9_OPCODE)
};
enum gfx9_sopk {
	GFX9_SOPK_OPS(GFX9_OPCODE)
};
enum gfx9_sop1 {
	GFX9_SOP1_OPS(GFX9_OPCODE)
};
enum gfx9_sopc {
	GFX9_SOPC_OPS(GFX9_OPCODE)
};
enum gfx9_sopp {
	GFX9_SOPP_OPS(GFX9_OPCODE)
};
enum gfx9_smem {
	GFX9_SMEM_OPS(GFX9_OPCODE)
};
enum gfx9_vmem {
	GFX9_VMEM_OPS(GFX9_OPCODE)
};
#undef GFX9_OPCODE
#define GFX9_OPCODE(op, name) GFX9_buffer_##name = (op),
enum gfx9_mubuf {
	GFX9_MUBUF_OPS(GFX9_OPCODE)
};
#undef GFX9_OPCODE
#define GFX9_OPCODE(op, name) GFX9_##name = (op),
enum gfx9_ds {
	GFX9_DS_OPS(GFX9_OPCODE)
};
enum gfx9_vop3p {
	GFX9_VOP3P_OPS(GFX9_OPCODE)
};
#undef GFX9_OPCODE
#define GFX9_OPCODE(op, name, sources, result, source, flags) GFX9_##name = (op),
enum gfx9_valu {
	GFX9_VALU_OPS(GFX9_OPCODE) GFX9_VALU_COUNT = 0x400
};
#undef GFX9_OPCODE

enum gfx9_type {
	GFX9_TYPE_B32,
	GFX9_TYPE_U32,
	GFX9_TYPE_I32,
	GFX9_TYPE_F32,
	GFX9_TYPE_B16,
	GFX9_TYPE_U16,
	GFX9_TYPE_I16,
	GFX9_TYPE_F16,
	GFX9_TYPE_B64, /* from here on two registers */
	GFX9_TYPE_U64,
	GFX9_TYPE_I64,
	GFX9_TYPE_F64,
	GFX9_TYPE_MASK, /* a bit per lane, in an SGPR pair */
};

enum gfx9_valu_flag {
	GFX9_A_CARRY_OUT = 1 << 0, /* VOP3: sdst; else VCC */
	GFX9_A_CARRY_IN = 1 << 1,  /* VOP3: src2; else VCC */
	GFX9_A_ACC = 1 << 2,	   /* the result register is src2 */
	GFX9_A_K = 1 << 3,	   /* a literal always follows */
	GFX9_A_SDST = 1 << 4,	   /* the result is an SGPR */
	GFX9_A_CLASS = 1 << 5,	   /* src1 is a 32-bit mask of classes */
	GFX9_A_S0_32 = 1 << 6,	   /* source n is 32 bits for any type */
	GFX9_A_S1_32 = 1 << 7,
	GFX9_A_S12_32 = 1 << 8,
	GFX9_A_S2_64 = 1 << 9,
	GFX9_A_REFUSED = 1 << 10, /* graphics only */
};

struct gfx9_valu_info {
	const char *name;
	u8 sources;
	u8 result; /* enum gfx9_type */
	u8 source;
	u16 flags;
};

const struct gfx9_valu_info *gfx9_valu_info(u32 op);

/* Operand numbers of the scalar and the nine-bit vector source fields. */
enum gfx9_operand {
	GFX9_SRC_ZERO = 128,
	GFX9_SRC_INT_MAX = 192, /* 129 to 192: 1 to 64 */
	GFX9_SRC_INT_MIN = 208, /* 193 to 208: -1 to -16 */
	GFX9_SRC_SHARED_BASE = 235,
	GFX9_SRC_SHARED_LIMIT = 236,
	GFX9_SRC_PRIVATE_BASE = 237,
	GFX9_SRC_PRIVATE_LIMIT = 238,
	GFX9_SRC_HALF = 240, /* 240 to 247: 0.5 -0.5 1 -1 2 -2 4 -4 */
	GFX9_SRC_INV_2PI = 248,
	GFX9_SRC_SDWA = 249,
	GFX9_SRC_DPP = 250,
	GFX9_SRC_VCCZ = 251,
	GFX9_SRC_EXECZ = 252,
	GFX9_SRC_SCC = 253,
	GFX9_SRC_LITERAL = 255,
	GFX9_SRC_VGPR = 256,
};

enum gfx9_inst_flag {
	GFX9_I_VOP3 = 1 << 0,
	GFX9_I_SDWA = 1 << 1,
	GFX9_I_DPP = 1 << 2,
	GFX9_I_CLAMP = 1 << 3,
	GFX9_I_GLC = 1 << 4,	 /* an atomic returns the old value */
	GFX9_I_IMM = 1 << 5,	 /* SMEM: an immediate offset */
	GFX9_I_SOFFSET = 1 << 6, /* SMEM: a register offset as well */
	GFX9_I_OFFEN = 1 << 7,
	GFX9_I_IDXEN = 1 << 8,
	GFX9_I_LDS = 1 << 9,
	GFX9_I_GDS = 1 << 10,
	GFX9_I_PLAIN = 1 << 11,	 /* VALU: no modifier of any kind */
	GFX9_I_SIMPLE = 1 << 12, /* and 32 bits in, 32 bits out, lane by lane */
	GFX9_I_FLOAT = 1 << 13,	 /* work of gfx9_float.c */
};

enum gfx9_segment {
	GFX9_SEGMENT_FLAT,
	GFX9_SEGMENT_SCRATCH,
	GFX9_SEGMENT_GLOBAL,
};

#define GFX9_SADDR_OFF 0x7f

struct gfx9_inst {
	u32 raw[2];
	u8 format;	  /* enum gfx9_format */
	u8 size;	  /* bytes, 4 or 8 */
	u8 sources;	  /* VALU: how many */
	bool accumulates; /* VALU: the result register is src2 */
	u16 op;
	u16 flags;  /* enum gfx9_inst_flag */
	u16 src[3]; /* operand numbers; DS, FLAT, MUBUF: VGPR numbers */
	u8 vdst;    /* VGPR, or SGPR of scalar formats */
	u8 sdst;    /* VOP3: SGPR of a carry or a mask */
	u8 saddr;   /* FLAT saddr; MUBUF first SGPR of the resource */
	u8 soffset; /* SMEM, MUBUF */
	u8 segment; /* FLAT: enum gfx9_segment */
	u8 neg;	    /* a bit per source */
	u8 abs;
	u8 omod;
	u8 opsel;  /* a bit per source, bit 3 the result */
	u8 neg_hi; /* VOP3P */
	u8 opsel_hi;
	u8 dpp_masks; /* bank mask below, row mask above */
	u16 dpp_ctrl;
	u8 bound_ctrl;
	u8 sdwa_dst_sel;
	u8 sdwa_dst_unused;
	u8 sdwa_sel[2];
	u8 sdwa_sext; /* a bit per source */
	u32 imm;      /* literal, offset (sign-extended), SIMM16 */
};

/* Decodes; raw[1] must be readable memory only if the first dword needs it. */
bool gfx9_needs_second_dword(u32 first);
void gfx9_decode(struct gfx9_inst *inst, u32 first, u32 second);
const char *gfx9_inst_name(const struct gfx9_inst *inst);

#endif
