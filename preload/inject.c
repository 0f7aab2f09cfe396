// SPDX-License-Identifier: Apache-2.0
/*
 * inject.c - libgpreempt-layer.so, which the stub opens in a program that turns to a GPU. Its
 * entries: answers to lookups of driver calls (calls.c); ioctl(), by LD_PRELOAD; and the
 * driver's own injection, which calls InitializeInjection() inside cuInit. By the last two a
 * tracker sees libcuda's calls of the RM. AMD's runtime has no injection that sees its internal
 * queues. So only LD_PRELOAD works there, and the calls are those on /dev/kfd.
 *
 * Nothing here ever fails an app: a failure logs one line.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>

#include "client/cuda.h"
#include "client/engine.h"
#include "libhsaq/track.h"
#include "nvidia-backend/track.h"
#include "preload/calls.h"
#include "preload/got.h"
#include "preload/layer.h"
#include "preload/memory.h"
#include "preload/preload.h"
#include "preload/quota.h"
#include "runtime/class.h"
#include "runtime/log.h"

typedef int (*injection_fn)(void);

const struct gp_layer *gp_layer_open(const struct gp_stub *stub)
	__attribute__((visibility("default")));

static void *_Atomic hooked; /* target of the patched slot before */
static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static atomic_int tracking;
static bool auto_hold; /* set by start() */

/* ---- groups ------------------------------------------------------------- */

static void group_ready(void *arg, struct gp_group *group)
{
	static atomic_int said;
	struct gp_client_device *dev;
	int err;

	if (gp_engine_state() ||
	    !gp_engine_names(secure_getenv("GPREEMPT_DEVICE"), &group->dev->id))
		return;
	err = gp_engine_device(group->dev->ops, &group->dev->id, &dev);
	if (!err)
		err = gp_memory_is_mover() ? gp_client_device_keep(dev, group) :
					     gp_client_device_group_add(dev, group);
	if (err < 0 && err != -EEXIST)
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot manage %s: %s; its timeslices stay the driver's",
			    group->dev->id.name, strerror(-err));
	if (!err)
		gp_thread_start(true);
	gp_watch_check_auto_hold();
}

/* Of another device, perhaps. */
static void missed(void *arg, int err)
{
	static atomic_int said;

	if (!gp_engine_state())
		gp_log_once(&said, GP_LOG_WARN,
			    "cannot follow a driver call: %s; a timeslice may stay the driver's",
			    strerror(-err));
}

static void group_gone(void *arg, struct gp_group *group)
{
	if (!gp_engine_state())
		gp_engine_group_gone(group);
}

/* ---- start -------------------------------------------------------------- */

static void start(void)
{
	static const struct gp_track_ops ops = {
		.group_ready = group_ready,
		.group_gone = group_gone,
		.missed = missed,
	};
	struct gp_engine_hooks hooks = {
		.watch_sync = gp_watch_sync,
		.watch_launches = gp_watch_launches,
		.find_context = gp_watch_context,
		.device = secure_getenv("GPREEMPT_DEVICE"),
		.tracks = true,
	};
	const char *text = secure_getenv("GPREEMPT_CLASS");
	const char *hold = secure_getenv("GPREEMPT_AUTO_HOLD");
	const char *predict = secure_getenv("GPREEMPT_PREDICT");
	const char *pile = secure_getenv("GPREEMPT_PILE");
	const char *why;
	int err;

	/* A user must not control a process with privileges that the user lacks. */
	if (getauxval(AT_SECURE) || gp_engine_state())
		return;
	gp_log_to_stderr();
	if (text && *text && gp_class_request_parse(text, &hooks.request, &why))
		gp_log(GP_LOG_WARN,
		       "GPREEMPT_CLASS=%s: unknown class (%s); continuing without a class", text,
		       why);
	hooks.auto_hold = hold && !strcmp(hold, "1") && hooks.request.cls.cls == GP_CLASS_LC;
	/* With --auto-hold launches start holds, so there is nothing to predict. */
	hooks.predict = !hooks.auto_hold && (!predict || strcmp(predict, "0"));
	hooks.memory = gp_memory_stat;
	hooks.managed = gp_quota_join;
	gp_memory_start(hooks.request.cls.cls == GP_CLASS_LC, hooks.request.cls.cls == GP_CLASS_BE);
	hooks.pile = !hooks.auto_hold && (!pile || strcmp(pile, "0"));
	gp_engine_set_hooks(&hooks);
	err = gp_nv_track_start(&ops, NULL);
	if (!err)
		err = gp_amd_track_start(&ops, NULL);
	if (err)
		gp_log(GP_LOG_WARN,
		       "cannot follow the driver's calls: %s; continuing without a class",
		       strerror(-err));
	else
		atomic_store(&tracking, 1);
	auto_hold = !err && hooks.auto_hold;
}

