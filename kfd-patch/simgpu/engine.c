// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The thread that plays the GPU, and its power.
 */
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "engine.h"
#include "sim_save.h"

/* So many polls without work, and a GPU is idle. */
#define IDLE_POLLS 64

void sim_kick(struct sim_engine *e)
{
	WRITE_ONCE(e->kicked, true);
	wake_up_process(e->task);
}

static bool is_idle(struct sim_engine *e, u64 now)
{
	u64 last = READ_ONCE(e->last_work_ns);

	return now > last + IDLE_POLLS * e->params.poll_ns;
}

/* When to look at doorbells again. *@arm: better have them call. */
static u64 next_poll_ns(struct sim_engine *e, u64 now, bool *arm)
{
	const struct sim_params *p = &e->params;

	if (!sim_hqd_any_active(e) && !sim_sdma_any_active(e))
		return U64_MAX;
	e->polls++;
	if (!is_idle(e, now))
		return now + p->poll_ns;
	if (!READ_ONCE(e->cannot_arm) && sim_hqd_all_quiet(e) && sim_sdma_all_quiet(e)) {
		if (READ_ONCE(e->armed))
			return U64_MAX;
		*arm = true;
		return now;
	}
	return now + max(p->idle_poll_ns, p->poll_ns);
}

/* Does what there is to do. Returns when to come back: 0 means at once. */
static u64 turn(struct sim_engine *e, bool *arm)
{
	u64 now;
	bool any;

	if (!READ_ONCE(e->powered))
		return U64_MAX;
	sim_hqd_requests(e);
	sim_sdma_requests(e);
	now = sim_now();
	sim_hqd_progress(e, now);
	sim_hws_run(e, now);
	any = sim_sdma_run(e, now);
	sim_cus_fill(e, now);
	any |= sim_cus_run(e, now);
	if (any)
		return 0;
	return min(min3(sim_hqd_next_ns(e), sim_cus_next_ns(e, now), next_poll_ns(e, now, arm)),
		   min(sim_sdma_next_ns(e, now), sim_hws_next_ns(e)));
}

