// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Silicon that differs from the engine's assumptions: see silicon.h. */
#include <linux/module.h>
#include <linux/string.h>

#include "engine.h"

/* Requests between two that are not answered. */
#define DEAF_EVERY 40
/* VGPRs from here on are lost: k_regs alone among the tests' kernels uses them. */
#define FIRST_LOST_VGPR 24

static const char *const names[SIM_SILICON_COUNT] = {
	[SIM_SILICON_HEALTHY] = "healthy",	     [SIM_SILICON_MQD_NEVER] = "mqd_never",
	[SIM_SILICON_MQD_LATE] = "mqd_late",	     [SIM_SILICON_DEAF] = "deaf",
	[SIM_SILICON_WPTR_LOST] = "wptr_lost",	     [SIM_SILICON_GROUP_TWICE] = "group_twice",
	[SIM_SILICON_LDS_LOST] = "lds_lost",	     [SIM_SILICON_VGPRS_LOST] = "vgprs_lost",
	[SIM_SILICON_SIGNAL_LOST] = "signal_lost",   [SIM_SILICON_NEIGHBOUR] = "neighbour",
	[SIM_SILICON_PIPE_STARVED] = "pipe_starved", [SIM_SILICON_SLOT_BOUND] = "slot_bound",
	[SIM_SILICON_VMID_BOUND] = "vmid_bound",     [SIM_SILICON_TLB_KEPT] = "tlb_kept",
	[SIM_SILICON_ICACHE_KEPT] = "icache_kept",
};

static char *sim_silicon_name = "healthy";
module_param_named(sim_silicon, sim_silicon_name, charp, 0444);
MODULE_PARM_DESC(sim_silicon, "how silicon differs from the model, see silicon.h");

static enum sim_silicon chosen;

/* Is the parameter one of the names? */
int sim_silicon_check(void)
{
	int i = match_string(names, SIM_SILICON_COUNT, sim_silicon_name);

	if (i < 0) {
		pr_err("simgpu: sim_silicon=%s is unknown, see silicon.h\n", sim_silicon_name);
		return -EINVAL;
	}
	chosen = i;
	return 0;
}

bool sim_silicon(enum sim_silicon what)
{
	return chosen == what;
}

/* Is this dequeue request not to be answered? */
bool sim_silicon_deaf(void)
{
	static unsigned int requests;

	return sim_silicon(SIM_SILICON_DEAF) && ++requests % DEAF_EVERY == 0;
}

static void lose_vgprs(struct gfx9_workgroup *wg)
{
	u32 i, from = FIRST_LOST_VGPR;

	for (i = 0; i < wg->shape.wave_count; i++)
		if (wg->waves[i].vgpr_count > from)
			memset(wg->waves[i].vgpr[from], 0,
			       (wg->waves[i].vgpr_count - from) * sizeof(wg->waves[i].vgpr[0]));
}

/* A workgroup came from its save area. */
void sim_silicon_restored(struct sim_group *group)
{
	if (sim_silicon(SIM_SILICON_LDS_LOST) && group->wg->shape.lds_bytes)
		memset(group->wg->lds, 0, group->wg->shape.lds_bytes);
	else if (sim_silicon(SIM_SILICON_VGPRS_LOST))
		lose_vgprs(group->wg);
	else if (sim_silicon(SIM_SILICON_SIGNAL_LOST))
		group->packet->dispatch.completion_signal = 0;
}

/* The queue @saved was saved: a wave of another process's suffers. */
void sim_silicon_neighbour(struct sim_engine *e, const struct sim_hqd *saved)
{
	unsigned int i;

	for (i = 0; sim_silicon(SIM_SILICON_NEIGHBOUR) && i < SIM_HQDS; i++) {
		struct sim_hqd *hqd = &e->hqds[i];
		struct sim_group *group;

		if (hqd->state != SIM_HQD_RUNNING || hqd->pasid == saved->pasid)
			continue;
		list_for_each_entry (group, &hqd->groups, hqd_link)
			memset(group->wg->waves[0].vgpr[0], 0,
			       group->wg->waves[0].vgpr_count *
				       sizeof(group->wg->waves[0].vgpr[0]));
	}
}

/* Does another queue of its pipe have work? The lower one wins. */
bool sim_silicon_starved(const struct sim_engine *e, const struct sim_hqd *hqd)
{
	unsigned int i, first = hqd->index / SIM_PIPE_QUEUES * SIM_PIPE_QUEUES;

	if (!sim_silicon(SIM_SILICON_PIPE_STARVED))
		return false;
	for (i = first; i < first + SIM_PIPE_QUEUES; i++)
		if (&e->hqds[i] != hqd && e->hqds[i].group_count)
			return true;
	return false;
}

/* May the waves of @saved not return here? */
bool sim_silicon_bound(const struct sim_hqd *hqd, const struct sim_saved *saved)
{
	return saved && ((sim_silicon(SIM_SILICON_SLOT_BOUND) && saved->hqd != hqd->index) ||
			 (sim_silicon(SIM_SILICON_VMID_BOUND) && saved->vmid != hqd->vmid));
}
