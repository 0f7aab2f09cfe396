// SPDX-License-Identifier: Apache-2.0
/*
 * rm_ioctl.c - ioctl() on an RM file. The structure and the parameters that it points to go to
 * the server, with the file itself, and come back.
 *
 * In a file of its own, so that the rest of the library calls it through its PLT, as NVIDIA's
 * libcuda calls ioctl(). A preload can hook it there.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nvidia-backend/rm_abi.h"
#include "softgpu/cuda/face.h"

struct shape {
	void *params;
	size_t bytes;
	int file; /* named in the structure, or -1 */
};

/* RM uses its own size if a caller gives none. */
static size_t alloc_bytes(uint32_t cls, size_t given)
{
	if (given)
		return given;
	if (gp_rm_class_is_channel(cls))
		return sizeof(struct gp_rm_channel_params_head);
	switch (cls) {
	case GP_RM_CLASS_DEVICE:
		return sizeof(struct gp_rm_device_params);
	case GP_RM_CLASS_SUBDEVICE:
		return sizeof(struct gp_rm_subdevice_params);
	case GP_RM_CLASS_CHANNEL_GROUP:
		return sizeof(struct gp_rm_channel_group_params);
	case GP_RM_CLASS_MEMORY_SYSTEM:
		return sizeof(struct gp_rm_memory_params);
	case GP_RM_CLASS_EVENT_BUFFER:
		return sizeof(struct gp_rm_event_buffer_params);
	default:
		return 0;
	}
}

static struct shape shape_of(unsigned int nr, size_t size, const void *arg)
{
	struct shape shape = { .file = -1 };
	const struct gp_rm_control *ctl = arg;
	const struct gp_rm_alloc64 *a64 = arg;
	const struct gp_rm_alloc21 *a21 = arg;
	uint64_t params = 0;

	if (nr == GP_RM_ESC_CONTROL && size == sizeof(*ctl)) {
		params = ctl->params;
		shape.bytes = ctl->params_size;
	} else if (nr == GP_RM_ESC_ALLOC && size == sizeof(*a64)) {
		params = a64->params;
		shape.bytes = alloc_bytes(a64->cls, a64->params_size);
	} else if (nr == GP_RM_ESC_ALLOC && size == sizeof(*a21)) {
		params = a21->params;
		shape.bytes = alloc_bytes(a21->cls, a21->params_size);
	} else if (nr == GP_RM_ESC_MAP_MEMORY && size == sizeof(struct gp_rm_map_memory)) {
		shape.file = ((const struct gp_rm_map_memory *)arg)->fd;
	}
	shape.params = (void *)(uintptr_t)params;
	if (!shape.params)
		shape.bytes = 0;
	return shape;
}

static int send_rm(int fd, unsigned long request, void *arg, unsigned char *buf, size_t room)
{
	const size_t size = _IOC_SIZE(request);
	const size_t at = (size + 7) / 8 * 8;
	const struct shape shape = shape_of(_IOC_NR(request), size, arg);
	struct face_call call = {
		.req.op = GP_SOFT_RM_IOCTL,
		.req.u.ioctl.request = (uint32_t)request,
		.req.u.ioctl.struct_bytes = (uint32_t)size,
		.req.u.ioctl.params_bytes = (uint32_t)shape.bytes,
		.data = buf,
		.data_bytes = at + shape.bytes,
		.fds = { fd, shape.file },
		.fd_count = shape.file >= 0 ? 2 : 1,
		.reply = buf,
		.reply_bytes = room,
	};
	int err;

	if (at + shape.bytes > room)
		return -EINVAL;
	memset(buf, 0, at);
	memcpy(buf, arg, size);
	if (shape.bytes)
		memcpy(buf + at, shape.params, shape.bytes);
	err = face_call(&call);
	if (err)
		return err;
	if (call.reply_bytes != at + shape.bytes)
		return -EIO;
	memcpy(arg, buf, size);
	if (shape.bytes)
		memcpy(shape.params, buf + at, shape.bytes);
	return 0;
}

static bool is_fb_info(unsigned long request, const void *arg)
{
	const struct gp_rm_control *ctl = arg;

	return _IOC_NR(request) == GP_RM_ESC_CONTROL && _IOC_SIZE(request) == sizeof(*ctl) &&
	       ctl->cmd == GP_RM_CTRL_FB_GET_INFO && ctl->params &&
	       ctl->params_size == sizeof(struct gp_rm_fb_info_list);
}

/* Its parameters have a pointer, too: the list goes behind them. */
static int send_fb_info(int fd, unsigned long request, struct gp_rm_control *ctl,
			unsigned char *buf, size_t room)
{
	struct gp_rm_fb_info_list *list = (void *)(uintptr_t)ctl->params;
	void *info = (void *)(uintptr_t)list->info;
	struct gp_soft_fb_info fb = { .count = list->count };
	struct gp_rm_control whole = *ctl;
	int err;

	if (!info || list->count > GP_SOFT_FB_INFOS)
		return -EINVAL;
	memcpy(fb.info, info, list->count * sizeof(fb.info[0]));
	whole.params = (uintptr_t)&fb;
	whole.params_size = sizeof(fb);
	err = send_rm(fd, request, &whole, buf, room);
	memcpy(info, fb.info, list->count * sizeof(fb.info[0]));
	ctl->status = whole.status;
	return err;
}

FACE_EXPORT int gp_soft_ioctl(int fd, unsigned long request, void *arg)
{
	unsigned char buf[GP_SOFT_MSG_MAX - sizeof(struct gp_soft_req)];
	const int saved = errno;
	int err;

	if (fd < 0 || !arg) {
		errno = fd < 0 ? EBADF : EFAULT;
		return -1;
	}
	err = is_fb_info(request, arg) ? send_fb_info(fd, request, arg, buf, sizeof(buf)) :
					 send_rm(fd, request, arg, buf, sizeof(buf));
	errno = err ? -err : saved;
	return err ? -1 : 0;
}

FACE_EXPORT int gp_soft_rm_open(void)
{
	struct face_call call = { .req.op = GP_SOFT_RM_OPEN };
	int err = face_call(&call);

	if (!err && call.reply_fd < 0)
		err = -EIO;
	if (!err)
		return call.reply_fd;
	errno = -err;
	return -1;
}
