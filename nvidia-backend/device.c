// SPDX-License-Identifier: Apache-2.0
/*
 * device.c - the list of GPUs, and the ops tables: "nvidia" over the driver, "softgpu" the
 * same code over the software GPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"

/* ---- identity --------------------------------------------------------------- */

/* 16 bytes from "GPU-" and a UUID's digits at @text. */
static bool parse_uuid(const char *text, uint8_t uuid[16])
{
	unsigned int digit, n = 0;
	uint8_t got[16] = { 0 };

	if (strncmp(text, "GPU-", 4))
		return false;
	for (text += 4; n < 32; text++) {
		if (*text == '-')
			continue;
		if (sscanf((char[]){ *text, 0 }, "%1x", &digit) != 1)
			return false;
		got[n / 2] = (uint8_t)(got[n / 2] << 4 | digit);
		n++;
	}
	memcpy(uuid, got, 16);
	return true;
}

/* "Key:  value" of /proc/driver/nvidia/gpus/ADDRESS/information. */
static bool information(const char *text, const char *key, char *value, size_t len)
{
	const char *at = strstr(text, key);
	size_t n;

	if (!at)
		return false;
	at += strlen(key);
	at += strspn(at, ": \t");
	n = strcspn(at, "\n");
	if (n >= len)
		n = len - 1;
	memcpy(value, at, n);
	value[n] = '\0';
	return n > 0;
}

/* The identity from /proc, without a client: this wakes no GPU. */
static bool identify_by_proc(struct gp_device_id *id)
{
	char path[96], text[2048], value[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%04x:%02x:%02x.%x/information",
		 id->pci_domain, id->pci_bus, id->pci_dev, id->pci_fn);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (information(text, "Model", value, sizeof(value)))
		snprintf(id->name, sizeof(id->name), "%s", value);
	return information(text, "GPU UUID", value, sizeof(value)) && parse_uuid(value, id->uuid);
}

static int client_subdevice(const struct gp_nv_client *c, uint32_t gpu_id, uint32_t *device,
			    uint32_t *subdevice)
{
	struct gp_rm_id_info_v2 info = { .gpu_id = gpu_id };
	struct gp_rm_device_params dp = { 0 };
	struct gp_rm_subdevice_params sp = { 0 };
	uint32_t d = 0, s = 0;
	int r = gp_nv_control(c->t, c->fd, c->handle, c->handle, GP_RM_CTRL_GET_ID_INFO_V2, &info,
			      sizeof(info));

	if (r)
		return r;
	dp.device_id = info.device_instance;
	r = gp_nv_alloc(c, c->handle, GP_RM_CLASS_DEVICE, &dp, &d);
	if (r)
		return r;
	sp.subdevice_id = info.subdevice_instance;
	r = gp_nv_alloc(c, d, GP_RM_CLASS_SUBDEVICE, &sp, &s);
	if (r)
		return r;
	*device = d;
	*subdevice = s;
	return 0;
}

int gp_nv_client_device(const struct gp_nv_client *c, uint32_t gpu_id, uint32_t minor, int *gpu_fd,
			uint32_t *device, uint32_t *subdevice)
{
	struct gp_rm_register_fd reg = { .ctl_fd = c->fd };
	int fd = -1;
	int r;

	if (c->t->open_gpu) {
		fd = c->t->open_gpu(minor);
		if (fd < 0)
			return fd;
		/* RM refuses a file that is registered already; no matter. */
		c->t->ioctl(fd, GP_RM_REQUEST(GP_RM_ESC_REGISTER_FD, gp_rm_register_fd), &reg);
	}
	r = client_subdevice(c, gpu_id, device, subdevice);
	if (r && fd >= 0)
		close(fd);
	if (!r)
		*gpu_fd = fd;
	return r;
}

