// SPDX-License-Identifier: Apache-2.0
/*
 * sysfs.c - facts that every kernel publishes: the topology, and under proc/ the processes and
 * their queues. kfd_topology.c and kfd_process.c of the driver write these files.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libhsaq/hsaq_internal.h"

#define PATH_LEN 512
#define PROPERTIES_LEN 8192

int hsaq_sysfs_u64(const struct hsaq_io *io, const char *path, uint64_t *value)
{
	char text[64], *end;
	unsigned long long v;
	int r = io->read(path, text, sizeof(text));

	if (r)
		return r;
	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || (*end && *end != '\n'))
		return -EINVAL;
	*value = v;
	return 0;
}

/* ---- devices ----------------------------------------------------------------- */

/* "key value" on a line of its own. */
static uint64_t property(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, key, n) && at[n] == ' ')
			return strtoull(at + n, NULL, 10);
		if (!*at)
			break;
	}
	return 0;
}

static void read_name(const struct hsaq_io *io, uint32_t node, char *name, size_t len)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), HSAQ_SYSFS "/topology/nodes/%u/name", node);
	if (io->read(path, name, len))
		name[0] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

/* 0; -ENODEV: a CPU; else the node is not readable. */
static int read_node(const struct hsaq_io *io, uint32_t node, struct hsaq_device_info *info)
{
	char path[PATH_LEN], text[PROPERTIES_LEN];
	uint64_t gpu_id, location;
	int r;

	snprintf(path, sizeof(path), HSAQ_SYSFS "/topology/nodes/%u/gpu_id", node);
	r = hsaq_sysfs_u64(io, path, &gpu_id);
	if (r || !gpu_id)
		return r ? r : -ENODEV;
	snprintf(path, sizeof(path), HSAQ_SYSFS "/topology/nodes/%u/properties", node);
	r = io->read(path, text, sizeof(text));
	if (r)
		return r;
	/* Bus and device as PCI_DEVID() has them (kfd_topology.c, 6.12). */
	location = property(text, "location_id");
	*info = (struct hsaq_device_info){
		.size = sizeof(*info),
		.gpu_id = (uint32_t)gpu_id,
		.node = node,
		.gfx_version = (uint32_t)property(text, "gfx_target_version"),
		.vendor_id = (uint32_t)property(text, "vendor_id"),
		.device_id = (uint32_t)property(text, "device_id"),
		.pci_domain = (uint32_t)property(text, "domain"),
		.pci_bus = (uint8_t)(location >> 8),
		.pci_dev = (uint8_t)(location >> 3 & 0x1f),
		.pci_fn = (uint8_t)(location & 7),
		.render_minor = (uint32_t)property(text, "drm_render_minor"),
		.unique_id = property(text, "unique_id"),
		.cp_queues = (uint32_t)property(text, "num_cp_queues"),
		.num_xcc = (uint32_t)property(text, "num_xcc"),
		.cwsr_bytes = property(text, "cwsr_size"),
	};
	hsaq_route_read(io, info);
	read_name(io, node, info->name, sizeof(info->name));
	return 0;
}

/* A directory's numbers, ascending. */
struct numbers {
	uint32_t *v;
	size_t count;
};

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool read_number(const char *name, uint32_t *value)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)name[0]))
		return false;
	v = strtoul(name, &end, 10);
	*value = (uint32_t)v;
	return !*end && v <= UINT32_MAX;
}

