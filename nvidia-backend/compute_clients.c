// SPDX-License-Identifier: Apache-2.0
/*
 * compute_clients.c - processes that compute on a device, by RM's own list. One call replaces
 * thousands that would search the clients of a process without groups.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"

#define MAX_CLASSES 4096u
#define FRESH_NS 20000000u /* shorter than the interval between scans of a process */

struct gp_nv_users {
	struct gp_nv_client client;
	int gpu_fd;
	uint32_t device, subdevice;
	struct gp_rm_get_pids list;
	uint64_t fresh_until_ns; /* CLOCK_MONOTONIC */
};

static void users_free(struct gp_nv_users *u)
{
	if (u->gpu_fd >= 0)
		close(u->gpu_fd);
	gp_nv_client_close(&u->client);
	free(u);
}

/* libcuda makes objects of the newest. */
static uint32_t newest_compute(const uint32_t *cls, uint32_t count)
{
	uint32_t newest = 0;

	for (uint32_t i = 0; i < count; i++)
		if (gp_rm_class_is_compute(cls[i]) && cls[i] > newest)
			newest = cls[i];
	return newest;
}

static int list_classes(const struct gp_nv_users *u, struct gp_rm_class_list *list)
{
	return gp_nv_control(u->client.t, u->client.fd, u->client.handle, u->device,
			     GP_RM_CTRL_GPU_GET_CLASSLIST, list, sizeof(*list));
}

/* The class of compute objects. If a driver does not report it, scans find it. */
static void learn_class(struct gp_nv_device *dev, const struct gp_nv_users *u)
{
	struct gp_rm_class_list list = { 0 };
	uint32_t *cls, newest = 0;

	if (list_classes(u, &list) || !list.count || list.count > MAX_CLASSES)
		return;
	cls = calloc(list.count, sizeof(*cls));
	list.cls = (uintptr_t)cls;
	if (cls && !list_classes(u, &list) && list.count <= MAX_CLASSES)
		newest = newest_compute(cls, list.count);
	free(cls);
	if (newest)
		__atomic_store_n(&dev->compute_class, newest, __ATOMIC_RELAXED);
}

static int users_open(struct gp_nv_device *dev, struct gp_nv_users **users)
{
	struct gp_nv_users *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	u->gpu_fd = -1;
	r = gp_nv_client_open(dev->t, &u->client);
	if (r) {
		free(u);
		return r;
	}
	r = gp_nv_client_device(&u->client, dev->gpu_id, dev->base.id.minor, &u->gpu_fd, &u->device,
				&u->subdevice);
	if (r) {
		users_free(u);
		return r;
	}
	if (!__atomic_load_n(&dev->compute_class, __ATOMIC_RELAXED))
		learn_class(dev, u);
	*users = u;
	return 0;
}

void gp_nv_users_close(struct gp_nv_device *dev)
{
	if (dev->users)
		users_free(dev->users);
	dev->users = NULL;
}

/* RM walks all objects of all clients for it, and many queries come at once. */
static int fetch(struct gp_nv_users *u, uint32_t cls)
{
	const uint64_t now_ns = gp_nv_monotonic_ns();
	int r;

	if (u->list.id == cls && now_ns < u->fresh_until_ns)
		return 0;
	u->fresh_until_ns = 0;
	u->list.id_type = GP_RM_GET_PIDS_CLASS;
	u->list.id = cls;
	u->list.count = 0;
	r = gp_nv_control(u->client.t, u->client.fd, u->client.handle, u->subdevice,
			  GP_RM_CTRL_GPU_GET_PIDS, &u->list, sizeof(u->list));
	if (!r)
		u->fresh_until_ns = now_ns + FRESH_NS;
	return r;
}

static int ask(struct gp_nv_users *u, uint32_t cls, pid_t pid)
{
	int r = fetch(u, cls);

	if (r)
		return r;
	/* A full list may lack some. */
	if (u->list.count >= GP_RM_GET_PIDS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < u->list.count; i++)
		if (u->list.pid[i] == (uint32_t)pid)
			return 1;
	return 0;
}

int gp_nv_computes(struct gp_device *device, pid_t pid)
{
	struct gp_nv_device *dev = gp_nv_of(gp_nv_device, device);
	uint32_t cls;
	int r = 0;

	pthread_mutex_lock(&dev->lock);
	if (!dev->users)
		r = users_open(dev, &dev->users);
	cls = __atomic_load_n(&dev->compute_class, __ATOMIC_RELAXED);
	if (!r)
		r = cls ? ask(dev->users, cls, pid) : -EAGAIN;
	pthread_mutex_unlock(&dev->lock);
	return r;
}
