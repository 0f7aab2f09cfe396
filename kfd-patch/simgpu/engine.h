/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The engine half of the software GPU: shared by its files.
 *
 * One kernel thread per GPU plays the hardware. It sleeps while no queue is active; else it
 * reads doorbells every poll_ns and lets the compute units catch up with the clock. Files:
 *
 *	engine.c	the thread, power, reset
 *	regs.c		registers, their banks and side effects
 *	hqd.c		hardware queue descriptors: load, dequeue, reset
 *	save.c		waves to and from the save area
 *	cp.c		AQL packets, signals, queue errors
 *	pm4.c		the PM4 packets that user space sends
 *	sdma.c		copy engines
 *	cu.c		workgroups on compute units, in modelled time
 *	doorbell.c	sleep until a doorbell is rung
 *	tlb.c		a TLB per VMID, memory by virtual address
 *	events.c	event log, counters, self-checks, debugfs
 *	xcc.c		the other XCCs of a card with several
 *	hws*.c		the firmware's scheduler
 *	silicon.c	differences from all of this, to plant
 *
 * Locks, in this order:
 *	run_lock (mutex)	all state of the thread. Not held over a
 *				register access, so the driver may wait for a
 *				queue with any lock of its own held
 *	reg_lock (spinlock)	the register file and the requests in it
 *	log_lock (spinlock)	the event log
 *
 * Time is ktime_get_ns() of the machine that runs the module (CLOCK_MONOTONIC), so that tests
 * can compare it with their own.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <linux/bitmap.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "gfx9.h"
#include "silicon.h"
#include "sim.h"

/* MEC 1 of gfx9: 4 pipes of 8 queues (gfx_v9_0.c, gfx_v9_0_mec_init()). */
#define SIM_PIPES 4
#define SIM_PIPE_QUEUES 8
#define SIM_HQDS (SIM_PIPES * SIM_PIPE_QUEUES)
#define SIM_MES 3
#define SIM_BANKS (SIM_MES * SIM_HQDS)
#define SIM_VMIDS 16

/* Queues of an SDMA engine: SDMA 4.0 has RLC0 and RLC1 (sdma0_4_0_offset.h, and
 * kfd_device_info_set_sdma_info() of kfd_device.c).
 */
#define SIM_SDMA_RLCS 2
#define SIM_SDMA_QUEUES (2 * SIM_SDMA_RLCS)
#define SIM_SDMA_PACKET_DWORDS 4096

/* CP_MQD_BASE_ADDR to CP_HQD_PQ_WPTR_HI, in the MQD's order. */
#define SIM_HQD_REGS 56
#define SIM_REGS SIM_XCC_REGS

#define SIM_INFLIGHT 8	       /* packets of one queue under way */
#define SIM_SCRATCH_SLOTS 4096 /* COMPUTE_TMPRING_SIZE.WAVES has 12 bits */
#define SIM_PKT_BYTES 64
#define SIM_PKT_DWORDS 16

/*
 * No queue writes this packet index to a doorbell: it marks a doorbell that was not written
 * since the last poll. (An AQL doorbell takes the packet's index, and the first is 0, so
 * "changed" would not do.)
 */
#define SIM_DOORBELL_QUIET (~0ull)

/*
 * One CU's resources: "Vega" ISA, 3.6 and 3.7: 4 SIMDs with 256 VGPRs and 10 waves each, 64
 * KiB of LDS. The last is the KFD's reservation per CU in the save area (kfd_queue.c,
 * WG_CONTEXT_DATA_SIZE_PER_CU).
 */
#define SIM_CU_WAVES 40
#define SIM_CU_VGPRS 1024
#define SIM_CU_LDS_BYTES 65536
#define SIM_CU_SAVE_BYTES 0x55000

