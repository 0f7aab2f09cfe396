/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * gfx9.h - an interpreter of gfx900 and gfx906 machine code.
 *
 * It executes waves of 64 lanes, one workgroup at a time, over memory that its caller
 * translates, and saves or restores a workgroup between any two instructions. It allocates
 * nothing, never sleeps, prints nothing, and keeps no state outside its caller's memory. The
 * instructions are those of AMD's "Vega" Instruction Set Architecture reference. A wave starts
 * as in LLVM's AMDGPU usage page, "Initial Kernel Execution State".
 *
 * Typical use, per kernel-dispatch packet:
 *
 * gfx9_dispatch_init(&dispatch, packet, descriptor, &queue); for each workgroup id: wg =
 * memory of gfx9_workgroup_bytes(&dispatch.shape), zeroed or not gfx9_workgroup_init(wg,
 * &dispatch, id, scratch_slot); do gfx9_workgroup_run(env, wg, budget, &result); while
 * (result.stop == GFX9_STOP_BUDGET);
 *
 * and to preempt between two runs, gfx9_workgroup_save(); later, perhaps in other memory,
 * gfx9_save_probe() and gfx9_workgroup_restore().
 *
 * Threads: one thread at a time uses one env and one workgroup. Several env objects run
 * different workgroups at once, over the same memory. In the kernel: process context (runs use
 * the FPU in short sections of their own, during which preemption is off, so translate() may
 * not sleep).
 */
#ifndef GFX9_H
#define GFX9_H

#include "gfx9_platform.h"

#define GFX9_LANES 64
#define GFX9_MAX_WAVES 16 /* of a workgroup: 1,024 work items */
#define GFX9_MAX_VGPRS 256
#define GFX9_MAX_SGPRS 102
#define GFX9_MAX_LDS_BYTES 65536

/* ---- memory -------------------------------------------------------------- */

enum gfx9_access {
	GFX9_READ = 1,
	GFX9_WRITE = 2,
	GFX9_EXECUTE = 4, /* an instruction fetch */
};

/**
 * struct gfx9_ops - callbacks of the interpreter
 * @translate: the address in this kernel (process) of GPU address @va
 * @clock: the constant 100 MHz counter (s_memrealtime), and the shader clock (s_memtime)
 *	when @shader.
 * @message: s_sendmsg with its 16 bits and M0. ROCm's device library sends interrupts
 *	this way (message 1, M0 the event id). May not sleep. NULL: ignored.
 *
 * @ctx is that of gfx9_env_init().
 *
 * @translate's access is GFX9_READ, GFX9_WRITE, both for an atomic, or GFX9_EXECUTE. It sets
 * span_bytes to the number of contiguous bytes from there. va is a multiple of 4,096 and the
 * span at least that: there are no smaller pages. NULL: a memory fault. The result is used
 * until the calling gfx9_wave_run() or gfx9_workgroup_run() returns; the caller keeps the page
 * until then. Called with preemption off; may not sleep.
 */
struct gfx9_ops {
	void *(*translate)(void *ctx, u64 va, u32 access, u64 *span_bytes);
	u64 (*clock)(void *ctx, bool shader);
	void (*message)(void *ctx, u32 message, u32 m0);
};

/**
 * struct gfx9_env - one runner: its address space and its caches
 *
 * The caller allocates gfx9_env_bytes(), aligned to 64, and calls gfx9_env_init(). Decoded
 * instructions are kept between runs, checked against memory each time, so there is nothing to
 * flush (but see @keeps_code). Translations are dropped at the start of each run.
 */
struct gfx9_env;

/**
 * struct gfx9_env_config - parameters of a runner
 * @ops: see there; must outlive the env
 * @ctx: passed to @ops. May be changed between runs by gfx9_env_set_ctx().
 * @shared_base: the LDS aperture's address for flat accesses (SH_MEM_BASES)
 * @private_base: the scratch aperture's address
 * @keeps_code: an instruction cache as silicon has it: what was fetched once is executed, whatever
 *	memory holds, until gfx9_env_drop_code()
 */
struct gfx9_env_config {
	const struct gfx9_ops *ops;
	void *ctx;
	u64 shared_base;
	u64 private_base;
	bool keeps_code;
};

size_t gfx9_env_bytes(void);
void gfx9_env_init(struct gfx9_env *env, const struct gfx9_env_config *config);
void gfx9_env_set_ctx(struct gfx9_env *env, void *ctx);
/** gfx9_env_drop_code - invalidate the instruction cache of a runner that keeps code */
void gfx9_env_drop_code(struct gfx9_env *env);
/** gfx9_env_stale_code - where code was executed that memory does not hold; 0: nowhere since the
 *  last call
 */
u64 gfx9_env_stale_code(struct gfx9_env *env);

/* ---- state --------------------------------------------------------------- */

/* Where a scalar operand's number points: SGPRs first, then these. */
enum gfx9_sreg {
	GFX9_FLAT_SCRATCH = 102, /* and 103 */
	GFX9_XNACK_MASK = 104,
	GFX9_VCC = 106,
	GFX9_TTMP0 = 108,
	GFX9_M0 = 124,
	GFX9_EXEC = 126,
	GFX9_SREG_COUNT = 128,
};