static int gpu_name(const struct gp_nv_client *c, uint32_t subdevice, char *name, size_t len)
{
	struct gp_rm_gpu_name n = { 0 };
	int r = gp_nv_control(c->t, c->fd, c->handle, subdevice, GP_RM_CTRL_GPU_GET_NAME_STRING, &n,
			      sizeof(n));

	if (r == -EINVAL)
		r = gp_nv_control(c->t, c->fd, c->handle, subdevice, GP_RM_CTRL_GPU_GET_NAME_STRING,
				  &n, GP_RM_GPU_NAME_BYTES_SHORT);
	if (!r)
		snprintf(name, len, "%.*s", (int)sizeof(n.name), n.name);
	return r;
}

/* The rest of the identity, which needs a client. */
static int identify_by_client(const struct gp_nv_transport *t, uint32_t gpu_id,
			      struct gp_device_id *id)
{
	struct gp_nv_client c;
	uint32_t device, subdevice;
	int gpu_fd = -1;
	int r = gp_nv_client_open(t, &c);

	if (r)
		return r;
	r = gp_nv_client_device(&c, gpu_id, id->minor, &gpu_fd, &device, &subdevice);
	if (!r)
		r = gp_nv_subdevice_uuid(t, c.fd, c.handle, subdevice, id->uuid);
	if (!r)
		gpu_name(&c, subdevice, id->name, sizeof(id->name));
	if (gpu_fd >= 0)
		close(gpu_fd);
	gp_nv_client_close(&c);
	return r;
}

static int identify(const struct gp_nv_transport *t, const struct gp_rm_card_info *card,
		    struct gp_device_id *id)
{
	int r;

	memset(id, 0, sizeof(*id));
	snprintf(id->name, sizeof(id->name), "NVIDIA GPU");
	id->pci_domain = card->pci_domain;
	id->pci_bus = card->pci_bus;
	id->pci_dev = card->pci_slot;
	id->pci_fn = card->pci_function;
	id->minor = card->minor;
	if (!t->virtual_time && identify_by_proc(id))
		return 0;
	r = identify_by_client(t, card->gpu_id, id);
	/* One name for users, not the server's own. */
	if (!r && t->virtual_time)
		snprintf(id->name, sizeof(id->name), "soft%u", id->minor);
	return r;
}

int gp_nv_probe(const struct gp_nv_transport *t, struct gp_device_list *list,
		uint32_t gpu_id[GP_HAL_MAX_DEVICES])
{
	struct gp_rm_card_info card[GP_RM_MAX_CARDS];
	struct gp_device_list found = { 0 };
	char version[64];
	int first = 0;
	int fd = t->open_ctl();
	int r;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENXIO ? -ENODEV : fd;
	/* A driver that is too old may refuse the request for any reason. */
	if (gp_nv_driver_version(t, version, sizeof(version)) == -EOPNOTSUPP) {
		close(fd);
		return -EOPNOTSUPP;
	}
	memset(card, 0, sizeof(card));
	r = t->ioctl(fd, GP_RM_REQUEST_BYTES(GP_RM_ESC_CARD_INFO, sizeof(card)), card);
	r = r < 0 ? -errno : 0;
	close(fd);
	if (r)
		return r;
	for (size_t i = 0; i < GP_RM_MAX_CARDS; i++) {
		if (!card[i].valid || found.count == GP_HAL_MAX_DEVICES)
			continue;
		/* Skip a GPU that this container may not open. */
		r = identify(t, &card[i], &found.dev[found.count]);
		if (r) {
			first = first ? first : r;
			continue;
		}
		gpu_id[found.count++] = card[i].gpu_id;
	}
	if (!found.count && first)
		return first;
	*list = found;
	return 0;
}

/* ---- open, close, caps ---------------------------------------------------------- */

