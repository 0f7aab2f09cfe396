/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * gfx9_opcodes.h - the instructions of gfx906 by format: opcode, name, and for
 * vector ALU instructions what their operands are. Opcodes are those of AMD's
 * "Vega 7nm" Instruction Set Architecture reference, chapter 13; the names are
 * LLVM's. tests/gfx9/ compares every line with LLVM's disassembler.
 *
 * Vector ALU instructions are numbered as in the VOP3 encoding, which holds the
 * others: VOPC at 0, VOP2 at 0x100, VOP1 at 0x140.
 */
#ifndef GFX9_OPCODES_H
#define GFX9_OPCODES_H

#define GFX9_SOP2_OPS(X)           \
	X(0x00, s_add_u32)         \
	X(0x01, s_sub_u32)         \
	X(0x02, s_add_i32)         \
	X(0x03, s_sub_i32)         \
	X(0x04, s_addc_u32)        \
	X(0x05, s_subb_u32)        \
	X(0x06, s_min_i32)         \
	X(0x07, s_min_u32)         \
	X(0x08, s_max_i32)         \
	X(0x09, s_max_u32)         \
	X(0x0a, s_cselect_b32)     \
	X(0x0b, s_cselect_b64)     \
	X(0x0c, s_and_b32)         \
	X(0x0d, s_and_b64)         \
	X(0x0e, s_or_b32)          \
	X(0x0f, s_or_b64)          \
	X(0x10, s_xor_b32)         \
	X(0x11, s_xor_b64)         \
	X(0x12, s_andn2_b32)       \
	X(0x13, s_andn2_b64)       \
	X(0x14, s_orn2_b32)        \
	X(0x15, s_orn2_b64)        \
	X(0x16, s_nand_b32)        \
	X(0x17, s_nand_b64)        \
	X(0x18, s_nor_b32)         \
	X(0x19, s_nor_b64)         \
	X(0x1a, s_xnor_b32)        \
	X(0x1b, s_xnor_b64)        \
	X(0x1c, s_lshl_b32)        \
	X(0x1d, s_lshl_b64)        \
	X(0x1e, s_lshr_b32)        \
	X(0x1f, s_lshr_b64)        \
	X(0x20, s_ashr_i32)        \
	X(0x21, s_ashr_i64)        \
	X(0x22, s_bfm_b32)         \
	X(0x23, s_bfm_b64)         \
	X(0x24, s_mul_i32)         \
	X(0x25, s_bfe_u32)         \
	X(0x26, s_bfe_i32)         \
	X(0x27, s_bfe_u64)         \
	X(0x28, s_bfe_i64)         \
	X(0x2a, s_absdiff_i32)     \
	X(0x2c, s_mul_hi_u32)      \
	X(0x2d, s_mul_hi_i32)      \
	X(0x2e, s_lshl1_add_u32)   \
	X(0x2f, s_lshl2_add_u32)   \
	X(0x30, s_lshl3_add_u32)   \
	X(0x31, s_lshl4_add_u32)   \
	X(0x32, s_pack_ll_b32_b16) \
	X(0x33, s_pack_lh_b32_b16) \
	X(0x34, s_pack_hh_b32_b16)

#define GFX9_SOPK_OPS(X)            \
	X(0x00, s_movk_i32)         \
	X(0x01, s_cmovk_i32)        \
	X(0x02, s_cmpk_eq_i32)      \
	X(0x03, s_cmpk_lg_i32)      \
	X(0x04, s_cmpk_gt_i32)      \
	X(0x05, s_cmpk_ge_i32)      \
	X(0x06, s_cmpk_lt_i32)      \
	X(0x07, s_cmpk_le_i32)      \
	X(0x08, s_cmpk_eq_u32)      \
	X(0x09, s_cmpk_lg_u32)      \
	X(0x0a, s_cmpk_gt_u32)      \
	X(0x0b, s_cmpk_ge_u32)      \
	X(0x0c, s_cmpk_lt_u32)      \
	X(0x0d, s_cmpk_le_u32)      \
	X(0x0e, s_addk_i32)         \
	X(0x0f, s_mulk_i32)         \
	X(0x10, s_cbranch_i_fork)   \
	X(0x11, s_getreg_b32)       \
	X(0x12, s_setreg_b32)       \
	X(0x14, s_setreg_imm32_b32) \
	X(0x15, s_call_b64)

#define GFX9_SOP1_OPS(X)              \
	X(0x00, s_mov_b32)            \
	X(0x01, s_mov_b64)            \
	X(0x02, s_cmov_b32)           \
	X(0x03, s_cmov_b64)           \
	X(0x04, s_not_b32)            \
	X(0x05, s_not_b64)            \
	X(0x06, s_wqm_b32)            \
	X(0x07, s_wqm_b64)            \
	X(0x08, s_brev_b32)           \
	X(0x09, s_brev_b64)           \
	X(0x0a, s_bcnt0_i32_b32)      \
	X(0x0b, s_bcnt0_i32_b64)      \
	X(0x0c, s_bcnt1_i32_b32)      \
	X(0x0d, s_bcnt1_i32_b64)      \
	X(0x0e, s_ff0_i32_b32)        \
	X(0x0f, s_ff0_i32_b64)        \
	X(0x10, s_ff1_i32_b32)        \
	X(0x11, s_ff1_i32_b64)        \
	X(0x12, s_flbit_i32_b32)      \
	X(0x13, s_flbit_i32_b64)      \
	X(0x14, s_flbit_i32)          \
	X(0x15, s_flbit_i32_i64)      \
	X(0x16, s_sext_i32_i8)        \
	X(0x17, s_sext_i32_i16)       \
	X(0x18, s_bitset0_b32)        \
	X(0x19, s_bitset0_b64)        \
	X(0x1a, s_bitset1_b32)        \
	X(0x1b, s_bitset1_b64)        \
	X(0x1c, s_getpc_b64)          \
	X(0x1d, s_setpc_b64)          \
	X(0x1e, s_swappc_b64)         \
	X(0x1f, s_rfe_b64)            \
	X(0x20, s_and_saveexec_b64)   \
	X(0x21, s_or_saveexec_b64)    \
	X(0x22, s_xor_saveexec_b64)   \
	X(0x23, s_andn2_saveexec_b64) \
	X(0x24, s_orn2_saveexec_b64)  \
	X(0x25, s_nand_saveexec_b64)  \
	X(0x26, s_nor_saveexec_b64)   \
	X(0x27, s_xnor_saveexec_b64)  \
	X(0x28, s_quadmask_b32)       \
	X(0x29, s_quadmask_b64)       \
	X(0x2a, s_movrels_b32)        \
	X(0x2b, s_movrels_b64)        \
	X(0x2c, s_movreld_b32)        \
	X(0x2d, s_movreld_b64)        \
	X(0x2e, s_cbranch_join)       \
	X(0x30, s_abs_i32)            \
	X(0x32, s_set_gpr_idx_idx)    \
	X(0x33, s_andn1_saveexec_b64) \
	X(0x34, s_orn1_saveexec_b64)  \
	X(0x35, s_andn1_wrexec_b64)   \
	X(0x36, s_andn2_wrexec_b64)   \
	X(0x37, s_bitreplicate_b64_b32)

#define GFX9_SOPC_OPS(X)          \
	X(0x00, s_cmp_eq_i32)     \
	X(0x01, s_cmp_lg_i32)     \
	X(0x02, s_cmp_gt_i32)     \
	X(0x03, s_cmp_ge_i32)     \
	X(0x04, s_cmp_lt_i32)     \
	X(0x05, s_cmp_le_i32)     \
	X(0x06, s_cmp_eq_u32)     \
	X(0x07, s_cmp_lg_u32)     \
	X(0x08, s_cmp_gt_u32)     \
	X(0x09, s_cmp_ge_u32)     \
	X(0x0a, s_cmp_lt_u32)     \
	X(0x0b, s_cmp_le_u32)     \
	X(0x0c, s_bitcmp0_b32)    \
	X(0x0d, s_bitcmp1_b32)    \
	X(0x0e, s_bitcmp0_b64)    \
	X(0x0f, s_bitcmp1_b64)    \
	X(0x10, s_setvskip)       \
	X(0x11, s_set_gpr_idx_on) \
	X(0x12, s_cmp_eq_u64)     \
	X(0x13, s_cmp_lg_u64)

