// SPDX-License-Identifier: Apache-2.0
/* api.c - the calls of gpreempt.h: check them, and pass events to the engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/cuda.h"
#include "client/engine.h"
#include "client/hip.h"
#include "gpreempt/gpreempt.h"
#include "runtime/log.h"

#define WHY_LEN 160

/*
 * struct gp_handle - a handle
 * @dev: NULL in an inert handle (GPREEMPT_DISABLE=1), which does nothing
 * @at_open: the context's counters at that time; handles of one context share them
 */
struct gp_handle {
	struct gp_client_device *dev;
	struct gp_ectx *ctx;
	uint64_t limit_ns;
	struct gp_sched_tenant_stat at_open;
	uint64_t held_at_open_ns;
};

/* Opens and closes read and change the scanned groups. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

/* Sizes of the first release: the minimum of every caller. */
#define OPTS_SIZE_MIN sizeof(struct gp_open_opts)
#define STATS_SIZE_MIN sizeof(struct gp_stats)

static int opts_read(const struct gp_open_opts *in, struct gp_open_opts *out)
{
	const unsigned char *tail;

	*out = (struct gp_open_opts){ .size = sizeof(*out) };
	if (!in)
		return 0;
	if (in->size < OPTS_SIZE_MIN)
		return -EINVAL;
	tail = (const unsigned char *)in;
	for (size_t i = sizeof(*out); i < in->size; i++)
		if (tail[i])
			return -E2BIG;
	memcpy(out, in, sizeof(*out));
	if (out->flags)
		return -E2BIG;
	if (out->cls > GP_CLASS_BE || out->level > GP_LEVEL_MAX || out->weight > GP_WEIGHT_MAX)
		return -EINVAL;
	return 0;
}

/* The program's device: from its CUDA context, else HIP's current device. */
static const char *used_device(void *context, char *text, size_t len)
{
	uint8_t uuid[16];

	if (context && !gp_cuda_context_uuid(context, uuid)) {
		gp_uuid_format(uuid, text, len);
		return text;
	}
	return !context && !gp_hip_current(text, len) ? text : NULL;
}

static bool has_groups(struct gp_device *hal)
{
	struct gp_group_list list = { 0 };
	bool has;

	if (hal->ops->groups(hal, 0, &list))
		return false;
	has = list.count != 0;
	gp_group_list_put(&list);
	return has;
}

/*
 * Of several devices of one kind the first with groups of this process: @hal, or a
 * replacement. (An HSA program has no current device, and no queues on devices that
 * ROCR_VISIBLE_DEVICES hides.)
 */
static struct gp_device *prefer_used(struct gp_device *hal)
{
	struct gp_device_list list = { 0 };
	struct gp_device *other;

	if (has_groups(hal) || hal->ops->probe(&list))
		return hal;
	for (size_t i = 0; i < list.count; i++) {
		if (hal->ops->open(&list.dev[i], &other))
			continue;
		other->ops = hal->ops;
		if (has_groups(other)) {
			gp_device_close(hal);
			return other;
		}
		gp_device_close(other);
	}
	return hal;
}

static int open_device(const char *spec, void *context, struct gp_client_device **dev)
{
	char text[48], why[WHY_LEN] = "";
	struct gp_device *hal;
	int err;

	if (!spec)
		spec = used_device(context, text, sizeof(text));
	err = gp_device_open(spec, &hal, why, sizeof(why));
	if (err) {
		gp_log(GP_LOG_ERR, "gp_open: cannot open device %s: %s", spec ? spec : "(first)",
		       why[0] ? why : strerror(-err));
		return err;
	}
	if (!spec && !context)
		hal = prefer_used(hal);
	err = gp_engine_device(hal->ops, &hal->id, dev);
	gp_device_close(hal);
	return err;
}

/* The class in @opts, else the one in force, else LC. */
static int open_class(struct gp_client_device *dev, const struct gp_open_opts *opts)
{
	struct gp_class_value cls = { opts->cls, opts->level };
	int err;

	if (opts->cls == GP_CLASS_NONE) {
		if (gp_client_device_class(dev).cls != GP_CLASS_NONE)
			return 0;
		cls.cls = GP_CLASS_LC;
	}
	if (cls.cls == GP_CLASS_BE)
		cls.value = opts->weight ? opts->weight : GP_WEIGHT_DEFAULT;
	err = gp_client_device_set_class(dev, &cls);
	/* A daemon that has not answered yet may still do so. */
	return err == -ETIMEDOUT ? 0 : err;
}

static int handle_create(const struct gp_open_opts *opts, struct gp_handle *h)
{
	void *context = opts->context ? opts->context : gp_cuda_current();
	int err;

	err = open_device(opts->device, context, &h->dev);
	if (err)
		return err;
	if (!context)
		context = gp_cuda_current();
	/* If the process holds, not a context, it stands for the context. */
	if (!context && h->dev->ops.process_context(h->dev->hal, &context))
		context = NULL;
	err = gp_client_device_context(h->dev, context, &h->ctx);
	if (err)
		return err;
	err = gp_client_device_scan(h->dev);
	if (!err)
		err = open_class(h->dev, opts);
	if (err) {
		gp_client_device_context_put(h->dev, h->ctx);
		return err;
	}
	h->dev->handles++;
	gp_thread_start(true);
	gp_client_device_stat(h->dev, h->ctx, &h->at_open, &h->held_at_open_ns);
	return 0;
}

