// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The interrupt ring of the software GPU.
 *
 * Entries are those of vega10's IH: see amdgpu_ih_decode_iv_helper(). The real
 * driver hands them to the KFD from its interrupt handler; here a thread does.
 * An entry may be delivered late, on demand, to widen the window in which its
 * VMID has moved to another process.
 */
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "driver.h"
#include "amdgpu_ih.h"

#define IH_ENTRIES 4096 /* of the 8192 that amdgpu gives it */

struct ih_entry {
	u32 dw[SIM_IH_DWORDS];
	ktime_t due;
};

/**
 * struct sim_ih - the ring
 * @lock: protects the ring's indices and entries
 * @wptr, @rptr: counts, not positions; an entry is done when rptr passed it
 * @delay_ns: from raise to delivery
 */
struct sim_ih {
	struct sim_gpu *sim;
	spinlock_t lock;
	wait_queue_head_t work;
	wait_queue_head_t done;
	struct task_struct *thread;
	struct ih_entry *ring;
	u64 wptr;
	u64 rptr;
	u64 lost;
	u64 delay_ns;
};

void sim_ih_raise(struct sim_gpu *sim, const u32 entry[SIM_IH_DWORDS])
{
	struct sim_ih *ih = sim->ih;
	u64 now = sim_gpu_clock(sim);
	unsigned long flags;
	struct ih_entry *e;

	spin_lock_irqsave(&ih->lock, flags);
	if (ih->wptr - ih->rptr == IH_ENTRIES) {
		ih->lost++;
		spin_unlock_irqrestore(&ih->lock, flags);
		return;
	}
	e = &ih->ring[ih->wptr % IH_ENTRIES];
	memcpy(e->dw, entry, sizeof(e->dw));
	e->dw[1] = lower_32_bits(now);
	e->dw[2] = upper_32_bits(now) & 0xffff;
	e->due = ktime_add_ns(ktime_get(), READ_ONCE(ih->delay_ns));
	ih->wptr++;
	spin_unlock_irqrestore(&ih->lock, flags);
	wake_up(&ih->work);
}

static bool ih_peek(struct sim_ih *ih, struct ih_entry *out)
{
	bool any;

	spin_lock_irq(&ih->lock);
	any = ih->wptr != ih->rptr;
	if (any)
		*out = ih->ring[ih->rptr % IH_ENTRIES];
	spin_unlock_irq(&ih->lock);
	return any;
}

static int ih_thread(void *data)
{
	struct sim_ih *ih = data;
	struct amdgpu_device *adev = ih->sim->adev;
	struct ih_entry e;

	while (!kthread_should_stop()) {
		wait_event_interruptible(ih->work,
					 kthread_should_stop() || READ_ONCE(ih->wptr) != ih->rptr);
		if (!ih_peek(ih, &e))
			continue;
		if (ktime_before(ktime_get(), e.due)) {
			set_current_state(TASK_UNINTERRUPTIBLE);
			schedule_hrtimeout(&e.due, HRTIMER_MODE_ABS);
		}
		if (adev->kfd.dev)
			kgd2kfd_interrupt(adev->kfd.dev, e.dw);
		spin_lock_irq(&ih->lock);
		ih->rptr++;
		spin_unlock_irq(&ih->lock);
		wake_up_all(&ih->done);
	}
	return 0;
}

/* Waits for all that is in the ring at this moment. */
static void ih_drain(struct sim_ih *ih)
{
	u64 target = READ_ONCE(ih->wptr);

	wait_event(ih->done, (s64)(READ_ONCE(ih->rptr) - target) >= 0);
}

int sim_ih_create(struct sim_gpu *sim)
{
	struct sim_ih *ih = kzalloc(sizeof(*ih), GFP_KERNEL);

	if (!ih)
		return -ENOMEM;
	ih->ring = kvcalloc(IH_ENTRIES, sizeof(*ih->ring), GFP_KERNEL);
	if (!ih->ring) {
		kfree(ih);
		return -ENOMEM;
	}
	ih->sim = sim;
	spin_lock_init(&ih->lock);
	init_waitqueue_head(&ih->work);
	init_waitqueue_head(&ih->done);
	ih->thread = kthread_run(ih_thread, ih, "simgpu%u-ih", sim->index);
	if (IS_ERR(ih->thread)) {
		int r = PTR_ERR(ih->thread);

		kvfree(ih->ring);
		kfree(ih);
		return r;
	}
	debugfs_create_u64("ih_delay_ns", 0644, sim->debugfs, &ih->delay_ns);
	debugfs_create_u64("ih_lost", 0444, sim->debugfs, &ih->lost);
	debugfs_create_u64("ih_raised", 0444, sim->debugfs, &ih->wptr);
	sim->ih = ih;
	return 0;
}

void sim_ih_destroy(struct sim_gpu *sim)
{
	struct sim_ih *ih = sim->ih;

	if (!ih)
		return;
	kthread_stop(ih->thread);
	kvfree(ih->ring);
	kfree(ih);
	sim->ih = NULL;
}

/* ---- What amdkfd calls -------------------------------------------------- */

int amdgpu_ih_wait_on_checkpoint_process_ts(struct amdgpu_device *adev, struct amdgpu_ih_ring *ring)
{
	ih_drain(to_sim(adev)->ih);
	return 0;
}

int amdgpu_amdkfd_send_close_event_drain_irq(struct amdgpu_device *adev, uint32_t *payload)
{
	if (!adev->kfd.dev)
		return -ENODEV;
	ih_drain(to_sim(adev)->ih);
	kgd2kfd_interrupt(adev->kfd.dev, payload);
	return 0;
}
