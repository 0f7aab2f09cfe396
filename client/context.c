// SPDX-License-Identifier: Apache-2.0
/* context.c - contexts that can hold: a tenant of the core each. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "client/engine_internal.h"
#include "runtime/log.h"

void gp_ectx_destroy_holds(struct gp_client_device *dev, struct gp_ectx *c)
{
	atomic_store(&c->marks, NULL);
	for (int i = 0; i < 2; i++) {
		if (c->hold[i])
			dev->hal->ops->hold_destroy(c->hold[i]);
		c->hold[i] = NULL;
		c->on[i] = c->unreported[i] = 0;
	}
}

/* If the process is the context, it has none without holds, too. */
static bool can_hold(const struct gp_client_device *dev)
{
	return dev->caps.caps & GP_CAP_HOLD || !(dev->caps.caps & GP_CAP_HOLD_OUTSIDE);
}

static void explain_no_holds(const struct gp_client_device *dev)
{
	char why[256] = "";

	dev->ops.explain(-EOPNOTSUPP, why, sizeof(why));
	gp_say_no_hold(why);
}

/* -EOPNOTSUPP logs a message and is no error: the context has no holds. */
int gp_ectx_make_holds(struct gp_client_device *dev, struct gp_ectx *c, void *context)
{
	int err = 0;

	gp_engine_depth++;
	for (int i = 0; i < 2 && !err && can_hold(dev); i++)
		err = dev->hal->ops->hold_create(dev->hal, context, &c->hold[i]);
	if (err)
		gp_ectx_destroy_holds(dev, c);
	else
		atomic_store(&c->marks, c->hold[0]);
	gp_engine_depth--;
	if (err == -EOPNOTSUPP)
		explain_no_holds(dev);
	return err == -EOPNOTSUPP ? 0 : err;
}

/* Without the lock: a write into a full stream blocks. */
int gp_client_device_queued_in(struct gp_client_device *dev, const struct gp_ectx *c, void *stream)
{
	const struct gp_event ev = { .type = GP_EV_QUEUED,
				     .tenant = c->tenant,
				     .queued.reported = true };
	struct gp_hold *hold = atomic_load(&c->marks);
	int err = 0;

	if (hold) {
		gp_engine_depth++;
		err = dev->ops.hold_queued(hold, stream);
		gp_engine_depth--;
	}
	if (err && err != -EOPNOTSUPP)
		return err;
	/* The hint's hold ends after that: in between the front end would have no method. */
	gp_client_device_post(dev, &ev);
	return 0;
}

/* Contexts made while best-effort have none. */
void gp_ectx_holds_for_all(struct gp_client_device *dev)
{
	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS; i++) {
		struct gp_ectx *c = &dev->ctx[i];
		void *context = atomic_load(&c->context);
		int err = context && !c->hold[0] && !c->gone ? gp_ectx_make_holds(dev, c, context) :
							       0;

		if (err)
			gp_say_no_hold(strerror(-err));
	}
}

static void ctx_leave(struct gp_client_device *dev, struct gp_ectx *c)
{
	struct gp_event ev = { .type = GP_EV_TENANT_LEAVE, .tenant = c->tenant };

	gp_status_page_leave(dev, c);
	gp_client_device_event_locked(dev, &ev);
	gp_engine_depth++;
	gp_ectx_stop_asking(dev, c);
	gp_ectx_destroy_holds(dev, c);
	gp_engine_depth--;
	dev->base_held_ns += c->held_ns;
	atomic_store(&c->context, NULL);
	gp_status_page_update(dev);
}

static struct gp_ectx *ctx_find(struct gp_client_device *dev, void *context)
{
	for (size_t i = 0; context && i < GP_CLIENT_DEVICE_CONTEXTS; i++)
		if (atomic_load(&dev->ctx[i].context) == context)
			return &dev->ctx[i];
	return NULL;
}

static int ctx_create(struct gp_client_device *dev, void *context, struct gp_ectx **out)
{
	struct gp_event ev = { .type = GP_EV_TENANT_JOIN,
			       .spec = gp_client_device_spec(&dev->cls) };
	struct gp_ectx *c = NULL;
	int err = 0;

	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS && !c; i++)
		if (!atomic_load(&dev->ctx[i].context))
			c = &dev->ctx[i];
	if (!c)
		return -ENOSPC;
	atomic_store(&c->busy, 0);
	memset(&c->refs, 0, sizeof(*c) - offsetof(struct gp_ectx, refs));
	/* Best-effort holds nothing: the context is for its launches. */
	if (dev->cls.cls != GP_CLASS_BE)
		err = gp_ectx_make_holds(dev, c, context);
	if (err)
		return err;
	ev.tenant = c->tenant;
	err = gp_client_device_event_locked(dev, &ev);
	if (err) {
		gp_ectx_destroy_holds(dev, c);
		return err;
	}
	atomic_store(&c->context, context);
	gp_status_page_update(dev);
	*out = c;
	return 0;
}

int gp_client_device_context(struct gp_client_device *dev, void *context, struct gp_ectx **out)
{
	struct gp_ectx *c;
	int err = 0;

	if (!context)
		return -ENXIO;
	pthread_mutex_lock(&dev->lock);
	c = ctx_find(dev, context);
	if (!c)
		err = ctx_create(dev, context, &c);
	if (!err) {
		c->refs++;
		*out = c;
	}
	gp_client_device_unlock(dev);
	return err;
}

void gp_client_device_context_put(struct gp_client_device *dev, struct gp_ectx *ctx)
{
	pthread_mutex_lock(&dev->lock);
	if (!--ctx->refs)
		ctx_leave(dev, ctx);
	gp_client_device_unlock(dev);
}

/* Contexts from gp_engine_ask_context(). */
static void *_Atomic asked_context;
static void *_Atomic asked_in_vain;

void gp_engine_ask_context(void *context)
{
	void *none = NULL;

	if (atomic_load_explicit(&asked_in_vain, memory_order_relaxed) == context ||
	    !atomic_compare_exchange_strong(&asked_context, &none, context))
		return;
	gp_thread_wake();
}

void gp_engine_serve_context(void)
{
	void *context = atomic_load(&asked_context);
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);
	struct gp_ectx *c;
	int err = -ENODEV;

	if (!context)
		return;
	for (size_t i = 0; i < n; i++)
		if (gp_daemon_link_is_away(dev[i]))
			return;
	/* The engine keeps its reference until the context is destroyed. */
	for (size_t i = 0; i < n && err; i++)
		err = gp_client_device_context(dev[i], context, &c);
	if (err)
		atomic_store(&asked_in_vain, context);
	atomic_store(&asked_context, NULL);
}

void gp_engine_context_gone(void *context)
{
	struct gp_client_device *dev;
	struct gp_ectx *c = gp_engine_find(context, &dev);

	if (!c)
		return;
	pthread_mutex_lock(&dev->lock);
	if (ctx_find(dev, context) == c && !c->gone) {
		struct gp_event ev = { .type = GP_EV_SYNC, .tenant = c->tenant };

		/* Final: its holds end, and it never holds again. */
		gp_client_device_event_locked(dev, &ev);
		gp_engine_depth++;
		gp_ectx_destroy_holds(dev, c);
		gp_engine_depth--;
		c->gone = 1;
		gp_status_page_update(dev);
	}
	gp_client_device_unlock(dev);
}
