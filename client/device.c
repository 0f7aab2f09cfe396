// SPDX-License-Identifier: Apache-2.0
/*
 * device.c - one device of the process: its creation, its class, its groups, and the transfer
 * of decisions to and from a daemon.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/engine_internal.h"
#include "runtime/log.h"

/* A hold outside of the context delays no wait of it, so it needs no pieces. */
uint64_t gp_client_device_hold_piece_ns(const struct gp_client_device *dev, bool seen)
{
	return seen || dev->caps.caps & GP_CAP_HOLD_OUTSIDE ? 0 : GP_HOLD_PIECE_NS;
}

/* Deadlines and caps apply between processes, so only the daemon uses them. */
struct gp_class_request gp_client_device_spec(const struct gp_class_value *cls)
{
	return (struct gp_class_request){ .cls = *cls };
}

/* Sets the class in a driver that schedules by class itself. */
static int tell_class(struct gp_client_device *dev, const struct gp_class_value *cls)
{
	if (!(dev->caps.caps & GP_CAP_CLASS))
		return 0;
	return dev->ops.set_class(dev->hal, 0, cls);
}

/* If the driver refuses the class, fall back to none. */
static void first_class(struct gp_client_device *dev)
{
	char text[GP_CLASS_TEXT_LEN];
	int err;

	if (dev->cls.cls == GP_CLASS_NONE)
		return;
	err = tell_class(dev, &dev->cls);
	if (!err)
		return;
	gp_class_format(&dev->cls, text, sizeof(text));
	gp_log(GP_LOG_WARN, "%s: cannot set class %s: %s; continuing without a class",
	       dev->hal->id.name, text,
	       err == -EPERM ? "it needs CAP_SYS_ADMIN or the right to open /dev/kfd_sched" :
			       strerror(-err));
	dev->cls = (struct gp_class_value){ GP_CLASS_NONE, 0 };
}

/* As on an AMD card that cannot save waves: the process runs on, as without a class. */
static void warn_no_way(struct gp_client_device *dev)
{
	const uint32_t ways = GP_CAP_SLICES | GP_CAP_CLASS | GP_CAP_HOLD | GP_CAP_SUSPEND |
			      GP_CAP_SUSPEND_OWN;
	char why[256] = "";

	if (dev->cls.cls == GP_CLASS_NONE || dev->caps.caps & ways)
		return;
	dev->ops.explain(-EOPNOTSUPP, why, sizeof(why));
	gp_log(GP_LOG_WARN, "%s: no class has an effect here: %s", dev->hal->id.name, why);
}

/* The core's instance for @dev. */
static int runtime_create(struct gp_client_device *dev)
{
	const bool seen = gp_engine_sync_seen();
	const struct gp_runtime_config config = {
		.hal = dev->hal,
		.executor = &gp_executor_inline,
		.ops = &gp_client_device_ops,
		.host = dev,
		.borrowed = true,
		.core = {
			.hold_piece_ns = gp_client_device_hold_piece_ns(dev, seen),
			.auto_hold_ns = gp_engine_hooks()->auto_hold ? GP_AUTO_HOLD_NS : 0,
		},
	};

	dev->sync_seen = seen;
	return gp_runtime_create(&config, &dev->rt);
}

/* The base tenant, with the class from the process's start. */
static void join(struct gp_client_device *dev)
{
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN, .tenant = GP_BASE_TENANT };

	if (gp_engine_names(gp_engine_hooks()->device, &dev->hal->id))
		dev->asked = gp_engine_hooks()->request;
	dev->cls = dev->asked.cls;
	first_class(dev);
	warn_no_way(dev);
	ev.spec = gp_client_device_spec(&dev->cls);
	gp_client_device_event_locked(dev, &ev);
}

int gp_client_device_create(const struct gp_hal_ops *ops, const struct gp_device_id *id,
			    struct gp_client_device **out)
{
	struct gp_client_device *dev;
	int err;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	err = ops->open(id, &dev->hal);
	if (err)
		goto err_free;
	/* A backend's own table, from a tracker, may lack ops. */
	gp_hal_set_ops(&dev->ops, dev->hal->ops);
	dev->hal->ops = &dev->ops;
	err = dev->hal->ops->caps(dev->hal, &dev->caps);
	if (!err)
		err = runtime_create(dev);
	if (err)
		goto err_close;
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->queue_lock, NULL);
	dev->slot_fd = -1;
	atomic_init(&dev->timer_fd, -1);
	for (uint32_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS; i++)
		dev->ctx[i].tenant = GP_BASE_TENANT + 1 + i;
	dev->preloaded = gp_engine_hooks()->tracks;
	dev->status_page.wake_fd = -1;
	dev->status_page.looked = dev->reported_busy = -ENODATA;
	gp_daemon_link_init(&dev->link);
	join(dev);
	*out = dev;
	return 0;

