/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_rm.h - a resource manager in the test's own memory, behind a transport.
 * A control file is a memfd. Its inode identifies the owner of objects, so duplicates
 * and files from another process work as the same one.
 */
#ifndef GP_FAKE_RM_H
#define GP_FAKE_RM_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"

#define FAKE_MAX 4096
#define FAKE_GPUS 2

struct fake_object {
	ino_t file;
	uint32_t client, handle, parent, cls;
	uint32_t gpu; /* of a device */
	uint64_t slice_us;
	uint32_t disabled, mode;
	uint32_t preempts;
};

static struct {
	struct fake_object object[FAKE_MAX];
	size_t objects;
	uint32_t next_client;
	uint32_t calls;
	uint32_t disable_calls;
	uint32_t largest_disable;
	uint32_t interrupts; /* number of calls that fail with EINTR */
	ino_t dead_file;     /* calls on it fail with EBADF */
	uint32_t dead_calls;
	uint32_t fail_cmd, fail_after, fail_status;
	uint32_t fail_times;  /* 0: each call from then on */
	uint32_t compute_pid; /* a process with compute objects, .. */
	uint32_t also;	      /* .. and another; 0: none */
	bool lists_nobody;    /* else */
	bool lists;	      /* RM lists its classes */
	char version[64];
} fake;