enum sim_check {
	SIM_CHECK_SLOT_BUSY,
	SIM_CHECK_MQD_TWICE,
	SIM_CHECK_MQD_FREED,
	SIM_CHECK_VMID_LIVE,
	SIM_CHECK_VMID_UNSET,
	SIM_CHECK_STALE_TLB,
	SIM_CHECK_STALE_CODE,
	SIM_CHECK_DOORBELL_TWICE,
	SIM_CHECK_XCC,
	SIM_CHECK_NO_TRAP,
	SIM_CHECK_RESTORED_TWICE,
	SIM_CHECK_NOT_RESTORED,
	SIM_CHECK_SAVE_AREA,
	SIM_CHECK_DEVICE_USED,
	SIM_CHECK_COUNT,
};

enum sim_event {
	SIM_EV_LOAD,
	SIM_EV_LOADED,
	SIM_EV_FIRST_WAVE,
	SIM_EV_IDLE,
	SIM_EV_DEQUEUE,
	SIM_EV_UNLOADED,
	SIM_EV_DROPPED,
	SIM_EV_DOORBELL,
	SIM_EV_LAUNCH,
	SIM_EV_COMPLETE,
	SIM_EV_FAULT,
	SIM_EV_ERROR,
	SIM_EV_VMID,
	SIM_EV_FLUSH,
	SIM_EV_RESET,
	SIM_EV_COUNT,
};

/* Modelled times and faults to plant, all set by debugfs. */
struct sim_params {
	u64 insn_ns;
	u64 slice_ns;
	u64 poll_ns;
	u64 idle_poll_ns;
	u64 max_lag_ns;
	u64 dispatch_ns;
	u64 save_ns;
	u64 save_kib_ns;
	u64 load_ns;
	u64 load_kib_ns;
	u64 reset_ns;
	u64 sdma_kib_ns;
	u64 hws_turn_ns;
	u32 quantum;
	u32 ih_pasid;

	u32 fault_pasid;
	u32 fault_ignore;
	u32 fault_late;
	u64 fault_late_ns;
	u64 fault_save_ns;
	u32 fault_wave;
	u32 fault_no_reset;
};

struct sim_log_entry {
	u64 ns;
	u64 queue_va;
	u64 value;
	u32 pasid;
	u8 kind;
	u8 hqd;
	u8 vmid;
	u8 pad;
};

#define SIM_LOG_ENTRIES 65536

/*
 * The account of a queue, kept beyond its stay on an HQD. Its pasid, its ring's address and
 * its MQD identify it.
 */
struct sim_queue_stat {
	struct list_head link;
	u32 pasid;
	u32 users;
	u64 queue_va;
	u64 mqd;
	u64 loads;
	u64 saves;
	u64 saves_midwave;
	u64 groups_saved;
	u64 groups_restored;
	u64 packets;
	u64 instructions;
	u64 loaded_ns;
	u64 busy_ns;
	u64 cu_ns;
	u64 last_load_ns;
	u64 last_unload_ns;
};

/* A save in a save area; recorded so that a second restore is found. */
struct sim_saved {
	struct list_head link;
	u64 mqd;
	u64 id;
	unsigned int hqd;
	u32 vmid;
};

/* A slot of another XCC than the first. */
struct sim_xcc_hqd {
	u32 regs[SIM_HQD_REGS];
	u64 until_ns; /* end of its dequeue; 0: none */
};

/* Another XCC than the first; by reg_lock. */
struct sim_xcc {
	unsigned int index;
	u32 grbm_cntl;
	u64 tba[SIM_VMIDS];
	u32 *regs; /* all others */
	struct sim_xcc_hqd hqds[SIM_HQDS];
};

struct sim_hqd;
struct sim_cu;

enum sim_packet_state {
	SIM_PACKET_FREE,
	SIM_PACKET_RUNNING,
	SIM_PACKET_DONE,
};

/* A packet of a queue between its launch and the move of the read index. */
struct sim_packet {
	enum sim_packet_state state;
	u64 index;
	u64 groups_total;
	u64 next_group;
	u32 live;	   /* groups in execution */
	u32 scratch_waves; /* slots that the queue has */
	u64 ready_ns;	   /* no wave before this */
	u64 start_ns;
	struct gfx9_dispatch dispatch;
};

