// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A GPU is unplugged, on demand by debugfs.
 *
 * The order is that of amdgpu_pci_remove(): the DRM device is unplugged, the KFD is suspended
 * and the hardware switched off. The KFD's device goes with the last reference of the DRM
 * device (amdgpu_driver_release_kms()). Open files of the render node have one each.
 *
 * All that the driver half has of the GPU stays until the module goes.
 */
#include <linux/debugfs.h>
#include <drm/drm_drv.h>

#include "driver.h"
#include "kfd_priv.h"

static struct sim_dev *of_drm(struct drm_device *ddev)
{
	return to_sim_dev(drm_to_adev(ddev));
}

/* A process that has data of a device uses it without a look. */
static void check_unused(struct sim_dev *sd)
{
	int processes = atomic_read(&sd->adev.kfd.dev->kfd_processes_count);

	if (processes)
		sim_check_gone(&sd->gpu, processes);
}

static void gone_work(struct work_struct *work)
{
	struct sim_dev *sd = container_of(work, struct sim_dev, gone_work);

	check_unused(sd);
	sim_ih_destroy(&sd->gpu);
	kgd2kfd_device_exit(sd->adev.kfd.dev);
	sd->adev.kfd.dev = NULL;
	WRITE_ONCE(sd->unplugged, 2);
	dev_info(sd->gpu.dev, "the KFD's device is gone\n");
}

static void last_put(struct kref *kref)
{
	struct sim_dev *sd = container_of(kref, struct sim_dev, drm_refs);

	queue_work(system_long_wq, &sd->gone_work);
}

void drm_dev_get(struct drm_device *ddev)
{
	kref_get(&of_drm(ddev)->drm_refs);
}

void drm_dev_put(struct drm_device *ddev)
{
	kref_put(&of_drm(ddev)->drm_refs, last_put);
}

bool drm_dev_enter(struct drm_device *ddev, int *idx)
{
	return !READ_ONCE(ddev->unplugged);
}

void drm_dev_exit(int idx)
{
}

static int unplug_set(void *data, u64 val)
{
	struct sim_dev *sd = data;

	if (val != 1)
		return -EINVAL;
	if (cmpxchg(&sd->unplugged, 0, 1))
		return -ENODEV;
	WRITE_ONCE(sd->adev.ddev.unplugged, true);
	kgd2kfd_suspend(sd->adev.kfd.dev, false);
	sim_engine_suspend(&sd->gpu);
	drm_dev_put(&sd->adev.ddev);
	return 0;
}

static int unplug_get(void *data, u64 *val)
{
	*val = READ_ONCE(((struct sim_dev *)data)->unplugged);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(unplug_fops, unplug_get, unplug_set, "%llu\n");

void sim_unplug_init(struct sim_dev *sd)
{
	kref_init(&sd->drm_refs);
	INIT_WORK(&sd->gone_work, gone_work);
}

void sim_unplug_debugfs(struct sim_dev *sd)
{
	debugfs_create_file_unsafe("unplug", 0600, sd->gpu.debugfs, sd, &unplug_fops);
}

/* The module goes: wait for what has begun. */
void sim_unplug_fini(struct sim_dev *sd)
{
	flush_work(&sd->gone_work);
}
