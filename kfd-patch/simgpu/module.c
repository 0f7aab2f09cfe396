// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * amdgpu.ko of the rig: the real amdkfd on software GPUs.
 *
 * Parameters with a name of the real amdgpu mean the same; those that begin
 * with sim_ are the software GPU's. The power of a GPU is that of a platform
 * device, so that a suspend of the system comes by as it does to a card.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include "driver.h"
#include "silicon.h"

#define SIM_MAX_GPUS 8

struct sim_dev *sim_devs[SIM_MAX_GPUS];
unsigned int sim_num_gpus;

static struct dentry *sim_debugfs;
static bool kfd_up;

/* ---- Parameters of the real amdgpu that amdkfd reads --------------------- */

int amdgpu_gpu_recovery = 1;
module_param_named(gpu_recovery, amdgpu_gpu_recovery, int, 0444);
MODULE_PARM_DESC(gpu_recovery, "reset a GPU that hangs (0 = never)");

/* The real default is 0, the firmware's scheduler. */
int sched_policy = 2;
module_param_unsafe(sched_policy, int, 0444);
MODULE_PARM_DESC(sched_policy, "0 = the firmware's scheduler (HWS), 2 = none (NO_HWS)");

int hws_max_conc_proc = -1;
module_param(hws_max_conc_proc, int, 0444);
MODULE_PARM_DESC(hws_max_conc_proc, "processes at a time with HWS");

int cwsr_enable = 1;
module_param(cwsr_enable, int, 0444);
MODULE_PARM_DESC(cwsr_enable, "save waves in mid-wave (1 = yes)");

int max_num_of_queues_per_device = KFD_MAX_NUM_OF_QUEUES_PER_DEVICE_DEFAULT;
module_param(max_num_of_queues_per_device, int, 0444);
MODULE_PARM_DESC(max_num_of_queues_per_device, "queues a GPU can have");

int send_sigterm;
module_param(send_sigterm, int, 0444);
MODULE_PARM_DESC(send_sigterm, "SIGTERM on an unhandled exception");

int halt_if_hws_hang;
module_param(halt_if_hws_hang, int, 0644);
MODULE_PARM_DESC(halt_if_hws_hang, "halt when the firmware scheduler hangs");

bool hws_gws_support;
module_param(hws_gws_support, bool, 0444);
MODULE_PARM_DESC(hws_gws_support, "assume that the MEC supports GWS");

int queue_preemption_timeout_ms = 9000;
module_param(queue_preemption_timeout_ms, int, 0644);
MODULE_PARM_DESC(queue_preemption_timeout_ms, "limit of a preemption in ms");

bool debug_evictions;
module_param(debug_evictions, bool, 0644);
MODULE_PARM_DESC(debug_evictions, "warn at each eviction");

int amdgpu_no_queue_eviction_on_vm_fault;
module_param_named(no_queue_eviction_on_vm_fault, amdgpu_no_queue_eviction_on_vm_fault, int, 0444);
MODULE_PARM_DESC(no_queue_eviction_on_vm_fault, "leave queues on after a page fault");

uint amdgpu_sdma_phase_quantum = 32;
int amdgpu_emu_mode;
int amdgpu_use_xgmi_p2p;
uint64_t amdgpu_amdkfd_total_mem_size;

const char *amdgpu_asic_name[] = {
	[0 ... CHIP_LAST - 1] = "other",
	[CHIP_VEGA10] = "VEGA10",
};

/* ---- Parameters of the software GPU ------------------------------------- */

static uint sim_gpus = 1;
module_param(sim_gpus, uint, 0444);
MODULE_PARM_DESC(sim_gpus, "GPUs, 1 to 8");

static char *sim_model = "vega10";
module_param(sim_model, charp, 0444);
MODULE_PARM_DESC(sim_model, "which card: vega10, mi100, mi210, mi300x (six XCCs)");