/* Skips names that are not numbers. */
static int add_number(const char *name, void *arg)
{
	struct numbers *n = arg;
	uint32_t value, *v;

	if (!read_number(name, &value))
		return 0;
	v = realloc(n->v, (n->count + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	n->v = v;
	v[n->count++] = value;
	return 0;
}

/* A missing directory counts as empty. The caller frees n->v, also on failure. */
static int list_numbers(const struct hsaq_io *io, const char *path, struct numbers *n)
{
	int r;

	*n = (struct numbers){ 0 };
	r = io->list(path, add_number, n);
	if (r && r != -ENOENT) {
		free(n->v);
		*n = (struct numbers){ 0 };
		return r;
	}
	if (n->count)
		qsort(n->v, n->count, sizeof(*n->v), by_value);
	return 0;
}

int hsaq_sysfs_devices(const struct hsaq_io *io, hsaq_device_fn fn, void *arg)
{
	struct hsaq_device_info info;
	struct numbers nodes;
	int r = list_numbers(io, HSAQ_SYSFS "/topology/nodes", &nodes);

	for (size_t i = 0; !r && i < nodes.count; i++)
		if (!read_node(io, nodes.v[i], &info))
			r = fn(&info, arg);
	free(nodes.v);
	return r;
}

/* ---- processes and queues ------------------------------------------------------- */

int hsaq_sysfs_processes(const struct hsaq_io *io, hsaq_process_fn fn, void *arg)
{
	struct numbers pids, queues;
	char path[PATH_LEN];
	int r = list_numbers(io, HSAQ_SYSFS "/proc", &pids);

	for (size_t i = 0; !r && i < pids.count; i++) {
		snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%u/queues", pids.v[i]);
		r = list_numbers(io, path, &queues);
		if (r)
			break;
		r = fn((int32_t)pids.v[i], (uint32_t)queues.count, arg);
		free(queues.v);
	}
	free(pids.v);
	return r;
}

/* enum kfd_queue_type of the driver's kfd_priv.h (6.12). */
enum {
	TYPE_COMPUTE = 0,
	TYPE_SDMA = 1,
	TYPE_SDMA_XGMI = 4,
	TYPE_SDMA_BY_ENGINE = 5,
};

static uint32_t queue_type(uint64_t type)
{
	switch (type) {
	case TYPE_COMPUTE:
		return HSAQ_QUEUE_COMPUTE;
	case TYPE_SDMA:
	case TYPE_SDMA_XGMI:
	case TYPE_SDMA_BY_ENGINE:
		return HSAQ_QUEUE_SDMA;
	default:
		return HSAQ_QUEUE_OTHER;
	}
}

static int one_queue(const struct hsaq_io *io, uint32_t gpu_id, uint32_t pid, uint32_t queue_id,
		     hsaq_queue_fn fn, void *arg)
{
	struct hsaq_queue_info info = {
		.size = sizeof(info),
		.pid = (int32_t)pid,
		.queue_id = queue_id,
		.state = HSAQ_STATE_UNKNOWN,
		.pipe = ~0u,
		.slot = ~0u,
		.vmid = ~0u,
	};
	char path[PATH_LEN];
	uint64_t gpu, type;

	snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%u/queues/%u/gpuid", pid, queue_id);
	/* Skip one that disappeared meanwhile. */
	if (hsaq_sysfs_u64(io, path, &gpu) || (gpu_id && gpu != gpu_id))
		return 0;
	snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%u/queues/%u/type", pid, queue_id);
	if (hsaq_sysfs_u64(io, path, &type))
		return 0;
	info.gpu_id = (uint32_t)gpu;
	info.type = queue_type(type);
	return fn(&info, arg);
}

static int process_queues(const struct hsaq_io *io, uint32_t gpu_id, uint32_t pid, hsaq_queue_fn fn,
			  void *arg)
{
	struct numbers queues;
	char path[PATH_LEN];
	int r;

	snprintf(path, sizeof(path), HSAQ_SYSFS "/proc/%u/queues", pid);
	r = list_numbers(io, path, &queues);
	for (size_t i = 0; !r && i < queues.count; i++)
		r = one_queue(io, gpu_id, pid, queues.v[i], fn, arg);
	free(queues.v);
	return r;
}

int hsaq_sysfs_queues(const struct hsaq_io *io, uint32_t gpu_id, int32_t pid, hsaq_queue_fn fn,
		      void *arg)
{
	struct numbers pids;
	int r;

	if (pid)
		return process_queues(io, gpu_id, (uint32_t)pid, fn, arg);
	r = list_numbers(io, HSAQ_SYSFS "/proc", &pids);
	for (size_t i = 0; !r && i < pids.count; i++)
		r = process_queues(io, gpu_id, pids.v[i], fn, arg);
	free(pids.v);
	return r;
}