#define GFX9_SOPP_OPS(X)                    \
	X(0x00, s_nop)                      \
	X(0x01, s_endpgm)                   \
	X(0x02, s_branch)                   \
	X(0x03, s_wakeup)                   \
	X(0x04, s_cbranch_scc0)             \
	X(0x05, s_cbranch_scc1)             \
	X(0x06, s_cbranch_vccz)             \
	X(0x07, s_cbranch_vccnz)            \
	X(0x08, s_cbranch_execz)            \
	X(0x09, s_cbranch_execnz)           \
	X(0x0a, s_barrier)                  \
	X(0x0b, s_setkill)                  \
	X(0x0c, s_waitcnt)                  \
	X(0x0d, s_sethalt)                  \
	X(0x0e, s_sleep)                    \
	X(0x0f, s_setprio)                  \
	X(0x10, s_sendmsg)                  \
	X(0x11, s_sendmsghalt)              \
	X(0x12, s_trap)                     \
	X(0x13, s_icache_inv)               \
	X(0x14, s_incperflevel)             \
	X(0x15, s_decperflevel)             \
	X(0x16, s_ttracedata)               \
	X(0x17, s_cbranch_cdbgsys)          \
	X(0x18, s_cbranch_cdbguser)         \
	X(0x19, s_cbranch_cdbgsys_or_user)  \
	X(0x1a, s_cbranch_cdbgsys_and_user) \
	X(0x1b, s_endpgm_saved)             \
	X(0x1c, s_set_gpr_idx_off)          \
	X(0x1d, s_set_gpr_idx_mode)         \
	X(0x1e, s_endpgm_ordered_ps_done)

#define GFX9_SMEM_OPS(X)                    \
	X(0x00, s_load_dword)               \
	X(0x01, s_load_dwordx2)             \
	X(0x02, s_load_dwordx4)             \
	X(0x03, s_load_dwordx8)             \
	X(0x04, s_load_dwordx16)            \
	X(0x05, s_scratch_load_dword)       \
	X(0x06, s_scratch_load_dwordx2)     \
	X(0x07, s_scratch_load_dwordx4)     \
	X(0x08, s_buffer_load_dword)        \
	X(0x09, s_buffer_load_dwordx2)      \
	X(0x0a, s_buffer_load_dwordx4)      \
	X(0x0b, s_buffer_load_dwordx8)      \
	X(0x0c, s_buffer_load_dwordx16)     \
	X(0x10, s_store_dword)              \
	X(0x11, s_store_dwordx2)            \
	X(0x12, s_store_dwordx4)            \
	X(0x15, s_scratch_store_dword)      \
	X(0x16, s_scratch_store_dwordx2)    \
	X(0x17, s_scratch_store_dwordx4)    \
	X(0x18, s_buffer_store_dword)       \
	X(0x19, s_buffer_store_dwordx2)     \
	X(0x1a, s_buffer_store_dwordx4)     \
	X(0x20, s_dcache_inv)               \
	X(0x21, s_dcache_wb)                \
	X(0x22, s_dcache_inv_vol)           \
	X(0x23, s_dcache_wb_vol)            \
	X(0x24, s_memtime)                  \
	X(0x25, s_memrealtime)              \
	X(0x26, s_atc_probe)                \
	X(0x27, s_atc_probe_buffer)         \
	X(0x28, s_dcache_discard)           \
	X(0x29, s_dcache_discard_x2)        \
	X(0x40, s_buffer_atomic_swap)       \
	X(0x41, s_buffer_atomic_cmpswap)    \
	X(0x42, s_buffer_atomic_add)        \
	X(0x43, s_buffer_atomic_sub)        \
	X(0x44, s_buffer_atomic_smin)       \
	X(0x45, s_buffer_atomic_umin)       \
	X(0x46, s_buffer_atomic_smax)       \
	X(0x47, s_buffer_atomic_umax)       \
	X(0x48, s_buffer_atomic_and)        \
	X(0x49, s_buffer_atomic_or)         \
	X(0x4a, s_buffer_atomic_xor)        \
	X(0x4b, s_buffer_atomic_inc)        \
	X(0x4c, s_buffer_atomic_dec)        \
	X(0x60, s_buffer_atomic_swap_x2)    \
	X(0x61, s_buffer_atomic_cmpswap_x2) \
	X(0x62, s_buffer_atomic_add_x2)     \
	X(0x63, s_buffer_atomic_sub_x2)     \
	X(0x64, s_buffer_atomic_smin_x2)    \
	X(0x65, s_buffer_atomic_umin_x2)    \
	X(0x66, s_buffer_atomic_smax_x2)    \
	X(0x67, s_buffer_atomic_umax_x2)    \
	X(0x68, s_buffer_atomic_and_x2)     \
	X(0x69, s_buffer_atomic_or_x2)      \
	X(0x6a, s_buffer_atomic_xor_x2)     \
	X(0x6b, s_buffer_atomic_inc_x2)     \
	X(0x6c, s_buffer_atomic_dec_x2)     \
	X(0x80, s_atomic_swap)              \
	X(0x81, s_atomic_cmpswap)           \
	X(0x82, s_atomic_add)               \
	X(0x83, s_atomic_sub)               \
	X(0x84, s_atomic_smin)              \
	X(0x85, s_atomic_umin)              \
	X(0x86, s_atomic_smax)              \
	X(0x87, s_atomic_umax)              \
	X(0x88, s_atomic_and)               \
	X(0x89, s_atomic_or)                \
	X(0x8a, s_atomic_xor)               \
	X(0x8b, s_atomic_inc)               \
	X(0x8c, s_atomic_dec)               \
	X(0xa0, s_atomic_swap_x2)           \
	X(0xa1, s_atomic_cmpswap_x2)        \
	X(0xa2, s_atomic_add_x2)            \
	X(0xa3, s_atomic_sub_x2)            \
	X(0xa4, s_atomic_smin_x2)           \
	X(0xa5, s_atomic_umin_x2)           \
	X(0xa6, s_atomic_smax_x2)           \
	X(0xa7, s_atomic_umax_x2)           \
	X(0xa8, s_atomic_and_x2)            \
	X(0xa9, s_atomic_or_x2)             \
	X(0xaa, s_atomic_xor_x2)            \
	X(0xab, s_atomic_inc_x2)            \
	X(0xac, s_atomic_dec_x2)

/* Of flat_, global_ and buffer_; scratch_ has the loads and stores. */
#define GFX9_VMEM_OPS(X)            \
	X(0x10, load_ubyte)         \
	X(0x11, load_sbyte)         \
	X(0x12, load_ushort)        \
	X(0x13, load_sshort)        \
	X(0x14, load_dword)         \
	X(0x15, load_dwordx2)       \
	X(0x16, load_dwordx3)       \
	X(0x17, load_dwordx4)       \
	X(0x18, store_byte)         \
	X(0x19, store_byte_d16_hi)  \
	X(0x1a, store_short)        \
	X(0x1b, store_short_d16_hi) \
	X(0x1c, store_dword)        \
	X(0x1d, store_dwordx2)      \
	X(0x1e, store_dwordx3)      \
	X(0x1f, store_dwordx4)      \
	X(0x20, load_ubyte_d16)     \
	X(0x21, load_ubyte_d16_hi)  \
	X(0x22, load_sbyte_d16)     \
	X(0x23, load_sbyte_d16_hi)  \
	X(0x24, load_short_d16)     \
	X(0x25, load_short_d16_hi)  \
	X(0x40, atomic_swap)        \
	X(0x41, atomic_cmpswap)     \
	X(0x42, atomic_add)         \
	X(0x43, atomic_sub)         \
	X(0x44, atomic_smin)        \
	X(0x45, atomic_umin)        \
	X(0x46, atomic_smax)        \
	X(0x47, atomic_umax)        \
	X(0x48, atomic_and)         \
	X(0x49, atomic_or)          \
	X(0x4a, atomic_xor)         \
	X(0x4b, atomic_inc)         \
	X(0x4c, atomic_dec)         \
	X(0x60, atomic_swap_x2)     \
	X(0x61, atomic_cmpswap_x2)  \
	X(0x62, atomic_add_x2)      \
	X(0x63, atomic_sub_x2)      \
	X(0x64, atomic_smin_x2)     \
	X(0x65, atomic_umin_x2)     \
	X(0x66, atomic_smax_x2)     \
	X(0x67, atomic_umax_x2)     \
	X(0x68, atomic_and_x2)      \
	X(0x69, atomic_or_x2)       \
	X(0x6a, atomic_xor_x2)      \
	X(0x6b, atomic_inc_x2)      \
	X(0x6c, atomic_dec_x2)