static uint sim_hqds = 8;
module_param(sim_hqds, uint, 0444);
MODULE_PARM_DESC(sim_hqds, "compute queue slots of each, 1 to 32");

static uint sim_vmids = 8;
module_param(sim_vmids, uint, 0444);
MODULE_PARM_DESC(sim_vmids, "address spaces of each, 1 to 13");

static uint sim_cus = 8;
module_param(sim_cus, uint, 0444);
MODULE_PARM_DESC(sim_cus, "compute units of each, 1 to 3 or a multiple of 4 to 64");

static uint sim_sdma;
module_param(sim_sdma, uint, 0444);
MODULE_PARM_DESC(sim_sdma, "SDMA engines of each, 0 to 2");

static uint sim_vram_mb = 1024;
module_param(sim_vram_mb, uint, 0444);
MODULE_PARM_DESC(sim_vram_mb, "video memory of each in MiB, 16 to 65536");

static bool sim_vf;
module_param(sim_vf, bool, 0444);
MODULE_PARM_DESC(sim_vf, "each is a virtual function of SR-IOV");

static bool sim_mes;
module_param(sim_mes, bool, 0444);
MODULE_PARM_DESC(sim_mes, "with sched_policy=0: the firmware's scheduler is MES, not HWS");

static int check_parameters(void)
{
	if (sim_gpus < 1 || sim_gpus > SIM_MAX_GPUS || sim_hqds < 1 || sim_hqds > 32 ||
	    sim_vmids < 1 || sim_vmids > 13 || sim_cus < 1 || sim_cus > 64 ||
	    (sim_cus > 3 && sim_cus % 4) || sim_sdma > 2 || sim_vram_mb < 16 ||
	    sim_vram_mb > 65536) {
		pr_err("simgpu: a parameter is out of its range, see modinfo\n");
		return -EINVAL;
	}
	if (sim_device_model(sim_model) < 0) {
		pr_err("simgpu: sim_model=%s is unknown, see modinfo\n", sim_model);
		return -EINVAL;
	}
	if (sim_sdma && sim_device_model(sim_model)) {
		pr_err("simgpu: SDMA engines are built for vega10 only\n");
		return -EINVAL;
	}
	if (sched_policy != KFD_SCHED_POLICY_NO_HWS && sim_sdma) {
		pr_err("simgpu: HWS is built without SDMA engines\n");
		return -EINVAL;
	}
	if (sim_mes && sched_policy == KFD_SCHED_POLICY_NO_HWS) {
		pr_err("simgpu: sim_mes=1 needs sched_policy=0\n");
		return -EINVAL;
	}
	return sim_silicon_check();
}

/* ---- Power -------------------------------------------------------------- */

static int __maybe_unused plat_suspend(struct device *dev)
{
	struct sim_dev *sd = dev_get_drvdata(dev);

	return sd ? sim_dev_suspend(sd) : 0;
}

static int __maybe_unused plat_resume(struct device *dev)
{
	struct sim_dev *sd = dev_get_drvdata(dev);

	return sd ? sim_dev_resume(sd) : 0;
}

static SIMPLE_DEV_PM_OPS(plat_pm_ops, plat_suspend, plat_resume);

static struct platform_driver plat_driver = {
	.driver = {
		.name = "simgpu",
		.pm = &plat_pm_ops,
		.suppress_bind_attrs = true,
	},
};

/* ---- Devices ------------------------------------------------------------ */

/*
 * amdkfd takes a GPU's name and place from a pci_dev. Any will do: the n-th
 * of the machine stands for the n-th GPU.
 */
static struct pci_dev *find_pci_dev(unsigned int n)
{
	struct pci_dev *pdev = NULL, *first = NULL;

	while ((pdev = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, pdev))) {
		if (!first)
			first = pci_dev_get(pdev);
		if (!n--) {
			pci_dev_put(first);
			return pdev;
		}
	}
	return first;
}