err_close:
	dev->hal->ops->close(dev->hal);
err_free:
	free(dev);
	return err;
}

/* ---- class ------------------------------------------------------------------- */

struct gp_class_value gp_client_device_class(struct gp_client_device *dev)
{
	struct gp_class_value cls;

	pthread_mutex_lock(&dev->lock);
	cls = dev->cls;
	gp_client_device_unlock(dev);
	return cls;
}

bool gp_client_device_is_be(struct gp_client_device *dev)
{
	return gp_client_device_class(dev).cls == GP_CLASS_BE;
}

int gp_client_device_apply_class(struct gp_client_device *dev, const struct gp_class_value *cls,
				 const struct gp_class_request *wanted)
{
	struct gp_event ev = { .type = GP_EV_TENANT_CLASS, .spec = gp_client_device_spec(cls) };
	int err;

	if (gp_class_check(cls->cls, cls->value))
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	err = tell_class(dev, cls);
	/* The daemon may do it even if this process may not. */
	if (err == -EPERM && gp_runtime_is_managed(dev->rt))
		err = 0;
	ev.tenant = GP_BASE_TENANT;
	if (!err)
		err = gp_client_device_event_locked(dev, &ev);
	for (size_t i = 0; !err && i < GP_CLIENT_DEVICE_CONTEXTS; i++) {
		if (!atomic_load(&dev->ctx[i].context))
			continue;
		ev.tenant = dev->ctx[i].tenant;
		err = gp_client_device_event_locked(dev, &ev);
	}
	if (!err) {
		if (cls->cls == GP_CLASS_LC)
			gp_ectx_holds_for_all(dev);
		dev->cls = *cls;
		if (wanted)
			dev->asked = *wanted;
		gp_slot_follow(dev);
		gp_status_page_update(dev);
	}
	gp_client_device_unlock(dev);
	return err;
}

int gp_client_device_set_class(struct gp_client_device *dev, const struct gp_class_value *cls)
{
	const struct gp_class_request request = { .cls = *cls };

	if (gp_class_check(cls->cls, cls->value))
		return -EINVAL;
	if (gp_daemon_link_manages(dev))
		return gp_daemon_link_wait(dev, gp_daemon_link_ask(dev, &request));
	return gp_client_device_apply_class(dev, cls, &request);
}

/* ---- groups ------------------------------------------------------------------ */

/* 0, or -EEXIST: known already. */
static int group_enter(struct gp_client_device *dev, struct gp_group *group)
{
	int err;

	gp_runtime_lock(dev->rt);
	err = gp_runtime_group_enter(dev->rt, GP_BASE_TENANT, dev, group);
	if (!err) {
		/* In this order: then a new greeting of the daemon does not report it twice. */
		gp_daemon_link_regrouped(dev);
		if (group->kind == GP_GROUP_COMPUTE)
			atomic_fetch_add(&dev->groups, 1);
	}
	/* A group that appears while the others are suspended. Else a daemon suspends it. */
	if (!err && (dev->yielded || (dev->stopped && !gp_daemon_link_manages(dev))))
		(void)dev->ops.suspend(&group, 1);
	gp_runtime_unlock(dev->rt);
	return err;
}

int gp_client_device_group_add(struct gp_client_device *dev, struct gp_group *group)
{
	struct gp_event ev = {
		.type = GP_EV_GROUP_APPEAR,
		.tenant = GP_BASE_TENANT,
		.group = { .id = group->id, .copies = group->kind == GP_GROUP_COPY },
	};
	int err;

	if (!gp_runtime_takes(dev->rt, group))
		return 1;
	err = group_enter(dev, group);
	if (err)
		return err;
	gp_client_device_post(dev, &ev);
	gp_thread_wake();
	return 0;
}

int gp_client_device_keep(struct gp_client_device *dev, struct gp_group *group)
{
	int err = 0;

	if (!gp_runtime_takes(dev->rt, group))
		return 1;
	gp_runtime_lock(dev->rt);
	if (dev->keeps == GP_WIRE_KEEP_MAX)
		err = -ENOSPC;
	else
		dev->keep[dev->keeps++] = group;
	gp_runtime_unlock(dev->rt);
	gp_daemon_link_regrouped(dev);
	return err;
}

/* gp_runtime_lock() held. */
static void keep_gone(struct gp_client_device *dev, const struct gp_group *group)
{
	for (uint32_t i = 0; i < dev->keeps; i++)
		if (dev->keep[i] == group) {
			dev->keep[i] = dev->keep[--dev->keeps];
			return;
		}
}