/* Of buffer_ only. */
#define GFX9_MUBUF_OPS(X)              \
	X(0x00, load_format_x)         \
	X(0x01, load_format_xy)        \
	X(0x02, load_format_xyz)       \
	X(0x03, load_format_xyzw)      \
	X(0x04, store_format_x)        \
	X(0x05, store_format_xy)       \
	X(0x06, store_format_xyz)      \
	X(0x07, store_format_xyzw)     \
	X(0x08, load_format_d16_x)     \
	X(0x09, load_format_d16_xy)    \
	X(0x0a, load_format_d16_xyz)   \
	X(0x0b, load_format_d16_xyzw)  \
	X(0x0c, store_format_d16_x)    \
	X(0x0d, store_format_d16_xy)   \
	X(0x0e, store_format_d16_xyz)  \
	X(0x0f, store_format_d16_xyzw) \
	X(0x26, load_format_d16_hi_x)  \
	X(0x27, store_format_d16_hi_x) \
	X(0x3d, store_lds_dword)       \
	X(0x3e, wbinvl1)               \
	X(0x3f, wbinvl1_vol)

#define GFX9_DS_OPS(X)                   \
	X(0x00, ds_add_u32)              \
	X(0x01, ds_sub_u32)              \
	X(0x02, ds_rsub_u32)             \
	X(0x03, ds_inc_u32)              \
	X(0x04, ds_dec_u32)              \
	X(0x05, ds_min_i32)              \
	X(0x06, ds_max_i32)              \
	X(0x07, ds_min_u32)              \
	X(0x08, ds_max_u32)              \
	X(0x09, ds_and_b32)              \
	X(0x0a, ds_or_b32)               \
	X(0x0b, ds_xor_b32)              \
	X(0x0c, ds_mskor_b32)            \
	X(0x0d, ds_write_b32)            \
	X(0x0e, ds_write2_b32)           \
	X(0x0f, ds_write2st64_b32)       \
	X(0x10, ds_cmpst_b32)            \
	X(0x11, ds_cmpst_f32)            \
	X(0x12, ds_min_f32)              \
	X(0x13, ds_max_f32)              \
	X(0x14, ds_nop)                  \
	X(0x15, ds_add_f32)              \
	X(0x1d, ds_write_addtid_b32)     \
	X(0x1e, ds_write_b8)             \
	X(0x1f, ds_write_b16)            \
	X(0x20, ds_add_rtn_u32)          \
	X(0x21, ds_sub_rtn_u32)          \
	X(0x22, ds_rsub_rtn_u32)         \
	X(0x23, ds_inc_rtn_u32)          \
	X(0x24, ds_dec_rtn_u32)          \
	X(0x25, ds_min_rtn_i32)          \
	X(0x26, ds_max_rtn_i32)          \
	X(0x27, ds_min_rtn_u32)          \
	X(0x28, ds_max_rtn_u32)          \
	X(0x29, ds_and_rtn_b32)          \
	X(0x2a, ds_or_rtn_b32)           \
	X(0x2b, ds_xor_rtn_b32)          \
	X(0x2c, ds_mskor_rtn_b32)        \
	X(0x2d, ds_wrxchg_rtn_b32)       \
	X(0x2e, ds_wrxchg2_rtn_b32)      \
	X(0x2f, ds_wrxchg2st64_rtn_b32)  \
	X(0x30, ds_cmpst_rtn_b32)        \
	X(0x31, ds_cmpst_rtn_f32)        \
	X(0x32, ds_min_rtn_f32)          \
	X(0x33, ds_max_rtn_f32)          \
	X(0x34, ds_wrap_rtn_b32)         \
	X(0x35, ds_add_rtn_f32)          \
	X(0x36, ds_read_b32)             \
	X(0x37, ds_read2_b32)            \
	X(0x38, ds_read2st64_b32)        \
	X(0x39, ds_read_i8)              \
	X(0x3a, ds_read_u8)              \
	X(0x3b, ds_read_i16)             \
	X(0x3c, ds_read_u16)             \
	X(0x3d, ds_swizzle_b32)          \
	X(0x3e, ds_permute_b32)          \
	X(0x3f, ds_bpermute_b32)         \
	X(0x40, ds_add_u64)              \
	X(0x41, ds_sub_u64)              \
	X(0x42, ds_rsub_u64)             \
	X(0x43, ds_inc_u64)              \
	X(0x44, ds_dec_u64)              \
	X(0x45, ds_min_i64)              \
	X(0x46, ds_max_i64)              \
	X(0x47, ds_min_u64)              \
	X(0x48, ds_max_u64)              \
	X(0x49, ds_and_b64)              \
	X(0x4a, ds_or_b64)               \
	X(0x4b, ds_xor_b64)              \
	X(0x4c, ds_mskor_b64)            \
	X(0x4d, ds_write_b64)            \
	X(0x4e, ds_write2_b64)           \
	X(0x4f, ds_write2st64_b64)       \
	X(0x50, ds_cmpst_b64)            \
	X(0x51, ds_cmpst_f64)            \
	X(0x52, ds_min_f64)              \
	X(0x53, ds_max_f64)              \
	X(0x54, ds_write_b8_d16_hi)      \
	X(0x55, ds_write_b16_d16_hi)     \
	X(0x56, ds_read_u8_d16)          \
	X(0x57, ds_read_u8_d16_hi)       \
	X(0x58, ds_read_i8_d16)          \
	X(0x59, ds_read_i8_d16_hi)       \
	X(0x5a, ds_read_u16_d16)         \
	X(0x5b, ds_read_u16_d16_hi)      \
	X(0x60, ds_add_rtn_u64)          \
	X(0x61, ds_sub_rtn_u64)          \
	X(0x62, ds_rsub_rtn_u64)         \
	X(0x63, ds_inc_rtn_u64)          \
	X(0x64, ds_dec_rtn_u64)          \
	X(0x65, ds_min_rtn_i64)          \
	X(0x66, ds_max_rtn_i64)          \
	X(0x67, ds_min_rtn_u64)          \
	X(0x68, ds_max_rtn_u64)          \
	X(0x69, ds_and_rtn_b64)          \
	X(0x6a, ds_or_rtn_b64)           \
	X(0x6b, ds_xor_rtn_b64)          \
	X(0x6c, ds_mskor_rtn_b64)        \
	X(0x6d, ds_wrxchg_rtn_b64)       \
	X(0x6e, ds_wrxchg2_rtn_b64)      \
	X(0x6f, ds_wrxchg2st64_rtn_b64)  \
	X(0x70, ds_cmpst_rtn_b64)        \
	X(0x71, ds_cmpst_rtn_f64)        \
	X(0x72, ds_min_rtn_f64)          \
	X(0x73, ds_max_rtn_f64)          \
	X(0x76, ds_read_b64)             \
	X(0x77, ds_read2_b64)            \
	X(0x78, ds_read2st64_b64)        \
	X(0x7e, ds_condxchg32_rtn_b64)   \
	X(0x80, ds_add_src2_u32)         \
	X(0x81, ds_sub_src2_u32)         \
	X(0x82, ds_rsub_src2_u32)        \
	X(0x83, ds_inc_src2_u32)         \
	X(0x84, ds_dec_src2_u32)         \
	X(0x85, ds_min_src2_i32)         \
	X(0x86, ds_max_src2_i32)         \
	X(0x87, ds_min_src2_u32)         \
	X(0x88, ds_max_src2_u32)         \
	X(0x89, ds_and_src2_b32)         \
	X(0x8a, ds_or_src2_b32)          \
	X(0x8b, ds_xor_src2_b32)         \
	X(0x8d, ds_write_src2_b32)       \
	X(0x92, ds_min_src2_f32)         \
	X(0x93, ds_max_src2_f32)         \
	X(0x95, ds_add_src2_f32)         \
	X(0x98, ds_gws_sema_release_all) \
	X(0x99, ds_gws_init)             \
	X(0x9a, ds_gws_sema_v)           \
	X(0x9b, ds_gws_sema_br)          \
	X(0x9c, ds_gws_sema_p)           \
	X(0x9d, ds_gws_barrier)          \
	X(0xb6, ds_read_addtid_b32)      \
	X(0xbd, ds_consume)              \
	X(0xbe, ds_append)               \
	X(0xbf, ds_ordered_count)        \
	X(0xc0, ds_add_src2_u64)         \
	X(0xc1, ds_sub_src2_u64)         \
	X(0xc2, ds_rsub_src2_u64)        \
	X(0xc3, ds_inc_src2_u64)         \
	X(0xc4, ds_dec_src2_u64)         \
	X(0xc5, ds_min_src2_i64)         \
	X(0xc6, ds_max_src2_i64)         \
	X(0xc7, ds_min_src2_u64)         \
	X(0xc8, ds_max_src2_u64)         \
	X(0xc9, ds_and_src2_b64)         \
	X(0xca, ds_or_src2_b64)          \
	X(0xcb, ds_xor_src2_b64)         \
	X(0xcd, ds_write_src2_b64)       \
	X(0xd2, ds_min_src2_f64)         \
	X(0xd3, ds_max_src2_f64)         \
	X(0xde, ds_write_b96)            \
	X(0xdf, ds_write_b128)           \
	X(0xfe, ds_read_b96)             \
	X(0xff, ds_read_b128)