static int plat_create(struct sim_dev *sd)
{
	struct platform_device *plat;
	int r;

	plat = platform_device_alloc("simgpu", sd->gpu.index);
	if (!plat)
		return -ENOMEM;
	r = platform_device_add(plat);
	if (r) {
		platform_device_put(plat);
		return r;
	}
	sd->plat = plat;
	sd->gpu.dev = &plat->dev;
	sd->adev.dev = &plat->dev;
	sd->adev.ddev.dev = &plat->dev;
	sd->adev.ddev.render = &sd->render;
	sd->render.index = 128 + sd->gpu.index;
	sd->render.dev = &sd->adev.ddev;
	pm_runtime_get_noresume(&plat->dev);
	pm_runtime_set_active(&plat->dev);
	pm_runtime_enable(&plat->dev);
	return 0;
}

static void plat_destroy(struct sim_dev *sd)
{
	if (!sd->plat)
		return;
	pm_runtime_disable(&sd->plat->dev);
	pm_runtime_put_noidle(&sd->plat->dev);
	platform_device_unregister(sd->plat);
}

/* As amdgpu_amdkfd_device_init(). */
static int kfd_device_create(struct sim_dev *sd)
{
	struct amdgpu_device *adev = &sd->adev;
	struct kgd2kfd_shared_resources res = {
		.compute_vmid_bitmap = GENMASK(AMDGPU_NUM_VMID - 1, sd->gpu.first_vmid),
		.num_pipe_per_mec = adev->gfx.mec.num_pipe_per_mec,
		.num_queue_per_pipe = adev->gfx.mec.num_queue_per_pipe,
		.gpuvm_size = AMDGPU_GMC_HOLE_START,
		.drm_render_minor = sd->render.index,
		.sdma_doorbell_idx = adev->doorbell_index.sdma_engine,
		.doorbell_physical_address = adev->doorbell.base,
		.doorbell_aperture_size = adev->doorbell.size,
		.doorbell_start_offset = adev->doorbell.num_kernel_doorbells * sizeof(u32),
		.non_cp_doorbells_start = adev->doorbell_index.first_non_cp,
		.non_cp_doorbells_end = adev->doorbell_index.last_non_cp,
		.enable_mes = adev->enable_mes,
	};
	unsigned int valid = adev->gfx.mec.num_pipe_per_mec * adev->gfx.mec.num_queue_per_pipe;

	bitmap_complement(res.cp_queue_bitmap, adev->gfx.mec_bitmap[0].queue_bitmap, valid);
	adev->kfd.dev = kgd2kfd_probe(adev, false);
	if (!adev->kfd.dev)
		return -ENODEV;
	adev->kfd.init_complete = kgd2kfd_device_init(adev->kfd.dev, &res);
	return adev->kfd.init_complete ? 0 : -ENODEV;
}

static void device_destroy_all(struct sim_dev *sd)
{
	struct amdgpu_device *adev = &sd->adev;

	if (sd->plat)
		dev_set_drvdata(&sd->plat->dev, NULL);
	sim_render_destroy(sd);
	sim_unplug_fini(sd);
	/* No interrupt may find the KFD's device gone. */
	sim_ih_destroy(&sd->gpu);
	/* As amdgpu_device_fini_hw(): nothing runs when the KFD frees MQDs. */
	if (adev->kfd.dev && !sd->unplugged)
		kgd2kfd_suspend(adev->kfd.dev, false);
	if (sd->engine_up && !sd->unplugged)
		sim_engine_suspend(&sd->gpu);
	if (adev->kfd.dev)
		kgd2kfd_device_exit(adev->kfd.dev);
	adev->kfd.dev = NULL;
	sim_reset_fini(sd);
	sim_kiq_destroy(adev);
	if (sd->engine_up)
		sim_engine_destroy(&sd->gpu);
	sim_mem_destroy(&sd->gpu);
	debugfs_remove(sd->gpu.debugfs);
	plat_destroy(sd);
	pci_dev_put(adev->pdev);
	kvfree(sd);
}

