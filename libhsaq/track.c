// SPDX-License-Identifier: Apache-2.0
/*
 * track.c - observes CREATE_QUEUE and DESTROY_QUEUE, and makes UPDATE_QUEUE. It recognises
 * requests by type and number alone: libraries use older, shorter structures, and the driver
 * takes any size. The console also uses type 'K', so the file is checked, too.
 */
#include "libhsaq/track.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libhsaq/amd.h"
#include "libhsaq/hsaq_internal.h"
#include "libhsaq/kfd_abi.h"

#define UPDATE_MAX_BYTES 128

struct queue {
	struct queue *next;
	uint32_t queue_id;
	struct gp_group *group; /* NULL: not compute, or no device */
};

/* Protects all of this; not held while ops are called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct gp_track_ops *track_ops; /* atomic: NULL not started */
static void *track_arg;
static struct hsaq *handle; /* atomic: NULL until the first queue */
static struct queue *queues;
static struct gp_device *devices[GP_HAL_MAX_DEVICES];

/*
 * In a fork's child, the queues and the handle are still the parent's, and the child's own
 * queues are numbered from the start. The lock may belong to another thread. Nothing is freed,
 * because a list may be inconsistent. Tracking resumes at the next start.
 */
static void child_after_fork(void)
{
	__atomic_store_n(&track_ops, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&handle, NULL, __ATOMIC_RELEASE);
	queues = NULL;
	memset(devices, 0, sizeof(devices));
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, child_after_fork);
}