#define GFX9_VOP3P_OPS(X)         \
	X(0x00, v_pk_mad_i16)     \
	X(0x01, v_pk_mul_lo_u16)  \
	X(0x02, v_pk_add_i16)     \
	X(0x03, v_pk_sub_i16)     \
	X(0x04, v_pk_lshlrev_b16) \
	X(0x05, v_pk_lshrrev_b16) \
	X(0x06, v_pk_ashrrev_i16) \
	X(0x07, v_pk_max_i16)     \
	X(0x08, v_pk_min_i16)     \
	X(0x09, v_pk_mad_u16)     \
	X(0x0a, v_pk_add_u16)     \
	X(0x0b, v_pk_sub_u16)     \
	X(0x0c, v_pk_max_u16)     \
	X(0x0d, v_pk_min_u16)     \
	X(0x0e, v_pk_fma_f16)     \
	X(0x0f, v_pk_add_f16)     \
	X(0x10, v_pk_mul_f16)     \
	X(0x11, v_pk_min_f16)     \
	X(0x12, v_pk_max_f16)     \
	X(0x20, v_fma_mix_f32)    \
	X(0x21, v_fma_mixlo_f16)  \
	X(0x22, v_fma_mixhi_f16)  \
	X(0x23, v_dot2_f32_f16)   \
	X(0x26, v_dot2_i32_i16)   \
	X(0x27, v_dot2_u32_u16)   \
	X(0x28, v_dot4_i32_i8)    \
	X(0x29, v_dot4_u32_u8)    \
	X(0x2a, v_dot8_i32_i4)    \
	X(0x2b, v_dot8_u32_u4)

/*
 * X(opcode, name, number of sources, type of the result, type of the sources,
 * flags of enum gfx9_valu_flag)
 */