/* A workgroup in execution: on a CU's list, or parked without a CU. */
struct sim_group {
	struct list_head hqd_link;
	struct list_head cu_link;
	struct sim_hqd *hqd;
	struct sim_packet *packet;
	struct sim_cu *cu;
	size_t bytes;
	u64 save_bytes;
	u64 wake_ns;
	bool stopped;
	bool has_scratch;
	struct gfx9_workgroup *wg;
};

struct sim_cu {
	struct list_head groups;
	u64 clock_ns; /* progress of its waves */
	u32 waves;
	u32 vgprs;
	u32 lds_bytes;
	u32 save_bytes;
};

enum sim_hqd_state {
	SIM_HQD_OFF,
	SIM_HQD_LOADING,
	SIM_HQD_RUNNING,
	SIM_HQD_DRAINING,
	SIM_HQD_RESETTING,
	SIM_HQD_SAVING,
};

/* CP_HQD_DEQUEUE_REQUEST.DEQUEUE_REQ; the names are amdgpu_amdkfd_gfx_v9.c's. */
#define SIM_DEQUEUE_DRAIN 1
#define SIM_DEQUEUE_RESET 2
#define SIM_DEQUEUE_SAVE 3

#define SIM_REQ_LOAD BIT(0)
#define SIM_REQ_DEQUEUE BIT(1)
#define SIM_REQ_POLL BIT(2)
#define SIM_REQ_OFF BIT(3)
#define SIM_REQ_QUEUE_RESET BIT(4)

struct sim_hqd {
	/* Protected by reg_lock. */
	u32 *regs;
	unsigned long requests;
	u64 load_ns;
	u64 dequeue_ns;
	u32 dequeue_type;

	/* The rest: by run_lock. */
	unsigned int index;
	enum sim_hqd_state state;
	u64 until_ns;	 /* end of LOADING, RESETTING, SAVING */
	bool silent;	 /* planted: does not answer */
	bool halted;	 /* a queue error: takes no more packets */
	bool xccs_ready; /* all XCCs have it */
	bool waiting_scratch;
	bool idle_logged;
	bool wave_logged;
	bool aql;

	u32 pasid;
	u32 vmid;
	u64 mqd;
	u64 ring_va;
	u64 ring_packets; /* for PM4: in dwords */
	u64 rptr_report_va;
	u64 wptr_poll_va;
	u64 *doorbell;
	u64 save_va;
	u32 save_size;
	u32 stack_size;
	u32 stack_offset;
	u32 state_offset;

	u64 rptr; /* oldest unfinished packet */
	u64 next; /* next to launch */
	u64 wptr;
	bool poll;	 /* the driver requested to read it from memory */
	u32 rptr_dwords; /* as loaded; CP_HQD_PQ_RPTR has 32 bits */
	u64 load_from_ns;
	u64 dequeue_from_ns;
	u32 dequeue;
	struct sim_packet packets[SIM_INFLIGHT];
	struct list_head groups;
	u32 group_count;
	u32 parked; /* of them, without a CU */
	u32 waves;  /* of them all; read without run_lock too */
	DECLARE_BITMAP(scratch_slots, SIM_SCRATCH_SLOTS);
	u64 busy_since_ns;
	u64 active_since_ns;
	struct sim_queue_stat *stat;
};

/* A queue of an SDMA engine. */
struct sim_sdma {
	/* Protected by reg_lock. */
	bool changed;
	u32 base; /* of its registers; constant, as @engine */
	unsigned int engine;

	/* The rest: by run_lock. */
	bool running;
	bool halted;
	u32 vmid;
	u64 ring_va;
	u64 ring_bytes;
	u64 report_va;
	u64 *doorbell;
	u64 rptr;
	u64 wptr;
	u64 piece; /* progress of a packet under way */
	u64 busy_until_ns;
};

struct sim_tlb_entry {
	u64 page_number;
	u64 pt_base;
	u64 flags;
	struct page *page; /* NULL: empty */
};

