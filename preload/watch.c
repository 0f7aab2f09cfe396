// SPDX-License-Identifier: Apache-2.0
/*
 * watch.c - what the app's driver calls mean. A hold ends before a call that waits for the
 * whole device, and the core gets BUSY and IDLE.
 *
 * calls.c passes each call of a seen kind. Most programs need no more than that. This file
 * starts to watch when one of these needs it:
 *
 * - the first segment or hold by hand of an LC tenant
 * - an LC tenant without hints that shares its device, under the daemon, with LC of another
 *   urgency
 * - a best-effort tenant that shares its device, under the daemon, with another
 * - --auto-hold, from the start
 *
 * Until then, and in a program whose calls go past the layer, a call costs one load.
 */
#include "preload/watch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "client/cuda.h"
#include "preload/calls.h"
#include "preload/preload.h"
#include "runtime/log.h"

#define FUNCTIONS 8192 /* power of two */
#define CU_POINTER_ATTRIBUTE_MEMORY_TYPE 2
#define CUDA_ERROR_INVALID_VALUE 1

_Atomic(int) gp_watch_state;

/* Set before GP_WATCH_ON. */
static int (*current_context)(void **context);
static int (*pointer_attribute)(void *data, int attribute, uint64_t pointer); /* NULL: none */
static void *_Atomic last_context;
/*
 * Work was submitted after the last event was recorded, so that event's end shows nothing
 * about it. (Allocators of pinned memory wait for old events, and query them, all the time.
 * Mere queries of events are not watched.)
 */
static atomic_bool unrecorded;
/*
 * A kernel was launched since the last idleness. A request that copies its input in and waits
 * for that has not begun yet.
 */
static atomic_bool computes;
static atomic_bool auto_hold;	  /* watch from the first call on */
static atomic_bool asks_contexts; /* make the context of new work known */

/*
 * Functions launched before, or used otherwise. The first use of a function may load it, which
 * waits for the device (CUDA_MODULE_LOADING=LAZY, the default since 11.7). When the table is full,
 * further functions count as known.
 */
static void *_Atomic launched[FUNCTIONS];
static atomic_uint launched_count;

static bool first_use(void *function)
{
	size_t i = ((uintptr_t)function >> 4) * 2654435761u % FUNCTIONS;

	for (size_t n = 0; n < FUNCTIONS; n++, i = (i + 1) % FUNCTIONS) {
		void *there = atomic_load_explicit(&launched[i], memory_order_relaxed);

		if (there == function)
			return false;
		if (there)
			continue;
		if (atomic_load_explicit(&launched_count, memory_order_relaxed) > FUNCTIONS / 2)
			return false;
		if (atomic_compare_exchange_strong(&launched[i], &there, function)) {
			atomic_fetch_add(&launched_count, 1);
			return true;
		}
		if (there == function)
			return false;
	}
	return false;
}

/* A new function may get an old address. */
static void forget_launched(void)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		atomic_store_explicit(&launched[i], NULL, memory_order_relaxed);
	atomic_store(&launched_count, 0);
}

static void tell(struct gp_client_device *dev, const struct gp_ectx *c, uint32_t type)
{
	struct gp_event ev = { .type = type, .tenant = c->tenant };

	(void)gp_client_device_event(dev, &ev);
}

/* The request's later calls count down to the one that needs the device. */
static void count_call(struct gp_client_device *dev, struct gp_ectx *c)
{
	const unsigned int left = atomic_load_explicit(&c->calls_left, memory_order_relaxed) - 1;

	atomic_store_explicit(&c->calls_left, left, memory_order_relaxed);
	if (!left)
		gp_client_device_waits(dev, c, GP_WAIT_SOON);
}

/* Only a change is an event: a launch among others costs three loads and a store. */
static void tell_busy(struct gp_client_device *dev, struct gp_ectx *c, int busy, uint64_t key)
{
	if (atomic_load_explicit(&c->busy, memory_order_relaxed) == busy ||
	    atomic_exchange(&c->busy, busy) == busy)
		return;
	gp_client_device_work(dev, c, busy, key);
}

/* The request that begins with this call is of a kind of its own. */
static uint64_t key_of(const struct gp_watched *w, const void *word)
{
	return (uintptr_t)word ^ (uint64_t)w->kind << 56;
}

static void submitted(void)
{
	if (!atomic_load_explicit(&unrecorded, memory_order_relaxed))
		atomic_store_explicit(&unrecorded, true, memory_order_relaxed);
}

/*
 * A wait covers only part of the launched work. A BE process that waits for its streams in
 * turn has work until the last of them ends.
 */