int gp_open(const struct gp_open_opts *opts, struct gp_handle **handle)
{
	int saved = errno, state = gp_engine_state();
	struct gp_open_opts o;
	struct gp_handle *h;
	int err;

	if (!handle)
		return -EINVAL;
	err = opts_read(opts, &o);
	if (err || state == -ECHILD)
		return err ? err : state;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->limit_ns = o.hold_limit_ns ? o.hold_limit_ns : GP_SCHED_HOLD_LIMIT_NS;
	if (!state) {
		pthread_mutex_lock(&open_lock);
		err = handle_create(&o, h);
		pthread_mutex_unlock(&open_lock);
	}
	if (err)
		free(h);
	else
		*handle = h;
	errno = saved;
	return err;
}

/* 1: continue; 0 or negative: the call's result. */
static int usable(const struct gp_handle *h)
{
	int state = gp_engine_state();

	if (state == -ECHILD)
		return state;
	if (!h)
		return -EINVAL;
	return h->dev ? 1 : 0;
}

void gp_close(struct gp_handle *h)
{
	static const struct gp_class_request none;
	int saved = errno;

	if (!h)
		return;
	if (usable(h) == 1) {
		pthread_mutex_lock(&open_lock);
		gp_client_device_context_put(h->dev, h->ctx);
		if (!--h->dev->handles && !h->dev->preloaded) {
			/* There was no other class: undo it in the driver, too. */
			(void)gp_client_device_apply_class(h->dev, &none.cls, &none);
			gp_client_device_scan_drop(h->dev);
		}
		pthread_mutex_unlock(&open_lock);
	}
	free(h);
	errno = saved;
}

static int event(struct gp_handle *h, struct gp_event *ev)
{
	int saved = errno, err = usable(h);

	if (err == 1) {
		ev->tenant = h->ctx->tenant;
		err = gp_client_device_event(h->dev, ev);
	}
	errno = saved;
	return err;
}

int gp_set_class(struct gp_handle *h, enum gp_class cls, uint32_t level_or_weight)
{
	struct gp_class_value v = { cls, level_or_weight };
	int saved = errno, err;

	if (cls == GP_CLASS_BE && !v.value)
		v.value = GP_WEIGHT_DEFAULT;
	if (gp_class_check(v.cls, v.value))
		return -EINVAL;
	err = usable(h);
	if (err == 1)
		err = gp_client_device_set_class(h->dev, &v);
	errno = saved;
	return err;
}

int gp_hint(struct gp_handle *h, uint64_t in_ns)
{
	struct gp_event ev = { .type = GP_EV_HINT, .hint.at_ns = in_ns };

	if (in_ns > GP_HINT_MAX_NS)
		return -EINVAL;
	return event(h, &ev);
}

int gp_queued(struct gp_handle *h, void *stream)
{
	int saved = errno, err = usable(h);

	if (err == 1)
		err = gp_client_device_queued_in(h->dev, h->ctx, stream);
	errno = saved;
	return err;
}

/*
 * Holds of a program-defined length must end before a device-wide wait. A hint's hold lasts
 * some 0.5 ms, so hints alone need no watching.
 */
static void watch(const struct gp_handle *h)
{
	if (usable(h) == 1 && !(h->dev->caps.caps & GP_CAP_HOLD_OUTSIDE) &&
	    gp_client_device_class(h->dev).cls == GP_CLASS_LC)
		gp_engine_watch_sync();
}

int gp_segment_begin(struct gp_handle *h)
{
	struct gp_event ev = { .type = GP_EV_SEGMENT_BEGIN };

	watch(h);
	return event(h, &ev);
}

int gp_segment_end(struct gp_handle *h)
{
	struct gp_event ev = { .type = GP_EV_SEGMENT_END };

	return event(h, &ev);
}

int gp_hold(struct gp_handle *h, uint64_t limit_ns)
{
	struct gp_event ev = { .type = GP_EV_HOLD, .hold.limit_ns = limit_ns };
	int err = usable(h);

	if (err != 1)
		return err;
	if (!limit_ns)
		ev.hold.limit_ns = h->limit_ns;
	if (ev.hold.limit_ns > h->limit_ns)
		return -ERANGE;
	watch(h);
	return event(h, &ev);
}

int gp_release(struct gp_handle *h)
{
	struct gp_event ev = { .type = GP_EV_RELEASE };

	return event(h, &ev);
}

static void stats_fill(struct gp_handle *h, struct gp_stats *out)
{
	const struct gp_sched_tenant_stat *was = &h->at_open;
	struct gp_sched_tenant_stat now;
	uint64_t held_ns;

	gp_client_device_stat(h->dev, h->ctx, &now, &held_ns);
	out->hints = now.hints - was->hints;
	out->segments = now.segments - was->segments;
	out->holds = now.holds - was->holds;
	out->holds_late = now.holds_late - was->holds_late;
	out->holds_expired = now.holds_expired - was->holds_expired;
	out->syncs_cut = now.syncs_cut - was->syncs_cut;
	out->held_ns = held_ns - h->held_at_open_ns;
	out->switch_ns = h->ctx->switch_ns;
	out->switch_min_ns = now.switch_min_ns;
	out->switch_max_ns = now.switch_max_ns;
	out->margin_ns = now.margin_ns;
}

int gp_stats_get(struct gp_handle *h, struct gp_stats *stats)
{
	struct gp_stats out = { .size = sizeof(out) };
	int saved = errno, err = usable(h);

	if (!stats || stats->size < STATS_SIZE_MIN)
		return -EINVAL;
	if (err < 0)
		return err;
	if (err == 1)
		stats_fill(h, &out);
	out.size = stats->size;
	memset((char *)stats + sizeof(out), 0, stats->size - sizeof(out));
	memcpy(stats, &out, sizeof(out));
	errno = saved;
	return 0;
}

const char *gp_version(void)
{
	return GP_VERSION;
}
