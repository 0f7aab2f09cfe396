// SPDX-License-Identifier: Apache-2.0
/*
 * callbacks.c - the app's driver calls, by CUPTI's driver-API callbacks. A hold ends before a
 * call that waits for the whole device, and the core gets BUSY and IDLE.
 *
 * CUPTI has one subscriber in a process, and watching costs time at each launch. So this file
 * subscribes only when one of these needs it:
 *
 * - the first segment or hold by hand of an LC tenant
 * - an LC tenant without hints that shares its device, under the daemon, with LC of another
 *   urgency
 * - a best-effort tenant that shares its device, under the daemon, with another
 * - --auto-hold, from the start
 *
 * It never subscribes if the app has a tool of its own, or with GPREEMPT_CUPTI=0. It looks
 * callbacks up by name, because their numbers differ between releases.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cuda.h"
#include "client/engine.h"
#include "nvidia-backend/track.h"
#include "preload/cupti_abi.h"
#include "preload/call_kinds.h"
#include "preload/preload.h"
#include "runtime/log.h"

#define CBID_MAX 4096
#define CBID_GAP 256   /* the table ends after this many unknown numbers in a row */
#define FUNCTIONS 8192 /* power of two */
#define PATH_LEN 512

struct cupti {
	int (*subscribe)(void **subscriber, cupti_callback_fn fn, void *user);
	int (*enable)(uint32_t on, void *subscriber, uint32_t domain, uint32_t cbid);
	int (*name)(uint32_t domain, uint32_t cbid, const char **name);
	int (*unsubscribe)(void *subscriber);
};

static uint8_t kind_of[CBID_MAX]; /* enum gp_call_kind; set before enabling */
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
static atomic_bool asks_contexts; /* make the context of new work known */

/*
 * Functions launched before. The first launch of a function may load it, which waits for the
 * device (CUDA_MODULE_LOADING=LAZY, the default since 11.7). When the table is full, further
 * functions count as known.
 */
static void *_Atomic launched[FUNCTIONS];
static atomic_uint launched_count;

static bool first_launch(void *function)
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

static void *launched_function(enum gp_call_kind kind, const void *params)
{
	void *const *word = params;

	/* cuLaunchKernelEx(config, function, ..), the others (function, ..). */
	return kind == GP_CALL_LAUNCH_EX ? word[1] : word[0];
}

static void tell(struct gp_client_device *dev, const struct gp_ectx *c, uint32_t type)
{
	struct gp_event ev = { .type = type, .tenant = c->tenant };

	(void)gp_client_device_event(dev, &ev);
}

/* Only a change is an event: a launch among others costs two loads. */
static void tell_busy(struct gp_client_device *dev, struct gp_ectx *c, int busy)
{
	if (atomic_load_explicit(&c->busy, memory_order_relaxed) == busy ||
	    atomic_exchange(&c->busy, busy) == busy)
		return;
	gp_client_device_work(dev, c, busy);
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
	tell_busy(dev, c, 1);
}

/* Has the work launched before the call ended when the call returns? */
static bool waited(enum gp_call_kind kind, const struct cupti_callback_data *data)
{
	const int *result = data->return_value;

	switch (kind) {
	case GP_CALL_WAIT:
	case GP_CALL_SYNC_IDLE:
		return true;
	case GP_CALL_WAIT_EVENT:
		return !atomic_load_explicit(&unrecorded, memory_order_relaxed);
	case GP_CALL_QUERY:
		return result && !*result;
	default:
		return false;
	}
}

/*
 * The app waits for all its work, so all of it is queued. The queue keeps the device, and a
 * hold would only slow it.
 */
static void begin_wait(enum gp_call_kind kind, const struct cupti_callback_data *data,
		       struct gp_client_device *dev, const struct gp_ectx *c)
{
	if (waited(kind, data) && atomic_load_explicit(&c->busy, memory_order_relaxed))
		gp_client_device_queued(dev, c);
}

static void begin_sync(const struct cupti_callback_data *data, struct gp_client_device *dev,
		       const struct gp_ectx *c)
{
	*data->correlation = (uint64_t)(uintptr_t)data->context;
	tell(dev, c, GP_EV_SYNC);
}

/* cuCtxCreate returns in another context. */
static void end_sync(enum gp_call_kind kind, const struct cupti_callback_data *data)
{
	void *context = (void *)(uintptr_t)*data->correlation;
	struct gp_client_device *dev;
	const struct gp_ectx *c = context ? gp_engine_find(context, &dev) : NULL;

	*data->correlation = 0;
	if (!c)
		return;
	tell(dev, c, GP_EV_SYNC_DONE);
	if (kind == GP_CALL_CONTEXT)
		gp_client_device_others_on(dev);
}