static void still_busy(struct gp_client_device *dev, struct gp_ectx *c)
{
	if (!gp_client_device_is_be(dev))
		return;
	atomic_store_explicit(&computes, true, memory_order_relaxed);
	tell_busy(dev, c, 1, 0);
}

/*
 * A copy to memory that CUDA does not know returns when it is done, and so is all work before it
 * (CUDA driver API, "API synchronization behavior").
 */
static bool copy_waits(const void *to)
{
	unsigned int type;

	return pointer_attribute && pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
						      (uintptr_t)to) == CUDA_ERROR_INVALID_VALUE;
}

/* Has the work launched before the call ended when the call returns? */
static bool waited(enum gp_call_kind kind, int result)
{
	switch (kind) {
	case GP_CALL_WAIT:
	case GP_CALL_COPY_OUT:
	case GP_CALL_SYNC_IDLE:
		return true;
	case GP_CALL_WAIT_EVENT:
		return !atomic_load_explicit(&unrecorded, memory_order_relaxed);
	case GP_CALL_QUERY:
		return !result;
	default:
		return false;
	}
}

/*
 * The app waits for all its work, so all of it is queued. The queue keeps the device, and a
 * hold would only slow it.
 */
static void begin_wait(enum gp_call_kind kind, struct gp_client_device *dev, struct gp_ectx *c)
{
	if (waited(kind, 0) && atomic_load_explicit(&c->busy, memory_order_relaxed))
		gp_client_device_queued(dev, c);
}

/* Launches that pile up need the device from now on. Else this costs a load. */
static void end_pile(struct gp_client_device *dev, struct gp_ectx *c, enum gp_wait wait)
{
	if (atomic_load_explicit(&c->piling, memory_order_relaxed))
		gp_client_device_waits(dev, c, wait);
}

static void begin_sync(struct gp_watched *w, struct gp_client_device *dev, const struct gp_ectx *c)
{
	w->synced = w->context;
	tell(dev, c, GP_EV_SYNC);
}

/* The call may have destroyed the context. */
static void end_sync(const struct gp_watched *w)
{
	struct gp_client_device *dev;
	const struct gp_ectx *c = w->synced ? gp_engine_find(w->synced, &dev) : NULL;

	if (!c)
		return;
	tell(dev, c, GP_EV_SYNC_DONE);
	if (w->kind == GP_CALL_CONTEXT)
		gp_client_device_others_on(dev);
}

/* Was a kernel launched since the last idleness? From now on: none. */
static bool computed(void)
{
	return atomic_load_explicit(&computes, memory_order_relaxed) &&
	       atomic_exchange_explicit(&computes, false, memory_order_relaxed);
}

static void tell_work(const struct gp_watched *w, const void *word, struct gp_client_device *dev,
		      struct gp_ectx *c)
{
	submitted();
	tell_busy(dev, c, 1, key_of(w, word));
	count_call(dev, c);
}

static void enter(struct gp_watched *w, void *word, struct gp_client_device *dev, struct gp_ectx *c)
{
	switch (w->kind) {
	case GP_CALL_LAUNCH:
	case GP_CALL_LAUNCH_EX:
		if (first_use(word)) {
			end_pile(dev, c, GP_WAIT_ELSE);
			begin_sync(w, dev, c);
		}
		atomic_store_explicit(&computes, true, memory_order_relaxed);
		tell_work(w, word, dev, c);
		break;
	case GP_CALL_SUBMIT:
		atomic_store_explicit(&computes, true, memory_order_relaxed);
		/* fallthrough */
	case GP_CALL_COPY:
		tell_work(w, word, dev, c);
		break;
	case GP_CALL_COPY_OUT:
		if (atomic_load_explicit(&c->busy, memory_order_relaxed) == 1)
			gp_client_device_waits(dev, c, GP_WAIT_COPY);
		still_busy(dev, c);
		break;
	case GP_CALL_RECORD:
		atomic_store_explicit(&unrecorded, false, memory_order_relaxed);
		break;
	case GP_CALL_CONTEXT:
		end_pile(dev, c, GP_WAIT_ELSE);
		gp_client_device_others_off(dev, c);
		begin_sync(w, dev, c);
		break;
	case GP_CALL_LOAD:
		if (first_use(word))
			begin_sync(w, dev, c);
		break;
	case GP_CALL_UNLOAD:
		forget_launched();
		/* fallthrough */
	case GP_CALL_SYNC:
		begin_sync(w, dev, c);
		break;
	case GP_CALL_SYNC_IDLE:
		if (atomic_load_explicit(&c->busy, memory_order_relaxed) == 1)
			gp_client_device_waits(dev, c, GP_WAIT_BEGINS);
		begin_sync(w, dev, c);
		still_busy(dev, c);
		break;
	case GP_CALL_QUERY:
		/* A loop of queries is a wait. */
		end_pile(dev, c, GP_WAIT_BEGINS);
		break;
	case GP_CALL_WAIT:
	case GP_CALL_WAIT_EVENT:
		still_busy(dev, c);
		begin_wait(w->kind, dev, c);
		break;
	default:
		break;
	}
}