#define GFX9_VALU_OPS(X)                                                            \
	X(0x010, v_cmp_class_f32, 2, MASK, F32, GFX9_A_CLASS)                       \
	X(0x011, v_cmpx_class_f32, 2, MASK, F32, GFX9_A_CLASS)                      \
	X(0x012, v_cmp_class_f64, 2, MASK, F64, GFX9_A_CLASS)                       \
	X(0x013, v_cmpx_class_f64, 2, MASK, F64, GFX9_A_CLASS)                      \
	X(0x014, v_cmp_class_f16, 2, MASK, F16, GFX9_A_CLASS)                       \
	X(0x015, v_cmpx_class_f16, 2, MASK, F16, GFX9_A_CLASS)                      \
	X(0x020, v_cmp_f_f16, 2, MASK, F16, 0)                                      \
	X(0x021, v_cmp_lt_f16, 2, MASK, F16, 0)                                     \
	X(0x022, v_cmp_eq_f16, 2, MASK, F16, 0)                                     \
	X(0x023, v_cmp_le_f16, 2, MASK, F16, 0)                                     \
	X(0x024, v_cmp_gt_f16, 2, MASK, F16, 0)                                     \
	X(0x025, v_cmp_lg_f16, 2, MASK, F16, 0)                                     \
	X(0x026, v_cmp_ge_f16, 2, MASK, F16, 0)                                     \
	X(0x027, v_cmp_o_f16, 2, MASK, F16, 0)                                      \
	X(0x028, v_cmp_u_f16, 2, MASK, F16, 0)                                      \
	X(0x029, v_cmp_nge_f16, 2, MASK, F16, 0)                                    \
	X(0x02a, v_cmp_nlg_f16, 2, MASK, F16, 0)                                    \
	X(0x02b, v_cmp_ngt_f16, 2, MASK, F16, 0)                                    \
	X(0x02c, v_cmp_nle_f16, 2, MASK, F16, 0)                                    \
	X(0x02d, v_cmp_neq_f16, 2, MASK, F16, 0)                                    \
	X(0x02e, v_cmp_nlt_f16, 2, MASK, F16, 0)                                    \
	X(0x02f, v_cmp_tru_f16, 2, MASK, F16, 0)                                    \
	X(0x030, v_cmpx_f_f16, 2, MASK, F16, 0)                                     \
	X(0x031, v_cmpx_lt_f16, 2, MASK, F16, 0)                                    \
	X(0x032, v_cmpx_eq_f16, 2, MASK, F16, 0)                                    \
	X(0x033, v_cmpx_le_f16, 2, MASK, F16, 0)                                    \
	X(0x034, v_cmpx_gt_f16, 2, MASK, F16, 0)                                    \
	X(0x035, v_cmpx_lg_f16, 2, MASK, F16, 0)                                    \
	X(0x036, v_cmpx_ge_f16, 2, MASK, F16, 0)                                    \
	X(0x037, v_cmpx_o_f16, 2, MASK, F16, 0)                                     \
	X(0x038, v_cmpx_u_f16, 2, MASK, F16, 0)                                     \
	X(0x039, v_cmpx_nge_f16, 2, MASK, F16, 0)                                   \
	X(0x03a, v_cmpx_nlg_f16, 2, MASK, F16, 0)                                   \
	X(0x03b, v_cmpx_ngt_f16, 2, MASK, F16, 0)                                   \
	X(0x03c, v_cmpx_nle_f16, 2, MASK, F16, 0)                                   \
	X(0x03d, v_cmpx_neq_f16, 2, MASK, F16, 0)                                   \
	X(0x03e, v_cmpx_nlt_f16, 2, MASK, F16, 0)                                   \
	X(0x03f, v_cmpx_tru_f16, 2, MASK, F16, 0)                                   \
	X(0x040, v_cmp_f_f32, 2, MASK, F32, 0)                                      \
	X(0x041, v_cmp_lt_f32, 2, MASK, F32, 0)                                     \
	X(0x042, v_cmp_eq_f32, 2, MASK, F32, 0)                                     \
	X(0x043, v_cmp_le_f32, 2, MASK, F32, 0)                                     \
	X(0x044, v_cmp_gt_f32, 2, MASK, F32, 0)                                     \
	X(0x045, v_cmp_lg_f32, 2, MASK, F32, 0)                                     \
	X(0x046, v_cmp_ge_f32, 2, MASK, F32, 0)                                     \
	X(0x047, v_cmp_o_f32, 2, MASK, F32, 0)                                      \
	X(0x048, v_cmp_u_f32, 2, MASK, F32, 0)                                      \
	X(0x049, v_cmp_nge_f32, 2, MASK, F32, 0)                                    \
	X(0x04a, v_cmp_nlg_f32, 2, MASK, F32, 0)                                    \
	X(0x04b, v_cmp_ngt_f32, 2, MASK, F32, 0)                                    \
	X(0x04c, v_cmp_nle_f32, 2, MASK, F32, 0)                                    \
	X(0x04d, v_cmp_neq_f32, 2, MASK, F32, 0)                                    \
	X(0x04e, v_cmp_nlt_f32, 2, MASK, F32, 0)                                    \
	X(0x04f, v_cmp_tru_f32, 2, MASK, F32, 0)                                    \
	X(0x050, v_cmpx_f_f32, 2, MASK, F32, 0)                                     \
	X(0x051, v_cmpx_lt_f32, 2, MASK, F32, 0)                                    \
	X(0x052, v_cmpx_eq_f32, 2, MASK, F32, 0)                                    \
	X(0x053, v_cmpx_le_f32, 2, MASK, F32, 0)                                    \
	X(0x054, v_cmpx_gt_f32, 2, MASK, F32, 0)                                    \
	X(0x055, v_cmpx_lg_f32, 2, MASK, F32, 0)                                    \
	X(0x056, v_cmpx_ge_f32, 2, MASK, F32, 0)                                    \
	X(0x057, v_cmpx_o_f32, 2, MASK, F32, 0)                                     \
	X(0x058, v_cmpx_u_f32, 2, MASK, F32, 0)                                     \
	X(0x059, v_cmpx_nge_f32, 2, MASK, F32, 0)                                   \
	X(0x05a, v_cmpx_nlg_f32, 2, MASK, F32, 0)                                   \
	X(0x05b, v_cmpx_ngt_f32, 2, MASK, F32, 0)                                   \
	X(0x05c, v_cmpx_nle_f32, 2, MASK, F32, 0)                                   \
	X(0x05d, v_cmpx_neq_f32, 2, MASK, F32, 0)                                   \
	X(0x05e, v_cmpx_nlt_f32, 2, MASK, F32, 0)                                   \
	X(0x05f, v_cmpx_tru_f32, 2, MASK, F32, 0)                                   \
	X(0x060, v_cmp_f_f64, 2, MASK, F64, 0)                                      \
	X(0x061, v_cmp_lt_f64, 2, MASK, F64, 0)                                     \
	X(0x062, v_cmp_eq_f64, 2, MASK, F64, 0)                                     \
	X(0x063, v_cmp_le_f64, 2, MASK, F64, 0)                                     \
	X(0x064, v_cmp_gt_f64, 2, MASK, F64, 0)                                     \
	X(0x065, v_cmp_lg_f64, 2, MASK, F64, 0)                                     \
	X(0x066, v_cmp_ge_f64, 2, MASK, F64, 0)                                     \
	X(0x067, v_cmp_o_f64, 2, MASK, F64, 0)                                      \
	X(0x068, v_cmp_u_f64, 2, MASK, F64, 0)                                      \
	X(0x069, v_cmp_nge_f64, 2, MASK, F64, 0)                                    \
	X(0x06a, v_cmp_nlg_f64, 2, MASK, F64, 0)                                    \
	X(0x06b, v_cmp_ngt_f64, 2, MASK, F64, 0)                                    \
	X(0x06c, v_cmp_nle_f64, 2, MASK, F64, 0)                                    \
	X(0x06d, v_cmp_neq_f64, 2, MASK, F64, 0)                                    \
	X(0x06e, v_cmp_nlt_f64, 2, MASK, F64, 0)                                    \
	X(0x06f, v_cmp_tru_f64, 2, MASK, F64, 0)                                    \
	X(0x070, v_cmpx_f_f64, 2, MASK, F64, 0)                                     \
	X(0x071, v_cmpx_lt_f64, 2, MASK, F64, 0)                                    \
	X(0x072, v_cmpx_eq_f64, 2, MASK, F64, 0)                                    \
	X(0x073, v_cmpx_le_f64, 2, MASK, F64, 0)                                    \
	X(0x074, v_cmpx_gt_f64, 2, MASK, F64, 0)                                    \
	X(0x075, v_cmpx_lg_f64, 2, MASK, F64, 0)                                    \
	X(0x076, v_cmpx_ge_f64, 2, MASK, F64, 0)                                    \
	X(0x077, v_cmpx_o_f64, 2, MASK, F64, 0)                                     \
	X(0x078, v_cmpx_u_f64, 2, MASK, F64, 0)                                     \
	X(0x079, v_cmpx_nge_f64, 2, MASK, F64, 0)                                   \
	X(0x07a, v_cmpx_nlg_f64, 2, MASK, F64, 0)                                   \
	X(0x07b, v_cmpx_ngt_f64, 2, MASK, F64, 0)                                   \
	X(0x07c, v_cmpx_nle_f64, 2, MASK, F64, 0)                                   \
	X(0x07d, v_cmpx_neq_f64, 2, MASK, F64, 0)                                   \
	X(0x07e, v_cmpx_nlt_f64, 2, MASK, F64, 0)                                   \
	X(0x07f, v_cmpx_tru_f64, 2, MASK, F64, 0)                                   \
	X(0x0a0, v_cmp_f_i16, 2, MASK, I16, 0)                                      \
	X(0x0a1, v_cmp_lt_i16, 2, MASK, I16, 0)                                     \
	X(0x0a2, v_cmp_eq_i16, 2, MASK, I16, 0)                                     \
	X(0x0a3, v_cmp_le_i16, 2, MASK, I16, 0)                                     \
	X(0x0a4, v_cmp_gt_i16, 2, MASK, I16, 0)                                     \
	X(0x0a5, v_cmp_ne_i16, 2, MASK, I16, 0)                                     \
	X(0x0a6, v_cmp_ge_i16, 2, MASK, I16, 0)                                     \
	X(0x0a7, v_cmp_t_i16, 2, MASK, I16, 0)                                      \
	X(0x0a8, v_cmp_f_u16, 2, MASK, U16, 0)                                      \
	X(0x0a9, v_cmp_lt_u16, 2, MASK, U16, 0)                                     \
	X(0x0aa, v_cmp_eq_u16, 2, MASK, U16, 0)                                     \
	X(0x0ab, v_cmp_le_u16, 2, MASK, U16, 0)                                     \
	X(0x0ac, v_cmp_gt_u16, 2, MASK, U16, 0)                                     \
	X(0x0ad, v_cmp_ne_u16, 2, MASK, U16, 0)                                     \
	X(0x0ae, v_cmp_ge_u16, 2, MASK, U16, 0)                                     \
	X(0x0af, v_cmp_t_u16, 2, MASK, U16, 0)                                      \
	X(0x0b0, v_cmpx_f_i16, 2, MASK, I16, 0)                                     \
	X(0x0b1, v_cmpx_lt_i16, 2, MASK, I16, 0)                                    \
	X(0x0b2, v_cmpx_eq_i16, 2, MASK, I16, 0)                                    \
	X(0x0b3, v_cmpx_le_i16, 2, MASK, I16, 0)                                    \
	X(0x0b4, v_cmpx_gt_i16, 2, MASK, I16, 0)                                    \
	X(0x0b5, v_cmpx_ne_i16, 2, MASK, I16, 0)                                    \
	X(0x0b6, v_cmpx_ge_i16, 2, MASK, I16, 0)                                    \
	X(0x0b7, v_cmpx_t_i16, 2, MASK, I16, 0)                                     \
	X(0x0b8, v_cmpx_f_u16, 2, MASK, U16, 0)                                     \
	X(0x0b9, v_cmpx_lt_u16, 2, MASK, U16, 0)                                    \
	X(0x0ba, v_cmpx_eq_u16, 2, MASK, U16, 0)                                    \
	X(0x0bb, v_cmpx_le_u16, 2, MASK, U16, 0)                                    \
	X(0x0bc, v_cmpx_gt_u16, 2, MASK, U16, 0)                                    \
	X(0x0bd, v_cmpx_ne_u16, 2, MASK, U16, 0)                                    \
	X(0x0be, v_cmpx_ge_u16, 2, MASK, U16, 0)                                    \
	X(0x0bf, v_cmpx_t_u16, 2, MASK, U16, 0)                                     \
	X(0x0c0, v_cmp_f_i32, 2, MASK, I32, 0)                                      \
	X(0x0c1, v_cmp_lt_i32, 2, MASK, I32, 0)                                     \
	X(0x0c2, v_cmp_eq_i32, 2, MASK, I32, 0)                                     \
	X(0x0c3, v_cmp_le_i32, 2, MASK, I32, 0)                                     \
	X(0x0c4, v_cmp_gt_i32, 2, MASK, I32, 0)                                     \
	X(0x0c5, v_cmp_ne_i32, 2, MASK, I32, 0)                                     \
	X(0x0c6, v_cmp_ge_i32, 2, MASK, I32, 0)                                     \
	X(0x0c7, v_cmp_t_i32, 2, MASK, I32, 0)                                      \
	X(0x0c8, v_cmp_f_u32, 2, MASK, U32, 0)                                      \
	X(0x0c9, v_cmp_lt_u32, 2, MASK, U32, 0)                                     \
	X(0x0ca, v_cmp_eq_u32, 2, MASK, U32, 0)                                     \
	X(0x0cb, v_cmp_le_u32, 2, MASK, U32, 0)                                     \
	X(0x0cc, v_cmp_gt_u32, 2, MASK, U32, 0)                                     \
	X(0x0cd, v_cmp_ne_u32, 2, MASK, U32, 0)                                     \
	X(0x0ce, v_cmp_ge_u32, 2, MASK, U32, 0)                                     \
	X(0x0cf, v_cmp_t_u32, 2, MASK, U32, 0)                                      \
	X(0x0d0, v_cmpx_f_i32, 2, MASK, I32, 0)                                     \
	X(0x0d1, v_cmpx_lt_i32, 2, MASK, I32, 0)                                    \
	X(0x0d2, v_cmpx_eq_i32, 2, MASK, I32, 0)                                    \
	X(0x0d3, v_cmpx_le_i32, 2, MASK, I32, 0)                                    \
	X(0x0d4, v_cmpx_gt_i32, 2, MASK, I32, 0)                                    \
	X(0x0d5, v_cmpx_ne_i32, 2, MASK, I32, 0)                                    \
	X(0x0d6, v_cmpx_ge_i32, 2, MASK, I32, 0)                                    \
	X(0x0d7, v_cmpx_t_i32, 2, MASK, I32, 0)                                     \
	X(0x0d8, v_cmpx_f_u32, 2, MASK, U32, 0)                                     \
	X(0x0d9, v_cmpx_lt_u32, 2, MASK, U32, 0)                                    \
	X(0x0da, v_cmpx_eq_u32, 2, MASK, U32, 0)                                    \
	X(0x0db, v_cmpx_le_u32, 2, MASK, U32, 0)                                    \
	X(0x0dc, v_cmpx_gt_u32, 2, MASK, U32, 0)                                    \
	X(0x0dd, v_cmpx_ne_u32, 2, MASK, U32, 0)                                    \
	X(0x0de, v_cmpx_ge_u32, 2, MASK, U32, 0)                                    \
	X(0x0df, v_cmpx_t_u32, 2, MASK, U32, 0)                                     \
	X(0x0e0, v_cmp_f_i64, 2, MASK, I64, 0)                                      \
	X(0x0e1, v_cmp_lt_i64, 2, MASK, I64, 0)                                     \
	X(0x0e2, v_cmp_eq_i64, 2, MASK, I64, 0)                                     \
	X(0x0e3, v_cmp_le_i64, 2, MASK, I64, 0)                                     \
	X(0x0e4, v_cmp_gt_i64, 2, MASK, I64, 0)                                     \
	X(0x0e5, v_cmp_ne_i64, 2, MASK, I64, 0)                                     \
	X(0x0e6, v_cmp_ge_i64, 2, MASK, I64, 0)                                     \
	X(0x0e7, v_cmp_t_i64, 2, MASK, I64, 0)                                      \
	X(0x0e8, v_cmp_f_u64, 2, MASK, U64, 0)                                      \
	X(0x0e9, v_cmp_lt_u64, 2, MASK, U64, 0)                                     \
	X(0x0ea, v_cmp_eq_u64, 2, MASK, U64, 0)                                     \
	X(0x0eb, v_cmp_le_u64, 2, MASK, U64, 0)                                     \
	X(0x0ec, v_cmp_gt_u64, 2, MASK, U64, 0)                                     \
	X(0x0ed, v_cmp_ne_u64, 2, MASK, U64, 0)                                     \
	X(0x0ee, v_cmp_ge_u64, 2, MASK, U64, 0)                                     \
	X(0x0ef, v_cmp_t_u64, 2, MASK, U64, 0)                                      \
	X(0x0f0, v_cmpx_f_i64, 2, MASK, I64, 0)                                     \
	X(0x0f1, v_cmpx_lt_i64, 2, MASK, I64, 0)                                    \
	X(0x0f2, v_cmpx_eq_i64, 2, MASK, I64, 0)                                    \
	X(0x0f3, v_cmpx_le_i64, 2, MASK, I64, 0)                                    \
	X(0x0f4, v_cmpx_gt_i64, 2, MASK, I64, 0)                                    \
	X(0x0f5, v_cmpx_ne_i64, 2, MASK, I64, 0)                                    \
	X(0x0f6, v_cmpx_ge_i64, 2, MASK, I64, 0)                                    \
	X(0x0f7, v_cmpx_t_i64, 2, MASK, I64, 0)                                     \
	X(0x0f8, v_cmpx_f_u64, 2, MASK, U64, 0)                                     \
	X(0x0f9, v_cmpx_lt_u64, 2, MASK, U64, 0)                                    \
	X(0x0fa, v_cmpx_eq_u64, 2, MASK, U64, 0)                                    \
	X(0x0fb, v_cmpx_le_u64, 2, MASK, U64, 0)                                    \
	X(0x0fc, v_cmpx_gt_u64, 2, MASK, U64, 0)                                    \
	X(0x0fd, v_cmpx_ne_u64, 2, MASK, U64, 0)                                    \
	X(0x0fe, v_cmpx_ge_u64, 2, MASK, U64, 0)                                    \
	X(0x0ff, v_cmpx_t_u64, 2, MASK, U64, 0)                                     \
	X(0x100, v_cndmask_b32, 2, B32, F32, GFX9_A_CARRY_IN)                       \
	X(0x101, v_add_f32, 2, F32, F32, 0)                                         \
	X(0x102, v_sub_f32, 2, F32, F32, 0)                                         \
	X(0x103, v_subrev_f32, 2, F32, F32, 0)                                      \
	X(0x104, v_mul_legacy_f32, 2, F32, F32, 0)                                  \
	X(0x105, v_mul_f32, 2, F32, F32, 0)                                         \
	X(0x106, v_mul_i32_i24, 2, I32, B32, 0)                                     \
	X(0x107, v_mul_hi_i32_i24, 2, I32, B32, 0)                                  \
	X(0x108, v_mul_u32_u24, 2, U32, B32, 0)                                     \
	X(0x109, v_mul_hi_u32_u24, 2, U32, B32, 0)                                  \
	X(0x10a, v_min_f32, 2, F32, F32, 0)                                         \
	X(0x10b, v_max_f32, 2, F32, F32, 0)                                         \
	X(0x10c, v_min_i32, 2, I32, I32, 0)                                         \
	X(0x10d, v_max_i32, 2, I32, I32, 0)                                         \
	X(0x10e, v_min_u32, 2, U32, U32, 0)                                         \
	X(0x10f, v_max_u32, 2, U32, U32, 0)                                         \
	X(0x110, v_lshrrev_b32, 2, B32, B32, 0)                                     \
	X(0x111, v_ashrrev_i32, 2, I32, I32, 0)                                     \
	X(0x112, v_lshlrev_b32, 2, B32, B32, 0)                                     \
	X(0x113, v_and_b32, 2, B32, B32, 0)                                         \
	X(0x114, v_or_b32, 2, B32, B32, 0)                                          \
	X(0x115, v_xor_b32, 2, B32, B32, 0)                                         \
	X(0x116, v_mac_f32, 2, F32, F32, GFX9_A_ACC)                                \
	X(0x117, v_madmk_f32, 2, F32, F32, GFX9_A_K)                                \
	X(0x118, v_madak_f32, 2, F32, F32, GFX9_A_K)                                \
	X(0x119, v_add_co_u32, 2, U32, U32, GFX9_A_CARRY_OUT)                       \
	X(0x11a, v_sub_co_u32, 2, U32, U32, GFX9_A_CARRY_OUT)                       \
	X(0x11b, v_subrev_co_u32, 2, U32, U32, GFX9_A_CARRY_OUT)                    \
	X(0x11c, v_addc_co_u32, 2, U32, U32, GFX9_A_CARRY_OUT | GFX9_A_CARRY_IN)    \
	X(0x11d, v_subb_co_u32, 2, U32, U32, GFX9_A_CARRY_OUT | GFX9_A_CARRY_IN)    \
	X(0x11e, v_subbrev_co_u32, 2, U32, U32, GFX9_A_CARRY_OUT | GFX9_A_CARRY_IN) \
	X(0x11f, v_add_f16, 2, F16, F16, 0)                                         \
	X(0x120, v_sub_f16, 2, F16, F16, 0)                                         \
	X(0x121, v_subrev_f16, 2, F16, F16, 0)                                      \
	X(0x122, v_mul_f16, 2, F16, F16, 0)                                         \
	X(0x123, v_mac_f16, 2, F16, F16, GFX9_A_ACC)                                \
	X(0x124, v_madmk_f16, 2, F16, F16, GFX9_A_K)                                \
	X(0x125, v_madak_f16, 2, F16, F16, GFX9_A_K)                                \
	X(0x126, v_add_u16, 2, U16, U16, 0)                                         \
	X(0x127, v_sub_u16, 2, U16, U16, 0)                                         \
	X(0x128, v_subrev_u16, 2, U16, U16, 0)                                      \
	X(0x129, v_mul_lo_u16, 2, U16, U16, 0)                                      \
	X(0x12a, v_lshlrev_b16, 2, B16, B16, 0)                                     \
	X(0x12b, v_lshrrev_b16, 2, B16, B16, 0)                                     \
	X(0x12c, v_ashrrev_i16, 2, I16, I16, 0)                                     \
	X(0x12d, v_max_f16, 2, F16, F16, 0)                                         \
	X(0x12e, v_min_f16, 2, F16, F16, 0)                                         \
	X(0x12f, v_max_u16, 2, U16, U16, 0)                                         \
	X(0x130, v_max_i16, 2, I16, I16, 0)                                         \
	X(0x131, v_min_u16, 2, U16, U16, 0)                                         \
	X(0x132, v_min_i16, 2, I16, I16, 0)                                         \
	X(0x133, v_ldexp_f16, 2, F16, F16, GFX9_A_S1_32)                            \
	X(0x134, v_add_u32, 2, U32, U32, 0)                                         \
	X(0x135, v_sub_u32, 2, U32, U32, 0)                                         \
	X(0x136, v_subrev_u32, 2, U32, U32, 0)                                      \
	X(0x13b, v_fmac_f32, 2, F32, F32, GFX9_A_ACC)                               \
	X(0x13d, v_xnor_b32, 2, B32, B32, 0)                                        \
	X(0x140, v_nop, 0, B32, B32, 0)                                             \
	X(0x141, v_mov_b32, 1, B32, B32, 0)                                         \
	X(0x142, v_readfirstlane_b32, 1, B32, B32, GFX9_A_SDST)                     \
	X(0x143, v_cvt_i32_f64, 1, I32, F64, 0)                                     \
	X(0x144, v_cvt_f64_i32, 1, F64, I32, 0)                                     \
	X(0x145, v_cvt_f32_i32, 1, F32, I32, 0)                                     \
	X(0x146, v_cvt_f32_u32, 1, F32, U32, 0)                                     \
	X(0x147, v_cvt_u32_f32, 1, U32, F32, 0)                                     \
	X(0x148, v_cvt_i32_f32, 1, I32, F32, 0)                                     \
	X(0x14a, v_cvt_f16_f32, 1, F16, F32, 0)                                     \
	X(0x14b, v_cvt_f32_f16, 1, F32, F16, 0)                                     \
	X(0x14c, v_cvt_rpi_i32_f32, 1, I32, F32, 0)                                 \
	X(0x14d, v_cvt_flr_i32_f32, 1, I32, F32, 0)                                 \
	X(0x14e, v_cvt_off_f32_i4, 1, F32, B32, 0)                                  \
	X(0x14f, v_cvt_f32_f64, 1, F32, F64, 0)                                     \
	X(0x150, v_cvt_f64_f32, 1, F64, F32, 0)                                     \
	X(0x151, v_cvt_f32_ubyte0, 1, F32, B32, 0)                                  \
	X(0x152, v_cvt_f32_ubyte1, 1, F32, B32, 0)                                  \
	X(0x153, v_cvt_f32_ubyte2, 1, F32, B32, 0)                                  \
	X(0x154, v_cvt_f32_ubyte3, 1, F32, B32, 0)                                  \
	X(0x155, v_cvt_u32_f64, 1, U32, F64, 0)                                     \
	X(0x156, v_cvt_f64_u32, 1, F64, U32, 0)                                     \
	X(0x157, v_trunc_f64, 1, F64, F64, 0)                                       \
	X(0x158, v_ceil_f64, 1, F64, F64, 0)                                        \
	X(0x159, v_rndne_f64, 1, F64, F64, 0)                                       \
	X(0x15a, v_floor_f64, 1, F64, F64, 0)                                       \
	X(0x15b, v_fract_f32, 1, F32, F32, 0)                                       \
	X(0x15c, v_trunc_f32, 1, F32, F32, 0)                                       \
	X(0x15d, v_ceil_f32, 1, F32, F32, 0)                                        \
	X(0x15e, v_rndne_f32, 1, F32, F32, 0)                                       \
	X(0x15f, v_floor_f32, 1, F32, F32, 0)                                       \
	X(0x160, v_exp_f32, 1, F32, F32, 0)                                         \
	X(0x161, v_log_f32, 1, F32, F32, 0)                                         \
	X(0x162, v_rcp_f32, 1, F32, F32, 0)                                         \
	X(0x163, v_rcp_iflag_f32, 1, F32, F32, 0)                                   \
	X(0x164, v_rsq_f32, 1, F32, F32, 0)                                         \
	X(0x165, v_rcp_f64, 1, F64, F64, 0)                                         \
	X(0x166, v_rsq_f64, 1, F64, F64, 0)                                         \
	X(0x167, v_sqrt_f32, 1, F32, F32, 0)                                        \
	X(0x168, v_sqrt_f64, 1, F64, F64, 0)                                        \
	X(0x169, v_sin_f32, 1, F32, F32, 0)                                         \
	X(0x16a, v_cos_f32, 1, F32, F32, 0)                                         \
	X(0x16b, v_not_b32, 1, B32, B32, 0)                                         \
	X(0x16c, v_bfrev_b32, 1, B32, B32, 0)                                       \
	X(0x16d, v_ffbh_u32, 1, U32, U32, 0)                                        \
	X(0x16e, v_ffbl_b32, 1, B32, B32, 0)                                        \
	X(0x16f, v_ffbh_i32, 1, I32, I32, 0)                                        \
	X(0x170, v_frexp_exp_i32_f64, 1, I32, F64, 0)                               \
	X(0x171, v_frexp_mant_f64, 1, F64, F64, 0)                                  \
	X(0x172, v_fract_f64, 1, F64, F64, 0)                                       \
	X(0x173, v_frexp_exp_i32_f32, 1, I32, F32, 0)                               \
	X(0x174, v_frexp_mant_f32, 1, F32, F32, 0)                                  \
	X(0x175, v_clrexcp, 0, B32, B32, 0)                                         \
	X(0x177, v_screen_partition_4se_b32, 0, B32, B32, GFX9_A_REFUSED)           \
	X(0x179, v_cvt_f16_u16, 1, F16, U16, 0)                                     \
	X(0x17a, v_cvt_f16_i16, 1, F16, I16, 0)                                     \
	X(0x17b, v_cvt_u16_f16, 1, U16, F16, 0)                                     \
	X(0x17c, v_cvt_i16_f16, 1, I16, F16, 0)                                     \
	X(0x17d, v_rcp_f16, 1, F16, F16, 0)                                         \
	X(0x17e, v_sqrt_f16, 1, F16, F16, 0)                                        \
	X(0x17f, v_rsq_f16, 1, F16, F16, 0)                                         \
	X(0x180, v_log_f16, 1, F16, F16, 0)                                         \
	X(0x181, v_exp_f16, 1, F16, F16, 0)                                         \
	X(0x182, v_frexp_mant_f16, 1, F16, F16, 0)                                  \
	X(0x183, v_frexp_exp_i16_f16, 1, I16, F16, 0)                               \
	X(0x184, v_floor_f16, 1, F16, F16, 0)                                       \
	X(0x185, v_ceil_f16, 1, F16, F16, 0)                                        \
	X(0x186, v_trunc_f16, 1, F16, F16, 0)                                       \
	X(0x187, v_rndne_f16, 1, F16, F16, 0)                                       \
	X(0x188, v_fract_f16, 1, F16, F16, 0)                                       \
	X(0x189, v_sin_f16, 1, F16, F16, 0)                                         \
	X(0x18a, v_cos_f16, 1, F16, F16, 0)                                         \
	X(0x18b, v_exp_legacy_f32, 1, F32, F32, 0)                                  \
	X(0x18c, v_log_legacy_f32, 1, F32, F32, 0)                                  \
	X(0x18d, v_cvt_norm_i16_f16, 1, I16, F16, 0)                                \
	X(0x18e, v_cvt_norm_u16_f16, 1, U16, F16, 0)                                \
	X(0x18f, v_sat_pk_u8_i16, 1, I16, I16, 0)                                   \
	X(0x191, v_swap_b32, 1, B32, B32, 0)                                        \
	X(0x1c0, v_mad_legacy_f32, 3, F32, F32, 0)                                  \
	X(0x1c1, v_mad_f32, 3, F32, F32, 0)                                         \
	X(0x1c2, v_mad_i32_i24, 3, I32, B32, 0)                                     \
	X(0x1c3, v_mad_u32_u24, 3, U32, B32, 0)                                     \
	X(0x1c4, v_cubeid_f32, 3, F32, F32, 0)                                      \
	X(0x1c5, v_cubesc_f32, 3, F32, F32, 0)                                      \
	X(0x1c6, v_cubetc_f32, 3, F32, F32, 0)                                      \
	X(0x1c7, v_cubema_f32, 3, F32, F32, 0)                                      \
	X(0x1c8, v_bfe_u32, 3, U32, U32, 0)                                         \
	X(0x1c9, v_bfe_i32, 3, I32, I32, 0)                                         \
	X(0x1ca, v_bfi_b32, 3, B32, B32, 0)                                         \
	X(0x1cb, v_fma_f32, 3, F32, F32, 0)                                         \
	X(0x1cc, v_fma_f64, 3, F64, F64, 0)                                         \
	X(0x1cd, v_lerp_u8, 3, B32, B32, 0)                                         \
	X(0x1ce, v_alignbit_b32, 3, B32, B32, 0)                                    \
	X(0x1cf, v_alignbyte_b32, 3, B32, B32, 0)                                   \
	X(0x1d0, v_min3_f32, 3, F32, F32, 0)                                        \
	X(0x1d1, v_min3_i32, 3, I32, I32, 0)                                        \
	X(0x1d2, v_min3_u32, 3, U32, U32, 0)                                        \
	X(0x1d3, v_max3_f32, 3, F32, F32, 0)                                        \
	X(0x1d4, v_max3_i32, 3, I32, I32, 0)                                        \
	X(0x1d5, v_max3_u32, 3, U32, U32, 0)                                        \
	X(0x1d6, v_med3_f32, 3, F32, F32, 0)                                        \
	X(0x1d7, v_med3_i32, 3, I32, I32, 0)                                        \
	X(0x1d8, v_med3_u32, 3, U32, U32, 0)                                        \
	X(0x1d9, v_sad_u8, 3, B32, B32, 0)                                          \
	X(0x1da, v_sad_hi_u8, 3, B32, B32, 0)                                       \
	X(0x1db, v_sad_u16, 3, B32, B32, 0)                                         \
	X(0x1dc, v_sad_u32, 3, U32, U32, 0)                                         \
	X(0x1dd, v_cvt_pk_u8_f32, 3, B32, F32, GFX9_A_S12_32)                       \
	X(0x1de, v_div_fixup_f32, 3, F32, F32, 0)                                   \
	X(0x1df, v_div_fixup_f64, 3, F64, F64, 0)                                   \
	X(0x1e0, v_div_scale_f32, 3, F32, F32, GFX9_A_CARRY_OUT)                    \
	X(0x1e1, v_div_scale_f64, 3, F64, F64, GFX9_A_CARRY_OUT)                    \
	X(0x1e2, v_div_fmas_f32, 3, F32, F32, 0)                                    \
	X(0x1e3, v_div_fmas_f64, 3, F64, F64, 0)                                    \
	X(0x1e4, v_msad_u8, 3, B32, B32, 0)                                         \
	X(0x1e5, v_qsad_pk_u16_u8, 3, B64, B64, 0)                                  \
	X(0x1e6, v_mqsad_pk_u16_u8, 3, B64, B64, 0)                                 \
	X(0x1e7, v_mqsad_u32_u8, 3, B64, B64, 0)                                    \
	X(0x1e8, v_mad_u64_u32, 3, U64, U32, GFX9_A_CARRY_OUT | GFX9_A_S2_64)       \
	X(0x1e9, v_mad_i64_i32, 3, I64, I32, GFX9_A_CARRY_OUT | GFX9_A_S2_64)       \
	X(0x1ea, v_mad_legacy_f16, 3, F16, F16, 0)                                  \
	X(0x1eb, v_mad_legacy_u16, 3, U16, U16, 0)                                  \
	X(0x1ec, v_mad_legacy_i16, 3, I16, I16, 0)                                  \
	X(0x1ed, v_perm_b32, 3, B32, B32, 0)                                        \
	X(0x1ee, v_fma_legacy_f16, 3, F16, F16, 0)                                  \
	X(0x1ef, v_div_fixup_legacy_f16, 3, F16, F16, 0)                            \
	X(0x1f0, v_cvt_pkaccum_u8_f32, 2, B32, F32, 0)                              \
	X(0x1f1, v_mad_u32_u16, 3, U32, U16, 0)                                     \
	X(0x1f2, v_mad_i32_i16, 3, I32, I16, 0)                                     \
	X(0x1f3, v_xad_u32, 3, U32, U32, 0)                                         \
	X(0x1f4, v_min3_f16, 3, F16, F16, 0)                                        \
	X(0x1f5, v_min3_i16, 3, I16, I16, 0)                                        \
	X(0x1f6, v_min3_u16, 3, U16, U16, 0)                                        \
	X(0x1f7, v_max3_f16, 3, F16, F16, 0)                                        \
	X(0x1f8, v_max3_i16, 3, I16, I16, 0)                                        \
	X(0x1f9, v_max3_u16, 3, U16, U16, 0)                                        \
	X(0x1fa, v_med3_f16, 3, F16, F16, 0)                                        \
	X(0x1fb, v_med3_i16, 3, I16, I16, 0)                                        \
	X(0x1fc, v_med3_u16, 3, U16, U16, 0)                                        \
	X(0x1fd, v_lshl_add_u32, 3, U32, U32, 0)                                    \
	X(0x1fe, v_add_lshl_u32, 3, U32, U32, 0)                                    \
	X(0x1ff, v_add3_u32, 3, U32, U32, 0)                                        \
	X(0x200, v_lshl_or_b32, 3, B32, B32, 0)                                     \
	X(0x201, v_and_or_b32, 3, B32, B32, 0)                                      \
	X(0x202, v_or3_b32, 3, B32, B32, 0)                                         \
	X(0x203, v_mad_f16, 3, F16, F16, 0)                                         \
	X(0x204, v_mad_u16, 3, U16, U16, 0)                                         \
	X(0x205, v_mad_i16, 3, I16, I16, 0)                                         \
	X(0x206, v_fma_f16, 3, F16, F16, 0)                                         \
	X(0x207, v_div_fixup_f16, 3, F16, F16, 0)                                   \
	X(0x270, v_interp_p1_f32, 0, B32, B32, GFX9_A_REFUSED)                      \
	X(0x271, v_interp_p2_f32, 0, B32, B32, GFX9_A_REFUSED)                      \
	X(0x272, v_interp_mov_f32, 0, B32, B32, GFX9_A_REFUSED)                     \
	X(0x274, v_interp_p1ll_f16, 0, B32, B32, GFX9_A_REFUSED)                    \
	X(0x275, v_interp_p1lv_f16, 0, B32, B32, GFX9_A_REFUSED)                    \
	X(0x276, v_interp_p2_legacy_f16, 0, B32, B32, GFX9_A_REFUSED)               \
	X(0x277, v_interp_p2_f16, 0, B32, B32, GFX9_A_REFUSED)                      \
	X(0x280, v_add_f64, 2, F64, F64, 0)                                         \
	X(0x281, v_mul_f64, 2, F64, F64, 0)                                         \
	X(0x282, v_min_f64, 2, F64, F64, 0)                                         \
	X(0x283, v_max_f64, 2, F64, F64, 0)                                         \
	X(0x284, v_ldexp_f64, 2, F64, F64, GFX9_A_S1_32)                            \
	X(0x285, v_mul_lo_u32, 2, U32, U32, 0)                                      \
	X(0x286, v_mul_hi_u32, 2, U32, U32, 0)                                      \
	X(0x287, v_mul_hi_i32, 2, I32, I32, 0)                                      \
	X(0x288, v_ldexp_f32, 2, F32, F32, GFX9_A_S1_32)                            \
	X(0x289, v_readlane_b32, 2, B32, B32, GFX9_A_SDST)                          \
	X(0x28a, v_writelane_b32, 2, B32, B32, 0)                                   \
	X(0x28b, v_bcnt_u32_b32, 2, B32, B32, 0)                                    \
	X(0x28c, v_mbcnt_lo_u32_b32, 2, B32, B32, 0)                                \
	X(0x28d, v_mbcnt_hi_u32_b32, 2, B32, B32, 0)                                \
	X(0x28f, v_lshlrev_b64, 2, B64, B64, GFX9_A_S0_32)                          \
	X(0x290, v_lshrrev_b64, 2, B64, B64, GFX9_A_S0_32)                          \
	X(0x291, v_ashrrev_i64, 2, I64, I64, GFX9_A_S0_32)                          \
	X(0x292, v_trig_preop_f64, 2, F64, F64, GFX9_A_S1_32)                       \
	X(0x293, v_bfm_b32, 2, B32, B32, 0)                                         \
	X(0x294, v_cvt_pknorm_i16_f32, 2, B32, F32, 0)                              \
	X(0x295, v_cvt_pknorm_u16_f32, 2, B32, F32, 0)                              \
	X(0x296, v_cvt_pkrtz_f16_f32, 2, B32, F32, 0)                               \
	X(0x297, v_cvt_pk_u16_u32, 2, B32, U32, 0)                                  \
	X(0x298, v_cvt_pk_i16_i32, 2, B32, I32, 0)                                  \
	X(0x299, v_cvt_pknorm_i16_f16, 2, B32, F16, 0)                              \
	X(0x29a, v_cvt_pknorm_u16_f16, 2, B32, F16, 0)                              \
	X(0x29c, v_add_i32, 2, I32, I32, 0)                                         \
	X(0x29d, v_sub_i32, 2, I32, I32, 0)                                         \
	X(0x29e, v_add_i16, 2, I16, I16, 0)                                         \
	X(0x29f, v_sub_i16, 2, I16, I16, 0)                                         \
	X(0x2a0, v_pack_b32_f16, 2, B32, F16, 0)

#endif