int gp_nv_device_open(const struct gp_nv_transport *t, const struct gp_hal_ops *ops,
		      const struct gp_device_id *id, struct gp_device **dev)
{
	struct gp_device_list list;
	uint32_t gpu_id[GP_HAL_MAX_DEVICES];
	struct gp_nv_device *d;
	char version[64];
	size_t i;
	int r = gp_nv_driver_version(t, version, sizeof(version));

	if (r)
		return r;
	r = gp_nv_probe(t, &list, gpu_id);
	if (r)
		return r;
	for (i = 0; i < list.count; i++)
		if (!memcmp(list.dev[i].uuid, id->uuid, sizeof(id->uuid)))
			break;
	if (i == list.count)
		return -ENODEV;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->base.ops = ops;
	d->base.id = list.dev[i];
	d->t = t;
	d->gpu_id = gpu_id[i];
	pthread_mutex_init(&d->lock, NULL);
	*dev = &d->base;
	return 0;
}

static void nv_close(struct gp_device *dev)
{
	struct gp_nv_device *d = gp_nv_of(gp_nv_device, dev);

	if (!d)
		return;
	gp_nv_compute_clients_close(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static int client_memory(const struct gp_nv_client *c, uint32_t subdevice, uint64_t *total,
			 uint64_t *room)
{
	struct gp_rm_fb_info info[] = { { .index = GP_RM_FB_HEAP_SIZE },
					{ .index = GP_RM_FB_HEAP_FREE } };
	struct gp_rm_fb_info_list list = { .count = 2, .info = (uintptr_t)info };
	int r = gp_nv_control(c->t, c->fd, c->handle, subdevice, GP_RM_CTRL_FB_GET_INFO, &list,
			      sizeof(list));

	if (r)
		return r;
	*total = (uint64_t)info[0].data << 10;
	*room = (uint64_t)info[1].data << 10;
	return 0;
}

static int nv_memory(struct gp_device *dev, uint64_t *total, uint64_t *room)
{
	const struct gp_nv_device *d = gp_nv_of(gp_nv_device, dev);
	struct gp_nv_client c;
	uint32_t device, subdevice;
	int gpu_fd = -1;
	int r = gp_nv_client_open(d->t, &c);

	if (r)
		return r;
	r = gp_nv_client_device(&c, d->gpu_id, dev->id.minor, &gpu_fd, &device, &subdevice);
	if (!r)
		r = client_memory(&c, subdevice, total, room);
	if (gpu_fd >= 0)
		close(gpu_fd);
	gp_nv_client_close(&c);
	return r;
}

/* Figures of one H200 with 580.159.04; docs/nvidia.md. */
static int nv_caps(struct gp_device *dev, struct gp_hal_caps *caps)
{
	const struct gp_nv_device *d = gp_nv_of(gp_nv_device, dev);
	struct gp_hal_caps c = {
		.caps = GP_CAP_SLICES | GP_CAP_SLICE_PREEMPTS | GP_CAP_SUSPEND | GP_CAP_HOLD |
			GP_CAP_PREEMPT_MODE | GP_CAP_SWITCH_LOG | GP_CAP_ATTACH | GP_CAP_PREEMPT,
		.min_slice_us = GP_NV_MIN_SLICE_US,
		.max_slice_us = GP_NV_MAX_SLICE_US,
		.default_slice_us = 2048,
		.default_copy_slice_us = 1024,
		.switch_ns = 170000,
		.set_slice_ns = 250000,
		.suspend_ns = 485000,
		.resume_ns = 300000,
		.max_hold_ns = GP_NV_MAX_HOLD_NS,
	};

	if (d->t->virtual_time)
		c.caps |= GP_CAP_VIRTUAL_TIME;
	*caps = c;
	return 0;
}

static bool explain_holds(int err, char *why, size_t why_len)
{
	if (err != -EOPNOTSUPP || !gp_nv_one_connection())
		return false;
	snprintf(why, why_len,
		 "with CUDA_DEVICE_MAX_CONNECTIONS=1 a hold would block its own work; unset it, or "
		 "set 2 or more");
	return true;
}

static void nv_explain(int err, char *why, size_t why_len)
{
	char version[64] = "";

	if (explain_holds(err, why, why_len))
		return;
	if (err == -EOPNOTSUPP) {
		gp_nv_driver_version(gp_nv_transport_real(), version, sizeof(version));
		snprintf(why, why_len, "nvidia: the driver%s%s is too old; install 535 or later",
			 *version ? " " : "", version);
	} else if (err == -ENODEV) {
		gp_nv_explain_missing(why, why_len);
	} else if (err == -EACCES || err == -EPERM) {
		snprintf(why, why_len,
			 "nvidia: this user may not open /dev/nvidiactl or /dev/nvidia*; join the "
			 "group that owns them (ls -l /dev/nvidia*)");
	}
}

static void soft_explain(int err, char *why, size_t why_len)
{
	if (explain_holds(err, why, why_len))
		return;
	if (!gp_nv_transport_soft(true))
		snprintf(why, why_len,
			 "softgpu: libcuda.so.1 not found; run make install (it goes "
			 "to " GP_PKGLIBDIR "/softgpu), or set GPREEMPT_SOFTGPU_LIBDIR");
	else
		snprintf(why, why_len,
			 "softgpu: cannot reach its server: %s; set GPREEMPT_SOFTGPU to an "
			 "absolute path in an existing directory of this user",
			 err == -ENODEV ? "not found" : strerror(-err));
}

/* ---- the lock of the short slice ------------------------------------------------- */

/*
 * A byte of the control device itself, at the GPU's number. Every user and container on the
 * machine sees an open file description lock there. It leaves nothing on disk and ends with
 * its holder.
 */
static int lock_works(int fd, uint64_t offset)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)offset,
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_GETLK, &lock) ? -errno : 0;
}