enum gfx9_wave_state {
	GFX9_WAVE_READY,
	GFX9_WAVE_AT_BARRIER,
	GFX9_WAVE_ENDED,
	GFX9_WAVE_HALTED,  /* s_sethalt 1 */
	GFX9_WAVE_STOPPED, /* faulted, trapped, or met an unknown instruction */
};

/**
 * struct gfx9_wave - one wave
 * @s: scalar registers by operand number; pairs are aligned: &s[GFX9_EXEC]
 * @q: the same, as 64-bit pairs: q[GFX9_EXEC / 2]
 * @vgpr: vgpr_count rows of 64 lanes
 * @pc: the next instruction's address; after a fault the faulting one's
 * @mode: the MODE register (rounding, denormals, DX10_CLAMP, IEEE, GPR_IDX_EN, ...)
 * @trap_status: the TRAPSTS register
 * @state: enum gfx9_wave_state
 * @scc: 0 or 1
 * @instructions: executed so far
 */
struct gfx9_wave {
	union {
		u32 s[GFX9_SREG_COUNT];
		u64 q[GFX9_SREG_COUNT / 2];
	};
	u32 (*vgpr)[GFX9_LANES];
	u32 vgpr_count;
	u64 pc;
	u64 instructions;
	u32 mode;
	u32 trap_status;
	u32 state;
	u32 scc;
};

/* A workgroup's needs on its CU, and with that the sizes of all buffers. */
struct gfx9_shape {
	u32 wave_count;
	u32 vgpr_count; /* allocated, per lane */
	u32 sgpr_count; /* allocated, without VCC and the like */
	u32 lds_bytes;
};

/**
 * struct gfx9_workgroup - one workgroup in execution
 * @id: workgroup id in x, y, z
 * @owner: the caller's own words; saved and restored with the workgroup (for instance its
 *	packet)
 * @scratch_slot: first of its wave_count scratch slots
 * @hw_id: the value of s_getreg_b32 HW_REG_HW_ID; the caller may set it
 * @next_wave: where gfx9_workgroup_run() continues
 * @waves: wave_count of them
 */
struct gfx9_workgroup {
	struct gfx9_shape shape;
	u32 id[3];
	u32 scratch_slot;
	u32 hw_id;
	u32 next_wave;
	u64 owner[4];
	u8 *lds;
	struct gfx9_wave waves[];
};

/* Bytes of memory for a workgroup in execution: registers, LDS and all; 8-aligned. */
size_t gfx9_workgroup_bytes(const struct gfx9_shape *shape);

/* ---- starting ------------------------------------------------------------ */

/**
 * struct gfx9_queue - the queue's values for a dispatch
 * @queue_va: address of the amd_queue_t
 * @packet_va: address of the packet in the ring
 * @dispatch_id: the packet's index
 * @scratch_resource: amd_queue_t.scratch_resource_descriptor
 * @scratch_base: amd_queue_t.scratch_backing_memory_location (a GPU address)
 * @scratch_wave_bytes: one wave's slot: COMPUTE_TMPRING_SIZE.WAVESIZE * 1024
 */
struct gfx9_queue {
	u64 queue_va;
	u64 packet_va;
	u64 dispatch_id;
	u32 scratch_resource[4];
	u64 scratch_base;
	u32 scratch_wave_bytes;
};

#define GFX9_PACKET_BYTES 64
#define GFX9_DESCRIPTOR_BYTES 64

/**
 * struct gfx9_dispatch - a kernel-dispatch packet, understood
 * @shape: of each of its workgroups
 * @groups: number of workgroups in x, y, z
 * @grid: work items in x, y, z; the last workgroups may be partial
 * @group: work items of a workgroup
 * @private_bytes: scratch per work item (the packet's private_segment_size)
 * @wave_scratch_bytes: scratch a wave needs: 64 * private_bytes, rounded up to
 *	1,024. If it is more than queue.scratch_wave_bytes, the caller must ask
 *	the runtime for scratch first (queue_inactive_signal) and not run it.
 * @completion_signal: as in the packet
 */
struct gfx9_dispatch {
	struct gfx9_shape shape;
	u32 groups[3];
	u32 grid[3];
	u32 group[3];
	u32 private_bytes;
	u32 wave_scratch_bytes;
	u64 completion_signal;
	u64 kernel_object;
	u64 kernarg_va;
	u64 entry;
	u32 rsrc1;
	u32 rsrc2;
	u32 properties;
	struct gfx9_queue queue;
};

/* The descriptor's address that a packet names. */
u64 gfx9_packet_kernel_object(const void *packet);

/**
 * gfx9_dispatch_init() - parse a packet
 * @packet: GFX9_PACKET_BYTES, an hsa_kernel_dispatch_packet_t
 * @descriptor: GFX9_DESCRIPTOR_BYTES read at its kernel_object (an amd_kernel_descriptor,
 *	or the head of an amd_kernel_code_t: both have these fields at the same offsets)
 *
 * Return: 0; -EINVAL: packet or descriptor cannot be run (zero sizes, more than 1,024 work
 * items or 64 KiB of LDS, more registers than a CU has, wave32).
 */
