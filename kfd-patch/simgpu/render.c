// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The render node of the software GPU: /dev/dri/renderD128 and following.
 *
 * A minimum of DRM's user interface: version and device information. The KFD takes a process's
 * address space from an open file of it. libhsakmt maps buffers by it and asks libdrm for a
 * name. libdrm_amdgpu opens it. It submits nothing and makes no buffers.
 */
#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "driver.h"

#define RENDER_FIRST 128 /* DRM's first render minor */
#define RENDER_MAX 64

static struct class *render_class;

/**
 * struct render_file - an open file
 * @drm: the KFD takes the address of this for drm_priv, and fpriv from
 *	@drm.driver_priv
 */
struct render_file {
	struct drm_file drm;
	struct amdgpu_fpriv fpriv;
	struct sim_dev *sd;
};

/*
 * Two inodes may name one device. All files share the mapping of the one that
 * was opened first (kept by a reference), so that a buffer that moves can be
 * unmapped from all of them.
 */
static struct inode *render_inode[RENDER_MAX];
static DEFINE_MUTEX(render_lock); /* protects render_inode */

static int render_open(struct inode *inode, struct file *file)
{
	unsigned int i = iminor(inode) - RENDER_FIRST;
	struct render_file *rf;
	int r;

	if (i >= sim_num_gpus || !sim_devs[i] || sim_devs[i]->unplugged)
		return -ENODEV;
	rf = kzalloc(sizeof(*rf), GFP_KERNEL);
	if (!rf)
		return -ENOMEM;
	rf->sd = sim_devs[i];
	rf->drm.driver_priv = &rf->fpriv;
	rf->drm.minor = &rf->sd->render;
	r = sim_vm_create(&rf->sd->gpu, &rf->fpriv.vm);
	if (r) {
		kfree(rf);
		return r;
	}
	mutex_lock(&render_lock);
	if (!render_inode[i]) {
		ihold(inode);
		render_inode[i] = inode;
	}
	file->f_mapping = render_inode[i]->i_mapping;
	mutex_unlock(&render_lock);
	file->private_data = &rf->drm;
	drm_dev_get(&rf->sd->adev.ddev);
	return 0;
}

static struct render_file *to_render_file(struct file *file)
{
	return container_of((struct drm_file *)file->private_data, struct render_file, drm);
}

static int render_release(struct inode *inode, struct file *file)
{
	struct render_file *rf = to_render_file(file);
	struct amdgpu_device *adev = &rf->sd->adev;
	struct amdgpu_vm *vm = &rf->fpriv.vm;

	amdgpu_vm_set_pasid(adev, vm, 0);
	amdgpu_amdkfd_gpuvm_destroy_cb(adev, vm);
	sim_vm_destroy(&rf->sd->gpu, vm);
	drm_dev_put(&adev->ddev);
	kfree(rf);
	return 0;
}

static vm_fault_t render_fault(struct vm_fault *vmf)
{
	struct sim_bo *bo = vmf->vma->vm_private_data;

	mutex_lock(&bo->move_lock);
	vmf->page = bo->pages[vmf->pgoff - bo->mmap_first];
	get_page(vmf->page);
	mutex_unlock(&bo->move_lock);
	return 0;
}

static void render_vma_open(struct vm_area_struct *vma)
{
	sim_bo_get(vma->vm_private_data);
}

static void render_vma_close(struct vm_area_struct *vma)
{
	sim_bo_put(vma->vm_private_data);
}

static const struct vm_operations_struct render_vm_ops = {
	.open = render_vma_open,
	.close = render_vma_close,
	.fault = render_fault,
};

/* The buffer that holds page offset @pgoff, with a reference, if @file may. */
static struct sim_bo *mmap_lookup(struct render_file *rf, unsigned long pgoff)
{
	struct maple_tree *mt = &rf->sd->gpu.mem->mmaps;
	MA_STATE(mas, mt, pgoff, pgoff);
	struct sim_bo *bo;

	mtree_lock(mt);
	bo = mas_walk(&mas);
	if (bo && (bo->owner != &rf->drm || !kref_get_unless_zero(&bo->abo.tbo.base.refcount)))
		bo = NULL;
	mtree_unlock(mt);
	return bo;
}