size_t gp_client_device_group_count(struct gp_client_device *dev)
{
	return atomic_load(&dev->groups);
}

void gp_client_device_group_gone(struct gp_client_device *dev, struct gp_group *group)
{
	struct gp_event ev = { .type = GP_EV_GROUP_GONE, .group.id = group->id };
	bool known;

	gp_runtime_lock(dev->rt);
	keep_gone(dev, group);
	known = gp_runtime_group_leave(dev->rt, group);
	if (known && group->kind == GP_GROUP_COMPUTE)
		atomic_fetch_sub(&dev->groups, 1);
	gp_runtime_unlock(dev->rt);
	if (!known)
		return;
	gp_client_device_post(dev, &ev);
	gp_daemon_link_regrouped(dev);
}

static bool list_has(const struct gp_group_list *list, uint32_t id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->group[i]->id == id)
			return true;
	return false;
}

static void scan_take(struct gp_client_device *dev, struct gp_group_list *list)
{
	struct gp_group_list old = dev->scanned;

	for (size_t i = 0; i < list->count; i++)
		gp_client_device_group_add(dev, list->group[i]);
	for (size_t i = 0; i < old.count; i++)
		if (!list_has(list, old.group[i]->id))
			gp_client_device_group_gone(dev, old.group[i]);
	dev->scanned = *list;
	gp_group_list_put(&old);
}

/* Called with no lock held, by gp_open() only, which has a lock of its own. */
int gp_client_device_scan(struct gp_client_device *dev)
{
	struct gp_group_list list = { 0 };
	int err;

	if (dev->preloaded)
		return 0;
	err = dev->hal->ops->groups(dev->hal, 0, &list);
	if (!err)
		scan_take(dev, &list);
	return err;
}

void gp_client_device_scan_drop(struct gp_client_device *dev)
{
	struct gp_group_list none = { 0 };

	if (!dev->preloaded)
		scan_take(dev, &none);
}

/* ---- with a daemon ----------------------------------------------------------- */

void gp_client_device_give(struct gp_client_device *dev)
{
	/* First the slice, while this process may set it. */
	gp_slot_drop(dev);
	gp_runtime_managed(dev->rt, true);
}

/* The daemon may have given them its slice, and its turns. gp_runtime_lock() held. */
static int keep_on(struct gp_client_device *dev)
{
	int err, result = 0;

	for (uint32_t i = 0; i < dev->keeps; i++) {
		struct gp_group *g = dev->keep[i];

		(void)dev->ops.set_slice(g, g->kind == GP_GROUP_COPY ?
						    dev->caps.default_copy_slice_us :
						    dev->caps.default_slice_us);
		err = dev->ops.resume(&g, 1);
		result = err && err != -ESRCH ? err : result;
	}
	return result;
}

/* Groups suspended by agreement remain so until that ends. */
static int groups_on(struct gp_client_device *dev)
{
	const bool off = dev->caps.caps & (GP_CAP_SUSPEND | GP_CAP_SUSPEND_OWN);
	struct gp_runtime_group *g = NULL;
	int err, result = 0;

	gp_runtime_lock(dev->rt);
	if (off)
		result = keep_on(dev);
	while (off && !dev->yielded && !dev->stopped && (g = gp_runtime_next(dev->rt, dev, g))) {
		err = dev->ops.resume(&g->hal, 1);
		result = err && err != -ESRCH ? err : result;
	}
	gp_runtime_unlock(dev->rt);
	return result;
}

/* A daemon that ended has reset the driver's class. dev->lock held. */
static void class_again(struct gp_client_device *dev)
{
	int err = dev->cls.cls == GP_CLASS_NONE ? 0 : tell_class(dev, &dev->cls);

	if (err)
		gp_log(GP_LOG_WARN, "%s: cannot keep the class without gpreemptd: %s",
		       dev->hal->id.name, strerror(-err));
}

int gp_client_device_take_back(struct gp_client_device *dev)
{
	const bool managed = gp_runtime_is_managed(dev->rt);
	int err;

	/* Two at the short slice are worse than a longer suspension. */
	if (managed)
		gp_runtime_slices_off(dev->rt);
	err = groups_on(dev);
	if (managed) {
		gp_runtime_managed(dev->rt, false);
		gp_slot_follow(dev);
		class_again(dev);
	}
	return err;
}

void gp_client_device_slices_off(struct gp_client_device *dev)
{
	pthread_mutex_lock(&dev->lock);
	gp_runtime_slices_off(dev->rt);
	gp_client_device_unlock(dev);
}

void gp_client_device_slices_again(struct gp_client_device *dev)
{
	if (!gp_runtime_is_managed(dev->rt))
		gp_runtime_again(dev->rt);
}