int gp_amd_track_start(const struct gp_track_ops *ops, void *arg)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int r = 0;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	if (track_ops) {
		r = -EALREADY;
	} else {
		track_arg = arg;
		__atomic_store_n(&track_ops, ops, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

bool gp_amd_track_wants(unsigned long request)
{
	unsigned int nr = _IOC_NR(request);

	return _IOC_TYPE(request) == HSAQ_KFD_MAGIC &&
	       (nr == HSAQ_KFD_NR_CREATE_QUEUE || nr == HSAQ_KFD_NR_DESTROY_QUEUE ||
		nr == HSAQ_KFD_NR_UPDATE_QUEUE) &&
	       _IOC_SIZE(request);
}

static uint32_t queue_type(uint32_t type)
{
	return type == HSAQ_KFD_QUEUE_COMPUTE || type == HSAQ_KFD_QUEUE_COMPUTE_AQL ?
		       HSAQ_QUEUE_COMPUTE :
		       HSAQ_QUEUE_SDMA;
}

static struct hsaq *get_handle(void)
{
	struct hsaq *h = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);

	if (h || gp_amd_handle_get(&h))
		return h;
	pthread_mutex_lock(&lock);
	/* Kept as long as the process, because more queues will come. */
	if (handle) {
		gp_amd_handle_put(h);
		h = handle;
	} else {
		__atomic_store_n(&handle, h, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return h;
}

static uint32_t gpu_of(const struct gp_device *dev)
{
	return ((const struct gp_amd_device *)dev)->gpu_id;
}

/* Under lock: the place of @gpu_id's device, or a free one; NULL: full. */
static struct gp_device **place_of(uint32_t gpu_id)
{
	for (size_t i = 0; i < GP_HAL_MAX_DEVICES; i++)
		if (!devices[i] || gpu_of(devices[i]) == gpu_id)
			return &devices[i];
	return NULL;
}

/* The device of @gpu_id, opened once and kept. */
static struct gp_device *device_of(uint32_t gpu_id)
{
	struct gp_device **place, *found, *made;

	pthread_mutex_lock(&lock);
	place = place_of(gpu_id);
	found = place ? *place : NULL;
	pthread_mutex_unlock(&lock);
	if (found || !place || gp_amd_open_gpu(gpu_id, &made))
		return found;
	/* Another thread may have opened it meanwhile. */
	pthread_mutex_lock(&lock);
	place = place_of(gpu_id);
	if (place && !*place)
		*place = made;
	found = place ? *place : NULL;
	pthread_mutex_unlock(&lock);
	if (found != made)
		gp_device_close(made);
	return found;
}

static void add(struct queue *q)
{
	pthread_mutex_lock(&lock);
	q->next = queues;
	queues = q;
	pthread_mutex_unlock(&lock);
}

static struct gp_group *new_group(struct gp_device *dev, const struct hsaq_kfd_create *c)
{
	struct gp_group *group = gp_amd_group_new(dev, getpid(), c->queue_id, HSAQ_QUEUE_COMPUTE);
	struct gp_amd_group *g = gp_amd_of(gp_amd_group, group);

	if (!g)
		return NULL;
	g->wptr = c->write_pointer;
	g->rptr = c->read_pointer;
	g->ring_bytes = c->ring_bytes;
	if (c->type == HSAQ_KFD_QUEUE_COMPUTE_AQL && c->ring_bytes >= 64)
		g->ring = c->ring_base;
	return group;
}

static void saw_create(const struct hsaq_kfd_create *c)
{
	const struct hsaq_ring ring = {
		.size = sizeof(ring),
		.gpu_id = c->gpu_id,
		.queue_id = c->queue_id,
		.ring_base = c->ring_base,
		.ring_bytes = c->ring_bytes,
		.percentage = c->percentage,
		.priority = c->priority,
		.type = queue_type(c->type),
	};
	struct hsaq *h = get_handle();
	struct gp_device *dev;
	struct queue *q;

	q = h ? calloc(1, sizeof(*q)) : NULL;
	if (!q)
		return; /* that queue remains as it is */
	q->queue_id = ring.queue_id;
	/* Without a class the queue remains as the driver made it. */
	(void)!hsaq_queue_adopt(h, &ring);
	dev = ring.type == HSAQ_QUEUE_COMPUTE ? device_of(ring.gpu_id) : NULL;
	if (dev)
		q->group = new_group(dev, c);
	add(q);
	if (q->group && track_ops->group_ready)
		track_ops->group_ready(track_arg, q->group);
}

/* A call of the application's that passes a copy of its argument. */
struct update_call {
	int fd;
	unsigned long request;
	gp_amd_ioctl_fn real;
	/* Newer libraries may pass more than we know. */
	union {
		struct hsaq_kfd_update known;
		unsigned char bytes[UPDATE_MAX_BYTES];
	} args;
};

static int make_update(void *arg)
{
	struct update_call *call = arg;

	return call->real(call->fd, call->request, &call->args);
}

/* ROCr resumes queues and sets their priority, which switches a suspended queue on again. */
static int do_update(int fd, unsigned long request, void *arg, gp_amd_ioctl_fn real)
{
	struct update_call call = { .fd = fd, .request = request, .real = real };
	struct hsaq *h = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);
	const size_t bytes = _IOC_SIZE(request);

	if (!h || bytes < sizeof(call.args.known) || bytes > sizeof(call.args))
		return real(fd, request, arg);
	memcpy(&call.args, arg, bytes);
	return hsaq_own_update(h, &call.args.known, make_update, &call);
}

static void saw_destroy(const struct hsaq_kfd_destroy *d)
{
	struct hsaq *h = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);
	struct queue *gone = NULL;

	pthread_mutex_lock(&lock);
	for (struct queue **at = &queues; *at; at = &(*at)->next) {
		if ((*at)->queue_id == d->queue_id) {
			gone = *at;
			*at = gone->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	if (!gone)
		return;
	if (h)
		hsaq_queue_forget(h, d->queue_id);
	if (gone->group) {
		if (track_ops->group_gone)
			track_ops->group_gone(track_arg, gone->group);
		gone->group->dev->ops->group_put(gone->group);
	}
	free(gone);
}

/* After a call that succeeded. */
static void saw(unsigned long request, void *arg)
{
	const unsigned int nr = _IOC_NR(request), bytes = _IOC_SIZE(request);

	if (nr == HSAQ_KFD_NR_CREATE_QUEUE && bytes >= sizeof(struct hsaq_kfd_create))
		saw_create(arg);
	else if (nr == HSAQ_KFD_NR_DESTROY_QUEUE && bytes >= sizeof(uint32_t))
		saw_destroy(arg);
}

int gp_amd_track_ioctl(int fd, unsigned long request, void *arg, gp_amd_ioctl_fn real)
{
	const int before = errno;
	int result, after;
	bool ours;

	ours = arg && gp_amd_track_wants(request) &&
	       __atomic_load_n(&track_ops, __ATOMIC_ACQUIRE) && hsaq_io_current()->is_kfd(fd);
	errno = before;
	if (!ours)
		return real(fd, request, arg);
	if (_IOC_NR(request) == HSAQ_KFD_NR_UPDATE_QUEUE)
		return do_update(fd, request, arg, real);
	result = real(fd, request, arg);
	after = errno;
	if (result >= 0)
		saw(request, arg);
	errno = after;
	return result;
}