static void enter(enum gp_call_kind kind, const struct cupti_callback_data *data,
		  struct gp_client_device *dev, struct gp_ectx *c)
{
	switch (kind) {
	case GP_CALL_LAUNCH:
	case GP_CALL_LAUNCH_EX:
		if (first_launch(launched_function(kind, data->params)))
			begin_sync(data, dev, c);
		atomic_store_explicit(&computes, true, memory_order_relaxed);
		submitted();
		tell_busy(dev, c, 1);
		break;
	case GP_CALL_SUBMIT:
		atomic_store_explicit(&computes, true, memory_order_relaxed);
		/* fallthrough */
	case GP_CALL_COPY:
		submitted();
		tell_busy(dev, c, 1);
		break;
	case GP_CALL_RECORD:
		atomic_store_explicit(&unrecorded, false, memory_order_relaxed);
		break;
	case GP_CALL_CONTEXT:
		gp_client_device_others_off(dev, c);
		begin_sync(data, dev, c);
		break;
	case GP_CALL_UNLOAD:
		forget_launched();
		/* fallthrough */
	case GP_CALL_SYNC:
		begin_sync(data, dev, c);
		break;
	case GP_CALL_SYNC_IDLE:
		begin_sync(data, dev, c);
		still_busy(dev, c);
		break;
	case GP_CALL_WAIT:
	case GP_CALL_WAIT_EVENT:
		still_busy(dev, c);
		begin_wait(kind, data, dev, c);
		break;
	default:
		break;
	}
}

static void leave(enum gp_call_kind kind, const struct cupti_callback_data *data,
		  struct gp_client_device *dev, struct gp_ectx *c)
{
	if (waited(kind, data) &&
	    (kind == GP_CALL_SYNC_IDLE ||
	     atomic_exchange_explicit(&computes, false, memory_order_relaxed)))
		tell_busy(dev, c, 0);
}

static bool is_work(enum gp_call_kind kind)
{
	return kind == GP_CALL_LAUNCH || kind == GP_CALL_LAUNCH_EX || kind == GP_CALL_SUBMIT ||
	       kind == GP_CALL_COPY;
}

static void callback(void *user, uint32_t domain, uint32_t cbid,
		     const struct cupti_callback_data *data)
{
	enum gp_call_kind kind = cbid < CBID_MAX ? kind_of[cbid] : GP_CALL_OTHER;
	struct gp_client_device *dev;
	struct gp_ectx *c;

	/* Ignore the library's own calls. */
	if (domain != CUPTI_DOMAIN_DRIVER_API || kind == GP_CALL_OTHER || gp_engine_inside() ||
	    gp_engine_state())
		return;
	if (kind == GP_CALL_DESTROY) {
		if (data->site == CUPTI_API_ENTER)
			gp_engine_context_gone(*(void *const *)data->params);
		return;
	}
	if (data->site != CUPTI_API_ENTER)
		end_sync(kind, data);
	if (atomic_load_explicit(&last_context, memory_order_relaxed) != data->context &&
	    data->context)
		atomic_store(&last_context, data->context);
	c = gp_engine_find(data->context, &dev);
	if (!c) {
		if (atomic_load_explicit(&asks_contexts, memory_order_relaxed) && is_work(kind) &&
		    data->context)
			gp_engine_ask_context(data->context);
		return;
	}
	if (data->site == CUPTI_API_ENTER)
		enter(kind, data, dev, c);
	else
		leave(kind, data, dev, c);
}

/* ---- subscribing -------------------------------------------------------- */

static int load_symbols(void *lib, struct cupti *cupti)
{
	*(void **)&cupti->subscribe = dlsym(lib, "cuptiSubscribe");
	*(void **)&cupti->enable = dlsym(lib, "cuptiEnableCallback");
	*(void **)&cupti->name = dlsym(lib, "cuptiGetCallbackName");
	*(void **)&cupti->unsubscribe = dlsym(lib, "cuptiUnsubscribe");
	return cupti->subscribe && cupti->enable && cupti->name && cupti->unsubscribe ? 0 : -ENOSYS;
}

static int enable_all(const struct cupti *cupti, void *subscriber)
{
	uint32_t gap = 0, seen = 0;

	for (uint32_t id = 1; id < CBID_MAX && gap < CBID_GAP; id++) {
		enum gp_call_kind kind;
		const char *name = NULL;

		if (cupti->name(CUPTI_DOMAIN_DRIVER_API, id, &name) || !name) {
			gap++;
			continue;
		}
		gap = 0;
		kind = gp_call_kind(name);
		if (kind == GP_CALL_OTHER)
			continue;
		kind_of[id] = (uint8_t)kind;
		if (cupti->enable(1, subscriber, CUPTI_DOMAIN_DRIVER_API, id))
			return -EIO;
		seen |= 1u << kind;
	}
	/* Holds are unsafe without these two. */
	return (seen & (1u << GP_CALL_SYNC_IDLE)) && (seen & (1u << GP_CALL_LAUNCH)) ? 0 : -EIO;
}

