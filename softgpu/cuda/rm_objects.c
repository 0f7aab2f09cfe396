// SPDX-License-Identifier: Apache-2.0
/*
 * rm_objects.c - libcuda's objects in the resource manager. cuInit makes a client with all
 * devices. Each context gets one compute group of 8 channels and three copy groups of 4.
 * libcuda schedules each group and then sets the compute group's slice.
 */
#include <errno.h>
#include <string.h>

#include "nvidia-backend/rm_abi.h"
#include "softgpu/cuda/face.h"

#define SLICE_US 2048u

static int rm_fd = -1; /* face_lock, set once */
static uint32_t rm_client;
static uint32_t rm_device[GP_SOFT_GPUS_MAX];
static uint32_t next_handle = GP_RM_HABIT_OBJECT_BASE; /* face_lock */

static uint32_t new_handle(void)
{
	uint32_t handle;

	pthread_mutex_lock(&face_lock);
	handle = ++next_handle;
	pthread_mutex_unlock(&face_lock);
	return handle;
}

static int rm_call(unsigned long request, void *arg, const uint32_t *status)
{
	if (gp_soft_ioctl(rm_fd, request, arg))
		return -errno;
	return *status ? -EIO : 0;
}

static int rm_alloc(uint32_t parent, uint32_t *handle, uint32_t cls, void *params, size_t bytes)
{
	struct gp_rm_alloc64 a = {
		.client = rm_client,
		.parent = parent,
		.object = *handle,
		.cls = cls,
		.params = (uintptr_t)params,
		.params_size = (uint32_t)bytes,
	};
	int err = rm_call(GP_RM_REQUEST(GP_RM_ESC_ALLOC, gp_rm_alloc64), &a, &a.status);

	if (!err)
		*handle = a.object;
	return err;
}

static int rm_control(uint32_t object, uint32_t cmd, void *params, size_t bytes)
{
	struct gp_rm_control c = {
		.client = rm_client,
		.object = object,
		.cmd = cmd,
		.params = (uintptr_t)params,
		.params_size = (uint32_t)bytes,
	};

	return rm_call(GP_RM_REQUEST(GP_RM_ESC_CONTROL, gp_rm_control), &c, &c.status);
}

static void rm_free(uint32_t parent, uint32_t object)
{
	struct gp_rm_free f = {
		.client = rm_client,
		.parent = parent,
		.object = object,
	};
	int err = rm_call(GP_RM_REQUEST(GP_RM_ESC_FREE, gp_rm_free), &f, &f.status);

	if (err)
		face_log("object %#x is not freed: error %d", object, err);
}

static int open_device(uint32_t gpu)
{
	struct gp_rm_device_params device = { .device_id = gpu };
	struct gp_rm_subdevice_params params = { 0 };
	uint32_t subdevice = new_handle();
	int err;

	rm_device[gpu] = new_handle();
	err = rm_alloc(rm_client, &rm_device[gpu], GP_RM_CLASS_DEVICE, &device, sizeof(device));
	return err ? err :
		     rm_alloc(rm_device[gpu], &subdevice, GP_RM_CLASS_SUBDEVICE, &params,
			      sizeof(params));
}

int face_rm_init(uint32_t *gpus)
{
	struct gp_rm_card_info card[GP_RM_MAX_CARDS] = { 0 };
	uint32_t gpu;
	int err;

	rm_fd = gp_soft_rm_open();
	if (rm_fd < 0)
		return -errno;
	err = rm_alloc(0, &rm_client, GP_RM_CLASS_ROOT_CLIENT, NULL, 0);
	if (err)
		return err;
	if (gp_soft_ioctl(rm_fd, GP_RM_REQUEST_BYTES(GP_RM_ESC_CARD_INFO, sizeof(card)), card))
		return -errno;
	for (gpu = 0; !err && gpu < GP_SOFT_GPUS_MAX && card[gpu].valid; gpu++)
		err = open_device(gpu);
	*gpus = gpu;
	return err;
}

static int make_group(uint32_t device, uint32_t engine, uint32_t engine_class, uint32_t *group,
		      uint32_t *channel, unsigned int channels)
{
	struct gp_rm_channel_group_params params = { .engine = engine };
	struct gp_rm_tsg_schedule on = { .enable = 1 };
	int err;

	*group = new_handle();
	err = rm_alloc(device, group, GP_RM_CLASS_CHANNEL_GROUP, &params, sizeof(params));
	for (unsigned int i = 0; !err && i < channels; i++) {
		struct gp_rm_channel_params_head head = {
			.gpfifo_entries = 1024,
			.engine = engine,
		};
		uint32_t object = new_handle();

		channel[i] = new_handle();
		err = rm_alloc(*group, &channel[i], GP_RM_CLASS_HOPPER_CHANNEL, &head,
			       sizeof(head));
		if (!err)
			err = rm_alloc(channel[i], &object, engine_class, NULL, 0);
	}
	if (!err)
		err = rm_control(*group, GP_RM_CTRL_TSG_SCHEDULE, &on, sizeof(on));
	return err;
}

int face_rm_context(struct face_ctx *ctx)
{
	struct gp_rm_tsg_timeslice slice = { .us = SLICE_US };
	const uint32_t device = rm_device[face_device_gpu(ctx->device)];
	int err = make_group(device, GP_RM_ENGINE_GRAPHICS0, GP_RM_CLASS_HOPPER_COMPUTE,
			     &ctx->group, ctx->channel, FACE_CHANNELS);

	ctx->client = rm_client;
	for (unsigned int i = 0; !err && i < FACE_COPY_GROUPS; i++)
		err = make_group(device, GP_RM_ENGINE_COPY0 + i, GP_RM_CLASS_HOPPER_COPY,
				 &ctx->copy_group[i], &ctx->copy_channel[i * FACE_COPY_CHANNELS],
				 FACE_COPY_CHANNELS);
	if (!err)
		err = rm_control(ctx->group, GP_RM_CTRL_TSG_SET_TIMESLICE, &slice, sizeof(slice));
	if (err)
		face_rm_context_free(ctx);
	return err;
}

void face_rm_context_free(struct face_ctx *ctx)
{
	const uint32_t device = rm_device[face_device_gpu(ctx->device)];

	for (unsigned int i = 0; i < FACE_COPY_GROUPS; i++)
		if (ctx->copy_group[i])
			rm_free(device, ctx->copy_group[i]);
	if (ctx->group)
		rm_free(device, ctx->group);
	memset(ctx->copy_group, 0, sizeof(ctx->copy_group));
	ctx->group = 0;
}