static void sleep_until(struct sim_engine *e, u64 until)
{
	const u64 slack_ns = 1000;
	ktime_t expires = ns_to_ktime(min_t(u64, until, KTIME_MAX));

	if (until <= sim_now()) {
		cond_resched();
		return;
	}
	set_current_state(TASK_IDLE);
	if (!READ_ONCE(e->kicked) && !kthread_should_stop()) {
		if (until == U64_MAX)
			schedule();
		else
			schedule_hrtimeout_range(&expires, slack_ns, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
}

static bool sim_first;
module_param(sim_first, bool, 0444);
MODULE_PARM_DESC(sim_first, "the GPU's thread goes before all programs: for slow waves only");

static int engine_thread(void *data)
{
	struct sim_engine *e = data;
	/* Reclaim may wait for a queue to be unloaded (the KFD's MMU notifiers
	 * do), so that this thread must not wait for reclaim.
	 */
	unsigned int noreclaim = memalloc_noreclaim_save();

	while (!kthread_should_stop()) {
		bool arm = false;
		u64 next;

		WRITE_ONCE(e->kicked, false);
		smp_mb(); /* before the requests are read */
		mutex_lock(&e->run_lock);
		next = turn(e, &arm);
		mutex_unlock(&e->run_lock);
		if (arm)
			sim_doorbells_arm(e);
		sleep_until(e, next);
	}
	memalloc_noreclaim_restore(noreclaim);
	return 0;
}

/* The most that a control stack can hold here. */
static size_t stack_bytes(const struct sim_gpu *sim)
{
	return sizeof(struct sim_save_header) + SIM_INFLIGHT * sizeof(struct sim_save_packet) +
	       sim->cus * SIM_CU_WAVES * sizeof(struct sim_save_group);
}

static void free_engine(struct sim_engine *e)
{
	sim_events_fini(e);
	sim_save_forget_all(e);
	sim_cus_fini(e);
	sim_tlb_fini(e);
	sim_regs_fini(e);
	sim_hws_fini(e);
	kvfree(e->stack);
	vfree(e);
}

static int init_engine(struct sim_engine *e)
{
	int err;

	e->stack_bytes = stack_bytes(e->sim);
	e->stack = kvmalloc(e->stack_bytes, GFP_KERNEL);
	err = e->stack ? 0 : -ENOMEM;
	if (!err)
		err = sim_regs_init(e);
	if (!err)
		err = sim_hws_init(e);
	if (!err)
		err = sim_tlb_init(e);
	if (!err)
		err = sim_cus_init(e);
	if (!err)
		err = sim_events_init(e);
	return err;
}

static struct sim_engine *alloc_engine(struct sim_gpu *sim)
{
	struct sim_engine *e = vzalloc(sizeof(*e));
	unsigned int i;

	if (!e)
		return NULL;
	e->sim = sim;
	mutex_init(&e->run_lock);
	spin_lock_init(&e->reg_lock);
	spin_lock_init(&e->log_lock);
	INIT_LIST_HEAD(&e->stats);
	INIT_LIST_HEAD(&e->saved);
	INIT_LIST_HEAD(&e->free_groups);
	for (i = 0; i < SIM_HQDS; i++) {
		e->hqds[i].index = i;
		INIT_LIST_HEAD(&e->hqds[i].groups);
	}
	sim_params_defaults(&e->params);
	return e;
}

int sim_engine_create(struct sim_gpu *sim)
{
	struct sim_engine *e = alloc_engine(sim);
	size_t i;
	int err;

	if (!e)
		return -ENOMEM;
	sim->engine = e;
	err = init_engine(e);
	if (err)
		goto err_free;
	for (i = 0; i < sim->doorbell_bytes / sizeof(*sim->doorbells); i++)
		sim->doorbells[i] = SIM_DOORBELL_QUIET;
	e->task = kthread_create(engine_thread, e, "simgpu/%u", sim->index);
	if (IS_ERR(e->task)) {
		err = PTR_ERR(e->task);
		goto err_free;
	}
	if (sim_first)
		sched_set_fifo_low(e->task);
	sim_doorbells_init(e);
	e->powered = true;
	wake_up_process(e->task);
	return 0;

err_free:
	free_engine(e);
	sim->engine = NULL;
	return err;
}

static void power_off(struct sim_engine *e)
{
	unsigned int i;

	spin_lock(&e->reg_lock);
	e->powered = false;
	spin_unlock(&e->reg_lock);
	for (i = 0; i < SIM_HQDS; i++)
		sim_hqd_drop(e, &e->hqds[i]);
	sim_hws_power_on(e);
	sim_sdma_stop(e);
	for (i = 0; i < SIM_VMIDS; i++)
		sim_tlb_invalidate(e, i);
}

static void power_on(struct sim_engine *e)
{
	spin_lock(&e->reg_lock);
	sim_regs_power_on(e);
	e->powered = true;
	spin_unlock(&e->reg_lock);
}

void sim_engine_destroy(struct sim_gpu *sim)
{
	struct sim_engine *e = sim->engine;

	if (!e)
		return;
	kthread_stop(e->task);
	sim_doorbells_fini(e);
	power_off(e);
	free_engine(e);
	sim->engine = NULL;
}

void sim_engine_suspend(struct sim_gpu *sim)
{
	struct sim_engine *e = sim->engine;

	mutex_lock(&e->run_lock);
	power_off(e);
	mutex_unlock(&e->run_lock);
}

int sim_engine_resume(struct sim_gpu *sim)
{
	struct sim_engine *e = sim->engine;

	mutex_lock(&e->run_lock);
	power_on(e);
	mutex_unlock(&e->run_lock);
	return 0;
}

/**
 * sim_mem_freed - a buffer of the GART goes back
 * @sim: the GPU
 * @addr: its address
 * @bytes: its size
 *
 * A queue whose MQD lies there must have left its HQD before.
 */
void sim_mem_freed(struct sim_gpu *sim, u64 addr, u64 bytes)
{
	struct sim_engine *e = sim->engine;
	unsigned int i;

	if (!e)
		return;
	mutex_lock(&e->run_lock);
	for (i = 0; i < SIM_HQDS; i++) {
		const struct sim_hqd *hqd = &e->hqds[i];

		if (hqd->state != SIM_HQD_OFF && hqd->mqd >= addr && hqd->mqd < addr + bytes)
			sim_check(e, SIM_CHECK_MQD_FREED,
				  "MQD %#llx of pasid %#x is freed, its queue is on HQD %u.%u",
				  hqd->mqd, hqd->pasid, i / SIM_PIPE_QUEUES, i % SIM_PIPE_QUEUES);
	}
	mutex_unlock(&e->run_lock);
}

int sim_engine_reset(struct sim_gpu *sim)
{
	struct sim_engine *e = sim->engine;

	mutex_lock(&e->run_lock);
	power_off(e);
	e->params.fault_ignore = 0;
	e->params.fault_late = 0;
	e->params.fault_wave = 0;
	e->params.fault_no_reset = 0;
	power_on(e);
	mutex_unlock(&e->run_lock);
	sim_event_vmid(e, SIM_EV_RESET, 0, 0, 0);
	return 0;
}
