// SPDX-License-Identifier: Apache-2.0
/*
 * track.c - this process's own channel groups, from libcuda's RM calls. Allocations make
 * objects; frees remove them and all below them. libcuda's own SET_TIMESLICE, its last step,
 * makes a compute group ready, and with it the context's copy groups. Later ones are ready once
 * they are scheduled.
 *
 * It keeps only devices, subdevices, groups, channels and engine objects. Other calls, which
 * are nearly all, return before any lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvidia-backend/nv_internal.h"
#include "nvidia-backend/track.h"

struct object {
	struct object *next;
	uint32_t client;
	uint32_t handle;
	uint32_t parent;
	uint32_t cls;
	uint32_t engine;
	int fd;
	struct gp_nv_group *group; /* of a ready group */
	bool telling;		   /* group_ready is being called */
	bool tried;		   /* a copy group; group_ready was called, or cannot be */
};

/* Protects all of this; not held while ops are called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct gp_track_ops *track_ops; /* atomic; NULL: not started */
static void *track_arg;
static const struct gp_nv_transport *track_transport; /* NULL: the current one */
static struct object *objects;
static struct gp_nv_device *devices[GP_HAL_MAX_DEVICES];

int gp_nv_track_start_over(const struct gp_nv_transport *t, const struct gp_track_ops *ops,
			   void *arg)
{
	int r = 0;

	pthread_mutex_lock(&lock);
	if (track_ops) {
		r = -EALREADY;
	} else {
		track_arg = arg;
		track_transport = t;
		__atomic_store_n(&track_ops, ops, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

int gp_nv_track_start(const struct gp_track_ops *ops, void *arg)
{
	return gp_nv_track_start_over(NULL, ops, arg);
}

void gp_nv_track_forget(void)
{
	/*
	 * In a fork's child another thread, which does not exist here, may own the lock. The
	 * memory is a copy of the parent's, so nothing is freed.
	 */
	pthread_mutex_init(&lock, NULL);
	objects = NULL;
	memset(devices, 0, sizeof(devices));
}

/* ---- objects; lock held -------------------------------------------------------- */

static struct object *find(uint32_t client, uint32_t handle)
{
	for (struct object *o = objects; o; o = o->next)
		if (o->client == client && o->handle == handle)
			return o;
	return NULL;
}

static bool class_matters(uint32_t cls)
{
	return cls == GP_RM_CLASS_DEVICE || cls == GP_RM_CLASS_SUBDEVICE ||
	       cls == GP_RM_CLASS_CHANNEL_GROUP || gp_rm_class_is_channel(cls) ||
	       gp_rm_class_is_compute(cls) || gp_rm_class_is_copy(cls);
}

/* One allocation in either form. */
struct allocation {
	uint32_t client, parent, handle, cls;
	uint32_t status;
	const void *params;
};

static bool read_allocation(unsigned int bytes, const void *arg, struct allocation *a)
{
	const struct gp_rm_alloc21 *a21 = arg;
	const struct gp_rm_alloc64 *a64 = arg;

	if (bytes == sizeof(*a21)) {
		*a = (struct allocation){
			.client = a21->client,
			.parent = a21->parent,
			.handle = a21->object,
			.cls = a21->cls,
			.status = a21->status,
			.params = (const void *)(uintptr_t)a21->params,
		};
		return true;
	}
	if (bytes == sizeof(*a64)) {
		*a = (struct allocation){
			.client = a64->client,
			.parent = a64->parent,
			.handle = a64->object,
			.cls = a64->cls,
			.status = a64->status,
			.params = (const void *)(uintptr_t)a64->params,
		};
		return true;
	}
	return false;
}

static uint32_t engine_of(const struct allocation *a)
{
	const struct gp_rm_channel_group_params *p = a->params;

	if (a->cls != GP_RM_CLASS_CHANNEL_GROUP || !p)
		return GP_RM_ENGINE_NULL;
	return p->engine;
}

/* Other errors are of groups that gpreempt does not manage. */
static void missed(int err)
{
	const struct gp_track_ops *ops = track_ops;

	if (gp_nv_is_shortage(err) && ops->missed)
		ops->missed(track_arg, err);
}

static void saw_alloc(int fd, const struct allocation *a)
{
	struct object *o;

	if (a->status || !class_matters(a->cls))
		return;
	o = calloc(1, sizeof(*o));
	if (!o) {
		missed(-ENOMEM); /* a daemon's scan will find that group */
		return;
	}
	o->client = a->client;
	o->handle = a->handle;
	o->parent = a->parent;
	o->cls = a->cls;
	o->engine = engine_of(a);
	o->fd = fd;
	pthread_mutex_lock(&lock);
	o->next = objects;
	objects = o;
	pthread_mutex_unlock(&lock);
}

/* Moves @handle of @client and all below it from the list to @gone. */
static void unlink_tree(uint32_t client, uint32_t handle, struct object **gone)
{
	bool all = client == handle; /* the client itself */
	bool again = true;

	while (again) {
		again = false;
		for (struct object **at = &objects; *at;) {
			struct object *o = *at;
			bool below = o->handle == handle || all;

			for (struct object *g = *gone; g && !below; g = g->next)
				below = g->client == client && g->handle == o->parent;
			if (o->client != client || !below) {
				at = &o->next;
				continue;
			}
			*at = o->next;
			o->next = *gone;
			*gone = o;
			again = true;
		}
	}
}

static void saw_free(const struct gp_rm_free *f)
{
	const struct gp_track_ops *ops = track_ops;
	struct object *gone = NULL;

	if (f->status)
		return;
	pthread_mutex_lock(&lock);
	unlink_tree(f->client, f->object, &gone);
	pthread_mutex_unlock(&lock);
	while (gone) {
		struct object *o = gone;

		gone = o->next;
		if (o->group) {
			if (ops->group_gone)
				ops->group_gone(track_arg, &o->group->base);
			gp_nv_group_put(&o->group->base);
		}
		free(o);
	}
}

/* ---- ready groups -------------------------------------------------------------------- */

/* The device of @uuid, opened once; the first call costs a probe. */
static int device_of(const struct gp_nv_transport *t, const uint8_t uuid[16],
		     struct gp_nv_device **out)
{
	struct gp_device_id id = { 0 };
	struct gp_device *made;
	struct gp_nv_device *d = NULL;
	size_t i;
	int r = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < GP_HAL_MAX_DEVICES && devices[i]; i++)
		if (!memcmp(devices[i]->base.id.uuid, uuid, 16))
			d = devices[i];
	pthread_mutex_unlock(&lock);
	*out = d;
	if (d)
		return 0;
	memcpy(id.uuid, uuid, 16);
	r = gp_nv_device_open(t, gp_nv_ops(t), &id, &made);
	if (r)
		return r;
	d = gp_nv_of(gp_nv_device, made);
	pthread_mutex_lock(&lock);
	for (i = 0; i < GP_HAL_MAX_DEVICES && devices[i]; i++)
		;
	if (i < GP_HAL_MAX_DEVICES)
		devices[i] = d;
	pthread_mutex_unlock(&lock);
	*out = d;
	return 0;
}

/* Describes group @o, without its device. Lock held. */
static struct gp_nv_group *describe(const struct object *o)
{
	struct gp_nv_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->client = o->client;
	g->device = o->parent;
	g->tsg = o->handle;
	g->engine = o->engine;
	g->base.pid = getpid();
	g->base.id = gp_nv_group_id(o->client, o->handle);
	g->base.kind = gp_nv_engine_kind(o->engine);
	for (const struct object *c = objects; c; c = c->next) {
		if (c->client != o->client)
			continue;
		if (c->cls == GP_RM_CLASS_SUBDEVICE && c->parent == o->parent)
			g->subdevice = c->handle;
		if (gp_rm_class_is_channel(c->cls) && c->parent == o->handle &&
		    g->base.channels < GP_NV_MAX_CHANNELS)
			g->channel[g->base.channels++] = c->handle;
	}
	return g;
}

/* Give @g its transport, file (libcuda's own, borrowed) and device. */
static int complete(struct gp_nv_group *g, const struct gp_nv_transport *t, int fd)
{
	struct gp_nv_device *d;
	uint8_t uuid[16];
	int r;

	g->t = t;
	g->file = gp_nv_file_new(fd, false);
	if (!g->file)
		return -ENOMEM;
	if (!g->subdevice)
		return -ENODEV;
	r = gp_nv_subdevice_uuid(t, fd, g->client, g->subdevice, uuid);
	if (r)
		return r;
	r = device_of(t, uuid, &d);
	if (r)
		return r;
	g->base.dev = &d->base;
	return 0;
}

static bool is_copy(const struct object *o)
{
	return gp_nv_engine_kind(o->engine) == GP_GROUP_COPY;
}

/* @o is ready, unless it was before. Lock held. */
static struct gp_nv_group *begin_telling(struct object *o, int *err)
{
	struct gp_nv_group *g;

	if (!o || o->cls != GP_RM_CLASS_CHANNEL_GROUP || o->group || o->telling)
		return NULL;
	g = describe(o);
	o->telling = g != NULL;
	o->tried = true;
	*err = g ? 0 : -ENOMEM;
	return g;
}

static void tell(int fd, uint32_t client, uint32_t handle)
{
	const struct gp_track_ops *ops = track_ops;
	const struct gp_nv_transport *t = track_transport;
	struct gp_nv_group *g;
	struct object *o;
	int err = 0;

	pthread_mutex_lock(&lock);
	g = begin_telling(find(client, handle), &err);
	pthread_mutex_unlock(&lock);
	if (g)
		err = complete(g, t ? t : gp_nv_transport_current(), fd);
	if (err)
		missed(err);
	if (!g)
		return;
	if (err) {
		gp_nv_group_put(&g->base);
		g = NULL;
	}
	pthread_mutex_lock(&lock);
	o = find(client, handle);
	if (o) {
		o->group = g;
		o->telling = false;
	}
	pthread_mutex_unlock(&lock);
	if (!g)
		return;
	if (!o) {
		gp_nv_group_put(&g->base);
		return;
	}
	if (ops->group_ready)
		ops->group_ready(track_arg, &g->base);
}

/* A copy group of the device @parent that nobody knows yet; 0: none. */
static uint32_t untold_copy(uint32_t client, uint32_t parent)
{
	uint32_t handle = 0;

	pthread_mutex_lock(&lock);
	for (const struct object *o = objects; o && !handle; o = o->next)
		if (o->cls == GP_RM_CLASS_CHANNEL_GROUP && o->client == client &&
		    o->parent == parent && is_copy(o) && !o->tried)
			handle = o->handle;
	pthread_mutex_unlock(&lock);
	return handle;
}

static void saw_slice(int fd, const struct gp_rm_control *c)
{
	const struct object *o;
	uint32_t parent = 0, copy;

	pthread_mutex_lock(&lock);
	o = find(c->client, c->object);
	if (o && !is_copy(o))
		parent = o->parent;
	pthread_mutex_unlock(&lock);
	if (!parent)
		return;
	tell(fd, c->client, c->object);
	while ((copy = untold_copy(c->client, parent)))
		tell(fd, c->client, copy);
}

static bool has_ready_group(uint32_t client, uint32_t parent)
{
	for (const struct object *o = objects; o; o = o->next)
		if (o->group && o->client == client && o->parent == parent && !is_copy(o))
			return true;
	return false;
}

static void saw_schedule(int fd, const struct gp_rm_control *c)
{
	const struct object *o;
	bool late;

	pthread_mutex_lock(&lock);
	o = find(c->client, c->object);
	late = o && is_copy(o) && has_ready_group(c->client, o->parent);
	pthread_mutex_unlock(&lock);
	if (late)
		tell(fd, c->client, c->object);
}

static void saw_control(int fd, const struct gp_rm_control *c)
{
	if (c->status)
		return;
	if (c->cmd == GP_RM_CTRL_TSG_SET_TIMESLICE)
		saw_slice(fd, c);
	else if (c->cmd == GP_RM_CTRL_TSG_SCHEDULE)
		saw_schedule(fd, c);
}

void gp_nv_track_ioctl(int fd, unsigned long request, void *arg, int result)
{
	unsigned int nr = _IOC_NR(request);
	unsigned int bytes = _IOC_SIZE(request);
	struct allocation a;
	int saved;

	if (_IOC_TYPE(request) != GP_RM_IOCTL_MAGIC || result < 0 || !arg ||
	    !__atomic_load_n(&track_ops, __ATOMIC_ACQUIRE))
		return;
	saved = errno;
	switch (nr) {
	case GP_RM_ESC_ALLOC:
		if (read_allocation(bytes, arg, &a))
			saw_alloc(fd, &a);
		break;
	case GP_RM_ESC_FREE:
		if (bytes == sizeof(struct gp_rm_free))
			saw_free(arg);
		break;
	case GP_RM_ESC_CONTROL:
		if (bytes == sizeof(struct gp_rm_control))
			saw_control(fd, arg);
		break;
	default:
		break;
	}
	errno = saved;
}

/* Describes all known groups. Lock held. */
static int describe_all(struct gp_group_list *list)
{
	for (const struct object *o = objects; o; o = o->next) {
		struct gp_nv_group *g;
		int fd;

		if (o->cls != GP_RM_CLASS_CHANNEL_GROUP)
			continue;
		g = describe(o);
		if (!g)
			return -ENOMEM;
		fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
		if (fd >= 0)
			g->file = gp_nv_file_new(fd, true);
		if (!g->file || gp_nv_list_add(list, g)) {
			gp_nv_group_put(&g->base);
			return fd < 0 ? -EMFILE : -ENOMEM;
		}
	}
	return 0;
}

int gp_nv_track_groups(struct gp_nv_device *dev, struct gp_group_list *list)
{
	struct gp_group_list all = { 0 };
	size_t kept = 0;
	int r;

	if (!__atomic_load_n(&track_ops, __ATOMIC_ACQUIRE))
		return -ENOENT;
	pthread_mutex_lock(&lock);
	r = describe_all(&all);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < all.count; i++) {
		struct gp_nv_group *g = gp_nv_of(gp_nv_group, all.group[i]);
		uint8_t uuid[16];

		g->t = dev->t;
		if (r || !g->subdevice ||
		    gp_nv_subdevice_uuid(g->t, g->file->fd, g->client, g->subdevice, uuid) ||
		    memcmp(uuid, dev->base.id.uuid, sizeof(uuid))) {
			gp_nv_group_put(&g->base);
			continue;
		}
		g->base.dev = &dev->base;
		all.group[kept++] = &g->base;
	}
	all.count = kept;
	if (r) {
		free(all.group);
		return r;
	}
	*list = all;
	return 0;
}

/* ---- for another process ------------------------------------------------------------- */

#define MAX_WAYS 64 /* files times clients times devices */

/* The access to some groups. @copy is our duplicate of libcuda's @fd. */
struct way {
	int fd, copy;
	uint32_t client, subdevice;
};

static uint32_t subdevice_of(uint32_t client, uint32_t device)
{
	for (const struct object *o = objects; o; o = o->next)
		if (o->client == client && o->parent == device && o->cls == GP_RM_CLASS_SUBDEVICE)
			return o->handle;
	return 0;
}

static bool known(const struct way *way, size_t n, const struct way *w)
{
	for (size_t i = 0; i < n; i++)
		if (way[i].fd == w->fd && way[i].client == w->client &&
		    way[i].subdevice == w->subdevice)
			return true;
	return false;
}

/* Lock held: libcuda closes no file of an object that is known. */
static size_t find_ways(struct way *way)
{
	size_t n = 0;

	for (const struct object *o = objects; o && n < MAX_WAYS; o = o->next) {
		struct way w = { .fd = o->fd, .client = o->client };

		if (o->cls != GP_RM_CLASS_CHANNEL_GROUP)
			continue;
		w.subdevice = subdevice_of(o->client, o->parent);
		if (!w.subdevice || known(way, n, &w))
			continue;
		w.copy = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
		if (w.copy >= 0)
			way[n++] = w;
	}
	return n;
}

static bool leads_to(const struct way *w, const struct gp_nv_device *d)
{
	uint8_t uuid[16];

	return !gp_nv_subdevice_uuid(d->t, w->copy, w->client, w->subdevice, uuid) &&
	       !memcmp(uuid, d->base.id.uuid, sizeof(uuid));
}

static bool have_client(const struct way *given, size_t n, const struct way *w)
{
	for (size_t i = 0; i < n; i++)
		if (given[i].fd == w->fd && given[i].client == w->client)
			return true;
	return false;
}

ssize_t gp_nv_control_files(struct gp_device *dev, int *fd, uint32_t *key, size_t max)
{
	const struct gp_nv_device *d = gp_nv_of(gp_nv_device, dev);
	struct way way[MAX_WAYS], given[MAX_WAYS];
	size_t n, count = 0;
	bool any = false;

	if (!__atomic_load_n(&track_ops, __ATOMIC_ACQUIRE))
		return -ENOENT;
	pthread_mutex_lock(&lock);
	n = find_ways(way);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < n; i++) {
		bool wanted = leads_to(&way[i], d);

		any |= wanted;
		if (!wanted || count == max || have_client(given, count, &way[i])) {
			close(way[i].copy);
			continue;
		}
		given[count] = way[i];
		key[count] = way[i].client;
		fd[count++] = way[i].copy;
	}
	return any ? (ssize_t)count : -ENOENT;
}
