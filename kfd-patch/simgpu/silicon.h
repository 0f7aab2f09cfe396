/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * silicon.h - ways in which silicon could differ from the engine's assumptions.
 *
 * One at a time, chosen when the module is loaded (sim_silicon=NAME). try-on-hardware.sh has to
 * find and name each: the dry runs of tests.ini load the module with every one of them.
 */
#ifndef SILICON_H
#define SILICON_H

#include <linux/types.h>

struct sim_engine;
struct sim_group;
struct sim_hqd;
struct sim_saved;

enum sim_silicon {
	SIM_SILICON_HEALTHY,
	SIM_SILICON_MQD_NEVER,	  /* a save leaves the MQD as the driver wrote it */
	SIM_SILICON_MQD_LATE,	  /* it is written only after ACTIVE fell */
	SIM_SILICON_DEAF,	  /* some dequeue requests are not answered */
	SIM_SILICON_WPTR_LOST,	  /* a load finds no packets rung while the queue was off */
	SIM_SILICON_GROUP_TWICE,  /* a load starts a workgroup again */
	SIM_SILICON_LDS_LOST,	  /* a load leaves LDS empty */
	SIM_SILICON_VGPRS_LOST,	  /* a load leaves the higher VGPRs empty */
	SIM_SILICON_SIGNAL_LOST,  /* a packet cut by a save ends without its signal */
	SIM_SILICON_NEIGHBOUR,	  /* a save damages a wave of another queue */
	SIM_SILICON_PIPE_STARVED, /* one queue of a pipe runs until it is off */
	SIM_SILICON_SLOT_BOUND,	  /* waves return only on the slot of their save */
	SIM_SILICON_VMID_BOUND,	  /* waves return only in the VMID of their save */
	SIM_SILICON_TLB_KEPT,	  /* a VMID without a queue is not flushed */
	SIM_SILICON_ICACHE_KEPT,  /* SQC_CACHES invalidates nothing */
	SIM_SILICON_COUNT,
};

#define SIM_LATE_MQDS 8
#define SIM_LATE_NS 400000

/* A write to an MQD that comes after ACTIVE fell. */
struct sim_late_mqd {
	u64 at_ns; /* 0: none */
	u64 mqd;
	u32 rptr;
	u32 wptr_lo;
	u32 wptr_hi;
	u32 stack_offset;
	u32 state_offset;
};

bool sim_silicon(enum sim_silicon what);
int sim_silicon_check(void);
bool sim_silicon_deaf(void);
void sim_silicon_restored(struct sim_group *group);
void sim_silicon_neighbour(struct sim_engine *e, const struct sim_hqd *saved);
bool sim_silicon_starved(const struct sim_engine *e, const struct sim_hqd *hqd);
bool sim_silicon_bound(const struct sim_hqd *hqd, const struct sim_saved *saved);

#endif