int gfx9_dispatch_init(struct gfx9_dispatch *dispatch, const void *packet, const void *descriptor,
		       const struct gfx9_queue *queue);

/* How many such workgroups a CU holds by registers, LDS, waves and save area. */
u32 gfx9_workgroups_per_cu(const struct gfx9_shape *shape);

/* Starts workgroup @id of @dispatch in @wg's memory. */
void gfx9_workgroup_init(struct gfx9_workgroup *wg, const struct gfx9_dispatch *dispatch,
			 const u32 id[3], u32 scratch_slot);

/* ---- running ------------------------------------------------------------- */

enum gfx9_stop {
	GFX9_STOP_BUDGET,  /* max_instructions were executed */
	GFX9_STOP_ENDED,   /* s_endpgm (of all waves, for a workgroup) */
	GFX9_STOP_BARRIER, /* the wave waits for others (not of a workgroup) */
	GFX9_STOP_SLEEP,   /* s_sleep, of all waves that can run */
	GFX9_STOP_HALT,	   /* s_sethalt, of all waves that have not ended */
	GFX9_STOP_FAULT,   /* memory fault */
	GFX9_STOP_UNKNOWN, /* unknown or unsupported instruction */
	GFX9_STOP_TRAP,	   /* s_trap */
};

/**
 * struct gfx9_result - how a run ended
 * @stop: enum gfx9_stop
 * @wave: number of the wave (FAULT, UNKNOWN, TRAP)
 * @executed: wave-instructions executed in this run
 * @sleep_cycles: of s_sleep, the shortest (SLEEP)
 * @pc: of the instruction (FAULT, UNKNOWN, TRAP)
 * @address, @access: the failed translation (FAULT)
 * @encoding: the instruction's first two dwords (UNKNOWN)
 * @mnemonic: its name, or NULL: unknown opcode (UNKNOWN)
 * @trap_id: of s_trap (TRAP)
 */
struct gfx9_result {
	u32 stop;
	u32 wave;
	u64 executed;
	u32 sleep_cycles;
	u32 trap_id;
	u64 pc;
	u64 address;
	u32 access;
	u32 encoding[2];
	const char *mnemonic;
};

/**
 * gfx9_wave_run() - run one wave
 *
 * A wave that waits, ended or stopped executes nothing: BARRIER, ENDED, HALT. After FAULT,
 * UNKNOWN and TRAP the wave is GFX9_WAVE_STOPPED and runs no more. TRAP leaves pc at s_trap:
 * to continue, a caller sets pc += 4 and state = GFX9_WAVE_READY.
 */
void gfx9_wave_run(struct gfx9_env *env, struct gfx9_workgroup *wg, u32 wave, u64 max_instructions,
		   struct gfx9_result *result);

/**
 * gfx9_workgroup_run() - run a workgroup's waves in turn
 *
 * Deterministic: the same state, memory and budgets give the same order.
 */
void gfx9_workgroup_run(struct gfx9_env *env, struct gfx9_workgroup *wg, u64 max_instructions,
			struct gfx9_result *result);

/* ---- saving (layout in gfx9_save.h) --------------------------------------- */

/*
 * Copies bytes to or from the save area at @offset: 0, or -errno, which stops
 * the save or the restore. May sleep.
 */
typedef int (*gfx9_save_write)(void *ctx, u64 offset, const void *from, size_t bytes);
typedef int (*gfx9_save_read)(void *ctx, u64 offset, void *to, size_t bytes);

/* Bytes that gfx9_workgroup_save() will write; a multiple of 8. */
u64 gfx9_save_bytes(const struct gfx9_shape *shape);

int gfx9_workgroup_save(const struct gfx9_workgroup *wg, gfx9_save_write write, void *ctx);

/**
 * gfx9_save_probe() - read and check a save area
 * @available: bytes that may be read from offset 0 on
 *
 * Return: 0 and the shape; -EINVAL: not a save, or of another layout.
 */
int gfx9_save_probe(gfx9_save_read read, void *ctx, u64 available, struct gfx9_shape *shape);

/*
 * gfx9_workgroup_restore() - into memory of gfx9_workgroup_bytes(shape), with
 * gfx9_save_probe()'s shape. The save area's user may write to it: for any contents, no run
 * reaches outside the workgroup's memory.
 */
int gfx9_workgroup_restore(struct gfx9_workgroup *wg, const struct gfx9_shape *shape,
			   gfx9_save_read read, void *ctx);

/* ---- decoding ------------------------------------------------------------ */

/*
 * The instruction's name as LLVM writes it, without a suffix for its encoding
 * (_e32, _sdwa, ...), or NULL. @size_dwords: 1 or 2.
 */
const char *gfx9_mnemonic(const u32 encoding[2], u32 *size_dwords);

#endif