#define SIM_TLB_BITS 9
#define SIM_TLB_ENTRIES BIT(SIM_TLB_BITS)

struct sim_vmid {
	struct sim_engine *engine;

	/* Protected by run_lock. */
	struct sim_tlb_entry *tlb;
	struct gfx9_env *env;
	u32 env_bases;
	u32 code_epoch; /* of the last look at sim_engine.code_epoch */

	/* Registers, protected by reg_lock. */
	u32 sh_mem_config;
	u32 sh_mem_bases;
	u64 tba;
	u64 tma;
};

#define SIM_MAPPED_FILES 4

/* File and offset of the processes' doorbell mappings. */
struct sim_mapped {
	struct inode *inode;
	struct address_space *mapping;
	unsigned long pgoff;
};

struct sim_engine {
	struct sim_gpu *sim;
	struct task_struct *task;
	struct mutex run_lock; /* see the top of this file */
	spinlock_t reg_lock;   /* the same */
	spinlock_t log_lock;   /* the same */

	/* Protected by reg_lock. */
	u32 *regs;
	u32 banks[SIM_BANKS][SIM_HQD_REGS];
	u32 grbm_cntl;
	u32 kill_vmids;
	unsigned long request_map; /* one bit per HQD */
	bool powered;

	bool kicked;	 /* READ_ONCE, WRITE_ONCE */
	bool armed;	 /* the same: a doorbell would wake us */
	bool cannot_arm; /* the same */

	/* doorbell.c's own. */
	struct list_head link;
	struct sim_mapped mapped[SIM_MAPPED_FILES];
	unsigned int mapped_files;

	struct sim_params params; /* by debugfs: READ_ONCE */

	/* Protected by run_lock. */
	struct sim_vmid vmids[SIM_VMIDS];
	struct sim_hqd hqds[SIM_HQDS];
	struct sim_sdma sdma[SIM_SDMA_QUEUES];
	u32 sdma_packet[SIM_SDMA_PACKET_DWORDS];
	struct sim_cu *cus;
	unsigned int cu_count;
	unsigned int next_cu;
	unsigned int next_hqd;
	struct list_head free_groups;
	unsigned int free_group_count;
	void *stack; /* for a control stack */
	size_t stack_bytes;
	struct list_head stats;
	unsigned int stat_count;
	struct sim_queue_stat lost_stat;
	struct list_head saved;
	u64 save_id;
	struct sim_xcc *xccs; /* from the second on */
	u32 code_epoch;	      /* counts invalidations of the instruction caches */
	struct sim_late_mqd late[SIM_LATE_MQDS];
	u64 last_work_ns; /* written without it too: READ_ONCE */
	struct sim_hws *hws;

	/* Counters: run_lock, or written once under reg_lock. */
	u64 instructions;
	u64 lag_ns;
	u64 polls;
	u64 loads;
	u64 saves;
	u64 saves_midwave;
	u64 resets;
	u64 drains;
	u64 groups_saved;
	u64 groups_restored;
	u64 packets;
	u64 sdma_packets;
	u64 sdma_bytes; /* copied and filled */
	u64 tlb_fills;
	u64 tlb_flushes;
	u64 vm_faults;
	u64 queue_errors;
	u64 interrupts;
	u64 hws_runlists;
	u64 hws_unmaps;
	u64 hws_turns;
	u64 mes_adds;
	u64 mes_removes;
	atomic64_t checks[SIM_CHECK_COUNT];

	/* Protected by log_lock. */
	struct sim_log_entry *log;
	u64 log_next;

	struct dentry *files;
};

/* engine.c */
void sim_kick(struct sim_engine *e);
static inline u64 sim_now(void)
{
	return ktime_get_ns();
}

/* doorbell.c */
void sim_doorbells_init(struct sim_engine *e);
void sim_doorbells_fini(struct sim_engine *e);
void sim_doorbells_arm(struct sim_engine *e);