static inline ino_t fake_ino(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

static inline int fake_open_ctl(void)
{
	int fd = memfd_create("gp-fake-rm", MFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static inline struct fake_object *fake_find(ino_t file, uint32_t client, uint32_t handle)
{
	for (size_t i = 0; i < fake.objects; i++) {
		struct fake_object *o = &fake.object[i];

		if (o->file == file && o->client == client && o->handle == handle)
			return o;
	}
	return NULL;
}

static inline struct fake_object *fake_add(int fd, uint32_t client, uint32_t parent,
					   uint32_t handle, uint32_t cls)
{
	struct fake_object *o = &fake.object[fake.objects++];

	memset(o, 0, sizeof(*o));
	o->file = fake_ino(fd);
	o->client = client;
	o->parent = parent;
	o->handle = handle;
	o->cls = cls;
	o->slice_us = 1024;
	return o;
}

static inline uint32_t fake_client(int fd)
{
	uint32_t handle = fake.next_client++;

	fake_add(fd, handle, 0, handle, GP_RM_CLASS_ROOT_CLIENT);
	return handle;
}

static inline void fake_uuid(uint32_t gpu, uint8_t uuid[16])
{
	memset(uuid, 0x10 * (int)(gpu + 1), 16);
}

static inline uint32_t fake_disable(ino_t file, const struct gp_rm_disable_channels *d)
{
	fake.disable_calls++;
	if (d->count > fake.largest_disable)
		fake.largest_disable = d->count;
	if (d->count > GP_RM_DISABLE_MAX)
		return GP_RM_ERR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < d->count; i++) {
		struct fake_object *o = fake_find(file, d->client[i], d->channel[i]);

		if (!o || !gp_rm_class_is_channel(o->cls))
			return GP_RM_ERR_INVALID_CHANNEL;
		o->disabled = d->disable;
	}
	return GP_RM_OK;
}

static inline uint32_t fake_subdevice_gpu(ino_t file, const struct fake_object *sub)
{
	const struct fake_object *device = fake_find(file, sub->client, sub->parent);

	return device ? device->gpu : 0;
}

static inline uint32_t fake_control(int fd, struct gp_rm_control *c)
{
	ino_t file = fake_ino(fd);
	struct fake_object *o = fake_find(file, c->client, c->object);
	void *p = (void *)(uintptr_t)c->params;

	if (fake.fail_cmd == c->cmd && c->cmd) {
		if (!fake.fail_after) {
			if (fake.fail_times && !--fake.fail_times)
				fake.fail_cmd = 0;
			return fake.fail_status;
		}
		fake.fail_after--;
	}
	if (!o)
		return GP_RM_ERR_INVALID_CLIENT;
	switch (c->cmd) {
	case GP_RM_CTRL_GET_HANDLE_INFO: {
		struct gp_rm_handle_info *h = p;
		struct fake_object *of = fake_find(file, c->client, h->object);

		if (!of)
			return GP_RM_ERR_OBJECT_NOT_FOUND;
		h->result = h->index == GP_RM_HANDLE_CLASS ? of->cls : of->parent;
		return GP_RM_OK;
	}
	case GP_RM_CTRL_GPU_GET_GID_INFO: {
		struct gp_rm_gid_info *g = p;

		g->length = 16;
		fake_uuid(fake_subdevice_gpu(file, o), g->data);
		return GP_RM_OK;
	}
	case GP_RM_CTRL_GPU_GET_CLASSLIST: {
		static const uint32_t cls[] = { GP_RM_CLASS_HOPPER_COMPUTE - 0x400, 0xc8b5,
						GP_RM_CLASS_HOPPER_COMPUTE, 0x00de };
		struct gp_rm_class_list *list = p;

		if (!fake.lists)
			return GP_RM_ERR_NOT_SUPPORTED;
		if (list->cls)
			memcpy((void *)(uintptr_t)list->cls, cls, sizeof(cls));
		list->count = sizeof(cls) / sizeof(cls[0]);
		return GP_RM_OK;
	}
	case GP_RM_CTRL_GPU_GET_PIDS: {
		struct gp_rm_get_pids *list = p;

		if (list->id_type != GP_RM_GET_PIDS_CLASS || list->id != GP_RM_CLASS_HOPPER_COMPUTE)
			return GP_RM_ERR_INVALID_ARGUMENT;
		list->count = 0;
		if (!fake.lists_nobody)
			list->pid[list->count++] = 1;
		if (fake.compute_pid)
			list->pid[list->count++] = fake.compute_pid;
		if (fake.also)
			list->pid[list->count++] = fake.also;
		return GP_RM_OK;
	}
	case GP_RM_CTRL_GET_ID_INFO_V2: {
		struct gp_rm_id_info_v2 *i = p;

		i->device_instance = i->gpu_id - 0x100;
		return GP_RM_OK;
	}
	case GP_RM_CTRL_TSG_GET_TIMESLICE:
		((struct gp_rm_tsg_timeslice *)p)->us = o->slice_us;
		return GP_RM_OK;
	case GP_RM_CTRL_TSG_SET_TIMESLICE:
		o->slice_us = ((struct gp_rm_tsg_timeslice *)p)->us;
		return GP_RM_OK;
	case GP_RM_CTRL_TSG_PREEMPT:
		if (c->params_size != sizeof(struct gp_rm_tsg_preempt) ||
		    o->cls != GP_RM_CLASS_CHANNEL_GROUP)
			return GP_RM_ERR_INVALID_PARAM_STRUCT;
		o->preempts++;
		return GP_RM_OK;
	case GP_RM_CTRL_FIFO_DISABLE_CHANNELS:
		return fake_disable(file, p);
	case GP_RM_CTRL_GR_SET_CTXSW_PREEMPTION_MODE: {
		struct gp_rm_preemption_mode *m = p;
		struct fake_object *ch = fake_find(file, c->client, m->channel);

		if (!ch || m->flags != GP_RM_PREEMPT_SET_COMPUTE)
			return GP_RM_ERR_INVALID_CHANNEL;
		ch->mode = m->compute_mode;
		return GP_RM_OK;
	}
	default:
		return GP_RM_ERR_NOT_SUPPORTED;
	}
}

static inline uint32_t fake_alloc(int fd, struct gp_rm_alloc21 *a)
{
	struct fake_object *o;

	if (a->cls == GP_RM_CLASS_ROOT_CLIENT || a->cls == GP_RM_CLASS_ROOT) {
		a->object = fake_client(fd);
		return GP_RM_OK;
	}
	if (!a->object)
		a->object = 0xcaf00000u + (uint32_t)fake.objects;
	o = fake_add(fd, a->client, a->parent, a->object, a->cls);
	if (a->cls == GP_RM_CLASS_DEVICE)
		o->gpu = ((struct gp_rm_device_params *)(uintptr_t)a->params)->device_id;
	return GP_RM_OK;
}

static inline uint32_t fake_free(int fd, const struct gp_rm_free *f)
{
	ino_t file = fake_ino(fd);
	size_t kept = 0;

	if (!fake_find(file, f->client, f->object))
		return GP_RM_ERR_OBJECT_NOT_FOUND;
	if (f->object != f->client)
		return GP_RM_ERR_NOT_SUPPORTED;
	for (size_t i = 0; i < fake.objects; i++)
		if (fake.object[i].file != file || fake.object[i].client != f->client)
			fake.object[kept++] = fake.object[i];
	fake.objects = kept;
	return GP_RM_OK;
}

static inline int fake_cards(struct gp_rm_card_info *card)
{
	for (uint32_t i = 0; i < FAKE_GPUS; i++) {
		card[i].valid = 1;
		card[i].pci_bus = (uint8_t)(0x3b + i);
		card[i].gpu_id = 0x100 + i;
		card[i].minor = i;
	}
	return 0;
}

static inline int fake_ioctl(int fd, unsigned long request, void *arg)
{
	fake.calls++;
	if (fake.interrupts) {
		fake.interrupts--;
		errno = EINTR;
		return -1;
	}
	if (fake.dead_file && fake.dead_file == fake_ino(fd)) {
		fake.dead_calls++;
		errno = EBADF;
		return -1;
	}
	switch (_IOC_NR(request)) {
	case GP_RM_ESC_FREE:
		((struct gp_rm_free *)arg)->status = fake_free(fd, arg);
		return 0;
	case GP_RM_ESC_ALLOC:
		((struct gp_rm_alloc21 *)arg)->status = fake_alloc(fd, arg);
		return 0;
	case GP_RM_ESC_CONTROL:
		((struct gp_rm_control *)arg)->status = fake_control(fd, arg);
		return 0;
	case GP_RM_ESC_CARD_INFO:
		return fake_cards(arg);
	default:
		errno = ENOTTY;
		return -1;
	}
}

static inline int fake_version(char *buf, size_t len)
{
	if (!fake.version[0])
		return -ENODEV;
	snprintf(buf, len, "%s", fake.version);
	return 0;
}

static uint64_t fake_now;

static inline uint64_t fake_now_ns(void)
{
	return fake_now;
}

/* virtual_time: the client gives the identity, not /proc. */
static const struct gp_nv_transport fake_transport = {
	.name = "fake",
	.prefix = "/memfd:gp-fake-rm",
	.virtual_time = true,
	.open_ctl = fake_open_ctl,
	.ioctl = fake_ioctl,
	.driver_version = fake_version,
	.now_ns = fake_now_ns,
};

static inline void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.next_client = GP_RM_HABIT_CLIENT_BASE + 5;
	strcpy(fake.version, "580.159.04");
}

static inline struct gp_nv_device *fake_device(uint32_t gpu)
{
	struct gp_device_id id = { 0 };
	struct gp_device *dev = NULL;

	fake_uuid(gpu, id.uuid);
	if (gp_nv_device_open(&fake_transport, gp_nv_ops(&fake_transport), &id, &dev))
		return NULL;
	return gp_nv_of(gp_nv_device, dev);
}

/*
 * Create libcuda's objects of one context on @gpu, from handle @at on. These are device
 * and subdevice (once), some other objects, a compute group with 8 channels, and three
 * copy groups with 4. Returns the handle after the last.
 */
static inline uint32_t fake_context(int fd, uint32_t client, uint32_t gpu, uint32_t at)
{
	uint32_t device = 0, tsg, channel;

	for (size_t i = 0; i < fake.objects; i++)
		if (fake.object[i].client == client && fake.object[i].cls == GP_RM_CLASS_DEVICE &&
		    fake.object[i].gpu == gpu)
			device = fake.object[i].handle;
	if (!device) {
		device = at;
		fake_add(fd, client, client, at++, GP_RM_CLASS_DEVICE)->gpu = gpu;
		fake_add(fd, client, device, at++, GP_RM_CLASS_SUBDEVICE);
	}
	for (int i = 0; i < 20; i++)
		fake_add(fd, client, device, at++, GP_RM_CLASS_MEMORY_SYSTEM);
	at += 7;
	for (int g = 0; g < 4; g++) {
		tsg = at++;
		fake_add(fd, client, device, tsg, GP_RM_CLASS_CHANNEL_GROUP)->slice_us = g ? 1024 :
											     2048;
		for (int c = 0; c < (g ? 4 : 8); c++) {
			channel = at++;
			fake_add(fd, client, tsg, channel, GP_RM_CLASS_HOPPER_CHANNEL);
			if (!g)
				fake_add(fd, client, channel, at++, GP_RM_CLASS_HOPPER_COMPUTE);
			fake_add(fd, client, channel, at++, GP_RM_CLASS_HOPPER_COPY);
		}
	}
	return at;
}

#endif