static int device_create_one(unsigned int index)
{
	struct sim_dev *sd = kvzalloc(sizeof(*sd), GFP_KERNEL);
	char name[8];
	int r;

	if (!sd)
		return -ENOMEM;
	sd->gpu.index = index;
	sd->gpu.adev = &sd->adev;
	sd->gpu.vram_bytes = (u64)sim_vram_mb << 20;
	sim_unplug_init(sd);
	sd->adev.pdev = find_pci_dev(index);
	r = sd->adev.pdev ? plat_create(sd) : -ENODEV;
	if (r)
		goto err;
	snprintf(name, sizeof(name), "%u", index);
	sd->gpu.debugfs = debugfs_create_dir(name, sim_debugfs);
	r = sim_mem_create(&sd->gpu);
	if (r)
		goto err;
	sim_device_fill(sd, sim_device_model(sim_model), sim_hqds, sim_vmids, sim_cus, sim_sdma,
			sd->gpu.vram_bytes);
	if (sim_mes)
		sim_mes_fill(&sd->adev);
	if (sim_vf)
		sd->adev.virt.caps |= AMDGPU_SRIOV_CAPS_IS_VF;
	r = sim_kiq_create(&sd->adev);
	if (r)
		goto err;
	r = sim_reset_init(sd);
	if (r)
		goto err;
	r = sim_ih_create(&sd->gpu);
	if (r)
		goto err;
	r = sim_engine_create(&sd->gpu);
	if (r)
		goto err;
	sd->engine_up = true;
	sim_devs[index] = sd;
	sim_num_gpus = index + 1;
	r = sim_render_create(sd);
	if (!r)
		r = kfd_device_create(sd);
	if (r) {
		sim_devs[index] = NULL;
		goto err;
	}
	sim_reset_debugfs(sd);
	sim_unplug_debugfs(sd);
	dev_set_drvdata(&sd->plat->dev, sd);
	dev_info(sd->gpu.dev, "%u HQDs, %u VMIDs, %u CUs, %u MiB\n", sim_hqds, sim_vmids, sim_cus,
		 sim_vram_mb);
	return 0;
err:
	device_destroy_all(sd);
	return r;
}

/* The KFD's processes go before the devices, as in amdgpu_exit(). */
static void sim_exit_all(void)
{
	unsigned int i;

	if (kfd_up)
		kgd2kfd_exit();
	for (i = 0; i < sim_num_gpus; i++) {
		if (sim_devs[i])
			device_destroy_all(sim_devs[i]);
		sim_devs[i] = NULL;
	}
	platform_driver_unregister(&plat_driver);
	sim_render_exit();
	debugfs_remove(sim_debugfs);
}

static int __init sim_init(void)
{
	unsigned int i;
	int r;

	r = check_parameters();
	if (r)
		return r;
	sim_debugfs = debugfs_create_dir("simgpu", NULL);
	r = sim_render_init();
	if (r)
		goto err_debugfs;
	r = platform_driver_register(&plat_driver);
	if (r)
		goto err_render;
	r = kgd2kfd_init();
	if (r)
		goto err_exit;
	kfd_up = true;
	for (i = 0; i < sim_gpus; i++) {
		r = device_create_one(i);
		if (r) {
			pr_err("simgpu: GPU %u: %d\n", i, r);
			goto err_exit;
		}
	}
	return 0;

err_exit:
	sim_exit_all();
	return r;
err_render:
	sim_render_exit();
err_debugfs:
	debugfs_remove(sim_debugfs);
	return r;
}

static void __exit sim_exit(void)
{
	sim_exit_all();
}

module_init(sim_init);
module_exit(sim_exit);
MODULE_DESCRIPTION("amdkfd on software GPUs");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_IMPORT_NS(DMA_BUF);
