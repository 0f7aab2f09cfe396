// SPDX-License-Identifier: Apache-2.0
/* status.c - this process's own status report, and hints from outside. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/engine.h"
#include "client/predict.h"
#include "wire/wire.h"

static void add_context(struct gp_client_device *dev, struct gp_ectx *c, struct gp_wire_status *st)
{
	struct gp_sched_tenant_stat ts;
	uint64_t held_ns;

	gp_client_device_stat(dev, c, &ts, &held_ns);
	st->hints += ts.hints;
	st->segments += ts.segments;
	st->holds += ts.holds;
	st->holds_late += ts.holds_late;
	st->holds_expired += ts.holds_expired;
	st->syncs_cut += ts.syncs_cut;
	st->held_ns += held_ns;
	if (ts.switch_ns && ts.switch_min_ns &&
	    (!st->switch_min_ns || ts.switch_min_ns < st->switch_min_ns))
		st->switch_min_ns = ts.switch_min_ns;
	if (ts.switch_max_ns > st->switch_max_ns)
		st->switch_max_ns = ts.switch_max_ns;
	if (c->switch_ns)
		st->switch_ns = c->switch_ns;
	st->margin_ns = ts.margin_ns;
}

static void add_learned(const struct gp_client_device *dev, struct gp_wire_status *st)
{
	struct gp_predict_stat ls;

	gp_predict_stats(dev, &ls);
	st->learns |= ls.on;
	st->rhythm |= ls.sure;
	st->guesses += ls.guesses;
	st->guess_hits += ls.hits;
	st->guess_misses += ls.misses;
}

static void add_groups(struct gp_client_device *dev, struct gp_wire_status *st)
{
	struct gp_runtime_group *g = NULL;
	uint64_t us;

	gp_runtime_lock(dev->rt);
	while ((g = gp_runtime_next_compute(dev->rt, dev, g)))
		if (!st->groups++ && !dev->hal->ops->get_slice(g->hal, &us))
			st->slice_us = us;
	gp_runtime_unlock(dev->rt);
}

static void add_device(struct gp_client_device *dev, struct gp_wire_status *st)
{
	const bool first = !*st->uuid;

	add_groups(dev, st);
	add_learned(dev, st);
	for (size_t k = 0; k < GP_CLIENT_DEVICE_CONTEXTS; k++)
		if (atomic_load(&dev->ctx[k].context))
			add_context(dev, &dev->ctx[k], st);
	pthread_mutex_lock(&dev->lock);
	st->short_slice |= dev->slot == GP_SLOT_HAVE;
	if (first) {
		st->cls = dev->cls.cls;
		st->value = dev->cls.value;
		st->sync_seen = dev->sync_seen;
		st->preloaded = dev->preloaded;
		snprintf(st->device, sizeof(st->device), "%s", dev->hal->id.name);
		gp_uuid_format(dev->hal->id.uuid, st->uuid, sizeof(st->uuid));
	}
	gp_client_device_unlock(dev);
}

void gp_engine_status(struct gp_wire_status *st)
{
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);

	for (size_t i = 0; i < n; i++)
		add_device(dev[i], st);
}

int gp_engine_status_of(uint32_t number, struct gp_wire_status *st)
{
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);

	if (number >= n)
		return -ENODEV;
	add_device(dev[number], st);
	return 0;
}

/* The context for a hint from outside; the first one creates it. */
static int hinted_context(struct gp_client_device *dev, struct gp_ectx **out)
{
	for (size_t i = 0; i < GP_CLIENT_DEVICE_CONTEXTS; i++) {
		if (atomic_load(&dev->ctx[i].context) && !dev->ctx[i].gone) {
			*out = &dev->ctx[i];
			return 0;
		}
	}
	/* The engine keeps its reference until the context is destroyed. */
	return gp_client_device_context(dev, gp_client_device_find_context(dev), out);
}

static int hint_device(struct gp_client_device *dev, uint64_t in_ns)
{
	struct gp_event ev = { .type = GP_EV_HINT, .hint.at_ns = in_ns };
	struct gp_ectx *c;
	uint32_t cls;
	int err;

	pthread_mutex_lock(&dev->lock);
	cls = dev->cls.cls;
	gp_client_device_unlock(dev);
	if (cls != GP_CLASS_LC)
		return -EPERM;
	err = hinted_context(dev, &c);
	if (err)
		return err;
	ev.tenant = c->tenant;
	return gp_client_device_event(dev, &ev);
}

int gp_engine_hint(uint64_t in_ns)
{
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	size_t n = gp_engine_devices(dev, GP_HAL_MAX_DEVICES);
	int err, result = -ENODEV;

	for (size_t i = 0; i < n; i++) {
		err = hint_device(dev[i], in_ns);
		if (!err || result == -ENODEV)
			result = err;
	}
	return result;
}