/* regs.c */
int sim_regs_init(struct sim_engine *e);
void sim_regs_fini(struct sim_engine *e);
void sim_regs_power_on(struct sim_engine *e);
u64 sim_regs_pt_base(struct sim_engine *e, unsigned int vmid);
u32 sim_regs_pasid(struct sim_engine *e, unsigned int vmid);

void sim_regs_bind_vmid(struct sim_engine *e, unsigned int vmid, const struct sim_binding *b);

/* xcc.c */
int sim_xcc_init(struct sim_engine *e);
void sim_xcc_fini(struct sim_engine *e);
void sim_xcc_power_on(struct sim_engine *e);
bool sim_xcc_write(struct sim_engine *e, u32 reg, u32 value);
bool sim_xcc_read(struct sim_engine *e, u32 reg, u32 *value);
bool sim_xcc_ready(struct sim_engine *e, struct sim_hqd *hqd);
int sim_xcc_load(struct sim_engine *e, unsigned int slot, u64 mqd, u32 stride, u32 vmid);
void sim_xcc_bind(struct sim_engine *e, unsigned int vmid, u64 tba);
void sim_xcc_dequeue(struct sim_engine *e, unsigned int slot, u64 now);
bool sim_xcc_is_off(struct sim_engine *e, unsigned int slot);

/* Index in sim_hqd.regs of a register between MQD_BASE_ADDR and WPTR_HI. */
#define HQD(reg) ((mmCP_##reg) - mmCP_MQD_BASE_ADDR)

/* A register in two halves, of which the upper one follows. */
static inline u64 sim_reg64(const u32 *regs, unsigned int lo)
{
	return (u64)regs[lo + 1] << 32 | regs[lo];
}

/* hqd.c */
u64 *sim_doorbell_of(struct sim_engine *e, const u32 *regs);
void sim_hqd_requests(struct sim_engine *e);
void sim_hqd_load(struct sim_engine *e, struct sim_hqd *hqd, const u32 *regs, u64 now);
void sim_hqd_dequeue(struct sim_engine *e, struct sim_hqd *hqd, u32 type, u64 from);
void sim_hqd_progress(struct sim_engine *e, u64 now);
u64 sim_hqd_next_ns(struct sim_engine *e);
void sim_hqd_drop(struct sim_engine *e, struct sim_hqd *hqd);
bool sim_hqd_any_active(struct sim_engine *e);
bool sim_hqd_has_vmid(struct sim_engine *e, unsigned int vmid);
bool sim_hqd_all_quiet(struct sim_engine *e);
void sim_hqd_busy(struct sim_hqd *hqd, u64 now);
void sim_hqd_idle(struct sim_hqd *hqd, u64 now);

/* save.c */
int sim_save_write(struct sim_engine *e, struct sim_hqd *hqd);
int sim_save_read(struct sim_engine *e, struct sim_hqd *hqd);
u64 sim_save_bytes(const struct sim_hqd *hqd);
void sim_save_forget(struct sim_engine *e, u64 mqd);
void sim_save_forget_all(struct sim_engine *e);

/* cp.c */
bool sim_cp_run(struct sim_engine *e, struct sim_hqd *hqd, u64 now);
void sim_cp_poll_wptr(struct sim_engine *e, struct sim_hqd *hqd);
void sim_cp_packet_done(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
			u64 now);
int sim_cp_prepare(struct sim_engine *e, struct sim_hqd *hqd, struct sim_packet *packet,
		   const u8 *aql);
u64 sim_cp_packet_va(const struct sim_hqd *hqd, u64 index);
void sim_cp_queue_error(struct sim_engine *e, struct sim_hqd *hqd, u64 code);
void sim_cp_signal(struct sim_engine *e, struct sim_hqd *hqd, u64 signal_va, u64 start_ns,
		   u64 end_ns);
void sim_cp_vm_fault(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 access);
void sim_vm_fault(struct sim_engine *e, unsigned int vmid, u64 va, u32 access, const char *whose);
void sim_interrupt(struct sim_engine *e, unsigned int vmid, u32 client, u32 source, u32 ring,
		   u32 context0, u32 context1);

