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

struct gp_nv_compute_clients {
	struct gp_nv_client client;
	int gpu_fd;
	uint32_t device, subdevice;
	struct gp_rm_get_pids list;
	uint64_t fresh_until_ns; /* CLOCK_MONOTONIC */
};

static void clients_free(struct gp_nv_compute_clients *c)
{
	if (c->gpu_fd >= 0)
		close(c->gpu_fd);
	gp_nv_client_close(&c->client);
	free(c);
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

static int list_classes(const struct gp_nv_compute_clients *c, struct gp_rm_class_list *list)
{
	return gp_nv_control(c->client.t, c->client.fd, c->client.handle, c->device,
			     GP_RM_CTRL_GPU_GET_CLASSLIST, list, sizeof(*list));
}

/* The class of compute objects. If a driver does not report it, scans find it. */
static void find_compute_class(struct gp_nv_device *dev, const struct gp_nv_compute_clients *c)
{
	struct gp_rm_class_list list = { 0 };
	uint32_t *cls, newest = 0;

	if (list_classes(c, &list) || !list.count || list.count > MAX_CLASSES)
		return;
	cls = calloc(list.count, sizeof(*cls));
	list.cls = (uintptr_t)cls;
	if (cls && !list_classes(c, &list) && list.count <= MAX_CLASSES)
		newest = newest_compute(cls, list.count);
	free(cls);
	if (newest)
		__atomic_store_n(&dev->compute_class, newest, __ATOMIC_RELAXED);
}

static int clients_open(struct gp_nv_device *dev, struct gp_nv_compute_clients **clients)
{
	struct gp_nv_compute_clients *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->gpu_fd = -1;
	r = gp_nv_client_open(dev->t, &c->client);
	if (r) {
		free(c);
		return r;
	}
	r = gp_nv_client_device(&c->client, dev->gpu_id, dev->base.id.minor, &c->gpu_fd, &c->device,
				&c->subdevice);
	if (r) {
		clients_free(c);
		return r;
	}
	if (!__atomic_load_n(&dev->compute_class, __ATOMIC_RELAXED))
		find_compute_class(dev, c);
	*clients = c;
	return 0;
}

void gp_nv_compute_clients_close(struct gp_nv_device *dev)
{
	if (dev->compute_clients)
		clients_free(dev->compute_clients);
	dev->compute_clients = NULL;
}

/* RM walks all objects of all clients for it, and many queries come at once. */
static int fetch(struct gp_nv_compute_clients *c, uint32_t cls)
{
	const uint64_t now_ns = gp_nv_monotonic_ns();
	int r;

	if (c->list.id == cls && now_ns < c->fresh_until_ns)
		return 0;
	c->fresh_until_ns = 0;
	c->list.id_type = GP_RM_GET_PIDS_CLASS;
	c->list.id = cls;
	c->list.count = 0;
	r = gp_nv_control(c->client.t, c->client.fd, c->client.handle, c->subdevice,
			  GP_RM_CTRL_GPU_GET_PIDS, &c->list, sizeof(c->list));
	if (!r)
		c->fresh_until_ns = now_ns + FRESH_NS;
	return r;
}

static int ask(struct gp_nv_compute_clients *c, uint32_t cls, pid_t pid)
{
	int r = fetch(c, cls);

	if (r)
		return r;
	/* A full list may lack some. */
	if (c->list.count >= GP_RM_GET_PIDS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < c->list.count; i++)
		if (c->list.pid[i] == (uint32_t)pid)
			return 1;
	return 0;
}

/* @fresh: RM is asked now. @others: it lists some process, perhaps not @pid. */
static int listed(struct gp_nv_device *dev, pid_t pid, bool fresh, bool *others)
{
	uint32_t cls;
	int r = 0;

	pthread_mutex_lock(&dev->lock);
	if (!dev->compute_clients)
		r = clients_open(dev, &dev->compute_clients);
	cls = __atomic_load_n(&dev->compute_class, __ATOMIC_RELAXED);
	if (!r && fresh)
		dev->compute_clients->fresh_until_ns = 0;
	if (!r)
		r = cls ? ask(dev->compute_clients, cls, pid) : -EAGAIN;
	*others = !r && dev->compute_clients->list.count;
	pthread_mutex_unlock(&dev->lock);
	return r;
}

int gp_nv_has_compute_client(struct gp_device *device, pid_t pid)
{
	bool others;

	return listed(gp_nv_of(gp_nv_device, device), pid, false, &others);
}

int gp_nv_made_no_client(struct gp_nv_device *dev, pid_t pid)
{
	bool others;
	int r = listed(dev, pid, false, &others);

	if (!r)
		r = listed(dev, pid, true, &others);
	if (gp_nv_is_shortage(r))
		return r;
	return !r && others;
}