static int render_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct sim_bo *bo = mmap_lookup(to_render_file(file), vma->vm_pgoff);

	if (!bo)
		return -EINVAL;
	/*
	 * libhsakmt maps memory that the CPU must not touch private and without
	 * access, to keep the addresses: amdgpu_gem_object_mmap() lets it.
	 */
	if (is_cow_mapping(vma->vm_flags) && !(vma->vm_flags & VM_ACCESS_FLAGS))
		vm_flags_clear(vma, VM_MAYWRITE);
	if (bo->kind == SIM_BO_USERPTR || bo->kind == SIM_BO_FIXED ||
	    is_cow_mapping(vma->vm_flags) ||
	    vma->vm_pgoff - bo->mmap_first + vma_pages(vma) > bo->npages) {
		sim_bo_put(bo);
		return -EINVAL;
	}
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = bo;
	vma->vm_ops = &render_vm_ops;
	return 0;
}

void sim_render_zap(struct sim_gpu *sim, unsigned long first, unsigned long npages)
{
	struct inode *inode = READ_ONCE(render_inode[sim->index]);

	if (inode)
		unmap_mapping_range(inode->i_mapping, (loff_t)first << PAGE_SHIFT,
				    (loff_t)npages << PAGE_SHIFT, 1);
}

/* ---- ioctls ------------------------------------------------------------- */

static int copy_string(char __user *to, __kernel_size_t *len, const char *from)
{
	size_t n = strlen(from);
	size_t room = *len;

	*len = n;
	if (to && room && copy_to_user(to, from, min(n, room)))
		return -EFAULT;
	return 0;
}

static int ioctl_version(void __user *arg)
{
	struct drm_version v;
	int r;

	if (copy_from_user(&v, arg, sizeof(v)))
		return -EFAULT;
	v.version_major = 3;
	v.version_minor = 59;
	v.version_patchlevel = 0;
	r = copy_string(v.name, &v.name_len, "amdgpu");
	if (!r)
		r = copy_string(v.date, &v.date_len, "20260101");
	if (!r)
		r = copy_string(v.desc, &v.desc_len, "software GPU");
	if (!r && copy_to_user(arg, &v, sizeof(v)))
		r = -EFAULT;
	return r;
}

static int info_reply(const struct drm_amdgpu_info *q, const void *data, size_t len)
{
	return copy_to_user(u64_to_user_ptr(q->return_pointer), data,
			    min_t(size_t, len, q->return_size)) ?
		       -EFAULT :
		       0;
}

static void fill_dev_info(struct sim_dev *sd, struct drm_amdgpu_info_device *d)
{
	struct amdgpu_device *adev = &sd->adev;
	unsigned int i, j;

	memset(d, 0, sizeof(*d));
	d->device_id = adev->pdev->device;
	d->chip_rev = adev->rev_id;
	d->external_rev = adev->external_rev_id;
	d->pci_rev = adev->pdev->revision;
	d->family = adev->family;
	d->num_shader_engines = adev->gfx.config.max_shader_engines;
	d->num_shader_arrays_per_engine = adev->gfx.config.max_sh_per_se;
	d->gpu_counter_freq = 100000;
	d->max_engine_clock = 1500000;
	d->max_memory_clock = 945000;
	d->cu_active_number = adev->gfx.cu_info.number;
	for (i = 0; i < 4; i++)
		for (j = 0; j < 4; j++)
			d->cu_bitmap[i][j] = adev->gfx.cu_info.bitmap[0][i][j];
	d->virtual_address_offset = AMDGPU_VA_RESERVED_BOTTOM;
	d->virtual_address_max = AMDGPU_GMC_HOLE_START;
	d->virtual_address_alignment = PAGE_SIZE;
	d->pte_fragment_size = PAGE_SIZE;
	d->gart_page_size = PAGE_SIZE;
	d->vram_type = AMDGPU_VRAM_TYPE_HBM;
	d->vram_bit_width = adev->gmc.vram_width;
	d->wave_front_size = 64;
	d->num_cu_per_sh = adev->gfx.config.max_cu_per_sh;
}