static bool is_work(enum gp_call_kind kind)
{
	return kind == GP_CALL_LAUNCH || kind == GP_CALL_LAUNCH_EX || kind == GP_CALL_SUBMIT ||
	       kind == GP_CALL_COPY;
}

bool gp_watch_begin(struct gp_watched *w, enum gp_call_kind kind, void *word)
{
	struct gp_client_device *dev;
	struct gp_ectx *c;

	/* Ignore the library's own calls. */
	if (gp_engine_inside() || gp_engine_state())
		return false;
	if (kind == GP_CALL_DESTROY) {
		gp_engine_context_gone(word);
		return false;
	}
	if (current_context(&w->context) || !w->context)
		return false;
	w->kind = kind == GP_CALL_COPY_OUT && !copy_waits(word) ? GP_CALL_COPY : kind;
	w->synced = NULL;
	if (atomic_load_explicit(&last_context, memory_order_relaxed) != w->context)
		atomic_store(&last_context, w->context);
	c = gp_engine_find(w->context, &dev);
	if (c) {
		enter(w, word, dev, c);
		return true;
	}
	if (atomic_load_explicit(&asks_contexts, memory_order_relaxed) && is_work(w->kind))
		gp_engine_ask_context(w->context);
	/* The call may wait for its work, and its context may be known by then. */
	return w->kind != GP_CALL_SYNC;
}

void gp_watch_end(const struct gp_watched *w, int result)
{
	struct gp_client_device *dev;
	struct gp_ectx *c;

	end_sync(w);
	if (!waited(w->kind, result))
		return;
	c = gp_engine_find(w->context, &dev);
	if (!c)
		return;
	if (w->kind == GP_CALL_SYNC_IDLE || computed())
		tell_busy(dev, c, 0, 0);
	else if (atomic_load_explicit(&c->busy, memory_order_relaxed) == 1)
		gp_client_device_waits(dev, c, GP_WAIT_COPIED);
}

bool gp_watch_first(struct gp_watched *w, enum gp_call_kind kind, void *word)
{
	int nothing = GP_WATCH_NOTHING;

	if (atomic_compare_exchange_strong(&gp_watch_state, &nothing, GP_WATCH_PASSED) &&
	    atomic_load(&auto_hold))
		gp_watch_launches();
	return atomic_load(&gp_watch_state) == GP_WATCH_ON && gp_watch_begin(w, kind, word);
}

/* ---- hooks of the engine ------------------------------------------------------ */

int gp_watch_launches(void)
{
	atomic_store(&asks_contexts, true);
	return gp_engine_watch_sync();
}

const char *gp_watch_sync(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const char *why = NULL;
	void *libcuda;

	if (!gp_calls_intercepted())
		return "GPREEMPT_INTERCEPT=0";
	if (!atomic_load(&gp_watch_state))
		return "no driver call of this program passes through gpreempt";
	pthread_mutex_lock(&lock);
	libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (!current_context && libcuda) {
		*(void **)&pointer_attribute = gp_calls_driver("cuPointerGetAttribute");
		*(void **)&current_context = dlsym(libcuda, "cuCtxGetCurrent");
	}
	if (current_context)
		atomic_store(&gp_watch_state, GP_WATCH_ON);
	else
		why = "libcuda has no cuCtxGetCurrent";
	pthread_mutex_unlock(&lock);
	return why;
}

void gp_watch_auto_hold(void)
{
	atomic_store(&auto_hold, true);
	if (atomic_load(&gp_watch_state) || !gp_calls_intercepted())
		gp_watch_launches();
}

void gp_watch_check_auto_hold(void)
{
	static atomic_int said;

	if (atomic_load(&auto_hold) && !atomic_load(&gp_watch_state))
		gp_log_once(&said, GP_LOG_WARN,
			    "--auto-hold has no effect: cannot see launches; run gpreempt doctor");
}

void *gp_watch_context(const struct gp_device_id *dev)
{
	void *context = atomic_load(&last_context);
	void *primary = gp_cuda_primary(dev->uuid);

	/* Most programs have only the primary context, and it names its device. */
	return primary ? primary : context;
}