static int slot_file(const char *dir, const char *name)
{
	char path[512];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd;

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	return fd < 0 ? -errno : fd;
}

/* /run/gpreempt if it exists or can be made, else the user's own folder. */
static int slot_fallback(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char dir[512];
	int fd;

	mkdir("/run/gpreempt", 0755);
	fd = slot_file("/run/gpreempt", "slot");
	if (fd >= 0 || !runtime || runtime[0] != '/')
		return fd;
	if (snprintf(dir, sizeof(dir), "%s/gpreempt", runtime) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	mkdir(dir, 0700);
	return slot_file(dir, "slot");
}

static int nv_slot(struct gp_device *dev, struct gp_slot_place *place)
{
	const struct gp_nv_transport *t = gp_nv_of(gp_nv_device, dev)->t;
	int fd = t->open_slot ? t->open_slot() : t->open_ctl();

	if (fd >= 0 && !t->open_slot && lock_works(fd, dev->id.minor)) {
		close(fd);
		fd = slot_fallback();
	}
	if (fd < 0)
		return fd;
	place->fd = fd;
	place->offset = dev->id.minor;
	return 0;
}

/* ---- the tables --------------------------------------------------------------------- */

static int nvidia_open(const struct gp_device_id *id, struct gp_device **dev);
static int nvidia_probe(struct gp_device_list *list);
static int softgpu_open(const struct gp_device_id *id, struct gp_device **dev);
static int softgpu_probe(struct gp_device_list *list);

#define SHARED_OPS                                                                                 \
	.abi = GP_HAL_ABI, .caps = nv_caps, .close = nv_close,                                     \
	.control_files = gp_nv_control_files, .get_slice = gp_nv_get_slice,                        \
	.group_put = gp_nv_group_put, .groups = gp_nv_groups, .groups_from = gp_nv_groups_from,    \
	.has_compute_client = gp_nv_has_compute_client, .has_driver_open = gp_nv_has_driver_open,  \
	.hold = gp_nv_hold, .hold_create = gp_nv_hold_create, .hold_destroy = gp_nv_hold_destroy,  \
	.hold_queued = gp_nv_hold_queued, .hold_stat = gp_nv_hold_stat,                            \
	.log_close = gp_nv_log_close, .log_now = gp_nv_log_now, .log_open = gp_nv_log_open,        \
	.log_read = gp_nv_log_read, .memory = nv_memory, .now = gp_nv_now,                         \
	.preempt = gp_nv_preempt, .release = gp_nv_release, .resume = gp_nv_resume,                \
	.set_preempt_mode = gp_nv_set_preempt_mode, .set_slice = gp_nv_set_slice, .slot = nv_slot, \
	.suspend = gp_nv_suspend, .timer_ack = gp_nv_timer_ack, .timer_arm = gp_nv_timer_arm,      \
	.timer_create = gp_nv_timer_create, .timer_destroy = gp_nv_timer_destroy,                  \
	.timer_done = gp_nv_timer_done, .usage = gp_nv_usage

static int nvidia_is_control_file(int fd);
static int softgpu_is_control_file(int fd);
static ssize_t nvidia_take_files(pid_t pid, int pidfd, int *fd, size_t max);
static ssize_t softgpu_take_files(pid_t pid, int pidfd, int *fd, size_t max);

static const struct gp_hal_ops nvidia_ops = {
	.name = "nvidia",
	.explain = nv_explain,
	.is_control_file = nvidia_is_control_file,
	.open = nvidia_open,
	.probe = nvidia_probe,
	.take_files = nvidia_take_files,
	SHARED_OPS,
};
GP_HAL_BACKEND(nvidia_ops);

static const struct gp_hal_ops softgpu_ops = {
	.name = "softgpu",
	.explain = soft_explain,
	.is_control_file = softgpu_is_control_file,
	.open = softgpu_open,
	.probe = softgpu_probe,
	.take_files = softgpu_take_files,
	SHARED_OPS,
};
GP_HAL_BACKEND(softgpu_ops);

const struct gp_hal_ops *gp_nv_ops(const struct gp_nv_transport *t)
{
	return t->virtual_time ? &softgpu_ops : &nvidia_ops;
}

static int nvidia_open(const struct gp_device_id *id, struct gp_device **dev)
{
	return gp_nv_device_open(gp_nv_transport_real(), &nvidia_ops, id, dev);
}

static int nvidia_probe(struct gp_device_list *list)
{
	uint32_t gpu_id[GP_HAL_MAX_DEVICES];
	int r = gp_nv_probe(gp_nv_transport_real(), list, gpu_id);

	if (r == -ENODEV) {
		list->count = 0;
		return 0;
	}
	return r;
}

static int nvidia_is_control_file(int fd)
{
	return gp_nv_is_control_file(gp_nv_transport_real(), fd);
}

static ssize_t nvidia_take_files(pid_t pid, int pidfd, int *fd, size_t max)
{
	return gp_nv_take_files(gp_nv_transport_real(), pid, pidfd, fd, max);
}

static int softgpu_is_control_file(int fd)
{
	return gp_nv_is_control_file(gp_nv_transport_soft_files(), fd);
}

static ssize_t softgpu_take_files(pid_t pid, int pidfd, int *fd, size_t max)
{
	return gp_nv_take_files(gp_nv_transport_soft_files(), pid, pidfd, fd, max);
}

static int softgpu_open(const struct gp_device_id *id, struct gp_device **dev)
{
	const struct gp_nv_transport *t = gp_nv_transport_soft(true);

	return t ? gp_nv_device_open(t, &softgpu_ops, id, dev) : -ENODEV;
}

static int softgpu_probe(struct gp_device_list *list)
{
	const struct gp_nv_transport *t = gp_nv_transport_soft(true);
	uint32_t gpu_id[GP_HAL_MAX_DEVICES];

	if (!t) {
		list->count = 0;
		return 0;
	}
	return gp_nv_probe(t, list, gpu_id);
}