static bool start_once_only(void)
{
	pthread_once(&start_once, start);
	return atomic_load(&tracking);
}

static void start_auto_hold(void)
{
	if (auto_hold)
		gp_watch_auto_hold();
}

/* Starts in a program that uses CUDA. */
static bool start_cuda(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool started = start_once_only();

	pthread_once(&once, start_auto_hold);
	return started;
}

static void seen(int fd, unsigned long request, void *arg, int result)
{
	if (atomic_load_explicit(&tracking, memory_order_relaxed) && !gp_engine_state())
		gp_nv_track_ioctl(fd, request, arg, result);
}

/* Not variadic: both ABIs pass three arguments the same way. */
static int hook(int fd, unsigned long request, void *arg)
{
	gp_ioctl_fn orig = (gp_ioctl_fn)atomic_load(&hooked);
	int result = orig(fd, request, arg);

	seen(fd, request, arg, result);
	return result;
}

/* ---- LD_PRELOAD --------------------------------------------------------- */

static int kfd_ioctl(int fd, unsigned long request, void *arg, gp_ioctl_fn real)
{
	if (!gp_amd_track_wants(request) || !start_once_only() || gp_engine_state())
		return real(fd, request, arg);
	return gp_amd_track_ioctl(fd, request, arg, real);
}

static void after_ioctl(int fd, unsigned long request, void *arg, int result)
{
	/* The slot leads to hook(), which calls the stub's ioctl() and then tracks. */
	if (atomic_load(&hooked))
		return;
	start_cuda();
	seen(fd, request, arg, result);
}

/* ---- CUDA_INJECTION64_PATH ---------------------------------------------- */

static void patch_libcuda(void)
{
	void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	const char *symbol;
	int err;

	if (!libcuda)
		return;
	symbol = gp_nv_hook_symbol(libcuda);
	err = symbol ? gp_got_patch(libcuda, symbol, (void *)hook, &hooked) : -ENOENT;
	if (err)
		gp_log(GP_LOG_WARN,
		       "cannot see the driver's calls (%s of libcuda): %s; continuing without a "
		       "class",
		       symbol ? symbol : "ioctl", strerror(-err));
}

/* Loads the profiler that our injection displaced. */
static void chain(void)
{
	const char *path = secure_getenv("GPREEMPT_CHAIN_INJECTION");
	injection_fn fn = NULL;
	void *lib;

	if (!path || !*path)
		return;
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (lib)
		*(void **)&fn = dlsym(lib, "InitializeInjection");
	if (fn)
		fn();
	else
		gp_log(GP_LOG_WARN, "cannot load the injection library %s: %s", path,
		       lib ? "it has no InitializeInjection" : dlerror());
}

static void inject_once(void)
{
	if (start_cuda())
		patch_libcuda();
	gp_calls_patch_imports();
	chain();
}

static int inject(void)
{
	static atomic_int injected;

	/* Not by pthread_once(): the chained tool may be the stub again. */
	if (!atomic_exchange(&injected, 1))
		inject_once();
	return 1;
}

const struct gp_layer *gp_layer_open(const struct gp_stub *stub)
{
	static const struct gp_layer layer = {
		.after_ioctl = after_ioctl,
		.answer = gp_calls_answer,
		.inject = inject,
		.kfd_ioctl = kfd_ioctl,
	};

	if (stub->abi != GP_LAYER_ABI || stub->calls != GP_CALL_IDS)
		return NULL;
	gp_calls_start(stub);
	return &layer;
}
