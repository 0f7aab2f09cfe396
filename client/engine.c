// SPDX-License-Identifier: Apache-2.0
/* engine.c - the list of devices, the host of the core, and the queue of events. */
#include "client/engine_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "client/keep.h"
#include "client/pile.h"
#include "client/predict.h"
#include "client/start_daemon.h"
#include "client/yield.h"
#include "hal/spec.h"
#include "runtime/log.h"

#define REARM_MS 10 /* a timer that could not be set is set then */

static struct {
	pthread_mutex_t lock;
	/* Written under lock, published by count; entries never change. */
	struct gp_client_device *dev[GP_HAL_MAX_DEVICES];
	atomic_size_t count;
	struct gp_engine_hooks hooks; /* set before anything else runs */
	/* Not engine.lock: a thread inside libcuda may wait for that one. */
	pthread_mutex_t watch_lock;
	atomic_int sync_watched; /* 0: not tried, 1: watched, 2: cannot */
} engine = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.watch_lock = PTHREAD_MUTEX_INITIALIZER,
};

static atomic_int forked;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int disabled;
_Thread_local int gp_engine_depth;

/*
 * In a fork's child the parent's threads do not exist, its locks may be taken, and its GPU
 * objects are the parent's. The files must be closed, though: a slot's lock lives until its
 * last copy closes.
 */
static void child_after_fork(void)
{
	size_t n = atomic_load(&engine.count);

	atomic_store(&forked, 1);
	for (size_t i = 0; i < n; i++)
		gp_slot_forget(engine.dev[i]);
	for (size_t i = 0; i < n; i++)
		gp_daemon_link_forget(engine.dev[i]);
	gp_thread_forget();
	gp_yield_forget();
}