static int ioctl_info(struct sim_dev *sd, void __user *arg)
{
	struct drm_amdgpu_info q;
	union {
		struct drm_amdgpu_info_device dev;
		struct drm_amdgpu_memory_info mem;
		struct drm_amdgpu_info_firmware fw;
		u32 word;
	} * a;
	size_t len;
	int r;

	if (copy_from_user(&q, arg, sizeof(q)))
		return -EFAULT;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	switch (q.query) {
	case AMDGPU_INFO_ACCEL_WORKING:
		a->word = 1;
		len = sizeof(a->word);
		break;
	case AMDGPU_INFO_DEV_INFO:
		fill_dev_info(sd, &a->dev);
		len = sizeof(a->dev);
		break;
	case AMDGPU_INFO_FW_VERSION:
		a->fw.ver = sd->adev.gfx.mec_fw_version;
		len = sizeof(a->fw);
		break;
	case AMDGPU_INFO_MEMORY:
		a->mem.vram.total_heap_size = sd->gpu.vram_bytes;
		a->mem.vram.usable_heap_size = sd->gpu.vram_bytes;
		a->mem.vram.heap_usage = sd->gpu.vram_bytes - sim_vram_free_bytes(&sd->gpu);
		a->mem.cpu_accessible_vram = a->mem.vram;
		len = sizeof(a->mem);
		break;
	case AMDGPU_INFO_READ_MMR_REG:
		/* GB_ADDR_CONFIG and its like: of no use without graphics. */
		len = min_t(size_t, q.read_mmr_reg.count * sizeof(u32), sizeof(*a));
		break;
	default:
		kfree(a);
		return -EINVAL;
	}
	r = info_reply(&q, a, len);
	kfree(a);
	return r;
}

static long render_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct render_file *rf = to_render_file(file);

	if (_IOC_TYPE(cmd) != DRM_IOCTL_BASE)
		return -ENOTTY;
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(DRM_IOCTL_VERSION):
		if (_IOC_SIZE(cmd) != sizeof(struct drm_version))
			return -EINVAL;
		return ioctl_version((void __user *)arg);
	case _IOC_NR(DRM_IOCTL_AMDGPU_INFO):
		if (_IOC_SIZE(cmd) != sizeof(struct drm_amdgpu_info))
			return -EINVAL;
		return ioctl_info(rf->sd, (void __user *)arg);
	default:
		return -EINVAL;
	}
}

static const struct file_operations render_fops = {
	.owner = THIS_MODULE,
	.open = render_open,
	.release = render_release,
	.mmap = render_mmap,
	.unlocked_ioctl = render_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

int amdgpu_file_to_fpriv(struct file *filp, struct amdgpu_fpriv **fpriv)
{
	if (filp->f_op != &render_fops)
		return -EINVAL;
	*fpriv = &to_render_file(filp)->fpriv;
	return 0;
}

/* ---- Nodes -------------------------------------------------------------- */

static char *render_devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return kasprintf(GFP_KERNEL, "dri/%s", dev_name(dev));
}

int sim_render_init(void)
{
	render_class = class_create("drm");
	if (IS_ERR(render_class))
		return PTR_ERR(render_class);
	render_class->devnode = render_devnode;
	return 0;
}

void sim_render_exit(void)
{
	class_destroy(render_class);
}

int sim_render_create(struct sim_dev *sd)
{
	dev_t devt = MKDEV(DRM_MAJOR, RENDER_FIRST + sd->gpu.index);
	struct device *dev;
	int r;

	sd->cdev = cdev_alloc();
	if (!sd->cdev)
		return -ENOMEM;
	sd->cdev->ops = &render_fops;
	sd->cdev->owner = THIS_MODULE;
	r = register_chrdev_region(devt, 1, "drm");
	if (r)
		goto err_cdev;
	r = cdev_add(sd->cdev, devt, 1);
	if (r)
		goto err_region;
	dev = device_create(render_class, &sd->adev.pdev->dev, devt, sd, "renderD%u",
			    RENDER_FIRST + sd->gpu.index);
	if (IS_ERR(dev)) {
		r = PTR_ERR(dev);
		goto err_region;
	}
	sd->render_dev = dev;
	return 0;

err_region:
	unregister_chrdev_region(devt, 1);
err_cdev:
	cdev_del(sd->cdev);
	sd->cdev = NULL;
	return r;
}

void sim_render_destroy(struct sim_dev *sd)
{
	dev_t devt = MKDEV(DRM_MAJOR, RENDER_FIRST + sd->gpu.index);

	if (!sd->cdev)
		return;
	device_destroy(render_class, devt);
	cdev_del(sd->cdev);
	unregister_chrdev_region(devt, 1);
	sd->cdev = NULL;
	iput(render_inode[sd->gpu.index]);
	render_inode[sd->gpu.index] = NULL;
}