/* Bits of the value that a queue's inactive signal gets; ROCr reads them in
 * AqlQueue::DynamicScratchHandler().
 */
#define SIM_ERROR_SCRATCH 0x1ull
#define SIM_ERROR_DIM 0x2ull
#define SIM_ERROR_CODE 0x8ull
#define SIM_ERROR_FORMAT 0x20ull
#define SIM_ERROR_VGPRS 0x80ull
#define SIM_ERROR_VENDOR 0x100ull
#define SIM_ERROR_ILLEGAL 0x40000000ull
#define SIM_ERROR_TRAP 0x80000000ull

/* pm4.c */
int sim_pm4_run(struct sim_engine *e, struct sim_hqd *hqd, u64 va, u32 dwords);

/* hws.c */
int sim_hws_init(struct sim_engine *e);
void sim_hws_fini(struct sim_engine *e);
void sim_hws_power_on(struct sim_engine *e);
void sim_hws_run(struct sim_engine *e, u64 now);
u64 sim_hws_next_ns(struct sim_engine *e);
bool sim_hws_is_on(const struct sim_engine *e);

/* sdma.c */
bool sim_sdma_write(struct sim_engine *e, u32 reg, u32 value);
void sim_sdma_power_on(struct sim_engine *e);
void sim_sdma_requests(struct sim_engine *e);
bool sim_sdma_any_active(struct sim_engine *e);
bool sim_sdma_all_quiet(struct sim_engine *e);
void sim_sdma_stop(struct sim_engine *e);
bool sim_sdma_run(struct sim_engine *e, u64 now);
u64 sim_sdma_next_ns(struct sim_engine *e, u64 now);

/* cu.c */
int sim_cus_init(struct sim_engine *e);
void sim_cus_fini(struct sim_engine *e);
void sim_cus_fill(struct sim_engine *e, u64 now);
bool sim_cus_run(struct sim_engine *e, u64 now);
u64 sim_cus_next_ns(struct sim_engine *e, u64 now);
struct sim_group *sim_group_alloc(struct sim_engine *e, struct sim_hqd *hqd,
				  struct sim_packet *packet, const struct gfx9_shape *shape);
void sim_group_free(struct sim_engine *e, struct sim_group *group);
int sim_group_claim_scratch(struct sim_hqd *hqd, struct sim_group *group);
void sim_groups_kill(struct sim_engine *e, struct sim_hqd *hqd, u64 now);
bool sim_cu_can_hold(const struct gfx9_shape *shape);
u32 sim_hqd_waves(const struct sim_hqd *hqd);

/* tlb.c */
int sim_tlb_init(struct sim_engine *e);
void sim_tlb_fini(struct sim_engine *e);
void sim_tlb_invalidate(struct sim_engine *e, unsigned int vmid);
void *sim_va_ptr(struct sim_engine *e, unsigned int vmid, u64 va, u32 access, u64 *span);
int sim_va_read(struct sim_engine *e, unsigned int vmid, u64 va, void *buf, size_t len);
int sim_va_write(struct sim_engine *e, unsigned int vmid, u64 va, const void *buf, size_t len);
struct gfx9_env *sim_vmid_env(struct sim_engine *e, unsigned int vmid);

/* events.c */
int sim_events_init(struct sim_engine *e);
void sim_events_fini(struct sim_engine *e);
void sim_event(struct sim_engine *e, enum sim_event kind, const struct sim_hqd *hqd, u64 ns,
	       u64 value);
void sim_event_vmid(struct sim_engine *e, enum sim_event kind, unsigned int vmid, u32 pasid,
		    u64 value);
struct sim_queue_stat *sim_stat_get(struct sim_engine *e, u32 pasid, u64 queue_va, u64 mqd);
void sim_stat_put(struct sim_queue_stat *stat);
void sim_params_defaults(struct sim_params *params);
bool sim_fault_take(struct sim_engine *e, u32 *counter, const struct sim_hqd *hqd);
__printf(3, 4) void sim_check(struct sim_engine *e, enum sim_check kind, const char *format, ...);

#endif
