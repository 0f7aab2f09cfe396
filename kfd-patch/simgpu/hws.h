/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* hws.h - the state of the firmware's scheduler, shared by its files. */
#ifndef HWS_H
#define HWS_H

#include "engine.h"

#define SIM_HWS_PROCESSES 64
#define SIM_HWS_QUEUES 256

struct sim_hws_process {
	struct sim_binding binding;
	unsigned int vmid; /* 0: not in this turn */
};

struct sim_hws_queue {
	unsigned int process;
	u64 mqd;
	u32 doorbell; /* of MES: its name */
};

struct sim_hws {
	/* Protected by reg_lock. */
	u64 new_mqd;
	bool changed;

	/* The rest: by run_lock. */
	u64 hiq_mqd; /* 0: there is no HIQ */
	u64 ring_va;
	u32 ring_dwords;
	u64 report_va;
	u64 *doorbell;
	u64 rptr; /* in dwords, as wptr */
	u64 wptr;
	bool halted; /* by a packet that it does not know; MES: by a queue */

	/* SET_RESOURCES */
	u32 vmid_mask;
	u32 slot_mask;
	u64 limit_ns;

	/* RUN_LIST */
	struct sim_hws_process process[SIM_HWS_PROCESSES];
	unsigned int processes;
	struct sim_hws_queue queue[SIM_HWS_QUEUES];
	unsigned int queues;
	unsigned int at_once; /* processes */
	bool start;	      /* map when all is unmapped */

	/* The turn under way */
	unsigned int next;	       /* queue of the next turn */
	u64 turn_ends_ns;	       /* U64_MAX: all are loaded */
	unsigned int loaded[SIM_HQDS]; /* queue, where mapped has a bit */
	u32 mapped;
	u32 stuck; /* slots of queues that were given up */

	/* The unmap under way */
	bool unmaps;
	u32 to_unmap; /* slots */
	u32 type;
	bool asked; /* the first of them */
	u64 asked_ns;
};

/* hws_slots.c; run_lock is held */
int sim_hws_read_mqd(struct sim_engine *e, u64 mqd, u32 *regs);
void sim_hws_begin_unmap(struct sim_engine *e, u32 slots, u32 type);
bool sim_hws_unmapped(struct sim_engine *e, u64 now);
void sim_hws_take_back_slots(struct sim_engine *e);
bool sim_hws_map_queue(struct sim_engine *e, unsigned int q, unsigned int *processes, u64 now);
void sim_hws_turns(struct sim_engine *e, u64 now);

/* hws_mes.c */
void sim_mes_power_on(struct sim_engine *e);

#endif