static void init_once(void)
{
	const char *text = secure_getenv("GPREEMPT_DISABLE");
	Dl_info info;

	disabled = text && !strcmp(text, "1");
	pthread_atfork(NULL, NULL, child_after_fork);
	/* Threads run in this library: it must stay loaded after any dlclose. */
	if (dladdr((void *)init_once, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

int gp_engine_state(void)
{
	if (atomic_load_explicit(&forked, memory_order_relaxed))
		return -ECHILD;
	pthread_once(&once, init_once);
	return disabled ? -ENOSYS : 0;
}

bool gp_engine_inside(void)
{
	return gp_engine_depth > 0;
}

void gp_engine_set_hooks(const struct gp_engine_hooks *hooks)
{
	gp_start_daemon_setup();
	engine.hooks = *hooks;
}

const struct gp_engine_hooks *gp_engine_hooks(void)
{
	return &engine.hooks;
}

bool gp_engine_sync_seen(void)
{
	return atomic_load(&engine.sync_watched) == 1;
}

bool gp_engine_piles(void)
{
	return engine.hooks.pile;
}

bool gp_engine_predicts(void)
{
	return engine.hooks.predict;
}

void *gp_client_device_find_context(struct gp_client_device *dev)
{
	void *context;

	if (!dev->ops.process_context(dev->hal, &context))
		return context;
	return engine.hooks.find_context ? engine.hooks.find_context(&dev->hal->id) : NULL;
}

static void set_sync_seen(struct gp_client_device *dev, bool seen)
{
	pthread_mutex_lock(&dev->lock);
	dev->sync_seen = seen;
	gp_sched_set_hold_piece(gp_runtime_core(dev->rt),
				gp_client_device_hold_piece_ns(dev, seen));
	gp_client_device_unlock(dev);
}

/* Warn unless all devices are BE: BE never holds. */
static void say_unseen(const char *why)
{
	bool holds = !atomic_load(&engine.count);

	for (size_t i = 0; i < atomic_load(&engine.count); i++)
		holds |= gp_client_device_class(engine.dev[i]).cls != GP_CLASS_BE;
	if (holds)
		gp_log(GP_LOG_WARN,
		       "cannot see synchronisation (%s): holds come in pieces of %u us; see "
		       "gpreempt doctor",
		       why, GP_HOLD_PIECE_NS / 1000);
	else
		gp_log(GP_LOG_DEBUG,
		       "cannot see launches (%s): turns end by time only; see gpreempt doctor",
		       why);
}

int gp_engine_watch_sync(void)
{
	const char *why;

	if (atomic_load(&engine.sync_watched))
		return atomic_load(&engine.sync_watched) == 1;
	if (!engine.hooks.watch_sync)
		return 0;
	pthread_mutex_lock(&engine.watch_lock);
	if (!atomic_load(&engine.sync_watched)) {
		why = engine.hooks.watch_sync();
		/* First this flag: a device created from now on reads it. */
		atomic_store(&engine.sync_watched, why ? 2 : 1);
		for (size_t i = 0; i < atomic_load(&engine.count); i++)
			set_sync_seen(engine.dev[i], !why);
		if (why)
			say_unseen(why);
	}
	pthread_mutex_unlock(&engine.watch_lock);
	return atomic_load(&engine.sync_watched) == 1;
}

void gp_engine_watch_launches(void)
{
	if (engine.hooks.watch_launches)
		engine.hooks.watch_launches();
}

uint64_t gp_client_device_now(struct gp_client_device *dev)
{
	return gp_runtime_clock_ns(dev->rt);
}

/* ---- the host of the core ------------------------------------------------------- */

static void called(void *host, const struct gp_call *call)
{
	static atomic_int said;

	if (call->what.type == GP_DO_SET_SLICE && call->err && call->err != -ESRCH)
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot set the timeslice: %s; keeping the driver's",
			    strerror(-call->err));
}

/*
 * An early timer costs the thread a wake-up now and then. Setting it costs every hold and
 * every release a system call, which a hold may need anyway (AMD). A virtual clock would stop
 * for it.
 */
static bool comes_in_time(const struct gp_client_device *dev, uint64_t at_ns)
{
	const uint32_t exact = GP_CAP_VIRTUAL_TIME | GP_CAP_HOLD_OUTSIDE;

	return dev->timer_ns != GP_SCHED_NO_TIMER && !(dev->caps.caps & exact) &&
	       (at_ns == GP_SCHED_NO_TIMER || dev->timer_ns <= at_ns);
}

static int create_timer(struct gp_client_device *dev)
{
	int err = dev->hal->ops->timer_create(dev->hal, &dev->timer);

	if (err)
		return err;
	atomic_store(&dev->timer_fd, dev->timer->fd);
	gp_thread_start(false);
	gp_thread_wake();
	return 0;
}

static void arm_fails(struct gp_client_device *dev, int err)
{
	static atomic_int said;

	gp_log_once(&said, GP_LOG_WARN, "cannot set a timer: %s; trying again every %d ms",
		    strerror(-err), REARM_MS);
	if (atomic_exchange(&dev->arm_failed, true))
		return;
	gp_thread_start(false);
	gp_thread_wake();
}

static int arm(void *host, uint64_t at_ns)
{
	struct gp_client_device *dev = host;
	int err = 0;

	if (comes_in_time(dev, at_ns))
		return 0;
	if (!dev->timer && at_ns != GP_SCHED_NO_TIMER)
		err = create_timer(dev);
	if (!err && dev->timer)
		err = dev->hal->ops->timer_arm(dev->timer, at_ns);
	dev->timer_ns = err ? GP_SCHED_NO_TIMER : at_ns;
	/* A timer that cannot be stopped only comes early. */
	if (err && at_ns != GP_SCHED_NO_TIMER)
		arm_fails(dev, err);
	else
		atomic_store(&dev->arm_failed, false);
	return err;
}

int gp_client_device_rearm_wait_ms(struct gp_client_device *dev)
{
	return atomic_load(&dev->arm_failed) ? REARM_MS : -1;
}

/*
 * First the page: execution takes time and makes further steps, and the daemon can preempt
 * others meanwhile.
 */
static void stepped(void *host, const struct gp_event *ev, uint64_t now_ns)
{
	gp_status_page_event(host, ev, now_ns);
}

static void settled(void *host, bool any)
{
	if (any)
		gp_status_page_update(host);
}

static void timed(void *host)
{
	gp_predict_after_timer(host);
}

const struct gp_host_ops gp_client_device_ops = {
	.arm = arm,
	.called = called,
	.hold = gp_client_device_hold,
	.release = gp_client_device_release,
	.settled = settled,
	.stepped = stepped,
	.timed = timed,
};

int gp_client_device_event_locked(struct gp_client_device *dev, struct gp_event *ev)
{
	return gp_runtime_event(dev->rt, ev);
}

/* ---- the queue for callers that must not wait ---------------------------------- */

static bool queue_take(struct gp_client_device *dev, struct gp_event *ev)
{
	bool got = false;

	pthread_mutex_lock(&dev->queue_lock);
	if (dev->queue_count) {
		*ev = dev->queue[0];
		memmove(dev->queue, dev->queue + 1, --dev->queue_count * sizeof(*ev));
		got = true;
	}
	if (!dev->queue_count)
		atomic_store(&dev->queue_waits, 0);
	pthread_mutex_unlock(&dev->queue_lock);
	return got;
}

static void queue_drain(struct gp_client_device *dev)
{
	struct gp_event ev;

	while (atomic_load(&dev->queue_waits) && queue_take(dev, &ev)) {
		gp_client_device_event_locked(dev, &ev);
		gp_slot_follow(dev);
	}
}

/*
 * A caller queues its event and then tries the lock. The owner of the lock unlocks and then
 * checks the queue again. So one of the two always sees the event.
 */
void gp_client_device_unlock(struct gp_client_device *dev)
{
	do {
		queue_drain(dev);
		pthread_mutex_unlock(&dev->lock);
	} while (atomic_load(&dev->queue_waits) && !pthread_mutex_trylock(&dev->lock));
}

void gp_client_device_work(struct gp_client_device *dev, struct gp_ectx *c, bool busy, uint64_t key)
{
	struct gp_event ev = { .type = busy ? GP_EV_BUSY : GP_EV_IDLE, .tenant = c->tenant };
	const bool predicts = atomic_load_explicit(&dev->predicts, memory_order_relaxed);

	pthread_mutex_lock(&dev->lock);
	gp_pile_work(dev, c, busy, key);
	if (predicts) {
		gp_predict_work(dev, busy);
		gp_keep_work(dev, c, busy);
	}
	/* For best-effort only the daemon needs it. */
	if (predicts || dev->cls.cls == GP_CLASS_BE)
		gp_status_page_work(dev, c, busy);
	else
		(void)gp_client_device_event_locked(dev, &ev);
	gp_client_device_unlock(dev);
}

void gp_client_device_queued(struct gp_client_device *dev, struct gp_ectx *c)
{
	struct gp_event ev = { .type = GP_EV_QUEUED, .tenant = c->tenant };
	const bool predicts = atomic_load_explicit(&dev->predicts, memory_order_relaxed);

	pthread_mutex_lock(&dev->lock);
	gp_pile_wait(dev, c);
	if (predicts)
		gp_keep_wait(dev, c);
	else if (dev->cls.cls == GP_CLASS_LC)
		(void)gp_client_device_event_locked(dev, &ev);
	gp_client_device_unlock(dev);
}

void gp_client_device_waits(struct gp_client_device *dev, struct gp_ectx *c, enum gp_wait wait)
{
	pthread_mutex_lock(&dev->lock);
	switch (wait) {
	case GP_WAIT_BEGINS:
		gp_pile_wait(dev, c);
		break;
	case GP_WAIT_SOON:
		gp_pile_needs(dev, c);
		break;
	case GP_WAIT_COPY:
		gp_pile_copy(dev, c);
		break;
	case GP_WAIT_COPIED:
		gp_pile_again(dev, c);
		break;
	case GP_WAIT_ELSE:
		gp_pile_void(dev, c);
		break;
	}
	gp_client_device_unlock(dev);
}

void gp_client_device_post(struct gp_client_device *dev, const struct gp_event *ev)
{
	bool full;

	pthread_mutex_lock(&dev->queue_lock);
	full = dev->queue_count == GP_CLIENT_DEVICE_QUEUE;
	if (!full)
		dev->queue[dev->queue_count++] = *ev;
	atomic_store(&dev->queue_waits, 1);
	pthread_mutex_unlock(&dev->queue_lock);
	if (full)
		gp_log(GP_LOG_ERR, "too many groups at once; one keeps the driver's timeslice");
	if (!pthread_mutex_trylock(&dev->lock))
		gp_client_device_unlock(dev);
}

int gp_client_device_event(struct gp_client_device *dev, struct gp_event *ev)
{
	int err;

	pthread_mutex_lock(&dev->lock);
	if (ev->type == GP_EV_HINT)
		ev->hint.at_ns += gp_client_device_now(dev);
	err = gp_client_device_event_locked(dev, ev);
	gp_client_device_unlock(dev);
	return err;
}

static void serve_timer(struct gp_client_device *dev)
{
	uint64_t due_ns = gp_runtime_due_ns(dev->rt);

	dev->timer_ns = GP_SCHED_NO_TIMER;
	if (due_ns > gp_client_device_now(dev))
		arm(dev, due_ns);
	else if (due_ns != GP_SCHED_NO_TIMER)
		gp_runtime_timer(dev->rt);
}

void gp_client_device_rearm(struct gp_client_device *dev)
{
	if (!atomic_load(&dev->arm_failed))
		return;
	pthread_mutex_lock(&dev->lock);
	serve_timer(dev);
	gp_client_device_unlock(dev);
}

void gp_client_device_timer(struct gp_client_device *dev)
{
	pthread_mutex_lock(&dev->lock);
	if (dev->timer && !dev->hal->ops->timer_ack(dev->timer)) {
		serve_timer(dev);
		/* Events that arrived meanwhile also precede the virtual clock's next move. */
		queue_drain(dev);
		dev->hal->ops->timer_done(dev->timer);
	}
	gp_client_device_unlock(dev);
}

/* ---- the registry ------------------------------------------------------------ */

static struct gp_client_device *device_find(const struct gp_device_id *id)
{
	size_t n = atomic_load(&engine.count);

	for (size_t i = 0; i < n; i++)
		if (!memcmp(engine.dev[i]->hal->id.uuid, id->uuid, sizeof(id->uuid)))
			return engine.dev[i];
	return NULL;
}

bool gp_engine_names(const char *spec, const struct gp_device_id *id)
{
	struct gp_spec parsed;

	if (!spec || !*spec)
		return true;
	return !gp_spec_parse(spec, &parsed) && gp_spec_matches(&parsed, id);
}

int gp_engine_device(const struct gp_hal_ops *ops, const struct gp_device_id *id,
		     struct gp_client_device **out)
{
	size_t n;
	int err = 0;

	*out = device_find(id);
	if (*out)
		return 0;
	pthread_mutex_lock(&engine.lock);
	*out = device_find(id);
	if (*out)
		goto out;
	n = atomic_load(&engine.count);
	err = -ENOSPC;
	if (n == GP_HAL_MAX_DEVICES)
		goto out;
	err = gp_client_device_create(ops, id, out);
	if (err)
		goto out;
	engine.dev[n] = *out;
	atomic_store(&engine.count, n + 1);
out:
	pthread_mutex_unlock(&engine.lock);
	return err;
}

size_t gp_engine_devices(struct gp_client_device **dev, size_t max)
{
	size_t n = atomic_load(&engine.count);

	if (n > max)
		n = max;
	memcpy(dev, engine.dev, n * sizeof(*dev));
	return n;
}

struct gp_ectx *gp_engine_find(void *context, struct gp_client_device **dev)
{
	size_t n = atomic_load_explicit(&engine.count, memory_order_acquire);

	for (size_t i = 0; context && i < n; i++) {
		struct gp_client_device *d = engine.dev[i];

		for (size_t k = 0; k < GP_CLIENT_DEVICE_CONTEXTS; k++) {
			if (atomic_load_explicit(&d->ctx[k].context, memory_order_acquire) ==
			    context) {
				*dev = d;
				return &d->ctx[k];
			}
		}
	}
	return NULL;
}

void gp_engine_group_gone(struct gp_group *group)
{
	size_t n = atomic_load(&engine.count);

	for (size_t i = 0; i < n; i++)
		gp_client_device_group_gone(engine.dev[i], group);
}