/* 0; -EBUSY: another subscriber; else CUPTI does not work here. */
static int subscribe(void *lib)
{
	struct cupti cupti = { 0 };
	void *subscriber = NULL;
	int err;

	if (load_symbols(lib, &cupti))
		return -ENOSYS;
	err = cupti.subscribe(&subscriber, callback, NULL);
	if (err)
		return err == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS ? -EBUSY : -EIO;
	err = enable_all(&cupti, subscriber);
	if (err)
		cupti.unsubscribe(subscriber);
	return err;
}

static int try_path(const char *dir, const char *sub, const char *name, int flags)
{
	char path[PATH_LEN];
	void *lib;

	if (snprintf(path, sizeof(path), "%s%s%s", dir, sub, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	/* Never closed, because the driver calls into it from now on. */
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
	return lib ? subscribe(lib) : -ENOENT;
}

/* Splits @name into its folder and the name there; NULL: unknown. */
static const char *split(const char *name, char dir[PATH_LEN])
{
	const char *slash = name ? strrchr(name, '/') : NULL;

	if (!slash || slash - name >= PATH_LEN)
		return NULL;
	memcpy(dir, name, (size_t)(slash - name));
	dir[slash - name] = 0;
	return slash + 1;
}

static int find_cudart(struct dl_phdr_info *info, size_t size, void *arg)
{
	char found[PATH_LEN];
	const char *name = split(info->dlpi_name, found);

	if (!name || strncmp(name, "libcudart.so", 12))
		return 0;
	strcpy(arg, found);
	return 1;
}

/* Stop searching: it works, or another tool has it. */
static bool decided(int err)
{
	return !err || err == -EBUSY;
}

static int try_dirs(const char *name)
{
	static const char *const subs[] = { "/lib64/", "/lib/", "/extras/CUPTI/lib64/" };
	const char *home = secure_getenv("CUDA_HOME");
	const char *roots[] = { home && *home ? home : NULL, "/usr/local/cuda" };
	char dir[PATH_LEN] = "";
	int err = -ENOENT;

	dl_iterate_phdr(find_cudart, dir);
	if (dir[0]) {
		/* NVIDIA's wheels have one folder for all libraries, or one for each. */
		err = try_path(dir, "/", name, 0);
		if (!decided(err))
			err = try_path(dir, "/../../cuda_cupti/lib/", name, 0);
	}
	for (size_t r = 0; r < 2 && !decided(err); r++)
		for (size_t s = 0; roots[r] && s < 3 && !decided(err); s++)
			err = try_path(roots[r], subs[s], name, 0);
	return err;
}

/* An address in the software GPU's libcuda; NULL: it is NVIDIA's. */
static const void *in_software_gpu(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	const char *symbol = lib ? gp_nv_hook_symbol(lib) : NULL;

	return symbol && strcmp(symbol, "ioctl") ? dlsym(lib, symbol) : NULL;
}

/* Searches beside the libcuda in use: NVIDIA's CUPTI works with its own libcuda only. */
static int try_beside(const void *symbol, const char *name)
{
	char dir[PATH_LEN];
	Dl_info in;

	if (!dladdr(symbol, &in) || !split(in.dli_fname, dir))
		return -ENOENT;
	return try_path(dir, "/", name, 0);
}

static int find_and_subscribe(void)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12" };
	const void *soft = in_software_gpu();
	int err = -ENOENT;

	if (soft)
		return try_beside(soft, names[0]);
	for (size_t i = 0; i < 2 && !decided(err); i++)
		err = try_path("", "", names[i], RTLD_NOLOAD);
	for (size_t i = 0; i < 2 && !decided(err); i++) {
		err = try_path("", "", names[i], 0);
		if (!decided(err))
			err = try_dirs(names[i]);
	}
	return err;
}

int gp_callbacks_watch_launches(void)
{
	atomic_store(&asks_contexts, true);
	return gp_engine_watch_sync();
}

void gp_callbacks_auto_hold(void)
{
	if (!gp_callbacks_watch_launches())
		gp_log(GP_LOG_WARN,
		       "--auto-hold has no effect: cannot see launches; run gpreempt doctor");
}

const char *gp_callbacks_watch(void)
{
	const char *env = secure_getenv("GPREEMPT_CUPTI");
	int err;

	if (env && !strcmp(env, "0"))
		return "GPREEMPT_CUPTI=0";
	if (gp_preload_has_tool())
		return "another injected tool may use CUPTI";
	err = find_and_subscribe();
	if (!err)
		return NULL;
	return err == -EBUSY  ? "a profiler uses CUPTI" :
	       err == -ENOENT ? "libcupti.so.13 or .12 not found" :
				"CUPTI does not work with this driver";
}

void *gp_callbacks_context(const struct gp_device_id *dev)
{
	void *context = atomic_load(&last_context);
	void *primary = gp_cuda_primary(dev->uuid);

	/* Most programs have only the primary context, and it names its device. */
	return primary ? primary : context;
}
