/* SPDX-License-Identifier: MIT */
/*
 * gfx9_save.h - a workgroup in a save area: what the gfx9 interpreter writes.
 *
 * A header; then for each wave its registers; then for each wave its VGPRs, in
 * rows of 64 lanes; then LDS. Little-endian, packed as C would, a multiple of 8
 * bytes. As many workgroups as a CU holds fit into the CU's share of the area
 * that the KFD asks for (kfd_queue.c).
 */
#ifndef GFX9_SAVE_H
#define GFX9_SAVE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#define GFX9_SAVE_MAGIC 0x39584647u /* "GFX9" */
#define GFX9_SAVE_VERSION 1

struct gfx9_save_header {
	uint32_t magic;
	uint32_t version;
	uint32_t wave_count;
	uint32_t vgpr_count;
	uint32_t sgpr_count;
	uint32_t lds_bytes;
	uint32_t id[3];
	uint32_t scratch_slot;
	uint32_t hw_id;
	uint32_t next_wave;
	uint64_t owner[4];
};

struct gfx9_save_wave {
	uint64_t pc;
	uint64_t exec;
	uint64_t instructions;
	uint32_t sgpr[102];
	uint32_t flat_scratch[2];
	uint32_t xnack_mask[2];
	uint32_t vcc[2];
	uint32_t m0;
	uint32_t mode;
	uint32_t trap_status;
	uint16_t state; /* enum gfx9_wave_state */
	uint16_t scc;
};

#endif
