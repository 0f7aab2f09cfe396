// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reset, suspend and resume of the software GPU, and eviction on demand.
 *
 * The order of calls into the KFD is that of amdgpu_device_gpu_recover(),
 * amdgpu_device_suspend() and amdgpu_device_resume().
 *
 * Assumptions: a reset keeps video memory. A suspend loses registers and video memory, the
 * latter as on any card without power. So buffers in it are moved out before, and return when
 * the KFD restores its processes.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>

#include "driver.h"
#include "amdgpu_reset.h"

/* Another CPU may begin a reset between any two looks: with the fault planted,
 * it has, when the driver looks for the n-th time.
 */
int amdgpu_in_reset(struct amdgpu_device *adev)
{
	struct sim_dev *sd = to_sim_dev(adev);

	if (!atomic_dec_if_positive(&sd->reset_looks)) {
		atomic_set(&sd->reset_domain.in_gpu_reset, 1);
		amdgpu_reset_domain_schedule(&sd->reset_domain, &sd->adev.kfd.reset_work);
	}
	return atomic_read(&adev->reset_domain->in_gpu_reset);
}

void amdgpu_reset_get_desc(struct amdgpu_reset_context *ctx, char *buf, size_t len)
{
	strscpy(buf, "KFD hang", len);
}

/* As amdgpu_device_gpu_recover(), for the one device of the domain. */
static int gpu_recover(struct sim_dev *sd)
{
	struct amdgpu_reset_domain *domain = &sd->reset_domain;
	struct amdgpu_reset_context ctx = {
		.method = AMD_RESET_METHOD_MODE1,
		.reset_req_dev = &sd->adev,
		.src = AMDGPU_RESET_SRC_HWS,
	};
	int r;

	if (sd->unplugged)
		return -ENODEV;
	dev_info(sd->gpu.dev, "GPU reset begin\n");
	atomic_set(&domain->in_gpu_reset, 1);
	down_write(&domain->sem);
	kgd2kfd_pre_reset(sd->adev.kfd.dev, &ctx);
	r = sim_engine_reset(&sd->gpu);
	fsleep(READ_ONCE(sd->reset_ns) / NSEC_PER_USEC);
	if (!r)
		r = kgd2kfd_post_reset(sd->adev.kfd.dev);
	/* amdgpu brings up more than the KFD before it says that all is over */
	fsleep(READ_ONCE(sd->reset_end_ns) / NSEC_PER_USEC);
	atomic_set(&domain->in_gpu_reset, 0);
	up_write(&domain->sem);
	atomic64_inc(&sd->resets);
	dev_info(sd->gpu.dev, "GPU reset end: %d\n", r);
	return r;
}

static void reset_work(struct work_struct *work)
{
	struct amdgpu_device *adev = container_of(work, struct amdgpu_device, kfd.reset_work);

	gpu_recover(to_sim_dev(adev));
}

/* From any context: the KFD has found a queue that does not answer. */
void amdgpu_amdkfd_gpu_reset(struct amdgpu_device *adev)
{
	if (amdgpu_gpu_recovery)
		amdgpu_reset_domain_schedule(adev->reset_domain, &adev->kfd.reset_work);
}

int sim_reset_init(struct sim_dev *sd)
{
	struct amdgpu_reset_domain *domain = &sd->reset_domain;

	kref_init(&domain->refcount);
	init_rwsem(&domain->sem);
	domain->type = SINGLE_DEVICE;
	domain->wq = alloc_ordered_workqueue("simgpu%u-reset", 0, sd->gpu.index);
	if (!domain->wq)
		return -ENOMEM;
	sd->adev.reset_domain = domain;
	INIT_WORK(&sd->adev.kfd.reset_work, reset_work);
	return 0;
}

void sim_reset_fini(struct sim_dev *sd)
{
	if (sd->reset_domain.wq)
		destroy_workqueue(sd->reset_domain.wq);
	sd->reset_domain.wq = NULL;
}

/* ---- Suspend ------------------------------------------------------------ */

/**
 * sim_dev_suspend - the device loses its power
 * @sd: the GPU
 *
 * Return: 0, or a negative errno when video memory did not fit into the
 * system's; the GPU goes on then.
 */
int sim_dev_suspend(struct sim_dev *sd)
{
	int r;

	if (sd->unplugged)
		return 0;
	kgd2kfd_suspend(sd->adev.kfd.dev, false);
	r = sim_evict_all(sd);
	if (r) {
		kgd2kfd_resume(sd->adev.kfd.dev, false);
		return r;
	}
	sim_engine_suspend(&sd->gpu);
	sd->suspended = true;
	return 0;
}

int sim_dev_resume(struct sim_dev *sd)
{
	int r;

	if (!sd->suspended)
		return 0;
	r = sim_engine_resume(&sd->gpu);
	if (r)
		return r;
	sd->suspended = false;
	return kgd2kfd_resume(sd->adev.kfd.dev, false);
}

/* ---- On demand, by debugfs ---------------------------------------------- */

static int reset_set(void *data, u64 val)
{
	struct sim_dev *sd = data;

	/* 1: and wait for it; 2: only ask, as the KFD does */
	if (val != 1 && val != 2)
		return -EINVAL;
	amdgpu_reset_domain_schedule(&sd->reset_domain, &sd->adev.kfd.reset_work);
	if (val == 1)
		flush_work(&sd->adev.kfd.reset_work);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

/* Process by its number in the initial pid namespace; 0 is all. */
static int evict_set(void *data, u64 val)
{
	return sim_evict_pid(data, val);
}

DEFINE_DEBUGFS_ATTRIBUTE(evict_fops, NULL, evict_set, "%llu\n");

/* As an MMU notifier that invalidates user pages, and the restore after it. */
static int quiesce_set(void *data, u64 val)
{
	return sim_quiesce_pid(val);
}

DEFINE_DEBUGFS_ATTRIBUTE(quiesce_fops, NULL, quiesce_set, "%llu\n");

static int counter_get(void *data, u64 *val)
{
	*val = atomic64_read((atomic64_t *)data);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(counter_fops, counter_get, NULL, "%llu\n");

void sim_reset_debugfs(struct sim_dev *sd)
{
	struct dentry *dir = sd->gpu.debugfs;

	/* Assumption: a mode 1 reset, with the firmware loaded again, takes
	 * some milliseconds at least.
	 */
	sd->reset_ns = 5 * NSEC_PER_MSEC;
	debugfs_create_u64("reset_ns", 0600, dir, &sd->reset_ns);
	debugfs_create_u64("reset_end_ns", 0600, dir, &sd->reset_end_ns);
	debugfs_create_file_unsafe("reset", 0200, dir, sd, &reset_fops);
	debugfs_create_atomic_t("reset_looks", 0600, dir, &sd->reset_looks);
	debugfs_create_file_unsafe("evict", 0200, dir, sd, &evict_fops);
	debugfs_create_file_unsafe("quiesce", 0200, dir, sd, &quiesce_fops);
	debugfs_create_file_unsafe("resets", 0444, dir, &sd->resets, &counter_fops);
	debugfs_create_file_unsafe("evictions", 0444, dir, &sd->evictions, &counter_fops);
	debugfs_create_file_unsafe("evicted_bytes", 0444, dir, &sd->evicted_bytes, &counter_fops);
	debugfs_create_file_unsafe("restored_bytes", 0444, dir, &sd->restored_bytes, &counter_fops);
}
